//! The files of a workspace, walked once and again in the background when some time has passed.

use ignore::WalkBuilder;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// How many files and folders are known.
const MAX_PATHS: usize = 50_000;
/// How deep they may lie.
const MAX_DEPTH: usize = 32;
/// After how long a list is walked again, while the old one is still given.
const FRESH: Duration = Duration::from_secs(5);
/// After how long the old one is not given any more.
const KEPT: Duration = Duration::from_secs(60);
/// How many workspaces are remembered.
const MAX_HELD: usize = 16;

/// The files and folders below a folder.
pub(super) struct Listing {
    /// All paths with a line end behind each, in one text: ten thousand small texts would be slow
    /// to look at. A folder ends in `/`.
    all: String,
    made: Instant,
}

impl Listing {
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.all.lines()
    }

    fn walk(root: &Path) -> Self {
        let mut all = String::new();
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .max_depth(Some(MAX_DEPTH))
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        let entries = walk.filter_map(Result::ok).filter(|entry| entry.depth() > 0);
        for entry in entries.take(MAX_PATHS) {
            let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
            // A name that is no text, or not on one line, cannot be mentioned.
            let Some(path) = path.filter(|path| !path.contains(char::is_control)) else { continue };
            all.push_str(path);
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            all.push_str(if is_folder { "/\n" } else { "\n" });
        }
        Self { all, made: Instant::now() }
    }
}

/// What is known of some workspaces.
#[derive(Default)]
pub(super) struct Listings {
    held: Arc<Mutex<HashMap<PathBuf, Held>>>,
}

#[derive(Clone, Default)]
struct Held {
    /// One walk for all who wait for it.
    listing: Arc<OnceCell<Arc<Listing>>>,
    is_renewed: bool,
}

impl Listings {
    pub(super) async fn of(&self, root: &Path) -> Arc<Listing> {
        let cell = self.cell(root);
        let walked = || async {
            let folder = root.to_owned();
            let walked = tokio::task::spawn_blocking(move || Listing::walk(&folder)).await;
            Arc::new(
                walked.unwrap_or_else(|_| Listing { all: String::new(), made: Instant::now() }),
            )
        };
        cell.get_or_init(walked).await.clone()
    }

    /// Where the list of a folder is, or will be.
    fn cell(&self, root: &Path) -> Arc<OnceCell<Arc<Listing>>> {
        let mut held = locked(&self.held);
        if held.len() >= MAX_HELD && !held.contains_key(root) {
            held.clear();
        }
        let entry = held.entry(root.to_owned()).or_default();
        let age = entry.listing.get().map(|listing| listing.made.elapsed());
        match age {
            Some(age) if age > KEPT => *entry = Held::default(),
            Some(age) if age > FRESH && !entry.is_renewed => {
                entry.is_renewed = true;
                self.renew(root.to_owned());
            }
            _ => {}
        }
        entry.listing.clone()
    }

    /// Walks again in the background.
    fn renew(&self, root: PathBuf) {
        let held = self.held.clone();
        tokio::task::spawn_blocking(move || {
            let listing = OnceCell::new_with(Some(Arc::new(Listing::walk(&root))));
            let renewed = Held { listing: Arc::new(listing), is_renewed: false };
            locked(&held).insert(root, renewed);
        });
    }
}

fn locked(held: &Mutex<HashMap<PathBuf, Held>>) -> MutexGuard<'_, HashMap<PathBuf, Held>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
