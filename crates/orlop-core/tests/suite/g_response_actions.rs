//! Actions on the response in flight: what they see, what they may change, what comes out.

use futures::StreamExt;
use orlop_core::hooks::{ActionInput, RequestChange};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with,
    native_session, texts,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn scripted() -> Config {
    config(json!({"provider": "scripted"}))
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// A core whose model answers "Hello" to each of a few requests.
fn core_of(features: impl IntoIterator<Item = ScriptedFeature>) -> Core {
    let provider = ScriptedProvider::default();
    for _ in 0..4 {
        provider.reply(ScriptedReply::text(&["Hel", "lo"]));
    }
    let mut core = core_with(&provider).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

/// A feature with an action `x` at `response_finalize`.
fn finaliser(
    name: &str,
    run: impl Fn(&ActionInput, &Context) -> Result<ActionResult> + Send + Sync + 'static,
) -> ScriptedFeature {
    ScriptedFeature::new(name)
        .get_actions(|_, _| {
            Ok(vec![ActionDefinition::new("x", "X").on(&[lifecycle::RESPONSE_FINALIZE])])
        })
        .execute_action(run)
}

/// A feature whose action at `response_finalize` answers like that.
fn answering(name: &str, answer: Value) -> ScriptedFeature {
    finaliser(name, move |_, _| ActionResult::from_json(answer.clone()))
}

async fn asked(core: &Core) -> Session {
    let first = [Message::user("one"), Message::assistant("two"), Message::user("hi")];
    native_session(core, &first, &scripted()).await.unwrap()
}

async fn send(core: &Core) -> Result<Response> {
    core.send_request(&asked(core).await, &scripted(), RequestOptions::default()).await
}

/// What the response says, what its session says, and what its native history says.
fn shown(response: &Response) -> [String; 3] {
    response.session.verify().unwrap();
    let said = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join("|");
    let native = response.session.native().unwrap().items();
    [
        said(&mut response.messages.iter().map(|message| message.text().to_owned())),
        texts(&response.session),
        said(&mut native.iter().map(|item| item.get("say").unwrap().as_str().unwrap().to_owned())),
    ]
}

#[tokio::test] // G-31
async fn matching_actions_of_the_requests_plugins_run() {
    let log = Log::new();
    let logging = |name: &'static str| {
        let log = log.clone();
        move |_: &ActionInput, _: &Context| {
            log.add(name);
            Ok(ActionResult::unchanged())
        }
    };
    let actions = |triggers: &'static [&'static str]| {
        move |_: &_, _: &_| {
            Ok(triggers.iter().map(|name| ActionDefinition::new("x", "X").on(&[name])).collect())
        }
    };
    let extension = |name: &'static str, triggers: &'static [&'static str]| {
        let plugin = ScriptedExtension::new(name).get_actions(actions(triggers));
        Arc::new(plugin.execute_action(logging(name))) as Arc<dyn Extension>
    };
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["Hello"]));
    let other = ScriptedProvider::new("other");
    let mut core = Core::new();
    let own = extension("own", &["response_finalize"]);
    core.register_provider(Arc::new(provider), vec![own]).unwrap();
    let foreign = extension("foreign", &["response_finalize"]);
    core.register_provider(Arc::new(other), vec![foreign]).unwrap();
    for (name, triggers) in [
        ("feature", ["response_finalize"].as_slice()),
        ("elsewhere", ["response", "", "request_complete"].as_slice()),
    ] {
        let feature = ScriptedFeature::new(name).get_actions(actions(triggers));
        core.register_feature(Arc::new(feature.execute_action(logging(name)))).unwrap();
    }
    let disabled = ScriptedFeature::new("disabled")
        .is_enabled(|_, _| Ok(Some(false)))
        .get_actions(actions(&["response_finalize"]));
    core.register_feature(Arc::new(disabled.execute_action(logging("disabled")))).unwrap();

    send(&core).await.unwrap();
    assert_eq!(log.take(), ["own", "feature"]);

    // The configuration must be a mapping.
    let session = json!({"session_id": "s", "messages": [], "metadata": {}});
    for config in [json!([]), json!("scripted"), json!(null)] {
        let args = map(json!({"session": session, "config": config}));
        let error = core.invoke("send_request", args, &CallContext::new("test")).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongType);
    }
    // The lifecycle is the core's own and has a name; a caller's must have one, too.
    let session = core.create_session(None);
    let context = CallContext::new("test");
    let error = core.execute_lifecycle_actions(&session, &scripted(), "", &context).await;
    assert_eq!(error.unwrap_err().class(), ErrorClass::BadArgument);
    assert!(log.lines().is_empty());
}

#[tokio::test] // G-32
async fn the_context_holds_the_response_in_flight() {
    let log = Log::new();
    let seen = log.clone();
    let core = core_of([finaliser("f", move |_, cx| {
        let mut data = cx.to_json();
        let keys = [
            "final_messages",
            "native_final_messages",
            "native_messages",
            "stream",
            "turn_native_start_index",
        ];
        let part: Map =
            keys.iter().map(|key| ((*key).to_owned(), data.shift_remove(*key).unwrap())).collect();
        seen.add(serde_json::to_string(&part).unwrap());
        let response = cx.response().unwrap();
        assert_eq!(part["final_messages"], json!(response.final_messages));
        assert_eq!(part["native_messages"], json!(response.native_messages));
        Ok(ActionResult::unchanged())
    })]);
    let session = asked(&core).await;
    let expected = |stream: bool| {
        json!({
            "final_messages": [{"role": "assistant", "content": "Hello", "metadata": {"native_indices": [3]}}],
            "native_final_messages": [{"who": "assistant", "say": "Hello"}],
            "native_messages": [
                {"who": "user", "say": "one"}, {"who": "assistant", "say": "two"},
                {"who": "user", "say": "hi"}, {"who": "assistant", "say": "Hello"},
            ],
            "stream": stream,
            "turn_native_start_index": 3,
        })
    };
    core.send_request(&session, &scripted(), RequestOptions::default()).await.unwrap();
    assert_eq!(log.take(), [expected(false).to_string()]);
    let events = core.send_request_stream(&session, &scripted(), RequestOptions::default());
    assert_eq!(events.collect::<Vec<_>>().await.len(), 3);
    assert_eq!(log.take(), [expected(true).to_string()]);
}

/// What a response shows whose action answers like that.
async fn check_answer(answer: Value) -> Result<[String; 3]> {
    Ok(shown(&send(&core_of([answering("f", answer)])).await?))
}

#[tokio::test] // G-33
async fn finals_and_native_history_are_replaced_as_far_as_given() {
    let edited = json!([{"role": "assistant", "content": "Good day", "metadata": {}}]);
    let native = json!([
        {"who": "user", "say": "one"}, {"who": "assistant", "say": "two"},
        {"who": "user", "say": "hi"}, {"who": "assistant", "say": "Bonjour"},
    ]);
    for (answer, finals, stored) in [
        (json!({}), "Hello", "Hello"),
        (json!({"final_messages": null, "native_messages": null}), "Hello", "Hello"),
        (json!({"final_messages": edited}), "Good day", "Hello"),
        (json!({"native_messages": native}), "Bonjour", "Bonjour"),
        (json!({"final_messages": edited, "native_messages": native}), "Good day", "Bonjour"),
        (json!({"final_messages": []}), "", "Hello"),
    ] {
        let expected = [
            finals.to_owned(),
            ["one", "two", "hi", finals].join("|").trim_end_matches('|').to_owned(),
            format!("one|two|hi|{stored}"),
        ];
        assert_eq!(check_answer(answer.clone()).await.unwrap(), expected, "{answer}");
    }
}

#[tokio::test] // G-33
async fn finals_and_native_history_must_be_lists_of_mappings() {
    for key in ["final_messages", "native_messages"] {
        for wrong in [json!("x"), json!({"role": "user"}), json!([1]), json!([{}, "x"])] {
            let error = check_answer(json!({ key: wrong })).await.unwrap_err();
            assert_eq!(error.class(), ErrorClass::BadState, "{key} = {wrong}");
            assert_eq!(
                error.message(),
                format!("{key} of an action result must be a list of mappings")
            );
            assert_eq!(error.plugin_name(), Some("f"));
        }
    }
}

#[tokio::test] // G-34
async fn metadata_patches_add_up_and_the_later_key_wins() {
    let core = core_of([
        answering(
            "one",
            json!({"session_metadata": {"a": 1, "b": {"x": 1}, "overrides": {"m": 1, "n": 1}}}),
        ),
        answering("two", json!({"session_metadata": "not a mapping"})),
        answering(
            "three",
            json!({"session_metadata":
                {"a": 2, "b": {"y": 2}, "overrides": {"n": 2, "o": 2, "gone": null}}}),
        ),
    ]);
    let session = asked(&core).await.with_metadata_patch(&map(json!({
        "a": 0, "kept": true, "overrides": {"m": 0, "p": 0, "gone": 0},
    })));
    let response = core.send_request(&session, &scripted(), RequestOptions::default()).await;
    assert_eq!(
        Value::Object(response.unwrap().session.metadata().clone()),
        json!({"a": 2, "kept": true, "overrides": {"m": 1, "p": 0, "n": 2, "o": 2}, "b": {"y": 2}})
    );
}

/// A chain of two: the second tells what it sees after the first has answered.
async fn check_chain(first: Value) -> String {
    let log = Log::new();
    let seen = log.clone();
    let core = core_of([
        answering("first", first),
        finaliser("second", move |input, cx| {
            let response = cx.response().unwrap();
            let finals: Vec<_> = response.final_messages.iter().map(Message::text).collect();
            assert_eq!(input.native_messages, response.native_messages);
            let native = input.native_messages.iter().map(|item| item.get("say").unwrap());
            seen.add(format!("{} of {}", finals.join("|"), json!(native.collect::<Vec<_>>())));
            // The session is the one before the request, for all of them.
            assert_eq!(texts(&input.session), "one|two|hi");
            assert_eq!(cx.session(), Some(&input.session));
            assert!(input.session.metadata().is_empty());
            Ok(ActionResult::unchanged())
        }),
    ]);
    send(&core).await.unwrap();
    log.text()
}

#[tokio::test] // G-35
async fn later_actions_see_what_earlier_ones_changed() {
    let edited = json!([{"role": "assistant", "content": "Good day"}]);
    let appended = json!({"edits": [{"op": "append", "items": [{"who": "user", "say": "note"}]}]});
    for (first, seen) in [
        (json!({}), r#"Hello of ["one","two","hi","Hello"]"#),
        (
            json!({"final_messages": edited, "session_metadata": {"a": 1}}),
            r#"Good day of ["one","two","hi","Hello"]"#,
        ),
        (
            json!({"final_messages": edited, "native_messages": appended}),
            r#"Good day of ["one","two","hi","Hello","note"]"#,
        ),
        // Native history only: the finals of the turn follow it.
        (
            json!({"native_messages": appended}),
            r#"Hello|note of ["one","two","hi","Hello","note"]"#,
        ),
    ] {
        assert_eq!(check_chain(first.clone()).await, seen, "{first}");
    }
}

#[tokio::test] // G-33, G-35
async fn each_native_change_without_finals_derives_them_anew() {
    let rewritten = |text: &str| {
        let items = json!([{"who": "assistant", "say": text}]);
        json!({"native_messages": {"edits": [{"op": "replace", "start": 3, "end": 4, "items": items}]}})
    };
    let finals = |text: &str| json!({"final_messages": [{"role": "assistant", "content": text}]});
    for (first, second, expected) in [
        (rewritten("A"), rewritten("B"), ["B", "one|two|hi|B", "one|two|hi|B"]),
        (rewritten("A"), finals("B"), ["B", "one|two|hi|B", "one|two|hi|A"]),
        (finals("A"), rewritten("B"), ["B", "one|two|hi|B", "one|two|hi|B"]),
    ] {
        let core = core_of([answering("first", first), answering("second", second)]);
        assert_eq!(shown(&send(&core).await.unwrap()), expected);
    }
}

#[tokio::test] // G-36
async fn a_response_gives_finals_history_metadata_and_records() {
    let extension = ScriptedExtension::new("e")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("mark", "M").on(&["response_finalize"])]))
        .execute_action(|_, _| {
            ActionResult::from_json(json!({
                "status": "ok", "message": "marked", "session_metadata": {"marked": true},
                "native_messages": {"edits": [
                    {"op": "patch_metadata", "indices": [3], "patch": {"mark": 1}},
                ]},
                "final_messages": [{"role": "assistant", "content": "Hello!"}],
            }))
        });
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["Hello"]));
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![Arc::new(extension)]).unwrap();
    core.register_feature(Arc::new(answering("f", json!({"error": {"type": "t"}})))).unwrap();

    let response = send(&core).await.unwrap();
    assert_eq!(shown(&response), ["Hello!", "one|two|hi|Hello!", "one|two|hi|Hello"]);
    assert_eq!(response.session.metadata()["marked"], true);
    assert_eq!(
        response.session.native().unwrap().items().last().unwrap().to_json(),
        json!({"who": "assistant", "say": "Hello", "_metadata": {"mark": 1}})
    );
    assert_eq!(
        json!(response.action_results),
        json!([
            {"plugin": "e", "action_id": "mark", "action_owner": "provider_extension",
             "result": {"status": "ok", "message": "marked"}, "changed": true},
            {"plugin": "f", "action_id": "x", "action_owner": "feature",
             "result": {"error": {"type": "t"}}},
        ])
    );
}

#[tokio::test] // G-33, G-37
async fn a_response_survives_the_compaction_of_what_came_before() {
    let summary = json!({"op": "replace", "start": 0, "end": 3,
                         "items": [{"who": "user", "say": "summary"}]});
    let compacted = json!({"native_messages": {"edits": [summary]}});
    let anew = json!({"native_messages": [
        {"who": "user", "say": "summary"}, {"who": "assistant", "say": "Hello"},
    ]});
    for answer in [compacted, anew] {
        let expected = ["Hello", "summary|Hello", "summary|Hello"];
        assert_eq!(check_answer(answer.clone()).await.unwrap(), expected, "{answer}");
        let mut with_finals = answer;
        with_finals["final_messages"] = json!([{"role": "assistant", "content": "edited"}]);
        let expected = ["edited", "summary|edited", "summary|Hello"];
        assert_eq!(check_answer(with_finals).await.unwrap(), expected);
    }
}

/// A feature that puts an instruction first, once, so that messages are derived anew.
fn instructing() -> ScriptedFeature {
    ScriptedFeature::new("instructing").initialize_request(|input, _| {
        let first = input.native_messages.get(0).and_then(|item| item.get("say"));
        if first == Some(&json!("be kind")) {
            return Ok(RequestChange::default());
        }
        let item = json!({"who": "system", "say": "be kind"}).into();
        Ok(RequestChange::native(Change::insert(0, vec![item])))
    })
}

/// The final event of a stream whose only action answers like that.
async fn final_event(answer: &Value, rebuild: bool) -> [String; 3] {
    let mut features = vec![answering("f", answer.clone())];
    if rebuild {
        features.push(instructing());
    }
    let core = core_of(features);
    // No native history yet: what the instruction changes is changed by this very request.
    let session = Session::from_json(json!({
        "session_id": "s", "messages": [{"role": "user", "content": "hi"}], "metadata": {},
    }));
    let stream =
        core.send_request_stream(&session.unwrap(), &scripted(), RequestOptions::default());
    match stream.collect::<Vec<_>>().await.pop() {
        Some(Ok(CoreEvent::Final(response))) => shown(&response),
        other => panic!("{other:?}"),
    }
}

#[tokio::test] // G-37
async fn the_final_event_and_the_session_hold_the_edited_response() {
    let finals = json!({"final_messages": [{"role": "assistant", "content": "edited"}]});
    let native = |at: usize| {
        let items = json!([{"who": "assistant", "say": "edited"}]);
        json!({"native_messages": {"edits": [
            {"op": "replace", "start": at, "end": at + 1, "items": items},
        ]}})
    };
    for (answer, rebuild, expected) in [
        (finals.clone(), false, ["edited", "hi|edited", "hi|Hello"]),
        (native(1), false, ["edited", "hi|edited", "hi|edited"]),
        (finals, true, ["edited", "be kind|hi|edited", "be kind|hi|Hello"]),
        (native(2), true, ["edited", "be kind|hi|edited", "be kind|hi|edited"]),
    ] {
        assert_eq!(final_event(&answer, rebuild).await, expected, "{answer}, rebuild {rebuild}");
    }
}
