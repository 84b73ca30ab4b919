//! `gemini` through the core against a server on a local port: what is sent, what comes of the
//! answers, and what a key never shows up in.

use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::*;
use orlop_providers::http::Retries;
use orlop_providers::{Gemini, HttpClient, HttpSettings, gemini};
use orlop_testkit::RawServer;
use orlop_testkit::asking::{key, send, streamed};
use orlop_testkit::raw_server::{answer, unfinished};
use orlop_testkit::scripted::{config, echo_tool, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The usual settings, and these.
fn config_with(server: &RawServer, more: Value) -> Config {
    let mut settings = json!({ "provider": gemini::NAME, "model": "gemini-2.5-flash", "base_url": server.url("/v1beta") });
    settings["api_key"] = key().into();
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(settings)
}

fn whole(parts: Value) -> String {
    let candidate =
        json!({ "content": { "parts": parts, "role": "model" }, "finishReason": "STOP" });
    let body = json!({ "candidates": [candidate], "responseId": "r1" });
    answer("200 OK", "application/json", &body.to_string())
}

fn stream(parts: &[Value]) -> String {
    let mut body = String::new();
    for (position, part) in parts.iter().enumerate() {
        let mut candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
        if position + 1 == parts.len() {
            candidate["finishReason"] = "STOP".into();
        }
        let usage = json!({ "promptTokenCount": 3, "candidatesTokenCount": position + 1 });
        let event =
            json!({ "candidates": [candidate], "responseId": "r1", "usageMetadata": usage });
        body.push_str(&format!("data: {event}\r\n\r\n"));
    }
    answer("200 OK", "text/event-stream", &body)
}

fn core() -> Core {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(Gemini::new(http)), Vec::new()).unwrap();
    core
}

fn with_echo() -> Core {
    let mut core = core();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    core
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

#[tokio::test] // M-01, M-02
async fn a_request_is_addressed_to_the_model_with_the_key_in_its_header() {
    let server = RawServer::start(vec![
        whole(json!([{ "text": "ok" }])),
        stream(&[json!({ "text": "o" }), json!({ "text": "k" })]),
    ])
    .await;
    let (core, session) = (core(), asked("hi").await);
    let config = config_with(&server, json!({ "headers": { "X-Team": "blue" } }));
    assert_eq!(texts(&send(&core, &session, &config).await.unwrap().session), "hi|ok");
    let config = config_with(
        &server,
        json!({ "model": "models/gemini-3-flash", "headers": { "X-Team": "blue" } }),
    );
    let (shown, response) = streamed(&core, &session, &config).await.unwrap();
    assert_eq!((shown.as_str(), texts(&response.session).as_str()), ("ok", "hi|ok"));
    let usage = &response.messages[0].metadata()["usage"];
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(3), &json!(2)));
    let requests = server.requests();
    assert_eq!(requests[0].line(), "POST /v1beta/models/gemini-2.5-flash:generateContent HTTP/1.1");
    assert_eq!(
        requests[1].line(),
        "POST /v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse HTTP/1.1"
    );
    for request in requests {
        assert_eq!(request.header("x-goog-api-key"), Some(key().as_str()));
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("x-team"), Some("blue"));
        assert!(!request.line().contains(&key()) && !request.body.contains(&key()));
        assert_eq!(request.body, r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#);
    }
}

#[tokio::test]
async fn settings_and_further_fields_are_laid_over_each_other() {
    let server = RawServer::start(vec![whole(json!([{ "text": "ok" }]))]).await;
    let config = config_with(
        &server,
        json!({
            "temperature": 0.5, "max_tokens": 9, "reasoning_effort": "low", "tool_choice": "none",
            "output_schema": { "type": "object" },
            "extra_body": {
                "generationConfig": { "temperature": 1.0, "mediaResolution": "MEDIA_RESOLUTION_LOW" },
                "safetySettings": [{ "category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE" }],
            },
        }),
    );
    let session = plain_session(&[Message::system("be brief"), Message::user("hi")]).await.unwrap();
    send(&core(), &session, &config).await.unwrap();
    let expected = json!({
        "generationConfig": {
            "temperature": 1.0, "maxOutputTokens": 9, "responseMimeType": "application/json",
            "responseJsonSchema": { "type": "object" },
            "thinkingConfig": { "thinkingBudget": 1024, "includeThoughts": true },
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        },
        "toolConfig": { "functionCallingConfig": { "mode": "NONE" } },
        "safetySettings": [{ "category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE" }],
        "systemInstruction": { "parts": [{ "text": "be brief" }] },
        "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
    });
    assert_eq!(server.requests()[0].json(), expected);
}

#[tokio::test] // M-02
async fn a_conversation_with_tools_keeps_signatures_and_groups_results() {
    let call = |text: &str| json!({ "functionCall": { "name": "echo", "args": { "text": text } } });
    let mut first = call("x");
    first["thoughtSignature"] = "sig".into();
    let answers = vec![
        stream(&[json!({ "text": "hm", "thought": true }), first.clone(), call("y")]),
        stream(&[json!({ "text": "done" }), json!({ "text": "", "thoughtSignature": "end" })]),
        whole(json!([{ "text": "bye" }])),
    ];
    let server = RawServer::start(answers).await;
    let (core, config, session) =
        (with_echo(), config_with(&server, json!({})), asked("say x and y").await);
    let (_, response) = streamed(&core, &session, &config).await.unwrap();
    assert_eq!(response.messages[0].metadata()["finish_reason"], "tool_calls");
    let calls = extract_tool_calls(&response.messages);
    let results = core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap();
    let mut session = response.session;
    for message in results {
        session = core.add_message(&session, message, &config).await.unwrap();
    }
    let (_, response) = streamed(&core, &session, &config).await.unwrap();
    let session = core.add_message(&response.session, Message::user("bye"), &config).await.unwrap();
    let session = send(&core, &session, &config).await.unwrap().session;
    assert_eq!(texts(&session), "say x and y||x|y|done|bye|bye");
    session.verify().unwrap();
    let last = server.requests()[2].clone();
    let result = |text: &str| json!({ "functionResponse": { "name": "echo", "response": { "output": text } } });
    assert_eq!(
        last.json()["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "say x and y" }] },
            { "parts": [{ "text": "hm", "thought": true }, first, call("y")], "role": "model" },
            { "role": "user", "parts": [result("x"), result("y")] },
            { "parts": [{ "text": "done", "thoughtSignature": "end" }], "role": "model" },
            { "role": "user", "parts": [{ "text": "bye" }] },
        ])
    );
    let tools = &last.json()["tools"];
    assert_eq!(tools[0]["functionDeclarations"][0]["name"], "echo");
    assert!(tools[0]["functionDeclarations"][0]["parametersJsonSchema"].is_object(), "{tools}");
    assert!(!last.body.contains("_metadata") && !last.body.contains("orlop-call"), "{}", last.body);
}

#[tokio::test]
async fn a_conversation_of_another_provider_goes_on() {
    let server = RawServer::start(vec![whole(json!([{ "text": "ok" }]))]).await;
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "echo", "arguments": "{\"text\":\"x\"}" } });
    let messages = [
        json!({ "role": "user", "content": "say x" }),
        json!({ "role": "assistant", "content": "", "metadata": { "tool_calls": [call], "reasoning": "private" } }),
        json!({ "role": "tool", "content": "x", "metadata": { "tool_call_id": "c1" } }),
        json!({ "role": "tool", "content": "stray", "metadata": { "tool_call_id": "c9", "tool_name": "gone" } }),
        json!({ "role": "user", "content": "see", "multipartContent": [
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } },
        ] }),
    ]
    .map(|message| Message::from_json(message).unwrap());
    let session = plain_session(&messages).await.unwrap();
    send(&with_echo(), &session, &config_with(&server, json!({}))).await.unwrap();
    assert_eq!(
        server.requests()[0].json()["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "say x" }] },
            { "role": "model", "parts": [{
                "functionCall": { "id": "c1", "name": "echo", "args": { "text": "x" } },
                "thoughtSignature": "skip_thought_signature_validator",
            }] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "c1", "name": "echo", "response": { "output": "x" } } },
                { "text": "[result of an earlier call of the tool \"gone\"] stray" },
            ] },
            { "role": "user", "parts": [
                { "text": "see" }, { "inlineData": { "mimeType": "image/png", "data": "QUJD" } },
            ] },
        ])
    );
}

#[tokio::test] // M-03
async fn models_are_listed() {
    let models = json!({ "models": [
        { "name": "models/gemini-2.5-flash", "displayName": "Flash", "inputTokenLimit": 10, "outputTokenLimit": 5,
          "supportedGenerationMethods": ["generateContent"] },
        { "name": "models/embedding", "supportedGenerationMethods": ["embedContent"] },
    ] });
    let server =
        RawServer::start(vec![answer("200 OK", "application/json", &models.to_string())]).await;
    let listed = core().models_for(&config_with(&server, json!({}))).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["context_window"]),
        (&json!("gemini-2.5-flash"), &json!(10))
    );
    let request = &server.requests()[0];
    assert_eq!(request.line(), "GET /v1beta/models?pageSize=1000 HTTP/1.1");
    assert_eq!(request.header("x-goog-api-key"), Some(key().as_str()));
}

#[tokio::test] // M-02, M-03
async fn settings_are_described() {
    let schema = core().config_schema();
    for key in [
        "model",
        "temperature",
        "top_k",
        "stop",
        "reasoning_effort",
        "thinking_budget",
        "google_search",
    ] {
        assert!(schema.iter().any(|entry| entry["key"] == key), "{key}");
    }
}

fn error_body(code: u16, status: &str, details: Value) -> String {
    let message = format!("it says {}", key());
    json!({ "error": { "code": code, "message": message, "status": status, "details": details } })
        .to_string()
}

#[tokio::test] // E-38
async fn refusals_say_what_to_do_and_show_no_key() {
    for (status, code, tries, retryable) in [
        ("400 Bad Request", "INVALID_ARGUMENT", 1, false),
        ("401 Unauthorized", "UNAUTHENTICATED", 1, false),
        ("404 Not Found", "NOT_FOUND", 1, false),
        ("500 Internal Server Error", "INTERNAL", 3, true),
        ("503 Service Unavailable", "UNAVAILABLE", 3, true),
    ] {
        let body = error_body(status[..3].parse().unwrap(), code, json!([]));
        let server = RawServer::start(vec![answer(status, "application/json", &body); 6]).await;
        let (core, session, config) = (core(), asked("hi").await, config_with(&server, json!({})));
        let errors = [
            send(&core, &session, &config).await.unwrap_err(),
            streamed(&core, &session, &config).await.unwrap_err(),
        ];
        for error in errors {
            let kept = error.provider_body().unwrap();
            let shown = format!("{error} {error:?} {} {kept}", error.to_json());
            assert!(shown.contains("it says ***") && !shown.contains(&key()), "{shown}");
            assert_eq!(
                (error.class(), error.retryable()),
                (ErrorClass::Provider, retryable),
                "{status}"
            );
        }
        assert_eq!(server.requests().len(), 2 * tries, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_server_names_is_kept() {
    let wait = |seconds: &str| {
        let retry =
            json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds }]);
        answer(
            "429 Too Many Requests",
            "application/json",
            &error_body(429, "RESOURCE_EXHAUSTED", retry),
        )
    };
    let server =
        RawServer::start(vec![wait("7s"), whole(json!([{ "text": "ok" }])), wait("3600s")]).await;
    let (core, session, config) = (core(), asked("hi").await, config_with(&server, json!({})));
    let before = tokio::time::Instant::now();
    send(&core, &session, &config).await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(7));
    let error = send(&core, &session, &config).await.unwrap_err();
    assert!(error.message().contains("it asks to wait 3600 seconds"), "{error}");
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": {} });
    let malformed = json!({ "candidates": [{ "finishReason": "MALFORMED_FUNCTION_CALL" }] });
    for (body, says, retryable) in
        [(blocked, "(SAFETY)", false), (malformed, "MALFORMED_FUNCTION_CALL", true)]
    {
        let answers = vec![
            answer("200 OK", "application/json", &body.to_string()),
            answer("200 OK", "text/event-stream", &format!("data: {body}\n\n")),
        ];
        let server = RawServer::start(answers).await;
        let (core, session, config) = (core(), asked("hi").await, config_with(&server, json!({})));
        for error in [
            send(&core, &session, &config).await.unwrap_err(),
            streamed(&core, &session, &config).await.unwrap_err(),
        ] {
            assert!(error.message().contains(says), "{error}");
            assert_eq!(error.retryable(), retryable, "{error}");
        }
    }
}

#[tokio::test] // E-30
async fn dropping_a_stream_leaves_the_server() {
    let event = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"one\"}],\"role\":\"model\"}}]}\n\n";
    let open = unfinished("text/event-stream", event);
    let server = RawServer::start(vec![open]).await;
    let (core, session, config) = (core(), asked("hi").await, config_with(&server, json!({})));
    let mut events = core.send_request_stream(&session, &config, RequestOptions::default());
    let Some(Ok(CoreEvent::Partial(partial))) = events.next().await else { panic!("no text") };
    assert_eq!(partial.content, "one");
    drop(events);
    tokio::time::timeout(Duration::from_secs(20), server.left()).await.expect("it stays");
}
