//! Where `files` and `shell` do their work: on a thread that the kernel (Landlock on Linux) keeps
//! from everything the agent has no business with. Child processes inherit it.
//!
//! `policy.rs` says what is allowed, and [`orlop_app::confine`] tells the kernel. Where it cannot, work
//! runs without, and the permissions alone decide.

mod policy;

use crate::workspace::{Workspace, real_path};
use orlop_app::config::{AppConfig, RuntimeEnv};
use orlop_app::confine::{self, Network, Reach, Support};
use orlop_app::{Application, Scope};
use orlop_core::{Context, Error, Manifest, Result, Value};
use policy::Policy;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the tools of an agent may reach, as the kernel enforces it.
///
/// Files can be read everywhere but in places that hold secrets, Orlop's own data among them, and
/// written in the workspace, in the folders of the setting `sandbox.write` and in a temporary
/// folder of the session.
#[derive(Debug, Clone)]
pub struct Sandbox {
    policy: Arc<Policy>,
    is_on: bool,
}

impl Sandbox {
    /// The sandbox of the agent a hook was called for. Its temporary folder is there afterwards.
    pub fn of(cx: &Context) -> Result<Self> {
        let workspace = Workspace::of(cx)?;
        let env = cx.handle::<RuntimeEnv>("env").unwrap_or_default();
        let owner = owner_of(cx);
        let settings = cx.config().get("sandbox");
        let mut policy = Policy::new(&workspace, &env, settings, &owner)?;
        if let Ok(app) = Application::of(cx) {
            let stored = stored_elsewhere(app.config()).into_iter();
            policy.reach.hidden.extend(stored.filter(|path| !workspace.contains(path)));
        }
        policy.make_temp_folder()?;
        let enabled = settings.and_then(|settings| settings.get("enabled"));
        Ok(Self { policy: Arc::new(policy), is_on: enabled != Some(&Value::Bool(false)) })
    }

    /// Declares the settings of the workspace and the sandbox, for every plugin that works there.
    pub fn settings(manifest: Manifest) -> Manifest {
        let folders = |text: &str, default: Value| json!({ "type": "array", "items": { "type": "string" }, "default": default, "description": text });
        manifest
            .config("folders", folders("Folders the agent works in beside the working folder.", json!([])))
            .config("sandbox.enabled", json!({ "type": "boolean", "default": true, "description": "Whether the kernel keeps tools within the limits below." }))
            .config("sandbox.read", folders("Folders that may be read beside the workspace and the system's programs.", json!(["/"])))
            .config("sandbox.write", folders("Folders that may be written beside the workspace.", json!([])))
            .config("sandbox.hide", folders("Files and folders that cannot be read, beside the usual places of keys and passwords.", json!([])))
            .config("sandbox.network", json!({ "type": "boolean", "default": true, "description": "Whether commands have the network." }))
    }

    /// Runs `work` on a thread of its own, restricted before it begins. Dropping the future does
    /// not end the work. Threads that it starts are restricted, too, so it must not be the one to
    /// start those of a pool.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.run_under(self.policy.without_processes(), work).await
    }

    /// Runs `start` likewise, which starts a process: that one inherits the restrictions. Unlike
    /// other work it sees `/proc`, without which few programs run.
    pub async fn start<T: Send + 'static>(
        &self,
        start: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let can = self.network() || Self::support().network;
        if !can {
            return Err(Error::unavailable(
                "sandbox.network = false cannot be kept on this machine; allow the network, or run commands elsewhere",
            ));
        }
        self.run_under(self.policy.reach.clone(), start).await
    }

    async fn run_under<T: Send + 'static>(
        &self,
        reach: Reach,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let (done, result) = futures::channel::oneshot::channel();
        let is_on = self.is_on;
        let restricted = move || {
            let kept = if is_on { reach.enforce_here().map_err(with_advice) } else { Ok(()) };
            // Nobody may be waiting any more.
            let _ = done.send(kept.map(|()| work()));
        };
        let thread = std::thread::Builder::new().name("orlop-sandbox".to_owned());
        thread.spawn(restricted).map_err(|error| {
            Error::unavailable(format!("no thread can be started: {error}; try again"))
        })?;
        result.await.map_err(|_| Error::internal("work in the sandbox ended with a panic"))?
    }

    /// Whether the setting says so and the kernel can.
    pub fn is_enforced(&self) -> bool {
        self.is_on && Self::support().is_there()
    }

    /// What the kernel of this machine can do.
    pub fn support() -> Support {
        confine::support()
    }

    /// Whether work has the network. Taking it away may be more than this machine can do.
    pub fn network(&self) -> bool {
        !self.is_on || self.policy.reach.network == Network::Open
    }

    /// Whether work may read a real path. The kernel says the same, where it can.
    pub fn may_read(&self, real: &Path) -> bool {
        !self.is_on || self.policy.reach.may_read(real)
    }

    /// Whether work may write a real path. The kernel says the same, where it can.
    pub fn may_write(&self, real: &Path) -> bool {
        !self.is_on || self.policy.reach.may_write(real)
    }

    /// A folder for temporary files of the session, private to it.
    pub fn temp_folder(&self) -> &Path {
        &self.policy.temp
    }

    /// The folders that may be written, the working folder first.
    pub fn writable(&self) -> &[PathBuf] {
        &self.policy.reach.write
    }

    /// Why nothing new can be made in a folder that may be written, where that is so.
    pub(crate) fn closed_to_new_files(&self) -> Option<String> {
        if !self.is_enforced() {
            return None;
        }
        let mut folders = self.writable().iter();
        let (folder, hidden) =
            folders.find_map(|folder| Some((folder, self.policy.reach.hidden_below(folder)?)))?;
        Some(format!(
            "nothing new can be made directly in {}, because {} lies in it and is hidden from tools: work in a folder below that has nothing hidden in it",
            folder.display(),
            hidden.display()
        ))
    }

    /// Removes the temporary folder of a session with all that is in it.
    pub(crate) fn forget(env: &RuntimeEnv, owner: &str) {
        // It may never have been made.
        let _ = std::fs::remove_dir_all(policy::temp_folder(env, owner));
    }
}

/// Says how to work without.
fn with_advice(error: Error) -> Error {
    let text =
        format!("{}; to work without the sandbox set sandbox.enabled = false", error.message());
    Error::new(error.class(), text)
}

/// Files of the store and of attachments that are not in the data folder.
fn stored_elsewhere(config: &AppConfig) -> Vec<PathBuf> {
    let store = config.store_url().unwrap_or_default();
    let database = store.strip_prefix("sqlite:").filter(|path| !path.is_empty());
    let database = database.into_iter().flat_map(|path| {
        let path = path.strip_prefix("//").unwrap_or(path);
        ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{path}{end}")))
    });
    let assets = config.assets().map(|assets| assets.url).unwrap_or_default();
    let assets = assets.strip_prefix("file:").filter(|path| !path.is_empty()).map(PathBuf::from);
    let absolute = |path: PathBuf| std::path::absolute(path).ok();
    let real = |path: PathBuf| real_path(&path).ok().filter(|path| path.exists());
    database.chain(assets).filter_map(absolute).filter_map(real).collect()
}

/// The session a hook was called for, with whom it belongs to.
pub(crate) fn owner_of(cx: &Context) -> String {
    let session = cx.get("session_id").and_then(Value::as_str).unwrap_or_default();
    match Application::of(cx) {
        Ok(app) => owner(app.scope(), session),
        Err(_) => session.to_owned(),
    }
}

/// A session, with whom it belongs to.
pub(crate) fn owner(scope: &Scope, session: &str) -> String {
    format!("{}/{}/{session}", scope.tenant(), scope.user())
}
