//! Requests: from a session to a session with the model's answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures::StreamExt;
use orlop_core::*;
use orlop_testkit::scripted::{ScriptedProvider, ScriptedReply, config, core_with};
use serde_json::json;

#[tokio::test] // E-26, E-27
async fn a_stream_is_partials_and_then_one_final() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["Hel", "lo"]));
    let core = core_with(&provider).unwrap();
    let config = config(json!({"provider": "scripted", "model": "m"}));
    let session = core.create_session(None);
    let session = core.add_message(&session, Message::user("hi"), &config).await.unwrap();
    let events: Vec<_> =
        core.send_request_stream(&session, &config, RequestOptions::default()).collect().await;
    let shown: Vec<String> = events
        .iter()
        .map(|event| match event.as_ref().unwrap() {
            CoreEvent::Partial(partial) => format!("partial {}", partial.content),
            CoreEvent::Final(response) => format!("final {}", response.messages[0].text()),
        })
        .collect();
    assert_eq!(shown, ["partial Hel", "partial lo", "final Hello"]);
    let Some(Ok(CoreEvent::Final(response))) = events.last() else { panic!() };
    assert_eq!(response.session.messages().len(), 2);
    response.session.verify().unwrap();
}
