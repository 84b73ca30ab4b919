//! What it costs that a plugin is a process: a hook that does nothing, in Python and in JavaScript; a
//! turn with ten such plugins; a hook that wants the end of a history, at every length of it; and
//! turns of stored sessions of every length with such a plugin, beside the same turns without it.
//! Prints medians and the 99th of a hundred, as neighbours of the same machine disturb averages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::stage::*;
use common::*;
use futures::{StreamExt, stream};
use orlop_app::Plugins;
use orlop_core::hooks::{Chunk, Hook, HookSet, RequestChange, RequestInput};
use orlop_core::{Answer, Context, Feature, Manifest, Map, NativeItem, Plugin, Result};
use orlop_runtime::{Package, Runtime};
use orlop_store::SqliteStore;
use orlop_testkit::scripted::{self, Over, ScriptedProvider, ScriptedReply};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PYTHON: &str = "class Nothing:\n    name = 'NAME'\n    def initialize_request(self, native_messages, state):\n        return native_messages, state\n";
const TAIL: &str = "class Nothing:\n    name = 'NAME'\n    history = {'initialize_request': 4}\n    def initialize_request(self, native_messages, state):\n        return native_messages, state\n";
const NODE: &str = "export class Nothing {\n  name = 'NAME';\n  history = { initializeRequest: 4 };\n  initializeRequest({ native_messages, state }) { return [native_messages, state]; }\n}\n";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("a no-op hook in a process, 5,000 calls one after another");
        let python = |code: &'static str| {
            move |stage: &Stage| package(stage, "nothing", None, &code.replace("NAME", "nothing"))
        };
        let node =
            |stage: &Stage| node_package(stage, "nothing", None, &NODE.replace("NAME", "nothing"));
        hook("python", 4, 5_000, python(TAIL)).await;
        hook("node", 4, 5_000, node).await;
        println!("a hook that wants the last 4 of a history");
        for length in [10, 1_000, 10_000] {
            hook(&format!("{length} items"), length, 500, python(TAIL)).await;
        }
        println!("the same, wanting all of it (differences cross)");
        for length in [10, 1_000, 10_000] {
            hook(&format!("{length} items"), length, 500, python(PYTHON)).await;
        }
        println!("a turn with ten plugins in processes, 200 turns");
        turns(0).await;
        turns(10).await;
        println!(
            "a turn of a stored session with a plugin that wants its last 4 messages, 200 turns"
        );
        stored_turns().await;
    });
}

/// Calls the hook of another feature many times, within one request.
struct Probe {
    inner: Arc<dyn Feature>,
    length: usize,
    count: usize,
    took: Mutex<Vec<Duration>>,
}

impl Plugin for Probe {
    fn manifest(&self) -> Manifest {
        Manifest::new("probe", "1").only(HookSet::of(&[Hook::FeatureInitializeRequest]))
    }
}

impl Feature for Probe {
    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        Answer::later(async move {
            let mut input = input.clone();
            input.native_messages = (0..self.length).map(item).collect();
            for n in 0..self.count + 20 {
                // A conversation grows.
                input.native_messages.push(item(n));
                let start = Instant::now();
                self.inner.initialize_request(&input, cx).await_answer().await?;
                if n >= 20 {
                    self.took.lock().unwrap().push(start.elapsed());
                }
            }
            Ok(RequestChange::default())
        })
    }
}

trait AwaitAnswer<T> {
    async fn await_answer(self) -> Result<T>;
}

impl<T> AwaitAnswer<T> for Answer<'_, T> {
    async fn await_answer(self) -> Result<T> {
        match self {
            Answer::Ready(result) => result,
            Answer::Pending(future) => future.await,
            Answer::After(first, then) => {
                first.await?;
                then.await
            }
        }
    }
}

async fn hook(what: &str, length: usize, count: usize, make: impl Fn(&Stage) -> Package) {
    let stage = Stage::says(&["done"]);
    let mut runtime = Runtime::new(env(&stage), stage.home());
    runtime.add(make(&stage), Map::new()).unwrap();
    let inner = runtime.features().remove(0);
    let probe = Arc::new(Probe { inner, length, count, took: Mutex::default() });
    let held = probe.clone();
    let stage = stage.with(|plugins| plugins.feature(held));
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    let mut took = std::mem::take(&mut *probe.took.lock().unwrap());
    // By themselves, so that one sees whether slow calls are those of a process that has just begun.
    let later = took.split_off(took.len().min(1_000));
    show(what, took);
    if !later.is_empty() {
        show("  further on", later);
    }
    runtime.stop().await;
}

fn item(n: usize) -> NativeItem {
    json!({"role": "user", "content": format!("message {n}, as long as messages are, more or less")}).into()
}

async fn turns(plugins: usize) {
    let stage = Stage::default();
    for _ in 0..220 {
        stage.model.reply(ScriptedReply::text(&["done"]));
    }
    let packages = (0..plugins)
        .map(|n| {
            let name = format!("p{n}");
            package(&stage, &name, None, &TAIL.replace("NAME", &name))
        })
        .collect();
    let (stage, runtime) = with_packages(stage, packages);
    let app = stage.start().await;
    let mut took = Vec::new();
    for n in 0..220 {
        let start = Instant::now();
        events_of(&app, ask("s", "hi")).await;
        if n >= 20 {
            took.push(start.elapsed());
        }
    }
    show(&format!("{plugins} plugins"), took);
    runtime.stop().await;
}

/// Turns of sessions in a file, by length, first without a plugin and then with one; taken in turns, so that
/// what disturbs one disturbs all.
async fn stored_turns() {
    const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
    let tail = |stage: &Stage| package(stage, "tail", None, &TAIL.replace("NAME", "tail"));
    let stages = [on_file(|_| vec![]), on_file(|stage| vec![tail(stage)])];
    let mut apps = Vec::new();
    for (stage, _) in &stages {
        let app = stage.start().await;
        for length in LENGTHS {
            app.import_session(&session_of(length).to_string(), "json", None).await.unwrap();
            // What is read once is read now: the session, and the plugin's process.
            events_of(&app, ask(&length.to_string(), "hi")).await;
        }
        apps.push(app);
    }
    let mut took = vec![Vec::new(); LENGTHS.len() * apps.len()];
    for _ in 0..200 {
        for (at, length) in LENGTHS.iter().enumerate() {
            for (with, app) in apps.iter().enumerate() {
                let start = Instant::now();
                events_of(app, ask(&length.to_string(), "hi")).await;
                took[at * apps.len() + with].push(start.elapsed());
            }
        }
    }
    for (at, took) in took.into_iter().enumerate() {
        let with = ["without", "with"][at % apps.len()];
        show(&format!("{} {with}", LENGTHS[at / apps.len()]), took);
    }
    for (_, runtime) in stages {
        runtime.stop().await;
    }
}

/// A stage whose sessions are in a file and whose model answers at once and remembers nothing.
fn on_file(packages: impl FnOnce(&Stage) -> Vec<Package>) -> (Stage, Runtime) {
    let mut stage = Stage::default();
    stage.store = Arc::new(SqliteStore::open(&stage.outside().join("sessions.db")).unwrap());
    let answer = || vec![Ok(Chunk::finals(vec![scripted::item("assistant", "done")]))];
    let model = Over::new(ScriptedProvider::new("scripted"))
        .stream_api(move |_, _, _| Some(stream::iter(answer()).boxed()));
    stage.plugins = Plugins::new().provider(Arc::new(model), vec![]);
    let packages = packages(&stage);
    with_packages(stage, packages)
}

fn session_of(length: usize) -> serde_json::Value {
    let messages: Vec<_> = (0..length)
        .map(|n| {
            let role = ["user", "assistant"][n % 2];
            json!({"role": role, "content": format!("message {n}, as long as messages are, more or less")})
        })
        .collect();
    json!({"session_id": length.to_string(), "messages": messages, "metadata": {}})
}

fn show(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "  {what:<14} median {:.3} ms, p99 {:.3} ms, fastest {:.3} ms",
        at(0.5),
        at(0.99),
        at(0.0)
    );
}
