//! JSON Schemas that come from outside: they are bounded, and read no files or addresses.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, ValidationOptions, Validator};
use orlop_types::Value;
use std::fmt;

/// The largest schema, in bytes of JSON.
pub(crate) const MAX_SCHEMA: usize = 256 * 1024;
/// How many problems are told.
pub(crate) const MAX_PROBLEMS: usize = 5;
/// How long one of them may be, in characters.
pub(crate) const MAX_WORDS: usize = 300;
/// How long a pattern of the schema may search before it counts as not found.
const MAX_BACKTRACKS: usize = 100_000;

/// A schema that values are judged by.
#[derive(Debug)]
pub(crate) struct JsonSchema(Validator);

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSchema {
    /// Where in the schema, as a JSON pointer; empty for all of it.
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

/// Something in a value that does not fit.
pub(crate) struct Problem<'a>(ValidationError<'a>);

/// Where references that lead out of a schema end.
struct Nowhere;

impl jsonschema::Retrieve for Nowhere {
    fn retrieve(
        &self,
        _: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("files and addresses are not read; put what is referred to under $defs".into())
    }
}

impl JsonSchema {
    /// Reads a schema: JSON Schema 2020-12, or the draft that its `$schema` names.
    pub(crate) fn new(schema: &Value) -> Result<Self, BadSchema> {
        Self::build(schema, jsonschema::options())
    }

    /// The same, with formats that describe and do not judge, also in drafts where they do.
    pub(crate) fn without_formats(schema: &Value) -> Result<Self, BadSchema> {
        Self::build(schema, jsonschema::options().should_validate_formats(false))
    }

    fn build(schema: &Value, options: ValidationOptions<'_>) -> Result<Self, BadSchema> {
        let whole = |message: String| BadSchema { place: String::new(), message };
        if !schema.is_object() {
            return Err(whole("it must be a mapping".to_owned()));
        }
        if schema.to_string().len() > MAX_SCHEMA {
            return Err(whole(format!("it is larger than {} KiB", MAX_SCHEMA / 1024)));
        }
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
        let built = options.with_pattern_options(patterns).with_retriever(Nowhere).build(schema);
        built.map(Self).map_err(|error| BadSchema {
            place: error.instance_path().to_string(),
            message: shortened(&error.to_string()),
        })
    }

    /// The first things in a value that do not fit.
    pub(crate) fn problems<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Problem<'a>> {
        self.all_problems(value).take(MAX_PROBLEMS)
    }

    /// Everything in a value that does not fit.
    pub(crate) fn all_problems<'a>(
        &'a self,
        value: &'a Value,
    ) -> impl Iterator<Item = Problem<'a>> {
        self.0.iter_errors(value).map(Problem)
    }
}

impl Problem<'_> {
    /// The key of the value's own entry that it is about, if it is about one as a whole.
    pub(crate) fn entry(&self) -> Option<String> {
        let place = self.0.instance_path().to_string();
        let key = place.strip_prefix('/').filter(|key| !key.contains('/'))?;
        Some(key.replace("~1", "/").replace("~0", "~"))
    }

    /// Whether what is there is of another type than is wanted.
    pub(crate) fn is_of_type(&self) -> bool {
        matches!(self.0.kind(), ValidationErrorKind::Type { .. })
    }
}

/// The place as a JSON pointer, unless it is all of the value, and what was expected there.
impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.instance_path().to_string();
        let mut words = self.0.to_string();
        if words.chars().nth(MAX_WORDS).is_some() {
            // What is expected comes after the value.
            words = shortened(&self.0.masked().to_string());
        }
        if place.is_empty() { f.write_str(&words) } else { write!(f, "{place}: {words}") }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
