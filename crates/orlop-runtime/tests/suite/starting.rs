//! How packages begin: one that cannot is left out, and holds up nobody twice.

use crate::common::stage::*;
use crate::common::*;
use futures::future::BoxFuture;
use orlop_core::hooks::Timer;
use orlop_core::{ActionCall, Config, Map};
use orlop_runtime::{Package, Runtime};
use orlop_testkit::scripted::{ScriptedProvider, ScriptedReply, core_with};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn application(name: &str, init: &str) -> String {
    format!(
        r#"
import time

class Plugin:
    name = "{name}"

    def init(self, app_config):
        {init}
        return {{}}

    def get_actions(self, state):
        return [{{"id": "go", "label": "Go"}}]

    def execute_action(self, app, action_id, params, context, state):
        return {{"message": "went"}}
"#
    )
}

#[tokio::test]
async fn an_application_plugin_that_cannot_begin_is_left_out() {
    let stage = Stage::says(&["hello"]);
    let broken = application("broken", "raise RuntimeError('no disk')");
    let hanging = application("hanging", "time.sleep(1000)");
    let packages = vec![
        package(&stage, "broken", None, &broken),
        package(&stage, "hanging", Some("[limits]\ntimeout_ms = 300\n"), &hanging),
        package(&stage, "fine", None, &application("fine", "pass")),
    ];
    let (stage, runtime) = with_packages(stage, packages);
    let app = stage.start().await;
    let done = app.execute_action(ActionCall::new("fine", "go"), None).await.unwrap();
    assert_eq!(done["message"], "went");
    for name in ["broken", "hanging"] {
        let error = app.execute_action(ActionCall::new(name, "go"), None).await.unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    assert!(names(&events_of(&app, ask("s", "hi")).await).ends_with("final"));
    runtime.stop().await;
}

#[tokio::test]
async fn one_that_is_required_stops_the_start() {
    let stage = Stage::default();
    let code = application("broken", "raise RuntimeError('no disk')");
    let package = package(&stage, "broken", Some("[limits]\non_failure = \"fail\"\n"), &code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let error = stage.try_start().await.err().unwrap().to_string();
    assert!(error.contains("no disk") && error.contains("broken"), "{error}");
    runtime.stop().await;
}

#[tokio::test]
async fn a_package_that_hangs_holds_nobody_up_twice() {
    let stage = Stage::default();
    let code = "import os, time\nopen(os.environ['PLUGIN_DATA'] + '/starts', 'a').write('x')\ntime.sleep(1000)\n";
    let package = raw_package(&stage, "stuck", "", code);
    let short = Duration::from_millis(1500);
    let add = |settings: Map| {
        let mut runtime = Runtime::new(env(&stage), stage.home()).patience(short);
        let error = runtime.add(package.clone(), settings).unwrap_err();
        assert!(error.message().contains("\"stuck\" did not say what it holds"), "{error}");
        let starts = std::fs::read_to_string(stage.home().join("plugin-data/stuck/starts"));
        (starts.unwrap().len(), error.message().contains("it is asked again in some minutes"))
    };
    assert_eq!(add(Map::new()), (1, false));
    assert_eq!(add(Map::new()), (1, true));
    // With other settings it may do better.
    assert_eq!(add(Map::from_iter([("fast".to_owned(), true.into())])), (2, false));
}

#[tokio::test]
async fn settings_are_part_of_what_a_package_is_asked_for() {
    let code = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        name = m["params"]["config"].get("name", "plain")
    result = {"protocol": 1, "plugins": [{"name": name, "kind": "tool", "hooks": []}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"#;
    let stage = Stage::default();
    let package = raw_package(&stage, "many", "", code);
    let mut runtime = Runtime::new(env(&stage), stage.home());
    let plain = runtime.add(package.clone(), Map::new()).unwrap();
    assert_eq!(plain.plugins[0].name, "plain");
    let settings = Map::from_iter([("name".to_owned(), "other".into())]);
    assert_eq!(runtime.add(package, settings).unwrap().plugins[0].name, "other");
    runtime.stop().await;
}

/// The runtime of this test has one thread: whoever waits in place holds everybody up.
#[tokio::test]
async fn others_go_on_while_an_extension_looks_at_a_chunk() {
    let stage = Stage::says(&["hello"]);
    let code = r#"
import os, pathlib, time

DATA = pathlib.Path(os.environ["PLUGIN_DATA"])

class Slow:
    name = "slow"

    def process_chunk(self, chunk, state):
        (DATA / "seen").touch()
        while not (DATA / "go").exists():
            time.sleep(0.005)
        if chunk.get("partial"):
            chunk["partial"]["content"] = chunk["partial"]["content"].upper()
        return chunk
"#;
    let package = package(&stage, "slow", None, code);
    let data = stage.home().join("plugin-data/slow");
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let other = tokio::spawn(async move {
        while !data.join("seen").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        std::fs::write(data.join("go"), "").unwrap();
    });
    let events = events_of(&app, ask("s", "hi")).await;
    other.await.unwrap();
    let shown = serde_json::json!(events).to_string();
    assert!(names(&events).ends_with("final") && shown.contains("HELLO"), "{shown}");
    runtime.stop().await;
}

/// Two plugins whose process notes each of its starts.
const QUIET: &str = r#"
import os
with open(os.environ["PLUGIN_DATA"] + "/starts", "a") as file:
    file.write("x")

class OfSessions:
    name = "of_sessions"

    def get_actions(self, state):
        return [{"id": "look", "label": "Look", "inputs": {}}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {"message": "looked"}


class OfAll:
    name = "of_all"

    def get_actions(self, state):
        return [{"id": "go", "label": "Go", "inputs": {}, "danger": "none"}]

    def execute_action(self, app, action_id, params, context, state):
        return {"message": "went"}
"#;

/// The actions of the package `quiet`, in a new program.
async fn offered(stage: &Stage, runtime: &Runtime) -> (orlop_app::Application, String) {
    let mut with = Stage::default();
    with.store = stage.store.clone();
    with.plugins = stage.plugins.clone();
    let app = with.with(|plugins| runtime.plugins(plugins)).start().await;
    let actions = app.list_actions(Some("s")).await.unwrap();
    let own = actions.iter().filter(|it| it.plugin.as_deref().unwrap().starts_with("of_"));
    let ids: Vec<&str> = own.map(|it| it.id.as_str()).collect();
    (app, ids.join(" "))
}

fn starts(stage: &Stage) -> usize {
    let file = stage.home().join("plugin-data/quiet/starts");
    std::fs::read_to_string(file).unwrap_or_default().len()
}

/// A new program with the package as it is.
fn added(stage: &Stage) -> Runtime {
    let mut runtime = Runtime::new(env(stage), stage.home());
    let folder = stage.outside().join("packages/quiet");
    runtime.add(Package::read(&folder).unwrap(), Map::new()).unwrap();
    runtime
}

/// A session, and the package.
async fn quiet() -> Stage {
    let stage = Stage::says(&["hello"]);
    events_of(&stage.start().await, ask("s", "hi")).await;
    package(&stage, "quiet", None, QUIET);
    stage
}

#[tokio::test]
async fn actions_are_listed_without_starting_a_process() {
    let stage = quiet().await;
    let runtime = added(&stage);
    assert_eq!(offered(&stage, &runtime).await.1, "go look");
    assert_eq!(starts(&stage), 1, "to say what it holds");
    runtime.stop().await;
    let runtime = added(&stage);
    let (app, actions) = offered(&stage, &runtime).await;
    assert_eq!((actions.as_str(), starts(&stage)), ("go look", 1));
    let all = app.list_actions(None).await.unwrap();
    let go = all.iter().find(|action| action.id == "go").unwrap();
    assert_eq!(go.extra["danger"], "none", "nothing of a definition is lost");
    // One that is run needs its process.
    let done = app.execute_action(ActionCall::new("of_sessions", "look"), Some("s")).await;
    assert_eq!((&done.unwrap()["message"], starts(&stage)), (&"looked".into(), 2));
    runtime.stop().await;
}

#[tokio::test]
async fn a_package_that_changed_is_asked_for_its_actions_again() {
    let stage = quiet().await;
    let runtime = added(&stage);
    assert_eq!(offered(&stage, &runtime).await.1, "go look");
    runtime.stop().await;
    package(&stage, "quiet", None, &QUIET.replace("\"look\"", "\"look_twice\""));
    let runtime = added(&stage);
    assert_eq!(offered(&stage, &runtime).await.1, "go look_twice");
    runtime.stop().await;
}

#[tokio::test]
async fn a_package_that_changes_under_way_is_not_taken_for_what_it_was() {
    let stage = quiet().await;
    let runtime = added(&stage);
    assert_eq!(offered(&stage, &runtime).await.1, "go look");
    runtime.stop().await;
    // Known from before, and not started yet.
    let runtime = added(&stage);
    let (app, _) = offered(&stage, &runtime).await;
    let renamed = QUIET.replace("\"of_sessions\"", "\"of_nobody\"");
    package(&stage, "quiet", None, &renamed);
    let error = app.execute_action(ActionCall::new("of_all", "go"), None).await.unwrap_err();
    assert!(error.message().contains("plugin \"quiet\" changed"), "{error}");
    runtime.stop().await;
    let runtime = added(&stage);
    let (app, _) = offered(&stage, &runtime).await;
    let done = app.execute_action(ActionCall::new("of_all", "go"), None).await.unwrap();
    assert_eq!(done["message"], "went");
    runtime.stop().await;
}

/// A tool plugin whose process notes each of its starts. Which tools it has stands in a file.
const DIGGER: &str = r#"
import os, pathlib
DATA = pathlib.Path(os.environ["PLUGIN_DATA"])
with open(DATA / "starts", "a") as file:
    file.write("x")

class Digger:
    name = "digger"

    def get_tool_schemas(self):
        names = (DATA / "tools").read_text().split()
        return [{"name": name, "description": "Digs.", "parameters": {}} for name in names]

    def execute_tool(self, tool_name, payload):
        return "dug"
"#;

fn digger() -> Stage {
    let stage = Stage::default();
    package(&stage, "quiet", None, DIGGER);
    stage
}

fn has_tools(stage: &Stage, names: &str) {
    let data = stage.home().join("plugin-data/quiet");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("tools"), names).unwrap();
}

/// A new program with the package of tools as it is.
async fn with_tools(stage: &Stage, key: &str) -> (Stage, orlop_app::Application, Runtime) {
    let runtime = added(stage);
    let with = Stage::default().settings(&format!("api_key = \"{key}\""));
    let with = with.with(|plugins| runtime.plugins(plugins));
    let app = with.start().await;
    (with, app, runtime)
}

/// The tools on offer, and how often the process was started by then.
async fn tools(stage: &Stage, app: &orlop_app::Application) -> (String, usize) {
    let (core, config) = app.agent("default").unwrap();
    let schemas = core.tool_schemas(&config).await.unwrap();
    let names: Vec<&str> = schemas.iter().filter_map(|schema| schema["name"].as_str()).collect();
    (names.join(" "), starts(stage))
}

#[tokio::test]
async fn a_turn_that_does_not_use_a_tool_starts_no_process_for_it() {
    let stage = digger();
    has_tools(&stage, "dig");
    let (_with, app, runtime) = with_tools(&stage, "one").await;
    assert_eq!(tools(&stage, &app).await, ("dig".to_owned(), 1), "to say what it holds");
    runtime.stop().await;
    // The plugin is not shown the key.
    let (with, app, runtime) = with_tools(&stage, "two").await;
    with.model.reply(ScriptedReply::text(&["hello"]));
    assert!(names(&events_of(&app, ask("s", "hi")).await).ends_with("final"));
    assert_eq!(tools(&stage, &app).await, ("dig".to_owned(), 1));
    assert_eq!(run_call(&app, &with.model, "dig", Map::new().into()).await, "dug");
    assert_eq!(starts(&stage), 2);
    runtime.stop().await;
}

#[tokio::test]
async fn a_process_that_has_other_tools_than_before_is_believed() {
    let stage = digger();
    has_tools(&stage, "dig");
    let (_with, app, runtime) = with_tools(&stage, "k").await;
    assert_eq!(tools(&stage, &app).await, ("dig".to_owned(), 1));
    runtime.stop().await;
    has_tools(&stage, "dig fill");
    let (with, app, runtime) = with_tools(&stage, "k").await;
    assert_eq!(tools(&stage, &app).await, ("dig".to_owned(), 1));
    assert_eq!(run_call(&app, &with.model, "dig", Map::new().into()).await, "dug");
    assert_eq!(tools(&stage, &app).await, ("dig fill".to_owned(), 2));
    runtime.stop().await;
    let (_with, app, runtime) = with_tools(&stage, "k").await;
    assert_eq!(tools(&stage, &app).await, ("dig fill".to_owned(), 2));
    runtime.stop().await;
}

#[tokio::test]
async fn one_without_tools_is_asked_again() {
    let stage = digger();
    for (names, starts) in [("", 1), ("dig", 2), ("dig", 2)] {
        has_tools(&stage, names);
        let (_with, app, runtime) = with_tools(&stage, "k").await;
        assert_eq!(tools(&stage, &app).await, (names.to_owned(), starts));
        runtime.stop().await;
    }
}

/// Notes for each limit that begins how often the process was started by then.
struct Limits(std::path::PathBuf, Mutex<Vec<usize>>);

impl Timer for Limits {
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        let starts = std::fs::read(&self.0).unwrap_or_default().len();
        self.1.lock().unwrap().push(starts);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn the_start_of_a_process_is_no_part_of_the_time_of_a_hook() {
    let stage = quiet().await;
    added(&stage).stop().await;
    let runtime = added(&stage);
    let limits = Limits(stage.home().join("plugin-data/quiet/starts"), Mutex::default());
    let limits = Arc::new(limits);
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(runtime.features().remove(0)).unwrap();
    let core = core.with_timer(limits.clone());
    let actions = core.session_actions(&Config::empty()).await.unwrap();
    assert_eq!(actions[0].id, "look");
    assert_eq!(*limits.1.lock().unwrap(), [2], "once described, and once asked");
    runtime.stop().await;
}
