//! Remembers resolutions by configuration content, up to a bound.

use super::{Resolution, UnusedTool};
use crate::config::Fingerprint;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Session overrides make for many configurations; beyond this many the oldest is forgotten.
const KEPT: usize = 256;

/// The caches of one core. A registration starts with empty ones.
#[derive(Default)]
pub(crate) struct Caches(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_content: HashMap<Fingerprint, Arc<Resolution>>,
    oldest_first: VecDeque<Fingerprint>,
    told: HashSet<UnusedTool>,
}

impl Caches {
    pub(super) fn get(&self, content: Fingerprint) -> Option<Arc<Resolution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_content.get(&content).cloned()
    }

    /// Whether nobody was told of it yet.
    pub(super) fn is_news(&self, tool: &UnusedTool) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told.insert(tool.clone())
    }

    pub(super) fn put(&self, content: Fingerprint, resolution: Arc<Resolution>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.by_content.insert(content, resolution).is_none() {
            kept.oldest_first.push_back(content);
        }
        if kept.oldest_first.len() > KEPT
            && let Some(oldest) = kept.oldest_first.pop_front()
        {
            kept.by_content.remove(&oldest);
        }
    }
}
