//! The plugins of `examples/plugins` with the real program: each is added as its users do, and works
//! in `orlop run` and over HTTP.

use crate::common::Place;
use crate::common::served::{SERVE, Served};
use orlop_testkit::mock_model::Reply;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A place with the examples of one language, and a model that adds when it is told to.
async fn place(language: &str, run: &str, examples: &[(&str, &str)]) -> Place {
    let place = Place::new("examples").await;
    let config = format!("{}[agents.mirrored]\nprovider = \"mirror\"\n", place.config());
    place.write("orlop.toml", config);
    place.model.otherwise(|request| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        match last["role"].as_str() {
            Some("tool") => Reply::text(["It is ", last["content"].as_str().unwrap()]).any(),
            _ if last["content"].to_string().contains("add") => {
                Reply::tool_call("c1", "add", "{\"a\":1,\"b\":2}").any()
            }
            _ => Reply::text([format!("answer to {} messages", messages.len())]).any(),
        }
    });
    let app =
        "app = [\"load_session\", \"save_session\", \"acquire_session_lock\", \"publish_event\"]";
    for (name, file) in examples {
        let source = repository().join("examples/plugins").join(language).join(file);
        let code = std::fs::read_to_string(source).unwrap();
        place.write(&format!("{name}/{file}"), code);
        let manifest =
            format!("[plugin]\nname = \"{name}\"\n[run]\n{run} = \"{file}\"\n[grants]\n");
        let grants = match *name {
            "my_app_plugin" => app,
            "my_feature" => "app = [\"send_request\"]",
            _ => "",
        };
        place.write(&format!("{name}/plugin.toml"), format!("{manifest}{grants}\n"));
        if file.ends_with(".ts") {
            let compiler = repository().join("sdk/typescript/node_modules");
            let _ =
                std::os::unix::fs::symlink(compiler, place.path().join(name).join("node_modules"));
        }
        let added = place.run(&["plugin", "add", name, "--yes"]).await.ok();
        assert!(added.starts_with(&format!("added {name}: ")), "{added}");
    }
    place
}

async fn metadata(place: &Place, session: &str) -> Value {
    place.run(&["session", "export", session]).await.json()["metadata"].clone()
}

/// A tool, an extension, an application plugin, a provider and a feature, from the command line.
async fn on_the_command_line(place: &Place, reviewed: &Value) {
    let added = place.run(&["run", "--session", "s", "--yes", "add one and two"]).await.ok();
    assert_eq!(added.replace("3.0", "3"), "It is 3\n");
    let told = metadata(place, "s").await;
    let (key, value) = reviewed.as_object().unwrap().iter().next().unwrap();
    assert_eq!(told[key], *value, "the application plugin ran when the session began: {told}");
    assert!(told["overrides"]["prompt_cache_key"].is_string(), "a key of the extension: {told}");
    let mirrored = place.run(&["run", "--agent", "mirrored", "ab c"]).await.ok();
    assert_eq!(mirrored, "c ba\n");
    let action = ["action", "run", "my_feature", "summarize_range", "start=0", "end=2"];
    place.run(&[&action[..], &["--session", "s"]].concat()).await.ok();
    assert!(metadata(place, "s").await["last_summarization"].is_string());
    // Four messages were there: what was asked, the call, its result, and the answer.
    assert_eq!(place.messages("s").await.len(), 3);
}

/// The same over HTTP, with the buttons that front ends show.
async fn over_http(place: &Place, reviewed: &Value, host_answers: bool) {
    let served = Served::start(place.command(&SERVE)).await;
    served.post("/sessions", json!({ "session_id": "h" })).await;
    let made = served.ask("GET", "/sessions/h/export", "").await;
    let key = reviewed.as_object().unwrap().keys().next().unwrap();
    assert!(made.contains(key), "{made}");
    let body = json!({ "content": "add one and two", "stream": false, "approval": "allow" });
    let answer = served.post("/sessions/h/requests", body).await;
    let said = answer["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(said.as_str().unwrap().replace("3.0", "3"), "It is 3");
    let shown = served.ask("GET", "/agents/default/ui-schema?session_id=h", "").await;
    for label in ["Summarize range", "My Action"] {
        assert!(shown.contains(label), "no {label} in {shown}");
    }
    let body = json!({ "session_id": "h", "params": { "session_id": "h" } });
    let done = served.post("/actions/my_app_plugin/my_action", body).await;
    assert_eq!(done["result"]["message"], "Action completed successfully.", "{done}");
    let body = json!({ "session_id": "h", "params": { "start": 0, "end": 2 } });
    let done = served.post("/actions/my_feature/summarize_range", body).await;
    assert!(done["result"].get("error").is_none(), "{done}");
    let session = served.ask("GET", "/sessions/h/export", "").await;
    assert!(session.contains("last_summarization"), "{session}");
    // A host plugin stands around every request, whichever surface it comes from.
    if host_answers {
        let body = json!({ "content": "/ping", "stream": false });
        let answer = served.post("/sessions/h/requests", body).await;
        let said = answer["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        assert_eq!(said, "pong", "{answer}");
    }
    served.post("/sessions", json!({ "session_id": "m", "agent_id": "mirrored" })).await;
    let events = served.ask("POST", "/sessions/m/requests", r#"{"content": "ab c"}"#).await;
    assert!(events.contains("event: partial") && events.contains("c ba"), "{events}");
    served.ends().await;
}

/// What is given as an example does what the kit asks of every plugin.
async fn they_pass_the_kit(place: &Place, examples: &[(&str, &str)]) {
    let tests = examples.iter().map(async |(name, _)| {
        let report = place.run(&["plugin", "test", name]).await.ok();
        assert!(report.contains(", 0 failed"), "{name}: {report}");
    });
    futures::future::join_all(tests).await;
}

#[tokio::test]
async fn the_examples_in_python_work_on_both_surfaces() {
    let examples = [
        ("my_feature", "my_feature.py"),
        ("my_app_plugin", "my_app_plugin.py"),
        ("mirror", "mirror.py"),
        ("my_prompt_cache", "my_prompt_cache.py"),
        ("sums", "sums.py"),
        ("no_fridays", "no_fridays.py"),
    ];
    let place = place("python", "python", &examples).await;
    they_pass_the_kit(&place, &examples).await;
    let reviewed = json!({ "reviewed": true });
    on_the_command_line(&place, &reviewed).await;
    over_http(&place, &reviewed, false).await;
}

/// Whether Node reads TypeScript by itself or with the compiler that the SDK is tested with.
fn reads_typescript() -> bool {
    let asked = "process.exit(process.features.typescript ? 0 : 1)";
    let node = std::process::Command::new("node").args(["-e", asked]).output();
    let itself = node.is_ok_and(|done| done.status.success());
    itself || repository().join("sdk/typescript/node_modules/typescript").is_dir()
}

#[tokio::test]
async fn the_examples_in_typescript_work_on_both_surfaces() {
    if !reads_typescript() {
        let what = "node does not read TypeScript; `npm ci` in sdk/typescript";
        return orlop_testkit::skip("examples in TypeScript", what);
    }
    let examples = [
        ("my_feature", "my_feature.ts"),
        ("my_app_plugin", "my_app_plugin.ts"),
        ("mirror", "mirror.mjs"),
        ("quiet", "quiet.mjs"),
        ("add", "add.mjs"),
        ("my_commands", "my_commands.ts"),
    ];
    let place = place("typescript", "node", &examples).await;
    they_pass_the_kit(&place, &examples).await;
    // A host plugin answers in place of the agent, on the command line and over HTTP.
    assert_eq!(place.run(&["run", "/ping"]).await.ok(), "pong\n");
    assert_eq!(place.times_asked(), 0);
    let reviewed = json!({ "my_action_runs": 1 });
    on_the_command_line(&place, &reviewed).await;
    over_http(&place, &reviewed, true).await;
}

/// A feature in the form that documents of other platforms give it: all its methods, a method of its
/// own that changes nothing, types by the modules of those documents.
const FEATURE: &str = r#"
from datetime import datetime
from typing import Any, Dict, List, Optional

from agent_core.types import Message


class DocumentedFeature:
    name = "documented"
    version = "1.0.0"
    priority = 100

    def __init__(self) -> None:
        self._state: Dict[str, Any] = {}

    def get_config_schema(self) -> Dict[str, Any]:
        return {"enabled": {"type": "boolean", "default": True}, "max_items": {"type": "integer", "default": 100}}

    def init(self, config: Dict[str, Any], state: Dict[str, Any]) -> Dict[str, Any]:
        return {**state, "config": config}

    def get_tags(self, config: Dict[str, Any], models: List[Dict[str, Any]]) -> List[str]:
        return ["documented_capable"]

    def required_tags(self) -> List[str]:
        return []

    def finalize(
        self, final_messages: List[Dict[str, Any]], native_messages: List[Dict[str, Any]], state: Dict[str, Any]
    ) -> tuple[list[Dict[str, Any]], list[Dict[str, Any]], Dict[str, Any]]:
        return final_messages, native_messages, state

    def get_actions(self, state: Dict[str, Any]) -> List[Dict[str, Any]]:
        inputs = {name: {"type": "integer", "required": False} for name in ("start", "end")}
        return [{"id": "shorten", "label": "Shorten", "description": "Shortens a range.", "inputs": inputs}]

    def execute_action(
        self,
        action_id: str,
        session: Any,
        native_messages: List[Dict[str, Any]],
        params: Dict[str, Any],
        context: Optional[Dict[str, Any]],
        state: Dict[str, Any],
    ) -> Dict[str, Any]:
        if action_id != "shorten":
            return {"native_messages": native_messages, "error": {"type": "unknown_action", "message": action_id}}
        if not isinstance(context, dict) or context.get("core") is None:
            return {"native_messages": native_messages, "error": {"type": "missing_core", "message": "no core"}}
        if not self._is_enabled(context.get("base_config", context.get("config", {}))):
            return {"native_messages": native_messages, "error": {"type": "disabled", "message": "not enabled"}}
        assert isinstance(session.messages[0], Message)
        shorter = self._apply_summarization(native_messages, params.get("start"), params.get("end"))
        return {"native_messages": shorter, "session_metadata": {"last_summarization": datetime.now().isoformat()}}

    def _is_enabled(self, config: Dict[str, Any]) -> bool:
        feature_cfg = config.get("documented") or {}
        return feature_cfg.get("enabled", True)

    def _apply_summarization(
        self, native_messages: List[Dict[str, Any]], start: Optional[int], end: Optional[int]
    ) -> List[Dict[str, Any]]:
        return native_messages
"#;

/// An application plugin in that form.
const APPLICATION: &str = r#"
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from agent_app.app_plugins import ApplicationPlugin

if TYPE_CHECKING:
    from agent_app.application_future import AgentApplication


class DocumentedApplication:
    name = "documented_app"
    version = "1.0.0"

    def __init__(self) -> None:
        self._state: Dict[str, Any] = {}

    def get_config_schema(self) -> Dict[str, Any]:
        return {"enabled": {"type": "boolean", "default": True}}

    def get_ui_elements(
        self,
        state: Dict[str, Any],
        config: Optional[Dict[str, Any]] = None,
        tags: Optional[List[str]] = None,
        models: Optional[List[Dict[str, Any]]] = None,
    ) -> List[Dict[str, Any]]:
        return [{"ui_type": "session_action", "id": "mark", "label": "Mark it", "action_id": "mark"}]

    def init(self, app_config: Dict[str, Any]) -> Dict[str, Any]:
        return {"app_config": app_config}

    def get_actions(self, state: Dict[str, Any]) -> List[Dict[str, Any]]:
        session = {"session_id": {"type": "string", "required": True}}
        return [{"id": "mark", "label": "Mark it", "inputs": session, "trigger": "session_create"}]

    def execute_action(
        self,
        app: "AgentApplication",
        action_id: str,
        params: Dict[str, Any],
        context: Optional[Dict[str, Any]],
        state: Dict[str, Any],
    ) -> Dict[str, Any]:
        session_id = params["session_id"]
        with app.acquire_session_lock(session_id):
            core, base_config, session = app.load_session(session_id)
            session.metadata["marked"] = state["app_config"] is not None
            app.save_session(session)
        app.publish_event({"type": "marked", "session_id": session_id})
        return {"mutations": {"updated_session_ids": [session_id]}, "message": "Marked."}


assert ApplicationPlugin is not None
"#;

#[tokio::test]
async fn classes_in_the_form_of_documents_work_as_they_are() {
    let place = Place::new("documents").await;
    place.write("documented.py", FEATURE);
    place.write("app/plugin.py", APPLICATION);
    let grants = "[grants]\napp = [\"load_session\", \"save_session\", \"acquire_session_lock\", \"publish_event\"]\n";
    let manifest =
        format!("[plugin]\nname = \"documented_app\"\n[run]\npython = \"plugin.py\"\n{grants}");
    place.write("app/plugin.toml", manifest);
    for source in ["documented.py", "app"] {
        place.run(&["plugin", "add", source, "--yes"]).await.ok();
    }
    place.run(&["run", "--session", "s", "hello"]).await.ok();
    assert_eq!(metadata(&place, "s").await["marked"], true);
    let shorten = ["action", "run", "documented", "shorten", "start=0", "--session", "s"];
    place.run(&shorten).await.ok();
    assert!(metadata(&place, "s").await["last_summarization"].is_string());
    assert_eq!(place.messages("s").await.len(), 2, "it changes nothing");

    let served = Served::start(place.command(&SERVE)).await;
    served.post("/sessions", json!({ "session_id": "h" })).await;
    served.post("/sessions/h/requests", json!({ "content": "hello", "stream": false })).await;
    let body = json!({ "session_id": "h", "params": { "session_id": "h" } });
    let done = served.post("/actions/documented_app/mark", body).await;
    assert_eq!(done["result"]["message"], "Marked.", "{done}");
    let body = json!({ "session_id": "h", "params": {} });
    let done = served.post("/actions/documented/shorten", body).await;
    assert!(done["result"].get("error").is_none(), "{done}");
    let session = served.ask("GET", "/sessions/h/export", "").await;
    assert!(session.contains("\"marked\": true"), "{session}");
    assert!(session.contains("last_summarization"), "{session}");
    served.ends().await;
}

#[tokio::test]
async fn what_a_host_plugin_tells_reaches_the_model_and_what_it_denies_does_not_run() {
    let place = Place::new("fridays").await;
    place.model.otherwise(|request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        match last["role"].as_str() {
            Some("tool") => Reply::text(["I hear: ", last["content"].as_str().unwrap()]).any(),
            _ => Reply::tool_call("c1", "deploy", "{}").any(),
        }
    });
    let source = repository().join("examples/plugins/python/no_fridays.py");
    let code = std::fs::read_to_string(source).unwrap();
    let friday = code.replace("date.today().weekday() == 4", "True");
    assert_ne!(code, friday, "the example asks for the day of the week");
    place.write("no_fridays.py", friday);
    let deploy = "import orlop, pathlib, os\n\n@orlop.tool\ndef deploy() -> str:\n    'Deploys.'\n    return 'deployed'\n";
    place.write("deploy.py", deploy);
    for source in ["no_fridays.py", "deploy.py"] {
        place.run(&["plugin", "add", source, "--yes"]).await.ok();
    }
    let told = place.run(&["run", "--yes", "deploy it"]).await.ok();
    assert!(told.contains("not on a Friday") && !told.contains("deployed"), "{told}");
    let asked = place.asked()["messages"].to_string();
    assert!(asked.contains("It is Friday: nothing is deployed."), "{asked}");

    let served = Served::start(place.command(&SERVE)).await;
    served.post("/sessions", json!({ "session_id": "h" })).await;
    let body = json!({ "content": "deploy it", "stream": false, "approval": "allow" });
    let answer = served.post("/sessions/h/requests", body).await;
    assert!(answer.to_string().contains("not on a Friday"), "{answer}");
    assert!(place.asked()["messages"].to_string().contains("It is Friday"));
    served.ends().await;
}
