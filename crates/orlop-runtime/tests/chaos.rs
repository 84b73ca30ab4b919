//! Twenty plugins that hang, crash, flood and lie at random during 500 turns: every turn settles,
//! nothing is left behind, and the host goes on answering.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::stage::*;
use common::*;
use orlop_app::{Approval, ChatRequest, Event, EventKind, Host};
use orlop_core::Map;
use orlop_runtime::{Package, Runtime};
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

const TURNS: usize = 500;
const PLUGINS: usize = 20;
const AT_ONCE: usize = 5;
/// The longest that nobody else may get a turn, without the time in which no processor was free. A plugin
/// that is waited for in place takes far longer: one that hangs does so for 1000 seconds. Disks and starts of
/// processes take less, and how much less on a busy machine nobody can say.
const PAUSE: Duration = Duration::from_secs(10);
/// How long it may take until enough turns were answered.
const AT_MOST: Duration = Duration::from_secs(600);

/// Answers most calls as it should. What it does with the others is drawn from its own seed. Those on
/// the way of every request go wrong less often, so that some requests come to their end.
const CODE: &str = r#"
import json, os, random, subprocess, sys, time
name, kind, mark = sys.argv[1], sys.argv[2], sys.argv[3]
draw = random.Random(f"{name}{time.monotonic_ns()}")
def send(value): sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
def answer(m, result): send({"jsonrpc": "2.0", "id": m["id"], "result": result})
def part(m): return json.dumps({"jsonrpc": "2.0", "method": "part", "params": {"call": m["params"]["call"], "value": {"part": "x" * 1000}}}) + "\n"
HOOKS = {
    "tool": ["get_tool_schemas", "execute_tool"],
    "host": ["context_providers", "on_request_end"],
    "feature": ["initialize_request", "finalize"],
    "extension": ["process_chunk", "initialize_request"],
    "application": ["get_actions", "execute_action"],
    "provider": ["to_native_messages", "from_native_messages", "stream_api"],
}
RIGHT = {"execute_tool": {"success": True, "output": "fine"}, "execute_action": {"message": "fine"}}
FAULTS = 0.2 if kind in ("tool", "host", "application") else 0.003
def flood(m):
    lines = part(m) * 1000
    while True: sys.stdout.write(lines)
def native(m): return [item if isinstance(item, dict) else {} for item in m["params"]["args"]["native_messages"]["$list"]["items"]]
def right(m, hook):
    if hook == "to_native_messages":
        return [{"role": one["role"], "text": one["content"]} for one in m["params"]["args"]["messages"]["$list"]["items"]]
    if hook == "from_native_messages":
        return [{"role": one["role"], "content": one["text"], "metadata": {"native_indices": [at]}} for at, one in enumerate(native(m))]
    if hook == "stream_api":
        send({"jsonrpc": "2.0", "method": "part", "params": {"call": m["params"]["call"], "value": {"final_messages": [{"role": "assistant", "text": "fine"}]}}})
    return RIGHT.get(hook)
for line in sys.stdin:
    m = json.loads(line)
    method = m.get("method")
    if method == "initialize":
        answer(m, {"protocol": 1, "plugins": [{"name": name, "kind": kind, "hooks": HOOKS[kind], "native_format": name}]})
        continue
    if method == "shutdown":
        if draw.random() < 0.5: answer(m, {})
        break
    if method != "hook": continue
    hook = m["params"]["hook"]
    if hook == "get_tool_schemas":
        answer(m, [{"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}}]); continue
    if hook == "get_actions":
        answer(m, [{"id": "go", "label": "Go", "trigger": "request_complete"}]); continue
    if hook == "execute_tool" and '"flood"' in json.dumps(m["params"]["args"]): flood(m)
    what = draw.random() / FAULTS
    if what < 0.15: os._exit(draw.randrange(3))
    elif what < 0.20: subprocess.Popen(["sleep", mark]); os._exit(1)
    elif what < 0.30: sys.stdout.write('{"half": '); sys.stdout.flush(); os._exit(1)
    elif what < 0.40: print("I am not JSON", flush=True)
    elif what < 0.48: pass
    elif what < 0.52: time.sleep(1000)
    elif what < 0.60: answer(m, {"nonsense": [1, 2, 3]})
    elif what < 0.70: answer({"id": 999999}, {}); answer(m, None)
    elif what < 0.80: send({"jsonrpc": "2.0", "id": "x", "method": "app.delete_session", "params": {"call": m["params"]["call"], "args": {"session_id": "s"}}}); answer(m, None)
    elif what < 0.88:
        for _ in range(200): sys.stderr.write("noise " * 100 + "\n")
        answer(m, right(m, hook))
    elif what < 0.92: flood(m)
    elif what < 1.00: answer(m, right(m, hook)); os._exit(0)
    else: answer(m, right(m, hook))
"#;

/// The kinds of the plugins, again and again.
const KINDS: [&str; 10] = [
    "tool",
    "host",
    "feature",
    "application",
    "extension",
    "tool",
    "host",
    "provider",
    "tool",
    "application",
];

fn package(stage: &Stage, name: &str, kind: &str) -> Package {
    let mut package = raw_package(stage, name, "timeout_ms = 500\n", CODE);
    let words = ["python3", "-u", "raw.py", name, kind, &mark()];
    package.run = orlop_runtime::Run::Command(words.map(str::to_owned).to_vec());
    package
}

/// By which the processes are found that plugins left behind: how long they sleep.
fn mark() -> String {
    format!("1000.{}", std::process::id())
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Processes of this one, those that nobody took note of the end of included, and what they left.
fn children() -> Vec<String> {
    let (own, mark) = (std::process::id().to_string(), mark());
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let read = |file| std::fs::read_to_string(entry.path().join(file)).ok();
        Some((read("stat")?, read("cmdline")?))
    });
    let belongs = |(stat, command): &(String, String)| {
        let after = stat.rsplit(')').next().unwrap_or_default();
        after.split_whitespace().nth(1) == Some(&*own)
            || command.contains(&format!("sleep\0{mark}"))
    };
    processes.filter(belongs).map(|(stat, _)| stat).collect()
}

/// How long this thread has waited for a processor in all, as far as the kernel tells.
fn without_processor() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split_whitespace().nth(1).and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

fn resident_mib() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 / (1 << 20)
}

/// The events of a turn, when everything that belongs to it has run; nothing if it was refused at once.
async fn settled(host: &Host, request: ChatRequest) -> Option<Vec<Arc<Event>>> {
    let mut chat = host.chat(request).await.ok()?;
    let mut events = Vec::new();
    while let Some(event) = chat.next().await {
        events.push(event);
    }
    chat.ended().await;
    Some(events)
}

/// One thread for everything: whoever holds it up is noticed.
#[tokio::test]
async fn every_turn_settles_and_nothing_is_left() {
    let stage = Stage::default();
    let kind = |n: usize| KINDS[n % KINDS.len()];
    let packages: Vec<Package> =
        (0..PLUGINS).map(|n| package(&stage, &format!("p{n}"), kind(n))).collect();
    let tools: Vec<usize> = (0..PLUGINS).filter(|n| kind(*n) == "tool").collect();
    let providers: Vec<usize> = (0..PLUGINS).filter(|n| kind(*n) == "provider").collect();
    let tool = |turn: usize| format!("p{}", tools[turn % tools.len()]);
    // As many floods at once as there can be come first: what they take is no leak, whenever others come.
    for turn in 0..AT_ONCE {
        let call = ("c1", &*tool(turn), json!({ "flood": true }));
        stage.model.reply(ScriptedReply::calls(&[call]));
    }
    for _ in 0..AT_ONCE {
        stage.model.reply(ScriptedReply::text(&["done"]));
    }
    for turn in AT_ONCE..TURNS {
        let tool = tool(turn);
        stage.model.reply(ScriptedReply::calls(&[("c1", &tool, json!({}))]));
        stage.model.reply(ScriptedReply::text(&["done"]));
    }
    let agents =
        providers.iter().map(|n| format!("[agents.p{n}]\nprovider = \"p{n}\"\nmodel = \"m\"\n"));
    let stage = stage.more(&agents.collect::<String>());
    let mut runtime = Runtime::new(env(&stage), stage.home());
    for package in packages {
        runtime.add(package, Map::new()).unwrap();
    }
    let added = runtime.clone();
    let stage = stage.with(|plugins| added.plugins(plugins));
    let host = Host::start(stage.start().await, None).await.unwrap();
    let (beats, longest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let heart = tokio::spawn({
        let (beats, longest) = (beats.clone(), longest.clone());
        async move {
            let now = || (std::time::Instant::now(), without_processor());
            let (mut last, mut idle) = now();
            loop {
                beats.fetch_add(1, Ordering::Relaxed);
                let pause = last.elapsed().saturating_sub(without_processor() - idle);
                longest.fetch_max(u64::try_from(pause.as_millis()).unwrap(), Ordering::Relaxed);
                (last, idle) = now();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let (mut fine, mut failed, mut final_ones) = (0, 0, 0);
    let (mut files, mut memory) = (0, 0);
    // A plugin that ended pauses before it starts again, and turns that need it fail at once meanwhile:
    // after all turns it goes on until enough of them were answered to say something.
    let is_enough = |final_ones: usize, fine: usize, failed: usize| {
        final_ones > TURNS / 20 && fine > TURNS / 50 && failed > 0
    };
    let begun = std::time::Instant::now();
    for batch in 0.. {
        let is_over = is_enough(final_ones, fine, failed) || begun.elapsed() > AT_MOST;
        if batch >= TURNS / AT_ONCE && is_over {
            break;
        }
        let before = beats.load(Ordering::Relaxed);
        if batch >= TURNS / AT_ONCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let turns = (0..AT_ONCE).map(|n| {
            let mut request = chat(&format!("s{n}-{}", batch % 3), "go");
            request.approval = Approval::Allow;
            if n == 0 {
                let provider = providers[batch % providers.len()];
                request.session_id = Some(format!("p{provider}"));
                request.agent_id = Some(format!("p{provider}"));
            }
            settled(&host, request)
        });
        for events in futures::future::join_all(turns).await {
            let Some(events) = events else { continue };
            let ends = events.iter().filter(|event| event.kind.ends_request()).count();
            assert_eq!(ends, 1, "batch {batch}: {}", names(&events));
            final_ones +=
                usize::from(matches!(events.last().unwrap().kind, EventKind::Final { .. }));
            match results(&events).first().map(String::as_str) {
                Some("fine") => fine += 1,
                Some(_) => failed += 1,
                None => {}
            }
        }
        assert!(beats.load(Ordering::Relaxed) > before, "nobody else got a turn in batch {batch}");
        // What leaks takes more with every turn.
        if batch <= TURNS / AT_ONCE / 2 {
            (files, memory) = (files.max(open_files()), memory.max(resident_mib()));
        }
    }
    heart.abort();
    let longest = Duration::from_millis(longest.load(Ordering::Relaxed));
    println!("the longest that nobody else got a turn was {} ms", longest.as_millis());
    assert!(longest < PAUSE, "for {} ms nobody else got a turn", longest.as_millis());
    println!("{final_ones} turns were answered; {fine} calls were, {failed} failed");
    println!("{} MiB are used, {memory} were in the first half", resident_mib());
    assert!(is_enough(final_ones, fine, failed));
    // A process takes three pipes; all of them may run now that did not then.
    assert!(open_files() <= files + 4 * PLUGINS, "{} files are open, {files} were", open_files());
    assert!(resident_mib() < memory + 100, "{} MiB are used, {memory} were", resident_mib());
    host.stop().await;
    runtime.stop().await;
    drop((runtime, added));
    drop(stage);
    // The kernel tells of ends in its own time.
    for _ in 0..500 {
        if children().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(children(), Vec::<String>::new());
    assert!(threads() < 60, "{} threads are left", threads());
}
