//! Between the neutral transcript and the message objects of the API. Pure, in both directions.

use super::content::text_in;
use crate::wire::facts::{recall, recall_result, remember, remember_result};
use crate::wire::parts::{Media, Part, Source, content_parts};
use orlop_types::{Map, Message, NativeItem, Role, Value};
use serde_json::json;

/// The messages as the API takes them, one item each.
///
/// Images become `image_url` parts, other parts pass as they are. Tool calls pass if they have
/// the form of this API. Reasoning of another provider is remembered, not sent.
pub fn to_native(messages: &[Message]) -> Vec<NativeItem> {
    messages.iter().map(native).collect()
}

fn native(message: &Message) -> NativeItem {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role().as_str().into());
    match message.role() {
        Role::System | Role::User => {
            fields.insert("content".to_owned(), content(message.content(), message));
            NativeItem::from(fields)
        }
        Role::Assistant => {
            let calls: Vec<Value> = message
                .tool_calls()
                .filter(|call| is_native_call(call))
                .cloned()
                .map(Value::from)
                .collect();
            let content = match content(message.content(), message) {
                Value::String(text) if text.is_empty() && !calls.is_empty() => Value::Null,
                content => content,
            };
            fields.insert("content".to_owned(), content);
            if !calls.is_empty() {
                fields.insert("tool_calls".to_owned(), calls.into());
            }
            remember(message, NativeItem::from(fields))
        }
        Role::Tool => {
            if let Some(id) = message.metadata().get("tool_call_id").filter(|id| id.is_string()) {
                fields.insert("tool_call_id".to_owned(), id.clone());
            }
            let text = message.tool_result().and_then(|result| result.get("text"));
            let text = text.filter(|text| text.is_string()).unwrap_or(message.content());
            fields.insert("content".to_owned(), content(text, message));
            remember_result(message, NativeItem::from(fields))
        }
    }
}

fn is_native_call(call: &Map) -> bool {
    ["function", "custom"].iter().any(|kind| {
        call.get(*kind).and_then(|inner| inner.get("name")).is_some_and(Value::is_string)
    })
}

/// Text alone stays a string; with parts it becomes the first of them.
fn content(content: &Value, message: &Message) -> Value {
    let parts = content_parts(content, message);
    match parts.as_slice() {
        [] => "".into(),
        [Part::Text(text)] if !content.is_array() && message.multipart_content().is_empty() => {
            text.as_str().into()
        }
        _ => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image(image) => {
            let mut fields = json!({"url": image.url("image/png")});
            if let Some(detail) = &image.detail {
                fields["detail"] = detail.as_str().into();
            }
            json!({"type": "image_url", "image_url": fields})
        }
        Part::Audio(Media { source: Source::Data(data), media_type, .. }) => {
            let kind = media_type.as_deref().unwrap_or("audio/wav");
            let format = kind.rsplit('/').next().unwrap_or(kind);
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        Part::Audio(file) | Part::File(file) => {
            let mut fields = json!({"file_data": file.url("application/octet-stream")});
            if let Some(name) = &file.name {
                fields["filename"] = name.as_str().into();
            }
            json!({"type": "file", "file": fields})
        }
        Part::Other(part) => Value::Object(part.clone()),
    }
}

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// An item that is no message of a known role goes with the message before it, else with the next.
pub fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
    let mut messages: Vec<(Message, Vec<usize>)> = Vec::new();
    let mut waiting = Vec::new();
    for (position, item) in items.iter().enumerate() {
        match (message(item), messages.last_mut()) {
            (Some(message), _) => {
                let mut positions = std::mem::take(&mut waiting);
                positions.push(position);
                messages.push((message, positions));
            }
            (None, Some((_, positions))) => positions.push(position),
            (None, None) => waiting.push(position),
        }
    }
    messages
}

fn message(item: &NativeItem) -> Option<Message> {
    let role = match item.get("role")?.as_str()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let Split { mut text, thinking, parts } = split(item.get("content").unwrap_or(&Value::Null));
    let (mut metadata, mut result) = (Map::new(), None);
    match role {
        Role::Assistant => {
            let calls = item.get("tool_calls").and_then(Value::as_array);
            if let Some(calls) = calls.filter(|calls| !calls.is_empty()) {
                metadata.insert("tool_calls".to_owned(), calls.clone().into());
            }
            if let Some(refusal) = item.get("refusal").and_then(Value::as_str) {
                text.push_str(refusal);
            }
            if let Some(reasoning) = reasoning(item).or(thinking) {
                metadata.insert("reasoning".to_owned(), reasoning.into());
            }
            recall(item, &mut metadata);
        }
        Role::Tool => {
            if let Some(id) = item.get("tool_call_id").filter(|id| !id.is_null()) {
                metadata.insert("tool_call_id".to_owned(), id.clone());
            }
            result = recall_result(item, &mut metadata);
        }
        Role::System | Role::User => {}
    }
    let message = Message::new(role, text).with_metadata(metadata).with_multipart_content(parts);
    Some(match result {
        Some(result) => message.with_tool_result(result),
        None => message,
    })
}

/// Content, sorted.
#[derive(Default)]
struct Split {
    text: String,
    thinking: Option<String>,
    parts: Vec<Map>,
}

fn split(content: &Value) -> Split {
    let mut split = Split::default();
    match content {
        Value::Null => {}
        Value::String(text) => split.text.clone_from(text),
        Value::Array(items) => {
            for item in items {
                match (item.get("type").and_then(Value::as_str), item) {
                    (Some("text"), _) => split.text.push_str(&text_in(&item["text"])),
                    (Some("thinking"), _) => {
                        split
                            .thinking
                            .get_or_insert_default()
                            .push_str(&text_in(&item["thinking"]));
                    }
                    (_, Value::Object(part)) => split.parts.push(part.clone()),
                    (_, Value::String(text)) => split.text.push_str(text),
                    _ => {}
                }
            }
        }
        other => split.text = other.to_string(),
    }
    split
}

/// The reasoning of an assistant item, whatever the server calls it.
fn reasoning(item: &NativeItem) -> Option<String> {
    let named = ["reasoning_content", "reasoning", "reasoning_text"]
        .into_iter()
        .find_map(|key| item.get(key)?.as_str().filter(|text| !text.is_empty()));
    if let Some(text) = named {
        return Some(text.to_owned());
    }
    let blocks = item.get("reasoning_details")?.as_array()?;
    let text: String = blocks
        .iter()
        .filter_map(|block| block.get("text").or_else(|| block.get("summary"))?.as_str())
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing;
    use expect_test::{Expect, expect};

    fn check_to(message: Value, expected: Expect) {
        testing::check_to(to_native, json!([message]), expected);
    }

    fn check_from(items: Value, expected: Expect) {
        testing::check_from(from_native, items, expected);
    }

    #[test]
    fn text_stays_text() {
        check_to(
            json!({"role": "system", "content": "be brief"}),
            expect![[r#"{"role":"system","content":"be brief"}"#]],
        );
        check_to(
            json!({"role": "user", "content": "hi", "metadata": {"x": 1}}),
            expect![[r#"{"role":"user","content":"hi"}"#]],
        );
        check_to(
            json!({"role": "user", "content": null}),
            expect![[r#"{"role":"user","content":""}"#]],
        );
        check_to(
            json!({"role": "user", "content": {"a": [1]}}),
            expect![[r#"{"role":"user","content":"{\"a\":[1]}"}"#]],
        );
    }

    #[test]
    fn images_become_parts() {
        check_to(
            json!({"role": "user", "content": "see", "multipartContent": [
                {"type": "image", "url": "https://x/y.png", "detail": "low"},
                {"type": "image", "data": "QUJD", "media_type": "image/jpeg"},
            ]}),
            expect![[
                r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,QUJD"}}]}"#
            ]],
        );
        check_to(
            json!({"role": "user", "content": "", "multipartContent": [{"type": "image", "data": "QUJD"}]}),
            expect![[
                r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}"#
            ]],
        );
    }

    #[test]
    fn parts_that_are_native_or_unknown_pass() {
        check_to(
            json!({"role": "user", "content": "x", "multipartContent": [
                {"type": "text", "text": "y"},
                {"type": "image_url", "image_url": {"url": "u"}},
                {"type": "input_audio", "input_audio": {"data": "d", "format": "wav"}},
                {"type": "file", "file": {"file_id": "f"}},
                {"type": "odd", "z": 1.0},
                {"type": "image"},
            ]}),
            expect![[
                r#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"},{"type":"image_url","image_url":{"url":"u"}},{"type":"input_audio","input_audio":{"data":"d","format":"wav"}},{"type":"file","file":{"file_id":"f"}},{"type":"odd","z":1.0},{"type":"image"}]}"#
            ]],
        );
        check_to(
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "url": "u"}]}),
            expect![[
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}}]}"#
            ]],
        );
    }

    #[test]
    fn calls_of_this_form_pass_and_reasoning_stays_here() {
        check_to(
            json!({"role": "assistant", "content": "", "metadata": {
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra": 1},
                    {"type": "tool_use", "name": "other"},
                    {"id": "c", "type": "custom", "custom": {"name": "g", "input": ""}},
                ],
                "reasoning": "hm", "usage": {"total_tokens": 1}, "finish_reason": "tool_calls",
            }}),
            expect![[
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra":1},{"id":"c","type":"custom","custom":{"name":"g","input":""}}]} + {"finish_reason": String("tool_calls"), "usage": Object {"total_tokens": Number(1)}, "reasoning": String("hm")}"#
            ]],
        );
        check_to(
            json!({"role": "assistant", "content": ""}),
            expect![[r#"{"role":"assistant","content":""}"#]],
        );
    }

    #[test]
    fn a_tool_result_is_its_text() {
        check_to(
            json!({"role": "tool", "content": "shown", "tool_result": {"type": "tool_result", "text": "read"},
                "metadata": {"tool_call_id": "a", "tool_name": "f", "tool_plugin": "p"}}),
            expect![[
                r#"{"role":"tool","tool_call_id":"a","content":"read"} + {"tool_name": String("f"), "tool_plugin": String("p"), "tool_result": Object {"type": String("tool_result"), "text": String("read")}}"#
            ]],
        );
        check_to(
            json!({"role": "tool", "content": {"ok": true}, "tool_result": {"x": 1},
                "metadata": {"tool_call_id": null}}),
            expect![[
                r#"{"role":"tool","content":"{\"ok\":true}"} + {"tool_result": Object {"x": Number(1)}}"#
            ]],
        );
    }

    #[test]
    fn content_parts_are_sorted() {
        check_from(
            json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {"url": "u"}},
                    {"type": "text", "text": "b"},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "c"},
                ]},
                {"role": "developer", "content": "d"},
                {"role": "assistant", "content": null, "refusal": "no"},
            ]),
            expect![[r#"
                [0] {"role":"user","content":"ab","metadata":{},"multipartContent":[{"type":"image_url","image_url":{"url":"u"}}]}
                [1] {"role":"assistant","content":"c","metadata":{"reasoning":"hm"}}
                [2] {"role":"system","content":"d","metadata":{}}
                [3] {"role":"assistant","content":"no","metadata":{}}"#]],
        );
    }

    #[test]
    fn reasoning_is_found_under_every_name() {
        check_from(
            json!([
                {"role": "assistant", "content": "a", "reasoning_content": "r"},
                {"role": "assistant", "content": "a", "reasoning": "r"},
                {"role": "assistant", "content": "a", "reasoning": "",
                    "reasoning_details": [{"type": "reasoning.summary", "summary": "s"}, {"text": "t"}, {"data": "x"}]},
                {"role": "assistant", "content": "a", "_metadata": {"reasoning": "kept"}},
            ]),
            expect![[r#"
                [0] {"role":"assistant","content":"a","metadata":{"reasoning":"r"}}
                [1] {"role":"assistant","content":"a","metadata":{"reasoning":"r"}}
                [2] {"role":"assistant","content":"a","metadata":{"reasoning":"st"}}
                [3] {"role":"assistant","content":"a","metadata":{"reasoning":"kept"}}"#]],
        );
    }

    #[test]
    fn items_that_are_no_messages_go_with_a_neighbour() {
        check_from(
            json!([
                {"type": "odd"}, 7,
                {"role": "user", "content": "a"},
                {"role": "function", "name": "f", "content": "1"},
                {"role": "assistant", "content": "b"},
            ]),
            expect![[r#"
                [0, 1, 2, 3] {"role":"user","content":"a","metadata":{}}
                [4] {"role":"assistant","content":"b","metadata":{}}"#]],
        );
        check_from(json!([{"type": "odd"}]), expect![[""]]);
    }

    #[test]
    fn an_exchange_with_a_tool_comes_back_as_it_was() {
        let messages: Vec<Message> = [
            json!({"role": "system", "content": "be brief", "metadata": {}}),
            json!({"role": "user", "content": "see", "metadata": {},
                "multipartContent": [{"type": "image_url", "image_url": {"url": "u"}}]}),
            json!({"role": "assistant", "content": "", "metadata": {
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                "finish_reason": "tool_calls", "usage": {"total_tokens": 1}}}),
            json!({"role": "tool", "content": "1", "metadata": {"tool_call_id": "a", "tool_name": "f"}}),
            json!({"role": "assistant", "content": "one", "metadata": {"reasoning": "hm"}}),
        ]
        .into_iter()
        .map(|message| Message::from_json(message).unwrap())
        .collect();
        let items = to_native(&messages);
        let back = from_native(&items);
        for (position, (message, positions)) in back.iter().enumerate() {
            assert_eq!(message.to_json(), messages[position].to_json());
            assert_eq!(positions, &[position]);
        }
        let again: Vec<Message> = back.into_iter().map(|(message, _)| message).collect();
        assert_eq!(to_native(&again), items);
    }
}
