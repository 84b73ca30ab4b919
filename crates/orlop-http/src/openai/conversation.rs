//! The messages of a chat completion, as messages of a session.

use super::content::{Content, custom_call, function_call, result_of};
use super::error::{Answer, Failure};
use orlop_core::{Map, Message, Role, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A message as clients send it. What else it has is of no use here.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct ChatMessage {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    role: String,
    /// A text, or a list of parts.
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Map>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

/// All messages, in their order.
pub(super) fn messages(given: Vec<ChatMessage>) -> Answer<Vec<Message>> {
    if given.is_empty() {
        return Err(Failure::bad("messages", "there are no messages; send at least one"));
    }
    let mut names = HashMap::new();
    given.into_iter().map(|message| read(message, &mut names)).collect()
}

fn read(message: ChatMessage, names: &mut HashMap<String, String>) -> Answer<Message> {
    let content = Content::read(message.content, "messages")?;
    match message.role.as_str() {
        "system" | "developer" => Ok(content.into_message(Role::System)),
        "user" => Ok(content.into_message(Role::User)),
        "assistant" => {
            let mut said = content;
            said.text.push_str(message.refusal.as_deref().unwrap_or_default());
            let calls = message.tool_calls.unwrap_or_default();
            let calls: Vec<Value> =
                calls.iter().map(|call| read_call(call, names)).collect::<Answer<_>>()?;
            let mut message_ = said.into_message(Role::Assistant);
            if let Some(reasoning) = message.reasoning_content.filter(|text| !text.is_empty()) {
                message_ = message_.with_metadata_entry("reasoning", reasoning);
            }
            Ok(match calls.is_empty() {
                true => message_,
                false => message_.with_metadata_entry("tool_calls", calls),
            })
        }
        "tool" => {
            let id = message.tool_call_id.ok_or_else(|| {
                Failure::bad("messages", "a message of role \"tool\" needs tool_call_id")
            })?;
            let name = names.get(&id).map(String::as_str);
            Ok(result_of(&id, name, content))
        }
        other => Err(Failure::bad(
            "messages",
            format!("role {other:?} is not known; use system, developer, user, assistant or tool"),
        )),
    }
}

fn read_call(call: &Map, names: &mut HashMap<String, String>) -> Answer<Value> {
    let text = |holder: Option<&Value>, key: &str| {
        holder.and_then(|holder| holder.get(key)).and_then(Value::as_str).map(str::to_owned)
    };
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    let (function, custom) = (call.get("function"), call.get("custom"));
    let name = text(function, "name").or_else(|| text(custom, "name")).ok_or_else(|| {
        Failure::bad("messages", "a tool call needs function.name, or custom.name")
    })?;
    let made = match custom {
        Some(_) => custom_call(id, &name, &text(custom, "input").unwrap_or_default()),
        None => function_call(id, &name, &text(function, "arguments").unwrap_or_default()),
    };
    names.insert(id.to_owned(), name);
    Ok(made)
}
