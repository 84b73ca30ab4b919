//! Turns from the user's message to the settled outcome.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::*;
use orlop_app::*;
use orlop_testkit::scripted::*;
use serde_json::json;

#[tokio::test] // I-13, I-15, I-23
async fn a_request_streams_and_is_stored_before_it_ends() {
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["Hel", "lo"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    assert_eq!(names(&events), "session_created request_started partial final");
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert_eq!(said(&app, "s").await, "hi|Hello");
    let EventKind::Final { messages, session, .. } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(messages[0].text(), "Hello");
    assert_eq!((session.message_count, session.title.as_deref()), (2, Some("hi")));
}

#[tokio::test] // I-16, I-17, I-18
async fn tools_run_between_model_calls() {
    let scene = Scene::default().tool(echo("read"));
    scene
        .provider
        .reply(ScriptedReply::calls(&[
            ("c1", "read", json!({"n": 1})),
            ("c2", "read", json!({"n": 2})),
        ]))
        .reply(ScriptedReply::text(&["done"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(
        names(&events),
        "session_created request_started tool_call tool_result partial final"
    );
    assert_eq!(said(&app, "s").await, r#"go||{"n":1}|{"n":2}|done"#);
    assert_eq!(scene.provider.requests().len(), 2);
}
