//! Tools that whoever sends a request runs itself, and conversations that it brings along.

use crate::common::doubles::*;
use crate::common::*;
use expect_test::{Expect, expect};
use orlop_app::*;
use orlop_core::types::app_event::CallerCall;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn tool(name: &str) -> Map {
    map(json!({ "type": "function", "function": { "name": name, "parameters": {} } }))
}

fn asking(text: &str, tools: &[&str]) -> ChatRequest {
    let caller_tools = tools.iter().copied().map(tool).collect();
    ChatRequest { caller_tools, ..chat_with("s", text, true) }
}

fn result(call: &str, text: &str) -> Message {
    Message::tool(text).with_metadata_entry("tool_call_id", call)
}

/// The calls that the last event hands over.
fn handed(events: &[Arc<Event>]) -> Vec<CallerCall> {
    match &events.last().unwrap().kind {
        EventKind::Final { caller_calls, .. } => caller_calls.clone(),
        other => panic!("{other:?}"),
    }
}

fn check_handed(events: &[Arc<Event>], expected: Expect) {
    let calls = handed(events).into_iter();
    let shown: Vec<String> =
        calls.map(|call| format!("{} {}{}", call.call_id, call.name, call.input)).collect();
    expected.assert_eq(&shown.join(", "));
}

#[tokio::test]
async fn a_call_of_the_callers_tool_ends_the_request_and_its_result_continues() {
    let scene = Scene::default().tool(echo("own"));
    let calls = [
        ("a", "theirs", json!({ "x": 1 })),
        ("b", "own", json!({ "y": 2 })),
        ("c", "theirs", json!({})),
    ];
    scene.provider.reply(ScriptedReply::calls(&calls)).reply(ScriptedReply::text(&["thanks"]));
    let (host, _) = open_door(&scene).await;

    let events = chat_to_end(&host, asking("go", &["theirs"])).await;
    expect!["session_created request_started tool_call tool_result final"]
        .assert_eq(&names(&events));
    check_handed(&events, expect![[r#"a theirs{"x":1}, c theirs{}"#]]);
    assert_eq!(said(host.app(), "s").await, r#"go||{"y":2}"#);

    let history = vec![result("a", "one"), result("c", "two")];
    let next = ChatRequest { history, ..asking("", &["theirs"]) };
    let events = chat_to_end(&host, next).await;
    check_handed(&events, expect![""]);
    assert_eq!(said(host.app(), "s").await, r#"go||{"y":2}|one|two|thanks"#);
    assert_eq!(scene.provider.last_request(), r#"go||{"y":2}|one|two"#);
}

#[tokio::test]
async fn the_model_sees_both_and_the_callers_take_the_place_of_others() {
    let seen = Log::new();
    let log = seen.clone();
    let looks = ScriptedFeature::new("looks").initialize_request(move |_, cx| {
        let tools = cx.tools().iter();
        let named = tools.map(|tool| format!("{} of {}", tool.name().unwrap(), tool.plugin));
        log.add(named.collect::<Vec<_>>().join(", "));
        Ok(Default::default())
    });
    let scene = Scene::default().tool(echo("own")).tool(echo("shared")).feature(looks);
    scene.provider.reply(ScriptedReply::calls(&[("a", "shared", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["later"]));
    let (host, _) = open_door(&scene).await;
    let events = chat_to_end(&host, asking("go", &["shared", "new"])).await;
    check_handed(&events, expect!["a shared{}"]);
    // It holds for one request.
    chat_to_end(&host, asking("go on", &[])).await;
    expect![[r#"
        own of own, shared of caller, new of caller
        own of own, shared of shared"#]]
    .assert_eq(&seen.lines().join("\n"));
}

#[tokio::test]
async fn calls_that_nobody_ran_are_closed_before_the_conversation_goes_on() {
    let scene = Scene::default();
    let calls = [("a", "theirs", json!({})), ("b", "theirs", json!({}))];
    scene.provider.reply(ScriptedReply::calls(&calls)).reply(ScriptedReply::text(&["fine"]));
    let (host, _) = open_door(&scene).await;
    chat_to_end(&host, asking("go", &["theirs"])).await;
    let next = ChatRequest { history: vec![result("b", "two")], ..asking("never mind", &[]) };
    chat_to_end(&host, next).await;
    assert_eq!(scene.provider.last_request(), "go||two|Error: nobody ran this call|never mind");
}

#[tokio::test]
async fn a_turn_that_is_cancelled_hands_nothing_over() {
    let (stop, log) = (Stop::default(), Log::new());
    let mut scene = Scene::default();
    scene.plugins = scene.plugins.tool(Arc::new(stopping("own", json!({}), &stop, &log)));
    let calls = [("a", "theirs", json!({})), ("b", "own", json!({}))];
    scene.provider.reply(ScriptedReply::calls(&calls));
    let (host, _) = open_door(&scene).await;
    let chat = host.chat(asking("go", &["theirs"])).await.unwrap();
    stop.reached_by(1).await;
    host.app().cancel_request(&chat.request_id, "enough").await.unwrap();
    chat.ended().await;
    let session = host.app().session("s").await.unwrap().session;
    let results = session.messages().iter().filter(|message| message.role() == Role::Tool);
    let ids: Vec<_> = results.map(|message| message.metadata()["tool_call_id"].clone()).collect();
    assert_eq!(ids, ["b", "a"], "{}", texts(&session));
}

#[tokio::test]
async fn a_conversation_of_the_caller_is_heard_and_not_kept() {
    let scene = Scene::says(&["third"]);
    let (host, _) = open_door(&scene).await;
    let history = vec![Message::system("be brief"), Message::user("1"), Message::assistant("2")];
    let request = ChatRequest {
        history,
        instructions: Some("in rhymes".to_owned()),
        persist: Some(false),
        ..asking("3", &[])
    };
    let events = chat_to_end(&host, request).await;
    expect!["request_started partial final"].assert_eq(&names(&events));
    assert_eq!(scene.provider.last_request(), "be brief|1|2|in rhymes|3");
    assert!(host.app().load_session("s").await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_that_somebody_went_on_with_is_a_conflict() {
    let scene = Scene::says(&["one", "two"]);
    let (host, _) = open_door(&scene).await;
    let at = |length, text| ChatRequest { at_length: Some(length), ..chat_with("s", text, true) };
    chat_to_end(&host, at(0, "a")).await;
    let error = host.chat(at(0, "b")).await.err().unwrap();
    assert_eq!(error.class(), ErrorClass::Conflict);
    chat_to_end(&host, at(2, "b")).await;
    assert_eq!(said(host.app(), "s").await, "a|one|b|two");
}
