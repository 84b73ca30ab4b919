//! Sessions as Markdown, for people to read and to copy.

use orlop_core::{Message, Session, Value};

/// All messages, each under its role.
pub fn of_session(session: &Session) -> String {
    let parts = session.messages().iter().map(|message| {
        let role = message.role().as_str();
        format!("## {role}\n\n{}\n", of_message(message))
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// What a message says, its calls included.
pub fn of_message(message: &Message) -> String {
    let mut text = match message.content() {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    for call in message.tool_calls() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("-> {}", Value::Object(call.clone())));
    }
    text
}
