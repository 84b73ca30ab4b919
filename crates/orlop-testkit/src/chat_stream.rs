//! What benchmarks of streaming share: a streamed answer, and the least that reading it takes.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::hint::black_box;

/// A streamed answer of so many chunks as servers send it, in network reads of about 4 kB. Most
/// servers send the same bytes around every text; with `varying` each chunk has an id of its own,
/// as a few do.
pub fn reads(chunks: usize, varying: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..chunks {
        let chunk = json!({
            "id": format!("chatcmpl-benchmark-{:04}", if varying { n } else { 0 }),
            "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": "gpt-test", "system_fingerprint": "fp_0123456789",
            "choices": [{ "index": 0, "delta": { "content": format!(" word{n:04}") }, "logprobs": null, "finish_reason": null }],
        });
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    let end = json!({ "id": "chatcmpl-benchmark", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    text.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
    text.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
}

#[derive(Deserialize)]
struct BareChunk<'a> {
    #[serde(borrow)]
    choices: Vec<BareChoice<'a>>,
}

#[derive(Deserialize)]
struct BareChoice<'a> {
    #[serde(borrow, default)]
    delta: BareDelta<'a>,
}

#[derive(Deserialize, Default)]
struct BareDelta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

/// Splits lines, parses each into the smallest struct that holds the text, and counts the text.
pub fn bare_loop(reads: &[Bytes]) -> usize {
    let (mut buffer, mut length) = (Vec::with_capacity(64 * 1024), 0);
    for read in reads {
        buffer.extend_from_slice(read);
        let mut at = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[at..]) {
            let line = &buffer[at..at + end];
            at += end + 1;
            let Some(data) = line.strip_prefix(b"data: ") else { continue };
            let Ok(chunk) = serde_json::from_slice::<BareChunk<'_>>(data) else { continue };
            let text = chunk.choices.first().and_then(|choice| choice.delta.content.as_deref());
            length += black_box(text).map_or(0, str::len);
        }
        buffer.drain(..at);
    }
    length
}
