//! Short ways to write what most tests need: scopes, leases, sessions of a few words.

use orlop_app::Scope;
use orlop_app::store::{
    Acquired, CallsWrite, Commit, Committed, Lease, NativeWrite, NewEvent, NewItem, Segment,
    SessionWrite, Store, TurnWrite,
};
use orlop_core::types::app_event::EventKind;
use orlop_core::{ErrorClass, Message, Result};
use serde_json::json;
use std::ops::Range;
use std::time::Duration;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn ana() -> Scope {
    Scope::new("acme", "ana").unwrap()
}

/// A lease that is ours for the whole test.
pub(crate) async fn lease(store: &dyn Store, scope: &Scope, session: &str) -> Lease {
    lease_for(store, scope, session, HOUR).await
}

pub(crate) async fn lease_for(
    store: &dyn Store,
    scope: &Scope,
    session: &str,
    time: Duration,
) -> Lease {
    match store.acquire(scope, session, "me", time).await.unwrap() {
        Acquired::Lease(lease) => lease,
        Acquired::Held { owner, .. } => panic!("{owner} holds {session}"),
    }
}

/// A user's message.
pub(crate) fn item(text: &str) -> NewItem {
    let body = serde_json::to_string(&Message::user(text)).unwrap();
    NewItem { body, search: text.to_owned() }
}

pub(crate) fn native_item(text: &str) -> NewItem {
    NewItem { body: json!({ "native": text }).to_string(), search: String::new() }
}

pub(crate) fn new(texts: &[&str]) -> Segment {
    Segment::New(texts.iter().map(|text| item(text)).collect())
}

pub(crate) fn new_native(texts: &[&str]) -> Segment {
    Segment::New(texts.iter().map(|text| native_item(text)).collect())
}

pub(crate) fn kept(range: Range<usize>) -> Segment {
    Segment::Kept(range)
}

/// A change of a session's messages.
pub(crate) fn write(expected: u64, messages: Vec<Segment>) -> SessionWrite {
    SessionWrite { expected, messages: Some(messages), ..Default::default() }
}

/// Native history that is set.
pub(crate) fn set_native(items: Vec<Segment>, seal: &str) -> NativeWrite {
    let seal = Some(seal.to_owned());
    NativeWrite::Set { items: Some(items), seal, format: None, side_by_side: false }
}

/// A step that changes a session and nothing else.
pub(crate) async fn save(
    store: &dyn Store,
    scope: &Scope,
    lease: &Lease,
    write: SessionWrite,
) -> Result<Committed> {
    let commit = Commit { session: Some(write), ..Commit::new(lease.clone()) };
    store.commit(scope, commit).await
}

/// A new session with these messages.
pub(crate) async fn create(store: &dyn Store, scope: &Scope, id: &str, texts: &[&str]) -> Lease {
    let lease = lease(store, scope, id).await;
    save(store, scope, &lease, write(0, vec![new(texts)])).await.unwrap();
    lease
}

/// The texts of a stored session.
pub(crate) async fn texts(store: &dyn Store, scope: &Scope, id: &str) -> Vec<String> {
    let stored = store.load(scope, id).await.unwrap().expect("a stored session");
    stored.session.messages.iter().map(|message| message.text().to_owned()).collect()
}

pub(crate) fn event(session: Option<&str>, request: Option<&str>, name: &str) -> NewEvent {
    let kind: EventKind = serde_json::from_value(json!({"type": name, "plugin": "p"})).unwrap();
    let [session, request] = [session, request].map(|id| id.map(str::to_owned));
    NewEvent { session, request, at: "2026-01-01T00:00:00Z".to_owned(), kind }
}

pub(crate) fn turn(request: &str, new: bool, state: &str, settled: bool) -> TurnWrite {
    let state = json!({ "state": state });
    TurnWrite { request: request.to_owned(), new, state, calls: CallsWrite::default(), settled }
}

/// The class of what must have failed.
pub(crate) fn class<T: std::fmt::Debug>(result: Result<T>) -> ErrorClass {
    result.unwrap_err().class()
}
