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
use crate::wire::place::Kept;
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
    let Pairs { calls, notes, .. } = Pairs::of(&items);
    let mut texts = Vec::with_capacity(items.len());
    for (position, (item, note)) in items.iter().zip(notes).enumerate() {
        if position >= selection.start {
            match note {
                Note::Reasoning(reasoning) => texts.extend(reasoning.text(item, selection)),
                Note::Call(call) => texts.push(calls[call].text(item)),
                Note::Result(Some(call), free_form) => {
                    texts.push(calls[call].result(item, free_form));
                }
                Note::Result(None, _) if !selection.continues => texts.push(lost(item).into()),
                _ if item.wire() == SILENCE => {}
                _ => texts.push(item.wire().into()),
            }
        }
        if position >= selection.answer
            && let Note::Call(call) = note
            && !calls[call].answered
        {
            texts.push(calls[call].no_result().into());
        }
    }
    texts
}

/// What was found in an item, and is kept with it; in most, nothing.
enum Found {
    Reasoning(Reasoning),
    /// A call, with its id, which is empty if it has none.
    Call {
        id: Kept,
        free_form: bool,
    },
    /// A result, with the id of its call.
    Result {
        id: Kept,
        free_form: bool,
    },
}

#[derive(Clone, Copy)]
struct Reasoning {
    /// Whether it is only the id of an item.
    is_reference: bool,
    has_status: bool,
}

fn find(text: &str) -> Option<Found> {
    let has = |word: &str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    // Most items need not be looked at twice. In a string the quotes would be escaped.
    if !has("\"call_id\":") && !has("\"type\":\"reasoning\"") {
        return None;
    }
    let head = Head::parse(text).ok()?;
    let id = Kept::of(head.call_id.as_str().unwrap_or_default(), text);
    match head.kind.as_str()? {
        "reasoning" => Some(Found::Reasoning(Reasoning::of(text))),
        "function_call" => Some(Found::Call { id, free_form: false }),
        "custom_tool_call" => Some(Found::Call { id, free_form: true }),
        "function_call_output" => Some(Found::Result { id, free_form: false }),
        "custom_tool_call_output" => Some(Found::Result { id, free_form: true }),
        _ => None,
    }
}

/// What an item is among the others.
#[derive(Clone, Copy)]
enum Note {
    Nothing,
    Reasoning(Reasoning),
    /// A call, by its number.
    Call(usize),
    /// A result, with the number of its call, and whether it is that of a free-form call.
    Result(Option<usize>, bool),
}

/// Which results belong to which calls.
#[derive(Default)]
struct Pairs<'a> {
    calls: Vec<Call<'a>>,
    /// One for each item.
    notes: Vec<Note>,
    /// The calls by their ids, as many as were needed so far.
    by_id: HashMap<Cow<'a, str>, usize>,
    indexed: usize,
}

struct Call<'a> {
    id: Cow<'a, str>,
    /// Whether the id was made here.
    named_here: bool,
    free_form: bool,
    answered: bool,
}

/// Most results are of one of so many calls before them.
const NEAR: usize = 8;

impl<'a> Pairs<'a> {
    fn of(items: &[&'a NativeItem]) -> Self {
        let mut pairs = Self { notes: Vec::with_capacity(items.len()), ..Self::default() };
        for (position, item) in items.iter().enumerate() {
            let filled = |id: &'a Kept| Some(id.read(item.wire())).filter(|id| !id.is_empty());
            let note = match item.found(|item| find(item.wire())) {
                None => Note::Nothing,
                Some(Found::Reasoning(reasoning)) => Note::Reasoning(*reasoning),
                Some(Found::Call { id, free_form }) => pairs.call(position, filled(id), *free_form),
                Some(Found::Result { id, free_form }) => {
                    Note::Result(pairs.answered(filled(id)), *free_form)
                }
            };
            pairs.notes.push(note);
        }
        pairs
    }

    fn call(&mut self, position: usize, given: Option<&'a str>, free_form: bool) -> Note {
        let id = given.map_or_else(|| format!("call_{position}").into(), Cow::Borrowed);
        self.calls.push(Call { id, named_here: given.is_none(), free_form, answered: false });
        Note::Call(self.calls.len() - 1)
    }

    /// The number of the call that has a result now.
    fn answered(&mut self, id: Option<&str>) -> Option<usize> {
        let number = match id {
            Some(id) => self.last_named(id),
            // Results without an id come in the order of their calls.
            None => self.calls.iter().position(|call| call.named_here && !call.answered),
        }?;
        self.calls[number].answered = true;
        Some(number)
    }

    /// The last call with this id.
    fn last_named(&mut self, id: &str) -> Option<usize> {
        let far = self.calls.len().saturating_sub(NEAR);
        let near = self.calls[far..].iter().rposition(|call| call.id == id);
        near.map(|number| far + number).or_else(|| {
            let more = self.calls.iter().enumerate().skip(self.indexed);
            self.by_id.extend(more.map(|(number, call)| (call.id.clone(), number)));
            self.indexed = self.calls.len();
            self.by_id.get(id).copied()
        })
    }
}

impl Call<'_> {
    /// The call as it is sent.
    fn text<'a>(&self, item: &'a NativeItem) -> Cow<'a, str> {
        match self.named_here {
            true => edited(item.wire(), &[("call_id", Some(self.id.as_ref().into()))]).into(),
            false => item.wire().into(),
        }
    }

    /// Its result as it is sent: of the same kind, with its id.
    fn result<'a>(&self, item: &'a NativeItem, free_form: bool) -> Cow<'a, str> {
        if free_form == self.free_form && !self.named_here {
            return item.wire().into();
        }
        let kind = self.result_type();
        let changes = [("type", Some(kind.into())), ("call_id", Some(self.id.as_ref().into()))];
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

impl Reasoning {
    fn of(text: &str) -> Self {
        let Raw { all } = parse(text).unwrap_or_default();
        let field =
            |name: &str| all.iter().rfind(|(key, _)| key == name).map(|field| field.1.get());
        let filled = |name: &str| {
            let value = field(name).unwrap_or_default();
            value.starts_with(['"', '[']) && !matches!(value, "\"\"" | "[]")
        };
        Self {
            is_reference: filled("id") && !filled("encrypted_content") && !filled("content"),
            has_status: field("status").is_some(),
        }
    }

    /// The item as it is sent, if it is.
    fn text<'a>(self, item: &'a NativeItem, selection: Selection) -> Option<Cow<'a, str>> {
        if selection.without_reasoning || (self.is_reference && !selection.stored) {
            return None;
        }
        Some(match self.has_status {
            true => edited(item.wire(), &[("status", None)]).into(),
            false => item.wire().into(),
        })
    }
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
        let again = texts(&items, selection);
        let texts = texts(&items, selection);
        assert_eq!(again, texts, "sent again");
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
    fn a_result_finds_its_call_however_far_before_it() {
        let call = |id: &str| {
            format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#)
        };
        let result = |id: &str| {
            format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"1"}}"#)
        };
        let ids: Vec<String> = (0..3 * NEAR).map(|n| format!("c{n}")).collect();
        // The first id comes again: its last call is the one that is answered.
        let calls = ids.iter().chain(&ids[..1]).map(|id| call(id));
        let lines: Vec<String> = calls.chain(ids.iter().map(|id| result(id))).collect();
        let items: Vec<NativeItem> =
            lines.iter().map(|text| NativeItem::from_text(text).unwrap()).collect();
        let sent = texts(&items, Selection::default());
        let (unanswered, same): (Vec<_>, Vec<_>) =
            sent.iter().partition(|text| text.contains("There is no result"));
        assert_eq!(same, lines.iter().collect::<Vec<_>>());
        assert_eq!(unanswered.len(), 1);
        assert!(sent[1].contains("There is no result"), "{}", sent[1]);
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
