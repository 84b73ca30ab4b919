//! What is known of a session: who answers, what was said, what it took.

use super::asking::Asking;
use crate::model::{Block, Conversation, Previews, of_messages};
use orlop_app::config::resolve_request_config;
use orlop_app::store::EventQuery;
use orlop_app::{EventKind, Loaded};
use orlop_core::{Config, Error, Map, Message, Result, Role, Session, Value};

/// How many messages of a session are written when it is opened.
const RECENT: usize = 100;

/// How many requests are looked through for what their calls were about to do.
const REQUESTS: usize = 30;

/// A session that is not stored yet.
pub(super) fn new(asking: &Asking, agent: Option<String>, overrides: Map) -> Result<Conversation> {
    let agent = match agent {
        Some(agent) => agent,
        None => asking.app.config().default_agent()?,
    };
    let (core, config) = asking.app.agent(&agent)?;
    let config = resolve_request_config(&config, &[&overrides]);
    Ok(Conversation {
        agent,
        model: config.text("model").unwrap_or_default().to_owned(),
        overrides,
        folder: folder(asking),
        window: core.context_window(&config),
        mode: mode_of(&config),
        ..Conversation::default()
    })
}

/// A stored session; one that does not exist is not found.
pub(super) async fn stored(asking: &Asking, id: &str) -> Result<Conversation> {
    let Some(loaded) = asking.app.load_session(id).await? else {
        return Err(Error::not_found(format!(
            "there is no session \"{id}\"; `orlop session list` shows those there are"
        )));
    };
    let title = asking.app.store().head(asking.app.scope(), id).await?.and_then(|head| head.title);
    let conversation = of_loaded(asking, &loaded, title)?;
    Ok(Conversation { mode: mode_in(asking, id).await.or(conversation.mode), ..conversation })
}

/// After a request: a command may have stored nothing, and then the session stays a new one.
pub(super) async fn after(asking: &Asking, id: &str, was_handled: bool) -> Result<Conversation> {
    match stored(asking, id).await {
        Err(_) if was_handled => {
            let current = asking.current();
            new(asking, Some(current.agent.clone()), current.overrides.clone())
        }
        known => known,
    }
}

fn of_loaded(asking: &Asking, loaded: &Loaded, title: Option<String>) -> Result<Conversation> {
    let Loaded { core, config, session } = loaded;
    let empty = Map::new();
    let config = resolve_request_config(config, &[session.overrides().unwrap_or(&empty)]);
    let agent = match session.agent_id() {
        Some(agent) => agent.to_owned(),
        None => asking.app.config().default_agent()?,
    };
    let window = core.context_window(&config);
    let (mut tokens, mut cost, mut last) = (0, None, 0);
    for (model, usage) in usages(session) {
        let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        last = number("input_tokens") + number("output_tokens");
        tokens += last;
        let model = model.or_else(|| config.text("model")).unwrap_or_default();
        if let Some(dollars) = core.cost(&config, model, usage) {
            *cost.get_or_insert(0.0) += dollars;
        }
    }
    Ok(Conversation {
        session: Some(session.id().to_owned()),
        title,
        agent,
        model: config.text("model").unwrap_or_default().to_owned(),
        overrides: Map::new(),
        folder: folder(asking),
        tokens,
        cost,
        context: window.filter(|_| last > 0).map(|window| (last, window)),
        window,
        mode: mode_of(&config),
    })
}

/// The mode of permissions that the settings name.
fn mode_of(config: &Config) -> Option<String> {
    config.text("permissions.mode").map(str::to_owned)
}

/// The mode that was set for a session, which the plugin of permissions keeps with it. Its action that
/// tells of the mode would leave an event each time.
async fn mode_in(asking: &Asking, session: &str) -> Option<String> {
    let kept = asking.app.plugin_state(session, "permissions").await.ok()??;
    kept.value.get("mode")?.as_str().map(str::to_owned)
}

/// The token counts of all answers in a session, with the models that gave them.
fn usages(session: &Session) -> impl Iterator<Item = (Option<&str>, &Map)> {
    let items = session.native().into_iter().flat_map(|native| native.items().iter());
    items.filter_map(|item| {
        let usage = item.metadata().get("usage")?.as_object()?;
        Some((item.metadata().get("model").and_then(Value::as_str), usage))
    })
}

/// What was said in a session, the end of it if it is long.
pub(super) async fn history(asking: &Asking, id: &str) -> Result<Vec<Block>> {
    let session = asking.app.stored_session(id).await?;
    let messages = session.messages();
    let skipped = messages.len().saturating_sub(RECENT);
    let mut blocks = Vec::new();
    if skipped > 0 {
        let text = format!("… {skipped} earlier messages");
        blocks.push(Block::Notice(crate::model::Tone::Info, text));
    }
    let recent: Vec<&Message> = messages.iter().skip(skipped).collect();
    let previews = match recent.iter().any(|message| message.role() == Role::Tool) {
        true => previews(asking, id).await?,
        false => Previews::new(),
    };
    blocks.extend(of_messages(&recent, previews));
    Ok(blocks)
}

/// What the calls of the last requests were about to do.
async fn previews(asking: &Asking, session: &str) -> Result<Previews> {
    let mut previews = Previews::new();
    let requests = asking.app.session_requests(session, REQUESTS).await?;
    for request in requests.into_iter().rev() {
        let query = EventQuery { request: Some(request.request_id), ..EventQuery::default() };
        for event in asking.app.store().events(asking.app.scope(), &query).await? {
            if let EventKind::ToolCall { call_id, preview, .. } = event.kind {
                previews.push((call_id, preview));
            }
        }
    }
    Ok(previews)
}

/// The working folder as people write it.
fn folder(asking: &Asking) -> String {
    let inside = asking.home.as_deref().and_then(|home| asking.folder.strip_prefix(home));
    match inside {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => format!("~{rest}"),
        _ => asking.folder.to_string(),
    }
}
