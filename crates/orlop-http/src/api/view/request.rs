//! Requests: what to ask for, and how far one is.

use orlop_app::RequestState;
use orlop_core::{Map, Message, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which requests of a session to list.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRequests {
    /// At most so many; 20 if it is not said, and 100 at most.
    pub(crate) limit: Option<usize>,
}

/// Where to go on.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    /// Events after this number; all if it is not said.
    pub(crate) after: Option<u64>,
}

/// One turn.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRequest {
    /// What the user says: text, or any JSON value.
    #[serde(default)]
    pub(crate) content: Value,
    /// Further parts of the message.
    #[serde(default)]
    pub(crate) multipart_content: Vec<Map>,
    /// Ids of assets that go with it.
    #[serde(default)]
    pub(crate) attachments: Vec<String>,
    /// Settings of this request.
    #[serde(default)]
    pub(crate) overrides: Map,
    /// Data for hooks. Keys that belong to others are ignored.
    #[serde(default)]
    pub(crate) context: Map,
    /// The id of the request: the same id is the same request and runs once.
    pub(crate) request_id: Option<String>,
    /// Whether to answer with events as they happen, or with the whole at the end.
    #[serde(default = "yes")]
    pub(crate) stream: bool,
    /// Whether to wait while the session is busy; else that is a conflict.
    #[serde(default)]
    pub(crate) queue: bool,
    /// What becomes of tool calls that a person should decide on.
    #[serde(default)]
    pub(crate) approval: ApprovalPolicy,
}

impl NewRequest {
    /// What it asks for, under whichever id and however the answer is sent.
    pub(crate) fn asked(&self) -> impl Serialize {
        let said = (&self.content, &self.multipart_content, &self.attachments);
        (said, &self.overrides, &self.context, self.approval)
    }
}

fn yes() -> bool {
    true
}

/// What becomes of tool calls that a person should decide on.
#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalPolicy {
    /// The turn waits for a decision.
    #[default]
    Wait,
    /// They run.
    Allow,
    /// They do not run, and the model is told so.
    Deny,
}

/// A turn that is done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TurnResult {
    /// The request.
    pub(crate) request_id: String,
    /// The session.
    pub(crate) session_id: String,
    /// All messages the request added after the user's.
    pub(crate) messages: Vec<Message>,
    /// The session now.
    pub(crate) session: orlop_types::app_event::SessionState,
    /// Token counts, added up over all steps.
    pub(crate) usage: Option<Map>,
}

/// A request and how far it is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RequestView {
    /// The request.
    request_id: String,
    /// Its session.
    session_id: String,
    /// `queued` (it waits for its session, or is being prepared), `running`, `waiting`, `completed`,
    /// `failed` or `cancelled`.
    status: Value,
    /// The agent that answers.
    agent_id: Option<String>,
    /// The position of the user's message when the request last got further.
    message_index: Option<usize>,
    /// How many model calls have been answered.
    step: u32,
    /// When it began, RFC 3339.
    created_at: Option<String>,
    /// When it last got further, RFC 3339.
    updated_at: Option<String>,
    /// How long it took, in milliseconds, if it is over.
    duration_ms: Option<u64>,
    /// Token counts so far, and `cost` in dollars where the price is known.
    usage: Map,
    /// The tool calls that a person has to decide on: `call_id`, `name`, `reason`.
    waiting_for: Vec<Value>,
    /// Why it failed: `type`, `message`, `retryable`.
    #[schemars(with = "Option<orlop_core::Error>")]
    error: Option<Value>,
    /// Why it was cancelled.
    reason: Option<String>,
}

impl From<RequestState> for RequestView {
    fn from(state: RequestState) -> Self {
        Self {
            status: json(&state.status),
            waiting_for: state.waiting_for.iter().map(json).collect(),
            request_id: state.request_id,
            session_id: state.session_id,
            agent_id: state.agent_id,
            message_index: state.message_index,
            duration_ms: state.duration_ms,
            step: state.step,
            created_at: state.created_at,
            updated_at: state.updated_at,
            usage: state.usage,
            error: state.error,
            reason: state.reason,
        }
    }
}

fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Why a request is cancelled.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// Why.
    pub(crate) reason: Option<String>,
}

/// A decision on a tool call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    /// Whether it may run.
    pub(crate) decision: Allowed,
    /// For how long it holds, if for more than this call.
    pub(crate) remember: Option<orlop_types::app_event::Remember>,
    /// Another input for the call.
    pub(crate) input: Option<Value>,
    /// What the model reads if it may not run.
    pub(crate) reason: Option<String>,
}

/// Whether a tool call may run.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Allowed {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}
