//! Requests: from a session to a session with the model's answer.

use futures::executor::block_on;
use futures::{FutureExt, StreamExt};
use orlop_core::hooks::{Chunk, FinalizeChange, RequestChange};
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn core_of(provider: &ScriptedProvider, features: Vec<ScriptedFeature>) -> Core {
    let mut core = core_with(provider).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

fn says(texts: &[&str]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for text in texts {
        provider.reply(ScriptedReply::text(&[text]));
    }
    provider
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

async fn send(core: &Core, session: &Session) -> Response {
    core.send_request(session, &Config::empty(), RequestOptions::default()).await.unwrap()
}

async fn ask(core: &Core, session: &Session, text: &str) -> Response {
    let session = core.add_message(session, Message::user(text), &Config::empty()).await.unwrap();
    send(core, &session).await
}

/// Puts a marked system item in front, unless one is there.
fn system_feature() -> ScriptedFeature {
    ScriptedFeature::new("system").initialize_request(|input, _| {
        if input.native_messages.iter().any(|item| item.metadata().contains_key("system")) {
            return Ok(RequestChange::default());
        }
        let item = json!({"who": "system", "say": "be kind", "_metadata": {"system": true}});
        Ok(RequestChange::native(Change::insert(0, vec![item.into()])))
    })
}

fn native_texts(session: &Session) -> String {
    let items = session.native().unwrap().items();
    items
        .iter()
        .map(|item| item.get("say").unwrap().as_str().unwrap())
        .collect::<Vec<_>>()
        .join("|")
}

/// The request in three forms, each on a core of its own: collected, sync iterator, async stream.
fn in_every_form(
    make_core: impl Fn() -> Core,
    session: &Session,
    config: &Config,
) -> (Result<Response>, Vec<Result<CoreEvent>>, Vec<Result<CoreEvent>>) {
    let options = RequestOptions::default;
    let collected = block_on(make_core().send_request(session, config, options()));
    let blocking = Blocking::new(make_core(), LocalExecutor);
    let sync = blocking.send_request_stream(session, config, options()).collect();
    let events = make_core().send_request_stream(session, config, options());
    (collected, sync, block_on(events.collect()))
}

#[test] // E-01
fn every_form_needs_a_provider() {
    let session = block_on(asked("hi"));
    let (collected, sync, streamed) = in_every_form(Core::new, &session, &Config::empty());
    assert_eq!(collected.unwrap_err().class(), ErrorClass::BadState);
    for events in [sync, streamed] {
        assert_eq!(events.len(), 1, "one error and nothing after it");
        assert_eq!(events[0].as_ref().unwrap_err().class(), ErrorClass::BadState);
    }
    let blocking = Blocking::new(Core::new(), LocalExecutor);
    let error = blocking.send_request(&session, &Config::empty(), RequestOptions::default());
    assert_eq!(error.unwrap_err().class(), ErrorClass::BadState);
}

#[tokio::test] // E-02
async fn everything_but_session_and_config_may_be_left_out() {
    let core = core_of(&says(&["one", "two"]), vec![]);
    let session = asked("hi").await;
    assert_eq!(texts(&send(&core, &session).await.session), "hi|one");

    let args = json!({"session": session.to_json(), "config": {}}).as_object().unwrap().clone();
    let answer = core.invoke("send_request", args, &CallContext::default()).await.unwrap();
    assert_eq!(answer["messages"][0]["content"], "two");
}

#[tokio::test] // E-02
async fn id_token_and_context_reach_the_hooks() {
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f").initialize_request(move |_, cx| {
        let given = (cx.request_id(), cx.cancellation().is_some(), cx.get("theme"));
        seen.add(format!("{given:?}"));
        Ok(RequestChange::default())
    });
    let core = core_of(&says(&["one"]), vec![feature]);
    let options = RequestOptions {
        request_id: Some("r1".into()),
        cancellation: Some(Arc::new(CancelToken::new())),
        context: CallContext::new("test").with("theme", "dark"),
        ..RequestOptions::default()
    };
    core.send_request(&asked("hi").await, &Config::empty(), options).await.unwrap();
    assert_eq!(log.lines(), [r#"(Some("r1"), true, Some(String("dark")))"#]);
}

#[tokio::test] // E-03
async fn plugins_are_resolved_sorted_and_active_before_any_io() {
    let log = Log::new();
    let feature = |name: &'static str, priority| {
        let log = log.clone();
        ScriptedFeature::new(name).priority(priority).initialize_request(move |_, _| {
            log.add(format!("{name}.initialize"));
            Ok(RequestChange::default())
        })
    };
    let extension = |manifest: Manifest| {
        let (name, seen, chunks) = (manifest.name.clone(), log.clone(), log.clone());
        let chunk_line = format!("{name}.chunk");
        Arc::new(
            ScriptedExtension::with_manifest(manifest)
                .initialize_request(move |_, _| {
                    seen.add(format!("{name}.initialize"));
                    Ok(RequestChange::default())
                })
                .process_chunk(move |_, _| {
                    chunks.add(&chunk_line);
                    Ok(())
                }),
        )
    };
    let provider = ScriptedProvider::default().tags(&["chat"]).log_to(&log);
    provider.reply(ScriptedReply::items(vec![json!({"who": "assistant", "say": "hi"})]));
    let mut core = Core::new();
    let on = extension(Manifest::new("on", "1").requires(&["chat"]));
    let off = extension(Manifest::new("off", "1").requires(&["vision"]));
    core.register_provider(Arc::new(provider), vec![off, on]).unwrap();
    for (name, priority) in [("late", 200), ("early", 10), ("middle", 100)] {
        core.register_feature(Arc::new(feature(name, priority))).unwrap();
    }

    let options = RequestOptions::default();
    core.send_request_stream(&asked("hi").await, &Config::empty(), options)
        .collect::<Vec<_>>()
        .await;
    let mut lines = log.lines();
    lines.retain(|line| line.ends_with("initialize") || line == "stream_api");
    assert_eq!(
        lines.join(" "),
        "scripted.initialize on.initialize early.initialize middle.initialize late.initialize \
         stream_api"
    );
    assert!(log.count("on.chunk") > 0);
    assert_eq!(log.count("off.chunk"), 0);
}

/// Sends `session` and tells what preparing gave: the request, and the messages it led to.
async fn check_preparation(
    features: Vec<ScriptedFeature>,
    session: &Session,
    sent: &str,
    changed: bool,
    messages: &str,
) -> Session {
    let provider = says(&["fine"]);
    let core = core_of(&provider, features);
    let config = config(json!({"model": "m"}));
    let response = core.send_request(session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(provider.last_request(), sent, "native history as sent");
    let (_, state) = provider.requests().pop().unwrap();
    assert_eq!(state.request["model"], "m", "state as the provider initialised it");
    // Only a structural change makes the core initialise once more, to read history back.
    let initialised = provider.log().count("scripted.initialize");
    assert_eq!(initialised == 2, changed, "{:?}", provider.log().lines());
    assert_eq!(texts(&response.session), messages);
    response.session
}

#[tokio::test] // E-07, E-10
async fn preparing_gives_messages_history_state_and_whether_history_changed() {
    let session = asked("hi").await;
    let plain = check_preparation(vec![], &session, "hi", false, "hi|fine").await;
    let system = vec![system_feature()];
    let first =
        check_preparation(system.clone(), &session, "be kind|hi", true, "be kind|hi|fine").await;

    // The second turn finds the system item in place.
    let core = core_of(&says(&[]), system.clone());
    let config = Config::empty();
    let second = core.add_message(&first, Message::user("more"), &config).await.unwrap();
    let sent = "be kind|hi|fine|more";
    check_preparation(system, &second, sent, false, "be kind|hi|fine|more|fine").await;

    // Reordering, removing and replacing are changes; the same list said again is none.
    let reshaped = |reshape: fn(Vec<NativeItem>) -> Vec<NativeItem>| {
        vec![ScriptedFeature::new("reshape").initialize_request(move |input, _| {
            let mut items: Vec<_> = input.native_messages.iter().cloned().collect();
            if items[0].get("say").unwrap() == "hi" {
                items = reshape(items);
            }
            Ok(RequestChange::native(Change::Replace(items)))
        })]
    };
    let same = reshaped(|items| items);
    check_preparation(same, &plain, "hi|fine", false, "hi|fine|fine").await;
    let reordered = reshaped(|items| items.into_iter().rev().collect());
    check_preparation(reordered, &plain, "fine|hi", true, "fine|hi|fine").await;
    let removed = reshaped(|items| items.into_iter().skip(1).collect());
    check_preparation(removed, &plain, "fine", true, "fine|fine").await;
    let replaced = reshaped(|mut items| {
        items[0] = json!({"who": "user", "say": "hello"}).into();
        items
    });
    check_preparation(replaced, &plain, "hello|fine", true, "hello|fine|fine").await;
}

#[tokio::test] // E-08
async fn retained_history_is_used_only_if_its_seal_holds() {
    type Break = fn(&mut Value);
    let cases: [(&str, Break, bool); 5] = [
        ("intact", |_| {}, true),
        ("no native keys", |metadata| *metadata = json!({}), false),
        ("no seal", |metadata| drop(object(metadata).remove("native_messages_integrity")), false),
        (
            "broken seal",
            |metadata| metadata["native_messages_integrity"] = json!("sha256:0"),
            false,
        ),
        ("other format", |metadata| metadata["native_messages_format"] = json!("other"), false),
    ];
    for (case, break_it, retained) in cases {
        let provider = says(&["one", "two"]);
        let core = core_of(&provider, vec![]);
        let first = ask(&core, &Session::new("s"), "hi").await.session;
        let second = core.add_message(&first, Message::user("on"), &Config::empty()).await.unwrap();
        let mut stored = second.to_json();
        break_it(&mut stored["metadata"]);

        provider.log().take();
        let response = send(&core, &Session::from_json(stored).unwrap()).await;
        assert_eq!(provider.log().count("to_native(3)") == 0, retained, "{case}");
        assert_eq!(provider.last_request(), "hi|one|on", "{case}");
        assert_eq!(native_texts(&response.session), "hi|one|on|two", "{case}");
        response.session.verify().unwrap();
        let mapped = response.session.messages().iter().map(|m| m.native_indices().positions());
        assert!(mapped.eq((0..4).map(|index| Some(vec![index]))), "{case}");
    }
}

fn object(value: &mut Value) -> &mut Map {
    value.as_object_mut().unwrap()
}

#[tokio::test] // E-09
async fn the_request_carries_config_and_tools_and_every_plugin_shapes_it() {
    let provider = says(&["fine"]);
    let mut core = core_of(
        &provider,
        vec![ScriptedFeature::new("temperate").initialize_request(|input, _| {
            assert!(input.state.request.contains_key("tools"), "the provider came first");
            Ok(RequestChange::state(StateChange::request("temperature", 0)))
        })],
    );
    core.register_tool(Arc::new(ScriptedTool::new("files").offering(&["read", "write"]))).unwrap();
    let config = config(json!({"model": "m"}));
    core.send_request(&asked("hi").await, &config, RequestOptions::default()).await.unwrap();

    let (_, state) = provider.requests().pop().unwrap();
    assert_eq!(state.config, config);
    assert_eq!(state.request["model"], "m");
    assert_eq!(state.request["temperature"], 0);
    let names: Vec<_> = state.request["tools"].as_array().unwrap().iter().collect();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&json!("read"), &json!("write")));
}

#[tokio::test] // E-11
async fn the_baseline_is_the_number_of_native_items_sent() {
    let log = Log::new();
    let seen = log.clone();
    let watcher = ScriptedFeature::new("watcher")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("look", "").on(&["response_finalize"])]))
        .execute_action(move |input, cx| {
            let start = cx.response().unwrap().turn_native_start_index;
            let first = input.native_messages.get(start).unwrap().get("say").unwrap();
            seen.add(format!("{start} {first}"));
            Ok(ActionResult::unchanged())
        });
    let provider = says(&["one", "two"]);
    let core = core_of(&provider, vec![system_feature(), watcher]);
    let first = ask(&core, &Session::new("s"), "hi").await.session;
    ask(&core, &first, "on").await;
    let sent: Vec<usize> = provider.requests().iter().map(|(items, _)| items.len()).collect();
    assert_eq!(sent, [2, 4]);
    assert_eq!(log.lines(), [r#"2 "one""#, r#"4 "two""#]);
}

#[test] // E-12
fn the_request_context_has_every_field() {
    let log = Log::new();
    let make_core = || {
        let seen = log.clone();
        let feature = ScriptedFeature::new("watch")
            .init(|_, _| Ok(StateChange::patch(map(json!({"config": {"added": 1}})))))
            .filter_tools(|input, _| Ok(Some(input.tools[..1].to_vec())))
            .finalize(move |_, cx| {
                let names = |tools: &[types::ToolDescriptor]| {
                    tools.iter().map(|tool| tool.name().unwrap().to_owned()).collect::<Vec<_>>()
                };
                seen.add(
                    json!({
                        "config": cx.config(), "provider": cx.provider(),
                        "extensions": cx.extensions(), "features": cx.features(),
                        "tool_plugins": cx.tool_plugins(), "tags": cx.tags(),
                        "models": cx.models(), "available": names(cx.available_tools()),
                        "tools": names(cx.tools()), "session": cx.session().unwrap().id(),
                        "stream": cx.stream(), "extra": cx.get("extra"), "id": cx.request_id(),
                    })
                    .to_string(),
                );
                Ok(FinalizeChange::default())
            });
        let provider = ScriptedProvider::default().models(&["m"]).tags(&["chat"]);
        provider.reply(ScriptedReply::text(&["fine"]));
        let mut core = Core::new();
        let off = ScriptedExtension::with_manifest(Manifest::new("off", "1").requires(&["no"]));
        let extensions: Vec<Arc<dyn Extension>> =
            vec![Arc::new(ScriptedExtension::new("ext")), Arc::new(off)];
        core.register_provider(Arc::new(provider), extensions).unwrap();
        core.register_feature(Arc::new(feature)).unwrap();
        core.register_tool(Arc::new(ScriptedTool::new("kit").offering(&["a", "b"]))).unwrap();
        core
    };
    let (session, config) = (block_on(asked("hi")), config(json!({"model": "m"})));
    let options = || RequestOptions {
        request_id: Some("r1".into()),
        context: CallContext::new("test").with("extra", 7),
        ..RequestOptions::default()
    };
    block_on(make_core().send_request(&session, &config, options())).unwrap();
    let blocking = Blocking::new(make_core(), LocalExecutor);
    blocking.send_request_stream(&session, &config, options()).for_each(drop);
    block_on(make_core().send_request_stream(&session, &config, options()).for_each(async |_| {}));

    let expected = |stream| {
        json!({
            "config": {"model": "m", "added": 1}, "provider": "scripted",
            "extensions": ["ext"], "features": ["watch"], "tool_plugins": ["kit"],
            "tags": ["chat"], "models": [{"id": "m"}], "available": ["a", "b"], "tools": ["a"],
            "session": "s", "stream": stream, "extra": 7, "id": "r1",
        })
        .to_string()
    };
    assert_eq!(log.lines(), [expected(false), expected(true), expected(true)]);
}

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// Sends "hi" in every form and with every kind of model I/O; the finals always say `expected`.
fn check_finals(reply: ScriptedReply, expected: &str) {
    for io in [Io::Call, Io::Stream, Io::Both] {
        let make_core = || {
            let late = json!({"who": "assistant", "say": "late"});
            let provider = ScriptedProvider::default().io(io).extra_finals(vec![late]);
            provider.reply(reply.clone());
            core_of(&provider, vec![])
        };
        let (collected, sync, streamed) =
            in_every_form(make_core, &block_on(asked("hi")), &Config::empty());
        for response in [collected.unwrap(), last(sync), last(streamed)] {
            let said: Vec<_> = response.messages.iter().map(|message| message.text()).collect();
            assert_eq!(said.join("|"), expected, "{io:?}");
            assert_eq!(native_texts(&response.session), format!("hi|{expected}"), "{io:?}");
        }
    }
}

fn last(events: Vec<Result<CoreEvent>>) -> Response {
    match events.into_iter().last() {
        Some(Ok(CoreEvent::Final(response))) => *response,
        other => panic!("{other:?}"),
    }
}

#[test] // E-13, E-15
fn finals_of_the_call_come_before_finals_of_finalise() {
    let item = |text: &str| json!({"who": "assistant", "say": text});
    check_finals(ScriptedReply::items(vec![item("a"), item("b")]), "a|b|late");
    check_finals(ScriptedReply::text(&["shown ", "first"]), "shown first|late");
    check_finals(ScriptedReply::items(vec![]), "late");
}

#[tokio::test] // E-14
async fn partials_come_at_once_and_in_order_and_silent_chunks_show_nothing() {
    let gate = Gate::new();
    let provider = ScriptedProvider::default();
    let reply = ScriptedReply::text(&["a", "b", "c"]).with_silent_chunks(3).waiting_for(&gate);
    provider.reply(reply);
    let core = core_of(&provider, vec![]);
    let options = RequestOptions::default();
    let mut events = core.send_request_stream(&asked("hi").await, &Config::empty(), options);
    for expected in ["a", "b", "c"] {
        match events.next().await.unwrap().unwrap() {
            CoreEvent::Partial(partial) => assert_eq!(partial.content, expected),
            other => panic!("{other:?}"),
        }
    }
    assert!(events.next().now_or_never().is_none(), "the provider has more to say");
    gate.open();
    assert!(matches!(events.next().await, Some(Ok(CoreEvent::Final(_)))));
    assert!(events.next().await.is_none());
}

#[tokio::test] // E-14, E-15
async fn finals_and_state_are_collected_from_every_chunk() {
    let finishing = ScriptedExtension::new("finishing").process_chunk(|chunk, state| {
        if let Some(partial) = &chunk.partial {
            let seen = state.values.get("seen").and_then(Value::as_str).unwrap_or_default();
            let item = json!({"who": "assistant", "say": partial.content.clone()});
            chunk.state = StateChange::set("seen", format!("{seen}{}", partial.content));
            chunk.final_messages = vec![item.into()];
        } else {
            *chunk = Chunk::default();
        }
        Ok(())
    });
    let log = Log::new();
    let seen = log.clone();
    let watcher = ScriptedFeature::new("watcher").finalize(move |input, _| {
        let (finals, native) = (input.final_messages.len(), input.native_messages.len());
        seen.add(format!("{} {finals} {native}", input.state.values["seen"]));
        Ok(FinalizeChange::default())
    });
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["a", "b"]));
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![Arc::new(finishing)]).unwrap();
    core.register_feature(Arc::new(watcher)).unwrap();
    let options = RequestOptions::default();
    let events = core.send_request_stream(&asked("hi").await, &Config::empty(), options);
    assert_eq!(shown(events.collect().await), "a b final(hi|a|b)");
    assert_eq!(log.lines(), [r#""ab" 2 3"#]);
}

/// Events on one line: the text of partials, then the session or the class of the error.
fn shown(events: Vec<Result<CoreEvent>>) -> String {
    let line = |event: Result<CoreEvent>| match event {
        Ok(CoreEvent::Partial(partial)) => partial.content,
        Ok(CoreEvent::Final(response)) => format!("final({})", texts(&response.session)),
        Err(error) => error.class().as_str().to_owned(),
    };
    events.into_iter().map(line).collect::<Vec<_>>().join(" ")
}

#[tokio::test] // E-26, E-27
async fn a_stream_is_partials_and_then_one_final() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["Hel", "lo ", "you"]));
    let core = core_of(&provider, vec![]);
    let options = RequestOptions::default();
    let events: Vec<_> =
        core.send_request_stream(&asked("hi").await, &Config::empty(), options).collect().await;
    let wire: Vec<Value> =
        events.iter().map(|event| serde_json::to_value(event.as_ref().unwrap()).unwrap()).collect();
    let (last, partials) = wire.split_last().unwrap();
    assert_eq!(
        partials[0],
        json!({"type": "partial", "message": {"role": "assistant", "content": "Hel"}})
    );
    assert!(partials.iter().all(|event| event["type"] == "partial"));
    assert_eq!(
        last.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["type", "session", "messages"]
    );
    assert_eq!(last["type"], "final");
    let text: String =
        partials.iter().map(|event| event["message"]["content"].as_str().unwrap()).collect();
    assert_eq!(last["messages"][0]["content"], text, "partials are pieces, never repeated text");
    Session::from_json(last["session"].clone()).unwrap().verify().unwrap();
}

#[tokio::test] // E-27
async fn a_partial_may_carry_metadata_instead_of_text() {
    let calling = ScriptedExtension::new("calling").process_chunk(|chunk, _| {
        if let Some(partial) = &mut chunk.partial {
            partial.reasoning = std::mem::take(&mut partial.content);
            partial.tool_calls = vec![json!({"index": 0, "id": "c1"})];
        }
        Ok(())
    });
    let provider = says(&["thinking"]);
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![Arc::new(calling)]).unwrap();
    let options = RequestOptions::default();
    let mut events = core.send_request_stream(&asked("hi").await, &Config::empty(), options);
    let first = events.next().await.unwrap().unwrap();
    let metadata = json!({"reasoning": "thinking", "tool_calls": [{"index": 0, "id": "c1"}]});
    assert_eq!(
        serde_json::to_value(first).unwrap()["message"],
        json!({"role": "assistant", "content": "", "metadata": metadata})
    );
}

#[test] // E-28
fn all_forms_end_with_the_same_session() {
    let replies = [
        ScriptedReply::text(&["Hel", "lo"]).with_silent_chunks(2),
        ScriptedReply::calls(&[("c1", "read", json!({"path": "a"}))]),
        ScriptedReply::items(vec![json!({"think": "hm"}), json!({"pair": ["a", "b"]})]),
    ];
    for (index, reply) in replies.into_iter().enumerate() {
        for io in [Io::Both, Io::Stream, Io::Call] {
            let make_core = || {
                let late = json!({"who": "assistant", "say": "late"});
                let provider = ScriptedProvider::default().io(io).extra_finals(vec![late]);
                provider.reply(reply.clone());
                core_of(&provider, vec![system_feature()])
            };
            let session = block_on(asked("hi"));
            let (collected, sync, streamed) = in_every_form(make_core, &session, &Config::empty());
            assert_eq!(sync, streamed, "reply {index}, {io:?}");
            let Some(Ok(CoreEvent::Final(response))) = streamed.last() else { panic!() };
            assert_eq!(collected.as_ref(), Ok(&**response), "reply {index}, {io:?}");
        }
    }
}

#[test] // E-29
fn a_provider_error_follows_the_partials_and_leaves_the_session_alone() {
    let make_core = || {
        let provider = ScriptedProvider::default();
        let error = Error::provider("overloaded").with_provider_body(Some(529), "busy");
        provider.reply(ScriptedReply::text(&["a", "b"]).failing(error));
        core_of(&provider, vec![])
    };
    let session = block_on(asked("hi"));
    let before = session.to_json();
    let (collected, sync, streamed) = in_every_form(make_core, &session, &Config::empty());
    let error = collected.unwrap_err();
    assert_eq!((error.class(), error.provider_status()), (ErrorClass::Provider, Some(529)));
    assert_eq!(shown(sync), "a b provider");
    assert_eq!(shown(streamed), "a b provider");
    assert_eq!(session.to_json(), before);
}

#[tokio::test] // E-14, E-15
async fn interleaved_streams_on_one_core_do_not_see_each_other() {
    // Q41: what a request changes lives in the request; plugins are shared.
    let counting = ScriptedExtension::new("counting").process_chunk(|chunk, state| {
        let count = state.values.get("count").and_then(Value::as_u64).unwrap_or_default();
        chunk.state = StateChange::set("count", count + 1);
        if let Some(partial) = &mut chunk.partial {
            partial.content = format!("{}{count}", partial.content);
        }
        Ok(())
    });
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["a", "b"])).reply(ScriptedReply::text(&["x", "y", "z"]));
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![Arc::new(counting)]).unwrap();
    let patching = ScriptedFeature::new("patching").finalize(|input, _| {
        let count = input.state.values["count"].clone();
        let state = StateChange::set("session_metadata_patch", json!({"count": count}));
        Ok(FinalizeChange { state, ..FinalizeChange::default() })
    });
    core.register_feature(Arc::new(patching)).unwrap();

    let (one, two) = (asked("one").await.with_id("1"), asked("two").await.with_id("2"));
    let options = RequestOptions::default;
    let mut first = core.send_request_stream(&one, &Config::empty(), options());
    let mut second = core.send_request_stream(&two, &Config::empty(), options());
    let (mut from_first, mut from_second) = (vec![], vec![]);
    loop {
        let (left, right) = (first.next().await, second.next().await);
        if left.is_none() && right.is_none() {
            break;
        }
        from_first.extend(left);
        from_second.extend(right);
    }
    let metadata = |events: &[Result<CoreEvent>]| match events.last() {
        Some(Ok(CoreEvent::Final(response))) => response.session.metadata()["count"].clone(),
        other => panic!("{other:?}"),
    };
    // Two and three partials, then a silent chunk and the one with the finals.
    assert_eq!((metadata(&from_first), metadata(&from_second)), (json!(4), json!(5)));
    assert_eq!(shown(from_first), "a0 b1 final(one|ab)");
    assert_eq!(shown(from_second), "x0 y1 z2 final(two|xyz)");
}

#[test] // L-11, L-13
fn a_preface_is_read_by_the_model_and_not_kept() {
    block_on(async {
        for io in [Io::Stream, Io::Call] {
            let provider = ScriptedProvider::default().io(io);
            provider.reply(ScriptedReply::text(&["one"])).reply(ScriptedReply::text(&["two"]));
            let core = core_of(&provider, vec![system_feature()]);
            let prefaced = |text: &str| RequestOptions {
                preface: vec![Message::user(text)],
                ..RequestOptions::default()
            };
            let first = core
                .send_request(&asked("a").await, &Config::empty(), prefaced("today"))
                .await
                .unwrap();
            assert_eq!(provider.last_request(), "be kind|today|a");
            let config = Config::empty();
            let session =
                core.add_message(&first.session, Message::user("b"), &config).await.unwrap();
            let second = core.send_request(&session, &config, prefaced("now")).await.unwrap();
            assert_eq!(provider.last_request(), "be kind|a|one|now|b");
            assert_eq!(native_texts(&second.session), "be kind|a|one|b|two");
            second.session.verify().unwrap();
        }
    });
}
