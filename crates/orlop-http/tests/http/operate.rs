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
