//! Recorded answers of real servers, read as they were sent and cut off anywhere.

use bytes::Bytes;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use orlop_providers::http::message_in;
use orlop_providers::openai;
use orlop_providers::openai::convert::from_native;
use orlop_providers::wire::Step;
use orlop_testkit::fixtures::{Fixture, Fixtures};
use orlop_testkit::skip;
use orlop_types::{Error, NativeItem, Value};
use std::collections::BTreeMap;

/// Cuts are this many bytes apart, or more in bodies that would take more than `MAX_CUTS`.
const CUT_EVERY: usize = 97;
const MAX_CUTS: usize = 60;

/// One recorded answer.
struct Recorded {
    name: String,
    stream: bool,
    status: u16,
    body: String,
}

/// The recordings of one API, or none with a line that says so.
fn recorded(api: &str) -> Vec<Recorded> {
    let Some(fixtures) = Fixtures::open() else {
        skip("recorded chat streams", "ORLOP_FIXTURES is not set");
        return Vec::new();
    };
    let read = |Fixture { file, exchange, stream }: Fixture| Recorded {
        name: file,
        stream,
        status: exchange.response.status,
        body: exchange.response.text().into_owned(),
    };
    fixtures.exchanges(api).map(read).collect()
}

/// What a stream came to.
struct Read {
    text: String,
    reasoning: String,
    /// Per call: name and arguments, added up from the fragments.
    calls: BTreeMap<u64, (String, String)>,
    end: Result<NativeItem, Error>,
}

fn read(body: &[u8]) -> Read {
    // Odd sizes, so that chunks end inside characters and line ends.
    let chunks: Vec<_> = body.chunks(1000).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
    let steps = block_on(openai::events(stream::iter(chunks)).collect::<Vec<_>>());
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut calls: BTreeMap<u64, (String, String)> = BTreeMap::new();
    let mut end = None;
    for step in steps {
        assert!(end.is_none(), "nothing follows the end");
        match step {
            Ok(Step::Partial(partial)) => {
                assert!(!partial.is_empty());
                text.push_str(&partial.content);
                reasoning.push_str(&partial.reasoning);
                for call in &partial.tool_calls {
                    let held = calls.entry(call["index"].as_u64().unwrap()).or_default();
                    let piece = |key| call["function"][key].as_str().unwrap_or_default().to_owned();
                    if held.0.is_empty() {
                        held.0 = piece("name");
                    }
                    held.1.push_str(&piece("arguments"));
                }
            }
            Ok(Step::Final(mut items)) => end = Some(Ok(items.remove(0))),
            Err(error) => end = Some(Err(error)),
        }
    }
    Read { text, reasoning, calls, end: end.expect("a stream ends in a message or an error") }
}

/// The streams that are known to end in an error, and a part of what it says.
const FAILING: [(&str, &str); 2] = [
    ("test_tool_use_failed_error_streaming_with_text", "Tool choice is required"),
    ("test_openrouter_stream_error", "Token limit reached"),
];

#[test]
fn recorded_streams_become_messages() {
    let (mut finished, mut failed, mut unfinished) = (0, 0, Vec::new());
    let streams = recorded("openai-chat").into_iter().filter(|it| it.stream);
    for Recorded { name, body, .. } in streams {
        let read = read(body.as_bytes());
        let known = FAILING.iter().find(|(part, _)| name.contains(part));
        match (known, read.end) {
            (Some((_, says)), Err(error)) => {
                assert!(error.message().contains(says), "{name}: {error}");
                assert!(error.provider_body().is_some(), "{name}");
                failed += 1;
            }
            (None, Ok(item)) => {
                check_message(&name, &item, &read.text, &read.reasoning, &read.calls);
                if !item.metadata().contains_key("finish_reason") {
                    unfinished.push(name);
                }
                finished += 1;
            }
            (_, end) => panic!("{name}: {end:?}"),
        }
    }
    println!(
        "{finished} streams finished, {failed} failed as known, without a reason: {unfinished:?}"
    );
    // Two hand-made recordings end in [DONE] alone.
    let hand_made = |name: &String| name.contains("test_tools_streaming_variant");
    assert!(unfinished.iter().all(hand_made), "{unfinished:?}");
}

fn check_message(
    name: &str,
    item: &NativeItem,
    text: &str,
    reasoning: &str,
    calls: &BTreeMap<u64, (String, String)>,
) {
    let messages = from_native(std::slice::from_ref(item));
    let [(message, positions)] = messages.as_slice() else { panic!("{name}: one message") };
    assert_eq!(positions, &[0], "{name}");
    assert_eq!(message.text(), text, "{name}");
    if !reasoning.is_empty() {
        assert_eq!(message.metadata()["reasoning"], reasoning, "{name}");
    }
    let finished: Vec<(String, String)> = message
        .tool_calls()
        .map(|call| {
            let field = |key| call["function"][key].as_str().unwrap_or_default().to_owned();
            (field("name"), field("arguments"))
        })
        .collect();
    let mut shown: Vec<(String, String)> = calls.values().cloned().collect();
    for call in shown.iter_mut().filter(|call| call.1.is_empty()) {
        // A call whose arguments never came takes none.
        if finished.contains(&(call.0.clone(), "{}".to_owned())) {
            call.1.push_str("{}");
        }
    }
    assert_eq!(shown, finished, "{name}");
    assert!(!item.wire().contains("\"_metadata\""), "{name}");
}

#[test]
fn recorded_streams_may_end_anywhere() {
    let (mut cuts, mut whole) = (0u32, 0u32);
    let streams = recorded("openai-chat").into_iter().filter(|it| it.stream);
    for Recorded { name, body, .. } in streams {
        let full = read(body.as_bytes());
        let step = CUT_EVERY.max(body.len() / MAX_CUTS);
        for at in (0..body.len()).step_by(step) {
            let cut = read(&body.as_bytes()[..at]);
            cuts += 1;
            assert!(full.text.starts_with(&cut.text), "{name} cut at {at}");
            assert!(full.reasoning.starts_with(&cut.reasoning), "{name} cut at {at}");
            match cut.end {
                Ok(item) => {
                    whole += 1;
                    let has_end = item.metadata().contains_key("finish_reason")
                        || body[..at].contains("[DONE]");
                    assert!(has_end, "{name} cut at {at}");
                }
                Err(error) if full.end.is_err() => assert!(!error.message().is_empty()),
                Err(error) => {
                    assert!(
                        error.message().starts_with("the answer ended early"),
                        "{name}: {error}"
                    );
                    assert!(error.retryable());
                }
            }
        }
    }
    println!("{cuts} cuts, {whole} of them behind the end of the message");
}

#[test]
fn recorded_answers_that_were_not_streamed_stay_as_they_are() {
    let (mut finished, mut refused) = (0, Vec::new());
    let answers = recorded("openai-chat").into_iter().filter(|it| !it.stream && it.status == 200);
    for Recorded { name, body, .. } in answers {
        let answer = match openai::completion(&body) {
            Ok(answer) => answer,
            Err(error) => {
                assert!(error.provider_body().is_some(), "{name}: {error}");
                refused.push(name);
                continue;
            }
        };
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let choice = &parsed["choices"][0];
        assert_eq!(answer.item.value(), &choice["message"], "{name}");
        let reason = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty());
        assert_eq!(answer.finish_reason.as_deref(), reason, "{name}");
        assert_eq!(answer.usage.as_ref(), parsed["usage"].as_object(), "{name}");
        assert_eq!(from_native(&[answer.item]).len(), 1, "{name}");
        finished += 1;
    }
    println!("{finished} answers read, {} refused: {refused:?}", refused.len());
    // Recordings of something else that lie among the answers.
    let foreign = |name: &String| {
        name.contains("test_text_response") || name.contains("groq-transcription-text")
    };
    assert!(refused.iter().all(foreign), "{refused:?}");
}

#[test]
fn recorded_errors_have_a_message() {
    let mut seen = 0;
    for Recorded { name, body, .. } in
        recorded("openai-chat").into_iter().filter(|it| it.status != 200)
    {
        let message = message_in(&body).unwrap_or_default();
        assert!(!message.is_empty() && !message.starts_with('{'), "{name}: {message}");
        seen += 1;
    }
    println!("{seen} errors with a message");
}
