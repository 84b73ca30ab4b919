//! Putting files back as they were before a turn, except where somebody else changed them since.

use super::journal::{Content, Entry, Journal, Record, digest};
use crate::files::place::{Place, shown};
use orlop_core::{Error, ErrorClass, Result};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The most that is read of a file to see whether it changed.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// What one turn did.
#[derive(Debug, PartialEq)]
pub(super) struct TurnChanges {
    pub(super) request: String,
    pub(super) files: Vec<FileHistory>,
    pub(super) undone: bool,
}

/// What one turn did to one file, step by step.
#[derive(Debug, PartialEq)]
pub(super) struct FileHistory {
    pub(super) path: PathBuf,
    steps: Vec<Record>,
}

/// The turns of a session that changed files, the oldest first.
pub(super) fn turns(entries: Vec<Entry>) -> Vec<TurnChanges> {
    let mut turns: Vec<TurnChanges> = Vec::new();
    let mut undone = HashSet::new();
    for entry in entries {
        let record = match entry {
            Entry::Change(record) => record,
            Entry::Undone { undone: request } => {
                undone.insert(request);
                continue;
            }
        };
        let at = turns.iter().position(|turn| turn.request == record.request);
        let at = at.unwrap_or_else(|| {
            let request = record.request.clone();
            turns.push(TurnChanges { request, files: Vec::new(), undone: false });
            turns.len() - 1
        });
        let path = record.path.path();
        let files = &mut turns[at].files;
        match files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.steps.push(record),
            None => files.push(FileHistory { path, steps: vec![record] }),
        }
    }
    for turn in &mut turns {
        turn.undone = undone.contains(&turn.request);
    }
    turns
}

impl FileHistory {
    /// What the turn left; `None` if it removed the file.
    fn after(&self) -> Option<&Content> {
        self.steps.last().and_then(|step| step.after.as_ref())
    }

    /// What is to be put back: what the turn found. If somebody else changed the file between two
    /// steps of the turn, what they left.
    fn before(&self) -> Option<&Content> {
        let mut first = self.steps.last();
        for pair in self.steps.windows(2).rev() {
            if !same(pair[0].after.as_ref(), pair[1].before.as_ref()) {
                break;
            }
            first = pair.first();
        }
        first.and_then(|step| step.before.as_ref())
    }

    /// In words: `new`, `changed` or `removed`.
    pub(super) fn change(&self) -> &'static str {
        let found = self.steps.first().and_then(|step| step.before.as_ref());
        match (found, self.after()) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// The tools that made the changes.
    pub(super) fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.steps.iter().map(|step| step.by.as_str()).collect();
        tools.dedup();
        tools
    }

    /// Puts the file back.
    pub(super) fn undo(&self, journal: &Journal) -> Undone {
        match self.try_undo(journal) {
            Ok(done) => done,
            Err(error) => Undone::Skipped(error.message().to_owned()),
        }
    }

    fn try_undo(&self, journal: &Journal) -> Result<Undone> {
        let place = match Place::of(&self.path) {
            Ok(place) => Some(place),
            Err(error) if error.class() == ErrorClass::NotFound => None,
            Err(error) => return Err(error),
        };
        let opened = place.as_ref().map(Place::open).transpose()?.flatten();
        let now = match opened {
            Some(mut opened) => {
                let content = opened.read_all(&self.path, MAX_READ)?;
                Some(Content { mode: Some(opened.mode), ..digest(&content) })
            }
            None => None,
        };
        let before = self.before();
        if same(now.as_ref(), before) {
            return Ok(Undone::AsBefore);
        }
        if !same(now.as_ref(), self.after()) {
            return Ok(Undone::Skipped("it was changed since".to_owned()));
        }
        match before {
            Some(content) if !content.kept => {
                Ok(Undone::Skipped("what it was before was too large to be kept".to_owned()))
            }
            Some(content) => {
                let bytes = journal.content(content)?;
                let (place, _) = Place::with_folders(&self.path)?;
                place.replace(&bytes, content.mode)?;
                Ok(Undone::Restored)
            }
            None => {
                place.as_ref().map(Place::remove).transpose()?;
                Ok(Undone::Removed)
            }
        }
    }
}

fn same(a: Option<&Content>, b: Option<&Content>) -> bool {
    a.map(|content| &content.sha256) == b.map(|content| &content.sha256)
}

impl TurnChanges {
    /// Removes the folders that the turn made for its files, where nothing is in them any more.
    /// Gives those that are gone.
    pub(super) fn remove_folders(&self) -> Vec<PathBuf> {
        let made = self.files.iter().flat_map(|file| {
            let most = file.steps.iter().map(|step| step.new_folders).max().unwrap_or(0);
            file.path.ancestors().skip(1).take(most)
        });
        let mut made: Vec<&Path> = made.collect();
        // What is inside goes first.
        made.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        made.dedup();
        // Only an empty folder can be removed, which a link to one is not.
        let gone = made.into_iter().filter(|folder| std::fs::remove_dir(folder).is_ok());
        gone.map(Path::to_owned).collect()
    }
}

/// What became of one file.
#[derive(Debug, PartialEq)]
pub(super) enum Undone {
    /// It has its old content.
    Restored,
    /// The turn had made it.
    Removed,
    /// There was nothing to do.
    AsBefore,
    /// It is as it was, for this reason.
    Skipped(String),
}

impl Undone {
    pub(super) fn to_json(&self, path: &Path) -> Value {
        let path = shown(path);
        match self {
            Self::Restored => json!({ "path": path, "status": "restored" }),
            Self::Removed => json!({ "path": path, "status": "removed" }),
            Self::AsBefore => json!({ "path": path, "status": "unchanged" }),
            Self::Skipped(why) => json!({ "path": path, "status": "skipped", "reason": why }),
        }
    }

    pub(super) fn in_words(&self, path: &str) -> String {
        match self {
            Self::Restored => format!("restored {path}"),
            Self::Removed => format!("removed {path}, which the turn had made"),
            Self::AsBefore => format!("{path} is as it was before already"),
            Self::Skipped(why) => format!("skipped {path}: {why}"),
        }
    }
}

/// The turn that is meant: the one that is named, or the last one that is not undone.
pub(super) fn chosen<'a>(
    turns: &'a [TurnChanges],
    request: Option<&str>,
) -> Result<Option<&'a TurnChanges>> {
    match request {
        None => Ok(turns.iter().rev().find(|turn| !turn.undone)),
        Some(request) => {
            let found = turns.iter().find(|turn| turn.request == request);
            found.map(Some).ok_or_else(|| {
                Error::not_found(format!(
                    "nothing is kept of file changes by request \"{request}\""
                ))
            })
        }
    }
}
