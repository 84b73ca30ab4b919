//! What each hook is given and what it answers. Inputs are structs, so that a field can be added
//! without breaking anyone; answers default to "nothing to change".

use super::state::{State, StateChange};
use crate::config::Config;
use crate::session::Session;
use orlop_types::{
    Change, Map, Message, NativeItem, Partial, PayloadKind, Seq, ToolDescriptor, ToolReport, Value,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

macro_rules! payloads {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* })*) => {
        $($(#[$meta])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* })*
    };
}

payloads! {
    /// For `init`.
    struct InitInput {
        /// The resolved configuration.
        config: Config,
        /// The state as the plugins before this one left it.
        state: State,
    }

    /// For `get_tags`.
    struct TagsInput {
        /// The resolved configuration.
        config: Config,
        /// The models of the provider, as far as they are known.
        models: Models,
    }

    /// For `is_enabled`.
    struct EnabledInput {
        /// The resolved configuration.
        config: Config,
        /// The tags of the provider and of the plugins enabled so far.
        tags: Vec<String>,
        /// The models of the provider, as far as they are known.
        models: Models,
    }

    /// For `get_ui_elements`.
    struct UiInput {
        /// The resolved configuration.
        config: Config,
        /// All tags.
        tags: Vec<String>,
        /// The models of the provider.
        models: Models,
        /// The full tool catalogue.
        available_tools: Arc<Vec<ToolDescriptor>>,
        /// The catalogue after feature policy.
        tools: Arc<Vec<ToolDescriptor>>,
    }

    /// For `get_models` and `get_template`.
    struct ConfigInput {
        /// The resolved configuration.
        config: Config,
    }

    /// For `to_native_messages`.
    struct ToNativeInput {
        /// The messages to convert.
        messages: Vec<Message>,
        /// What the plugins before this one made of them.
        native_messages: Seq<NativeItem>,
        /// The configuration is `state.config`.
        state: State,
    }

    /// For `from_native_messages`.
    struct FromNativeInput {
        /// The native items to convert.
        native_messages: Seq<NativeItem>,
        /// What the plugins before this one made of them; `metadata.native_indices` are positions
        /// in `native_messages`.
        messages: Seq<Message>,
        /// The state of the request.
        state: State,
    }

    /// For `initialize_request`.
    struct RequestInput {
        /// The whole native history.
        native_messages: Seq<NativeItem>,
        /// The state, with the request being built.
        state: State,
    }

    /// For `finalize`.
    struct FinalizeInput {
        /// The native items this turn produced.
        final_messages: Seq<NativeItem>,
        /// The whole native history, finals included.
        native_messages: Seq<NativeItem>,
        /// The state of the request.
        state: State,
    }

    /// For `call_api` and `stream_api`.
    struct ModelRequest {
        /// The whole native history to send.
        native_messages: Seq<NativeItem>,
        /// The state, with the request built.
        state: State,
        /// The id by which the request can be cancelled.
        request_id: Option<String>,
        /// Whether the caller wants partials.
        stream: bool,
    }

    /// For `init` of an application plugin.
    struct ApplicationInitInput {
        /// The whole configuration of the application.
        config: Config,
    }

    /// For `get_ui_elements` of an application plugin.
    struct ApplicationUiInput {
        /// The state that `init` gave.
        state: Value,
        /// The resolved configuration, where an agent is known.
        config: Option<Config>,
        /// All tags, where an agent is known.
        tags: Option<Vec<String>>,
        /// The models of the provider, where an agent is known.
        models: Option<Models>,
    }

    /// For `get_actions` of an application plugin.
    struct ApplicationActionsInput {
        /// The state that `init` gave.
        state: Value,
    }

    /// For `execute_action` of an application plugin.
    struct ApplicationActionInput {
        /// The action.
        action_id: String,
        /// Its inputs, validated against its definition.
        params: Map,
        /// The state that `init` gave.
        state: Value,
    }

    /// For `start` and `stop` of a host plugin.
    struct HostInput {
        /// The whole configuration of the application.
        config: Config,
    }

    /// For `intercept_chat_request`.
    struct InterceptInput {
        /// The request.
        request: RequestInfo,
        /// What the user wrote.
        text: String,
        /// The files that came with it.
        files: Vec<FileInfo>,
        /// The headers, where the surface has some; names in lower case.
        headers: Map,
    }

    /// For `attachment_handler`.
    struct AttachmentInput {
        /// The request.
        request: RequestInfo,
        /// The files, at least one.
        files: Vec<FileInfo>,
    }

    /// For `context_providers`.
    struct ContextInput {
        /// The request.
        request: RequestInfo,
        /// What the user wrote.
        text: String,
        /// Which model call of the request this is, from 0.
        step: u32,
    }

    /// For `before_tool_call`.
    struct ToolCallInfo {
        /// The request.
        request: RequestInfo,
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// Its input, as the hooks before left it.
        input: Value,
    }

    /// For `after_tool_call`.
    struct ToolResultInfo {
        /// The request.
        request: RequestInfo,
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// The input it ran with.
        input: Value,
        /// What the model is to read, as the hooks before left it.
        result: String,
        /// Whether the call failed.
        failed: bool,
    }

    /// For `cancel_request`.
    struct CancelInput {
        /// The request to abort.
        request_id: String,
    }

    /// For `get_actions`.
    struct ActionsInput {
        /// The state after initialisation.
        state: State,
    }

    /// For `execute_action`.
    struct ActionInput {
        /// Which action.
        action_id: String,
        /// The session as it is now.
        session: Session,
        /// Its native history: retained, else converted from the messages.
        native_messages: Seq<NativeItem>,
        /// Validated inputs.
        params: Map,
        /// The state after initialisation.
        state: State,
        /// Counts the changes of this run; name it as `base_revision` when answering with edits.
        revision: u64,
    }

    /// For `attachment_parts`.
    struct AttachmentPartsInput {
        /// The resolved configuration.
        config: Config,
        /// The file.
        file: FileInfo,
    }

    /// For `get_completions`.
    struct CompletionsInput {
        /// The configuration of the agent.
        config: Config,
        /// The text before the cursor.
        text: String,
    }

    /// For `apply_completion`.
    struct ApplyCompletionInput {
        /// The configuration of the agent.
        config: Config,
        /// The buffer after the completion was applied.
        text: String,
        /// The completion, as `get_completions` gave it.
        completion: Map,
    }

    /// For `filter_tools`.
    struct ToolPolicyInput {
        /// The resolved configuration.
        config: Config,
        /// The catalogue as the features before this one left it.
        tools: Vec<ToolDescriptor>,
    }

    /// For `get_tool_schemas`.
    struct ToolSchemasInput {
        /// The resolved configuration.
        config: Config,
        /// The state after initialisation.
        state: State,
    }

    /// For `prepare_tools`.
    struct PrepareInput {
        /// The resolved configuration.
        config: Config,
        /// The state after initialisation.
        state: State,
        /// The plugin's own schemas.
        schemas: Vec<Map>,
    }

    /// For `execute_tool`, `stream_tool` and `format_tool_call_preview`.
    struct ToolInput {
        /// Which tool of the plugin.
        tool_name: String,
        /// Arguments, or the text of a free-form call.
        payload: Value,
        /// How to read the payload.
        payload_kind: PayloadKind,
        /// The format the call came in.
        payload_format: Option<String>,
        /// What else the format knows of the payload.
        payload_metadata: Option<Map>,
        /// The call as the model made it.
        tool_call: Map,
        /// What `prepare_tools` made.
        prepared: Arc<Value>,
        /// The state after initialisation.
        state: Arc<State>,
    }

    /// For `format_tool_result`.
    struct FormatResultInput {
        /// How the call went.
        result: ToolReport,
        /// The state after initialisation.
        state: Arc<State>,
    }

    /// For `to_display_format`.
    struct DisplayInput {
        /// What the model will read.
        text: String,
        /// How the call went.
        result: ToolReport,
        /// The state after initialisation.
        state: Arc<State>,
    }
}

/// Model descriptors: mappings with at least an `id`.
pub type Models = Arc<Vec<Map>>;

/// What `initialize_request` changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestChange {
    /// The change of native history.
    pub native_messages: Change<NativeItem>,
    /// The change of the state.
    pub state: StateChange,
}

impl RequestChange {
    /// Changes the state only.
    pub fn state(state: StateChange) -> Self {
        Self { state, ..Self::default() }
    }

    /// Changes native history only.
    pub fn native(native_messages: Change<NativeItem>) -> Self {
        Self { native_messages, ..Self::default() }
    }
}

/// What `finalize` changes. For a provider, `final_messages` appended are further finals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinalizeChange {
    /// The change of this turn's finals.
    pub final_messages: Change<NativeItem>,
    /// The change of native history.
    pub native_messages: Change<NativeItem>,
    /// The change of the state.
    pub state: StateChange,
}

/// What `call_api` answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelAnswer {
    /// Fragments; ignored by the blocking form.
    pub partials: Vec<Partial>,
    /// The native items the model produced.
    pub final_messages: Vec<NativeItem>,
    /// The whole native history afterwards; kept = what was sent, then the finals.
    pub native_messages: Change<NativeItem>,
    /// The change of the state.
    pub state: StateChange,
}

/// One chunk of a provider's stream on its way through the extensions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chunk {
    /// The fragment to show, if the chunk carries one.
    pub partial: Option<Partial>,
    /// Native items that are finished with this chunk.
    pub final_messages: Vec<NativeItem>,
    /// A change of the state.
    pub state: StateChange,
}

impl Chunk {
    /// A chunk that shows `partial`.
    pub fn partial(partial: Partial) -> Self {
        Self { partial: Some(partial), ..Self::default() }
    }

    /// A chunk that finishes `items`.
    pub fn finals(items: Vec<NativeItem>) -> Self {
        Self { final_messages: items, ..Self::default() }
    }
}

/// What host hooks are told of a request. It has no content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestInfo {
    /// Whether the answer is streamed.
    pub kind: RequestKind,
    /// The tenant.
    pub tenant_id: String,
    /// The user.
    pub user_id: String,
    /// The session.
    pub session_id: String,
    /// The agent.
    pub agent_id: String,
    /// The request.
    pub request_id: String,
}

/// How an answer is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RequestKind {
    /// In one piece.
    Chat,
    /// As it comes.
    #[default]
    Stream,
}

/// A file that came with a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileInfo {
    /// The asset it is stored as.
    pub id: String,
    /// The name its user gave it.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Where it can be read.
    pub location: String,
}

/// What an interceptor makes of a request. In JSON a rewrite is told from an answer by its key
/// `rewrite`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Interception {
    /// The agent is asked something else; interceptors that follow see that.
    Rewrite(Rewrite),
    /// The agent is not asked.
    Handled(Handled),
}

impl From<Rewrite> for Interception {
    fn from(rewrite: Rewrite) -> Self {
        Self::Rewrite(rewrite)
    }
}

impl From<Handled> for Interception {
    fn from(handled: Handled) -> Self {
        Self::Handled(handled)
    }
}

/// What is asked in place of what the user wrote. Files and parts that are no text stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rewrite {
    /// The text of the message.
    #[serde(rename = "rewrite")]
    pub text: String,
    /// Kept in the metadata of the message.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map,
    /// Settings of this request; those that came with it count more.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub overrides: Map,
    /// Further parts of the message, as a surface sends them: text, pictures. They are stored with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Map>,
}

impl Rewrite {
    /// This text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The answer of a host plugin in place of the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handled {
    /// The status for surfaces that have one.
    pub status: u16,
    /// The answer.
    pub text: String,
    /// Whatever else a client may want to know; what is not empty is `metadata.handled` of the
    /// message in the final event, with the status.
    pub data: Map,
}

impl Default for Handled {
    fn default() -> Self {
        Self { status: 200, text: String::new(), data: Map::new() }
    }
}

impl Handled {
    /// This text, with status 200.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With another status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With this for clients, in the form of the result of an action: `mutations`, `ui_effects`.
    pub fn data(mut self, data: Map) -> Self {
        self.data = data;
        self
    }
}

/// What is to become of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolGate {
    /// It runs.
    #[default]
    Allow,
    /// It runs with this input.
    Rewrite(Value),
    /// A person decides; this is why.
    Ask(String),
    /// It does not run; the model reads why.
    Deny(String),
}
