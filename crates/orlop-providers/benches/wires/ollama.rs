//! The chat API of Ollama.

use crate::{FRAGMENTS, bench_bare, bench_reader, in_reads};
use bytes::Bytes;
use divan::Bencher;
use orlop_providers::ollama::ChatReader;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// An answer as the server streams it, in network reads of about 4 kB. With `escapes` every text
/// has a character that only the parser can read.
fn reads(escapes: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..FRAGMENTS {
        let word = if escapes { format!(" \"word{n:04}\"") } else { format!(" word{n:04}") };
        let line = json!({
            "model": "qwen3:4b", "created_at": format!("2026-08-17T15:57:12.77{n:04}Z"),
            "message": { "role": "assistant", "content": word }, "done": false,
        });
        text.push_str(&format!("{line}\n"));
    }
    let end = json!({ "model": "qwen3:4b", "created_at": "2026-08-17T15:57:13.585297Z",
        "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
        "prompt_eval_count": 18, "eval_count": FRAGMENTS });
    text.push_str(&format!("{end}\n"));
    in_reads(text)
}

#[derive(Deserialize)]
struct BareLine<'a> {
    #[serde(borrow)]
    message: BareMessage<'a>,
}

#[derive(Deserialize)]
struct BareMessage<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// The length of the text in a line.
fn length_of(line: &[u8]) -> Option<usize> {
    let line: BareLine<'_> = serde_json::from_slice(line).ok()?;
    Some(line.message.content.len())
}

#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, escapes: bool) {
    bench_bare(bencher, &reads(escapes), length_of);
}

#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, escapes: bool) {
    bench_reader::<ChatReader>(bencher, &reads(escapes));
}
