//! What of a list crosses the border: the tail a hook asked for, or the difference to what the
//! process was sent before.

use orlop_core::hooks::State;
use orlop_core::types::Seq;
use orlop_core::types::protocol::Wanted;
use orlop_core::{Message, NativeItem, Transcript};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use std::collections::HashMap;

/// How many lists a process remembers.
const SLOTS: usize = 64;

/// A list that history crosses as.
#[derive(Clone)]
pub(crate) enum List {
    Native(Seq<NativeItem>),
    Messages(Seq<Message>),
    Transcript(Transcript),
}

impl List {
    fn len(&self) -> usize {
        match self {
            Self::Native(list) => list.len(),
            Self::Messages(list) => list.len(),
            Self::Transcript(list) => list.len(),
        }
    }

    /// How many leading items are the very same ones.
    fn shared(&self, other: &Self) -> usize {
        match (self, other) {
            (Self::Native(a), Self::Native(b)) => {
                let start = a.shared_len(b);
                let more = a.iter_from(start).zip(b.iter_from(start));
                start + more.take_while(|(a, b)| a.ptr_eq(b)).count()
            }
            (Self::Messages(a), Self::Messages(b)) => {
                let start = a.shared_len(b);
                let more = a.iter_from(start).zip(b.iter_from(start));
                start + more.take_while(|(a, b)| a.ptr_eq(b)).count()
            }
            (Self::Transcript(a), Self::Transcript(b)) => {
                let start = a.shared_len(b);
                let more = a.iter_from(start).zip(b.iter_from(start));
                start + more.take_while(|(a, b)| a.ptr_eq(b)).count()
            }
            _ => 0,
        }
    }
}

impl From<&Seq<NativeItem>> for List {
    fn from(list: &Seq<NativeItem>) -> Self {
        Self::Native(list.clone())
    }
}

impl From<&Seq<Message>> for List {
    fn from(list: &Seq<Message>) -> Self {
        Self::Messages(list.clone())
    }
}

impl From<&Transcript> for List {
    fn from(list: &Transcript) -> Self {
        Self::Transcript(list.clone())
    }
}

/// The part of a list that is written.
pub(crate) struct Part {
    list: List,
    from: usize,
    slot: Option<usize>,
}

impl Part {
    /// The list from a position on.
    pub(crate) fn from(list: List, from: usize) -> Self {
        Self { from: from.min(list.len()), list, slot: None }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut outer = serializer.serialize_map(Some(1))?;
        outer.serialize_entry("$list", &Inner(self))?;
        outer.end()
    }
}

struct Inner<'a>(&'a Part);

impl Serialize for Inner<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Part { list, from, slot } = self.0;
        let mut fields = serializer.serialize_map(None)?;
        match slot {
            Some(slot) => {
                fields.serialize_entry("slot", slot)?;
                fields.serialize_entry("keep", from)?;
            }
            None => fields.serialize_entry("skip", from)?,
        }
        fields.serialize_entry("items", &Items(list, *from))?;
        fields.end()
    }
}

struct Items<'a>(&'a List, usize);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(list, from) = self;
        let mut items = serializer.serialize_seq(None)?;
        match list {
            List::Native(list) => {
                list.iter_from(*from).try_for_each(|item| items.serialize_element(item))?
            }
            List::Messages(list) => {
                list.iter_from(*from).try_for_each(|item| items.serialize_element(item))?
            }
            List::Transcript(list) => {
                list.iter_from(*from).try_for_each(|item| items.serialize_element(item))?
            }
        }
        items.end()
    }
}

/// What one process remembers of lists. Must be asked in the order in which lines are written.
#[derive(Default)]
pub(crate) struct Slots {
    by_key: HashMap<(String, &'static str), usize>,
    held: Vec<Held>,
    clock: u64,
    /// The state that each extension was last sent.
    states: HashMap<String, State>,
}

struct Held {
    list: List,
    used: u64,
}

impl Slots {
    /// Whether the process does not know this state of an extension yet. From now on it does.
    pub(crate) fn state_if_new(&mut self, extension: &str, state: &State) -> bool {
        if self.states.get(extension) == Some(state) {
            return false;
        }
        self.states.insert(extension.to_owned(), state.clone());
        true
    }

    /// What to write of the list called `field` of `owner` for who wants so much of it.
    pub(crate) fn part(
        &mut self,
        owner: &str,
        field: &'static str,
        list: List,
        wanted: Wanted,
    ) -> Part {
        match wanted {
            Wanted::None => return Part::from(list.clone(), list.len()),
            Wanted::Tail(count) => {
                let from = list.len().saturating_sub(count);
                return Part::from(list, from);
            }
            Wanted::Full => {}
        }
        self.clock += 1;
        let used = self.clock;
        let key = (owner.to_owned(), field);
        if let Some(&slot) = self.by_key.get(&key) {
            let held = &mut self.held[slot];
            let keep = list.shared(&held.list);
            *held = Held { list: list.clone(), used };
            return Part { list, from: keep, slot: Some(slot) };
        }
        let slot = match self.held.len() < SLOTS {
            true => self.held.len(),
            false => {
                let oldest = (0..SLOTS).min_by_key(|slot| self.held[*slot].used).unwrap_or(0);
                self.by_key.retain(|_, held| *held != oldest);
                oldest
            }
        };
        let held = Held { list: list.clone(), used };
        match self.held.get_mut(slot) {
            Some(place) => *place = held,
            None => self.held.push(held),
        }
        self.by_key.insert(key, slot);
        Part { list, from: 0, slot: Some(slot) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn native(count: usize) -> Seq<NativeItem> {
        (0..count).map(|n| NativeItem::from(json!({"n": n}))).collect()
    }

    fn written(part: &Part) -> Value {
        serde_json::to_value(part).unwrap()
    }

    #[test]
    fn only_what_is_new_is_sent_again() {
        let mut slots = Slots::default();
        let mut list = native(3);
        let first = slots.part("s", "native_messages", (&list).into(), Wanted::Full);
        assert_eq!(
            written(&first),
            json!({"$list": {"slot": 0, "keep": 0, "items": [{"n": 0}, {"n": 1}, {"n": 2}]}})
        );
        list.push(NativeItem::from(json!({"n": 3})));
        let second = slots.part("s", "native_messages", (&list).into(), Wanted::Full);
        assert_eq!(written(&second), json!({"$list": {"slot": 0, "keep": 3, "items": [{"n": 3}]}}));
        list.set(1, NativeItem::from(json!({"other": true})));
        let third = slots.part("s", "native_messages", (&list).into(), Wanted::Full);
        assert_eq!(
            written(&third),
            json!({"$list": {"slot": 0, "keep": 1, "items": [{"other": true}, {"n": 2}, {"n": 3}]}})
        );
    }

    #[test]
    fn a_tail_leaves_the_rest_out() {
        let mut slots = Slots::default();
        let list = native(5);
        let tail = slots.part("s", "native_messages", (&list).into(), Wanted::Tail(2));
        assert_eq!(written(&tail), json!({"$list": {"skip": 3, "items": [{"n": 3}, {"n": 4}]}}));
        let none = slots.part("s", "native_messages", (&list).into(), Wanted::None);
        assert_eq!(written(&none), json!({"$list": {"skip": 5, "items": []}}));
    }

    #[test]
    fn slots_are_used_again_the_oldest_first() {
        let mut slots = Slots::default();
        for session in 0..=SLOTS {
            slots.part(&session.to_string(), "messages", (&native(1)).into(), Wanted::Full);
        }
        let again = slots.part("0", "messages", (&native(1)).into(), Wanted::Full);
        assert_eq!(written(&again)["$list"]["slot"], 1);
        assert_eq!(written(&again)["$list"]["keep"], 0);
    }
}
