//! Reading JSON without copying: known fields are typed and borrowed from the text, fields that a
//! server adds are kept as they are. Objects are filled in place: handing them up level by level
//! cost as much as reading them.

use orlop_types::Value;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Fields this crate does not know, in order; null ones are left out.
pub type Unknown<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Reads a whole text into a default value.
pub(crate) fn parse<'a, T: Fill<'a> + Default>(text: &'a str) -> Result<T, serde_json::Error> {
    let mut value = T::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    value.fill(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
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
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

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
pub(crate) trait Fill<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// The place of a value, for serde.
pub(crate) struct Place<'p, T>(pub(crate) &'p mut T);

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

/// An item of a list of answers to one request, of which only the one number 0 is read.
pub(crate) trait Numbered {
    /// What a list of them is called.
    const LIST: &'static str;
    /// The number, if the server says it.
    fn number(&self) -> Option<u64>;
}

/// Takes the item number 0 out of a list that may be null, empty or longer.
pub(crate) struct First<'p, T>(pub(crate) &'p mut Option<T>);

impl<'de, T: Fill<'de> + Numbered + Default> DeserializeSeed<'de> for First<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Fill<'de> + Numbered + Default> Visitor<'de> for First<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::LIST)
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let item = self.0.insert(T::default());
            if items.next_element_seed(Place(item))?.is_none() {
                *self.0 = None;
                return Ok(());
            }
            if item.number().unwrap_or(0) == 0 {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
        }
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
        impl<'de: 'a, 'a> $crate::wire::json::Fill<'de> for $type<'a> {
            fn fill<D: serde::de::Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                struct Fields<'p, 'a>(&'p mut $type<'a>);
                impl<'de: 'a, 'a> serde::de::Visitor<'de> for Fields<'_, 'a> {
                    type Value = ();
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
                        let $read = self.0;
                        while let Some($crate::wire::json::Key(key)) = fields.next_key()? {
                            match &*key {
                                $($place_name => fields.next_value_seed($crate::wire::json::Place(&mut $read.$place))?,)*
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
        $crate::wire::json::fill!($type, $expected, place: { $($place)* }, value: { $($value)* },
            rest: |read, key, fields| {
                let value: &serde_json::value::RawValue = fields.next_value()?;
                if value.get() != "null" {
                    read.unknown.push((key, value));
                }
            },
        );
    };
    (
        $type:ident, $expected:literal,
        place: { $($place:tt)* },
        value: { $($value:tt)* },
        skip unknown,
    ) => {
        $crate::wire::json::fill!($type, $expected, place: { $($place)* }, value: { $($value)* },
            rest: |_read, _key, fields| {
                fields.next_value::<serde::de::IgnoredAny>()?;
            },
        );
    };
}
pub(crate) use fill;
