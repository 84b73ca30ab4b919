//! generateContent.

use crate::{
    FRAGMENTS, bench_bare, bench_copied, bench_first_request, bench_reader, bench_request,
    in_reads, stored,
};
use bytes::Bytes;
use divan::Bencher;
use orlop_providers::gemini::ContentReader;
use orlop_providers::gemini::request::body;
use orlop_types::{Map, NativeItem};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// A streamed answer in network reads of about 4 kB. With `counting` each chunk tells the tokens
/// so far, as Google's own API does; without, they come at the end, as in its cloud.
fn reads(counting: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..=FRAGMENTS {
        let mut candidate = json!({
            "content": { "parts": [{ "text": format!(" word{n:04} and so on") }], "role": "model" },
            "index": 0,
        });
        if n == FRAGMENTS {
            candidate["finishReason"] = "STOP".into();
        }
        let count = if counting || n == FRAGMENTS { n } else { 0 };
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
    in_reads(text)
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

/// The length of the text in a line.
fn length_of(line: &[u8]) -> Option<usize> {
    let chunk: BareChunk<'_> = serde_json::from_slice(line.strip_prefix(b"data: ")?).ok()?;
    let part = chunk.candidates.first()?.content.parts.first()?;
    part.text.as_ref().map(|text| text.len())
}

#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, counting: bool) {
    bench_bare(bencher, &reads(counting), length_of);
}

#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, counting: bool) {
    bench_reader::<ContentReader>(bencher, &reads(counting));
}

/// A conversation of so many items, four a turn, half of them with calls and results.
fn conversation(length: usize) -> Vec<NativeItem> {
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
    stored((0..length).flat_map(turn).take(length))
}

/// The body of the request, arranged as the API wants it.
fn request(items: &[NativeItem]) -> Bytes {
    body(&Map::new(), items, None)
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
