//! Host plugins around requests over HTTP: the same table as for the front door itself.

use crate::common::recorders::*;
use crate::common::*;
use crate::site::*;
use expect_test::{Expect, expect};
use orlop_core::Error;
use orlop_testkit::scripted::*;
use serde_json::{Value, json};

/// The same for a request as a whole and for one as events.
async fn check(replies: &[ScriptedReply], body: Value, expected: Expect) {
    for stream in [false, true] {
        let log = Log::new();
        let scene = three(&log);
        for reply in replies {
            scene.provider.reply(reply.clone());
        }
        let mut site = Site::open(&scene).await;
        site.session("s").await;
        log.take();
        let mut body = body.clone();
        body["stream"] = stream.into();
        let response = site.send(reqwest::Method::POST, "/sessions/s/requests", body).await;
        let end = match (response.status().as_u16(), stream) {
            (200, true) => Sse::of(response).rest().await.last().unwrap().event.clone(),
            (200, false) => "final".to_owned(),
            (502, false) => "request_failed".to_owned(),
            _ => answer(response).await.1["error_type"].as_str().unwrap().to_owned(),
        };
        // Ending waits for what belongs to the request.
        site.close().await;
        let told = told(&log);
        let told = told.strip_suffix("\nstop b a c").unwrap_or(&told);
        expected.assert_eq(&format!("{told}\n-> {end}"));
    }
}

#[tokio::test] // L-01, L-04, L-09, L-16, L-17, L-18, L-23
async fn hooks_run_outside_and_lifecycles_inside() {
    check(
        &[ScriptedReply::text(&["ok"])],
        json!({ "content": "hi" }),
        expect![[r#"
            on_request_start c a b
            intercept c a b
            lifecycle request_prepare
            context c a b
            model
            lifecycle request_complete
            on_turn_persisted c a b
            on_request_end c a b
            -> final"#]],
    )
    .await;
}

#[tokio::test] // L-01, L-11, L-23
async fn tool_calls_have_hooks_of_their_own() {
    check(
        &[ScriptedReply::calls(&[("c1", "read", json!({"n": 1}))]), ScriptedReply::text(&["ok"])],
        json!({ "content": "hi" }),
        expect![[r#"
            on_request_start c a b
            intercept c a b
            lifecycle request_prepare
            context c a b
            model
            before_tool c a b
            after_tool c a b
            context c a b
            model
            lifecycle request_complete
            on_turn_persisted c a b
            on_request_end c a b
            -> final"#]],
    )
    .await;
}

#[tokio::test] // L-07, L-08, L-10, L-17, L-18
async fn the_first_interceptor_that_answers_ends_the_matter() {
    check(
        &[],
        json!({ "content": "/a" }),
        expect![[r#"
            on_request_start c a b
            intercept c a
            on_request_end c a b
            -> final"#]],
    )
    .await;
}

#[tokio::test] // L-17, L-18
async fn a_failed_request_has_the_same_frame() {
    check(
        &[ScriptedReply::default().failing(Error::provider("down"))],
        json!({ "content": "hi" }),
        expect![[r#"
            on_request_start c a b
            intercept c a b
            lifecycle request_prepare
            context c a b
            model
            lifecycle request_error
            on_turn_persisted c a b
            on_request_end c a b
            -> request_failed"#]],
    )
    .await;
}

#[tokio::test] // L-17, L-18
async fn a_request_that_cannot_begin_ends_too() {
    check(
        &[],
        json!({ "content": " " }),
        expect![[r#"
            on_request_start c a b
            intercept c a b
            on_request_end c a b
            -> bad_argument"#]],
    )
    .await;
}

#[tokio::test] // L-10, L-19, L-20
async fn hooks_are_told_who_asks_and_how() {
    let log = Log::new();
    let heard = log.clone();
    let plugin = ScriptedHost::new("ear")
        .on_request_start(move |info, _| {
            heard.add(serde_json::to_string(&info).unwrap());
            async { Ok(()) }
        })
        .intercept_chat_request(|input, _| async move {
            assert_eq!(input.headers.get("authorization"), None);
            let words = input.headers["x-colour"].as_str().unwrap().to_owned();
            Ok(Some(orlop_core::hooks::Handled::text(words).into()))
        });
    let settings = orlop_http::Settings {
        tokens: vec![token("t", "acme", "ana", orlop_http::Right::Chat)],
        ..Default::default()
    };
    let mut site = Site::with(&Scene::default().host(plugin), settings).await;
    site.token("t");
    site.session("s").await;
    for stream in [false, true] {
        let request = site.request(reqwest::Method::POST, "/sessions/s/requests");
        let request = request.header("content-type", "application/json").header("x-colour", "red");
        let body = json!({ "content": "hi", "stream": stream, "request_id": format!("r{stream}") });
        let response = request.body(body.to_string()).send().await.unwrap();
        let text = response.text().await.unwrap();
        assert!(text.contains("red"), "{text}");
    }
    expect![[r#"
        {"kind":"chat","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"default","request_id":"rfalse"}
        {"kind":"stream","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"default","request_id":"rtrue"}"#]]
    .assert_eq(&log.lines().join("\n"));
}
