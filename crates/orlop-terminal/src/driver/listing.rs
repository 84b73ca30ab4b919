//! What there is to choose from.

use super::asking::Asking;
use crate::model::{Choice, Item, MessageUse, Pick, Setting};
use orlop_app::config::resolve_request_config;
use orlop_app::store::{ListQuery, SearchQuery};
use orlop_app::ui::{Surface, elements_of, plain_line};
use orlop_core::{Config, Core, Map, Message, Result, Role, Value};
use std::collections::HashSet;

/// How many sessions are listed.
const SESSIONS: usize = 200;

/// How many messages a preview has.
const PREVIEW: usize = 6;

/// The items of a list; `words` are looked for in messages where sessions are listed.
pub(super) async fn items(asking: &Asking, pick: &Pick, words: &str) -> Result<Vec<Item>> {
    match pick {
        Pick::Palette => palette(asking).await,
        Pick::Sessions(_) => sessions(asking, words).await,
        Pick::Agents => Ok(agents(asking)),
        Pick::Models => models(asking).await,
        Pick::Messages(used) => messages(asking, used).await,
        Pick::Settings => settings(asking).await,
        Pick::Changes => changes(asking).await,
        Pick::Templates => templates(asking).await,
        Pick::History => Ok(Vec::new()),
    }
}

async fn palette(asking: &Asking) -> Result<Vec<Item>> {
    let current = asking.current();
    let session = current.session.as_deref();
    let elements = asking.app.ui_schema(&current.agent, session).await?;
    let mut items = Vec::new();
    let mut known = HashSet::new();
    for surface in [Surface::SessionAction, Surface::MessageAction, Surface::SessionList] {
        for element in elements_of(&elements, surface) {
            known.insert((element.plugin.clone(), element.action_id.clone()));
            let about = match surface {
                Surface::MessageAction => "of a message",
                Surface::SessionList => "of a session in the list",
                _ => "",
            };
            let detail = format!("{} {about}", element.plugin).trim_end().to_owned();
            let label = element.label.clone();
            items.push(Item { label, detail, choice: Choice::Element(Box::new(element)) });
        }
    }
    for action in asking.app.list_actions(session).await? {
        let plugin = action.plugin.clone().unwrap_or_default();
        let by_hand = action.trigger.is_none();
        if by_hand && known.insert((plugin.clone(), action.id.clone())) {
            let label = if action.label.is_empty() { &action.id } else { &action.label };
            let label = plain_line(label);
            items.push(Item { label, detail: plugin, choice: Choice::Action(Box::new(action)) });
        }
    }
    Ok(items)
}

async fn sessions(asking: &Asking, words: &str) -> Result<Vec<Item>> {
    if !words.is_empty() {
        let hits = asking.app.search_sessions(&SearchQuery::new(words, 20)).await?;
        let item = |hit: orlop_app::store::Hit| {
            let title = hit.head.title.clone().unwrap_or_else(|| hit.head.id.clone());
            Item {
                label: plain_line(&title),
                // What was looked for has to be in it, or it would not fit.
                detail: format!("{} ({words})", plain_line(&hit.snippet)),
                choice: Choice::Session(hit.head.id),
            }
        };
        return Ok(hits.into_iter().map(item).collect());
    }
    let query = ListQuery { limit: SESSIONS, ..ListQuery::default() };
    let page = asking.app.list_sessions(&query).await?;
    let item = |session: orlop_app::Summary| {
        let title = session.title.as_deref().map(plain_line).filter(|title| !title.is_empty());
        let when = session.updated_at.get(..16).unwrap_or_default().replace('T', " ");
        let agent = session.agent_id.as_deref().unwrap_or_default();
        let mut detail = format!("{when} · {} messages · {agent}", session.message_count);
        for (plugin, added) in &session.plugins {
            if let Some(text) = added.as_str().or_else(|| added.get("badge")?.as_str()) {
                detail.push_str(&format!(" · {plugin}: {}", plain_line(text)));
            }
        }
        let label = title.unwrap_or_else(|| session.session_id.clone());
        Item { label, detail, choice: Choice::Session(session.session_id) }
    };
    Ok(page.sessions.into_iter().map(item).collect())
}

/// The last messages of a session, one a line.
pub(super) async fn preview(asking: &Asking, session: &str) -> Result<Vec<String>> {
    let session = asking.app.stored_session(session).await?;
    let messages = session.messages();
    let said = |message: &&Message| matches!(message.role(), Role::User | Role::Assistant);
    let recent = messages.iter().rev().filter(said).filter(|it| !it.text().trim().is_empty());
    let mut lines: Vec<String> = recent
        .take(PREVIEW)
        .map(|message| {
            let mark = if message.role() == Role::User { "› " } else { "" };
            format!("{mark}{}", plain_line(message.text()))
        })
        .collect();
    lines.reverse();
    Ok(lines)
}

fn agents(asking: &Asking) -> Vec<Item> {
    let current = &asking.current().agent;
    let item = |id: &str| {
        let about = match asking.app.agent(id) {
            Ok((_, config)) => {
                let text = |key: &str| config.text(key).unwrap_or_default().to_owned();
                format!("{} {}", text("provider"), text("model"))
            }
            Err(error) => format!("cannot be used: {}", plain_line(error.message())),
        };
        let mark = if id == current { " (in use)" } else { "" };
        let choice = Choice::Agent(id.to_owned());
        Item { label: id.to_owned(), detail: format!("{about}{mark}"), choice }
    };
    asking.app.config().agents().into_iter().map(item).collect()
}

async fn models(asking: &Asking) -> Result<Vec<Item>> {
    let (core, config) = settled(asking).await?;
    let models = core.fetch_models(&config).await?;
    let item = |model: &Map| {
        let id = model.get("id").and_then(Value::as_str)?.to_owned();
        let window = model.get("context_window").and_then(Value::as_u64);
        let window = window.map(|it| format!("{it} tokens"));
        let in_use = (config.text("model") == Some(&id)).then(|| "(in use)".to_owned());
        let detail = window.into_iter().chain(in_use).collect::<Vec<_>>().join(" ");
        Some(Item { label: plain_line(&id), detail, choice: Choice::Model(id) })
    };
    Ok(models.iter().filter_map(item).collect())
}

/// The core of the session's agent, and the settings that hold in the session.
async fn settled(asking: &Asking) -> Result<(Core, Config)> {
    let current = asking.current();
    match &current.session {
        Some(id) => {
            let loaded = asking.app.session(id).await?;
            let empty = Map::new();
            let overrides = loaded.session.overrides().unwrap_or(&empty);
            let config = resolve_request_config(&loaded.config, &[overrides]);
            Ok((loaded.core, config))
        }
        None => {
            let (core, config) = asking.app.agent(&current.agent)?;
            let config = resolve_request_config(&config, &[&current.overrides]);
            Ok((core, config))
        }
    }
}

async fn messages(asking: &Asking, used: &MessageUse) -> Result<Vec<Item>> {
    let Some(session) = &asking.current().session else { return Ok(Vec::new()) };
    let session = asking.app.stored_session(session).await?;
    let fits = |message: &Message| *used != MessageUse::Edit || message.role() == Role::User;
    let listed = session.messages().iter().enumerate().rev();
    let item = |(index, message): (usize, &Message)| {
        let text = plain_line(message.text());
        let cut = crate::text::Line::from(text.as_str()).cut(60).text();
        let detail = format!("{} {index}", message.role().as_str());
        Item { label: cut, detail, choice: Choice::Message(index) }
    };
    Ok(listed.filter(|(_, message)| fits(message)).map(item).collect())
}

async fn settings(asking: &Asking) -> Result<Vec<Item>> {
    let current = asking.current();
    let elements = asking.app.ui_schema(&current.agent, current.session.as_deref()).await?;
    let (_, config) = settled(asking).await?;
    let item = |element: &Map| {
        let word = |key: &str| element.get(key).and_then(Value::as_str);
        let key = word("key").filter(|_| word("ui_type") == Some("config"))?.to_owned();
        let label = word("label").map(plain_line).unwrap_or_else(|| key.clone());
        let value = config.get(&key).cloned().unwrap_or_default();
        let shown = match &value {
            Value::Null => "not set".to_owned(),
            Value::String(text) => plain_line(text),
            other => plain_line(&other.to_string()),
        };
        let detail = format!("{shown} · {key}");
        let setting = Setting { key, label: label.clone(), element: element.clone(), value };
        Some(Item { label, detail, choice: Choice::Setting(Box::new(setting)) })
    };
    Ok(elements.iter().filter_map(item).collect())
}

async fn changes(asking: &Asking) -> Result<Vec<Item>> {
    let Some(session) = &asking.current().session else { return Ok(Vec::new()) };
    let changes = asking.app.changes(session).await?;
    let open = changes.into_iter().filter(|change| !change.undone);
    let item = |change: orlop_app::store::ChangeNote| Item {
        label: format!("{} of {}", change.action, change.plugin),
        detail: orlop_app::rfc3339(change.at),
        choice: Choice::Change(change.id),
    };
    Ok(open.map(item).collect())
}

async fn templates(asking: &Asking) -> Result<Vec<Item>> {
    let (core, config) = settled(asking).await?;
    let templates = core.templates(&config).await?;
    let item = |template: orlop_core::Template| Item {
        label: template.plugin,
        detail: plain_line(&template.text),
        choice: Choice::Text(template.text),
    };
    Ok(templates.into_iter().map(item).collect())
}
