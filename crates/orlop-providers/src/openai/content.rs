//! The content of a message while it arrives: text, or a list of parts once a part has come.

use crate::wire::json::Text;
use orlop_types::Value;
use orlop_types::text::append;
use serde_json::json;

/// The content so far.
#[derive(Debug, Default)]
pub(super) struct Content {
    text: String,
    parts: Vec<Value>,
}

/// What a piece of content shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) reasoning: String,
}

impl Content {
    /// Adds a piece and says what to show of it.
    pub(super) fn push(&mut self, piece: Text<'_>) -> Shown {
        match piece {
            Text::Absent => Shown::default(),
            Text::Str(text) if self.parts.is_empty() => {
                append(&mut self.text, &text);
                Shown { text: text.into_owned(), reasoning: String::new() }
            }
            Text::Str(text) if text.is_empty() => Shown::default(),
            Text::Str(text) => {
                add_part(&mut self.parts, json!({"type": "text", "text": text}));
                Shown { text: text.into_owned(), reasoning: String::new() }
            }
            Text::Json(value) => self.push_json(*value),
        }
    }

    fn push_json(&mut self, value: Value) -> Shown {
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        if self.parts.is_empty() && !self.text.is_empty() && !items.is_empty() {
            self.parts.push(json!({"type": "text", "text": std::mem::take(&mut self.text)}));
        }
        let mut shown = Shown::default();
        for part in items {
            match kind(&part) {
                Some("text") => shown.text.push_str(&text_in(&part["text"])),
                Some("thinking") => shown.reasoning.push_str(&text_in(&part["thinking"])),
                _ => {}
            }
            add_part(&mut self.parts, part);
        }
        shown
    }

    /// The finished content; `None` if there was none.
    pub(super) fn into_json(self) -> Option<Value> {
        if !self.parts.is_empty() {
            return Some(Value::Array(self.parts));
        }
        (!self.text.is_empty()).then_some(Value::String(self.text))
    }
}

fn kind(part: &Value) -> Option<&str> {
    part.get("type")?.as_str()
}

/// Continues the last part if the new one is text of the same kind, else begins another.
fn add_part(parts: &mut Vec<Value>, mut part: Value) {
    let same = parts.last().is_some_and(|last| kind(last).is_some() && kind(last) == kind(&part));
    let field = kind(&part).filter(|kind| same && matches!(*kind, "text" | "thinking"));
    let Some(field) = field.map(str::to_owned) else {
        parts.push(part);
        return;
    };
    let more = part[&field].take();
    let Some(last) = parts.last_mut() else { return };
    match (&mut last[&field], more) {
        (Value::String(held), Value::String(more)) => held.push_str(&more),
        (Value::Array(held), Value::Array(more)) => {
            more.into_iter().for_each(|part| add_part(held, part));
        }
        (_, Value::Null) => {}
        (held, more) => *held = more,
    }
    if let (Value::Object(last), Value::Object(part)) = (last, part) {
        // What else the part says, for instance that the thinking is closed.
        last.extend(part.into_iter().filter(|(_, value)| !value.is_null()));
    }
}

/// The text of a part: a string, or a list of text parts.
pub(super) fn text_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text_in(&part["text"])).collect(),
        _ => String::new(),
    }
}
