//! What streams out of a provider while it answers.

use crate::json::{Map, Value};
use crate::message::Role;
use crate::native::NativeItem;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A fragment of the assistant message that is being written: the text since the last fragment,
/// and what belongs to it. In JSON it looks like a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Partial {
    /// Text to append.
    pub content: String,
    /// Reasoning text to append; `metadata.reasoning` in JSON.
    pub reasoning: String,
    /// Fragments of tool calls; `metadata.tool_calls` in JSON.
    pub tool_calls: Vec<Value>,
    /// Further metadata, if any. Boxed, because it is rare and this type is on the hot path.
    pub metadata: Option<Box<Map>>,
}

impl Partial {
    /// A fragment of visible text.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// A fragment of reasoning.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self { reasoning: text.into(), ..Self::default() }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.reasoning.is_empty()
            && self.tool_calls.is_empty()
            && self.metadata.is_none()
    }
}

impl Serialize for Partial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut metadata = self.metadata.as_deref().cloned().unwrap_or_default();
        if !self.reasoning.is_empty() {
            metadata.insert("reasoning".into(), self.reasoning.as_str().into());
        }
        if !self.tool_calls.is_empty() {
            metadata.insert("tool_calls".into(), self.tool_calls.clone().into());
        }
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("role", &Role::Assistant)?;
        fields.serialize_entry("content", &self.content)?;
        if !metadata.is_empty() {
            fields.serialize_entry("metadata", &metadata)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Partial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            #[serde(default)]
            content: Option<String>,
            #[serde(default)]
            metadata: Option<Map>,
        }
        let Fields { content, metadata } = Fields::deserialize(deserializer)?;
        let mut metadata = metadata.unwrap_or_default();
        let reasoning = match metadata.shift_remove("reasoning") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let tool_calls = match metadata.shift_remove("tool_calls") {
            Some(Value::Array(calls)) => calls,
            _ => Vec::new(),
        };
        Ok(Self {
            content: content.unwrap_or_default(),
            reasoning,
            tool_calls,
            metadata: (!metadata.is_empty()).then(|| Box::new(metadata)),
        })
    }
}

/// What a provider's message stream yields. Kinds this version does not know are `Unknown`.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderEvent {
    /// `{"type": "partial", "message": {...}}`
    Partial(Partial),
    /// `{"type": "final_messages", "messages": [...]}`: finished native items of this turn.
    FinalMessages(Vec<NativeItem>),
    /// Anything else; it has no effect.
    Unknown,
}

impl Serialize for ProviderEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self {
            Self::Partial(message) => {
                fields.serialize_entry("type", "partial")?;
                fields.serialize_entry("message", message)?;
            }
            Self::FinalMessages(messages) => {
                fields.serialize_entry("type", "final_messages")?;
                fields.serialize_entry("messages", messages)?;
            }
            Self::Unknown => fields.serialize_entry("type", "unknown")?,
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for ProviderEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        #[derive(Deserialize)]
        struct Fields {
            r#type: String,
            #[serde(default)]
            message: Option<Partial>,
            #[serde(default)]
            messages: Option<Vec<NativeItem>>,
        }
        let fields = Fields::deserialize(deserializer)?;
        match (fields.r#type.as_str(), fields.message, fields.messages) {
            ("partial", Some(message), _) => Ok(Self::Partial(message)),
            ("partial", None, _) => Err(D::Error::missing_field("message")),
            ("final_messages", _, Some(messages)) => Ok(Self::FinalMessages(messages)),
            ("final_messages", _, None) => Err(D::Error::missing_field("messages")),
            _ => Ok(Self::Unknown),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Partial {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Partial".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "role": { "const": "assistant" },
                "content": { "type": "string", "description": "The text since the last partial." },
                "metadata": {
                    "type": "object",
                    "properties": {
                        "reasoning": { "type": "string" },
                        "tool_calls": { "type": "array", "items": { "type": "object" } }
                    }
                }
            },
            "required": ["role", "content"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn partials_look_like_messages() {
        let partial = Partial { content: "a".into(), reasoning: "b".into(), ..Partial::default() };
        let value = serde_json::to_value(&partial).unwrap();
        assert_eq!(
            value,
            json!({"role": "assistant", "content": "a", "metadata": {"reasoning": "b"}})
        );
        assert_eq!(serde_json::from_value::<Partial>(value).unwrap(), partial);
    }

    #[test] // C-19
    fn provider_events_have_their_two_shapes() {
        for value in [
            json!({"type": "partial", "message": {"role": "assistant", "content": "a"}}),
            json!({"type": "final_messages", "messages": [{"role": "assistant"}]}),
        ] {
            let event: ProviderEvent = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&event).unwrap(), value);
        }
        let other: ProviderEvent = serde_json::from_value(json!({"type": "ping"})).unwrap();
        assert_eq!(other, ProviderEvent::Unknown);
    }
}
