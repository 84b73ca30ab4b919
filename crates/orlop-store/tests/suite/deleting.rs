//! Deleting a session with everything that belongs to it, and with nothing else.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::Scope;
use orlop_app::store::{
    AssetRecord, CallsWrite, ChangeNote, Commit, EventQuery, Lease, SearchQuery, SessionWrite,
    ShareRecord, Store, TurnWrite,
};
use serde_json::json;

/// A session with one of everything.
async fn full(store: &dyn Store, scope: &Scope, id: &str, request: &str) -> Lease {
    let lease = lease(store, scope, id).await;
    let session = SessionWrite {
        native: set_native(vec![new_native(&["n"])], "seal"),
        ..write(0, vec![new(&["findme", "m"])])
    };
    let commit = Commit {
        session: Some(session),
        turn: Some(TurnWrite {
            calls: CallsWrite::All(vec![json!("call")]),
            ..turn(request, true, "begun", false)
        }),
        events: vec![event(Some(id), Some(request), "begun"), event(None, None, "of_nobody")],
        trace: json!({"hook": "x"}).to_string(),
        undo: Some(ChangeNote { id: "c".to_owned(), ..Default::default() }),
        ..Commit::new(lease.clone())
    };
    store.commit(scope, commit).await.unwrap();
    store.signal(scope, request, json!("stop")).await.unwrap();
    store.set_plugin_state(scope, id, "p", 0, Some(json!(1))).await.unwrap();
    let session = Some(id.to_owned());
    let asset = AssetRecord { id: format!("asset-{id}"), session, ..Default::default() };
    store.put_asset(scope, &asset).await.unwrap();
    let share =
        ShareRecord { id: format!("share-{id}"), session: id.to_owned(), ..Default::default() };
    store.put_share(scope, &share).await.unwrap();
    lease
}

async fn everything_of_a_session_goes_with_it(place: &Place) {
    let store = place.open();
    let lease = full(&*store, &ana(), "s", "r").await;
    let goodbye = vec![event(Some("s"), None, "gone")];
    let deleted = store.delete(&ana(), &lease, goodbye).await.unwrap().unwrap();
    assert_eq!(deleted.numbers.first, 3);

    assert_eq!(store.load(&ana(), "s").await.unwrap(), None);
    assert_eq!(store.head(&ana(), "s").await.unwrap(), None);
    assert_eq!(store.list(&ana(), &Default::default()).await.unwrap(), Default::default());
    assert_eq!(store.search(&ana(), &SearchQuery::new("findme", 9)).await.unwrap(), []);
    assert_eq!(store.turn(&ana(), "r").await.unwrap(), None);
    assert_eq!(store.turns(&ana(), None, 9).await.unwrap(), []);
    assert_eq!(store.abandoned(9).await.unwrap(), []);
    assert!(store.trace(&ana(), "r").await.unwrap().is_empty());
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), Vec::<serde_json::Value>::new());
    assert_eq!(store.plugin_state(&ana(), "s", "p").await.unwrap(), None);
    assert_eq!(store.asset(&ana(), "asset-s").await.unwrap(), None);
    assert_eq!(store.share("share-s").await.unwrap(), None);
    assert_eq!(store.changes(&ana(), "s").await.unwrap(), []);
    assert_eq!(store.change(&ana(), "s", "c").await.unwrap(), None);
    let events = store.events(&ana(), &EventQuery::default()).await.unwrap();
    let events: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(events, ["of_nobody", "gone"]);
    drop(store);
    let tables = ["sessions", "items", "log_refs", "turns", "turn_calls", "traces", "signals"];
    for table in tables.into_iter().chain(["changes", "shares"]) {
        assert_eq!(place.rows(table), 0, "{table}");
    }
}

async fn what_does_not_exist_is_not_deleted(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let events = vec![event(Some("s"), None, "gone")];
    assert_eq!(store.delete(&ana(), &lease, events).await.unwrap(), None);
    assert_eq!(store.events(&ana(), &EventQuery::default()).await.unwrap(), []);
}

async fn other_sessions_lose_nothing(place: &Place) {
    let store = place.open();
    let lease = full(&*store, &ana(), "s", "r").await;
    full(&*store, &ana(), "other", "r2").await;
    store.delete(&ana(), &lease, Vec::new()).await.unwrap().unwrap();
    assert_eq!(texts(&*store, &ana(), "other").await, ["findme", "m"]);
    assert_eq!(store.search(&ana(), &SearchQuery::new("findme", 9)).await.unwrap().len(), 1);
    assert_eq!(store.turns(&ana(), None, 9).await.unwrap().len(), 1);
    assert_eq!(store.trace(&ana(), "r2").await.unwrap().len(), 1);
    assert_eq!(store.take_signals(&ana(), "r2").await.unwrap().len(), 1);
    assert!(store.plugin_state(&ana(), "other", "p").await.unwrap().is_some());
    assert!(store.asset(&ana(), "asset-other").await.unwrap().is_some());
    assert_eq!(store.changes(&ana(), "other").await.unwrap().len(), 1);
    assert_eq!(store.shares(&ana(), "other").await.unwrap().len(), 1);
}

async fn a_deleted_session_can_be_created_again(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["old"]).await;
    store.set_plugin_state(&ana(), "s", "p", 0, Some(json!(1))).await.unwrap();
    store.delete(&ana(), &lease, Vec::new()).await.unwrap().unwrap();
    let again = save(&*store, &ana(), &lease, write(0, vec![new(&["new"])])).await.unwrap();
    assert_eq!(again.revision, 1);
    assert_eq!(texts(&*store, &ana(), "s").await, ["new"]);
    assert_eq!(store.plugin_state(&ana(), "s", "p").await.unwrap(), None);
}

async fn forks_live_on_when_their_source_is_deleted(place: &Place) {
    let store = place.open();
    let source = full(&*store, &ana(), "s", "r").await;
    let mut forks = Vec::new();
    for (id, from) in [("f1", "s"), ("f2", "f1")] {
        let lease = lease(&*store, &ana(), id).await;
        let fork = SessionWrite {
            from: Some(from.to_owned()),
            native: set_native(vec![kept(0..1)], "seal"),
            ..write(0, vec![kept(0..1), new(&[id])])
        };
        save(&*store, &ana(), &lease, fork).await.unwrap();
        forks.push(lease);
    }
    store.delete(&ana(), &source, Vec::new()).await.unwrap().unwrap();
    assert_eq!(texts(&*store, &ana(), "f1").await, ["findme", "f1"]);
    store.delete(&ana(), &forks[0], Vec::new()).await.unwrap().unwrap();
    assert_eq!(texts(&*store, &ana(), "f2").await, ["findme", "f2"]);
    let session = store.load(&ana(), "f2").await.unwrap().unwrap().session;
    assert_eq!(session.native_messages.unwrap()[0].wire(), r#"{"native":"n"}"#);
    assert_eq!(store.search(&ana(), &SearchQuery::new("findme", 9)).await.unwrap().len(), 1);
    store.delete(&ana(), &forks[1], Vec::new()).await.unwrap().unwrap();
    drop(store);
    assert_eq!((place.rows("items"), place.rows("log_refs")), (0, 0));
}

on_every_store! {
    #[test] // I-08
    everything_of_a_session_goes_with_it;
    #[test]
    what_does_not_exist_is_not_deleted;
    #[test]
    other_sessions_lose_nothing;
    #[test]
    a_deleted_session_can_be_created_again;
    #[test]
    forks_live_on_when_their_source_is_deleted;
}
