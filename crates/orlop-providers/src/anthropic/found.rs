//! What the order of a conversation depends on in an item. It is kept with the item, so that each
//! is read once and not in every request.

use super::fields::Fields;
use crate::wire::json::{fill, parse};
use crate::wire::place::Kept;
use orlop_types::NativeItem;
use serde_json::value::RawValue;

pub(super) const USER: &str = r#"{"role":"user","content":"#;
pub(super) const ASSISTANT: &str = r#"{"role":"assistant","content":"#;

/// What an item is to the order.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Instructions; they stand elsewhere.
    System,
    /// A message of the person.
    User,
    /// An answer.
    Assistant,
    /// Nothing: the API refuses messages without content.
    Empty,
    /// Anything else.
    Other,
}

/// What was found in an item, and is kept with it. Most are a role and words: there nothing is.
pub(super) struct Found {
    pub(super) kind: Kind,
    /// Its content, as JSON text.
    pub(super) content: Kept,
    /// The calls that it waits for, or has results of. Ids are JSON texts.
    pub(super) ids: Box<[Kept]>,
    /// Whether some of its texts have no text.
    pub(super) gaps: bool,
    /// Whether it says itself where to cache.
    pub(super) marked: bool,
}

impl Found {
    /// What is kept with `item`.
    pub(super) fn of(item: &NativeItem) -> Option<&Self> {
        item.found(|item| find(item.wire()))
    }

    fn new(kind: Kind, content: Kept) -> Self {
        Self { kind, content, ids: Box::default(), gaps: false, marked: false }
    }
}

/// Looks into an item.
fn find(wire: &str) -> Option<Found> {
    let Some((role, content, heads)) = read(wire) else {
        return Some(Found::new(Kind::Other, Kept::of("", wire)));
    };
    let is_empty = match content {
        "\"\"" | "null" => true,
        _ => content.starts_with('[') && heads.iter().all(Head::is_empty_text),
    };
    let kind = match role {
        "system" if heads.iter().all(|head| head.is("text")) => Kind::System,
        "user" | "assistant" if is_empty => Kind::Empty,
        "user" => Kind::User,
        "assistant" => Kind::Assistant,
        _ => Kind::Other,
    };
    let ids = heads.iter().filter_map(|head| match kind {
        Kind::User if head.is("tool_result") => Some(head.tool_use_id),
        Kind::Assistant if head.is("tool_use") => Some(head.id),
        _ => None,
    });
    let id = |id: Option<&RawValue>| Kept::of(id.map_or("\"\"", RawValue::get), wire);
    let found = Found {
        ids: ids.map(id).collect(),
        gaps: kind == Kind::Assistant && heads.iter().any(Head::is_empty_text),
        marked: heads.iter().any(|head| head.cache_control.is_some()),
        ..Found::new(kind, Kept::of(content, wire))
    };
    let start = match kind {
        Kind::User => USER,
        Kind::Assistant => ASSISTANT,
        _ => return Some(found),
    };
    let is_plain = found.ids.is_empty() && !found.gaps && !found.marked;
    (!is_plain || only_content(wire, start) != Some(content)).then_some(found)
}

/// The text of the content of an item that begins like this and has nothing else.
pub(super) fn only_content<'a>(wire: &'a str, start: &str) -> Option<&'a str> {
    wire.strip_prefix(start)?.strip_suffix('}')
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

/// The role, the text of the content, and its blocks if it is a list of them.
fn read(wire: &str) -> Option<(&str, &str, Vec<Head<'_>>)> {
    for (role, start) in [("user", USER), ("assistant", ASSISTANT)] {
        let Some(content) = only_content(wire, start) else { continue };
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
