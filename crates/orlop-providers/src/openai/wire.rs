//! One chunk of a streamed chat completion, read without copying.
//!
//! Fields that servers add to the message, to its tool calls or to the choice are kept as they
//! are. Only the first choice is read.

use crate::wire::json::{Fill, First, Numbered, Text, Unknown, fill, parse};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A chunk of a stream.
#[derive(Debug, Default)]
pub struct Chunk<'a> {
    /// `error` marks a chunk that is an error itself.
    pub object: Text<'a>,
    /// The model that answers.
    pub model: Text<'a>,
    /// The choice number 0, if the chunk has it.
    pub choice: Option<Choice<'a>>,
    /// Token counts.
    pub usage: Option<&'a RawValue>,
    /// A failure in the middle of a stream.
    pub error: Option<&'a RawValue>,
    /// What Groq adds, with token counts of its own.
    pub x_groq: Option<&'a RawValue>,
}

impl<'a> Delta<'a> {
    /// Reads a whole message as if it had come in one piece.
    pub fn parse(message: &'a str) -> Result<Self, serde_json::Error> {
        let mut delta = Self::default();
        delta.fill(&mut serde_json::Deserializer::from_str(message))?;
        Ok(delta)
    }
}

impl<'a> Chunk<'a> {
    /// Reads the data of one event.
    pub fn parse(data: &'a str) -> Result<Self, serde_json::Error> {
        parse(data)
    }

    /// Whether the chunk tells of a failure.
    pub fn is_error(&self) -> bool {
        let empty = ["{}", "\"\"", "false"];
        self.error.is_some_and(|error| !empty.contains(&error.get()))
            || self.object.as_str() == Some("error")
    }

    /// The text of a chunk that adds text to the message and tells nothing else that is new.
    pub(crate) fn only_text(&self) -> Option<&'a str> {
        let Chunk { object: _, model: _, choice, usage: None, error: None, x_groq: None } = self
        else {
            return None;
        };
        let Choice { index: _, delta, message: None, finish_reason: Text::Absent, unknown } =
            choice.as_ref()?
        else {
            return None;
        };
        let Delta {
            role: _,
            content: Text::Str(Cow::Borrowed(text)),
            refusal: Text::Absent,
            reasoning_content: Text::Absent,
            reasoning: Text::Absent,
            reasoning_text: Text::Absent,
            reasoning_details: None,
            tool_calls: None,
            function_call: None,
            unknown: in_delta,
        } = delta.as_ref()?
        else {
            return None;
        };
        (unknown.is_empty() && in_delta.is_empty()).then_some(text)
    }

    /// Token counts, wherever they stand.
    pub fn usage(&self) -> Option<&'a RawValue> {
        #[derive(Deserialize)]
        struct Groq<'a> {
            #[serde(borrow)]
            usage: Option<&'a RawValue>,
        }
        let groq = || serde_json::from_str::<Groq<'a>>(self.x_groq?.get()).ok()?.usage;
        self.usage.or_else(groq)
    }
}

/// One choice of a chunk, or of a whole completion.
#[derive(Debug, Default)]
pub struct Choice<'a> {
    /// The number of the choice.
    pub index: Option<u64>,
    /// What this chunk adds to the message.
    pub delta: Option<Delta<'a>>,
    /// The whole message; servers that only pretend to stream send it instead of `delta`.
    pub message: Option<&'a RawValue>,
    /// Why the model stopped.
    pub finish_reason: Text<'a>,
    /// Everything else, for instance `logprobs`.
    pub unknown: Unknown<'a>,
}

/// What a chunk adds to the message.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    /// Who speaks.
    pub role: Text<'a>,
    /// Text, or a list of parts.
    pub content: Text<'a>,
    /// Why the model refuses.
    pub refusal: Text<'a>,
    /// Reasoning, as DeepSeek and others name it.
    pub reasoning_content: Text<'a>,
    /// Reasoning, as OpenRouter, Groq and others name it.
    pub reasoning: Text<'a>,
    /// Reasoning, as a few others name it.
    pub reasoning_text: Text<'a>,
    /// Reasoning in blocks, with signatures.
    pub reasoning_details: Option<&'a RawValue>,
    /// Pieces of tool calls.
    pub tool_calls: Option<Vec<CallDelta<'a>>>,
    /// A call in the form that came before tool calls.
    pub function_call: Option<FunctionDelta<'a>>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

/// A piece of a tool call.
#[derive(Debug, Default)]
pub struct CallDelta<'a> {
    /// Which call of the message it belongs to.
    pub index: Option<u64>,
    /// The id of the call, usually in its first piece only.
    pub id: Text<'a>,
    /// `function`, or another kind.
    pub kind: Text<'a>,
    /// The function and its arguments.
    pub function: Option<FunctionDelta<'a>>,
    /// Everything else, for instance `extra_content` with signatures.
    pub unknown: Unknown<'a>,
}

/// A piece of a function's name and arguments.
#[derive(Debug, Default)]
pub struct FunctionDelta<'a> {
    /// The name, or a piece of it.
    pub name: Text<'a>,
    /// A piece of the arguments.
    pub arguments: Text<'a>,
    /// Everything else.
    pub unknown: Unknown<'a>,
}

fill!(Chunk, "a chunk",
    place: {},
    value: { "object" => object, "model" => model, "usage" => usage, "error" => error, "x_groq" => x_groq },
    rest: |read, key, fields| {
        if key == "choices" {
            fields.next_value_seed(First(&mut read.choice))?;
        } else {
            fields.next_value::<IgnoredAny>()?;
        }
    },
);
fill!(Choice, "a choice",
    place: { "delta" => delta },
    value: { "index" => index, "finish_reason" => finish_reason, "message" => message },
    keep unknown,
);
fill!(Delta, "a delta",
    place: { "tool_calls" => tool_calls, "function_call" => function_call },
    value: {
        "content" => content,
        "reasoning_content" => reasoning_content,
        "reasoning" => reasoning,
        "role" => role,
        "refusal" => refusal,
        "reasoning_text" => reasoning_text,
        "reasoning_details" => reasoning_details,
    },
    keep unknown,
);
fill!(CallDelta, "a tool call",
    place: { "function" => function },
    value: { "index" => index, "id" => id, "type" => kind },
    keep unknown,
);
fill!(FunctionDelta, "a function call",
    place: {},
    value: { "arguments" => arguments, "name" => name },
    keep unknown,
);

impl Numbered for Choice<'_> {
    const LIST: &'static str = "a list of choices";
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
            Ok(chunk) => format!("{:?}", chunk.choice),
            Err(error) => format!("{error}"),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn only_the_choice_number_0_is_read() {
        for none in
            ["{}", r#"{"choices":null}"#, r#"{"choices":[]}"#, r#"{"choices":[{"index":1}]}"#]
        {
            check(none, expect!["None"]);
        }
        check(
            r#"{"choices":[{"index":1,"finish_reason":"no"},{"index":0,"finish_reason":"yes","x":[1]},{"index":2}]}"#,
            expect![[
                r#"Some(Choice { index: Some(0), delta: None, message: None, finish_reason: Str("yes"), unknown: [("x", RawValue([1]))] })"#
            ]],
        );
    }

    #[test]
    fn null_is_absent_everywhere() {
        let data = r#"{"object":null,"model":null,"usage":null,"error":null,"x_groq":null,"choices":[
            {"index":null,"finish_reason":null,"message":null,"logprobs":null,"delta":
                {"role":null,"content":null,"tool_calls":null,"function_call":null,"x":null}}]}"#;
        let chunk = Chunk::parse(data).unwrap();
        assert!(!chunk.is_error() && chunk.usage().is_none());
        let choice = chunk.choice.unwrap();
        assert!(choice.unknown.is_empty());
        assert!(choice.delta.is_some_and(|delta| delta.unknown.is_empty()));
        check(
            r#"{"choices":[{"delta":null}]}"#,
            expect![
                "Some(Choice { index: None, delta: None, message: None, finish_reason: Absent, unknown: [] })"
            ],
        );
    }

    #[test]
    fn strings_are_borrowed_unless_they_have_escapes() {
        let data = r#"{"choices":[{"delta":{"content":"plain","reasoning":"a\n"}}]}"#;
        let delta = Chunk::parse(data).unwrap().choice.unwrap().delta.unwrap();
        assert!(matches!(delta.content, Text::Str(Cow::Borrowed("plain"))));
        assert!(matches!(delta.reasoning, Text::Str(Cow::Owned(text)) if text == "a\n"));
    }

    #[test]
    fn unknown_fields_are_kept_in_order() {
        let data = r#"{"choices":[{"delta":{"b":1.0,"content":"","a":{"x":[]}}}]}"#;
        let delta = Chunk::parse(data).unwrap().choice.unwrap().delta.unwrap();
        let unknown: Vec<_> = delta.unknown.iter().map(|(key, raw)| (&**key, raw.get())).collect();
        assert_eq!(unknown, [("b", "1.0"), ("a", r#"{"x":[]}"#)]);
    }

    #[test]
    fn what_follows_the_object_is_refused() {
        check("{} {}", expect!["trailing characters at line 1 column 4"]);
        check(
            r#"{"choices":{}}"#,
            expect!["invalid type: map, expected a list of choices at line 1 column 13"],
        );
    }
}
