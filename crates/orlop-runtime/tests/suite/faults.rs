//! Processes that do everything wrong: each becomes one error with the plugin's name, and the next
//! call works.

use crate::common::stage::*;
use crate::common::*;
use orlop_core::Map;
use orlop_runtime::Runtime;
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;

/// A tool without an SDK: describes itself and its schema, and then does `on_call` for each call,
/// which has the request in `m`.
fn tool(on_call: &str) -> String {
    let on_call = on_call.trim().replace('\n', "\n        ");
    format!(
        r#"
import json, os, sys, time
def send(value): sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
def answer(m, result): send({{"jsonrpc": "2.0", "id": m["id"], "result": result}})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        answer(m, {{"protocol": 1, "plugins": [{{"name": "bad", "kind": "tool", "hooks": ["get_tool_schemas", "execute_tool"]}}]}})
    elif m.get("method") == "shutdown":
        answer(m, {{}}); break
    elif m.get("method") == "hook" and m["params"]["hook"] == "get_tool_schemas":
        answer(m, [{{"name": n, "description": "d", "parameters": {{"type": "object", "properties": {{}}}}}} for n in ("wrong", "right")])
    elif m.get("method") == "hook" and m["params"]["args"]["tool_name"] == "right":
        answer(m, {{"success": True, "output": "right"}})
    elif m.get("method") == "hook":
        {on_call}
"#
    )
}

/// What the model reads of a call that goes wrong and of one after it.
async fn both(limits: &str, on_call: &str) -> Vec<String> {
    let stage = Stage::default();
    stage.model.reply(ScriptedReply::calls(&[("c1", "wrong", json!({}))]));
    stage.model.reply(ScriptedReply::calls(&[("c2", "right", json!({}))]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let package = raw_package(&stage, "bad", limits, &tool(on_call));
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    runtime.stop().await;
    results(&events)
}

async fn goes_wrong(limits: &str, on_call: &str, told: &str) {
    let results = both(limits, on_call).await;
    assert!(results[0].contains(told), "{}", results[0]);
    assert!(results[0].contains("plugin \"bad\""), "it is not named: {}", results[0]);
    assert_eq!(results.len(), 2, "one error, and one answer: {results:?}");
    assert_eq!(results[1], "right");
}

#[tokio::test]
async fn a_line_that_is_no_json() {
    goes_wrong("", r#"print("Traceback: oh no")"#, "no JSON-RPC message").await;
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape() {
    goes_wrong("", r#"answer(m, ["nonsense"])"#, "answered what it must not").await;
}

#[tokio::test]
async fn an_error_with_its_own_words() {
    let code = r#"send({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -1, "message": "the cat is asleep", "data": {"class": "unavailable"}}})"#;
    let results = both("", code).await;
    assert_eq!(results, ["Tool error: the cat is asleep", "right"]);
}

#[tokio::test]
async fn an_end_in_the_middle_of_a_call() {
    goes_wrong(
        "",
        r#"sys.stderr.write("I have had enough\n"); sys.stderr.flush(); os._exit(1)"#,
        "I have had enough",
    )
    .await;
}

#[tokio::test]
async fn one_that_crashes_again_and_again_is_given_pauses() {
    let stage = Stage::default();
    for _ in 0..8 {
        stage.model.reply(ScriptedReply::calls(&[("c1", "wrong", json!({}))]));
    }
    stage.model.reply(ScriptedReply::text(&["done"]));
    let package = raw_package(&stage, "bad", "", &tool("os._exit(1)"));
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let results = results(&events_of(&app, ask("s", "go")).await);
    runtime.stop().await;
    // The first pauses are short and waited for; then calls fail at once, and say when to come back.
    assert!(results[0].contains("ended unexpectedly"), "{results:#?}");
    let paused = |told: &&String| told.contains("times; it is started again in ");
    assert!(results.iter().filter(paused).count() >= 2, "{results:#?}");
}

#[tokio::test]
async fn a_call_that_never_answers() {
    goes_wrong("timeout_ms = 300\n", "pass", "no answer within 300 ms").await;
}

#[tokio::test]
async fn an_answer_after_its_deadline_is_nobodys() {
    // It answers when it is told that nobody waits any more.
    let code = "late = m\nm = json.loads(sys.stdin.readline())\nassert m['method'] == 'cancel'\nanswer(late, {'success': True, 'output': 'late'})";
    goes_wrong("timeout_ms = 300\n", code, "no answer within 300 ms").await;
}

#[tokio::test]
async fn a_flood_of_parts() {
    let code = r#"
part = {"jsonrpc": "2.0", "method": "part", "params": {"call": m["id"], "value": {"part": "x" * 1000000}}}
try:
    while True: send(part)
except BrokenPipeError: os._exit(0)
"#;
    goes_wrong("", code, "more than anybody could take").await;
}

#[tokio::test]
async fn a_flood_that_nobody_asked_for() {
    let log = r#"{"jsonrpc": "2.0", "method": "log", "params": {"message": "x"}}"#;
    let part = r#"{"jsonrpc": "2.0", "method": "part", "params": {"call": 999999, "value": 1}}"#;
    for line in [log, part] {
        let code = format!(
            "lines = {line:?} + chr(10)\ntry:\n    while True: sys.stdout.write(lines * 1000)\nexcept BrokenPipeError: os._exit(0)"
        );
        goes_wrong("", &code, "said more than anybody asked for").await;
    }
    let code = "try:\n    while True: sys.stderr.write('x\\n' * 1000)\nexcept BrokenPipeError: os._exit(0)";
    goes_wrong("", code, "said more than anybody asked for").await;
}

#[tokio::test]
async fn requests_whose_answers_it_does_not_read() {
    let code = r#"
line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "app.get_state", "params": {"call": m["id"] + 1000}}) + "\n"
try:
    while True: sys.stdout.write(line * 1000)
except BrokenPipeError: os._exit(0)
"#;
    goes_wrong("", code, "does not read what it asked for").await;
}

#[tokio::test]
async fn a_line_without_end() {
    let code = r#"
try:
    while True: sys.stdout.write("x" * 1000000)
except BrokenPipeError: os._exit(0)
"#;
    goes_wrong("", code, "more than 32 MiB").await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn more_memory_than_it_may_have() {
    let code = "held = bytearray(300 << 20)\nheld[:] = b'x' * len(held)\nsys.stdin.readline()";
    goes_wrong("memory_mb = 100\n", code, "MB of memory").await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn more_memory_in_a_process_that_it_started() {
    let code = r#"
import subprocess
hungry = "held = b'x' * (300 << 20); import time; time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", hungry])
sys.stdin.readline()
"#;
    goes_wrong("memory_mb = 100\n", code, "MB of memory").await;
}

#[tokio::test]
async fn another_version_or_none_or_nothing_to_hold() {
    let stage = Stage::default();
    let begins = |answer: &str| {
        format!(
            "import json, sys\nm = json.loads(sys.stdin.readline())\nprint(json.dumps({{'jsonrpc': '2.0', 'id': m['id'], 'result': {answer}}}), flush=True)\nsys.stdin.readline()\n"
        )
    };
    let cases = [
        ("two", begins("{'protocol': 2, 'plugins': []}"), "speaks version 2"),
        ("none", begins("{}"), "has no protocol"),
        ("empty", begins("{'protocol': 1, 'plugins': []}"), "holds no plugin"),
        (
            "nameless",
            begins("{'protocol': 1, 'plugins': [{'kind': 'tool', 'hooks': []}]}"),
            "no name",
        ),
        (
            "strange",
            begins("{'protocol': 1, 'plugins': [{'name': 'x', 'kind': 'pet'}]}"),
            "of kind \"pet\"",
        ),
        ("gone", "import sys\nsys.exit('no such module: cats')".to_owned(), "no such module: cats"),
    ];
    for (name, code, told) in cases {
        let mut runtime = Runtime::new(env(&stage), stage.home());
        let error = runtime.add(raw_package(&stage, name, "", &code), Map::new()).unwrap_err();
        assert!(error.message().contains(told), "{name}: {}", error.message());
        assert!(error.message().contains(name), "{name}: {}", error.message());
    }
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let stage = Stage::default();
    let mut package = raw_package(&stage, "missing", "", "");
    package.run = orlop_runtime::Run::Command(vec!["no-such-program-anywhere".to_owned()]);
    let error = Runtime::new(env(&stage), stage.home()).add(package, Map::new()).unwrap_err();
    assert!(error.message().contains("cannot be started"), "{}", error.message());
}

#[tokio::test]
async fn a_host_that_stops_leaves_nothing_behind() {
    // It ignores shutdown, and has a child of its own.
    let code = r#"
import json, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
m = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocol": 1, "plugins": [{"name": "x", "kind": "tool", "hooks": []}], "sdk": str(child.pid)}}), flush=True)
while True: sys.stdin.readline()
"#;
    let stage = Stage::default();
    let mut runtime = Runtime::new(env(&stage), stage.home());
    let described = runtime.add(raw_package(&stage, "clingy", "", code), Map::new()).unwrap();
    let child: i32 = described.sdk.as_deref().unwrap().parse().unwrap();
    runtime.stop().await;
    let child = rustix::process::Pid::from_raw(child).unwrap();
    // The process is gone, or nobody has taken its end note of yet.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "the child still runs");
}

#[tokio::test]
async fn a_process_that_ends_by_itself_has_the_time_to() {
    let code = r#"
import atexit, json, os, sys, time
def leave():
    time.sleep(0.3)
    open(os.environ["PLUGIN_DATA"] + "/left", "w").write("in order")
atexit.register(leave)
for line in sys.stdin:
    m = json.loads(line)
    result = {"protocol": 1, "plugins": [{"name": "x", "kind": "tool", "hooks": []}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
    if m["method"] == "shutdown": break
"#;
    let stage = Stage::default();
    let mut runtime = Runtime::new(env(&stage), stage.home());
    runtime.add(raw_package(&stage, "tidy", "", code), Map::new()).unwrap();
    runtime.stop().await;
    let left = std::fs::read_to_string(stage.home().join("plugin-data/tidy/left"));
    assert_eq!(left.unwrap(), "in order");
}
