//! Structured output: `output_schema` in a configuration says which JSON an answer has to be.
//!
//! Every request that has one judges its answer: the message carries the value as
//! `metadata.output` if it fits, else what is wrong with it as `metadata.output_problems`. Who
//! asks decides what follows from that.

use crate::config::Config;
use crate::json_schema::{BadSchema, JsonSchema};
use orlop_types::{Error, Map, Message, Result, Role, Value};

/// The metadata key of a value that fits.
pub const OUTPUT: &str = "output";
/// The metadata key of what is wrong with an answer.
pub const OUTPUT_PROBLEMS: &str = "output_problems";

/// The largest answer that is looked at, in bytes.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// A schema that answers are judged by. It never reads files or addresses that it refers to.
///
/// ```
/// use orlop_core::{Message, OutputSchema};
/// use serde_json::json;
/// let schema = OutputSchema::new(&json!({"type": "object", "required": ["city"]})).unwrap();
/// let fitting = Message::assistant("```json\n{\"city\": \"Bremen\"}\n```");
/// assert_eq!(schema.check(&fitting), Ok(json!({"city": "Bremen"})));
/// assert_eq!(schema.check(&Message::assistant("{}")), Err(vec!["\"city\" is a required property".to_owned()]));
/// ```
#[derive(Debug)]
pub struct OutputSchema(JsonSchema);

impl From<BadSchema> for Error {
    fn from(bad: BadSchema) -> Self {
        let place = if bad.place.is_empty() { String::new() } else { format!("{}: ", bad.place) };
        Self::bad_argument(format!(
            "output_schema is no JSON Schema that can be used: {place}{}; correct it",
            bad.message
        ))
    }
}

impl OutputSchema {
    /// Reads a schema: JSON Schema 2020-12, or the draft that its `$schema` names.
    pub fn new(schema: &Value) -> Result<Self, BadSchema> {
        JsonSchema::new(schema).map(Self)
    }

    /// The schema of a configuration, if it has one.
    pub fn of(config: &Config) -> Result<Option<Self>> {
        match config.values().get("output_schema") {
            None | Some(Value::Null) => Ok(None),
            Some(schema) => Ok(Some(Self::new(schema)?)),
        }
    }

    /// The value of an answer, or what is wrong with it: the first problems, each with its place.
    pub fn check(&self, answer: &Message) -> Result<Value, Vec<String>> {
        let value = match answer.content() {
            Value::String(text) => parsed(text).map_err(|problem| vec![problem])?,
            value => value.clone(),
        };
        self.fits(&value).map(|()| value)
    }

    /// Whether a value fits, or what is wrong with it.
    pub fn fits(&self, value: &Value) -> Result<(), Vec<String>> {
        let problems: Vec<String> = self.0.problems(value).map(|it| it.to_string()).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The messages of an answer with the verdict on the last one. What calls tools or was only
    /// interrupted by the model server is not the answer yet.
    pub(crate) fn judge(&self, mut finals: Vec<Message>) -> Vec<Message> {
        if finals.iter().any(|message| message.tool_calls().next().is_some()) {
            return finals;
        }
        let last = finals.iter_mut().rev().find(|message| message.role() == Role::Assistant);
        if let Some(answer) = last.filter(|message| !is_paused(message)) {
            let (key, verdict) = match self.check(answer) {
                Ok(value) => (OUTPUT, value),
                Err(problems) => (OUTPUT_PROBLEMS, problems.into()),
            };
            *answer = answer.clone().with_metadata_entry(key, verdict);
        }
        finals
    }
}

/// Whether the model server interrupted its answer and wants to be asked again to go on.
pub fn is_paused(answer: &Message) -> bool {
    let reason =
        |metadata: &Map| metadata.get("finish_reason")?.as_str().map(|said| said == "pause");
    reason(answer.metadata()).unwrap_or(false)
}

fn parsed(text: &str) -> Result<Value, String> {
    if text.len() > MAX_ANSWER {
        return Err(format!("the answer is longer than {} MiB", MAX_ANSWER / 1024 / 1024));
    }
    let json = unfenced(text.trim());
    serde_json::from_str(json).map_err(|error| format!("the answer is no JSON: {error}"))
}

/// What stands inside of a code fence, if the text is one.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, inner)) if !language.contains(['{', '[', '"']) => inner.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::{MAX_PROBLEMS, MAX_SCHEMA, MAX_WORDS};
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(answer: impl Into<Value>, expected: Expect) {
        let schema = OutputSchema::new(&json!({
            "type": "object",
            "properties": { "city": { "type": "string" }, "people": { "type": "integer", "minimum": 0 } },
            "required": ["city"],
            "additionalProperties": false,
        }));
        let shown = match schema.unwrap().check(&Message::assistant(answer)) {
            Ok(value) => value.to_string(),
            Err(problems) => problems.join("\n"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_answer_is_json_that_fits_in_a_fence_or_not() {
        check(r#" {"city": "Bremen", "people": 1} "#, expect![[r#"{"city":"Bremen","people":1}"#]]);
        check("```json\n{\"city\": \"a\"}\n```", expect![[r#"{"city":"a"}"#]]);
        check("```\n{\"city\": \"```\"}\n```\n", expect![[r#"{"city":"```"}"#]]);
        check(json!({ "city": "a" }), expect![[r#"{"city":"a"}"#]]);
        check(
            "Here it is: {}",
            expect!["the answer is no JSON: expected value at line 1 column 1"],
        );
        check(
            r#"{"city": "a""#,
            expect!["the answer is no JSON: EOF while parsing an object at line 1 column 12"],
        );
        check("", expect!["the answer is no JSON: EOF while parsing a value at line 1 column 0"]);
    }

    #[test]
    fn problems_have_a_place_and_an_end() {
        check(
            r#"{"city": 1, "people": -1, "x": 2}"#,
            expect![[r#"
                /city: 1 is not of type "string"
                /people: -1 is less than the minimum of 0
                Additional properties are not allowed ('x' was unexpected)"#]],
        );
        let many = OutputSchema::new(&json!({ "items": { "type": "integer" } })).unwrap();
        let long = "x".repeat(1_000);
        let answer = Message::assistant(json!([long, long, long, long, long, long, long]));
        let problems = many.check(&answer).unwrap_err();
        assert_eq!(problems.len(), MAX_PROBLEMS);
        assert!(problems.iter().all(|problem| problem.len() < MAX_WORDS + 20), "{problems:?}");
    }

    #[test]
    fn a_schema_that_cannot_be_used_says_where() {
        let bad = |schema: Value| Error::from(OutputSchema::new(&schema).unwrap_err()).to_string();
        let shown = [
            json!({ "properties": { "a": { "type": "text" } } }),
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "$ref": "file:///etc/hostname" }),
            json!({ "$ref": "#/$defs/none" }),
            json!({ "properties": { "a": { "pattern": "(" } } }),
            json!([1]),
            json!({ "title": "x".repeat(MAX_SCHEMA) }),
        ]
        .map(bad);
        expect![[r#"
            output_schema is no JSON Schema that can be used: /properties/a/type: "text" is not valid under any of the schemas listed in the 'anyOf' keyword; correct it
            output_schema is no JSON Schema that can be used: Resource 'https://example.com/schema.json' is not present in a registry and retrieving it failed: files and addresses are not read; put what is referred to under $defs; correct it
            output_schema is no JSON Schema that can be used: Resource 'file:///etc/hostname' is not present in a registry and retrieving it failed: files and addresses are not read; put what is referred to under $defs; correct it
            output_schema is no JSON Schema that can be used: Pointer '/$defs/none' does not exist; correct it
            output_schema is no JSON Schema that can be used: /properties/a/pattern: "(" is not a "regex"; correct it
            output_schema is no JSON Schema that can be used: it must be a mapping; correct it
            output_schema is no JSON Schema that can be used: it is larger than 256 KiB; correct it"#]].assert_eq(&shown.join("\n"));
    }

    /// A schema may come with a request: it must not bring the process down.
    #[test]
    fn circles_and_patterns_without_end_are_harmless() {
        let circles = [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }],
                "$defs": { "a": { "not": { "$ref": "#/$defs/b" } }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
            json!({ "properties": { "a": { "$ref": "#" } }, "items": { "$ref": "#" } }),
        ];
        for circle in circles {
            let schema = OutputSchema::new(&circle).unwrap();
            let _ = schema.check(&Message::assistant(json!({ "a": { "a": [[[1]]] } })));
        }
        let slow = OutputSchema::new(&json!({ "pattern": "^(a|a?)+\\1$(?=b)" })).unwrap();
        assert!(slow.check(&Message::assistant(format!("\"{}\"", "a".repeat(60)))).is_err());
    }
}
