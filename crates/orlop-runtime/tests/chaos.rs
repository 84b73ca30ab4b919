//! Twenty plugins that hang, crash, flood and lie at random during 500 turns: every turn settles,
//! nothing is left behind, and the host goes on answering.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::stage::*;
use common::*;
use orlop_app::{Approval, EventKind};
use orlop_core::Map;
use orlop_runtime::{Package, Runtime};
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;

const TURNS: usize = 500;
const PLUGINS: usize = 20;

/// Answers most calls as it should. What it does with the others is drawn from its own seed.
const CODE: &str = r#"
import json, os, random, sys, time
name, kind = sys.argv[1], sys.argv[2]
draw = random.Random(f"{name}{os.environ.get('PLUGIN_DATA', '')[-1:]}{time.monotonic_ns()}")
def send(value): sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
def answer(m, result): send({"jsonrpc": "2.0", "id": m["id"], "result": result})
hooks = ["get_tool_schemas", "execute_tool"] if kind == "tool" else ["context_providers", "on_request_end"]
for line in sys.stdin:
    m = json.loads(line)
    method = m.get("method")
    if method == "initialize":
        answer(m, {"protocol": 1, "plugins": [{"name": name, "kind": kind, "hooks": hooks}]})
        continue
    if method == "shutdown":
        if draw.random() < 0.5: answer(m, {})
        break
    if method != "hook": continue
    hook = m["params"]["hook"]
    if hook == "get_tool_schemas":
        answer(m, [{"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}}]); continue
    what = draw.random()
    if what < 0.04: os._exit(draw.randrange(3))
    elif what < 0.06: sys.stdout.write('{"half": '); sys.stdout.flush(); os._exit(1)
    elif what < 0.08: print("I am not JSON", flush=True)
    elif what < 0.10: pass
    elif what < 0.12: answer(m, {"nonsense": [1, 2, 3]})
    elif what < 0.14: answer({"id": 999999}, {}); answer(m, None)
    elif what < 0.16: send({"jsonrpc": "2.0", "id": "x", "method": "app.delete_session", "params": {"call": m["params"]["call"], "args": {"session_id": "s"}}}); answer(m, None)
    elif what < 0.18:
        for _ in range(2000): send({"jsonrpc": "2.0", "method": "part", "params": {"call": m["params"]["call"], "value": {"part": "x" * 1000}}})
        answer(m, {"success": True, "output": "much"} if kind == "tool" else None)
    elif what < 0.20:
        for _ in range(200): sys.stderr.write("noise " * 100 + "\n")
        answer(m, {"success": True, "output": "loud"} if kind == "tool" else None)
    else: answer(m, {"success": True, "output": "fine"} if kind == "tool" else None)
"#;

fn package(stage: &Stage, name: &str, kind: &str) -> Package {
    let mut package = raw_package(stage, name, "timeout_ms = 100\n", CODE);
    let words = ["python3", "-u", "raw.py", name, kind];
    package.run = orlop_runtime::Run::Command(words.map(str::to_owned).to_vec());
    package
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Processes of this one that still run.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let after = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = after.split_whitespace();
            let state = fields.next().unwrap_or_default().to_owned();
            state != "Z" && fields.next() == Some(&*own)
        })
        .collect()
}

fn resident_mib() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 / (1 << 20)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_turn_settles_and_nothing_is_left() {
    let stage = Stage::default();
    let packages: Vec<Package> = (0..PLUGINS)
        .map(|n| package(&stage, &format!("p{n}"), if n % 2 == 0 { "tool" } else { "host" }))
        .collect();
    for turn in 0..TURNS {
        let tool = format!("p{}", turn % (PLUGINS / 2) * 2);
        stage.model.reply(ScriptedReply::calls(&[("c1", &tool, json!({}))]));
        stage.model.reply(ScriptedReply::text(&["done"]));
    }
    let mut runtime = Runtime::new(env(&stage), stage.home());
    for package in packages {
        runtime.add(package, Map::new()).unwrap();
    }
    let added = runtime.clone();
    let stage = stage.with(|plugins| added.plugins(plugins));
    let app = stage.start().await;
    let host = orlop_app::Host::start(app, None).await.unwrap();
    let (mut fine, mut failed) = (0, 0);
    let (mut files, mut memory) = (0, 0);
    for turn in 0..TURNS {
        let mut request = chat(&format!("s{}", turn % 10), "go");
        request.approval = Approval::Allow;
        let events = chat_to_end(&host, request).await;
        let ends = events.iter().filter(|event| event.kind.ends_request()).count();
        assert_eq!(ends, 1, "turn {turn}: {}", names(&events));
        assert!(
            matches!(events.last().unwrap().kind, EventKind::Final { .. }),
            "turn {turn}: {}",
            names(&events)
        );
        match results(&events).first().map(String::as_str) {
            Some("fine" | "much" | "loud") => fine += 1,
            _ => failed += 1,
        }
        if turn == 50 {
            (files, memory) = (open_files(), resident_mib());
        }
    }
    println!("{fine} calls were answered, {failed} failed");
    assert!(fine > TURNS / 10 && failed > TURNS / 100, "{fine} answered, {failed} failed");
    // A process takes three pipes; all of them may run now that did not then.
    assert!(open_files() <= files + 4 * PLUGINS, "{} files are open, {files} were", open_files());
    assert!(resident_mib() < memory + 300, "{} MiB are used, {memory} were", resident_mib());
    host.stop().await;
    runtime.stop().await;
    drop(runtime);
    drop(stage);
    assert_eq!(children(), Vec::<String>::new());
    assert!(threads() < 60, "{} threads are left", threads());
}
