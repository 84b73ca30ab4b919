//! One chunk of a streamed chat completion, read without copying.
//!
//! Known fields are typed and borrowed from the text; fields that servers add to the message, to
//! its tool calls or to the choice are kept as they are. Only the first choice is read. Objects
//! are filled in place: handing them up level by level cost as much as reading them.

use orlop_types::Value;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Fields this crate does not know, in order; null ones are left out.
pub type Unknown<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

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
        let mut chunk = Self::default();
        let mut deserializer = serde_json::Deserializer::from_str(data);
        chunk.fill(&mut deserializer)?;
        deserializer.end()?;
        Ok(chunk)
    }

    /// Whether the chunk tells of a failure.
    pub fn is_error(&self) -> bool {
        let empty = ["{}", "\"\"", "false"];
        self.error.is_some_and(|error| !empty.contains(&error.get()))
            || self.object.as_str() == Some("error")
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

/// A field that should be a string: absent, a string, or what a server sent instead.
#[derive(Debug, Default)]
pub enum Text<'a> {
    /// Missing or null.
    #[default]
    Absent,
    /// A string; borrowed unless it has escapes.
    Str(Cow<'a, str>),
    /// Any other value.
    Json(Box<Value>),
}

impl Text<'_> {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The string, if it is one and has characters.
    pub fn filled(&self) -> Option<&str> {
        self.as_str().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        fn json<'a, E>(value: impl Into<Value>) -> Result<Text<'a>, E> {
            Ok(Text::Json(Box::new(value.into())))
        }
        impl<'de> Visitor<'de> for AnyText {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text::Str(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text::Str(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text::Str(Cow::Owned(text)))
            }
            fn visit_unit<E: Error>(self) -> Result<Text<'de>, E> {
                Ok(Text::Absent)
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Text<'de>, E> {
                json(value)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Text<'de>, E> {
                json(value)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Text<'de>, E> {
                json(value)
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Text<'de>, E> {
                json(value)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Text<'de>, A::Error> {
                json(Value::deserialize(SeqAccessDeserializer::new(items))?)
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Text<'de>, A::Error> {
                json(Value::deserialize(MapAccessDeserializer::new(fields))?)
            }
        }
        deserializer.deserialize_any(AnyText)
    }
}

/// The name of a field, borrowed where it can be.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyKey;
        impl<'de> Visitor<'de> for AnyKey {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }
            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(name)))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(AnyKey)
    }
}

/// Reads a value into its place.
trait Fill<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// The place of a value, for serde.
struct Place<'p, T>(&'p mut T);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Place<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.fill(deserializer)
    }
}

impl<'de, T: Fill<'de> + Default> Fill<'de> for Option<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Maybe<'p, T>(&'p mut Option<T>);
        impl<'de, T: Fill<'de> + Default> Visitor<'de> for Maybe<'_, T> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or null")
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                *self.0 = None;
                Ok(())
            }
            fn visit_none<E: Error>(self) -> Result<(), E> {
                *self.0 = None;
                Ok(())
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                self.0.insert(T::default()).fill(deserializer)
            }
        }
        deserializer.deserialize_option(Maybe(self))
    }
}

impl<'de, T: Fill<'de> + Default> Fill<'de> for Vec<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Items<'p, T>(&'p mut Vec<T>);
        impl<'de, T: Fill<'de> + Default> Visitor<'de> for Items<'_, T> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
                loop {
                    let mut item = T::default();
                    if items.next_element_seed(Place(&mut item))?.is_none() {
                        return Ok(());
                    }
                    self.0.push(item);
                }
            }
        }
        deserializer.deserialize_seq(Items(self))
    }
}

/// Fills an object field by field: `place` for those that are filled themselves, `value` for
/// those that are small, and the rest as given. Serde's own way to keep unknown fields copies
/// everything, which this must not.
macro_rules! fill {
    (
        $type:ident, $expected:literal,
        place: { $($place_name:literal => $place:ident),* $(,)? },
        value: { $($value_name:literal => $value:ident),* $(,)? },
        rest: |$read:ident, $key:ident, $fields:ident| $rest:expr,
    ) => {
        impl<'de: 'a, 'a> Fill<'de> for $type<'a> {
            fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                struct Fields<'p, 'a>(&'p mut $type<'a>);
                impl<'de: 'a, 'a> Visitor<'de> for Fields<'_, 'a> {
                    type Value = ();
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
                        let $read = self.0;
                        while let Some(Key(key)) = fields.next_key()? {
                            match &*key {
                                $($place_name => fields.next_value_seed(Place(&mut $read.$place))?,)*
                                $($value_name => $read.$value = fields.next_value()?,)*
                                _ => {
                                    let ($key, $fields) = (key, &mut fields);
                                    $rest
                                }
                            }
                        }
                        Ok(())
                    }
                }
                deserializer.deserialize_map(Fields(self))
            }
        }
    };
    (
        $type:ident, $expected:literal,
        place: { $($place:tt)* },
        value: { $($value:tt)* },
        keep unknown,
    ) => {
        fill!($type, $expected, place: { $($place)* }, value: { $($value)* },
            rest: |read, key, fields| {
                let value: &RawValue = fields.next_value()?;
                if value.get() != "null" {
                    read.unknown.push((key, value));
                }
            },
        );
    };
}

fill!(Chunk, "a chunk",
    place: {},
    value: { "object" => object, "model" => model, "usage" => usage, "error" => error, "x_groq" => x_groq },
    rest: |read, key, fields| {
        if key == "choices" {
            fields.next_value_seed(FirstChoice(&mut read.choice))?;
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

/// Takes the choice number 0 out of a list that may be null, empty or longer.
struct FirstChoice<'p, 'a>(&'p mut Option<Choice<'a>>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for FirstChoice<'_, 'a> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for FirstChoice<'_, 'a> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices")
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let choice = self.0.insert(Choice::default());
            if items.next_element_seed(Place(choice))?.is_none() {
                *self.0 = None;
                return Ok(());
            }
            if choice.index.unwrap_or(0) == 0 {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
        }
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
