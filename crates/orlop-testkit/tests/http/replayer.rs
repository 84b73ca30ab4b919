//! How the replayer finds the exchange for a request.

use orlop_testkit::cassette::{Cassette, Exchange, Replayer};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{get, post};

fn exchange(path: &str, body: Value, answer: &str) -> Outcome<Exchange> {
    Ok(serde_json::from_value(json!({
        "request": {"method": "POST", "path": path, "body": body},
        "response": {"status": 200, "content_type": "text/plain", "body": answer},
    }))?)
}

#[tokio::test]
async fn equal_requests_get_their_answers_in_the_recorded_order() -> Outcome {
    let body = json!({"a": 1, "b": {"c": 2, "d": 3}});
    let cassette = Cassette::from_iter([
        exchange("/x", json!({"other": true}), "other")?,
        exchange("/x", body.clone(), "one")?,
        exchange("/x", body, "two")?,
    ]);
    let replayer = Replayer::start(cassette).await?;
    let ask =
        async || post(replayer.url("/x"), &json!({"b": {"d": 3, "c": 2}, "a": 1})).answer().await;
    assert_eq!(ask().await?.text(), "one");
    assert_eq!(ask().await?.text(), "two");
    assert_eq!(replayer.unused(), 1);
    let third = ask().await?;
    assert_eq!(third.status, 404);
    assert_eq!(replayer.mismatches().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_mismatch_tells_the_nearest_difference() -> Outcome {
    let cassette = Cassette::from_iter([
        exchange("/y", json!({"model": "m", "n": 1}), "")?,
        exchange("/x", json!({"model": "other", "stream": true, "n": 5}), "")?,
        exchange("/x", json!({"model": "other", "n": 1}), "")?,
    ]);
    let replayer = Replayer::start(cassette).await?;
    let answer = post(replayer.url("/x"), &json!({"model": "m", "n": 1})).answer().await?;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let error = &answer.json()?["error"];
    assert_eq!(error["type"], "cassette_mismatch");
    assert_eq!(
        error["message"],
        "no unused exchange matches POST /x; the nearest is number 3: \
         body/model: recorded \"other\", received \"m\"",
    );
    assert_eq!(replayer.unused(), 3);
    Ok(())
}

#[tokio::test]
async fn a_lenient_replayer_falls_back_to_the_order() -> Outcome {
    let cassette = Cassette::from_iter([
        exchange("/x", json!(1), "one")?,
        exchange("/x", json!(2), "two")?,
        exchange("/x", json!(3), "three")?,
    ]);
    let replayer = Replayer::start_lenient(cassette).await?;
    assert_eq!(post(replayer.url("/x"), &json!(2)).answer().await?.text(), "two");
    assert_eq!(post(replayer.url("/x"), &json!("else")).answer().await?.text(), "one");
    assert_eq!(get(replayer.url("/anything")).answer().await?.text(), "three");
    let answer = get(replayer.url("/anything")).answer().await?;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("all 3 are used"), "{}", answer.text());
    Ok(())
}

#[tokio::test]
async fn bodies_can_come_in_pieces() -> Outcome {
    let mut streamed = exchange("/x", Value::Null, "data: é\n\n")?;
    streamed.stream = true;
    let replayer = Replayer::start(Cassette::from_iter([streamed])).await?;
    replayer.in_pieces_of(3);
    let answer = post(replayer.url("/x"), &Value::Null).answer().await?;
    assert_eq!(answer.chunks, [&b"dat"[..], b"a: ", b"\xc3\xa9\n", b"\n"]);
    Ok(())
}
