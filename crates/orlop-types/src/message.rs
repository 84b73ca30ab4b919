//! A message of the neutral transcript, and the link from it to provider-native history.

use crate::error::{Error, Result};
use crate::json::{Map, Value};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// Instructions to the model.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The role as written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "system" => Ok(Self::System),
            "user" => Ok(Self::User),
            "assistant" => Ok(Self::Assistant),
            "tool" => Ok(Self::Tool),
            other => Err(Error::bad_argument(format!(
                "role {other:?} is not known; use system, user, assistant or tool"
            ))),
        }
    }
}

/// Which native items a message stems from, as `metadata.native_indices` says it.
///
/// What outside data got wrong is kept verbatim in `Other`, so that an import loses nothing and
/// the operations that need the mapping can refuse it.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum NativeIndices {
    /// The message has no mapping.
    #[default]
    Absent,
    /// A run of neighbouring items, the common case. May be empty.
    Run(Range<usize>),
    /// Distinct positions that are no ascending run, in the order given.
    List(Arc<[usize]>),
    /// Not a list of non-negative integers.
    Other(Arc<Value>),
}

impl NativeIndices {
    /// The mapping to these positions; repeats count once.
    pub fn new(positions: impl IntoIterator<Item = usize>) -> Self {
        let mut seen = std::collections::HashSet::new();
        let distinct: Vec<usize> =
            positions.into_iter().filter(|position| seen.insert(*position)).collect();
        match (distinct.first(), distinct.last()) {
            (Some(&first), Some(&last))
                if distinct.windows(2).all(|pair| pair[1] == pair[0] + 1) =>
            {
                Self::Run(first..last + 1)
            }
            (None, _) => Self::Run(0..0),
            _ => Self::List(distinct.into()),
        }
    }

    /// Reads `native_indices` as found in message metadata.
    pub fn from_json(value: Value) -> Self {
        let positions: Option<Vec<usize>> =
            value.as_array().and_then(|items| items.iter().map(position).collect());
        match positions {
            Some(positions) => Self::new(positions),
            None => Self::Other(Arc::new(value)),
        }
    }

    /// The JSON form; `None` if the key is absent.
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Run(run) => Some(run.clone().collect::<Vec<_>>().into()),
            Self::List(list) => Some(list.to_vec().into()),
            Self::Other(value) => Some((**value).clone()),
        }
    }

    /// The positions, if the mapping is well formed and names at least one item.
    pub fn positions(&self) -> Option<Vec<usize>> {
        match self {
            Self::Run(run) if !run.is_empty() => Some(run.clone().collect()),
            Self::List(list) => Some(list.to_vec()),
            _ => None,
        }
    }

    /// The same mapping with every position moved by `offset`.
    pub fn shifted(&self, offset: usize) -> Self {
        match self {
            Self::Run(run) if !run.is_empty() => Self::Run(run.start + offset..run.end + offset),
            Self::List(list) => Self::List(list.iter().map(|n| n + offset).collect()),
            other => other.clone(),
        }
    }

    /// Whether outside data gave something that is no list of positions.
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Other(_))
    }
}

/// A position as JSON gives it. The largest number is none: a run that ends after it has no end.
fn position(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok().filter(|&n| n < usize::MAX)
}

/// One message: role, content, metadata, and what a tool or an attachment adds.
///
/// Cloning is cheap, the body is shared. A message is changed by making another one.
///
/// ```
/// use orlop_types::Message;
/// let message = Message::user("Hello!").with_metadata_entry("lang", "en");
/// assert_eq!(
///     serde_json::to_string(&message)?,
///     r#"{"role":"user","content":"Hello!","metadata":{"lang":"en"}}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Message {
    body: Arc<Body>,
    native_indices: NativeIndices,
}

impl Message {
    /// Whether both are the same message in memory, with the same mapping; equal ones need not be.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body) && self.native_indices == other.native_indices
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.native_indices == other.native_indices
            && (Arc::ptr_eq(&self.body, &other.body) || self.body == other.body)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Body {
    role: Role,
    content: Value,
    metadata: Map,
    multipart_content: Vec<Map>,
    tool_result: Option<Map>,
}

impl Message {
    /// A message with empty metadata.
    pub fn new(role: Role, content: impl Into<Value>) -> Self {
        Self {
            body: Arc::new(Body {
                role,
                content: content.into(),
                metadata: Map::new(),
                multipart_content: Vec::new(),
                tool_result: None,
            }),
            native_indices: NativeIndices::Absent,
        }
    }

    /// A message of the person.
    pub fn user(content: impl Into<Value>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Value>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// An instruction to the model.
    pub fn system(content: impl Into<Value>) -> Self {
        Self::new(Role::System, content)
    }

    /// A tool's result.
    pub fn tool(content: impl Into<Value>) -> Self {
        Self::new(Role::Tool, content)
    }

    fn edit(mut self, change: impl FnOnce(&mut Body)) -> Self {
        change(Arc::make_mut(&mut self.body));
        self
    }

    /// With this content instead.
    pub fn with_content(self, content: impl Into<Value>) -> Self {
        self.edit(|body| body.content = content.into())
    }

    /// With this metadata instead; a `native_indices` key becomes the mapping.
    pub fn with_metadata(mut self, mut metadata: Map) -> Self {
        if let Some(value) = metadata.shift_remove(NATIVE_INDICES) {
            self.native_indices = NativeIndices::from_json(value);
        }
        self.edit(|body| body.metadata = metadata)
    }

    /// With one more metadata entry.
    pub fn with_metadata_entry(mut self, key: &str, value: impl Into<Value>) -> Self {
        if key == NATIVE_INDICES {
            self.native_indices = NativeIndices::from_json(value.into());
            return self;
        }
        self.edit(|body| {
            body.metadata.insert(key.to_owned(), value.into());
        })
    }

    /// With these content parts (images, files); none removes the field.
    pub fn with_multipart_content(self, parts: Vec<Map>) -> Self {
        self.edit(|body| body.multipart_content = parts)
    }

    /// With this structured tool result, stored even if empty.
    pub fn with_tool_result(self, result: Map) -> Self {
        self.edit(|body| body.tool_result = Some(result))
    }

    /// With this mapping to native items.
    pub fn with_native_indices(mut self, native_indices: NativeIndices) -> Self {
        self.native_indices = native_indices;
        self
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.body.role
    }

    /// The content, usually a string.
    pub fn content(&self) -> &Value {
        &self.body.content
    }

    /// The content if it is a string, else empty.
    pub fn text(&self) -> &str {
        self.body.content.as_str().unwrap_or_default()
    }

    /// Metadata without `native_indices`.
    pub fn metadata(&self) -> &Map {
        &self.body.metadata
    }

    /// Content parts, empty if there are none.
    pub fn multipart_content(&self) -> &[Map] {
        &self.body.multipart_content
    }

    /// The canonical structured form of a tool's result.
    pub fn tool_result(&self) -> Option<&Map> {
        self.body.tool_result.as_ref()
    }

    /// The native items this message stems from.
    pub fn native_indices(&self) -> &NativeIndices {
        &self.native_indices
    }

    /// The tool calls of an assistant message, in the provider's own call format.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Map> {
        let calls = match self.body.role {
            Role::Assistant => self.body.metadata.get(TOOL_CALLS).and_then(Value::as_array),
            _ => None,
        };
        calls.into_iter().flatten().filter_map(Value::as_object)
    }

    /// The message as a JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads a message. An unknown role is a bad argument, a value that is no object the wrong
    /// type; absent or odd metadata becomes empty.
    pub fn from_json(value: Value) -> Result<Self> {
        let Value::Object(mut fields) = value else {
            return Err(Error::wrong_type("a message must be a JSON object with role and content"));
        };
        let role = match fields.shift_remove("role") {
            Some(Value::String(role)) => role.parse()?,
            Some(_) => return Err(Error::wrong_type("the role of a message must be a string")),
            None => return Err(Error::bad_argument("a message needs a role")),
        };
        let message = Self::new(role, fields.shift_remove("content").unwrap_or_default());
        let metadata = match fields.shift_remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        let parts = fields.shift_remove(MULTIPART).or(fields.shift_remove("multipart_content"));
        let parts = match parts {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(parts)) => parts
                .into_iter()
                .map(|part| match part {
                    Value::Object(part) => Ok(part),
                    _ => Err(Error::wrong_type("each part of multipartContent must be an object")),
                })
                .collect::<Result<_>>()?,
            Some(_) => return Err(Error::wrong_type("multipartContent must be a list of objects")),
        };
        let message = message.with_metadata(metadata).with_multipart_content(parts);
        Ok(match fields.shift_remove(TOOL_RESULT) {
            Some(Value::Object(result)) => message.with_tool_result(result),
            None | Some(Value::Null) => message,
            Some(_) => return Err(Error::wrong_type("tool_result must be an object")),
        })
    }
}

/// The field of the structured tool result.
pub const TOOL_RESULT: &str = "tool_result";
/// The metadata key of an assistant message's tool calls.
pub const TOOL_CALLS: &str = "tool_calls";
/// The metadata key of the mapping to native items.
pub const NATIVE_INDICES: &str = "native_indices";
const MULTIPART: &str = "multipartContent";

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = &*self.body;
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("role", &body.role)?;
        fields.serialize_entry("content", &body.content)?;
        fields.serialize_entry("metadata", &MetadataView(self))?;
        if !body.multipart_content.is_empty() {
            fields.serialize_entry(MULTIPART, &body.multipart_content)?;
        }
        if let Some(result) = &body.tool_result {
            fields.serialize_entry(TOOL_RESULT, result)?;
        }
        fields.end()
    }
}

struct MetadataView<'a>(&'a Message);

impl Serialize for MetadataView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = serializer.serialize_map(None)?;
        for (key, value) in &self.0.body.metadata {
            entries.serialize_entry(key, value)?;
        }
        if let Some(indices) = self.0.native_indices.to_json() {
            entries.serialize_entry(NATIVE_INDICES, &indices)?;
        }
        entries.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Message {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Message".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let role = generator.subschema_for::<Role>();
        schemars::json_schema!({
            "type": "object",
            "description": "One message of the neutral transcript.",
            "properties": {
                "role": role,
                "content": { "description": "Any JSON value, usually a string." },
                "metadata": {
                    "type": "object",
                    "properties": {
                        "native_indices": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                        "tool_calls": { "type": "array", "items": { "type": "object" } }
                    }
                },
                "multipartContent": { "type": "array", "items": { "type": "object" } },
                "tool_result": { "type": "object" }
            },
            "required": ["role", "content", "metadata"]
        })
    }
}
