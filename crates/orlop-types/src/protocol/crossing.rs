//! How lists, sessions and names cross.

use crate::json::{Map, Value};
use crate::message::Message;
use crate::native::NativeItem;
use serde::{Deserialize, Serialize};

/// A list of the history, as far as it is wanted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LentList_of_{T}"))]
pub struct LentList<T> {
    /// What is sent of it.
    #[serde(rename = "$list")]
    pub list: ListPart<T>,
}

/// What is sent of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ListPart_of_{T}"))]
pub enum ListPart<T> {
    /// The end of the list.
    Rest {
        /// How many items were not asked for.
        skip: usize,
        /// The others.
        items: Vec<T>,
    },
    /// The difference to a list that was sent before.
    Changed {
        /// Which of them; it holds this list from now on.
        slot: usize,
        /// How many of its first items stay.
        keep: usize,
        /// Those that follow.
        items: Vec<T>,
    },
}

/// A session that the host lends for as long as the call lasts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LentSession {
    /// The session.
    #[serde(rename = "$session")]
    pub session: SessionFields,
}

/// What is sent of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionFields {
    /// The name of this session in this call.
    pub handle: String,
    /// Its id.
    pub session_id: String,
    /// Its metadata.
    pub metadata: Map,
    /// Its messages.
    pub messages: LentList<Message>,
    /// The form of its native history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_format: Option<String>,
    /// Its native history; `null` where it has none.
    pub native_messages: Option<LentList<NativeItem>>,
}

/// A session that a plugin gives: one that it was lent by its handle, with other metadata or not, or
/// the plain JSON of one that it made itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct GivenSession(pub Value);

/// A text that is not empty.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(pub String);

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.is_empty() {
            true => Err("a non-empty string was expected"),
            false => Ok(Self(text)),
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::*;
    use crate::session::SessionJson;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use std::borrow::Cow;

    impl JsonSchema for GivenSession {
        fn schema_name() -> Cow<'static, str> {
            "GivenSession".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let whole = generator.subschema_for::<SessionJson>();
            json_schema!({
                "description": "A session that a plugin gives: one that it was lent by its handle, with other metadata or not, or the plain JSON of one that it made itself.",
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "$session": {
                                "type": "object",
                                "properties": {
                                    "handle": { "type": "string" },
                                    "metadata": { "type": ["object", "null"] }
                                },
                                "required": ["handle"]
                            }
                        },
                        "required": ["$session"]
                    },
                    whole
                ]
            })
        }
    }

    impl JsonSchema for Name {
        fn schema_name() -> Cow<'static, str> {
            "Name".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "minLength": 1 })
        }
    }
}
