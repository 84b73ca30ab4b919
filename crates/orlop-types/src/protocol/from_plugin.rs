//! What a plugin sends.

use crate::json::{Map, Value};
use serde::Deserialize;

/// A request to the host. Its arguments are those of the operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The call it belongs to.
    pub call: u64,
    /// The arguments by name.
    #[serde(default)]
    pub args: Map,
    /// For operations of the core: the agent whose core is asked, if it is not that of the call.
    #[serde(default)]
    pub agent: Option<String>,
    /// Whether what comes on the way is told as it comes.
    #[serde(default)]
    pub stream: bool,
}

/// One part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part<V> {
    /// The call that streams.
    pub call: u64,
    /// A chunk, a part for people to see, or the report of a tool.
    pub value: V,
}

/// How far a call is, for people.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// The call.
    pub call: u64,
    /// What it does right now.
    #[serde(default)]
    pub message: String,
    /// How much of it is done.
    #[serde(default)]
    pub done: Option<f64>,
    /// How much there is to do.
    #[serde(default)]
    pub total: Option<f64>,
}

/// A line for the log of the host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Log {
    /// The call it is about.
    #[serde(default)]
    pub call: Option<u64>,
    /// `debug`, `info`, `warn` or `error`; `info` without one.
    #[serde(default)]
    pub level: Option<String>,
    /// The text.
    #[serde(default)]
    pub message: String,
    /// More about it.
    #[serde(default)]
    pub fields: Option<Map>,
}

/// Why something was not done; both sides answer so.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The code of JSON-RPC.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub code: Value,
    /// A sentence.
    #[serde(default)]
    pub message: String,
    /// What can be told apart. Read by what it has, so that an odd one spoils nothing.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<FailureData>"))]
    pub data: Option<Value>,
}

/// What the host can tell of a failure.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureData {
    /// One of Orlop's classes: `bad_argument`, `not_found`, `unavailable`, ...
    pub class: Option<String>,
    /// Whether the same may work later.
    pub retryable: Option<bool>,
    /// Of a provider: the conversation is longer than the model can take.
    pub context_overflow: Option<bool>,
}
