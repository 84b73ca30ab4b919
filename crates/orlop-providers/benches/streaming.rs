//! What a streamed chunk costs, from bytes to the caller's event, beside a bare loop that only
//! parses the same bytes. Both are in this one run; the ratio is what counts.

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_core::hooks::Chunk;
use orlop_core::{Config, Core, CoreEvent, Message, RequestOptions};
use orlop_providers::openai::{OpenAiCompatible, events};
use orlop_providers::wire::Step;
use orlop_testkit::chat_stream::{self, reads};
use orlop_testkit::scripted::{Over, ScriptedExtension, config};
use serde_json::json;
use std::sync::Arc;

const CHUNKS: usize = 2_000;

fn main() {
    divan::main();
}

/// The least that reading the same bytes takes.
#[divan::bench(args = [false, true])]
fn bare_loop(bencher: Bencher<'_, '_>, varying: bool) {
    let reads = reads(CHUNKS, varying);
    bencher.counter(ItemsCount::new(CHUNKS)).bench(|| chat_stream::bare_loop(&reads));
}

/// The provider's own part: bytes to fragments and one finished item.
#[divan::bench(args = [false, true])]
fn provider_events(bencher: Bencher<'_, '_>, varying: bool) {
    let reads = reads(CHUNKS, varying);
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
    if core.register_provider(Arc::new(played(reads(CHUNKS, varying))), extensions).is_err() {
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
