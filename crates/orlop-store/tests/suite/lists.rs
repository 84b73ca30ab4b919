//! Lists as pieces: whatever is kept, moved, replaced and forked, a session is what it should be,
//! and no step writes more than what is new.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use futures::executor::block_on;
use orlop_app::Scope;
use orlop_app::store::{Lease, NativeOutline, NativeWrite, Segment, SessionWrite, Store};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a test does to one of a few sessions. Positions are cut to what there is.
#[derive(Debug, Clone)]
enum Step {
    Append(usize),
    Replace { from: usize, count: usize, by: usize },
    Rotate(usize),
    Double,
    Clear,
    Fork { upto: usize, more: usize },
    Native(Option<usize>),
    Delete,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_usize).prop_map(Step::Append),
        4 => (0..12_usize, 0..4_usize, 0..3_usize)
            .prop_map(|(from, count, by)| Step::Replace { from, count, by }),
        1 => (0..12_usize).prop_map(Step::Rotate),
        1 => Just(Step::Double),
        1 => Just(Step::Clear),
        3 => (0..12_usize, 0..3_usize).prop_map(|(upto, more)| Step::Fork { upto, more }),
        2 => proptest::option::of(0..4_usize).prop_map(Step::Native),
        1 => Just(Step::Delete),
    ]
}

/// What a session must be: its messages, and its native history.
#[derive(Debug, Clone, Default, PartialEq)]
struct Expected {
    messages: Vec<String>,
    native: Option<Vec<String>>,
}

/// A scope with sessions, beside what they must be.
struct World<'a> {
    store: &'a dyn Store,
    scope: Scope,
    sessions: BTreeMap<String, (Lease, u64, Expected)>,
    texts: usize,
}

impl World<'_> {
    async fn live_through(&mut self, steps: &[(usize, Step)]) {
        for (which, step) in steps {
            self.apply(*which, step).await;
        }
        self.check().await;
        while !self.sessions.is_empty() {
            self.apply(0, &Step::Delete).await;
            self.check().await;
        }
    }

    fn fresh(&mut self, count: usize) -> Vec<String> {
        let first = self.texts;
        self.texts += count;
        (first..self.texts).map(|number| format!("text{number}")).collect()
    }

    async fn apply(&mut self, which: usize, step: &Step) {
        let names: Vec<String> = self.sessions.keys().cloned().collect();
        let Some(id) = names.get(which % names.len().max(1)) else {
            self.texts += 1;
            let id = format!("s{}", self.texts);
            return self.create(&id, SessionWrite::default(), Expected::default()).await;
        };
        let (lease, revision, mut expected) = self.sessions[id].clone();
        let old = expected.messages.clone();
        let length = old.len();
        let write = match step {
            Step::Delete => {
                self.store.delete(&self.scope, &lease, vec![]).await.unwrap().unwrap();
                self.sessions.remove(id);
                return;
            }
            Step::Fork { upto, more } => {
                let (upto, new) = ((*upto).min(length), self.fresh(*more));
                let kept_native = expected.native.as_ref().map_or(0, Vec::len);
                let native = match expected.native {
                    Some(_) => set_native(vec![kept(0..kept_native)], "seal"),
                    None => NativeWrite::Keep,
                };
                let messages = Some(vec![kept(0..upto), segment(&new, item)]);
                let from = Some(id.clone());
                let write = SessionWrite { from, messages, native, ..Default::default() };
                expected.messages = [&old[..upto], &new[..]].concat();
                self.texts += 1;
                return self.create(&format!("s{}", self.texts), write, expected).await;
            }
            Step::Append(count) => {
                let new = self.fresh(*count);
                expected.messages.extend(new.clone());
                messages(revision, vec![kept(0..length), segment(&new, item)])
            }
            Step::Replace { from, count, by } => {
                let from = (*from).min(length);
                let end = (from + count).min(length);
                let new = self.fresh(*by);
                expected.messages.splice(from..end, new.clone());
                messages(revision, vec![kept(0..from), segment(&new, item), kept(end..length)])
            }
            Step::Rotate(by) => {
                let by = (*by).min(length);
                expected.messages.rotate_left(by);
                messages(revision, vec![kept(by..length), kept(0..by)])
            }
            Step::Double if length < 40 => {
                expected.messages.extend(old);
                messages(revision, vec![kept(0..length), kept(0..length)])
            }
            Step::Double | Step::Clear => {
                expected.messages.clear();
                messages(revision, vec![])
            }
            Step::Native(None) => {
                expected.native = None;
                let native = NativeWrite::Drop;
                SessionWrite { expected: revision, native, ..Default::default() }
            }
            Step::Native(Some(count)) => {
                let new = self.fresh(*count);
                let kept_native = expected.native.as_ref().map_or(0, Vec::len);
                expected.native.get_or_insert_default().extend(new.clone());
                let list = vec![kept(0..kept_native), segment(&new, native_item)];
                let native = set_native(list, "seal");
                SessionWrite { expected: revision, native, ..Default::default() }
            }
        };
        let revision = save(self.store, &self.scope, &lease, write).await.unwrap().revision;
        self.sessions.insert(id.clone(), (lease, revision, expected));
    }

    async fn create(&mut self, id: &str, write: SessionWrite, expected: Expected) {
        let lease = lease(self.store, &self.scope, id).await;
        let revision = save(self.store, &self.scope, &lease, write).await.unwrap().revision;
        self.sessions.insert(id.to_owned(), (lease, revision, expected));
    }

    async fn check(&self) {
        for (id, (_, revision, expected)) in &self.sessions {
            let stored = self.store.load(&self.scope, id).await.unwrap().unwrap();
            let found = Expected {
                messages: stored.session.messages.iter().map(|it| it.text().to_owned()).collect(),
                native: stored.session.native_messages.map(|items| {
                    items
                        .iter()
                        .map(|it| it.value()["native"].as_str().unwrap().to_owned())
                        .collect()
                }),
            };
            assert_eq!(&found, expected, "{id}");
            assert_eq!(stored.head.revision, *revision);
            assert_eq!(stored.head.message_count, expected.messages.len());
            let middle = expected.messages.len() / 2;
            let part = self.store.messages(&self.scope, id, middle / 2..middle).await.unwrap();
            let part: Vec<_> = part.unwrap().iter().map(|it| it.text().to_owned()).collect();
            assert_eq!(part, expected.messages[middle / 2..middle]);
        }
        let listed = self.store.list(&self.scope, &Default::default()).await.unwrap();
        assert_eq!(listed.heads.len(), self.sessions.len());
    }
}

fn messages(expected: u64, messages: Vec<Segment>) -> SessionWrite {
    write(expected, messages)
}

fn segment(texts: &[String], item: fn(&str) -> orlop_app::store::NewItem) -> Segment {
    Segment::New(texts.iter().map(|text| item(text)).collect())
}

async fn any_steps_lead_to_what_a_plain_list_would_be(place: &Place) {
    let store = place.open();
    let scopes = AtomicUsize::new(0);
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let steps = vec((any::<usize>(), step()), 1..25);
    let run = || {
        runner.run(&steps, |steps| {
            let number = scopes.fetch_add(1, Ordering::Relaxed);
            let scope = Scope::new("acme", format!("user{number}")).unwrap();
            let mut world = World { store: &*store, scope, sessions: BTreeMap::new(), texts: 0 };
            block_on(world.live_through(&steps));
            Ok(())
        })
    };
    // On a thread of its own, because the steps are waited for inside of what is waited for.
    std::thread::scope(|scope| scope.spawn(run).join().unwrap()).unwrap();
    drop(store);
    assert_eq!((place.rows("items"), place.rows("log_refs"), place.rows("sessions")), (0, 0, 0));
}

async fn long(store: &dyn Store, count: usize) -> Lease {
    let texts: Vec<String> = (0..count).map(|number| format!("message {number}")).collect();
    let lease = lease(store, &ana(), "s").await;
    let session = SessionWrite {
        native: set_native(vec![segment(&texts, native_item)], "seal"),
        ..write(0, vec![segment(&texts, item)])
    };
    save(store, &ana(), &lease, session).await.unwrap();
    lease
}

async fn appending_to_a_long_session_writes_only_what_is_new(place: &Place) {
    let store = place.open();
    let lease = long(&*store, 10_000).await;
    let before = WrittenSoFar::at(place);
    let session = SessionWrite {
        native: set_native(vec![kept(0..10_000), new_native(&["n1", "n2"])], "seal2"),
        ..write(1, vec![kept(0..10_000), new(&["new one", "new two"])])
    };
    save(&*store, &ana(), &lease, session).await.unwrap();
    assert_eq!(place.rows("items"), 20_004);
    before.check_little_was_written(place, 4);
    let all = texts(&*store, &ana(), "s").await;
    assert_eq!((all.len(), all[10_001].as_str()), (10_002, "new two"));
    let pieces = place.number("SELECT LENGTH(message_pieces) FROM orlop.sessions");
    assert!(pieces < 30, "one piece, not {pieces} characters of them");
}

async fn an_edit_in_a_long_session_writes_only_the_edit(place: &Place) {
    let store = place.open();
    let lease = long(&*store, 2_000).await;
    let before = WrittenSoFar::at(place);
    let edit = write(1, vec![kept(0..700), new(&["edited"]), kept(701..2_000)]);
    save(&*store, &ana(), &lease, edit).await.unwrap();
    assert_eq!(place.rows("items"), 4_001);
    before.check_little_was_written(place, 1);
    let texts = texts(&*store, &ana(), "s").await;
    assert_eq!((texts.len(), texts[700].as_str()), (2_000, "edited"));
    assert_eq!(texts[701], "message 701");
}

async fn a_fork_of_a_long_session_writes_no_items(place: &Place) {
    let store = place.open();
    long(&*store, 2_000).await;
    let before = WrittenSoFar::at(place);
    let lease = lease(&*store, &ana(), "fork").await;
    let fork = SessionWrite {
        from: Some("s".to_owned()),
        native: set_native(vec![kept(0..1_500)], "seal"),
        ..write(0, vec![kept(0..1_500)])
    };
    save(&*store, &ana(), &lease, fork).await.unwrap();
    before.check_little_was_written(place, 0);
    assert_eq!(place.rows("items"), 4_000);
    let original = texts(&*store, &ana(), "s").await;
    assert_eq!(texts(&*store, &ana(), "fork").await, original[..1_500]);
    let grown = write(1, vec![kept(0..1_500), new(&["of the fork"])]);
    save(&*store, &ana(), &lease, grown).await.unwrap();
    assert_eq!(texts(&*store, &ana(), "s").await, original, "the source is as it was");
}

async fn what_is_not_kept_from_a_source_is_not_there(place: &Place) {
    let store = place.open();
    let source = lease(&*store, &ana(), "source").await;
    let full = SessionWrite {
        agent: Some("a".to_owned()),
        title: Some("t".to_owned()),
        native: set_native(vec![new_native(&["n"])], "seal"),
        ..write(0, vec![new(&["m"])])
    };
    save(&*store, &ana(), &source, full).await.unwrap();
    let fork = lease(&*store, &ana(), "fork").await;
    let empty = SessionWrite { from: Some("source".to_owned()), ..Default::default() };
    save(&*store, &ana(), &fork, empty).await.unwrap();
    let fork = store.load(&ana(), "fork").await.unwrap().unwrap();
    assert_eq!((fork.head.agent, fork.head.title), (None, None));
    assert_eq!((fork.session.messages.len(), fork.session.native_messages), (0, None));
}

async fn native_history_of_a_source_is_copied_whole(place: &Place) {
    let store = place.open();
    let source = lease(&*store, &ana(), "source").await;
    let items = Some(vec![new_native(&["n", "o"])]);
    let (seal, format) = (Some("seal".to_owned()), Some("chat".to_owned()));
    let native = NativeWrite::Set { items, seal, format, side_by_side: true };
    let full = SessionWrite { native, ..write(0, vec![new(&["m", "o"])]) };
    save(&*store, &ana(), &source, full).await.unwrap();
    let fork = lease(&*store, &ana(), "fork").await;
    let from = Some("source".to_owned());
    let copy = SessionWrite { from, native: NativeWrite::Copy, ..write(0, vec![kept(0..2)]) };
    save(&*store, &ana(), &fork, copy).await.unwrap();
    let outline = async |id| store.outline(&ana(), id).await.unwrap().unwrap().native;
    assert_eq!(outline("fork").await, outline("source").await);
    assert!(matches!(outline("fork").await, NativeOutline::SideBySide(_)));
    let lists = async |id| {
        let session = store.load(&ana(), id).await.unwrap().unwrap().session;
        let native = session.native_messages.unwrap_or_default();
        let native: Vec<String> = native.iter().map(|item| item.wire().to_owned()).collect();
        (session.messages, native, session.native_integrity)
    };
    assert_eq!(lists("fork").await, lists("source").await);
}

/// Where the database stood, so as to see how much a step writes.
struct WrittenSoFar(i64);

const NEWEST_ROW: &str = "SELECT COALESCE(MAX(xmin::text::bigint), 0) FROM orlop.items";

impl WrittenSoFar {
    fn at(place: &Place) -> Self {
        match place {
            Place::Sqlite(_) => {
                assert_eq!(place.number("PRAGMA wal_checkpoint(TRUNCATE)"), 0, "it was not busy");
                Self(0)
            }
            Place::Postgres(_) => Self(place.number(NEWEST_ROW)),
        }
    }

    /// In PostgreSQL, rows that were written have a newer transaction; in SQLite, the log of
    /// changed pages has to be short.
    fn check_little_was_written(&self, place: &Place, items: i64) {
        match place {
            Place::Sqlite(folder) => {
                let log = folder.path().join("orlop.db-wal");
                let size = std::fs::metadata(log).unwrap().len();
                assert!(size < 200_000, "{size} bytes");
            }
            Place::Postgres(_) => {
                let Self(newest) = self;
                let newer =
                    format!("SELECT COUNT(*) FROM orlop.items WHERE xmin::text::bigint > {newest}");
                assert_eq!(place.number(&newer), items);
            }
        }
    }
}

on_every_store! {
    #[test]
    any_steps_lead_to_what_a_plain_list_would_be;
    #[test]
    appending_to_a_long_session_writes_only_what_is_new;
    #[test]
    an_edit_in_a_long_session_writes_only_the_edit;
    #[test]
    a_fork_of_a_long_session_writes_no_items;
    #[test]
    what_is_not_kept_from_a_source_is_not_there;
    #[test]
    native_history_of_a_source_is_copied_whole;
}
