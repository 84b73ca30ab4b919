//! Host plugins around requests over HTTP: the same table as for the front door itself, by every
//! route that begins a request.

use crate::common::recorders::*;
use crate::common::*;
use crate::site::*;
use expect_test::expect;
use orlop_testkit::scripted::*;
use reqwest::{Method, Response};
use serde_json::json;

/// A route that begins a request; whether it stores it, and how an answer tells its end.
struct Entry {
    path: &'static str,
    is_stored: bool,
    end: fn(&str) -> &'static str,
}

const ENTRIES: [Entry; 3] = [
    Entry {
        path: "/sessions/s/requests",
        is_stored: true,
        end: |told| match told {
            _ if told.contains("\"error_type\":\"bad_argument\"") => "bad_argument",
            _ if told.contains("\"error_type\":\"provider\"") => "request_failed",
            _ if told.contains("event: request_failed") => "request_failed",
            _ if told.contains("event: final") || told.contains("\"usage\"") => "final",
            _ => "nothing",
        },
    },
    Entry { path: "//v1/chat/completions", is_stored: false, end: openai_end },
    Entry { path: "//v1/responses", is_stored: true, end: openai_end },
];

fn openai_end(told: &str) -> &'static str {
    match told {
        _ if told.contains("\"type\":\"invalid_request_error\"") => "bad_argument",
        _ if told.contains("\"type\":\"server_error\"") => "request_failed",
        _ if told.contains("response.failed") => "request_failed",
        _ if told.contains("response.completed") || told.contains("[DONE]") => "final",
        _ if told.contains("\"usage\"") => "final",
        _ => "nothing",
    }
}

/// A body that each of the routes takes.
async fn send(site: &Site, path: &str, says: &str, stream: bool) -> Response {
    let body = match path.starts_with("//v1") {
        false => json!({ "content": says, "stream": stream }),
        true => json!({
            "model": "default", "stream": stream, "input": says,
            "messages": [{ "role": "user", "content": says }],
        }),
    };
    site.send(Method::POST, path, body).await
}

#[tokio::test] // L-01, L-04, L-07, L-08, L-09, L-10, L-11, L-16, L-17, L-18, L-23
async fn each_request_has_its_hooks_by_every_route() {
    for row in table() {
        for (entry, stream) in ENTRIES.iter().flat_map(|it| [(it, false), (it, true)]) {
            let log = Log::new();
            let mut site = Site::open(&row.scene(&log)).await;
            site.session("s").await;
            log.take();
            let response = send(&site, entry.path, row.says, stream).await;
            let told = response.text().await.unwrap();
            // Ending waits for what belongs to the request.
            site.close().await;
            row.check(entry.path, &log, (entry.end)(&told), entry.is_stored);
        }
    }
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
        let request = site.request(Method::POST, "/sessions/s/requests");
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
