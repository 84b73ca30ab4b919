//! From the neutral transcript to the contents of the API, one item for each message.

use super::attachments::{attached, parts};
use super::call_ids::{CALL_IDS, function_call, is_made};
use crate::wire::facts::{remember, remember_result};
use orlop_types::{Map, Message, NativeItem, Role, Value};
use serde_json::json;
use std::collections::HashMap;

/// Where the item of a tool message keeps the id of the call it answers.
pub(super) const TOOL_CALL_ID: &str = "tool_call_id";

/// What the API takes in place of the signature of a call that another model made.
const FOREIGN: &str = "skip_thought_signature_validator";

/// The messages as the API takes them, one item each; [`history`](super::history) puts results
/// together. Tool calls pass if they have the form of this API. Reasoning is remembered, not sent.
pub fn to_native(messages: &[Message]) -> Vec<NativeItem> {
    let names = names(messages);
    messages.iter().map(|message| native(message, &names)).collect()
}

/// A message whose calls were made by another model, marked as such: models that sign their calls
/// refuse unsigned ones.
pub(super) fn signed(message: &Message) -> Message {
    let mut calls: Vec<Value> = message.tool_calls().cloned().map(Value::Object).collect();
    if let Some(first) = calls.first_mut().and_then(Value::as_object_mut) {
        first.entry("thoughtSignature").or_insert_with(|| FOREIGN.into());
    }
    message.clone().with_metadata_entry("tool_calls", calls)
}

/// Which call is of which tool.
fn names(messages: &[Message]) -> HashMap<&str, &str> {
    let calls = messages.iter().flat_map(Message::tool_calls);
    calls
        .filter_map(|part| {
            let call = function_call(part)?;
            let id = call.get("id").or_else(|| part.get("id"))?.as_str()?;
            Some((id, call.get("name")?.as_str()?))
        })
        .collect()
}

fn native(message: &Message, names: &HashMap<&str, &str>) -> NativeItem {
    match message.role() {
        Role::System => content("system", parts(message)),
        Role::User => {
            let mut parts = parts(message);
            if parts.is_empty() {
                // A conversation of nothing but instructions begins with silence.
                parts.push(json!({ "text": "" }));
            }
            content("user", parts)
        }
        Role::Assistant => assistant(message),
        Role::Tool => result(message, names),
    }
}

fn content(role: &str, parts: Vec<Value>) -> NativeItem {
    let role = ("role".to_owned(), role.into());
    NativeItem::from(Map::from_iter([role, ("parts".to_owned(), parts.into())]))
}

fn assistant(message: &Message) -> NativeItem {
    let (mut parts, mut ids) = (parts(message), Vec::new());
    for call in message.tool_calls().filter(|call| function_call(call).is_some()) {
        let mut part = call.clone();
        // An id beside the call is ours and unknown to the server.
        ids.push(part.shift_remove("id").unwrap_or_default());
        if let Some(Value::Object(inner)) = part.get_mut("functionCall")
            && inner.get("id").is_some_and(Value::is_null)
        {
            inner.shift_remove("id");
        }
        parts.push(Value::Object(part));
    }
    let item = content("model", parts);
    let item = match ids.iter().any(|id| !id.is_null()) {
        true => item.with_metadata(Map::from_iter([(CALL_IDS.to_owned(), ids.into())])),
        false => item,
    };
    remember(message, item)
}

fn result(message: &Message, names: &HashMap<&str, &str>) -> NativeItem {
    let metadata = message.metadata();
    let id = metadata.get(TOOL_CALL_ID).and_then(Value::as_str);
    let name = metadata.get("tool_name").and_then(Value::as_str);
    let name = name.or_else(|| names.get(id?).copied()).unwrap_or("unknown");
    let mut response = Map::new();
    if let Some(id) = id.filter(|id| !is_made(id)) {
        response.insert("id".to_owned(), id.into());
    }
    response.insert("name".to_owned(), name.into());
    let failed = metadata.get("tool_error").is_some_and(|failed| failed == true);
    let key = if failed { "error" } else { "output" };
    response.insert("response".to_owned(), json!({ key: text(message) }));
    let mut parts = vec![json!({ "functionResponse": response })];
    parts.extend(attached(message));
    let item = remember_result(message, content("user", parts));
    let mut metadata = item.metadata().clone();
    metadata.insert(TOOL_CALL_ID.to_owned(), id.into());
    item.with_metadata(metadata)
}

/// What the model is to read of a tool message.
fn text(message: &Message) -> Value {
    let canonical = message.tool_result().and_then(|result| result.get("text"));
    match canonical.filter(|text| text.is_string()).unwrap_or(message.content()) {
        Value::Null => "".into(),
        text @ Value::String(_) => text.clone(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
