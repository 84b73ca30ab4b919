//! What a command does to the files of the workspace: they are looked at before and after.
//!
//! Covered are plain files that `.gitignore` does not name, up to the limits below. Content is
//! read once and again only if the file changed, so that watching costs a look at each file.

use super::journal::Journal;
use crate::files::plan::Planned;
use crate::workspace::Workspace;
use ignore::WalkBuilder;
use orlop_core::{Context, Result};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many files are watched, how long looking at them may take, and how much is read of each
/// and of all.
const MAX_FILES: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(2);
const MAX_CONTENT: u64 = 256 * 1024;
const MAX_ALL: u64 = 32 * 1024 * 1024;

/// How a file looks from outside; any write changes it.
type Look = (u64, u64, (i64, i64), (i64, i64));

/// A file that was looked at.
#[derive(Debug, Clone)]
struct Held {
    look: Look,
    mode: u32,
    /// Absent where it is too large.
    content: Option<Arc<Vec<u8>>>,
}

/// The files of a workspace at one time.
#[derive(Debug, Clone, Default)]
struct Snapshot {
    files: BTreeMap<PathBuf, Held>,
    /// Whether all of them are in it.
    complete: bool,
}

/// Watches over commands of one process, and remembers content from one to the next.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    last: Arc<Mutex<HashMap<Vec<PathBuf>, Snapshot>>>,
}

/// A command that is being watched.
pub struct Watched {
    watch: Watch,
    folders: Vec<PathBuf>,
    before: Snapshot,
    journal: Journal,
}

impl Watch {
    /// Looks at the workspace before a command runs. `None` where nothing can be kept.
    pub async fn begin(&self, cx: &Context) -> Option<Watched> {
        let journal = Journal::of(cx).ok()?;
        let folders = Workspace::of(cx).ok()?.folders().to_vec();
        let (watch, looked_at) = (self.clone(), folders.clone());
        let before = tokio::task::spawn_blocking(move || watch.look(&looked_at)).await.ok()?;
        Some(Watched { watch: self.clone(), folders, before, journal })
    }

    /// The workspace now; content of files that look as before is not read again.
    fn look(&self, folders: &[PathBuf]) -> Snapshot {
        let held = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = held().get(folders).cloned().unwrap_or_default();
        let now = Snapshot::take(folders, &last);
        held().insert(folders.to_vec(), now.clone());
        now
    }
}

impl Watched {
    /// Looks again after the command, and writes down what it changed. Gives a sentence for the
    /// model and the user where something cannot be undone.
    pub async fn end(self, by: &str) -> Result<Option<String>> {
        let Self { watch, folders, before, journal } = self;
        let looking = tokio::task::spawn_blocking(move || {
            let after = watch.look(&folders);
            before.changes(&after)
        });
        let Ok((changes, lost)) = looking.await else { return Ok(None) };
        if !changes.is_empty() {
            journal.record(&changes, by).await?;
        }
        Ok((lost > 0).then(|| {
            format!(
                "{lost} changed files are too large, or too many, for their change to be undone"
            )
        }))
    }
}

impl Snapshot {
    fn take(folders: &[PathBuf], last: &Self) -> Self {
        let until = Instant::now() + MAX_TIME;
        let mut taken = Self { files: BTreeMap::new(), complete: true };
        let mut room = MAX_ALL;
        for folder in folders {
            let mut builder = WalkBuilder::new(folder);
            builder
                .hidden(false)
                .require_git(false)
                .git_global(false)
                .follow_links(false)
                .filter_entry(|entry| entry.file_name() != ".git");
            for entry in builder.build().flatten() {
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                if taken.files.len() >= MAX_FILES || Instant::now() > until {
                    taken.complete = false;
                    return taken;
                }
                let path = entry.into_path();
                if let Some(held) = Held::of(&path, last.files.get(&path), &mut room) {
                    taken.files.insert(path, held);
                }
            }
        }
        taken
    }

    /// What differs in a later look, and how many files differ whose content was not kept.
    fn changes(&self, after: &Self) -> (Vec<Planned>, usize) {
        let mut changes = Vec::new();
        let mut lost = 0;
        for (path, now) in &after.files {
            match self.files.get(path) {
                Some(before) if before.look == now.look => {}
                Some(before) => match (&before.content, &now.content) {
                    (Some(old), Some(new)) if old == new => {}
                    (Some(old), Some(new)) => changes.push(Planned {
                        path: path.clone(),
                        before: Some(old.to_vec()),
                        after: Some(new.to_vec()),
                        mode: Some(before.mode),
                    }),
                    _ => lost += 1,
                },
                // It may have been there, and was only not looked at.
                None if !self.complete => lost += 1,
                None => match &now.content {
                    Some(new) => changes.push(Planned {
                        path: path.clone(),
                        before: None,
                        after: Some(new.to_vec()),
                        mode: None,
                    }),
                    None => lost += 1,
                },
            }
        }
        for (path, before) in &self.files {
            if after.files.contains_key(path) || path.symlink_metadata().is_ok() {
                continue;
            }
            match &before.content {
                Some(old) => changes.push(Planned {
                    path: path.clone(),
                    before: Some(old.to_vec()),
                    after: None,
                    mode: Some(before.mode),
                }),
                None => lost += 1,
            }
        }
        (changes, lost)
    }
}

impl Held {
    fn of(path: &Path, last: Option<&Self>, room: &mut u64) -> Option<Self> {
        let meta = path.symlink_metadata().ok().filter(|meta| meta.is_file())?;
        let times = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
        let look = (meta.ino(), meta.len(), times.0, times.1);
        let mode = meta.mode() & 0o7777;
        if meta.len() > MAX_CONTENT || meta.len() > *room {
            return Some(Self { look, mode, content: None });
        }
        *room -= meta.len();
        let known = last.filter(|last| last.look == look).and_then(|last| last.content.clone());
        let content = known.or_else(|| {
            let place = crate::files::place::Place::of(path).ok()?;
            let content = place.open().ok()??.read_all(path, MAX_CONTENT).ok()?;
            Some(Arc::new(content))
        });
        Some(Self { look, mode, content })
    }
}
