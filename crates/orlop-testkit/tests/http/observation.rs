//! What a test learns from the server: the requests, and the clients that went away.

use orlop_testkit::Gate;
use orlop_testkit::mock_model::{MockModel, Reply};
use serde_json::json;

use crate::Outcome;
use crate::client::{Call, get, post};

fn stream(server: &MockModel) -> Call {
    post(server.base_url() + "/chat/completions", &json!({"stream": true, "model": "m"}))
}

#[tokio::test]
async fn requests_are_kept_as_they_came() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]));
    stream(&server).header("X-Trace", "7").answer().await?;
    get(server.base_url() + "/models?limit=2").answer().await?;

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("x-trace"), Some("7"));
    assert_eq!(requests[0].body, json!({"stream": true, "model": "m"}).to_string());
    assert_eq!(requests[0].json()["model"], "m");
    assert!(requests[0].wants_stream());
    assert_eq!(requests[1].path, "/v1/models");
    assert_eq!(requests[1].query.as_deref(), Some("limit=2"));
    assert!(requests[1].json().is_null());
    Ok(())
}

#[tokio::test]
async fn a_printed_request_shows_no_credentials() -> Outcome {
    let secret = ["not-", "for-", "your-", "eyes"].concat();
    let key = ["s", "k-", "abcdefgh"].concat();
    let server = MockModel::start().await?;
    let url = format!("{}/chat/completions?alt=sse&key={secret}", server.base_url());
    post(url, &json!({"key": key}))
        .header("authorization", &format!("Bearer {secret}"))
        .header("x-api-key", &secret)
        .header("cookie", &format!("session={secret}"))
        .answer()
        .await?;

    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some(format!("Bearer {secret}").as_str()));
    let printed = format!("{request:?} {server:?}");
    assert!(!printed.contains(&secret) && !printed.contains(&key), "{printed}");
    assert!(printed.contains(r#"("authorization", "Bearer ***")"#), "{printed}");
    assert!(printed.contains("alt=sse"), "{printed}");
    Ok(())
}

#[tokio::test]
async fn a_test_can_wait_for_a_request() -> Outcome {
    let server = MockModel::start().await?;
    let client = tokio::spawn(get(server.base_url() + "/models").send());
    assert_eq!(server.wait_for_request(1).await.path, "/v1/models");
    let _connection = client.await?;
    let _connection = get(server.base_url() + "/second").send().await?;
    assert_eq!(server.wait_for_request(2).await.path, "/v1/second");
    assert_eq!(server.wait_for_request(1).await.path, "/v1/models");
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]));
    server.reply(Reply::text(["a"]).wait(&gate).then_text(["b"]));

    assert!(stream(&server).answer().await?.complete);
    assert_eq!(server.disconnects(), 0);

    let mut answer = stream(&server).start().await?;
    answer.chunk().await?;
    gate.reached().await;
    assert_eq!(server.disconnects(), 0);
    drop(answer);
    server.wait_for_disconnect().await;
    assert_eq!(server.disconnects(), 1);
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_is_noticed() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).hold(&gate)).reply(Reply::text(["a"]).hold(&gate));
    let first = stream(&server).send().await?;
    let second = stream(&server).send().await?;
    server.wait_for_request(2).await;
    drop(first);
    server.wait_for_disconnect().await;
    drop(second);
    server.wait_for_disconnects(2).await;
    assert_eq!(server.disconnects(), 2);
    Ok(())
}

#[tokio::test]
async fn a_stopped_server_closes_its_port_and_breaks_replies_off() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).wait(&gate)).reply(Reply::text(["a"]).hold(&gate));
    let streaming = stream(&server).start().await?;
    let held = stream(&server).send().await?;
    server.wait_for_request(2).await;
    gate.reached().await;

    let url = server.base_url();
    server.stop().await;
    assert!(!streaming.finish().await?.complete);
    assert_eq!(held.head().await?.status, 503);
    assert!(get(url).send().await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_dropped_server_stops_too() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).wait(&gate));
    let streaming = stream(&server).start().await?;
    gate.reached().await;
    drop(server);
    assert!(!streaming.finish().await?.complete);
    Ok(())
}
