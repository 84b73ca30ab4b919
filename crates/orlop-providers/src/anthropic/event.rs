//! One event of a streamed message, read without copying. Fields that the server adds are kept.

use crate::wire::json::{Text, Unknown, fill, parse};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The data of one event.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// `message_start`, `content_block_delta` and so on.
    pub kind: Text<'a>,
    /// Which block of the message it is about.
    pub index: Option<u64>,
    /// What is added to a block, or to the message at its end.
    pub delta: Option<Delta<'a>>,
    /// A block that begins.
    pub content_block: Option<&'a RawValue>,
    /// The message that begins.
    pub message: Option<&'a RawValue>,
    /// Token counts so far.
    pub usage: Option<&'a RawValue>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

/// What an event adds.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    /// `text_delta`, `input_json_delta` and so on; none at the end of a message.
    pub kind: Text<'a>,
    /// A piece of text.
    pub text: Text<'a>,
    /// A piece of reasoning.
    pub thinking: Text<'a>,
    /// A piece of the input of a tool call.
    pub partial_json: Text<'a>,
    /// What vouches for the reasoning.
    pub signature: Text<'a>,
    /// Where the text comes from.
    pub citation: Option<&'a RawValue>,
    /// Why the model stopped.
    pub stop_reason: Text<'a>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

/// A message: as it begins, or whole.
#[derive(Debug, Default)]
pub struct Message<'a> {
    /// `message`, or `error`.
    pub kind: Text<'a>,
    /// The server's id of it.
    pub id: Text<'a>,
    /// Who speaks; always the assistant.
    pub role: Text<'a>,
    /// The model that answers.
    pub model: Text<'a>,
    /// Its blocks.
    pub content: Option<&'a RawValue>,
    /// Why the model stopped.
    pub stop_reason: Text<'a>,
    /// Token counts.
    pub usage: Option<&'a RawValue>,
    /// A failure in place of a message.
    pub error: Option<&'a RawValue>,
    /// Everything else, for instance the container of a code execution.
    pub unknown: Unknown<'a>,
}

/// What is known of a block when it begins.
#[derive(Debug, Default)]
pub(super) struct Beginning<'a> {
    pub(super) kind: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) thinking: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) input: Option<&'a RawValue>,
}

/// The text that a block grows by.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Growth {
    #[default]
    Text,
    Thinking,
}

impl<'a> Event<'a> {
    /// Reads the data of one event.
    pub fn parse(data: &'a str) -> Result<Self, serde_json::Error> {
        parse(data)
    }

    /// The text of an event that adds text to a block and tells nothing else.
    pub(super) fn only_text(&self) -> Option<(u64, Growth, &'a str)> {
        let Event { kind, index, delta, content_block: None, message: None, usage: None, unknown } =
            self
        else {
            return None;
        };
        let delta = delta.as_ref().filter(|_| kind.as_str() == Some("content_block_delta"))?;
        let Delta { partial_json: Text::Absent, signature: Text::Absent, citation: None, .. } =
            delta
        else {
            return None;
        };
        let (growth, text) = match (delta.kind.as_str()?, &delta.text, &delta.thinking) {
            ("text_delta", Text::Str(Cow::Borrowed(text)), Text::Absent) => (Growth::Text, *text),
            ("thinking_delta", Text::Absent, Text::Str(Cow::Borrowed(text))) => {
                (Growth::Thinking, *text)
            }
            _ => return None,
        };
        let nothing_else = unknown.is_empty()
            && delta.unknown.is_empty()
            && matches!(delta.stop_reason, Text::Absent);
        nothing_else.then_some((index.unwrap_or_default(), growth, text))
    }
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        parse(text)
    }
}

impl<'a> Beginning<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        parse(text)
    }
}

fill!(Event, "an event",
    place: { "delta" => delta },
    value: {
        "type" => kind,
        "index" => index,
        "content_block" => content_block,
        "message" => message,
        "usage" => usage,
    },
    keep unknown,
);
fill!(Delta, "a delta",
    place: {},
    value: {
        "type" => kind,
        "text" => text,
        "thinking" => thinking,
        "partial_json" => partial_json,
        "signature" => signature,
        "citation" => citation,
        "stop_reason" => stop_reason,
    },
    keep unknown,
);
fill!(Message, "a message",
    place: {},
    value: {
        "type" => kind,
        "id" => id,
        "role" => role,
        "model" => model,
        "content" => content,
        "stop_reason" => stop_reason,
        "usage" => usage,
        "error" => error,
    },
    keep unknown,
);
fill!(Beginning, "a block",
    place: {},
    value: {
        "type" => kind,
        "text" => text,
        "thinking" => thinking,
        "id" => id,
        "name" => name,
        "input" => input,
    },
    skip unknown,
);
