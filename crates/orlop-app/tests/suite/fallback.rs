//! Fallback models: which failures lead to the next one, what is told, and what stays.

use crate::common::*;
use expect_test::{Expect, expect};
use orlop_app::store::{Acquired, CallsWrite, Commit, TurnWrite};
use orlop_app::turn::machine::{Again, Phase, Turn};
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const CONFIG: &str = r#"
[agents.default]
provider = "scripted"
model = "m"
api_key = "sk-first"
fallback = ["n", { provider = "second", model = "o" }]
"#;

struct Two {
    scene: Scene,
    first: ScriptedProvider,
    second: ScriptedProvider,
}

fn two() -> Two {
    let scene = Scene::default().config(CONFIG);
    let (first, second) = (scene.provider.clone(), ScriptedProvider::new("second"));
    let plugins = scene.plugins.clone().provider(Arc::new(second.clone()), vec![]);
    Two { scene: Scene { plugins, ..scene }, first, second }
}

fn busy() -> ScriptedReply {
    let error = Error::provider("busy").with_retryable(true);
    ScriptedReply::default().failing(error.with_provider_body(Some(429), "{}"))
}

fn answering(status: u16) -> ScriptedReply {
    let error = Error::provider(format!("answered {status}"));
    ScriptedReply::default().failing(error.with_provider_body(Some(status), "{}"))
}

/// Events with what they say of models, one a line.
fn told(events: &[Arc<Event>]) -> String {
    let line = |event: &Arc<Event>| match &event.kind {
        EventKind::ModelFallback { from, to, error } => {
            format!("{from} -> {to}: {}", error["message"].as_str().unwrap())
        }
        EventKind::Final { model, .. } => format!("final of {}", model.as_ref().unwrap()),
        EventKind::RequestFailed { error } => {
            format!("failed: {} {} {}", error["type"], error["retryable"], error["message"])
        }
        kind => kind.name().to_owned(),
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn check(two: &Two, expected: Expect) -> Application {
    let app = two.scene.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    expected.assert_eq(&told(&events));
    app
}

#[tokio::test]
async fn a_model_that_is_busy_leaves_the_answer_to_the_next() {
    for (stream, hook) in [(true, "stream_api"), (false, "call_api")] {
        let two = two();
        two.first.reply(busy()).reply(busy());
        two.second.reply(ScriptedReply::items(vec![json!({"who": "assistant", "say": "hello"})]));
        let app = two.scene.start().await;
        let events = events_of(&app, Request { stream, ..ask("s", "hi") }).await;
        expect![[r#"
            session_created
            request_started
            scripted/m -> scripted/n: busy (plugin "scripted", hook HOOK)
            scripted/n -> second/o: busy (plugin "scripted", hook HOOK)
            final of second/o"#]]
        .assert_eq(&told(&events).replace(hook, "HOOK"));
        assert_eq!(said(&app, "s").await, "hi|hello");
        // The key of the first provider is not for the second.
        let sent = two.second.requests();
        assert_eq!(sent[0].1.config.text("api_key"), None);
        assert_eq!(two.first.requests()[1].1.config.text("api_key"), Some("sk-first"));
    }
}

#[tokio::test]
async fn a_key_or_a_model_that_is_refused_leads_on_and_a_bad_request_does_not() {
    for (status, goes_on) in [
        (401, true),
        (402, true),
        (403, true),
        (404, true),
        (400, false),
        (413, false),
        (422, false),
    ] {
        let two = two();
        two.first.reply(answering(status)).reply(ScriptedReply::text(&["ok"]));
        let app = two.scene.start().await;
        let events = events_of(&app, ask("s", "hi")).await;
        let fell = events.iter().any(|event| event.kind.name() == "model_fallback");
        assert_eq!(fell, goes_on, "{status}: {}", told(&events));
    }
    let lost = two();
    lost.first.reply(ScriptedReply::default().failing(Error::not_found("there is no such file")));
    lost.first.reply(ScriptedReply::text(&["ok"]));
    let events = events_of(&lost.scene.start().await, ask("s", "hi")).await;
    assert!(told(&events).ends_with("final of scripted/n"), "{}", told(&events));
    // A plugin that fails is no reason to ask another model.
    let broken = ScriptedFeature::new("broken")
        .initialize_request(|_, _| Err(Error::unavailable("no index")));
    let mut two = two();
    two.scene = two.scene.feature(broken);
    check(
        &two,
        expect![[r#"
            session_created
            request_started
            failed: "unavailable" true "no index (plugin \"broken\", hook initialize_request)""#]],
    )
    .await;
}

#[tokio::test]
async fn that_a_request_was_sent_again_is_no_output() {
    let two = two();
    let retry = Map::from_iter([("retry".to_owned(), json!({"attempt": 1}))]);
    let waiting = Partial { metadata: Some(Box::new(retry)), ..Partial::text("") };
    two.first.reply(busy().with_partial(waiting)).reply(ScriptedReply::text(&["x"]));
    check(
        &two,
        expect![[r#"
            session_created
            request_started
            partial
            scripted/m -> scripted/n: busy (plugin "scripted", hook stream_api)
            partial
            final of scripted/n"#]],
    )
    .await;
}

#[tokio::test]
async fn once_something_was_shown_the_failure_stands() {
    let two = two();
    let error = Error::provider("broke off").with_retryable(true);
    two.first.reply(ScriptedReply::text(&["Hel"]).failing(error));
    check(
        &two,
        expect![[r#"
            session_created
            request_started
            partial
            failed: "provider" true "broke off (plugin \"scripted\", hook stream_api)""#]],
    )
    .await;
}

#[tokio::test]
async fn if_all_fail_the_last_error_names_the_others_and_history_stays() {
    let two = two();
    two.first.reply(ScriptedReply::text(&["one"]));
    let app = two.scene.start().await;
    talk(&app, "s", "first").await;
    let native = |session: &Session| {
        let native = session.native().unwrap();
        (native.format().map(str::to_owned), native.items().len())
    };
    let before = native(&app.session("s").await.unwrap().session);
    two.first.reply(busy()).reply(answering(401));
    two.second.reply(busy());
    let events = events_of(&app, ask("s", "hi")).await;
    expect![[r#"
        request_started
        scripted/m -> scripted/n: busy (plugin "scripted", hook stream_api)
        scripted/n -> second/o: answered 401 (plugin "scripted", hook stream_api)
        failed: "provider" true "busy (plugin \"second\", hook stream_api) (other models failed before: scripted/m: busy (plugin \"scripted\", hook stream_api); scripted/n: answered 401 (plugin \"scripted\", hook stream_api))""#]]
    .assert_eq(&told(&events));
    let after = native(&app.session("s").await.unwrap().session);
    // The user's message came to it, in the form it was in.
    assert_eq!((after.0, after.1), (before.0, before.1 + 1));
    two.first.reply(ScriptedReply::text(&["back"]));
    talk(&app, "s", "again").await;
    assert_eq!(two.first.last_request(), "first|one|hi|again");
}

#[tokio::test]
async fn the_choice_holds_for_the_steps_of_the_turn() {
    let mut two = two();
    let tool = ScriptedTool::new("echo")
        .execute_tool(|input, _| Ok(ToolReport::ok(input.payload.to_string())));
    two.scene = two.scene.tool(tool);
    two.first.reply(busy()).reply(busy());
    two.second.reply(ScriptedReply::calls(&[("c", "echo", json!({}))]));
    two.second.reply(ScriptedReply::items(vec![json!({"who": "assistant", "say": "done"})]));
    let app = check(
        &two,
        expect![[r#"
            session_created
            request_started
            scripted/m -> scripted/n: busy (plugin "scripted", hook stream_api)
            scripted/n -> second/o: busy (plugin "scripted", hook stream_api)
            tool_call
            tool_result
            final of second/o"#]],
    )
    .await;
    assert_eq!((two.first.requests().len(), two.second.requests().len()), (2, 2));
    let turns = app.store().turns(app.scope(), Some("s"), 1).await.unwrap();
    let trace = app.trace(&turns[0].request).await.unwrap();
    let calls: Vec<String> = trace
        .iter()
        .filter(|entry| entry["kind"] == "model_call")
        .map(|entry| format!("{} {}", entry["detail"], entry["outcome"]))
        .collect();
    expect![[r#"
        {"step":0,"provider":"scripted","model":"m"} "error"
        {"step":0,"provider":"scripted","model":"n"} "error"
        {"step":0,"provider":"second","model":"o","usage":{}} "ok"
        {"step":1,"provider":"second","model":"o","usage":{}} "ok""#]]
    .assert_eq(&calls.join("\n"));
    // The next turn begins with the agent's own model.
    two.first.reply(ScriptedReply::text(&["me again"]));
    talk(&app, "s", "more").await;
    assert_eq!(two.first.requests().len(), 3);
}

#[tokio::test]
async fn a_model_that_fails_later_goes_round_to_the_first() {
    let mut two = two();
    let tool = ScriptedTool::new("echo")
        .execute_tool(|input, _| Ok(ToolReport::ok(input.payload.to_string())));
    two.scene = two.scene.tool(tool);
    two.first.reply(busy()).reply(busy());
    two.second.reply(ScriptedReply::calls(&[("c", "echo", json!({}))])).reply(busy());
    two.first.reply(ScriptedReply::items(vec![json!({"who": "assistant", "say": "done"})]));
    check(
        &two,
        expect![[r#"
            session_created
            request_started
            scripted/m -> scripted/n: busy (plugin "scripted", hook stream_api)
            scripted/n -> second/o: busy (plugin "scripted", hook stream_api)
            tool_call
            tool_result
            second/o -> scripted/m: busy (plugin "second", hook stream_api)
            final of scripted/m"#]],
    )
    .await;
}

#[tokio::test]
async fn a_turn_that_was_cut_off_goes_on_with_the_model_it_had() {
    let two = two();
    let app = two.scene.start().await;
    app.create_session(NewSession { id: Some("s".to_owned()), ..NewSession::default() })
        .await
        .unwrap();
    app.add_message("s", Message::user("hi"), None).await.unwrap();
    let turn = Turn {
        agent: "default".to_owned(),
        overrides: Map::new(),
        context: Map::new(),
        asked: None,
        preface: Vec::new(),
        instructions: None,
        stream: true,
        approval: Approval::Wait,
        first_message: 0,
        step: 0,
        max_steps: 5,
        usage: Map::new(),
        caller_tools: Vec::new(),
        tool_calls_left: None,
        caller_calls: Vec::new(),
        again: Again { model: 2, ..Again::default() },
        phase: Phase::Model,
    };
    let (scope, time) = (Scope::local(), Duration::from_secs(60));
    let acquired = two.scene.store.acquire(&scope, "s", "dead", time).await.unwrap();
    let Acquired::Lease(lease) = acquired else { panic!("{acquired:?}") };
    let mut commit = Commit::new(lease.clone());
    let state = serde_json::to_value(turn).unwrap();
    let (request, calls) = ("r".to_owned(), CallsWrite::default());
    commit.turn = Some(TurnWrite { request, new: true, state, calls, settled: false });
    two.scene.store.commit(&scope, commit).await.unwrap();
    two.scene.store.release(&scope, &lease).await.unwrap();

    two.second.reply(ScriptedReply::text(&["here"]));
    assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 1);
    let joined = app
        .send_request(Request { request_id: Some("r".to_owned()), ..ask("s", "hi") })
        .await
        .unwrap();
    joined.finish().await.unwrap();
    assert_eq!((two.first.requests().len(), two.second.requests().len()), (0, 1));
}

#[tokio::test]
async fn a_request_may_bring_its_own_and_is_told_what_is_wrong_with_them() {
    let two = two();
    let app = two.scene.start().await;
    let with = |fallback: Value| Request {
        overrides: Map::from_iter([("fallback".to_owned(), fallback)]),
        ..ask("s", "hi")
    };
    two.first.reply(busy()).reply(ScriptedReply::text(&["x"]));
    let events = events_of(&app, with(json!(["special"]))).await;
    assert!(told(&events).ends_with("final of scripted/special"), "{}", told(&events));
    let refused = |fallback: Value| async {
        let sent = app.send_request(with(fallback)).await;
        format!("{:?}", sent.err().unwrap())
    };
    expect![[r#"bad_argument: fallback[0].provider: there is no provider "third"; known: scripted, second"#]]
        .assert_eq(&refused(json!([{"provider": "third"}])).await);
    expect!["wrong_type: fallback must be a list of models"].assert_eq(&refused(json!("n")).await);
}
