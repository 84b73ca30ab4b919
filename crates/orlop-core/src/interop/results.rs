//! Result formats: Orlop's own text form, MCP content, and what the large providers expect.

use super::{ReadResult, ResultFormat, ResultTarget, WriteResult};
use orlop_types::{InspectedResult, Map, Value};
use serde_json::json;
use std::sync::Arc;

/// The canonical text form: `{"type": "tool_result", "text": "..."}`; plain strings count as it.
pub const CORE_TEXT: &str = "core.text";
/// An MCP result: `{"content": [{"type": "text", ...}], "structuredContent"?, "isError"?}`.
pub const MCP_CONTENT: &str = "mcp.content";
/// A chat completions message: `{"role": "tool", "tool_call_id", "content"}`.
pub const OPENAI_TOOL: &str = "openai.tool";
/// A Responses item: `{"type": "function_call_output", "call_id", "output"}`.
pub const RESPONSES_OUTPUT: &str = "openai.responses.function_call_output";
/// A Messages API block: `{"type": "tool_result", "tool_use_id", "content"}`.
pub const ANTHROPIC_TOOL_RESULT: &str = "anthropic.tool_result";
/// A Gemini part: `{"functionResponse": {"name", "response"}}`.
pub const GEMINI_FUNCTION_RESPONSE: &str = "gemini.function_response";

pub(super) fn built_in() -> Vec<ResultFormat> {
    vec![
        format(ANTHROPIC_TOOL_RESULT, Some(read_anthropic), write_anthropic),
        format(CORE_TEXT, Some(read_core), write_core),
        format(OPENAI_TOOL, Some(read_openai), write_openai),
        format(RESPONSES_OUTPUT, Some(read_responses), write_responses),
        format(GEMINI_FUNCTION_RESPONSE, Some(read_gemini), write_gemini),
        ResultFormat { id: MCP_CONTENT.to_owned(), read: Some(Arc::new(read_mcp)), write: None },
    ]
}

fn format(
    id: &str,
    read: Option<fn(&Value) -> Option<InspectedResult>>,
    write: fn(&InspectedResult, &ResultTarget) -> Value,
) -> ResultFormat {
    let write: WriteResult = Arc::new(move |_, read, target| Some(write(read, target)));
    ResultFormat {
        id: id.to_owned(),
        read: read.map(|read| Arc::new(read) as ReadResult),
        write: Some(write),
    }
}

/// What a result says in plain text, whatever it is.
fn plain_text(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A result that no format knows, read as text.
pub(super) fn as_text(result: &Value) -> InspectedResult {
    InspectedResult { format_id: CORE_TEXT.to_owned(), ..text_result(plain_text(result), None) }
}

fn text_result(text: String, display: Option<&Value>) -> InspectedResult {
    InspectedResult {
        text,
        display: display.and_then(Value::as_object).cloned(),
        format_id: String::new(),
    }
}

fn read_core(result: &Value) -> Option<InspectedResult> {
    match result {
        Value::String(text) => Some(text_result(text.clone(), None)),
        Value::Object(fields) if is_type(fields, "tool_result") => {
            Some(text_result(fields.get("text")?.as_str()?.to_owned(), fields.get("display")))
        }
        _ => None,
    }
}

fn read_anthropic(result: &Value) -> Option<InspectedResult> {
    let fields = result.as_object()?;
    fields.contains_key("tool_use_id").then_some(())?;
    Some(text_result(content_text(fields.get("content")?), None))
}

fn read_openai(result: &Value) -> Option<InspectedResult> {
    let fields = result.as_object()?;
    (fields.get("role")?.as_str()? == "tool").then_some(())?;
    Some(text_result(content_text(fields.get("content")?), None))
}

fn read_responses(result: &Value) -> Option<InspectedResult> {
    let fields = result.as_object()?;
    is_type(fields, "function_call_output").then_some(())?;
    Some(text_result(content_text(fields.get("output")?), None))
}

fn read_gemini(result: &Value) -> Option<InspectedResult> {
    let inner = result.get("functionResponse")?.get("response")?;
    let only = inner.get("output").or_else(|| inner.get("result"));
    Some(text_result(plain_text(only.unwrap_or(inner)), None))
}

fn read_mcp(result: &Value) -> Option<InspectedResult> {
    let content = result.get("content")?;
    content.is_array().then_some(())?;
    let mut text = content_text(content);
    if text.is_empty() {
        text = result.get("structuredContent").map(plain_text).unwrap_or_default();
    }
    Some(text_result(text, result.get("display")))
}

/// The text of a content that is a string or a list of parts.
fn content_text(content: &Value) -> String {
    let Some(parts) = content.as_array() else { return plain_text(content) };
    let texts: Vec<&str> =
        parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

fn is_type(fields: &Map, name: &str) -> bool {
    fields.get("type").and_then(Value::as_str) == Some(name)
}

fn write_core(read: &InspectedResult, _: &ResultTarget) -> Value {
    json!({ "type": "tool_result", "text": read.text })
}

fn write_openai(read: &InspectedResult, target: &ResultTarget) -> Value {
    json!({ "role": "tool", "tool_call_id": target.call_id, "content": read.text })
}

fn write_responses(read: &InspectedResult, target: &ResultTarget) -> Value {
    json!({ "type": "function_call_output", "call_id": target.call_id, "output": read.text })
}

fn write_anthropic(read: &InspectedResult, target: &ResultTarget) -> Value {
    json!({ "type": "tool_result", "tool_use_id": target.call_id, "content": read.text })
}

fn write_gemini(read: &InspectedResult, target: &ResultTarget) -> Value {
    json!({ "functionResponse": {
        "name": target.tool_name, "response": { "output": read.text },
    } })
}
