//! How full the context window is, for people: a warning before it is full, and what fills it.

use super::fill::{estimate, estimate_text, tokens, tokens_with};
use super::{NAME, Settings};
use orlop_app::Application;
use orlop_app::config::resolve_request_config;
use orlop_core::hooks::ActionInput;
use orlop_core::{
    ActionResult, Context, Map, Message, Result, Role, Seq, Session, Value, lifecycle,
};
use serde_json::json;

/// The metadata that says at which compaction people were warned, so that they are once.
const WARNED: &str = "context_warned";

/// A warning, if the conversation has come near the end of the window and nobody was warned since
/// it was last compacted.
pub(super) fn warning(
    input: &ActionInput,
    settings: &Settings,
    cx: &Context,
) -> Option<ActionResult> {
    let window = cx.context_window().filter(|window| *window > 0)?;
    if cx.lifecycle() != Some(lifecycle::MODEL_REQUEST) || settings.warn_at >= 1.0 {
        return None;
    }
    let metadata = input.session.metadata();
    let count = metadata.get("compaction_count").and_then(Value::as_u64).unwrap_or(0);
    if metadata.get(WARNED).and_then(Value::as_u64) == Some(count) {
        return None;
    }
    let used = tokens(&input.session, &input.native_messages);
    if (used as f64) < window as f64 * settings.warn_at {
        return None;
    }
    let follows = match settings.auto {
        true => format!("at {} older messages are replaced by a summary", percent(settings.at)),
        false => "compact the conversation, or begin a new one".to_owned(),
    };
    let share = percent(used as f64 / window as f64);
    let body = format!(
        "The conversation takes about {share} of the context window ({used} of {window} tokens); {follows}."
    );
    let public = json!({
        "status": "ok",
        "message": body,
        "display": { "title": "Context window", "body": body, "variant": "warning", "display_id": "context_window" },
        "context": { "tokens": used, "window": window },
    });
    Some(ActionResult {
        session_metadata: Some(json!({ WARNED: count })),
        public: public.as_object().cloned().unwrap_or_default(),
        ..ActionResult::default()
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What fills the context window of a stored session.
pub(super) async fn show(app: &Application, id: &str) -> Result<ActionResult> {
    let loaded = app.session(id).await?;
    let session = &loaded.session;
    let own: Vec<&Map> = session.overrides().into_iter().collect();
    let config = resolve_request_config(&loaded.config, &own);
    let native = session.native().map(|held| held.items().clone()).unwrap_or_else(Seq::default);
    let window = loaded.core.context_window(&config);
    let schemas = loaded.core.tool_schemas(&config).await?;
    let tools: u64 = schemas
        .iter()
        .map(|schema| estimate_text(&Value::Object(schema.clone()).to_string()))
        .sum();
    let used = tokens_with(session, &native, tools);
    let mut parts = vec![json!({ "part": "tools", "count": schemas.len(), "tokens": tools })];
    parts.extend(by_role(session));
    let head = match window {
        Some(window) if window > 0 => format!(
            "About {used} of {window} tokens, {} of the context window.",
            percent(used as f64 / window as f64)
        ),
        _ => format!(
            "About {used} tokens. How many the model takes is not known; set `context_window`."
        ),
    };
    let settings = Settings::read(config.get(NAME));
    let compacts = settings.enabled && settings.auto && window.is_some();
    let follows = match compacts {
        true => {
            format!("\n\nOlder messages are replaced by a summary at {}.", percent(settings.at))
        }
        false => String::new(),
    };
    let row = |part: &Value| {
        let name = part["part"].as_str().unwrap_or_default();
        format!("| {name} | {} | {} |", part["count"], part["tokens"])
    };
    let rows = parts.iter().map(row).collect::<Vec<_>>().join("\n");
    let body = format!(
        "{head}\n\n| part | count | tokens, roughly |\n| --- | --- | --- |\n{rows}{follows}"
    );
    ActionResult::from_json(json!({
        "status": "ok",
        "display": { "title": "Context", "body": body, "format": "markdown" },
        "context": { "tokens": used, "window": window, "parts": parts },
    }))
}

/// The messages of each role, and what they take by themselves.
fn by_role(session: &Session) -> Vec<Value> {
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let part = |role: Role| {
        let said: Vec<&Message> =
            session.messages().iter().filter(|message| message.role() == role).collect();
        let tokens: u64 = said.iter().map(|message| estimate(message)).sum();
        json!({ "part": role.as_str(), "count": said.len(), "tokens": tokens })
    };
    roles.into_iter().map(part).filter(|part| part["count"] != 0).collect()
}
