//! The application: agents, plugins, a store, and everything that happens between them.
//!
//! [`Application`] is a handle; operations on sessions, requests, actions and events are methods
//! of it in the modules of those names.

use crate::assets::AssetFiles;
use crate::config::{AppConfig, RuntimeEnv};
use crate::host::Door;
use crate::hub::Hub;
use crate::lifecycle::Hooked;
use crate::lock::{Flow, Locks, SessionLock, Wait, locked};
use crate::pace::Pace;
use crate::persist::{self, Known, Recent};
use crate::plugins::Plugins;
use crate::scope::{Scope, check_id};
use crate::store::{ChangeNote, Commit, NewEvent, Store, TurnWrite};
use crate::time::{RuntimeTimer, now};
use crate::trace::Tracer;
use crate::turn::{ArgumentSchemas, Pausing, Running, TakenRequests};
use crate::watch::{Failures, Watcher};
use orlop_core::hooks::{ApplicationInitInput, Hook, Runner};
use orlop_core::types::app_event::{Event, EventKind, SessionState};
use orlop_core::{
    ApplicationPlugin, CallContext, CancelToken, Config, Core, Error, HostPlugin, ModelCache,
    Registered, Result, Session, TriggerSource, Value,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// What an application is made of.
pub struct Builder {
    config: AppConfig,
    store: Arc<dyn Store>,
    plugins: Plugins,
    assets: Option<AssetFiles>,
    watcher: Option<Arc<dyn Watcher>>,
    is_verified: bool,
}

impl Builder {
    /// With these plugins.
    pub fn plugins(mut self, plugins: Plugins) -> Self {
        self.plugins = plugins;
        self
    }

    /// With attachments kept in these files.
    pub fn assets(mut self, assets: AssetFiles) -> Self {
        self.assets = Some(assets);
        self
    }

    /// With somebody who hears of everything that happens.
    pub fn watcher(mut self, watcher: Arc<dyn Watcher>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// With a configuration that was verified already, with these plugins.
    pub fn verified(mut self) -> Self {
        self.is_verified = true;
        self
    }

    /// Starts the application: every agent is checked, then application plugins are initialised.
    pub async fn start(self) -> Result<Application> {
        let Self { config, store, plugins, assets, watcher, is_verified } = self;
        let observer = watcher.clone().map(|watcher| Arc::new(Failures(watcher)) as _);
        let runner = Runner { timer: Some(Arc::new(RuntimeTimer)), observer };
        let hosts = registered_hosts(&config, &plugins)?;
        let mut applications: Vec<ApplicationEntry> = Vec::new();
        for plugin in &plugins.applications {
            let taken = applications.iter().map(|entry| entry.plugin.name());
            let plugin = Registered::new(plugin.manifest(), plugin.clone(), "application", taken)?;
            applications.push(ApplicationEntry { plugin, state: Value::Null });
        }
        let arranged = orlop_core::order::arrange(applications, |entry| &entry.plugin.manifest);
        let (mut applications, circles) = arranged;
        for circle in circles {
            tracing::warn!(target: "orlop::app", %circle, "application plugins want to run before each other");
        }
        let shared = Shared {
            locks: Locks::new(store.clone()),
            store,
            plugins,
            agents: Mutex::default(),
            models: ModelCache::default(),
            applications: Vec::new(),
            left_out: BTreeMap::new(),
            hosts,
            assets: assets.map(Arc::new),
            door: Door::default(),
            hub: Hub::default(),
            recent: Recent::default(),
            taken: TakenRequests::default(),
            running: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            arguments: ArgumentSchemas::default(),
            runner,
            watcher,
            pausing: Pausing::default(),
            pace: Pace::new(),
            env: Arc::new(config.env().clone()),
            config,
        };
        let mut shared = shared;
        if !is_verified {
            shared.config.verify(&shared.plugins.schema())?;
        }
        let whole = shared.whole_config();
        let mut left_out = BTreeMap::new();
        for entry in &mut applications {
            let call = CallContext::new("application").lending("env", shared.env.clone());
            let cx = Core::new().call_context(&whole, call, None, None);
            let input = ApplicationInitInput { config: whole.clone() };
            let hook = Hook::ApplicationInit;
            match shared.runner.call(&entry.plugin, hook, |p| p.init(&input, &cx)).await {
                Ok(state) => entry.state = state,
                Err(error) if entry.plugin.manifest.dispensable => {
                    let name = entry.plugin.name();
                    tracing::error!(target: "orlop::app", "the application plugin \"{name}\" is left out, because it could not begin: {error}");
                    left_out.insert(name.to_owned(), error);
                }
                Err(error) => return Err(error),
            }
        }
        applications.retain(|entry| !left_out.contains_key(entry.plugin.name()));
        shared.applications = applications;
        shared.left_out = left_out;
        Ok(Application {
            shared: Arc::new(shared),
            scope: Scope::local(),
            flow: None,
            tracer: None,
            caller: CallContext::new("application"),
            read_only: false,
            wait: Wait::default(),
        })
    }
}

/// The host plugins named by `hosts.plugins`, in that order; all of them, if it is not set.
fn registered_hosts(
    config: &AppConfig,
    plugins: &Plugins,
) -> Result<Vec<Registered<dyn HostPlugin>>> {
    let raw = config.raw();
    let wanted = raw.get("hosts").and_then(|hosts| hosts.get("plugins")).and_then(Value::as_array);
    let mut held: Vec<Registered<dyn HostPlugin>> = Vec::new();
    for plugin in &plugins.hosts {
        let taken: Vec<&str> = held.iter().map(|held| held.name()).collect();
        held.push(Registered::new(plugin.manifest(), plugin.clone(), "host", taken)?);
    }
    if let Some(wanted) = wanted {
        let mut listed = Vec::new();
        for name in wanted.iter().filter_map(Value::as_str) {
            let Some(place) = held.iter().position(|held| held.name() == name) else {
                let known: Vec<&str> = held.iter().map(|held| held.name()).collect();
                return Err(Error::bad_argument(format!(
                    "hosts.plugins: there is no host plugin \"{name}\"; known: {}",
                    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                )));
            };
            listed.push(held.remove(place));
        }
        held = listed;
    }
    held.sort_by_key(|held| std::cmp::Reverse(held.manifest.priority));
    let (held, circles) = orlop_core::order::arrange(held, |held| &held.manifest);
    for circle in circles {
        tracing::warn!(target: "orlop::app", %circle, "host plugins want to run before each other");
    }
    Ok(held)
}

/// What all handles of an application share.
pub(crate) struct Shared {
    pub(crate) config: AppConfig,
    /// The runtime environment, lent to hooks.
    env: Arc<RuntimeEnv>,
    pub(crate) plugins: Plugins,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) locks: Locks,
    agents: Mutex<HashMap<String, Arc<Agent>>>,
    models: ModelCache,
    pub(crate) applications: Vec<ApplicationEntry>,
    /// Application plugins that could not begin, and why.
    left_out: BTreeMap<String, Error>,
    pub(crate) hosts: Vec<Registered<dyn HostPlugin>>,
    pub(crate) assets: Option<Arc<AssetFiles>>,
    pub(crate) door: Door,
    pub(crate) hub: Hub,
    pub(crate) recent: Recent,
    pub(crate) taken: TakenRequests,
    pub(crate) running: Mutex<HashMap<(Scope, String), Running>>,
    /// Held while a login is renewed.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    pub(crate) runner: Runner,
    pub(crate) watcher: Option<Arc<dyn Watcher>>,
    pub(crate) pausing: Pausing,
    pub(crate) pace: Pace,
    /// What arguments of tool calls are judged by.
    pub(crate) arguments: ArgumentSchemas,
}

/// An application plugin and the state its `init` gave.
pub(crate) struct ApplicationEntry {
    pub(crate) plugin: Registered<dyn ApplicationPlugin>,
    pub(crate) state: Value,
}

/// An agent: its core and its settings.
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) core: Core,
    pub(crate) config: Config,
    /// What hooks see as `base_config`.
    pub(crate) base: Config,
    /// The logins whose tokens its settings hold.
    pub(crate) credentials: BTreeSet<String>,
}

impl Shared {
    /// The whole configuration with placeholders replaced where they can be; agents stay as they
    /// are written.
    pub(crate) fn whole_config(&self) -> Config {
        let mut values = self.config.raw();
        for (name, value) in values.iter_mut().filter(|(name, _)| *name != "agents") {
            if let Ok(Some(resolved)) = self.config.section(name) {
                *value = resolved;
            }
        }
        Config::new(values)
    }

    fn make_agent(&self, id: &str) -> Result<Arc<Agent>> {
        let config = self.config.build_agent_config(id)?;
        let core = self.plugins.core_for(id, &config, self.models.clone())?;
        let core = core.with_timer(Arc::new(RuntimeTimer)).lending("env", self.env.clone());
        let base = self.config.base_config(id)?;
        let credentials = self.config.credentials_of(id);
        let agent = Arc::new(Agent { id: id.to_owned(), core, config, base, credentials });
        locked(&self.agents).insert(id.to_owned(), agent.clone());
        Ok(agent)
    }

    /// The agent with the logins there are now; the same one if nothing changed.
    fn renewed(&self, agent: Arc<Agent>) -> Result<Arc<Agent>> {
        let config = self.config.build_agent_config(&agent.id)?;
        if config == agent.config {
            return Ok(agent);
        }
        let agent = Arc::new(Agent {
            id: agent.id.clone(),
            core: agent.core.clone(),
            base: self.config.base_config(&agent.id)?,
            config,
            credentials: agent.credentials.clone(),
        });
        locked(&self.agents).insert(agent.id.clone(), agent.clone());
        Ok(agent)
    }

    /// The agent `id`; an unknown one is not found.
    pub(crate) fn agent(&self, id: &str) -> Result<Arc<Agent>> {
        let known = locked(&self.agents).get(id).cloned();
        if let Some(agent) = known {
            return if agent.credentials.is_empty() { Ok(agent) } else { self.renewed(agent) };
        }
        if !self.config.agents().contains(&id) {
            let known = self.config.agents().join(", ");
            return Err(Error::not_found(format!("there is no agent \"{id}\"; known: {known}")));
        }
        self.make_agent(id)
    }
}

/// A handle on the application, for one tenant and user. Cloning is cheap.
///
/// A handle lent to a plugin belongs to the flow it was lent in: it may lock the session that the
/// flow works on again, and what it saves is seen by the actions that follow.
#[derive(Clone)]
pub struct Application {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scope: Scope,
    pub(crate) flow: Option<Flow>,
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// What the caller and its surface told, carried along to hooks.
    pub(crate) caller: CallContext,
    pub(crate) read_only: bool,
    /// How long operations wait for a session that somebody else works on.
    pub(crate) wait: Wait,
}

/// A session with what is needed to work on it.
#[derive(Clone)]
pub struct Loaded {
    /// The core of the session's agent.
    pub core: Core,
    /// The settings of that agent.
    pub config: Config,
    /// The session.
    pub session: Session,
}

/// What one write changes beside the session.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) session: Option<Session>,
    pub(crate) fork_of: Option<Session>,
    pub(crate) turn: Option<TurnWrite>,
    pub(crate) request: Option<String>,
    pub(crate) events: Vec<EventKind>,
    pub(crate) reserve: u64,
    pub(crate) trace: String,
    pub(crate) undo: Option<ChangeNote>,
    pub(crate) undoes: Option<String>,
}

/// What a write gave.
pub(crate) struct Written {
    /// The session as it is stored now; going on with it makes the next write cheap.
    pub(crate) session: Option<Session>,
    pub(crate) events: Vec<Arc<Event>>,
    pub(crate) reserved: std::ops::Range<u64>,
}

impl Application {
    /// An application of this configuration that keeps its data in `store`.
    pub fn builder(config: AppConfig, store: Arc<dyn Store>) -> Builder {
        Builder {
            config,
            store,
            plugins: Plugins::new(),
            assets: None,
            watcher: None,
            is_verified: false,
        }
    }

    /// The application a hook was called by.
    pub fn of(cx: &orlop_core::Context) -> Result<Application> {
        let app = cx.handle::<Application>("app").map(|app| (*app).clone());
        app.ok_or_else(|| Error::bad_state("this hook was not called by an application"))
    }

    /// The same application, acting for someone else.
    pub fn for_scope(&self, scope: Scope) -> Self {
        Self { scope, flow: None, tracer: None, ..self.clone() }
    }

    /// A handle whose operations belong together: a lock that one of them takes, all have.
    pub fn begin(&self) -> Self {
        Self { flow: Some(Flow::default()), ..self.clone() }
    }

    /// The same handle with what a surface tells hooks: its own keys, its live objects, and data
    /// of its caller.
    pub fn called_with(&self, caller: CallContext) -> Self {
        Self { caller, ..self.clone() }
    }

    /// The same handle, whose operations wait so long for a session that somebody else works on.
    pub fn waiting(&self, wait: Wait) -> Self {
        Self { wait, ..self.clone() }
    }

    /// The same handle for requests that a plugin makes of its own accord: they are counted to it,
    /// and to the session and the request they are made for. What the caller told stays behind.
    pub fn on_behalf_of(&self, plugin: &str, cx: &orlop_core::Context) -> Self {
        Self { caller: side_request(plugin, cx), ..self.clone() }
    }

    /// Notes in the trace of the request under way that a plugin was refused an operation.
    pub fn note_refusal(&self, plugin: &str, operation: &str) {
        if let Some(tracer) = &self.tracer {
            let detail = serde_json::json!({ "plugin": plugin, "operation": operation });
            tracer.note("refused", detail, std::time::Instant::now(), false);
        }
    }

    /// Notes in the trace of the request under way that an action was not run by hand, and why.
    pub fn note_refused_action(&self, plugin: &str, action: &str, why: &str) {
        self.runner().refused(plugin, action, why);
    }

    /// Whom this handle acts for.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The configuration as it was read.
    pub fn config(&self) -> &AppConfig {
        &self.shared.config
    }

    /// The plugins the application was started with.
    pub fn plugins(&self) -> &Plugins {
        &self.shared.plugins
    }

    /// Why an application plugin is left out that could not begin.
    pub fn left_out(&self, plugin: &str) -> Option<&Error> {
        self.shared.left_out.get(plugin)
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The core and the settings of an agent.
    pub fn agent(&self, id: &str) -> Result<(Core, Config)> {
        let agent = self.shared.agent(id)?;
        Ok((self.core_of(&agent), agent.config.clone()))
    }

    /// Takes the lock on a session. Within one flow it can be taken any number of times; a handle
    /// that is in no flow yet gets one with [`begin`](Self::begin).
    pub async fn acquire_session_lock(&self, session_id: &str) -> Result<SessionLock> {
        self.lock(session_id, self.wait).await
    }

    pub(crate) async fn lock(&self, session_id: &str, wait: Wait) -> Result<SessionLock> {
        self.lock_unless(session_id, wait, None).await
    }

    /// The same for somebody who may be cancelled while they wait.
    pub(crate) async fn lock_unless(
        &self,
        session_id: &str,
        wait: Wait,
        cancelled: Option<&CancelToken>,
    ) -> Result<SessionLock> {
        check_id("session", session_id)?;
        let flow = self.flow.clone().unwrap_or_default();
        self.shared.locks.acquire(&self.scope, session_id, &flow, wait, cancelled).await
    }

    /// This handle if it is in a flow, else one in a new flow.
    pub fn in_flow(&self) -> Self {
        match &self.flow {
            Some(_) => self.clone(),
            None => self.begin(),
        }
    }

    pub(crate) fn core_of(&self, agent: &Agent) -> Core {
        match self.runner().observer {
            Some(observer) => agent.core.clone().observed(observer),
            None => agent.core.clone(),
        }
    }

    pub(crate) fn runner(&self) -> Runner {
        let runner = self.shared.runner.clone();
        match self.tracer.clone() {
            Some(tracer) => Runner { observer: Some(tracer), ..runner },
            None => runner,
        }
    }

    /// A tracer of one request.
    pub(crate) fn new_tracer(&self) -> Option<Arc<Tracer>> {
        Some(Arc::new(Tracer::new(self.shared.watcher.clone())))
    }

    /// The agent of a session: its own, else the default one.
    pub(crate) fn agent_of(&self, session: &Session) -> Result<Arc<Agent>> {
        match session.agent_id() {
            Some(id) => self.shared.agent(id),
            None => self.shared.agent(&self.shared.config.default_agent()?),
        }
    }

    pub(crate) fn loaded(&self, agent: &Agent, session: Session) -> Loaded {
        Loaded { core: self.core_of(agent), config: agent.config.clone(), session }
    }

    /// What hooks are told beside the core's own keys.
    pub(crate) fn layer(&self, base: &Config, source: TriggerSource) -> CallContext {
        let context = self
            .caller
            .clone()
            .from_source(source)
            .owning_shared("base_config", base.as_value().clone())
            .lending("app", Arc::new(self.clone()))
            .lending("env", self.shared.env.clone());
        match &self.shared.assets {
            Some(assets) => context.lending("session_asset_store", assets.clone()),
            None => context,
        }
    }

    /// Who started what is done by hand: the server, if the call came over it, else `otherwise`.
    pub(crate) fn started_by(&self, otherwise: TriggerSource) -> TriggerSource {
        match self.caller.source() {
            TriggerSource::Server => TriggerSource::Server,
            _ => otherwise,
        }
    }

    /// The session as it is stored, from memory if it has not changed since.
    pub(crate) async fn known(&self, id: &str) -> Result<Option<Arc<Known>>> {
        let Some(head) = self.shared.store.head(&self.scope, id).await? else { return Ok(None) };
        let held = self.flow.as_ref().and_then(|flow| flow.known(id));
        let held = held.filter(|known| known.is_at(&head));
        if let Some(known) = held.or_else(|| self.shared.recent.get(&self.scope, id, &head)) {
            return Ok(Some(known));
        }
        let Some(stored) = self.shared.store.load(&self.scope, id).await? else { return Ok(None) };
        let known = Arc::new(Known {
            session: persist::restore(stored.session),
            revision: stored.head.revision,
            created: Some(stored.head.created),
            title: stored.head.title,
        });
        self.remember(known.clone());
        Ok(Some(known))
    }

    fn remember(&self, known: Arc<Known>) {
        if let Some(flow) = &self.flow {
            flow.keep_known(&known);
        }
        self.shared.recent.put(&self.scope, known);
    }

    /// Makes one step durable and tells of it. A session that did not change is not written.
    pub(crate) async fn write(&self, lock: &SessionLock, step: Step) -> Result<Written> {
        // In a place of its own: a turn is in memory while its model speaks, with room for this.
        Box::pin(self.write_step(lock, step)).await
    }

    async fn write_step(&self, lock: &SessionLock, step: Step) -> Result<Written> {
        let mut commit = Commit::new(lock.lease()?);
        let id = lock.session_id();
        let mut now_known = None;
        if let Some(session) = &step.session {
            let known = self.known(id).await?;
            commit.session = match &known {
                Some(known) => persist::update(known, session),
                None => Some(persist::create(session, step.fork_of.as_ref())),
            };
            let title = persist::title_of(session).or(known.as_ref().and_then(|k| k.title.clone()));
            let revision = known.as_ref().map_or(0, |known| known.revision);
            let revision = revision + u64::from(commit.session.is_some());
            let created = known.as_ref().and_then(|known| known.created);
            let session = match (&commit.session, known) {
                (None, Some(known)) => known.session.clone(),
                _ => session.settled(),
            };
            now_known = Some(Known { session, revision, created, title });
        }
        let mut events = step.events;
        if let Some(known) = &now_known {
            let state = state_of(known);
            events.iter_mut().for_each(|event| fill_state(event, &state));
        }
        let at = now();
        commit.events = events
            .into_iter()
            .map(|kind| NewEvent {
                session: Some(id.to_owned()),
                request: step.request.clone(),
                at: at.clone(),
                kind,
            })
            .collect();
        commit.turn = step.turn;
        commit.reserve = step.reserve;
        commit.trace = step.trace;
        commit.undo = step.undo.filter(|_| commit.session.is_some());
        commit.undoes = step.undoes;
        let new = commit.events.clone();
        let committed = self.shared.store.commit(&self.scope, commit).await?;
        let session = now_known.as_ref().map(|known| known.session.clone());
        if let Some(mut known) = now_known {
            if known.created.is_none() {
                let head = self.shared.store.head(&self.scope, id).await;
                known.created = head.ok().flatten().map(|head| head.created);
            }
            self.remember(Arc::new(known));
        }
        Ok(Written {
            session,
            events: self.tell(new, committed.numbers.first),
            reserved: committed.numbers.reserved,
        })
    }

    /// Numbers events and tells subscribers.
    pub(crate) fn tell(&self, events: Vec<NewEvent>, first: u64) -> Vec<Arc<Event>> {
        let numbered = events.into_iter().zip(first..).map(|(event, seq)| {
            Arc::new(Event {
                seq,
                at: event.at,
                session_id: event.session,
                request_id: event.request,
                kind: event.kind,
            })
        });
        numbered
            .inspect(|event| {
                self.watched(event);
                self.shared.hub.tell(&self.scope, event);
            })
            .collect()
    }

    pub(crate) fn hooked(&self) -> Hooked<'_> {
        Hooked { app: self }
    }
}

/// Beside `requested_by`: how many tokens that plugin may take a day by requests of its own.
pub const TOKENS_PER_DAY: &str = "requested_tokens_per_day";

/// What hooks are told of a request that a plugin makes of its own accord: `requested_by`, the
/// plugin; `requested_for` and `requested_in`, the session and the request it is made for. The
/// application is lent on where there is one.
pub fn side_request(plugin: &str, cx: &orlop_core::Context) -> CallContext {
    let told = |key: &str| cx.get(key).and_then(Value::as_str).map(str::to_owned);
    let session = told("requested_for").or_else(|| cx.session().map(|it| it.id().to_owned()));
    let request = told("requested_in")
        .or_else(|| cx.request_id().map(str::to_owned))
        .or_else(|| told("request_id"));
    let mut context = CallContext::new("plugin").with("requested_by", plugin);
    for (key, value) in [("requested_for", session), ("requested_in", request)] {
        if let Some(value) = value {
            context = context.with(key, value);
        }
    }
    match cx.handle::<Application>("app") {
        Some(app) => context.lending("app", app),
        None => context,
    }
}

pub(crate) fn state_of(known: &Known) -> SessionState {
    SessionState {
        revision: known.revision,
        message_count: known.session.messages().len(),
        title: known.title.clone(),
        context: None,
    }
}

pub(crate) fn fill_state(event: &mut EventKind, now: &SessionState) {
    if let EventKind::Final { session, .. } | EventKind::SessionUpdated { session, .. } = event {
        // Only the turn knows how full the context window is.
        *session = SessionState { context: session.context, ..now.clone() };
    }
}
