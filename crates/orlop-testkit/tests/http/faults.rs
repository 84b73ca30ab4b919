//! Gates, raw bytes and broken connections.

use std::time::{Duration, Instant};

use orlop_testkit::Gate;
use orlop_testkit::mock_model::{MockModel, Reply};
use serde_json::json;

use crate::Outcome;
use crate::client::{Call, post};

fn stream(server: &MockModel) -> Call {
    post(server.base_url() + "/chat/completions", &json!({"stream": true}))
}

fn document(server: &MockModel) -> Call {
    post(server.base_url() + "/chat/completions", &json!({}))
}

#[tokio::test]
async fn a_script_sends_its_steps_and_nothing_else() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(
        Reply::script().event(json!({"a": 1})).raw("data: {not json\n\n").raw([0xff, 0]).done(),
    );
    let answer = stream(&server).answer().await?;
    assert!(answer.complete);
    let expected: [&[u8]; 4] =
        [b"data: {\"a\":1}\n\n", b"data: {not json\n\n", b"\xff\0", b"data: [DONE]\n\n"];
    assert_eq!(answer.chunks, expected);
    Ok(())
}

#[tokio::test]
async fn a_character_can_be_torn_apart() -> Outcome {
    let gate = Gate::new();
    let (first, second) = "é".as_bytes().split_at(1);
    let server = MockModel::start().await?;
    server.reply(Reply::script().raw(first).wait(&gate).raw(second));

    let mut answer = stream(&server).start().await?;
    assert_eq!(answer.chunk().await?, Some(first.to_vec()));
    gate.reached().await;
    assert!(answer.connection.is_silent());
    gate.open();
    assert_eq!(answer.chunk().await?, Some(second.to_vec()));
    assert_eq!(answer.chunk().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_gate_stops_a_completion_in_the_middle() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).wait(&gate).then_text(["b"]));
    let mut answer = stream(&server).start().await?;
    answer.chunk().await?;
    let first = answer.chunk().await?.unwrap_or_default();
    assert!(String::from_utf8(first)?.contains(r#""content":"a""#));
    gate.reached().await;
    assert!(answer.connection.is_silent());
    gate.open();
    assert!(answer.finish().await?.text().contains(r#""content":"b""#));

    // An open gate stays open, and holds back no document either.
    server.reply(Reply::text(["a"]).wait(gate).then_text(["b"]));
    let answer = document(&server).answer().await?;
    assert_eq!(answer.json()?["choices"][0]["message"]["content"], "ab");
    Ok(())
}

#[tokio::test]
async fn a_held_reply_sends_not_even_its_status() -> Outcome {
    let gate = Gate::new();
    let server = MockModel::start().await?;
    server.reply(Reply::status(503).hold(&gate));
    let connection = stream(&server).send().await?;
    gate.reached().await;
    assert!(connection.is_silent());
    gate.open();
    assert_eq!(connection.head().await?.status, 503);
    Ok(())
}

#[tokio::test]
async fn a_cut_stream_does_not_end() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::script().raw("data: {\"a\"").cut().raw("never"));
    server.reply(Reply::text(["Hel"]).cut());
    server.reply(Reply::script().cut());

    let answer = stream(&server).answer().await?;
    assert_eq!((answer.status, answer.text().as_str()), (200, "data: {\"a\""));
    assert!(!answer.complete);

    let answer = stream(&server).answer().await?;
    assert!(!answer.complete);
    assert_eq!(answer.deltas()?.last(), Some(&json!({"content": "Hel"})));

    let answer = stream(&server).answer().await?;
    assert_eq!((answer.status, answer.complete, answer.chunks.len()), (200, false, 0));
    assert_eq!(server.disconnects(), 0, "the server left, not the client");
    Ok(())
}

#[tokio::test]
async fn a_cut_document_is_shorter_than_announced() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["Hello"]).cut());
    let answer = document(&server).answer().await?;
    assert!(!answer.complete);
    let announced: usize = answer.header("content-length").ok_or("no length")?.parse()?;
    assert_eq!(answer.body().len(), announced / 2);
    Ok(())
}

#[tokio::test]
async fn delays_last_at_least_as_long_as_said() -> Outcome {
    let (server, time) = (MockModel::start().await?, Duration::from_millis(3));
    server.reply(Reply::script().delay(time).done());
    server.reply(Reply::text(["a"]).delay(time));
    server.reply(Reply::text(["a"]).pace(time));
    for _ in 0..3 {
        let start = Instant::now();
        assert!(stream(&server).answer().await?.complete);
        assert!(start.elapsed() >= time);
    }
    Ok(())
}
