//! OpenAI responses: calls and outputs come in pairs, and a thought stands before what it led to.

use serde_json::Value;

use super::super::sign;
use super::{ensure, list, text};

/// The longest id of a call.
const LONGEST_CALL_ID: usize = 64;

pub(in crate::mock_model) fn check(body: &Value) -> Result<(), String> {
    text(body, "model", "body")?;
    if body["input"].is_string() {
        return Ok(());
    }
    let items = list(body, "input")?;
    // What was said before may be with the server.
    let goes_on = ["previous_response_id", "conversation"].iter().any(|it| !body[*it].is_null());
    ensure(goes_on || !items.is_empty(), || "Missing required parameter: 'input'.".to_owned())?;
    let stored = body["store"] != false;
    for (position, item) in items.iter().enumerate() {
        let place = format!("input[{position}]");
        id(item, &place)?;
        match kind(item) {
            "message" => message(item, &place)?,
            "function_call" => {
                let call_id = call_id(item, &place)?;
                text(item, "name", &place)?;
                ensure(item["arguments"].is_string(), || {
                    format!("Invalid type for '{place}.arguments': expected a string")
                })?;
                let answers = items.iter().filter(|other| answers(other, call_id)).count();
                ensure(answers == 1, || {
                    format!("No tool output found for function call {call_id}.")
                })?;
            }
            "function_call_output" => {
                let call_id = call_id(item, &place)?;
                let calls = |other: &Value| {
                    kind(other) == "function_call" && other["call_id"].as_str() == Some(call_id)
                };
                ensure(goes_on || items[..position].iter().any(calls), || {
                    format!("No tool call found for function call output with call_id {call_id}.")
                })?;
                let output = &item["output"];
                ensure(output.is_string() || output.is_array(), || {
                    format!("Invalid type for '{place}.output'")
                })?;
            }
            "reasoning" => reasoning(item, items.get(position + 1), stored)?,
            // Calls of tools that the server runs.
            kind if kind.ends_with("_call") || kind.ends_with("_output") => {}
            "mcp_list_tools" | "mcp_approval_request" | "mcp_approval_response" => {}
            "additional_tools" | "compaction" => {}
            "item_reference" if stored => {}
            kind => return Err(format!("Invalid value: '{kind}' at '{place}.type'.")),
        }
    }
    list(body, "tools")?.iter().try_for_each(|tool| {
        ensure(tool["type"] != "function" || tool["name"].is_string(), || {
            "Missing required parameter: 'tools[0].name'.".to_owned()
        })
    })
}

/// Messages may leave their type out.
fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or(if item["role"].is_string() { "message" } else { "" })
}

fn answers(item: &Value, call_id: &str) -> bool {
    kind(item) == "function_call_output" && item["call_id"].as_str() == Some(call_id)
}

fn call_id<'a>(item: &'a Value, place: &str) -> Result<&'a str, String> {
    let id = text(item, "call_id", place)?;
    ensure(id.len() <= LONGEST_CALL_ID, || {
        format!(
            "Invalid '{place}.call_id': string too long. Expected a string with maximum length 64"
        )
    })?;
    Ok(id)
}

/// Ids of items are the server's own, and tell the kind of item.
fn id(item: &Value, place: &str) -> Result<(), String> {
    let Some(id) = item["id"].as_str() else { return Ok(()) };
    let prefix = match kind(item) {
        "message" => "msg",
        "function_call" | "function_call_output" => "fc",
        "reasoning" => "rs",
        _ => return Ok(()),
    };
    ensure(id.starts_with(prefix), || {
        format!("Invalid '{place}.id': '{id}'. Expected an ID that begins with '{prefix}'.")
    })
}

fn message(item: &Value, place: &str) -> Result<(), String> {
    let role = text(item, "role", place)?;
    let known: &[&str] = match role {
        "user" => &["input_text", "input_image", "input_file"],
        "system" | "developer" => &["input_text"],
        "assistant" => &["output_text", "refusal"],
        _ => return Err(format!("Invalid value: '{role}' at '{place}.role'.")),
    };
    match &item["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) => parts.iter().try_for_each(|part| {
            let kind = part["type"].as_str().unwrap_or_default();
            ensure(known.contains(&kind), || {
                format!("Invalid value: '{kind}'. Supported values are: {known:?}")
            })?;
            let image = kind == "input_image";
            ensure(!image || part["image_url"].is_string() || part["file_id"].is_string(), || {
                format!("Invalid type for '{place}.content.image_url': expected an image URL")
            })
        }),
        other => Err(format!("Invalid type for '{place}.content': {other}")),
    }
}

fn reasoning(item: &Value, next: Option<&Value>, stored: bool) -> Result<(), String> {
    let id = item["id"].as_str().unwrap_or_default();
    let summary = list(item, "summary")?;
    ensure(item["summary"].is_array(), || "Missing required parameter: 'summary'.".to_owned())?;
    match item["encrypted_content"].as_str() {
        Some(encrypted) => {
            let said: String = summary.iter().filter_map(|part| part["text"].as_str()).collect();
            ensure(encrypted == sign::of("responses", &said), || {
                format!("The encrypted content for item {id} could not be verified.")
            })?;
        }
        None => ensure(stored, || {
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to \
                 false. Try again with `store` set to true, or remove this item from your input."
            )
        })?,
    }
    let led_to = |next: &Value| match kind(next) {
        "message" => next["role"] == "assistant",
        "function_call_output" => false,
        _ => true,
    };
    ensure(next.is_some_and(led_to), || {
        format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::sign;
    use serde_json::{Value, json};

    fn check(input: Value) -> Result<(), String> {
        super::check(&json!({"model": "m", "store": false, "input": input}))
    }

    fn thought() -> Value {
        json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": sign::of("responses", "")})
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "x"})
    }

    #[test]
    fn calls_have_outputs_and_thoughts_lead_somewhere() {
        let hi = json!({"role": "user", "content": "hi"});
        let whole = [hi.clone(), thought(), call("a"), call("b"), output("b"), output("a")];
        assert_eq!(check(json!(whole)), Ok(()));
        let mut changed = thought();
        changed["summary"] = json!([{"type": "summary_text", "text": "x"}]);
        for broken in [
            json!([hi, call("a")]),
            json!([hi, output("a")]),
            json!([hi, thought()]),
            json!([hi, thought(), hi]),
            json!([hi, changed, call("a"), output("a")]),
            json!([hi, {"type": "reasoning", "id": "rs_1", "summary": []}, call("a"), output("a")]),
            json!([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]),
            json!([{"role": "user", "content": "hi", "id": "call_1"}]),
        ] {
            assert!(check(broken.clone()).is_err(), "{broken}");
        }
    }
}
