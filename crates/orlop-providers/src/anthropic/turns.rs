//! The order of a conversation as the API insists on it, made of items that are copied as text.
//!
//! The results of all calls of an answer stand in the one message behind it, before anything
//! else; there is a result for every call and a call for every result; a person begins. Native
//! history may have it otherwise, for instance after an interrupted turn, and is not changed.

use super::content::text_block;
use super::fields::quoted;
use super::found::{ASSISTANT, Found, Kind, USER, only_content};
use crate::wire::place::Kept;
use orlop_types::{NativeItem, Value};
use std::borrow::Cow;

/// What stands for the result of a call that has none.
const NO_RESULT: &str = "no result: the call was not run, or its outcome is not known";
/// What stands before the text of a result whose call is gone.
const LATE_RESULT: &str = "[the result of an earlier tool call]";
/// What stands for the beginning of a conversation that begins with an answer.
const BEGINNING: &str = "[the conversation goes on]";

/// A message of the person.
struct Said<'a> {
    item: &'a NativeItem,
    /// Its content, as JSON text.
    content: &'a str,
    /// The calls that it has results of.
    results: &'a [Kept],
}

impl<'a> Said<'a> {
    fn results(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        read_all(self.results, self.item)
    }

    fn answers(&self, call: &str) -> bool {
        self.results().any(|id| id == call)
    }

    /// Whether it has results of these calls only, and of each of them one.
    fn fits(&self, calls: &[&str]) -> bool {
        self.results().enumerate().all(|(position, id)| {
            calls.contains(&id) && !self.results().take(position).any(|other| other == id)
        })
    }
}

/// Writes the messages of a request, one after the other.
pub(super) struct Turns<'a, 'o> {
    out: &'o mut String,
    empty: bool,
    /// Messages of the person since the last answer.
    said: Vec<Said<'a>>,
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
        let wire = item.wire();
        let Some(found) = Found::of(item) else {
            return match only_content(wire, USER) {
                Some(content) => self.said.push(Said { item, content, results: &[] }),
                None => self.answer(item, wire, &[]),
            };
        };
        self.ended.marked |= found.marked;
        match found.kind {
            Kind::System => self.ended.instructions.push(item),
            Kind::User => {
                let content = found.content.read(wire);
                self.said.push(Said { item, content, results: &found.ids });
            }
            Kind::Assistant if found.gaps => {
                self.answer(item, &without_empty_text(item), &found.ids);
            }
            Kind::Assistant => self.answer(item, wire, &found.ids),
            Kind::Empty => {}
            Kind::Other => {
                self.close();
                self.message(wire);
            }
        }
    }

    /// Writes an answer.
    fn answer(&mut self, item: &'a NativeItem, text: &str, calls: &'a [Kept]) {
        // The API takes answers one after the other as one.
        if !self.said.is_empty() {
            self.close();
        }
        if self.empty {
            self.message(&format!("{USER}{}}}", quoted(BEGINNING)));
        }
        self.message(text);
        self.calls.extend(read_all(calls, item));
        self.ended.answer = Some(item);
    }

    pub(super) fn end(mut self) -> Ended<'a> {
        self.close();
        self.ended
    }

    /// Writes what the person said since the last answer.
    fn close(&mut self) {
        let (mut said, mut calls) =
            (std::mem::take(&mut self.said), std::mem::take(&mut self.calls));
        let no_tools = calls.is_empty() && said.iter().all(|said| said.results.is_empty());
        if no_tools || answers_all(&said, &calls) {
            said.iter().for_each(|said| self.message(said.item.wire()));
        } else {
            self.together(&said, &calls);
        }
        // Their room is used again.
        said.clear();
        calls.clear();
        (self.said, self.calls) = (said, calls);
    }

    /// Writes one message of several: the results of all calls, and then the rest.
    fn together(&mut self, said: &[Said<'_>], calls: &[&str]) {
        self.message(USER);
        self.out.push('[');
        let start = self.out.len();
        for id in calls.iter().filter(|id| !said.iter().any(|said| said.answers(id))) {
            self.block(start, &no_result(id));
        }
        let mut open = calls.to_vec();
        let mut others = Vec::new();
        for said in said {
            if said.results.is_empty() {
                others.push(inside(said.content));
            } else if said.fits(&open) {
                open.retain(|id| !said.answers(id));
                self.block(start, &inside(said.content));
            } else {
                let (fitting, late) = sorted(said.item, &mut open);
                fitting.iter().for_each(|block| self.block(start, block));
                others.extend(late.into_iter().map(Cow::Owned));
            }
        }
        others.iter().for_each(|block| self.block(start, block));
        self.out.push_str("]}");
    }

    /// Writes a block of the content that begins at `start`.
    fn block(&mut self, start: usize, block: &str) {
        if self.out.len() > start {
            self.out.push(',');
        }
        self.out.push_str(block);
    }

    fn message(&mut self, text: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        self.out.push_str(text);
    }
}

fn read_all<'a>(ids: &'a [Kept], item: &'a NativeItem) -> impl Iterator<Item = &'a str> + use<'a> {
    ids.iter().map(|id| id.read(item.wire()))
}

/// Whether one message has a result for each call, and no other.
fn answers_all(said: &[Said<'_>], calls: &[&str]) -> bool {
    let [said] = said else { return false };
    said.results.len() == calls.len() && said.fits(calls)
}

fn no_result(id: &str) -> String {
    let text = quoted(NO_RESULT);
    format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":{text},"is_error":true}}"#)
}

/// The blocks of a content, without the brackets around them.
fn inside(content: &str) -> Cow<'_, str> {
    match content.strip_prefix('[').and_then(|content| content.strip_suffix(']')) {
        Some(blocks) => blocks.into(),
        None => format!(r#"{{"type":"text","text":{content}}}"#).into(),
    }
}

/// The text of an answer with all blocks but those without text.
fn without_empty_text(item: &NativeItem) -> String {
    let blocks = item.get("content").and_then(Value::as_array).into_iter().flatten();
    let is_empty = |block: &&Value| block["type"] == "text" && block["text"] == "";
    let kept: Vec<String> = blocks.filter(|block| !is_empty(block)).map(Value::to_string).collect();
    format!("{ASSISTANT}[{}]}}", kept.join(","))
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
        let id = block.get("tool_use_id").map_or_else(|| "\"\"".to_owned(), Value::to_string);
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
    use serde_json::json;

    fn check(items: Value, expected: Expect) {
        let items: Vec<NativeItem> =
            items.as_array().unwrap().iter().cloned().map(NativeItem::from).collect();
        let write = || {
            let mut out = String::new();
            let mut turns = Turns::new(&mut out);
            items.iter().for_each(|item| turns.push(item));
            turns.end();
            format!("[{out}]")
        };
        let out = write();
        assert_eq!(write(), out, "sent again");
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
