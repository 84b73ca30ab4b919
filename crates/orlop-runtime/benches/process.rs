//! What it costs that a plugin is a process: a hook that does nothing, in Python and in JavaScript; a
//! turn with ten such plugins; and a hook that wants the end of a history, at every length of it.
//! Prints medians and the 99th of a hundred, as neighbours of the same machine disturb averages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::stage::*;
use common::*;
use orlop_core::hooks::{Hook, HookSet, RequestChange, RequestInput};
use orlop_core::{Answer, Context, Feature, Manifest, Map, NativeItem, Plugin, Result};
use orlop_runtime::{Package, Runtime};
use orlop_testkit::scripted::ScriptedReply;
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
    show(what, std::mem::take(&mut probe.took.lock().unwrap()));
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
