//! Doubles that stop or fail exactly where a test says, and plugins that record what they see.

use futures::future::{BoxFuture, FutureExt};
use orlop_app::store::*;
use orlop_app::*;
use orlop_core::hooks::{ApplicationActionInput, ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::types::app_event::Event;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A place where work stands still until the test lets it go on.
#[derive(Clone)]
pub struct Stop {
    arrived: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

impl Default for Stop {
    fn default() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(0)) }
    }
}

impl Stop {
    /// Stands here until it is let go.
    pub async fn here(&self) {
        self.arrived.add_permits(1);
        self.let_go.acquire().await.unwrap().forget();
    }

    /// Waits until so many more stand here.
    pub async fn reached_by(&self, count: u32) {
        self.arrived.acquire_many(count).await.unwrap().forget();
    }

    /// Whether somebody came that was not waited for yet.
    pub fn is_reached(&self) -> bool {
        self.arrived.available_permits() > 0
    }

    /// Lets so many go on.
    pub fn let_go(&self, count: usize) {
        self.let_go.add_permits(count);
    }
}

type Run = dyn Fn(ToolInput, Context) -> BoxFuture<'static, Result<ToolReport>> + Send + Sync;

/// A tool that is an async closure.
pub struct AsyncTool {
    name: &'static str,
    annotations: Value,
    run: Arc<Run>,
}

impl AsyncTool {
    pub fn new<F>(
        name: &'static str,
        annotations: Value,
        run: impl Fn(ToolInput, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolReport>> + Send + 'static,
    {
        Self { name, annotations, run: Arc::new(move |input, cx| run(input, cx).boxed()) }
    }
}

impl Plugin for AsyncTool {
    fn manifest(&self) -> Manifest {
        Manifest::new(self.name, "1.0.0").without_models()
    }
}

impl Tool for AsyncTool {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({
            "name": self.name, "description": self.name, "annotations": self.annotations,
            "parameters": { "type": "object", "properties": {} },
        });
        Answer::ok(vec![map(schema)])
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later((self.run)(input.clone(), cx.clone()))
    }
}

/// A JSON object as a mapping.
pub fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// A tool that stands at `stop` and then answers with its input, and logs that it began.
pub fn stopping(name: &'static str, annotations: Value, stop: &Stop, log: &Log) -> AsyncTool {
    let (stop, log) = (stop.clone(), log.clone());
    AsyncTool::new(name, annotations, move |input, _| {
        let (stop, log) = (stop.clone(), log.clone());
        log.add(format!("{}{}", input.tool_name, input.payload));
        async move {
            stop.here().await;
            Ok(ToolReport::ok(input.payload.to_string()))
        }
    })
}

/// An application plugin that logs `app:<lifecycle>` and answers with what `act` gives.
pub fn app_recorder<F>(
    log: &Log,
    lifecycles: &[&str],
    act: impl Fn(ApplicationActionInput, Context) -> F + Send + Sync + 'static,
) -> ScriptedApplication
where
    F: Future<Output = Result<ActionResult>> + Send + 'static,
{
    let log = log.clone();
    ScriptedApplication::new("recorder")
        .actions(lifecycles.iter().map(|name| super::at(name)).collect())
        .execute_action(move |input, cx| {
            log.add(format!("app:{}", input.action_id));
            act(input, cx)
        })
}

/// A feature that logs `core:<lifecycle>` and answers with what `act` gives.
pub fn core_recorder(
    log: &Log,
    lifecycles: &[&str],
    act: impl Fn(&str, &Context) -> Result<ActionResult> + Send + Sync + 'static,
) -> ScriptedFeature {
    let log = log.clone();
    let actions: Vec<_> = lifecycles.iter().map(|name| super::at(name)).collect();
    ScriptedFeature::new("core_recorder")
        .get_actions(move |_, _| Ok(actions.clone()))
        .execute_action(move |input, cx| {
            log.add(format!("core:{}", input.action_id));
            act(&input.action_id, cx)
        })
}

pub async fn nothing(_: ApplicationActionInput, _: Context) -> Result<ActionResult> {
    Ok(ActionResult::unchanged())
}

/// A folder that is gone when the test is over.
pub struct Folder(pub PathBuf);

impl Default for Folder {
    fn default() -> Self {
        let path = std::env::temp_dir().join(format!("orlop-test-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store that counts, logs and fails as it is told, and is another one otherwise.
pub struct StoreDouble {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    session_writes: AtomicUsize,
    messages_read: AtomicUsize,
    turns_read: AtomicUsize,
    leases_taken: AtomicUsize,
    fail_at: Mutex<Option<usize>>,
    hold_at: Mutex<Option<Stop>>,
    log: Log,
}

impl StoreDouble {
    pub fn new(inner: Arc<dyn Store>, log: &Log) -> Arc<Self> {
        Arc::new(Self {
            inner,
            commits: AtomicUsize::new(0),
            session_writes: AtomicUsize::new(0),
            messages_read: AtomicUsize::new(0),
            turns_read: AtomicUsize::new(0),
            leases_taken: AtomicUsize::new(0),
            fail_at: Mutex::default(),
            hold_at: Mutex::default(),
            log: log.clone(),
        })
    }

    /// The nth commit from now on fails, and all after it until told otherwise.
    pub fn fail_from(&self, nth: Option<usize>) {
        self.commits.store(0, Ordering::SeqCst);
        *self.fail_at.lock().unwrap() = nth;
    }

    /// The next commit stands here before it is made.
    pub fn hold_at(&self, stop: &Stop) {
        *self.hold_at.lock().unwrap() = Some(stop.clone());
    }

    fn read(&self, messages: usize) {
        self.messages_read.fetch_add(messages, Ordering::SeqCst);
    }

    /// How many messages were read since the last time.
    pub fn messages_read(&self) -> usize {
        self.messages_read.swap(0, Ordering::SeqCst)
    }

    /// How often a request was looked for since the last time.
    pub fn turns_read(&self) -> usize {
        self.turns_read.swap(0, Ordering::SeqCst)
    }

    /// How often a session was locked since the last time.
    pub fn leases_taken(&self) -> usize {
        self.leases_taken.swap(0, Ordering::SeqCst)
    }

    /// How many commits wrote the session since the last time.
    pub fn session_writes(&self) -> usize {
        self.session_writes.swap(0, Ordering::SeqCst)
    }
}

impl Store for StoreDouble {
    fn commit<'a>(&'a self, scope: &'a Scope, commit: Commit) -> Stored<'a, Committed> {
        let nth = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if self.fail_at.lock().unwrap().is_some_and(|at| nth >= at) {
            return async { Err(Error::unavailable("the disk is full")) }.boxed();
        }
        if commit.session.is_some() {
            self.session_writes.fetch_add(1, Ordering::SeqCst);
            self.log.add("write");
        }
        let hold = self.hold_at.lock().unwrap().take();
        async move {
            if let Some(stop) = hold {
                stop.here().await;
            }
            self.inner.commit(scope, commit).await
        }
        .boxed()
    }

    fn load<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<StoredSession>> {
        self.inner
            .load(scope, id)
            .map(|loaded| {
                let count = |it: &StoredSession| it.session.messages.len();
                self.read(loaded.as_ref().ok().and_then(Option::as_ref).map_or(0, count));
                loaded
            })
            .boxed()
    }
    fn outline<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Outline>> {
        self.inner.outline(scope, id)
    }
    fn head<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Head>> {
        self.inner.head(scope, id)
    }
    fn messages<'a>(
        &'a self,
        scope: &'a Scope,
        id: &'a str,
        range: Range<usize>,
    ) -> Stored<'a, Option<Vec<Message>>> {
        self.inner
            .messages(scope, id, range)
            .map(|found| {
                self.read(found.as_ref().ok().and_then(Option::as_ref).map_or(0, Vec::len));
                found
            })
            .boxed()
    }
    fn list<'a>(&'a self, scope: &'a Scope, query: &'a ListQuery) -> Stored<'a, Page> {
        self.inner.list(scope, query)
    }
    fn search<'a>(&'a self, scope: &'a Scope, query: &'a SearchQuery) -> Stored<'a, Vec<Hit>> {
        self.inner.search(scope, query)
    }
    fn delete<'a>(
        &'a self,
        scope: &'a Scope,
        lease: &'a Lease,
        events: Vec<NewEvent>,
    ) -> Stored<'a, Option<Committed>> {
        self.inner.delete(scope, lease, events)
    }
    fn acquire<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        owner: &'a str,
        time: Duration,
    ) -> Stored<'a, Acquired> {
        self.leases_taken.fetch_add(1, Ordering::SeqCst);
        self.inner.acquire(scope, session, owner, time)
    }
    fn renew<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, time: Duration) -> Stored<'a, bool> {
        self.inner.renew(scope, lease, time)
    }
    fn release<'a>(&'a self, scope: &'a Scope, lease: &'a Lease) -> Stored<'a, ()> {
        self.inner.release(scope, lease)
    }
    fn revoke<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        owner: &'a str,
    ) -> Stored<'a, bool> {
        self.inner.revoke(scope, session, owner)
    }
    fn turn<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Option<TurnRecord>> {
        self.turns_read.fetch_add(1, Ordering::SeqCst);
        self.inner.turn(scope, request)
    }
    fn turns<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
        limit: usize,
    ) -> Stored<'a, Vec<TurnRecord>> {
        self.inner.turns(scope, session, limit)
    }
    fn abandoned(&self, limit: usize) -> Stored<'_, Vec<(Scope, TurnRecord)>> {
        self.inner.abandoned(limit)
    }
    fn signal<'a>(&'a self, scope: &'a Scope, request: &'a str, signal: Value) -> Stored<'a, ()> {
        self.inner.signal(scope, request, signal)
    }
    fn take_signals<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Value>> {
        self.inner.take_signals(scope, request)
    }
    fn publish<'a>(
        &'a self,
        scope: &'a Scope,
        events: Vec<NewEvent>,
        reserve: u64,
    ) -> Stored<'a, Numbers> {
        self.inner.publish(scope, events, reserve)
    }
    fn events<'a>(&'a self, scope: &'a Scope, query: &'a EventQuery) -> Stored<'a, Vec<Event>> {
        self.inner.events(scope, query)
    }
    fn trace<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Map>> {
        self.inner.trace(scope, request)
    }
    fn plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
    ) -> Stored<'a, Option<PluginState>> {
        self.inner.plugin_state(scope, session, plugin)
    }
    fn set_plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
        expected: u64,
        value: Option<Value>,
    ) -> Stored<'a, Option<u64>> {
        self.inner.set_plugin_state(scope, session, plugin, expected, value)
    }
    fn put_asset<'a>(&'a self, scope: &'a Scope, asset: &'a AssetRecord) -> Stored<'a, ()> {
        self.inner.put_asset(scope, asset)
    }
    fn asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<AssetRecord>> {
        self.inner.asset(scope, id)
    }
    fn assets<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
    ) -> Stored<'a, Vec<AssetRecord>> {
        self.inner.assets(scope, session)
    }
    fn delete_asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, bool> {
        self.inner.delete_asset(scope, id)
    }
    fn put_share<'a>(&'a self, scope: &'a Scope, share: &'a ShareRecord) -> Stored<'a, ()> {
        self.inner.put_share(scope, share)
    }
    fn shares<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ShareRecord>> {
        self.inner.shares(scope, session)
    }
    fn share<'a>(&'a self, id: &'a str) -> Stored<'a, Option<(Scope, ShareRecord)>> {
        self.inner.share(id)
    }
    fn delete_share<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, bool> {
        self.inner.delete_share(scope, session, id)
    }
    fn changes<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ChangeNote>> {
        self.inner.changes(scope, session)
    }
    fn change<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, Option<StoredChange>> {
        self.inner.change(scope, session, id)
    }
    fn check(&self) -> Stored<'_, StoreHealth> {
        self.inner.check()
    }
}
