//! A configured server over time: what is known of it, whether it runs, and when it may be tried
//! again.

use crate::cache::Cache;
use crate::catalogue::Catalogue;
use crate::connection::{Connection, Plan};
use futures::future::{BoxFuture, FutureExt, Shared, ready};
use orlop_app::Credentials;
use orlop_app::config::{McpServer, RuntimeEnv};
use orlop_core::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

/// How long things may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long the first turn waits for a server that is not known yet, where the configuration
    /// sets nothing.
    pub first_wait: Duration,
    /// For a server to start and to say what it offers.
    pub start: Duration,
    /// For an answer, and between two signs of life of a call, where the configuration sets nothing.
    pub answer: Duration,
    /// Before a server that failed twice is tried again; each further failure doubles it.
    pub backoff: Duration,
    /// The longest such pause.
    pub max_backoff: Duration,
    /// A server that lasted this long has not failed.
    pub stable: Duration,
    /// A list that is older is asked for again, without anybody waiting.
    pub fresh: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(300),
            start: Duration::from_secs(60),
            answer: Duration::from_secs(120),
            backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(60),
            stable: Duration::from_secs(60),
            fresh: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// How often a server that nothing is known of is tried.
const TRIES: usize = 6;
/// How long changes of lists are gathered before they are asked for.
const SETTLE: Duration = Duration::from_millis(200);

/// One server of the configuration.
pub(crate) struct Server {
    name: String,
    settings: Result<McpServer>,
    limits: Limits,
    env: RuntimeEnv,
    folder: PathBuf,
    cache: Option<Cache>,
    /// Grows when the catalogue changes.
    version: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Option<Arc<Catalogue>>,
    link: Link,
    /// Since the last time that it lasted.
    failures: u32,
    retry_at: Option<Instant>,
    error: Option<Error>,
    /// When it was first tried.
    since: Option<Instant>,
    seeking: bool,
    told: bool,
    stopped: bool,
}

#[derive(Default)]
enum Link {
    #[default]
    Off,
    Starting(Starting),
    On(Arc<Connection>),
}

type Starting = Shared<BoxFuture<'static, Result<Arc<Connection>>>>;

impl Server {
    pub(crate) fn new(
        name: &str,
        settings: Result<McpServer>,
        env: &RuntimeEnv,
        limits: Limits,
    ) -> Self {
        let cache = settings.as_ref().ok().zip(env.data_dir());
        let cache = cache.map(|(settings, home)| Cache::of(settings, home));
        let folder = env.get("WORKING_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
        Self {
            name: name.to_owned(),
            settings,
            limits,
            env: env.clone(),
            folder,
            cache,
            version: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn settings(&self) -> Result<&McpServer> {
        self.settings.as_ref().map_err(Clone::clone)
    }

    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.env.credentials()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// How long an answer may take.
    pub(crate) fn patience(&self) -> Duration {
        let set = self.settings.as_ref().ok().and_then(|it| it.timeout_ms);
        set.map_or(self.limits.answer, Duration::from_millis)
    }

    /// How long the first turn waits for it while nothing is known of it.
    fn first_wait(&self) -> Duration {
        let set = self.settings.as_ref().ok().and_then(|it| it.first_wait_ms);
        set.map_or(self.limits.first_wait, Duration::from_millis)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the server now: it said so, or it was kept. Starts nothing.
    pub(crate) fn known(&self) -> Option<Arc<Catalogue>> {
        if let Some(known) = &self.state().known {
            return Some(known.clone());
        }
        let kept = self.cache.as_ref()?.read()?;
        Some(self.state().known.get_or_insert(Arc::new(kept)).clone())
    }

    /// Makes sure that the catalogue will be known: a server that nothing is known of, or only of
    /// old, is started, and nobody waits for it here.
    pub(crate) fn look_after(self: &Arc<Self>) {
        let is_fresh =
            self.known().is_some() && self.kept_for().is_none_or(|age| age < self.limits.fresh);
        if is_fresh || self.settings.is_err() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        {
            let mut state = self.state();
            if state.seeking || state.stopped || matches!(state.link, Link::On(_)) {
                return;
            }
            state.seeking = true;
            state.since.get_or_insert_with(Instant::now);
        }
        let server = Arc::downgrade(self);
        runtime.spawn(async move {
            seek(&server).await;
            if let Some(server) = server.upgrade() {
                server.state().seeking = false;
            }
        });
    }

    /// The catalogue, for who needs it to begin: waits a little for a server that is new, and says
    /// once if it goes on without it.
    pub(crate) async fn catalogue(self: &Arc<Self>) -> Option<Arc<Catalogue>> {
        if let Some(known) = self.known() {
            self.look_after();
            return Some(known);
        }
        self.look_after();
        if let Err(error) = &self.settings {
            self.tell(error.message());
            return None;
        }
        let begun = self.state().since.unwrap_or_else(Instant::now);
        let connecting = self.connect();
        match timeout_at(begun + self.first_wait(), connecting).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.tell(error.message()),
            Err(_) => self.tell(&format!(
                "MCP server \"{0}\" is new and has not answered within {1} s; its tools are missing until it does. `orlop mcp test {0}` starts it and keeps what it offers; mcp_servers.{0}.first_wait_ms waits longer",
                self.name,
                self.first_wait().as_secs_f32()
            )),
        }
        self.known()
    }

    /// Says something about the server, once.
    fn tell(&self, what: &str) {
        if !std::mem::replace(&mut self.state().told, true) {
            tracing::error!(target: "orlop::mcp", "{what}");
        }
    }

    /// The connection: the one there is, the one that is being made, or a new one.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>> {
        let link = self.link();
        link.await
    }

    fn link(self: &Arc<Self>) -> Starting {
        let at_once = |result: Result<Arc<Connection>>| ready(result).boxed().shared();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return at_once(Err(Error::internal("MCP servers need a tokio runtime")));
        };
        let mut state = self.state();
        match &state.link {
            Link::Starting(starting) => return starting.clone(),
            Link::On(connection) if !connection.is_closed() => {
                return at_once(Ok(connection.clone()));
            }
            Link::On(connection) => {
                let lasted = connection.age() >= self.limits.stable;
                state.link = Link::Off;
                state.failed(lasted, None, &self.limits);
            }
            Link::Off => {}
        }
        if state.stopped {
            return at_once(Err(self.failure("is stopped, because Orlop is ending")));
        }
        let now = Instant::now();
        if let Some(wait) = state.retry_at.and_then(|at| at.checked_duration_since(now)) {
            let why = state.error.as_ref().map_or("it ended", |error| error.message());
            let seconds = wait.as_secs_f32().ceil();
            return at_once(Err(Error::unavailable(format!(
                "{why} (MCP server \"{}\" is tried again in {seconds} s)",
                self.name
            ))));
        }
        let server = self.clone();
        let task = runtime.spawn(async move { server.start().await });
        let lost = self.failure("could not be started: Orlop is ending");
        let starting = task.map(move |done| done.unwrap_or(Err(lost))).boxed().shared();
        state.link = Link::Starting(starting.clone());
        starting
    }

    async fn start(self: Arc<Self>) -> Result<Arc<Connection>> {
        let begun = timeout(self.limits.start, self.open()).await.unwrap_or_else(|_| {
            let seconds = self.limits.start.as_secs_f32();
            Err(Error::unavailable(format!("it did not answer within {seconds} s")))
        });
        let begun = begun
            .map_err(|error| self.failure(&format!("could not be started: {}", error.message())));
        match begun {
            Ok((connection, catalogue)) => {
                self.learn(catalogue);
                self.watch(&connection);
                let mut state = self.state();
                state.error = None;
                state.link = if state.stopped { Link::Off } else { Link::On(connection.clone()) };
                Ok(connection)
            }
            Err(error) => {
                let mut state = self.state();
                state.link = Link::Off;
                state.failed(false, Some(error.clone()), &self.limits);
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<(Arc<Connection>, Catalogue)> {
        let known = self.known();
        // One that failed may have become another.
        let trusted = known.as_ref().filter(|_| self.state().failures == 0);
        let plan = Plan {
            server: self.settings()?,
            own_env: self.env.vars(),
            folder: &self.folder,
            credentials: self.env.credentials(),
            protocol: trusted.map(|known| known.protocol.as_str()),
            answer: self.patience(),
        };
        let connection = Connection::open(&plan).await?;
        let catalogue = connection.catalogue().await?;
        Ok((Arc::new(connection), catalogue))
    }

    /// Takes a catalogue over, and keeps it for the next time.
    fn learn(&self, catalogue: Catalogue) {
        if let Some(cache) = &self.cache {
            cache.write(&catalogue);
        }
        let mut state = self.state();
        if state.known.as_deref() == Some(&catalogue) {
            return;
        }
        let tools = catalogue.tools.len();
        tracing::info!(target: "orlop::mcp", server = self.name, tools, "a server says what it offers");
        state.known = Some(Arc::new(catalogue));
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Asks again whenever the server says that its lists have changed.
    fn watch(self: &Arc<Self>, connection: &Arc<Connection>) {
        let (server, weak) = (Arc::downgrade(self), Arc::downgrade(connection));
        let changed = connection.changed();
        connection.spawn(async move {
            loop {
                changed.notified().await;
                sleep(SETTLE).await;
                let (Some(server), Some(connection)) = (server.upgrade(), weak.upgrade()) else { return };
                match connection.catalogue().await {
                    Ok(catalogue) => server.learn(catalogue),
                    Err(error) => {
                        tracing::warn!(target: "orlop::mcp", server = server.name, %error, "its lists cannot be read again");
                    }
                }
            }
        });
        connection.subscribe();
    }

    /// An error of this server.
    pub(crate) fn failure(&self, what: &str) -> Error {
        Error::unavailable(format!("MCP server \"{}\" {what}", self.name))
    }

    /// Whether it runs, or is talked to.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(&self.state().link, Link::On(connection) if !connection.is_closed())
    }

    /// What is wrong with it, as far as it was tried.
    pub(crate) fn error(&self) -> Option<Error> {
        self.settings.as_ref().err().cloned().or_else(|| self.state().error.clone())
    }

    /// How long ago the kept catalogue was written.
    pub(crate) fn kept_for(&self) -> Option<Duration> {
        self.cache.as_ref().and_then(Cache::age)
    }

    /// Ends the server and forgets how it fared; who needs it next starts it again.
    pub(crate) async fn disconnect(&self) {
        let link = {
            let mut state = self.state();
            (state.failures, state.retry_at, state.error) = (0, None, None);
            match &state.link {
                Link::On(_) => std::mem::take(&mut state.link),
                // One that is being started is a new one already.
                Link::Starting(_) | Link::Off => Link::Off,
            }
        };
        if let Link::On(connection) = link {
            connection.close().await;
        }
    }

    /// Ends the server; it is not started again.
    pub(crate) async fn stop(&self) {
        let link = {
            let mut state = self.state();
            state.stopped = true;
            std::mem::take(&mut state.link)
        };
        if let Link::On(connection) = link {
            connection.close().await;
        }
    }
}

impl State {
    fn failed(&mut self, lasted: bool, error: Option<Error>, limits: &Limits) {
        self.failures = if lasted { 0 } else { self.failures.saturating_add(1) };
        if error.is_some() {
            self.error = error;
        }
        // Once may be an accident.
        let doublings = self.failures.checked_sub(2);
        self.retry_at = doublings.map(|times| {
            let pause = limits.backoff.saturating_mul(1 << times.min(16));
            Instant::now() + pause.min(limits.max_backoff)
        });
    }
}

/// Tries a server until it answers, with longer and longer pauses, or it is given up for now.
async fn seek(server: &Weak<Server>) {
    for _ in 0..TRIES {
        let Some(held) = server.upgrade() else { return };
        if held.connect().await.is_ok() || held.state().stopped {
            return;
        }
        let at = held.state().retry_at;
        drop(held);
        if let Some(at) = at {
            sleep_until(at).await;
        }
    }
}
