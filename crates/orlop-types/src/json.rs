//! JSON values as the platform uses them: key order is kept, merges follow one rule.

pub use serde_json::Value;

/// A JSON object. Keys keep the order they were given in.
pub type Map = serde_json::Map<String, Value>;

/// The deepest nesting accepted from outside; the same bound the JSON parser has.
pub const MAX_DEPTH: usize = 127;

/// Lays `patch` over `target` as JSON Merge Patch (RFC 7396): objects merge key by key at any
/// depth, `null` removes a key, anything else replaces.
///
/// ```
/// use orlop_types::json::merge_patch;
/// use serde_json::json;
/// let mut target = json!({"a": {"x": 1, "y": 2}, "b": 1});
/// merge_patch(&mut target, &json!({"a": {"y": null, "z": 3}}));
/// assert_eq!(target, json!({"a": {"x": 1, "z": 3}, "b": 1}));
/// ```
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        merge_patch_map(target, patch);
    }
}

/// [`merge_patch`] for two objects.
pub fn merge_patch_map(target: &mut Map, patch: &Map) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.shift_remove(key);
            }
            Value::Object(_) => {
                merge_patch(target.entry(key.clone()).or_insert(Value::Null), value);
            }
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}

/// Lays a session metadata patch over session metadata: keys are replaced as a whole, except
/// `overrides`, which merges key by key with `null` removing an override.
pub fn merge_session_metadata(target: &mut Map, patch: &Map) {
    for (key, value) in patch {
        match (key.as_str(), value) {
            ("overrides", Value::Object(overrides)) => {
                let held = target.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                if !held.is_object() {
                    *held = Value::Object(Map::new());
                }
                if let Value::Object(held) = held {
                    for (name, setting) in overrides {
                        if setting.is_null() {
                            held.shift_remove(name);
                        } else {
                            held.insert(name.clone(), setting.clone());
                        }
                    }
                }
            }
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

/// JSON text without the white space between tokens; everything else stays byte for byte.
/// `None` if the text nests deeper than [`MAX_DEPTH`].
///
/// The input must be valid JSON; the text of a parsed `RawValue` always is.
pub(crate) fn minify(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for &byte in text.as_bytes() {
        if in_string {
            out.push(byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push(byte);
    }
    String::from_utf8(out).ok()
}

/// JSON text laid out with two spaces a level; everything but white space between tokens stays
/// byte for byte. The input must be valid JSON without white space between tokens.
pub fn indent(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if in_string {
            out.push(byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'[' | b'{' => {
                out.push(byte);
                if let Some(close @ (b']' | b'}')) = bytes.peek().copied() {
                    out.push(close);
                    bytes.next();
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend(*b": "),
            _ => {
                in_string = byte == b'"';
                out.push(byte);
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn minify_keeps_strings_numbers_and_key_order() {
        let text = "{ \"b\" : [1.0, 1e5 ,\n 2],\t\"a \\\" , \\\\\": \"x  y\" }";
        assert_eq!(minify(text).as_deref(), Some("{\"b\":[1.0,1e5,2],\"a \\\" , \\\\\":\"x  y\"}"));
    }

    #[test]
    fn indent_is_what_the_pretty_printer_does_and_minify_undoes_it() {
        let value = json!({"a": [1, {"b": "x, [y]: \\\" {"}, [], {}], "c": null});
        let text = value.to_string();
        assert_eq!(indent(&text), serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(minify(&indent(&text)).unwrap(), text);
    }

    #[test]
    fn minify_refuses_what_nests_too_deep() {
        assert!(minify(&"[".repeat(MAX_DEPTH + 1)).is_none());
        assert!(minify(&"[".repeat(MAX_DEPTH)).is_some());
    }

    #[test]
    fn overrides_merge_key_by_key_and_null_removes() {
        let mut held = json!({"overrides": {"model": "m", "t": 1}, "x": {"y": 1}});
        let patch = json!({"overrides": {"t": null, "k": 2}, "x": {"z": 1}});
        if let (Value::Object(held), Value::Object(patch)) = (&mut held, &patch) {
            merge_session_metadata(held, patch);
        }
        assert_eq!(held, json!({"overrides": {"model": "m", "k": 2}, "x": {"z": 1}}));
    }
}
