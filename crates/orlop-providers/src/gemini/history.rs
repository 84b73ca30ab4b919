//! Items in the order and the groups that the API insists on: instructions apart, every call
//! answered, the results of a turn together, the person first.
//!
//! Items are copied as text. Only those with calls or results are looked into.

use super::call_ids::CALL_IDS;
use super::from_native::result_text;
use super::to_native::TOOL_CALL_ID;
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
pub fn arrange<'a, I>(items: I) -> Arranged
where
    I: IntoIterator<Item = &'a NativeItem>,
    I::IntoIter: Clone,
{
    let items = items.into_iter();
    let size = items.clone().map(|item| item.wire().len() + 1).sum();
    let mut arranging = Arranging::default();
    arranging.out.contents.reserve(size);
    items.for_each(|item| arranging.push(item));
    arranging.settle();
    arranging.out
}

/// What a conversation that begins with the model is begun with.
const BEGIN: &str = r#"{"role":"user","parts":[{"text":"(The conversation goes on.)"}]}"#;

#[derive(Default)]
struct Arranging<'a> {
    out: Arranged,
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
    name: Cow<'a, str>,
    /// The server's id, and ours.
    ids: [Option<Cow<'a, str>>; 2],
    result: Option<Cow<'a, str>>,
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

impl<'a> Arranging<'a> {
    fn push(&mut self, item: &'a NativeItem) {
        let wire = item.wire();
        match role(item) {
            Some("system" | "developer") => self.instruct(wire),
            _ if !has_parts(item) => {}
            Some("model") => self.model(item),
            Some("user" | "function") if mentions(wire, "functionResponse") => self.results(item),
            _ => {
                self.settle();
                self.add(wire);
            }
        }
    }

    /// Adds a content that is not the model's.
    fn add(&mut self, content: &str) {
        self.turn.clear();
        add(&mut self.out.contents, content);
    }

    fn instruct(&mut self, wire: &'a str) {
        let usual = wire.strip_prefix(r#"{"role":"system","parts":["#);
        match usual.and_then(|rest| rest.strip_suffix("]}")) {
            Some("") => {}
            Some(parts) => add(&mut self.out.instructions, parts),
            None => {
                for part in raw_parts(wire) {
                    add(&mut self.out.instructions, part.get());
                }
            }
        }
    }

    fn model(&mut self, item: &'a NativeItem) {
        if self.answering {
            self.settle();
        }
        if self.out.contents.is_empty() {
            self.out.contents.push_str(BEGIN);
        }
        let calls = mentions(item.wire(), "functionCall");
        self.say(item.wire(), calls);
        if !calls {
            return;
        }
        let kept = item.metadata().get(CALL_IDS).and_then(Value::as_array);
        let calls = raw_parts(item.wire()).into_iter().filter_map(|part| tool_part(part)?.call);
        self.calls.extend(calls.enumerate().map(|(index, Named { name, id })| {
            let kept = kept.and_then(|ids| ids.get(index)?.as_str()).map(Cow::from);
            Call { name, ids: [id, kept], result: None }
        }));
    }

    /// Adds a content of the model. Calls come right behind a turn of the person: with what the
    /// model said before them they are one content.
    fn say(&mut self, content: &'a str, calls: bool) {
        if self.turn.is_empty() {
            self.begin = self.out.contents.len();
        }
        self.turn.push(content);
        if self.turn.len() == 1 || !calls {
            return add(&mut self.out.contents, content);
        }
        let parts = self.turn.iter().flat_map(|content| raw_parts(content));
        let parts: Vec<&str> = parts.map(RawValue::get).collect();
        self.out.contents.truncate(self.begin);
        let merged = format!("{{\"role\":\"model\",\"parts\":[{}]}}", parts.join(","));
        add(&mut self.out.contents, &merged);
    }

    fn results(&mut self, item: &'a NativeItem) {
        let parts = raw_parts(item.wire());
        let kept = item.metadata().get(TOOL_CALL_ID).and_then(Value::as_str);
        let first = !self.answering;
        self.answering = true;
        let (mut last, mut in_order) = (None, true);
        for part in parts {
            let Some(Named { name, id }) = tool_part(part).and_then(|part| part.response) else {
                self.beside.push(part.get().into());
                continue;
            };
            let ids = [id, kept.map(Cow::from)];
            match self.find(&name, &ids) {
                Some(at) => {
                    in_order &= last.is_none_or(|last| last < at);
                    last = Some(at);
                    let call = &mut self.calls[at];
                    in_order &= call.name == name;
                    call.result = Some(match call.name == name {
                        true => part.get().into(),
                        false => renamed(part, &call.name).into(),
                    });
                }
                None => {
                    in_order = false;
                    self.beside.push(orphan(part, &name).into());
                }
            }
        }
        let complete = self.calls.iter().all(|call| call.result.is_some());
        self.alone = (first && in_order && complete && last.is_some()).then_some(item.wire());
    }

    /// The call that a result answers.
    fn find(&self, name: &str, ids: &[Option<Cow<'_, str>>; 2]) -> Option<usize> {
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
        let calls = std::mem::take(&mut self.calls);
        let beside = std::mem::take(&mut self.beside);
        if let Some(item) = self.alone.take() {
            return self.add(item);
        }
        if calls.is_empty() && beside.is_empty() {
            return;
        }
        let results = calls.into_iter().map(|call| match call.result {
            Some(result) => result,
            None => unanswered(&call).into(),
        });
        let parts: Vec<Cow<'_, str>> = results.chain(beside).collect();
        let content = format!("{{\"role\":\"user\",\"parts\":[{}]}}", parts.join(","));
        self.add(&content);
    }
}

/// Adds an element to the text of a list.
fn add(list: &mut String, element: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(element);
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
fn renamed(part: &RawValue, name: &str) -> String {
    let mut part: Value = serde_json::from_str(part.get()).unwrap_or_default();
    part["functionResponse"]["name"] = name.into();
    part.to_string()
}

/// A result whose call is gone, as text.
fn orphan(part: &RawValue, name: &str) -> String {
    let part: Value = serde_json::from_str(part.get()).unwrap_or_default();
    let (text, _) = result_text(&part["functionResponse"]["response"]);
    json!({ "text": format!("[result of an earlier call of the tool {name:?}] {text}") })
        .to_string()
}

/// What stands for the result of a call that has none.
fn unanswered(call: &Call<'_>) -> String {
    let mut response =
        json!({ "name": call.name, "response": { "error": "the call was not answered" } });
    if let [Some(id), _] = &call.ids {
        response["id"] = id.as_ref().into();
    }
    json!({ "functionResponse": response }).to_string()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
