//! What an event of a streamed answer and a request of a long conversation cost on each API, each
//! beside the least that the same bytes take. All are in this one run; the ratios are what counts.

mod anthropic;
mod gemini;
mod ollama;
mod responses;

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_providers::wire::{Reader, Step, events};
use orlop_types::{NativeItem, Value};

/// How many fragments an answer has.
const FRAGMENTS: usize = 2_000;

fn main() {
    divan::main();
}

/// A body as it comes from the network, about 4 kB at a time.
fn in_reads(body: String) -> Vec<Bytes> {
    body.into_bytes().chunks(4096).map(Bytes::copy_from_slice).collect()
}

/// Splits lines and hands each to `length_of`, which parses it into the smallest struct that holds
/// its text.
fn bench_bare(bencher: Bencher<'_, '_>, reads: &[Bytes], length_of: fn(&[u8]) -> Option<usize>) {
    bencher.counter(ItemsCount::new(FRAGMENTS)).bench(|| {
        let (mut buffer, mut length) = (Vec::with_capacity(64 * 1024), 0);
        for read in reads {
            buffer.extend_from_slice(read);
            let mut at = 0;
            while let Some(end) = memchr::memchr(b'\n', &buffer[at..]) {
                length += black_box(length_of(&buffer[at..at + end])).unwrap_or_default();
                at += end + 1;
            }
            buffer.drain(..at);
        }
        length
    });
}

/// Bytes to fragments and finished items.
fn bench_reader<R: Reader>(bencher: Bencher<'_, '_>, reads: &[Bytes]) {
    bencher.counter(ItemsCount::new(FRAGMENTS)).bench(|| {
        block_on(async {
            let mut steps = events::<R, _>(stream::iter(reads.iter().cloned().map(Ok)));
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

/// A history as it comes from a store: nobody has looked into its items yet.
fn stored(items: impl IntoIterator<Item = Value>) -> Vec<NativeItem> {
    items.into_iter().filter_map(|item| NativeItem::from_text(&item.to_string()).ok()).collect()
}

/// Makes requests of a history that was sent before, as all but the first of a process are.
fn bench_request<O>(
    bencher: Bencher<'_, '_>,
    items: &[NativeItem],
    request: impl Fn(&[NativeItem]) -> O + Sync,
) {
    request(items);
    bencher.bench(|| request(black_box(items)));
}

/// Makes the first request of a history.
fn bench_first_request<O>(
    bencher: Bencher<'_, '_>,
    items: &[NativeItem],
    request: impl Fn(&[NativeItem]) -> O + Sync,
) {
    bencher
        .with_inputs(|| stored(items.iter().map(NativeItem::to_json)))
        .bench_refs(|items| request(black_box(items)));
}

/// Copies the texts of items together.
fn bench_copied(bencher: Bencher<'_, '_>, items: &[NativeItem]) {
    bencher.bench(|| {
        let size = items.iter().map(|item| item.wire().len() + 1).sum();
        let mut body = String::with_capacity(size);
        for item in black_box(items) {
            body.push_str(item.wire());
            body.push(',');
        }
        body
    });
}
