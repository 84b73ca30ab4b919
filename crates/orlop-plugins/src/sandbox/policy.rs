//! What may be read and written: from the workspace, the settings, and what is known of systems.

use crate::workspace::{Workspace, real_path};
use orlop_app::config::RuntimeEnv;
use orlop_app::confine::{Network, Reach, places};
use orlop_core::{Error, Result, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// What the tools of an agent may reach. All paths are real ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Policy {
    /// What may be written begins with the working folder.
    pub(super) reach: Reach,
    /// For temporary files; one of those that may be written.
    pub(super) temp: PathBuf,
}

impl Policy {
    pub(super) fn new(
        workspace: &Workspace,
        env: &RuntimeEnv,
        settings: Option<&Value>,
        owner: &str,
    ) -> Result<Self> {
        let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let place = |path: &str| {
            let path = match (path.strip_prefix('~'), &home) {
                (Some(""), Some(home)) => home.clone(),
                (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
                _ => workspace.root().join(path),
            };
            real_path(&path).ok().filter(|path| path.symlink_metadata().is_ok())
        };
        let setting = |key: &str| settings.and_then(|settings| settings.get(key));
        let listed = |key: &str| -> Vec<PathBuf> {
            let paths = setting(key).and_then(Value::as_array).into_iter().flatten();
            paths.filter_map(Value::as_str).filter_map(place).collect()
        };
        let temp = temp_folder(env, owner);
        let data = data_folder(env).and_then(|data| place(&data.to_string_lossy()));
        let own = |folder: &PathBuf| Some(folder) == data.as_ref();
        if let Some(folder) = workspace.folders().iter().find(|folder| own(folder)) {
            return Err(Error::bad_state(format!(
                "{} holds Orlop's own data and the logins, which tools must not reach; work in another folder",
                folder.display()
            )));
        }

        let mut read = listed("read");
        if setting("read").is_none() {
            read.push(PathBuf::from("/"));
        }
        read.extend(places::system());
        read.extend(places::programs(env.get("PATH").unwrap_or_default(), home.as_deref()));
        let mut write = workspace.folders().to_vec();
        write.extend(listed("write"));
        write.push(temp.clone());
        read.retain(|folder| !own(folder));
        write.retain(|folder| !own(folder));

        let mut hidden = listed("hide");
        hidden.extend(data.clone());
        hidden.extend(places::secrets(home.as_deref()));
        let network = match setting("network") {
            Some(Value::Bool(false)) => Network::Local,
            _ => Network::Open,
        };
        Ok(Self { reach: Reach { read, write, hidden, network }, temp })
    }

    /// Makes the temporary folder, for its owner only.
    pub(super) fn make_temp_folder(&self) -> Result<()> {
        let failed = |error: std::io::Error| {
            let folder = self.temp.display();
            Error::unavailable(format!(
                "the temporary folder {folder} cannot be made: {error}; free some space or set ORLOP_HOME"
            ))
        };
        let mut folder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&self.temp).map_err(failed)
    }

    /// The reach of work inside of this process, which has no business with processes: its own
    /// environment, for instance, holds keys.
    pub(super) fn without_processes(&self) -> Reach {
        let mut reach = self.reach.clone();
        reach.read.retain(|folder| !folder.starts_with("/proc"));
        reach.hidden.push(PathBuf::from("/proc"));
        reach
    }
}

/// Orlop's data folder.
fn data_folder(env: &RuntimeEnv) -> Option<PathBuf> {
    let logins = env.credentials().and_then(|logins| logins.file().parent());
    logins.map(Path::to_owned).or_else(|| env.get("ORLOP_HOME").map(PathBuf::from))
}

/// The temporary folder of a session. The name is short because sockets are made in there, whose
/// paths are limited.
pub(super) fn temp_folder(env: &RuntimeEnv, owner: &str) -> PathBuf {
    let parent = data_folder(env).unwrap_or_else(|| std::env::temp_dir().join("orlop"));
    let parent = real_path(&parent).unwrap_or(parent);
    let digest = Sha256::digest(owner);
    let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    parent.join("tmp").join(name)
}
