//! How tools are told to a model and how it calls them.
//!
//! A call is `<tool_call>`, a line with a JSON object of `name` and `arguments`, `</tool_call>`.
//! Templates that speak of tools in this form are given them. For all others the tools stand in
//! the system message, earlier calls in the text of the assistant, and answers of tools come from
//! the user between `<tool_response>` and `</tool_response>`.

use orlop_types::{Map, Value};
use serde_json::json;

use super::{Call, Message, Tool};

/// Where a call begins.
pub(super) const BEGIN: &str = "<tool_call>";
/// Where it ends.
pub(super) const END: &str = "</tool_call>";

/// A tool in the form of OpenAI, which templates and models know.
pub(super) fn describe(tool: &Tool) -> Value {
    let parameters = tool.parameters.clone().unwrap_or_else(no_parameters);
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    })
}

/// The schema of a tool that takes nothing.
pub(super) fn no_parameters() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// The conversation for a template that knows no tools.
pub(super) fn tell(messages: &[Message], tools: &[Tool]) -> Vec<Message> {
    let mut told: Vec<_> = messages.iter().map(as_text).collect();
    if !tools.is_empty() {
        add_to_system(&mut told, &instructions(tools));
    }
    told
}

/// Adds a paragraph to the system message, which is made if there is none.
pub(super) fn add_to_system(messages: &mut Vec<Message>, paragraph: &str) {
    match messages.first_mut().filter(|message| message.role == "system") {
        Some(system) => system.content = format!("{}\n\n{paragraph}", system.content),
        None => {
            let content = paragraph.to_owned();
            messages.insert(0, Message { role: "system".into(), content, calls: Vec::new() });
        }
    }
}

fn instructions(tools: &[Tool]) -> String {
    let mut text = String::from("You can call these functions, one JSON object a line:\n");
    for tool in tools {
        text.push_str(&describe(tool)["function"].to_string());
        text.push('\n');
    }
    text.push_str("To call a function, answer with its name and arguments in this form:\n");
    text.push_str("<tool_call>\n{\"name\": \"...\", \"arguments\": {...}}\n</tool_call>");
    text
}

fn as_text(message: &Message) -> Message {
    let mut told = Message { calls: Vec::new(), ..message.clone() };
    if message.role == "tool" {
        told.role = "user".into();
        told.content = format!("<tool_response>\n{}\n</tool_response>", message.content);
    }
    for call in &message.calls {
        if !told.content.is_empty() {
            told.content.push('\n');
        }
        told.content.push_str(&write(call));
    }
    told
}

/// A call as a model writes it.
fn write(call: &Call) -> String {
    let (name, arguments) = (json!(call.name), Value::Object(call.arguments.clone()));
    let (name, arguments) = (spaced(&name), spaced(&arguments));
    format!("{BEGIN}\n{{\"name\": {name}, \"arguments\": {arguments}}}\n{END}")
}

/// JSON with a space after commas and colons, as models are used to it.
pub(super) fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(spaced).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), spaced(value))
            };
            let fields: Vec<_> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// The complete calls of an answer. Small models like to repeat themselves: the same call once
/// more is not another one.
pub(super) fn read(answer: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    for rest in answer.split(BEGIN).skip(1) {
        let call = rest.split_once(END).and_then(|(call, _)| read_one(call));
        calls.extend(call.filter(|call| !calls.contains(call)));
    }
    calls
}

fn read_one(text: &str) -> Option<Call> {
    let mut fields: Map = serde_json::from_str(text.trim()).ok()?;
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    match fields.remove("arguments") {
        Some(Value::Object(arguments)) => Some(Call { name, arguments }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn call() -> Call {
        let arguments = serde_json::from_str(r#"{"city":"Köln","days":[1,2]}"#).unwrap();
        Call { name: "weather".into(), arguments }
    }

    #[test]
    fn tools_calls_and_answers_are_told_as_text() {
        let message = |role: &str, content: &str| Message {
            role: role.into(),
            content: content.into(),
            calls: Vec::new(),
        };
        let asked = Message { calls: vec![call()], ..message("assistant", "Let me see.") };
        let messages = [message("user", "Rain?"), asked, message("tool", "sunny")];
        let tool = Tool { name: "weather".into(), description: "Says it".into(), parameters: None };
        let told = tell(&messages, &[tool]);
        let text: Vec<_> =
            told.iter().map(|it| format!("[{}] {}\n", it.role, it.content)).collect();
        expect![[r#"
            [system] You can call these functions, one JSON object a line:
            {"name":"weather","description":"Says it","parameters":{"type":"object","properties":{},"additionalProperties":false}}
            To call a function, answer with its name and arguments in this form:
            <tool_call>
            {"name": "...", "arguments": {...}}
            </tool_call>
            [user] Rain?
            [assistant] Let me see.
            <tool_call>
            {"name": "weather", "arguments": {"city": "Köln", "days": [1, 2]}}
            </tool_call>
            [user] <tool_response>
            sunny
            </tool_response>
        "#]]
        .assert_eq(&text.concat());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let other = Call { name: "other".into(), ..call() };
        let answer = [&call(), &other, &call()].map(write).join("\n");
        assert_eq!(read(&answer), [call(), other]);
        assert_eq!(read("no call"), []);
        assert_eq!(read("<tool_call>\n{\"name\": \"weather\", \"argum"), []);
    }
}
