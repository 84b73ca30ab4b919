//! Budgets: whether a request may ask the model once more.

use super::NAME;
use super::ledger::{accounts, days, of_session, today};
use super::report::{dollars, grouped};
use super::tally::{Tally, cost};
use orlop_app::{Application, TOKENS_PER_DAY};
use orlop_core::{Context, Error, Map, Result, Value};

/// What a budget is for: its setting, how a person calls it, and what to do when it is used up.
const SCOPES: [(&str, &str, &str); 3] = [
    ("turn", "this request", "ask for less at once"),
    ("session", "this session", "go on in a new session"),
    ("day", "today", "go on tomorrow (UTC)"),
];

/// Fails if a budget is used up, or cannot be kept.
pub(super) async fn check(app: &Application, cx: &Context) -> Result<()> {
    of_plugin(app, cx).await?;
    let section = match cx.config().get(NAME).and_then(Value::as_object) {
        Some(section) if section.keys().any(|key| key.starts_with("max_")) => section,
        _ => return Ok(()),
    };
    is_priced(section, cx)?;
    let [turn, session, day] = &SCOPES;
    for account in accounts(cx) {
        let held = of_session(app, &account.session).await?;
        within(section, turn, &held.of_turn(account.request.as_deref()))?;
        within(section, session, &held.total)?;
    }
    within(section, day, &days(app).await?.on(&today()))
}

/// What the package of a plugin says that it may take by requests of its own.
async fn of_plugin(app: &Application, cx: &Context) -> Result<()> {
    let limit = cx.get(TOKENS_PER_DAY).and_then(Value::as_u64);
    let plugin = cx.get("requested_by").and_then(Value::as_str);
    let (Some(limit), Some(plugin)) = (limit, plugin) else { return Ok(()) };
    let took = days(app).await?.of_plugin(&today(), plugin).tokens();
    match took >= limit {
        false => Ok(()),
        true => Err(Error::bad_state(format!(
            "plugin \"{plugin}\" took {} tokens today, and limits.tokens_per_day of its package allows {}; it may go on tomorrow (UTC)",
            grouped(took),
            grouped(limit)
        ))),
    }
}

fn within(section: &Map, scope: &(&str, &str, &str), took: &Tally) -> Result<()> {
    let (name, what, advice) = scope;
    let setting = |kind: &str| format!("max_{kind}_per_{name}");
    let used_up = |took: String, kind: &str, allowed: String| {
        let key = setting(kind);
        Err(Error::bad_state(format!(
            "{what} took {took}, and usage.{key} allows {allowed}; {advice}, or raise usage.{key}"
        )))
    };
    let limit = section.get(&setting("cost")).and_then(Value::as_f64);
    if let Some(limit) = limit.filter(|limit| took.cost >= *limit) {
        return used_up(dollars(took.cost), "cost", dollars(limit));
    }
    let limit = section.get(&setting("tokens")).and_then(Value::as_u64);
    if let Some(limit) = limit.filter(|limit| took.tokens() >= *limit) {
        let tokens = |count: u64| format!("{} tokens", grouped(count));
        return used_up(tokens(took.tokens()), "tokens", tokens(limit));
    }
    Ok(())
}

/// A budget in dollars is no budget where nobody knows what an answer costs.
fn is_priced(section: &Map, cx: &Context) -> Result<()> {
    let Some(key) = section.keys().find(|key| key.starts_with("max_cost")) else { return Ok(()) };
    let model = cx.config().text("model").unwrap_or("unknown");
    let one = Map::from_iter([("input_tokens".to_owned(), 1.into())]);
    match cost(&one, model, cx) {
        Some(_) => Ok(()),
        None => Err(Error::bad_state(format!(
            "usage.{key} cannot be kept, because no price is known for model \"{model}\"; set usage.price, or limit tokens instead"
        ))),
    }
}
