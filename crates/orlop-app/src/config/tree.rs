//! The configuration as read: a tree in which every value knows where it came from.

use super::known;
use super::origin::Origin;
use indexmap::IndexMap;
use orlop_core::{Map, Value};

/// Keys in the order of the file.
pub(super) type Table = IndexMap<String, Node>;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) content: Content,
    /// Where the value is.
    pub(super) origin: Origin,
    /// Where its key is; for an item of a list, where the value is.
    pub(super) key_origin: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Table(Table),
    List(Vec<Node>),
    Scalar(Value),
}

impl Node {
    /// A value that no file holds.
    pub(super) fn made(content: Content, origin: Origin) -> Self {
        Self { content, key_origin: origin.clone(), origin }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value alone, placeholders as they are written.
    pub(super) fn to_json(&self) -> Value {
        match &self.content {
            Content::Table(table) => Value::Object(table_to_json(table)),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Scalar(value) => value.clone(),
        }
    }

    /// Lays `over` over this: tables merge key by key and stay where they are, anything else is
    /// replaced.
    fn lay(&mut self, over: Self) {
        match (&mut self.content, over.content) {
            (Content::Table(held), Content::Table(table)) => lay_over(held, table),
            (_, content) => *self = Self { content, ..over },
        }
    }

    /// Adds the items of the list `over` that this list does not have. What is no list is replaced.
    fn add(&mut self, over: Self) {
        match (&mut self.content, over.content) {
            (Content::List(held), Content::List(more)) => {
                for item in more {
                    if held.iter().all(|known| known.to_json() != item.to_json()) {
                        held.push(item);
                    }
                }
            }
            (_, content) => *self = Self { content, ..over },
        }
    }
}

/// Lays one table over another: tables merge key by key, lists of what is denied add up, anything
/// else is replaced.
pub(super) fn lay_over(under: &mut Table, over: Table) {
    for (key, node) in over {
        match under.get_mut(&key) {
            Some(held) if known::is_whole(&key) => *held = node,
            Some(held) if known::adds_up(&key) => held.add(node),
            Some(held) => held.lay(node),
            None => {
                under.insert(key, node);
            }
        }
    }
}

pub(super) fn table_to_json(table: &Table) -> Map {
    table.iter().map(|(key, node)| (key.clone(), node.to_json())).collect()
}

/// The part of a table that flags have set.
pub(super) fn set_by_flag(table: &Table) -> Table {
    let entries = table.iter().filter_map(|(key, node)| {
        let content = match &node.content {
            Content::Table(inner) => {
                let inner = set_by_flag(inner);
                (!inner.is_empty()).then_some(Content::Table(inner))?
            }
            content => (node.origin == Origin::Flag).then(|| content.clone())?,
        };
        Some((key.clone(), Node { content, ..node.clone() }))
    });
    entries.collect()
}

/// The path of `key` below `path`, quoted where TOML would want it.
pub(super) fn below(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let step = match !key.is_empty() && key.chars().all(plain) {
        true => key.to_owned(),
        false => format!("{:?}", shortened(key)),
    };
    if path.is_empty() { step } else { format!("{path}.{step}") }
}

/// The path of an item of the list at `path`.
pub(super) fn item(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// At most 60 characters of what somebody wrote, for a message.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
