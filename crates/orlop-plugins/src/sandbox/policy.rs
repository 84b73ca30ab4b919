//! What may be read and written: from the workspace, the settings, and what is known of systems.

use crate::workspace::{Workspace, real_path};
use orlop_app::config::RuntimeEnv;
use orlop_core::{Error, Result, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Where people and programs keep keys and passwords, from the home folder on.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".vault-token",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".config/gh",
    ".config/gcloud",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/orlop",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".python_history",
];

/// Of the system. Devices are here because a disk read as such shows every file on it.
const SYSTEM_SECRETS: &[&str] = &["/dev", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"];

/// What programs cannot do without, wherever else may be read.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/current-system",
    "/var/lib/dpkg",
];

/// Devices that every program may use.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What the tools of an agent may reach. All paths are real ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Policy {
    /// May be read, and programs in there run.
    pub(super) read: Vec<PathBuf>,
    /// May be read and written; the working folder first.
    pub(super) write: Vec<PathBuf>,
    /// Cannot be reached through a folder around them that may.
    pub(super) hidden: Vec<PathBuf>,
    /// For temporary files; one of those that may be written.
    pub(super) temp: PathBuf,
    pub(super) network: bool,
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
        let places = |key: &str| -> Vec<PathBuf> {
            let listed = setting(key).and_then(Value::as_array).into_iter().flatten();
            listed.filter_map(Value::as_str).filter_map(place).collect()
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

        let mut read = places("read");
        if setting("read").is_none() {
            read.push(PathBuf::from("/"));
        }
        read.extend(SYSTEM.iter().filter_map(|path| place(path)));
        read.extend(program_folders(env, home.as_deref()));
        let mut write = workspace.folders().to_vec();
        write.extend(places("write"));
        write.push(temp.clone());
        read.retain(|folder| !own(folder));
        write.retain(|folder| !own(folder));

        let mut hidden = places("hide");
        hidden.extend(data.clone());
        hidden.extend(
            SECRETS.iter().filter_map(|path| place(&home.as_ref()?.join(path).to_string_lossy())),
        );
        hidden.extend(SYSTEM_SECRETS.iter().filter_map(|path| place(path)));
        let network = setting("network") != Some(&Value::Bool(false));
        Ok(Self { read, write, hidden, temp, network })
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

    /// The policy of work inside of this process, which has no business with processes: its own
    /// environment, for instance, holds keys.
    pub(super) fn without_processes(&self) -> Self {
        let mut policy = self.clone();
        policy.read.retain(|folder| !folder.starts_with("/proc"));
        policy.hidden.push(PathBuf::from("/proc"));
        policy
    }

    /// Whether a real path may be read: what lies nearest around it decides.
    pub(super) fn may_read(&self, real: &Path) -> bool {
        let nearest = |places: &[PathBuf]| {
            let around = places.iter().filter(|place| real.starts_with(place));
            around.map(|place| place.components().count()).max().unwrap_or(0)
        };
        let open = nearest(&self.read).max(nearest(&self.write));
        // What is named itself is shown, also where it would be hidden.
        open > 0 && open >= nearest(&self.hidden)
    }

    /// Whether a real path may be written.
    pub(super) fn may_write(&self, real: &Path) -> bool {
        self.write.iter().any(|folder| real.starts_with(folder)) && self.may_read(real)
    }

    /// Whether something hidden lies below a folder.
    #[cfg(target_os = "linux")]
    pub(super) fn hides_below(&self, folder: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden != folder && hidden.starts_with(folder))
    }
}

/// Folders of `PATH`, as far as they are not around everything a person has.
fn program_folders(env: &RuntimeEnv, home: Option<&Path>) -> Vec<PathBuf> {
    let path = env.get("PATH").unwrap_or_default();
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let real = folders.filter_map(|folder| real_path(&folder).ok());
    real.filter(|folder| folder.is_dir() && !home.is_some_and(|home| home.starts_with(folder)))
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_nearest_around_a_path_decides() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let policy = Policy {
            read: paths(&["/usr", "/home", "/home/ana/.ssh"]),
            write: paths(&["/home/ana/work", "/home/ana/data/tmp"]),
            hidden: paths(&["/home/ana/.ssh", "/home/ana/.aws", "/home/ana/data"]),
            temp: PathBuf::from("/home/ana/data/tmp"),
            network: true,
        };
        for (path, reads, writes) in [
            ("/home/ana/work/a", true, true),
            ("/home/ana/notes", true, false),
            ("/home/ana/.aws/key", false, false),
            ("/home/ana/.ssh/id", true, false),
            ("/home/ana/data/credentials.json", false, false),
            ("/home/ana/data/tmp/x", true, true),
            ("/srv/x", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!(
                (policy.may_read(path), policy.may_write(path)),
                (reads, writes),
                "{path:?}"
            );
        }
    }
}
