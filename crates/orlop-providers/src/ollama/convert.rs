//! Between the neutral transcript and the message objects of the API. Pure, in both directions.

use super::call_ids::with_ids;
use super::pictures::{read, sorted};
use crate::wire::facts::{recall, recall_result, remember, remember_result};
use orlop_types::{Map, Message, NativeItem, Role, Value};

/// The messages as the API takes them, one item each.
///
/// Pictures go inline, other parts become a text that says so. Tool calls pass if they have the
/// form of this API. Reasoning of another provider is remembered, not sent.
pub fn to_native(messages: &[Message]) -> Vec<NativeItem> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        for call in message.tool_calls() {
            let name = call.get("function").and_then(|function| function.get("name")?.as_str());
            names.extend(call.get("id").and_then(Value::as_str).zip(name));
        }
        items.push(native(message, &names));
    }
    items
}

/// `names`: the ids of the calls so far, and what they called.
fn native(message: &Message, names: &[(&str, &str)]) -> NativeItem {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role().as_str().into());
    let result = message.tool_result().and_then(|result| result.get("text"));
    let content = match message.role() {
        Role::Tool => result.filter(|text| text.is_string()).unwrap_or(message.content()),
        _ => message.content(),
    };
    let mut content = sorted(content, message);
    fields.insert("content".to_owned(), std::mem::take(&mut content.text).into());
    content.put_images(&mut fields);
    match message.role() {
        Role::System | Role::User => content.remember(fields.into()),
        Role::Assistant => {
            let calls: Vec<Value> = message
                .tool_calls()
                .filter(|call| is_native_call(call))
                .cloned()
                .map(Value::from)
                .collect();
            if !calls.is_empty() {
                fields.insert("tool_calls".to_owned(), calls.into());
            }
            content.remember(remember(message, fields.into()))
        }
        Role::Tool => {
            let told = |key: &str| message.metadata().get(key).and_then(Value::as_str);
            let id = told("tool_call_id");
            let called = || names.iter().rev().find(|(known, _)| Some(*known) == id);
            // Servers find the call by its name; those that know ids like to have both.
            if let Some(name) = told("tool_name").or_else(|| Some(called()?.1)) {
                fields.insert("tool_name".to_owned(), name.into());
            }
            if let Some(id) = id {
                fields.insert("tool_call_id".to_owned(), id.into());
            }
            content.remember(remember_result(message, fields.into()))
        }
    }
}

fn is_native_call(call: &Map) -> bool {
    let function = call.get("function");
    let has =
        |key: &str, is: fn(&Value) -> bool| function.and_then(|it| it.get(key)).is_some_and(is);
    has("name", Value::is_string) && has("arguments", Value::is_object)
}

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// An item that is no message of a known role goes with the message before it, else with the next.
pub fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
    let mut messages: Vec<(Message, Vec<usize>)> = Vec::new();
    let (mut waiting, mut open) = (Vec::new(), Open::default());
    for (position, item) in items.iter().enumerate() {
        match (message(item, &mut open), messages.last_mut()) {
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

/// Calls whose results have not come: id and name. Older servers pair them by order and name.
#[derive(Default)]
struct Open(Vec<(String, String)>);

impl Open {
    fn add(&mut self, calls: &[Map]) {
        for call in calls {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let name = call.get("function").and_then(|function| function.get("name")?.as_str());
            self.0.push((id.to_owned(), name.unwrap_or_default().to_owned()));
        }
    }

    /// Takes the call that `item` is the result of.
    fn take(&mut self, item: &NativeItem) -> Option<(String, String)> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
        let at = match (text("tool_call_id"), text("tool_name")) {
            (Some(id), _) => self.0.iter().position(|(open, _)| open == id)?,
            (None, Some(name)) => self.0.iter().position(|(_, open)| open == name)?,
            (None, None) if self.0.is_empty() => return None,
            (None, None) => 0,
        };
        Some(self.0.remove(at))
    }
}

fn message(item: &NativeItem, open: &mut Open) -> Option<Message> {
    let role = match item.get("role")?.as_str()? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let (text, parts) = read(item);
    let (mut metadata, mut result) = (Map::new(), None);
    match role {
        Role::Assistant => {
            let calls = with_ids(item);
            open.add(&calls);
            if !calls.is_empty() {
                metadata.insert("tool_calls".to_owned(), calls.into());
            }
            let thinking = item.get("thinking").and_then(Value::as_str);
            if let Some(thinking) = thinking.filter(|thinking| !thinking.is_empty()) {
                metadata.insert("reasoning".to_owned(), thinking.into());
            }
            recall(item, &mut metadata);
        }
        Role::Tool => {
            let call = open.take(item);
            let paired = call.map(|(id, name)| (Value::from(id), Value::from(name)));
            let (paired_id, paired_name) = paired.unzip();
            for (key, paired) in [("tool_call_id", paired_id), ("tool_name", paired_name)] {
                let given = item.get(key).filter(|value| !value.is_null()).cloned();
                if let Some(value) = given.or(paired) {
                    metadata.insert(key.to_owned(), value);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{self, messages};
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check_to(messages: Value, expected: Expect) {
        testing::check_to(to_native, messages, expected);
    }

    fn check_from(items: Value, expected: Expect) {
        testing::check_from(from_native, items, expected);
    }

    /// There and back gives the same, and the same again.
    fn check_both(list: Value) {
        let messages = messages(list);
        let items = to_native(&messages);
        let back = from_native(&items);
        assert_eq!(back.len(), messages.len());
        for (position, (message, positions)) in back.iter().enumerate() {
            assert_eq!(message.to_json(), messages[position].to_json());
            assert_eq!(positions, &[position]);
        }
        let again: Vec<Message> = back.into_iter().map(|(message, _)| message).collect();
        assert_eq!(to_native(&again), items);
    }

    #[test]
    fn text_stays_text() {
        check_to(
            json!([
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi", "metadata": {"x": 1}},
                {"role": "user", "content": null},
                {"role": "user", "content": {"a": [1]}},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            ]),
            expect![[r#"
                {"role":"system","content":"be brief"}
                {"role":"user","content":"hi"}
                {"role":"user","content":""}
                {"role":"user","content":"{\"a\":[1]}"}
                {"role":"user","content":"a\nb"}"#]],
        );
    }

    #[test]
    fn pictures_go_inline_and_other_parts_are_told_of() {
        check_to(
            json!([
                {"role": "user", "content": "see", "multipartContent": [
                    {"type": "image", "data": "QUJD", "media_type": "image/png"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,REVG"}},
                ]},
                {"role": "user", "content": "", "multipartContent": [
                    {"type": "image", "url": "https://x/y.png"},
                    {"type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf"},
                    {"type": "input_audio", "input_audio": {"data": "d", "format": "wav"}},
                    {"type": "odd", "z": 1},
                ]},
                {"role": "tool", "content": "shot", "metadata": {"tool_call_id": "a", "tool_name": "f"},
                    "multipartContent": [{"type": "image", "data": "QUJD"}]},
            ]),
            expect![[r#"
                {"role":"user","content":"see","images":["QUJD","REVG"]}
                {"role":"user","content":"[picture https://x/y.png not sent: this model server takes text and inline pictures only]\n[file a.pdf not sent: this model server takes text and inline pictures only]\n[sound audio/wav not sent: this model server takes text and inline pictures only]\n[part not sent: this model server takes text and inline pictures only]"} + {"unsent": Array [Object {"at": Number(0), "part": Object {"type": String("image"), "url": String("https://x/y.png")}}, Object {"at": Number(1), "part": Object {"type": String("file"), "data": String("QUJD"), "media_type": String("application/pdf"), "name": String("a.pdf")}}, Object {"at": Number(2), "part": Object {"type": String("input_audio"), "input_audio": Object {"data": String("d"), "format": String("wav")}}}, Object {"at": Number(3), "part": Object {"type": String("odd"), "z": Number(1)}}]}
                {"role":"tool","content":"shot","images":["QUJD"],"tool_name":"f","tool_call_id":"a"} + {"tool_name": String("f")}"#]],
        );
    }

    #[test]
    fn calls_of_this_form_pass_and_reasoning_stays_here() {
        check_to(
            json!([{"role": "assistant", "content": "", "metadata": {
                "tool_calls": [
                    {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}, "extra": 1},
                    {"type": "tool_use", "name": "other"},
                ],
                "reasoning": "hm", "usage": {"total_tokens": 1}, "finish_reason": "tool_calls",
            }}]),
            expect![[
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}},"extra":1}]} + {"finish_reason": String("tool_calls"), "usage": Object {"total_tokens": Number(1)}, "reasoning": String("hm")}"#
            ]],
        );
    }

    #[test]
    fn a_result_names_its_call() {
        check_to(
            json!([
                {"role": "assistant", "content": "", "metadata": {"tool_calls": [
                    {"id": "a", "function": {"name": "f", "arguments": {}}}]}},
                {"role": "tool", "content": "shown", "tool_result": {"type": "tool_result", "text": "read"},
                    "metadata": {"tool_call_id": "a", "tool_plugin": "p"}},
                {"role": "tool", "content": {"ok": true}, "metadata": {"tool_call_id": null, "tool_name": "g"}},
                {"role": "tool", "content": "lost"},
            ]),
            expect![[r#"
                {"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}
                {"role":"tool","content":"read","tool_name":"f","tool_call_id":"a"} + {"tool_plugin": String("p"), "tool_result": Object {"type": String("tool_result"), "text": String("read")}}
                {"role":"tool","content":"{\"ok\":true}","tool_name":"g"} + {"tool_name": String("g")}
                {"role":"tool","content":"lost"}"#]],
        );
    }

    #[test]
    fn results_find_their_calls_by_order_and_name() {
        check_from(
            json!([
                {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
                    {"function": {"name": "f", "arguments": {}}},
                    {"function": {"name": "g", "arguments": {}}},
                    {"function": {"name": "f", "arguments": {}}},
                ], "_metadata": {"call_ids": ["a", "b", "c"]}},
                {"role": "tool", "content": "1", "tool_name": "g"},
                {"role": "tool", "content": "2", "tool_name": "f"},
                {"role": "tool", "content": "3"},
                {"role": "tool", "content": "4", "tool_name": "f"},
                {"role": "tool", "content": "5", "tool_call_id": "z"},
            ]),
            expect![[r#"
                [0] {"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}},{"id":"b","function":{"name":"g","arguments":{}}},{"id":"c","function":{"name":"f","arguments":{}}}],"reasoning":"hm"}}
                [1] {"role":"tool","content":"1","metadata":{"tool_call_id":"b","tool_name":"g"}}
                [2] {"role":"tool","content":"2","metadata":{"tool_call_id":"a","tool_name":"f"}}
                [3] {"role":"tool","content":"3","metadata":{"tool_call_id":"c","tool_name":"f"}}
                [4] {"role":"tool","content":"4","metadata":{"tool_name":"f"}}
                [5] {"role":"tool","content":"5","metadata":{"tool_call_id":"z"}}"#]],
        );
    }

    #[test]
    fn items_that_are_no_messages_go_with_a_neighbour() {
        check_from(
            json!([
                {"type": "odd"}, 7,
                {"role": "user", "content": "a"},
                {"role": "control", "content": "thinking"},
                {"role": "assistant", "content": null, "tool_calls": []},
            ]),
            expect![[r#"
                [0, 1, 2, 3] {"role":"user","content":"a","metadata":{}}
                [4] {"role":"assistant","content":"","metadata":{}}"#]],
        );
    }

    #[test]
    fn an_exchange_comes_back_as_it_was() {
        check_both(json!([
            {"role": "system", "content": "be brief", "metadata": {}},
            {"role": "user", "content": "see", "metadata": {}, "multipartContent": [
                {"type": "image", "data": "iVBORw0KGgoAAA==", "media_type": "image/png"}]},
            {"role": "assistant", "content": "", "metadata": {
                "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}],
                "finish_reason": "tool_calls", "usage": {"total_tokens": 1}}},
            {"role": "tool", "content": "1", "metadata": {"tool_call_id": "a", "tool_name": "f", "tool_plugin": "p"}},
            {"role": "assistant", "content": "one", "metadata": {"reasoning": "hm"}},
        ]));
    }

    #[test]
    fn what_could_not_be_sent_comes_back_as_it_was() {
        let parts = json!([
            {"type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf"},
            {"type": "image", "data": "/9j/4AAQ", "media_type": "image/jpeg"},
            {"type": "image", "url": "https://x/y.png"},
            {"type": "odd", "z": 1},
        ]);
        for text in ["see\nthis", ""] {
            check_both(json!([
                {"role": "user", "content": text, "metadata": {}, "multipartContent": parts},
            ]));
        }
        let sent = to_native(&messages(json!([
            {"role": "user", "content": "see", "multipartContent": parts},
        ])));
        let mut changed = sent[0].to_json();
        changed["content"] = json!("other words");
        let back = from_native(&[NativeItem::from(changed)]);
        assert_eq!(back[0].0.text(), "other words");
        assert_eq!(back[0].0.multipart_content().len(), 1, "only what was sent");
    }
}
