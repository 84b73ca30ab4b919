//! Creating, exporting and importing sessions, internal metadata of native items, and conversion
//! between messages and native history.

use expect_test::expect;
use orlop_core::hooks::RequestChange;
use orlop_core::session::patch_native_metadata;
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, core_with, native_session,
    plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

async fn invoke(core: &Core, method: &str, args: Value) -> Result<Value> {
    core.invoke(method, map(args), &CallContext::default()).await
}

#[tokio::test] // B-01
async fn a_session_is_created_with_the_given_or_a_fresh_id() {
    let core = Core::new();
    let (first, second) = (core.create_session(None), core.create_session(None));
    assert_ne!(first.id(), second.id());
    for session in [first, second] {
        uuid::Uuid::parse_str(session.id()).unwrap();
        assert_eq!((session.messages().len(), session.metadata().len()), (0, 0));
    }
    assert_eq!(core.create_session(Some("a")).id(), "a");
    let named = invoke(&core, "create_session", json!({"session_id": "a"})).await.unwrap();
    assert_eq!(named, json!({"session_id": "a", "messages": [], "metadata": {}}));
    let error = invoke(&core, "create_session", json!({"session_id": 1})).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::WrongType);
}

#[tokio::test] // B-60
async fn an_export_is_json_indented_by_two_spaces() {
    let parts = vec![map(json!({"type": "image"}))];
    let message = Message::user("a: {\"b\"}, [c]").with_multipart_content(parts);
    let session = plain_session(&[message]).await.unwrap();
    let text = session.export("json").unwrap();
    expect![[r#"
        {
          "session_id": "s",
          "messages": [
            {
              "role": "user",
              "content": "a: {\"b\"}, [c]",
              "metadata": {},
              "multipartContent": [
                {
                  "type": "image"
                }
              ]
            }
          ],
          "metadata": {}
        }"#]]
    .assert_eq(&text);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), session.to_json());
    for format in ["xml", "JSON", ""] {
        let error = session.export(format).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadArgument);
        assert!(error.message().contains(&format!("{format:?}")), "{error}");
    }
}

#[tokio::test] // B-61
async fn an_import_is_the_inverse_of_an_export() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let messages =
        [Message::user("é\u{1f980}\u{0}"), Message::assistant(json!([1.5, {"a": null}]))];
    let native = native_session(&core, &messages, &Config::empty()).await.unwrap();
    for session in [Session::new("empty"), plain_session(&messages).await.unwrap(), native] {
        assert_eq!(Session::import(&session.export("json").unwrap(), "json").unwrap(), session);
        let text = invoke(&core, "export_session", json!({"session": session})).await.unwrap();
        let again = invoke(&core, "import_session", json!({"data": text})).await.unwrap();
        assert_eq!(Session::from_json(again).unwrap(), session);
    }
    let error = Session::import("{}", "yaml").unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    assert!(error.message().contains("\"yaml\""), "{error}");
}

#[test] // B-61
fn what_is_no_session_is_refused() {
    let session = |messages: &str, metadata: &str| {
        format!(r#"{{"session_id": "s", "messages": {messages}, "metadata": {metadata}}}"#)
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for text in [
        String::new(),
        "{".into(),
        "[]".into(),
        "null".into(),
        "{}".into(),
        r#"{"session_id": 1}"#.into(),
        session("{}", "{}"),
        session("[1]", "{}"),
        session(r#"[{"content": "a"}]"#, "{}"),
        session(r#"[{"role": "user", "content": "\ud800"}]"#, "{}"),
        session(&format!(r#"[{{"role": "user", "content": {deep}}}]"#), "{}"),
        session("[]", &format!(r#"{{"x": {deep}}}"#)),
        session("[]", &format!(r#"{{"native_messages": [{deep}]}}"#)),
        // Native items are kept as text, but text that cannot be read back is no JSON.
        session("[]", r#"{"native_messages": [{"say": "\ud800"}]}"#),
        session("[]", r#"{"native_messages": [1e400]}"#),
    ] {
        assert!(Session::import(&text, "json").is_err(), "{text}");
    }
    for (messages, metadata) in [("[]", "null"), ("[]", "[1]"), ("[]", "\"x\"")] {
        let session = Session::import(&session(messages, metadata), "json").unwrap();
        assert_eq!(session, Session::new("s"));
    }
}

#[tokio::test] // B-62, B-63, B-64
async fn a_patch_lands_on_the_internal_metadata_of_the_named_items() {
    let core = Core::new();
    let native = json!([{"n": 0}, {"n": 1, "_metadata": {"k": 0, "held": true}}, "text"]);
    let patched_0 = json!([{"n": 0, "_metadata": {"k": 1}}, native[1], native[2]]);
    let patched_1 = json!([native[0], {"n": 1, "_metadata": {"k": 1, "held": true}}, native[2]]);
    let k = json!({"k": 1});
    for (indices, patch, expected) in [
        (json!([]), &k, &native),
        (json!(null), &k, &native),
        (json!([0]), &json!({}), &native),
        (json!([0]), &json!("k"), &native),
        (json!([0]), &json!(null), &native),
        (json!([-1, 5, 0, 0]), &k, &patched_0),
        (json!(["0", 0.5, null, 1]), &k, &patched_1),
        (json!([2]), &k, &native),
        (json!([1]), &json!({"held": true}), &native),
    ] {
        let args = json!({"native_messages": native, "indices": indices, "patch": patch});
        let found = invoke(&core, "patch_native_internal_metadata", args).await.unwrap();
        assert_eq!(&found, expected, "{indices} {patch}");
    }
    // Items that are not named come back exactly as they were, odd ones, too.
    let odd = json!([{"_metadata": {}}, {"_metadata": 5}, {"n": 1}]);
    let args = json!({"native_messages": odd, "indices": [2], "patch": k});
    let found = invoke(&core, "patch_native_internal_metadata", args).await.unwrap();
    assert_eq!(found, json!([odd[0], odd[1], {"n": 1, "_metadata": {"k": 1}}]));
}

#[test] // B-64
fn a_patch_that_changes_nothing_gives_the_same_list() {
    let item = |n: i32| NativeItem::from(json!({"n": n, "_metadata": {"k": n}}));
    let native: Seq<NativeItem> = (0..100).map(item).collect();
    let before = serde_json::to_string(&native).unwrap();
    for (indices, patch) in
        [(&[7_i64][..], json!({"k": 7})), (&[], json!({"k": 2})), (&[0, 1], json!({}))]
    {
        let same = patch_native_metadata(&native, indices, &map(patch));
        assert!(same.ptr_eq(&native));
    }
    let changed = patch_native_metadata(&native, &[6, 7], &map(json!({"k": 7})));
    assert_eq!(changed.get(6).unwrap().to_json(), json!({"n": 6, "_metadata": {"k": 7}}));
    let same = |at: usize| changed.get(at).unwrap().ptr_eq(native.get(at).unwrap());
    assert!((0..100).all(|at| same(at) == (at != 6)));
    assert_eq!(serde_json::to_string(&native).unwrap(), before);
}

#[tokio::test] // B-65
async fn messages_convert_to_native_items_without_a_session() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let messages = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
    let wrong = Err(ErrorClass::WrongType);
    for (messages, config, expected) in [
        (
            &messages,
            json!({}),
            Ok(json!([{"who": "user", "say": "a"}, {"who": "assistant", "say": "b"}])),
        ),
        (&json!([]), json!({}), Ok(json!([]))),
        (&json!({"role": "user"}), json!({}), wrong.clone()),
        (&json!("a"), json!({}), wrong.clone()),
        (&json!(null), json!({}), wrong.clone()),
        (&json!(["a"]), json!({}), wrong.clone()),
        (&messages, json!("x"), wrong.clone()),
        (&messages, json!([]), wrong.clone()),
        (&messages, json!(null), wrong),
    ] {
        let args = json!({"core_messages": messages, "config": config});
        let outcome = invoke(&core, "core_messages_to_native", args).await;
        assert_eq!(outcome.map_err(|error| error.class()), expected, "{messages} {config}");
    }
}

/// Extensions `x`, `y` and features `late`, `early` that log what they are given and append an
/// item of their own to native history.
fn recording_core(log: &Log) -> Core {
    fn extension(name: &'static str, log: &Log) -> Arc<dyn Extension> {
        let (to, from) = (log.clone(), log.clone());
        let initialise = log.clone();
        Arc::new(
            ScriptedExtension::new(name)
                .to_native_messages(move |input, _| {
                    let (messages, native) = (input.messages.len(), input.native_messages.len());
                    to.add(format!("{name}.to({messages},{native})"));
                    Ok(Change::append(vec![json!({"who": "user", "say": name}).into()]))
                })
                .from_native_messages(move |input, _| {
                    let (messages, native) = (input.messages.len(), input.native_messages.len());
                    from.add(format!("{name}.from({messages},{native})"));
                    Ok(Change::Keep)
                })
                .initialize_request(move |_, _| {
                    initialise.add(format!("{name}.initialize"));
                    Ok(RequestChange::default())
                }),
        )
    }
    fn feature(name: &'static str, priority: i64, log: &Log) -> Arc<dyn Feature> {
        let (to, from, initialise) = (log.clone(), log.clone(), log.clone());
        Arc::new(
            ScriptedFeature::new(name)
                .priority(priority)
                .to_native_messages(move |input, _| {
                    let (messages, native) = (input.messages.len(), input.native_messages.len());
                    to.add(format!("{name}.to({messages},{native})"));
                    Ok(Change::append(vec![json!({"who": "user", "say": name}).into()]))
                })
                .from_native_messages(move |input, _| {
                    let (messages, native) = (input.messages.len(), input.native_messages.len());
                    from.add(format!("{name}.from({messages},{native})"));
                    Ok(Change::Keep)
                })
                .initialize_request(move |_, _| {
                    initialise.add(format!("{name}.initialize"));
                    Ok(RequestChange::default())
                }),
        )
    }
    let mut core = Core::new();
    let provider = ScriptedProvider::default().log_to(log);
    let extensions = vec![extension("x", log), extension("y", log)];
    core.register_provider(Arc::new(provider), extensions).unwrap();
    core.register_feature(feature("late", 200, log)).unwrap();
    core.register_feature(feature("early", 50, log)).unwrap();
    let disabled = ScriptedFeature::new("disabled")
        .is_enabled(|_, _| Ok(Some(false)))
        .to_native_messages(|_, _| Err(Error::internal("a disabled feature was asked")));
    core.register_feature(Arc::new(disabled)).unwrap();
    core
}

#[tokio::test] // B-66
async fn provider_then_extensions_then_features_convert_to_native() {
    let log = Log::new();
    let core = recording_core(&log);
    let messages = vec![Message::user("a"), Message::user("b")];
    let native = core
        .core_messages_to_native(messages, &Config::empty(), &CallContext::default())
        .await
        .unwrap();
    assert_eq!(
        log.text(),
        "scripted.init to_native(2) x.to(2,2) y.to(2,3) early.to(2,4) late.to(2,5)"
    );
    assert_eq!(native.len(), 6);
}

#[tokio::test] // B-67
async fn messages_are_derived_with_or_without_initialisation() {
    let log = Log::new();
    let core = recording_core(&log);
    let plain = plain_session(&[Message::user("a"), Message::user("b")]).await.unwrap();
    let (config, here) = (Config::empty(), CallContext::default());
    let rebuilt =
        core.rebuild_native_history(&plain, Some(&config), None, None, &here).await.unwrap();
    let lines = log.take();
    assert_eq!(
        lines[6..].join(" "),
        "scripted.initialize x.initialize y.initialize early.initialize late.initialize \
         from_native(6) x.from(6,6) y.from(6,6) early.from(6,6) late.from(6,6)"
    );
    assert!(
        rebuilt.messages().iter().all(|message| message.native_indices().positions().is_some())
    );

    let sliced = core.slice_session(&rebuilt, Slice::without([0]), Some(&config)).await;
    assert_eq!(sliced.native().unwrap().items().len(), 5);
    assert_eq!(
        log.take().join(" "),
        "from_native(5) x.from(5,5) y.from(5,5) early.from(5,5) late.from(5,5)"
    );
}

#[tokio::test] // B-67
async fn what_initialisation_adds_is_in_the_stored_native_list() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    let rules = ScriptedFeature::new("rules").initialize_request(|_, _| {
        let rules = vec![json!({"who": "system", "say": "rules"}).into()];
        Ok(RequestChange::native(Change::insert(0, rules)))
    });
    core.register_feature(Arc::new(rules)).unwrap();
    let rebuilt = native_session(&core, &[Message::user("a")], &Config::empty()).await.unwrap();
    assert_eq!(texts(&rebuilt), "rules|a");
    assert_eq!(
        rebuilt.to_json()["metadata"]["native_messages"],
        json!([{"who": "system", "say": "rules"}, {"who": "user", "say": "a"}])
    );
}
