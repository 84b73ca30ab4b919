//! An application for tests of plugins: a scripted model, a SQLite store, a working folder.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_app::assets::AssetFiles;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::store::{Acquired, Store};
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_store::SqliteStore;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a test application is made of. The folder is removed with it.
pub struct Stage {
    pub model: ScriptedProvider,
    pub plugins: Plugins,
    /// The settings of agent `default`, as TOML, behind its provider and model.
    pub settings: String,
    /// Further text of the configuration file.
    pub more: String,
    pub vars: Vars,
    pub store: Arc<dyn Store>,
    folder: PathBuf,
}

impl Default for Stage {
    fn default() -> Self {
        let model = ScriptedProvider::new("scripted");
        let folder = std::env::temp_dir().join(format!("orlop-stage-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(folder.join("work")).unwrap();
        std::fs::create_dir_all(folder.join("home")).unwrap();
        let folder = folder.canonicalize().unwrap();
        Self {
            plugins: Plugins::new().provider(Arc::new(model.clone()), vec![]),
            model,
            settings: String::new(),
            more: String::new(),
            vars: Vars::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
            store: Arc::new(SqliteStore::open_in_memory().unwrap()),
            folder,
        }
    }
}

impl Stage {
    /// The model answers with these texts, one a request.
    pub fn says(texts: &[&str]) -> Self {
        let stage = Self::default();
        for text in texts {
            stage.model.reply(ScriptedReply::text(&[text]));
        }
        stage
    }

    /// The model makes these calls (id, tool, arguments) in one answer, then says `done`.
    pub fn calls(calls: &[(&str, &str, Value)]) -> Self {
        let stage = Self::default();
        stage.model.reply(ScriptedReply::calls(calls)).reply(ScriptedReply::text(&["done"]));
        stage
    }

    pub fn with(mut self, add: impl FnOnce(Plugins) -> Plugins) -> Self {
        self.plugins = add(std::mem::take(&mut self.plugins));
        self
    }

    pub fn tool(self, tool: impl Tool) -> Self {
        self.with(|plugins| plugins.tool(Arc::new(tool)))
    }

    pub fn feature(self, feature: impl Feature) -> Self {
        self.with(|plugins| plugins.feature(Arc::new(feature)))
    }

    pub fn application(self, plugin: impl ApplicationPlugin) -> Self {
        self.with(|plugins| plugins.application(Arc::new(plugin)))
    }

    pub fn host(self, plugin: impl HostPlugin) -> Self {
        self.with(|plugins| plugins.host(Arc::new(plugin)))
    }

    pub fn settings(mut self, toml: &str) -> Self {
        self.settings.push_str(toml);
        self.settings.push('\n');
        self
    }

    /// Adds to the configuration file, for instance another agent.
    pub fn more(mut self, toml: &str) -> Self {
        self.more.push_str(toml);
        self.more.push('\n');
        self
    }

    /// A file in the working folder.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// The working folder, a real path.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The folder around the working folder, which agents have no business in.
    pub fn outside(&self) -> &Path {
        &self.folder
    }

    /// The data folder.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work().join(path)).unwrap()
    }

    /// The configuration as it is now.
    pub fn config(&self) -> Result<AppConfig> {
        let mut vars = self.vars.clone();
        vars.insert("WORKING_DIR".to_owned(), self.work().display().to_string());
        vars.insert("CONFIG_DIR".to_owned(), self.home().display().to_string());
        let env =
            RuntimeEnv::from_vars(vars).with_credentials(Credentials::in_folder(&self.home()));
        let env = env.with_data_dir(self.home());
        let text = format!(
            "default_agent = \"default\"\n[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n{}\n{}",
            self.settings, self.more
        );
        Ok(AppConfig::from_text(&self.home().join("orlop.toml"), &text, env)?)
    }

    pub async fn try_start(&self) -> Result<Application> {
        let config = self.config()?;
        let assets = AssetFiles::new(self.home().join("assets"), Default::default());
        let builder = Application::builder(config, self.store.clone());
        builder.plugins(self.plugins.clone()).assets(assets).start().await
    }

    pub async fn start(&self) -> Application {
        self.try_start().await.unwrap()
    }

    /// Opens the front door, where host plugins stand. A hook that fails fails the test.
    pub async fn open(&self) -> Host {
        let failed = |failure: &HookFailure| {
            panic!("{}.{}: {}", failure.plugin, failure.hook, failure.error.message());
        };
        Host::start(self.start().await, Some(Arc::new(failed))).await.unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
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

/// A request of a surface.
pub fn chat(session: &str, text: &str) -> ChatRequest {
    ChatRequest {
        session_id: Some(session.to_owned()),
        content: text.into(),
        stream: true,
        ..ChatRequest::default()
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

/// The types of events, with fragments of one kind in a row counted once.
pub fn names(events: &[Arc<Event>]) -> String {
    let mut names: Vec<&str> = events.iter().map(|event| event.kind.name()).collect();
    names.dedup();
    names.join(" ")
}

/// What the model read of the calls of a request, in the order they ended.
pub fn results(events: &[Arc<Event>]) -> Vec<String> {
    let text = |event: &Arc<Event>| match &event.kind {
        EventKind::ToolResult { message, .. } => Some(message.text().to_owned()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// The messages of a stored session, as `orlop_testkit` shows them.
pub async fn said(app: &Application, session: &str) -> String {
    texts(&app.session(session).await.unwrap().session)
}

/// A value of the session's metadata, as it is stored.
pub async fn kept(app: &Application, session: &str, key: &str) -> Value {
    let session = app.session(session).await.unwrap().session;
    session.metadata().get(key).cloned().unwrap_or_default()
}

/// Runs one call of a tool through a whole turn; gives what the model reads.
pub async fn run_call(
    app: &Application,
    model: &ScriptedProvider,
    tool: &str,
    input: Value,
) -> String {
    model.reply(ScriptedReply::calls(&[("c1", tool, input)]));
    model.reply(ScriptedReply::text(&["done"]));
    let events = events_of(app, ask(&format!("s-{}", uuid::Uuid::new_v4()), "go")).await;
    results(&events).pop().unwrap_or_else(|| names(&events))
}

/// A tool `name` that answers with its input.
pub fn echo(name: &'static str) -> ScriptedTool {
    ScriptedTool::new(name)
        .offering(&[name])
        .execute_tool(|input, _| Ok(ToolReport::ok(json!(input.payload.to_string()))))
}

/// A runtime of its own: dropping it ends everything in it at once, as a killed process does.
pub fn process() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Frees a session whose process is gone, as its lease running out would.
pub async fn bury(store: &Arc<dyn Store>, session: &str) {
    let (scope, time) = (Scope::local(), std::time::Duration::from_secs(60));
    match store.acquire(&scope, session, "heir", time).await.unwrap() {
        Acquired::Held { owner, .. } => {
            assert!(store.revoke(&scope, session, &owner).await.unwrap())
        }
        Acquired::Lease(lease) => store.release(&scope, &lease).await.unwrap(),
    }
}
