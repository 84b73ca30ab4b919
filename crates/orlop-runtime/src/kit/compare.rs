//! Whether two values say the same, and where they do not.

use orlop_core::Value;

/// Whether two values are the same. Numbers count, not how they are written: languages differ in
/// whether three is `3` or `3.0`.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    difference(one, other).is_none()
}

/// The first place in which two values differ, with what is there in each.
pub(super) fn difference<'a>(
    one: &'a Value,
    other: &'a Value,
) -> Option<(String, &'a Value, &'a Value)> {
    differ(one, other, String::new(), false)
}

/// The first place in which `whole` has not what `part` has: keys of mappings may be left out in
/// `part`.
pub(super) fn missing(part: &Value, whole: &Value) -> Option<String> {
    differ(part, whole, String::new(), true).map(|(place, ..)| place)
}

fn differ<'a>(
    one: &'a Value,
    other: &'a Value,
    place: String,
    partly: bool,
) -> Option<(String, &'a Value, &'a Value)> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let further = other.iter().filter(|(key, _)| !partly && !one.contains_key(*key));
            let all = one.iter().map(|(key, value)| (key, value, other.get(key)));
            let all = all.map(|(key, one, other)| (key, one, other.unwrap_or(&Value::Null)));
            let mut all = all.chain(further.map(|(key, other)| (key, &Value::Null, other)));
            all.find_map(|(key, one, other)| differ(one, other, format!("{place}/{key}"), partly))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(at, (one, other))| differ(one, other, format!("{place}/{at}"), partly))
        }
        (Value::Number(a), Value::Number(b)) if a == b || a.as_f64() == b.as_f64() => None,
        _ => (one != other).then_some((place, one, other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_is_found_or_its_place_is_told() {
        let whole = json!({"a": [{"b": 1, "c": 2}], "d": "x"});
        let cases = [
            (json!({"a": [{"b": 1.0}]}), None),
            (json!({"d": "x"}), None),
            (json!({"a": [{"b": 3}]}), Some("/a/0/b")),
            (json!({"a": []}), Some("/a")),
            (json!({"e": 1}), Some("/e")),
            (json!("x"), Some("")),
        ];
        for (part, place) in cases {
            assert_eq!(missing(&part, &whole).as_deref(), place, "{part}");
        }
    }

    #[test]
    fn what_one_has_and_the_other_has_not_is_a_difference() {
        assert!(same(&json!({"a": 1, "b": [2]}), &json!({"b": [2.0], "a": 1})));
        let (one, other) = (json!({"a": 1}), json!({"a": 1, "b": 2}));
        for (one, other) in [(&one, &other), (&other, &one)] {
            assert_eq!(difference(one, other).map(|it| it.0).as_deref(), Some("/b"));
        }
    }
}
