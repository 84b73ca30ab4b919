//! Where people keep files for agents: the folders of a project, and that of the user's configuration.

use orlop_app::config::RuntimeEnv;
use std::path::{Path, PathBuf};

/// How many folders upwards are looked at.
const MAX_FOLDERS: usize = 32;

/// The folders of the project a folder belongs to, the outermost first and that folder last: from
/// the root of the repository, else from `home`, else the folder alone.
pub(crate) fn project_folders(working: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let upwards: Vec<&Path> = working.ancestors().take(MAX_FOLDERS).collect();
    let root = upwards.iter().position(|folder| folder.join(".git").exists());
    let root = root.or_else(|| upwards.iter().position(|folder| Some(*folder) == home));
    upwards[..=root.unwrap_or(0)].iter().rev().map(|folder| folder.to_path_buf()).collect()
}

/// The folder of the user's configuration.
pub(crate) fn config_folder(env: &RuntimeEnv) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(base.join("orlop"))
}
