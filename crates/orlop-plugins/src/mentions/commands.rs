//! Completions for a command at the beginning of a message.

use super::{MAX_OFFERED, fuzzy};
use crate::SlashCommands;
use orlop_app::Application;
use orlop_core::{Context, Result, Value};
use serde_json::json;
use std::collections::BTreeMap;

/// The commands that a word after `/` may mean, the best first.
pub(super) async fn offered(word: &str, cx: &Context) -> Result<Vec<Value>> {
    let known = known(cx).await?;
    let best = fuzzy::best(word, known.keys().map(String::as_str), MAX_OFFERED);
    let start = -i64::try_from(word.chars().count() + 1).unwrap_or(i64::MAX);
    let offer = |name: &str| {
        json!({
            "plugin": "mentions",
            "replacement": format!("/{name} "),
            "start": start,
            "display": format!("/{name}"),
            "display_meta": known.get(name),
        })
    };
    Ok(best.into_iter().map(offer).collect())
}

/// The commands by name, with what they do. Where nobody runs commands, surfaces may still have
/// actions run, and complete those.
async fn known(cx: &Context) -> Result<BTreeMap<String, String>> {
    let app = Application::of(cx)?;
    let session = cx.session();
    if SlashCommands::is_used(&app) {
        let agent = match session.and_then(|session| session.agent_id()) {
            Some(agent) => agent.to_owned(),
            None => app.config().default_agent()?,
        };
        let commands = SlashCommands::list(&app, session.map(|it| it.id()), &agent).await?;
        let commands = commands.into_iter().filter(|it| !it.is_elsewhere());
        return Ok(commands.map(|it| (it.name, it.description)).collect());
    }
    // A session that is not stored yet has no actions of its own.
    let actions = match app.list_actions(session.map(|it| it.id())).await {
        Ok(actions) => actions,
        Err(_) => app.list_actions(None).await?,
    };
    let by_hand = actions.into_iter().filter(|action| action.trigger.is_none());
    Ok(by_hand.map(|action| (action.id, action.description.unwrap_or(action.label))).collect())
}
