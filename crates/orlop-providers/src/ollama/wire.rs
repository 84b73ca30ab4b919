//! One line of a streamed answer, read without copying. The whole of an answer that is not
//! streamed has the same shape.

use crate::wire::json::{Text, Unknown, fill, parse};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A line of a stream.
#[derive(Debug, Default)]
pub struct Line<'a> {
    /// The model that answers.
    pub model: Text<'a>,
    /// When the line was made; another time in each.
    pub created_at: Text<'a>,
    /// What the line adds to the message.
    pub message: Option<Delta<'a>>,
    /// Whether this is the last line.
    pub done: Option<bool>,
    /// Why the model stopped.
    pub done_reason: Text<'a>,
    /// A failure in the middle of a stream.
    pub error: Option<&'a RawValue>,
    /// Everything else: counts and durations, for instance.
    pub unknown: Unknown<'a>,
}

/// What a line adds to the message.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    /// Who speaks.
    pub role: Text<'a>,
    /// Text.
    pub content: Text<'a>,
    /// Reasoning.
    pub thinking: Text<'a>,
    /// Calls of tools, each of them whole.
    pub tool_calls: Option<&'a RawValue>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

fill!(Line, "a line of an answer",
    place: { "message" => message },
    value: {
        "model" => model,
        "created_at" => created_at,
        "done" => done,
        "done_reason" => done_reason,
        "error" => error,
    },
    keep unknown,
);
fill!(Delta, "a message",
    place: {},
    value: {
        "role" => role,
        "content" => content,
        "thinking" => thinking,
        "tool_calls" => tool_calls,
    },
    keep unknown,
);

/// The text of a line that tells nothing else that is new.
#[derive(Debug, PartialEq)]
pub(super) enum Only<'a> {
    /// Of the message.
    Content(Cow<'a, str>),
    /// Of the reasoning.
    Thinking(Cow<'a, str>),
}

impl<'a> Line<'a> {
    /// Reads a line.
    pub fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        parse(line)
    }

    /// What a line says that adds text, and nothing else that is new.
    pub(super) fn only_text(&self) -> Option<Only<'_>> {
        let Line {
            model: _,
            created_at: _,
            message: Some(Delta { role: _, content, thinking, tool_calls: None, unknown: in_delta }),
            done: None | Some(false),
            done_reason: Text::Absent,
            error: None,
            unknown,
        } = self
        else {
            return None;
        };
        if !unknown.is_empty() || !in_delta.is_empty() {
            return None;
        }
        match (content, thinking) {
            (Text::Str(text), Text::Absent) => Some(Only::Content(Cow::Borrowed(text))),
            (Text::Absent, Text::Str(text)) => Some(Only::Thinking(Cow::Borrowed(text))),
            (Text::Str(empty), Text::Str(text)) if empty.is_empty() => {
                Some(Only::Thinking(Cow::Borrowed(text)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Only<'_>>) {
        assert_eq!(Line::parse(line).unwrap().only_text(), expected, "{line}");
    }

    #[test]
    fn lines_that_add_text_only_are_known() {
        check(
            r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"a"},"done":false}"#,
            Some(Only::Content("a".into())),
        );
        check(
            r#"{"message":{"role":"assistant","content":"","thinking":"a"},"done":false}"#,
            Some(Only::Thinking("a".into())),
        );
        check(r#"{"message":{"content":"a\n"}}"#, Some(Only::Content("a\n".into())));
        for line in [
            r#"{"message":{"content":"a"},"done":true}"#,
            r#"{"message":{"content":"a"},"done_reason":"stop"}"#,
            r#"{"message":{"content":"a","thinking":"b"}}"#,
            r#"{"message":{"content":"a","tool_calls":[]}}"#,
            r#"{"message":{"content":"a","odd":1}}"#,
            r#"{"message":{"content":"a"},"odd":1}"#,
            r#"{"message":{"content":"a"},"error":"no"}"#,
            r#"{"message":{"content":1}}"#,
            "{}",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn null_is_absent_everywhere() {
        let line = Line::parse(
            r#"{"model":null,"message":{"content":null,"thinking":null,"tool_calls":null,"x":null},
                "done":null,"done_reason":null,"error":null,"eval_count":null}"#,
        )
        .unwrap();
        assert!(line.unknown.is_empty() && line.error.is_none() && line.done.is_none());
        let delta = line.message.unwrap();
        assert!(delta.unknown.is_empty() && delta.tool_calls.is_none());
        assert!(Line::parse(r#"{"message":null}"#).unwrap().message.is_none());
    }

    #[test]
    fn what_follows_the_object_is_refused() {
        assert!(Line::parse("{} {}").is_err() && Line::parse("[]").is_err());
    }
}
