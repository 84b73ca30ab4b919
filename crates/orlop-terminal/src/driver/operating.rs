//! Operations on sessions, one call of the application each, and what the chat is told of them.

use super::asking::{Asking, action_call, failed};
use super::{describe, files};
use crate::editor::Sent;
use crate::model::{Conversation, Operation, Told, Tone};
use orlop_core::{Map, Result, Value};
use serde_json::json;
use std::path::Path;

/// Does it.
pub(super) async fn operate(asking: &Asking, operation: Operation) -> Vec<Told> {
    done(asking, operation).await.unwrap_or_else(|error| vec![failed(&error)])
}

fn said(text: impl Into<String>) -> Told {
    Told::Said(Tone::Success, text.into())
}

/// What is known now of the session that was in front.
fn known(current: &Conversation, conversation: Conversation) -> Told {
    Told::Known { of: current.session.clone(), conversation: Box::new(conversation) }
}

async fn done(asking: &Asking, operation: Operation) -> Result<Vec<Told>> {
    let app = &asking.app;
    let current = asking.current();
    Ok(match operation {
        Operation::New => vec![begun(asking, current)?],
        Operation::Open(session) => vec![opened(asking, &session).await?],
        Operation::Reload => vec![known(current, again(asking, current).await?)],
        Operation::Fork { session, upto } => {
            let upto = upto.and_then(|upto| i64::try_from(upto).ok());
            let fork = app.fork_session(&session, upto, None).await?;
            vec![
                opened(asking, fork.session.id()).await?,
                said("Forked; the original is as it was"),
            ]
        }
        Operation::Fetch(index) => {
            let id = current.session.clone().unwrap_or_default();
            let session = app.stored_session(&id).await?;
            let message = session.messages().get(index);
            let text = message.map(|message| message.text().to_owned()).unwrap_or_default();
            vec![Told::Message { sent: Sent { session: id, index }, text }]
        }
        Operation::Rename { session, title } => {
            let patch = Map::from_iter([("title".to_owned(), title.clone().into())]);
            app.patch_session(&session, patch).await?;
            let text = said(format!("The session is called \"{title}\""));
            vec![text, known(current, again(asking, current).await?)]
        }
        Operation::Export { session, path, replace } => {
            let format = if path.ends_with(".json") { "json" } else { "markdown" };
            let text = app.export_session(&session, format).await?;
            let whole = asking.path(&path);
            match files::write(&whole, text.into_bytes(), replace).await {
                Ok(()) => vec![said(format!("Written to {}", whole.display()))],
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    vec![Told::Taken { session, path }]
                }
                Err(error) => return Err(files::cannot_write(&whole, &error)),
            }
        }
        Operation::Download { asset, name } => {
            let (record, bytes) = app.read_asset(&asset).await?;
            let name = if name.is_empty() { &record.name } else { &name };
            let path = files::write_beside(Path::new(&*asking.folder), name, bytes).await?;
            vec![said(format!("Written to {}", path.display()))]
        }
        Operation::Mode(mode) => {
            let told = said(format!("Permissions: {mode}"));
            vec![known(current, set_mode(asking, current, mode).await?), told]
        }
        Operation::Delete(session) => {
            app.delete_session(&session, Some("the user deleted it")).await?;
            let mut told = vec![said("Deleted")];
            if current.session.as_ref() == Some(&session) {
                told.push(begun(asking, current)?);
            }
            told
        }
        Operation::Agent(agent) => match &current.session {
            Some(session) => {
                app.switch_agent(session, &agent).await?;
                vec![
                    known(current, again(asking, current).await?),
                    said(format!("{agent} answers from now on")),
                ]
            }
            None => {
                let conversation = describe::new(asking, Some(agent.clone()), Map::new())?;
                vec![known(current, conversation), said(format!("{agent} answers"))]
            }
        },
        Operation::Set { key, value } => {
            vec![known(current, set(asking, current, key, value).await?)]
        }
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
    current: &Conversation,
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
            let mut overrides = current.overrides.clone();
            match value {
                Value::Null => drop(overrides.shift_remove(&key)),
                value => drop(overrides.insert(key, value)),
            }
            describe::new(asking, Some(current.agent.clone()), overrides)
        }
    }
}

/// Another mode of permissions, also in the middle of a turn; in a session that is not stored yet it
/// is a setting like others.
async fn set_mode(asking: &Asking, current: &Conversation, mode: String) -> Result<Conversation> {
    let Some(session) = &current.session else {
        return set(asking, current, "permissions.mode".to_owned(), mode.into()).await;
    };
    let params = json!({ "session_id": session, "mode": mode });
    let params = params.as_object().cloned().unwrap_or_default();
    let call = action_call("permissions", "set_permission_mode", params);
    asking.app.execute_application_action(call, Some(session)).await?;
    describe::stored(asking, session).await
}
