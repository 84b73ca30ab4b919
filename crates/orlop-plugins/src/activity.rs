//! Who is at work: requests between their start and their end, by tenant, user and session.
//!
//! One value is two plugins. As a host plugin it counts, as an application plugin it tells.

use orlop_app::{Application, Scope, rfc3339};
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, RequestInfo};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, HostPlugin, Manifest, Value,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The requests under way. Clones count together; register one as a host plugin and one as an
/// application plugin.
#[derive(Clone, Default)]
pub struct Activity {
    running: Arc<Mutex<BTreeMap<Key, Running>>>,
}

/// Tenant, user, session and request.
type Key = (String, String, String, String);

struct Running {
    agent: String,
    /// Milliseconds since 1970.
    since: i64,
    /// How many callers wait for it: a request that is sent twice is one request.
    callers: usize,
}

impl Activity {
    /// How many requests are under way, of all tenants.
    pub fn count(&self) -> usize {
        self.held().len()
    }

    /// How many requests of this user are under way.
    pub fn count_of(&self, scope: &Scope) -> usize {
        self.held().keys().filter(|key| is_of(key, scope)).count()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Key, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests of a user, those that began first in front.
    fn told(&self, scope: &Scope) -> Vec<Value> {
        let held = self.held();
        let mut own: Vec<_> = held.iter().filter(|(key, _)| is_of(key, scope)).collect();
        own.sort_by_key(|(_, running)| running.since);
        let told = own.into_iter().map(|((_, _, session, request), running)| {
            json!({
                "session_id": session,
                "request_id": request,
                "agent_id": running.agent,
                "since": rfc3339(running.since),
            })
        });
        told.collect()
    }
}

fn is_of(key: &Key, scope: &Scope) -> bool {
    key.0 == scope.tenant() && key.1 == scope.user()
}

fn key_of(info: &RequestInfo) -> Key {
    let RequestInfo { tenant_id, user_id, session_id, request_id, .. } = info.clone();
    (tenant_id, user_id, session_id, request_id)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl HostPlugin for Activity {
    fn manifest(&self) -> Manifest {
        // It counts before others may refuse, and for as long as others work.
        Manifest::host("activity", "1.0.0").priority(1000)
    }

    fn on_request_start<'a>(&'a self, info: &'a RequestInfo, _: &'a Context) -> Answer<'a, ()> {
        let mut held = self.held();
        let new = || Running { agent: info.agent_id.clone(), since: now(), callers: 0 };
        held.entry(key_of(info)).or_insert_with(new).callers += 1;
        Answer::ok(())
    }

    fn on_request_end<'a>(&'a self, info: &'a RequestInfo, _: &'a Context) -> Answer<'a, ()> {
        let (mut held, key) = (self.held(), key_of(info));
        if let Some(running) = held.get_mut(&key) {
            running.callers -= 1;
            if running.callers == 0 {
                held.remove(&key);
            }
        }
        Answer::ok(())
    }
}

impl ApplicationPlugin for Activity {
    fn manifest(&self) -> Manifest {
        Manifest::new("activity", "1.0.0").acting_at(&[])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let list = ActionDefinition::new("list_active", "Show what is running")
            .describing("Lists your requests that are under way in this program.");
        Answer::ok(vec![list])
    }

    fn execute_action<'a>(
        &'a self,
        _: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        let result = Application::of(cx).and_then(|app| {
            let requests = self.told(app.scope());
            let message = match requests.len() {
                0 => "Nothing is running.".to_owned(),
                1 => "1 request is running.".to_owned(),
                count => format!("{count} requests are running."),
            };
            let active = requests.len();
            ActionResult::from_json(
                json!({ "message": message, "active": active, "requests": requests }),
            )
        });
        Answer::Ready(result)
    }
}
