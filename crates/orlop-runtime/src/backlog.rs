//! What a stream has given and nobody took yet: a process that floods its host is ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one stream may give: parts that wait to be taken, parts in all, and their bytes.
const MAX_WAITING: usize = 20_000;
const MAX_PARTS: usize = 500_000;
pub(crate) const MAX_STREAM: usize = 64 << 20;

/// How much a stream has given, and what of it nobody took yet.
pub(crate) struct Backlog {
    given: Mutex<Given>,
    max_bytes: usize,
}

#[derive(Default)]
struct Given {
    waiting: usize,
    parts: usize,
    bytes: usize,
}

impl Backlog {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { given: Mutex::default(), max_bytes }
    }

    /// Counts a part; whether that is still within reason.
    pub(crate) fn add(&self, bytes: usize) -> bool {
        let mut given = self.given();
        given.waiting += 1;
        given.parts += 1;
        given.bytes += bytes;
        given.waiting <= MAX_WAITING && given.parts <= MAX_PARTS && given.bytes <= self.max_bytes
    }

    /// Somebody took a part.
    pub(crate) fn take(&self) {
        let mut given = self.given();
        given.waiting = given.waiting.saturating_sub(1);
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
