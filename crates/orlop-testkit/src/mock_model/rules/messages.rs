//! Anthropic messages: the user begins, results stand at the start of the turn behind their calls,
//! and what the model thought comes back as it was signed. Neighbours of one role are one turn.

use serde_json::Value;

use super::super::sign;
use super::{ensure, is_plain, list, text};

/// The longest name or id.
const LONGEST: usize = 128;

pub(in crate::mock_model) fn check(body: &Value) -> Result<(), String> {
    text(body, "model", "body")?;
    ensure(body["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0), || {
        "max_tokens: Field required".to_owned()
    })?;
    system(&body["system"])?;
    let messages = list(body, "messages")?;
    ensure(!messages.is_empty(), || "messages: at least one message is required".to_owned())?;
    let turns = turns(messages)?;
    ensure(turns[0].role == "user", || {
        "messages: first message must use the user role".to_owned()
    })?;
    let mut open: Vec<&str> = Vec::new();
    for (position, Turn { role, place, blocks }) in turns.iter().enumerate() {
        if *role == "user" {
            results(blocks, &open, place)?;
            open.clear();
        } else {
            open = calls(blocks, place)?;
            thinking(body, blocks, turns.len() - position, place)?;
        }
        blocks.iter().try_for_each(|block| content(block, role, place))?;
    }
    ensure(open.is_empty(), || unanswered(messages.len() - 1, &open))?;
    tools(body)
}

/// Messages of one role behind each other.
struct Turn<'a> {
    role: &'a str,
    place: String,
    blocks: Vec<&'a Value>,
}

fn turns(messages: &[Value]) -> Result<Vec<Turn<'_>>, String> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (position, message) in messages.iter().enumerate() {
        let place = format!("messages.{position}");
        let role = text(message, "role", &place)?;
        ensure(matches!(role, "user" | "assistant"), || {
            format!("{place}: Input should be 'user' or 'assistant', got '{role}'")
        })?;
        let blocks = blocks(message, &place)?;
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, place, blocks: blocks.iter().collect() }),
        }
    }
    Ok(turns)
}

fn system(system: &Value) -> Result<(), String> {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| {
            ensure(block["type"] == "text", || "system: only text is allowed".to_owned())?;
            text(block, "text", "system").map(|_| ())
        }),
        other => Err(format!("system: {other} is neither a string nor a list")),
    }
}

/// The blocks of a message; none for a plain text.
fn blocks<'a>(message: &'a Value, place: &str) -> Result<&'a [Value], String> {
    match &message["content"] {
        Value::String(said) if !said.is_empty() => Ok(&[]),
        Value::Array(blocks) if !blocks.is_empty() => Ok(blocks),
        _ => Err(format!(
            "{place}: all messages must have non-empty content except for the optional final \
             assistant message"
        )),
    }
}

fn calls<'a>(blocks: &[&'a Value], place: &str) -> Result<Vec<&'a str>, String> {
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    calls
        .map(|call| {
            let id = text(call, "id", place)?;
            for name in [id, text(call, "name", place)?] {
                ensure(is_plain(name, LONGEST), || {
                    format!(
                        "{place}.content.tool_use: '{name}' should match pattern '^[a-zA-Z0-9_-]+$'"
                    )
                })?;
            }
            ensure(call["input"].is_object(), || {
                format!("{place}.content.tool_use.input: Input should be a valid dictionary")
            })?;
            Ok(id)
        })
        .collect()
}

/// The results at the start of a user turn answer exactly the calls before it.
fn results(blocks: &[&Value], open: &[&str], place: &str) -> Result<(), String> {
    let is_result = |block: &&&Value| block["type"] == "tool_result";
    let results: Vec<&&Value> = blocks.iter().take_while(is_result).collect();
    ensure(blocks.iter().filter(is_result).count() == results.len(), || {
        format!("{place}: tool_result blocks must come before other content")
    })?;
    let ids: Vec<&str> =
        results.iter().filter_map(|result| result["tool_use_id"].as_str()).collect();
    for (position, id) in ids.iter().enumerate() {
        ensure(open.contains(id) && !ids[..position].contains(id), || {
            format!(
                "{place}.content: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                 Each `tool_result` block must have a corresponding `tool_use` block in the \
                 previous message."
            )
        })?;
    }
    let missing: Vec<&str> = open.iter().copied().filter(|id| !ids.contains(id)).collect();
    ensure(missing.is_empty(), || format!("{place}: {}", unanswered(0, &missing)))
}

fn unanswered(position: usize, ids: &[&str]) -> String {
    format!(
        "messages.{position}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        ids.join(", ")
    )
}

/// With a budget to think, the calls that wait for their results stand behind a thought.
fn thinking(body: &Value, blocks: &[&Value], from_end: usize, place: &str) -> Result<(), String> {
    let calls_tools = blocks.iter().any(|block| block["type"] == "tool_use");
    if body["thinking"]["type"] != "enabled" || !calls_tools || from_end != 2 {
        return Ok(());
    }
    let first = blocks.first().and_then(|block| block["type"].as_str()).unwrap_or_default();
    ensure(matches!(first, "thinking" | "redacted_thinking"), || {
        format!(
            "{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `{first}`. When `thinking` is enabled, a final `assistant` message must start with a \
             thinking block"
        )
    })
}

fn content(block: &Value, role: &str, place: &str) -> Result<(), String> {
    match (role, block["type"].as_str().unwrap_or_default()) {
        (_, "text") => text(block, "text", place)
            .map(|_| ())
            .map_err(|_| format!("{place}: text content blocks must be non-empty")),
        ("user", "tool_result") => match &block["content"] {
            Value::Array(parts) => parts.iter().try_for_each(|part| content(part, "result", place)),
            _ => Ok(()),
        },
        ("user" | "result", "image" | "document") => {
            let source = &block["source"];
            let data = || source["data"].is_string() && source["media_type"].is_string();
            let given = match source["type"].as_str().unwrap_or_default() {
                "base64" | "text" => data(),
                "url" => source["url"].is_string(),
                "file" => source["file_id"].is_string(),
                "content" => true,
                _ => false,
            };
            ensure(given, || format!("{place}: the source of an image or document is incomplete"))
        }
        ("user", "search_result" | "container_upload") | ("result", "tool_reference") => Ok(()),
        ("assistant", "thinking") => {
            let thought = block["thinking"].as_str().unwrap_or_default();
            let signature = block["signature"].as_str().unwrap_or_default();
            ensure(signature == sign::of("messages", thought), || {
                format!("{place}: Invalid `signature` in `thinking` block")
            })
        }
        ("assistant", "tool_use" | "redacted_thinking" | "server_tool_use" | "mcp_tool_use") => {
            Ok(())
        }
        ("assistant", kind) if kind.ends_with("_tool_result") => Ok(()),
        (_, kind) => Err(format!("{place}.content: Input tag '{kind}' is not allowed for {role}")),
    }
}

fn tools(body: &Value) -> Result<(), String> {
    list(body, "tools")?.iter().try_for_each(|tool| {
        // Tools of the server have a type of their own and no schema.
        if tool["type"].as_str().is_some_and(|kind| kind != "custom") {
            return Ok(());
        }
        let name = text(tool, "name", "tools")?;
        ensure(is_plain(name, LONGEST), || format!("tools: '{name}' is no name of a tool"))?;
        ensure(tool["input_schema"]["type"] == "object", || {
            "tools.0.custom.input_schema.type: Input should be 'object'".to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::sign;
    use serde_json::{Value, json};

    fn check(messages: Value) -> Result<(), String> {
        super::check(&json!({"model": "m", "max_tokens": 9, "messages": messages}))
    }

    fn user(blocks: Value) -> Value {
        json!({"role": "user", "content": blocks})
    }

    fn called(ids: &[&str]) -> Value {
        let thought =
            json!({"type": "thinking", "thinking": "hm", "signature": sign::of("messages", "hm")});
        let call = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
        let blocks: Vec<Value> = [thought].into_iter().chain(ids.iter().map(call)).collect();
        json!({"role": "assistant", "content": blocks})
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
    }

    #[test]
    fn results_stand_together_behind_their_calls() {
        let hi = user(json!("hi"));
        let said = json!({"type": "text", "text": "and?"});
        let both = user(json!([result("b"), result("a"), said]));
        assert_eq!(check(json!([hi, called(&["a", "b"]), both])), Ok(()));
        let apart = [user(json!([result("a")])), user(json!([result("b")]))];
        assert_eq!(check(json!([hi, hi, called(&["a", "b"]), apart[0], apart[1]])), Ok(()));
        for broken in [
            json!([hi, called(&["a", "b"]), user(json!([result("a")]))]),
            json!([hi, called(&["a"]), user(json!([said, result("a")]))]),
            json!([hi, called(&["a"])]),
            json!([hi, called(&["a"]), user(json!([said])), user(json!([result("a")]))]),
            json!([hi, user(json!([result("a")]))]),
            json!([hi, called(&["functions.f:0"]), user(json!([result("functions.f:0")]))]),
            json!([called(&["a"]), user(json!([result("a")]))]),
            json!([user(json!(""))]),
        ] {
            assert!(check(broken.clone()).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_changed_thought_is_noticed() {
        let mut called = called(&["a"]);
        called["content"][0]["thinking"] = json!("hmm");
        let error = check(json!([user(json!("hi")), called, user(json!([result("a")]))]));
        assert!(error.is_err_and(|error| error.contains("Invalid `signature`")));
    }

    #[test]
    fn the_longest_answer_has_to_be_said() {
        let body = json!({"model": "m", "messages": [user(json!("hi"))]});
        assert_eq!(super::check(&body), Err("max_tokens: Field required".to_owned()));
    }
}
