//! What an event of a streamed response costs, and what a request of a long conversation with
//! tools costs, each beside the least that the same bytes take. The ratios are what counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_providers::responses::events;
use orlop_providers::responses::history::{Selection, texts};
use orlop_providers::responses::request::body;
use orlop_providers::wire::Step;
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

const EVENTS: usize = 2_000;

fn main() {
    divan::main();
}

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
    for n in 0..EVENTS {
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
    let words: String = (0..EVENTS).map(|n| format!(" word{n:04}")).collect();
    let item = json!({ "type": "message", "id": id, "role": "assistant",
        "content": [{ "type": "output_text", "text": words }] });
    push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    push(json!({ "type": "response.completed", "response": { "status": "completed" } }));
    text.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
}

#[derive(Deserialize)]
struct BareEvent<'a> {
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
}

/// The least that reading the same bytes takes.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, numbered: bool) {
    let reads = reads(numbered);
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        let (mut buffer, mut length) = (Vec::with_capacity(64 * 1024), 0);
        for read in &reads {
            buffer.extend_from_slice(read);
            let mut at = 0;
            while let Some(end) = memchr::memchr(b'\n', &buffer[at..]) {
                let line = &buffer[at..at + end];
                at += end + 1;
                let Some(data) = line.strip_prefix(b"data: ") else { continue };
                let Ok(event) = serde_json::from_slice::<BareEvent<'_>>(data) else { continue };
                length += black_box(event.delta).map_or(0, |text| text.len());
            }
            buffer.drain(..at);
        }
        length
    });
}

/// Bytes to fragments and finished items.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, numbered: bool) {
    let reads = reads(numbered);
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        block_on(async {
            let mut steps = events(stream::iter(reads.clone().into_iter().map(Ok)));
            let mut length = 0;
            while let Some(Ok(step)) = steps.next().await {
                if let Step::Partial(partial) = step {
                    length += black_box(partial).content.len();
                }
            }
            length
        })
    });
}

/// A conversation in which every answer reasons and calls a tool.
fn items(length: usize) -> Vec<NativeItem> {
    let words = "some words of ordinary length ".repeat(4);
    (0..length)
        .map(|n| {
            let id = format!("call_{}", n / 4);
            match n % 4 {
                0 => json!({ "type": "message", "role": "user", "content": words }),
                1 => json!({ "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": words }),
                2 => json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" }),
                _ => json!({ "type": "function_call_output", "call_id": id, "output": words }),
            }
            .into()
        })
        .collect()
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn request_body(bencher: Bencher<'_, '_>, length: usize) {
    let items = items(length);
    bencher.bench(|| body(&Map::new(), &texts(black_box(&items), Selection::default()), None));
}

/// Copying the same items, for comparison.
#[divan::bench(args = [10, 1_000, 10_000])]
fn items_copied(bencher: Bencher<'_, '_>, length: usize) {
    let items = items(length);
    bencher.bench(|| {
        let size = items.iter().map(|item| item.wire().len() + 1).sum();
        let mut body = String::with_capacity(size);
        for item in black_box(&items) {
            body.push_str(item.wire());
            body.push(',');
        }
        body
    });
}
