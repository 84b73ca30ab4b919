//! What operators see: the document of the API, and the numbers.

use crate::common::*;
use crate::site::*;
use orlop_core::Error;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};

/// Every reference of a document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => found.push(reference),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test] // K-09
async fn the_document_and_the_routes_agree() {
    let site = Site::open(&Scene::default()).await;
    let (_, document) = site.get("//openapi.json").await;
    let mut operations = 0;
    let mut ids = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "patch", "delete", "put"] {
            let filled = path.replace("{index}", "0").replace(['{', '}'], "");
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            // What a stream answers with does not end; its head is enough.
            let request = site.request(verb, &format!("/{filled}"));
            let status = request.send().await.unwrap().status().as_u16();
            match methods.get(method) {
                Some(operation) => {
                    operations += 1;
                    ids.push(operation["operationId"].as_str().unwrap().to_owned());
                    assert_ne!(status, 405, "{method} {path}");
                    let known = operation["responses"].as_object().unwrap();
                    assert!(known.contains_key(&status.to_string()), "{method} {path} {status}");
                }
                None => assert_eq!(status, 405, "{method} {path}"),
            }
        }
    }
    assert_eq!(operations, 73);
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "every operation has an id of its own");
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100);
    for reference in found {
        let target = document.pointer(reference.strip_prefix('#').unwrap());
        assert!(target.is_some(), "{reference}");
    }
    // Headers that are read and sent, and who may ask: here everybody.
    let of = |path: &str, method: &str| document["paths"][path][method].to_string();
    let events = of("/api/v1/requests/{request}/events", "get");
    assert!(
        events.contains("Last-Event-ID") && events.contains("parameters/RequestId"),
        "{events}"
    );
    let refused = document["components"]["responses"]["Problem"]["headers"].to_string();
    assert!(refused.contains("Retry-After") && refused.contains("x-request-id"), "{refused}");
    assert!(!of("/api/v1/sessions", "post").contains("security"));
    let settings = orlop_http::Settings {
        tokens: vec![token("t", "a", "u", orlop_http::Right::Read)],
        ..Default::default()
    };
    let guarded = Site::with(&Scene::default(), settings).await.get("//openapi.json").await.1;
    let security = |path: &str, method: &str| guarded["paths"][path][method]["security"].clone();
    assert_eq!(security("/api/v1/sessions", "post"), json!([{ "token": ["chat"] }]));
    assert_eq!(security("/v1/models", "get"), json!([{ "token": ["read"] }]));
    assert_eq!(security("/healthz", "get"), Value::Null);
    let event = &document["components"]["schemas"]["Event"];
    assert!(event.to_string().contains("approval_requested"));
    let body = &document["paths"]["/api/v1/sessions/{id}/requests"]["post"]["requestBody"];
    assert!(body.to_string().contains("NewRequest"));
}

#[tokio::test]
async fn numbers_tell_what_happened() {
    let broken =
        ScriptedHost::new("broken").on_request_start(|_, _| async { Err(Error::bad_state("oh")) });
    let scene = Scene::default().host(broken).tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
    let usage = json!({ "input_tokens": 7, "output_tokens": 3 });
    let said = json!({ "who": "assistant", "say": "ok", "_metadata": { "usage": usage } });
    scene.provider.reply(ScriptedReply::items(vec![said]));
    scene.provider.reply(ScriptedReply::default().failing(Error::provider("down")));
    let site = Site::open(&scene).await;
    site.session("s").await;
    site.say("s", "hi").await;
    site.say("s", "hi").await;
    let (_, text) = site.get("//metrics").await;
    let text = text.as_str().unwrap();
    for line in [
        "orlop_turns_total{agent=\"default\",outcome=\"completed\"} 1",
        "orlop_turns_total{agent=\"default\",outcome=\"failed\"} 1",
        "orlop_turn_seconds_count 2",
        "orlop_tool_calls_total{tool=\"read\"} 1",
        "orlop_plugin_errors_total{plugin=\"broken\",hook=\"on_request_start\"} 2",
        "orlop_tokens_total{agent=\"default\",model=\"scripted/m\",kind=\"input_tokens\"} 7",
        "orlop_http_requests_total{method=\"POST\",route=\"/api/v1/sessions/{id}/requests\",status=\"502\"} 1",
        "orlop_turns_running 0",
        "orlop_queue_length 0",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn logs_carry_the_id_of_the_request_and_no_secrets() {
    orlop_testkit::logged();
    let site = Site::open(&Scene::default()).await;
    let request = site.request(Method::GET, "/sessions/nope?last=1");
    let request = request.header("x-request-id", "my-id");
    request.header("authorization", "Bearer very-secret").send().await.unwrap();
    let log = orlop_testkit::logged();
    let line = log.lines().find(|line| line.contains("my-id") && line.contains("answered"));
    let line = line.unwrap();
    assert!(line.contains("status=404") && line.contains("/api/v1/sessions/{id}"), "{line}");
    assert!(!log.contains("very-secret"));
}

#[tokio::test]
async fn what_fails_inside_of_a_turn_is_logged_with_its_id() {
    orlop_testkit::logged();
    let torn = ScriptedHost::new("torn")
        .on_request_start(|_, _| async { Err(Error::bad_state("early")) })
        .before_tool_call(|_, _| async { Err(Error::bad_state("within")) })
        .on_turn_persisted(|_, _| async { Err(Error::bad_state("late")) });
    let scene = Scene::default().host(torn).tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["ok"]));
    let mut site = Site::open(&scene).await;
    site.session("of-the-log").await;
    let body = json!({ "content": "hi", "stream": false, "request_id": "turn-of-the-log" });
    assert_eq!(site.post("/sessions/of-the-log/requests", body).await.0, 200);
    // What follows a turn has run when the server has ended.
    site.close().await;
    let log = orlop_testkit::logged();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("\"turn-of-the-log\"")).collect();
    for (what, words) in [
        ("the request", ["answered", "status=200"]),
        ("before the turn", ["a host plugin failed", "early"]),
        ("in the turn", ["a host plugin failed", "within"]),
        ("at its end", ["a host plugin failed", "late"]),
    ] {
        let is_it = |line: &&&str| words.iter().all(|word| line.contains(word));
        assert_eq!(lines.iter().filter(is_it).count(), 1, "{what}\n{log}");
    }
    let within = lines.iter().find(|line| line.contains("within")).unwrap();
    assert!(within.contains("session_id=\"of-the-log\""), "{within}");
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_browsers_from_harm() {
    let site = Site::open(&Scene::says(&["hello"])).await;
    site.session("s").await;
    let turn = json!({ "content": "hi" }).to_string();
    for (method, path, body, status) in [
        ("GET", "//", "", 200),
        ("GET", "//assets/none.js", "", 404),
        ("GET", "//healthz", "", 200),
        ("GET", "//metrics", "", 200),
        ("GET", "//openapi.json", "", 200),
        ("GET", "/sessions", "", 200),
        ("GET", "/sessions/none", "", 404),
        ("GET", "//nowhere", "", 404),
        ("PUT", "/sessions", "", 405),
        ("POST", "/sessions", "nonsense", 400),
        ("DELETE", "/sessions/none", "", 404),
        ("GET", "/events", "", 200),
        ("POST", "/sessions/s/requests", turn.as_str(), 200),
        ("GET", "//v1/models", "", 200),
        ("GET", "//v1/responses/none", "", 404),
    ] {
        let request = site.request(method.parse().unwrap(), path);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{method} {path}");
        let headers = response.headers();
        let is = |name: &str, value: &str| {
            let given = headers.get(name).map(|it| it.to_str().unwrap());
            assert_eq!(given, Some(value), "{name} of {method} {path}");
        };
        is("x-content-type-options", "nosniff");
        is("x-frame-options", "DENY");
        is("referrer-policy", "no-referrer");
        is("cross-origin-resource-policy", "same-origin");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'"), "{method} {path} {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert!(headers.contains_key("cache-control") && headers.contains_key("x-request-id"));
    }
}
