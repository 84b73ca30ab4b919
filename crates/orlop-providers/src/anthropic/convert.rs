//! Between the neutral transcript and the message objects of the API. Pure, in both directions.

use super::content::{Takes, blocks, pictures, text_block};
use super::ids::Ids;
use crate::wire::facts::{recall, recall_result, remember, remember_result};
use orlop_types::{Map, Message, NativeItem, Role, Value};
use serde_json::json;

/// The only key in the input of a tool call that was no JSON object: the API takes nothing but
/// objects back. Its value is the text as the model wrote it; messages show the call with this
/// text as its input, so that it is reported as broken.
pub const INVALID_JSON: &str = "_invalid_json";

/// The messages as the API takes them, one item each. [`request`](super::request) puts those
/// together that must stand in one message of the API.
///
/// Tool calls pass if they have the form of this API. Reasoning of another provider is
/// remembered, not sent.
pub fn to_native(messages: &[Message]) -> Vec<NativeItem> {
    let mut ids = Ids::default();
    messages.iter().map(|message| native(message, &mut ids)).collect()
}

fn native(message: &Message, ids: &mut Ids) -> NativeItem {
    match message.role() {
        Role::System => item("system", blocks(message.content(), message, Takes::Text)),
        Role::User => item("user", blocks(message.content(), message, Takes::Everything)),
        Role::Assistant => {
            let mut said = blocks(message.content(), message, Takes::Text);
            if message.tool_calls().next().is_some() {
                ids.next_answer();
            }
            said.extend(message.tool_calls().map(|made| call(made, ids)));
            remember(message, item("assistant", said))
        }
        Role::Tool => remember_result(message, item("user", vec![result(message, ids)])),
    }
}

/// Text alone stays a string.
fn item(role: &str, blocks: Vec<Value>) -> NativeItem {
    let content = match blocks.as_slice() {
        [only] if only["type"] == "text" && only.as_object().is_some_and(|it| it.len() == 2) => {
            only["text"].clone()
        }
        _ => blocks.into(),
    };
    NativeItem::from(json!({ "role": role, "content": content }))
}

/// A tool call as a block. One that cannot be answered, for want of an id, becomes text.
fn call(call: &Map, ids: &mut Ids) -> Value {
    let named = text(call, "name").filter(|_| text(call, "type") == Some("tool_use"));
    let (Some(_), Some(id)) = (named, text(call, "id")) else {
        return text_block(&format!("[called a tool: {}]", Value::Object(call.clone())));
    };
    let id = ids.of_call(id);
    let mut call = call.clone();
    call.insert("id".to_owned(), id.into());
    match call.get("input") {
        Some(Value::Object(_)) => {}
        None | Some(Value::Null) => {
            call.insert("input".to_owned(), json!({}));
        }
        Some(Value::String(text)) if text.trim().is_empty() => {
            call.insert("input".to_owned(), json!({}));
        }
        Some(other) => {
            let input = json!({ INVALID_JSON: other });
            call.insert("input".to_owned(), input);
        }
    }
    Value::Object(call)
}

fn result(message: &Message, ids: &mut Ids) -> Value {
    let structured = message.tool_result();
    let said = structured.and_then(|result| result.get("text")).filter(|text| text.is_string());
    let mut content = blocks(said.unwrap_or(message.content()), message, Takes::Everything);
    content.extend(structured.map(pictures).unwrap_or_default());
    let id = message.metadata().get("tool_call_id").and_then(Value::as_str);
    let mut result =
        json!({ "type": "tool_result", "tool_use_id": ids.of_result(id.unwrap_or("")) });
    result["content"] = match content.as_slice() {
        [] => "".into(),
        [only] if only["type"] == "text" => only["text"].clone(),
        _ => content.into(),
    };
    if message.metadata().get("tool_error").is_some_and(|failed| failed == true) {
        result["is_error"] = true.into();
    }
    result
}

fn text<'a>(fields: &'a Map, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// Each tool result is a message of its own. An item that is no message of a known role goes with
/// the message before it, else with the next.
pub fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
    let mut messages: Vec<(Message, Vec<usize>)> = Vec::new();
    let mut waiting = Vec::new();
    for (position, item) in items.iter().enumerate() {
        let read = read(item);
        match messages.last_mut() {
            _ if !read.is_empty() => {
                let mut positions = std::mem::take(&mut waiting);
                positions.push(position);
                messages.extend(read.into_iter().map(|message| (message, positions.clone())));
            }
            Some((_, positions)) => positions.push(position),
            None => waiting.push(position),
        }
    }
    messages
}

fn read(item: &NativeItem) -> Vec<Message> {
    let content = item.get("content").unwrap_or(&Value::Null);
    match item.get("role").and_then(Value::as_str) {
        Some("system") => vec![Sorted::of(content).message(Role::System)],
        Some("assistant") => vec![assistant(item, content)],
        Some("user") => user(item, content),
        _ => Vec::new(),
    }
}

/// What the model said. What the server's own tools did stays in the item: no other model has
/// these tools, and this one gets the item itself.
fn assistant(item: &NativeItem, content: &Value) -> Message {
    let sorted = Sorted::of(content);
    let mut metadata = Map::new();
    if !sorted.calls.is_empty() {
        metadata.insert("tool_calls".to_owned(), sorted.calls.clone().into());
    }
    if !sorted.reasoning.is_empty() {
        metadata.insert("reasoning".to_owned(), sorted.reasoning.as_str().into());
    }
    recall(item, &mut metadata);
    Message::assistant(sorted.text).with_metadata(metadata)
}

/// The results of tools, then what the person said with them.
fn user(item: &NativeItem, content: &Value) -> Vec<Message> {
    let sorted = Sorted::of(content);
    let only = sorted.results.len() == 1;
    let results = sorted.results.iter().map(|result| tool(result, only.then_some(item)));
    let mut messages: Vec<Message> = results.collect();
    if messages.is_empty() || !sorted.text.is_empty() || !sorted.parts.is_empty() {
        messages.push(sorted.message(Role::User));
    }
    messages
}

/// A tool result; `item` is what it stands in alone.
fn tool(result: &Map, item: Option<&NativeItem>) -> Message {
    let mut metadata = Map::new();
    if let Some(id) = text(result, "tool_use_id") {
        metadata.insert("tool_call_id".to_owned(), id.into());
    }
    if result.get("is_error").is_some_and(|failed| failed == true) {
        metadata.insert("tool_error".to_owned(), true.into());
    }
    let structured = item.and_then(|item| recall_result(item, &mut metadata));
    let mut sorted = Sorted::lines(result.get("content").unwrap_or(&Value::Null));
    // Its pictures come out of it again.
    if structured.as_ref().is_some_and(|result| !pictures(result).is_empty()) {
        sorted.parts.clear();
    }
    let message = sorted.message(Role::Tool).with_metadata(metadata);
    match structured {
        Some(structured) => message.with_tool_result(structured),
        None => message,
    }
}

/// Content, sorted.
#[derive(Default)]
struct Sorted {
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    results: Vec<Map>,
    parts: Vec<Map>,
}

impl Sorted {
    fn of(content: &Value) -> Self {
        Self::joined(content, "")
    }

    /// With a line for each text: those of a result are apart, those of an answer are not.
    fn lines(content: &Value) -> Self {
        Self::joined(content, "\n")
    }

    fn joined(content: &Value, separator: &str) -> Self {
        let mut sorted = Self::default();
        let blocks = match content {
            Value::String(text) => {
                sorted.text.clone_from(text);
                return sorted;
            }
            Value::Array(blocks) => blocks,
            _ => return sorted,
        };
        for block in blocks.iter().filter_map(Value::as_object) {
            match text(block, "type").unwrap_or_default() {
                "text" => {
                    let text = text(block, "text").unwrap_or_default();
                    if !sorted.text.is_empty() {
                        sorted.text.push_str(separator);
                    }
                    sorted.text.push_str(text);
                }
                "thinking" => sorted.reasoning.push_str(text(block, "thinking").unwrap_or("")),
                "tool_use" => sorted.calls.push(Value::Object(as_made(block))),
                "tool_result" => sorted.results.push(block.clone()),
                _ => sorted.parts.push(block.clone()),
            }
        }
        sorted
    }

    fn message(self, role: Role) -> Message {
        Message::new(role, self.text).with_multipart_content(self.parts)
    }
}

/// A call with its input as the model wrote it, where that was no JSON object.
fn as_made(call: &Map) -> Map {
    let input = call.get("input").and_then(Value::as_object).filter(|input| input.len() == 1);
    let mut made = call.clone();
    if let Some(broken) = input.and_then(|input| input.get(INVALID_JSON)) {
        made.insert("input".to_owned(), broken.clone());
    }
    made
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
            expect![[r#"{"role":"user","content":[]}"#]],
        );
        check_to(
            json!({"role": "user", "content": {"a": [1]}}),
            expect![[r#"{"role":"user","content":"{\"a\":[1]}"}"#]],
        );
    }

    #[test]
    fn calls_become_blocks_that_the_api_takes() {
        check_to(
            json!({"role": "assistant", "content": "so", "metadata": {
                "tool_calls": [
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}, "caller": {"type": "direct"}},
                    {"type": "tool_use", "id": "functions.f:0", "name": "f", "input": ""},
                    {"type": "tool_use", "id": "c", "name": "f", "input": "{\"x\":"},
                    {"type": "tool_use", "id": null, "name": "f", "input": {}},
                ],
                "reasoning": "hm", "usage": {"total_tokens": 1}, "finish_reason": "tool_calls",
            }}),
            expect![[
                r#"{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"x":1},"caller":{"type":"direct"}},{"type":"tool_use","id":"functions_f_0","name":"f","input":{}},{"type":"tool_use","id":"c","name":"f","input":{"_invalid_json":"{\"x\":"}},{"type":"text","text":"[called a tool: {\"type\":\"tool_use\",\"id\":null,\"name\":\"f\",\"input\":{}}]"}]} + {"finish_reason": String("tool_calls"), "usage": Object {"total_tokens": Number(1)}, "reasoning": String("hm")}"#
            ]],
        );
        check_to(
            json!({"role": "assistant", "content": ""}),
            expect![[r#"{"role":"assistant","content":[]}"#]],
        );
    }

    #[test]
    fn calls_that_share_an_id_are_told_apart() {
        let call = json!({"type": "tool_use", "id": "0", "name": "f", "input": {}});
        let answer =
            json!({"role": "assistant", "content": "", "metadata": {"tool_calls": [call]}});
        let result = json!({"role": "tool", "content": "x", "metadata": {"tool_call_id": "0"}});
        let messages = [&answer, &result, &answer, &result];
        let messages = messages.map(|message| Message::from_json(message.clone()).unwrap());
        let seen: Vec<String> =
            to_native(&messages).iter().map(|it| it.wire().to_owned()).collect();
        expect![[r#"
            {"role":"assistant","content":[{"type":"tool_use","id":"0","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"0","content":"x"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"0_2","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"0_2","content":"x"}]}"#]]
        .assert_eq(&seen.join("\n"));
    }

    #[test]
    fn results_become_blocks() {
        check_to(
            json!({"role": "tool", "content": "shown", "tool_result": {"type": "tool_result", "text": "read"},
                "metadata": {"tool_call_id": "functions.f:0", "tool_name": "f", "tool_error": true}}),
            expect![[
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0","content":"read","is_error":true}]} + {"tool_name": String("f"), "tool_result": Object {"type": String("tool_result"), "text": String("read")}}"#
            ]],
        );
        check_to(
            json!({"role": "tool", "content": "a picture", "metadata": {"tool_call_id": "a"},
                "tool_result": {"content": [{"type": "text", "text": "a picture"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}]}}),
            expect![[
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"a picture"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}]} + {"tool_result": Object {"content": Array [Object {"type": String("text"), "text": String("a picture")}, Object {"type": String("image"), "data": String("QUJD"), "mimeType": String("image/png")}]}}"#
            ]],
        );
        check_to(
            json!({"role": "tool", "content": "", "metadata": {"tool_call_id": null},
                "multipartContent": [{"type": "image", "url": "https://x/y.png"}]}),
            expect![[
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"","content":[{"type":"image","source":{"type":"url","url":"https://x/y.png"}}]}]}"#
            ]],
        );
        check_to(
            json!({"role": "tool", "content": "", "metadata": {"tool_call_id": "a"}}),
            expect![[
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}"#
            ]],
        );
    }

    #[test]
    fn an_answer_is_one_message() {
        check_from(
            json!([{"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "a", "citations": [{"url": "u"}]},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                {"type": "text", "text": "b"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "d", "name": "f", "input": {"_invalid_json": "{\"x\":"}},
            ]}]),
            expect![[
                r#"[0] {"role":"assistant","content":"ab","metadata":{"tool_calls":[{"type":"tool_use","id":"c","name":"f","input":{"x":1}},{"type":"tool_use","id":"d","name":"f","input":"{\"x\":"}],"reasoning":"hm"}}"#
            ]],
        );
    }

    #[test]
    fn results_in_one_item_are_messages_of_their_own() {
        check_from(
            json!([
                {"type": "odd"},
                {"role": "system", "content": [{"type": "text", "text": "s"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}, {"type": "image", "source": {"type": "url", "url": "u"}}]},
                    {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true},
                    {"type": "text", "text": "and?"},
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
                7,
                {"role": "user", "content": []},
            ]),
            expect![[r#"
                [0, 1] {"role":"system","content":"s","metadata":{}}
                [2] {"role":"tool","content":"1\n2","metadata":{"tool_call_id":"a"},"multipartContent":[{"type":"image","source":{"type":"url","url":"u"}}]}
                [2] {"role":"tool","content":"no","metadata":{"tool_call_id":"b","tool_error":true}}
                [2] {"role":"user","content":"and?","metadata":{}}
                [3, 4] {"role":"tool","content":"","metadata":{"tool_call_id":"c"}}
                [5] {"role":"user","content":"","metadata":{}}"#]],
        );
    }

    #[test]
    fn an_exchange_with_a_tool_comes_back_as_it_was() {
        let messages: Vec<Message> = [
            json!({"role": "system", "content": "be brief", "metadata": {}}),
            json!({"role": "user", "content": "see", "metadata": {},
                "multipartContent": [{"type": "image", "source": {"type": "url", "url": "u"}}]}),
            json!({"role": "assistant", "content": "", "metadata": {
                "tool_calls": [
                    {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "f", "input": "{\"x\":"},
                ],
                "finish_reason": "tool_calls", "usage": {"total_tokens": 1}}}),
            json!({"role": "tool", "content": "1", "metadata": {"tool_call_id": "a", "tool_name": "f"}}),
            json!({"role": "tool", "content": "p", "metadata": {"tool_call_id": "b", "tool_error": true},
                "tool_result": {"content": [{"type": "text", "text": "p"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}]}}),
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
