//! Where a path leads, and what may be thought of that place: inside of the workspace or not,
//! special, or holding settings that give power.

use crate::workspace::{Workspace, real_path};
use std::path::{Component, Path, PathBuf};

/// How many entries of a folder are looked at for a pattern.
const MAX_ENTRIES: usize = 4_096;

/// A path that was followed.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where it leads, without links.
    pub(crate) real: PathBuf,
    /// What it says, without `.` and `..`.
    pub(crate) lexical: PathBuf,
    /// Whether it lies in the workspace.
    pub(crate) inside: bool,
}

/// The folders that paths are judged by.
#[derive(Clone)]
pub(crate) struct Places<'a> {
    pub(crate) workspace: &'a Workspace,
    /// What `~` stands for.
    pub(crate) home: Option<&'a str>,
}

impl Places<'_> {
    /// Follows a path from a folder. A leading `~` is the home folder if `tilde` says so.
    pub(crate) fn follow(&self, from: &Path, path: &str, tilde: bool) -> Result<Place, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("a path is empty or has a zero byte in it".to_owned());
        }
        let path = match path.strip_prefix('~').filter(|_| tilde) {
            Some(rest) => {
                let home = self.home.ok_or("no home folder is known")?;
                if !(rest.is_empty() || rest.starts_with('/')) {
                    return Err(format!("it is not known where {path} leads"));
                }
                format!("{home}{rest}")
            }
            None => path.to_owned(),
        };
        let whole = from.join(&path);
        let lexical = normal(&whole);
        let real =
            real_path(&whole).map_err(|error| format!("{path} cannot be followed: {error}"))?;
        let is_special = [&lexical, &real]
            .iter()
            .any(|path| path.starts_with("/proc") || path.starts_with("/dev"));
        let inside = !is_special && self.workspace.contains(&real);
        Ok(Place { real, lexical, inside })
    }

    /// The files that a pattern of the shell may stand for, if it has wildcards in its last step
    /// only. More than it really stands for, never less.
    pub(crate) fn expand(
        &self,
        from: &Path,
        pattern: &str,
        tilde: bool,
    ) -> Result<Vec<Place>, String> {
        let (folder, last) = match pattern.rsplit_once('/') {
            Some((folder, last)) => (if folder.is_empty() { "/" } else { folder }, last),
            None => (".", pattern),
        };
        if folder.contains(['*', '?', '[']) {
            return Err(format!("it is not known which files {pattern} stands for"));
        }
        let place = self.follow(from, folder, tilde)?;
        let mut found = vec![place.clone()];
        let Ok(entries) = std::fs::read_dir(&place.real) else { return Ok(found) };
        let wanted = loose(last);
        for (count, entry) in entries.flatten().enumerate() {
            if count >= MAX_ENTRIES {
                return Err(format!("{folder} has too many files to look through"));
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_hidden = name.starts_with('.') && !last.starts_with('.');
            if is_hidden || !super::glob::matches(&wanted, name) {
                continue;
            }
            if name.starts_with('-') && !pattern.contains('/') {
                return Err(format!("the file {name} would be taken for an option"));
            }
            found.push(self.follow(&place.real, name, false)?);
        }
        Ok(found)
    }
}

/// A pattern of the shell in which brackets stand for anything.
fn loose(pattern: &str) -> String {
    match pattern.find('[') {
        Some(at) => format!("{}*", &pattern[..at]),
        None => pattern.to_owned(),
    }
}

/// A path without `.` and `..`, as it is written.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => drop(normal.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    normal
}

/// The steps of an absolute path.
pub(crate) fn steps(path: &Path) -> Vec<&str> {
    // A name that is no text matches nothing but a wildcard.
    path.iter().skip(1).map(|name| name.to_str().unwrap_or("\u{fffd}")).collect()
}

/// Files that may be read or written by anybody without harm.
pub(crate) fn is_harmless_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}

/// Folders whose files tell programs what to run.
const FOLDERS: &[&str] = &[
    ".git",
    "git~1",
    ".hg",
    ".svn",
    ".jj",
    ".orlop",
    ".claude",
    ".codex",
    ".agents",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".ssh",
    ".gnupg",
];
/// Files that do.
const FILES: &[&str] = &[
    "orlop.toml",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    ".mcp.json",
    ".gitconfig",
    ".gitmodules",
    ".gitattributes",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".ripgreprc",
    ".pre-commit-config.yaml",
    ".tool-versions",
    ".mise.toml",
    "head",
];

/// The part of a path that makes a change of it a change of what may be run or of what agents are
/// told. `HEAD` is among them: with it, any folder can be made one that git trusts.
pub(crate) fn power_of(workspace: &Workspace, place: &Place) -> Option<String> {
    [&place.real, &place.lexical].iter().find_map(|path| {
        let folder = workspace.folders().iter().find(|folder| path.starts_with(folder));
        let inner = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
        let names: Vec<String> =
            inner.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
        let folder = names.iter().find(|name| FOLDERS.contains(&name.as_str()));
        let file = names.last().filter(|name| FILES.contains(&name.as_str()));
        folder.or(file).cloned()
    })
}
