//! Content as clients send it, a text or a list of parts, and as messages hold it.

use super::error::{Answer, Failure};
use orlop_core::{Map, Message, Role, Value};
use serde_json::json;

/// Text, and the parts that are none.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) parts: Vec<Map>,
}

impl Content {
    /// Reads the value of the field `param`.
    pub(super) fn read(value: Option<Value>, param: &'static str) -> Answer<Self> {
        let parts = match value {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::String(text)) => return Ok(Self { text, parts: Vec::new() }),
            Some(Value::Array(parts)) => parts,
            Some(_) => return Err(Failure::bad(param, "content is a text or a list of parts")),
        };
        let mut content = Self::default();
        for part in parts {
            match part {
                Value::Object(part) => content.take(part, param)?,
                _ => return Err(Failure::bad(param, "each part of content is an object")),
            }
        }
        Ok(content)
    }

    fn take(&mut self, part: Map, param: &'static str) -> Answer<()> {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let text = match kind {
            "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" => "text",
            "refusal" => "refusal",
            "image_url" | "input_image" | "input_audio" | "file" | "input_file" => {
                let inner = part.get("file").and_then(Value::as_object).unwrap_or(&part);
                let is_stored = |key: &str| inner.get(key).is_some_and(Value::is_string);
                if is_stored("file_id") && !is_stored("file_data") && !is_stored("image_url") {
                    return Err(Failure::bad(
                        param,
                        "this server keeps no files by file_id; send the data in the part itself",
                    ));
                }
                if matches!(kind, "image_url" | "input_image") && !has_url(&part) {
                    return Err(Failure::bad(
                        param,
                        format!("a part of type {kind:?} needs \"image_url\""),
                    ));
                }
                self.parts.push(part);
                return Ok(());
            }
            other => {
                let known = "text, image, audio or file";
                return Err(Failure::bad(
                    param,
                    format!("a part of type {other:?} is not known here; send {known}"),
                ));
            }
        };
        let Some(Value::String(said)) = part.get(text) else {
            return Err(Failure::bad(param, format!("a part of type {kind:?} needs {text:?}")));
        };
        if !self.text.is_empty() && !said.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(said);
        Ok(())
    }

    /// A message with this content.
    pub(super) fn into_message(self, role: Role) -> Message {
        Message::new(role, self.text).with_multipart_content(self.parts)
    }
}

/// Whether a picture says where it is, or brings its data.
fn has_url(part: &Map) -> bool {
    let url = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
    url.and_then(Value::as_str).is_some_and(|url| !url.is_empty())
}

/// A tool call that the model made, as messages of the client carry it.
pub(super) fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// The same for a tool that takes free text.
pub(super) fn custom_call(id: &str, name: &str, input: &str) -> Value {
    json!({ "id": id, "type": "custom", "custom": { "name": name, "input": input } })
}

/// The result of a call, for the model.
pub(super) fn result_of(id: &str, name: Option<&str>, content: Content) -> Message {
    let message = content.into_message(Role::Tool).with_metadata_entry("tool_call_id", id);
    match name {
        Some(name) => message.with_metadata_entry("tool_name", name),
        None => message,
    }
}

/// An input of a call, as text.
pub(super) fn as_text(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    }
}
