//! Call formats that the large providers speak, and a plain one.

use super::CallFormat;
use orlop_types::{InspectedCall, Map, PayloadKind, Value};
use serde_json::json;
use std::sync::Arc;

/// Chat completions: `{"id", "type": "function", "function": {"name", "arguments": "<json>"}}`.
pub const OPENAI_FUNCTION: &str = "openai.function";
/// Chat completions, free-form: `{"id", "type": "custom", "custom": {"name", "input": "<text>"}}`.
pub const OPENAI_CUSTOM: &str = "openai.custom";
/// Responses: `{"type": "function_call", "call_id", "name", "arguments": "<json>"}`.
pub const RESPONSES_FUNCTION: &str = "openai.responses.function_call";
/// Responses, free-form: `{"type": "custom_tool_call", "call_id", "name", "input": "<text>"}`.
pub const RESPONSES_CUSTOM: &str = "openai.responses.custom_tool_call";
/// Messages API: `{"type": "tool_use", "id", "name", "input": {...}}`.
pub const ANTHROPIC_TOOL_USE: &str = "anthropic.tool_use";
/// Gemini: `{"functionCall": {"id"?, "name", "args": {...}}}`.
pub const GEMINI_FUNCTION_CALL: &str = "gemini.function_call";
/// Ollama: `{"id"?, "function": {"name", "arguments": {...}}}`.
pub const OLLAMA_FUNCTION: &str = "ollama.function";
/// The plain form: `{"id", "name", "arguments": {...} or "<json>"}`.
pub const CORE_CALL: &str = "core.call";

pub(super) fn built_in() -> Vec<CallFormat> {
    vec![
        // Before the form it resembles, which takes arguments as text only.
        format(OLLAMA_FUNCTION, read_ollama, write_ollama),
        format(OPENAI_FUNCTION, read_openai_function, write_openai_function),
        format(OPENAI_CUSTOM, read_openai_custom, write_openai_custom),
        format(RESPONSES_FUNCTION, read_responses_function, write_responses_function),
        format(RESPONSES_CUSTOM, read_responses_custom, write_responses_custom),
        format(ANTHROPIC_TOOL_USE, read_anthropic, write_anthropic),
        format(GEMINI_FUNCTION_CALL, read_gemini, write_gemini),
        format(CORE_CALL, read_core, write_core),
    ]
}

fn format(
    id: &str,
    read: fn(&Map) -> Option<InspectedCall>,
    write: fn(&InspectedCall) -> Value,
) -> CallFormat {
    CallFormat {
        id: id.to_owned(),
        read: Arc::new(read),
        write: Some(Arc::new(move |call| write(call).as_object().cloned())),
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

/// Beside arguments that are no JSON: the reason.
const PARSE_ERROR: &str = "parse_error";

/// A call with JSON arguments. Text is parsed; empty text means no arguments, as `null` does; text
/// that is no JSON is handed on as it is, with the reason beside it.
fn with_arguments(
    raw: &Map,
    id: Option<&Value>,
    name: &Value,
    arguments: Option<&Value>,
) -> Option<InspectedCall> {
    let mut call = InspectedCall {
        call_id: text(id),
        tool_name: Some(name.as_str()?.to_owned()),
        raw: raw.clone(),
        ..InspectedCall::default()
    };
    call.payload = match arguments {
        None => Value::Null,
        Some(Value::String(text)) if text.trim().is_empty() => Value::Null,
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|error| {
            let reason = json!(format!("the arguments are not JSON: {error}"));
            call.payload_metadata = Some(Map::from_iter([(PARSE_ERROR.to_owned(), reason)]));
            Value::String(text.clone())
        }),
        Some(value) => value.clone(),
    };
    if call.payload.is_null() {
        call.payload = json!({});
    }
    Some(call)
}

fn with_text(
    raw: &Map,
    id: Option<&Value>,
    name: &Value,
    input: Option<&Value>,
) -> Option<InspectedCall> {
    Some(InspectedCall {
        call_id: text(id),
        tool_name: Some(name.as_str()?.to_owned()),
        payload: Value::String(text(input).unwrap_or_default()),
        payload_kind: PayloadKind::Text,
        raw: raw.clone(),
        ..InspectedCall::default()
    })
}

fn is_type(call: &Map, name: &str) -> bool {
    call.get("type").and_then(Value::as_str) == Some(name)
}

fn read_openai_function(call: &Map) -> Option<InspectedCall> {
    let function = call.get("function")?;
    with_arguments(call, call.get("id"), function.get("name")?, function.get("arguments"))
}

fn read_openai_custom(call: &Map) -> Option<InspectedCall> {
    let custom = call.get("custom")?;
    with_text(call, call.get("id"), custom.get("name")?, custom.get("input"))
}

fn read_responses_function(call: &Map) -> Option<InspectedCall> {
    let id = call.get("call_id").or_else(|| call.get("id"));
    is_type(call, "function_call")
        .then(|| with_arguments(call, id, call.get("name")?, call.get("arguments")))?
}

fn read_responses_custom(call: &Map) -> Option<InspectedCall> {
    let id = call.get("call_id").or_else(|| call.get("id"));
    is_type(call, "custom_tool_call")
        .then(|| with_text(call, id, call.get("name")?, call.get("input")))?
}

fn read_anthropic(call: &Map) -> Option<InspectedCall> {
    is_type(call, "tool_use")
        .then(|| with_arguments(call, call.get("id"), call.get("name")?, call.get("input")))?
}

fn read_gemini(call: &Map) -> Option<InspectedCall> {
    let inner = call.get("functionCall").or_else(|| call.get("function_call"))?;
    let id = inner.get("id").or_else(|| call.get("id"));
    with_arguments(call, id, inner.get("name")?, inner.get("args"))
}

fn read_ollama(call: &Map) -> Option<InspectedCall> {
    let function = call.get("function")?;
    let arguments = function.get("arguments").filter(|arguments| arguments.is_object())?;
    with_arguments(call, call.get("id"), function.get("name")?, Some(arguments))
}

fn read_core(call: &Map) -> Option<InspectedCall> {
    if call.contains_key("type") && !is_type(call, "tool_call") {
        return None;
    }
    let arguments = call.get("arguments").or_else(|| call.get("input"));
    with_arguments(call, call.get("id"), call.get("name")?, arguments)
}

/// Why the arguments of a call are no JSON, if they are none.
pub fn parse_error(call: &InspectedCall) -> Option<&str> {
    let reason = call.payload_metadata.as_ref()?.get(PARSE_ERROR)?.as_str()?;
    call.payload.is_string().then_some(reason)
}

/// Arguments that were no JSON when they came, and go out as they came.
fn broken_arguments(call: &InspectedCall) -> Option<&String> {
    match &call.payload {
        Value::String(text) if parse_error(call).is_some() => Some(text),
        _ => None,
    }
}

/// Arguments as JSON text.
fn arguments_text(call: &InspectedCall) -> String {
    match broken_arguments(call) {
        Some(text) => text.clone(),
        None => arguments_of(&call.payload).to_string(),
    }
}

/// Arguments as an object; what is none is put under `input`.
fn arguments_of(payload: &Value) -> Value {
    match payload {
        Value::Object(_) => payload.clone(),
        other => json!({ "input": other }),
    }
}

fn payload_text(call: &InspectedCall) -> String {
    match &call.payload {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn write_openai_function(call: &InspectedCall) -> Value {
    json!({
        "id": call.call_id, "type": "function",
        "function": { "name": call.tool_name, "arguments": arguments_text(call) },
    })
}

fn write_openai_custom(call: &InspectedCall) -> Value {
    json!({
        "id": call.call_id, "type": "custom",
        "custom": { "name": call.tool_name, "input": payload_text(call) },
    })
}

fn write_responses_function(call: &InspectedCall) -> Value {
    json!({
        "type": "function_call", "call_id": call.call_id,
        "name": call.tool_name, "arguments": arguments_text(call),
    })
}

fn write_responses_custom(call: &InspectedCall) -> Value {
    json!({
        "type": "custom_tool_call", "call_id": call.call_id,
        "name": call.tool_name, "input": payload_text(call),
    })
}

fn write_anthropic(call: &InspectedCall) -> Value {
    json!({
        "type": "tool_use", "id": call.call_id,
        "name": call.tool_name, "input": arguments_of(&call.payload),
    })
}

fn write_gemini(call: &InspectedCall) -> Value {
    json!({ "functionCall": {
        "id": call.call_id, "name": call.tool_name, "args": arguments_of(&call.payload),
    } })
}

fn write_ollama(call: &InspectedCall) -> Value {
    let arguments = arguments_of(&call.payload);
    let function = json!({ "name": call.tool_name, "arguments": arguments });
    match &call.call_id {
        Some(id) => json!({ "id": id, "function": function }),
        None => json!({ "function": function }),
    }
}

fn write_core(call: &InspectedCall) -> Value {
    // Text would be read as JSON again.
    let arguments = match &call.payload {
        text @ Value::String(_) if broken_arguments(call).is_none() => arguments_of(text),
        payload => payload.clone(),
    };
    json!({ "id": call.call_id, "name": call.tool_name, "arguments": arguments })
}
