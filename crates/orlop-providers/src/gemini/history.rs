//! Items in the order and the groups that the API insists on: instructions apart, every call
//! answered, the results of a turn together, the person first.
//!
//! Items are copied as text. Only those with calls or results are looked into, and only once.

use super::call_ids::CALL_IDS;
use super::from_native::result_text;
use super::to_native::TOOL_CALL_ID;
use crate::wire::place::Kept;
use memchr::memmem;
use orlop_types::{NativeItem, Value};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A conversation as the API takes it.
#[derive(Debug, Default, PartialEq)]
pub struct Arranged {
    /// The parts of `systemInstruction`, as JSON text between the brackets of a list.
    pub instructions: String,
    /// The contents, in the same form.
    pub contents: String,
}

/// Arranges the items of a conversation.
///
/// ```
/// use orlop_providers::gemini::history::arrange;
/// use orlop_types::NativeItem;
/// use serde_json::json;
/// let items = [
///     json!({"role": "system", "parts": [{"text": "be brief"}]}),
///     json!({"role": "user", "parts": [{"text": "hi"}]}),
/// ]
/// .map(NativeItem::from);
/// let arranged = arrange(&items);
/// assert_eq!(arranged.instructions, r#"{"text":"be brief"}"#);
/// assert_eq!(arranged.contents, r#"{"role":"user","parts":[{"text":"hi"}]}"#);
/// ```
pub fn arrange<'a>(items: impl IntoIterator<Item = &'a NativeItem>) -> Arranged {
    let Pieces { instructions, contents } = pieces(items);
    Arranged { instructions, contents: contents.join(",") }
}

/// The same, before it is copied together.
#[derive(Default)]
pub(super) struct Pieces<'a> {
    pub(super) instructions: String,
    /// The text of each content.
    pub(super) contents: Vec<Cow<'a, str>>,
}

/// Arranges the items of a conversation without copying them.
pub(super) fn pieces<'a>(items: impl IntoIterator<Item = &'a NativeItem>) -> Pieces<'a> {
    let items = items.into_iter();
    let mut arranging = Arranging::default();
    arranging.out.contents.reserve(items.size_hint().0);
    items.for_each(|item| arranging.push(item));
    arranging.settle();
    arranging.out
}

/// What a conversation that begins with the model is begun with.
const BEGIN: &str = r#"{"role":"user","parts":[{"text":"(The conversation goes on.)"}]}"#;

#[derive(Default)]
struct Arranging<'a> {
    out: Pieces<'a>,
    /// The calls of the model's turn.
    calls: Vec<Call<'a>>,
    /// What the results came with that is no result.
    beside: Vec<Cow<'a, str>>,
    /// Whether anything but the model has spoken since the calls.
    answering: bool,
    /// The one item that answers the turn alone and in order.
    alone: Option<&'a str>,
    /// What the model said since anybody else did, and where that begins.
    turn: Vec<&'a str>,
    begin: usize,
}

struct Call<'a> {
    name: &'a str,
    /// The server's id, and ours.
    ids: [Option<&'a str>; 2],
    result: Option<Cow<'a, str>>,
}

/// What was found in an item, and is kept with it. Most only say something: there nothing is.
enum Found {
    /// Instructions; they stand elsewhere.
    Instructions,
    /// It says nothing; the API refuses those.
    Silence,
    /// The model calls tools.
    Calls(Box<[KeptName]>),
    /// Its parts, some of which are results.
    Results(Box<[KeptPart]>),
}

struct KeptPart {
    text: Kept,
    /// The call that it is the result of.
    response: Option<KeptName>,
}

/// How a call, or its result, says which one it is.
struct KeptName {
    name: Kept,
    id: Option<Kept>,
}

impl KeptName {
    fn of(named: &Named<'_>, wire: &str) -> Self {
        let id = named.id.as_ref().map(|id| Kept::of(id, wire));
        Self { name: Kept::of(&named.name, wire), id }
    }

    fn read<'a>(&'a self, wire: &'a str) -> (&'a str, Option<&'a str>) {
        (self.name.read(wire), self.id.as_ref().map(|id| id.read(wire)))
    }
}

/// An item's text, in pieces.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolPart<'a> {
    #[serde(borrow, rename = "functionCall")]
    call: Option<Named<'a>>,
    #[serde(borrow, rename = "functionResponse")]
    response: Option<Named<'a>>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

/// Looks into an item.
fn find(item: &NativeItem) -> Option<Found> {
    let wire = item.wire();
    match role(item) {
        Some("system" | "developer") => Some(Found::Instructions),
        _ if !has_parts(item) => Some(Found::Silence),
        Some("model") if mentions(wire, "functionCall") => {
            let calls = raw_parts(wire).into_iter().filter_map(|part| tool_part(part)?.call);
            Some(Found::Calls(calls.map(|call| KeptName::of(&call, wire)).collect()))
        }
        Some("user" | "function") if mentions(wire, "functionResponse") => {
            let parts = raw_parts(wire).into_iter().map(|part| {
                let response = tool_part(part).and_then(|part| part.response);
                let response = response.map(|named| KeptName::of(&named, wire));
                KeptPart { text: Kept::of(part.get(), wire), response }
            });
            Some(Found::Results(parts.collect()))
        }
        _ => None,
    }
}

impl<'a> Arranging<'a> {
    fn push(&mut self, item: &'a NativeItem) {
        let wire = item.wire();
        match item.found(find) {
            Some(Found::Instructions) => self.instruct(wire),
            Some(Found::Silence) => {}
            Some(Found::Calls(calls)) => self.call(item, calls),
            Some(Found::Results(parts)) => self.results(item, parts),
            None if role(item) == Some("model") => self.say(wire, false),
            None => {
                self.settle();
                self.add(wire.into());
            }
        }
    }

    /// Adds a content that is not the model's.
    fn add(&mut self, content: Cow<'a, str>) {
        self.turn.clear();
        self.out.contents.push(content);
    }

    fn instruct(&mut self, wire: &'a str) {
        let usual = wire.strip_prefix(r#"{"role":"system","parts":["#);
        match usual.and_then(|rest| rest.strip_suffix("]}")) {
            Some("") => {}
            Some(parts) => self.add_instruction(parts),
            None => {
                for part in raw_parts(wire) {
                    self.add_instruction(part.get());
                }
            }
        }
    }

    fn add_instruction(&mut self, parts: &str) {
        if !self.out.instructions.is_empty() {
            self.out.instructions.push(',');
        }
        self.out.instructions.push_str(parts);
    }

    fn call(&mut self, item: &'a NativeItem, calls: &'a [KeptName]) {
        self.say(item.wire(), true);
        let kept = item.metadata().get(CALL_IDS).and_then(Value::as_array);
        self.calls.extend(calls.iter().enumerate().map(|(index, call)| {
            let (name, id) = call.read(item.wire());
            let kept = kept.and_then(|ids| ids.get(index)?.as_str());
            Call { name, ids: [id, kept], result: None }
        }));
    }

    /// Adds a content of the model. Calls come right behind a turn of the person: with what the
    /// model said before them they are one content.
    fn say(&mut self, content: &'a str, calls: bool) {
        if self.answering {
            self.settle();
        }
        if self.out.contents.is_empty() {
            self.out.contents.push(BEGIN.into());
        }
        if self.turn.is_empty() {
            self.begin = self.out.contents.len();
        }
        self.turn.push(content);
        if self.turn.len() == 1 || !calls {
            return self.out.contents.push(content.into());
        }
        let parts = self.turn.iter().flat_map(|content| raw_parts(content));
        let parts: Vec<&str> = parts.map(RawValue::get).collect();
        self.out.contents.truncate(self.begin);
        let merged = format!("{{\"role\":\"model\",\"parts\":[{}]}}", parts.join(","));
        self.out.contents.push(merged.into());
    }

    fn results(&mut self, item: &'a NativeItem, parts: &'a [KeptPart]) {
        let kept = item.metadata().get(TOOL_CALL_ID).and_then(Value::as_str);
        let first = !self.answering;
        self.answering = true;
        let (mut last, mut in_order) = (None, true);
        for KeptPart { text, response } in parts {
            let text = text.read(item.wire());
            let Some((name, id)) = response.as_ref().map(|named| named.read(item.wire())) else {
                self.beside.push(text.into());
                continue;
            };
            match self.find(name, [id, kept]) {
                Some(at) => {
                    in_order &= last.is_none_or(|last| last < at);
                    last = Some(at);
                    let call = &mut self.calls[at];
                    in_order &= call.name == name;
                    call.result = Some(match call.name == name {
                        true => text.into(),
                        false => renamed(text, call.name).into(),
                    });
                }
                None => {
                    in_order = false;
                    self.beside.push(orphan(text, name).into());
                }
            }
        }
        let complete = self.calls.iter().all(|call| call.result.is_some());
        self.alone = (first && in_order && complete && last.is_some()).then_some(item.wire());
    }

    /// The call that a result answers.
    fn find(&self, name: &str, ids: [Option<&str>; 2]) -> Option<usize> {
        let open = |call: &Call<'_>| call.result.is_none();
        let same_id = |call: &Call<'_>| {
            ids.iter().flatten().any(|id| call.ids.iter().flatten().any(|own| own == id))
        };
        let by_id = self.calls.iter().position(|call| open(call) && same_id(call));
        by_id.or_else(|| self.calls.iter().position(|call| open(call) && call.name == name))
    }

    /// Ends the results of a turn: what lacks is said, and all of them go into one content.
    fn settle(&mut self) {
        self.answering = false;
        if let Some(item) = self.alone.take() {
            self.calls.clear();
            self.beside.clear();
            return self.add(item.into());
        }
        if self.calls.is_empty() && self.beside.is_empty() {
            return;
        }
        let results = self.calls.drain(..).map(|call| match call.result {
            Some(result) => result,
            None => unanswered(&call).into(),
        });
        let parts: Vec<Cow<'_, str>> = results.chain(self.beside.drain(..)).collect();
        let content = format!("{{\"role\":\"user\",\"parts\":[{}]}}", parts.join(","));
        self.add(content.into());
    }
}

/// Whose an item is. The role stands at the begin or at the end of the text, as a rule.
fn role(item: &NativeItem) -> Option<&str> {
    let wire = item.wire();
    ["user", "model", "system"]
        .into_iter()
        .find(|role| {
            let begins = wire.strip_prefix("{\"role\":\"");
            let begins = begins.and_then(|rest| rest.strip_prefix(role)?.strip_prefix("\","));
            let ends =
                || wire.strip_suffix("\"}")?.strip_suffix(role)?.strip_suffix("],\"role\":\"");
            begins.or_else(ends).is_some()
        })
        .or_else(|| item.get("role")?.as_str())
}

/// Whether an item says anything; the API refuses those that do not.
fn has_parts(item: &NativeItem) -> bool {
    let list = |parts: &Value| parts.as_array().is_some_and(|parts| !parts.is_empty());
    item.wire().starts_with("{\"parts\":[{")
        || item.wire().contains(",\"parts\":[{")
        || item.get("parts").is_some_and(list)
}

fn mentions(wire: &str, word: &str) -> bool {
    memmem::find(wire.as_bytes(), word.as_bytes()).is_some()
}

fn raw_parts(wire: &str) -> Vec<&RawValue> {
    serde_json::from_str::<Content<'_>>(wire).map(|content| content.parts).unwrap_or_default()
}

fn tool_part(part: &RawValue) -> Option<ToolPart<'_>> {
    serde_json::from_str(part.get()).ok()
}

/// A result of the call as the call names its tool.
fn renamed(part: &str, name: &str) -> String {
    let mut part: Value = serde_json::from_str(part).unwrap_or_default();
    part["functionResponse"]["name"] = name.into();
    part.to_string()
}

/// A result whose call is gone, as text.
fn orphan(part: &str, name: &str) -> String {
    let part: Value = serde_json::from_str(part).unwrap_or_default();
    let (text, _) = result_text(&part["functionResponse"]["response"]);
    json!({ "text": format!("[result of an earlier call of the tool {name:?}] {text}") })
        .to_string()
}

/// What stands for the result of a call that has none.
fn unanswered(call: &Call<'_>) -> String {
    let mut response =
        json!({ "name": call.name, "response": { "error": "the call was not answered" } });
    if let [Some(id), _] = &call.ids {
        response["id"] = (*id).into();
    }
    json!({ "functionResponse": response }).to_string()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
