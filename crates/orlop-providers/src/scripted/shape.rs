//! The native form: records of messages, held one to an item, or in ways that make the way
//! between messages and items as winding as real APIs have it.
//!
//! An item is a record, or has several under `messages`. A record with `more` goes on in the next
//! one. Reading needs to know no more than that, so history may change its shape on the way.

use orlop_types::{Map, Message, NativeItem, Role, Value};
use serde_json::json;

/// How messages are held in items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// One item a message.
    #[default]
    Single,
    /// An item for each thing that a message has: reasoning, text, parts, calls.
    Split,
    /// Neighbouring user and tool messages in one item. Answers with text and calls are two
    /// messages in one item.
    Merged,
    /// As merged, with reasoning in an item of its own: messages have several items, and items
    /// several messages.
    Mixed,
}

impl Shape {
    pub(super) const WORDS: [(&'static str, Self); 4] = [
        ("single", Self::Single),
        ("split", Self::Split),
        ("merged", Self::Merged),
        ("mixed", Self::Mixed),
    ];

    fn merges(self) -> bool {
        matches!(self, Self::Merged | Self::Mixed)
    }

    /// The messages as items of this shape.
    pub(super) fn to_native(self, messages: &[Message]) -> Vec<NativeItem> {
        let mut items = Vec::new();
        let mut rest = messages;
        while let Some(first) = rest.first() {
            let mergeable = |message: &Message| matches!(message.role(), Role::User | Role::Tool);
            let run = rest.iter().take_while(|message| self.merges() && mergeable(message)).count();
            let (together, others) = rest.split_at(run.max(1));
            rest = others;
            match together {
                [_] => items.extend(self.pieces(record(first))),
                several => items.push(bundle(several.iter().map(record))),
            }
        }
        items
    }

    /// The items of an answer. Where messages are merged, text and calls are two of them.
    pub(super) fn answer(self, message: &Message) -> Vec<NativeItem> {
        let mut text = record(message);
        if !self.merges() || message.text().is_empty() || !text.contains_key(CALLS) {
            return self.pieces(text);
        }
        let mut items = Vec::new();
        if let (Self::Mixed, Some(thought)) = (self, text.shift_remove(REASONING)) {
            items.push(fragment(REASONING, thought).into());
        }
        let facts = text.shift_remove(METADATA);
        let mut calls =
            json!({ "role": "assistant", "content": "", "calls": text.shift_remove(CALLS) });
        if let Some(facts) = facts {
            calls[METADATA] = facts;
        }
        let calls = calls.as_object().cloned().unwrap_or_default();
        items.push(bundle([text, calls].into_iter()));
        items
    }

    /// The items of one record.
    fn pieces(self, mut record: Map) -> Vec<NativeItem> {
        let is_answer = record["role"] == "assistant";
        let mut pieces: Vec<Map> = Vec::new();
        if matches!(self, Self::Split | Self::Mixed)
            && let Some(thought) = record.shift_remove(REASONING)
        {
            pieces.push(fragment(REASONING, thought));
        }
        let mut last = Vec::new();
        if self == Self::Split {
            for key in [PARTS, CALLS] {
                let held = record.shift_remove(key);
                for value in held.as_ref().and_then(Value::as_array).into_iter().flatten() {
                    let mut piece = fragment(key, json!([value]));
                    piece.insert("role".to_owned(), record["role"].clone());
                    last.push(piece);
                }
            }
        }
        let says_nothing = record["content"].as_str().is_some_and(str::is_empty);
        if !(is_answer
            && says_nothing
            && record.len() == 2
            && !(pieces.is_empty() && last.is_empty()))
        {
            pieces.push(record);
        }
        pieces.extend(last);
        let end = pieces.len();
        for (place, piece) in pieces.iter_mut().enumerate() {
            match place + 1 < end {
                true => piece.insert(MORE.to_owned(), true.into()),
                false => piece.shift_remove(MORE),
            };
        }
        pieces.into_iter().map(NativeItem::from).collect()
    }
}

const CALLS: &str = "calls";
const PARTS: &str = "parts";
const REASONING: &str = "reasoning";
const METADATA: &str = "metadata";
const MORE: &str = "more";
const MESSAGES: &str = "messages";

fn bundle(records: impl Iterator<Item = Map>) -> NativeItem {
    json!({ MESSAGES: records.map(Value::Object).collect::<Vec<_>>() }).into()
}

/// A part of an answer that goes on in the next item.
fn fragment(key: &str, value: Value) -> Map {
    Map::from_iter([
        ("role".to_owned(), "assistant".into()),
        (key.to_owned(), value),
        (MORE.to_owned(), true.into()),
    ])
}

/// Everything about a message.
fn record(message: &Message) -> Map {
    let mut metadata = message.metadata().clone();
    let mut record = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            record.insert(key.to_owned(), value);
        }
    };
    set("role", Some(message.role().as_str().into()));
    match message.role() {
        Role::Assistant => {
            set(REASONING, metadata.shift_remove(REASONING));
            set("content", Some(message.content().clone()));
            set(CALLS, metadata.shift_remove("tool_calls"));
        }
        Role::Tool => {
            set("answers", metadata.shift_remove("tool_call_id"));
            set("content", Some(message.content().clone()));
            set("result", message.tool_result().cloned().map(Value::Object));
        }
        Role::System | Role::User => set("content", Some(message.content().clone())),
    }
    let parts = message.multipart_content();
    set(PARTS, (!parts.is_empty()).then(|| parts.iter().cloned().map(Value::Object).collect()));
    set(METADATA, (!metadata.is_empty()).then_some(Value::Object(metadata)));
    record
}

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// An item that is no record goes with the message before it, else with the next.
pub(super) fn from_native<'a>(
    items: impl IntoIterator<Item = &'a NativeItem>,
) -> Vec<(Message, Vec<usize>)> {
    let mut messages: Vec<(Message, Vec<usize>)> = Vec::new();
    let mut open: Option<(Role, Map)> = None;
    // Items that wait for the message they belong to.
    let mut waiting: Vec<usize> = Vec::new();
    for (position, item) in items.into_iter().enumerate() {
        let mut of_item = records(item).peekable();
        if of_item.peek().is_none() {
            match (&open, messages.last_mut()) {
                (None, Some((_, positions))) => positions.push(position),
                _ => waiting.push(position),
            }
        }
        for (role, record) in of_item {
            // What was to go on and does not is a message all the same.
            if let Some((other, held)) = open.take_if(|(held, _)| *held != role) {
                messages.push((message(other, held), std::mem::take(&mut waiting)));
            }
            if waiting.last() != Some(&position) {
                waiting.push(position);
            }
            let goes_on = record.get(MORE) == Some(&Value::Bool(true));
            let whole = match open.take() {
                Some((_, held)) => joined(held, record),
                None => record.clone(),
            };
            match goes_on {
                true => open = Some((role, whole)),
                false => messages.push((message(role, whole), std::mem::take(&mut waiting))),
            }
        }
    }
    if let Some((role, held)) = open {
        messages.push((message(role, held), waiting));
    }
    messages
}

/// The records in an item, with the roles that are known.
fn records(item: &NativeItem) -> impl Iterator<Item = (Role, &Map)> {
    let alone = std::slice::from_ref(item.value());
    let several = item.get(MESSAGES).and_then(Value::as_array).map(Vec::as_slice);
    several.unwrap_or(alone).iter().filter_map(|record| {
        let record = record.as_object()?;
        Some((record.get("role")?.as_str()?.parse().ok()?, record))
    })
}

/// A record with the one that it goes on in.
fn joined(mut held: Map, more: &Map) -> Map {
    for (key, value) in more {
        match (held.get_mut(key), value) {
            (Some(Value::String(held)), Value::String(more)) if key != "role" => {
                held.push_str(more)
            }
            (Some(Value::Array(held)), Value::Array(more)) => held.extend(more.iter().cloned()),
            _ => {
                held.insert(key.clone(), value.clone());
            }
        }
    }
    held
}

fn message(role: Role, mut record: Map) -> Message {
    let content = record.shift_remove("content").unwrap_or_else(|| "".into());
    let mut metadata = Map::new();
    for (key, name) in [(CALLS, "tool_calls"), ("answers", "tool_call_id"), (REASONING, REASONING)]
    {
        if let Some(value) = record.shift_remove(key) {
            metadata.insert(name.to_owned(), value);
        }
    }
    if let Some(Value::Object(others)) = record.shift_remove(METADATA) {
        metadata.extend(others);
    }
    let parts = match record.shift_remove(PARTS) {
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_object).cloned().collect(),
        _ => Vec::new(),
    };
    let message = Message::new(role, content).with_metadata(metadata).with_multipart_content(parts);
    match record.shift_remove("result") {
        Some(Value::Object(result)) => message.with_tool_result(result),
        _ => message,
    }
}
