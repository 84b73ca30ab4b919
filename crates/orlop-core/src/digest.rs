//! Digests of JSON values and messages that do not depend on key order or white space.

use orlop_types::{Map, Message, Value};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
pub(crate) type Digest = [u8; 32];

/// The digest of a value; equal values have equal digests whatever the order of their keys.
pub(crate) fn of_value(value: &Value) -> Digest {
    let mut hasher = Sha256::new();
    feed(&mut hasher, value);
    hasher.finalize().into()
}

/// The digest of what makes a message: role, content, parts, tool calls and tool result. The
/// mapping to native items and other metadata do not take part.
pub(crate) fn of_message(message: &Message) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(message.role().as_str());
    feed(&mut hasher, message.content());
    for part in message.multipart_content() {
        hasher.update(b"p");
        feed_map(&mut hasher, part);
    }
    if let Some(calls) = message.metadata().get(orlop_types::message::TOOL_CALLS) {
        hasher.update(b"c");
        feed(&mut hasher, calls);
    }
    if let Some(result) = message.tool_result() {
        hasher.update(b"r");
        feed_map(&mut hasher, result);
    }
    hasher.finalize().into()
}

/// The digest of a chain that had `before` and grows by a link with digest `link`.
pub(crate) fn chain(before: &Digest, link: &Digest) -> Digest {
    Sha256::new().chain_update(before).chain_update(link).finalize().into()
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads what [`hex`] wrote.
pub(crate) fn from_hex(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (index, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(digest)
}

/// Each value starts with its kind and length, so that no two different values read the same.
fn feed(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hasher.update(b"n"),
        Value::Bool(true) => hasher.update(b"t"),
        Value::Bool(false) => hasher.update(b"f"),
        Value::Number(number) => {
            hasher.update(b"#");
            feed_text(hasher, &number.to_string());
        }
        Value::String(text) => {
            hasher.update(b"s");
            feed_text(hasher, text);
        }
        Value::Array(items) => {
            hasher.update(b"[");
            hasher.update((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| feed(hasher, item));
        }
        Value::Object(fields) => feed_map(hasher, fields),
    }
}

fn feed_map(hasher: &mut Sha256, fields: &Map) {
    hasher.update(b"{");
    hasher.update((fields.len() as u64).to_le_bytes());
    let mut entries: Vec<_> = fields.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    for (key, value) in entries {
        feed_text(hasher, key);
        feed(hasher, value);
    }
}

fn feed_text(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_but_everything_else_does() {
        let digest = |value| of_value(&value);
        assert_eq!(digest(json!({"a": 1, "b": [2]})), digest(json!({"b": [2], "a": 1})));
        let different =
            [json!([1, 2]), json!([12]), json!(["1", "2"]), json!([[1], 2]), json!({"1": 2})];
        for (i, a) in different.iter().enumerate() {
            for b in &different[i + 1..] {
                assert_ne!(of_value(a), of_value(b), "{a} {b}");
            }
        }
    }
}
