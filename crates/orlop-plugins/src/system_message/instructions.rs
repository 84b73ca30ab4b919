//! Files in which people write down how work is done in a project: `AGENTS.md`, and `CLAUDE.md` in
//! a folder that has none.

use crate::project::{config_folder, project_folders};
use orlop_app::config::RuntimeEnv;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The names a file may have, the better one first.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of one file is read, in bytes.
const MAX_FILE: u64 = 32 * 1024;
/// How much of all files is used, in bytes.
const MAX_ALL: usize = 96 * 1024;
/// How many files are remembered.
const MAX_HELD: usize = 256;

/// A file with instructions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Instructions {
    pub(super) path: PathBuf,
    pub(super) text: Arc<str>,
    /// Its size on the disk; the text is shorter if it was cut.
    pub(super) size: u64,
    /// Whether the text is not all of it.
    pub(super) is_cut: bool,
}

/// Reads the files, and reads one again only if it changed.
#[derive(Default)]
pub(super) struct InstructionFiles {
    held: Mutex<HashMap<PathBuf, Held>>,
}

struct Held {
    modified: Option<SystemTime>,
    size: u64,
    text: Arc<str>,
}

impl InstructionFiles {
    /// The user's own file, then those of the folders down to the working folder: the nearest is
    /// the last.
    pub(super) fn find(&self, env: &RuntimeEnv) -> Vec<Instructions> {
        let mut found = Vec::new();
        found.extend(config_folder(env).and_then(|folder| self.in_folder(&folder, None)));
        if let Some(working) = env.get("WORKING_DIR") {
            let home = env.get("HOME").map(Path::new);
            let folders = project_folders(Path::new(working), home);
            let top = folders.first().and_then(|folder| folder.canonicalize().ok());
            if let Some(top) = top {
                found.extend(folders.iter().filter_map(|it| self.in_folder(it, Some(&top))));
            }
        }
        within(found, MAX_ALL)
    }

    /// The file of a folder. One that a link leads to must lie below `top`: a project cannot make
    /// other files of the machine part of what a model is told.
    fn in_folder(&self, folder: &Path, top: Option<&Path>) -> Option<Instructions> {
        let path = NAMES.iter().map(|name| folder.join(name)).find(|path| path.exists())?;
        let real = path.canonicalize().ok()?;
        if top.is_some_and(|top| !real.starts_with(top)) {
            tracing::warn!(path = %path.display(), "instructions lead out of the project and are left out");
            return None;
        }
        let known = real.metadata().ok().filter(|found| found.is_file())?;
        let (modified, size) = (known.modified().ok(), known.len());
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let same = held.get(&real).filter(|it| it.modified == modified && it.size == size);
        let same = same.map(|held| held.text.clone());
        drop(held);
        let text = match same {
            Some(text) => text,
            None => {
                let text: Arc<str> = read_start(&real)?.into();
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                if held.len() >= MAX_HELD {
                    held.clear();
                }
                held.insert(real, Held { modified, size, text: text.clone() });
                text
            }
        };
        let is_cut = size > MAX_FILE;
        (!text.trim().is_empty()).then_some(Instructions { path, text, size, is_cut })
    }
}

fn read_start(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    // A character that the cut went through is no part of the text.
    let end = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The last files that fit: those near the working folder matter more than those far from it.
fn within(mut found: Vec<Instructions>, mut room: usize) -> Vec<Instructions> {
    let far = found.iter().rposition(|file| {
        let fits = file.text.len() <= room;
        room = room.saturating_sub(file.text.len());
        !fits
    });
    if let Some(far) = far {
        tracing::warn!(left_out = far + 1, "there are more instructions than are used");
        found.drain(..=far);
    }
    found
}

/// The files as the model reads them.
pub(super) fn told(files: &[Instructions]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut text = String::from(
        "Instructions from files of the user and the project. Where they differ, the later ones count.",
    );
    for file in files {
        let path = file.path.display().to_string().replace(['"', '<', '>', '\n', '\r'], "?");
        text.push_str(&format!("\n\n<instructions file=\"{path}\">\n{}", file.text.trim()));
        if file.is_cut {
            let rest = file.size - MAX_FILE;
            text.push_str(&format!("\n[{rest} bytes more are not shown; read the file for them]"));
        }
        text.push_str("\n</instructions>");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_nearest_to_the_work_are_kept() {
        let file = |path: &str, size: usize| Instructions {
            path: path.into(),
            text: "x".repeat(size).into(),
            size: size as u64,
            is_cut: false,
        };
        let names = |room| {
            let found = vec![file("a", 10), file("b", 50), file("c", 10)];
            let kept = within(found, room).into_iter();
            kept.map(|file| file.path.display().to_string()).collect::<String>()
        };
        assert_eq!((names(70), names(60), names(59)), ("abc".into(), "bc".into(), "c".into()));
    }
}
