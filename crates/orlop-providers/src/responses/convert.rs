//! Between the neutral transcript and the items of the API. Pure, in both directions.

use super::draft::{Draft, ITEM_ID, ORIGINAL, kind, restored, split};
use crate::wire::facts::{recall_result, remember, remember_result};
use crate::wire::parts::{Media, Part, Source, content_parts};
use orlop_types::{Map, Message, NativeItem, Partial, Role, Value};
use serde_json::json;

/// Beside the last item of a message of the model, where nothing else tells that it is the last.
const MESSAGE_END: &str = "message_end";

/// The messages as the API takes them. A message of the model becomes an item for its text and one
/// for each call; calls pass if they have the form of this API. Reasoning is remembered, not sent:
/// only the server that wrote it can read it, and it is not in the message.
pub fn to_native(messages: &[Message]) -> Vec<NativeItem> {
    messages.iter().flat_map(native).collect()
}

fn native(message: &Message) -> Vec<NativeItem> {
    match message.role() {
        Role::System | Role::User => vec![said(message.role().as_str(), message)],
        Role::Assistant => answer(message),
        Role::Tool => vec![result(message)],
    }
}

/// A message item.
fn said(role: &str, message: &Message) -> NativeItem {
    let kind = if role == "assistant" { Kind::Output } else { Kind::Input };
    let (content, taken) = content(message.content(), message, kind);
    let item = json!({ "type": "message", "role": role, "content": content }).into();
    if taken { item } else { with_original(message, item) }
}

fn answer(message: &Message) -> Vec<NativeItem> {
    let calls: Vec<NativeItem> = message.tool_calls().filter_map(call).collect();
    let silent =
        message.content().as_str().is_some_and(str::is_empty) || message.content().is_null();
    let mut items = Vec::new();
    if calls.is_empty() || !silent || !message.multipart_content().is_empty() {
        items.push(said("assistant", message));
    }
    items.extend(calls);
    if let Some(last) = items.pop() {
        let last = remember(message, last);
        let known = last.metadata().contains_key("finish_reason");
        items.push(if known { last } else { with(last, MESSAGE_END, true.into()) });
    }
    items
}

/// A call as an item. Its id names an item that the server may have stored together with reasoning
/// which is not here; so it is left out.
fn call(call: &Map) -> Option<NativeItem> {
    let kind = call.get("type").and_then(Value::as_str)?;
    call.get("name").filter(|name| name.is_string())?;
    if !matches!(kind, "function_call" | "custom_tool_call") {
        return None;
    }
    let mut call = call.clone();
    Some(match call.shift_remove("id").filter(Value::is_string) {
        Some(id) => with(call.into(), ITEM_ID, id),
        None => call.into(),
    })
}

fn result(message: &Message) -> NativeItem {
    let text = message.tool_result().and_then(|result| result.get("text"));
    let text = text.filter(|text| text.is_string()).unwrap_or(message.content());
    let (output, taken) = content(text, message, Kind::Input);
    let id = message.metadata().get("tool_call_id").filter(|id| id.is_string());
    let item = json!({ "type": "function_call_output", "call_id": id, "output": output }).into();
    let item = remember_result(message, item);
    if taken { item } else { with_original(message, item) }
}

fn with(item: NativeItem, key: &str, value: Value) -> NativeItem {
    let mut metadata = item.metadata().clone();
    metadata.insert(key.to_owned(), value);
    item.with_metadata(metadata)
}

fn with_original(message: &Message, item: NativeItem) -> NativeItem {
    let original = json!({ "content": message.content(), "parts": message.multipart_content() });
    with(item, ORIGINAL, original)
}

/// Whose content it is: the API names the parts of the model differently.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Input,
    Output,
}

/// Content as the API takes it, and whether it takes all of it. Text alone stays a string.
fn content(content: &Value, message: &Message, kind: Kind) -> (Value, bool) {
    let parts = content_parts(content, message);
    match parts.as_slice() {
        [] => ("".into(), true),
        [Part::Text(text)] if !content.is_array() && message.multipart_content().is_empty() => {
            (text.as_str().into(), true)
        }
        _ => {
            let written = parts.iter().map(|it| part(it, kind));
            let (parts, taken): (Vec<Value>, Vec<bool>) = written.unzip();
            (parts.into(), taken.into_iter().all(|taken| taken))
        }
    }
}

/// A part, and whether the API takes it; if not, a text says what is missing.
fn part(part: &Part, kind: Kind) -> (Value, bool) {
    let text = match kind {
        Kind::Input => "input_text",
        Kind::Output => "output_text",
    };
    let left_out = |what: &str| {
        let note = format!("[{what} was left out: it cannot be sent to this model]");
        (json!({ "type": text, "text": note }), false)
    };
    match part {
        Part::Text(words) => (json!({ "type": text, "text": words }), true),
        Part::Other(part) if kind == Kind::Output => match part.get("type") {
            Some(Value::String(name)) if name == "refusal" => (part.clone().into(), true),
            _ => left_out("An attachment"),
        },
        Part::Image(_) if kind == Kind::Output => left_out("A picture"),
        Part::File(_) if kind == Kind::Output => left_out("A file"),
        Part::Image(image) => {
            let mut fields = json!({ "type": "input_image", "image_url": image.url("image/png") });
            if let Some(detail) = &image.detail {
                fields["detail"] = detail.as_str().into();
            }
            (fields, true)
        }
        Part::File(file) => (input_file(file), true),
        Part::Audio(_) => left_out("A sound recording"),
        Part::Other(part) => match part.get("type").and_then(Value::as_str) {
            Some(name) if name.starts_with("input_") => (part.clone().into(), true),
            Some("file") if part.contains_key("file") => {
                stored_file(part).map_or_else(|| left_out("A file"), |file| (file, true))
            }
            Some(name) => left_out(&format!("An attachment of type {name:?}")),
            None => left_out("An attachment"),
        },
    }
}

fn input_file(file: &Media) -> Value {
    match &file.source {
        Source::Url(url) => json!({ "type": "input_file", "file_url": url }),
        Source::Data(_) => json!({
            "type": "input_file",
            "filename": file.name.as_deref().unwrap_or("file"),
            "file_data": file.url("application/octet-stream"),
        }),
    }
}

/// A file that was uploaded before, in the form of chat completions.
fn stored_file(part: &Map) -> Option<Value> {
    let id = part.get("file")?.get("file_id")?.as_str()?;
    Some(json!({ "type": "input_file", "file_id": id }))
}

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// The items of one response are one message: it ends behind the item that has the facts of the
/// response, or before an item of somebody else. Items that say nothing to people go with the
/// message they stand in, else with the one before them, else with the next.
pub fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
    let mut reading = Reading::default();
    for (position, item) in items.iter().enumerate() {
        match speaker(item) {
            Speaker::Model => reading.model(position, item),
            Speaker::Nobody => reading.nobody(position, item),
            Speaker::Other(message) => reading.other(position, *message),
        }
    }
    reading.finish()
}

enum Speaker {
    Model,
    /// An item that is shown only as a part of what it stands in.
    Nobody,
    Other(Box<Message>),
}

fn speaker(item: &NativeItem) -> Speaker {
    let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
    match (kind(item), role) {
        ("message", "user") => other(item, Role::User),
        ("message", "system" | "developer") => other(item, Role::System),
        ("message", "assistant") => Speaker::Model,
        ("function_call_output" | "custom_tool_call_output", _) => {
            Speaker::Other(Box::new(result_message(item)))
        }
        ("reasoning" | "function_call" | "custom_tool_call" | "image_generation_call", _) => {
            Speaker::Model
        }
        _ if ends_message(item) => Speaker::Model,
        _ => Speaker::Nobody,
    }
}

fn other(item: &NativeItem, role: Role) -> Speaker {
    let (text, parts) = split(item.get("content").unwrap_or(&Value::Null));
    let message = Message::new(role, text).with_multipart_content(parts);
    Speaker::Other(Box::new(restored(message, original(item))))
}

fn result_message(item: &NativeItem) -> Message {
    let (text, parts) = split(item.get("output").unwrap_or(&Value::Null));
    let mut metadata = Map::new();
    if let Some(id) = item.get("call_id").filter(|id| !id.is_null()) {
        metadata.insert("tool_call_id".to_owned(), id.clone());
    }
    let result = recall_result(item, &mut metadata);
    let message =
        Message::new(Role::Tool, text).with_metadata(metadata).with_multipart_content(parts);
    let message = restored(message, original(item));
    match result {
        Some(result) => message.with_tool_result(result),
        None => message,
    }
}

fn original(item: &NativeItem) -> Option<&Map> {
    item.metadata().get(ORIGINAL)?.as_object()
}

fn ends_message(item: &NativeItem) -> bool {
    ["finish_reason", "response_id", MESSAGE_END]
        .iter()
        .any(|key| item.metadata().contains_key(*key))
}

#[derive(Default)]
struct Reading {
    messages: Vec<(Message, Vec<usize>)>,
    /// The message of the model that is being read.
    open: Option<(Draft, Vec<usize>)>,
    /// Items that no message has taken yet.
    waiting: Vec<usize>,
}

impl Reading {
    fn model(&mut self, position: usize, item: &NativeItem) {
        let waiting = std::mem::take(&mut self.waiting);
        let (draft, positions) = self.open.get_or_insert_with(|| (Draft::default(), waiting));
        draft.add(item);
        positions.push(position);
        if ends_message(item) {
            self.close();
        }
    }

    fn nobody(&mut self, position: usize, item: &NativeItem) {
        match &mut self.open {
            Some((draft, positions)) => {
                draft.add(item);
                positions.push(position);
            }
            None => self.waiting.push(position),
        }
    }

    fn other(&mut self, position: usize, message: Message) {
        self.close();
        let mut positions = self.leave_waiting();
        positions.push(position);
        self.messages.push((message, positions));
    }

    fn close(&mut self) {
        if let Some((draft, positions)) = self.open.take() {
            self.messages.push((draft.into_message(), positions));
        }
    }

    /// Gives the waiting items to the message before them, or back if there is none.
    fn leave_waiting(&mut self) -> Vec<usize> {
        let mut waiting = std::mem::take(&mut self.waiting);
        if let Some((_, positions)) = self.messages.last_mut() {
            positions.append(&mut waiting);
        }
        waiting
    }

    fn finish(mut self) -> Vec<(Message, Vec<usize>)> {
        self.close();
        self.leave_waiting();
        self.messages
    }
}

/// What to show of an answer that came whole.
pub(super) fn shown(items: &[NativeItem]) -> Partial {
    let mut draft = Draft::default();
    items.iter().for_each(|item| draft.add(item));
    draft.into_partial()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{self, messages};
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
            expect![[r#"{"type":"message","role":"system","content":"be brief"}"#]],
        );
        check_to(
            json!({"role": "user", "content": null}),
            expect![[r#"{"type":"message","role":"user","content":""}"#]],
        );
        check_to(
            json!({"role": "user", "content": {"a": [1]}}),
            expect![[r#"{"type":"message","role":"user","content":"{\"a\":[1]}"}"#]],
        );
        check_to(
            json!({"role": "assistant", "content": "so"}),
            expect![[
                r#"{"type":"message","role":"assistant","content":"so"} + {"message_end": Bool(true)}"#
            ]],
        );
    }

    #[test]
    fn attachments_become_parts() {
        check_to(
            json!({"role": "user", "content": "see", "multipartContent": [
                {"type": "image", "url": "https://x/y.png", "detail": "low"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                {"type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf"},
                {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "input_file", "file_id": "file-2"},
            ]}),
            expect![[
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://x/y.png","detail":"low"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"},{"type":"input_file","file_url":"https://x/a.pdf"},{"type":"input_file","file_id":"file-1"},{"type":"input_file","file_id":"file-2"}]}"#
            ]],
        );
    }

    #[test]
    fn what_the_api_does_not_take_is_named_and_remembered() {
        let said = json!({"role": "user", "content": "hear", "metadata": {}, "multipartContent": [
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
            {"type": "odd", "z": 1},
        ]});
        check_to(
            said.clone(),
            expect![[
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hear"},{"type":"input_text","text":"[A sound recording was left out: it cannot be sent to this model]"},{"type":"input_text","text":"[An attachment of type \"odd\" was left out: it cannot be sent to this model]"}]} + {"original": Object {"content": String("hear"), "parts": Array [Object {"type": String("input_audio"), "input_audio": Object {"data": String("QQ=="), "format": String("wav")}}, Object {"type": String("odd"), "z": Number(1)}]}}"#
            ]],
        );
        let drawn = json!({"role": "assistant", "content": "here", "metadata": {}, "multipartContent": [
            {"type": "image", "data": "QUJD", "media_type": "image/png"},
        ]});
        check_to(
            drawn.clone(),
            expect![[
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"here"},{"type":"output_text","text":"[A picture was left out: it cannot be sent to this model]"}]} + {"original": Object {"content": String("here"), "parts": Array [Object {"type": String("image"), "data": String("QUJD"), "media_type": String("image/png")}]}, "message_end": Bool(true)}"#
            ]],
        );
        for original in [said, drawn] {
            let back = from_native(&to_native(&messages(json!([original]))));
            assert_eq!(back[0].0.to_json(), original);
        }
    }

    #[test]
    fn a_message_of_the_model_is_its_text_and_its_calls() {
        check_to(
            json!({"role": "assistant", "content": "wait", "metadata": {
                "tool_calls": [
                    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}", "odd": 1},
                    {"id": "b", "type": "function", "function": {"name": "other", "arguments": "{}"}},
                    {"type": "custom_tool_call", "call_id": "c", "name": "g", "input": "x"},
                ],
                "reasoning": "hm", "usage": {"total_tokens": 1}, "finish_reason": "tool_calls",
            }}),
            expect![[r#"
                {"type":"message","role":"assistant","content":"wait"}
                {"type":"function_call","call_id":"a","name":"f","arguments":"{}","odd":1} + {"item_id": String("fc_1")}
                {"type":"custom_tool_call","call_id":"c","name":"g","input":"x"} + {"finish_reason": String("tool_calls"), "usage": Object {"total_tokens": Number(1)}, "reasoning": String("hm")}"#]],
        );
        check_to(
            json!({"role": "assistant", "content": "", "metadata": {"tool_calls": [
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]}}),
            expect![[
                r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"} + {"message_end": Bool(true)}"#
            ]],
        );
    }

    #[test]
    fn a_tool_result_is_its_text() {
        check_to(
            json!({"role": "tool", "content": "shown", "tool_result": {"type": "tool_result", "text": "read"},
                "metadata": {"tool_call_id": "a", "tool_name": "f"}}),
            expect![[
                r#"{"type":"function_call_output","call_id":"a","output":"read"} + {"tool_name": String("f"), "tool_result": Object {"type": String("tool_result"), "text": String("read")}}"#
            ]],
        );
        check_to(
            json!({"role": "tool", "content": "see", "metadata": {},
                "multipartContent": [{"type": "image", "url": "u"}]}),
            expect![[
                r#"{"type":"function_call_output","call_id":null,"output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"u"}]}"#
            ]],
        );
    }

    #[test]
    fn the_items_of_a_response_are_one_message() {
        check_from(
            json!([
                {"role": "user", "content": "hi"},
                {"type": "reasoning", "id": "rs_1", "summary": [
                    {"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]},
                {"type": "web_search_call", "id": "ws_1", "status": "completed"},
                {"type": "message", "role": "assistant", "content": [
                    {"type": "output_text", "text": "a", "annotations": []}, {"type": "output_text", "text": "b"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}",
                    "_metadata": {"finish_reason": "tool_calls", "response_id": "resp_1", "model": "m"}},
                {"type": "function_call_output", "call_id": "c", "output": "1"},
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "aloud"}]},
                {"type": "image_generation_call", "result": "QUJD", "output_format": "webp"},
            ]),
            expect![[r#"
                [0] {"role":"user","content":"hi","metadata":{}}
                [1, 2, 3, 4, 5] {"role":"assistant","content":"ab\n\nno","metadata":{"tool_calls":[{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}],"reasoning":"first\n\nsecond","finish_reason":"tool_calls","model":"m"}}
                [6] {"role":"tool","content":"1","metadata":{"tool_call_id":"c"}}
                [7, 8] {"role":"assistant","content":"","metadata":{"reasoning":"aloud"},"multipartContent":[{"type":"image","data":"QUJD","media_type":"image/webp"}]}"#]],
        );
    }

    #[test]
    fn responses_in_a_row_stay_apart() {
        check_from(
            json!([
                {"type": "message", "role": "assistant", "content": "a", "_metadata": {"response_id": "1"}},
                {"type": "message", "role": "assistant", "content": "b", "_metadata": {"message_end": true}},
                {"type": "message", "role": "assistant", "content": "c"},
                {"type": "message", "role": "assistant", "content": "d"},
            ]),
            expect![[r#"
                [0] {"role":"assistant","content":"a","metadata":{}}
                [1] {"role":"assistant","content":"b","metadata":{}}
                [2, 3] {"role":"assistant","content":"c\n\nd","metadata":{}}"#]],
        );
    }

    #[test]
    fn items_that_say_nothing_go_with_a_neighbour() {
        check_from(
            json!([
                {"type": "additional_tools", "role": "developer", "tools": []}, 7,
                {"role": "developer", "content": "obey"},
                {"type": "compaction", "encrypted_content": "x"},
                {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "u"}]},
                {"type": "mcp_list_tools", "tools": []},
                {"type": "message", "role": "assistant", "content": "b"},
                {"type": "custom_tool_call_output", "call_id": "c", "output": [
                    {"type": "input_text", "text": "t"}, {"type": "input_image", "image_url": "u"}]},
                {"type": "mcp_approval_response", "approve": true},
            ]),
            expect![[r#"
                [0, 1, 2, 3] {"role":"system","content":"obey","metadata":{}}
                [4] {"role":"user","content":"a","metadata":{},"multipartContent":[{"type":"input_image","image_url":"u"}]}
                [5, 6] {"role":"assistant","content":"b","metadata":{}}
                [7, 8] {"role":"tool","content":"t","metadata":{"tool_call_id":"c"},"multipartContent":[{"type":"input_image","image_url":"u"}]}"#]],
        );
        check_from(json!([{"type": "odd"}]), expect![[""]]);
        check_from(
            json!([{"type": "web_search_call", "_metadata": {"finish_reason": "length"}}]),
            expect![[
                r#"[0] {"role":"assistant","content":"","metadata":{"finish_reason":"length"}}"#
            ]],
        );
    }

    #[test]
    fn a_conversation_comes_back_as_it_was() {
        let messages = messages(Value::from(vec![
            json!({"role": "system", "content": "be brief", "metadata": {}}),
            json!({"role": "user", "content": "see", "metadata": {},
                "multipartContent": [{"type": "input_image", "image_url": "u"}]}),
            json!({"role": "assistant", "content": "one", "metadata": {}}),
            json!({"role": "assistant", "content": "two", "metadata": {
                "tool_calls": [
                    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
                    {"type": "custom_tool_call", "id": "ct_1", "call_id": "b", "name": "g", "input": "x"}],
                "reasoning": "hm", "finish_reason": "tool_calls", "usage": {"total_tokens": 1}}}),
            json!({"role": "tool", "content": "1", "metadata": {"tool_call_id": "a", "tool_name": "f"},
                "tool_result": {"type": "tool_result", "text": "1"}}),
            json!({"role": "tool", "content": "2", "metadata": {"tool_call_id": "b"}}),
            json!({"role": "assistant", "content": "", "metadata": {"reasoning": "only"}}),
        ]));
        let items = to_native(&messages);
        let (back, positions): (Vec<Message>, Vec<Vec<usize>>) =
            from_native(&items).into_iter().unzip();
        assert_eq!(positions.concat(), (0..items.len()).collect::<Vec<_>>());
        assert_eq!(back, messages);
        assert_eq!(to_native(&back), items);
    }
}
