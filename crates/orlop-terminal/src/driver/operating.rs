//! Operations on sessions, one call of the application each, and what the chat is told of them.

use super::asking::{Asking, failed};
use super::describe;
use crate::model::{Conversation, Operation, Told, Tone};
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;

/// Does it.
pub(super) async fn operate(asking: &Asking, operation: Operation) -> Vec<Told> {
    done(asking, operation).await.unwrap_or_else(|error| vec![failed(&error)])
}

fn said(text: impl Into<String>) -> Told {
    Told::Said(Tone::Success, text.into())
}

fn known(conversation: Conversation) -> Told {
    Told::Known(Box::new(conversation))
}

async fn done(asking: &Asking, operation: Operation) -> Result<Vec<Told>> {
    let app = &asking.app;
    let current = asking.current();
    Ok(match operation {
        Operation::New => vec![begun(asking, &current)?],
        Operation::Open(session) => vec![opened(asking, &session).await?],
        Operation::Reload => vec![known(again(asking, &current).await?)],
        Operation::Fork { session, upto } => {
            let upto = upto.and_then(|upto| i64::try_from(upto).ok());
            let fork = app.fork_session(&session, upto, None).await?;
            vec![
                opened(asking, fork.session.id()).await?,
                said("Forked; the original is as it was"),
            ]
        }
        Operation::Fetch(index) => {
            let session = current.session.unwrap_or_default();
            let session = app.stored_session(&session).await?;
            let message = session.messages().get(index);
            let text = message.map(|message| message.text().to_owned()).unwrap_or_default();
            vec![Told::Message { index, text }]
        }
        Operation::Rename { session, title } => {
            let patch = Map::from_iter([("title".to_owned(), title.clone().into())]);
            app.patch_session(&session, patch).await?;
            let text = said(format!("The session is called \"{title}\""));
            vec![text, known(again(asking, &current).await?)]
        }
        Operation::Export { session, path } => {
            let text = exported(asking, &session, &path).await?;
            let path = asking.path(&path);
            std::fs::write(&path, text).map_err(|error| {
                let path = path.display();
                Error::bad_argument(format!("{path} cannot be written: {error}; name another file"))
            })?;
            vec![said(format!("Written to {}", path.display()))]
        }
        Operation::Delete(session) => {
            app.delete_session(&session, Some("the user deleted it")).await?;
            let mut told = vec![said("Deleted")];
            if current.session.as_ref() == Some(&session) {
                told.push(begun(asking, &current)?);
            }
            told
        }
        Operation::Agent(agent) => match &current.session {
            Some(session) => {
                app.switch_agent(session, &agent).await?;
                vec![
                    known(again(asking, &current).await?),
                    said(format!("{agent} answers from now on")),
                ]
            }
            None => {
                let conversation = describe::new(asking, Some(agent.clone()), Map::new())?;
                vec![known(conversation), said(format!("{agent} answers"))]
            }
        },
        Operation::Set { key, value } => vec![known(set(asking, current, key, value).await?)],
        Operation::Undo(change) => {
            let session = current.session.clone().unwrap_or_default();
            app.undo(&session, &change).await?;
            vec![said("Taken back"), opened(asking, &session).await?]
        }
    })
}

fn begun(asking: &Asking, current: &Conversation) -> Result<Told> {
    let conversation = describe::new(asking, Some(current.agent.clone()), Map::new())?;
    Ok(Told::Opened { conversation: Box::new(conversation), history: Vec::new() })
}

async fn opened(asking: &Asking, session: &str) -> Result<Told> {
    let conversation = Box::new(describe::stored(asking, session).await?);
    let history = describe::history(asking, session).await?;
    Ok(Told::Opened { conversation, history })
}

/// What is known of the session now.
async fn again(asking: &Asking, current: &Conversation) -> Result<Conversation> {
    match &current.session {
        Some(session) => describe::stored(asking, session).await,
        None => {
            let (agent, overrides) = (current.agent.clone(), current.overrides.clone());
            describe::new(asking, Some(agent), overrides)
        }
    }
}

async fn set(
    asking: &Asking,
    current: Conversation,
    key: String,
    value: Value,
) -> Result<Conversation> {
    match &current.session {
        Some(session) => {
            let patch = json!({ "overrides": { key: value } });
            let patch = patch.as_object().cloned().unwrap_or_default();
            asking.app.patch_session(session, patch).await?;
            describe::stored(asking, session).await
        }
        None => {
            let mut overrides = current.overrides;
            match value {
                Value::Null => drop(overrides.shift_remove(&key)),
                value => drop(overrides.insert(key, value)),
            }
            describe::new(asking, Some(current.agent), overrides)
        }
    }
}

/// A session as JSON, which can be imported again, or as markdown, for reading.
async fn exported(asking: &Asking, session: &str, path: &str) -> Result<String> {
    if path.ends_with(".json") {
        return asking.app.export_session(session, "json").await;
    }
    let session = asking.app.stored_session(session).await?;
    let part = |message: &orlop_core::Message| {
        format!("## {}\n\n{}\n", message.role().as_str(), message.text())
    };
    Ok(session.messages().iter().map(part).collect::<Vec<_>>().join("\n"))
}
