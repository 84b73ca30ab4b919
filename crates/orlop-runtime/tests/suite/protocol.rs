//! Real exchanges with plugins, line by line against the JSON Schemas of the protocol.

use crate::common::stage::*;
use crate::common::*;
use orlop_app::EventKind;
use orlop_core::{ActionCall, Map, Value};
use orlop_runtime::{Crossed, Package, Runtime, Tap, Way, Workbench};
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// Asks for everything that can be asked for.
const CURIOUS: &str = r#"
import orlop

class Curious:
    name = "curious"

    def get_actions(self, state):
        return [{"id": id, "label": id} for id in ("ask", "hello")]

    def execute_action(self, app, action_id, params, context, state):
        if action_id == "ask":
            self.of_core(context["core"], context["config"], app.load_session("s")[2])
            self.of_app(app)
        return {"message": "hello"}

    def of_core(self, core, config, session):
        core.create_session("mine")
        longer = core.add_message(session, "user", "more", {"seen": True})
        core.modify_message(longer, 0, "other")
        part = core.slice_session(session, start=0, end=1)
        core.slice_session(session, remove_indices=[0], return_removed=True)
        core.fork_session(session, upto_index=0)
        core.join_sessions(part, part)
        core.rebuild_native_history(session, config)
        core.import_session(core.export_session(session))
        native = core.core_messages_to_native(session.messages, config)
        core.patch_native_internal_metadata(native, [0], {"seen": True})
        core.send_request(session, config)
        list(core.send_request_stream(session, config))
        core.get_plugins_for_config(config)
        core.initialize_action_request([], {"config": config}, {"provider": "scripted"}, {})
        core.get_available_tools(config)
        core.get_tool_schemas(config)
        core.extract_tool_calls_from_messages(session.messages)
        call = {"id": "x", "name": "count", "arguments": {"to": 1}}
        core.execute_tool_calls([call], config)
        core.format_tool_call_previews([call], config)
        core.get_session_actions(config)
        core.execute_session_action(session, config, "note", "note", {})
        core.execute_lifecycle_actions(session, config, "mine")
        core.get_config_schema()
        core.get_ui_schema(config)
        core.get_completions(config, "/")
        core.apply_feature_completion(config, "/", {"plugin": "note", "text": "x"})

    def of_app(self, app):
        app.create_session(session_id="made", metadata={"title": "Made"})
        app.fork_session("s", 0, "forked")
        app.list_sessions(limit=1)
        core, config, session = app.load_session("s")
        app.load_session("nowhere")
        session.metadata["seen"] = True
        app.save_session(session)
        app.update_agent("default", session)
        app.send_request(core, session, message="aside")
        list(app.send_request(core, session, message="aside", stream=True))
        app.publish_event({"type": "curious.asked", "data": {}})
        with app.acquire_session_lock("made"):
            pass
        app.list_actions("s")
        app.execute_action("curious", "hello")
        made = app.put_asset("note.txt", b"dear diary", "text/plain", "s")
        app.list_assets("s")
        app.read_asset(made["id"])
        app.set_state({"count": 1}, "s")
        app.get_state("s")
        app.delete_session("made", reason="enough")


class Note:
    name = "note"

    def initialize_request(self, native_messages, state):
        return native_messages, state

    def get_actions(self, state):
        return [{"id": "note", "label": "Note"}, {"id": "end", "label": "End", "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {"session_metadata": {"noted": len(session.messages)}}

    def get_completions(self, config, text):
        return [{"text": "x"}]

    def apply_completion(self, config, text, completion):
        return text


@orlop.tool
def count(to: int):
    "Counts."
    orlop.current().log.info("counting", to=to)
    orlop.current().progress("counting", done=0, total=to)
    for n in range(to):
        yield n
    return "done"


@orlop.tool
async def wait() -> str:
    "Waits."
    import asyncio
    orlop.current().progress("waiting")
    await asyncio.sleep(1000)


@orlop.tool
def fail() -> str:
    "Fails."
    raise ValueError("no")
"#;

const GRANTS: &str = r#"[grants]
app = ["load_session", "save_session", "create_session", "fork_session", "delete_session", "list_sessions", "send_request", "publish_event", "update_agent", "acquire_session_lock", "list_actions", "execute_action", "list_assets", "read_asset", "put_asset", "execute_tool_calls"]
"#;

#[tokio::test]
async fn every_message_is_as_its_schema_has_it() {
    let stage = Stage::default();
    stage.model.reply(ScriptedReply::calls(&[
        ("c1", "count", json!({"to": 2})),
        ("c2", "fail", json!({})),
    ]));
    for text in ["done", "one", "two", "three", "four"] {
        stage.model.reply(ScriptedReply::text(&[text]));
    }
    stage.model.reply(ScriptedReply::calls(&[("c3", "wait", json!({}))]));
    let package = package(&stage, "curious", Some(GRANTS), CURIOUS);
    let lines = Lines::default();
    let (stage, runtime) = tapped(stage, package, &lines);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    app.execute_action(ActionCall::new("curious", "ask"), Some("s")).await.unwrap();
    let mut handle = app.send_request(ask("s", "wait")).await.unwrap();
    while let Some(event) = handle.next().await {
        if let EventKind::ToolPartial { .. } = &event.kind {
            handle.cancel("enough").await.unwrap();
        }
    }
    runtime.stop().await;
    let seen = check(&lines.0.lock().unwrap());
    let document = document();
    for (way, known) in [("to_plugin", &document["to_plugin"]), ("to_host", &document["to_host"])] {
        for method in known.as_object().unwrap().keys() {
            // Only those who test a plugin ask whether it is there.
            let crossed = seen.contains(&format!("{way} {method}")) || method == "ping";
            assert!(crossed, "{way} {method} never crossed");
        }
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Way, Value)>>>);

/// The stage with a package, whose lines are kept.
fn tapped(stage: Stage, package: Package, lines: &Lines) -> (Stage, Runtime) {
    let heard = lines.clone();
    let tap: Tap = Arc::new(move |crossed: Crossed<'_>| {
        if matches!(crossed.way, Way::Plugin | Way::Host) {
            let line = serde_json::from_slice(crossed.line).unwrap();
            heard.0.lock().unwrap().push((crossed.way, line));
        }
    });
    let workbench = Workbench { package: Some(package), tap: Some(tap) };
    let (runtime, left_out) = Runtime::load_on(&stage.config().unwrap(), &stage.home(), workbench);
    assert_eq!(left_out, []);
    let added = runtime.clone();
    (stage.with(|plugins| added.plugins(plugins)), runtime)
}

fn schemas_of(name: &str) -> Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    serde_json::from_str(&std::fs::read_to_string(root.join(name)).unwrap()).unwrap()
}

fn document() -> Value {
    schemas_of("protocol.json")
}

/// Checks every line, and gives the messages that were there.
fn check(lines: &[(Way, Value)]) -> BTreeSet<String> {
    let document = document();
    let mut seen = BTreeSet::new();
    // What was asked and is not answered yet, by who asked.
    let mut asked: HashMap<(Side, String), Value> = HashMap::new();
    for (way, line) in lines {
        let (side, other) = match way {
            Way::Plugin => (Side::ToPlugin, Side::ToHost),
            _ => (Side::ToHost, Side::ToPlugin),
        };
        let id = line.get("id").map(Value::to_string).unwrap_or_default();
        let Some(method) = line.get("method").and_then(Value::as_str) else {
            let asked = asked.remove(&(other, id)).expect("somebody asked");
            if line.get("error").is_some() {
                fits(&document, &document["error"]["message"], line, "an error");
            } else {
                answered(&document, &asked, line);
            }
            continue;
        };
        let known = &document[side.name()][method];
        assert!(known.is_object(), "{} {method} is not in the schemas", side.name());
        fits(&document, &known["message"], line, method);
        assert_eq!(known["kind"] == "request", line.get("id").is_some(), "{method}");
        seen.insert(format!("{} {method}", side.name()));
        if let Some(args) = known["message"]["properties"]["params"]["properties"].get("args") {
            has_no_more(args, &line["params"]["args"], method);
        }
        if method == "hook" {
            input_fits(&line["params"]);
        }
        if line.get("id").is_some() {
            asked.insert((side, id), line.clone());
        }
    }
    seen
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    ToPlugin,
    ToHost,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::ToPlugin => "to_plugin",
            Self::ToHost => "to_host",
        }
    }
}

fn fits(document: &Value, schema: &Value, value: &Value, what: &str) {
    let schema = json!({ "$defs": document["$defs"], "allOf": [schema] });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
}

fn answered(document: &Value, asked: &Value, line: &Value) {
    let method = asked["method"].as_str().unwrap();
    let side = if method.contains('.') { "to_host" } else { "to_plugin" };
    fits(document, &document[side][method]["result"], &line["result"], method);
}

/// A host that reads an argument that the schema does not tell of would go unnoticed otherwise.
fn has_no_more(schema: &Value, args: &Value, method: &str) {
    let known = schema["properties"].as_object().cloned().unwrap_or_default();
    for key in args.as_object().into_iter().flat_map(Map::keys) {
        assert!(known.contains_key(key), "{method} takes no \"{key}\"");
    }
}

/// The input of a hook is what the schema of its kind says, once lists and sessions have arrived.
fn input_fits(params: &Value) {
    let (kind, hook) = (params["kind"].as_str().unwrap(), params["hook"].as_str().unwrap());
    let own = schemas_of(&format!("{kind}.json"));
    let document = if own["hooks"].get(hook).is_some() { own } else { schemas_of("any.json") };
    let input = document["hooks"][hook]["input"].clone();
    fits(&document, &input, &arrived(&params["args"]), hook);
}

fn arrived(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            if let Some(list) = fields.get("$list") {
                return list["items"].clone();
            }
            if let Some(session) = fields.get("$session") {
                return json!({
                    "session_id": session["session_id"],
                    "messages": arrived(&session["messages"]),
                    "metadata": session["metadata"],
                });
            }
            fields.iter().map(|(key, value)| (key.clone(), arrived(value))).collect()
        }
        Value::Array(items) => items.iter().map(arrived).collect(),
        other => other.clone(),
    }
}
