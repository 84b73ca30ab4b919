//! What each session knows of files: as they were when it last read or wrote them. It is kept in
//! memory; after a restart nothing is known.

use super::place::Opened;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many sessions are remembered, and how many files of each.
const MAX_SESSIONS: usize = 256;
const MAX_FILES: usize = 4096;

/// How a file was: its content if all of it was read, else its size and time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stamp {
    Content([u8; 32]),
    Outside { size: u64, modified: (i64, i64) },
}

impl Stamp {
    pub(crate) fn of_content(content: &[u8]) -> Self {
        Self::Content(Sha256::digest(content).into())
    }

    pub(crate) fn of_outside(opened: &Opened) -> Self {
        Self::Outside { size: opened.size, modified: opened.modified }
    }

    /// Whether a file that looks like `opened` and has this content is as it was.
    pub(crate) fn fits(&self, opened: &Opened, content: &[u8]) -> bool {
        match self {
            Self::Content(_) => *self == Self::of_content(content),
            Self::Outside { .. } => *self == Self::of_outside(opened),
        }
    }
}

/// What sessions know.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Known>);

#[derive(Default)]
struct Known {
    sessions: HashMap<String, HashMap<PathBuf, Stamp>>,
    order: VecDeque<String>,
}

impl Seen {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a session knows a file.
    pub(crate) fn get(&self, session: &str, path: &Path) -> Option<Stamp> {
        self.known().sessions.get(session)?.get(path).cloned()
    }

    /// A session has seen a file so; `None` if it is gone.
    pub(crate) fn set(&self, session: &str, path: &Path, stamp: Option<Stamp>) {
        let mut known = self.known();
        if !known.sessions.contains_key(session) {
            known.order.push_back(session.to_owned());
            if known.order.len() > MAX_SESSIONS
                && let Some(oldest) = known.order.pop_front()
            {
                known.sessions.remove(&oldest);
            }
        }
        let files = known.sessions.entry(session.to_owned()).or_default();
        match stamp {
            Some(stamp) => {
                if files.len() >= MAX_FILES && !files.contains_key(path) {
                    files.clear();
                }
                files.insert(path.to_owned(), stamp);
            }
            None => drop(files.remove(path)),
        }
    }
}
