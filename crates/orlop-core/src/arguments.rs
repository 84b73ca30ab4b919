//! The arguments of a tool call, judged by the JSON Schema that the tool declares for them.

use crate::interop::schemas::{is_free_form, parameters};
use crate::json_schema::{BadSchema, JsonSchema};
use orlop_types::{Map, Value};

/// What a tool takes.
///
/// ```
/// use orlop_core::ArgumentSchema;
/// use serde_json::json;
/// let schema = json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" }, "lines": { "type": "integer" } },
///     "required": ["path"],
/// });
/// let schema = ArgumentSchema::new(&schema).unwrap();
/// assert_eq!(schema.read(json!({ "path": "a", "lines": 3 })), Ok(json!({ "path": "a", "lines": 3 })));
/// // What can only have been meant in one way is taken that way.
/// assert_eq!(schema.read(json!({ "path": "a", "lines": null })), Ok(json!({ "path": "a" })));
/// assert_eq!(schema.read(json!({ "path": "a", "lines": "3" })), Ok(json!({ "path": "a", "lines": 3 })));
/// let problems = schema.read(json!({ "path": ["a"] })).unwrap_err();
/// assert_eq!(problems, [r#"/path: ["a"] is not of type "string""#]);
/// ```
#[derive(Debug)]
pub struct ArgumentSchema(JsonSchema);

impl ArgumentSchema {
    /// What the schema of a tool says of its arguments: nothing if it takes free text.
    pub fn declared(tool: &Map) -> Option<&Value> {
        parameters(tool).filter(|_| !is_free_form(tool))
    }

    /// Reads a schema: JSON Schema 2020-12, or the draft that its `$schema` names. What it refers
    /// to outside of itself is not read, and formats describe only.
    pub fn new(schema: &Value) -> Result<Self, BadSchema> {
        JsonSchema::without_formats(schema).map(Self)
    }

    /// The arguments as the tool is to get them, or what is wrong with them: the first problems,
    /// each with its place. Arguments that fit stay as they are.
    pub fn read(&self, arguments: Value) -> Result<Value, Vec<String>> {
        let Some(mended) = self.mended(&arguments) else { return Ok(arguments) };
        let problems: Vec<String> = self.0.problems(&mended).map(|it| it.to_string()).collect();
        if problems.is_empty() { Ok(mended) } else { Err(problems) }
    }

    /// Arguments that do not fit, as they were probably meant: models send null for what they want
    /// to leave out, and write numbers and lists as texts. Nothing if they fit.
    fn mended(&self, arguments: &Value) -> Option<Value> {
        let mut problems = self.0.all_problems(arguments).peekable();
        problems.peek()?;
        let mut mended = arguments.clone();
        for problem in problems {
            let entry = problem.entry().and_then(|key| Some((arguments.get(&key)?, key)));
            match (entry, mended.as_object_mut()) {
                (Some((Value::Null, key)), Some(fields)) => {
                    fields.shift_remove(&key);
                }
                (Some((Value::String(text), key)), Some(fields)) if problem.is_of_type() => {
                    if let Ok(value) = serde_json::from_str(text) {
                        fields.insert(key, value);
                    }
                }
                _ => {}
            }
        }
        Some(mended)
    }
}
