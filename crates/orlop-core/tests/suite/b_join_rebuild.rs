//! Joining sessions, and making native history anew, all of it or for a few messages.

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

fn users(texts: &[&str]) -> Vec<Message> {
    texts.iter().map(|text| Message::user(*text)).collect()
}

async fn three_native() -> (Core, ScriptedProvider, Session) {
    let provider = ScriptedProvider::default();
    let core = core_with(&provider).unwrap();
    let session = native_session(&core, &users(&["a", "b", "c"]), &Config::empty()).await.unwrap();
    provider.log().take();
    (core, provider, session)
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

fn without_native(session: &Session) -> Session {
    edited(session, |json| {
        json["metadata"].as_object_mut().unwrap().remove("native_messages");
    })
}

fn tampered(session: &Session) -> Session {
    edited(session, |json| json["messages"][0]["content"] = json!("!"))
}

fn mappings(session: &Session) -> Value {
    session.messages().iter().map(|m| m.native_indices().to_json().unwrap_or_default()).collect()
}

/// What the native items say, with `|` between.
fn said(session: &Session) -> String {
    let items: Vec<_> = session.native().unwrap().items().iter().cloned().collect();
    items
        .iter()
        .map(|item| item.get("say").unwrap().as_str().unwrap())
        .collect::<Vec<_>>()
        .join("|")
}

/// Puts a system message before every request that has none.
fn rules_feature() -> ScriptedFeature {
    ScriptedFeature::new("rules").initialize_request(|input, _| {
        let has_rules = |item: &NativeItem| item.get("who") == Some(&json!("system"));
        if input.native_messages.iter().any(has_rules) {
            return Ok(RequestChange::default());
        }
        let rules = vec![json!({"who": "system", "say": "rules"}).into()];
        Ok(RequestChange::native(Change::insert(0, rules)))
    })
}

#[tokio::test] // B-45, B-46
async fn sessions_without_sound_native_history_join_their_messages() {
    let (core, _, session) = three_native().await;
    let prefix = session.with_id("p").with_metadata_patch(&map(json!({"x": "prefix"})));
    let suffix = session.with_id("q").with_metadata_patch(&map(json!({"x": "suffix", "y": 1})));
    let config = config(json!({"model": "m"}));
    for (why, prefix, suffix, config) in [
        ("no config", &prefix, &suffix, None),
        ("empty config", &prefix, &suffix, Some(&Config::empty())),
        ("prefix has none", &without_native(&prefix), &suffix, Some(&config)),
        ("suffix has none", &prefix, &without_native(&suffix), Some(&config)),
        ("broken seal of the prefix", &tampered(&prefix), &suffix, Some(&config)),
        ("broken seal of the suffix", &prefix, &tampered(&suffix), Some(&config)),
    ] {
        let joined = core.join_sessions(prefix, suffix, config).await.unwrap();
        assert_eq!(texts(&joined), format!("{}|{}", texts(prefix), texts(suffix)), "{why}");
        assert_eq!((joined.id(), joined.metadata()), ("p", &map(json!({"x": "prefix"}))), "{why}");
        let json = joined.to_json().to_string();
        assert!(!json.contains("native_"), "{why}: {json}");
    }
}

#[tokio::test] // B-47
async fn native_histories_are_joined_without_initialisation() {
    let provider = ScriptedProvider::default();
    let mut core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let prefix = native_session(&core, &users(&["a", "b"]), &config).await.unwrap();
    let prefix = prefix.with_id("p").with_metadata_patch(&map(json!({"x": "prefix"})));
    let suffix = native_session(&core, &users(&["c"]), &config).await.unwrap();
    let suffix = suffix.with_metadata_patch(&map(json!({"x": "suffix", "y": 1})));
    core.register_feature(Arc::new(rules_feature())).unwrap();
    provider.log().take();

    let joined = core.join_sessions(&prefix, &suffix, Some(&config)).await.unwrap();
    assert_eq!((texts(&joined).as_str(), said(&joined).as_str()), ("a|b|c", "a|b|c"));
    assert_eq!(mappings(&joined), json!([[0], [1], [2]]));
    assert_eq!((joined.id(), joined.metadata()), ("p", &map(json!({"x": "prefix"}))));
    joined.verify().unwrap();
    assert_eq!(provider.log().text(), "scripted.init from_native(3)");
    let args = map(json!({"prefix": prefix, "suffix": suffix, "config": config}));
    let json = core.invoke("join_sessions", args, &CallContext::default()).await.unwrap();
    assert_eq!(Session::from_json(json).unwrap(), joined);
}

#[tokio::test] // B-48
async fn a_join_that_fails_says_so() {
    let (core, provider, session) = three_native().await;
    provider.fail_from_native(true);
    let config = config(json!({"model": "m"}));
    let error = core.join_sessions(&session, &session, Some(&config)).await.unwrap_err();
    assert_eq!((error.class(), error.plugin_name()), (ErrorClass::Provider, Some("scripted")));
}

#[tokio::test] // B-49
async fn a_split_session_joins_to_what_it_was() {
    let provider = ScriptedProvider::default();
    let core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let mut session = Session::new("s");
    for turn in ["one", "two"] {
        session = core.add_message(&session, Message::user(turn), &config).await.unwrap();
        let think = json!({"think": format!("about {turn}")});
        let answer = json!({"who": "assistant", "say": format!("answer {turn}")});
        provider.reply(ScriptedReply::items(vec![think, answer]));
        let options = RequestOptions::default();
        session = core.send_request(&session, &config, options).await.unwrap().session;
    }
    assert_eq!(mappings(&session), json!([[0], [1, 2], [3], [4, 5]]));
    for at in 0..session.messages().len() as i64 {
        let cut = core.split_session(&session, Slice::range(0, at), Some(&config)).await;
        let joined = core.join_sessions(&cut.kept, &cut.removed, Some(&config)).await.unwrap();
        assert_eq!(joined, session, "split at {at}");
    }
}

/// Rebuilds at the JSON edge and gives the error.
async fn rebuild_error(core: &Core, session: &Session, args: Value) -> Error {
    let mut args = map(args);
    args.insert("session".into(), session.to_json());
    let outcome =
        core.invoke("rebuild_native_history", args.clone(), &CallContext::default()).await;
    match outcome {
        Err(error) => error,
        Ok(_) => panic!("{args:?} was accepted"),
    }
}

#[tokio::test] // B-50
async fn a_rebuild_needs_a_config_mapping() {
    let (core, _, session) = three_native().await;
    for (config, expected) in [
        (json!(null), ErrorClass::BadArgument),
        (json!("x"), ErrorClass::WrongType),
        (json!([]), ErrorClass::WrongType),
        (json!(1), ErrorClass::WrongType),
    ] {
        for (start, end) in [(json!(null), json!(null)), (json!(0), json!(1))] {
            let args = json!({"config": config, "start": start, "end": end});
            assert_eq!(rebuild_error(&core, &session, args).await.class(), expected, "{config}");
        }
    }
    let error = core
        .rebuild_native_history(&session, None, None, None, &CallContext::default())
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
}

#[tokio::test] // B-51
async fn a_full_rebuild_makes_native_history_from_the_messages() {
    let provider = ScriptedProvider::default();
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(rules_feature())).unwrap();
    let plain = plain_session(&users(&["a", "b"])).await.unwrap();
    let (_, _, sealed) = three_native().await;
    let broken = tampered(&sealed);
    let (config, here) = (Config::empty(), CallContext::default());
    for (session, expected) in [(plain, "rules|a|b"), (broken, "rules|!|b|c")] {
        let rebuilt =
            core.rebuild_native_history(&session, Some(&config), None, None, &here).await.unwrap();
        assert_eq!((texts(&rebuilt).as_str(), said(&rebuilt).as_str()), (expected, expected));
        let one_to_one: Value = (0..rebuilt.messages().len()).map(|at| json!([at])).collect();
        assert_eq!(mappings(&rebuilt), one_to_one);
        rebuilt.verify().unwrap();
        let metadata = rebuilt.to_json()["metadata"].clone();
        assert!(metadata["native_messages_integrity"].is_string());
        // Once more changes nothing: what initialisation added is part of the messages now.
        let again =
            core.rebuild_native_history(&rebuilt, Some(&config), None, None, &here).await.unwrap();
        assert_eq!(again, rebuilt);
    }
}

#[tokio::test] // B-52
async fn bounds_of_a_selective_rebuild_do_not_wrap() {
    let (core, _, session) = three_native().await;
    let (config, here) = (Config::empty(), CallContext::default());
    for (start, end) in [
        (Some(-1), Some(2)),
        (Some(2), Some(2)),
        (Some(2), Some(1)),
        (Some(0), Some(4)),
        (Some(0), Some(-1)),
        (Some(3), None),
        (None, Some(0)),
        (Some(i64::MIN), Some(i64::MAX)),
    ] {
        let outcome = core.rebuild_native_history(&session, Some(&config), start, end, &here).await;
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::BadArgument, "{start:?} {end:?}");
    }
    // Odd items show which ones were made anew.
    let odd = edited(&session, |json| {
        for item in json["metadata"]["native_messages"].as_array_mut().unwrap() {
            item["odd"] = json!(true);
        }
    });
    for (start, end, expected) in [
        (Some(1), None, [true, false, false]),
        (None, Some(1), [false, true, true]),
        (Some(1), Some(2), [true, false, true]),
        (Some(0), Some(3), [false, false, false]),
    ] {
        let rebuilt =
            core.rebuild_native_history(&odd, Some(&config), start, end, &here).await.unwrap();
        let items = rebuilt.native().unwrap().items();
        let found: Vec<_> = items.iter().map(|item| item.get("odd").is_some()).collect();
        assert_eq!(found, expected, "{start:?} {end:?}");
    }
}

// covers: B-53, B-54, B-55, B-56, B-57
#[tokio::test]
async fn a_selective_rebuild_needs_sound_native_history() {
    let (core, _, session) = three_native().await;
    let indices = |indices: Value| remapped(&session, 1, indices);
    let both = remapped(&indices(json!(["a"])), 0, json!([null, -1]));
    for (session, expected) in [
        (without_native(&session), "requires retained native history"),
        (tampered(&session), "does not belong to these messages"),
        (
            edited(&session, |json| json["metadata"]["native_messages_integrity"] = json!(null)),
            "has no integrity value",
        ),
        (indices(json!(null)), "requires native_indices on every selected message; message 1"),
        (indices(json!([])), "requires native_indices on every selected message; message 1"),
        (indices(json!("x")), "requires native_indices on every selected message; message 1"),
        (both, "map to no native history"),
        (indices(json!([2])), "contiguous"),
        (indices(json!([1, 3])), "beyond native history"),
        (indices(json!([999])), "beyond native history"),
    ] {
        let before = session.export("json").unwrap();
        let args = json!({"config": {}, "start": 0, "end": 2});
        let error = rebuild_error(&core, &session, args).await;
        assert_eq!(error.class(), ErrorClass::BadState, "{error}");
        assert!(error.message().contains(expected), "{error}");
        assert_eq!(session.export("json").unwrap(), before);
    }
}

#[tokio::test] // B-55, B-56, B-57
async fn odd_mappings_that_still_name_one_run_will_do() {
    let (core, _, session) = three_native().await;
    let (config, here) = (Config::empty(), CallContext::default());
    for (at, indices) in [(1, json!(["a", 1])), (1, json!([1, 0, 1])), (2, json!("unselected"))] {
        let session = remapped(&session, at, indices);
        let rebuilt = core
            .rebuild_native_history(&session, Some(&config), Some(0), Some(2), &here)
            .await
            .unwrap();
        assert_eq!(said(&rebuilt), "a|b|c");
        rebuilt.verify().unwrap();
    }
}

#[tokio::test] // B-53
async fn native_history_of_another_provider_is_not_retained_history() {
    let mut core = core_with(&ScriptedProvider::new("one")).unwrap();
    core.register_provider(Arc::new(ScriptedProvider::new("two")), vec![]).unwrap();
    let of_one = native_session(&core, &users(&["a", "b"]), &config(json!({"provider": "one"})))
        .await
        .unwrap();
    let args = json!({"config": {"provider": "two"}, "start": 0, "end": 1});
    let error = rebuild_error(&core, &of_one, args).await;
    assert_eq!(error.class(), ErrorClass::BadState, "{error}");
}

#[tokio::test] // B-58
async fn a_selective_rebuild_touches_only_its_run() {
    let provider = ScriptedProvider::default();
    let mut core = core_with(&provider).unwrap();
    let session = plain_session(&users(&["a"])).await.unwrap();
    provider.reply(ScriptedReply::items(vec![
        json!({"think": "1"}),
        json!({"who": "assistant", "say": "b", "odd": true}),
        json!({"think": "2"}),
        json!({"who": "assistant", "say": "c", "odd": true}),
    ]));
    let (config, here) = (Config::empty(), CallContext::default());
    let options = RequestOptions::default();
    let session = core.send_request(&session, &config, options).await.unwrap().session;
    assert_eq!(mappings(&session), json!([[0], [1, 2], [3, 4]]));
    core.register_feature(Arc::new(rules_feature())).unwrap();
    provider.log().take();

    let rebuilt = core
        .rebuild_native_history(&session, Some(&config), Some(1), Some(2), &here)
        .await
        .unwrap();
    assert_eq!(
        provider.log().text(),
        "scripted.init to_native(1) scripted.initialize from_native(5)"
    );
    let (before, after) = (session.native().unwrap().items(), rebuilt.native().unwrap().items());
    // rules | a | b made anew from two items | think 2 | c
    assert_eq!(after.get(2).unwrap().wire(), r#"{"who":"assistant","say":"b"}"#);
    for (old, new) in [(0, 1), (3, 3), (4, 4)] {
        assert!(after.get(new).unwrap().ptr_eq(before.get(old).unwrap()));
    }
    assert_eq!((texts(&rebuilt).as_str(), after.len()), ("rules|a|b|c", 5));
    assert_eq!(mappings(&rebuilt), json!([[0], [1], [2], [3, 4]]));
    rebuilt.verify().unwrap();
}

#[tokio::test] // B-58
async fn a_selective_rebuild_takes_no_item_from_another_message() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::items(vec![json!({"pair": ["b", "c"]})]));
    let core = core_with(&provider).unwrap();
    let session = plain_session(&users(&["a"])).await.unwrap();
    let (config, here) = (Config::empty(), CallContext::default());
    let options = RequestOptions::default();
    let session = core.send_request(&session, &config, options).await.unwrap().session;
    let error = rebuild_error(&core, &session, json!({"config": {}, "start": 1, "end": 2})).await;
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(error.message().contains("share native items with message 2"), "{error}");
    let rebuilt = core
        .rebuild_native_history(&session, Some(&config), Some(1), Some(3), &here)
        .await
        .unwrap();
    assert_eq!((texts(&rebuilt).as_str(), said(&rebuilt).as_str()), ("a|b|c", "a|b|c"));
}

#[tokio::test] // B-59
async fn the_first_violated_rule_is_reported() {
    let (core, _, session) = three_native().await;
    // Violates every rule; each step mends the first one.
    let gap = remapped(&session, 1, json!([2]));
    let nothing = remapped(&remapped(&session, 0, json!(["a"])), 1, json!(["b"]));
    let unmapped = remapped(&nothing, 1, json!(null));
    let broken = tampered(&unmapped);
    let bare = without_native(&broken);
    let fine = json!({"config": {}, "start": 0, "end": 2});
    for (session, args, expected) in [
        (&bare, json!({"config": "x", "start": 5, "end": 2}), "config must be a mapping"),
        (&bare, json!({"start": 5, "end": 2}), "config must be given"),
        (&bare, json!({"config": {}, "start": 5, "end": 2}), "start and end"),
        (&bare, fine.clone(), "retained native history"),
        (&broken, fine.clone(), "does not belong to these messages"),
        (&unmapped, fine.clone(), "native_indices on every selected message"),
        (&nothing, fine.clone(), "map to no native history"),
        (&gap, fine.clone(), "contiguous"),
    ] {
        let error = rebuild_error(&core, session, args.clone()).await;
        assert!(error.message().contains(expected), "{args}: {error}");
    }
}
