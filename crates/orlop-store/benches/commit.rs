//! What one durable step costs in a SQLite file, in sessions of different length: two messages, two
//! native items, a turn and three events. It should be the same for all.

use divan::Bencher;
use futures::executor::block_on;
use orlop_app::Scope;
use orlop_app::store::{
    Acquired, CallsWrite, Commit, Lease, NativeWrite, NewEvent, NewItem, Segment, SessionWrite,
    Store, TurnWrite,
};
use orlop_core::types::app_event::EventKind;
use orlop_core::{Error, Message, Result};
use orlop_store::SqliteStore;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

fn main() {
    divan::main();
}

const TEXT: &str = "The quick brown fox jumps over the lazy dog, and comes back to tell of it. ";

fn message() -> NewItem {
    let text = TEXT.repeat(4);
    let body = serde_json::to_string(&Message::user(text.as_str())).unwrap_or_default();
    NewItem { body, search: text }
}

fn native() -> NewItem {
    let body = json!({"role": "user", "content": TEXT.repeat(4)}).to_string();
    NewItem { body, search: String::new() }
}

fn event() -> NewEvent {
    let fields = json!({"type": "note", "plugin": "bench", "text": TEXT});
    NewEvent {
        session: Some("s".to_owned()),
        request: Some("r".to_owned()),
        at: "2026-01-01T00:00:00Z".to_owned(),
        kind: EventKind::Other(fields.as_object().cloned().unwrap_or_default()),
    }
}

/// A store with one session, in a folder that goes with it.
struct Scene {
    folder: PathBuf,
    store: SqliteStore,
    lease: Lease,
    length: usize,
    revision: u64,
}

impl Scene {
    fn new(length: usize) -> Result<Self> {
        let name = format!("orlop-bench-{}-{length}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let store = SqliteStore::open(&folder.join("orlop.db"))?;
        let hour = Duration::from_secs(3600);
        let acquired = block_on(store.acquire(&Scope::local(), "s", "bench", hour))?;
        let Acquired::Lease(lease) = acquired else {
            return Err(Error::conflict("a new session has a lease already"));
        };
        let mut scene = Self { folder, store, lease, length: 0, revision: 0 };
        scene.append(length, 0)?;
        Ok(scene)
    }

    /// One step that adds as many messages as native items.
    fn append(&mut self, count: usize, events: usize) -> Result<()> {
        let kept = || Segment::Kept(0..self.length);
        let list = |item: fn() -> NewItem| {
            Some(vec![kept(), Segment::New((0..count).map(|_| item()).collect())])
        };
        let seal = Some("seal".to_owned());
        let commit = Commit {
            session: Some(SessionWrite {
                expected: self.revision,
                messages: list(message),
                native: NativeWrite::Set {
                    items: list(native),
                    seal,
                    format: None,
                    side_by_side: true,
                },
                ..Default::default()
            }),
            turn: Some(TurnWrite {
                request: format!("r{}", self.revision),
                new: true,
                state: json!({"state": "done", "steps": [TEXT, TEXT]}),
                calls: CallsWrite::default(),
                settled: true,
            }),
            events: (0..events).map(|_| event()).collect(),
            ..Commit::new(self.lease.clone())
        };
        self.revision = block_on(self.store.commit(&Scope::local(), commit))?.revision;
        self.length += count;
        Ok(())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[divan::bench(args = [10, 1_000, 10_000], sample_count = 200, sample_size = 1)]
fn append_a_step(bencher: Bencher, length: usize) {
    let mut scene = match Scene::new(length) {
        Ok(scene) => scene,
        Err(error) => return eprintln!("cannot prepare: {error}"),
    };
    bencher.bench_local(|| scene.append(2, 3));
}

#[divan::bench(args = [10, 1_000, 10_000], sample_count = 50, sample_size = 1)]
fn load_a_session(bencher: Bencher, length: usize) {
    let scene = match Scene::new(length) {
        Ok(scene) => scene,
        Err(error) => return eprintln!("cannot prepare: {error}"),
    };
    bencher.bench_local(|| block_on(scene.store.load(&Scope::local(), "s")));
}
