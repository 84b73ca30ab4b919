//! The answers of a server without a script: it says what it was told, for demos.

use serde_json::{Value, json};

use super::reply::{Content, Reply};
use super::request::RecordedRequest;

/// Answers with the last user text. If tools are offered and that text is `call ...`, asks for
/// the first tool with the rest of the text, and answers from its result in the next round.
pub(super) fn answer(request: &RecordedRequest) -> Reply<Content> {
    let body = request.json();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.last().unwrap_or(&Value::Null);
    if last["role"] == "tool" {
        return in_words(&format!("The tool said: {}", text_of(last))).any();
    }

    let said = messages.iter().rev().find(|message| message["role"] == "user").map(text_of);
    let said = said.unwrap_or_default();
    let first_tool = body["tools"][0]["function"]["name"].as_str();
    match (said.strip_prefix("call "), first_tool) {
        (Some(text), Some(tool)) => {
            // Numbered by its place in the conversation: unique there, and the same in each run.
            let id = format!("call_{}", messages.len());
            Reply::tool_call(id, tool, json!({"text": text}).to_string()).split_arguments(3).any()
        }
        _ => in_words(&format!("You said: {said}")).any(),
    }
}

fn in_words(text: &str) -> Reply<super::Completion> {
    Reply::text(text.split_inclusive(' '))
}

/// The text of a message, whether its content is a string or a list of parts.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
