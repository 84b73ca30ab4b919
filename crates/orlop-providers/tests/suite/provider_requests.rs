//! What `openai_compatible` sends, seen from the server: messages, settings, headers, and the
//! question for models.

use futures::StreamExt;
use orlop_core::hooks::{Hook, HookEvent, Observer, RequestChange};
use orlop_core::*;
use orlop_providers::http::Retries;
use orlop_providers::{HttpClient, HttpSettings, OpenAiCompatible, openai};
use orlop_testkit::asking::key;
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::scripted::{ScriptedFeature, config, plain_session, texts};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A core with the provider on a client that does not wait between tries.
fn core() -> Core {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::new(http)), Vec::new()).unwrap();
    core
}

/// The usual settings, and these.
fn config_with(server: &MockModel, more: Value) -> Config {
    let mut settings =
        json!({ "provider": openai::NAME, "model": "m", "base_url": server.base_url() });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(settings)
}

async fn ready() -> MockModel {
    let server = MockModel::start().await.unwrap();
    server.otherwise(|_| Reply::text(["ok"]));
    server
}

async fn send(core: &Core, session: &Session, config: &Config) -> Response {
    core.send_request(session, config, RequestOptions::default()).await.unwrap()
}

/// Sends one message of the person and gives it as the server got it.
async fn sent(message: Message) -> Value {
    let server = ready().await;
    let session = plain_session(&[message]).await.unwrap();
    send(&core(), &session, &config_with(&server, json!({}))).await;
    server.requests()[0].json()["messages"][0].clone()
}

fn with_parts(text: &str, parts: Value) -> Message {
    let message = json!({ "role": "user", "content": text, "multipartContent": parts });
    Message::from_json(message).unwrap()
}

/// Sends a request with these settings and gives the body, without the messages.
async fn settings_sent(more: Value) -> Value {
    let server = ready().await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    send(&core(), &session, &config_with(&server, more)).await;
    let mut body = server.requests()[0].json();
    body.as_object_mut().unwrap().shift_remove("messages");
    body
}

#[tokio::test] // M-02
async fn images_are_sent_by_address_and_inline() {
    let parts = json!([
        { "type": "image", "url": "https://example.com/cat.png", "detail": "low" },
        { "type": "image", "data": "QUJD", "media_type": "image/jpeg" },
    ]);
    let expected = json!({ "role": "user", "content": [
        { "type": "text", "text": "what is this?" },
        { "type": "image_url", "image_url": { "url": "https://example.com/cat.png", "detail": "low" } },
        { "type": "image_url", "image_url": { "url": "data:image/jpeg;base64,QUJD" } },
    ] });
    assert_eq!(sent(with_parts("what is this?", parts)).await, expected);
}

#[tokio::test] // M-02, A-11
async fn parts_of_an_unknown_type_pass() {
    let parts =
        json!([{ "type": "odd", "n": 1.0 }, { "type": "file", "file": { "file_id": "f" } }]);
    let message = sent(with_parts("", parts.clone())).await;
    assert_eq!(message, json!({ "role": "user", "content": parts }));
}

#[tokio::test] // M-02, A-27
async fn internal_metadata_stays_here() {
    let server = ready().await;
    server.reply(Reply::text(["fine"]).reasoning("hm"));
    let feature = ScriptedFeature::new("marks").initialize_request(|input, _| {
        if input.native_messages.iter().any(|item| item.metadata().contains_key("mark")) {
            return Ok(RequestChange::default());
        }
        let item = json!({ "role": "system", "content": "be kind", "_metadata": { "mark": 1 } });
        Ok(RequestChange::native(Change::insert(0, vec![item.into()])))
    });
    let mut core = core();
    core.register_feature(Arc::new(feature)).unwrap();
    let more = json!({ "extra_body": { "_metadata": { "x": 1 } }, "_metadata": { "y": 1 } });
    let config = config_with(&server, more);
    let hello = Message::user("hi").with_metadata_entry("_metadata", json!({ "z": 1 }));
    let session = plain_session(&[hello]).await.unwrap();
    let session = send(&core, &session, &config).await.session;
    let result = json!({ "role": "tool", "content": "x", "tool_result": { "text": "x" },
        "metadata": { "tool_call_id": "a", "display": { "type": "text" } } });
    let result = Message::from_json(result).unwrap();
    let session = core.add_message(&session, result, &config).await.unwrap();
    let session = send(&core, &session, &config).await.session;
    assert_eq!(texts(&session), "be kind|hi|fine|x|ok");
    let stored = session.native().unwrap().items().iter().filter(|it| !it.metadata().is_empty());
    assert_eq!(stored.count(), 4, "all but the message of the person have some");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        assert!(!body.contains("_metadata") && body.contains("be kind"), "{body}");
    }
}

#[tokio::test]
async fn instructions_keep_their_role() {
    assert_eq!(
        sent(Message::system("be brief")).await,
        json!({ "role": "system", "content": "be brief" })
    );

    let server = ready().await;
    let developer = json!({ "role": "developer", "content": "obey", "name": "boss" });
    let item = developer.clone();
    let feature = ScriptedFeature::new("developer").initialize_request(move |input, _| {
        let there = input.native_messages.get(0).is_some_and(|first| first.get("name").is_some());
        let change =
            if there { Change::Keep } else { Change::insert(0, vec![item.clone().into()]) };
        Ok(RequestChange::native(change))
    });
    let mut core = core();
    core.register_feature(Arc::new(feature)).unwrap();
    let config = config_with(&server, json!({}));
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let session = send(&core, &session, &config).await.session;
    assert_eq!(session.messages().iter().next().unwrap().role(), Role::System);
    let session = core.add_message(&session, Message::user("ho"), &config).await.unwrap();
    send(&core, &session, &config).await;
    for request in server.requests() {
        assert_eq!(request.json()["messages"][0], developer);
    }
}

#[tokio::test] // M-01
async fn settings_reach_the_server() {
    let settings = json!({
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "max_completion_tokens": 99,
        "reasoning_effort": "low", "stop": ["\n"], "seed": 7, "presence_penalty": 0.1,
        "frequency_penalty": 0.2, "tool_choice": "auto", "parallel_tool_calls": false,
        "response_format": { "type": "json_object" }, "prompt_cache_key": "cache-1",
        "service_tier": "flex",
    });
    let mut expected = settings.clone();
    expected["model"] = json!("m");
    assert_eq!(settings_sent(settings).await, expected);
    // What belongs to Orlop, and what is unset, does not.
    assert_eq!(settings_sent(json!({ "agent": "x", "seed": null })).await, json!({ "model": "m" }));
}

#[tokio::test]
async fn further_fields_are_sent_as_they_are_and_win() {
    let extra = json!({ "top_k": 5, "temperature": 1.0, "deep": { "list": [null], "n": 1.0 } });
    let body =
        settings_sent(json!({ "model": "x", "temperature": 0.1, "extra_body": extra })).await;
    let expected = json!({ "model": "x", "temperature": 1.0, "top_k": 5,
        "deep": { "list": [null], "n": 1.0 } });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn further_fields_do_not_change_the_form_of_a_request() {
    let extra = json!({ "stream": true, "stream_options": { "x": 1 }, "messages": [], "n": null });
    let body = settings_sent(json!({ "extra_body": extra })).await;
    assert_eq!(body, json!({ "model": "m" }));
}

#[tokio::test]
async fn token_counts_are_asked_for_unless_the_server_is_spared_the_field() {
    for (more, expected) in [
        (json!({}), json!({ "include_usage": true })),
        (json!({ "extra_body": { "stream_options": null } }), json!(null)),
    ] {
        let server = ready().await;
        let session = plain_session(&[Message::user("hi")]).await.unwrap();
        let events = core().send_request_stream(
            &session,
            &config_with(&server, more),
            RequestOptions::default(),
        );
        assert!(events.collect::<Vec<_>>().await.iter().all(|event| event.is_ok()));
        assert_eq!(server.requests()[0].json()["stream_options"], expected);
    }
}

#[tokio::test]
async fn nulls_inside_a_field_are_meant_for_the_server() {
    let format = json!({ "type": "json_schema", "schema": { "const": null } });
    let body = settings_sent(json!({ "response_format": format })).await;
    assert_eq!(body, json!({ "model": "m", "response_format": format }));
}

#[tokio::test]
async fn key_and_headers_reach_the_server() {
    let server = ready().await;
    let config = config_with(&server, json!({ "api_key": key(), "headers": { "X-Team": "blue" } }));
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    send(&core(), &session, &config).await;
    core().models_for(&config).await.unwrap();
    let bearer = format!("Bearer {}", key());
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some(bearer.as_str()));
        assert_eq!(request.header("x-team"), Some("blue"));
    }
    assert_eq!(server.requests()[0].header("content-type"), Some("application/json"));
    assert!(!String::from_utf8_lossy(&server.requests()[0].body).contains(&key()));

    send(&core(), &session, &config_with(&server, json!({ "api_key": "" }))).await;
    assert_eq!(server.requests()[2].header("authorization"), None);
}

#[tokio::test]
async fn a_header_that_is_no_text_is_refused() {
    let server = ready().await;
    let config = config_with(&server, json!({ "headers": { "x-n": 1 } }));
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let error = core().send_request(&session, &config, RequestOptions::default()).await;
    let error = error.unwrap_err();
    assert_eq!(error.class(), ErrorClass::WrongType);
    assert!(error.message().contains("\"x-n\""), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn without_a_model_nothing_is_sent() {
    let server = ready().await;
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    for model in [json!(null), json!(""), json!(7)] {
        let config = config_with(&server, json!({ "model": model }));
        let error = core().send_request(&session, &config, RequestOptions::default()).await;
        let error = error.unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadArgument);
        let says = format!("set model to one that {} offers", server.base_url());
        assert!(error.message().contains(&says), "{error}");
    }
    assert!(server.requests().is_empty());
}

/// Counts answers of the model hook, and keeps what its failures say.
#[derive(Default)]
struct Discovery {
    answered: Mutex<usize>,
    failed: Mutex<Vec<String>>,
}

impl Observer for Discovery {
    fn hook(&self, _: &str, hook: Hook, event: HookEvent<'_>) {
        match (hook, event) {
            (Hook::GetModels, HookEvent::Answered(_)) => *self.answered.lock().unwrap() += 1,
            (Hook::GetModels, HookEvent::Failed(error)) => {
                let kept = error.provider_body().unwrap_or_default();
                self.failed.lock().unwrap().push(format!("{error} {error:?} {kept}"));
            }
            _ => {}
        }
    }
}

fn asked_for_models(server: &MockModel) -> usize {
    server.requests().iter().filter(|it| (&*it.method, &*it.path) == ("GET", "/v1/models")).count()
}

#[tokio::test] // M-02, M-03, A-35, D-14, D-16
async fn models_are_asked_for_once_and_offered_as_a_choice() {
    let server = ready().await;
    server.models(["small", "large"]);
    let core = core();
    for settings in [json!({}), json!({ "model": "small", "temperature": 1 })] {
        let elements = core.ui_schema(&config_with(&server, settings)).await.unwrap();
        let model = elements.iter().find(|element| element["key"] == "model").unwrap();
        assert_eq!(model["options"], json!(["small", "large"]));
        assert_eq!((&model["ui_type"], &model["plugin"]), (&json!("config"), &json!(openai::NAME)));
    }
    let models = core.models_for(&config_with(&server, json!({}))).await.unwrap();
    assert_eq!(models[1]["id"], "large");
    assert_eq!(asked_for_models(&server), 1);
    core.models_for(&config_with(&server, json!({ "api_key": key() }))).await.unwrap();
    assert_eq!(asked_for_models(&server), 2, "another key may see other models");
}

#[tokio::test] // M-02, M-03
async fn tags_and_settings_are_contributed() {
    let server = ready().await;
    let core = core();
    let tags = core.tags_for(&config_with(&server, json!({}))).await.unwrap();
    assert_eq!(tags, ["chat", "streaming", "tools", "images"]);
    let schema = core.config_schema();
    let entry = |key: &str| schema.iter().find(|entry| entry["key"] == key).unwrap();
    assert_eq!(entry("model")["required"], true);
    assert_eq!(entry("base_url")["default"], "https://api.openai.com/v1");
    assert_eq!(entry("api_key")["secret"], true);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_server_without_a_model_list_offers_none() {
    let server = ready().await;
    server.models_reply(Reply::status(404));
    let seen = Arc::new(Discovery::default());
    let core = core().observed(seen.clone());
    for _ in 0..2 {
        assert!(core.models_for(&config_with(&server, json!({}))).await.unwrap().is_empty());
    }
    assert_eq!(asked_for_models(&server), 1);
    assert_eq!((*seen.answered.lock().unwrap(), seen.failed.lock().unwrap().len()), (1, 0));
}

#[tokio::test] // D-17
async fn a_failing_model_list_does_not_keep_a_request_back() {
    let server = ready().await;
    server.models_reply(Reply::status(500));
    let seen = Arc::new(Discovery::default());
    let mut core = core().observed(seen.clone());
    // A feature that looks at models, so that the request asks for them first.
    let curious = ScriptedFeature::with_manifest(Manifest::new("curious", "1"));
    core.register_feature(Arc::new(curious)).unwrap();
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let response = send(&core, &session, &config_with(&server, json!({}))).await;
    assert_eq!(texts(&response.session), "hi|ok");
    assert_eq!(asked_for_models(&server), 3, "it was tried again");
    assert_eq!(seen.failed.lock().unwrap().len(), 1);
}

#[tokio::test] // E-38
async fn a_model_list_that_repeats_the_key_does_not_give_it_away() {
    for status in [200, 403] {
        let server = ready().await;
        server.models_reply(Reply::status(status).body(format!("who is {}?", key())));
        let seen = Arc::new(Discovery::default());
        let core = core().observed(seen.clone());
        let config = config_with(&server, json!({ "api_key": key() }));
        assert!(core.models_for(&config).await.unwrap().is_empty());
        let failed = seen.failed.lock().unwrap().join("\n");
        assert!(failed.contains("who is ***?") && !failed.contains(&key()), "{failed}");
    }
}
