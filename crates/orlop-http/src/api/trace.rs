//! A line of a trace, as JSON and as the OpenAPI document says it.

use orlop_core::{Map, Value};
use schemars::JsonSchema;
use serde::Serialize;

/// One line of a trace, as it is kept.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct TraceEntry(pub(crate) Map);

impl JsonSchema for TraceEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceEntry".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        TraceFields::json_schema(generator)
    }
}

/// What ran, from when, for how long, and what came of it.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "the document has its fields")]
struct TraceFields {
    /// `hook`, `model_call`, `tool_call`, `lifecycle`, `refused` or `action_refused`.
    kind: String,
    /// When it began, in microseconds since the request did.
    start_us: u64,
    /// How long it took, in microseconds.
    duration_us: u64,
    /// `ok` or `error`, or what a call ended with.
    outcome: String,
    /// Of a hook: the plugin.
    plugin: Option<String>,
    /// Of a hook: the kind of the plugin.
    plugin_kind: Option<String>,
    /// Of a hook: its name.
    hook: Option<String>,
    /// Of a hook that only asks what a plugin has: how often it was asked, told in one line.
    calls: Option<u64>,
    /// Of a hook: what it answered, short, or its error.
    change: Option<Value>,
    /// Of a hook: whether there was no answer in time.
    timed_out: Option<bool>,
    /// Of a hook that runs an action: the action.
    action: Option<String>,
    /// Of a hook that runs an action: the lifecycle that ran it.
    lifecycle: Option<String>,
    /// Of everything else: what it is about.
    detail: Option<Value>,
}
