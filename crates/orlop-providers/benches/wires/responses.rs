//! The Responses API.

use crate::{
    FRAGMENTS, bench_bare, bench_copied, bench_first_request, bench_reader, bench_request,
    in_reads, stored,
};
use bytes::Bytes;
use divan::Bencher;
use orlop_providers::responses::ResponsesReader;
use orlop_providers::responses::history::{Selection, texts};
use orlop_providers::responses::request::body;
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// A streamed response in network reads of about 4 kB. With `numbered` each event has a number and
/// a padding of its own, as OpenAI sends them; without, only the texts differ.
fn reads(numbered: bool) -> Vec<Bytes> {
    let mut text = String::new();
    let mut push = |event: serde_json::Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        text.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    };
    let id = "msg_00b4acfe385b75d6006a0133e42ad8819f83824a88e1160e09";
    let item = json!({ "type": "message", "id": id, "role": "assistant", "content": [] });
    push(json!({ "type": "response.output_item.added", "output_index": 0, "item": item }));
    for n in 0..FRAGMENTS {
        let mut event = json!({ "type": "response.output_text.delta", "content_index": 0,
            "delta": format!(" word{n:04}"), "item_id": id, "logprobs": [] });
        if numbered {
            event["obfuscation"] = "NSLkknb2f6J7MB"[n % 8..].into();
        }
        event["output_index"] = 0.into();
        if numbered {
            event["sequence_number"] = n.into();
        }
        push(event);
    }
    let words: String = (0..FRAGMENTS).map(|n| format!(" word{n:04}")).collect();
    let item = json!({ "type": "message", "id": id, "role": "assistant",
        "content": [{ "type": "output_text", "text": words }] });
    push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    push(json!({ "type": "response.completed", "response": { "status": "completed" } }));
    in_reads(text)
}

#[derive(Deserialize)]
struct BareEvent<'a> {
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
}

/// The length of the text in a line.
fn length_of(line: &[u8]) -> Option<usize> {
    let event: BareEvent<'_> = serde_json::from_slice(line.strip_prefix(b"data: ")?).ok()?;
    event.delta.map(|text| text.len())
}

#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, numbered: bool) {
    bench_bare(bencher, &reads(numbered), length_of);
}

#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, numbered: bool) {
    bench_reader::<ResponsesReader>(bencher, &reads(numbered));
}

/// A conversation in which every answer reasons and calls a tool.
fn items(length: usize) -> Vec<NativeItem> {
    let words = "some words of ordinary length ".repeat(4);
    stored((0..length).map(|n| {
        let id = format!("call_{}", n / 4);
        match n % 4 {
            0 => json!({ "type": "message", "role": "user", "content": words }),
            1 => json!({ "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": words }),
            2 => json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" }),
            _ => json!({ "type": "function_call_output", "call_id": id, "output": words }),
        }
    }))
}

fn request(items: &[NativeItem]) -> Bytes {
    body(&Map::new(), &texts(items, Selection::default()), None)
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn request_body(bencher: Bencher<'_, '_>, length: usize) {
    bench_request(bencher, &items(length), request);
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn first_request_body(bencher: Bencher<'_, '_>, length: usize) {
    bench_first_request(bencher, &items(length), request);
}

/// Copying the same items.
#[divan::bench(args = [10, 1_000, 10_000])]
fn bytes_copied(bencher: Bencher<'_, '_>, length: usize) {
    bench_copied(bencher, &items(length));
}
