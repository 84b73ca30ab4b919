//! Chat completions: every tool call is answered by a tool message right behind it.

use serde_json::Value;

use super::{ensure, list, text};

pub(in crate::mock_model) fn check(body: &Value) -> Result<(), String> {
    text(body, "model", "body")?;
    let messages = list(body, "messages")?;
    ensure(!messages.is_empty(), || "[] is too short - 'messages'".to_owned())?;
    let mut open: Vec<&str> = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        let place = format!("messages.[{position}]");
        let role = text(message, "role", &place)?;
        if role == "tool" {
            let id = text(message, "tool_call_id", &place)?;
            let waiting = open.iter().position(|waiting| *waiting == id);
            let Some(waiting) = waiting else {
                return Err(format!(
                    "Invalid parameter: {place}: messages with role 'tool' must be a response to \
                     a preceeding message with 'tool_calls'."
                ));
            };
            open.remove(waiting);
            ensure(!message["content"].is_null(), || format!("{place}.content: missing"))?;
            continue;
        }
        all_answered(&open)?;
        ensure(matches!(role, "system" | "developer" | "user" | "assistant"), || {
            format!("Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user'")
        })?;
        content(message, role, &place)?;
        for call in list(message, "tool_calls")? {
            open.push(call_id(call, &place)?);
        }
    }
    all_answered(&open)?;
    tools(body)
}

fn all_answered(open: &[&str]) -> Result<(), String> {
    ensure(open.is_empty(), || {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding \
             to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )
    })
}

fn call_id<'a>(call: &'a Value, place: &str) -> Result<&'a str, String> {
    let id = text(call, "id", place)?;
    if call["type"] == "custom" {
        text(&call["custom"], "name", place)?;
        return Ok(id);
    }
    ensure(call["type"] == "function", || format!("{place}.tool_calls: type is not function"))?;
    text(&call["function"], "name", place)?;
    let arguments = &call["function"]["arguments"];
    ensure(arguments.is_string(), || {
        format!("Invalid type for '{place}.tool_calls.function.arguments': expected a string")
    })?;
    Ok(id)
}

fn content(message: &Value, role: &str, place: &str) -> Result<(), String> {
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Null => {
            ensure(role == "assistant" && !list(message, "tool_calls")?.is_empty(), || {
                format!("Invalid value for 'content' of {place}: expected a string, got null.")
            })
        }
        Value::Array(parts) => parts.iter().try_for_each(|part| {
            let kind = part["type"].as_str().unwrap_or_default();
            let known = ["text", "input_audio", "file", "refusal"];
            // Some servers know more than images.
            ensure(known.contains(&kind) || kind.ends_with("_url"), || {
                format!("{place}: unknown content type '{kind}'")
            })?;
            ensure(kind != "image_url" || part["image_url"]["url"].is_string(), || {
                format!("Missing required parameter: '{place}.content.image_url.url'.")
            })
        }),
        other => Err(format!("{place}.content: {other}")),
    }
}

fn tools(body: &Value) -> Result<(), String> {
    list(body, "tools")?.iter().try_for_each(|tool| {
        let function = &tool["function"];
        ensure(tool["type"] != "function" || function["name"].is_string(), || {
            "Missing required parameter: 'tools[0].function.name'.".to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn check(messages: Value) -> Result<(), String> {
        super::check(&json!({"model": "m", "messages": messages}))
    }

    fn called(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "x"})
    }

    #[test]
    fn each_call_has_its_answer_behind_it() {
        let user = json!({"role": "user", "content": "hi"});
        assert_eq!(check(json!([user, called(&["a", "b"]), result("b"), result("a")])), Ok(()));
        for broken in [
            json!([user, called(&["a", "b"]), result("b")]),
            json!([user, called(&["a"]), user, result("a")]),
            json!([user, result("a")]),
            json!([user, {"role": "assistant", "content": null}]),
            json!([]),
        ] {
            assert!(check(broken.clone()).is_err(), "{broken}");
        }
    }
}
