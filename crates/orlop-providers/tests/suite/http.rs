//! The client, the events and the request body against a server on a local port.

use bytes::Bytes;
use futures::StreamExt;
use orlop_providers::http::Retries;
use orlop_providers::openai::{self, request};
use orlop_providers::wire::{self, Step};
use orlop_providers::{Call, HttpClient, HttpSettings, Secret};
use orlop_testkit::RawServer;
use orlop_testkit::asking::key;
use orlop_testkit::raw_server::{answer, unfinished};
use orlop_types::{Error, ErrorClass, Map, NativeItem, Result};
use serde_json::json;
use std::time::Duration;
use tokio::net::TcpListener;

fn client() -> HttpClient {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    HttpClient::new(HttpSettings { retries, ..HttpSettings::default() })
}

async fn ask(base_url: &str, body: Bytes) -> Result<Vec<Step>> {
    let call = Call::post(base_url, "chat/completions", body)?
        .accept_events()
        .bearer(Secret::new(key()))?;
    let answer = client().send(&call).await?;
    let steps = wire::steps::<openai::Chat>(answer, call.secret().clone());
    steps.collect::<Vec<_>>().await.into_iter().collect()
}

async fn failure(answers: Vec<String>) -> (Error, usize) {
    let server = RawServer::start(answers).await;
    let error = ask(&server.url("/v1"), Bytes::from_static(b"{}")).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?} {}", error.provider_body(), error.to_json());
    assert!(!shown.contains(&key()), "{shown}");
    assert_eq!(error.class(), ErrorClass::Provider);
    (error, server.requests().len())
}

#[tokio::test] // M-04
async fn failures_are_typed_and_do_not_show_the_key() {
    let says = format!("{{\"error\":{{\"message\":\"the key {} is bad\"}}}}", key());

    let (error, tries) = failure(vec![answer("401 Unauthorized", "application/json", &says)]).await;
    assert_eq!((error.provider_status(), error.retryable(), tries), (Some(401), false, 1));
    assert!(error.message().contains("the key *** is bad; check \"api_key\""), "{error}");

    for status in ["429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"]
    {
        let (error, tries) = failure(vec![answer(status, "text/plain", &says); 3]).await;
        assert_eq!((error.retryable(), tries), (true, 3));
        assert!(error.message().contains(&format!("answered {status}: the key ***")), "{error}");
        assert!(error.provider_body().is_some_and(|body| body.contains("***")));
    }

    let body = format!("data: {{\"choices\":[{}\n\n", key());
    let (error, tries) = failure(vec![answer("200 OK", "text/event-stream", &body)]).await;
    assert_eq!((error.retryable(), tries), (false, 1));
    assert!(error.message().contains("that is no JSON"), "{error}");
    assert!(error.provider_body().is_some_and(|body| body.contains("***")));
}

#[tokio::test]
async fn the_key_is_sent_to_the_server_only() {
    let other = RawServer::start(vec![answer("200 OK", "application/json", "{}")]).await;
    let away = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}/chat/completions\r\nContent-Length: 0\r\n\r\n",
        other.url("/v1")
    );
    let server = RawServer::start(vec![away]).await;
    let error = ask(&server.url("/v1"), Bytes::from_static(b"{}")).await.unwrap_err();
    assert!(error.message().contains("it redirects to http://127.0.0.1"), "{error}");
    assert!(server.requests()[0].head.contains(&format!("authorization: Bearer {}", key())));
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_on_the_same_server_is_followed() {
    let here = "HTTP/1.1 308 Permanent Redirect\r\nLocation: /v2/chat\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
    let server =
        RawServer::start(vec![here.to_owned(), answer("200 OK", "text/event-stream", body)]).await;
    let steps = ask(&server.url("/v1"), Bytes::from_static(b"{\"x\":1}")).await.unwrap();
    assert_eq!(steps.len(), 2);
    let second = &server.requests()[1];
    assert!(second.line().starts_with("POST /v2/chat "), "{second:?}");
    assert_eq!(second.body, "{\"x\":1}");
}

#[tokio::test] // A-27
async fn internal_metadata_does_not_reach_the_server() {
    let items = [
        NativeItem::from(json!({"role": "user", "content": "hi", "_metadata": {"a": 1}})),
        NativeItem::from(json!({"role": "assistant", "content": "ho"}))
            .with_metadata(Map::from_iter([("usage".to_owned(), json!({"total_tokens": 1}))])),
    ];
    let params = json!({"model": "m", "stream": true, "_metadata": {"b": 1}});
    let body = request::body(params.as_object().unwrap(), &items, Some("[]"));
    let server =
        RawServer::start(vec![unfinished("text/event-stream", "data: [DONE]\n\n") + "0\r\n\r\n"])
            .await;
    let _ = ask(&server.url("/v1"), body).await;
    let request = server.requests().remove(0);
    let sent = format!("{request:?}");
    assert!(!sent.contains("_metadata"), "{sent}");
    let expected = json!({"model": "m", "stream": true, "tools": [], "messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"},
    ]});
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn a_body_that_is_cut_off_ended_early() {
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let cut = answer("200 OK", "text/event-stream", event).replace("Length: ", "Length: 9");
    let (error, tries) = failure(vec![cut]).await;
    assert!(error.message().starts_with("the answer ended early: the connection"), "{error}");
    assert_eq!((error.retryable(), tries), (true, 1));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = ask(&base_url, Bytes::new()).await.unwrap_err();
    let expected = format!("cannot reach the model server at {base_url}: Connection refused");
    assert!(error.message().starts_with(&expected), "{error}");
    assert!(error.message().ends_with("(tried 3 times)") && error.retryable());
}

#[tokio::test]
async fn dropping_the_stream_leaves_the_server() {
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = RawServer::start(vec![unfinished("text/event-stream", event)]).await;
    let call =
        Call::post(&server.url("/v1"), "chat/completions", Bytes::from_static(b"{}")).unwrap();
    let mut steps = openai::events(client().send(&call).await.unwrap().into_body());
    assert!(matches!(steps.next().await, Some(Ok(Step::Partial(_)))));
    drop(steps);
    server.left().await;
}

#[tokio::test]
async fn an_answer_that_was_not_streamed_is_read_whole() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "a"}}]}).to_string();
    for kind in ["application/json; charset=utf-8", "text/event-stream"] {
        let server = RawServer::start(vec![answer("200 OK", kind, &body)]).await;
        let steps = ask(&server.url("/v1"), Bytes::from_static(b"{}")).await.unwrap();
        let [Step::Partial(partial), Step::Final(items)] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!(partial.content, "a");
        assert_eq!(items[0].wire(), r#"{"role":"assistant","content":"a"}"#);
    }
    let says = json!({"error": {"message": format!("no {}", key()), "code": 503}}).to_string();
    let (error, tries) = failure(vec![answer("200 OK", "application/json", &says)]).await;
    assert!(error.message().contains("reported an error: no ***; try again later"), "{error}");
    assert_eq!((error.provider_status(), error.retryable(), tries), (Some(503), true, 1));
}
