//! Turns, the messages left for them, and traces.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::{CallsWrite, Commit, Lease, Store, TurnRecord, TurnWrite};
use orlop_core::ErrorClass::{BadArgument, Conflict, NotFound};
use orlop_core::{Result, Value};
use serde_json::json;
use std::time::Duration;

async fn commit_turn(store: &dyn Store, lease: &Lease, turn: TurnWrite) -> Result<()> {
    let commit = Commit { turn: Some(turn), ..Commit::new(lease.clone()) };
    store.commit(&ana(), commit).await.map(drop)
}

async fn a_turn_goes_from_state_to_state(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    assert_eq!(store.turn(&ana(), "r").await.unwrap(), None);
    commit_turn(&*store, &lease, turn("r", true, "begun", false)).await.unwrap();
    let begun = place.open().turn(&ana(), "r").await.unwrap().unwrap();
    let TurnRecord { created, updated, .. } = begun;
    let expected = TurnRecord {
        request: "r".to_owned(),
        session: "s".to_owned(),
        state: json!({"state": "begun"}),
        calls: Vec::new(),
        settled: false,
        created,
        updated,
    };
    assert_eq!(begun, expected);
    assert!(created == updated && created > 1_600_000_000_000);
    commit_turn(&*store, &lease, turn("r", false, "done", true)).await.unwrap();
    let done = store.turn(&ana(), "r").await.unwrap().unwrap();
    assert_eq!((&done.state, done.settled), (&json!({"state": "done"}), true));
    assert!(done.created == created && done.updated >= updated);
}

async fn a_request_id_is_taken_once(place: &Place) {
    let store = place.open();
    let [one, other] = [lease(&*store, &ana(), "s").await, lease(&*store, &ana(), "t").await];
    commit_turn(&*store, &one, turn("r", true, "first", false)).await.unwrap();
    for lease in [&one, &other] {
        let commit = Commit {
            session: Some(write(0, vec![new(&["m"])])),
            turn: Some(turn("r", true, "second", true)),
            ..Commit::new(lease.clone())
        };
        assert_eq!(class(store.commit(&ana(), commit).await), Conflict);
        assert_eq!(store.head(&ana(), &lease.session).await.unwrap(), None);
    }
    let elsewhere = commit_turn(&*store, &other, turn("r", false, "stolen", true)).await;
    assert_eq!(class(elsewhere), NotFound);
    let unknown = commit_turn(&*store, &one, turn("unknown", false, "x", true)).await;
    assert_eq!(class(unknown), NotFound);
    let state = store.turn(&ana(), "r").await.unwrap().unwrap().state;
    assert_eq!(state, json!({"state": "first"}));
}

async fn calls_are_stored_one_by_one(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let step = |new: bool, calls: CallsWrite| TurnWrite { calls, ..turn("r", new, "x", false) };
    let calls = async || store.turn(&ana(), "r").await.unwrap().unwrap().calls;
    commit_turn(&*store, &lease, step(true, CallsWrite::All(vec![]))).await.unwrap();
    assert_eq!(calls().await, Vec::<Value>::new());
    let all: Vec<Value> = (0..12).map(|number| json!({ "n": number })).collect();
    commit_turn(&*store, &lease, step(false, CallsWrite::All(all.clone()))).await.unwrap();
    assert_eq!(calls().await, all);
    let changed = CallsWrite::Changed(vec![(10, json!("done")), (2, json!("runs"))]);
    commit_turn(&*store, &lease, step(false, changed)).await.unwrap();
    let mut expected = all.clone();
    (expected[10], expected[2]) = (json!("done"), json!("runs"));
    assert_eq!(calls().await, expected);
    assert_eq!(store.turns(&ana(), Some("s"), 9).await.unwrap()[0].calls, expected);

    // One that is not there is refused, and nothing of its step is kept.
    let missing = CallsWrite::Changed(vec![(0, json!("lost")), (12, json!("x"))]);
    assert_eq!(class(commit_turn(&*store, &lease, step(false, missing)).await), NotFound);
    assert_eq!(calls().await, expected);

    // Those of another request of the same name are others.
    let other = orlop_app::Scope::new("other", "eve").unwrap();
    let theirs = lease_for(&*store, &other, "s", Duration::ZERO).await;
    let write = step(true, CallsWrite::All(vec![json!("theirs")]));
    let commit = Commit { turn: Some(write), ..Commit::new(theirs) };
    store.commit(&other, commit).await.unwrap();
    commit_turn(&*store, &lease, step(false, CallsWrite::All(vec![json!("next")]))).await.unwrap();
    assert_eq!(calls().await, [json!("next")]);
    store.release(&ana(), &lease).await.unwrap();
    let abandoned = store.abandoned(9).await.unwrap();
    let held = abandoned.into_iter().map(|(_, turn)| turn.calls).collect::<Vec<_>>();
    assert_eq!(held, [[json!("next")], [json!("theirs")]]);
}

async fn turns_are_listed_newest_first(place: &Place) {
    let store = place.open();
    let [one, other] = [lease(&*store, &ana(), "s").await, lease(&*store, &ana(), "t").await];
    for (lease, request) in [(&one, "z"), (&other, "b"), (&one, "a"), (&one, "m")] {
        commit_turn(&*store, lease, turn(request, true, "x", false)).await.unwrap();
    }
    commit_turn(&*store, &one, turn("z", false, "changed", true)).await.unwrap();
    let requests = async |session, limit| {
        let turns = store.turns(&ana(), session, limit).await.unwrap();
        turns.into_iter().map(|turn| turn.request).collect::<String>()
    };
    assert_eq!(requests(None, 9).await, "mabz");
    assert_eq!(requests(None, 2).await, "ma");
    assert_eq!(requests(Some("s"), 9).await, "maz");
    assert_eq!(requests(Some("t"), usize::MAX).await, "b");
    assert_eq!(requests(Some("unknown"), 9).await, "");
    assert_eq!(requests(None, 0).await, "");
}

async fn turns_are_abandoned_when_nobody_has_the_lease(place: &Place) {
    let store = place.open();
    let abandoned = async || {
        let turns = store.abandoned(9).await.unwrap();
        turns
            .into_iter()
            .map(|(scope, turn)| format!("{scope} {}", turn.request))
            .collect::<Vec<_>>()
    };
    let held = lease(&*store, &ana(), "held").await;
    commit_turn(&*store, &held, turn("r1", true, "x", false)).await.unwrap();
    let expired = lease_for(&*store, &ana(), "expired", Duration::ZERO).await;
    commit_turn(&*store, &expired, turn("r2", true, "x", false)).await.unwrap();
    let released = lease(&*store, &ana(), "released").await;
    commit_turn(&*store, &released, turn("r3", true, "x", false)).await.unwrap();
    commit_turn(&*store, &released, turn("r4", true, "x", true)).await.unwrap();
    assert_eq!(abandoned().await, ["acme/ana r2"]);
    store.release(&ana(), &released).await.unwrap();
    assert_eq!(abandoned().await, ["acme/ana r2", "acme/ana r3"]);
    assert_eq!(store.abandoned(1).await.unwrap().len(), 1);

    let other = orlop_app::Scope::new("other", "eve").unwrap();
    let theirs = lease_for(&*store, &other, "held", Duration::ZERO).await;
    let commit = Commit { turn: Some(turn("r1", true, "x", false)), ..Commit::new(theirs) };
    store.commit(&other, commit).await.unwrap();
    assert_eq!(abandoned().await, ["acme/ana r2", "acme/ana r3", "other/eve r1"]);

    let taken = lease(&*store, &ana(), "expired").await;
    commit_turn(&*store, &taken, turn("r2", false, "closed", true)).await.unwrap();
    store.release(&ana(), &taken).await.unwrap();
    assert_eq!(abandoned().await, ["acme/ana r3", "other/eve r1"]);
}

async fn signals_are_taken_once_and_in_order(place: &Place) {
    let store = place.open();
    let none = Vec::<Value>::new();
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), none);
    let signals: Vec<_> = (0..12).map(|number| json!({ "n": number })).collect();
    for signal in &signals {
        store.signal(&ana(), "r", signal.clone()).await.unwrap();
    }
    store.signal(&ana(), "other", json!("x")).await.unwrap();
    assert_eq!(place.open().take_signals(&ana(), "r").await.unwrap(), signals);
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), none);
    store.signal(&ana(), "r", Value::Null).await.unwrap();
    assert_eq!(store.take_signals(&ana(), "r").await.unwrap(), [Value::Null]);
    assert_eq!(store.take_signals(&ana(), "other").await.unwrap(), [json!("x")]);
}

async fn a_trace_grows_with_its_turn(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    assert!(store.trace(&ana(), "r").await.unwrap().is_empty());
    let step =
        |number: usize| json!({"hook": number, "z": "a\nb", "a": 2}).as_object().cloned().unwrap();
    let line = |number: usize| serde_json::to_string(&step(number)).unwrap();
    for numbers in [0..40, 40..41, 41..41, 41..43] {
        let commit = Commit {
            turn: Some(turn("r", numbers.start == 0, "x", false)),
            trace: numbers.map(line).collect::<Vec<_>>().join("\n"),
            ..Commit::new(lease.clone())
        };
        store.commit(&ana(), commit).await.unwrap();
    }
    let trace = store.trace(&ana(), "r").await.unwrap();
    assert_eq!(trace, (0..43).map(step).collect::<Vec<_>>());
    assert_eq!(serde_json::to_string(&trace[0]).unwrap(), r#"{"hook":0,"z":"a\nb","a":2}"#);
    let homeless = Commit { trace: line(0), ..Commit::new(lease) };
    assert_eq!(class(store.commit(&ana(), homeless).await), BadArgument);
}

on_every_store! {
    #[test] // I-22
    a_turn_goes_from_state_to_state;
    #[test]
    a_request_id_is_taken_once;
    #[test]
    calls_are_stored_one_by_one;
    #[test]
    turns_are_listed_newest_first;
    #[test]
    turns_are_abandoned_when_nobody_has_the_lease;
    #[test]
    signals_are_taken_once_and_in_order;
    #[test]
    a_trace_grows_with_its_turn;
}
