//! Which items of the history are sent, and how. They go back byte for byte but for what the API
//! refuses:
//!
//! - `status` of a reasoning item, which servers write and do not read;
//! - reasoning that is only the id of an item which the server did not store, where it has neither
//!   encrypted content nor text;
//! - a message of the model without any content;
//! - a call without a result, or a result without its call: the first gets a result that says so,
//!   the second becomes a message. Calls and results that have no id are given one.

use super::answer::SILENCE;
use super::draft::split;
use super::wire::Head;
use crate::wire::json::{Unknown, fill, parse};
use memchr::memmem;
use orlop_types::{NativeItem, Value};
use serde_json::json;
use std::borrow::Cow;
use std::collections::HashMap;

/// What is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection {
    /// The first item that is sent; the server has those before it.
    pub start: usize,
    /// Where the answer begins that ends before `start`: its calls still want results.
    pub answer: usize,
    /// Whether the server has more of the conversation than the items here, so that a result may
    /// belong to a call which is not among them.
    pub continues: bool,
    /// Whether the server stores what it answers.
    pub stored: bool,
    /// Whether reasoning is left out altogether.
    pub without_reasoning: bool,
}

/// The texts of the items that are sent.
pub fn texts<'a>(
    items: impl IntoIterator<Item = &'a NativeItem>,
    selection: Selection,
) -> Vec<Cow<'a, str>> {
    let items: Vec<&NativeItem> = items.into_iter().collect();
    let pairs = Pairs::of(&items);
    let mut texts = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let note = pairs.notes.get(&position);
        let call = match note {
            Some(Note::Call(call)) => pairs.calls.get(*call),
            _ => None,
        };
        if position >= selection.start {
            match note {
                Some(Note::Reasoning) => texts.extend(reasoning(item, selection)),
                Some(Note::Call(_)) => {
                    texts.push(call.map_or(item.wire().into(), |it| it.text(item)))
                }
                Some(Note::Result(Some(call))) => {
                    let text = pairs.calls.get(*call).map(|call| call.result(item));
                    texts.push(text.unwrap_or(item.wire().into()));
                }
                Some(Note::Result(None)) if !selection.continues => texts.push(lost(item).into()),
                _ if item.wire() == SILENCE => {}
                _ => texts.push(item.wire().into()),
            }
        }
        if position >= selection.answer
            && let Some(call) = call.filter(|call| !call.answered)
        {
            texts.push(call.no_result().into());
        }
    }
    texts
}

/// What is particular about an item.
enum Note {
    Reasoning,
    /// A call, by its number.
    Call(usize),
    /// A result, with the number of its call.
    Result(Option<usize>),
}

/// Which results belong to which calls.
#[derive(Default)]
struct Pairs {
    calls: Vec<Call>,
    by_id: HashMap<String, usize>,
    notes: HashMap<usize, Note>,
}

struct Call {
    id: String,
    /// Whether the id was made here.
    named_here: bool,
    free_form: bool,
    answered: bool,
}

impl Pairs {
    fn of(items: &[&NativeItem]) -> Self {
        let (call_id, reasoning) =
            (memmem::Finder::new("\"call_id\":"), memmem::Finder::new("\"type\":\"reasoning\""));
        let mut pairs = Self::default();
        for (position, item) in items.iter().enumerate() {
            let text = item.wire();
            // Most items need not be looked at twice. In a string the quotes would be escaped.
            if call_id.find(text.as_bytes()).is_none() && reasoning.find(text.as_bytes()).is_none()
            {
                continue;
            }
            let Ok(head) = Head::parse(text) else { continue };
            let note = match head.kind.as_str() {
                Some("reasoning") => Note::Reasoning,
                Some("function_call") => pairs.call(position, &head, false),
                Some("custom_tool_call") => pairs.call(position, &head, true),
                Some("function_call_output" | "custom_tool_call_output") => pairs.result(&head),
                _ => continue,
            };
            pairs.notes.insert(position, note);
        }
        pairs
    }

    fn call(&mut self, position: usize, head: &Head<'_>, free_form: bool) -> Note {
        let given = head.call_id.filled();
        let id = given.map_or_else(|| format!("call_{position}"), str::to_owned);
        let number = self.calls.len();
        self.by_id.insert(id.clone(), number);
        self.calls.push(Call { id, named_here: given.is_none(), free_form, answered: false });
        Note::Call(number)
    }

    fn result(&mut self, head: &Head<'_>) -> Note {
        let number = match head.call_id.filled() {
            Some(id) => self.by_id.get(id).copied(),
            // Results without an id come in the order of their calls.
            None => self.calls.iter().position(|call| call.named_here && !call.answered),
        };
        if let Some(call) = number.and_then(|number| self.calls.get_mut(number)) {
            call.answered = true;
        }
        Note::Result(number)
    }
}

impl Call {
    /// The call as it is sent.
    fn text<'a>(&self, item: &'a NativeItem) -> Cow<'a, str> {
        match self.named_here {
            true => edited(item.wire(), &[("call_id", Some(self.id.as_str().into()))]).into(),
            false => item.wire().into(),
        }
    }

    /// Its result as it is sent: of the same kind, with its id.
    fn result<'a>(&self, item: &'a NativeItem) -> Cow<'a, str> {
        let kind = self.result_type();
        let is_kind = item.get("type").and_then(Value::as_str) == Some(kind);
        if is_kind && !self.named_here {
            return item.wire().into();
        }
        let changes = [("type", Some(kind.into())), ("call_id", Some(self.id.as_str().into()))];
        edited(item.wire(), &changes).into()
    }

    fn result_type(&self) -> &'static str {
        if self.free_form { "custom_tool_call_output" } else { "function_call_output" }
    }

    fn no_result(&self) -> String {
        let output = "There is no result: the tool was not run.";
        json!({ "type": self.result_type(), "call_id": self.id, "output": output }).to_string()
    }
}

/// A result whose call is not in the history.
fn lost(item: &NativeItem) -> String {
    let (text, parts) = split(item.get("output").unwrap_or(&Value::Null));
    let text = format!("The result of a tool whose call is no longer known:\n{text}");
    let mut content = vec![json!({ "type": "input_text", "text": text })];
    content.extend(parts.into_iter().map(Value::Object));
    json!({ "type": "message", "role": "user", "content": content }).to_string()
}

fn reasoning(item: &NativeItem, selection: Selection) -> Option<Cow<'_, str>> {
    let filled = |key: &str| match item.get(key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(parts)) => !parts.is_empty(),
        _ => false,
    };
    let is_reference = filled("id") && !filled("encrypted_content") && !filled("content");
    if selection.without_reasoning || (is_reference && !selection.stored) {
        return None;
    }
    Some(match item.get("status") {
        Some(_) => edited(item.wire(), &[("status", None)]).into(),
        None => item.wire().into(),
    })
}

#[derive(Default)]
struct Raw<'a> {
    all: Unknown<'a>,
}

fill!(Raw, "an item",
    place: {},
    value: {},
    rest: |read, key, fields| read.all.push((key, fields.next_value()?)),
);

/// The text of an object with these fields changed or left out; the others stay as they are.
fn edited(text: &str, changes: &[(&str, Option<Value>)]) -> String {
    let Ok(fields) = parse::<Raw<'_>>(text) else { return text.to_owned() };
    let mut out = String::with_capacity(text.len() + 32);
    let mut write = |key: &str, value: &str| {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(&Value::from(key).to_string());
        out.push(':');
        out.push_str(value);
    };
    for (key, value) in &fields.all {
        match changes.iter().find(|(name, _)| name == key) {
            Some((_, Some(other))) => write(key, &other.to_string()),
            Some((_, None)) => {}
            None => write(key, value.get()),
        }
    }
    for (key, value) in changes {
        let missing = fields.all.iter().all(|(name, _)| name != key);
        if let (true, Some(value)) = (missing, value) {
            write(key, &value.to_string());
        }
    }
    if out.is_empty() { "{}".to_owned() } else { out + "}" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(items: &str, selection: Selection, expected: Expect) {
        let items: Vec<NativeItem> = items
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| NativeItem::from_text(line).unwrap())
            .collect();
        let texts = texts(&items, selection);
        for text in &texts {
            serde_json::from_str::<Value>(text).unwrap();
        }
        expected.assert_eq(&texts.join("\n"));
    }

    #[test]
    fn items_go_back_as_they_are() {
        let items = r#"{"role":"user","content":"\"call_id\":1, \"type\":\"reasoning\"","n":1.0}
            {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"\u00e9","content":[]}
            {"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"f","arguments":"{}"}
            {"type":"function_call_output","call_id":"a","output":"1"}
            {"type":"shell_call","call_id":"s","action":{}}"#;
        let same: Vec<&str> = items.lines().map(str::trim).collect();
        let items: Vec<NativeItem> =
            same.iter().map(|text| NativeItem::from_text(text).unwrap()).collect();
        let texts = texts(&items, Selection::default());
        assert_eq!(texts, same);
        assert!(texts.iter().all(|text| matches!(text, Cow::Borrowed(_))));
    }

    #[test]
    fn the_status_of_reasoning_is_not_sent() {
        check(
            r#"{"id":"rs_1","status":"completed","type":"reasoning","summary":[],"encrypted_content":"x","odd":null,"n":1.0}
               {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[],"status":null}"#,
            Selection::default(),
            expect![[r#"
                {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x","odd":null,"n":1.0}
                {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]}"#]],
        );
    }

    #[test]
    fn reasoning_that_the_server_would_have_to_look_up_is_sent_only_if_it_stores() {
        let items = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}
            {"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":null}
            {"type":"reasoning","summary":[{"type":"summary_text","text":"no id"}]}"#;
        check(
            items,
            Selection::default(),
            expect![[r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"no id"}]}"#]],
        );
        check(
            items,
            Selection { stored: true, ..Selection::default() },
            expect![[r#"
            {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}
            {"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":null}
            {"type":"reasoning","summary":[{"type":"summary_text","text":"no id"}]}"#]],
        );
        check(items, Selection { without_reasoning: true, ..Selection::default() }, expect![[""]]);
    }

    #[test]
    fn calls_and_results_without_each_other_are_made_valid() {
        let items = r#"{"type":"function_call_output","call_id":"gone","output":"late"}
            {"type":"function_call","call_id":"a","name":"f","arguments":"{}"}
            {"type":"custom_tool_call","call_id":"b","name":"g","input":"x"}
            {"type":"function_call_output","call_id":"b","output":"2"}
            {"role":"user","content":"never mind"}"#;
        check(
            items,
            Selection::default(),
            expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"The result of a tool whose call is no longer known:\nlate"}]}
            {"type":"function_call","call_id":"a","name":"f","arguments":"{}"}
            {"type":"function_call_output","call_id":"a","output":"There is no result: the tool was not run."}
            {"type":"custom_tool_call","call_id":"b","name":"g","input":"x"}
            {"type":"custom_tool_call_output","call_id":"b","output":"2"}
            {"role":"user","content":"never mind"}"#]],
        );
    }

    #[test]
    fn a_result_of_a_call_that_the_server_has_passes() {
        check(
            r#"{"type":"function_call_output","call_id":"there","output":"1"}"#,
            Selection { continues: true, ..Selection::default() },
            expect![[r#"{"type":"function_call_output","call_id":"there","output":"1"}"#]],
        );
    }

    #[test]
    fn silence_is_not_sent() {
        let items = [SILENCE, r#"{"role":"user","content":"and?"}"#];
        let items = items.map(|text| NativeItem::from_text(text).unwrap());
        assert_eq!(texts(&items, Selection::default()), [items[1].wire()]);
    }

    #[test]
    fn calls_without_an_id_get_one() {
        check(
            r#"{"type":"function_call","call_id":null,"name":"f","arguments":"{}"}
               {"type":"function_call","call_id":null,"name":"g","arguments":"{}"}
               {"type":"function_call_output","call_id":null,"output":"of f"}
               {"type":"function_call_output","call_id":null,"output":"of g"}
               {"type":"function_call_output","call_id":null,"output":"of nothing"}"#,
            Selection::default(),
            expect![[r#"
                {"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"}
                {"type":"function_call","call_id":"call_1","name":"g","arguments":"{}"}
                {"type":"function_call_output","call_id":"call_0","output":"of f"}
                {"type":"function_call_output","call_id":"call_1","output":"of g"}
                {"type":"message","role":"user","content":[{"type":"input_text","text":"The result of a tool whose call is no longer known:\nof nothing"}]}"#]],
        );
    }

    #[test]
    fn only_what_follows_a_stored_response_is_sent() {
        check(
            r#"{"type":"function_call","call_id":"old","name":"f","arguments":"{}"}
               {"type":"function_call","call_id":"a","name":"f","arguments":"{}"}
               {"type":"function_call","call_id":"b","name":"f","arguments":"{}"}
               {"type":"function_call_output","call_id":"b","output":"2"}
               {"role":"user","content":"go on"}"#,
            Selection { start: 3, answer: 1, ..Selection::default() },
            expect![[r#"
                {"type":"function_call_output","call_id":"a","output":"There is no result: the tool was not run."}
                {"type":"function_call_output","call_id":"b","output":"2"}
                {"role":"user","content":"go on"}"#]],
        );
    }
}
