//! After the model has answered: finalise hooks, response actions, and the request that an action
//! can have initialised for itself.

use futures::FutureExt;
use futures::executor::block_on;
use orlop_core::hooks::{FinalizeChange, FromNativeInput, RequestChange};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn says(texts: &[&str]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for text in texts {
        provider.reply(ScriptedReply::text(&[text]));
    }
    provider
}

fn core_of(provider: &ScriptedProvider, features: Vec<ScriptedFeature>) -> Core {
    let mut core = core_with(provider).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

async fn try_send(core: &Core, session: &Session) -> Result<Response> {
    core.send_request(session, &Config::empty(), RequestOptions::default()).await
}

async fn send(core: &Core, session: &Session) -> Response {
    try_send(core, session).await.unwrap()
}

fn said(item: &NativeItem) -> &str {
    item.get("say").and_then(Value::as_str).unwrap_or_default()
}

fn spoken<'a>(items: impl IntoIterator<Item = &'a NativeItem>) -> String {
    items.into_iter().map(said).collect::<Vec<_>>().join("|")
}

fn contents(messages: &[Message]) -> String {
    messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("|")
}

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

#[tokio::test] // E-16
async fn features_finalise_by_priority_each_after_the_other() {
    let shouting = |name: &'static str, priority| {
        ScriptedFeature::new(name).priority(priority).finalize(move |input, _| {
            let before = input.state.values.get("by").and_then(Value::as_str).unwrap_or_default();
            let last = input.native_messages.len() - 1;
            assert_eq!(input.final_messages.last(), input.native_messages.last());
            let changed =
                item("assistant", &format!("{}{name}", said(input.final_messages.get(0).unwrap())));
            Ok(FinalizeChange {
                final_messages: Change::Replace(vec![changed.clone()]),
                native_messages: Change::Edit(vec![Edit::Replace {
                    start: last,
                    end: last + 1,
                    items: vec![changed],
                }]),
                state: StateChange::set("by", format!("{before}{name}")),
            })
        })
    };
    let log = Log::new();
    let seen = log.clone();
    let watcher = ScriptedFeature::new("watcher").priority(900).finalize(move |input, _| {
        seen.add(format!("{}", input.state.values["by"]));
        Ok(FinalizeChange::default())
    });
    let features = vec![watcher, shouting("?", 200), shouting("!", 10)];
    let response = send(&core_of(&says(&["so"]), features), &asked("hi").await).await;
    assert_eq!(contents(&response.messages), "so!?");
    assert_eq!(spoken(response.session.native().unwrap().items()), "hi|so!?");
    assert_eq!(log.lines(), [r#""!?""#]);
}

#[tokio::test] // E-17
async fn finals_become_messages_through_provider_extensions_and_features() {
    let log = Log::new();
    let note = |name: &'static str| {
        let log = log.clone();
        move |input: &FromNativeInput, cx: &Context| {
            // Only the call for the finals of the turn has the state that finalise left.
            if let Some(mark) = input.state.values.get("mark") {
                log.add(format!("{name} {} {mark} {:?}", input.messages.len(), cx.request_id()));
            }
            let more = Message::assistant(name);
            let finals_only = input.state.values.contains_key("mark");
            Ok(if finals_only { Change::append(vec![more]) } else { Change::Keep })
        }
    };
    let extension = |name| {
        Arc::new(ScriptedExtension::new(name).from_native_messages(note(name)))
            as Arc<dyn Extension>
    };
    let feature = |name, priority| {
        ScriptedFeature::new(name).priority(priority).from_native_messages(note(name)).finalize(
            |_, _| {
                let state = StateChange::set("mark", 7);
                Ok(FinalizeChange { state, ..FinalizeChange::default() })
            },
        )
    };
    let mut core = Core::new();
    let extensions = vec![extension("x1"), extension("x2")];
    core.register_provider(Arc::new(says(&["answer"])), extensions).unwrap();
    core.register_feature(Arc::new(feature("late", 200))).unwrap();
    core.register_feature(Arc::new(feature("early", 10))).unwrap();
    let options = RequestOptions { request_id: Some("r1".into()), ..RequestOptions::default() };
    let response = core.send_request(&asked("hi").await, &Config::empty(), options).await.unwrap();
    assert_eq!(contents(&response.messages), "answer|x1|x2|early|late");
    let id = r#"Some("r1")"#;
    assert_eq!(
        log.lines(),
        [("x1", 1), ("x2", 2), ("early", 3), ("late", 4)]
            .map(|(name, before)| format!("{name} {before} 7 {id}"))
    );
}

#[test] // E-20
fn response_actions_see_the_answer_in_every_form() {
    let log = Log::new();
    let make_core = || {
        let seen = log.clone();
        let watcher = at_response("watcher", move |input, cx| {
            let response = cx.response().unwrap();
            assert_eq!(response.native_messages, input.native_messages);
            seen.add(format!(
                "{:?} {} {} {} stream:{} start:{}",
                cx.lifecycle().unwrap(),
                contents(&response.final_messages),
                spoken(&response.native_messages),
                spoken(&response.native_final_messages),
                cx.stream(),
                response.turn_native_start_index,
            ));
            let wire = cx.to_json();
            assert_eq!(wire["final_messages"][0]["content"], "one");
            assert_eq!(wire["native_final_messages"][0]["say"], "one");
            assert_eq!(wire["native_messages"][1]["say"], "one");
            assert_eq!(wire["turn_native_start_index"], 1);
            assert_eq!(wire["stream"], cx.stream());
            Ok(ActionResult::unchanged())
        });
        core_of(&says(&["one"]), vec![watcher])
    };
    let (session, config) = (block_on(asked("hi")), Config::empty());
    let options = RequestOptions::default;
    block_on(make_core().send_request(&session, &config, options())).unwrap();
    let blocking = Blocking::new(make_core(), LocalExecutor);
    blocking
        .send_request_stream(&session, &config, options())
        .for_each(|event| drop(event.unwrap()));
    let events = make_core().send_request_stream(&session, &config, options());
    block_on(futures::StreamExt::for_each(events, async |event| drop(event.unwrap())));
    let line = |stream| format!(r#""response_finalize" one hi|one one stream:{stream} start:1"#);
    assert_eq!(log.lines(), [line(false), line(true), line(true)]);
}

#[tokio::test] // E-32
async fn a_failure_after_the_answer_gives_no_final() {
    let failing = |hook: &'static str| {
        let fail = move || Error::plugin(format!("{hook} broke"));
        match hook {
            "finalize" => ScriptedFeature::new("f").finalize(move |_, _| Err(fail())),
            "from_native" => ScriptedFeature::new("f").from_native_messages(move |input, _| {
                let is_answer = input.native_messages.iter().any(|item| said(item) == "one");
                if is_answer { Err(fail()) } else { Ok(Change::Keep) }
            }),
            _ => at_response("f", move |_, _| Err(fail())),
        }
    };
    for hook in ["finalize", "from_native", "action"] {
        let (session, config) = (asked("hi").await, Config::empty());
        let core = core_of(&says(&["one"]), vec![failing(hook)]);
        let error = try_send(&core, &session).await.unwrap_err();
        assert_eq!(error.message(), format!("{hook} broke"));
        assert_eq!(error.plugin_name(), Some("f"));

        let core = core_of(&says(&["one"]), vec![failing(hook)]);
        let events = core.send_request_stream(&session, &config, RequestOptions::default());
        let events: Vec<_> = futures::StreamExt::collect(events).await;
        assert_eq!(events.len(), 2, "a partial and an error");
        assert!(matches!(&events[0], Ok(CoreEvent::Partial(_))));
        assert_eq!(events[1].as_ref().unwrap_err().message(), format!("{hook} broke"));
    }
}

#[tokio::test] // E-33, E-36
async fn an_action_sees_what_a_request_would() {
    let asking = ScriptedFeature::new("asking")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("look", "Look")]))
        .execute_action(|input, cx| {
            assert_eq!(
                cx.to_json()["request_runtime"],
                json!({"provider": "scripted", "features": ["system", "asking"]})
            );
            assert!(!input.state.request.contains_key("instructions"));
            let (native, state) = (input.native_messages.clone(), input.state.clone());
            let ready = cx.core().initialize_action_request(native, state, cx);
            let (native, state) = ready.now_or_never().unwrap().unwrap();
            let public = json!({"sees": state.request["instructions"], "native": spoken(&native)});
            Ok(ActionResult { public: map(public), ..ActionResult::default() })
        });
    let provider = ScriptedProvider::default();
    let core = core_of(&provider, vec![system_feature(), asking]);
    let call = ActionCall::new("asking", "look");
    let (session, config) = (asked("hi").await, Config::empty());
    let (after, result) = core
        .execute_session_action(&session, &config, call, &CallContext::default())
        .await
        .unwrap();
    assert_eq!(Value::Object(result), json!({"sees": "be kind", "native": "be kind|hi"}));
    assert_eq!(texts(&after), "hi", "looking changes nothing");
    let log = provider.log().lines();
    assert!(log.contains(&"scripted.initialize".to_owned()), "the provider takes part: {log:?}");
}

/// Asks for `initialize_action_request` with one argument replaced.
async fn initialised(core: &Core, replaced: &str, value: Value) -> Result<Value> {
    let mut args = map(json!({
        "native_messages": [{"who": "user", "say": "hi"}],
        "state": {"config": {}, "mine": 1},
        "request_runtime": {"provider": "scripted", "features": ["system"]},
        "request_context": {"config": {}},
    }));
    args.insert(replaced.to_owned(), value);
    core.invoke("initialize_action_request", args, &CallContext::default()).await
}

#[tokio::test] // E-33, E-34
async fn what_initialising_for_an_action_accepts() {
    let core = core_of(&ScriptedProvider::default(), vec![system_feature()]);
    let runtime = "request_runtime";
    for (argument, value, class) in [
        ("native_messages", json!({}), ErrorClass::WrongType),
        ("native_messages", json!("text"), ErrorClass::WrongType),
        ("state", json!([]), ErrorClass::WrongType),
        (runtime, json!("text"), ErrorClass::WrongType),
        ("request_context", json!(7), ErrorClass::WrongType),
        (runtime, json!({"features": []}), ErrorClass::BadArgument),
        (runtime, json!({"provider": null}), ErrorClass::BadArgument),
        (runtime, json!({"provider": "scripted", "features": "system"}), ErrorClass::WrongType),
        (runtime, json!({"provider": "scripted", "features": {}}), ErrorClass::WrongType),
    ] {
        let error = initialised(&core, argument, value.clone()).await.unwrap_err();
        assert_eq!(error.class(), class, "{argument}: {value}");
    }
    let with = json!({"provider": "scripted", "features": ["system"]});
    let ready = initialised(&core, runtime, with).await.unwrap();
    assert_eq!(ready[0][0]["say"], "be kind");
    assert_eq!(
        (&ready[1]["mine"], &ready[1]["request"]["instructions"]),
        (&json!(1), &json!("be kind"))
    );
    for without in
        [json!({"provider": "scripted"}), json!({"provider": "scripted", "features": []})]
    {
        let ready = initialised(&core, runtime, without).await.unwrap();
        assert_eq!(ready[0], json!([{"who": "user", "say": "hi"}]));
        assert_eq!(ready[1]["request"].get("instructions"), None);
    }
}

#[tokio::test] // E-35
async fn each_feature_finds_the_state_as_the_one_before_left_it() {
    let log = Log::new();
    let counting = |name: &'static str, priority| {
        let log = log.clone();
        ScriptedFeature::new(name).priority(priority).initialize_request(move |input, _| {
            let count = input.state.values.get("count").and_then(Value::as_u64).unwrap_or_default();
            log.add(format!("{name}:{count}"));
            // The whole state anew: nothing of the one before may shine through.
            let state = map(json!({"config": input.state.config, "count": count + 1, name: true}));
            Ok(RequestChange::state(StateChange::replace(state)))
        })
    };
    let features = vec![counting("c", 300), counting("a", 100), counting("b", 200)];
    let core = core_of(&ScriptedProvider::default(), features);
    let runtime = json!({"provider": "scripted", "features": ["a", "b", "c"]});
    let ready = initialised(&core, "request_runtime", runtime).await.unwrap();
    assert_eq!(log.lines(), ["a:0", "b:1", "c:2"]);
    assert_eq!(ready[1], json!({"config": {}, "request": {}, "count": 3, "c": true}));
}
