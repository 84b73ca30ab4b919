//! Recorded answers and conversations of real servers of the Responses API. What is expected is
//! worked out here from the recorded events, in the plainest way.

use crate::read_stream;

use crate::read_stream::Read;
use futures::stream;
use orlop_providers::http::message_in;
use orlop_providers::responses::convert::{from_native, to_native};
use orlop_providers::responses::history::{Selection, texts};
use orlop_providers::responses::{events, response};
use orlop_testkit::fixtures::{Fixture, Fixtures, pieces};
use orlop_testkit::skip;
use orlop_types::{Map, Message, NativeItem, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Cuts are this many bytes apart, or more in bodies that would take more than `MAX_CUTS`.
const CUT_EVERY: usize = 97;
const MAX_CUTS: usize = 25;

/// A hand-made recording whose first line is no JSON.
const BROKEN: &str = "parallel-tool-call-wrapper";

/// The recorded exchanges with the endpoint itself; others lie among them.
fn recorded(what: &str) -> Vec<Fixture> {
    let Some(fixtures) = Fixtures::open() else {
        skip(what, "ORLOP_FIXTURES is not set");
        return Vec::new();
    };
    let is_ours = |fixture: &Fixture| {
        let path = &fixture.exchange.request.path;
        let other = ["/compact", "/input_tokens"].iter().any(|end| path.ends_with(end))
            || fixture.file.contains("embeddings");
        !other
    };
    fixtures.exchanges("openai-responses").filter(is_ours).collect()
}

fn streams(what: &str) -> Vec<(String, String)> {
    let streams = recorded(what).into_iter().filter(|it| it.stream);
    streams
        .filter(|it| it.exchange.response.status == 200 && !it.file.contains(BROKEN))
        .map(|it| (it.file, it.exchange.response.text().into_owned()))
        .collect()
}

/// Reads a body in pieces of up to 64 bytes; large bodies in larger pieces.
fn read(body: &[u8], seed: u64) -> Read {
    let pieces = pieces(body, seed, 64.max(body.len() / 200)).into_iter().map(Ok);
    read_stream::read(events(stream::iter(pieces)))
}

#[derive(Deserialize)]
struct PlainEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    delta: Option<Value>,
    output_index: Option<u64>,
    summary_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    response: Option<Value>,
}

/// What a recorded stream says, read line by line.
#[derive(Default)]
struct Expected {
    texts: BTreeMap<u64, String>,
    thoughts: BTreeMap<(u64, u64), String>,
    items: BTreeMap<u64, String>,
    response: Value,
}

fn expected(body: &str) -> Expected {
    let mut expected = Expected::default();
    for line in body.lines() {
        let Some(data) = line.strip_prefix("data: ").filter(|data| *data != "[DONE]") else {
            continue;
        };
        let event: PlainEvent<'_> = serde_json::from_str(data).unwrap();
        let delta = event.delta.as_ref().and_then(Value::as_str).unwrap_or_default();
        let index = event.output_index.unwrap_or(expected.items.len() as u64);
        let part = event.summary_index.or(event.content_index).unwrap_or_default();
        match event.kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                expected.texts.entry(index).or_default().push_str(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                expected.thoughts.entry((index, part)).or_default().push_str(delta);
            }
            "response.output_item.done" => {
                expected.items.insert(index, event.item.unwrap().get().to_owned());
            }
            "response.completed" | "response.incomplete" => {
                expected.response = event.response.unwrap();
            }
            _ => {}
        }
    }
    expected
}

fn paragraphs(texts: impl IntoIterator<Item = String>) -> String {
    let filled: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    filled.join("\n\n")
}

fn is_call(item: &Value) -> bool {
    item["type"] == "function_call" || item["type"] == "custom_tool_call"
}

/// The word that an answer ends with, from its items and the response.
fn finish_of(items: &[Value], response: &Value) -> &'static str {
    match response["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => return "length",
        Some("content_filter") => return "content_filter",
        _ => {}
    }
    let refused = |item: &Value| {
        item["content"].as_array().is_some_and(|it| it.iter().any(|it| it["type"] == "refusal"))
    };
    match () {
        () if items.iter().any(is_call) => "tool_calls",
        () if items.iter().any(refused) => "refusal",
        () => "stop",
    }
}

fn check_facts(name: &str, facts: &Map, items: &[Value], response: &Value) {
    assert_eq!(facts["finish_reason"], finish_of(items, response), "{name}");
    assert_eq!(facts.get("response_id"), response.get("id"), "{name}");
    assert_eq!(facts.get("model"), response.get("model"), "{name}");
    let usage = &response["usage"];
    if usage.is_null() {
        return assert!(!facts.contains_key("usage"), "{name}");
    }
    assert_eq!(&facts["native_usage"], usage, "{name}");
    assert_eq!(facts["usage"]["input_tokens"], usage["input_tokens"], "{name}");
    assert_eq!(facts["usage"]["output_tokens"], usage["output_tokens"], "{name}");
    for (ours, group, theirs) in [
        ("cache_read_tokens", "input_tokens_details", "cached_tokens"),
        ("cache_write_tokens", "input_tokens_details", "cache_write_tokens"),
        ("reasoning_tokens", "output_tokens_details", "reasoning_tokens"),
    ] {
        assert_eq!(facts["usage"][ours], usage[group][theirs], "{name}: {ours}");
    }
}

/// One message stems from all items; gives it.
fn one_message(name: &str, items: &[NativeItem]) -> Message {
    let messages = from_native(items);
    let [(message, positions)] = messages.as_slice() else { panic!("{name}: {messages:?}") };
    assert_eq!(positions, &(0..items.len()).collect::<Vec<_>>(), "{name}");
    message.clone()
}

/// The items go back as they are, but for reasoning that the API would refuse.
fn check_sent(name: &str, items: &[NativeItem], stored: bool) {
    let sent = texts(items, Selection { stored, ..Selection::default() });
    for item in items {
        if item.get("type").is_none_or(|kind| kind != "reasoning") {
            assert!(sent.iter().any(|text| text == item.wire()), "{name}: {item:?}");
            continue;
        }
        let mut expected = item.value().clone();
        let bare = !expected["id"].is_null()
            && expected["encrypted_content"].as_str().is_none_or(str::is_empty)
            && expected["content"].as_array().is_none_or(Vec::is_empty);
        let has_status = expected.as_object_mut().unwrap().shift_remove("status").is_some();
        let found = sent.iter().any(|text| match has_status {
            true => serde_json::from_str::<Value>(text).unwrap() == expected,
            false => text == item.wire(),
        });
        assert_eq!(found, stored || !bare, "{name}: {item:?}");
    }
}

#[test] // M-01, M-05
fn recorded_streams_become_items() {
    let mut seen = 0;
    for (name, body) in streams("recorded streams of the Responses API") {
        let expected = expected(&body);
        if expected.response.is_null() {
            // It stops behind an item; whether more was to come, nobody can know.
            let error = read(body.as_bytes(), 1).end.unwrap_err();
            assert!(error.message().starts_with("the answer ended early"), "{name}: {error}");
            continue;
        }
        let answer = read(body.as_bytes(), 1);
        let items = answer.end.unwrap_or_else(|error| panic!("{name}: {error}"));
        let wires: Vec<&str> = items.iter().map(NativeItem::wire).collect();
        let done: Vec<&String> = expected.items.values().collect();
        assert_eq!(wires, done, "{name}");

        let message = one_message(&name, &items);
        let text = paragraphs(expected.texts.into_values());
        assert_eq!((answer.text.as_str(), message.text()), (&*text, &*text), "{name}");
        let thoughts = paragraphs(expected.thoughts.into_values());
        if !thoughts.is_empty() {
            assert_eq!(message.metadata()["reasoning"], thoughts, "{name}");
        }
        assert_eq!(
            answer.reasoning,
            message.metadata().get("reasoning").and_then(Value::as_str).unwrap_or_default(),
            "{name}"
        );

        let values: Vec<Value> = items.iter().map(|item| item.value().clone()).collect();
        let calls: Vec<&Value> = values.iter().filter(|item| is_call(item)).collect();
        let shown: Vec<_> = answer.calls.into_values().collect();
        let finished: Vec<_> = calls
            .iter()
            .map(|call| {
                let field = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
                (field("call_id"), field("name"), field("arguments") + &field("input"))
            })
            .collect();
        assert_eq!(shown, finished, "{name}");
        assert!(
            message.tool_calls().eq(calls.iter().map(|call| call.as_object().unwrap())),
            "{name}"
        );
        check_facts(&name, items.last().unwrap().metadata(), &values, &expected.response);
        check_sent(&name, &items, false);
        check_sent(&name, &items, true);
        seen += 1;
    }
    println!("{seen} streams");
}

#[test] // M-05
fn the_items_of_a_stream_are_those_of_its_response() {
    let (mut same, mut empty) = (0, 0);
    for (name, body) in streams("recorded streams and their responses") {
        let response = expected(&body).response;
        let output = response["output"].as_array().cloned().unwrap_or_default();
        if output.is_empty() {
            empty += 1;
            continue;
        }
        let items = read(body.as_bytes(), 2).end.unwrap();
        let at_once = whole(&response);
        assert_eq!(items.len(), at_once.len(), "{name}");
        for (streamed, at_once) in items.iter().zip(&at_once) {
            assert_eq!(comparable(streamed), comparable(at_once), "{name}");
        }
        assert_eq!(items.last().unwrap().metadata(), at_once.last().unwrap().metadata(), "{name}");
        same += 1;
    }
    println!("{same} streams agree with their response, {empty} responses say nothing");
}

/// Without what servers write anew each time: encrypted content, and ids in redacted recordings.
fn comparable(item: &NativeItem) -> Value {
    let mut item = item.value().clone();
    let fields = item.as_object_mut().unwrap();
    fields.retain(|key, _| !["encrypted_content", "fingerprint", "id"].contains(&key.as_str()));
    item
}

fn whole(value: &Value) -> Vec<NativeItem> {
    response(&value.to_string()).unwrap().items
}

#[test] // M-05
fn recorded_streams_may_end_anywhere() {
    let (mut cuts, mut whole) = (0u32, 0u32);
    for (name, body) in streams("recorded streams of the Responses API, cut") {
        let full = read(body.as_bytes(), 3);
        let step = CUT_EVERY.max(body.len() / MAX_CUTS);
        for at in (0..body.len()).step_by(step) {
            let cut = read(&body.as_bytes()[..at], at as u64);
            cuts += 1;
            assert!(full.text.starts_with(&cut.text), "{name} cut at {at}");
            assert!(full.reasoning.starts_with(&cut.reasoning), "{name} cut at {at}");
            match cut.end {
                Ok(items) => {
                    whole += 1;
                    assert_eq!(Some(&items), full.end.as_ref().ok(), "{name} cut at {at}");
                }
                Err(error) => {
                    assert!(
                        error.message().starts_with("the answer ended early"),
                        "{name} cut at {at}: {error}"
                    );
                    assert!(error.retryable());
                }
            }
        }
    }
    println!("{cuts} cuts, {whole} of them behind the end");
}

#[test] // M-01, M-05
fn recorded_answers_that_were_not_streamed_stay_as_they_are() {
    #[derive(Deserialize)]
    struct Plain<'a> {
        #[serde(borrow)]
        output: Vec<&'a RawValue>,
    }
    let (mut finished, mut unfinished) = (0, 0);
    let answers = recorded("recorded answers of the Responses API");
    for fixture in answers.iter().filter(|it| !it.stream && it.exchange.response.status == 200) {
        let (name, body) = (&fixture.file, &*fixture.exchange.response.text());
        let value: Value = serde_json::from_str(body).unwrap();
        if matches!(value["status"].as_str(), Some("queued" | "in_progress")) {
            assert!(response(body).unwrap_err().message().contains("background"), "{name}");
            unfinished += 1;
            continue;
        }
        let items = response(body).unwrap_or_else(|error| panic!("{name}: {error}")).items;
        let plain: Plain<'_> = serde_json::from_str(body).unwrap();
        let wires: Vec<&str> = items.iter().map(NativeItem::wire).collect();
        let output: Vec<String> = plain.output.iter().map(|raw| minified(raw.get())).collect();
        assert_eq!(wires, output, "{name}");
        let output = value["output"].as_array().unwrap();
        check_facts(name, items.last().unwrap().metadata(), output, &value);
        one_message(name, &items);
        check_sent(name, &items, false);
        finished += 1;
    }
    println!("{finished} answers read, {unfinished} not there yet");
}

/// Without white space between tokens; recordings from Python have some.
fn minified(text: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
    for c in text.chars() {
        if inside || !c.is_ascii_whitespace() {
            out.push(c);
        }
        match c {
            '"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = inside && c == '\\' && !escaped;
    }
    out
}

#[test] // M-05
fn recorded_errors_have_a_message() {
    let mut seen = 0;
    for fixture in recorded("recorded errors of the Responses API") {
        if fixture.exchange.response.status == 200 {
            continue;
        }
        let message = message_in(&fixture.exchange.response.text()).unwrap_or_default();
        assert!(!message.is_empty() && !message.starts_with('{'), "{}: {message}", fixture.file);
        seen += 1;
    }
    println!("{seen} errors with a message");
}

#[test]
fn a_recording_that_is_no_json_is_an_error() {
    for fixture in recorded("a broken recording of the Responses API") {
        if fixture.file.contains(BROKEN) && fixture.stream {
            let error = read(&fixture.exchange.response.body, 4).end.unwrap_err();
            assert!(error.message().contains("an event that is no JSON"), "{error}");
        }
    }
}

#[test] // M-04, M-05
fn recorded_conversations_keep_their_meaning() {
    let (mut seen, mut mapped) = (0, 0);
    for fixture in recorded("recorded conversations with the Responses API") {
        let name = &fixture.file;
        let request = &fixture.exchange.request.body;
        let Some(input) = request["input"].as_array() else { continue };
        let items: Vec<NativeItem> = input.iter().cloned().map(NativeItem::from).collect();
        let messages = from_native(&items);
        let mut positions: Vec<usize> =
            messages.iter().flat_map(|(_, positions)| positions.clone()).collect();
        positions.sort_unstable();
        if !messages.is_empty() {
            assert_eq!(positions, (0..items.len()).collect::<Vec<_>>(), "{name}");
            mapped += 1;
        }
        // Every text is somewhere.
        let said: String = messages.iter().map(|(message, _)| message.text()).collect();
        for text in input.iter().flat_map(texts_in) {
            assert!(said.contains(&text), "{name}: {text:?}");
        }
        // There and back.
        let messages: Vec<Message> = messages.into_iter().map(|(message, _)| message).collect();
        let again: Vec<Message> =
            from_native(&to_native(&messages)).into_iter().map(|(message, _)| message).collect();
        for (before, after) in messages.iter().zip(&again) {
            assert_eq!(before.to_json(), after.to_json(), "{name}");
        }
        assert_eq!(messages.len(), again.len(), "{name}");
        let continues =
            ["previous_response_id", "conversation"].iter().any(|key| !request[*key].is_null());
        check_sent_in_a_conversation(name, &items, continues);
        seen += 1;
    }
    println!("{seen} conversations, {mapped} with messages");
}

/// The texts of messages and results.
fn texts_in(item: &Value) -> Vec<String> {
    let content = match item["type"].as_str() {
        None | Some("message") => &item["content"],
        Some("function_call_output" | "custom_tool_call_output") => &item["output"],
        _ => return Vec::new(),
    };
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// What a client really sent would be sent again unchanged.
fn check_sent_in_a_conversation(name: &str, items: &[NativeItem], continues: bool) {
    let selection = Selection { stored: true, continues, ..Selection::default() };
    let sent = texts(items, selection);
    let wires: Vec<&str> = items.iter().map(NativeItem::wire).collect();
    assert_eq!(sent, wires, "{name}");
}
