//! Native items to the engine's messages, and its answers to native items.

use crate::wire::{Facts, Finish, Usage, call_fragment};
use orlop_core::{NativeItem, Value};
use orlop_local::{Call, Completion, Message};
use orlop_types::{Map, Partial};
use serde_json::json;

/// The conversation as the engine takes it. What is no text is left out: the model cannot see it.
pub(super) fn messages<'a>(items: impl Iterator<Item = &'a NativeItem>) -> Vec<Message> {
    items.filter_map(message).collect()
}

fn message(item: &NativeItem) -> Option<Message> {
    let role = match item.get("role")?.as_str()? {
        "developer" => "system",
        role @ ("system" | "user" | "assistant" | "tool") => role,
        _ => return None,
    };
    let calls = item.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    Some(Message {
        role: role.to_owned(),
        content: item.get("content").map(text).unwrap_or_default(),
        calls: calls.filter_map(call).collect(),
    })
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn call(call: &Value) -> Option<Call> {
    let function = call.get("function")?;
    let name = function.get("name")?.as_str()?.to_owned();
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Object(fields)) => fields.clone(),
        _ => Map::new(),
    };
    Some(Call { name, arguments })
}

/// What an answer becomes: the item, and the fragment that shows its calls.
pub(super) fn finished(completion: &Completion, model: &str) -> (NativeItem, Partial) {
    let calls: Vec<(String, &Call)> =
        completion.calls.iter().map(|call| (call_id(), call)).collect();
    let content = match completion.text.is_empty() && !calls.is_empty() {
        true => Value::Null,
        false => completion.text.as_str().into(),
    };
    let mut item = json!({ "role": "assistant", "content": content });
    let arguments = |call: &Call| Value::Object(call.arguments.clone()).to_string();
    if !calls.is_empty() {
        let native = |(id, call): &(String, &Call)| {
            let function = json!({ "name": call.name, "arguments": arguments(call) });
            json!({ "id": id, "type": "function", "function": function })
        };
        item["tool_calls"] = calls.iter().map(native).collect();
    }
    let fragment = |(index, (id, call)): (usize, &(String, &Call))| {
        call_fragment(index, Some(id), Some(&call.name), &arguments(call))
    };
    let tool_calls = calls.iter().enumerate().map(fragment).collect();
    let facts = facts(completion, model);
    (facts.beside(NativeItem::from(item)), Partial { tool_calls, ..Partial::default() })
}

fn facts(completion: &Completion, model: &str) -> Facts {
    let usage = completion.usage;
    let finish = match completion.finish {
        orlop_local::Finish::Stop => Some(Finish::Stop),
        orlop_local::Finish::ToolCalls => Some(Finish::ToolCalls),
        orlop_local::Finish::Length => Some(Finish::Length),
        orlop_local::Finish::Cancelled => None,
    };
    Facts {
        finish,
        model: Some(model.to_owned()),
        usage: Some(Usage {
            input: usage.prompt as u64,
            output: usage.output as u64,
            cache_read: Some(usage.cached as u64),
            ..Usage::default()
        }),
        ..Facts::default()
    }
}

/// An id that no other call of the conversation has.
fn call_id() -> String {
    format!("call_{}", uuid::Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn items_of_every_role_are_understood() {
        let items = [
            json!({"role": "developer", "content": "be brief"}),
            json!({"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url"}, {"type": "text", "text": "this"}]}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "broken"}},
                {"type": "other"},
            ]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "1"}),
            json!({"role": "function", "content": "old"}),
            json!({"type": "odd"}),
        ];
        let items = items.map(NativeItem::from);
        let seen: Vec<_> = messages(items.iter()).iter().map(|it| format!("{it:?}")).collect();
        expect![[r#"
            Message { role: "system", content: "be brief", calls: [] }
            Message { role: "user", content: "see\nthis", calls: [] }
            Message { role: "assistant", content: "", calls: [Call { name: "f", arguments: {"x": Number(1)} }, Call { name: "g", arguments: {} }] }
            Message { role: "tool", content: "1", calls: [] }"#]].assert_eq(&seen.join("\n"));
    }

    #[test]
    fn an_answer_becomes_an_item_with_its_facts() {
        let arguments = Map::from_iter([("x".to_owned(), 1.into())]);
        let completion = Completion {
            text: String::new(),
            calls: vec![Call { name: "f".into(), arguments }],
            usage: orlop_local::Usage { prompt: 10, cached: 4, output: 3 },
            finish: orlop_local::Finish::ToolCalls,
        };
        let (item, partial) = finished(&completion, "smollm2");
        let id = item.value()["tool_calls"][0]["id"].as_str().unwrap().to_owned();
        let seen = format!("{item:?}\n{}", serde_json::to_string(&partial).unwrap());
        expect![[r#"
            {"role":"assistant","content":null,"tool_calls":[{"id":"ID","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]} + {"finish_reason": String("tool_calls"), "model": String("smollm2"), "usage": Object {"input_tokens": Number(10), "output_tokens": Number(3), "total_tokens": Number(13), "cache_read_tokens": Number(4)}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"ID","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}"#]].assert_eq(&seen.replace(&id, "ID"));
        assert_ne!(call_id(), call_id());
    }
}
