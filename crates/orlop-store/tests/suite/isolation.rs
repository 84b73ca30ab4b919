//! Nobody sees or changes what belongs to another tenant, or to another user of the same tenant.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::Scope;
use orlop_app::store::{
    AssetRecord, ChangeNote, Commit, EventQuery, Lease, SearchQuery, SessionWrite, Store,
};
use orlop_core::ErrorClass::{Conflict, NotFound};
use serde_json::{Value, json};

/// One of everything, all under the same ids for every scope.
async fn furnish(store: &dyn Store, scope: &Scope, mark: &str) -> Lease {
    let lease = lease(store, scope, "s").await;
    let commit = Commit {
        session: Some(SessionWrite {
            title: Some(mark.to_owned()),
            native: set_native(vec![new_native(&[mark])], mark),
            ..write(0, vec![new(&[&format!("common {mark}")])])
        }),
        turn: Some(turn("r", true, mark, false)),
        events: vec![event(Some("s"), Some("r"), mark)],
        trace: json!({ "mark": mark }).to_string(),
        undo: Some(ChangeNote {
            id: "c".to_owned(),
            plugin: mark.to_owned(),
            ..Default::default()
        }),
        ..Commit::new(lease.clone())
    };
    store.commit(scope, commit).await.unwrap();
    store.signal(scope, "r", json!(mark)).await.unwrap();
    store.set_plugin_state(scope, "s", "p", 0, Some(json!(mark))).await.unwrap();
    let asset = AssetRecord { id: "a".to_owned(), name: mark.to_owned(), ..Default::default() };
    store.put_asset(scope, &asset).await.unwrap();
    lease
}

/// Everything a scope can see, as text.
async fn view(store: &dyn Store, scope: &Scope) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        store.load(scope, "s").await.unwrap(),
        store.head(scope, "s").await.unwrap(),
        store.messages(scope, "s", 0..9).await.unwrap(),
        store.list(scope, &Default::default()).await.unwrap(),
        store.search(scope, &SearchQuery::new("common", 9)).await.unwrap(),
        store.turn(scope, "r").await.unwrap(),
        store.turns(scope, None, 9).await.unwrap(),
        store.events(scope, &EventQuery::default()).await.unwrap(),
        store.trace(scope, "r").await.unwrap(),
        store.plugin_state(scope, "s", "p").await.unwrap(),
        store.asset(scope, "a").await.unwrap(),
        store.assets(scope, None).await.unwrap(),
        store.changes(scope, "s").await.unwrap(),
        store.change(scope, "s", "c").await.unwrap(),
    )
}

/// Scopes that are easily mistaken for `acme/ana`.
fn strangers() -> Vec<Scope> {
    [("acme", "bob"), ("other", "ana"), ("Acme", "ana"), ("acme", "an"), ("acm", "eana")]
        .map(|(tenant, user)| Scope::new(tenant, user).unwrap())
        .to_vec()
}

async fn strangers_see_nothing(place: &Place) {
    let store = place.open();
    let nothing = view(&*store, &ana()).await;
    furnish(&*store, &ana(), "secret").await;
    assert_ne!(view(&*store, &ana()).await, nothing);
    for stranger in strangers() {
        assert_eq!(view(&*store, &stranger).await, nothing, "{stranger}");
        let signals = store.take_signals(&stranger, "r").await.unwrap();
        assert_eq!(signals, Vec::<Value>::new());
    }
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), [json!("secret")]);
}

async fn strangers_change_nothing(place: &Place) {
    let store = place.open();
    let lease = furnish(&*store, &ana(), "secret").await;
    let before = view(&*store, &ana()).await;
    for stranger in strangers() {
        let overwrite = save(&*store, &stranger, &lease, write(1, vec![new(&["mine"])])).await;
        assert_eq!(class(overwrite), Conflict);
        assert_eq!(class(store.delete(&stranger, &lease, vec![]).await), Conflict);
        assert!(!store.renew(&stranger, &lease, HOUR).await.unwrap());
        store.release(&stranger, &lease).await.unwrap();
        let theirs = crate::steps::lease(&*store, &stranger, "s").await;
        assert_eq!(theirs.token, 1, "a lease of their own");
        assert_eq!(store.delete(&stranger, &theirs, vec![]).await.unwrap(), None);
        let state = store.set_plugin_state(&stranger, "s", "p", 1, None).await;
        assert_eq!(class(state), NotFound);
        assert!(!store.delete_asset(&stranger, "a").await.unwrap());
        let undo = Commit { undoes: Some("c".to_owned()), ..Commit::new(theirs.clone()) };
        assert_eq!(class(store.commit(&stranger, undo).await), NotFound);
        let turn = Commit { turn: Some(turn("r", false, "x", true)), ..Commit::new(theirs) };
        assert_eq!(class(store.commit(&stranger, turn).await), NotFound);
    }
    assert_eq!(view(&*store, &ana()).await, before);
    assert!(store.renew(&ana(), &lease, HOUR).await.unwrap());
}

async fn strangers_cannot_fork_what_is_not_theirs(place: &Place) {
    let store = place.open();
    furnish(&*store, &ana(), "secret").await;
    for stranger in strangers() {
        let lease = lease(&*store, &stranger, "copy").await;
        let fork = SessionWrite { from: Some("s".to_owned()), ..write(0, vec![kept(0..1)]) };
        assert_eq!(class(save(&*store, &stranger, &lease, fork).await), NotFound);
        assert_eq!(store.head(&stranger, "copy").await.unwrap(), None);
    }
}

async fn the_same_ids_in_other_scopes_are_other_things(place: &Place) {
    let store = place.open();
    furnish(&*store, &ana(), "first").await;
    let mut leases = Vec::new();
    for (number, stranger) in strangers().into_iter().enumerate() {
        leases.push((furnish(&*store, &stranger, &format!("mark{number}")).await, stranger));
    }
    for (number, (_, stranger)) in leases.iter().enumerate() {
        let view = view(&*store, stranger).await;
        assert!(view.contains(&format!("mark{number}")) && !view.contains("first"), "{view}");
    }
    let before = view(&*store, &ana()).await;
    for (lease, stranger) in &leases {
        store.delete(stranger, lease, vec![]).await.unwrap().unwrap();
        assert!(store.delete_asset(stranger, "a").await.unwrap());
    }
    assert_eq!(view(&*store, &ana()).await, before);
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), [json!("first")]);
}

on_every_store! {
    #[test]
    strangers_see_nothing;
    #[test]
    strangers_change_nothing;
    #[test]
    strangers_cannot_fork_what_is_not_theirs;
    #[test]
    the_same_ids_in_other_scopes_are_other_things;
}
