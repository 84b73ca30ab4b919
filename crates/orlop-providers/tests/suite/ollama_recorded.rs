//! Recorded answers of Ollama, read as they were sent, in pieces of any size and cut off anywhere.
//! What they should come to is worked out here from the recorded lines alone.

use bytes::Bytes;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use orlop_providers::ollama::{self, convert};
use orlop_providers::openai::request::body;
use orlop_providers::wire::Step;
use orlop_testkit::fixtures::{Fixture, Fixtures, pieces};
use orlop_testkit::skip;
use orlop_types::{Error, Map, Message, NativeItem, Value};
use serde_json::json;

/// Cuts are this many bytes apart, or more in bodies that would take more than `MAX_CUTS`.
const CUT_EVERY: usize = 97;
const MAX_CUTS: usize = 60;

struct Recorded {
    name: String,
    request: Value,
    body: String,
    /// The lines of a stream, or the one object of an answer.
    lines: Vec<Value>,
}

impl Recorded {
    fn is_stream(&self) -> bool {
        self.request["stream"] == true
    }
}

/// All recordings, or none with a line that says so.
fn recorded() -> Vec<Recorded> {
    let Some(fixtures) = Fixtures::open() else {
        skip("recorded answers of Ollama", "ORLOP_FIXTURES is not set");
        return Vec::new();
    };
    let read = |Fixture { file, exchange, .. }: Fixture| {
        let body = exchange.response.text().into_owned();
        Recorded {
            name: file,
            request: exchange.request.body,
            lines: body.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            body,
        }
    };
    let recorded: Vec<Recorded> = fixtures.exchanges("ollama-chat").map(read).collect();
    assert!(recorded.len() >= 20, "only {} recordings", recorded.len());
    recorded
}

/// What an answer should come to, read from its lines in the plainest way.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    text: String,
    thinking: String,
    calls: Vec<Value>,
    finish: String,
    native_finish: String,
    input: u64,
    output: u64,
}

fn expected(lines: &[Value]) -> Expected {
    let joined = |key: &str| -> String {
        lines.iter().filter_map(|line| line["message"][key].as_str()).collect()
    };
    let calls: Vec<Value> = lines
        .iter()
        .filter_map(|line| line["message"]["tool_calls"].as_array())
        .flatten()
        .cloned()
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(last["done"], true);
    let reason = last["done_reason"].as_str().unwrap();
    let finish = if reason == "stop" && !calls.is_empty() { "tool_calls" } else { reason };
    Expected {
        text: joined("content"),
        thinking: joined("thinking"),
        calls,
        finish: finish.to_owned(),
        native_finish: reason.to_owned(),
        input: last["prompt_eval_count"].as_u64().unwrap(),
        output: last["eval_count"].as_u64().unwrap(),
    }
}

/// What an item says.
fn said(item: &NativeItem) -> Expected {
    let messages = convert::from_native(std::slice::from_ref(item));
    let [(message, positions)] = messages.as_slice() else { panic!("one message: {item:?}") };
    assert_eq!(positions, &[0]);
    let told = |key: &str| message.metadata().get(key).cloned().unwrap_or_default();
    let finish = told("finish_reason").as_str().unwrap().to_owned();
    let native = item.metadata().get("native_finish_reason").and_then(Value::as_str);
    Expected {
        text: message.text().to_owned(),
        thinking: told("reasoning").as_str().unwrap_or_default().to_owned(),
        calls: message.tool_calls().cloned().map(Value::Object).collect(),
        native_finish: native.unwrap_or(&finish).to_owned(),
        finish,
        input: told("usage")["input_tokens"].as_u64().unwrap(),
        output: told("usage")["output_tokens"].as_u64().unwrap(),
    }
}

/// What a stream came to.
#[derive(Default)]
struct Read {
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    end: Option<Result<NativeItem, Error>>,
}

fn read(chunks: Vec<Bytes>) -> Read {
    let steps = ollama::events(stream::iter(chunks.into_iter().map(Ok)));
    let mut read = Read::default();
    for step in block_on(steps.collect::<Vec<_>>()) {
        assert!(read.end.is_none(), "nothing follows the end");
        match step {
            Ok(Step::Partial(partial)) => {
                assert!(!partial.is_empty());
                read.text.push_str(&partial.content);
                read.reasoning.push_str(&partial.reasoning);
                read.calls.extend(partial.tool_calls);
            }
            Ok(Step::Final(mut items)) => read.end = Some(Ok(items.remove(0))),
            Err(error) => read.end = Some(Err(error)),
        }
    }
    read
}

#[test]
fn recorded_streams_become_messages() {
    let mut streams = 0;
    for recorded in recorded().into_iter().filter(Recorded::is_stream) {
        let (name, expected) = (&recorded.name, expected(&recorded.lines));
        for seed in 0..5 {
            let read = read(pieces(recorded.body.as_bytes(), seed, 300));
            let item = read.end.unwrap().unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(said(&item), expected, "{name}");
            assert_eq!((&read.text, &read.reasoning), (&expected.text, &expected.thinking));
            check_fragments(name, &read.calls, &expected.calls);
            check_sent_back(name, &item);
            for (key, value) in item.metadata()["native_usage"].as_object().unwrap() {
                assert_eq!(value, &recorded.lines.last().unwrap()[key], "{name}");
            }
        }
        streams += 1;
    }
    println!("{streams} streams");
}

fn check_fragments(name: &str, fragments: &[Value], calls: &[Value]) {
    assert_eq!(fragments.len(), calls.len(), "{name}");
    for (index, (fragment, call)) in fragments.iter().zip(calls).enumerate() {
        assert_eq!((&fragment["index"], &fragment["id"]), (&json!(index), &call["id"]), "{name}");
        assert_eq!(fragment["function"]["name"], call["function"]["name"], "{name}");
        let arguments = fragment["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(arguments, call["function"]["arguments"], "{name}");
    }
}

/// The next request has the bytes of the item in it.
fn check_sent_back(name: &str, item: &NativeItem) {
    let hello = NativeItem::from(json!({"role": "user", "content": "and now?"}));
    let next = body(&Map::new(), [item, &hello], None);
    let next = String::from_utf8(next.to_vec()).unwrap();
    let whole = format!("{{\"messages\":[{},{}]}}", item.wire(), hello.wire());
    assert_eq!(next, whole, "{name}");
    assert!(!next.contains("_metadata"), "{name}");
}

#[test]
fn streamed_and_whole_answers_come_to_the_same() {
    for recorded in recorded() {
        let name = &recorded.name;
        let expected = expected(&recorded.lines);
        // The whole that the lines of a stream add up to, and the stream that a whole is.
        let mut whole = recorded.lines.last().unwrap().clone();
        whole["message"] = json!({"role": "assistant", "content": expected.text});
        if !expected.thinking.is_empty() {
            whole["message"]["thinking"] = expected.thinking.as_str().into();
        }
        if !expected.calls.is_empty() {
            whole["message"]["tool_calls"] = expected.calls.clone().into();
        }
        let (_, item) = ollama::answer(&whole.to_string()).unwrap();
        let streamed = read(vec![Bytes::from(recorded.body.clone())]).end.unwrap().unwrap();
        assert_eq!(streamed.value(), item.value(), "{name}");
        assert_eq!(said(&streamed), said(&item), "{name}");
    }
}

#[test]
fn recorded_answers_that_were_not_streamed_stay_as_they_are() {
    let mut answers = 0;
    for recorded in recorded().into_iter().filter(|recorded| !recorded.is_stream()) {
        let name = &recorded.name;
        let (shown, item) = ollama::answer(&recorded.body).unwrap();
        let raw: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
            serde_json::from_str(&recorded.body).unwrap();
        assert_eq!(item.wire(), raw["message"].get(), "{name}");
        let expected = expected(&recorded.lines);
        assert_eq!(said(&item), expected, "{name}");
        assert_eq!((&shown.content, &shown.reasoning), (&expected.text, &expected.thinking));
        check_fragments(name, &shown.tool_calls, &expected.calls);
        check_sent_back(name, &item);
        answers += 1;
    }
    println!("{answers} answers");
}

#[test]
fn recorded_streams_may_end_anywhere() {
    let (mut cuts, mut whole) = (0u32, 0u32);
    for recorded in recorded().into_iter().filter(Recorded::is_stream) {
        let (name, bytes) = (&recorded.name, recorded.body.as_bytes());
        let full = read(vec![Bytes::copy_from_slice(bytes)]);
        let full_end = full.end.unwrap().unwrap();
        let step = CUT_EVERY.max(bytes.len() / MAX_CUTS);
        let near_the_end = bytes.len() - 3..bytes.len();
        for at in (0..bytes.len()).step_by(step).chain(near_the_end) {
            let cut = read(pieces(&bytes[..at], at as u64, 300));
            cuts += 1;
            assert!(full.text.starts_with(&cut.text), "{name} cut at {at}");
            assert!(full.reasoning.starts_with(&cut.reasoning), "{name} cut at {at}");
            match cut.end.unwrap() {
                Ok(item) => {
                    whole += 1;
                    assert_eq!(item, full_end, "{name} cut at {at}");
                }
                Err(error) => {
                    let says = error.message();
                    assert!(says.starts_with("the answer ended early"), "{name}: {error}");
                    assert!(error.retryable());
                }
            }
        }
    }
    println!("{cuts} cuts, {whole} of them behind the end of the message");
}

/// What a message says, whatever its form.
fn meaning(message: &Message) -> Value {
    let calls: Vec<Value> = message.tool_calls().map(|call| call["function"].clone()).collect();
    let told = |key: &str| message.metadata().get(key).cloned().unwrap_or_default();
    json!([
        message.role().as_str(),
        message.text(),
        calls,
        told("reasoning"),
        told("tool_name"),
        told("tool_call_id")
    ])
}

#[test]
fn recorded_conversations_keep_their_bytes_and_their_meaning() {
    let mut results = 0;
    for Recorded { name, request, .. } in recorded() {
        let sent = request["messages"].as_array().unwrap();
        let items: Vec<NativeItem> = sent.iter().cloned().map(NativeItem::from).collect();
        let next = body(&Map::new(), &items, None);
        assert_eq!(next, format!("{{\"messages\":{}}}", request["messages"]), "{name}");

        let back = convert::from_native(&items);
        assert_eq!(back.len(), sent.len(), "{name}");
        let mut open: Vec<String> = Vec::new();
        for (message, item) in back.iter().map(|(message, _)| message).zip(sent) {
            assert_eq!(message.role().as_str(), item["role"], "{name}");
            assert_eq!(message.text(), item["content"], "{name}");
            for call in message.tool_calls() {
                open.push(call["id"].as_str().unwrap().to_owned());
            }
            if let Some(id) = message.metadata().get("tool_call_id") {
                // Every result answers one call, each call once.
                let at = open.iter().position(|open| open == id.as_str().unwrap());
                open.remove(at.unwrap_or_else(|| panic!("{name}: {id}")));
                assert_eq!(message.metadata()["tool_name"], item["tool_name"], "{name}");
                results += 1;
            }
        }
        assert!(open.is_empty(), "{name}: {open:?}");
        let messages: Vec<Message> = back.into_iter().map(|(message, _)| message).collect();
        let again = convert::from_native(&convert::to_native(&messages));
        for (before, (after, _)) in messages.iter().zip(&again) {
            assert_eq!(meaning(before), meaning(after), "{name}");
        }
    }
    println!("{results} results of tools");
}
