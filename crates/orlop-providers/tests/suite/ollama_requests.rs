//! What `ollama` sends, seen from the server, and what becomes of its answers and refusals.

use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::*;
use orlop_providers::http::Retries;
use orlop_providers::ollama::{self, Ollama};
use orlop_providers::{HttpClient, HttpSettings, OpenAiCompatible};
use orlop_testkit::RawServer;
use orlop_testkit::asking::{key, send, streamed};
use orlop_testkit::raw_server::{answer, unfinished};
use orlop_testkit::scripted::{config, echo_tool, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The head in small letters and the body of a request.
fn request(server: &RawServer, number: usize) -> (String, Value) {
    let request = &server.requests()[number];
    (request.head.to_ascii_lowercase(), request.json())
}

fn whole(body: Value) -> String {
    answer("200 OK", "application/json; charset=utf-8", &body.to_string())
}

fn refusal(status: &str, says: &str) -> String {
    answer(status, "application/json; charset=utf-8", &json!({ "error": says }).to_string())
}

fn lines(lines: &[Value]) -> String {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    answer("200 OK", "application/x-ndjson", &body)
}

fn ok() -> String {
    whole(json!({ "model": "m", "created_at": "t", "done": true, "done_reason": "stop",
        "message": { "role": "assistant", "content": "ok" } }))
}

fn core() -> Core {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(Ollama::new(http.clone())), Vec::new()).unwrap();
    core.register_provider(Arc::new(OpenAiCompatible::new(http)), Vec::new()).unwrap();
    core
}

fn core_with_tool() -> Core {
    let mut core = core();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    core
}

/// The usual settings, and these.
fn config_with(server: &RawServer, more: Value) -> Config {
    let mut settings =
        json!({ "provider": ollama::NAME, "model": "m", "base_url": server.url("") });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(settings)
}

/// Sends a request with these settings and gives the body, without the messages.
async fn settings_sent(more: Value) -> Value {
    let server = RawServer::start([ok()]).await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    send(&core(), &session, &config_with(&server, more)).await.unwrap();
    let (_, mut body) = request(&server, 0);
    body.as_object_mut().unwrap().shift_remove("messages");
    body
}

#[tokio::test]
async fn settings_reach_the_server_under_its_names() {
    let settings = json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "max_tokens": 100,
        "context": 8192, "stop": "\n", "keep_alive": "10m", "reasoning_effort": "low",
        "output_schema": { "type": "object" }, "options": { "num_gpu": 1, "seed": 8 },
    });
    let expected = json!({
        "model": "m", "keep_alive": "10m", "think": "low", "format": { "type": "object" },
        "options": { "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 8,
            "num_predict": 100, "num_ctx": 8192, "stop": ["\n"], "num_gpu": 1 },
        "stream": false,
    });
    assert_eq!(settings_sent(settings).await, expected);
    // What belongs to Orlop, and what is unset, does not.
    let nothing = json!({ "agent": "x", "seed": null, "think": null });
    assert_eq!(settings_sent(nothing).await, json!({ "model": "m", "stream": false }));
    let extra = json!({ "extra_body": { "raw": 1, "stream": true } });
    let expected = json!({ "model": "m", "raw": 1, "stream": false });
    assert_eq!(settings_sent(extra).await, expected);
}

#[tokio::test]
async fn thinking_is_said_in_the_servers_words() {
    for (settings, think) in [
        (json!({ "reasoning_effort": "none" }), json!(false)),
        (json!({ "reasoning_effort": "on" }), json!(true)),
        (json!({ "reasoning_effort": "minimal" }), json!("low")),
        (json!({ "reasoning_effort": "medium" }), json!("medium")),
        (json!({ "reasoning_effort": "high", "think": true }), json!(true)),
    ] {
        assert_eq!(settings_sent(settings).await["think"], think);
    }
}

#[tokio::test]
async fn key_and_headers_reach_the_server() {
    let tags = json!({ "models": [{ "name": "a:latest", "model": "a:latest", "size": 1 }] });
    let server = RawServer::start([ok(), whole(tags), ok()]).await;
    let more = json!({ "api_key": key(), "headers": { "X-Team": "blue" } });
    let config = config_with(&server, more);
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    send(&core(), &session, &config).await.unwrap();
    let models = core().models_for(&config).await.unwrap();
    assert_eq!((&models[0]["id"], &models[0]["size"]), (&json!("a:latest"), &json!(1)));
    for (number, start) in [(0, "post /api/chat http/1.1"), (1, "get /api/tags http/1.1")] {
        let request = &server.requests()[number];
        let head = request.head.to_ascii_lowercase();
        assert!(head.starts_with(start), "{head}");
        assert!(head.contains(&format!("authorization: bearer {}", key())), "{head}");
        assert!(head.contains("x-team: blue") && !request.body.contains(&key()));
    }
    send(&core(), &session, &config_with(&server, json!({}))).await.unwrap();
    assert!(!request(&server, 2).0.contains("authorization"));
}

fn call_line(call: Value) -> Value {
    json!({ "model": "m", "created_at": "2026-01-01T00:00:00.1Z", "done": false,
        "message": { "role": "assistant", "content": "", "tool_calls": [call] } })
}

fn last_line() -> Value {
    json!({ "model": "m", "created_at": "2026-01-01T00:00:00.2Z", "done": true, "done_reason": "stop",
        "message": { "role": "assistant", "content": "" }, "prompt_eval_count": 3, "eval_count": 2 })
}

/// A question, a call of the tool, its result; the session before the answer.
async fn called(core: &Core, server: &RawServer, config: &Config) -> Session {
    let session = plain_session(&[Message::user("say x")]).await.unwrap();
    let (_, response) = streamed(core, &session, config).await.unwrap();
    let (_, body) = request(server, 0);
    assert_eq!(body["tools"][0]["function"]["name"], "echo");
    assert_eq!(response.messages[0].metadata()["finish_reason"], "tool_calls");
    let calls = extract_tool_calls(&response.messages);
    let results = core.execute_tool_calls(calls, config, &CallContext::default()).await.unwrap();
    let mut session = response.session;
    for message in results {
        session = core.add_message(&session, message, config).await.unwrap();
    }
    session
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_sent_back() {
    let call = json!({ "function": { "name": "echo", "arguments": { "text": "x" } } });
    let server = RawServer::start([lines(&[call_line(call.clone()), last_line()]), ok()]).await;
    let (core, config) = (core_with_tool(), config_with(&server, json!({})));
    let session = called(&core, &server, &config).await;
    let id = session.messages().iter().nth(2).unwrap().metadata()["tool_call_id"].clone();
    assert!(id.as_str().unwrap().starts_with("call_"), "{id}");
    let response = send(&core, &session, &config).await.unwrap();
    assert_eq!(texts(&response.session), "say x||x|ok");
    let expected = json!([
        { "role": "user", "content": "say x" },
        { "role": "assistant", "content": "", "tool_calls": [call] },
        { "role": "tool", "content": "x", "tool_name": "echo", "tool_call_id": id },
    ]);
    assert_eq!(request(&server, 1).1["messages"], expected);
}

#[tokio::test]
async fn another_provider_takes_the_conversation_over() {
    let call = json!({ "function": { "name": "echo", "arguments": { "text": "x" } } });
    let chat = json!({ "choices": [{ "message": { "role": "assistant", "content": "ok" } }] });
    let server = RawServer::start([lines(&[call_line(call), last_line()]), whole(chat)]).await;
    let core = core_with_tool();
    let session = called(&core, &server, &config_with(&server, json!({}))).await;
    let other = config_with(&server, json!({ "provider": "openai_compatible" }));
    send(&core, &session, &other).await.unwrap();
    let messages = request(&server, 1).1["messages"].clone();
    let sent = &messages[1]["tool_calls"][0];
    assert_eq!(sent["function"], json!({ "name": "echo", "arguments": "{\"text\":\"x\"}" }));
    assert_eq!(sent["id"], messages[2]["tool_call_id"]);
    assert!(sent["id"].is_string());
}

#[tokio::test]
async fn no_tool_is_offered_where_none_may_be_called() {
    let server = RawServer::start([ok()]).await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = config_with(&server, json!({ "tool_choice": "none" }));
    send(&core_with_tool(), &session, &config).await.unwrap();
    assert_eq!(request(&server, 0).1.get("tools"), None);
}

#[tokio::test]
async fn a_missing_model_is_to_be_pulled() {
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    for says in ["model 'm' not found", "model \"m\" not found, try pulling it first"] {
        let server =
            RawServer::start([refusal("404 Not Found", says), refusal("404 Not Found", says)])
                .await;
        let config = config_with(&server, json!({}));
        let errors = [
            send(&core(), &session, &config).await.unwrap_err(),
            streamed(&core(), &session, &config).await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.message().contains("orlop model pull m --provider ollama"), "{error}");
            assert_eq!((error.provider_status(), error.retryable()), (Some(404), false));
            assert_eq!(error.provider_body(), Some(&*json!({ "error": says }).to_string()));
        }
    }
}

#[tokio::test] // M-04, E-38
async fn refusals_say_what_to_do_and_show_no_key() {
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    for (status, retryable, tries, says) in [
        ("400 Bad Request", false, 1, "change the request"),
        ("401 Unauthorized", false, 1, "check \"api_key\""),
        ("429 Too Many Requests", true, 3, "wait a moment"),
        ("500 Internal Server Error", true, 3, "try again later"),
    ] {
        let refusals = vec![refusal(status, &format!("not for {}", key())); 2 * tries];
        let server = RawServer::start(refusals).await;
        let config = config_with(&server, json!({ "api_key": key() }));
        let errors = [
            send(&core(), &session, &config).await.unwrap_err(),
            streamed(&core(), &session, &config).await.unwrap_err(),
        ];
        for error in errors {
            let kept = error.provider_body().unwrap();
            let shown = format!("{error} {error:?} {} {kept}", error.to_json());
            assert!(shown.contains("not for ***") && shown.contains(says), "{shown}");
            assert!(!shown.contains(&key()), "{shown}");
            assert_eq!((error.class(), error.retryable()), (ErrorClass::Provider, retryable));
        }
        assert_eq!(server.requests().len(), 2 * tries, "{status}");
    }
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it_after_what_was_shown() {
    let said = json!({ "message": { "role": "assistant", "content": "so" }, "done": false });
    let broken = json!({ "error": format!("out of memory for {}", key()) });
    let server = RawServer::start([lines(&[said, broken])]).await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = config_with(&server, json!({ "api_key": key() }));
    let events = core().send_request_stream(&session, &config, RequestOptions::default());
    let events: Vec<_> = events.collect().await;
    let [Ok(CoreEvent::Partial(partial)), Err(error)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(partial.content, "so");
    assert!(error.message().contains("out of memory for ***"), "{error}");
    assert!(request(&server, 0).1["stream"] == true);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let line = "{\"message\":{\"role\":\"assistant\",\"content\":\"so\"},\"done\":false}\n";
    let open = unfinished("application/x-ndjson", line);
    let server = RawServer::start([open]).await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = config_with(&server, json!({}));
    let mut events = core().send_request_stream(&session, &config, RequestOptions::default());
    assert!(matches!(events.next().await, Some(Ok(CoreEvent::Partial(_)))));
    drop(events);
    server.left().await;
}

#[tokio::test]
async fn tags_and_settings_are_contributed() {
    let server = RawServer::start([]).await;
    let core = core();
    let tags = core.tags_for(&config_with(&server, json!({}))).await.unwrap();
    assert_eq!(tags, ["chat", "streaming", "tools", "images"]);
    let manifest = Plugin::manifest(&Ollama::default());
    for key in ["context", "keep_alive", "top_k", "options", "reasoning_effort", "api_key"] {
        assert!(manifest.config_schema.contains_key(key), "{key}");
    }
    assert_eq!(manifest.config_schema["base_url"]["default"], "http://127.0.0.1:11434");
}
