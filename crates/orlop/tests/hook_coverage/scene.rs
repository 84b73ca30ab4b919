//! What the plugins of all languages have in common: which they are, what they say, and the model
//! that one of them is. What is called they write into the file `notes` of their data folder.

use orlop_core::hooks::{HOOKS, Kind};
use orlop_core::{Map, Value, lifecycle};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const TEMPLATE: &str = "Dear harbour master,";
pub const APPLIED: &str = "boat";
pub const BUTTON: &str = "Note this";

/// Between two looks at whether to go on.
pub const PAUSE: Duration = Duration::from_millis(10);

/// Where calls are noted.
#[derive(Clone)]
pub struct Notes(PathBuf);

impl Notes {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// One line: kind, hook, lifecycle, agent, request.
    pub fn add(&self, told: &[Option<&str>]) {
        let told: Vec<&str> = told.iter().map(|it| it.unwrap_or("-")).collect();
        let line = format!("{}\n", told.join("\t"));
        let file = std::fs::File::options().append(true).create(true).open(self.0.join("notes"));
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

/// A call of a tool, as the model writes it.
fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments.to_string() } })
}

/// What the model calls when it is told one of these words; else it says `done`.
fn replies() -> Value {
    let both = json!([call("c1", "note", json!({})), call("c2", "flow", json!({}))]);
    json!({
        "$go": both, "$wait": both, "$overflow": both,
        "$fail": [call("c1", "note", json!({ "fail": true }))],
        "$ask": [call("c1", "ask", json!({}))],
        "$delegate": [call("c1", "delegate", json!({ "task": "$go", "agent": "inner" }))],
    })
}

/// Why the model does not answer.
pub enum Trouble {
    /// The conversation is too long for it.
    TooLong,
    /// It is not there.
    Broken,
    /// Whoever asks it ends.
    Crash,
}

/// What the model answers to this item.
pub fn reply(last: &Value, folder: &Path) -> Result<Value, Trouble> {
    let (replies, text) = (replies(), last["content"].to_string());
    if last["role"] == "user" && text.contains("$broken") {
        return Err(Trouble::Broken);
    }
    if last["role"] == "user" && text.contains("$crash") {
        return Err(Trouble::Crash);
    }
    let said = replies.as_object().unwrap().iter().find(|(word, _)| text.contains(*word));
    match said {
        Some((word, _)) if word == "$overflow" && !folder.join("overflow").exists() => {
            std::fs::write(folder.join("overflow"), "").unwrap();
            Err(Trouble::TooLong)
        }
        Some((_, calls)) if last["role"] == "user" => {
            Ok(json!({ "role": "assistant", "content": "", "calls": calls }))
        }
        _ => Ok(json!({ "role": "assistant", "content": "done" })),
    }
}

/// Whether the model has not been told to go on yet.
pub fn waits(last: &Value, folder: &Path) -> bool {
    last["content"].to_string().contains("$wait") && !folder.join("release").exists()
}

pub fn models() -> Vec<Map> {
    ["outer", "inner"].map(|id| json!({ "id": id }).as_object().cloned().unwrap()).to_vec()
}

pub fn completions() -> Vec<Value> {
    vec![json!({ "replacement": ":boat:", "start": -2, "display": "a boat" })]
}

/// What the application plugin shows people.
pub fn elements() -> Vec<Value> {
    vec![json!({ "ui_type": "session_action", "action_id": "note", "label": BUTTON })]
}

/// The tools of one of the two tool plugins.
pub fn schemas(plugin: &str) -> Vec<Map> {
    let schema = |name: &str, annotations: Value| {
        json!({
            "name": name, "description": "For tests.", "annotations": annotations,
            "parameters": { "type": "object", "properties": { "fail": { "type": "boolean" } } },
        })
    };
    let quiet = json!({ "access": "none" });
    let schemas = match plugin {
        "flow" => vec![schema("flow", quiet)],
        _ => vec![schema("note", quiet), schema("ask", json!({ "approval": "ask" }))],
    };
    schemas.iter().map(|schema| schema.as_object().cloned().unwrap()).collect()
}

fn action() -> Value {
    let names: Vec<&str> = lifecycle::STANDARD.iter().map(|(name, _)| *name).collect();
    json!([{ "id": "note", "label": "Note", "inputs": {}, "trigger": names }])
}

/// The scene as plugins in other processes read it: every kind with every hook of the table.
pub fn written() -> Value {
    let kinds =
        [Kind::Provider, Kind::Extension, Kind::Feature, Kind::Tool, Kind::Application, Kind::Host];
    let mut plugins: Vec<Value> = Vec::new();
    for kind in kinds {
        let of_core = !matches!(kind, Kind::Application | Kind::Host);
        let rows = HOOKS.iter().filter(|row| row.kind == kind || row.kind == Kind::Any && of_core);
        // A tool runs in one piece or in parts, and not both.
        let hooks: Vec<&str> = rows.map(|row| row.name).filter(|it| *it != "stream_tool").collect();
        let elements = if kind == Kind::Application { elements() } else { Vec::new() };
        let says = json!({
            "get_ui_elements": elements, "get_models": models(), "get_tool_schemas": schemas("notes"), "get_actions": action(),
            "get_template": TEMPLATE, "get_completions": completions(), "apply_completion": APPLIED,
        });
        plugins
            .push(json!({ "kind": kind.as_str(), "name": "notes", "hooks": hooks, "says": says }));
    }
    plugins.push(json!({
        "kind": "tool", "name": "flow", "hooks": ["get_tool_schemas", "execute_tool", "stream_tool"],
        "says": { "get_tool_schemas": schemas("flow") },
    }));
    json!({ "plugins": plugins, "replies": replies() })
}
