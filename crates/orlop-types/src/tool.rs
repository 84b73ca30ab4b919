//! Tools as data: schemas, calls as the model made them, results as tools gave them.

use crate::json::{Map, Value};
use serde::{Deserialize, Serialize};

/// A tool on offer: its schema and the plugin that runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolDescriptor {
    /// Name, description and parameters; see [`ToolDescriptor::name`].
    pub schema: Map,
    /// The tool plugin.
    pub plugin: String,
}

impl ToolDescriptor {
    /// The name the model calls the tool by: `name`, or `function.name` in function style.
    pub fn name(&self) -> Option<&str> {
        schema_name(&self.schema)
    }
}

/// The name inside a tool schema of any style.
pub fn schema_name(schema: &Map) -> Option<&str> {
    let nested = |key: &str| schema.get(key).and_then(|inner| inner.get("name"));
    schema
        .get("name")
        .or_else(|| nested("function"))
        .or_else(|| nested("custom"))
        .and_then(Value::as_str)
}

/// How the payload of a call is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PayloadKind {
    /// JSON arguments.
    #[default]
    Json,
    /// Free text.
    Text,
}

/// A tool call, read through the format it came in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InspectedCall {
    /// The id the result must carry, if the format has one.
    pub call_id: Option<String>,
    /// The tool.
    pub tool_name: Option<String>,
    /// The arguments, or the text of a free-form call.
    pub payload: Value,
    /// How to read the payload.
    pub payload_kind: PayloadKind,
    /// The format the call came in, for instance `openai.function`.
    pub payload_format: Option<String>,
    /// What else the format knows of the payload, for instance that its text was no JSON.
    pub payload_metadata: Option<Map>,
    /// The call as the model made it.
    pub raw: Map,
}

/// A tool result, read through the format it is in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InspectedResult {
    /// What the model reads.
    pub text: String,
    /// What a person sees, if the format carries it.
    pub display: Option<Map>,
    /// The format.
    pub format_id: String,
}

/// What a running tool yields: parts on the way, and at least one report of how it went.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolPart {
    /// Progress, shown to the person.
    Part(Value),
    /// The outcome; the last one counts.
    Report(ToolReport),
}

/// How a tool call went: `success` and whatever the tool adds. A list of parts under
/// `multipart_content`, for instance pictures, goes to the model beside the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolReport {
    /// Whether it worked.
    pub success: bool,
    /// The tool's own data.
    #[serde(flatten)]
    pub data: Map,
}

impl ToolReport {
    /// A success with one text under `output`.
    pub fn ok(output: impl Into<Value>) -> Self {
        Self { success: true, data: Map::from_iter([("output".to_owned(), output.into())]) }
    }

    /// A failure with the reason under `error`.
    pub fn failed(reason: impl Into<Value>) -> Self {
        Self { success: false, data: Map::from_iter([("error".to_owned(), reason.into())]) }
    }

    /// The report as a mapping.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl ToolPart {
    /// Reads one chunk of a tool written in another language: a mapping with `success` is a
    /// report, any other mapping a part as it stands; what is no mapping is skipped.
    pub fn from_json(chunk: Value) -> Option<Self> {
        let Value::Object(mut fields) = chunk else { return None };
        if let Some(success) = fields.shift_remove("success") {
            let success = !matches!(success, Value::Null | Value::Bool(false));
            return Some(Self::Report(ToolReport { success, data: fields }));
        }
        Some(Self::Part(Value::Object(fields)))
    }

    /// The chunk as a mapping; a part that is none is put under `part`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Part(part) if part.is_object() => part.clone(),
            Self::Part(part) => serde_json::json!({ "part": part }),
            Self::Report(report) => report.to_json(),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ToolPart {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolPart".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let report = generator.subschema_for::<ToolReport>();
        schemars::json_schema!({
            "description": "A mapping with success is a report; any other is a part, shown to the person.",
            "anyOf": [
                report,
                { "type": "object", "properties": { "part": {} }, "required": ["part"] }
            ]
        })
    }
}
