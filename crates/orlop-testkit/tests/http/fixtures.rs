//! Every recorded fixture comes out of the replayer as it was recorded, byte for byte.

use orlop_testkit::cassette::{Cassette, Replayer};
use orlop_testkit::fixtures::{Fixture, Fixtures};
use orlop_testkit::skip;
use serde_json::Value;

use crate::Outcome;
use crate::client::{get, post_bytes};

const APIS: [&str; 8] = [
    "anthropic-messages",
    "gemini-generate",
    "gemini-interactions",
    "models",
    "ollama-chat",
    "openai-chat",
    "openai-conversations",
    "openai-responses",
];

/// Some recordings have placeholders in their path, and some have no path at all.
fn path(recorded: &str) -> String {
    match recorded {
        "" => "/".to_owned(),
        path => path.replace('{', "%7B").replace('}', "%7D"),
    }
}

#[tokio::test]
async fn fixtures_are_replayed_byte_for_byte() -> Outcome {
    let Some(fixtures) = Fixtures::open() else {
        skip("replay of recorded fixtures", "ORLOP_FIXTURES is not set");
        return Ok(());
    };
    for api in APIS {
        let recorded: Vec<Fixture> = fixtures.exchanges(api).collect();
        assert!(!recorded.is_empty(), "no fixtures of {api}");
        let cassette = Cassette::from_iter(recorded.iter().map(|it| it.exchange.clone()));
        let replayer = Replayer::start(cassette).await?;
        for Fixture { file, exchange, stream } in &recorded {
            let request = &exchange.request;
            let url = replayer.url(&path(&request.path));
            let call = match (request.method.as_str(), &request.body) {
                ("POST", Value::Null) => post_bytes(url, b""),
                ("POST", Value::String(text)) => post_bytes(url, text.as_bytes()),
                ("POST", json) => post_bytes(url, json.to_string().as_bytes()),
                ("GET", _) => get(url),
                ("DELETE", _) => get(url).method("DELETE"),
                (method, _) => return Err(format!("{file}: {method}").into()),
            };
            let answer = call.answer().await?;
            assert_eq!(answer.status, exchange.response.status, "{file}: {}", answer.text());
            assert!(answer.complete, "{file}");
            assert!(answer.body() == exchange.response.body, "{file}");
            let content_type = answer.header("content-type").unwrap_or_default();
            if *stream && exchange.response.content_type.is_none() {
                assert_eq!(content_type, "text/event-stream", "{file}");
            }
        }
        assert_eq!(replayer.unused(), 0);
        println!("{api}: {} exchanges", recorded.len());
    }
    Ok(())
}
