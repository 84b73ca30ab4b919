//! The JSON form of a session: `session_id`, `messages`, `metadata`, and nothing else.

use crate::error::{Error, Result};
use crate::json::{Map, Value};
use crate::message::Message;
use crate::native::{NativeItem, RawFields};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The metadata key of provider-native history.
pub const NATIVE_MESSAGES: &str = "native_messages";
/// The metadata key of the seal that ties native history to the messages.
pub const NATIVE_INTEGRITY: &str = "native_messages_integrity";
/// The metadata key that names the format of the native history.
pub const NATIVE_FORMAT: &str = "native_messages_format";

/// A session as it is stored, exported and shown to plugins.
///
/// Native history is split from the other metadata on reading, so that its items keep their
/// bytes, and put back under `metadata` on writing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionJson {
    /// The id.
    pub session_id: String,
    /// The visible messages in order.
    pub messages: Vec<Message>,
    /// Everything under `metadata` except native history.
    pub metadata: Map,
    /// Native history, if the session carries a list of it.
    pub native_messages: Option<Vec<NativeItem>>,
    /// The seal of the native history.
    pub native_integrity: Option<String>,
    /// The format of the native history.
    pub native_format: Option<String>,
}

impl SessionJson {
    /// Reads a session. Metadata that is no object counts as empty; a native history that is no
    /// list counts as absent.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str::<Parsed>(text)
            .map_err(|error| Error::bad_argument(format!("this is no session JSON: {error}")))?
            .check()
    }

    /// Reads a session from a value.
    pub fn from_json(value: Value) -> Result<Self> {
        serde_json::from_value::<Parsed>(value)
            .map_err(|error| Error::bad_argument(format!("this is no session JSON: {error}")))?
            .check()
    }
}

#[derive(Deserialize)]
struct Parsed {
    session_id: String,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    metadata: Option<Box<RawValue>>,
}

impl Parsed {
    fn check(self) -> Result<SessionJson> {
        let mut session = SessionJson { session_id: self.session_id, ..Default::default() };
        for (index, message) in self.messages.into_iter().enumerate() {
            let message = Message::from_json(message).map_err(|error| {
                Error::new(error.class(), format!("message {index}: {}", error.message()))
            })?;
            session.messages.push(message);
        }
        let Some(Ok(RawFields(fields))) =
            self.metadata.as_deref().map(|raw| serde_json::from_str(raw.get()))
        else {
            return Ok(session);
        };
        for (key, raw) in fields {
            let malformed =
                |error| Error::bad_argument(format!("metadata {key:?} of the session: {error}"));
            match key.as_str() {
                NATIVE_MESSAGES if raw.get().starts_with('[') => {
                    session.native_messages =
                        Some(serde_json::from_str(raw.get()).map_err(malformed)?);
                }
                NATIVE_MESSAGES => {}
                NATIVE_INTEGRITY => session.native_integrity = serde_json::from_str(raw.get()).ok(),
                NATIVE_FORMAT => session.native_format = serde_json::from_str(raw.get()).ok(),
                _ => {
                    let value = serde_json::from_str(raw.get()).map_err(malformed)?;
                    session.metadata.insert(key, value);
                }
            }
        }
        Ok(session)
    }
}

impl Serialize for SessionJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(3))?;
        fields.serialize_entry("session_id", &self.session_id)?;
        fields.serialize_entry("messages", &self.messages)?;
        fields.serialize_entry("metadata", &MetadataView(self))?;
        fields.end()
    }
}

struct MetadataView<'a>(&'a SessionJson);

impl Serialize for MetadataView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = serializer.serialize_map(None)?;
        for (key, value) in &self.0.metadata {
            entries.serialize_entry(key, value)?;
        }
        if let Some(items) = &self.0.native_messages {
            entries.serialize_entry(NATIVE_MESSAGES, items)?;
            if let Some(seal) = &self.0.native_integrity {
                entries.serialize_entry(NATIVE_INTEGRITY, seal)?;
            }
            if let Some(format) = &self.0.native_format {
                entries.serialize_entry(NATIVE_FORMAT, format)?;
            }
        }
        entries.end()
    }
}

impl<'de> Deserialize<'de> for SessionJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Parsed::deserialize(deserializer)?.check().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SessionJson {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Session".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let message = generator.subschema_for::<Message>();
        let native = generator.subschema_for::<NativeItem>();
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "session_id": { "type": "string" },
                "messages": { "type": "array", "items": message },
                "metadata": {
                    "type": "object",
                    "properties": {
                        "native_messages": { "type": "array", "items": native },
                        "native_messages_integrity": { "type": "string" },
                        "native_messages_format": { "type": "string" },
                        "overrides": { "type": "object" },
                        "agent_id": { "type": "string" }
                    }
                }
            },
            "required": ["session_id", "messages", "metadata"],
            "additionalProperties": false
        })
    }
}
