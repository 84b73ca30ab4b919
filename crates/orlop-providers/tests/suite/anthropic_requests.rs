//! What `anthropic` sends, seen from the server, and what it makes of answers that are none.

use expect_test::expect;
use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_providers::anthropic::{Anthropic, NAME};
use orlop_providers::http::Retries;
use orlop_providers::{HttpClient, HttpSettings};
use orlop_testkit::RawServer;
use orlop_testkit::asking::{key, send};
use orlop_testkit::raw_server::{RawRequest, answer, unfinished};
use orlop_testkit::scripted::{ScriptedTool, config, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The usual settings, and these.
fn config_with(server: &RawServer, more: Value) -> Config {
    let mut settings =
        json!({ "provider": NAME, "model": "claude-opus-4-8", "base_url": server.url("/v1") });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(settings)
}

/// A whole message with these blocks.
fn message(stop_reason: &str, content: Value) -> String {
    let body = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": content, "stop_reason": stop_reason, "usage": { "input_tokens": 1, "output_tokens": 2 } });
    answer("200 OK", "application/json", &body.to_string())
}

fn ok() -> String {
    message("end_turn", json!([{ "type": "text", "text": "ok" }]))
}

fn failed(status: &str, kind: &str, words: &str) -> String {
    let body = json!({ "type": "error", "error": { "type": kind, "message": words } });
    answer(status, "application/json", &body.to_string())
}

/// A core with the provider on a client that does not wait between tries.
fn core() -> Core {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(Anthropic::new(http)), Vec::new()).unwrap();
    core
}

/// The same with a tool that says what it is told, or why it could not be told anything.
fn core_with_tool() -> Core {
    let echo = ScriptedTool::new("echo").offering(&["echo"]).execute_tool(|input, _| {
        let broken = input.payload_metadata.as_ref().map(|known| known["parse_error"].clone());
        Ok(match broken {
            Some(reason) => ToolReport::failed(reason),
            None => ToolReport::ok(input.payload["text"].clone()),
        })
    });
    let mut core = core();
    core.register_tool(Arc::new(echo)).unwrap();
    core
}

async fn asked() -> Session {
    plain_session(&[Message::system("be brief"), Message::user("hi")]).await.unwrap()
}

/// Sends a request with these settings and gives it as the server got it.
async fn sent(more: Value) -> RawRequest {
    let server = RawServer::start([ok()]).await;
    send(&core(), &asked().await, &config_with(&server, more)).await.unwrap();
    server.requests().remove(0)
}

#[tokio::test] // M-01
async fn a_request_has_the_form_of_the_api() {
    let request = sent(json!({ "api_key": key() })).await;
    assert_eq!(request.line(), "POST /v1/messages HTTP/1.1");
    assert_eq!(request.header("x-api-key"), Some(key().as_str()));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("anthropic-beta"), None);
    assert!(!request.body.contains(&key()));
    expect![[r#"{"model":"claude-opus-4-8","max_tokens":32000,"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"cache_control":{"type":"ephemeral"}}"#]].assert_eq(&request.body);
}

#[tokio::test] // M-01
async fn settings_reach_the_server() {
    let request = sent(json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 4, "max_tokens": 100, "stop": ["x", "y"],
        "reasoning_effort": "low", "output_schema": { "type": "object" }, "prompt_cache": "off",
        "metadata": { "user_id": "u" }, "service_tier": "standard_only", "agent": "x",
        "server_tools": [{ "type": "web_search_20250305", "name": "web_search" }],
        "tool_choice": "auto", "parallel_tool_calls": false,
        "extra_body": { "temperature": 1.0, "inference_geo": "eu", "stream": true },
    }))
    .await;
    let mut body = request.json();
    body.as_object_mut().unwrap().retain(|key, _| !["messages", "system"].contains(&key.as_str()));
    assert_eq!(
        body,
        json!({
            "model": "claude-opus-4-8", "temperature": 1.0, "top_p": 0.9, "top_k": 4, "max_tokens": 100,
            "stop_sequences": ["x", "y"], "metadata": { "user_id": "u" }, "service_tier": "standard_only",
            "thinking": { "type": "adaptive" },
            "output_config": { "effort": "low", "format": { "type": "json_schema", "schema": { "type": "object" } } },
            "tools": [{ "type": "web_search_20250305", "name": "web_search" }],
            "tool_choice": { "type": "auto", "disable_parallel_tool_use": true },
            "inference_geo": "eu",
        })
    );
}

#[tokio::test]
async fn betas_and_headers_reach_the_server() {
    let more = json!({ "betas": ["a-1", "b-2"], "headers": { "X-Team": "blue", "anthropic-version": "2099-01-01" } });
    let request = sent(more).await;
    assert_eq!(request.header("anthropic-beta"), Some("a-1,b-2"));
    assert_eq!(request.header("x-team"), Some("blue"));
    assert_eq!(request.header("anthropic-version"), Some("2099-01-01"));
    assert_eq!(request.header("x-api-key"), None, "no key, no header");
}

#[tokio::test]
async fn the_token_of_a_login_is_a_bearer() {
    let token = ["sk", "ant", "oat01", "0123456789"].join("-");
    let request = sent(json!({ "api_key": token, "betas": ["a-1"] })).await;
    assert_eq!(request.header("authorization"), Some(format!("Bearer {token}").as_str()));
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("anthropic-beta"), Some("a-1,oauth-2025-04-20"));
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let session = asked().await;
    for (more, says) in [
        (json!({ "prompt_cache": "often" }), "prompt_cache"),
        (json!({ "prompt_cache": true }), "prompt_cache"),
        (json!({ "betas": "a" }), "betas"),
        (json!({ "betas": [1] }), "betas"),
        (json!({ "model": "" }), "set model"),
    ] {
        let server = RawServer::start([ok()]).await;
        let error = send(&core(), &session, &config_with(&server, more)).await.unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert!(server.requests().is_empty());
    }
}

#[tokio::test] // M-02, M-03
async fn models_are_listed_with_what_the_api_says() {
    let list = json!({ "data": [
        { "type": "model", "id": "claude-x", "display_name": "Claude X", "created_at": "2026-01-01T00:00:00Z",
          "max_input_tokens": 1000, "max_tokens": 100 },
        { "type": "model", "id": "claude-y", "display_name": "Claude Y", "max_tokens": null },
    ], "has_more": false, "first_id": "claude-x", "last_id": "claude-y" });
    let server = RawServer::start([answer("200 OK", "application/json", &list.to_string())]).await;
    let models =
        core().models_for(&config_with(&server, json!({ "api_key": key() }))).await.unwrap();
    let request = server.requests().remove(0);
    assert_eq!(request.line(), "GET /v1/models?limit=1000 HTTP/1.1");
    assert_eq!(request.header("x-api-key"), Some(key().as_str()));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let of = |key: &str| {
        models.iter().map(|it| it.get(key).cloned().unwrap_or_default()).collect::<Value>()
    };
    assert_eq!(of("id"), json!(["claude-x", "claude-y"]));
    assert_eq!(of("name"), json!(["Claude X", "Claude Y"]));
    assert_eq!(of("context_window"), json!([1000, null]));
    assert_eq!(of("max_output_tokens"), json!([100, null]));
}

#[tokio::test]
async fn the_settings_are_described() {
    let schema = core().config_schema();
    for key in [
        "model",
        "max_tokens",
        "thinking",
        "reasoning_effort",
        "prompt_cache",
        "betas",
        "server_tools",
        "stop",
        "top_k",
    ] {
        assert!(
            schema.iter().any(|entry| entry["key"] == key && entry["description"] != ""),
            "{key}"
        );
    }
    let base_url = schema.iter().find(|entry| entry["key"] == "base_url").unwrap();
    assert_eq!(base_url["default"], "https://api.anthropic.com/v1");
}

/// A call of the tool twice, its results, and the answer: what the server gets the second time.
#[tokio::test] // M-01, C-15
async fn results_go_back_in_one_message_behind_the_calls() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let call =
        |id: &str| json!({ "type": "tool_use", "id": id, "name": "echo", "input": { "text": id } });
    let broken = "{\"text\":";
    let events = [
        json!({ "type": "message_start", "message": { "id": "m", "model": "x", "content": [], "usage": { "input_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": thinking }),
        json!({ "type": "content_block_start", "index": 1, "content_block": call("a") }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "b", "name": "echo", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": broken } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ];
    let server = RawServer::start([streamed(&events), ok()]).await;
    let (core, config) = (core_with_tool(), config_with(&server, json!({})));
    let first = stream(&core, &asked().await, &config).await.unwrap();
    let mut session = first.session;
    let calls = extract_tool_calls(&first.messages);
    for result in core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap() {
        session = core.add_message(&session, result, &config).await.unwrap();
    }
    let last = send(&core, &session, &config).await.unwrap();
    assert!(texts(&last.session).ends_with("|ok"), "{}", texts(&last.session));
    last.session.verify().unwrap();
    let messages = server.requests()[1].json()["messages"].clone();
    let lines: Vec<String> = messages.as_array().unwrap().iter().map(Value::to_string).collect();
    expect![[r#"
        {"role":"user","content":"hi"}
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"a","name":"echo","input":{"text":"a"}},{"type":"tool_use","id":"b","name":"echo","input":{"_invalid_json":"{\"text\":"}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"a"},{"type":"tool_result","tool_use_id":"b","content":"the arguments are not JSON: EOF while parsing a value at line 1 column 8","is_error":true}]}"#]].assert_eq(&lines.join("\n"));
    assert!(server.requests()[1].body.contains(&thinking.to_string()));
}

/// The events as a streamed answer.
fn streamed(events: &[Value]) -> String {
    let lines = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    answer("200 OK", "text/event-stream; charset=utf-8", &lines.collect::<String>())
}

async fn stream(core: &Core, session: &Session, config: &Config) -> Result<Response> {
    let mut events = core.send_request_stream(session, config, RequestOptions::default());
    while let Some(event) = events.next().await {
        if let CoreEvent::Final(response) = event? {
            return Ok(*response);
        }
    }
    panic!("a stream ends in a final or an error");
}

#[tokio::test]
async fn a_stream_is_asked_for_where_it_is_wanted() {
    let server = RawServer::start([ok()]).await;
    let response = stream(&core(), &asked().await, &config_with(&server, json!({}))).await.unwrap();
    assert_eq!(texts(&response.session), "be brief|hi|ok", "a whole answer will do");
    let request = server.requests().remove(0);
    assert_eq!(request.json()["stream"], true);
    assert_eq!(request.header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_server_without_caches_is_asked_again_without_marks() {
    let refusal =
        failed("400 Bad Request", "invalid_request_error", "cache_control: unknown field");
    let server = RawServer::start([refusal.clone(), ok(), refusal]).await;
    let response = send(&core(), &asked().await, &config_with(&server, json!({}))).await.unwrap();
    assert_eq!(texts(&response.session), "be brief|hi|ok");
    let marks = |number: usize| server.requests()[number].body.matches("cache_control").count();
    assert_eq!((marks(0), marks(1)), (2, 0));
    let error =
        send(&core(), &asked().await, &config_with(&server, json!({ "prompt_cache": "off" })))
            .await;
    assert!(error.unwrap_err().message().contains("unknown field"), "and once only");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test] // E-38
async fn failures_say_what_to_do_and_never_the_key() {
    let words = format!("who is {}?", key());
    for (status, kind, tries, passes, says) in [
        ("401 Unauthorized", "authentication_error", 1, false, "check \"api_key\""),
        ("429 Too Many Requests", "rate_limit_error", 3, true, "wait a moment"),
        ("500 Internal Server Error", "api_error", 3, true, "try again later"),
        ("529 Overloaded", "overloaded_error", 3, true, "try again later"),
    ] {
        let server = RawServer::start(vec![failed(status, kind, &words); tries]).await;
        let config = config_with(&server, json!({ "api_key": key() }));
        let error = send(&core(), &asked().await, &config).await.unwrap_err();
        let shown = format!("{error} {error:?} {}", error.provider_body().unwrap());
        assert!(shown.contains(says) && shown.contains("who is ***?"), "{shown}");
        assert!(!shown.contains(&key()), "{shown}");
        assert_eq!((error.retryable(), server.requests().len()), (passes, tries), "{status}");
    }
}

#[tokio::test] // E-38
async fn an_error_inside_a_stream_is_one() {
    let words = format!("Overloaded by {}", key());
    let events = [
        json!({ "type": "message_start", "message": { "content": [] } }),
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": words } }),
    ];
    let server = RawServer::start([streamed(&events)]).await;
    let config = config_with(&server, json!({ "api_key": key() }));
    let error = stream(&core(), &asked().await, &config).await.unwrap_err();
    assert!(error.retryable() && error.message().contains("Overloaded by ***"), "{error}");
    assert_eq!(error.provider_status(), Some(529));
}

#[tokio::test] // E-31
async fn dropping_a_stream_closes_the_connection() {
    let text = concat!(
        "data: {\"type\":\"message_start\",\"message\":{}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"one\"}}\n\n",
    );
    let open = unfinished("text/event-stream", text);
    let server = RawServer::start([open]).await;
    let (core, session) = (core(), asked().await);
    let mut events = core.send_request_stream(
        &session,
        &config_with(&server, json!({})),
        RequestOptions::default(),
    );
    let Some(Ok(CoreEvent::Partial(partial))) = events.next().await else { panic!("no text") };
    assert_eq!(partial.content, "one");
    drop(events);
    tokio::time::timeout(Duration::from_secs(20), server.left()).await.unwrap();
}
