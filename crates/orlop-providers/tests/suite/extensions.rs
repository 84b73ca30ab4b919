//! The extensions beside a real provider and a server: the key of the prompt cache, and reasoning.

use futures::StreamExt;
use orlop_core::*;
use orlop_providers::extensions::{PromptCache, Reasoning};
use orlop_providers::responses::{self, Responses};
use orlop_providers::{OpenAiCompatible, openai, scripted::Scripted};
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::scripted::{config, plain_session};
use serde_json::json;
use std::sync::Arc;

fn core() -> Core {
    let mut core = Core::new();
    let extensions: Vec<Arc<dyn Extension>> = vec![Arc::new(PromptCache), Arc::new(Reasoning)];
    core.register_provider(Arc::new(OpenAiCompatible::default()), extensions).unwrap();
    core.register_provider(Arc::new(Scripted::default()), vec![Arc::new(Reasoning)]).unwrap();
    core
}

fn config_for(server: &MockModel, more: Value) -> Config {
    let mut values =
        json!({ "provider": openai::NAME, "model": "m", "base_url": server.base_url() });
    values.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    config(values)
}

async fn echo() -> MockModel {
    MockModel::echo().await.unwrap()
}

async fn hi() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

fn sent_key(server: &MockModel) -> Value {
    let requests = server.requests();
    let chats = requests.iter().filter(|request| request.method == "POST");
    chats.last().unwrap().json()["prompt_cache_key"].clone()
}

/// The session after the actions of `trigger`, and what they said.
async fn run(core: &Core, session: &Session, config: &Config, trigger: &str) -> (Session, Value) {
    let context = CallContext::new("test");
    let run = core.execute_lifecycle_actions(session, config, trigger, &context).await.unwrap();
    assert_eq!(run.results.len(), 1, "{trigger}");
    (run.session, Value::Object(run.results[0].result.clone()))
}

fn key_of(session: &Session) -> &str {
    session.overrides().unwrap()["prompt_cache_key"].as_str().unwrap()
}

#[tokio::test] // M-05, C-34
async fn a_session_gets_a_key_once_and_keeps_it() {
    let server = echo().await;
    let (core, config) = (core(), config_for(&server, json!({})));
    let new = core.create_session(Some("new"));
    let (created, said) = run(&core, &new, &config, lifecycle::SESSION_CREATE).await;
    let key = key_of(&created).to_owned();
    assert!(key.starts_with("orlop-") && key.len() == 38 && !key.contains("new"), "{key}");
    assert_eq!(said, json!({}));

    let (kept, said) = run(&core, &created, &config, lifecycle::REQUEST_PREPARE).await;
    assert_eq!((kept, said), (created, json!({ "status": "noop" })));

    // An old session gets one with its next request; another session another one.
    let (old, _) = run(&core, &hi().await, &config, lifecycle::REQUEST_PREPARE).await;
    assert_ne!(key_of(&old), key);

    // Other overrides stay, and a key of one's own is not replaced.
    let held = |overrides: Value| {
        new.with_metadata_patch(json!({ "overrides": overrides }).as_object().unwrap())
    };
    let (both, _) =
        run(&core, &held(json!({ "model": "n" })), &config, lifecycle::SESSION_CREATE).await;
    assert_eq!(both.overrides().unwrap()["model"], "n");
    assert!(key_of(&both).starts_with("orlop-"));
    let own = held(json!({ "prompt_cache_key": "mine" }));
    assert_eq!(run(&core, &own, &config, lifecycle::SESSION_CREATE).await.0, own);
    let configured = config_for(&server, json!({ "prompt_cache_key": "of the agent" }));
    assert_eq!(run(&core, &new, &configured, lifecycle::SESSION_CREATE).await.0, new);
}

#[tokio::test] // M-06, C-33
async fn the_key_goes_out_with_the_request() {
    let server = echo().await;
    let (core, config) = (core(), config_for(&server, json!({})));
    let (session, _) = run(&core, &hi().await, &config, lifecycle::REQUEST_PREPARE).await;
    let response = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(sent_key(&server), key_of(&session));
    assert_eq!(response.session.overrides(), session.overrides());

    let configured = config_for(&server, json!({ "prompt_cache_key": "of the agent" }));
    core.send_request(&session, &configured, RequestOptions::default()).await.unwrap();
    assert_eq!(sent_key(&server), "of the agent");

    core.send_request(&hi().await, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(sent_key(&server), Value::Null);
}

#[tokio::test] // M-06
async fn the_responses_api_gets_the_key_and_no_word_of_the_extensions() {
    let server = MockModel::start().await.unwrap();
    let mut core = Core::new();
    let extensions: Vec<Arc<dyn Extension>> = vec![Arc::new(PromptCache), Arc::new(Reasoning)];
    core.register_provider(Arc::new(Responses::default()), extensions).unwrap();
    let config = config_for(
        &server,
        json!({ "provider": responses::NAME, "reasoning": { "show": "none", "effort": "low" } }),
    );
    let (session, _) = run(&core, &hi().await, &config, lifecycle::REQUEST_PREPARE).await;
    // What the server answers does not matter here.
    let _ = core.send_request(&session, &config, RequestOptions::default()).await;
    assert_eq!(sent_key(&server), key_of(&session));
    let sent = server.requests().last().unwrap().json();
    assert_eq!(sent["reasoning"], json!({ "effort": "low" }));
}

#[tokio::test] // M-06
async fn a_server_that_refuses_the_key_is_asked_without() {
    let server = MockModel::start().await.unwrap();
    let words = "Extra inputs are not permitted: prompt_cache_key";
    server.reply(Reply::status(422).json(json!({ "detail": words })));
    server.reply(Reply::text(["yes"]));
    let (core, config) = (core(), config_for(&server, json!({})));
    let (session, _) = run(&core, &hi().await, &config, lifecycle::REQUEST_PREPARE).await;
    let response = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(response.messages[0].text(), "yes");
    assert_eq!(sent_key(&server), Value::Null);
}

#[tokio::test] // M-06
async fn a_server_that_refuses_the_key_is_not_sent_it_again() {
    let (refusing, taking) =
        (MockModel::strict().await.unwrap(), MockModel::strict().await.unwrap());
    refusing.otherwise(|request| match request.json().get("prompt_cache_key") {
        Some(_) => {
            Reply::status(400).json(json!({ "error": "unknown field prompt_cache_key" })).any()
        }
        None => Reply::text(["yes"]).any(),
    });
    taking.otherwise(|_| Reply::text(["yes"]));
    let core = core();
    let (session, _) =
        run(&core, &hi().await, &config_for(&taking, json!({})), lifecycle::REQUEST_PREPARE).await;
    for _ in 0..2 {
        for server in [&refusing, &taking] {
            let config = config_for(server, json!({}));
            core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
            let events = core.send_request_stream(&session, &config, RequestOptions::default());
            assert!(events.collect::<Vec<_>>().await.iter().all(Result::is_ok));
        }
    }
    let keys = |server: &MockModel| -> Vec<bool> {
        let requests = server.requests();
        requests.iter().map(|it| it.json().get("prompt_cache_key").is_some()).collect()
    };
    assert_eq!(keys(&refusing), [true, false, false, false, false], "one refusal, four answers");
    assert_eq!(keys(&taking), [true; 4], "another server gets it as before");
}

#[tokio::test] // M-06
async fn a_refusal_for_another_reason_is_not_remembered() {
    let server = MockModel::start().await.unwrap();
    let words = json!({ "error": "too long: {\"prompt_cache_key\":...}" });
    server.reply(Reply::status(400).json(words.clone())).reply(Reply::status(400).json(words));
    server.otherwise(|_| Reply::text(["yes"]));
    let (core, config) = (core(), config_for(&server, json!({})));
    let (session, _) = run(&core, &hi().await, &config, lifecycle::REQUEST_PREPARE).await;
    core.send_request(&session, &config, RequestOptions::default()).await.unwrap_err();
    assert_eq!(sent_key(&server), Value::Null, "it was asked without");
    core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(sent_key(&server), key_of(&session), "which was not the reason");
}

#[tokio::test] // C-26, C-30, C-36
async fn extensions_work_where_they_belong() {
    let server = echo().await;
    let core = core();
    let active = |config: Config| {
        let core = core.clone();
        async move { core.plugins_for(&config).await.unwrap().extensions }
    };
    assert_eq!(active(config_for(&server, json!({}))).await, ["prompt_cache"]);
    let hidden = json!({ "reasoning": { "show": "none" } });
    assert_eq!(active(config_for(&server, hidden.clone())).await, ["prompt_cache", "reasoning"]);
    let scripted =
        json!({ "provider": "scripted", "script": ["a"], "reasoning": { "show": "none" } });
    assert_eq!(active(config(scripted)).await, ["reasoning"]);
    let wrong = config_for(&server, json!({ "reasoning": { "show": "loud" } }));
    let error = core.plugins_for(&wrong).await.unwrap_err().to_string();
    assert!(error.contains("reasoning.show: \"loud\" is not known"), "{error}");
}

/// What is shown of an answer, and the message that stays of it.
async fn answered(core: &Core, config: &Config) -> (String, String, Message, Session) {
    let mut events = core.send_request_stream(&hi().await, config, RequestOptions::default());
    let (mut text, mut thought) = (String::new(), String::new());
    while let Some(event) = events.next().await {
        match event.unwrap() {
            CoreEvent::Partial(partial) => {
                text.push_str(&partial.content);
                thought.push_str(&partial.reasoning);
            }
            CoreEvent::Final(response) => {
                let message = response.messages[0].clone();
                return (text, thought, message, response.session);
            }
        }
    }
    panic!("no answer")
}

fn reasoning_of(message: &Message) -> Option<&str> {
    message.metadata().get("reasoning").and_then(Value::as_str)
}

#[tokio::test] // C-31, C-32
async fn reasoning_between_tags_is_told_apart_and_history_stays() {
    let tags = json!({ "reasoning": { "tags": ["<think>", "</think>"] } });
    let pieces = ["<thi", "nk>\nOne, ", "two.\n</", "think>\n\nThr", "ee <b>"];
    let sent = pieces.concat();
    for show in ["full", "summary", "none"] {
        let server = MockModel::start().await.unwrap();
        server.otherwise(move |_| Reply::text(pieces));
        let mut settings = tags.clone();
        settings["reasoning"]["show"] = show.into();
        let (core, config) = (core(), config_for(&server, settings));
        let (text, thought, message, session) = answered(&core, &config).await;
        let expected = match show {
            "full" => "One, two.\n",
            "summary" => "One, two.",
            _ => "",
        };
        assert_eq!((text.as_str(), thought.as_str()), ("Three <b>", expected), "{show}");
        assert_eq!(message.text(), text, "{show}");
        assert_eq!(reasoning_of(&message).unwrap_or_default(), thought, "{show}");
        let native = session.native().unwrap().items();
        assert_eq!(native.last().unwrap().get("content"), Some(&json!(sent)), "{show}");
        session.verify().unwrap();

        // Not streamed, and read again from history, it is the same.
        let called =
            core.send_request(&hi().await, &config, RequestOptions::default()).await.unwrap();
        assert_eq!(called.messages[0].text(), text, "{show}");
        assert_eq!(reasoning_of(&called.messages[0]), reasoning_of(&message), "{show}");
    }
}

#[tokio::test] // C-32
async fn reasoning_of_any_provider_can_be_hidden() {
    let script = json!([{ "reasoning": ["First.\n", "Then."], "text": "Done." }]);
    for (show, expected) in [("full", "First.\nThen."), ("summary", "First."), ("none", "")] {
        let config = config(json!({
            "provider": "scripted", "script": script, "reasoning": { "show": show },
        }));
        let (text, thought, message, session) = answered(&core(), &config).await;
        assert_eq!((text.as_str(), thought.as_str()), ("Done.", expected), "{show}");
        assert_eq!(reasoning_of(&message).unwrap_or_default(), expected, "{show}");
        let native = session.native().unwrap().items();
        assert_eq!(native.last().unwrap().get("reasoning"), Some(&json!("First.\nThen.")));
    }
}
