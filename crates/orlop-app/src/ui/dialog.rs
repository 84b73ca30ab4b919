//! What a front end asks before it runs an action, and the answers as values of the right type.

use super::filled;
use super::safe::plain_line;
use orlop_core::{Error, Map, Result, Value};
use serde::Serialize;

/// Questions to ask before an action runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Dialog {
    /// How to ask; `form` if the plugin does not say.
    pub kind: String,
    /// The heading.
    pub title: String,
    /// The fields; without any it asks whether to go on.
    pub inputs: Vec<DialogInput>,
}

/// A field of a dialog.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DialogInput {
    /// The name of its answer.
    pub name: String,
    /// The declared type, in the words of the plugin; [`DialogInput::kind`] says what it means.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What it says.
    pub label: String,
    /// Everything else the plugin wrote: `required`, `default`, choices, ...
    #[serde(flatten)]
    pub extra: Map,
}

/// What an answer is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A list.
    Array,
    /// A mapping.
    Object,
    /// Something this version does not know; it is passed on as it is.
    Other,
}

impl Dialog {
    /// Reads a dialog; fields without a name are left out, as nobody could ask for them.
    pub fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let inputs = fields.get("inputs").and_then(Value::as_array);
        Some(Self {
            kind: filled(fields, "kind").unwrap_or("form").to_owned(),
            title: filled(fields, "title").map(plain_line).unwrap_or_default(),
            inputs: inputs.into_iter().flatten().filter_map(DialogInput::read).collect(),
        })
    }

    /// Whether it only asks to go on.
    pub fn is_confirmation(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The answers, each of its declared type. Fields left empty have none; fields that were not
    /// asked for have their default.
    pub fn answers(&self, given: &Map) -> Result<Map> {
        let mut answers = Map::new();
        for input in &self.inputs {
            let given = given.get(&input.name).filter(|answer| !answer.is_null());
            let Some(answer) = given.or_else(|| input.extra.get("default")) else { continue };
            if let Some(answer) = input.kind().convert(&input.shown_name(), answer)? {
                answers.insert(input.name.clone(), answer);
            }
        }
        Ok(answers)
    }
}

impl DialogInput {
    fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let name = filled(fields, "name")?.to_owned();
        let label = filled(fields, "label").map(plain_line).filter(|label| !label.is_empty());
        let known = |key: &str| matches!(key, "name" | "type" | "label");
        let others = fields.iter().filter(|(key, _)| !known(key));
        Some(Self {
            type_name: filled(fields, "type").unwrap_or("string").to_owned(),
            label: label.unwrap_or_else(|| plain_line(&name)),
            name,
            extra: others.map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }

    /// What an answer is to be.
    pub fn kind(&self) -> InputKind {
        InputKind::named(&self.type_name)
    }

    fn shown_name(&self) -> String {
        match self.label == self.name {
            true => self.name.clone(),
            false => format!("{} ({})", self.label, plain_line(&self.name)),
        }
    }
}

impl InputKind {
    /// The kind that a declared type means, of a dialog's field as of an action's input.
    pub fn named(type_name: &str) -> Self {
        match type_name {
            "string" | "text" => Self::Text,
            "integer" | "int" => Self::Integer,
            "number" | "float" => Self::Number,
            "boolean" | "bool" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => Self::Other,
        }
    }

    /// The answer as a value of this kind, from what was typed or from a value that fits; `None`
    /// if the field was left empty. `field` names it in the error.
    ///
    /// ```
    /// use orlop_app::ui::InputKind;
    /// use serde_json::json;
    /// assert_eq!(InputKind::Integer.convert("start", &json!(" 5 "))?, Some(json!(5)));
    /// assert_eq!(InputKind::Integer.convert("start", &json!(""))?, None);
    /// assert!(InputKind::Integer.convert("start", &json!("five")).is_err());
    /// # Ok::<(), orlop_core::Error>(())
    /// ```
    pub fn convert(self, field: &str, answer: &Value) -> Result<Option<Value>> {
        let empty = match answer {
            Value::Null => true,
            Value::String(text) if matches!(self, Self::Text | Self::Other) => text.is_empty(),
            Value::String(text) => text.trim().is_empty(),
            _ => false,
        };
        if empty {
            return Ok(None);
        }
        self.value(answer).map(Some).ok_or_else(|| {
            let shown = shortened(answer);
            Error::bad_argument(format!(
                "the field \"{field}\" must be {}, but is {shown}",
                self.asked_for()
            ))
        })
    }

    fn value(self, answer: &Value) -> Option<Value> {
        let typed = answer.as_str().map(str::trim);
        match (self, typed) {
            (Self::Other, _) => Some(answer.clone()),
            (Self::Text, _) => match answer {
                Value::String(_) => Some(answer.clone()),
                Value::Number(_) | Value::Bool(_) => Some(answer.to_string().into()),
                _ => None,
            },
            (Self::Integer, Some(typed)) => whole(typed),
            (Self::Integer, None) if answer.is_i64() || answer.is_u64() => Some(answer.clone()),
            (Self::Integer, None) => {
                answer.as_f64().filter(|number| number.fract() == 0.0).and_then(|number| {
                    // Written without a fraction, it is read as a whole number if it fits.
                    whole(&format!("{number:.0}"))
                })
            }
            (Self::Number, Some(typed)) => whole(typed).or_else(|| {
                let number = typed.parse().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::Number)
            }),
            (Self::Number, None) => answer.is_number().then(|| answer.clone()),
            (Self::Boolean, Some(typed)) => yes_or_no(typed).map(Value::Bool),
            (Self::Boolean, None) => answer.is_boolean().then(|| answer.clone()),
            (Self::Array, Some(typed)) => serde_json::from_str(typed).ok().filter(Value::is_array),
            (Self::Array, None) => answer.is_array().then(|| answer.clone()),
            (Self::Object, Some(typed)) => {
                serde_json::from_str(typed).ok().filter(Value::is_object)
            }
            (Self::Object, None) => answer.is_object().then(|| answer.clone()),
        }
    }

    fn asked_for(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Integer => "a whole number such as 5",
            Self::Number => "a number such as 0.5",
            Self::Boolean => "true or false",
            Self::Array => "a JSON list such as [1, 2]",
            Self::Object => "a JSON mapping such as {\"a\": 1}",
            Self::Other => "a value",
        }
    }
}

fn whole(typed: &str) -> Option<Value> {
    let signed = typed.parse::<i64>().map(Value::from);
    signed.or_else(|_| typed.parse::<u64>().map(Value::from)).ok()
}

fn yes_or_no(typed: &str) -> Option<bool> {
    match typed.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn shortened(answer: &Value) -> String {
    const MOST: usize = 40;
    let text = plain_line(&answer.to_string());
    let dots = if text.chars().count() > MOST { "..." } else { "" };
    text.chars().take(MOST).chain(dots.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    #[track_caller]
    fn check(kind: &str, answer: Value, expected: Expect) {
        let shown = match InputKind::named(kind).convert("Start (start)", &answer) {
            Ok(Some(value)) => value.to_string(),
            Ok(None) => "absent".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&shown);
    }

    #[test] // J-23
    fn answers_become_what_their_field_declares() {
        check("integer", json!("5"), expect!["5"]);
        check("integer", json!(" -3 "), expect!["-3"]);
        check("integer", json!(7), expect!["7"]);
        check("integer", json!(7.0), expect!["7"]);
        check("integer", json!("18446744073709551615"), expect!["18446744073709551615"]);
        check("number", json!("0.5"), expect!["0.5"]);
        check("number", json!("4"), expect!["4"]);
        check("boolean", json!("Yes"), expect!["true"]);
        check("boolean", json!("off"), expect!["false"]);
        check("string", json!("5"), expect![[r#""5""#]]);
        check("string", json!(5), expect![[r#""5""#]]);
        check("array", json!("[1, 2]"), expect!["[1,2]"]);
        check("object", json!({ "a": 1 }), expect![[r#"{"a":1}"#]]);
        check("colour", json!(["as", "it", "is"]), expect![[r#"["as","it","is"]"#]]);
    }

    #[test] // J-23
    fn an_answer_that_cannot_be_converted_names_its_field() {
        check(
            "integer",
            json!("five"),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a whole number such as 5, but is "five""#
            ]],
        );
        check(
            "integer",
            json!("5.5"),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a whole number such as 5, but is "5.5""#
            ]],
        );
        check(
            "integer",
            json!(5.5),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a whole number such as 5, but is 5.5"#
            ]],
        );
        check(
            "integer",
            json!(1e300),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a whole number such as 5, but is 1e+300"#
            ]],
        );
        check(
            "integer",
            json!(true),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a whole number such as 5, but is true"#
            ]],
        );
        check(
            "number",
            json!("NaN"),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a number such as 0.5, but is "NaN""#
            ]],
        );
        check(
            "boolean",
            json!("perhaps"),
            expect![[
                r#"bad_argument: the field "Start (start)" must be true or false, but is "perhaps""#
            ]],
        );
        check(
            "string",
            json!([1]),
            expect![[r#"bad_argument: the field "Start (start)" must be a text, but is [1]"#]],
        );
        check(
            "array",
            json!("{}"),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a JSON list such as [1, 2], but is "{}""#
            ]],
        );
        check(
            "object",
            json!("x".repeat(100)),
            expect![[
                r#"bad_argument: the field "Start (start)" must be a JSON mapping such as {"a": 1}, but is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."#
            ]],
        );
    }

    #[test] // J-21, J-23
    fn an_empty_field_has_no_answer() {
        for kind in ["string", "integer", "number", "boolean", "array", "object", "colour"] {
            check(kind, json!(""), expect!["absent"]);
            check(kind, json!(null), expect!["absent"]);
        }
        check("integer", json!("  "), expect!["absent"]);
        check("string", json!("  "), expect![[r#""  ""#]]);
    }

    #[test] // J-23
    fn a_dialog_is_a_list_of_fields() {
        let dialog = Dialog::read(&json!({
            "title": "Compact\u{1b}[1m range",
            "inputs": [
                { "name": "start", "type": "integer", "label": "Start", "required": true, "default": 0 },
                { "name": "note" },
                { "type": "integer", "label": "no name" },
                "field",
            ],
        }))
        .unwrap();
        expect![[r#"
            {
              "kind": "form",
              "title": "Compact range",
              "inputs": [
                {
                  "name": "start",
                  "type": "integer",
                  "label": "Start",
                  "required": true,
                  "default": 0
                },
                {
                  "name": "note",
                  "type": "string",
                  "label": "note"
                }
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&dialog).unwrap());
        let answers = |given: Value| dialog.answers(given.as_object().unwrap()).unwrap();
        assert_eq!(
            Value::from(answers(json!({ "note": "x", "more": 1 }))),
            json!({ "start": 0, "note": "x" })
        );
        assert_eq!(Value::from(answers(json!({ "start": "", "note": "" }))), json!({}));
    }

    #[test] // J-23
    fn a_dialog_without_fields_asks_whether_to_go_on() {
        for dialog in [json!({ "inputs": [] }), json!({ "kind": "form", "inputs": "none" })] {
            let dialog = Dialog::read(&dialog).unwrap();
            assert!(dialog.is_confirmation());
            assert_eq!(dialog.kind, "form");
        }
        assert_eq!(Dialog::read(&json!("form")), None);
    }
}
