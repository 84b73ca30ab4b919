//! Operations of the core, `core.*`, on the agent of the call. Where `config` is left out it is that of
//! the agent.

use super::operation::operations;
use super::{GivenSession, LentSession, Name};
#[cfg(feature = "schema")]
use crate::action::ActionDefinition;
use crate::json::{Map, Value};
use crate::message::Message;
use crate::native::NativeItem;
#[cfg(feature = "schema")]
use crate::tool::ToolDescriptor;
use serde::Serialize;

/// What a request to the model gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// The session with the answer.
    pub session: LentSession,
    /// The messages that were added.
    pub messages: Vec<Message>,
}

/// A part of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Sliced {
    /// What was kept.
    Kept(Box<LentSession>),
    /// What was kept and what was removed, where `return_removed` asked for it.
    Both(Box<(LentSession, LentSession)>),
}

/// What the actions of a lifecycle did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LifecycleRun {
    /// The session after all of them.
    pub session: LentSession,
    /// What each answered.
    pub results: Vec<Value>,
}

operations! {
    /// A new empty session; nothing is stored.
    "create_session": CreateSession {
        /// Its id; without it, a new one.
        session_id: Option<String>,
    } -> LentSession;

    /// Adds a message at the end, or after another.
    "add_message": AddMessage {
        /// The session.
        session: GivenSession,
        /// Who says it.
        role: crate::message::Role,
        /// What.
        content: Value,
        /// Its metadata.
        metadata: Option<Map>,
        /// Its parts.
        multipart_content: Option<Vec<Map>>,
        /// The message it comes after; -1 is the start.
        after_index: Option<i64>,
        /// For a tool message: what the tool gave.
        tool_result: Option<Map>,
        /// The configuration.
        config: Option<Map>,
    } -> LentSession;

    /// Puts another content into a message.
    "modify_message": ModifyMessage {
        /// The session.
        session: GivenSession,
        /// Which message.
        index: i64,
        /// What it says from now on.
        content: Value,
        /// The configuration.
        config: Option<Map>,
    } -> LentSession;

    /// Some of the messages.
    "slice_session": SliceSession {
        /// The session.
        session: GivenSession,
        /// The first message.
        start: Option<i64>,
        /// The one after the last.
        end: Option<i64>,
        /// Messages to leave out.
        remove_indices: Option<Vec<i64>>,
        /// Whether what was removed is given, too.
        return_removed: Option<bool>,
        /// The configuration.
        config: Option<Map>,
    } -> Sliced;

    /// The messages up to one of them, that one included, in a session of its own.
    "fork_session": ForkSession {
        /// The session.
        session: GivenSession,
        /// The last message.
        upto_index: i64,
        /// The id of the copy; without it, a new one.
        new_session_id: Option<String>,
        /// The configuration.
        config: Option<Map>,
    } -> LentSession;

    /// One session after the other.
    "join_sessions": JoinSessions {
        /// The first.
        prefix: GivenSession,
        /// The second.
        suffix: GivenSession,
        /// The configuration.
        config: Option<Map>,
    } -> LentSession;

    /// Makes native history of the messages anew.
    "rebuild_native_history": RebuildNativeHistory {
        /// The session.
        session: GivenSession,
        /// The first message.
        start: Option<i64>,
        /// The one after the last.
        end: Option<i64>,
        /// The configuration.
        config: Option<Map>,
    } -> LentSession;

    /// The session as a text.
    "export_session": ExportSession {
        /// The session.
        session: GivenSession,
        /// `json`, or another format.
        format: Option<String>,
    } -> String;

    /// A session from such a text.
    "import_session": ImportSession {
        /// The text.
        data: String,
        /// `json`, or another format.
        format: Option<String>,
    } -> LentSession;

    /// Native items with a patch in the `_metadata` of some of them.
    "patch_native_internal_metadata": PatchNativeInternalMetadata {
        /// The items.
        native_messages: Vec<NativeItem>,
        /// Which of them.
        indices: Vec<i64>,
        /// What is laid over their metadata.
        patch: Map,
    } -> Vec<NativeItem>;

    /// Messages in the form of the provider.
    "core_messages_to_native": CoreMessagesToNative {
        /// The messages.
        core_messages: Vec<Message>,
        /// The configuration.
        config: Option<Map>,
    } -> Vec<NativeItem>;

    /// Asks the model once. Gives the session with the answer, and the messages that were added.
    "send_request": SendRequest {
        /// The session.
        session: GivenSession,
        /// The id of the request; without it, a new one.
        request_id: Option<String>,
        /// The configuration.
        config: Option<Map>,
    } -> Sent;

    /// The names of the plugins that are active, by kind.
    "get_plugins_for_config": GetPluginsForConfig {
        /// The configuration.
        config: Option<Map>,
    } -> Map;

    /// Prepares native history as for a request. Gives it and the state.
    "initialize_action_request": InitializeActionRequest {
        /// The native history.
        native_messages: Vec<NativeItem>,
        /// The state of the action.
        state: Map,
        /// The plugins of the request, as the context of the action has them.
        request_runtime: Map,
        /// What the request is about, as the context of the action has it.
        request_context: Map,
        /// The configuration.
        config: Option<Map>,
    } -> (Vec<NativeItem>, Map);

    /// All tools, also those that features hide from the model.
    "get_available_tools": GetAvailableTools {
        /// The configuration.
        config: Option<Map>,
    } -> Vec<ToolDescriptor>;

    /// The tools that the model sees.
    "get_tool_schemas": GetToolSchemas {
        /// The configuration.
        config: Option<Map>,
    } -> Vec<Map>;

    /// The tool calls that messages of the assistant ask for.
    "extract_tool_calls_from_messages": ExtractToolCallsFromMessages {
        /// The messages.
        messages: Vec<Message>,
    } -> Vec<Map>;

    /// Runs tool calls as far as permissions allow. Gives one tool message for each.
    "execute_tool_calls": ExecuteToolCalls {
        /// The calls.
        tool_calls: Vec<Map>,
        /// Without effect: tools run with the settings of the agent.
        config: Option<Map>,
    } -> Vec<Message>;

    /// Short texts that say what calls are about to do.
    "format_tool_call_previews": FormatToolCallPreviews {
        /// The calls.
        tool_calls: Vec<Map>,
        /// The configuration.
        config: Option<Map>,
    } -> Vec<Map>;

    /// The actions that extensions and features offer on a session.
    "get_session_actions": GetSessionActions {
        /// The configuration.
        config: Option<Map>,
    } -> Vec<ActionDefinition>;

    /// Runs one of them. Gives the session and the result.
    "execute_session_action": ExecuteSessionAction {
        /// The session.
        session: GivenSession,
        /// The plugin.
        plugin_id: Name,
        /// The action.
        action_id: Name,
        /// Its inputs.
        params: Map,
        /// Without effect: actions run with the settings of the agent.
        config: Option<Map>,
    } -> (LentSession, Map);

    /// Runs all actions of a lifecycle.
    "execute_lifecycle_actions": ExecuteLifecycleActions {
        /// The session.
        session: GivenSession,
        /// The lifecycle.
        trigger: Name,
        /// Without effect: actions run with the settings of the agent.
        config: Option<Map>,
    } -> LifecycleRun;

    /// The settings of all plugins.
    "get_config_schema": GetConfigSchema {} -> Vec<Map>;

    /// The elements of all plugins for people.
    "get_ui_schema": GetUiSchema {
        /// The configuration.
        config: Option<Map>,
    } -> Vec<Map>;

    /// Completions for the text before the cursor.
    "get_completions": GetCompletions {
        /// The text.
        text: String,
        /// The configuration.
        config: Option<Map>,
    } -> Vec<Map>;

    /// The snippet for a completion that was accepted.
    "apply_feature_completion": ApplyFeatureCompletion {
        /// The text.
        text: String,
        /// The completion.
        completion: Map,
        /// The configuration.
        config: Option<Map>,
    } -> String;
}
