//! An application for tests: a scripted provider, plugins made of closures, a store in memory.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::store::Store;
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_store::SqliteStore;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Two agents on one scripted provider.
pub const CONFIG: &str = r#"
default_agent = "default"
[agents.default]
provider = "scripted"
model = "m"
[agents.other]
extends = "default"
model = "o"
"#;

/// What a test application is made of.
pub struct Scene {
    pub provider: ScriptedProvider,
    pub plugins: Plugins,
    pub config: String,
    pub store: Arc<dyn Store>,
}

impl Default for Scene {
    fn default() -> Self {
        let provider = ScriptedProvider::new("scripted");
        Self {
            plugins: Plugins::new().provider(Arc::new(provider.clone()), vec![]),
            provider,
            config: CONFIG.to_owned(),
            store: Arc::new(SqliteStore::open_in_memory().unwrap()),
        }
    }
}

impl Scene {
    /// The provider answers with these texts, one a request.
    pub fn says(texts: &[&str]) -> Self {
        let scene = Self::default();
        for text in texts {
            scene.provider.reply(ScriptedReply::text(&[text]));
        }
        scene
    }

    pub fn feature(mut self, feature: ScriptedFeature) -> Self {
        self.plugins = self.plugins.feature(Arc::new(feature));
        self
    }

    pub fn tool(mut self, tool: ScriptedTool) -> Self {
        self.plugins = self.plugins.tool(Arc::new(tool));
        self
    }

    pub fn application(mut self, plugin: ScriptedApplication) -> Self {
        self.plugins = self.plugins.application(Arc::new(plugin));
        self
    }

    pub fn host(mut self, plugin: ScriptedHost) -> Self {
        self.plugins = self.plugins.host(Arc::new(plugin));
        self
    }

    pub fn config(mut self, config: &str) -> Self {
        self.config = config.to_owned();
        self
    }

    pub async fn try_start(&self) -> Result<Application> {
        let env = RuntimeEnv::from_vars(Vars::new());
        let config = AppConfig::from_text(Path::new("orlop.toml"), &self.config, env)?;
        Application::builder(config, self.store.clone()).plugins(self.plugins.clone()).start().await
    }

    pub async fn start(&self) -> Application {
        self.try_start().await.unwrap()
    }
}

/// A request with this text on a stored session, or on a new one of that id.
pub fn ask(session: &str, text: &str) -> Request {
    Request {
        session: Target::StoredOrNew(NewSession {
            id: Some(session.to_owned()),
            ..NewSession::default()
        }),
        message: Some(Message::user(text)),
        stream: true,
        ..Request::default()
    }
}

/// All events of a request, to its end.
pub async fn events_of(app: &Application, request: Request) -> Vec<Arc<Event>> {
    let mut handle = app.send_request(request).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    events
}

/// The types of events, with fragments of one kind in a row counted once.
pub fn names(events: &[Arc<Event>]) -> String {
    let mut names: Vec<&str> = events.iter().map(|event| event.kind.name()).collect();
    names.dedup();
    names.join(" ")
}

/// Sends and waits; gives what the session says afterwards.
pub async fn talk(app: &Application, session: &str, text: &str) -> String {
    events_of(app, ask(session, text)).await;
    said(app, session).await
}

pub async fn said(app: &Application, session: &str) -> String {
    texts(&app.session(session).await.unwrap().session)
}

/// An action at a lifecycle that logs its own name and the session's messages.
pub fn at(lifecycle: &str) -> ActionDefinition {
    ActionDefinition::new(lifecycle, lifecycle).on(&[lifecycle])
}

pub fn patch(value: Value) -> ActionResult {
    ActionResult { session_metadata: Some(value), ..ActionResult::default() }
}

/// A tool `name` that answers with its input.
pub fn echo(name: &'static str) -> ScriptedTool {
    ScriptedTool::new(name)
        .offering(&[name])
        .execute_tool(|input, _| Ok(ToolReport::ok(json!(input.payload.to_string()))))
}

/// Opens the front door. The log has a line for every hook that failed.
pub async fn open_door(scene: &Scene) -> (Host, Log) {
    open_door_of(scene.start().await).await
}

async fn open_door_of(app: Application) -> (Host, Log) {
    let failures = Log::new();
    let heard = failures.clone();
    let listen = move |failure: &HookFailure| {
        heard.add(format!("{}.{}: {}", failure.plugin, failure.hook, failure.error.message()));
    };
    (Host::start(app, Some(Arc::new(listen))).await.unwrap(), failures)
}

/// A request of a surface.
pub fn chat_with(session: &str, text: &str, stream: bool) -> ChatRequest {
    ChatRequest {
        session_id: Some(session.to_owned()),
        content: text.into(),
        stream,
        ..ChatRequest::default()
    }
}

/// All events of a request of a surface, when everything that belongs to it has run.
pub async fn chat_to_end(host: &Host, request: ChatRequest) -> Vec<Arc<Event>> {
    let mut chat = host.chat(request).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = chat.next().await {
        events.push(event);
    }
    chat.ended().await;
    events
}

pub mod doubles;
pub mod recorders;

/// A new session of this id.
pub fn new(id: &str) -> NewSession {
    NewSession { id: Some(id.to_owned()), ..NewSession::default() }
}

/// Waits for the first event of this type and gives it.
pub async fn until(handle: &mut RequestHandle, name: &str) -> Arc<Event> {
    while let Some(event) = handle.next().await {
        if event.kind.name() == name {
            return event;
        }
    }
    panic!("the request ended without {name}")
}

/// The events that are left, as [`names`] shows them.
pub async fn rest(mut handle: RequestHandle) -> String {
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    names(&events)
}

/// A value of the session's metadata, as it is stored.
pub async fn kept(app: &Application, session: &str, key: &str) -> Value {
    let session = app.session(session).await.unwrap().session;
    session.metadata().get(key).cloned().unwrap_or_default()
}

/// A folder for assets, gone with the test.
pub struct AssetFolder(pub std::path::PathBuf);

impl AssetFolder {
    pub fn new() -> Self {
        Self(std::env::temp_dir().join(format!("orlop-door-{}", uuid::Uuid::new_v4())))
    }

    /// Keeps a file; gives its id.
    pub async fn keep(&self, app: &Application, name: &str, bytes: &[u8]) -> String {
        let upload = orlop_app::assets::Upload::new(name, None);
        app.put_asset(None, upload, bytes.to_vec()).await.unwrap().id
    }
}

impl Drop for AssetFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Opens the front door of an application that keeps assets.
pub async fn open_door_with(scene: &Scene, folder: &AssetFolder) -> (Host, Log) {
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
    let files = orlop_app::assets::AssetFiles::new(folder.0.clone(), Default::default());
    let builder = Application::builder(config, scene.store.clone());
    let app = builder.plugins(scene.plugins.clone()).assets(files).start().await.unwrap();
    open_door_of(app).await
}

/// Never answers, and lets more time pass than any hook has.
pub async fn hang<T>() -> Result<T> {
    tokio::spawn(async {
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(601)).await;
        tokio::time::resume();
    });
    std::future::pending().await
}
