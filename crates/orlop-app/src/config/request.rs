//! The configuration of one request: a base and what was overridden.

use super::known;
use orlop_core::types::json::merge_patch;
use orlop_core::{Config, Map, Value};

/// Lays overrides over a configuration, a later one over an earlier one: session overrides come
/// before request overrides. Mappings merge key by key, `null` removes a key, anything else
/// replaces; so does `output_schema`, which is one thing. Dots in an override's key lead into
/// sections.
///
/// ```
/// use orlop_app::config::resolve_request_config;
/// use orlop_core::{Config, Map};
/// use serde_json::json;
/// let base = Config::from_json(json!({"model": "small", "compaction": {"enabled": true, "keep": 4}}))?;
/// let session = Map::from_iter([("compaction.enabled".to_owned(), json!(false))]);
/// let config = resolve_request_config(&base, &[&session]);
/// assert_eq!(config.get("compaction"), Some(&json!({"enabled": false, "keep": 4})));
/// # Ok::<(), orlop_core::Error>(())
/// ```
pub fn resolve_request_config(base: &Config, overrides: &[&Map]) -> Config {
    if overrides.iter().all(|patch| patch.is_empty()) {
        return base.clone();
    }
    let mut values = base.values().clone();
    for (key, value) in overrides.iter().copied().flatten() {
        let steps: Vec<&str> = key.split('.').collect();
        match steps.iter().any(|step| step.is_empty()) {
            true => put(&mut values, &[key.as_str()], value),
            false => put(&mut values, &steps, value),
        }
    }
    Config::new(values)
}

fn put(values: &mut Map, steps: &[&str], value: &Value) {
    let Some((last, sections)) = steps.split_last() else { return };
    let mut table = values;
    for section in sections {
        // Removing what is not there leaves no empty section behind.
        if value.is_null() && !table.get(*section).is_some_and(Value::is_object) {
            return;
        }
        let held = table.entry(*section).or_insert(Value::Null);
        if !held.is_object() {
            *held = Value::Object(Map::new());
        }
        let Value::Object(inner) = held else { return };
        table = inner;
    }
    match value {
        Value::Null => {
            table.shift_remove(*last);
        }
        value if sections.is_empty() && known::is_whole(last) => {
            table.insert((*last).to_owned(), value.clone());
        }
        value => merge_patch(table.entry(*last).or_insert(Value::Null), value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(base: Value, overrides: &[Value], expected: Expect) {
        let base = Config::from_json(base).unwrap();
        let untouched = base.values().clone();
        let maps: Vec<&Map> = overrides.iter().map(|map| map.as_object().unwrap()).collect();
        let resolved = resolve_request_config(&base, &maps);
        expected.assert_eq(&serde_json::to_string(&resolved).unwrap());
        assert_eq!(*base.values(), untouched);
    }

    #[test] // I-14
    fn a_request_override_beats_a_session_override_beats_the_base() {
        check(
            json!({ "model": "base", "temperature": 1, "top": 1 }),
            &[json!({ "model": "session", "temperature": 2 }), json!({ "model": "request" })],
            expect![[r#"{"model":"request","temperature":2,"top":1}"#]],
        );
    }

    #[test] // I-35
    fn one_nested_key_keeps_its_siblings() {
        let base =
            json!({ "compaction": { "enabled": true, "agent_id": "small" }, "tools": ["a"] });
        check(
            base.clone(),
            &[json!({ "compaction": { "enabled": false }, "tools": ["b", "c"] })],
            expect![[r#"{"compaction":{"enabled":false,"agent_id":"small"},"tools":["b","c"]}"#]],
        );
        check(
            base.clone(),
            &[json!({ "compaction.enabled": false, "new.section.key": 1 })],
            expect![[
                r#"{"compaction":{"enabled":false,"agent_id":"small"},"tools":["a"],"new":{"section":{"key":1}}}"#
            ]],
        );
        check(
            base,
            &[],
            expect![[r#"{"compaction":{"enabled":true,"agent_id":"small"},"tools":["a"]}"#]],
        );
    }

    #[test]
    fn a_schema_is_replaced_as_a_whole() {
        check(
            json!({ "output_schema": { "properties": { "a": {} }, "required": ["a"] } }),
            &[json!({ "output_schema": { "enum": [1, null], "default": null } })],
            expect![[r#"{"output_schema":{"enum":[1,null],"default":null}}"#]],
        );
        check(
            json!({ "output_schema": { "properties": { "a": {} } } }),
            &[json!({ "output_schema": null })],
            expect!["{}"],
        );
    }

    #[test] // I-35
    fn null_removes_and_other_values_replace() {
        check(
            json!({ "a": { "x": 1, "y": 2 }, "b": 1, "c": "text" }),
            &[json!({ "a.x": null, "b": null, "c.d": 1, "none.at.all": null })],
            expect![[r#"{"a":{"y":2},"c":{"d":1}}"#]],
        );
        check(
            json!({ "a": { "x": 1 } }),
            &[json!({ "a": { "x": null } })],
            expect![[r#"{"a":{}}"#]],
        );
        check(json!({ "a": 1 }), &[json!({ "a": { "x": [1] } })], expect![[r#"{"a":{"x":[1]}}"#]]);
        check(json!({}), &[json!({ ".": 1, "a..b": 2 })], expect![[r#"{".":1,"a..b":2}"#]]);
    }
}
