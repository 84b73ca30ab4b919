//! Which kind of value each field of a request has, for both APIs. What has another is refused, rather
//! than repeated in the answer or passed on. Names that providers give things (efforts, verbosities)
//! are any text, and fields that are not here are anything.

use super::error::{Answer, Failure};
use orlop_core::{Map, Value};

#[derive(Clone, Copy)]
enum Kind {
    Number,
    Whole,
    Flag,
    Text,
    Texts,
    Object,
}

use Kind::{Flag, Number, Object, Text, Texts, Whole};

const FIELDS: &[(&str, Kind)] = &[
    ("temperature", Number),
    ("top_p", Number),
    ("presence_penalty", Number),
    ("frequency_penalty", Number),
    ("max_tokens", Whole),
    ("max_completion_tokens", Whole),
    ("max_output_tokens", Whole),
    ("seed", Whole),
    ("top_logprobs", Whole),
    ("stop", Texts),
    ("stream", Flag),
    ("store", Flag),
    ("background", Flag),
    ("parallel_tool_calls", Flag),
    ("instructions", Text),
    ("previous_response_id", Text),
    ("user", Text),
    ("safety_identifier", Text),
    ("prompt_cache_key", Text),
    ("verbosity", Text),
    ("reasoning_effort", Text),
    ("reasoning", Object),
    ("reasoning.effort", Text),
    ("reasoning.summary", Text),
    ("text", Object),
    ("text.verbosity", Text),
    ("text.format", Object),
    ("response_format", Object),
    ("metadata", Object),
];

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Number => value.is_number(),
            Whole => value.is_i64() || value.is_u64(),
            Flag => value.is_boolean(),
            Text => value.is_string(),
            Texts => {
                value.as_array().map_or(value.is_string(), |it| it.iter().all(Value::is_string))
            }
            Object => value.is_object(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Number => "a number",
            Whole => "a whole number",
            Flag => "true or false",
            Text => "a text",
            Texts => "a text or a list of texts",
            Object => "an object",
        }
    }
}

/// Refuses fields of another kind than theirs. `null` is as good as nothing.
pub(super) fn check(fields: &Map) -> Answer<()> {
    for (field, kind) in FIELDS {
        let value = match field.split_once('.') {
            Some((section, key)) => fields.get(section).and_then(|it| it.get(key)),
            None => fields.get(*field),
        };
        if value.is_some_and(|value| !value.is_null() && !kind.fits(value)) {
            return Err(Failure::bad(field, format!("{field} is {}", kind.words())));
        }
    }
    no_probabilities(fields)
}

/// Refuses the ways to ask for probabilities, which agents do not tell.
fn no_probabilities(fields: &Map) -> Answer<()> {
    const INCLUDED: &str = "message.output_text.logprobs";
    let refused = |param, what: &str| {
        Err(Failure::bad(param, format!("agents do not tell probabilities; leave {what} out")))
    };
    let given = |key: &str| fields.get(key).filter(|value| !value.is_null());
    if given("logprobs").is_some_and(|wanted| wanted != false) {
        return refused("logprobs", "logprobs");
    }
    if given("top_logprobs").is_some_and(|count| count != 0) {
        return refused("top_logprobs", "top_logprobs");
    }
    let included = given("include").and_then(Value::as_array);
    if included.is_some_and(|it| it.iter().any(|name| name == INCLUDED)) {
        return refused("include", INCLUDED);
    }
    Ok(())
}
