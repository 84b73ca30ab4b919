//! Saving, loading, listing and deleting sessions.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::{
    Archived, Commit, Head, ListQuery, NativeOutline, NativeWrite, Outline, SessionWrite,
};
use orlop_core::ErrorClass::{BadArgument, Conflict, NotFound, OutOfRange};
use orlop_core::{Message, NativeEnd};
use serde_json::json;

async fn an_unknown_session_is_nothing(place: &Place) {
    let store = place.open();
    assert_eq!(store.load(&ana(), "s").await.unwrap(), None);
    assert_eq!(store.head(&ana(), "s").await.unwrap(), None);
    assert_eq!(store.outline(&ana(), "s").await.unwrap(), None);
    assert_eq!(store.messages(&ana(), "s", 0..9).await.unwrap(), None);
    assert_eq!(store.changes(&ana(), "s").await.unwrap(), []);
    assert_eq!(store.plugin_state(&ana(), "s", "p").await.unwrap(), None);
}

async fn a_session_comes_back_as_it_was_saved(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let metadata = json!({"z": 1, "a": {"x": [1.5, null, "\u{0}é"]}});
    let odd = Message::user(json!([1, {"k": "\u{0}"}])).with_metadata_entry("m", "\u{1F600}");
    let odd_item = orlop_app::store::NewItem {
        body: serde_json::to_string(&odd).unwrap(),
        search: "nul \0 inside".to_owned(),
    };
    let session = SessionWrite {
        agent: Some("coder".to_owned()),
        title: Some("A title".to_owned()),
        metadata: metadata.as_object().cloned(),
        messages: Some(vec![new(&["one", "two"]), orlop_app::store::Segment::New(vec![odd_item])]),
        native: NativeWrite::Set {
            items: Some(vec![new_native(&["n1"])]),
            seal: Some("seal".to_owned()),
            format: Some("chat".to_owned()),
            side_by_side: true,
        },
        ..Default::default()
    };
    let committed = save(&*store, &ana(), &lease, session).await.unwrap();
    assert_eq!(committed.revision, 1);

    let again = place.open();
    let stored = again.load(&ana(), "s").await.unwrap().unwrap();
    let Head { created, updated, .. } = stored.head;
    assert!(created > 1_600_000_000_000 && updated >= created);
    let head = Head {
        id: "s".to_owned(),
        agent: Some("coder".to_owned()),
        title: Some("A title".to_owned()),
        created,
        updated,
        revision: 1,
        messages_revision: 1,
        message_count: 3,
        pinned: false,
        archived: false,
        branch_of: None,
    };
    assert_eq!(stored.head, head);
    assert_eq!(again.head(&ana(), "s").await.unwrap(), Some(head.clone()));
    let native = NativeOutline::SideBySide(NativeEnd {
        len: 1,
        seal: Some("seal".to_owned()),
        format: Some("chat".to_owned()),
    });
    let outline = Outline { head, metadata: stored.session.metadata.clone(), native };
    assert_eq!(again.outline(&ana(), "s").await.unwrap(), Some(outline));
    let session = stored.session;
    assert_eq!(session.session_id, "s");
    assert_eq!(session.messages, [Message::user("one"), Message::user("two"), odd]);
    assert_eq!(serde_json::to_string(&session.metadata).unwrap(), metadata.to_string());
    assert_eq!(session.native_messages.unwrap()[0].wire(), r#"{"native":"n1"}"#);
    assert_eq!(session.native_integrity.as_deref(), Some("seal"));
    assert_eq!(session.native_format.as_deref(), Some("chat"));
}

async fn what_is_not_written_stays(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let first = SessionWrite {
        agent: Some("a".to_owned()),
        title: Some("t".to_owned()),
        metadata: json!({"k": 1}).as_object().cloned(),
        messages: Some(vec![new(&["m"])]),
        native: set_native(vec![new_native(&["n"])], "seal"),
        ..Default::default()
    };
    save(&*store, &ana(), &lease, first).await.unwrap();
    let before = store.load(&ana(), "s").await.unwrap().unwrap();
    let nothing = SessionWrite { expected: 1, ..Default::default() };
    assert_eq!(save(&*store, &ana(), &lease, nothing).await.unwrap().revision, 2);
    let after = store.load(&ana(), "s").await.unwrap().unwrap();
    assert_eq!(after.session, before.session);
    assert_eq!((after.head.agent, after.head.title), (before.head.agent, before.head.title));
    assert_eq!(after.head.created, before.head.created);
    assert!(after.head.updated > before.head.updated);
}

async fn native_history_is_kept_set_and_dropped(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["m"]).await;
    let native = async |expected, native| {
        let session = SessionWrite { expected, native, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
        let session = store.load(&ana(), "s").await.unwrap().unwrap().session;
        (session.native_messages.map(|items| items.len()), session.native_integrity)
    };
    assert_eq!(native(1, NativeWrite::Keep).await, (None, None));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(native(2, set_native(vec![], "a")).await, (Some(0), some("a")));
    let items = vec![new_native(&["1", "2"])];
    assert_eq!(native(3, set_native(items, "b")).await, (Some(2), some("b")));
    let seal_only =
        NativeWrite::Set { items: None, seal: some("c"), format: None, side_by_side: false };
    assert_eq!(native(4, seal_only).await, (Some(2), some("c")));
    assert_eq!(native(5, set_native(vec![kept(1..2)], "d")).await, (Some(1), some("d")));
    assert_eq!(native(6, NativeWrite::Drop).await, (None, None));
    assert_eq!(native(7, NativeWrite::Keep).await, (None, None));
}

async fn a_change_to_an_old_revision_is_a_conflict_that_names_both(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["m"]).await;
    save(&*store, &ana(), &lease, write(1, vec![kept(0..1), new(&["n"])])).await.unwrap();
    for expected in [0, 1, 3] {
        let stale = write(expected, vec![new(&["lost"])]);
        let error = save(&*store, &ana(), &lease, stale).await.unwrap_err();
        assert_eq!(error.class(), Conflict);
        assert!(error.message().contains("revision 2"), "{error}");
        assert!(error.message().contains(&format!("revision {expected};")), "{error}");
    }
    assert_eq!(texts(&*store, &ana(), "s").await, ["m", "n"]);
    let other = crate::steps::lease(&*store, &ana(), "other").await;
    let of_nothing = save(&*store, &ana(), &other, write(3, vec![new(&["x"])])).await;
    assert_eq!(class(of_nothing), Conflict);
    assert_eq!(store.head(&ana(), "other").await.unwrap(), None);
}

async fn a_refused_step_changes_nothing(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["m"]).await;
    let before = store.load(&ana(), "s").await.unwrap();
    let step = |session: SessionWrite| Commit {
        session: Some(session),
        turn: Some(turn("r", true, "begun", false)),
        events: vec![event(Some("s"), None, "happened")],
        reserve: 5,
        ..Commit::new(lease.clone())
    };
    let beyond = step(write(1, vec![new(&["n"]), kept(0..2)]));
    assert_eq!(class(store.commit(&ana(), beyond).await), OutOfRange);
    let copy = SessionWrite { from: Some("s".to_owned()), ..write(1, vec![kept(0..1)]) };
    assert_eq!(class(store.commit(&ana(), step(copy)).await), BadArgument);
    let unknown = Commit { undoes: Some("x".to_owned()), ..step(write(1, vec![new(&["n"])])) };
    assert_eq!(class(store.commit(&ana(), unknown).await), NotFound);
    assert_eq!(store.load(&ana(), "s").await.unwrap(), before);
    assert_eq!(store.turn(&ana(), "r").await.unwrap(), None);
    assert_eq!(store.events(&ana(), &Default::default()).await.unwrap(), []);
    let numbers = store.publish(&ana(), vec![event(None, None, "first")], 0).await.unwrap();
    assert_eq!(numbers.first, 1);
}

async fn a_range_of_messages_is_cut_to_what_there_is(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["0", "1", "2", "3"]).await;
    let edited = write(1, vec![kept(0..1), new(&["x"]), kept(2..4)]);
    save(&*store, &ana(), &lease, edited).await.unwrap();
    for (range, expected) in [
        (0..4, vec!["0", "x", "2", "3"]),
        (1..3, vec!["x", "2"]),
        (3..100, vec!["3"]),
        (4..5, vec![]),
        (usize::MAX - 1..usize::MAX, vec![]),
        (2..2, vec![]),
        (std::ops::Range { start: 3, end: 1 }, vec![]),
    ] {
        let messages = store.messages(&ana(), "s", range.clone()).await.unwrap().unwrap();
        let messages: Vec<_> = messages.iter().map(Message::text).collect();
        assert_eq!(messages, expected, "{range:?}");
    }
}

async fn the_list_has_what_changed_last_first(place: &Place) {
    let store = place.open();
    let mut leases = Vec::new();
    for id in ["b", "c", "a"] {
        leases.push(create(&*store, &ana(), id, &["m", "n"]).await);
    }
    let ids = async |query: ListQuery| -> Vec<String> {
        let page = store.list(&ana(), &query).await.unwrap();
        assert_eq!(page.next, None);
        page.heads.into_iter().map(|head| head.id).collect()
    };
    assert_eq!(ids(ListQuery::default()).await, ["a", "c", "b"]);
    save(&*store, &ana(), &leases[0], write(1, vec![kept(0..1)])).await.unwrap();
    assert_eq!(ids(ListQuery::default()).await, ["b", "a", "c"]);
    let page = store.list(&ana(), &ListQuery::default()).await.unwrap();
    assert_eq!(page.heads[0].message_count, 1);
    assert_eq!(page.heads[0], store.head(&ana(), "b").await.unwrap().unwrap());
}

async fn the_list_can_be_narrowed_by_agent_and_title(place: &Place) {
    let store = place.open();
    let sessions = [
        ("1", "x", "Größe ÄNDERN"),
        ("2", "y", "größe 100% \\ 'quoted'"),
        ("3", "x", "other_thing"),
    ];
    for (id, agent, title) in sessions {
        let lease = lease(&*store, &ana(), id).await;
        let [agent, title] = [agent, title].map(|text| Some(text.to_owned()));
        let session = SessionWrite { agent, title, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    create(&*store, &ana(), "untitled", &[]).await;
    let ids = async |agent: Option<&str>, title: Option<&str>| -> String {
        let [agent, title] = [agent, title].map(|text| text.map(str::to_owned));
        let query = ListQuery { agent, title, ..Default::default() };
        let page = store.list(&ana(), &query).await.unwrap();
        page.heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(Some("x"), None).await, "3 1");
    assert_eq!(ids(None, Some("GRÖSSE")).await, "");
    assert_eq!(ids(None, Some("GRÖßE")).await, "2 1");
    assert_eq!(ids(None, Some("ändern")).await, "1");
    assert_eq!(ids(Some("y"), Some("größe")).await, "2");
    for (literal, found) in [("0%", "2"), ("%", "2"), ("_", "3"), ("\\", "2"), ("'", "2")] {
        assert_eq!(ids(None, Some(literal)).await, found, "{literal}");
    }
    assert_eq!(ids(None, Some("")).await, "untitled 3 2 1");
    assert_eq!(ids(Some("nobody"), None).await, "");
}

async fn the_list_can_be_narrowed_by_metadata(place: &Place) {
    let store = place.open();
    for (id, metadata) in [
        ("1", json!({"dir": "/a", "k": "\u{0}"})),
        ("2", json!({"dir": "/a/b"})),
        ("3", json!({"inner": {"dir": "/a"}, "dir": "/x"})),
        ("4", json!({"text": "\"dir\":\"/a\"", "n": 5, "$.dir": "/a"})),
        ("5", json!({"z": 1, "dir": "/a", "é\"": "ü\n"})),
        ("6", json!({})),
    ] {
        let lease = lease(&*store, &ana(), id).await;
        let metadata = metadata.as_object().cloned();
        let session = SessionWrite { metadata, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    let ids = async |key: &str, value: &str| {
        let metadata = Some((key.to_owned(), value.to_owned()));
        let mut query = ListQuery { metadata, limit: 1, ..Default::default() };
        let mut ids = String::new();
        loop {
            let page = store.list(&ana(), &query).await.unwrap();
            ids.extend(page.heads.iter().map(|head| head.id.as_str()));
            query.cursor = page.next;
            if query.cursor.is_none() {
                return ids;
            }
        }
    };
    assert_eq!(ids("dir", "/a").await, "51");
    assert_eq!(ids("dir", "/a/b").await, "2");
    assert_eq!(ids("dir", "/").await, "");
    assert_eq!(ids("$.dir", "/a").await, "4");
    assert_eq!(ids("é\"", "ü\n").await, "5");
    assert_eq!(ids("k", "\u{0}").await, "1");
    assert_eq!(ids("n", "5").await, "", "a number is no text");
}

async fn sub_sessions_are_listed_only_if_asked_for(place: &Place) {
    let store = place.open();
    for (id, metadata) in [
        ("main", json!({"text": "\"parent_session_id\":\"x\""})),
        ("sub", json!({"parent_session_id": "main"})),
        ("freed", json!({"parent_session_id": null})),
        ("other", json!({"inner": {"parent_session_id": "main"}})),
    ] {
        let lease = lease(&*store, &ana(), id).await;
        let metadata = metadata.as_object().cloned();
        let session = SessionWrite { metadata, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    let ids = async |query: ListQuery| {
        let page = store.list(&ana(), &query).await.unwrap();
        page.heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(ListQuery::default()).await, "other freed main");
    let all = ListQuery { sub_sessions: true, ..ListQuery::default() };
    assert_eq!(ids(all.clone()).await, "other freed sub main");
    let metadata = Some(("parent_session_id".to_owned(), "main".to_owned()));
    assert_eq!(ids(ListQuery { metadata: metadata.clone(), ..all }).await, "sub");
    assert_eq!(ids(ListQuery { metadata, ..ListQuery::default() }).await, "");
}

async fn sessions_that_were_put_away_or_pinned_are_told_apart(place: &Place) {
    let store = place.open();
    for (id, metadata) in [
        (
            "plain",
            json!({"inner": {"archived": true, "pinned": true}, "text": "\"archived\":true"}),
        ),
        ("old", json!({"archived": true})),
        ("top", json!({"pinned": true})),
        ("both", json!({"pinned": true, "archived": true})),
        ("back", json!({"archived": false, "pinned": "true"})),
    ] {
        let lease = lease(&*store, &ana(), id).await;
        let metadata = metadata.as_object().cloned();
        let session = SessionWrite { metadata, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    let ids = async |archived: Archived, pinned: Option<bool>| {
        // Small pages, so that what is left out must not end a list.
        let mut query = ListQuery { archived, pinned, limit: 1, ..ListQuery::default() };
        let mut ids = Vec::new();
        loop {
            let page = store.list(&ana(), &query).await.unwrap();
            ids.extend(page.heads.into_iter().map(|head| head.id));
            query.cursor = page.next;
            if query.cursor.is_none() {
                return ids.join(" ");
            }
        }
    };
    assert_eq!(ids(Archived::Without, None).await, "back top plain");
    assert_eq!(ids(Archived::With, None).await, "back both top old plain");
    assert_eq!(ids(Archived::Only, None).await, "both old");
    assert_eq!(ids(Archived::Without, Some(true)).await, "top");
    assert_eq!(ids(Archived::With, Some(true)).await, "both top");
    assert_eq!(ids(Archived::Without, Some(false)).await, "back plain");
    let marks = async |id: &str| {
        let head = store.head(&ana(), id).await.unwrap().unwrap();
        (head.archived, head.pinned)
    };
    assert_eq!(marks("both").await, (true, true));
    assert_eq!(marks("plain").await, (false, false));
    assert_eq!(marks("back").await, (false, false));
}

async fn a_branch_is_told_by_what_it_is_a_branch_of(place: &Place) {
    let store = place.open();
    for (id, metadata) in [
        ("root", json!({"inner": {"branch_of": "other"}})),
        ("branch", json!({"branch_of": "root"})),
        ("odd", json!({"branch_of": 7})),
    ] {
        let lease = lease(&*store, &ana(), id).await;
        let metadata = metadata.as_object().cloned();
        let session = SessionWrite { metadata, ..Default::default() };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    let listed = store.list(&ana(), &ListQuery::default()).await.unwrap().heads;
    for (listed, expected) in listed.into_iter().zip([None, Some("root"), None]) {
        assert_eq!(listed.branch_of.as_deref(), expected, "{}", listed.id);
        assert_eq!(store.head(&ana(), &listed.id).await.unwrap(), Some(listed));
    }
}

async fn pages_go_on_where_the_last_one_ended(place: &Place) {
    let store = place.open();
    for number in 0..55 {
        create(&*store, &ana(), &format!("s{number:02}"), &[]).await;
    }
    let mut query = ListQuery { limit: 20, ..Default::default() };
    let (mut sizes, mut ids) = (Vec::new(), Vec::new());
    loop {
        let page = store.list(&ana(), &query).await.unwrap();
        sizes.push(page.heads.len());
        ids.extend(page.heads.into_iter().map(|head| head.id));
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [20, 20, 15]);
    assert_eq!(ids, (0..55).rev().map(|number| format!("s{number:02}")).collect::<Vec<_>>());
    let of_default_size = store.list(&ana(), &ListQuery::default()).await.unwrap();
    assert_eq!(of_default_size.heads.len(), 50);
    let most = ListQuery { limit: usize::MAX, ..Default::default() };
    assert_eq!(store.list(&ana(), &most).await.unwrap().heads.len(), 55);
    for cursor in ["", "x", "x_s01", "99999999999999999999_s"] {
        let query = ListQuery { cursor: Some(cursor.to_owned()), ..Default::default() };
        assert_eq!(class(store.list(&ana(), &query).await), BadArgument, "{cursor}");
    }
}

on_every_store! {
    #[test]
    an_unknown_session_is_nothing;
    #[test]
    a_session_comes_back_as_it_was_saved;
    #[test]
    what_is_not_written_stays;
    #[test]
    native_history_is_kept_set_and_dropped;
    #[test]
    a_change_to_an_old_revision_is_a_conflict_that_names_both;
    #[test] // I-03
    a_refused_step_changes_nothing;
    #[test]
    a_range_of_messages_is_cut_to_what_there_is;
    #[test] // I-09
    the_list_has_what_changed_last_first;
    #[test]
    the_list_can_be_narrowed_by_agent_and_title;
    #[test]
    the_list_can_be_narrowed_by_metadata;
    #[test]
    sub_sessions_are_listed_only_if_asked_for;
    #[test]
    sessions_that_were_put_away_or_pinned_are_told_apart;
    #[test]
    a_branch_is_told_by_what_it_is_a_branch_of;
    #[test]
    pages_go_on_where_the_last_one_ended;
}
