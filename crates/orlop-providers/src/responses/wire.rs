//! What a server sends, read without copying: an event of a stream, and a response.

use crate::wire::json::{Text, fill, parse};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An event of a streamed response. Which fields it has depends on its type.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// What happened, for instance `response.output_text.delta`.
    pub kind: Text<'a>,
    /// What is added to a text.
    pub delta: Text<'a>,
    /// Which item of the answer it belongs to; some servers leave it out.
    pub output_index: Option<u64>,
    /// The id of that item; some servers send another one each time.
    pub item_id: Text<'a>,
    /// Which part of the item's summary.
    pub summary_index: Option<u64>,
    /// Which part of the item's content.
    pub content_index: Option<u64>,
    /// An item that begins or is finished.
    pub item: Option<&'a RawValue>,
    /// The response as a whole.
    pub response: Option<&'a RawValue>,
    /// A failure.
    pub error: Option<&'a RawValue>,
}

/// The type of the event that adds text to a message.
pub(super) const TEXT_DELTA: &str = "response.output_text.delta";

impl<'a> Event<'a> {
    /// Reads the data of one event.
    pub fn parse(data: &'a str) -> Result<Self, serde_json::Error> {
        parse(data)
    }

    /// The text of an event that adds text to a message.
    pub(super) fn only_text(&self) -> Option<&'a str> {
        match (&self.kind, &self.delta) {
            (Text::Str(kind), Text::Str(Cow::Borrowed(text))) if kind == TEXT_DELTA => Some(text),
            _ => None,
        }
    }
}

/// A response: the body of an answer that is not streamed, and a part of some events.
#[derive(Debug, Default)]
pub struct Response<'a> {
    /// The server's id of it.
    pub id: Text<'a>,
    /// The model that answered.
    pub model: Text<'a>,
    /// How far it is.
    pub status: Text<'a>,
    /// Its items.
    pub output: Option<Vec<&'a RawValue>>,
    /// Token counts.
    pub usage: Option<&'a RawValue>,
    /// Why it is not complete.
    pub incomplete_details: Option<IncompleteDetails<'a>>,
    /// Why it failed.
    pub error: Option<&'a RawValue>,
}

impl<'a> Response<'a> {
    /// Reads a response.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        parse(text)
    }
}

/// Why a response is not complete.
#[derive(Debug, Default)]
pub struct IncompleteDetails<'a> {
    /// The reason in one word.
    pub reason: Text<'a>,
}

/// What tells a call and its result from other items.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    pub(super) kind: Text<'a>,
    pub(super) call_id: Text<'a>,
}

impl<'a> Head<'a> {
    pub(super) fn parse(item: &'a str) -> Result<Self, serde_json::Error> {
        parse(item)
    }
}

fill!(Event, "an event",
    place: {},
    value: {
        "type" => kind,
        "delta" => delta,
        "output_index" => output_index,
        "item_id" => item_id,
        "summary_index" => summary_index,
        "content_index" => content_index,
        "item" => item,
        "response" => response,
        "error" => error,
    },
    skip unknown,
);
fill!(Response, "a response",
    place: { "incomplete_details" => incomplete_details },
    value: {
        "id" => id,
        "model" => model,
        "status" => status,
        "output" => output,
        "usage" => usage,
        "error" => error,
    },
    skip unknown,
);
fill!(IncompleteDetails, "the reason for an incomplete response",
    place: {},
    value: { "reason" => reason },
    skip unknown,
);
fill!(Head, "an item",
    place: {},
    value: { "type" => kind, "call_id" => call_id },
    skip unknown,
);
