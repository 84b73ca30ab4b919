//! The order of a conversation as the API insists on it, made of items that are copied as text.
//!
//! The results of all calls of an answer stand in the one message behind it, before anything
//! else; there is a result for every call and a call for every result; a person begins. Native
//! history may have it otherwise, for instance after an interrupted turn, and is not changed.

use super::content::text_block;
use super::fields::quoted;
use orlop_types::{NativeItem, Value};
use serde_json::json;
use std::borrow::Cow;

/// What stands for the result of a call that has none.
const NO_RESULT: &str = "no result: the call was not run, or its outcome is not known";
/// What stands before the text of a result whose call is gone.
const LATE_RESULT: &str = "[the result of an earlier tool call]";
/// What stands for the beginning of a conversation that begins with an answer.
const BEGINNING: &str = "[the conversation goes on]";

/// How items begin that are text alone. Most are, and need not be parsed.
const PLAIN_WORDS: &str = r#"{"role":"user","content":""#;
const PLAIN_ANSWER: &str = r#"{"role":"assistant","content":""#;

/// What an item is to the order.
enum Kind<'a> {
    /// Instructions; they stand elsewhere.
    System,
    /// A message of the person, with the calls that it has results of.
    User(Vec<&'a str>),
    /// An answer, with the calls that it waits for.
    Assistant(Vec<&'a str>),
    /// Nothing: the API refuses messages without content.
    Empty,
    /// Anything else.
    Other,
}

/// Writes the messages of a request, one after the other.
pub(super) struct Turns<'a, 'o> {
    out: &'o mut String,
    empty: bool,
    /// Messages of the person since the last answer.
    said: Vec<(&'a NativeItem, Vec<&'a str>)>,
    /// The calls of that answer.
    calls: Vec<&'a str>,
    ended: Ended<'a>,
}

/// What was found on the way.
#[derive(Default)]
pub(super) struct Ended<'a> {
    /// The instructions.
    pub(super) instructions: Vec<&'a NativeItem>,
    /// The last answer.
    pub(super) answer: Option<&'a NativeItem>,
    /// Whether an item says itself where to cache.
    pub(super) marked: bool,
}

impl<'a, 'o> Turns<'a, 'o> {
    pub(super) fn new(out: &'o mut String) -> Self {
        Self { out, empty: true, said: Vec::new(), calls: Vec::new(), ended: Ended::default() }
    }

    pub(super) fn push(&mut self, item: &'a NativeItem) {
        match self.kind(item) {
            Kind::System => self.ended.instructions.push(item),
            Kind::User(results) => self.said.push((item, results)),
            Kind::Assistant(calls) => {
                // The API takes answers one after the other as one.
                if !self.said.is_empty() {
                    self.close();
                }
                if self.empty {
                    self.message(&person(&quoted(BEGINNING)));
                }
                self.message(&without_empty_text(item));
                self.calls.extend(calls);
                self.ended.answer = Some(item);
            }
            Kind::Empty => {}
            Kind::Other => {
                self.close();
                self.message(item.wire());
            }
        }
    }

    pub(super) fn end(mut self) -> Ended<'a> {
        self.close();
        self.ended
    }

    /// Writes what the person said since the last answer.
    fn close(&mut self) {
        let (said, calls) = (std::mem::take(&mut self.said), std::mem::take(&mut self.calls));
        let no_tools = calls.is_empty() && said.iter().all(|(_, results)| results.is_empty());
        if no_tools || answers_all(&said, &calls) {
            said.iter().for_each(|(item, _)| self.message(item.wire()));
            return;
        }
        let missing = calls.iter().filter(|id| !said.iter().any(|(_, ids)| ids.contains(id)));
        let mut blocks: Vec<Cow<'_, str>> = missing.map(|id| no_result(id).into()).collect();
        let mut open = calls.clone();
        let mut others = Vec::new();
        for (item, results) in &said {
            if results.is_empty() {
                others.push(inside(item));
            } else if results.iter().all(|id| open.contains(id)) && are_unique(results) {
                open.retain(|id| !results.contains(id));
                blocks.push(inside(item));
            } else {
                let (fitting, late) = sorted(item, &mut open);
                blocks.extend(fitting.into_iter().map(Cow::Owned));
                others.extend(late.into_iter().map(Cow::Owned));
            }
        }
        blocks.extend(others);
        self.message(&person(&format!("[{}]", blocks.join(","))));
    }

    fn message(&mut self, text: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        self.out.push_str(text);
    }

    fn kind(&mut self, item: &'a NativeItem) -> Kind<'a> {
        match item.wire() {
            r#"{"role":"user","content":""}"# | r#"{"role":"assistant","content":""}"# => {
                return Kind::Empty;
            }
            text if text.starts_with(PLAIN_WORDS) => return Kind::User(Vec::new()),
            text if text.starts_with(PLAIN_ANSWER) => return Kind::Assistant(Vec::new()),
            _ => {}
        }
        let (role, content) = (item.get("role"), item.get("content"));
        let blocks = content.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.ended.marked |= blocks.iter().any(|block| block.get("cache_control").is_some());
        let is_empty = match content {
            Some(Value::Array(blocks)) => blocks.iter().all(is_empty_text),
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Null) | None => true,
            Some(_) => false,
        };
        match role.and_then(Value::as_str) {
            Some("system") if blocks.iter().all(|block| block["type"] == "text") => Kind::System,
            Some("user" | "assistant") if is_empty => Kind::Empty,
            Some("user") => Kind::User(ids(blocks, "tool_result", "tool_use_id").collect()),
            Some("assistant") => Kind::Assistant(ids(blocks, "tool_use", "id").collect()),
            _ => Kind::Other,
        }
    }
}

fn ids<'a>(blocks: &'a [Value], kind: &str, key: &str) -> impl Iterator<Item = &'a str> {
    let of_kind = blocks.iter().filter(move |block| block["type"] == kind);
    of_kind.map(move |block| block.get(key).and_then(Value::as_str).unwrap_or_default())
}

/// The API sends text blocks without text, now and then, and refuses them.
fn is_empty_text(block: &Value) -> bool {
    block["type"] == "text" && block["text"] == ""
}

/// The text of an answer; its blocks are copied, all but those without text.
fn without_empty_text(item: &NativeItem) -> Cow<'_, str> {
    if item.wire().starts_with(PLAIN_ANSWER) {
        return item.wire().into();
    }
    match item.get("content").and_then(Value::as_array) {
        Some(blocks) if blocks.iter().any(is_empty_text) => {
            let kept: Vec<&Value> = blocks.iter().filter(|block| !is_empty_text(block)).collect();
            json!({ "role": "assistant", "content": kept }).to_string().into()
        }
        _ => item.wire().into(),
    }
}

/// Whether one message has a result for each call, and no other.
fn answers_all(said: &[(&NativeItem, Vec<&str>)], calls: &[&str]) -> bool {
    let [(_, results)] = said else { return false };
    results.len() == calls.len()
        && are_unique(results)
        && results.iter().all(|id| calls.contains(id))
}

fn are_unique(ids: &[&str]) -> bool {
    ids.iter().enumerate().all(|(position, id)| !ids[..position].contains(id))
}

fn person(content: &str) -> String {
    format!(r#"{{"role":"user","content":{content}}}"#)
}

fn no_result(id: &str) -> String {
    let block = json!({
        "type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": true,
    });
    block.to_string()
}

/// The blocks of a message, without the brackets around them.
fn inside(item: &NativeItem) -> Cow<'_, str> {
    let content = item.wire().strip_prefix(r#"{"role":"user","content":"#);
    let content = content.and_then(|rest| rest.strip_suffix('}'));
    let is_all = item.value().as_object().is_some_and(|fields| fields.len() == 2);
    match (content.filter(|_| is_all), item.get("content")) {
        (Some(content), Some(Value::String(_))) => {
            format!(r#"{{"type":"text","text":{content}}}"#).into()
        }
        (Some(content), _) if content.starts_with('[') => content[1..content.len() - 1].into(),
        (_, Some(Value::String(text))) => text_block(text).to_string().into(),
        (_, Some(Value::Array(blocks))) => {
            blocks.iter().map(Value::to_string).collect::<Vec<_>>().join(",").into()
        }
        (_, _) => Cow::default(),
    }
}

/// The blocks of a message that are results of `open` calls, and the others. A result without a
/// call becomes text.
fn sorted(item: &NativeItem, open: &mut Vec<&str>) -> (Vec<String>, Vec<String>) {
    let (mut fitting, mut others) = (Vec::new(), Vec::new());
    for block in item.get("content").and_then(Value::as_array).into_iter().flatten() {
        if block["type"] != "tool_result" {
            others.push(block.to_string());
            continue;
        }
        let id = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
        match open.iter().position(|call| *call == id) {
            Some(position) => {
                open.swap_remove(position);
                fitting.push(block.to_string());
            }
            None => {
                others.push(text_block(LATE_RESULT).to_string());
                match &block["content"] {
                    Value::Array(parts) => {
                        let may_stand = |part: &&Value| part["type"] != "tool_reference";
                        others.extend(parts.iter().filter(may_stand).map(Value::to_string));
                    }
                    Value::String(text) if !text.trim().is_empty() => {
                        others.push(text_block(text).to_string());
                    }
                    _ => {}
                }
            }
        }
    }
    (fitting, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(items: Value, expected: Expect) {
        let items: Vec<NativeItem> =
            items.as_array().unwrap().iter().cloned().map(NativeItem::from).collect();
        let mut out = String::new();
        let mut turns = Turns::new(&mut out);
        items.iter().for_each(|item| turns.push(item));
        turns.end();
        let out = format!("[{out}]");
        let messages: Vec<&serde_json::value::RawValue> = serde_json::from_str(&out).unwrap();
        let lines: Vec<&str> = messages.iter().map(|message| message.get()).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    fn calls(ids: &[&str]) -> Value {
        let block = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
        json!({"role": "assistant", "content": ids.iter().map(block).collect::<Vec<_>>()})
    }

    fn result(id: &str) -> Value {
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": id}]})
    }

    fn said(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn results_of_one_answer_come_in_one_message() {
        check(
            json!([said("go"), calls(&["a", "b"]), result("b"), result("a")]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"b"},{"type":"tool_result","tool_use_id":"a","content":"a"}]}"#]],
        );
        check(
            json!([said("go"), calls(&["a"]), result("a"), said("and?")]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"a"},{"type":"text","text":"and?"}]}"#]],
        );
    }

    #[test]
    fn results_come_before_what_the_person_said() {
        check(
            json!([said("go"), calls(&["a"]), said("wait"), result("a")]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"a"},{"type":"text","text":"wait"}]}"#]],
        );
    }

    #[test]
    fn messages_that_are_right_are_copied() {
        let both = json!({"content": [
            {"type": "tool_result", "tool_use_id": "b"}, {"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "x"},
        ], "role": "user"});
        check(
            json!([said("go"), said("on"), calls(&["a", "b"]), both, calls(&["c"]), result("c")]),
            expect![[r#"
                {"role":"user","content":"go"}
                {"role":"user","content":"on"}
                {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}
                {"content":[{"type":"tool_result","tool_use_id":"b"},{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"x"}],"role":"user"}
                {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"c"}]}"#]],
        );
    }

    #[test]
    fn a_call_without_a_result_gets_one() {
        check(
            json!([said("go"), calls(&["a", "b"]), result("a"), said("stop")]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"no result: the call was not run, or its outcome is not known","is_error":true},{"type":"tool_result","tool_use_id":"a","content":"a"},{"type":"text","text":"stop"}]}"#]],
        );
        check(
            json!([said("go"), calls(&["a"])]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"no result: the call was not run, or its outcome is not known","is_error":true}]}"#]],
        );
        check(
            json!([said("go"), calls(&["a"]), {"role": "assistant", "content": "well"}, said("so?")]),
            expect![[r#"
                {"role":"user","content":"go"}
                {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
                {"role":"assistant","content":"well"}
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"no result: the call was not run, or its outcome is not known","is_error":true},{"type":"text","text":"so?"}]}"#]],
        );
    }

    #[test]
    fn a_result_without_a_call_becomes_text() {
        check(
            json!([said("go"), result("a"), {"role": "assistant", "content": "b"}]),
            expect![[r#"
                {"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"[the result of an earlier tool call]"},{"type":"text","text":"a"}]}
                {"role":"assistant","content":"b"}"#]],
        );
        check(
            json!([said("go"), calls(&["a"]), result("a"), result("a"), result("b")]),
            expect![[r#"
                {"role":"user","content":"go"}
                {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"a"},{"type":"text","text":"[the result of an earlier tool call]"},{"type":"text","text":"a"},{"type":"text","text":"[the result of an earlier tool call]"},{"type":"text","text":"b"}]}"#]],
        );
        let both = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "1"}, {"type": "image", "source": {}}]},
            {"type": "tool_result", "tool_use_id": "a"},
        ]});
        check(
            json!([said("go"), calls(&["a"]), both]),
            expect![[r#"
            {"role":"user","content":"go"}
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"[the result of an earlier tool call]"},{"type":"text","text":"1"},{"type":"image","source":{}}]}"#]],
        );
    }

    #[test]
    fn a_person_begins_and_nobody_says_nothing() {
        check(
            json!([{"role": "assistant", "content": "hi"}, said("")]),
            expect![[r#"
            {"role":"user","content":"[the conversation goes on]"}
            {"role":"assistant","content":"hi"}"#]],
        );
        check(
            json!([said("a"), {"role": "assistant", "content": []}, {"content": [], "role": "user"}, said("b")]),
            expect![[r#"
                {"role":"user","content":"a"}
                {"role":"user","content":"b"}"#]],
        );
    }

    #[test]
    fn blocks_without_text_are_left_out() {
        check(
            json!([
                said("a"),
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": ""}, {"type": "text", "text": " "},
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": ""}]},
                said("b"),
            ]),
            expect![[r#"
                {"role":"user","content":"a"}
                {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":" "}]}
                {"role":"user","content":"b"}"#]],
        );
    }

    #[test]
    fn what_a_server_makes_of_the_order_itself_is_left_to_it() {
        check(
            json!([
                {"role": "system", "content": "elsewhere"},
                said("a"),
                {"role": "system", "content": [{"type": "tool_addition", "tool": {}}]},
                {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}]},
            ]),
            expect![[r#"
                {"role":"user","content":"a"}
                {"role":"system","content":[{"type":"tool_addition","tool":{}}]}
                {"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}"#]],
        );
    }
}
