//! Adding and modifying messages: where they go, and when native history goes along.

use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with, native_session,
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

/// A core with a scripted provider, and `a|b|c` with native history.
async fn three_native() -> (Core, ScriptedProvider, Session) {
    let provider = ScriptedProvider::default();
    let core = core_with(&provider).unwrap();
    let session = native_session(&core, &abc(), &Config::empty()).await.unwrap();
    provider.log().take();
    (core, provider, session)
}

/// The same, but `b` and `c` come from one native item.
async fn three_sharing() -> (Core, ScriptedProvider, Session) {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::items(vec![json!({"pair": ["b", "c"]})]));
    let core = core_with(&provider).unwrap();
    let session = plain_session(&[Message::user("a")]).await.unwrap();
    let options = RequestOptions::default();
    let session = core.send_request(&session, &Config::empty(), options).await.unwrap().session;
    assert_eq!((texts(&session).as_str(), mappings(&session)), ("a|b|c", json!([[0], [1], [1]])));
    provider.log().take();
    (core, provider, session)
}

/// `session` as if somebody had edited its file.
fn edited(session: &Session, edit: impl FnOnce(&mut Value)) -> Session {
    let mut json = session.to_json();
    edit(&mut json);
    Session::from_json(json).unwrap()
}

fn mappings(session: &Session) -> Value {
    session.messages().iter().map(|m| m.native_indices().to_json().unwrap_or_default()).collect()
}

fn native(session: &Session) -> Vec<NativeItem> {
    session.native().unwrap().items().iter().cloned().collect()
}

/// What the native items say, with `|` between.
fn said(session: &Session) -> String {
    let items = native(session);
    items
        .iter()
        .map(|item| item.get("say").unwrap().as_str().unwrap())
        .collect::<Vec<_>>()
        .join("|")
}

#[track_caller]
fn assert_no_native(session: &Session) {
    let json = session.to_json().to_string();
    assert!(!json.contains("native_"), "{json}");
}

/// Adds `x` through the JSON edge, where `after_index` lives.
async fn add_at(core: &Core, session: &Session, after_index: Value) -> Result<Session> {
    let args = map(json!({
        "session": session, "role": "user", "content": "x", "after_index": after_index,
    }));
    core.invoke("add_message", args, &CallContext::default()).await.and_then(Session::from_json)
}

// covers: B-02, B-03, B-04, B-05, B-06
#[tokio::test]
async fn after_index_says_where_the_message_goes() {
    let (core, _, native) = three_native().await;
    let plain = plain_session(&abc()).await.unwrap();
    let out_of_range = Err(ErrorClass::OutOfRange);
    for (after_index, expected) in [
        (json!(null), Ok("a|b|c|x")),
        (json!(-1), Ok("x|a|b|c")),
        (json!(0), Ok("a|x|b|c")),
        (json!(1), Ok("a|b|x|c")),
        (json!(2), Ok("a|b|c|x")),
        (json!(-2), Ok("a|b|x|c")),
        (json!(-3), Ok("a|x|b|c")),
        (json!(3), out_of_range),
        (json!(-4), out_of_range),
        (json!(i64::MAX), out_of_range),
        (json!(i64::MIN), out_of_range),
        (json!("0"), Err(ErrorClass::WrongType)),
        (json!(0.5), Err(ErrorClass::WrongType)),
    ] {
        for session in [&plain, &native] {
            let outcome = add_at(&core, session, after_index.clone()).await;
            let found = outcome.as_ref().map(texts).map_err(Error::class);
            assert_eq!(found.as_deref(), expected.as_ref().copied(), "{after_index}");
        }
    }
    let empty = Session::new("s");
    for (after_index, expected) in [
        (json!(-1), Ok("x")),
        (json!(null), Ok("x")),
        (json!(0), out_of_range),
        (json!(-2), out_of_range),
    ] {
        let outcome = add_at(&core, &empty, after_index.clone()).await;
        let found = outcome.as_ref().map(texts).map_err(Error::class);
        assert_eq!(found.as_deref(), expected.as_ref().copied(), "{after_index} on empty");
    }
}

#[tokio::test] // B-06
async fn a_place_after_no_message_is_out_of_range() {
    let (core, _, session) = three_native().await;
    let new = NewMessage::from(Message::user("x")).at(Place::After(3));
    let error = core.add_message(&session, new, &Config::empty()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::OutOfRange);
}

#[tokio::test] // B-07
async fn a_position_at_the_end_appends() {
    // Messages that share native items make an insert convert all of them; an append never does.
    let (core, provider, session) = three_sharing().await;
    let (_, _, native) = three_native().await;
    let empty = core.slice_session(&native, Slice::range(0, 0), Some(&Config::empty())).await;
    for (session, after_index, expected) in [
        (&session, 2, "to_native(1)"),
        (&session, 0, "to_native(4) from_native(4)"),
        (&empty, -1, "to_native(1)"),
    ] {
        provider.log().take();
        let grown = add_at(&core, session, json!(after_index)).await.unwrap();
        assert_eq!(provider.log().text(), expected, "after {after_index}");
        grown.verify().unwrap();
        assert!(grown.native().is_some());
    }
}

#[tokio::test] // B-08, B-09
async fn an_append_adds_native_items_and_leaves_the_others() {
    for (core, _, session) in [three_native().await, three_sharing().await] {
        let before = native(&session);
        let grown = core.add_message(&session, Message::user("d"), &Config::empty()).await.unwrap();
        let after = native(&grown);
        assert!(before.iter().zip(&after).all(|(old, new)| old.ptr_eq(new)));
        assert_eq!(after[before.len()..], [json!({"who": "user", "say": "d"}).into()]);
        grown.verify().unwrap();
        let mut expected = mappings(&session);
        expected.as_array_mut().unwrap().push(json!([before.len()]));
        assert_eq!(mappings(&grown), expected);
    }
}

#[tokio::test] // B-09
async fn a_message_that_takes_two_native_items_maps_to_both() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    let doubling = ScriptedFeature::new("doubling").to_native_messages(|input, _| {
        let last = input.native_messages.last().cloned();
        Ok(Change::append(last.into_iter().collect()))
    });
    core.register_feature(Arc::new(doubling)).unwrap();
    let (_, _, session) = three_native().await;
    let grown = core.add_message(&session, Message::user("d"), &Config::empty()).await.unwrap();
    assert_eq!(
        (said(&grown).as_str(), mappings(&grown)),
        ("a|b|c|d|d", json!([[0], [1], [2], [3, 4]]))
    );
}

#[tokio::test] // B-10
async fn an_append_that_native_history_cannot_take_drops_it() {
    let (core, provider, session) = three_native().await;
    let tampered = edited(&session, |json| json["messages"][0]["content"] = json!("A"));
    let unsealed = edited(&session, |json| {
        json["metadata"].as_object_mut().unwrap().remove("native_messages_integrity");
    });
    let named = config(json!({"provider": "nobody"}));
    let failing = core_with(&provider).unwrap();
    for (why, core, session, config, fails) in [
        ("no provider", &Core::new(), &session, &Config::empty(), false),
        ("unresolvable config", &core, &session, &named, false),
        ("failed integrity", &core, &tampered, &Config::empty(), false),
        ("missing integrity", &core, &unsealed, &Config::empty(), false),
        ("conversion error", &failing, &session, &Config::empty(), true),
    ] {
        provider.fail_to_native(fails);
        let grown = core.add_message(session, Message::user("d"), config).await.unwrap();
        assert_eq!(grown.messages().len(), 4, "{why}");
        assert_eq!(grown.messages().last().unwrap().text(), "d", "{why}");
        assert_no_native(&grown);
    }
    // The next request makes native history anew.
    provider.fail_to_native(false);
    provider.reply(ScriptedReply::text(&["e"]));
    let grown = core.add_message(&tampered, Message::user("d"), &Config::empty()).await.unwrap();
    let options = RequestOptions::default();
    let answered = core.send_request(&grown, &Config::empty(), options).await.unwrap().session;
    assert_eq!(provider.last_request(), "A|b|c|d");
    assert_eq!(said(&answered), "A|b|c|d|e");
    answered.verify().unwrap();
}

#[tokio::test] // B-11
async fn an_append_creates_no_native_history() {
    let (core, provider, _) = three_native().await;
    let plain = plain_session(&abc()).await.unwrap();
    let grown = core.add_message(&plain, Message::user("d"), &Config::empty()).await.unwrap();
    assert_eq!(texts(&grown), "a|b|c|d");
    assert_no_native(&grown);
    assert_eq!(provider.log().text(), "");
}

#[tokio::test] // B-12
async fn an_insert_keeps_native_order_and_core_order_together() {
    for after_index in [-1, 0, 1] {
        for (core, _, session) in [three_native().await, three_sharing().await] {
            let grown = add_at(&core, &session, json!(after_index)).await.unwrap();
            assert_eq!(said(&grown), texts(&grown), "after {after_index}");
            assert_eq!(mappings(&grown), json!([[0], [1], [2], [3]]));
            grown.verify().unwrap();
        }
    }
    let (core, provider, _) = three_native().await;
    let plain = plain_session(&abc()).await.unwrap();
    let grown = add_at(&core, &plain, json!(0)).await.unwrap();
    assert_eq!((texts(&grown).as_str(), provider.log().text().as_str()), ("a|x|b|c", ""));
    assert_no_native(&grown);
}

#[tokio::test] // B-12
async fn an_insert_does_not_build_on_a_mapping_beyond_native_history() {
    let (core, _, session) = three_native().await;
    let short = edited(&session, |json| {
        json["metadata"]["native_messages"].as_array_mut().unwrap().truncate(1);
    });
    let grown = add_at(&core, &short, json!(1)).await.unwrap();
    assert_eq!((said(&grown), mappings(&grown)), (texts(&grown), json!([[0], [1], [2], [3]])));
}

#[tokio::test] // B-13
async fn no_config_is_an_empty_config() {
    let (core, _, session) = three_native().await;
    let here = CallContext::default();
    let args = map(json!({"session": session, "role": "user", "content": "x"}));
    let grown = core.invoke("add_message", args, &here).await.and_then(Session::from_json).unwrap();
    assert_eq!(said(&grown), "a|b|c|x");
    let args = map(json!({"session": session, "index": 0, "content": "A", "config": null}));
    let modified =
        core.invoke("modify_message", args, &here).await.and_then(Session::from_json).unwrap();
    assert_eq!(said(&modified), "A|b|c");
}

#[tokio::test] // B-14
async fn conversion_hooks_see_the_context_of_the_call() {
    let (_, provider, session) = three_native().await;
    let log = Log::new();
    let mut core = core_with(&provider).unwrap();
    let (to, from) = (log.clone(), log.clone());
    let spy = ScriptedFeature::new("spy")
        .to_native_messages(move |_, cx| {
            to.add(format!("to:{}", cx.get("k").unwrap_or(&Value::Null)));
            Ok(Change::Keep)
        })
        .from_native_messages(move |_, cx| {
            from.add(format!("from:{}", cx.get("k").unwrap_or(&Value::Null)));
            Ok(Change::Keep)
        });
    core.register_feature(Arc::new(spy)).unwrap();
    let config = Config::empty();
    let here = CallContext::new("test").with("k", 7);
    let new = || NewMessage::from(Message::user("d")).with_context(here.clone());

    core.add_message(&session, new(), &config).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7");
    core.add_message(&session, new().at(Place::Start), &config).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7");
    core.modify_message(&session, 0, "A", &config, &here).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7");
    core.rebuild_native_history(&session, Some(&config), None, None, &here).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7 from:7");
    core.rebuild_native_history(&session, Some(&config), Some(1), None, &here).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7 from:7");
    core.core_messages_to_native(abc().to_vec(), &config, &here).await.unwrap();
    assert_eq!(log.take().join(" "), "to:7");
}

#[tokio::test] // B-15
async fn modify_changes_the_content_and_nothing_else() {
    let message = Message::assistant("old")
        .with_metadata(map(json!({"n": 1, "tool_calls": [{"id": "1"}]})))
        .with_multipart_content(vec![map(json!({"type": "image"}))]);
    let plain = plain_session(&[Message::user("a"), message]).await.unwrap();
    let (core, _, _) = three_native().await;
    let (config, here) = (Config::empty(), CallContext::default());
    let native =
        core.rebuild_native_history(&plain, Some(&config), None, None, &here).await.unwrap();
    for session in [plain, native] {
        for content in [json!("new"), json!([{"b": 2}])] {
            let modified =
                core.modify_message(&session, 1, content.clone(), &config, &here).await.unwrap();
            let expected = edited(&session, |json| json["messages"][1]["content"] = content);
            assert_eq!(modified.to_json()["messages"], expected.to_json()["messages"]);
            assert_eq!(modified.metadata(), session.metadata());
        }
    }
}

#[tokio::test] // B-16
async fn modify_refuses_tool_messages() {
    let core = Core::new();
    let (config, here) = (Config::empty(), CallContext::default());
    for (message, expected) in [
        (Message::system("x"), Ok("new".to_owned())),
        (Message::user("x"), Ok("new".to_owned())),
        (Message::assistant("x"), Ok("new".to_owned())),
        (Message::tool("x"), Err(ErrorClass::BadArgument)),
    ] {
        let session = plain_session(&[message]).await.unwrap();
        let before = session.export("json").unwrap();
        let outcome = core.modify_message(&session, 0, "new", &config, &here).await;
        assert_eq!(outcome.as_ref().map(texts).map_err(Error::class), expected);
        assert_eq!(session.export("json").unwrap(), before);
    }
}

#[tokio::test] // B-17
async fn modify_counts_negative_indices_from_the_end() {
    let (core, _, session) = three_native().await;
    let (config, here) = (Config::empty(), CallContext::default());
    for (index, expected) in [
        (0, Ok("X|b|c")),
        (-1, Ok("a|b|X")),
        (-3, Ok("X|b|c")),
        (3, Err(ErrorClass::OutOfRange)),
        (-4, Err(ErrorClass::OutOfRange)),
        (i64::MAX, Err(ErrorClass::OutOfRange)),
        (i64::MIN, Err(ErrorClass::OutOfRange)),
    ] {
        let outcome = core.modify_message(&session, index, "X", &config, &here).await;
        let found = outcome.as_ref().map(texts).map_err(Error::class);
        assert_eq!(found.as_deref(), expected.as_ref().copied(), "{index}");
    }
}

#[tokio::test] // B-18
async fn modify_updates_the_native_items_of_the_message() {
    // `a` has an item of its own even where `b` and `c` share one; gaps in the mapping do not matter.
    let (core, _, aligned) = three_native().await;
    let (_, _, sharing) = three_sharing().await;
    let moved = edited(&aligned, |json| {
        json["metadata"]["native_messages"].as_array_mut().unwrap().insert(0, json!({"orphan": 1}));
        for (index, message) in json["messages"].as_array_mut().unwrap().iter_mut().enumerate() {
            message["metadata"]["native_indices"] = json!([index + 1]);
        }
    });
    for (session, at) in [(aligned, 0), (sharing, 0), (moved, 1)] {
        let before = native(&session);
        let (config, here) = (Config::empty(), CallContext::default());
        let modified = core.modify_message(&session, 0, "A", &config, &here).await.unwrap();
        assert_eq!(texts(&modified), "A|b|c");
        assert_eq!(mappings(&modified), mappings(&session));
        modified.verify().unwrap();
        for (index, (old, new)) in before.iter().zip(native(&modified)).enumerate() {
            match index == at {
                true => assert_eq!(new, json!({"who": "user", "say": "A"}).into()),
                false => assert!(new.ptr_eq(old), "{index}"),
            }
        }
    }
}

#[tokio::test] // B-18
async fn what_plugins_noted_on_a_native_item_outlives_an_edit() {
    let (core, _, session) = three_native().await;
    let noted = edited(&session, |json| {
        json["metadata"]["native_messages"][0]["_metadata"] = json!({"k": 1});
    });
    let (config, here) = (Config::empty(), CallContext::default());
    let modified = core.modify_message(&noted, 0, "A", &config, &here).await.unwrap();
    assert_eq!(
        native(&modified)[0].to_json(),
        json!({"who": "user", "say": "A", "_metadata": {"k": 1}})
    );
}

#[tokio::test] // B-19
async fn modify_drops_native_history_it_cannot_follow() {
    let (core, provider, session) = three_native().await;
    let (_, _, sharing) = three_sharing().await;
    let indices = |indices: Value| {
        edited(&session, |json| json["messages"][1]["metadata"]["native_indices"] = indices)
    };
    let (config, here) = (Config::empty(), CallContext::default());
    for (why, session) in [
        ("missing", indices(json!(null))),
        ("empty", indices(json!([]))),
        ("malformed", indices(json!(["a"]))),
        ("out of range", indices(json!([999]))),
        ("the largest number there is", indices(json!([u64::MAX]))),
        ("of another message, too", indices(json!([0]))),
        ("shared", sharing),
        ("broken seal", edited(&session, |json| json["messages"][0]["content"] = json!("A"))),
    ] {
        let modified = core.modify_message(&session, 1, "B", &config, &here).await.unwrap();
        assert_eq!(modified.messages().get(1).unwrap().text(), "B", "{why}");
        assert_no_native(&modified);
        provider.reply(ScriptedReply::text(&["d"]));
        let options = RequestOptions::default();
        let answered = core.send_request(&modified, &config, options).await.unwrap().session;
        assert_eq!(provider.last_request(), texts(&modified), "{why}");
        answered.verify().unwrap();
    }
}
