//! One `GenerateContentResponse`, whole or as a chunk of a stream, read without copying.
//!
//! Only the first candidate is read. The fields of its parts are kept as they are.

use crate::wire::json::{First, Numbered, Text, Unknown, fill, parse};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A response, or a chunk of one.
#[derive(Debug, Default)]
pub struct Chunk<'a> {
    /// The candidate number 0, if the chunk has it.
    pub candidate: Option<Candidate<'a>>,
    /// Token counts so far.
    pub usage: Option<&'a RawValue>,
    /// The model that answers.
    pub model: Text<'a>,
    /// The server's id of the answer.
    pub response_id: Text<'a>,
    /// What the server thinks of the prompt.
    pub prompt_feedback: Option<&'a RawValue>,
    /// A failure in place of an answer.
    pub error: Option<&'a RawValue>,
}

/// One candidate.
#[derive(Debug, Default)]
pub struct Candidate<'a> {
    /// The number of the candidate.
    pub index: Option<u64>,
    /// What it says.
    pub content: Option<Content<'a>>,
    /// Why the model stopped.
    pub finish_reason: Text<'a>,
    /// Everything else, for instance `groundingMetadata`.
    pub unknown: Unknown<'a>,
}

/// The content of a candidate.
#[derive(Debug, Default)]
pub struct Content<'a> {
    /// Who speaks.
    pub role: Text<'a>,
    /// Whether the role came before the parts.
    pub role_first: bool,
    /// The parts.
    pub parts: Option<Vec<Part<'a>>>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

/// A part of a content.
#[derive(Debug, Default)]
pub struct Part<'a> {
    /// Text, if it is a text part.
    pub text: Text<'a>,
    /// How many of the other fields came before the text.
    pub text_at: usize,
    /// All other fields, in order.
    pub fields: Unknown<'a>,
}

impl<'a> Chunk<'a> {
    /// Reads the data of one event.
    pub fn parse(data: &'a str) -> Result<Self, serde_json::Error> {
        parse(data)
    }

    /// The text of a chunk that adds text to the answer and tells nothing else but what a chunk
    /// with the same bytes around its text tells again.
    pub(crate) fn only_text(&self) -> Option<&'a str> {
        let Candidate { index: _, content, finish_reason: Text::Absent, unknown } =
            self.candidate.as_ref()?
        else {
            return None;
        };
        let content = content.as_ref()?;
        let [Part { text: Text::Str(Cow::Borrowed(text)), text_at: _, fields }] =
            content.parts.as_deref()?
        else {
            return None;
        };
        let plain = self.error.is_none()
            && unknown.is_empty()
            && content.unknown.is_empty()
            && fields.is_empty();
        plain.then_some(text)
    }
}

impl<'a> Part<'a> {
    /// A field other than the text.
    pub fn field(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Whether it is a thought.
    pub fn is_thought(&self) -> bool {
        self.field("thought").is_some_and(|thought| thought.get() == "true")
    }
}

fill!(Chunk, "a response",
    place: {},
    value: {
        "usageMetadata" => usage,
        "modelVersion" => model,
        "responseId" => response_id,
        "promptFeedback" => prompt_feedback,
        "error" => error,
    },
    rest: |read, key, fields| {
        if key == "candidates" {
            fields.next_value_seed(First(&mut read.candidate))?;
        } else {
            fields.next_value::<IgnoredAny>()?;
        }
    },
);
fill!(Candidate, "a candidate",
    place: { "content" => content },
    value: { "index" => index, "finishReason" => finish_reason },
    keep unknown,
);
fill!(Content, "a content",
    place: { "parts" => parts },
    value: {},
    rest: |read, key, fields| {
        if key == "role" {
            read.role = fields.next_value()?;
            read.role_first = read.parts.is_none();
        } else {
            read.unknown.push((key, fields.next_value()?));
        }
    },
);
fill!(Part, "a part",
    place: {},
    value: {},
    rest: |read, key, fields| {
        if key == "text" {
            read.text = fields.next_value()?;
            read.text_at = read.fields.len();
        } else {
            read.fields.push((key, fields.next_value()?));
        }
    },
);

impl Numbered for Candidate<'_> {
    const LIST: &'static str = "a list of candidates";
    fn number(&self) -> Option<u64> {
        self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(data: &str, expected: Expect) {
        let seen = match Chunk::parse(data) {
            Ok(chunk) => format!("{:?}", chunk.candidate),
            Err(error) => format!("{error}"),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn only_the_candidate_number_0_is_read() {
        for none in [
            "{}",
            r#"{"candidates":null}"#,
            r#"{"candidates":[]}"#,
            r#"{"candidates":[{"index":1}]}"#,
        ] {
            check(none, expect!["None"]);
        }
        check(
            r#"{"candidates":[{"index":1},{"finishReason":"STOP","x":[1]},{"index":2}]}"#,
            expect![[
                r#"Some(Candidate { index: None, content: None, finish_reason: Str("STOP"), unknown: [("x", RawValue([1]))] })"#
            ]],
        );
    }

    #[test]
    fn parts_keep_their_fields_in_order() {
        check(
            r#"{"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"f"}}]}}]}"#,
            expect![[
                r#"Some(Candidate { index: None, content: Some(Content { role: Str("model"), role_first: true, parts: Some([Part { text: Str("a"), text_at: 1, fields: [("thought", RawValue(true)), ("thoughtSignature", RawValue("s"))] }, Part { text: Absent, text_at: 0, fields: [("functionCall", RawValue({"name":"f"}))] }]), unknown: [] }), finish_reason: Absent, unknown: [] })"#
            ]],
        );
    }

    #[test]
    fn what_has_another_shape_is_refused() {
        check("{} {}", expect!["trailing characters at line 1 column 4"]);
        check(
            r#"{"candidates":{}}"#,
            expect!["invalid type: map, expected a list of candidates at line 1 column 16"],
        );
    }

    #[test]
    fn only_text_is_told_apart() {
        let chunk = |candidate: &str| format!(r#"{{"candidates":[{candidate}],"responseId":"r"}}"#);
        for (candidate, text) in [
            (r#"{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}"#, Some("a")),
            (r#"{"content":{"parts":[{"text":"a\n"}]}}"#, None),
            (r#"{"content":{"parts":[{"text":"a","thought":true}]}}"#, None),
            (r#"{"content":{"parts":[{"text":"a"},{"text":"b"}]}}"#, None),
            (r#"{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}"#, None),
            (r#"{"content":{"parts":[{"text":"a"}]},"safetyRatings":[]}"#, None),
            (r#"{"content":{"role":"model"}}"#, None),
        ] {
            let data = chunk(candidate);
            assert_eq!(Chunk::parse(&data).unwrap().only_text(), text, "{candidate}");
        }
    }
}
