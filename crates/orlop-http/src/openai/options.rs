//! What clients set for a request: tools, the form of the answer, and settings of the model that
//! configurations know as well.

use super::error::{Answer, Failure};
use orlop_core::types::tool::schema_name;
use orlop_core::{Map, Value};
use serde_json::json;

/// Settings of the two APIs, and what configurations call them.
const SETTINGS: &[(&str, &str)] = &[
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("max_tokens", "max_tokens"),
    ("max_completion_tokens", "max_tokens"),
    ("max_output_tokens", "max_tokens"),
    ("stop", "stop"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("parallel_tool_calls", "parallel_tool_calls"),
    ("reasoning_effort", "reasoning_effort"),
    ("verbosity", "verbosity"),
];

/// The settings among the fields of a request. Those that nobody here knows are not an error.
pub(super) fn overrides(fields: &Map) -> Map {
    let mut overrides = Map::new();
    let mut set = |key: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            overrides.insert(key.to_owned(), value.clone());
        }
    };
    for (field, key) in SETTINGS {
        set(key, fields.get(*field));
    }
    let inside = |section: &str, key: &str| fields.get(section).and_then(|it| it.get(key));
    set("reasoning_effort", inside("reasoning", "effort"));
    set("reasoning_summary", inside("reasoning", "summary"));
    set("verbosity", inside("text", "verbosity"));
    overrides
}

/// The schema that a wanted form of answers amounts to: `response_format` of chat completions, or
/// `text.format` of responses. Plain text has none.
pub(super) fn output_schema(format: &Value, param: &'static str) -> Answer<Option<Value>> {
    match format.get("type").and_then(Value::as_str) {
        None if format.as_object().is_none_or(Map::is_empty) => Ok(None),
        None => Err(Failure::bad(
            param,
            "the format needs a type; use text, json_object or json_schema",
        )),
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(json!({ "type": "object" }))),
        Some("json_schema") => {
            let inner = format.get("json_schema").unwrap_or(format);
            let schema = inner.get("schema").filter(|schema| schema.is_object());
            let missing = || Failure::bad(param, "a format of type \"json_schema\" needs a schema");
            schema.cloned().ok_or_else(missing).map(Some)
        }
        Some(other) => Err(Failure::bad(
            param,
            format!("the format {other:?} is not known; use text, json_object or json_schema"),
        )),
    }
}

/// The tools that the client runs itself. Tools that OpenAI's own servers run are left out: the
/// agent has its own.
pub(super) fn caller_tools(tools: Vec<Map>) -> Answer<Vec<Map>> {
    let mut kept: Vec<Map> = Vec::with_capacity(tools.len());
    for tool in tools {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "function" | "custom") {
            tracing::debug!(target: "orlop::http", kind, "a tool of the client's server is left out");
            continue;
        }
        let Some(name) = schema_name(&tool).filter(|name| !name.is_empty()) else {
            return Err(Failure::bad("tools", "each tool needs a name"));
        };
        if kept.iter().any(|other| schema_name(other) == Some(name)) {
            return Err(Failure::bad("tools", format!("two tools have the name {name:?}")));
        }
        let inner = tool.get("function").and_then(Value::as_object).unwrap_or(&tool);
        if inner.get("parameters").is_some_and(|it| !it.is_object() && !it.is_null()) {
            return Err(Failure::bad(
                "tools",
                format!("the parameters of tool {name:?} are no object; send a JSON Schema"),
            ));
        }
        kept.push(tool);
    }
    Ok(kept)
}

/// The choice of tools, as configurations have it.
pub(super) fn tool_choice(choice: &Value) -> Answer<Option<Value>> {
    match choice {
        Value::Null => Ok(None),
        Value::String(word) if matches!(word.as_str(), "auto" | "none" | "required") => {
            Ok(Some(choice.clone()))
        }
        Value::Object(fields) => {
            if let Some(mode) =
                fields.get("mode").or_else(|| fields.get("allowed_tools")?.get("mode"))
            {
                return tool_choice(mode);
            }
            match schema_name(fields) {
                Some(name) => Ok(Some(json!({ "name": name }))),
                None => Err(Failure::bad(
                    "tool_choice",
                    "only tools that have a name can be chosen here",
                )),
            }
        }
        _ => Err(Failure::bad(
            "tool_choice",
            "tool_choice is auto, none, required, or an object with the name of a tool",
        )),
    }
}
