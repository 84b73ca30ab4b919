//! The order of a conversation as the API insists on it, made of items that are copied as text.
//!
//! The results of all calls of an answer stand in the one message behind it, before anything
//! else; there is a result for every call and a call for every result; a person begins. Native
//! history may have it otherwise, for instance after an interrupted turn, and is not changed.

use super::content::text_block;
use super::fields::{Fields, quoted};
use crate::wire::json::{fill, parse};
use orlop_types::{NativeItem, Value};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What stands for the result of a call that has none.
const NO_RESULT: &str = "no result: the call was not run, or its outcome is not known";
/// What stands before the text of a result whose call is gone.
const LATE_RESULT: &str = "[the result of an earlier tool call]";
/// What stands for the beginning of a conversation that begins with an answer.
const BEGINNING: &str = "[the conversation goes on]";

const USER: &str = r#"{"role":"user","content":"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":"#;

/// What an item is to the order. Ids are JSON texts.
enum Kind<'a> {
    /// Instructions; they stand elsewhere.
    System,
    /// A message of the person.
    User(Said<'a>),
    /// An answer, with the calls that it waits for.
    Assistant(Cow<'a, str>, Vec<&'a str>),
    /// Nothing: the API refuses messages without content.
    Empty,
    /// Anything else.
    Other,
}

/// A message of the person.
struct Said<'a> {
    item: &'a NativeItem,
    /// Its content, as JSON text.
    content: &'a str,
    /// The calls that it has results of.
    results: Vec<&'a str>,
}

/// What the order depends on in a block.
#[derive(Debug, Default)]
struct Head<'a> {
    kind: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    tool_use_id: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    cache_control: Option<&'a RawValue>,
}

fill!(Head, "a block",
    place: {},
    value: {
        "type" => kind,
        "id" => id,
        "tool_use_id" => tool_use_id,
        "text" => text,
        "cache_control" => cache_control,
    },
    skip unknown,
);

impl Head<'_> {
    fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|held| held.get().trim_matches('"') == kind)
    }

    /// The API sends text blocks without text, now and then, and refuses them.
    fn is_empty_text(&self) -> bool {
        self.is("text") && self.text.is_some_and(|text| text.get() == "\"\"")
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
        match self.kind(item) {
            Kind::System => self.ended.instructions.push(item),
            Kind::User(said) => self.said.push(said),
            Kind::Assistant(text, calls) => {
                // The API takes answers one after the other as one.
                if !self.said.is_empty() {
                    self.close();
                }
                if self.empty {
                    self.message(&format!("{USER}{}}}", quoted(BEGINNING)));
                }
                self.message(&text);
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
        let no_tools = calls.is_empty() && said.iter().all(|said| said.results.is_empty());
        if no_tools || answers_all(&said, &calls) {
            said.iter().for_each(|said| self.message(said.item.wire()));
            return;
        }
        let missing = calls.iter().filter(|id| !said.iter().any(|said| said.results.contains(id)));
        let mut blocks: Vec<Cow<'_, str>> = missing.map(|id| no_result(id).into()).collect();
        let mut open = calls.clone();
        let mut others = Vec::new();
        for said in &said {
            let results = &said.results;
            if results.is_empty() {
                others.push(inside(said.content));
            } else if results.iter().all(|id| open.contains(id)) && are_unique(results) {
                open.retain(|id| !results.contains(id));
                blocks.push(inside(said.content));
            } else {
                let (fitting, late) = sorted(said.item, &mut open);
                blocks.extend(fitting.into_iter().map(Cow::Owned));
                others.extend(late.into_iter().map(Cow::Owned));
            }
        }
        self.message(USER);
        for (position, block) in blocks.iter().chain(&others).enumerate() {
            self.out.push(if position == 0 { '[' } else { ',' });
            self.out.push_str(block);
        }
        self.out.push_str("]}");
    }

    fn message(&mut self, text: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        self.out.push_str(text);
    }

    fn kind(&mut self, item: &'a NativeItem) -> Kind<'a> {
        let Some((role, content, heads)) = read(item.wire()) else { return Kind::Other };
        self.ended.marked |= heads.iter().any(|head| head.cache_control.is_some());
        let is_empty = match content {
            "\"\"" | "null" => true,
            _ => content.starts_with('[') && heads.iter().all(Head::is_empty_text),
        };
        match role {
            "system" if heads.iter().all(|head| head.is("text")) => Kind::System,
            "user" | "assistant" if is_empty => Kind::Empty,
            "user" => {
                let results = heads.iter().filter(|head| head.is("tool_result"));
                let results = results.map(|head| head.tool_use_id.map_or("\"\"", RawValue::get));
                Kind::User(Said { item, content, results: results.collect() })
            }
            "assistant" => {
                let calls = heads.iter().filter(|head| head.is("tool_use"));
                let calls = calls.map(|head| head.id.map_or("\"\"", RawValue::get)).collect();
                match heads.iter().any(Head::is_empty_text) {
                    true => Kind::Assistant(without_empty_text(item).into(), calls),
                    false => Kind::Assistant(item.wire().into(), calls),
                }
            }
            _ => Kind::Other,
        }
    }
}

/// The role, the text of the content, and its blocks if it is a list of them.
fn read(wire: &str) -> Option<(&str, &str, Vec<Head<'_>>)> {
    for (role, start) in [("user", USER), ("assistant", ASSISTANT)] {
        let Some(rest) = wire.strip_prefix(start) else { continue };
        let content = rest.strip_suffix('}')?;
        // What is text alone is not looked into. Its end matters only where it is taken apart.
        if content.starts_with('"') {
            return Some((role, content, Vec::new()));
        }
        if let Ok(heads) = parse(content) {
            return Some((role, content, heads));
        }
    }
    let Fields(fields) = serde_json::from_str(wire).ok()?;
    let named = |name: &str| fields.iter().find(|(key, _)| key == name).map(|field| field.1.get());
    let (role, content) = (named("role")?.trim_matches('"'), named("content").unwrap_or("null"));
    Some((role, content, parse(content).unwrap_or_default()))
}

/// Whether one message has a result for each call, and no other.
fn answers_all(said: &[Said<'_>], calls: &[&str]) -> bool {
    let [Said { results, .. }] = said else { return false };
    results.len() == calls.len()
        && are_unique(results)
        && results.iter().all(|id| calls.contains(id))
}

fn are_unique(ids: &[&str]) -> bool {
    ids.iter().enumerate().all(|(position, id)| !ids[..position].contains(id))
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
