//! What goes wrong, and what a person is told of it: never the key.

use crate::stage::{Stage, asked, at_once, shown, soon, stage, stage_with};
use crate::subject::Subject;
use orlop_core::{Error, ErrorClass};
use orlop_providers::HttpSettings;
use orlop_providers::http::Retries;
use orlop_testkit::Gate;
use orlop_testkit::asking::key;
use orlop_testkit::mock_model::{Content, RecordedRequest, Reply};
use orlop_testkit::scripted::texts;
use serde_json::json;
use std::time::Duration;

/// Says what the client showed of its key, as careless servers do.
fn careless(request: &RecordedRequest) -> String {
    let values = request.headers.values().filter_map(|value| value.to_str().ok());
    let keys: Vec<&str> = values.filter(|value| value.contains(&key())).collect();
    format!("not for {}", keys.join(" and "))
}

/// A stage whose server always answers like this.
async fn always<C: Into<Content>>(
    subject: &Subject,
    answer: impl Fn(&RecordedRequest) -> Reply<C> + Send + Sync + 'static,
) -> Stage {
    let stage = stage(subject, []).await;
    stage.server().otherwise(answer);
    stage
}

/// What a failed question came to: what was shown, and the error.
async fn stream_error(stage: &Stage) -> (String, Error) {
    match stage.streamed(&asked("hi").await).await {
        Ok(told) => panic!("no error: {}", told.text()),
        Err((partials, error)) => (shown(&partials), checked(error)),
    }
}

async fn whole_error(stage: &Stage) -> Error {
    checked(stage.whole(&asked("hi").await).await.unwrap_err())
}

/// Every error of these is the provider's, and shows no key in any of its forms.
fn checked(error: Error) -> Error {
    assert_eq!(error.class(), ErrorClass::Provider, "{error}");
    let forms = format!("{error} {error:?} {} {:?}", error.to_json(), error.provider_body());
    assert!(!forms.contains(&key()), "the key is shown: {forms}");
    error
}

fn requests(stage: &Stage) -> usize {
    stage.server().requests().len()
}

pub(crate) async fn refusals(subject: &Subject) {
    for status in [400, 401, 403, 404, 413] {
        let refused =
            move |request: &RecordedRequest| Reply::status(status).saying(careless(request));
        let stage = always(subject, refused).await;
        let (shown, error) = stream_error(&stage).await;
        assert_eq!((shown.as_str(), requests(&stage)), ("", 1), "asked again after {status}");
        let whole = whole_error(&stage).await;
        assert_eq!(requests(&stage), 2);
        for error in [error, whole] {
            assert_eq!((error.provider_status(), error.retryable()), (Some(status), false));
            assert!(error.message().contains("not for "), "{error}");
            assert!(error.provider_body().unwrap().contains("not for "), "{error}");
        }
    }
}

pub(crate) async fn passing_faults(subject: &Subject) {
    for status in [429, 500, 503, 529] {
        let failed =
            move |request: &RecordedRequest| Reply::status(status).saying(careless(request));
        let stage = always(subject, failed).await;
        let (_, error) = stream_error(&stage).await;
        assert_eq!(requests(&stage), 3, "{status}");
        for error in [error, whole_error(&stage).await] {
            assert_eq!((error.provider_status(), error.retryable()), (Some(status), true));
            assert!(error.message().contains("not for "), "{error}");
            assert!(error.provider_body().unwrap().contains("not for "), "{error}");
        }
        // It passes: the next try gets the answer.
        stage.server().reply(Reply::status(status)).reply(Reply::text(["ok"]));
        let response = stage.whole(&asked("hi").await).await.unwrap();
        assert_eq!(texts(&response.session), "hi|ok");
    }
}

pub(crate) async fn retry_after(subject: &Subject) {
    // Without the word of the server this would wait for an hour.
    let hour = Duration::from_secs(3600);
    let retries = Retries { first_delay: hour, max_delay: hour, ..Retries::default() };
    let settings = HttpSettings { retries, ..HttpSettings::default() };
    let stage = stage_with(subject, [], json!({}), settings).await;
    stage.server().reply(Reply::status(429).header("retry-after-ms", "1"));
    stage.server().reply(Reply::status(503).header("retry-after", "0.001"));
    stage.server().reply(Reply::text(["ok"]));
    let response = stage.whole(&asked("hi").await).await.unwrap();
    assert_eq!(texts(&response.session), "hi|ok");

    stage.server().reply(Reply::status(429).header("retry-after", "61"));
    let error = whole_error(&stage).await;
    assert_eq!((error.provider_status(), error.retryable()), (Some(429), true));
    assert!(error.message().contains("61 seconds"), "{error}");
}

pub(crate) async fn error_in_stream(subject: &Subject) {
    for (status, retryable) in [(529, true), (400, false)] {
        let stage = always(subject, move |request| {
            let error = json!({ "message": careless(request), "code": status });
            Reply::text(["par", "tial"]).then_error(error)
        })
        .await;
        let (shown, error) = stream_error(&stage).await;
        assert_eq!((shown.as_str(), requests(&stage)), ("partial", 1));
        for error in [error, whole_error(&stage).await] {
            assert!(error.message().contains("not for "), "{error}");
            assert!(error.provider_body().unwrap().contains("not for "), "{error}");
            if subject.names_errors() {
                assert_eq!(error.retryable(), retryable, "{status}: {error}");
            }
        }
    }
}

pub(crate) async fn malformed_stream(subject: &Subject) {
    let start = Reply::text(["par"]).cut().streamed(subject.http().api, subject.model);
    for malformed in [format!("data: {{{}\n\n", key()).into_bytes(), b"data: \xff\xfe\n\n".into()] {
        let script = Reply::script().raw(&start).raw(&malformed);
        let stage = always(subject, move |_| script.clone()).await;
        let (shown, error) = stream_error(&stage).await;
        assert_eq!((shown.as_str(), requests(&stage)), ("par", 1));
        assert!(!error.retryable(), "{error}");
    }
    // A stream that ends before the model did.
    let stage = always(subject, |_| Reply::text(["a", "b"]).without_finish()).await;
    let (shown, error) = stream_error(&stage).await;
    assert_eq!((shown.as_str(), error.retryable()), ("ab", true), "{error}");
    assert!(error.message().starts_with("the answer ended early"), "{error}");
}

pub(crate) async fn malformed_answer(subject: &Subject) {
    for body in ["", "<h1>Welcome</h1>", "{}", "[1]", "null"] {
        let page = move |_: &RecordedRequest| {
            Reply::status(200).body(body).header("content-type", "text/html")
        };
        let stage = always(subject, page).await;
        let error = whole_error(&stage).await;
        assert!(!error.message().is_empty());
        let (_, error) = stream_error(&stage).await;
        assert!(!error.message().is_empty());
    }
}

pub(crate) async fn refused_connection(subject: &Subject) {
    let stage = stage(subject, []).await;
    let address = stage.config.text("base_url").unwrap().to_owned();
    let stage = stage.without_server().await;
    let host = address.split("/v1").next().unwrap().to_owned();
    for error in [stream_error(&stage).await.1, whole_error(&stage).await] {
        let says = format!("cannot reach the model server at {host}");
        assert!(error.message().starts_with(&says), "{error}");
        assert!(error.retryable(), "{error}");
    }
}

pub(crate) async fn timeouts(subject: &Subject) {
    let short = Duration::from_millis(80);
    let gate = Gate::new();

    let settings = HttpSettings { first_byte_timeout: short, ..at_once() };
    let silent = [Reply::text(["never"]).hold(&gate), Reply::text(["never"]).hold(&gate)];
    let stage = stage_with(subject, silent, json!({}), settings).await;
    for error in [stream_error(&stage).await.1, whole_error(&stage).await] {
        assert!(error.message().contains("did not answer within"), "{error}");
        assert!(error.retryable(), "{error}");
    }
    soon(stage.server().wait_for_disconnects(2)).await;

    let settings = HttpSettings { idle_timeout: short, ..at_once() };
    let stuck = Reply::text(["one"]).wait(&gate).then_text(["never"]);
    let stage = stage_with(subject, [stuck], json!({}), settings).await;
    let (shown, error) = stream_error(&stage).await;
    assert_eq!((shown.as_str(), error.retryable()), ("one", true), "{error}");
    soon(stage.server().wait_for_disconnect()).await;
}
