//! The arguments of a tool call, read with errors that a model can act on.

use orlop_core::hooks::ToolInput;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Map, Result, Value};

/// The arguments of one call.
pub(crate) struct Arguments<'a>(&'a Map);

impl<'a> Arguments<'a> {
    /// Reads the arguments; anything but a JSON object is refused.
    pub(crate) fn of(input: &'a ToolInput) -> Result<Self> {
        input.payload.as_object().map(Self).ok_or_else(|| {
            Error::bad_argument(format!(
                "the arguments of {} are no JSON object; send them again as one",
                input.tool_name
            ))
        })
    }

    /// The value of an argument that is there and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// A text, without the space around it; one that is missing or empty is none.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
            Some(_) => Err(Error::bad_argument(format!("\"{key}\" must be a text"))),
        }
    }

    /// A text that must be there.
    pub(crate) fn needed_text(&self, key: &str) -> Result<&'a str> {
        let missing = || Error::bad_argument(format!("\"{key}\" is missing; give it as a text"));
        self.text(key)?.ok_or_else(missing)
    }

    /// A whole number from 0 on. Models write numbers as texts at times.
    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        let wrong = || Error::bad_argument(format!("\"{key}\" must be a whole number from 0 on"));
        number.map(Some).ok_or_else(wrong)
    }
}

/// A failure as a report: the model reads what went wrong, and the turn goes on.
pub(crate) fn reported(outcome: Result<ToolReport>) -> Result<ToolReport> {
    match outcome {
        Err(error) if !error.is_cancelled() => Ok(ToolReport::failed(error.message())),
        outcome => outcome,
    }
}

/// A tool schema from JSON.
pub(crate) fn schema(value: Value) -> Map {
    value.as_object().cloned().unwrap_or_default()
}

/// The first so many characters of a text on one line, with dots if there were more.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
