//! Completions for a command at the beginning of a message: the actions that people can run.

use super::{MAX_OFFERED, fuzzy};
use orlop_app::Application;
use orlop_core::{Context, Result, Value};
use serde_json::json;
use std::collections::BTreeMap;

/// The commands that a word after `/` may mean, the best first.
pub(super) async fn offered(word: &str, cx: &Context) -> Result<Vec<Value>> {
    let app = Application::of(cx)?;
    let session = cx.session().map(|session| session.id());
    // A session that is not stored yet has no actions of its own.
    let actions = match app.list_actions(session).await {
        Ok(actions) => actions,
        Err(_) => app.list_actions(None).await?,
    };
    let by_hand = actions.into_iter().filter(|action| action.trigger.is_none());
    let known: BTreeMap<String, String> =
        by_hand.map(|action| (action.id, action.description.unwrap_or(action.label))).collect();
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
