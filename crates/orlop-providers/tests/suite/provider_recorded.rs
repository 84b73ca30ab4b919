//! `openai_compatible` through the core against recorded exchanges: those of real servers, and
//! one recorded here.

use orlop_core::session::extract_tool_calls;
use orlop_core::*;
use orlop_providers::{OpenAiCompatible, openai};
use orlop_testkit::asking::{key, streamed};
use orlop_testkit::cassette::{Cassette, Recorder, Replayer};
use orlop_testkit::fixtures::{Fixture, Fixtures};
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::scripted::{config, echo_tool, plain_session, texts};
use orlop_testkit::skip;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn core() -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), Vec::new()).unwrap();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    core
}

fn config_for(base_url: String) -> Config {
    let mut settings = json!({ "provider": openai::NAME, "model": "m", "base_url": base_url });
    settings["api_key"] = key().into();
    config(settings)
}

/// Streams that are known to end in an error.
const FAILING: [&str; 2] =
    ["test_tool_use_failed_error_streaming_with_text", "test_openrouter_stream_error"];

/// Of each server the shortest stream and the one of middle length; none that fails, and none
/// that takes long in small pieces.
fn chosen(fixtures: &Fixtures) -> Vec<Fixture> {
    const LONGEST: usize = 20_000;
    let streams = fixtures.exchanges("openai-chat").filter(|fixture| {
        fixture.stream
            && fixture.exchange.response.body.len() <= LONGEST
            && !FAILING.iter().any(|name| fixture.file.contains(name))
    });
    let mut by_server: BTreeMap<String, Vec<Fixture>> = BTreeMap::new();
    for fixture in streams {
        by_server.entry(fixture.exchange.host.clone()).or_default().push(fixture);
    }
    let mut chosen = Vec::new();
    for mut fixtures in by_server.into_values() {
        fixtures.sort_by_key(|fixture| fixture.exchange.response.body.len());
        chosen.push(fixtures.swap_remove(fixtures.len() / 2));
        chosen.extend(fixtures.into_iter().next());
    }
    chosen
}

#[tokio::test]
async fn recorded_streams_of_real_servers_become_answers() {
    let Some(fixtures) = Fixtures::open() else {
        return skip("recorded streams through the core", "ORLOP_FIXTURES is not set");
    };
    let chosen = chosen(&fixtures);
    assert!(chosen.len() >= 20, "only {} recordings", chosen.len());
    let cassette: Cassette = chosen.iter().map(|fixture| fixture.exchange.clone()).collect();
    let replayer = Replayer::start_lenient(cassette).await.unwrap();
    let (core, config) = (core(), config_for(replayer.in_pieces_of(7).url("/v1")));
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let mut silent = 0;
    for Fixture { file, .. } in &chosen {
        let (shown, response) = streamed(&core, &session, &config)
            .await
            .unwrap_or_else(|error| panic!("{file}: {error:?}"));
        let [message] = response.messages.as_slice() else { panic!("{file}: {response:?}") };
        assert_eq!(message.text(), shown, "{file}");
        let reason = message.metadata().get("finish_reason");
        // Two hand-made recordings end in [DONE] alone.
        let hand_made = file.contains("test_tools_streaming_variant");
        assert!(reason.is_some() || hand_made, "{file}: {message:?}");
        // A limit of few tokens may be used up before the first word.
        let cut_short = reason.is_some_and(|reason| reason == "length");
        let says = !shown.is_empty() || message.tool_calls().next().is_some();
        assert!(says || cut_short, "{file}: neither text nor calls: {message:?}");
        silent += usize::from(!says);
        response.session.verify().unwrap();
    }
    println!("{} streams, {silent} of them cut short before the first word", chosen.len());
    assert!(silent <= 2);
    assert_eq!((replayer.unused(), replayer.disconnects()), (0, 0));
}

/// A question, a call of the tool, its result, and the answer; then one without a stream.
async fn conversation(base_url: String) -> Session {
    let (core, config) = (core(), config_for(base_url));
    let session = plain_session(&[Message::user("say x")]).await.unwrap();
    let (_, response) = streamed(&core, &session, &config).await.unwrap();
    let calls = extract_tool_calls(&response.messages);
    let results = core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap();
    let mut session = response.session;
    for message in results {
        session = core.add_message(&session, message, &config).await.unwrap();
    }
    let (_, response) = streamed(&core, &session, &config).await.unwrap();
    let more = Message::user("and now?");
    let session = core.add_message(&response.session, more, &config).await.unwrap();
    core.send_request(&session, &config, RequestOptions::default()).await.unwrap().session
}

#[tokio::test]
async fn a_conversation_can_be_recorded_and_replayed() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::tool_call("call_1", "echo", r#"{"text":"x"}"#).split_arguments(3));
    server.reply(Reply::text(["so ", "be ", "ït"]).reasoning("hm"));
    server.reply(Reply::text(["bye"]));
    let recorder = Recorder::start(&server.base_url()).await.unwrap();
    let recorded = conversation(recorder.base_url()).await;
    assert_eq!(texts(&recorded), "say x||x|so be ït|and now?|bye");

    let cassette = recorder.cassette();
    assert_eq!(cassette.exchanges.len(), 3);
    let text = serde_json::to_string(&cassette).unwrap();
    assert!(!text.contains(&key()) && !text.contains("_metadata"), "{text}");
    let replayer = Replayer::start(cassette).await.unwrap();
    replayer.in_pieces_of(5);
    assert_eq!(conversation(replayer.url("/v1")).await, recorded);
    assert_eq!((replayer.unused(), replayer.mismatches()), (0, Vec::new()));
}
