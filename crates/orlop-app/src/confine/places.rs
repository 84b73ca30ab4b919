//! Where systems keep what programs need, and people what they hide.

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
#[cfg(target_os = "linux")]
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

/// The places of keys and passwords that there are: of the system, and of a person.
pub fn secrets(home: Option<&Path>) -> Vec<PathBuf> {
    let of_person = home.into_iter().flat_map(|home| SECRETS.iter().map(|path| home.join(path)));
    let of_system = SYSTEM_SECRETS.iter().map(PathBuf::from);
    of_person.chain(of_system).filter_map(real).collect()
}

/// The folders of the system that programs cannot do without.
pub fn system() -> Vec<PathBuf> {
    SYSTEM.iter().map(PathBuf::from).filter_map(real).collect()
}

/// The folders of `PATH`, as far as they are not around everything a person has.
pub fn programs(path: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .filter_map(real)
        .filter(|folder| folder.is_dir() && !home.is_some_and(|home| home.starts_with(folder)))
        .collect()
}

fn real(path: PathBuf) -> Option<PathBuf> {
    path.canonicalize().ok()
}
