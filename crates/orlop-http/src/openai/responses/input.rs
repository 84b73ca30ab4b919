//! The input of a response, as messages of a session; and such messages as input items.

use super::item::spoken;
use crate::openai::content::{Content, custom_call, function_call, result_of};
use crate::openai::error::{Answer, Failure};
use orlop_core::{Map, Message, Role, Value};
use serde_json::json;
use std::collections::HashMap;

const PARAM: &str = "input";

/// Items that say nothing to a model here: what OpenAI's own servers did or know.
const SILENT: &[&str] = &[
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "computer_call",
    "computer_call_output",
    "tool_search_call",
    "tool_search_output",
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "program",
    "program_output",
    "additional_tools",
];

/// The items of an input: a text is one of the user.
pub(in crate::openai) fn items(input: Option<Value>) -> Answer<Vec<Map>> {
    match input {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => {
            let item = json!({ "type": "message", "role": "user", "content": text });
            Ok(item.as_object().cloned().into_iter().collect())
        }
        Some(Value::Array(items)) => items
            .into_iter()
            .map(|item| match item {
                Value::Object(item) => Ok(item),
                _ => Err(Failure::bad(PARAM, "each item of the input is an object")),
            })
            .collect(),
        Some(_) => Err(Failure::bad(PARAM, "input is a text or a list of items")),
    }
}

/// The messages that items amount to. References must have been followed before.
pub(in crate::openai) fn messages(items: Vec<Map>) -> Answer<Vec<Message>> {
    let mut reader = Reader::default();
    for item in items {
        reader.read(item)?;
    }
    reader.flush();
    Ok(reader.messages)
}

/// Puts together what the model said and called, which are items of their own here and one message
/// in a session.
#[derive(Default)]
struct Reader {
    messages: Vec<Message>,
    said: Option<Content>,
    reasoning: String,
    calls: Vec<Value>,
    /// The names of tools, by the ids of their calls.
    names: HashMap<String, String>,
}

impl Reader {
    fn read(&mut self, mut item: Map) -> Answer<()> {
        let kind = match item.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            None if item.contains_key("role") => "message".to_owned(),
            _ => return Err(Failure::bad(PARAM, "each item of the input needs a type")),
        };
        match kind.as_str() {
            "message" => self.message(item),
            "reasoning" => {
                let told = Content::read(item.remove("summary"), PARAM)?;
                self.reasoning.push_str(&told.text);
                Ok(())
            }
            "function_call" => {
                let [id, name, arguments] = texts(&item, ["call_id", "name", "arguments"])?;
                self.calls.push(function_call(&id, &name, &arguments));
                self.names.insert(id, name);
                Ok(())
            }
            "custom_tool_call" => {
                let [id, name, input] = texts(&item, ["call_id", "name", "input"])?;
                self.calls.push(custom_call(&id, &name, &input));
                self.names.insert(id, name);
                Ok(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                let [id] = texts(&item, ["call_id"])?;
                let output = Content::read(item.remove("output"), PARAM)?;
                self.result(&id, output);
                Ok(())
            }
            "mcp_call" => {
                let [id, name, arguments] = texts(&item, ["id", "name", "arguments"])?;
                let told = |key: &str| item.get(key).and_then(Value::as_str);
                let text = told("output").or_else(|| told("error")).unwrap_or_default().to_owned();
                self.calls.push(function_call(&id, &name, &arguments));
                self.names.insert(id.clone(), name);
                self.result(&id, Content { text, parts: Vec::new() });
                Ok(())
            }
            silent if SILENT.contains(&silent) => Ok(()),
            other => {
                Err(Failure::bad(PARAM, format!("an item of type {other:?} is not known here")))
            }
        }
    }

    fn message(&mut self, mut item: Map) -> Answer<()> {
        let content = Content::read(item.remove("content"), PARAM)?;
        let role = match item.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("system" | "developer") => Role::System,
            Some("assistant") => {
                if self.said.is_some() || !self.calls.is_empty() {
                    self.flush();
                }
                self.said = Some(content);
                return Ok(());
            }
            other => {
                let other = other.unwrap_or_default();
                return Err(Failure::bad(
                    PARAM,
                    format!(
                        "role {other:?} is not known; use user, assistant, system or developer"
                    ),
                ));
            }
        };
        self.flush();
        self.messages.push(content.into_message(role));
        Ok(())
    }

    fn result(&mut self, id: &str, output: Content) {
        self.flush();
        let name = self.names.get(id).map(String::as_str);
        self.messages.push(result_of(id, name, output));
    }

    /// What the model said is whole.
    fn flush(&mut self) {
        let (calls, reasoning) =
            (std::mem::take(&mut self.calls), std::mem::take(&mut self.reasoning));
        let said = self.said.take();
        if said.is_none() && calls.is_empty() {
            return;
        }
        let mut message = said.unwrap_or_default().into_message(Role::Assistant);
        if !reasoning.is_empty() {
            message = message.with_metadata_entry("reasoning", reasoning);
        }
        if !calls.is_empty() {
            message = message.with_metadata_entry("tool_calls", calls);
        }
        self.messages.push(message);
    }
}

/// Fields of an item that have to be texts.
fn texts<const N: usize>(item: &Map, keys: [&str; N]) -> Answer<[String; N]> {
    let mut found = [const { String::new() }; N];
    for (found, key) in found.iter_mut().zip(keys) {
        let Some(Value::String(text)) = item.get(key) else {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
            return Err(Failure::bad(PARAM, format!("an item of type {kind:?} needs {key:?}")));
        };
        found.clone_from(text);
    }
    Ok(found)
}

/// Messages as lists of items have them. Their ids name `owner` and the place of the message, which
/// is `start` for the first.
pub(in crate::openai) fn listed(owner: &str, start: usize, messages: &[Message]) -> Vec<Value> {
    let items = (start..).zip(messages);
    items.flat_map(|(place, message)| listed_one(&format!("{owner}_{place}"), message)).collect()
}

fn listed_one(place: &str, message: &Message) -> Vec<Value> {
    let id = format!("item_{place}");
    let mut items = Vec::new();
    if message.role() == Role::Tool {
        let call = message.metadata().get("tool_call_id").cloned().unwrap_or_default();
        return vec![json!({
            "id": id, "type": "function_call_output", "status": "completed", "call_id": call,
            "output": spoken(message),
        })];
    }
    let text = spoken(message);
    let kind = if message.role() == Role::Assistant { "output_text" } else { "input_text" };
    let mut content: Vec<Value> = Vec::new();
    if !text.is_empty() {
        content.push(match kind {
            "output_text" => super::item::output_text(&text),
            kind => json!({ "type": kind, "text": text }),
        });
    }
    content.extend(message.multipart_content().iter().map(part));
    if !content.is_empty() {
        items.push(json!({
            "id": id, "type": "message", "status": "completed", "role": message.role(),
            "content": content,
        }));
    }
    let calls = message.tool_calls().filter_map(super::item::read_call);
    items.extend(calls.map(|(call, name, arguments)| {
        json!({
            "id": format!("{id}_{call}"), "type": "function_call", "status": "completed",
            "call_id": call, "name": name, "arguments": arguments,
        })
    }));
    items
}

/// A part in the words of this API.
fn part(part: &Map) -> Value {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    match text("type") {
        Some("input_image" | "image_url" | "image") => {
            let nested = part.get("image_url").and_then(|image| image.get("url")?.as_str());
            let url = nested.or_else(|| text("image_url")).or_else(|| text("url"));
            json!({
                "type": "input_image", "image_url": url, "file_id": null,
                "detail": text("detail").unwrap_or("auto"),
            })
        }
        _ => Value::Object(part.clone()),
    }
}
