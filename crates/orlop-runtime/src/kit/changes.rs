//! What the outcome of a hook changes in its input, as a few short lines: `- before`, `+ after`.

use orlop_core::{Map, Value};

/// How much of a value is shown.
const WIDEST: usize = 100;
/// How many lines are shown.
const MOST: usize = 12;

/// The changes that an outcome makes to the arguments of its hook; none if it changes nothing.
pub(super) fn changes(args: &Value, outcome: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match outcome {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let before = args.get(key);
            match key.as_str() {
                "state" => state(before, value, &mut lines),
                "native_messages" | "final_messages" | "messages" => {
                    list(key, before, value, &mut lines);
                }
                // What the hook is given and gives back, or gives only.
                _ => compare(key, before, value, &mut lines),
            }
        }),
        Value::Array(items) if items.is_empty() => {}
        Value::String(text) if matches!(text.as_str(), "" | "keep" | "allow") => {}
        other => lines.push(format!("+ {}", short(other))),
    }
    if lines.len() > MOST {
        let left = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("  ... and {left} more"));
    }
    lines
}

fn state(before: Option<&Value>, change: &Value, lines: &mut Vec<String>) {
    let empty = Map::new();
    let before = before.and_then(Value::as_object).unwrap_or(&empty);
    if let Some(Value::Object(patch)) = change.get("patch") {
        patch.iter().for_each(|(key, value)| merge(key, before.get(key), value, lines));
    } else if let Some(Value::Object(after)) = change.get("replace") {
        before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))).for_each(
            |key| {
                let after = after.get(key).unwrap_or(&Value::Null);
                compare(&format!("state.{key}"), before.get(key), after, lines);
            },
        );
    }
}

/// A merge patch: what it does not mention stays.
fn merge(path: &str, before: Option<&Value>, patch: &Value, lines: &mut Vec<String>) {
    match patch {
        Value::Object(fields) if before.is_none_or(Value::is_object) && !fields.is_empty() => {
            for (key, value) in fields {
                let path = format!("{path}.{key}");
                merge(&path, before.and_then(|before| before.get(key)), value, lines);
            }
        }
        value => changed(path, before, value, lines),
    }
}

fn compare(path: &str, before: Option<&Value>, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        (Some(Value::Object(before)), Value::Object(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                let after = after.get(key).unwrap_or(&Value::Null);
                compare(&format!("{path}.{key}"), before.get(key), after, lines);
            }
        }
        (before, after) => changed(path, before, after, lines),
    }
}

fn changed(path: &str, before: Option<&Value>, after: &Value, lines: &mut Vec<String>) {
    let before = before.filter(|before| !before.is_null());
    if before == Some(after) || (before.is_none() && after.is_null()) {
        return;
    }
    if let Some(before) = before {
        lines.push(format!("- {path}: {}", short(before)));
    }
    if !after.is_null() {
        lines.push(format!("+ {path}: {}", short(after)));
    }
}

/// Edits of a list, or another one in its place.
fn list(key: &str, before: Option<&Value>, change: &Value, lines: &mut Vec<String>) {
    let part = before.and_then(|before| before.get("$list"));
    let item = |position: usize| {
        let part = part?;
        let known = part.get("skip").or(part.get("keep")).and_then(Value::as_u64)?;
        let place = position.checked_sub(usize::try_from(known).ok()?)?;
        part.get("items")?.get(place)
    };
    let number = |edit: &Value, key: &str| {
        edit.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    };
    let items = |edit: &Value| edit.get("items").and_then(Value::as_array).cloned();
    if let Some(edits) = change.get("edits").and_then(Value::as_array) {
        for edit in edits {
            match edit.get("op").and_then(Value::as_str) {
                Some("append") => items(edit).into_iter().flatten().for_each(|item| {
                    lines.push(format!("+ {key}[end]: {}", short(&item)));
                }),
                Some("replace") => {
                    let (start, end) = (number(edit, "start"), number(edit, "end"));
                    for position in start..end.min(start + MOST) {
                        let was = item(position).map_or_else(|| "...".to_owned(), short);
                        lines.push(format!("- {key}[{position}]: {was}"));
                    }
                    for (offset, item) in items(edit).into_iter().flatten().enumerate() {
                        lines.push(format!("+ {key}[{}]: {}", start + offset, short(&item)));
                    }
                }
                _ => lines.push(format!("~ {key}: {}", short(edit))),
            }
        }
    } else if let Value::Array(after) = change {
        let whole = part.filter(|part| {
            part.get("skip").or(part.get("keep")).and_then(Value::as_u64) == Some(0)
        });
        let before = whole.and_then(|part| part.get("items")).and_then(Value::as_array);
        match before {
            Some(before) => {
                for position in 0..before.len().max(after.len()) {
                    let (before, after) = (before.get(position), after.get(position));
                    if before == after {
                        continue;
                    }
                    let path = format!("{key}[{position}]");
                    changed(&path, before, after.unwrap_or(&Value::Null), lines);
                }
            }
            None => lines.push(format!("~ {key}: {} in place of all", after.len())),
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(args: Value, outcome: Value, expected: Expect) {
        expected.assert_eq(&changes(&args, &outcome).join("\n"));
    }

    #[test]
    fn a_patch_of_the_state_shows_what_was_there() {
        check(
            json!({"state": {"config": {}, "request": {"temperature": 1.0, "top_p": 1}}}),
            json!({"native_messages": null, "state": {"patch": {"request": {"temperature": 0.5}, "x": {"y": 1}}}}),
            expect![[r#"
                - request.temperature: 1.0
                + request.temperature: 0.5
                + x.y: 1"#]],
        );
    }

    #[test]
    fn edits_of_history_show_items() {
        let args = json!({"native_messages": {"$list": {"slot": 0, "keep": 0, "items": [{"n": 0}, {"n": 1}]}}});
        let edits = json!([
            {"op": "replace", "start": 1, "end": 2, "items": [{"n": 7}]},
            {"op": "append", "items": [{"n": 2}]}]);
        check(
            args.clone(),
            json!({"native_messages": {"edits": edits}}),
            expect![[r#"
                - native_messages[1]: {"n":1}
                + native_messages[1]: {"n":7}
                + native_messages[end]: {"n":2}"#]],
        );
        check(
            args,
            json!({"native_messages": [{"n": 0}]}),
            expect![[r#"- native_messages[1]: {"n":1}"#]],
        );
    }

    #[test]
    fn an_action_shows_what_it_says_and_keeps() {
        check(
            json!({"action_id": "count"}),
            json!({"session_metadata": {"seen": 2}, "message": "2 messages"}),
            expect![[r#"
                + session_metadata: {"seen":2}
                + message: "2 messages""#]],
        );
        for nothing in [json!(null), json!([]), json!("keep"), json!({"state": "keep"})] {
            assert!(changes(&json!({}), &nothing).is_empty(), "{nothing}");
        }
    }
}
