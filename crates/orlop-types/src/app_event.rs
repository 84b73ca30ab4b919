//! The events people and programs see: one vocabulary for terminal, HTTP, files and plugins.

use crate::event::Partial;
use crate::json::{Map, Value};
use crate::message::Message;
use crate::tool::PayloadKind;
use serde::{Deserialize, Serialize};

/// One thing that happened. In JSON all fields stand side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Grows with every event of a tenant; numbers may be missing between two events.
    pub seq: u64,
    /// When it happened, RFC 3339.
    pub at: String,
    /// The session it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The request it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// The event of another request that this one passes on, the innermost if there are several
    /// around each other. A tool that works through a request of its own shows it as parts with
    /// that request's events under `event`.
    pub fn passed_on(&self) -> Option<Event> {
        let EventKind::ToolPartial { part, .. } = &self.kind else { return None };
        let event: Event = serde_json::from_value(part.get("event")?.clone()).ok()?;
        Some(event.passed_on().unwrap_or(event))
    }
}

/// What an event tells; the field `type` names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventKind {
    /// A request passed the door.
    RequestStarted {
        /// The agent that answers.
        agent_id: String,
        /// The position of the user's message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_index: Option<usize>,
    },
    /// The text since the last partial.
    Partial {
        /// The fragment; reasoning stands in its metadata.
        message: Partial,
    },
    /// The model calls a tool.
    ToolCall {
        /// The id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The call as the model made it.
        call: Map,
        /// What it is about to do, in a short text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        preview: String,
    },
    /// Progress of a tool.
    ToolPartial {
        /// The id of the call.
        call_id: String,
        /// What the tool has to say.
        part: Value,
    },
    /// A tool is done.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The tool message.
        message: Message,
    },
    /// A person has to decide.
    ApprovalRequested {
        /// The id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The call, as the model made it.
        call: Map,
        /// What it would run with: plugins may have rewritten it.
        #[serde(default)]
        input: Value,
        /// Why it is asked.
        reason: String,
        /// What can be answered.
        choices: Vec<String>,
        /// What the call needs to know, if it is a question: `title` and `inputs` as dialogs have
        /// them, and the `schema` of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Map>,
        /// What can be remembered with the answer, and for how long.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remember: Vec<RememberOffer>,
    },
    /// Somebody decided.
    ApprovalResolved {
        /// The id of the call.
        call_id: String,
        /// `allow` or `deny`.
        decision: String,
        /// Who decided.
        by: String,
        /// For how long the answer holds, if for more than this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Remember>,
    },
    /// A model could not be asked, and the next one of the agent is.
    ModelFallback {
        /// The model that failed.
        from: ModelName,
        /// The model that is asked now.
        to: ModelName,
        /// `type`, `message`, `retryable`.
        #[cfg_attr(feature = "schema", schemars(with = "crate::Error"))]
        error: Value,
    },
    /// The answer does not fit `output_schema`: it is dropped, and the model is asked again.
    OutputRejected {
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// The model is asked for this answer again, because the process that ran the request ended in the
    /// middle of it: fragments of the answer that came before count no longer.
    AnswerRestarted {},
    /// An action has run.
    ActionResult {
        /// The plugin.
        plugin: String,
        /// The action.
        action_id: String,
        /// What came of it.
        result: Map,
    },
    /// The request is done.
    Final {
        /// All messages the request added after the user's.
        messages: Vec<Message>,
        /// The session now.
        session: SessionState,
        /// Token counts, added up over all steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Map>,
        /// The model that gave the last answer; none if no model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
        /// Calls of tools that the caller brought, if the request ended with some.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        caller_calls: Vec<CallerCall>,
    },
    /// The request failed.
    RequestFailed {
        /// `type`, `message`, `retryable`, and `retry_after_seconds` where somebody said so.
        #[cfg_attr(feature = "schema", schemars(with = "crate::Error"))]
        error: Value,
    },
    /// The request was cancelled.
    RequestCancelled {
        /// Why.
        reason: String,
    },
    /// A session was stored for the first time.
    SessionCreated {
        /// Its agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        /// The session it is a fork of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
    },
    /// A session changed outside of a request.
    SessionUpdated {
        /// The session now.
        session: SessionState,
        /// What changed it.
        change: String,
    },
    /// A session is gone.
    SessionDeleted {},
    /// A session has another agent.
    AgentSwitched {
        /// The one before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous_agent_id: Option<String>,
        /// The one now.
        next_agent_id: String,
    },
    /// What a plugin published: `type`, `plugin`, and anything else.
    #[serde(untagged)]
    Other(Map),
}

/// A call of a tool that the caller brought. The caller runs it, and its next request carries the
/// result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallerCall {
    /// The id that the result must carry.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The arguments, or the text of a free-form call. They are not compared with the tool's schema.
    pub input: Value,
    /// How to read the input.
    #[serde(default)]
    pub kind: PayloadKind,
    /// The call as the model made it.
    pub call: Map,
}

/// For how long a decision on a tool call holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Remember {
    /// As long as the session.
    Session,
    /// In all sessions of the user, until it is taken back.
    Always,
}

/// A rule that a decision on a tool call may be remembered as.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RememberOffer {
    /// For how long.
    pub scope: Remember,
    /// What it would cover, as people read it.
    pub rule: String,
}

/// A model, as configurations name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelName {
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `provider/model`, as far as they are known.
impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.provider, &self.model) {
            (Some(provider), Some(model)) => write!(f, "{provider}/{model}"),
            (Some(name), None) | (None, Some(name)) => f.write_str(name),
            (None, None) => f.write_str("the model"),
        }
    }
}

/// What an event tells of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionState {
    /// Grows with every change.
    pub revision: u64,
    /// How many messages it has.
    pub message_count: usize,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How full the context window is; in a final event whose model server counts tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUse>,
}

/// How much of its context window a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextUse {
    /// The tokens of the conversation, the last answer included.
    pub tokens: u64,
    /// The tokens that the model takes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl EventKind {
    /// Every `type` that the platform itself gives; [`EventKind::Other`] has any other.
    pub const TYPES: &[&str] = &[
        "request_started",
        "partial",
        "tool_call",
        "tool_partial",
        "tool_result",
        "approval_requested",
        "approval_resolved",
        "model_fallback",
        "output_rejected",
        "answer_restarted",
        "action_result",
        "final",
        "request_failed",
        "request_cancelled",
        "session_created",
        "session_updated",
        "session_deleted",
        "agent_switched",
    ];

    /// The value of `type`.
    pub fn name(&self) -> &str {
        match self {
            Self::RequestStarted { .. } => "request_started",
            Self::Partial { .. } => "partial",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolPartial { .. } => "tool_partial",
            Self::ToolResult { .. } => "tool_result",
            Self::ApprovalRequested { .. } => "approval_requested",
            Self::ApprovalResolved { .. } => "approval_resolved",
            Self::ModelFallback { .. } => "model_fallback",
            Self::OutputRejected { .. } => "output_rejected",
            Self::AnswerRestarted {} => "answer_restarted",
            Self::ActionResult { .. } => "action_result",
            Self::Final { .. } => "final",
            Self::RequestFailed { .. } => "request_failed",
            Self::RequestCancelled { .. } => "request_cancelled",
            Self::SessionCreated { .. } => "session_created",
            Self::SessionUpdated { .. } => "session_updated",
            Self::SessionDeleted { .. } => "session_deleted",
            Self::AgentSwitched { .. } => "agent_switched",
            Self::Other(fields) => fields.get("type").and_then(Value::as_str).unwrap_or("event"),
        }
    }

    /// Whether it is written to the store. Fragments are not: the finished message has them all.
    pub fn is_durable(&self) -> bool {
        !matches!(self, Self::Partial { .. } | Self::ToolPartial { .. })
    }

    /// Whether it is the last event of a request.
    pub fn ends_request(&self) -> bool {
        matches!(
            self,
            Self::Final { .. } | Self::RequestFailed { .. } | Self::RequestCancelled { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_fields_stand_side_by_side() {
        for value in [
            json!({"seq": 1, "at": "2026-01-01T00:00:00Z", "session_id": "s", "request_id": "r",
                "type": "partial", "message": {"role": "assistant", "content": "a"}}),
            json!({"seq": 2, "at": "2026-01-01T00:00:00Z", "type": "session_deleted", "session_id": "s"}),
            json!({"seq": 2, "at": "2026-01-01T00:00:00Z", "type": "model_fallback",
                "from": {"provider": "p", "model": "a"}, "to": {"provider": "p"}, "error": {"type": "provider"}}),
            json!({"seq": 2, "at": "2026-01-01T00:00:00Z", "type": "output_rejected", "problems": ["x"]}),
            json!({"seq": 2, "at": "2026-01-01T00:00:00Z", "type": "answer_restarted"}),
            json!({"seq": 3, "at": "2026-01-01T00:00:00Z", "type": "my_plugin_done", "plugin": "p", "n": 1}),
        ] {
            let event: Event = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&event).unwrap(), value);
            assert_eq!(value["type"], event.kind.name());
            let own = !matches!(event.kind, EventKind::Other(_));
            assert_eq!(EventKind::TYPES.contains(&event.kind.name()), own);
        }
    }

    #[test]
    fn events_inside_of_events_are_found() {
        let event = |request: &str, kind: Value| {
            let mut event = json!({"seq": 1, "at": "x", "request_id": request});
            event.as_object_mut().unwrap().extend(kind.as_object().cloned().unwrap());
            event
        };
        let inner = event("c", json!({"type": "request_cancelled", "reason": "r"}));
        let within = |request: &str, inner: &Value| {
            event(
                request,
                json!({"type": "tool_partial", "call_id": "x", "part": {"event": inner}}),
            )
        };
        let outer: Event = serde_json::from_value(within("a", &within("b", &inner))).unwrap();
        let found = outer.passed_on().unwrap();
        assert_eq!(
            (found.request_id.as_deref(), found.kind.name()),
            (Some("c"), "request_cancelled")
        );
        assert_eq!(found.passed_on(), None);
    }

    #[test]
    fn what_a_plugin_publishes_cannot_pass_for_a_known_event_of_another_shape() {
        let odd = json!({"seq": 1, "at": "x", "type": "final", "n": 1});
        let event: Event = serde_json::from_value(odd).unwrap();
        assert!(matches!(event.kind, EventKind::Other(_)) && !event.kind.ends_request());
    }
}
