//! The parameters an element's action is run with: where each comes from, and what it comes to.

use super::elements::ActionElement;
use orlop_core::{Map, Result, Value};

/// What references in a `param_map` can refer to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// The session as JSON.
    pub session: Option<&'a Map>,
    /// The message as JSON, with its `index`.
    pub message: Option<&'a Map>,
    /// The answers to the dialog, as they were typed or chosen.
    pub dialog: Option<&'a Map>,
}

impl ActionElement {
    /// The parameters for one click. A reference to nothing leaves its parameter out; whether the
    /// action can do without is for its own check to say. An answer that does not fit its field is
    /// a bad argument that names the field.
    pub fn params(&self, sources: &Sources<'_>) -> Result<Map> {
        let answers = match (&self.dialog, sources.dialog) {
            (Some(dialog), given) => dialog.answers(given.unwrap_or(&Map::new()))?,
            (None, _) => Map::new(),
        };
        let mut params = self.fixed_params.clone();
        let Some(map) = &self.param_map else {
            params.extend(answers);
            return Ok(params);
        };
        for (name, value) in map {
            let found = match Reference::read(value) {
                None => Some(value.clone()),
                Some(reference) => reference.follow(sources, &answers),
            };
            if let Some(found) = found {
                params.insert(name.clone(), found);
            }
        }
        Ok(params)
    }
}

/// A value of a `param_map` that is not itself the parameter.
enum Reference<'a> {
    Session(&'a str),
    Message(&'a str),
    Dialog(&'a str),
}

impl<'a> Reference<'a> {
    fn read(value: &'a Value) -> Option<Self> {
        match value.as_str()?.split_once('.')? {
            ("$session", field) => Some(Self::Session(field)),
            ("$message", field) => Some(Self::Message(field)),
            ("$dialog", input) => Some(Self::Dialog(input)),
            _ => None,
        }
    }

    fn follow(self, sources: &Sources<'_>, answers: &Map) -> Option<Value> {
        let found = match self {
            Self::Session(field) => field_of(sources.session?, field),
            Self::Message(field) => field_of(sources.message?, field),
            Self::Dialog(input) => answers.get(input),
        };
        found.filter(|value| !value.is_null()).cloned()
    }
}

/// The value at a dotted path; numbers are positions in lists.
fn field_of<'a>(fields: &'a Map, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = fields.get(names.next()?)?;
    names.try_fold(first, |value, name| match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use orlop_core::ActionDefinition;
    use serde_json::json;

    fn element(parts: Value) -> ActionElement {
        let mut element = json!({
            "ui_type": "message_action", "plugin": "compaction", "action_id": "compact_range",
        });
        orlop_core::types::json::merge_patch(&mut element, &parts);
        ActionElement::read(element.as_object().unwrap()).unwrap()
    }

    fn params(parts: Value, dialog: Value) -> Result<Map> {
        let session = json!({
            "session_id": "s1",
            "metadata": { "title": "Notes", "overrides": { "model": "gpt-5" }, "empty": null },
            "messages": [{ "role": "user", "content": "hello" }],
        });
        let message = json!({ "index": 7, "role": "assistant", "metadata": { "id": "m7" } });
        element(parts).params(&Sources {
            session: session.as_object(),
            message: message.as_object(),
            dialog: dialog.as_object(),
        })
    }

    fn check(parts: Value, dialog: Value, expected: Expect) {
        let shown = match params(parts, dialog) {
            Ok(params) => Value::from(params).to_string(),
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&shown);
    }

    fn form(inputs: &[(&str, &str)]) -> Value {
        let field =
            |(name, kind): &(&str, &str)| json!({ "name": name, "type": kind, "label": name });
        json!({ "kind": "form", "title": "t", "inputs": inputs.iter().map(field).collect::<Vec<_>>() })
    }

    #[test] // J-17, J-20, J-22
    fn a_message_action_sends_what_is_fixed_and_what_is_mapped() {
        check(
            json!({
                "fixed_params": { "start": 0, "end_inclusive": true },
                "param_map": { "session_id": "$session.session_id", "end": "$message.index" },
            }),
            json!(null),
            expect![[r#"{"start":0,"end_inclusive":true,"session_id":"s1","end":7}"#]],
        );
    }

    #[test] // J-20
    fn references_reach_into_the_session_the_message_and_the_answers() {
        check(
            json!({
                "param_map": {
                    "title": "$session.metadata.title", "model": "$session.metadata.overrides.model",
                    "first": "$session.messages.0.content", "message": "$message.metadata.id",
                    "count": "$dialog.count", "all": "$session.metadata.overrides",
                },
                "dialog": form(&[("count", "integer")]),
            }),
            json!({ "count": "3" }),
            expect![[
                r#"{"title":"Notes","model":"gpt-5","first":"hello","message":"m7","count":3,"all":{"model":"gpt-5"}}"#
            ]],
        );
    }

    #[test] // J-20
    fn other_values_are_literals() {
        check(
            json!({ "param_map": {
                "number": 5, "list": ["$session.session_id"], "text": "plain", "price": "$5.00",
                "session": "$session", "escaped": " $session.session_id", "case": "$Session.session_id",
            } }),
            json!(null),
            expect![[
                r#"{"number":5,"list":["$session.session_id"],"text":"plain","price":"$5.00","session":"$session","escaped":" $session.session_id","case":"$Session.session_id"}"#
            ]],
        );
    }

    #[test] // J-21
    fn a_reference_to_nothing_leaves_its_parameter_out() {
        let parts = json!({
            "fixed_params": { "kept": "fixed" },
            "param_map": {
                "a": "$session.absent", "b": "$session.", "c": "$session.metadata.empty", "d": "$message.index.x",
                "e": "$session.messages.9.content", "f": "$dialog.unasked", "g": "$dialog.note",
                "h": "$session..", "kept": "$dialog.note", "start": "$dialog.start",
            },
            "dialog": form(&[("note", "string"), ("start", "integer")]),
        });
        check(
            parts,
            json!({ "note": "", "start": " ", "unasked": 1 }),
            expect![[r#"{"kept":"fixed"}"#]],
        );
        let map = json!({ "param_map": { "end": "$message.index", "id": "$session.session_id" } });
        assert_eq!(element(map).params(&Sources::default()).unwrap(), Map::new());
    }

    #[test] // J-21
    fn a_required_parameter_that_is_left_out_fails_the_actions_own_check() {
        let action =
            ActionDefinition::new("compact_range", "Compact").input("end", "integer", true);
        let parts = json!({
            "param_map": { "end": "$dialog.end" }, "dialog": form(&[("end", "integer")]),
        });
        let without = params(parts.clone(), json!({ "end": "" })).unwrap();
        assert!(action.validate(&without).unwrap_err().message().contains("\"end\""));
        let with = params(parts, json!({ "end": "9" })).unwrap();
        assert_eq!(action.validate(&with).unwrap(), with);
    }

    #[test] // J-22
    fn mapped_parameters_win() {
        let parts = json!({
            "fixed_params": { "end": 1, "start": 0 },
            "param_map": { "end": "$message.index", "start": 4 },
        });
        check(parts, json!(null), expect![[r#"{"end":7,"start":4}"#]]);
    }

    #[test] // J-23
    fn answers_are_converted_and_errors_name_the_field() {
        let parts = json!({ "param_map": { "start": "$dialog.start" }, "dialog": form(&[("start", "integer")]) });
        check(parts.clone(), json!({ "start": "5" }), expect![[r#"{"start":5}"#]]);
        check(
            parts,
            json!({ "start": "x" }),
            expect![[
                r#"bad_argument: the field "start" must be a whole number such as 5, but is "x""#
            ]],
        );
    }

    #[test] // J-24
    fn without_a_map_answers_are_the_parameters_of_the_same_name() {
        let summarize = json!({
            "ui_type": "session_action", "action_id": "summarize_range",
            "dialog": form(&[("start", "integer"), ("end", "integer")]),
        });
        check(
            summarize.clone(),
            json!({ "start": "2", "end": "", "other": "x" }),
            expect![[r#"{"start":2}"#]],
        );
        check(summarize, json!(null), expect!["{}"]);
        let fixed = json!({ "fixed_params": { "start": 0 }, "param_map": {}, "dialog": form(&[("start", "integer")]) });
        check(fixed.clone(), json!({ "start": 3 }), expect![[r#"{"start":3}"#]]);
        check(fixed, json!({}), expect![[r#"{"start":0}"#]]);
    }
}
