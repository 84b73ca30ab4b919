//! `openai_responses` against a server on a local port: what it is asked, and what becomes of its
//! answers.

use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::*;
use orlop_providers::http::Retries;
use orlop_providers::responses::{NAME, Responses};
use orlop_providers::{HttpClient, HttpSettings};
use orlop_testkit::RawServer;
use orlop_testkit::asking::{self, key};
use orlop_testkit::scripted::{config, echo_tool, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The JSON body of a request.
fn asked(server: &RawServer, number: usize) -> Value {
    server.requests()[number].json()
}

/// The usual settings, and these.
fn config_with(server: &RawServer, more: Value) -> Config {
    let mut settings = json!({ "provider": NAME, "model": "m", "base_url": server.url("/v1") });
    settings["api_key"] = key().into();
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(settings)
}

fn reply(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn ok(body: &Value) -> String {
    reply("200 OK", &body.to_string())
}

fn refusal(code: &str, param: &str, message: &str) -> String {
    let error = json!({ "error": { "code": code, "param": param, "message": message } });
    reply("400 Bad Request", &error.to_string())
}

fn events(events: &[Value]) -> String {
    let events = events.iter();
    reply("200 OK", &events.map(|event| format!("data: {event}\n\n")).collect::<String>())
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "id": format!("msg_{text}"), "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

fn response(id: &str, output: Value) -> Value {
    json!({ "id": id, "object": "response", "status": "completed", "model": "m-1", "error": null,
        "output": output, "usage": { "input_tokens": 3, "output_tokens": 2 } })
}

fn done(id: &str) -> String {
    ok(&response(id, json!([said("ok")])))
}

fn core() -> Core {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(Responses::new(http)), Vec::new()).unwrap();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    core
}

async fn hello() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

async fn send(core: &Core, session: &Session, config: &Config) -> Response {
    asking::send(core, session, config).await.unwrap()
}

/// What the server is asked with these settings, without tools.
async fn settings_sent(more: Value) -> Value {
    let server = RawServer::start([done("r")]).await;
    send(&core(), &hello().await, &config_with(&server, more)).await;
    let mut body = asked(&server, 0);
    body.as_object_mut().unwrap().retain(|key, _| !["input", "tools"].contains(&key.as_str()));
    body
}

#[tokio::test] // M-01
async fn nothing_is_stored_and_reasoning_comes_encrypted_unless_set() {
    let usual = json!({ "model": "m", "store": false, "include": ["reasoning.encrypted_content"] });
    assert_eq!(settings_sent(json!({})).await, usual);
    let more = json!({ "store": true, "include": ["message.output_text.logprobs"] });
    let expected =
        json!({ "model": "m", "store": true, "include": ["message.output_text.logprobs"] });
    assert_eq!(settings_sent(more).await, expected);
    let plain = json!({ "model": "m", "store": false });
    assert_eq!(settings_sent(json!({ "include": [] })).await, plain);
    assert_eq!(settings_sent(json!({ "extra_body": { "include": null } })).await, plain);
    let old = json!({ "model": "openai/gpt-4o", "store": false });
    assert_eq!(settings_sent(json!({ "model": "openai/gpt-4o" })).await, old);
}

#[tokio::test] // M-01
async fn settings_are_sent_in_the_words_of_the_api() {
    let schema = json!({ "type": "object", "properties": { "a": { "const": null } } });
    let body = settings_sent(json!({
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "reasoning_effort": "low",
        "reasoning_summary": "auto", "verbosity": "low", "output_schema": schema,
        "tool_choice": { "name": "echo" }, "parallel_tool_calls": false, "instructions": "be kind",
        "prompt_cache_key": "k", "service_tier": "flex", "truncation": "auto", "agent": "x",
        "include": [], "extra_body": { "metadata": { "a": "b" }, "stream": true, "input": [] },
    }))
    .await;
    let expected = json!({
        "model": "m", "instructions": "be kind", "temperature": 0.5, "top_p": 0.9,
        "parallel_tool_calls": false, "prompt_cache_key": "k", "service_tier": "flex",
        "truncation": "auto", "max_output_tokens": 100,
        "reasoning": { "effort": "low", "summary": "auto" },
        "text": { "format": { "type": "json_schema", "name": "answer", "schema": schema }, "verbosity": "low" },
        "tool_choice": { "type": "function", "name": "echo" }, "store": false,
        "metadata": { "a": "b" },
    });
    assert_eq!(body, expected);
    let body = settings_sent(json!({ "include": [], "tool_choice": "any",
        "reasoning": { "effort": "high" }, "reasoning_effort": "low" }))
    .await;
    let expected = json!({ "model": "m", "reasoning": { "effort": "high" },
        "tool_choice": "required", "store": false });
    assert_eq!(body, expected);
}

#[tokio::test] // M-01, M-03
async fn key_headers_tools_and_messages_reach_the_server() {
    let server = RawServer::start([done("r")]).await;
    let config = config_with(
        &server,
        json!({ "headers": { "X-Team": "blue" },
        "server_tools": [{ "type": "web_search" }] }),
    );
    let session = plain_session(&[Message::system("be brief"), Message::user("hi")]).await.unwrap();
    let response = send(&core(), &session, &config).await;
    assert_eq!(texts(&response.session), "be brief|hi|ok");
    let request = &server.requests()[0];
    let (head, body) = (&request.head, &request.body);
    assert!(head.starts_with("POST /v1/responses HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {}", key())), "{head}");
    assert!(head.contains("x-team: blue") && head.contains("content-type: application/json"));
    assert!(!body.contains(&key()) && !body.contains("_metadata"), "{body}");
    let body = asked(&server, 0);
    let input = json!([{ "type": "message", "role": "system", "content": "be brief" },
        { "type": "message", "role": "user", "content": "hi" }]);
    assert_eq!(body["input"], input);
    let tools = body["tools"].as_array().unwrap();
    assert_eq!((&tools[0]["type"], &tools[0]["name"]), (&json!("function"), &json!("echo")));
    assert_eq!(tools[1], json!({ "type": "web_search" }));

    let message = &response.messages[0];
    assert_eq!(message.metadata()["usage"]["total_tokens"], 5);
    assert_eq!(message.metadata()["model"], "m-1");
    assert_eq!(message.metadata()["finish_reason"], "stop");
}

/// The text of a streamed answer, and its end.
async fn streamed(core: &Core, session: &Session, config: &Config) -> (String, Response) {
    asking::streamed(core, session, config).await.unwrap()
}

#[tokio::test] // M-01, M-04
async fn a_tool_is_called_and_everything_goes_back_as_it_came() {
    let reasoning =
        json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAé=" });
    let call = json!({ "id": "fc_1", "type": "function_call", "status": "completed",
        "call_id": "call_1", "name": "echo", "arguments": "{\"text\":\"x\"}", "odd": 1.0 });
    let begun = json!({ "id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "echo", "arguments": "" });
    let server = RawServer::start([
        events(&[
            json!({ "type": "response.output_item.done", "output_index": 0, "item": reasoning }),
            json!({ "type": "response.output_item.added", "output_index": 1, "item": begun }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"text\":\"x\"}" }),
            json!({ "type": "response.output_item.done", "output_index": 1, "item": call }),
            json!({ "type": "response.completed", "response": response("resp_1", json!([])) }),
        ]),
        events(&[
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "so " }),
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "be it" }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": said("so be it") }),
            json!({ "type": "response.completed", "response": response("resp_2", json!([])) }),
        ]),
    ])
    .await;
    let (core, config) = (core(), config_with(&server, json!({})));
    let (_, answer) = streamed(&core, &hello().await, &config).await;
    assert_eq!(answer.messages[0].metadata()["finish_reason"], "tool_calls");
    assert_eq!(answer.messages[0].native_indices().positions(), Some(vec![1, 2]));
    let calls = extract_tool_calls(&answer.messages);
    let results = core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap();
    let mut session = answer.session;
    for message in results {
        session = core.add_message(&session, message, &config).await.unwrap();
    }
    let (text, answer) = streamed(&core, &session, &config).await;
    assert_eq!((text.as_str(), texts(&answer.session).as_str()), ("so be it", "hi||x|so be it"));
    answer.session.verify().unwrap();

    assert_eq!(asked(&server, 0)["stream"], true);
    let input = asked(&server, 1)["input"].clone();
    let output = json!({ "type": "function_call_output", "call_id": "call_1", "output": "x" });
    let user = json!({ "type": "message", "role": "user", "content": "hi" });
    assert_eq!(input, json!([user, reasoning, call, output]));
    let sent = &server.requests()[1].body;
    assert!(sent.contains(&reasoning.to_string()) && sent.contains(&call.to_string()));
}

#[tokio::test]
async fn a_stored_response_is_gone_on_from() {
    let server = RawServer::start([done("resp_1"), done("resp_2"), done("resp_3")]).await;
    let (core, config) =
        (core(), config_with(&server, json!({ "store": true, "use_previous_response": true })));
    let mut session = send(&core, &hello().await, &config).await.session;
    for text in ["and?", "so?"] {
        session = core.add_message(&session, Message::user(text), &config).await.unwrap();
        session = send(&core, &session, &config).await.session;
    }
    assert_eq!(texts(&session), "hi|ok|and?|ok|so?|ok");
    let previous = |number: usize| asked(&server, number)["previous_response_id"].clone();
    assert_eq!(
        [previous(0), previous(1), previous(2)],
        [json!(null), json!("resp_1"), json!("resp_2")]
    );
    let only = json!([{ "type": "message", "role": "user", "content": "so?" }]);
    assert_eq!(asked(&server, 2)["input"], only);
}

#[tokio::test]
async fn a_response_that_the_server_forgot_is_sent_again() {
    let forgot = refusal(
        "previous_response_not_found",
        "previous_response_id",
        "Previous response with id 'resp_1' not found.",
    );
    let server = RawServer::start([done("resp_1"), forgot, done("resp_2")]).await;
    let (core, config) =
        (core(), config_with(&server, json!({ "store": true, "use_previous_response": true })));
    let session = send(&core, &hello().await, &config).await.session;
    let session = core.add_message(&session, Message::user("and?"), &config).await.unwrap();
    let (_, answer) = streamed(&core, &session, &config).await;
    assert_eq!(texts(&answer.session), "hi|ok|and?|ok");
    assert_eq!(asked(&server, 1)["previous_response_id"], "resp_1");
    assert_eq!(asked(&server, 2)["previous_response_id"], json!(null));
    assert_eq!(asked(&server, 2)["input"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_history_that_was_edited_is_sent_again() {
    let server = RawServer::start([done("resp_1"), done("resp_2")]).await;
    let (core, config) =
        (core(), config_with(&server, json!({ "store": true, "use_previous_response": true })));
    let session = send(&core, &hello().await, &config).await.session;
    let session = core.add_message(&session, Message::user("and?"), &config).await.unwrap();
    let context = CallContext::default();
    let session = core.modify_message(&session, 0, "hello", &config, &context).await.unwrap();
    send(&core, &session, &config).await;
    let body = asked(&server, 1);
    assert_eq!(body["previous_response_id"], json!(null));
    assert_eq!(body["input"][0]["content"], "hello");
    assert_eq!(body["input"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn going_on_without_storing_is_refused() {
    let server = RawServer::start([]).await;
    let config = config_with(&server, json!({ "use_previous_response": true }));
    let error = core().send_request(&hello().await, &config, RequestOptions::default()).await;
    let error = error.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    assert!(error.message().contains("set store to true"), "{error}");
}

#[tokio::test]
async fn a_model_that_cannot_encrypt_is_asked_without() {
    let unable = refusal("", "include", "Encrypted content is not supported with this model.");
    let server = RawServer::start([unable, done("r")]).await;
    let response = send(&core(), &hello().await, &config_with(&server, json!({}))).await;
    assert_eq!(texts(&response.session), "hi|ok");
    assert!(
        asked(&server, 0).get("include").is_some() && asked(&server, 1).get("include").is_none()
    );
}

#[tokio::test]
async fn reasoning_that_the_server_cannot_read_is_left_out() {
    let reasoning =
        json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x" });
    let first = ok(&response("r", json!([reasoning, said("ok")])));
    let unreadable =
        refusal("invalid_encrypted_content", "", "The encrypted content could not be verified.");
    let server = RawServer::start([first, unreadable, done("r")]).await;
    let (core, config) = (core(), config_with(&server, json!({})));
    let session = send(&core, &hello().await, &config).await.session;
    let session = core.add_message(&session, Message::user("and?"), &config).await.unwrap();
    let session = send(&core, &session, &config).await.session;
    assert_eq!(texts(&session), "hi|ok|and?|ok");
    let input = |number: usize| asked(&server, number)["input"].as_array().unwrap().len();
    assert_eq!((input(1), input(2)), (4, 3));
}

#[tokio::test] // E-38
async fn errors_say_what_to_do_and_not_the_key() {
    let body = json!({ "error": { "message": format!("wrong key {}", key()), "code": "invalid_api_key" } });
    for (status, retryable, tries) in
        [("401 Unauthorized", false, 1), ("429 Too Many Requests", true, 3), ("500 Oops", true, 3)]
    {
        for stream in [true, false] {
            let server = RawServer::start(vec![reply(status, &body.to_string()); 3]).await;
            let (core, config, session) = (core(), config_with(&server, json!({})), hello().await);
            let error = if stream {
                let events = core.send_request_stream(&session, &config, RequestOptions::default());
                let last = events.collect::<Vec<_>>().await.pop().unwrap();
                last.unwrap_err()
            } else {
                let answer = core.send_request(&session, &config, RequestOptions::default()).await;
                answer.unwrap_err()
            };
            assert_eq!(error.retryable(), retryable, "{status}");
            assert!(error.message().contains("wrong key ***"), "{error}");
            let all = format!("{error} {error:?} {:?}", error.provider_body());
            assert!(!all.contains(&key()), "{all}");
            assert_eq!(server.requests().len(), tries, "{status}");
        }
    }
}

#[tokio::test] // E-38
async fn an_error_within_a_stream_ends_it() {
    let failed = json!({ "status": "failed", "error": { "code": "server_error", "message": format!("oh {}", key()) } });
    let server = RawServer::start([events(&[
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "a" }),
        json!({ "type": "response.failed", "response": failed }),
    ])])
    .await;
    let config = config_with(&server, json!({}));
    let events = core().send_request_stream(&hello().await, &config, RequestOptions::default());
    let events = events.collect::<Vec<_>>().await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert!(error.message().contains("oh ***") && error.retryable(), "{error}");
    assert!(!error.provider_body().unwrap().contains(&key()));
}

#[tokio::test] // E-31
async fn dropping_a_stream_closes_the_connection() {
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "one" });
    let open =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {delta}\n\n");
    let server = RawServer::start([open]).await;
    let config = config_with(&server, json!({}));
    let mut events = core().send_request_stream(&hello().await, &config, RequestOptions::default());
    match events.next().await {
        Some(Ok(CoreEvent::Partial(partial))) => assert_eq!(partial.content, "one"),
        other => panic!("no text: {other:?}"),
    }
    drop(events);
    tokio::time::timeout(Duration::from_secs(20), server.left()).await.unwrap();
}

#[tokio::test] // M-03
async fn models_are_listed_as_the_server_describes_them() {
    let list =
        json!({ "object": "list", "data": [{ "id": "m", "owned_by": "me" }, { "id": "n" }] });
    let server = RawServer::start([ok(&list)]).await;
    let models = core().models_for(&config_with(&server, json!({}))).await.unwrap();
    assert_eq!((&models[0]["owned_by"], &models[1]["id"]), (&json!("me"), &json!("n")));
    let request = &server.requests()[0].head;
    assert!(request.starts_with("GET /v1/models HTTP/1.1"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {}", key())));
}

#[tokio::test] // M-04
async fn a_conversation_of_another_provider_goes_on_here() {
    let server = RawServer::start([done("r")]).await;
    let messages = [
        json!({ "role": "user", "content": "go", "multipartContent": [{ "type": "image_url", "image_url": { "url": "u" } }] }),
        json!({ "role": "assistant", "content": "", "metadata": { "reasoning": "hm", "tool_calls": [
            { "type": "tool_use", "id": "toolu_1", "name": "echo", "input": { "text": "x" } },
            { "id": "b", "type": "custom", "custom": { "name": "echo", "input": "free" } },
            { "functionCall": { "name": "echo", "args": {} } },
        ] } }),
        json!({ "role": "tool", "content": "x", "metadata": { "tool_call_id": "toolu_1" } }),
        json!({ "role": "tool", "content": "free", "metadata": { "tool_call_id": "b" } }),
        json!({ "role": "tool", "content": "y", "metadata": { "tool_call_id": null } }),
        json!({ "role": "user", "content": "and?" }),
    ];
    let messages = messages.map(|message| Message::from_json(message).unwrap());
    let session = plain_session(&messages).await.unwrap();
    let response = send(&core(), &session, &config_with(&server, json!({}))).await;
    response.session.verify().unwrap();
    let expected = json!([
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "go" }, { "type": "input_image", "image_url": "u" }] },
        { "type": "function_call", "call_id": "toolu_1", "name": "echo", "arguments": "{\"text\":\"x\"}" },
        { "type": "custom_tool_call", "call_id": "b", "name": "echo", "input": "free" },
        { "type": "function_call", "call_id": "call_3", "name": "echo", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "toolu_1", "output": "x" },
        { "type": "custom_tool_call_output", "call_id": "b", "output": "free" },
        { "type": "function_call_output", "call_id": "call_3", "output": "y" },
        { "type": "message", "role": "user", "content": "and?" },
    ]);
    assert_eq!(asked(&server, 0)["input"], expected);
}
