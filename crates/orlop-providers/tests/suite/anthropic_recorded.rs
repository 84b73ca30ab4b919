//! Recorded answers of the Messages API, read as they were sent and cut off anywhere, and recorded
//! conversations, sent again. What is expected is worked out from the recordings in the plainest
//! way.

use crate::read_stream;

use crate::read_stream::Read;
use futures::stream;
use orlop_providers::anthropic;
use orlop_providers::anthropic::convert::{from_native, to_native};
use orlop_providers::anthropic::request::{Cache, body};
use orlop_providers::http::message_in;
use orlop_testkit::fixtures::{Fixture, Fixtures, pieces};
use orlop_testkit::skip;
use orlop_types::{Map, Message, NativeItem, Value};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const API: &str = "anthropic-messages";

/// The recordings for which `wanted` holds, or none with a line that says so.
fn recorded(what: &str, wanted: impl Fn(&Fixture) -> bool) -> Vec<Fixture> {
    let Some(fixtures) = Fixtures::open() else {
        skip(what, "ORLOP_FIXTURES is not set");
        return Vec::new();
    };
    let chosen: Vec<Fixture> = fixtures.exchanges(API).filter(wanted).collect();
    assert!(!chosen.is_empty(), "no recording for {what}");
    chosen
}

fn is_stream(fixture: &Fixture) -> bool {
    fixture.stream
}

/// What an answer that was not streamed calls itself; token counts say nothing.
fn kind(fixture: &Fixture) -> Option<String> {
    let text = fixture.exchange.response.text();
    let answer: Value = serde_json::from_str(&text).ok().filter(|_| !fixture.stream)?;
    answer["type"].as_str().map(str::to_owned)
}

fn read(body: &[u8], seed: u64) -> Read {
    let pieces = pieces(body, seed, 400).into_iter().map(Ok);
    read_stream::read(anthropic::events(stream::iter(pieces)))
}

/// The one item of an answer.
fn only(mut items: Vec<NativeItem>) -> NativeItem {
    assert_eq!(items.len(), 1);
    items.remove(0)
}

/// What the events of a recorded stream say, put together in the plainest way.
#[derive(Default)]
struct Expected {
    content: Vec<Value>,
    usage: Map,
    stop_reason: Value,
    message: Value,
}

fn expected(body: &str) -> Expected {
    let mut expected = Expected::default();
    let mut inputs: BTreeMap<usize, String> = BTreeMap::new();
    for line in body.lines().filter_map(|line| line.strip_prefix("data:")) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let index = event["index"].as_u64().unwrap_or_default() as usize;
        match event["type"].as_str().unwrap() {
            "message_start" => {
                expected.message = event["message"].clone();
                expected.usage = event["message"]["usage"].as_object().unwrap().clone();
            }
            "content_block_start" => expected.content.push(event["content_block"].clone()),
            "content_block_delta" => {
                let (block, delta) = (&mut expected.content[index], &event["delta"]);
                let append = |block: &mut Value, key: &str| {
                    let held = block[key].as_str().unwrap_or_default().to_owned();
                    block[key] = (held + delta[key].as_str().unwrap()).into();
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => append(block, "text"),
                    "thinking_delta" => append(block, "thinking"),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "input_json_delta" => inputs
                        .entry(index)
                        .or_default()
                        .push_str(delta["partial_json"].as_str().unwrap()),
                    "citations_delta" => {
                        let mut held = block["citations"].as_array().cloned().unwrap_or_default();
                        held.push(delta["citation"].clone());
                        block["citations"] = held.into();
                    }
                    other => panic!("{other}"),
                }
            }
            "message_delta" => {
                expected.stop_reason = event["delta"]["stop_reason"].clone();
                for (key, count) in event["usage"].as_object().unwrap() {
                    if !count.is_null() {
                        expected.usage.insert(key.clone(), count.clone());
                    }
                }
            }
            // One recording has several messages one after the other.
            "message_stop" => break,
            _ => {}
        }
    }
    for (index, input) in inputs.into_iter().filter(|(_, input)| !input.is_empty()) {
        expected.content[index]["input"] = serde_json::from_str(&input)
            .unwrap_or_else(|_| json!({ anthropic::INVALID_JSON: input }));
    }
    expected
}

fn texts(content: &[Value], kind: &str, key: &str) -> String {
    let of_kind = content.iter().filter(|block| block["type"] == kind);
    of_kind.map(|block| block[key].as_str().unwrap()).collect()
}

/// Checks what is told beside the content.
fn check_facts(file: &str, item: &NativeItem, stop_reason: &Value, usage: &Map, message: &Value) {
    let told = item.metadata();
    let word = match stop_reason.as_str().unwrap() {
        "end_turn" | "stop_sequence" => "stop",
        "max_tokens" => "length",
        "tool_use" => "tool_calls",
        other => other,
    };
    assert_eq!(told["finish_reason"], word, "{file}");
    let native = told.get("native_finish_reason").unwrap_or(&told["finish_reason"]);
    assert_eq!(native, stop_reason, "{file}");
    assert_eq!(told["model"], message["model"], "{file}");
    assert_eq!(told["response_id"], message["id"], "{file}");
    assert_eq!(told["native_usage"].as_object(), Some(usage), "{file}");
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
    let input = count("input_tokens")
        + count("cache_read_input_tokens")
        + count("cache_creation_input_tokens");
    assert_eq!(told["usage"]["input_tokens"], input, "{file}");
    assert_eq!(told["usage"]["output_tokens"], count("output_tokens"), "{file}");
}

#[test]
fn recorded_streams_become_messages() {
    let streams = recorded("recorded streams of the Messages API", is_stream);
    let (mut calls, mut thoughts, mut cited) = (0, 0, 0);
    for (Fixture { file, exchange, .. }, seed) in streams.iter().zip(1..) {
        let body = exchange.response.text();
        let expected = expected(&body);
        let read = read(body.as_bytes(), seed);
        let item = only(read.end.unwrap_or_else(|error| panic!("{file}: {error:?}")));
        let content = item.get("content").unwrap().as_array().unwrap();
        assert_eq!(content, &expected.content, "{file}");
        assert_eq!(read.text, texts(content, "text", "text"), "{file}");
        assert_eq!(read.reasoning, texts(content, "thinking", "thinking"), "{file}");
        check_calls(file, &read.calls, content);
        check_facts(file, &item, &expected.stop_reason, &expected.usage, &expected.message);
        check_message(file, &item);
        check_goes_back(file, &item);
        calls += read.calls.len();
        thoughts += usize::from(!read.reasoning.is_empty());
        cited += content.iter().filter(|block| block["citations"][0].is_object()).count();
    }
    println!("{} streams, {calls} calls, {thoughts} thought, {cited} cited", streams.len());
    assert!(streams.is_empty() || (calls > 10 && thoughts > 10 && cited > 10));
}

/// The fragments of the calls add up to the calls.
fn check_calls(file: &str, shown: &BTreeMap<u64, (String, String, String)>, content: &[Value]) {
    let calls: Vec<&Value> = content.iter().filter(|block| block["type"] == "tool_use").collect();
    assert_eq!(shown.len(), calls.len(), "{file}");
    for ((position, (id, name, input)), (call, number)) in shown.iter().zip(calls.iter().zip(0..)) {
        assert_eq!(*position, number, "{file}");
        assert_eq!((&call["id"], &call["name"]), (&json!(id), &json!(name)), "{file}");
        let input = if input.is_empty() { "{}" } else { input };
        let input = serde_json::from_str(input)
            .unwrap_or_else(|_| json!({ anthropic::INVALID_JSON: input }));
        assert_eq!(call["input"], input, "{file}");
    }
}

/// The message that an answer amounts to.
fn check_message(file: &str, item: &NativeItem) {
    let messages = from_native(std::slice::from_ref(item));
    let [(message, positions)] = messages.as_slice() else { panic!("{file}: one message") };
    let content = item.get("content").unwrap().as_array().unwrap();
    assert_eq!(positions, &[0], "{file}");
    assert_eq!(message.text(), texts(content, "text", "text"), "{file}");
    let reasoning = message.metadata().get("reasoning").and_then(Value::as_str);
    assert_eq!(reasoning.unwrap_or(""), texts(content, "thinking", "thinking"), "{file}");
    let calls = content.iter().filter(|block| block["type"] == "tool_use");
    assert_eq!(message.tool_calls().count(), calls.count(), "{file}");
    assert!(message.metadata().contains_key("usage"), "{file}");
}

/// The next request has the answer as it is.
fn check_goes_back(file: &str, item: &NativeItem) {
    let person = |text: &str| NativeItem::from(json!({ "role": "user", "content": text }));
    for cache in [Cache::Off, Cache::Minutes] {
        let sent = body(&Map::new(), [&person("a"), item, &person("b")], None, cache);
        let sent = std::str::from_utf8(&sent).unwrap();
        // The API refuses text blocks without text, although it sends them.
        let blocks = item.get("content").unwrap().as_array().unwrap().iter();
        let full: Vec<&Value> = blocks.filter(|it| it["text"] != "").collect();
        let is_full = full.len() == item.get("content").unwrap().as_array().unwrap().len();
        if is_full && !full.is_empty() {
            assert!(sent.contains(item.wire()), "{file}: {sent}");
        }
        assert!(full.iter().all(|block| sent.contains(&block.to_string())), "{file}: {sent}");
        assert!(!sent.contains("_metadata"), "{file}");
        assert!(serde_json::from_str::<Value>(sent).is_ok(), "{file}");
    }
}

/// Cuts are this many bytes apart, or more in bodies that would take more than `MAX_CUTS`.
const CUT_EVERY: usize = 61;
const MAX_CUTS: usize = 60;

#[test]
fn recorded_streams_may_end_anywhere() {
    let (mut cuts, mut whole) = (0, 0);
    for Fixture { file, exchange, .. } in recorded("cut streams of the Messages API", is_stream) {
        let bytes = &exchange.response.body;
        let full = read(bytes, 7);
        let item = only(full.end.unwrap());
        for at in (0..bytes.len()).step_by(CUT_EVERY.max(bytes.len() / MAX_CUTS)) {
            let cut = read(&bytes[..at], 7);
            cuts += 1;
            assert!(full.text.starts_with(&cut.text), "{file} cut at {at}");
            assert!(full.reasoning.starts_with(&cut.reasoning), "{file} cut at {at}");
            match cut.end {
                Ok(cut) => {
                    whole += 1;
                    assert_eq!(only(cut), item, "{file} cut at {at}");
                }
                Err(error) => {
                    let early = error.message().starts_with("the answer ended early");
                    assert!(early && error.retryable(), "{file} cut at {at}: {error}");
                }
            }
        }
    }
    println!("{cuts} cuts, {whole} of them behind the end of the message");
}

#[test]
fn recorded_answers_that_were_not_streamed_stay_as_they_are() {
    #[derive(serde::Deserialize)]
    struct Raw<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let answers = recorded("recorded answers of the Messages API", |it| {
        kind(it).is_some_and(|kind| kind == "message")
    });
    for Fixture { file, exchange, .. } in &answers {
        let text = exchange.response.text();
        let whole = anthropic::answer(&text).unwrap_or_else(|error| panic!("{file}: {error:?}"));
        let [item] = whole.items.as_slice() else { panic!("{file}") };
        let Raw { content } = serde_json::from_str(&text).unwrap();
        // White space between tokens does not count; everything else does.
        let content = NativeItem::from_text(content.get()).unwrap();
        let expected = format!(r#"{{"role":"assistant","content":{}}}"#, content.wire());
        assert_eq!(item.wire(), expected, "{file}");
        let parsed: Value = serde_json::from_str(&text).unwrap();
        let usage = parsed["usage"].as_object().unwrap();
        check_facts(file, item, &parsed["stop_reason"], usage, &parsed);
        check_message(file, item);
        check_goes_back(file, item);
        let blocks = parsed["content"].as_array().unwrap();
        assert_eq!(whole.shown.content, texts(blocks, "text", "text"), "{file}");
    }
    println!("{} answers", answers.len());
}

#[test]
fn recorded_errors_have_a_message() {
    let failed = |fixture: &Fixture| kind(fixture).is_some_and(|kind| kind == "error");
    for Fixture { file, exchange, .. } in recorded("recorded errors of the Messages API", failed) {
        let text = exchange.response.text();
        let message = message_in(&text).unwrap_or_default();
        assert!(!message.is_empty() && !message.starts_with('{'), "{file}: {message}");
        let error = anthropic::answer(&text).unwrap_err();
        assert!(error.message().contains(&message) && !error.retryable(), "{file}: {error}");
        assert_eq!(error.provider_status(), Some(exchange.response.status), "{file}");
    }
}

#[test]
fn what_is_no_message_is_an_error() {
    let counts = |fixture: &Fixture| !fixture.stream && kind(fixture).is_none();
    for Fixture { file, exchange, .. } in recorded("recorded token counts", counts) {
        let error = anthropic::answer(&exchange.response.text()).unwrap_err();
        assert!(error.provider_body().is_some(), "{file}: {error}");
    }
}

/// The recorded conversation of a request as native items: the instructions, then the messages.
fn conversation(request: &Value) -> Vec<NativeItem> {
    let system =
        request.get("system").map(|content| json!({ "role": "system", "content": content }));
    let messages = request["messages"].as_array().unwrap().iter().cloned();
    system.into_iter().chain(messages).map(NativeItem::from).collect()
}

fn has_conversation(fixture: &Fixture) -> bool {
    fixture.exchange.request.body["messages"].is_array()
}

/// The one conversation that the server refused, because a call had no result behind it.
const MALFORMED: &str = "rejects-malformed-assistant-tool-order";

#[test]
fn recorded_conversations_are_sent_as_they_are() {
    let requests = recorded("recorded conversations of the Messages API", has_conversation);
    for Fixture { file, exchange, .. } in &requests {
        let request = &exchange.request.body;
        let items = conversation(request);
        let sent = body(&Map::new(), &items, None, Cache::Off);
        let sent = std::str::from_utf8(&sent).unwrap();
        let sent_json: Value = serde_json::from_str(sent).unwrap();
        // Text for the model goes to the top, whatever its place was; all else stays.
        let stays = |message: &&Value| {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            message["role"] != "system" || blocks.iter().any(|block| block["type"] != "text")
        };
        let (kept, moved): (Vec<&Value>, Vec<&Value>) =
            request["messages"].as_array().unwrap().iter().partition(stays);
        for message in &moved {
            let text = message["content"][0]["text"].to_string();
            assert!(sent_json["system"].to_string().contains(&text), "{file}");
        }
        if moved.is_empty() {
            assert_eq!(sent_json.get("system"), request.get("system"), "{file}");
        }
        if !file.contains(MALFORMED) {
            let messages = sent_json["messages"].as_array().unwrap();
            assert_eq!(messages.iter().collect::<Vec<_>>(), kept, "{file}");
            for message in kept {
                assert!(sent.contains(&message.to_string()), "{file}");
            }
        }
    }
    println!("{} conversations", requests.len());
}

#[test]
fn a_recorded_conversation_that_was_refused_is_put_right() {
    let malformed = |fixture: &Fixture| fixture.file.contains(MALFORMED);
    for Fixture { file, exchange, .. } in recorded("a refused conversation", malformed) {
        let items = conversation(&exchange.request.body);
        let sent: Value =
            serde_json::from_slice(&body(&Map::new(), &items, None, Cache::Off)).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        let call = messages.iter().position(|message| {
            let blocks = message["content"].as_array().into_iter().flatten();
            blocks.into_iter().any(|block| block["type"] == "tool_use")
        });
        let behind = &messages[call.unwrap() + 1];
        assert_eq!(behind["content"][0]["type"], "tool_result", "{file}: {sent}");
        assert_eq!(behind["content"][0]["tool_use_id"], "call_1", "{file}: {sent}");
        let results = sent.to_string().matches("\"tool_result\"").count();
        assert_eq!(results, 1, "{file}: {sent}");
    }
}

/// What a conversation says to a model, in the plainest form: texts, calls, results and parts.
fn meaning(messages: &[Value]) -> Vec<String> {
    let mut said = Vec::new();
    for message in messages {
        let (role, mut text) = (message["role"].as_str().unwrap(), String::new());
        let blocks = match &message["content"] {
            Value::String(all) => vec![json!({ "type": "text", "text": all })],
            blocks => blocks.as_array().unwrap().clone(),
        };
        for block in blocks {
            match block["type"].as_str().unwrap() {
                "text" => text.push_str(block["text"].as_str().unwrap()),
                "tool_use" => {
                    said.push(format!("call {} {} {}", block["id"], block["name"], block["input"]));
                }
                "tool_result" => {
                    let inside = match &block["content"] {
                        Value::Array(parts) => parts.clone(),
                        text => vec![json!({ "type": "text", "text": text })],
                    };
                    let lines: Vec<&str> =
                        inside.iter().filter_map(|part| part["text"].as_str()).collect();
                    let failed = block["is_error"] == true;
                    said.push(format!(
                        "result {} {failed} {}",
                        block["tool_use_id"],
                        lines.join("\n")
                    ));
                }
                "image" | "document" | "container_upload" => said.push(format!("part {block}")),
                _ => {}
            }
        }
        if !text.trim().is_empty() {
            said.push(format!("{role} {text}"));
        }
    }
    said.sort();
    said
}

#[test]
fn recorded_conversations_keep_their_meaning_as_messages() {
    let requests = recorded("recorded conversations as messages", has_conversation);
    let (mut calls, mut parts) = (0, 0);
    for Fixture { file, exchange, .. } in requests {
        let items = conversation(&exchange.request.body);
        // What tells which tools there are is no message.
        let items: Vec<NativeItem> =
            items.into_iter().filter(|item| !item.wire().contains("\"tool_addition\"")).collect();
        let read = from_native(&items);
        let positions: Vec<usize> =
            read.iter().flat_map(|(_, positions)| positions.clone()).collect();
        assert!(positions.is_sorted(), "{file}: {positions:?}");
        assert!((0..items.len()).all(|position| positions.contains(&position)), "{file}");
        let messages: Vec<Message> = read.into_iter().map(|(message, _)| message).collect();
        let again = to_native(&messages);
        let values =
            |items: &[NativeItem]| items.iter().map(|it| it.value().clone()).collect::<Vec<_>>();
        let said = meaning(&values(&items));
        assert_eq!(said, meaning(&values(&again)), "{file}");
        let back: Vec<Message> =
            from_native(&again).into_iter().map(|(message, _)| message).collect();
        assert_eq!(back, messages, "{file}");
        assert_eq!(to_native(&back), again, "{file}");
        calls += said.iter().filter(|said| said.starts_with("call")).count();
        parts += said.iter().filter(|said| said.starts_with("part")).count();
    }
    println!("{calls} calls and {parts} parts");
}
