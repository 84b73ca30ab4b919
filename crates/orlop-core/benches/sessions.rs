//! What session operations cost at 10, 1,000 and 10,000 messages.

use divan::{Bencher, black_box};
use futures::executor::block_on;
use orlop_core::{Config, Core, Message, Session, Slice};
use orlop_testkit::scripted::{ScriptedProvider, config, core_with, native_session};
use serde_json::json;

const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
const FORKED: [usize; 4] = [10, 1_000, 10_000, 100_000];

fn main() {
    divan::main();
}

struct Scene {
    core: Core,
    config: Config,
    session: Session,
}

/// A session of `length` messages with native history, as a long chat leaves it.
fn scene(length: usize) -> Scene {
    let made = block_on(async {
        let core = core_with(&ScriptedProvider::default())?;
        let config = config(json!({ "provider": "scripted", "model": "m" }));
        let messages: Vec<Message> = (0..length)
            .map(|n| {
                let text = format!("message {n}: {}", "some words of ordinary length ".repeat(4));
                if n % 2 == 0 { Message::user(text) } else { Message::assistant(text) }
            })
            .collect();
        let session = native_session(&core, &messages, &config).await?;
        Ok::<_, orlop_core::Error>(Scene { core, config, session })
    });
    match made {
        Ok(scene) => scene,
        Err(error) => {
            eprintln!("the benchmark could not be set up: {error}");
            std::process::exit(1);
        }
    }
}

#[divan::bench(args = LENGTHS)]
fn append(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { core, config, session } = scene(length);
    bencher.bench(|| block_on(core.add_message(&session, Message::user("one more"), &config)));
}

#[divan::bench(args = FORKED)]
fn fork_in_the_middle(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { core, config, session } = scene(length);
    let middle = (length / 2) as i64;
    bencher.bench(|| block_on(core.fork_session(&session, middle, Some("fork"), Some(&config))));
}

#[divan::bench(args = LENGTHS)]
fn slice_off_the_first_message(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { core, config, session } = scene(length);
    bencher.bench(|| block_on(core.slice_session(&session, Slice::range(1, None), Some(&config))));
}

#[divan::bench(args = LENGTHS)]
fn join(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { core, config, session } = scene(length);
    let cut =
        block_on(core.split_session(&session, Slice::range(0, (length / 2) as i64), Some(&config)));
    bencher.bench(|| block_on(core.join_sessions(&cut.kept, &cut.removed, Some(&config))));
}

#[divan::bench(args = LENGTHS)]
fn verify_in_memory(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { session, .. } = scene(length);
    bencher.bench(|| black_box(&session).verify());
}

#[divan::bench(args = LENGTHS)]
fn import_and_verify(bencher: Bencher<'_, '_>, length: usize) {
    let Scene { session, .. } = scene(length);
    let text = session.export("json").unwrap_or_default();
    bencher
        .bench(|| Session::import(black_box(&text), "json").and_then(|session| session.verify()));
}
