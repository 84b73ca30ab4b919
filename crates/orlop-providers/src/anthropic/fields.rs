//! The fields of a JSON object in order, each still as text.

use crate::wire::json::Key;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Fields, borrowed from the text of the object.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Fields<'de>, A::Error> {
                let mut read = Vec::new();
                while let Some((Key(key), value)) = fields.next_entry()? {
                    read.push((key, value));
                }
                Ok(Fields(read))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Writes an object field by field.
pub(super) struct Writer<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// Adds a field whose value is JSON text already.
    pub(super) fn field(&mut self, key: &str, json: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        push_string(self.out, key);
        self.out.push(':');
        self.out.push_str(json);
    }

    pub(super) fn end(self) {
        self.out.push('}');
    }
}

/// Appends `text` as a JSON string.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push_str(&quoted(text));
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
