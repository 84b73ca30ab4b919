//! Events in, fragments to show and finished items out.
//!
//! Items are taken as the server finished them, byte for byte. What the fragments add up to is kept
//! only for servers that never say the whole.

use super::answer::{is_call, items, with_facts};
use super::convert;
use super::draft::{self, BETWEEN, kind};
use super::wire::{Event, Response};
use crate::wire::json::Text;
use crate::wire::{call_fragment, failure};
use orlop_types::text::append;
use orlop_types::{Map, NativeItem, Partial, Result, Value};
use serde_json::json;
use serde_json::value::RawValue;

/// Collects the events of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    slots: Vec<Slot>,
    /// The slot of the last event; most belong to the same.
    current: usize,
    calls: usize,
    /// Whether text, or reasoning, was shown.
    said: bool,
    thought: bool,
    finished: Option<Vec<NativeItem>>,
}

/// An item while it arrives.
#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    /// The item as it began, and once `done` as it is.
    item: Option<NativeItem>,
    done: bool,
    /// Its number among the calls.
    call: Option<usize>,
    /// What was shown of it: text, reasoning or arguments.
    text: String,
    /// The part of reasoning that is being shown.
    part: Option<Part>,
}

/// What a text is a part of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Summary(u64),
    Content(u64),
}

impl Part {
    fn of(event: &Event<'_>) -> Self {
        match event.summary_index {
            Some(index) => Self::Summary(index),
            None => Self::Content(event.content_index.unwrap_or_default()),
        }
    }
}

impl Assembler {
    /// Whether the answer is over.
    pub fn is_over(&self) -> bool {
        self.finished.is_some()
    }

    /// Whether there are items, and all of them are complete.
    pub fn has_whole_items(&self) -> bool {
        !self.slots.is_empty() && self.slots.iter().all(|slot| slot.done)
    }

    /// An item begins.
    pub fn begin(&mut self, event: &Event<'_>) -> Result<Partial> {
        let Some(item) = event.item.map(item).transpose()? else { return Ok(Partial::default()) };
        let slot = self.slot_of(event, item.get("id").and_then(Value::as_str));
        self.take(slot, item, false);
        Ok(self.show_call(slot))
    }

    /// Text of a message.
    pub fn text(&mut self, event: &Event<'_>, text: &str) -> Partial {
        let slot = self.slot_of(event, None);
        self.more_text(slot, text)
    }

    /// How many items there are so far.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The item that the last event was about.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// Text of the message that is this item.
    pub(super) fn more_text(&mut self, slot: usize, text: &str) -> Partial {
        let Some(slot) = self.slots.get_mut(slot).filter(|_| !text.is_empty()) else {
            return Partial::default();
        };
        let mut shown = String::with_capacity(text.len());
        if slot.text.is_empty() && self.said {
            shown.push_str(BETWEEN);
        }
        self.said = true;
        append(&mut slot.text, text);
        shown.push_str(text);
        Partial::text(shown)
    }

    /// Reasoning of the model.
    pub fn reasoning(&mut self, event: &Event<'_>, text: &str) -> Partial {
        let slot = self.slot_of(event, None);
        self.more_reasoning(slot, Part::of(event), text)
    }

    fn more_reasoning(&mut self, slot: usize, part: Part, text: &str) -> Partial {
        let Some(slot) = self.slots.get_mut(slot).filter(|_| !text.is_empty()) else {
            return Partial::default();
        };
        let mut shown = String::with_capacity(text.len());
        if slot.part != Some(part) && self.thought {
            shown.push_str(BETWEEN);
        }
        slot.part = Some(part);
        self.thought = true;
        slot.text.push_str(text);
        shown.push_str(text);
        Partial::reasoning(shown)
    }

    /// Arguments of a call.
    pub fn arguments(&mut self, event: &Event<'_>, text: &str) -> Partial {
        let slot = self.slot_of(event, None);
        self.more_arguments(slot, text)
    }

    fn more_arguments(&mut self, slot: usize, text: &str) -> Partial {
        let Some(slot) = self.slots.get_mut(slot) else { return Partial::default() };
        // What a server says of a call that it never began is shown when the call is complete.
        let Some(call) = slot.call.filter(|_| !text.is_empty()) else { return Partial::default() };
        slot.text.push_str(text);
        Partial { tool_calls: vec![call_fragment(call, None, None, text)], ..Partial::default() }
    }

    /// An item is complete. What was not shown of it is shown now.
    pub fn end(&mut self, event: &Event<'_>) -> Result<Partial> {
        let Some(item) = event.item.map(item).transpose()? else { return Ok(Partial::default()) };
        let slot = self.slot_of(event, item.get("id").and_then(Value::as_str));
        let is_new_call = self.slots.get(slot).is_some_and(|slot| slot.call.is_none());
        self.take(slot, item.clone(), true);
        if is_call(&item) && is_new_call {
            return Ok(self.show_call(slot));
        }
        let is_shown = self.slots.get(slot).is_none_or(|slot| !slot.text.is_empty());
        Ok(match kind(&item) {
            _ if is_shown => Partial::default(),
            "message" => self.more_text(slot, &draft::text(&item)),
            "reasoning" => self.more_reasoning(slot, Part::of(event), &draft::reasoning(&item)),
            _ if is_call(&item) => self.more_arguments(slot, draft::arguments(&item)),
            _ => Partial::default(),
        })
    }

    /// The response is over; `response` is how the server sums it up. Gives what was never shown.
    pub fn finish_with(&mut self, response: &Response<'_>, body: &str) -> Result<Partial> {
        let summed_up = items(response, body)?;
        let whole = self.slots.iter().all(|slot| slot.done);
        let shown = !self.slots.is_empty();
        let items = match whole && self.slots.len() >= summed_up.len() {
            false if !summed_up.is_empty() => summed_up,
            _ => self.take_items(),
        };
        let partial = if shown { Partial::default() } else { convert::shown(&items) };
        self.finished = Some(with_facts(items, response));
        Ok(partial)
    }

    /// The items of the answer.
    pub fn finish(mut self) -> Vec<NativeItem> {
        match self.finished.take() {
            Some(items) => items,
            None => with_facts(self.take_items(), &Response::default()),
        }
    }

    fn take_items(&mut self) -> Vec<NativeItem> {
        let mut slots = std::mem::take(&mut self.slots);
        // Where indices are missing, the items came in order.
        if slots.iter().all(|slot| slot.index.is_some()) {
            slots.sort_by_key(|slot| slot.index);
        }
        slots.into_iter().filter_map(Slot::into_item).collect()
    }

    /// The slot that an event is about: that of its index, else of its id, else the last one.
    fn slot_of(&mut self, event: &Event<'_>, item_id: Option<&str>) -> usize {
        let id = item_id.or(event.item_id.filled()).unwrap_or_default();
        let is_it = |slot: &Slot| match (event.output_index, slot.index) {
            (Some(index), Some(other)) => index == other,
            _ => !id.is_empty() && slot.id == id,
        };
        if self.slots.get(self.current).is_some_and(is_it) {
            return self.current;
        }
        let anonymous = event.output_index.is_none() && id.is_empty();
        let known = match self.slots.iter().position(is_it) {
            None if anonymous && event.item.is_none() => self.slots.len().checked_sub(1),
            // An item that ends without a name is the last one that began.
            None if anonymous => self.slots.iter().rposition(|slot| !slot.done),
            known => known,
        };
        self.current = known.unwrap_or_else(|| {
            let id = id.to_owned();
            self.slots.push(Slot { index: event.output_index, id, ..Slot::default() });
            self.slots.len() - 1
        });
        self.current
    }

    fn take(&mut self, slot: usize, item: NativeItem, done: bool) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        if slot.call.is_none() && is_call(&item) {
            slot.call = Some(self.calls);
            self.calls += 1;
        }
        slot.item = Some(item);
        slot.done = done;
    }

    /// The first fragment of a call: who is called, and the arguments as far as they are there.
    fn show_call(&mut self, slot: usize) -> Partial {
        let Some(slot) = self.slots.get_mut(slot) else { return Partial::default() };
        let (Some(call), Some(item)) = (slot.call, &slot.item) else { return Partial::default() };
        let field = |key: &str| item.get(key).and_then(Value::as_str);
        slot.text = draft::arguments(item).to_owned();
        let fragment = call_fragment(call, field("call_id"), field("name"), &slot.text);
        Partial { tool_calls: vec![fragment], ..Partial::default() }
    }
}

fn item(raw: &RawValue) -> Result<NativeItem> {
    NativeItem::from_text(raw.get())
        .map_err(|error| failure::unreadable("an item", raw.get(), &error))
}

impl Slot {
    /// The item: as the server finished it, else what its fragments add up to.
    fn into_item(self) -> Option<NativeItem> {
        match self.item {
            Some(item) if self.done => Some(item),
            Some(item) => {
                let (key, value) = match kind(&item) {
                    "message" => ("content", output_text(&self.text)),
                    "reasoning" => {
                        ("summary", json!([{ "type": "summary_text", "text": self.text }]))
                    }
                    "function_call" => ("arguments", self.text.into()),
                    "custom_tool_call" => ("input", self.text.into()),
                    _ => return Some(item),
                };
                let mut fields: Map = item.value().as_object().cloned().unwrap_or_default();
                fields.insert(key.to_owned(), value);
                Some(fields.into())
            }
            None if self.text.is_empty() || self.part.is_some() => None,
            None => {
                let content = output_text(&self.text);
                Some(json!({ "type": "message", "role": "assistant", "content": content }).into())
            }
        }
    }
}

fn output_text(text: &str) -> Value {
    json!([{ "type": "output_text", "text": text, "annotations": [] }])
}

/// The string of a field that should be one.
pub(super) fn str_of<'t>(text: &'t Text<'_>) -> &'t str {
    text.as_str().unwrap_or_default()
}
