//! What a streamed chunk costs, from bytes to the caller's event, beside a bare loop that only
//! parses the same bytes. Both are in this one run; the ratio is what counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_core::hooks::Chunk;
use orlop_core::{Config, Core, CoreEvent, Message, RequestOptions};
use orlop_providers::openai::{OpenAiCompatible, Step, events};
use orlop_testkit::scripted::{Over, ScriptedExtension, config};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

const CHUNKS: usize = 2_000;

fn main() {
    divan::main();
}

/// The events of an answer as servers send them, in network reads of about 4 kB. Most servers send
/// the same bytes around every text; with `varying` each chunk has an id of its own, as a few do.
fn reads(varying: bool) -> Vec<Bytes> {
    let mut text = String::new();
    for n in 0..CHUNKS {
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

/// Splits lines, parses each into the smallest struct that holds the text, and counts it.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, varying: bool) {
    let reads = reads(varying);
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
                let text = chunk.choices.first().and_then(|choice| choice.delta.content.as_deref());
                length += black_box(text).map_or(0, str::len);
            }
            buffer.drain(..at);
        }
        length
    });
}

/// The provider's own part: bytes to fragments and one finished item.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, varying: bool) {
    let reads = reads(varying);
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

/// All of it: the core's event stream.
#[divan::bench(args = [false, true])]
fn core_events(bencher: Bencher<'_, '_>, varying: bool) {
    bench_core(bencher, varying, 0);
}

/// The core's event stream with an extension on every chunk.
#[divan::bench(args = [false, true])]
fn core_events_with_extension(bencher: Bencher<'_, '_>, varying: bool) {
    bench_core(bencher, varying, 1);
}

fn bench_core(bencher: Bencher<'_, '_>, varying: bool, extensions: usize) {
    let mut core = Core::new();
    let extension = || Arc::new(ScriptedExtension::new("watch").process_chunk(|_, _| Ok(()))) as _;
    let extensions = (0..extensions).map(|_| extension()).collect();
    if core.register_provider(Arc::new(played(reads(varying))), extensions).is_err() {
        return;
    }
    let config: Config = config(json!({ "model": "m" }));
    let Ok(session) =
        block_on(core.add_message(&core.create_session(None), Message::user("go"), &config))
    else {
        return;
    };
    bencher.counter(ItemsCount::new(CHUNKS)).bench(|| {
        block_on(async {
            let mut stream = core.send_request_stream(&session, &config, RequestOptions::default());
            let mut length = 0;
            while let Some(Ok(event)) = stream.next().await {
                if let CoreEvent::Partial(partial) = event {
                    length += black_box(partial).content.len();
                }
            }
            length
        })
    });
}

/// The real provider with the network replaced by reads from memory.
fn played(reads: Vec<Bytes>) -> Over<OpenAiCompatible> {
    Over::new(OpenAiCompatible::default()).stream_api(move |_, _, _| {
        let steps = events(stream::iter(reads.clone().into_iter().map(Ok)));
        Some(steps.map(|step| step.map(Chunk::from)).boxed())
    })
}
