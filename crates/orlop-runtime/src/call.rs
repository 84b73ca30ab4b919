//! One call of a hook: what it lends to the plugin for as long as it runs.

use crate::grants::Grants;
use crate::secrets;
use orlop_app::{Application, SessionLock, TOKENS_PER_DAY, side_request};
use orlop_core::json_api::Sessions;
use orlop_core::{CallContext, Context, Error, Map, Result, Session, Value};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// How many operations of the host a plugin may have under way in one call.
const MAX_UNDER_WAY: usize = 256;

/// What a plugin may do in its calls.
#[derive(Default)]
pub(crate) struct Rights {
    pub(crate) grants: Grants,
    /// Tokens of requests that it sends itself.
    pub(crate) tokens_per_day: Option<u64>,
    /// The sections of configurations that are its own.
    pub(crate) own: Vec<String>,
    /// Methods whose refusal people were told of.
    told: Mutex<HashSet<String>>,
}

impl Rights {
    pub(crate) fn new(grants: &Grants, tokens_per_day: Option<u64>, own: Vec<String>) -> Self {
        Self { grants: grants.clone(), tokens_per_day, own, told: Mutex::default() }
    }
}

/// What a call lends: the core and the application as far as granted, sessions, locks. All of it
/// ends with the call.
pub(crate) struct Lent {
    pub(crate) plugin: String,
    pub(crate) rights: Arc<Rights>,
    cx: Option<Context>,
    app: Option<Application>,
    held: Mutex<Held>,
    /// The call in its process. Names are of one call, so that those of another lead nowhere.
    call: AtomicU64,
    numbers: AtomicU64,
}

#[derive(Default)]
struct Held {
    sessions: HashMap<String, Session>,
    /// The agents of sessions that the host lent: to these the plugin may send.
    agents: HashSet<String>,
    locks: HashMap<String, SessionLock>,
    under_way: Vec<AbortHandle>,
    over: bool,
}

impl Lent {
    /// What a hook with this context lends to `plugin`.
    pub(crate) fn new(plugin: &str, rights: &Arc<Rights>, cx: Option<&Context>) -> Arc<Self> {
        // Locks that a plugin takes in one call belong together.
        let app = cx.and_then(|cx| {
            let app = Application::of(cx).ok()?.on_behalf_of(plugin, cx).in_flow();
            Some(match rights.tokens_per_day {
                Some(limit) => {
                    app.telling(Map::from_iter([(TOKENS_PER_DAY.to_owned(), limit.into())]))
                }
                None => app,
            })
        });
        let lent = Self {
            plugin: plugin.to_owned(),
            rights: rights.clone(),
            cx: cx.cloned(),
            app,
            held: Mutex::default(),
            call: AtomicU64::default(),
            numbers: AtomicU64::new(1),
        };
        if let Some(session) = cx.and_then(Context::session) {
            lent.trust_agent_of(session);
        }
        Arc::new(lent)
    }

    /// What a call outside of any hook lends: nothing.
    pub(crate) fn nothing(plugin: &str) -> Arc<Self> {
        Self::new(plugin, &Arc::default(), None)
    }

    pub(crate) fn context(&self) -> Result<&Context> {
        self.cx.as_ref().ok_or_else(|| {
            Error::bad_state("this hook runs for every chunk and lends nothing; use another one")
        })
    }

    /// What hooks are told of a request that the plugin makes of its own accord.
    pub(crate) fn side_request(&self) -> Result<CallContext> {
        let told = side_request(&self.plugin, self.context()?);
        Ok(match self.rights.tokens_per_day {
            Some(limit) => told.with(TOKENS_PER_DAY, limit),
            None => told,
        })
    }

    pub(crate) fn app(&self) -> Result<&Application> {
        self.app.as_ref().ok_or_else(|| {
            Error::bad_state("there is no application here: the core was used on its own")
        })
    }

    /// Tells people that the plugin was refused something: the first time so that they see it, and in
    /// the trace each time.
    pub(crate) fn refused(&self, method: &str, why: &Error) {
        let (plugin, why) = (&self.plugin, why.message());
        let mut told = self.rights.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told.insert(method.to_owned()) {
            true => {
                tracing::error!(target: "orlop::plugin", "plugin \"{plugin}\" was refused: {why}")
            }
            false => {
                tracing::warn!(target: "orlop::plugin", "plugin \"{plugin}\" was refused: {why}")
            }
        }
        if let Ok(app) = self.app() {
            app.note_refusal(plugin, method);
        }
    }

    /// Keeps a session for the plugin and gives its handle.
    pub(crate) fn hold(&self, session: &Session) -> String {
        let handle = self.name("h");
        self.held().sessions.insert(handle.clone(), session.clone());
        handle
    }

    /// The plugin may send to the agent of this session, for it is the one that people chose.
    pub(crate) fn trust_agent_of(&self, session: &Session) {
        self.held().agents.extend(session.agent_id().map(str::to_owned));
    }

    /// Refuses an agent that no session of the host has, unless others may be used. The usual one is
    /// whom a session without an agent goes to.
    pub(crate) fn check_agent(&self, agent: Option<&str>, method: &str) -> Result<()> {
        let Some(agent) = agent else { return Ok(()) };
        let usual = self.app.as_ref().and_then(|app| app.config().default_agent().ok());
        if usual.as_deref() == Some(agent) || self.held().agents.contains(agent) {
            return Ok(());
        }
        self.rights.grants.check_other_agent(agent, method).inspect_err(|error| {
            self.refused(method, error);
        })
    }

    /// Keeps a lock for the plugin and gives its name.
    pub(crate) fn hold_lock(&self, lock: SessionLock) -> String {
        let name = self.name("l");
        self.held().locks.insert(name.clone(), lock);
        name
    }

    pub(crate) fn take_lock(&self, name: &str) -> Option<SessionLock> {
        self.held().locks.remove(name)
    }

    /// Takes note of an operation under way, which ends with the call.
    pub(crate) fn under_way(&self, start: impl FnOnce() -> AbortHandle) -> Result<()> {
        let mut held = self.held();
        held.under_way.retain(|task| !task.is_finished());
        if held.over {
            return Err(Error::bad_state("the call that this belongs to is over"));
        }
        if held.under_way.len() >= MAX_UNDER_WAY {
            return Err(Error::bad_state(format!(
                "there are {MAX_UNDER_WAY} operations under way in this call; wait for some of them"
            )));
        }
        held.under_way.push(start());
        Ok(())
    }

    /// The call has a number from now on.
    pub(crate) fn begin(&self, call: u64) {
        self.call.store(call, Ordering::Relaxed);
    }

    /// The call is over: operations are stopped, locks given back, handles forgotten.
    pub(crate) fn end(&self) {
        let held = std::mem::replace(&mut *self.held(), Held { over: true, ..Held::default() });
        held.under_way.iter().for_each(AbortHandle::abort);
    }

    fn name(&self, letter: &str) -> String {
        let call = self.call.load(Ordering::Relaxed);
        format!("{letter}{call}.{}", self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions cross with a handle, by which the plugin can give them back as they are.
impl Sessions for Lent {
    fn take(&self, value: Value) -> Result<Session> {
        let own = &self.rights.own;
        let Some(crossed) = value.get("$session") else {
            let session = Session::from_json(value)?;
            let held = self.held().sessions.values().find(|it| it.id() == session.id()).cloned();
            secrets::check_metadata(session.metadata(), held.as_ref(), true, own)?;
            return Ok(session);
        };
        let handle = crossed.get("handle").and_then(Value::as_str).unwrap_or_default();
        let held = self.held().sessions.get(handle).cloned();
        let session = held.ok_or_else(|| {
            Error::not_found(format!(
                "there is no session with the handle \"{handle}\" in this call; handles of other calls are gone"
            ))
        })?;
        match crossed.get("metadata") {
            None | Some(Value::Null) => Ok(session),
            Some(Value::Object(metadata)) => {
                secrets::check_metadata(metadata, Some(&session), true, own)?;
                Ok(session.with_metadata(metadata.clone()))
            }
            Some(_) => Err(Error::wrong_type("the metadata of a session must be a mapping")),
        }
    }

    fn give(&self, session: &Session) -> Value {
        let native =
            session.native().map(|native| json!({"$list": {"skip": 0, "items": native.items()}}));
        let messages: Vec<_> = session.messages().iter().collect();
        json!({"$session": {
            "handle": self.hold(session),
            "session_id": session.id(),
            "metadata": session.metadata(),
            "messages": {"$list": {"skip": 0, "items": messages}},
            "native_messages": native,
        }})
    }
}
