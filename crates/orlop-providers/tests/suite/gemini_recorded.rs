//! Recorded answers and requests of Gemini: what they come to is worked out here from the JSON of
//! the recording, with nothing of the code under test.

use crate::read_stream;

use crate::read_stream::Read;
use bytes::Bytes;
use futures::stream;
use orlop_providers::gemini::from_native::from_native;
use orlop_providers::gemini::history::arrange;
use orlop_providers::gemini::to_native::to_native;
use orlop_providers::gemini::{answer, events, request};
use orlop_providers::http::message_in;
use orlop_providers::wire::Whole;
use orlop_testkit::fixtures::{Fixture, Fixtures};
use orlop_testkit::skip;
use orlop_types::{Map, Message, NativeItem, Role, Value};
use serde_json::json;

/// Cuts are this many bytes apart, or more in bodies that would take more than `MAX_CUTS`.
const CUT_EVERY: usize = 97;
const MAX_CUTS: usize = 60;

fn recorded(what: &str) -> Vec<Fixture> {
    let Some(fixtures) = Fixtures::open() else {
        skip(what, "ORLOP_FIXTURES is not set");
        return Vec::new();
    };
    let all: Vec<Fixture> = fixtures.exchanges("gemini-generate").collect();
    assert!(all.len() > 200, "only {} recordings", all.len());
    all
}

fn body(fixture: &Fixture) -> String {
    fixture.exchange.response.text().into_owned()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit + 1
    }
}

/// What an answer says, however it came.
#[derive(Debug, Default, PartialEq)]
struct Said {
    text: String,
    thoughts: String,
    /// Name and arguments.
    calls: Vec<(String, Value)>,
    /// Parts that are neither, as they are.
    others: Vec<Value>,
    signatures: Vec<Value>,
    finish: Option<String>,
    usage: Value,
    model: Value,
    id: Value,
}

/// What the responses of a recording say.
fn expected(responses: &[Value]) -> Said {
    let mut said = Said::default();
    for response in responses {
        for (held, key) in [
            (&mut said.usage, "usageMetadata"),
            (&mut said.model, "modelVersion"),
            (&mut said.id, "responseId"),
        ] {
            if let Some(value) = response.get(key) {
                *held = value.clone();
            }
        }
        let candidate = &response["candidates"][0];
        if let Some(reason) = candidate["finishReason"].as_str() {
            said.finish = Some(reason.to_owned());
        }
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            add_part(&mut said, part);
        }
    }
    said
}

fn add_part(said: &mut Said, part: &Value) {
    said.signatures.extend(part.get("thoughtSignature").cloned());
    if let Some(text) = part["text"].as_str() {
        let thought = part["thought"] == true;
        if thought { &mut said.thoughts } else { &mut said.text }.push_str(text);
    } else if let Some(call) = part.get("functionCall") {
        if let Some(name) = call["name"].as_str() {
            let args = call.get("args").cloned().unwrap_or(json!({}));
            said.calls.push((name.to_owned(), args));
        }
        // Two recordings have arguments in pieces; all of them are strings at the top.
        for piece in call["partialArgs"].as_array().into_iter().flatten() {
            let key = piece["jsonPath"].as_str().unwrap().strip_prefix("$.").unwrap();
            let args = &mut said.calls.last_mut().unwrap().1;
            let held = args[key].as_str().unwrap_or_default().to_owned();
            args[key] = (held + piece["stringValue"].as_str().unwrap()).into();
        }
    } else {
        said.others.push(part.clone());
    }
}

fn responses(sse: &str) -> Vec<Value> {
    let lines = sse.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn read(chunks: Vec<Bytes>) -> Read {
    read_stream::read(events(stream::iter(chunks.into_iter().map(Ok))))
}

/// The one item of an answer.
fn only(mut items: Vec<NativeItem>) -> NativeItem {
    assert_eq!(items.len(), 1);
    items.remove(0)
}

fn in_pieces(bytes: &[u8], dice: &mut Dice) -> Vec<Bytes> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(dice.up_to(900).min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = more;
    }
    pieces
}

/// Compares an item with what the recording says.
fn check(name: &str, item: &NativeItem, expected: &Said) {
    let mut said = Said::default();
    for part in item.value()["parts"].as_array().into_iter().flatten() {
        add_part(&mut said, part);
    }
    let facts = item.metadata();
    let fact = |key: &str| facts.get(key).cloned().unwrap_or_default();
    said.finish = expected.finish.clone();
    (said.usage, said.model, said.id) = (fact("native_usage"), fact("model"), fact("response_id"));
    assert_eq!(&said, expected, "{name}");
    assert_eq!(item.value()["role"], "model", "{name}");
    let finish = match expected.finish.as_deref() {
        Some("STOP") if !expected.calls.is_empty() => "tool_calls",
        Some("STOP") => "stop",
        Some("MAX_TOKENS") => "length",
        Some("SAFETY") => "content_filter",
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(fact("finish_reason"), finish, "{name}");
    assert_eq!(fact("native_finish_reason"), expected.finish.clone().unwrap(), "{name}");
    let count = |key: &str| expected.usage[key].as_u64().unwrap_or(0);
    let usage = fact("usage");
    let input = count("promptTokenCount") + count("toolUsePromptTokenCount");
    let output = count("candidatesTokenCount") + count("thoughtsTokenCount");
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(input), &json!(output)));
    assert_eq!(usage.get("cache_read_tokens"), expected.usage.get("cachedContentTokenCount"));
    assert_eq!(usage.get("reasoning_tokens"), expected.usage.get("thoughtsTokenCount"));
    check_message(name, item, expected);
    // What came is sent back as it is.
    let asked = NativeItem::from(json!({"role": "user", "parts": [{"text": "?"}]}));
    let next = request::body(&Map::new(), [&asked, item], None);
    let next = std::str::from_utf8(&next).unwrap();
    let silent = item.value()["parts"].as_array().is_none_or(Vec::is_empty);
    assert!(silent || next.contains(item.wire()), "{name}");
    assert!(!next.contains("_metadata"), "{name}");
}

fn check_message(name: &str, item: &NativeItem, expected: &Said) {
    let messages = from_native(std::slice::from_ref(item));
    let [(message, positions)] = messages.as_slice() else { panic!("{name}: one message") };
    assert_eq!((message.role(), positions.as_slice()), (Role::Assistant, &[0][..]), "{name}");
    assert_eq!(message.text(), expected.text, "{name}");
    let thoughts = message.metadata().get("reasoning").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(thoughts, expected.thoughts, "{name}");
    let calls: Vec<(String, Value)> = message
        .tool_calls()
        .map(|call| {
            let call = &call["functionCall"];
            let args = call.get("args").cloned().unwrap_or(json!({}));
            (call["name"].as_str().unwrap().to_owned(), args)
        })
        .collect();
    assert_eq!(calls, expected.calls, "{name}");
    assert_eq!(message.multipart_content().len(), expected.others.len(), "{name}");
}

#[test]
fn recorded_streams_become_contents() {
    let (mut finished, mut dice) = (0, Dice(7));
    let streams = recorded("recorded Gemini streams").into_iter();
    for fixture in streams.filter(|it| it.stream && it.exchange.response.status == 200) {
        let (name, body) = (&fixture.file, body(&fixture));
        let expected = expected(&responses(&body));
        for _ in 0..3 {
            let read = read(in_pieces(body.as_bytes(), &mut dice));
            let item = only(read.end.unwrap_or_else(|error| panic!("{name}: {error:?}")));
            check(name, &item, &expected);
            assert_eq!(
                (&read.text, &read.reasoning),
                (&expected.text, &expected.thoughts),
                "{name}"
            );
            let messages = from_native(&[item]);
            let ids = messages[0].0.tool_calls().map(|call| {
                call.get("id").unwrap_or(&call["functionCall"]["id"]).as_str().unwrap().to_owned()
            });
            let shown = read.calls.values().map(|(id, name, args)| {
                (id.clone(), (name.clone(), serde_json::from_str(args).unwrap()))
            });
            assert!(shown.eq(ids.zip(expected.calls.clone())), "{name}");
        }
        finished += 1;
    }
    println!("{finished} streams read");
}

#[test]
fn recorded_streams_may_end_anywhere() {
    let (mut cuts, mut whole) = (0u32, 0u32);
    for fixture in recorded("cut Gemini streams")
        .into_iter()
        .filter(|it| it.stream && it.exchange.response.status == 200)
    {
        let (name, body) = (&fixture.file, body(&fixture));
        let full = read(vec![Bytes::copy_from_slice(body.as_bytes())]);
        let item = only(full.end.unwrap());
        let step = CUT_EVERY.max(body.len() / MAX_CUTS);
        // Behind every event, too, where a stream looks whole.
        let events = body.match_indices("\n\n").map(|(at, _)| at + 2);
        let places = (0..body.len()).step_by(step).chain(events).chain([body.len() - 1]);
        for at in places {
            let cut = read(vec![Bytes::copy_from_slice(&body.as_bytes()[..at])]);
            cuts += 1;
            assert!(full.text.starts_with(&cut.text), "{name} cut at {at}");
            assert!(full.reasoning.starts_with(&cut.reasoning), "{name} cut at {at}");
            match cut.end {
                Ok(cut) => {
                    whole += 1;
                    assert_eq!(only(cut), item, "{name} cut at {at}");
                }
                Err(error) => {
                    let early = error.message().starts_with("the answer ended early");
                    assert!(early && error.retryable(), "{name} cut at {at}: {error}");
                }
            }
        }
    }
    println!("{cuts} cuts, {whole} of them behind the end of the message");
}

#[test]
fn recorded_answers_that_were_not_streamed_stay_as_they_are() {
    let (mut finished, mut refused) = (0, 0);
    let answers = recorded("recorded Gemini answers").into_iter();
    for fixture in answers.filter(|it| !it.stream && it.exchange.response.status == 200) {
        let (name, body) = (&fixture.file, body(&fixture));
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let Ok(Whole { shown, items }) = answer(&body) else {
            let error = answer(&body).unwrap_err();
            let reason = parsed["promptFeedback"]["blockReason"].as_str().unwrap();
            assert!(error.message().contains(reason) && !error.retryable(), "{name}: {error}");
            assert_eq!(error.provider_body(), Some(body.as_str()), "{name}");
            refused += 1;
            continue;
        };
        let expected = expected(std::slice::from_ref(&parsed));
        check(name, &items[0], &expected);
        assert_eq!(
            (&shown.content, &shown.reasoning),
            (&expected.text, &expected.thoughts),
            "{name}"
        );
        let content = &parsed["candidates"][0]["content"];
        if content.get("role").is_some() {
            assert_eq!(items[0].wire(), content.to_string(), "{name}");
        }
        finished += 1;
    }
    println!("{finished} answers read, {refused} refused");
    assert!(refused <= 1);
}

/// The events in which a server would have streamed a content: text in pieces, a signature behind
/// its text, everything else at once.
fn streamed(response: &Value, dice: &mut Dice) -> String {
    let mut pieces: Vec<Value> = Vec::new();
    for part in response["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
        let Some(text) = part["text"].as_str() else {
            pieces.push(part.clone());
            continue;
        };
        let mut rest: Vec<char> = text.chars().collect();
        while !rest.is_empty() {
            let piece: String = rest.drain(..dice.up_to(40).min(rest.len())).collect();
            let mut fields = part.clone();
            fields["text"] = piece.into();
            fields.as_object_mut().unwrap().shift_remove("thoughtSignature");
            pieces.push(fields);
        }
        if part.get("thoughtSignature").is_some() {
            let mut end = part.clone();
            end["text"] = "".into();
            pieces.push(end);
        }
    }
    let mut whole = response.clone();
    let candidate = whole["candidates"][0].take();
    let event = |candidate: Value| {
        let mut response = whole.clone();
        response["candidates"][0] = candidate;
        format!("data: {response}\r\n\r\n")
    };
    let mut body = String::new();
    for piece in pieces {
        let mut content = candidate["content"].clone();
        content["parts"] = json!([piece]);
        body += &event(json!({"content": content, "index": 0}));
    }
    let mut end = candidate;
    if let Some(content) = end["content"].as_object_mut() {
        content.shift_remove("parts");
    }
    body + &event(end)
}

#[test]
fn an_answer_is_the_same_whether_it_is_streamed_or_not() {
    let (mut compared, mut dice) = (0, Dice(11));
    let answers = recorded("Gemini answers as streams").into_iter();
    for fixture in answers.filter(|it| !it.stream && it.exchange.response.status == 200) {
        let (name, body) = (&fixture.file, body(&fixture));
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let Ok(Whole { items, .. }) = answer(&body) else { continue };
        let read = read(in_pieces(streamed(&parsed, &mut dice).as_bytes(), &mut dice));
        let item = only(read.end.unwrap_or_else(|error| panic!("{name}: {error:?}")));
        // An empty content has no order of its fields.
        if items[0].value()["parts"].as_array().is_some_and(|parts| !parts.is_empty()) {
            assert_eq!(item, items[0], "{name}");
            compared += 1;
        }
    }
    println!("{compared} answers compared");
}

#[test]
fn recorded_errors_have_a_message() {
    let mut seen = 0;
    let errors = recorded("recorded Gemini errors").into_iter();
    for fixture in errors.filter(|it| it.exchange.response.status != 200) {
        let message = message_in(&body(&fixture)).unwrap_or_default();
        assert!(!message.is_empty() && !message.starts_with('{'), "{}: {message}", fixture.file);
        seen += 1;
    }
    println!("{seen} errors with a message");
}

/// The conversation that a recorded request carries.
fn conversation(fixture: &Fixture) -> Vec<NativeItem> {
    let contents = fixture.exchange.request.body["contents"].as_array();
    contents.into_iter().flatten().cloned().map(NativeItem::from).collect()
}

/// Whether a conversation has a content of the model with calls right behind another of the model;
/// the two are sent as one.
fn splits_a_turn(items: &[NativeItem]) -> bool {
    let is_model = |item: &NativeItem| item.value()["role"] == "model";
    items.windows(2).any(|pair| {
        let calls = pair[1].wire().contains("\"functionCall\"");
        is_model(&pair[0]) && is_model(&pair[1]) && calls
    })
}

fn parts(contents: &[Value]) -> Vec<&Value> {
    contents.iter().flat_map(|content| content["parts"].as_array().unwrap()).collect()
}

#[test]
fn recorded_conversations_are_sent_as_they_were() {
    let (mut sent, mut joined) = (0, 0);
    for fixture in recorded("recorded Gemini conversations") {
        let items = conversation(&fixture);
        let arranged = arrange(&items).contents;
        if splits_a_turn(&items) {
            let contents: Vec<Value> = serde_json::from_str(&format!("[{arranged}]")).unwrap();
            let values: Vec<Value> = items.iter().map(|item| item.value().clone()).collect();
            assert_eq!(parts(&contents), parts(&values), "{}", fixture.file);
            joined += 1;
        } else {
            let texts: Vec<&str> = items.iter().map(NativeItem::wire).collect();
            assert_eq!(arranged, texts.join(","), "{}", fixture.file);
            sent += 1;
        }
    }
    println!("{sent} conversations as they were, {joined} with split turns");
    assert!(joined <= 5, "{joined}");
}

/// What must survive a change of form.
fn meaning(messages: &[Message]) -> Vec<Value> {
    let meaning = |message: &Message| {
        let metadata = message.metadata();
        json!({
            "role": message.role().as_str(), "text": message.text(),
            "parts": message.multipart_content(),
            "calls": message.tool_calls().collect::<Vec<_>>(),
            "answers": metadata.get("tool_call_id"), "tool": metadata.get("tool_name"),
            "failed": metadata.get("tool_error"), "reasoning": metadata.get("reasoning"),
        })
    };
    messages.iter().map(meaning).collect()
}

#[test]
fn recorded_conversations_keep_their_meaning_as_messages() {
    let (mut results, mut signatures, mut files) = (0, 0, 0);
    for fixture in recorded("Gemini conversations as messages") {
        let (name, items) = (&fixture.file, conversation(&fixture));
        let read = from_native(&items);
        // Every item is where a message says it is, and in order.
        let mut positions: Vec<usize> = read.iter().flat_map(|(_, at)| at.clone()).collect();
        assert!(positions.is_sorted(), "{name}");
        positions.dedup();
        assert_eq!(positions, (0..items.len()).collect::<Vec<_>>(), "{name}");
        let messages: Vec<Message> = read.into_iter().map(|(message, _)| message).collect();
        let answered = |message: &&Message| message.role() == Role::Tool;
        for message in messages.iter().filter(answered) {
            let id = &message.metadata()["tool_call_id"];
            let is_it =
                |call: &Map| call.get("id") == Some(id) || &call["functionCall"]["id"] == id;
            assert!(messages.iter().flat_map(Message::tool_calls).any(is_it), "{name}: {id}");
            results += 1;
        }
        signatures += messages
            .iter()
            .flat_map(Message::tool_calls)
            .filter(|call| call.contains_key("thoughtSignature"))
            .count();
        files += messages.iter().map(|message| message.multipart_content().len()).sum::<usize>();
        let again = to_native(&messages);
        assert_eq!(again.len(), messages.len(), "{name}");
        let back: Vec<Message> =
            from_native(&again).into_iter().map(|(message, _)| message).collect();
        assert_eq!(meaning(&back), meaning(&messages), "{name}");
        // However the results were grouped, they are sent as one content for each turn.
        let grouped: Value =
            serde_json::from_str(&format!("[{}]", arrange(&again).contents)).unwrap();
        let turns = |contents: &[Value]| {
            contents
                .iter()
                .filter(|content| {
                    content["parts"].as_array().is_some_and(|parts| {
                        parts.iter().any(|part| part.get("functionResponse").is_some())
                    })
                })
                .count()
        };
        let originals: Vec<Value> = items.iter().map(|item| item.value().clone()).collect();
        assert_eq!(turns(grouped.as_array().unwrap()), turns(&originals), "{name}");
    }
    println!("{results} results, {signatures} signed calls, {files} files");
    assert!(Fixtures::open().is_none() || (results > 50 && signatures > 50 && files > 5));
}
