//! Inputs for hooks that no example gives one, and how inputs are written for a process.

use super::bench::Subject;
use crate::description::Described;
use orlop_core::hooks::{History, Hook};
use orlop_core::types::protocol::{PluginDescription, Wanted};
use orlop_core::{Map, Value};
use serde_json::json;

/// A short conversation.
pub(super) fn messages() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "Hello, wörld", "metadata": {}}),
        json!({"role": "assistant", "content": "Hello! How can I help?", "metadata": {}}),
        json!({"role": "user", "content": "Count to three.", "metadata": {}}),
    ]
}

/// The same in a native form that many servers have.
pub(super) fn native() -> Vec<Value> {
    let native = |message: Value| json!({"role": message["role"], "content": message["content"]});
    messages().into_iter().map(native).collect()
}

pub(super) fn config() -> Value {
    json!({"provider": "sample", "model": "sample-1"})
}

/// A session with these messages and metadata.
pub(super) fn session(messages: Vec<Value>, metadata: Map) -> Value {
    json!({"session_id": "s1", "messages": messages, "metadata": metadata})
}

fn request() -> Value {
    json!({
        "kind": "stream", "tenant_id": "", "user_id": "u1", "session_id": "s1", "agent_id": "a1",
        "request_id": "r1",
    })
}

fn file() -> Value {
    json!({"id": "f1", "name": "notes.txt", "media_type": "text/plain", "size": 5, "location": "/nowhere/notes.txt"})
}

/// The whole input of a hook: what is given, and samples for the rest.
pub(super) fn args(hook: Hook, subject: &Subject, given: &Map) -> Map {
    let state = &subject.state;
    let config = state.get("config").cloned().unwrap_or_else(config);
    let native = &subject.native;
    let (none, empty) = (json!([]), json!({}));
    let tool = json!({"schema": {"name": "sample_tool", "description": "A sample.", "parameters": {"type": "object"}}, "plugin": "sample"});
    let report = json!({"success": true, "output": "done"});
    let sample = match hook.spec().input {
        "InitInput" | "ToolSchemasInput" => json!({"config": config, "state": state}),
        "TagsInput" => json!({"config": config, "models": none}),
        "EnabledInput" => json!({"config": config, "tags": none, "models": none}),
        "UiInput" => {
            json!({"config": config, "tags": none, "models": none, "available_tools": none, "tools": none})
        }
        "ConfigInput" | "HostInput" | "ApplicationInitInput" => json!({"config": config}),
        "ToNativeInput" => {
            json!({"messages": messages(), "native_messages": native, "state": state})
        }
        "FromNativeInput" => {
            let messages = messages().into_iter().enumerate().map(|(index, mut message)| {
                message["metadata"]["native_indices"] = json!([index]);
                message
            });
            json!({"native_messages": native, "messages": messages.collect::<Vec<_>>(), "state": state})
        }
        "RequestInput" => json!({"native_messages": native, "state": state}),
        "FinalizeInput" => {
            let last = native.last().cloned().into_iter().collect::<Vec<_>>();
            json!({"final_messages": last, "native_messages": native, "state": state})
        }
        "ModelRequest" => {
            json!({"native_messages": native, "state": state, "request_id": "r1", "stream": true})
        }
        "ApplicationUiInput" => {
            json!({"state": state, "config": null, "tags": null, "models": null})
        }
        "ApplicationActionsInput" | "ActionsInput" => json!({"state": state}),
        "ApplicationActionInput" => json!({"action_id": "", "params": empty, "state": state}),
        "ActionInput" => json!({
            "action_id": "", "session": session(messages(), Map::new()), "native_messages": native,
            "params": empty, "state": state, "revision": 0,
        }),
        "InterceptInput" => {
            json!({"request": request(), "text": "hello", "files": none, "headers": empty})
        }
        "AttachmentInput" => json!({"request": request(), "files": [file()]}),
        "AttachmentPartsInput" => json!({"config": config, "file": file()}),
        "ContextInput" => json!({"request": request(), "text": "hello", "step": 0}),
        "ToolCallInfo" => {
            json!({"request": request(), "call_id": "c1", "tool_name": "sample_tool", "input": empty})
        }
        "ToolResultInfo" => json!({
            "request": request(), "call_id": "c1", "tool_name": "sample_tool", "input": empty,
            "result": "done", "failed": false,
        }),
        "RequestInfo" => request(),
        "CancelInput" => json!({"request_id": "nobody-knows-it"}),
        "CompletionsInput" => json!({"config": config, "text": "hel"}),
        "ApplyCompletionInput" => json!({"config": config, "text": "hello", "completion": empty}),
        "ToolPolicyInput" => json!({"config": config, "tools": [tool]}),
        "PrepareInput" => {
            json!({"config": config, "state": state, "schemas": subject.schemas})
        }
        "ToolInput" => json!({
            "tool_name": "", "payload": empty, "payload_kind": "json", "payload_format": null,
            "payload_metadata": null, "tool_call": empty, "prepared": null, "state": state,
        }),
        "FormatResultInput" => json!({"result": report, "state": state}),
        "DisplayInput" => json!({"text": "done", "result": report, "state": state}),
        // A chunk and the state it belongs to.
        _ => json!({"input": state, "chunk": {
            "partial": {"role": "assistant", "content": "Hello"}, "final_messages": [], "state": "keep",
        }}),
    };
    let Value::Object(mut args) = sample else { return given.clone() };
    args.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    args
}

/// An input as it crosses: lists as far as the plugin wants them, sessions with a handle.
pub(super) fn crossing(plugin: &PluginDescription, hook: Hook, args: &Map) -> Value {
    let wanted = match plugin.wanted(hook) {
        Some(wanted) => wanted,
        None if hook.spec().history == History::Tail => {
            Wanted::Tail(args.get("final_messages").and_then(Value::as_array).map_or(0, Vec::len))
        }
        None => Wanted::Full,
    };
    let is_to_native = hook.spec().input == "ToNativeInput";
    let crossed = args.iter().map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("session", session) => session_crossing(session, args, wanted),
            ("final_messages", Value::Array(items)) => list(items, Wanted::Full),
            ("messages", Value::Array(items)) if is_to_native => list(items, Wanted::Full),
            ("native_messages" | "messages", Value::Array(items)) => list(items, wanted),
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    });
    Value::Object(crossed.collect())
}

fn list(items: &[Value], wanted: Wanted) -> Value {
    let skip = match wanted {
        Wanted::None => items.len(),
        Wanted::Tail(last) => items.len().saturating_sub(last),
        Wanted::Full => 0,
    };
    json!({"$list": {"skip": skip, "items": items[skip..]}})
}

/// A session as it crosses.
pub(super) fn session_crossing(session: &Value, args: &Map, wanted: Wanted) -> Value {
    let messages = session["messages"].as_array().cloned().unwrap_or_default();
    let native = match args.get("native_messages") {
        Some(Value::Array(items)) => list(items, wanted),
        _ => Value::Null,
    };
    json!({"$session": {
        "handle": "h1", "session_id": session["session_id"], "metadata": session["metadata"],
        "messages": list(&messages, wanted), "native_messages": native,
    }})
}
