//! One reply of a script: what the model says, when, how fast, and how it fails.

use super::fields::{Fields, wrong};
use super::pattern::fits;
use crate::wire::{Finish, Usage};
use orlop_types::{Error, ErrorClass, Message, Result, Role, Value};
use std::time::Duration;

/// What the model answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// When it is given; a reply without conditions waits for its turn.
    pub when: Option<When>,
    /// The text, in the pieces in which it streams.
    pub text: Vec<String>,
    /// The text of the last message follows that.
    pub echo: bool,
    /// Reasoning, before the text.
    pub reasoning: Vec<String>,
    /// Tools to call, after the text.
    pub tool_calls: Vec<Call>,
    /// Token counts.
    pub usage: Option<Usage>,
    /// Why the model stopped; by default `tool_calls` or `stop`.
    pub finish_reason: Option<Finish>,
    /// Before the first piece.
    pub delay: Duration,
    /// Between two pieces.
    pub pace: Duration,
    /// Instead of the rest.
    pub error: Option<Failure>,
}

/// What has to hold of the conversation; everything that is said must.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct When {
    /// The last user text fits this pattern, in which `*` stands for any text.
    pub text: Option<String>,
    /// The last user text has this in it, in small or large letters.
    pub contains: Option<String>,
    /// The last user message has a part whose type has this in its name.
    pub part: Option<String>,
    /// The last message is a tool's result, or is none.
    pub tool_result: Option<bool>,
    /// It is this turn, counted from 1.
    pub turn: Option<u64>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id; by default one made of the turn and its position.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments: a table, or text that is sent as it is.
    pub arguments: Value,
}

/// A failure of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// How many pieces come before it.
    pub after: u64,
    /// How often it comes before the reply is given; without a number, always.
    pub times: Option<u64>,
}

const FINISHES: [(&str, Finish); 7] = {
    use Finish::*;
    [
        ("stop", Stop),
        ("length", Length),
        ("tool_calls", ToolCalls),
        ("content_filter", ContentFilter),
        ("refusal", Refusal),
        ("pause", Pause),
        ("error", Error),
    ]
};

const CLASSES: [(&str, ErrorClass); 6] = {
    use ErrorClass::*;
    [
        ("provider", Provider),
        ("unavailable", Unavailable),
        ("bad_argument", BadArgument),
        ("bad_state", BadState),
        ("cancelled", Cancelled),
        ("internal", Internal),
    ]
};

impl Reply {
    pub(super) fn read(path: &str, value: Value) -> Result<Self> {
        if let Value::String(text) = value {
            return Ok(Self { text: vec![text], ..Self::default() });
        }
        let mut fields = Fields::of(path, value)?;
        let millis = |number: Option<u64>| Duration::from_millis(number.unwrap_or_default());
        let reply = Self {
            when: fields.table("when")?.map(When::read).transpose()?,
            text: fields.pieces("text")?,
            echo: fields.flag("echo")?.unwrap_or_default(),
            reasoning: fields.pieces("reasoning")?,
            tool_calls: fields
                .list("tool_calls")?
                .into_iter()
                .map(|(path, call)| Call::read(&path, call))
                .collect::<Result<_>>()?,
            usage: fields.table("usage")?.map(usage).transpose()?,
            finish_reason: fields.word("finish_reason", &FINISHES)?,
            delay: millis(fields.number("delay_ms")?),
            pace: millis(fields.number("pace_ms")?),
            error: fields.table("error")?.map(Failure::read).transpose()?,
        };
        fields.end()?;
        let says_nothing = reply.text.is_empty()
            && reply.reasoning.is_empty()
            && reply.tool_calls.is_empty()
            && !reply.echo
            && reply.error.is_none();
        if says_nothing && reply.finish_reason.is_none() {
            return Err(Error::bad_argument(format!(
                "{path}: the reply says nothing; give it text, echo, reasoning, tool_calls, \
                 error, or at least a finish_reason"
            )));
        }
        Ok(reply)
    }

    /// Why the model stops after this reply.
    pub fn finish(&self) -> Finish {
        self.finish_reason.unwrap_or(match self.tool_calls.is_empty() {
            true => Finish::Stop,
            false => Finish::ToolCalls,
        })
    }
}

impl When {
    fn read(mut fields: Fields) -> Result<Self> {
        let when = Self {
            text: fields.text("text")?,
            contains: fields.text("contains")?,
            part: fields.text("part")?,
            tool_result: fields.flag("tool_result")?,
            turn: fields.number("turn")?,
        };
        fields.end()?;
        Ok(when)
    }

    /// Whether all of it holds in `turn` after these messages.
    pub fn holds(&self, turn: u64, messages: &[Message]) -> bool {
        let message = messages.iter().rev().find(|message| message.role() == Role::User);
        let said = message.map(Message::text).unwrap_or_default();
        let parts = message.map(Message::multipart_content).unwrap_or_default();
        let is_of = |part: &orlop_types::Map, kind: &str| {
            part.get("type").and_then(Value::as_str).is_some_and(|it| it.contains(kind))
        };
        let has_result = messages.last().is_some_and(|message| message.role() == Role::Tool);
        let has = |part: &String| said.to_lowercase().contains(&part.to_lowercase());
        self.text.as_ref().is_none_or(|pattern| fits(pattern, said))
            && self.contains.as_ref().is_none_or(has)
            && self.part.as_ref().is_none_or(|kind| parts.iter().any(|part| is_of(part, kind)))
            && self.tool_result.is_none_or(|wanted| wanted == has_result)
            && self.turn.is_none_or(|wanted| wanted == turn)
    }
}

impl Call {
    fn read(path: &str, value: Value) -> Result<Self> {
        let mut fields = Fields::of(path, value)?;
        let name = fields.text("name")?.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            Error::bad_argument(format!("{}: a tool call needs a name", fields.path("name")))
        })?;
        let arguments = match fields.take("arguments") {
            None => Value::Object(Default::default()),
            Some(given @ (Value::Object(_) | Value::String(_))) => given,
            Some(other) => {
                return Err(wrong(&fields.path("arguments"), "a table or a text", &other));
            }
        };
        let call = Self { id: fields.text("id")?, name, arguments };
        fields.end()?;
        Ok(call)
    }
}

impl Failure {
    fn read(mut fields: Fields) -> Result<Self> {
        let class = fields.word("class", &CLASSES)?.unwrap_or(ErrorClass::Provider);
        let status = fields.number("status")?;
        let status = match status.map(u16::try_from) {
            Some(Ok(status @ 400..=599)) => Some(status),
            None => None,
            Some(_) => {
                let path = fields.path("status");
                return Err(Error::bad_argument(format!(
                    "{path}: the status of an error is a number from 400 to 599"
                )));
            }
        };
        let message = fields.text("message")?;
        let message = message.unwrap_or_else(|| match status {
            Some(status) => format!("the script fails here with status {status}"),
            None => "the script fails here".to_owned(),
        });
        let mut error = Error::new(class, &*message);
        if let Some(status) = status {
            let body = serde_json::json!({ "error": { "message": message } });
            error = error
                .with_provider_body(Some(status), body.to_string())
                .with_retryable(crate::http::passes(status));
        }
        if let Some(retryable) = fields.flag("retryable")? {
            error = error.with_retryable(retryable);
        }
        let after = fields.number("after")?.unwrap_or_default();
        let failure = Self { error, after, times: fields.number("times")? };
        fields.end()?;
        Ok(failure)
    }
}

fn usage(mut fields: Fields) -> Result<Usage> {
    let usage = Usage {
        input: fields.number("input_tokens")?.unwrap_or_default(),
        output: fields.number("output_tokens")?.unwrap_or_default(),
        cache_read: fields.number("cache_read_tokens")?,
        cache_write: fields.number("cache_write_tokens")?,
        reasoning: fields.number("reasoning_tokens")?,
    };
    fields.end()?;
    Ok(usage)
}
