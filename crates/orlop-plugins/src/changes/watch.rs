//! What a command does to the files of the workspace: they are looked at before and after.
//!
//! Covered are plain files that `.gitignore` does not name, up to the limits below. Content is
//! read once and again only if the file changed, so that watching costs a look at each file.

use super::journal::Journal;
use crate::files::plan::Planned;
use crate::workspace::Workspace;
use futures::StreamExt;
use futures::stream::BoxStream;
use ignore::WalkBuilder;
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Context, Result, Value};
use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How many files are watched, how long looking at them may take, and how much is read of each
/// and of all.
const MAX_FILES: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(1);
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
    /// When it was made, if not all of them are in it.
    cut_at: Option<(i64, i64)>,
}

/// Watches over commands of one process, and remembers content from one to the next.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    last: Arc<Mutex<HashMap<Vec<PathBuf>, Snapshot>>>,
}

/// A command that is being watched. Dropped before its end, for instance because the request was
/// cancelled, it is looked at all the same.
pub struct Watched(Option<Watching>);

struct Watching {
    watch: Watch,
    folders: Vec<PathBuf>,
    before: Snapshot,
    journal: Journal,
    by: String,
}

impl Watch {
    /// Looks at the workspace before a command of the tool `by` runs. Where nothing can be kept,
    /// nothing is watched.
    pub async fn begin(&self, cx: &Context, by: &str) -> Watched {
        let wanted = cx.config().get("file_changes").and_then(|section| section.get("commands"));
        let (Ok(journal), Ok(workspace)) = (Journal::of(cx), Workspace::of(cx)) else {
            return Watched(None);
        };
        if wanted == Some(&Value::Bool(false)) {
            return Watched(None);
        }
        let folders = workspace.folders().to_vec();
        let (watch, looked_at) = (self.clone(), folders.clone());
        let looked = tokio::task::spawn_blocking(move || watch.look(&looked_at)).await;
        let watch = self.clone();
        let by = by.to_owned();
        Watched(looked.ok().map(|before| Watching { watch, folders, before, journal, by }))
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
    pub async fn end(mut self) -> Option<String> {
        self.0.take()?.end().await
    }

    /// Watches over the parts of a running tool: when its report comes, what changed is written
    /// down, and the report says what cannot be undone.
    pub fn over(
        self,
        parts: BoxStream<'static, Result<ToolPart>>,
    ) -> BoxStream<'static, Result<ToolPart>> {
        let step = |(mut parts, mut watched): (BoxStream<'static, Result<ToolPart>>, Self)| async {
            let part = match parts.next().await? {
                Ok(ToolPart::Report(report)) => Ok(ToolPart::Report(watched.told(report).await)),
                part => part,
            };
            Some((part, (parts, watched)))
        };
        futures::stream::unfold((parts, self), step).boxed()
    }

    async fn told(&mut self, mut report: ToolReport) -> ToolReport {
        let Some(watching) = self.0.take() else { return report };
        if let Some(note) = watching.end().await {
            let read = if report.success { "output" } else { "error" };
            if let Some(Value::String(text)) = report.data.get_mut(read) {
                text.push_str(&format!("\n({note})"));
            }
        }
        report
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(watching) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(watching.end());
        }
    }
}

impl Watching {
    async fn end(self) -> Option<String> {
        let Self { watch, folders, before, journal, by } = self;
        let looking = tokio::task::spawn_blocking(move || {
            let after = watch.look(&folders);
            before.changes(&after)
        });
        let (changes, lost) = looking.await.ok()?;
        if !changes.is_empty()
            && let Err(error) = journal.record(&changes, &by).await
        {
            return Some(format!("what it changed cannot be undone: {}", error.message()));
        }
        (lost > 0).then(|| {
            format!("{lost} changed files are too large, or too many, to be put back by an undo")
        })
    }
}

impl Snapshot {
    fn take(folders: &[PathBuf], last: &Self) -> Self {
        let until = Instant::now() + MAX_TIME;
        let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let begun = (begun.as_secs() as i64, i64::from(begun.subsec_nanos()));
        let mut taken = Self::default();
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
                    taken.cut_at = Some(begun);
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
                None if self.cut_at.is_some_and(|cut| now.look.2 < cut) => {}
                None if self.cut_at.is_some() => lost += 1,
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

/// How a file looks, and its permissions.
#[cfg(unix)]
fn looked(meta: &Metadata) -> (Look, u32) {
    use std::os::unix::fs::MetadataExt;
    let times = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    ((meta.ino(), meta.len(), times.0, times.1), meta.mode() & 0o7777)
}

/// Without a number of the file and the time of its last change of any kind, a write that keeps size
/// and date is not noticed.
#[cfg(not(unix))]
fn looked(meta: &Metadata) -> (Look, u32) {
    let told = |time: std::io::Result<SystemTime>| {
        let since = time.ok().and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
        since.map_or((0, 0), |it| (it.as_secs() as i64, i64::from(it.subsec_nanos())))
    };
    ((0, meta.len(), told(meta.modified()), told(meta.created())), 0)
}

impl Held {
    fn of(path: &Path, last: Option<&Self>, room: &mut u64) -> Option<Self> {
        let meta = path.symlink_metadata().ok().filter(|meta| meta.is_file())?;
        let (look, mode) = looked(&meta);
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
