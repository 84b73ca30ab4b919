//! What a line of a streamed answer of Ollama costs, from bytes to fragments and one finished item,
//! beside a bare loop that only parses the same bytes. Both are in this one run; the ratio is what
//! counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_providers::ollama::events;
use orlop_providers::wire::Step;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

const LINES: usize = 2_000;

fn main() {
    divan::main();
}

/// An answer as the server streams it, in network reads of about 4 kB. With `escapes` every text
/// has a character that only the parser can read.
fn reads(escapes: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..LINES {
        let word = if escapes { format!(" \"word{n:04}\"") } else { format!(" word{n:04}") };
        let line = json!({
            "model": "qwen3:4b", "created_at": format!("2026-08-17T15:57:12.77{n:04}Z"),
            "message": { "role": "assistant", "content": word }, "done": false,
        });
        text.push_str(&format!("{line}\n"));
    }
    let end = json!({ "model": "qwen3:4b", "created_at": "2026-08-17T15:57:13.585297Z",
        "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
        "prompt_eval_count": 18, "eval_count": LINES });
    text.push_str(&format!("{end}\n"));
    text.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
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

/// The least that reading the same bytes takes.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, escapes: bool) {
    let reads = reads(escapes);
    bencher.counter(ItemsCount::new(LINES)).bench(|| {
        let (mut buffer, mut length) = (Vec::with_capacity(64 * 1024), 0);
        for read in &reads {
            buffer.extend_from_slice(read);
            let mut at = 0;
            while let Some(end) = memchr::memchr(b'\n', &buffer[at..]) {
                let line = &buffer[at..at + end];
                at += end + 1;
                let Ok(line) = serde_json::from_slice::<BareLine<'_>>(line) else { continue };
                length += black_box(line).message.content.len();
            }
            buffer.drain(..at);
        }
        length
    });
}

/// The provider's own part.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, escapes: bool) {
    let reads = reads(escapes);
    bencher.counter(ItemsCount::new(LINES)).bench(|| {
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
