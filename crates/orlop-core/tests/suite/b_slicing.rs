//! Slicing, splitting and forking: which messages stay, and when native history stays with them.

use orlop_core::hooks::RequestChange;
use orlop_core::*;
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with, native_session,
    plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn abc() -> [Message; 3] {
    [Message::user("a"), Message::assistant("b"), Message::user("c")]
}

/// A core with a scripted provider, and `a|b|c` with native history and a metadata key `x`.
async fn three_native() -> (Core, ScriptedProvider, Session) {
    let provider = ScriptedProvider::default();
    let core = core_with(&provider).unwrap();
    let session = native_session(&core, &abc(), &Config::empty()).await.unwrap();
    provider.log().take();
    (core, provider, session.with_metadata_patch(&map(json!({"x": {"y": 1}}))))
}

/// `session` as if somebody had edited its file.
fn edited(session: &Session, edit: impl FnOnce(&mut Value)) -> Session {
    let mut json = session.to_json();
    edit(&mut json);
    Session::from_json(json).unwrap()
}

/// `session` with other `native_indices` in the message at `at`; null removes them.
fn remapped(session: &Session, at: usize, indices: Value) -> Session {
    edited(session, |json| {
        let metadata = json["messages"][at]["metadata"].as_object_mut().unwrap();
        match indices {
            Value::Null => metadata.shift_remove("native_indices"),
            indices => metadata.insert("native_indices".into(), indices),
        };
    })
}

fn mappings(session: &Session) -> Value {
    session.messages().iter().map(|m| m.native_indices().to_json().unwrap_or_default()).collect()
}

/// What the native items say, with `|` between; `-` without native history.
fn said(session: &Session) -> String {
    let Some(native) = session.native() else { return "-".into() };
    let items: Vec<_> = native.items().iter().map(|item| item.get("say").unwrap()).collect();
    items.iter().map(|say| say.as_str().unwrap()).collect::<Vec<_>>().join("|")
}

/// No native history, no mapping, and everything else as in `source`.
#[track_caller]
fn assert_core_only(session: &Session, source: &Session, expected: &str) {
    assert_eq!(texts(session), expected);
    let json = session.to_json().to_string();
    assert!(!json.contains("native_"), "{json}");
    assert_eq!((session.id(), session.metadata()), (source.id(), source.metadata()));
}

/// Slices at the JSON edge with every form of `native` and plain sessions alike.
async fn check_slice(args: Value, expected: &str) {
    let (core, _, native) = three_native().await;
    let plain = plain_session(&abc()).await.unwrap();
    for session in [native, plain] {
        let mut args = map(args.clone());
        args.insert("session".into(), session.to_json());
        args.insert("config".into(), json!({}));
        let sliced = core.invoke("slice_session", args.clone(), &CallContext::default()).await;
        let sliced = Session::from_json(sliced.unwrap()).unwrap();
        assert_eq!(texts(&sliced), expected, "{args:?}");
        assert_eq!(sliced.native().is_some(), session.native().is_some());
    }
}

#[tokio::test] // B-20, B-21
async fn bounds_count_from_both_ends_and_are_clamped() {
    check_slice(json!({}), "a|b|c").await;
    check_slice(json!({"start": -100, "end": 100}), "a|b|c").await;
    check_slice(json!({"start": i64::MIN, "end": i64::MAX}), "a|b|c").await;
    check_slice(json!({"start": 1}), "b|c").await;
    check_slice(json!({"end": 1}), "a").await;
    check_slice(json!({"start": -2}), "b|c").await;
    check_slice(json!({"end": -1}), "a|b").await;
    check_slice(json!({"start": -2, "end": -1}), "b").await;
    check_slice(json!({"start": 2, "end": 1}), "").await;
    check_slice(json!({"start": 1, "end": 1}), "").await;
    check_slice(json!({"start": 3}), "").await;
    check_slice(json!({"end": -100}), "").await;
}

#[tokio::test] // B-22, B-23
async fn removed_indices_are_taken_out_of_the_range() {
    check_slice(json!({"remove_indices": [-1, 99, 0, 0]}), "b").await;
    check_slice(json!({"remove_indices": ["0", 1.0, null, [2], true, -100, 1]}), "a|c").await;
    check_slice(json!({"remove_indices": []}), "a|b|c").await;
    check_slice(json!({"start": 0, "end": 2, "remove_indices": [0]}), "b").await;
    check_slice(json!({"start": 0, "end": 2, "remove_indices": [2]}), "a|b").await;
}

#[tokio::test] // B-23, B-40, B-42
async fn the_removed_half_is_everything_else() {
    let (core, _, session) = three_native().await;
    let args = |flag: bool| {
        map(json!({"session": session, "config": {}, "start": 0, "end": 2,
                   "remove_indices": [0], "return_removed": flag}))
    };
    let here = CallContext::default();
    let one = core.invoke("slice_session", args(false), &here).await.unwrap();
    let pair = core.invoke("slice_session", args(true), &here).await.unwrap();
    assert!(one.is_object());
    let [kept, removed] = pair.as_array().unwrap().as_slice() else { panic!("{pair}") };
    assert_eq!(kept, &one);
    let kept = Session::from_json(kept.clone()).unwrap();
    let removed = Session::from_json(removed.clone()).unwrap();
    for (half, expected) in [(kept, "b"), (removed, "a|c")] {
        assert_eq!((texts(&half).as_str(), said(&half).as_str()), (expected, expected));
        half.verify().unwrap();
        assert_eq!((half.id(), half.metadata()), (session.id(), session.metadata()));
    }
}

#[tokio::test] // B-42
async fn asking_for_the_removed_half_changes_nothing_about_the_kept_one() {
    let (core, _, session) = three_native().await;
    let noted = edited(&session, |json| json["messages"][0]["metadata"]["note"] = json!(1));
    let config = Config::empty();
    for slice in
        [Slice::range(0, 1), Slice::range(0, 2), Slice::range(1, 2), Slice::without([1, 2])]
    {
        let one = core.slice_session(&noted, slice.clone(), Some(&config)).await;
        let cut = core.split_session(&noted, slice.clone(), Some(&config)).await;
        assert_eq!(cut.kept, one, "{slice:?}");
    }
}

#[tokio::test] // B-24, B-25
async fn where_nothing_is_removed_the_session_stays_as_it_is() {
    let (core, provider, session) = three_native().await;
    let broken = edited(&session, |json| json["messages"][0]["content"] = json!("A"));
    for session in [session, broken] {
        for config in [Some(&Config::empty()), None] {
            for slice in
                [Slice::default(), Slice::range(0, 3), Slice::range(-9, 9), Slice::without([7])]
            {
                assert_eq!(core.slice_session(&session, slice.clone(), config).await, session);
                let cut = core.split_session(&session, slice, config).await;
                assert_eq!(cut.kept, session);
                assert_core_only(&cut.removed, &session, "");
            }
        }
    }
    assert_eq!(provider.log().text(), "");
}

// covers: B-26, B-28, B-29, B-30, B-31, B-32, B-33, B-35
#[tokio::test]
async fn wherever_native_history_is_not_certain_messages_alone_are_cut() {
    let (core, _, session) = three_native().await;
    let named = config(json!({"provider": "nobody"}));
    let none = Config::empty();
    let metadata = |key: &str, value: Value| edited(&session, |json| json["metadata"][key] = value);
    let tampered =
        |at: usize| edited(&session, |json| json["messages"][at]["content"] = json!("!"));
    let short = edited(&session, |json| {
        json["metadata"]["native_messages"].as_array_mut().unwrap().truncate(2);
    });
    for (why, session, config) in [
        ("no config", session.clone(), None),
        ("unknown provider", session.clone(), Some(&named)),
        ("native history is no list", metadata("native_messages", json!("x")), Some(&none)),
        ("native history is absent", metadata("native_messages", json!(null)), Some(&none)),
        ("no seal", metadata("native_messages_integrity", json!(null)), Some(&none)),
        ("tampered kept message", tampered(0), Some(&none)),
        ("tampered removed message", tampered(2), Some(&none)),
        ("kept mapping no list", remapped(&session, 0, json!("x")), Some(&none)),
        ("removed mapping of strings", remapped(&session, 2, json!(["a"])), Some(&none)),
        ("removed mapping of fractions", remapped(&session, 2, json!([1.5])), Some(&none)),
        ("kept index too large", remapped(&session, 0, json!([999])), Some(&none)),
        ("removed index too large", remapped(&session, 2, json!([999])), Some(&none)),
        ("removed index at the end", remapped(&session, 2, json!([3])), Some(&none)),
        ("the largest index there is", remapped(&session, 2, json!([u64::MAX])), Some(&none)),
        ("negative index", remapped(&session, 2, json!([-1])), Some(&none)),
        ("native history too short", short, Some(&none)),
        ("kept message unmapped", remapped(&session, 0, json!(null)), Some(&none)),
        ("kept message mapped to nothing", remapped(&session, 0, json!([])), Some(&none)),
    ] {
        for slice in [Slice::range(0, 2), Slice::without([2])] {
            let [a, b, c] = [0, 1, 2].map(|at| session.messages().get(at).unwrap().text());
            let sliced = core.slice_session(&session, slice.clone(), config).await;
            assert_core_only(&sliced, &session, &format!("{a}|{b}"));
            let cut = core.split_session(&session, slice, config).await;
            assert_eq!(cut.kept, sliced, "{why}");
            assert_core_only(&cut.removed, &session, c);
        }
    }
}

#[tokio::test] // B-27
async fn metadata_that_is_no_mapping_is_read_as_none() {
    let (core, _, session) = three_native().await;
    for odd in [json!("x"), json!([1]), json!(null), json!(1)] {
        let imported = edited(&session, |json| json["metadata"] = odd.clone());
        assert!(imported.metadata().is_empty());
        let sliced =
            core.slice_session(&imported, Slice::range(1, 2), Some(&Config::empty())).await;
        assert_core_only(&sliced, &imported, "b");
    }
}

#[tokio::test] // B-28
async fn two_providers_need_a_config_that_names_one() {
    let mut core = core_with(&ScriptedProvider::new("one")).unwrap();
    core.register_provider(Arc::new(ScriptedProvider::new("two")), vec![]).unwrap();
    let named = config(json!({"provider": "two"}));
    let session = native_session(&core, &abc(), &named).await.unwrap();
    for slice in [Slice::range(0, 2), Slice::without([2])] {
        let sliced = core.slice_session(&session, slice.clone(), Some(&named)).await;
        assert_eq!(said(&sliced), "a|b");
        for other in [json!({}), json!({"model": "m"}), json!({"provider": "one"})] {
            let other = config(other);
            let sliced = core.slice_session(&session, slice.clone(), Some(&other)).await;
            assert_core_only(&sliced, &session, "a|b");
        }
    }
}

#[tokio::test] // B-33, B-41
async fn a_removed_message_without_mapping_spoils_only_the_removed_half() {
    let (core, _, session) = three_native().await;
    for indices in [json!(null), json!([])] {
        let session = remapped(&session, 2, indices);
        for (slice, kept, removed) in [
            (Slice::range(0, 2), "a|b", "c"),
            (Slice::range(0, 1), "a", "b|c"),
            (Slice::without([0, 2]), "b", "a|c"),
        ] {
            let sliced = core.slice_session(&session, slice.clone(), Some(&Config::empty())).await;
            assert_eq!(said(&sliced), kept);
            let cut = core.split_session(&session, slice, Some(&Config::empty())).await;
            assert_eq!((texts(&cut.kept).as_str(), said(&cut.kept).as_str()), (kept, kept));
            cut.kept.verify().unwrap();
            assert_core_only(&cut.removed, &session, removed);
        }
    }
}

#[tokio::test] // B-34
async fn messages_that_cannot_be_derived_are_cut_alone() {
    let (core, provider, session) = three_native().await;
    provider.fail_from_native(true);
    for slice in [Slice::without([1]), Slice::range(1, 3)] {
        let sliced = core.slice_session(&session, slice.clone(), Some(&Config::empty())).await;
        assert_core_only(&sliced, &session, &texts(&sliced));
        assert_eq!(sliced.messages().len(), 2);
    }
}

/// Fails to read native history that has an item saying `bad`.
fn squeamish_feature() -> ScriptedFeature {
    ScriptedFeature::new("squeamish").from_native_messages(|input, _| {
        match input.messages.iter().any(|message| message.text() == "bad") {
            true => Err(Error::plugin("no")),
            false => Ok(Change::Keep),
        }
    })
}

#[tokio::test] // B-34
async fn a_failure_in_the_removed_half_leaves_the_kept_half_alone() {
    let provider = ScriptedProvider::default();
    let messages = [Message::user("a"), Message::user("bad"), Message::user("c")];
    let session = native_session(&core_with(&provider).unwrap(), &messages, &Config::empty()).await;
    let session = session.unwrap();
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(squeamish_feature())).unwrap();
    let cut = core.split_session(&session, Slice::without([1]), Some(&Config::empty())).await;
    assert_eq!(said(&cut.kept), "a|c");
    cut.kept.verify().unwrap();
    assert_core_only(&cut.removed, &session, "bad");
    // What nobody asks for is not derived.
    provider.log().take();
    core.slice_session(&session, Slice::without([1]), Some(&Config::empty())).await;
    assert_eq!(provider.log().text(), "from_native(2)");
}

#[tokio::test] // B-36
async fn a_repeated_index_counts_once() {
    let (core, _, session) = three_native().await;
    let repeated = remapped(&session, 2, json!([2, 2]));
    for slice in [Slice::without([0]), Slice::range(0, 2), Slice::without([2])] {
        let expected = core.slice_session(&session, slice.clone(), Some(&Config::empty())).await;
        let sliced = core.slice_session(&repeated, slice, Some(&Config::empty())).await;
        assert_eq!(sliced, expected);
    }
}

#[tokio::test] // B-37
async fn an_item_shared_across_the_cut_goes_to_neither_half() {
    let (core, _, session) = three_native().await;
    let native = json!([
        {"who": "user", "say": "a"}, {"who": "assistant", "say": "b"},
        {"who": "user", "say": "c"}, {"think": "of b and c", "say": "shared"},
    ]);
    let shared = edited(&session, |json| json["metadata"]["native_messages"] = native);
    let shared = remapped(&remapped(&shared, 1, json!([1, 3])), 2, json!([2, 3]));
    for (slice, kept, removed) in [
        (Slice::range(0, 2), "a|b", "c"),
        (Slice::without([1]), "a|c", "b"),
        (Slice::range(0, 1), "a", "b|c|shared"),
    ] {
        let cut = core.split_session(&shared, slice, Some(&Config::empty())).await;
        assert_eq!((said(&cut.kept).as_str(), said(&cut.removed).as_str()), (kept, removed));
        cut.kept.verify().unwrap();
        cut.removed.verify().unwrap();
    }
}

#[tokio::test] // B-37
async fn a_message_whose_only_item_is_shared_is_not_lost() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::items(vec![json!({"pair": ["b", "c"]})]));
    let core = core_with(&provider).unwrap();
    let session = plain_session(&[Message::user("a")]).await.unwrap();
    let options = RequestOptions::default();
    let session = core.send_request(&session, &Config::empty(), options).await.unwrap().session;
    let cut = core.split_session(&session, Slice::range(0, 2), Some(&Config::empty())).await;
    assert_core_only(&cut.kept, &session, "a|b");
    assert_core_only(&cut.removed, &session, "c");
    let cut = core.split_session(&session, Slice::range(0, 1), Some(&Config::empty())).await;
    assert_eq!((said(&cut.kept).as_str(), mappings(&cut.removed)), ("a", json!([[0], [0]])));
}

#[tokio::test] // B-38
async fn items_of_no_message_are_dropped_and_the_others_keep_their_order() {
    let (core, _, session) = three_native().await;
    let native = json!([
        {"say": "orphan 1"}, {"who": "user", "say": "a"}, {"say": "orphan 2"},
        {"who": "assistant", "say": "b"}, {"who": "user", "say": "c"}, {"say": "orphan 3"},
    ]);
    let holes = edited(&session, |json| {
        json["metadata"]["native_messages"] = native;
        for (at, index) in [1, 3, 4].into_iter().enumerate() {
            json["messages"][at]["metadata"]["native_indices"] = json!([index]);
        }
    });
    for (slice, expected) in
        [(Slice::range(0, 2), "a|b"), (Slice::without([1]), "a|c"), (Slice::range(1, 3), "b|c")]
    {
        let sliced = core.slice_session(&holes, slice, Some(&Config::empty())).await;
        assert_eq!((said(&sliced).as_str(), mappings(&sliced)), (expected, json!([[0], [1]])));
        sliced.verify().unwrap();
    }
}

/// Puts a system message before every request.
fn rules_feature() -> ScriptedFeature {
    ScriptedFeature::new("rules").initialize_request(|_, _| {
        let rules = vec![json!({"who": "system", "say": "rules"}).into()];
        Ok(RequestChange::native(Change::insert(0, rules)))
    })
}

#[tokio::test] // B-39
async fn a_cut_runs_no_initialisation() {
    let (_, provider, session) = three_native().await;
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(rules_feature())).unwrap();
    for (slice, expected) in
        [(Slice::without([1]), "a|c"), (Slice::range(1, 3), "b|c"), (Slice::range(0, 2), "a|b")]
    {
        provider.log().take();
        let cut = core.split_session(&session, slice, Some(&Config::empty())).await;
        assert_eq!((texts(&cut.kept).as_str(), said(&cut.kept).as_str()), (expected, expected));
        assert_eq!(cut.removed.messages().len(), 1);
        assert!(!provider.log().text().contains("initialize"), "{}", provider.log().text());
    }
}

#[tokio::test] // B-43
async fn a_fork_keeps_the_messages_up_to_the_index() {
    let (core, _, session) = three_native().await;
    let config = Config::empty();
    let fork = core.fork_session(&session, 1, Some("f"), Some(&config)).await;
    assert_eq!((fork.id(), texts(&fork).as_str(), said(&fork).as_str()), ("f", "a|b", "a|b"));
    assert_eq!(fork.metadata(), session.metadata());
    fork.verify().unwrap();
    for id in [None, Some("s")] {
        assert_eq!(core.fork_session(&session, 1, id, Some(&config)).await.id(), "s");
    }
    // The fallbacks are those of a slice.
    let unmapped = remapped(&session, 0, json!(null));
    for (session, config) in [(&session, None), (&unmapped, Some(&config))] {
        let fork = core.fork_session(session, 1, None, config).await;
        assert_core_only(&fork, session, "a|b");
    }
    let args =
        map(json!({"session": session, "upto_index": 1, "new_session_id": "f", "config": {}}));
    let json = core.invoke("fork_session", args, &CallContext::default()).await.unwrap();
    assert_eq!(Session::from_json(json).unwrap(), fork);
}

#[tokio::test] // B-44
async fn fork_edges_follow_slice_bounds() {
    let (core, _, session) = three_native().await;
    for (upto_index, expected) in [
        (-1, ""),
        (0, "a"),
        (2, "a|b|c"),
        (3, "a|b|c"),
        (99, "a|b|c"),
        (i64::MAX, "a|b|c"),
        (-2, "a|b"),
        (-3, "a"),
        (-4, ""),
        (i64::MIN, ""),
    ] {
        let fork = core.fork_session(&session, upto_index, None, Some(&Config::empty())).await;
        let found = (texts(&fork), said(&fork));
        assert_eq!(found, (expected.to_owned(), expected.to_owned()), "{upto_index}");
        fork.verify().unwrap();
    }
}
