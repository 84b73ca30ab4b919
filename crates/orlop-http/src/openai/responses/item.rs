//! What a response is made of: its output items, and what messages of a session amount to.

use crate::openai::content::as_text;
use orlop_core::interop::Registry;
use orlop_core::types::PayloadKind;
use orlop_core::types::app_event::CallerCall;
use orlop_core::{Message, Role, Value};
use serde_json::json;
use std::sync::LazyLock;

/// Who runs the agent's own tools, as far as clients are concerned: an MCP server of this name.
const OWN_SERVER: &str = "orlop";

/// An output item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// What the model thought.
    Reasoning { text: String },
    /// What it said.
    Message { text: String },
    /// A call of one of the agent's own tools.
    Own { call_id: String, name: String, arguments: String, result: Option<Outcome> },
    /// A call that the client is to run.
    Caller(CallerCall),
}

/// What came of an own call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) failed: bool,
}

impl Outcome {
    pub(super) fn of(message: &Message) -> Self {
        let failed = message.metadata().get("tool_error").is_some_and(|told| told == true);
        Self { text: spoken(message), failed }
    }
}

impl Item {
    /// The id of the item at this place of the response to `request`.
    pub(super) fn id(&self, request: &str, place: usize) -> String {
        let kind = match self {
            Self::Reasoning { .. } => "rs",
            Self::Message { .. } => "msg",
            Self::Own { .. } => "mcp",
            Self::Caller(CallerCall { kind: PayloadKind::Json, .. }) => "fc",
            Self::Caller(_) => "ctc",
        };
        format!("{kind}_{request}_{place}")
    }

    /// The item as clients see it. An `ended` one is whole, or was cut off.
    pub(super) fn json(&self, request: &str, place: usize, status: &str) -> Value {
        let id = self.id(request, place);
        match self {
            Self::Reasoning { text } => {
                let summary = match text.is_empty() {
                    true => json!([]),
                    false => json!([{ "type": "summary_text", "text": text }]),
                };
                json!({ "id": id, "type": "reasoning", "summary": summary })
            }
            Self::Message { text } => {
                let content = match text.is_empty() && status == "in_progress" {
                    true => json!([]),
                    false => json!([output_text(text)]),
                };
                json!({
                    "id": id, "type": "message", "status": status, "role": "assistant",
                    "content": content,
                })
            }
            Self::Own { name, arguments, result, .. } => {
                let status = match result {
                    Some(Outcome { failed: true, .. }) => "failed",
                    _ => status,
                };
                let told = |failed: bool| {
                    result.as_ref().filter(|it| it.failed == failed).map(|it| it.text.as_str())
                };
                json!({
                    "id": id, "type": "mcp_call", "status": status, "server_label": OWN_SERVER,
                    "name": name, "arguments": arguments, "approval_request_id": null,
                    "output": told(false), "error": told(true),
                })
            }
            Self::Caller(CallerCall { call_id, name, input, kind, .. }) => match kind {
                PayloadKind::Json => json!({
                    "id": id, "type": "function_call", "status": status, "call_id": call_id,
                    "name": name, "arguments": as_text(input),
                }),
                PayloadKind::Text => json!({
                    "id": id, "type": "custom_tool_call", "status": status, "call_id": call_id,
                    "name": name, "input": as_text(input),
                }),
            },
        }
    }
}

/// A part of a message.
pub(super) fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// The items that the messages of a request and the calls it ended with amount to.
pub(super) fn items_of(messages: &[Message], calls: &[CallerCall]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut made: Vec<Value> = Vec::new();
    for message in messages {
        match message.role() {
            Role::Assistant => {
                items.extend(said(message));
                made = message.tool_calls().cloned().map(Value::Object).collect();
            }
            Role::Tool => items.push(own(message, &made)),
            Role::System | Role::User => {}
        }
    }
    items.extend(calls.iter().cloned().map(Item::Caller));
    items
}

/// What an answer says, without its calls.
pub(super) fn said(message: &Message) -> impl Iterator<Item = Item> {
    let reasoning = message.metadata().get("reasoning").and_then(Value::as_str);
    let reasoning = reasoning.filter(|text| !text.is_empty()).map(str::to_owned);
    let text = Some(spoken(message)).filter(|text| !text.is_empty());
    let reasoning = reasoning.map(|text| Item::Reasoning { text });
    reasoning.into_iter().chain(text.map(|text| Item::Message { text }))
}

/// The call that a result belongs to, which is one of those `made`.
fn own(result: &Message, made: &[Value]) -> Item {
    let text = |key: &str| result.metadata().get(key).and_then(Value::as_str);
    let call_id = text("tool_call_id").unwrap_or_default();
    let calls = made.iter().filter_map(Value::as_object).filter_map(read_call);
    let call = calls.into_iter().find(|(id, _, _)| id == call_id);
    let (name, arguments) = match call {
        Some((_, name, arguments)) => (name, arguments),
        None => (text("tool_name").unwrap_or_default().to_owned(), "{}".to_owned()),
    };
    Item::Own { call_id: call_id.to_owned(), name, arguments, result: Some(Outcome::of(result)) }
}

/// A call in any form that is known: id, name, arguments.
pub(super) fn read_call(call: &orlop_core::Map) -> Option<(String, String, String)> {
    static FORMS: LazyLock<Registry> = LazyLock::new(|| Registry::new(None, []));
    let call = FORMS.inspect_call(call).ok()?;
    let arguments = as_text(&call.payload);
    Some((call.call_id.unwrap_or_default(), call.tool_name.unwrap_or_default(), arguments))
}

/// The content of a message as text.
pub(super) fn spoken(message: &Message) -> String {
    match message.content() {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
