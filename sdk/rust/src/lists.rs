//! Lists as they cross, only what is new of them, and as hooks see them. They are read in the order
//! of the lines.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// How deep sessions and lists may lie in an answer of the host.
const DEPTH: usize = 3;

/// What the host knows this process to hold.
#[derive(Default)]
pub(crate) struct Slots(HashMap<u64, Vec<Value>>);

impl Slots {
    /// Reads the fields of an input; gives how many items each list has before those that came.
    pub(crate) fn receive_fields(&mut self, fields: &mut Value) -> BTreeMap<String, usize> {
        let mut skipped = BTreeMap::new();
        for (name, value) in fields.as_object_mut().into_iter().flatten() {
            if let Some(skip) = value["$list"]["skip"].as_u64().filter(|skip| *skip > 0) {
                skipped.insert(name.clone(), usize::try_from(skip).unwrap_or(usize::MAX));
            }
            self.receive(value, DEPTH);
        }
        skipped
    }

    /// Reads an answer of the host.
    pub(crate) fn receive_answer(&mut self, value: &mut Value) {
        self.receive(value, DEPTH);
    }

    fn receive(&mut self, value: &mut Value, depth: usize) {
        match value {
            Value::Object(held) => {
                if let Some(Value::Object(list)) = held.get_mut("$list") {
                    *value = Value::Array(self.list(std::mem::take(list)));
                } else if let Some(session) = held.get_mut("$session") {
                    let mut session = session.take();
                    for key in ["messages", "native_messages"] {
                        if let Some(list) = session.get_mut(key) {
                            self.receive(list, 1);
                        }
                    }
                    *value = session;
                } else if depth > 0 {
                    held.values_mut().for_each(|inner| self.receive(inner, depth - 1));
                }
            }
            Value::Array(items) if depth > 0 => {
                items.iter_mut().for_each(|inner| self.receive(inner, depth - 1));
            }
            _ => {}
        }
    }

    fn list(&mut self, mut list: Map<String, Value>) -> Vec<Value> {
        let new = match list.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let number = |key: &str| list.get(key).and_then(Value::as_u64);
        let Some(slot) = number("slot") else { return new };
        let keep = number("keep").and_then(|keep| usize::try_from(keep).ok()).unwrap_or(0);
        let held = self.0.entry(slot).or_default();
        held.truncate(keep);
        held.extend(new);
        held.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_build_on_those_before() {
        let mut slots = Slots::default();
        let mut input = json!({"m": {"$list": {"slot": 3, "keep": 0, "items": [1, 2, 3]}}});
        assert!(slots.receive_fields(&mut input).is_empty());
        assert_eq!(input, json!({"m": [1, 2, 3]}));
        let mut input = json!({"m": {"$list": {"slot": 3, "keep": 2, "items": [9]}}, "n": {"$list": {"skip": 7, "items": [8]}}});
        let skipped = slots.receive_fields(&mut input);
        assert_eq!(input, json!({"m": [1, 2, 9], "n": [8]}));
        assert_eq!(skipped, BTreeMap::from([("n".to_owned(), 7)]));
    }

    #[test]
    fn sessions_are_mappings() {
        let crossed = json!({"$session": {"handle": "h1", "messages": {"$list": {"skip": 0, "items": ["a"]}}, "native_messages": null}});
        let mut answer = json!([{"session": crossed}]);
        Slots::default().receive_answer(&mut answer);
        let expected =
            json!([{"session": {"handle": "h1", "messages": ["a"], "native_messages": null}}]);
        assert_eq!(answer, expected);
    }
}
