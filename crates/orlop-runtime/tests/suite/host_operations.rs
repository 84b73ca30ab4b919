//! What the host does for plugins in processes, asked from Python and from Node.

use crate::common::stage::*;
use crate::common::*;
use orlop_app::{Application, EventKind};
use orlop_core::{ActionCall, Map, Value};
use orlop_runtime::{Crossed, Package, Runtime, Tap, Way, Workbench};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const GRANTS: &str = r#"[grants]
app = ["load_session", "create_session", "fork_session", "delete_session", "list_sessions", "list_actions", "execute_action", "acquire_session_lock", "list_assets", "read_asset", "put_asset"]
"#;

const PYTHON: &str = r#"
class Worker:
    name = "worker"

    def get_actions(self, state):
        ids = ("sessions", "actions", "hello", "remember", "recall", "many", "lock", "keep", "stale", "files")
        return [{"id": id, "label": id, "inputs": {"session_id": {"type": "string", "required": False}}} for id in ids]

    def execute_action(self, app, action_id, params, context, state):
        return {"message": getattr(self, action_id)(app, context)}

    def hello(self, app, context):
        return "hello"

    def sessions(self, app, context):
        app.create_session(session_id="made", metadata={"title": "Made"})
        app.fork_session("s", 0, "forked")
        there = sorted(one["session_id"] for one in app.list_sessions()["sessions"])
        app.delete_session("made", reason="enough")
        return "%s %s %d" % (",".join(there), app.load_session("made"), len(app.load_session("forked")[2].messages))

    def actions(self, app, context):
        known = [one["id"] for one in app.list_actions() if one["plugin"] == "worker"]
        return "%d %s" % (len(known), app.execute_action("worker", "hello")["message"])

    def remember(self, app, context):
        app.set_state({"count": 1}, "s")
        app.set_state("of the user")
        return "done"

    def recall(self, app, context):
        return "%s %s" % (app.get_state("s"), app.get_state())

    def many(self, app, context):
        from concurrent.futures import ThreadPoolExecutor
        import contextvars
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: app.set_state(n, "s"), range(16)))
        return str(app.get_state("s") in range(16))

    def lock(self, app, context):
        app.acquire_session_lock("s").__enter__()
        return "locked"

    def keep(self, app, context):
        self.kept = app.load_session("s")
        return "kept"

    def stale(self, app, context):
        app.load_session("s")
        core, config, session = self.kept
        try:
            context["core"].slice_session(session, start=0, end=1)
        except Exception as error:
            return str(error)
        return "it worked"

    def files(self, app, context):
        store = context["session_asset_store"]
        store.put("note.txt", b"dear diary", "text/plain", session_id="s")
        [found] = store.list("s")
        return "%s %s" % (found["name"], store.get(found["id"]).decode())
"#;

const NODE: &str = r#"
import { ApplicationPlugin } from "orlop";
export class Worker extends ApplicationPlugin {
  name = "worker";
  getActions() {
    const ids = ["sessions", "actions", "hello", "remember", "recall", "many", "lock", "keep", "stale", "files"];
    return ids.map((id) => ({ id, label: id, inputs: { session_id: { type: "string", required: false } } }));
  }
  async executeAction({ action_id }, call) { return { message: await this[action_id](call.app, call) }; }
  hello() { return "hello"; }
  async sessions(app) {
    await app.createSession({ session_id: "made", metadata: { title: "Made" } });
    await app.forkSession("s", { upto_index: 0, new_session_id: "forked" });
    const there = (await app.listSessions()).sessions.map((one) => one.session_id).sort();
    await app.deleteSession("made", { reason: "enough" });
    const made = (await app.loadSession("made")) === null ? "None" : "there";
    return `${there} ${made} ${(await app.loadSession("forked")).session.messages.length}`;
  }
  async actions(app) {
    const known = (await app.listActions()).filter((one) => one.plugin === "worker");
    return `${known.length} ${(await app.executeAction("worker", "hello", {})).message}`;
  }
  async remember(app) {
    await app.setState({ count: 1 }, { session_id: "s" });
    await app.setState("of the user");
    return "done";
  }
  async recall(app) {
    const kept = await app.getState({ session_id: "s" });
    return `{'count': ${kept.count}} ${await app.getState()}`;
  }
  async many(app) {
    await Promise.all([...Array(16).keys()].map((n) => app.setState(n, { session_id: "s" })));
    const held = await app.getState({ session_id: "s" });
    return held >= 0 && held < 16 ? "True" : "False";
  }
  async lock(app) { await app.acquireSessionLock("s"); return "locked"; }
  async keep(app) { this.kept = await app.loadSession("s"); return "kept"; }
  async stale(app, call) {
    await app.loadSession("s");
    try { await call.core.sliceSession(this.kept.session, { start: 0, end: 1 }); } catch (error) { return error.message; }
    return "it worked";
  }
  async files(app) {
    await app.putAsset("note.txt", "dear diary", { media_type: "text/plain", session_id: "s" });
    const [found] = await app.listAssets("s");
    return `${found.name} ${new TextDecoder().decode(await app.readAsset(found.id))}`;
  }
}
"#;

fn both(stage: &Stage, language: &str, python: &str, node: &str, grants: &str) -> Package {
    match language {
        "python" => package(stage, "worker", Some(grants), python),
        _ => node_package(stage, "worker", Some(grants), node),
    }
}

async fn act(app: &Application, action: &str) -> String {
    let done = app.execute_action(ActionCall::new("worker", action), None).await;
    let done = done.unwrap_or_else(|error| panic!("{action}: {error}"));
    done["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn operations_of_the_application_work_in_both_languages() {
    for language in ["python", "node"] {
        let stage = Stage::says(&["hello", "again"]);
        let package = both(&stage, language, PYTHON, NODE, GRANTS);
        let (stage, runtime) = with_packages(stage, vec![package.clone()]);
        let app = stage.start().await;
        events_of(&app, ask("s", "hi")).await;
        assert_eq!(act(&app, "sessions").await, "forked,made,s None 1", "{language}");
        assert_eq!(act(&app, "actions").await, "10 hello", "{language}");
        assert_eq!(act(&app, "many").await, "True", "{language}");
        assert_eq!(act(&app, "remember").await, "done", "{language}");
        assert_eq!(act(&app, "files").await, "note.txt dear diary", "{language}");
        // What it did not give back is given back with the end of its call.
        assert_eq!(act(&app, "lock").await, "locked", "{language}");
        assert!(names(&events_of(&app, ask("s", "more")).await).ends_with("final"));
        runtime.stop().await;
        // Another process, and another program.
        let mut runtime = Runtime::new(env(&stage), stage.home());
        runtime.add(package, Map::new()).unwrap();
        let mut again = Stage::default();
        again.store = stage.store.clone();
        let again = again.with(|plugins| runtime.plugins(plugins));
        let app = again.start().await;
        assert_eq!(act(&app, "recall").await, "{'count': 1} of the user", "{language}");
        runtime.stop().await;
    }
}

#[tokio::test]
async fn a_handle_of_a_call_that_is_over_leads_nowhere() {
    // Without an SDK: those send a session whole where its handle is gone.
    let code = r#"
import json, sys
def send(value): print(json.dumps(value), flush=True)
def answer(m, result): send({"jsonrpc": "2.0", "id": m["id"], "result": result})
kept, waiting = None, None
for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        answer(waiting, {"message": m.get("error", {}).get("message", "it worked")})
    elif m["method"] == "initialize":
        answer(m, {"protocol": 1, "plugins": [{"name": "worker", "kind": "feature", "hooks": ["get_actions", "execute_action"]}]})
    elif m["method"] == "shutdown":
        answer(m, {}); break
    elif m["params"]["hook"] == "get_actions":
        answer(m, [{"id": "go", "label": "Go"}])
    else:
        session = m["params"]["args"]["session"]["$session"]["handle"]
        kept, waiting = kept or session, m
        args = {"session": {"$session": {"handle": kept}}, "start": 0, "end": 1}
        send({"jsonrpc": "2.0", "id": "p", "method": "core.slice_session", "params": {"call": m["params"]["call"], "args": args}})
"#;
    let stage = Stage::says(&["hello"]);
    let package = raw_package(&stage, "worker", "", code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    let go = async || {
        let done = app.execute_action(ActionCall::new("worker", "go"), Some("s")).await.unwrap();
        done["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(go().await, "it worked");
    let stale = go().await;
    assert!(stale.contains("handles of other calls are gone"), "{stale}");
    runtime.stop().await;
}

const PYTHON_TOOL: &str = r#"
import asyncio, os, pathlib
import orlop

@orlop.tool
async def wait() -> str:
    "Waits."
    orlop.current().progress("waiting", done=1, total=2)
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        pathlib.Path(os.environ["PLUGIN_DATA"], "cancelled").touch()
        raise
    return "never"
"#;

const NODE_TOOL: &str = r#"
import { tool } from "orlop";
import fs from "node:fs";
export const wait = tool({
  name: "wait", description: "Waits.", parameters: { type: "object", properties: {} },
  async run(_, call) {
    call.progress("waiting", { done: 1, total: 2 });
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    fs.writeFileSync(`${process.env.PLUGIN_DATA}/cancelled`, "");
    return "never";
  },
});
"#;

#[tokio::test]
async fn progress_is_shown_and_a_cancelled_call_hears_of_it() {
    for language in ["python", "node"] {
        let stage = Stage::calls(&[("c1", "wait", json!({}))]);
        let package = both(&stage, language, PYTHON_TOOL, NODE_TOOL, "");
        let heard = stage.home().join("plugin-data/worker/cancelled");
        let (stage, runtime) = with_packages(stage, vec![package]);
        let app = stage.start().await;
        let mut handle = app.send_request(ask("s", "go")).await.unwrap();
        let mut shown = None;
        while let Some(event) = handle.next().await {
            if let EventKind::ToolPartial { part, .. } = &event.kind {
                shown = Some(part.clone());
                handle.cancel("enough").await.unwrap();
            }
        }
        let progress = json!({ "progress": "waiting", "done": 1.0, "total": 2.0 });
        assert_eq!(shown, Some(progress), "{language}");
        let is_told = async {
            while !heard.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), is_told).await.expect(language);
        runtime.stop().await;
    }
}

/// What crossed to the plugin of `native_messages` in each call of a hook: how much was left out,
/// and how many items came.
fn crossed(lines: &Mutex<Vec<String>>, hook: &str) -> Vec<String> {
    let lines = lines.lock().unwrap();
    let calls = lines.iter().filter_map(|line| {
        let call: Value = serde_json::from_str(line).ok()?;
        let params = call.get("params").filter(|params| params["hook"] == hook)?;
        let list = &params["args"]["native_messages"]["$list"];
        let items = list["items"].as_array()?.len();
        Some(match list.get("skip") {
            Some(skip) => format!("skip {skip}, {items}"),
            None => format!("keep {}, {items}", list["keep"]),
        })
    });
    calls.collect()
}

#[tokio::test]
async fn history_crosses_as_far_as_it_is_wanted() {
    for (wanted, expected) in [
        ("\"none\"", ["skip 1, 0", "skip 3, 0", "skip 5, 0"]),
        ("{\"tail\": 1}", ["skip 0, 1", "skip 2, 1", "skip 4, 1"]),
        // All of it, as the difference to what the process has; a new process has nothing.
        ("\"full\"", ["keep 0, 1", "keep 1, 2", "keep 0, 5"]),
    ] {
        let code = format!(
            r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    result = None
    if m["method"] == "initialize":
        hooks = ["initialize_request"]
        result = {{"protocol": 1, "plugins": [{{"name": "reader", "kind": "feature", "hooks": hooks, "history": {{"initialize_request": {wanted}}}}}]}}
    if "id" in m:
        print(json.dumps({{"jsonrpc": "2.0", "id": m["id"], "result": result}}), flush=True)
    if m["method"] == "shutdown": break
"#
        );
        let stage = Stage::says(&["one", "two", "three"]);
        raw_package(&stage, "reader", "", &code);
        let folder = stage.outside().join("packages/reader");
        let stage = stage.more(&format!("[plugins.reader]\npath = {folder:?}\n"));
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        for texts in [&["first", "second"][..], &["third"]] {
            let (runtime, left_out) =
                Runtime::load_on(&stage.config().unwrap(), &stage.home(), tapped(&lines));
            assert_eq!(left_out, []);
            let mut with = Stage::default();
            with.store = stage.store.clone();
            with.plugins = stage.plugins.clone();
            let with = with.with(|plugins| runtime.plugins(plugins));
            let app = with.start().await;
            for text in texts {
                assert!(names(&events_of(&app, ask("s", text)).await).ends_with("final"));
            }
            runtime.stop().await;
        }
        assert_eq!(crossed(&lines, "initialize_request"), expected, "{wanted}");
    }
}

fn tapped(lines: &Arc<Mutex<Vec<String>>>) -> Workbench {
    let heard = lines.clone();
    let tap: Tap = Arc::new(move |crossed: Crossed<'_>| {
        if crossed.way == Way::Plugin {
            heard.lock().unwrap().push(String::from_utf8_lossy(crossed.line).into_owned());
        }
    });
    Workbench { tap: Some(tap), ..Workbench::default() }
}
