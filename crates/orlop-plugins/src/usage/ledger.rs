//! What is kept: with the user, days with what agents, models and plugins took; with each session,
//! its sum, its plugins and its last turn. Both have a bounded size.

use super::NAME;
use super::tally::Tally;
use orlop_app::{Application, now};
use orlop_core::{Context, Error, ErrorClass, Result, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many days are remembered.
pub(super) const DAYS: usize = 92;
/// How many names are counted apart; what more of them take is counted as [`OTHERS`].
const NAMES: usize = 50;
const OTHERS: &str = "(others)";
/// How often a write is tried again that others were faster than.
const TRIES: u32 = 20;

pub(super) type Named = BTreeMap<String, Tally>;

/// A session and its request that a call is counted to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Account {
    pub(super) session: String,
    pub(super) request: Option<String>,
}

/// Those of the call or the lifecycle that a hook runs in: its session, and the one that gave it
/// its task.
pub(super) fn accounts(cx: &Context) -> Vec<Account> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let told = |key: &str| text(cx.get(key));
    let session = cx.session();
    let request = told("requested_in")
        .or_else(|| cx.request_id().map(str::to_owned))
        .or_else(|| told("request_id"));
    let own = told("requested_for").or_else(|| session.map(|it| it.id().to_owned()));
    let of = |key: &str| text(session.and_then(|session| session.metadata().get(key)));
    let own = own.map(|session| Account { session, request });
    let parent = of("parent_session_id")
        .map(|session| Account { session, request: of("parent_request_id") });
    own.into_iter().chain(parent).collect()
}

/// One model call: who made it and for what.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) accounts: Vec<Account>,
    pub(super) agent: String,
    pub(super) model: String,
    /// The plugin that made it of its own accord.
    pub(super) plugin: Option<String>,
    pub(super) took: Tally,
}

impl Call {
    /// The call that a hook runs in.
    pub(super) fn of(cx: &Context, model: &str, took: Tally) -> Self {
        let agent = cx.session().and_then(|session| session.agent_id());
        Self {
            accounts: accounts(cx),
            agent: agent.unwrap_or("default").to_owned(),
            model: model.to_owned(),
            plugin: cx.get("requested_by").and_then(Value::as_str).map(str::to_owned),
            took,
        }
    }
}

/// What is kept with a user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Days {
    pub(super) days: BTreeMap<String, Day>,
}

/// A day, in UTC.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Day {
    pub(super) total: Tally,
    pub(super) agents: Named,
    pub(super) models: Named,
    pub(super) plugins: Named,
}

/// What is kept with a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OfSession {
    pub(super) total: Tally,
    pub(super) plugins: Named,
    pub(super) turn: Turn,
}

/// The last request of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    pub(super) request: String,
    pub(super) total: Tally,
}

impl Days {
    pub(super) fn read(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }

    pub(super) fn on(&self, day: &str) -> Tally {
        self.days.get(day).map(|day| day.total).unwrap_or_default()
    }

    /// What a plugin took by requests of its own.
    pub(super) fn of_plugin(&self, day: &str, plugin: &str) -> Tally {
        let day = self.days.get(day);
        day.and_then(|day| day.plugins.get(plugin)).copied().unwrap_or_default()
    }

    fn count(&mut self, day: &str, call: &Call) {
        let held = self.days.entry(day.to_owned()).or_default();
        held.total.add(&call.took);
        add_named(&mut held.agents, &call.agent, &call.took);
        add_named(&mut held.models, &call.model, &call.took);
        if let Some(plugin) = &call.plugin {
            add_named(&mut held.plugins, plugin, &call.took);
        }
        while self.days.len() > DAYS {
            self.days.pop_first();
        }
    }
}

impl OfSession {
    fn count(&mut self, call: &Call, request: Option<&String>) {
        self.total.add(&call.took);
        if let Some(plugin) = &call.plugin {
            add_named(&mut self.plugins, plugin, &call.took);
        }
        if let Some(request) = request {
            if self.turn.request != *request {
                self.turn = Turn { request: request.clone(), total: Tally::default() };
            }
            self.turn.total.add(&call.took);
        }
    }

    pub(super) fn of_turn(&self, request: Option<&str>) -> Tally {
        let is_it = request.is_some_and(|request| request == self.turn.request);
        if is_it { self.turn.total } else { Tally::default() }
    }
}

fn add_named(named: &mut Named, name: &str, took: &Tally) {
    let is_full = named.len() >= NAMES && !named.contains_key(name);
    let name = if is_full { OTHERS } else { name };
    named.entry(name.to_owned()).or_default().add(took);
}

/// The day it is.
pub(super) fn today() -> String {
    now().chars().take(10).collect()
}

/// Writes calls down with their user.
pub(super) async fn record_days(app: &Application, calls: &[Call]) -> Result<()> {
    let day = today();
    app.change_user_state(NAME, |value| {
        let mut days = Days::read(value);
        calls.iter().for_each(|call| days.count(&day, call));
        *value = json(&days)?;
        Ok(())
    })
    .await
}

/// Writes a call down with its sessions, if they are stored.
pub(super) async fn record_with_sessions(app: &Application, call: &Call) -> Result<()> {
    for account in &call.accounts {
        record_with(app, account, call).await?;
    }
    Ok(())
}

async fn record_with(app: &Application, account: &Account, call: &Call) -> Result<()> {
    let Account { session, request } = account;
    if app.store().head(app.scope(), session).await?.is_none() {
        return Ok(());
    }
    for _ in 0..TRIES {
        let held = app.plugin_state(session, NAME).await?;
        let (mut of_session, version) = held.map_or_else(Default::default, |held| {
            (OfSession::deserialize(&held.value).unwrap_or_default(), held.version)
        });
        of_session.count(call, request.as_ref());
        match app.set_plugin_state(session, NAME, version, Some(json(&of_session)?)).await {
            Err(error) if error.class() == ErrorClass::Conflict => {}
            written => return written.map(drop),
        }
    }
    Err(Error::conflict("what a session took is written too often at once"))
}

/// What a user took.
pub(super) async fn days(app: &Application) -> Result<Days> {
    Ok(app.user_state(NAME).await?.map(|held| Days::read(&held.value)).unwrap_or_default())
}

/// What a session took.
pub(super) async fn of_session(app: &Application, session: &str) -> Result<OfSession> {
    let held = app.plugin_state(session, NAME).await?;
    Ok(held.and_then(|held| OfSession::deserialize(&held.value).ok()).unwrap_or_default())
}

fn json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("usage does not serialise: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(agent: &str) -> Call {
        let took = Tally { requests: 1, input_tokens: 10, ..Tally::default() };
        Call { agent: agent.to_owned(), model: "m".to_owned(), took, ..Call::default() }
    }

    #[test]
    fn what_is_kept_has_a_bound_and_forgets_the_oldest() {
        let mut days = Days::default();
        for day in 0..200 {
            days.count(&format!("{day:03}"), &call("a"));
        }
        assert_eq!(
            (days.days.len(), days.days.keys().next().map(String::as_str)),
            (DAYS, Some("108"))
        );
        for agent in 0..200 {
            days.count("199", &call(&agent.to_string()));
        }
        let last = &days.days["199"];
        assert_eq!((last.agents.len(), last.total.requests), (NAMES + 1, 201));
        let sum: u64 = last.agents.values().map(|tally| tally.requests).sum();
        assert_eq!(sum, 201, "nothing is lost");
    }

    #[test]
    fn a_turn_begins_at_nothing() {
        let mut session = OfSession::default();
        let count = |session: &mut OfSession, request: &str| {
            session.count(&call("a"), Some(&request.to_owned()));
        };
        count(&mut session, "r");
        count(&mut session, "r");
        assert_eq!(session.of_turn(Some("r")).tokens(), 20);
        count(&mut session, "s");
        assert_eq!(session.of_turn(Some("s")).tokens(), 10);
        assert_eq!(session.of_turn(Some("r")).tokens(), 0);
        assert_eq!((session.of_turn(None).tokens(), session.total.tokens()), (0, 30));
    }
}
