//! What a chunk of a streamed answer costs, and what a request of a long conversation with tools
//! costs, each beside the least that the same bytes take. The ratios are what counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_providers::gemini::events;
use orlop_providers::gemini::request::body;
use orlop_providers::wire::Step;
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

const CHUNKS: usize = 2_000;

fn main() {
    divan::main();
}

/// A streamed answer in network reads of about 4 kB. With `counting` each chunk tells the tokens
/// so far, as Google's own API does; without, they come at the end, as in its cloud.
fn reads(counting: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..=CHUNKS {
        let mut candidate = json!({
            "content": { "parts": [{ "text": format!(" word{n:04} and so on") }], "role": "model" },
            "index": 0,
        });
        if n == CHUNKS {
            candidate["finishReason"] = "STOP".into();
        }
        let count = if counting || n == CHUNKS { n } else { 0 };
        let chunk = json!({
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": 9, "candidatesTokenCount": count, "totalTokenCount": 9 + count,
                "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 9 }], "thoughtsTokenCount": 185,
            },
            "modelVersion": "gemini-benchmark", "responseId": "bH6LaZW8Fp_3nsEPqtaSwQ4",
        });
        text.push_str(&format!("data: {chunk}\r\n\r\n"));
    }
    text.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
}

#[derive(Deserialize)]
struct BareChunk<'a> {
    #[serde(borrow)]
    candidates: Vec<BareCandidate<'a>>,
}

#[derive(Deserialize)]
struct BareCandidate<'a> {
    #[serde(borrow)]
    content: BareContent<'a>,
}

#[derive(Deserialize)]
struct BareContent<'a> {
    #[serde(borrow)]
    parts: Vec<BarePart<'a>>,
}

#[derive(Deserialize)]
struct BarePart<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

/// The least that reading the same bytes takes.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, counting: bool) {
    let reads = reads(counting);
    bencher.counter(ItemsCount::new(CHUNKS)).bench(|| {
        let (mut buffer, mut length) = (Vec::with_capacity(64 * 1024), 0);
        for read in &reads {
            buffer.extend_from_slice(read);
            let mut at = 0;
            while let Some(end) = memchr::memchr(b'\n', &buffer[at..]) {
                let line = &buffer[at..at + end];
                at += end + 1;
                let Some(data) = line.strip_prefix(b"data: ") else { continue };
                let Ok(chunk) = serde_json::from_slice::<BareChunk<'_>>(data) else { continue };
                let part = chunk.candidates.first().and_then(|it| it.content.parts.first());
                let text = part.and_then(|part| part.text.as_deref());
                length += black_box(text).map_or(0, str::len);
            }
            buffer.drain(..at);
        }
        length
    });
}

/// The provider's own part: bytes to fragments and one finished item.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, counting: bool) {
    let reads = reads(counting);
    bencher.counter(ItemsCount::new(CHUNKS)).bench(|| {
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

const TURNS: usize = 2_500;

/// A conversation of four items a turn, half of them with calls and results.
fn conversation() -> Vec<NativeItem> {
    let turn = |n: usize| {
        [
            json!({ "role": "user", "parts": [{ "text": format!("question {n} ").repeat(20) }] }),
            json!({ "parts": [{ "functionCall": { "name": "read", "args": { "path": format!("file{n}") } },
                "thoughtSignature": "c2lnbmF0dXJl".repeat(20) }], "role": "model" }),
            json!({ "role": "user", "parts": [{ "functionResponse": { "name": "read",
                "response": { "output": "a line of text\n".repeat(30) } } }] }),
            json!({ "parts": [{ "text": "an answer ".repeat(30) }], "role": "model" }),
        ]
    };
    (0..TURNS).flat_map(turn).map(NativeItem::from).collect()
}

/// The least: the bytes are copied together.
#[divan::bench]
fn copied(bencher: Bencher<'_, '_>) {
    let items = conversation();
    bencher.counter(ItemsCount::new(items.len())).bench(|| {
        let mut out = String::with_capacity(items.iter().map(|item| item.wire().len() + 1).sum());
        for item in &items {
            out.push_str(item.wire());
            out.push(',');
        }
        out
    });
}

/// The body of the request, arranged as the API wants it.
#[divan::bench]
fn request_body(bencher: Bencher<'_, '_>) {
    let items = conversation();
    let params = Map::new();
    bencher.counter(ItemsCount::new(items.len())).bench(|| body(&params, &items, None));
}
