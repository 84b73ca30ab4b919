//! Durable events and their numbers.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::Scope;
use orlop_app::store::{Commit, EventQuery, Numbers};
use orlop_core::ErrorClass::BadArgument;
use orlop_core::types::app_event::{EventKind, SessionState};
use serde_json::json;

async fn numbers_go_from_one_up_with_room_for_fragments(place: &Place) {
    let store = place.open();
    let two = || vec![event(None, None, "a"), event(None, None, "b")];
    let numbers = |first, reserved| Numbers { first, reserved };
    assert_eq!(store.publish(&ana(), two(), 0).await.unwrap(), numbers(1, 3..3));
    assert_eq!(store.publish(&ana(), two(), 10).await.unwrap(), numbers(3, 5..15));
    assert_eq!(store.publish(&ana(), vec![], 5).await.unwrap(), numbers(15, 15..20));
    let lease = lease(&*store, &ana(), "s").await;
    let commit = Commit { events: two(), reserve: 1, ..Commit::new(lease) };
    let committed = store.commit(&ana(), commit).await.unwrap();
    assert_eq!(committed.revision, 0);
    assert_eq!(committed.numbers, numbers(20, 22..23));
    let again = place.open();
    assert_eq!(again.publish(&ana(), two(), 0).await.unwrap().first, 23);
    let all = again.events(&ana(), &EventQuery::default()).await.unwrap();
    let all: Vec<_> = all.iter().map(|event| event.seq).collect();
    assert_eq!(all, [1, 2, 3, 4, 20, 21, 23, 24]);
    assert_eq!(class(store.publish(&ana(), vec![], u64::MAX).await), BadArgument);
}

async fn nothing_published_takes_no_number(place: &Place) {
    let store = place.open();
    assert_eq!(store.publish(&ana(), vec![], 0).await.unwrap(), Numbers::default());
    let lease = lease(&*store, &ana(), "s").await;
    let committed = store.commit(&ana(), Commit::new(lease)).await.unwrap();
    assert_eq!(committed, Default::default());
    assert_eq!(store.publish(&ana(), vec![], 1).await.unwrap().first, 1);
}

async fn users_of_a_tenant_share_numbers_and_tenants_do_not(place: &Place) {
    let store = place.open();
    let bob = Scope::new("acme", "bob").unwrap();
    let other = Scope::new("other", "ana").unwrap();
    let mut firsts = Vec::new();
    for scope in [&ana(), &bob, &other, &ana()] {
        let numbers = store.publish(scope, vec![event(None, None, "x")], 0).await.unwrap();
        firsts.push(numbers.first);
    }
    assert_eq!(firsts, [1, 2, 1, 3]);
}

async fn events_come_back_as_they_were(place: &Place) {
    let store = place.open();
    let session =
        SessionState { revision: 3, message_count: 2, title: Some("t".to_owned()), context: None };
    let mut saved = event(Some("s"), Some("r"), "x");
    saved.kind = EventKind::SessionUpdated { session, change: "edit \u{0}".to_owned() };
    let mut odd = event(None, None, "x");
    let fields = json!({"type": "plugin_thing", "session_id": "fake", "seq": 99, "n": [1.5, null]});
    odd.kind = EventKind::Other(fields.as_object().cloned().unwrap());
    store.publish(&ana(), vec![saved.clone(), odd.clone()], 0).await.unwrap();
    let events = store.events(&ana(), &EventQuery::default()).await.unwrap();
    for (event, (written, seq)) in events.iter().zip([(saved, 1), (odd, 2)]) {
        assert_eq!(event.seq, seq);
        assert_eq!(event.at, written.at);
        assert_eq!((&event.session_id, &event.request_id), (&written.session, &written.request));
        assert_eq!(event.kind, written.kind);
    }
    assert_eq!(events.len(), 2);
}

async fn events_can_be_narrowed(place: &Place) {
    let store = place.open();
    for (session, request, name) in [
        (Some("s"), Some("r1"), "1"),
        (Some("s"), Some("r2"), "2"),
        (Some("t"), Some("r3"), "3"),
        (None, None, "4"),
        (Some("s"), Some("r1"), "5"),
    ] {
        store.publish(&ana(), vec![event(session, request, name)], 3).await.unwrap();
    }
    let names = async |session: Option<&str>, request: Option<&str>, after, limit| {
        let [session, request] = [session, request].map(|id| id.map(str::to_owned));
        let query = EventQuery { session, request, after, limit, newest: false };
        let events = store.events(&ana(), &query).await.unwrap();
        events.iter().map(|event| event.kind.name().to_owned()).collect::<String>()
    };
    assert_eq!(names(None, None, 0, 0).await, "12345");
    assert_eq!(names(Some("s"), None, 0, 0).await, "125");
    assert_eq!(names(None, Some("r1"), 0, 0).await, "15");
    assert_eq!(names(Some("s"), Some("r2"), 0, 0).await, "2");
    assert_eq!(names(Some("t"), Some("r2"), 0, 0).await, "");
    assert_eq!(names(Some("s"), None, 1, 0).await, "25");
    assert_eq!(names(None, None, 5, 2).await, "34");
    assert_eq!(names(None, None, 17, 0).await, "");
    assert_eq!(names(None, None, u64::MAX, usize::MAX).await, "");
    let newest = async |session: Option<&str>, after, limit| {
        let session = session.map(str::to_owned);
        let query = EventQuery { session, after, limit, newest: true, ..Default::default() };
        let events = store.events(&ana(), &query).await.unwrap();
        events.iter().map(|event| event.kind.name().to_owned()).collect::<String>()
    };
    assert_eq!(newest(None, 0, 0).await, "12345");
    assert_eq!(newest(None, 0, 2).await, "45");
    assert_eq!(newest(Some("s"), 0, 1).await, "5");
    assert_eq!(newest(Some("s"), 17, 1).await, "");
}

async fn a_thousand_events_are_read_at_once_unless_said_otherwise(place: &Place) {
    let store = place.open();
    let events = (0..1002).map(|_| event(None, None, "x")).collect();
    store.publish(&ana(), events, 0).await.unwrap();
    let count = async |limit| {
        let query = EventQuery { limit, ..Default::default() };
        store.events(&ana(), &query).await.unwrap().len()
    };
    assert_eq!((count(0).await, count(2000).await, count(7).await), (1000, 1002, 7));
}

on_every_store! {
    #[test]
    numbers_go_from_one_up_with_room_for_fragments;
    #[test]
    nothing_published_takes_no_number;
    #[test]
    users_of_a_tenant_share_numbers_and_tenants_do_not;
    #[test]
    events_come_back_as_they_were;
    #[test]
    events_can_be_narrowed;
    #[test]
    a_thousand_events_are_read_at_once_unless_said_otherwise;
}
