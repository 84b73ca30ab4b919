//! Changes that can be undone.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::{ChangeNote, Commit, NativeWrite, SessionWrite};
use orlop_core::ErrorClass::{Conflict, NotFound};
use orlop_core::types::SessionJson;
use serde_json::json;

fn note(id: &str) -> ChangeNote {
    let [plugin, action] = ["compaction", "compact"].map(str::to_owned);
    ChangeNote { id: id.to_owned(), plugin, action, at: 17, undone: false }
}

async fn a_change_has_the_session_before_and_after(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let first = SessionWrite {
        metadata: json!({"k": 1}).as_object().cloned(),
        native: set_native(vec![new_native(&["n1", "n2"])], "seal1"),
        ..write(0, vec![new(&["a", "b", "c"])])
    };
    save(&*store, &ana(), &lease, first).await.unwrap();
    let before = store.load(&ana(), "s").await.unwrap().unwrap().session;
    let compact = SessionWrite {
        metadata: json!({"k": 2}).as_object().cloned(),
        native: NativeWrite::Drop,
        ..write(1, vec![new(&["summary"]), kept(2..3)])
    };
    let commit =
        Commit { session: Some(compact), undo: Some(note("c1")), ..Commit::new(lease.clone()) };
    store.commit(&ana(), commit).await.unwrap();
    let after = store.load(&ana(), "s").await.unwrap().unwrap().session;
    save(&*store, &ana(), &lease, write(2, vec![new(&["later"])])).await.unwrap();

    let change = place.open().change(&ana(), "s", "c1").await.unwrap().unwrap();
    assert_eq!(change.note, note("c1"));
    assert_eq!(change.before, before);
    assert_eq!(change.after, after);
    assert_eq!(change.before.native_integrity.as_deref(), Some("seal1"));
    assert_eq!(store.change(&ana(), "s", "c2").await.unwrap(), None);
    assert_eq!(store.change(&ana(), "t", "c1").await.unwrap(), None);
}

async fn changes_are_listed_newest_first_and_marked_when_undone(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["a"]).await;
    for (revision, id) in [(1, "z"), (2, "a"), (3, "m")] {
        let session = Some(write(revision, vec![new(&[id])]));
        let undo = Some(note(id));
        let commit = Commit { session, undo, ..Commit::new(lease.clone()) };
        store.commit(&ana(), commit).await.unwrap();
    }
    let listed = async || {
        let changes = store.changes(&ana(), "s").await.unwrap();
        changes.into_iter().map(|it| (it.id, it.undone)).collect::<Vec<_>>()
    };
    let entry = |id: &str, undone| (id.to_owned(), undone);
    assert_eq!(listed().await, [entry("m", false), entry("a", false), entry("z", false)]);
    let undo = Commit {
        session: Some(write(4, vec![new(&["a"])])),
        undoes: Some("m".to_owned()),
        ..Commit::new(lease.clone())
    };
    store.commit(&ana(), undo).await.unwrap();
    assert_eq!(listed().await, [entry("m", true), entry("a", false), entry("z", false)]);
    assert!(store.change(&ana(), "s", "m").await.unwrap().unwrap().note.undone);
    let twice = Commit { undo: Some(note("z")), ..Commit::new(lease.clone()) };
    assert_eq!(class(store.commit(&ana(), twice).await), Conflict);
    let unknown = Commit { undoes: Some("x".to_owned()), ..Commit::new(lease) };
    assert_eq!(class(store.commit(&ana(), unknown).await), NotFound);
}

async fn a_note_without_a_change_of_the_session_has_it_twice(place: &Place) {
    let store = place.open();
    let missing = lease(&*store, &ana(), "missing").await;
    let commit = Commit { undo: Some(note("c")), ..Commit::new(missing) };
    assert_eq!(class(store.commit(&ana(), commit).await), NotFound);
    let held = create(&*store, &ana(), "s", &["a"]).await;
    let commit = Commit { undo: Some(note("c")), ..Commit::new(held) };
    store.commit(&ana(), commit).await.unwrap();
    let change = store.change(&ana(), "s", "c").await.unwrap().unwrap();
    assert_eq!(change.before, change.after);
    assert_eq!(change.after.messages.len(), 1);
}

async fn before_a_new_session_there_was_an_empty_one(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let session = Some(write(0, vec![new(&["a"])]));
    let commit = Commit { session, undo: Some(note("c")), ..Commit::new(lease) };
    store.commit(&ana(), commit).await.unwrap();
    let change = store.change(&ana(), "s", "c").await.unwrap().unwrap();
    let empty = SessionJson { session_id: "s".to_owned(), ..Default::default() };
    assert_eq!(change.before, empty);
}

async fn a_change_keeps_what_its_source_deleted(place: &Place) {
    let store = place.open();
    let source = create(&*store, &ana(), "source", &["a", "b"]).await;
    let fork = lease(&*store, &ana(), "fork").await;
    let copy = SessionWrite { from: Some("source".to_owned()), ..write(0, vec![kept(0..2)]) };
    save(&*store, &ana(), &fork, copy).await.unwrap();
    let session = Some(write(1, vec![new(&["c"])]));
    let commit = Commit { session, undo: Some(note("c")), ..Commit::new(fork.clone()) };
    store.commit(&ana(), commit).await.unwrap();
    store.delete(&ana(), &source, vec![]).await.unwrap().unwrap();
    let change = store.change(&ana(), "fork", "c").await.unwrap().unwrap();
    assert_eq!(change.before.messages.len(), 2);
    store.delete(&ana(), &fork, vec![]).await.unwrap().unwrap();
    drop(store);
    assert_eq!(place.rows("items"), 0);
}

on_every_store! {
    #[test]
    a_change_has_the_session_before_and_after;
    #[test]
    changes_are_listed_newest_first_and_marked_when_undone;
    #[test]
    a_note_without_a_change_of_the_session_has_it_twice;
    #[test]
    before_a_new_session_there_was_an_empty_one;
    #[test]
    a_change_keeps_what_its_source_deleted;
}
