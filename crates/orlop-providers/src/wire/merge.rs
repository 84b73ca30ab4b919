//! How the pieces of fields this crate does not know add up to what the server would have sent
//! at once: strings append, objects merge, list entries with the same `index` merge, other lists
//! append, everything else replaces.

use orlop_types::json::MAX_DEPTH;
use orlop_types::text::append;
use orlop_types::{Error, Map, Result, Value};
use serde_json::value::RawValue;

/// What a further piece of a string does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Strings {
    /// It continues the string.
    Append,
    /// It is the string.
    Replace,
}

/// Adds a piece of the field `key`, still as text.
pub(crate) fn add_raw(
    fields: &mut Map,
    key: &str,
    piece: &RawValue,
    strings: Strings,
) -> Result<()> {
    match serde_json::from_str(piece.get()) {
        Ok(piece) if nests_at_most(&piece, DEEPEST) => {
            add(fields, key, piece, strings);
            Ok(())
        }
        _ => Err(Error::provider(format!(
            "the model server sent a field {key:?} that nests too deep; ask it for a plain answer"
        ))),
    }
}

/// How deep a field may nest, so that the message around it stays within what an item may.
const DEEPEST: usize = MAX_DEPTH - 8;

fn nests_at_most(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| nests_at_most(item, depth - 1)),
        Value::Object(fields) => {
            depth > 0 && fields.values().all(|field| nests_at_most(field, depth - 1))
        }
        _ => true,
    }
}

/// Adds a piece of the field `key`.
pub(crate) fn add(fields: &mut Map, key: &str, piece: Value, strings: Strings) {
    match fields.get_mut(key) {
        Some(held) => merge(key, held, piece, strings),
        None => {
            fields.insert(key.to_owned(), piece);
        }
    }
}

fn merge(key: &str, held: &mut Value, piece: Value, strings: Strings) {
    match (held, piece) {
        (_, Value::Null) => {}
        (Value::String(held), Value::String(piece)) => {
            if strings == Strings::Append && !is_label(key) {
                append(held, &piece);
            } else if !piece.is_empty() {
                *held = piece;
            }
        }
        (Value::Array(held), Value::Array(items)) => {
            items.into_iter().for_each(|item| add_item(held, item, strings));
        }
        (Value::Object(held), Value::Object(fields)) => {
            fields.into_iter().for_each(|(key, piece)| add(held, &key, piece, strings));
        }
        (held, piece) => *held = piece,
    }
}

fn add_item(held: &mut Vec<Value>, item: Value, strings: Strings) {
    let index = item.get("index").filter(|index| index.is_number());
    let same =
        |other: &&mut Value| other.get("index") == index && (other.get("type") == item.get("type"));
    match index.and_then(|_| held.iter_mut().rev().find(same)) {
        Some(other) => merge("", other, item, strings),
        None => held.push(item),
    }
}

/// Strings that name rather than tell; servers repeat them in every piece.
fn is_label(key: &str) -> bool {
    matches!(key, "type" | "format" | "id" | "name" | "role")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(strings: Strings, pieces: Value, expected: Expect) {
        let mut fields = Map::new();
        for piece in pieces.as_array().unwrap() {
            add(&mut fields, "field", piece.clone(), strings);
        }
        expected.assert_eq(&fields["field"].to_string());
    }

    #[test]
    fn strings_append_and_scalars_replace() {
        check(Strings::Append, json!(["a", "b", null, "c"]), expect![[r#""abc""#]]);
        check(Strings::Replace, json!(["a", "b", ""]), expect![[r#""b""#]]);
        check(Strings::Append, json!([1, 2, true]), expect!["true"]);
        check(Strings::Append, json!([null, "a"]), expect![[r#""a""#]]);
    }

    #[test]
    fn blocks_with_an_index_merge_and_their_labels_stay() {
        check(
            Strings::Append,
            json!([
                [{"type": "t", "index": 0, "text": "a", "format": "f"}],
                [{"type": "t", "index": 0, "text": "b", "format": "f"}, {"type": "e", "index": 1, "data": "x"}],
                [{"type": "t", "index": 0, "signature": "s", "format": "f"}],
            ]),
            expect![[
                r#"[{"type":"t","index":0,"text":"ab","format":"f","signature":"s"},{"type":"e","index":1,"data":"x"}]"#
            ]],
        );
    }

    #[test]
    fn blocks_of_another_type_stay_apart() {
        check(
            Strings::Append,
            json!([[{"type": "t", "index": 0, "text": "a"}], [{"type": "e", "index": 0, "data": "x"}]]),
            expect![[r#"[{"type":"t","index":0,"text":"a"},{"type":"e","index":0,"data":"x"}]"#]],
        );
    }

    #[test]
    fn what_nests_too_deep_for_an_item_is_refused() {
        for (depth, fits) in [(DEEPEST, true), (DEEPEST + 1, false), (1000, false)] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let raw = RawValue::from_string(text).unwrap();
            let added = add_raw(&mut Map::new(), "field", &raw, Strings::Append);
            assert_eq!(added.is_ok(), fits, "{depth}");
        }
    }

    #[test]
    fn other_lists_append_and_objects_merge() {
        check(
            Strings::Append,
            json!([[1, {"a": 1}], [{"a": 1}]]),
            expect![[r#"[1,{"a":1},{"a":1}]"#]],
        );
        check(
            Strings::Append,
            json!([{"a": {"b": "x"}}, {"a": {"b": "y", "c": 1}}, {"d": [1]}]),
            expect![[r#"{"a":{"b":"xy","c":1},"d":[1]}"#]],
        );
    }
}
