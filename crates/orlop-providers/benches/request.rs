//! What a turn costs up to the moment its bytes are sent, with 10 to 10,000 messages of history.

use divan::{Bencher, black_box};
use futures::executor::block_on;
use futures::stream::{self, StreamExt};
use orlop_core::{Core, Message, RequestOptions};
use orlop_providers::openai::{Chat, OpenAiCompatible};
use orlop_providers::wire::Wire;
use orlop_testkit::scripted::{Over, config, native_session};
use serde_json::json;
use std::sync::Arc;

fn main() {
    divan::main();
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn turn_until_bytes_are_ready(bencher: Bencher<'_, '_>, length: usize) {
    let mut core = Core::new();
    let config = config(json!({ "provider": "openai_compatible", "model": "m" }));
    if core.register_provider(Arc::new(unsent()), vec![]).is_err() {
        return;
    }
    let messages: Vec<Message> = (0..length)
        .map(|n| {
            let text = format!("message {n}: {}", "some words of ordinary length ".repeat(4));
            if n % 2 == 0 { Message::user(text) } else { Message::assistant(text) }
        })
        .collect();
    let Ok(session) = block_on(native_session(&core, &messages, &config)) else { return };
    bencher.bench(|| {
        block_on(async {
            let mut events = core.send_request_stream(&session, &config, RequestOptions::default());
            events.next().await
        })
    });
}

/// Copying the same number of bytes, for comparison.
#[divan::bench(args = [10, 1_000, 10_000])]
fn bytes_copied(bencher: Bencher<'_, '_>, length: usize) {
    let item = json!({ "role": "user", "content": format!("message 0: {}", "some words of ordinary length ".repeat(4)) }).to_string();
    bencher.bench(|| {
        let mut body = String::with_capacity(length * (item.len() + 1));
        for _ in 0..length {
            body.push_str(black_box(&item));
            body.push(',');
        }
        body
    });
}

/// The real provider, which builds the whole body and then fails instead of sending it.
fn unsent() -> Over<OpenAiCompatible> {
    Over::new(OpenAiCompatible::default()).stream_api(|_, request, cx| {
        black_box(Chat::call(request, cx)).ok();
        Some(stream::iter([Err(orlop_core::Error::cancelled("not sent"))]).boxed())
    })
}
