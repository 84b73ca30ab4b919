//! Providers: model access in one of two forms, conversion, and the run of one request.

use futures::{FutureExt, StreamExt};
use orlop_core::hooks::*;
use orlop_core::types::{Partial, ProviderEvent};
use orlop_core::{
    Blocking, CallContext, CancelToken, Change, Config, Core, CoreEvent, Error, ErrorClass,
    LocalExecutor, Map, Message, NativeItem, RequestOptions, Response, Result, Session, Value,
    classify,
};
use orlop_testkit::Gate;
use orlop_testkit::scripted::{
    Io, Log, Over, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, core_with,
    native_session, plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn core_of(
    provider: impl Provider,
    extensions: Vec<ScriptedExtension>,
    features: Vec<ScriptedFeature>,
) -> Core {
    let mut core = Core::new();
    let extensions =
        extensions.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Extension>).collect();
    core.register_provider(Arc::new(provider), extensions).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

fn scripted(replies: &[&[&str]]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for fragments in replies {
        provider.reply(ScriptedReply::text(fragments));
    }
    provider
}

async fn hi() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

async fn send(core: &Core, session: &Session) -> Response {
    core.send_request(session, &Config::empty(), RequestOptions::default()).await.unwrap()
}

async fn stream(core: &Core, session: &Session) -> Vec<CoreEvent> {
    let events = core.send_request_stream(session, &Config::empty(), RequestOptions::default());
    events.map(Result::unwrap).collect().await
}

fn shown(events: &[CoreEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            CoreEvent::Partial(partial) => format!("partial {}", partial.content),
            CoreEvent::Final(response) => format!("final {}", texts(&response.session)),
        })
        .collect()
}

fn item(value: Value) -> NativeItem {
    value.into()
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// A scripted provider that is called and says yes.
fn tuned() -> Over<ScriptedProvider> {
    let calm = Over::new(ScriptedProvider::default()).named("tuned");
    calm.initialize_request(|_, _| RequestChange::default()).call_api(|_| ModelAnswer {
        final_messages: vec![item(json!({"who": "assistant", "say": "yes"}))],
        ..Default::default()
    })
}

#[test] // C-11
fn either_form_of_model_access_makes_a_provider() {
    for methods in [vec!["call_api"], vec!["stream_api"], vec!["stream_api", "call_api"]] {
        assert_eq!(classify(methods), Kind::Provider);
    }
    assert_ne!(classify(["get_models", "to_native_messages"]), Kind::Provider);
}

#[tokio::test] // C-11, C-12
async fn whichever_form_a_provider_lacks_is_derived() {
    let cases = [
        (Io::Both, "call_api", vec!["partial a", "partial b", "final hi|ab"]),
        (Io::Stream, "stream_api", vec!["partial a", "partial b", "final hi|ab"]),
        (Io::Call, "call_api", vec!["final hi|ab"]),
    ];
    for (io, used_to_send, events) in cases {
        let provider = ScriptedProvider::default().io(io);
        provider.reply(ScriptedReply::text(&["a", "b"])).reply(ScriptedReply::text(&["a", "b"]));
        let core = core_with(&provider).unwrap();
        let sent = send(&core, &hi().await).await;
        assert_eq!(texts(&sent.session), "hi|ab", "{io:?}");
        assert_eq!(provider.log().count(used_to_send), 1, "{io:?}");
        assert_eq!(shown(&stream(&core, &hi().await).await), events, "{io:?}");
    }
}

#[tokio::test] // C-11
async fn a_provider_without_model_access_is_refused_by_name() {
    let core = core_with(&ScriptedProvider::new("mute").io(Io::None)).unwrap();
    let session = hi().await;
    let sent = core.send_request(&session, &Config::empty(), RequestOptions::default()).await;
    let mut events = core.send_request_stream(&session, &Config::empty(), Default::default());
    for error in [sent.unwrap_err(), events.next().await.unwrap().unwrap_err()] {
        assert_eq!(error.class(), ErrorClass::BadState);
        assert!(error.message().contains("mute"), "{error}");
    }
}

#[tokio::test] // C-13
async fn models_reach_tags_ui_and_the_request() {
    let log = Log::new();
    let seen = log.clone();
    let provider = scripted(&[&["yes"]]).models(&["m1", "m2"]);
    let feature = ScriptedFeature::new("f")
        .get_tags(|input, _| Ok(vec![format!("{} models", input.models.len())]))
        .get_ui_elements(|input, _| Ok(vec![json!({"options": input.models})]))
        .initialize_request(move |_, cx| {
            seen.add(json!(cx.models()).to_string());
            Ok(Default::default())
        });
    let core = core_of(provider, vec![], vec![feature]);
    send(&core, &hi().await).await;
    assert_eq!(core.tags_for(&Config::empty()).await.unwrap(), ["2 models"]);
    let elements = core.ui_schema(&Config::empty()).await.unwrap();
    assert_eq!(elements[0]["options"], json!([{"id": "m1"}, {"id": "m2"}]));
    assert_eq!(log.text(), r#"[{"id":"m1"},{"id":"m2"}]"#);
    let none = core_with(&scripted(&[])).unwrap();
    assert!(none.models_for(&Config::empty()).await.unwrap().is_empty());
}

#[tokio::test] // C-14
async fn the_provider_prepares_native_history_and_the_request() {
    let provider = tuned().initialize_request(|input, cx| {
        assert_eq!(cx.provider(), Some("tuned"));
        let again = item(json!({"who": "user", "say": "again"}));
        // History may pass here again when it is rebuilt.
        let native_messages = match input.native_messages.len() {
            1 => Change::append(vec![again]),
            _ => Change::Keep,
        };
        RequestChange { native_messages, state: StateChange::request("temperature", 7) }
    });
    let provider = provider.call_api(|request| {
        let said: Vec<_> =
            request.native_messages.iter().filter_map(|item| item.get("say")).collect();
        let answer = format!("{said:?} {}", request.state.request["temperature"]);
        let answer = item(json!({"who": "assistant", "say": answer}));
        ModelAnswer { final_messages: vec![answer], ..Default::default() }
    });
    let core = core_of(provider, vec![], vec![]);
    let mut sent = send(&core, &hi().await).await;
    assert_eq!(
        sent.messages.remove(0).text(),
        r#"[String("hi"), String("again")] 7"#,
        "what initialize_request wrote is what call_api sees"
    );
}

#[tokio::test] // C-15
async fn calls_results_and_parts_convert_and_convert_back() {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "dig", "arguments": "{}"}});
    let messages = [
        Message::user("look")
            .with_multipart_content(vec![map(json!({"type": "image", "url": "u"}))]),
        Message::assistant("").with_metadata_entry("tool_calls", json!([call])),
        Message::tool("gold")
            .with_metadata_entry("tool_call_id", "c1")
            .with_tool_result(map(json!({"type": "tool_result", "text": "gold"}))),
    ];
    let core = core_with(&scripted(&[])).unwrap();
    let config = Config::empty();
    let context = CallContext::new("test");
    let native = core.core_messages_to_native(messages.to_vec(), &config, &context).await.unwrap();
    assert_eq!(
        json!(native),
        json!([
            {"who": "user", "say": "look", "parts": [{"type": "image", "url": "u"}]},
            {"who": "assistant", "say": "", "calls": [call]},
            {"who": "tool", "say": "gold", "answers": "c1",
             "result": {"type": "tool_result", "text": "gold"}},
        ])
    );
    let session = native_session(&core, &messages, &config).await.unwrap();
    let back = session
        .messages()
        .iter()
        .map(|message| message.clone().with_native_indices(orlop_core::NativeIndices::Absent));
    assert_eq!(back.collect::<Vec<_>>(), messages);
}

#[tokio::test] // C-16
async fn messages_say_which_of_the_given_items_they_came_from() {
    let log = Log::new();
    let seen = log.clone();
    // Features see the provider's messages before positions are made global.
    let probe = ScriptedFeature::new("probe").from_native_messages(move |input, _| {
        let indices: Vec<_> =
            input.messages.iter().map(|message| message.native_indices().to_json()).collect();
        seen.add(json!([input.native_messages.len(), indices]).to_string());
        Ok(Change::Keep)
    });
    let provider = ScriptedProvider::default();
    let items = vec![
        json!({"think": "hm"}),
        json!({"who": "assistant", "say": "a"}),
        json!({"pair": ["b", "c"]}),
    ];
    provider.reply(ScriptedReply::items(items));
    let core = core_of(provider, vec![], vec![probe]);
    let sent = send(&core, &hi().await).await;
    assert_eq!(log.lines().last().unwrap(), "[3,[[0,1],[2],[2]]]");
    let global: Vec<_> =
        sent.messages.iter().map(|message| message.native_indices().positions().unwrap()).collect();
    assert_eq!(global, [vec![1, 2], vec![3], vec![3]]);
}

#[tokio::test] // C-17
async fn all_four_results_of_a_call_are_used() {
    let provider = tuned().call_api(|_| ModelAnswer {
        partials: vec![Partial::text("ignored by the blocking form")],
        final_messages: vec![item(json!({"who": "assistant", "say": "yes"}))],
        native_messages: Change::Replace(vec![
            item(json!({"who": "user", "say": "HI"})),
            item(json!({"who": "assistant", "say": "yes"})),
        ]),
        state: StateChange::set("usage", 42),
    });
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f").finalize(move |input, _| {
        let native: Vec<_> = input.native_messages.iter().map(NativeItem::wire).collect();
        seen.add(format!(
            "{} {} {}",
            input.final_messages.len(),
            native.len(),
            input.state.values["usage"]
        ));
        Ok(Default::default())
    });
    let core = core_of(provider, vec![], vec![feature]);
    let sent = send(&core, &hi().await).await;
    assert_eq!(log.text(), "1 2 42");
    assert_eq!(sent.messages.iter().map(Message::text).collect::<Vec<_>>(), ["yes"]);
    assert_eq!(texts(&sent.session), "HI|yes", "the full native list is the provider's");
    sent.session.verify().unwrap();
}

#[tokio::test] // C-18
async fn every_active_extension_sees_every_chunk_in_order() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["a", "b"]).with_silent_chunks(1));
    let log = Log::new();
    let recorder = |name: &'static str| {
        let log = log.clone();
        ScriptedExtension::new(name).process_chunk(move |chunk, _| {
            let said = chunk.partial.as_ref().map_or("-", |partial| partial.content.as_str());
            log.add(format!("{name}:{said}/{}", chunk.final_messages.len()));
            Ok(())
        })
    };
    let core = core_of(provider, vec![recorder("x"), recorder("y")], vec![]);
    let events = stream(&core, &hi().await).await;
    assert_eq!(shown(&events), ["partial a", "partial b", "final hi|ab"]);
    assert_eq!(log.text(), "x:-/0 y:-/0 x:a/0 y:a/0 x:b/0 y:b/0 x:-/0 y:-/0 x:-/1 y:-/1");
}

#[tokio::test] // C-19
async fn events_have_these_shapes() {
    let partial = ProviderEvent::Partial(Partial::text("Hel"));
    let finals = ProviderEvent::FinalMessages(vec![item(json!({"say": "Hello"}))]);
    let partial_json =
        json!({"type": "partial", "message": {"role": "assistant", "content": "Hel"}});
    assert_eq!(json!(partial), partial_json);
    assert_eq!(json!(finals), json!({"type": "final_messages", "messages": [{"say": "Hello"}]}));
    for event in [partial, finals] {
        assert_eq!(serde_json::from_value::<ProviderEvent>(json!(event)).unwrap(), event);
    }

    let core = core_with(&scripted(&[&["Hel"]])).unwrap();
    let events = json!(stream(&core, &hi().await).await);
    assert_eq!(events[0], partial_json);
    assert_eq!(events[1]["type"], "final");
    assert_eq!(events[1]["messages"][0]["content"], "Hel");
    assert_eq!(events[1]["session"]["messages"][1]["content"], "Hel");
}

#[test] // C-20
fn the_blocking_form_gives_the_same_events_as_the_async_one() {
    let core = core_with(&scripted(&[&["a", "b"], &["a", "b"]])).unwrap();
    let blocking = Blocking::new(core.clone(), LocalExecutor);
    let session = blocking.run(hi());
    let expected = blocking.run(stream(&core, &session));
    let events: Vec<_> = blocking
        .send_request_stream(&session, &Config::empty(), RequestOptions::default())
        .map(Result::unwrap)
        .collect();
    assert_eq!(events.len(), 3);
    assert_eq!(events, expected);
}

#[tokio::test] // C-21
async fn finalise_receives_what_was_accumulated_while_streaming() {
    let log = Log::new();
    let seen = log.clone();
    let counter = ScriptedExtension::new("counter").process_chunk(|chunk, state| {
        let count = state.values.get("chunks").and_then(Value::as_u64).unwrap_or_default();
        chunk.state = StateChange::set("chunks", count + 1);
        Ok(())
    });
    let feature = ScriptedFeature::new("f").finalize(move |input, _| {
        let said: Vec<_> =
            input.native_messages.iter().filter_map(|item| item.get("say")).collect();
        seen.add(json!([said, input.state.values["chunks"]]).to_string());
        Ok(Default::default())
    });
    let core = core_of(scripted(&[&["a", "b"]]), vec![counter], vec![feature]);
    stream(&core, &hi().await).await;
    assert_eq!(log.text(), r#"[["hi","ab"],4]"#);
}

#[tokio::test] // C-22
async fn what_a_feature_puts_into_the_state_is_what_the_provider_sends() {
    let provider = scripted(&[&["one"], &["two"]]);
    let feature = |name: &'static str| {
        ScriptedFeature::new(name).initialize_request(move |input, _| {
            let before = input.state.request.get("by").and_then(Value::as_str).unwrap_or_default();
            Ok(RequestChange::state(StateChange::request("by", format!("{before}{name}"))))
        })
    };
    let core = core_of(provider.clone(), vec![], vec![feature("a"), feature("b")]);
    send(&core, &hi().await).await;
    stream(&core, &hi().await).await;
    for (_, state) in provider.requests() {
        assert_eq!(state.request["by"], "ab", "each feature sees the state the one before left");
    }
}

#[tokio::test] // C-23
async fn finals_that_finalise_adds_come_after_those_of_the_call() {
    let extra = vec![json!({"who": "assistant", "say": "P.S."})];
    let provider = scripted(&[&["a", "b"], &["a", "b"]]).extra_finals(extra);
    let core = core_with(&provider).unwrap();
    let sent = send(&core, &hi().await).await;
    assert_eq!(texts(&sent.session), "hi|ab|P.S.");
    assert_eq!(sent.messages.len(), 2);
    assert_eq!(sent.session.native().unwrap().items().len(), 3);
    let events = stream(&core, &hi().await).await;
    assert_eq!(shown(&events)[2], "final hi|ab|P.S.");
}

fn cancellable(id: &str) -> (CancelToken, RequestOptions) {
    let token = CancelToken::new();
    let options = RequestOptions {
        request_id: Some(id.to_owned()),
        cancellation: Some(Arc::new(token.clone())),
        ..Default::default()
    };
    (token, options)
}

#[tokio::test] // C-24
async fn cancelling_ends_a_slow_request_at_once_and_no_other() {
    let (gate, provider) = (Gate::new(), ScriptedProvider::default());
    for _ in 0..3 {
        provider.reply(ScriptedReply::text(&["slow"]).waiting_for(&gate));
    }
    let core = core_with(&provider).unwrap();
    let (session, config) = (hi().await, Config::empty());
    let (token, options) = cancellable("r1");
    let (kept, other) = cancellable("r2");
    let (called, blocking) = cancellable("r3");
    let mut slow = core.send_request_stream(&session, &config, options);
    let mut unaffected = core.send_request_stream(&session, &config, other);
    let mut sending = core.send_request(&session, &config, blocking).boxed();
    assert!(matches!(slow.next().await, Some(Ok(CoreEvent::Partial(_)))));
    assert!(matches!(unaffected.next().await, Some(Ok(CoreEvent::Partial(_)))));
    assert!(slow.next().now_or_never().is_none(), "held at the gate");
    assert!((&mut sending).now_or_never().is_none(), "held at the gate");

    provider.log().take();
    token.cancel();
    let error = slow.next().now_or_never().flatten().unwrap().unwrap_err();
    assert!(error.is_cancelled());
    assert!(slow.next().now_or_never().unwrap().is_none(), "an error is the end");
    called.cancel();
    assert!(sending.now_or_never().unwrap().unwrap_err().is_cancelled());
    assert_eq!(provider.log().text(), "cancel(r1) cancel(r3)");

    gate.open();
    assert!(matches!(unaffected.next().await, Some(Ok(CoreEvent::Final(_)))));
    kept.cancel();
    assert_eq!(provider.log().count("cancel(r2)"), 0, "a request that ended is not cancelled");
}

/// A provider that knows no request of any id.
fn forgetful() -> Over<ScriptedProvider> {
    Over::new(ScriptedProvider::default())
        .named("forgetful")
        .stream_api(|_, _, _| Some(futures::stream::pending().boxed()))
        .cancel_request(|input| Err(Error::not_found(format!("no request {}", input.request_id))))
}

#[tokio::test] // C-24
async fn a_provider_that_does_not_know_the_id_changes_nothing() {
    let core = core_of(forgetful(), vec![], vec![]);
    let (token, options) = cancellable("unknown");
    let mut events = core.send_request_stream(&hi().await, &Config::empty(), options);
    assert!(events.next().now_or_never().is_none());
    token.cancel();
    let error = events.next().now_or_never().flatten().unwrap().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
}
