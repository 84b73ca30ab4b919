//! One message of the model, put together from the items of a response.

use crate::wire::call_fragment;
use crate::wire::facts::recall;
use orlop_types::{Map, Message, NativeItem, Partial, Role, Value};
use serde_json::json;

/// Beside an item: what was said of it that the API did not take.
pub(super) const ORIGINAL: &str = "original";
/// Beside a call: the id of the item, which means something to the server that made it only.
pub(super) const ITEM_ID: &str = "item_id";

/// What the items so far amount to.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    parts: Vec<Map>,
    metadata: Map,
    original: Option<Map>,
}

impl Draft {
    /// Adds an item; those that people are not shown add nothing.
    pub(super) fn add(&mut self, item: &NativeItem) {
        match kind(item) {
            "message" => {
                let (text, parts) = split(item.get("content").unwrap_or(&Value::Null));
                add_paragraph(&mut self.text, &text);
                self.parts.extend(parts);
            }
            "reasoning" => add_paragraph(&mut self.reasoning, &reasoning(item)),
            "function_call" | "custom_tool_call" => self.calls.push(call(item)),
            "image_generation_call" => self.parts.extend(image(item)),
            _ => {}
        }
        recall(item, &mut self.metadata);
        if let Some(Value::Object(original)) = item.metadata().get(ORIGINAL) {
            self.original = Some(original.clone());
        }
    }

    pub(super) fn into_message(self) -> Message {
        let mut metadata = Map::new();
        if !self.calls.is_empty() {
            metadata.insert("tool_calls".to_owned(), self.calls.into());
        }
        if !self.reasoning.is_empty() {
            metadata.insert("reasoning".to_owned(), self.reasoning.into());
        }
        for (key, value) in self.metadata {
            metadata.entry(key).or_insert(value);
        }
        let message = Message::new(Role::Assistant, self.text)
            .with_metadata(metadata)
            .with_multipart_content(self.parts);
        restored(message, self.original.as_ref())
    }

    pub(super) fn into_partial(self) -> Partial {
        let fragment = |(index, call): (usize, &Value)| {
            let text = |key: &str| call.get(key).and_then(Value::as_str);
            let arguments = text("arguments").or(text("input")).unwrap_or_default();
            call_fragment(index, text("call_id"), text("name"), arguments)
        };
        Partial {
            tool_calls: self.calls.iter().enumerate().map(fragment).collect(),
            content: self.text,
            reasoning: self.reasoning,
            metadata: None,
        }
    }
}

/// The type of an item; a message need not name it.
pub(super) fn kind(item: &NativeItem) -> &str {
    match item.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if item.get("role").is_some() => "message",
        None => "",
    }
}

/// Texts of different items, and parts of reasoning, are paragraphs.
pub(super) const BETWEEN: &str = "\n\n";

fn add_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() && !paragraph.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str(paragraph);
}

/// The message as it was before it was put into a form that could not take all of it.
pub(super) fn restored(message: Message, original: Option<&Map>) -> Message {
    let Some(original) = original else { return message };
    let parts = original.get("parts").and_then(Value::as_array).into_iter().flatten();
    let parts = parts.filter_map(Value::as_object).cloned().collect();
    let content = original.get("content").cloned().unwrap_or_default();
    message.with_content(content).with_multipart_content(parts)
}

/// The text of some content, and its parts that are no text.
pub(super) fn split(content: &Value) -> (String, Vec<Map>) {
    let (mut text, mut parts) = (String::new(), Vec::new());
    match content {
        Value::Null => {}
        Value::String(whole) => text.push_str(whole),
        Value::Array(items) => {
            for item in items {
                let said = match item.get("type").and_then(Value::as_str) {
                    Some("input_text" | "output_text" | "text") => item.get("text"),
                    Some("refusal") => item.get("refusal"),
                    _ => Some(item).filter(|item| item.is_string()),
                };
                match (said.and_then(Value::as_str), item) {
                    (Some(said), _) => text.push_str(said),
                    (None, Value::Object(part)) => parts.push(part.clone()),
                    (None, other) => text.push_str(&other.to_string()),
                }
            }
        }
        other => text = other.to_string(),
    }
    (text, parts)
}

/// The text of a message item.
pub(super) fn text(item: &NativeItem) -> String {
    split(item.get("content").unwrap_or(&Value::Null)).0
}

/// The text of a reasoning item: its summary, and what open models think aloud.
pub(super) fn reasoning(item: &NativeItem) -> String {
    let mut text = String::new();
    for key in ["summary", "content"] {
        let parts = item.get(key).and_then(Value::as_array).into_iter().flatten();
        for part in parts.filter_map(|part| part.get("text")?.as_str()) {
            add_paragraph(&mut text, part);
        }
    }
    text
}

/// The arguments of a call.
pub(super) fn arguments(item: &NativeItem) -> &str {
    let arguments = item.get("arguments").or_else(|| item.get("input"));
    arguments.and_then(Value::as_str).unwrap_or_default()
}

fn call(item: &NativeItem) -> Value {
    let mut call = item.value().clone();
    if let (Some(id), Value::Object(fields)) = (item.metadata().get(ITEM_ID), &mut call) {
        fields.insert("id".to_owned(), id.clone());
    }
    call
}

/// The picture that a tool of the server made.
fn image(item: &NativeItem) -> Option<Map> {
    let data = item.get("result")?.as_str().filter(|data| !data.is_empty())?;
    let format = item.get("output_format").and_then(Value::as_str).unwrap_or("png");
    let media_type = format!("image/{format}");
    json!({ "type": "image", "data": data, "media_type": media_type }).as_object().cloned()
}
