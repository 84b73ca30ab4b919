//! The Messages API.

use crate::{
    FRAGMENTS, bench_bare, bench_copied, bench_first_request, bench_reader, bench_request,
    in_reads, stored,
};
use bytes::Bytes;
use divan::Bencher;
use orlop_providers::anthropic::MessagesReader;
use orlop_providers::anthropic::request::{Cache, body};
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

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
    for n in 0..FRAGMENTS {
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
    in_reads(text)
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

/// The length of the text in a line.
fn length_of(line: &[u8]) -> Option<usize> {
    let event: BareEvent<'_> = serde_json::from_slice(line.strip_prefix(b"data: ")?).ok()?;
    event.delta.text.map(|text| text.len())
}

#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, padded: bool) {
    bench_bare(bencher, &reads(padded), length_of);
}

#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, padded: bool) {
    bench_reader::<MessagesReader>(bencher, &reads(padded));
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
    stored((0..length).map(item))
}

fn request(items: &[NativeItem]) -> Bytes {
    body(&Map::new(), items, None, Cache::Minutes)
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn request_body(bencher: Bencher<'_, '_>, length: usize) {
    bench_request(bencher, &conversation(length), request);
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn first_request_body(bencher: Bencher<'_, '_>, length: usize) {
    bench_first_request(bencher, &conversation(length), request);
}

/// Copying the same items.
#[divan::bench(args = [10, 1_000, 10_000])]
fn bytes_copied(bencher: Bencher<'_, '_>, length: usize) {
    bench_copied(bencher, &conversation(length));
}
