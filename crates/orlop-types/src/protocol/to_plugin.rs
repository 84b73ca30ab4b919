//! What the host sends.

use super::crossing::{LentList, LentSession};
use crate::json::{Map, Value};
use crate::message::Message;
use crate::native::NativeItem;
use serde::Serialize;
use std::path::PathBuf;

/// Introduces the host, once and first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Initialize {
    /// The version of the protocol.
    pub protocol: u64,
    /// The version of the host.
    pub orlop: String,
    /// The name of the package.
    pub package: String,
    /// The section of the package in the configuration.
    pub config: Map,
    /// Where things are.
    pub folders: Folders,
}

/// The folders of a package.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Folders {
    /// Its files.
    pub package: PathBuf,
    /// Belongs to this package alone, and stays between runs.
    pub data: PathBuf,
    /// Where people work.
    pub work: PathBuf,
}

/// Calls a hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookCall {
    /// The number of the call, by which requests of the plugin name it.
    pub call: u64,
    /// The plugin in the package.
    pub plugin: String,
    /// The kind of the plugin.
    pub kind: String,
    /// The hook.
    pub hook: String,
    /// The input of the hook, as the schema of the kind has it; a list crosses as a `LentList`, a session
    /// as a `LentSession`.
    pub args: Map,
    /// What else is known of the call.
    pub context: HookContext,
}

/// What is known of a call beside the input of its hook. Other keys are whatever the caller added.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookContext {
    /// Who caused the call, for instance `application`.
    pub trigger_source: Option<String>,
    /// What the call lends: `core`, `app`.
    pub handles: Vec<String>,
    /// The lifecycle that runs.
    pub lifecycle: Option<String>,
    /// The request it belongs to.
    pub request_id: Option<String>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// Whether the answer of the model is streamed.
    pub stream: bool,
    /// The resolved configuration; for actions and `is_enabled`.
    pub config: Option<Map>,
    /// The configuration of the agent before overrides; for actions and `is_enabled`.
    pub base_config: Option<Map>,
    /// What the request is about; for actions and `is_enabled`.
    pub request_context: Option<Value>,
    /// The plugins of the request; for actions and `is_enabled`.
    pub request_runtime: Option<Value>,
    /// The session; for actions of application plugins.
    pub session: Option<LentSession>,
    /// The messages of the answer; for actions after one.
    pub final_messages: Option<Vec<Message>>,
    /// The native items of the answer; for actions after one.
    pub native_final_messages: Option<LentList<NativeItem>>,
    /// The native history; for actions after an answer.
    pub native_messages: Option<LentList<NativeItem>>,
    /// Where the turn began in it.
    pub turn_native_start_index: Option<usize>,
    /// What the caller added.
    #[serde(flatten)]
    pub told: Map,
}

/// Nobody waits for the answer of this call any more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancel {
    /// The call.
    pub call: u64,
}

/// Something on the way to the answer of a request that asked with `stream`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostPart<'a> {
    /// The id of the request.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::Id"))]
    pub request: &'a Value,
    /// An event.
    pub value: &'a Value,
}

/// A mapping without anything in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nothing {}
