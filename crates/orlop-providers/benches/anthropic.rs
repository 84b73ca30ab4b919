//! What an event of a streamed message costs, and what a request of a long conversation with
//! tools costs, each beside the least that the same bytes take. The ratios are what counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_providers::anthropic::events;
use orlop_providers::anthropic::request::{Cache, body};
use orlop_providers::wire::Step;
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

const EVENTS: usize = 2_000;

fn main() {
    divan::main();
}

/// A streamed message as the server sends it, in network reads of about 4 kB; with `padded` the
/// events end in spaces, more or fewer.
fn reads(padded: bool) -> Vec<Bytes> {
    let mut text = String::new();
    let mut push = |event: serde_json::Value, spaces: usize| {
        let data = event.to_string();
        let (data, end) = data.split_at(data.len() - 1);
        let kind = event["type"].as_str().unwrap_or_default();
        text.push_str(&format!("event: {kind}\ndata: {data}{}{end}\n\n", " ".repeat(spaces)));
    };
    push(
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "m", "content": [], "usage": { "input_tokens": 1 } } }),
        0,
    );
    push(
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        0,
    );
    for n in 0..EVENTS {
        let delta = json!({ "type": "text_delta", "text": format!(" word{n:04}") });
        let spaces = if padded { n * 7 % 13 } else { 0 };
        push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }), spaces);
    }
    push(json!({ "type": "content_block_stop", "index": 0 }), 0);
    push(
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 1 } }),
        0,
    );
    push(json!({ "type": "message_stop" }), 0);
    text.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
}

#[derive(Deserialize)]
struct BareEvent<'a> {
    #[serde(borrow, default)]
    delta: BareDelta<'a>,
}

#[derive(Deserialize, Default)]
struct BareDelta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

/// The least that reading the same bytes takes.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, padded: bool) {
    let reads = reads(padded);
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
                length += black_box(event.delta.text.as_deref()).map_or(0, str::len);
            }
            buffer.drain(..at);
        }
        length
    });
}

/// Bytes to fragments and one finished item.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, padded: bool) {
    let reads = reads(padded);
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

/// A conversation of so many items, in which every other answer calls two tools.
fn conversation(length: usize) -> Vec<NativeItem> {
    let words = "some words of ordinary length ".repeat(4);
    let call = |id: String| json!({ "type": "tool_use", "id": id, "name": "read", "input": { "path": words } });
    let result = |id: String| {
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": words });
        json!({ "role": "user", "content": [result] })
    };
    let item = |n: usize| match n % 6 {
        0 => json!({ "role": "user", "content": words }),
        1 => {
            json!({ "role": "assistant", "content": [call(format!("a{n}")), call(format!("b{n}"))] })
        }
        2 => result(format!("a{}", n - 1)),
        3 => result(format!("b{}", n - 2)),
        _ => json!({ "role": "assistant", "content": [{ "type": "text", "text": words }] }),
    };
    (0..length).map(item).map(NativeItem::from).collect()
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn body_of_a_conversation(bencher: Bencher<'_, '_>, length: usize) {
    let items = conversation(length);
    bencher.bench(|| body(&Map::new(), &items, None, Cache::Minutes));
}

/// Copying the same texts.
#[divan::bench(args = [10, 1_000, 10_000])]
fn bytes_copied(bencher: Bencher<'_, '_>, length: usize) {
    let items = conversation(length);
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
