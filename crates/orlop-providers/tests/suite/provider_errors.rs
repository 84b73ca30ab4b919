//! What becomes of refusals, faults and nonsense of a server: typed errors that say what to do and
//! show no key, and a session that is as good as before.

use futures::StreamExt;
use orlop_core::*;
use orlop_providers::http::Retries;
use orlop_providers::{HttpClient, HttpSettings, OpenAiCompatible, openai};
use orlop_testkit::asking::key;
use orlop_testkit::mock_model::{Content, MockModel, RecordedRequest, Reply};
use orlop_testkit::scripted::{config, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn core_with(retries: Retries) -> Core {
    let http = HttpClient::new(HttpSettings { retries, ..HttpSettings::default() });
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::new(http)), Vec::new()).unwrap();
    core
}

fn at_once() -> Retries {
    Retries { first_delay: Duration::ZERO, ..Retries::default() }
}

fn config_for(base_url: &str) -> Config {
    let mut settings = json!({ "provider": openai::NAME, "model": "m", "base_url": base_url });
    settings["api_key"] = key().into();
    config(settings)
}

async fn asked() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

async fn always<C: Into<Content>>(
    reply: impl Fn(&RecordedRequest) -> Reply<C> + Send + Sync + 'static,
) -> MockModel {
    let server = MockModel::start().await.unwrap();
    server.otherwise(reply);
    server
}

fn shows_no_key(error: &Error) {
    let kept = error.provider_body().unwrap_or_default();
    let shown = format!("{error} {error:?} {} {kept}", error.to_json());
    assert!(!shown.contains(&key()), "{shown}");
}

/// What was shown before a stream failed, and its error.
async fn stream_error(core: &Core, session: &Session, config: &Config) -> (String, Error) {
    let events = core.send_request_stream(session, config, RequestOptions::default());
    let mut events: Vec<Result<CoreEvent>> = events.collect().await;
    let error = events.pop().unwrap().unwrap_err();
    shows_no_key(&error);
    assert_eq!(error.plugin_name(), Some(openai::NAME));
    let text = |event| match event {
        Ok(CoreEvent::Partial(partial)) => partial.content,
        other => panic!("before the error: {other:?}"),
    };
    (events.into_iter().map(text).collect(), error)
}

/// A failed request.
struct Failed {
    shown: String,
    error: Error,
    /// How often the server was asked.
    requests: usize,
    /// The error of the same request without a stream.
    collected: Error,
}

/// Fails in both forms, and checks that the session is as good as before.
async fn fail(server: &MockModel) -> Failed {
    let (core, config, session) =
        (core_with(at_once()), config_for(&server.base_url()), asked().await);
    let before = session.to_json();
    let (shown, error) = stream_error(&core, &session, &config).await;
    let requests = server.requests().len();
    let collected = core.send_request(&session, &config, RequestOptions::default()).await;
    let collected = collected.unwrap_err();
    shows_no_key(&collected);
    for error in [&error, &collected] {
        assert_eq!(error.class(), ErrorClass::Provider, "{error}");
    }
    assert_eq!(session.to_json(), before);
    server.reply(Reply::text(["fine"]));
    let next = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(texts(&next.session), "hi|fine");
    Failed { shown, error, requests, collected }
}

/// A refusal that is not tried again, with the server's answer kept and the advice given.
async fn check_refusal(status: u16, says: &'static str) {
    let server = always(move |request| {
        let bearer = request.header("authorization").unwrap();
        Reply::status(status).json(json!({ "error": { "message": format!("not for {bearer}") } }))
    })
    .await;
    let Failed { shown, error, requests, collected } = fail(&server).await;
    assert_eq!((shown.as_str(), requests), ("", 1));
    assert_eq!((error.provider_status(), error.retryable()), (Some(status), false));
    assert_eq!(error.provider_body(), Some(r#"{"error":{"message":"not for Bearer ***"}}"#));
    assert!(error.message().contains(&format!("not for Bearer ***; {says}")), "{error}");
    assert_eq!(collected.message(), error.message());
}

#[tokio::test] // M-04, E-38
async fn refusals_say_what_to_do_and_show_no_key() {
    check_refusal(400, "change the request").await;
    check_refusal(401, "check \"api_key\"").await;
    check_refusal(404, "check \"base_url\" and \"model\"").await;
}

#[tokio::test] // M-04
async fn a_busy_server_is_asked_again() {
    let server = always(|_| Reply::text(["ok"])).await;
    server.reply(Reply::status(429).header("retry-after", "0"));
    let (core, config) = (core_with(at_once()), config_for(&server.base_url()));
    let response = core.send_request(&asked().await, &config, RequestOptions::default()).await;
    assert_eq!(texts(&response.unwrap().session), "hi|ok");
    let bodies: Vec<_> = server.requests().iter().map(|request| request.body.clone()).collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn the_server_says_when_to_ask_again() {
    let server = always(|_| Reply::text(["ok"])).await;
    server.reply(Reply::status(429).header("retry-after-ms", "1"));
    server.reply(Reply::status(503).header("retry-after", "0.001"));
    // Without the word of the server this would wait for an hour.
    let hour = Duration::from_secs(3600);
    let core = core_with(Retries { first_delay: hour, max_delay: hour, ..Retries::default() });
    let (config, session) = (config_for(&server.base_url()), asked().await);
    let request = core.send_request(&session, &config, RequestOptions::default());
    let response = tokio::time::timeout(Duration::from_secs(20), request).await.unwrap();
    assert_eq!(texts(&response.unwrap().session), "hi|ok");
}

#[tokio::test] // M-04
async fn a_wait_that_is_too_long_is_told_at_once() {
    let server = always(|_| Reply::status(429).header("retry-after", "61")).await;
    let Failed { error, requests, .. } = fail(&server).await;
    assert_eq!((error.provider_status(), error.retryable(), requests), (Some(429), true, 1));
    assert!(error.message().ends_with("it asks to wait 61 seconds: try again then"), "{error}");
    assert_eq!(error.retry_after_seconds(), Some(61));
}

#[tokio::test] // M-04
async fn the_last_failure_says_when_to_try_again() {
    for (header, wait, seconds) in [("retry-after", "7", 7), ("retry-after-ms", "1500", 2)] {
        let server = always(move |_| Reply::status(503).header(header, wait)).await;
        let mut settings = json!({ "provider": openai::NAME, "model": "m", "max_retries": 0 });
        settings["base_url"] = server.base_url().into();
        let (core, config, session) = (core_with(at_once()), config(settings), asked().await);
        let sent = core.send_request(&session, &config, RequestOptions::default()).await;
        let error = sent.unwrap_err();
        let told = format!("retry in {seconds} s");
        assert!(error.message().ends_with(&told), "{error}");
        assert_eq!(error.to_json()["retry_after_seconds"], seconds);
    }
}

#[tokio::test] // M-04
async fn faults_are_tried_up_to_the_limit_and_then_told() {
    for status in [429, 500, 503] {
        let server = always(move |_| Reply::status(status).body("<h1>out of order</h1>")).await;
        let Failed { error, requests, collected, .. } = fail(&server).await;
        assert_eq!((error.provider_status(), error.retryable(), requests), (Some(status), true, 3));
        assert_eq!(error.provider_body(), Some("<h1>out of order</h1>"));
        assert!(error.message().ends_with("(tried 3 times)"), "{error}");
        assert_eq!(collected.message(), error.message());
    }
    let server = always(|_| Reply::status(500)).await;
    let core = core_with(Retries { attempts: 1, ..at_once() });
    stream_error(&core, &asked().await, &config_for(&server.base_url())).await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test] // M-04
async fn an_error_under_a_good_status_is_an_error() {
    let server = always(|request| {
        let bearer = request.header("authorization").unwrap();
        Reply::text(["par", "tial"])
            .then_error(json!({ "message": format!("overloaded: {bearer}"), "code": 503 }))
    })
    .await;
    let Failed { shown, error, requests, collected } = fail(&server).await;
    assert_eq!((shown.as_str(), requests), ("partial", 1));
    assert_eq!((error.provider_status(), error.retryable()), (Some(503), true));
    assert!(error.message().contains("reported an error: overloaded: Bearer ***"), "{error}");
    assert!(error.provider_body().unwrap().contains("Bearer ***"));
    assert_eq!(collected.message(), error.message());
}

#[tokio::test] // E-29
async fn a_stream_that_breaks_off_is_an_error_after_its_fragments() {
    let server = always(|_| Reply::text(["one ", "two"]).cut()).await;
    let Failed { shown, error, requests, collected } = fail(&server).await;
    assert_eq!((shown.as_str(), requests), ("one two", 1), "what was shown is not asked for again");
    for error in [error, collected] {
        assert!(error.message().starts_with("the answer ended early: the connection"), "{error}");
        assert!(error.retryable());
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_first_byte_is_tried_again() {
    let server = always(|_| Reply::text(["ok"])).await;
    server.reply(Reply::script().cut()).reply(Reply::script().cut());
    let (core, config) = (core_with(at_once()), config_for(&server.base_url()));
    let response = core.send_request(&asked().await, &config, RequestOptions::default()).await;
    assert_eq!(texts(&response.unwrap().session), "hi|ok");
    assert_eq!(server.requests().len(), 3);
}

fn event(text: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })
}

#[tokio::test] // M-04, E-38
async fn a_line_that_is_no_json_is_an_error() {
    let server =
        always(|_| Reply::script().event(event("a")).raw(format!("data: {{{}\n\n", key()))).await;
    let Failed { shown, error, collected, .. } = fail(&server).await;
    assert_eq!(shown, "a");
    assert!(error.message().contains("sent a data line that is no JSON"), "{error}");
    assert_eq!((error.provider_body(), error.retryable()), (Some("{***"), false));
    assert!(collected.message().contains("sent an answer that is no JSON"), "{collected}");
}

#[tokio::test]
async fn text_that_is_no_utf8_is_an_error() {
    let server = always(|_| Reply::script().event(event("a")).raw(b"data: \xff\xfe\n\n")).await;
    let Failed { shown, error, .. } = fail(&server).await;
    assert_eq!(shown, "a");
    assert!(error.message().contains("UTF-8"), "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_before_the_model_did_is_an_error() {
    let server = always(|_| Reply::text(["a", "b"]).without_finish()).await;
    let core = core_with(at_once());
    let (shown, error) = stream_error(&core, &asked().await, &config_for(&server.base_url())).await;
    assert_eq!((shown.as_str(), error.retryable()), ("ab", true));
    assert!(error.message().contains("closed the stream before the end"), "{error}");
    // A document is complete by itself, whether it gives a reason or not.
    let config = config_for(&server.base_url());
    let whole = core.send_request(&asked().await, &config, RequestOptions::default()).await;
    assert_eq!(texts(&whole.unwrap().session), "hi|ab");
}

#[tokio::test]
async fn an_answer_without_a_choice_is_an_error() {
    let server = always(|request| {
        let nothing = json!({ "choices": [] });
        if request.wants_stream() {
            return Reply::script().event(nothing).done().any();
        }
        Reply::status(200).json(nothing).any()
    })
    .await;
    let Failed { error, collected, requests, .. } = fail(&server).await;
    assert!(error.message().contains("an answer without a message"), "{error}");
    assert_eq!((collected.message(), requests), (error.message(), 1));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let server = MockModel::start().await.unwrap();
    let base_url = server.base_url();
    server.stop().await;
    let core = core_with(at_once());
    let (_, error) = stream_error(&core, &asked().await, &config_for(&base_url)).await;
    let host = base_url.strip_suffix("/v1").unwrap();
    let says = format!("cannot reach the model server at {host}: Connection refused");
    assert!(error.message().starts_with(&says), "{error}");
    assert!(error.message().contains("check \"base_url\""), "{error}");
    assert_eq!((error.class(), error.retryable()), (ErrorClass::Provider, true));
}

#[tokio::test] // E-38
async fn a_key_in_a_header_of_its_own_is_not_shown_either() {
    let server = always(|request| {
        let names = ["api-key", "x-auth-token", "authorization"];
        let keys = names.map(|name| request.header(name).unwrap_or("none").to_owned());
        Reply::status(401).body(keys.join(" and "))
    })
    .await;
    let mut settings =
        json!({ "provider": openai::NAME, "model": "m", "base_url": server.base_url() });
    let [other, bearer] = ["other", "bearer"].map(|name| format!("{name}-{}", key()));
    settings["headers"] = json!({
        "api-key": key(), "X-Auth-Token": other, "authorization": format!("Bearer {bearer}"),
    });
    let (_, error) = stream_error(&core_with(at_once()), &asked().await, &config(settings)).await;
    assert!(error.message().contains("*** and *** and Bearer ***;"), "{error}");
}

#[tokio::test]
async fn a_wait_for_another_try_is_shown() {
    let server = MockModel::start().await.unwrap();
    let busy = json!({ "error": { "message": format!("too fast, {}", key()) } });
    server.reply(Reply::status(429).json(busy)).reply(Reply::status(503));
    server.reply(Reply::text(["at ", "last"]));
    let (core, config) = (core_with(at_once()), config_for(&server.base_url()));
    let session = asked().await;
    let events = core.send_request_stream(&session, &config, RequestOptions::default());
    let events: Vec<CoreEvent> = events.map(|event| event.unwrap()).collect().await;
    let shown: Vec<String> = events
        .iter()
        .map(|event| match event {
            CoreEvent::Partial(partial) => serde_json::to_string(partial).unwrap(),
            CoreEvent::Final(response) => response.messages[0].text().to_owned(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"{"role":"assistant","content":"","metadata":{"retry":{"attempt":2,"of":3,"wait_ms":0,"why":"the model server answered 429 Too Many Requests: too fast, ***"}}}"#,
            r#"{"role":"assistant","content":"","metadata":{"retry":{"attempt":3,"of":3,"wait_ms":0,"why":"the model server answered 503 Service Unavailable: mock status 503"}}}"#,
            r#"{"role":"assistant","content":"at "}"#,
            r#"{"role":"assistant","content":"last"}"#,
            "at last",
        ]
    );
}

#[tokio::test]
async fn the_configuration_says_how_often_to_try() {
    for (retries, requests) in [(0, 1), (1, 2), (4, 5)] {
        let server = always(|_| Reply::status(503)).await;
        let mut settings = json!({ "provider": openai::NAME, "model": "m" });
        settings["base_url"] = server.base_url().into();
        settings["max_retries"] = retries.into();
        let (core, config, session) = (core_with(at_once()), config(settings), asked().await);
        let sent = core.send_request(&session, &config, RequestOptions::default()).await;
        assert!(sent.unwrap_err().retryable());
        assert_eq!(server.requests().len(), requests);
    }
}
