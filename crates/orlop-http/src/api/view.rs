//! What bodies hold in both directions, as JSON and as the OpenAPI document says it.

use orlop_app::store::{AssetRecord, Head, Hit};
use orlop_app::{RequestState, Summary, rfc3339};
use orlop_core::{Map, Message, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A list of anything.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List<T> {
    /// What there is.
    pub(crate) items: Vec<T>,
}

/// A session without its messages.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionSummary {
    /// The session.
    pub(crate) session_id: String,
    /// Its agent.
    pub(crate) agent_id: Option<String>,
    /// Its title.
    pub(crate) title: Option<String>,
    /// When it was first stored, RFC 3339.
    pub(crate) created_at: String,
    /// When it last changed, RFC 3339.
    pub(crate) updated_at: String,
    /// Grows with every change.
    pub(crate) revision: u64,
    /// How many messages it has.
    pub(crate) message_count: usize,
    /// Whether its user wants it at the top.
    pub(crate) pinned: bool,
    /// Whether its user put it away.
    pub(crate) archived: bool,
    /// Of a branch, the session that all its branches come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch_of: Option<String>,
    /// What plugins add, each under its name.
    #[serde(flatten)]
    pub(crate) plugins: Map,
}

impl From<Head> for SessionSummary {
    fn from(head: Head) -> Self {
        Summary::from(head).into()
    }
}

/// The fields of a session, alone or with what it is shown with. What a plugin of such a name adds cannot
/// be told, since a key stands in an object once.
const OWN_FIELDS: [&str; 16] = [
    "session_id",
    "agent_id",
    "title",
    "created_at",
    "updated_at",
    "revision",
    "messages_revision",
    "message_count",
    "pinned",
    "archived",
    "branch_of",
    "first_index",
    "messages",
    "metadata",
    "message_index",
    "snippet",
];

impl From<Summary> for SessionSummary {
    fn from(summary: Summary) -> Self {
        let mut plugins = summary.plugins;
        plugins.retain(|name, _| !OWN_FIELDS.contains(&name.as_str()));
        Self {
            session_id: summary.session_id,
            agent_id: summary.agent_id,
            title: summary.title,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            revision: summary.revision,
            message_count: summary.message_count,
            pinned: summary.pinned,
            archived: summary.archived,
            branch_of: summary.branch_of,
            plugins,
        }
    }
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionPage {
    /// The sessions, the most recently changed first.
    pub(crate) sessions: Vec<SessionSummary>,
    /// The `cursor` of the next page, if there is one.
    pub(crate) next: Option<String>,
}

/// A session with messages.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoadedSession {
    #[serde(flatten)]
    pub(crate) summary: SessionSummary,
    /// The revision in which its messages last changed: what was noted about it since moved none.
    pub(crate) messages_revision: u64,
    /// The position of the first message that is here.
    pub(crate) first_index: usize,
    /// The messages.
    pub(crate) messages: Vec<Message>,
    /// The metadata, without the history in the provider's own form.
    pub(crate) metadata: Map,
}

/// A session in which words were found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    #[serde(flatten)]
    pub(crate) summary: SessionSummary,
    /// The position of the message.
    pub(crate) message_index: usize,
    /// Text around the words.
    pub(crate) snippet: String,
}

impl From<Hit> for Found {
    fn from(hit: Hit) -> Self {
        let Hit { head, message_index, snippet } = hit;
        Self { summary: head.into(), message_index, snippet }
    }
}

/// What to make a session of.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The agent; the default one if it is not said.
    pub(crate) agent_id: Option<String>,
    /// The id; a fresh one if it is not said.
    pub(crate) session_id: Option<String>,
    /// Metadata to begin with.
    #[serde(default)]
    pub(crate) metadata: Map,
}

/// What to change in a session.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionPatch {
    /// Another title.
    pub(crate) title: Option<String>,
    /// Entries that take the place of others.
    #[serde(default)]
    pub(crate) metadata: Map,
    /// Settings of this session; `null` removes one.
    pub(crate) overrides: Option<Map>,
}

/// Which sessions to list.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSessions {
    /// Only those whose title contains this text.
    pub(crate) query: Option<String>,
    /// Only those of this agent.
    pub(crate) agent_id: Option<String>,
    /// At most so many; 50 if it is not said, and 1000 at most.
    pub(crate) limit: Option<usize>,
    /// Goes on where a page ended.
    pub(crate) cursor: Option<String>,
    /// Also those in which an agent worked for another one.
    #[serde(default)]
    pub(crate) sub_sessions: bool,
    /// Which of those that were put away; none of them if it is not said.
    #[serde(default)]
    pub(crate) archived: PutAway,
}

/// Which sessions that were put away to list.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PutAway {
    /// None of them.
    #[default]
    Without,
    /// Them as well.
    With,
    /// Only them.
    Only,
}

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// The words, all of which have to occur in a message.
    pub(crate) query: String,
    /// At most so many sessions; 20 if it is not said.
    pub(crate) limit: Option<usize>,
}

/// Which requests of a session to list.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRequests {
    /// At most so many; 20 if it is not said, and 100 at most.
    pub(crate) limit: Option<usize>,
}

/// Which messages of a session to load.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSession {
    /// Only the last so many messages; all if it is not said.
    pub(crate) last: Option<usize>,
}

/// Which events to follow.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowEvents {
    /// Only those of this session.
    pub(crate) session_id: Option<String>,
    /// Those after this number, and then what happens; without it only what happens.
    pub(crate) after: Option<u64>,
    /// Whether fragments of messages and the progress of tools are among them; they are if it is
    /// not said.
    pub(crate) fragments: Option<bool>,
}

/// Where to go on.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    /// Events after this number; all if it is not said.
    pub(crate) after: Option<u64>,
}

/// A session that something is about.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSession {
    /// The session.
    pub(crate) session_id: Option<String>,
}

/// Where to copy a session to.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    /// The last message to keep; all if it is not said. Negative numbers count from the end.
    pub(crate) upto_index: Option<i64>,
    /// The id of the copy; a fresh one if it is not said.
    pub(crate) session_id: Option<String>,
    /// The revision of the session that was looked at; if messages changed since, it is a conflict.
    pub(crate) revision: Option<u64>,
}

/// Where to try again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBranch {
    /// A message of the user, or an answer to it. Negative numbers count from the end.
    pub(crate) index: i64,
    /// The id of the branch; a fresh one if it is not said.
    pub(crate) session_id: Option<String>,
    /// The revision of the session that was looked at; if messages changed since, it is a conflict.
    pub(crate) revision: Option<u64>,
}

/// A session that goes on from before a message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MadeBranch {
    /// The new session, which ends before the message.
    pub(crate) session: SessionSummary,
    /// The message of the user that stood there, to be sent again or in other words.
    pub(crate) message: Message,
}

/// A message whose tries are asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AtMessage {
    /// The position of the message. Negative numbers count from the end.
    pub(crate) index: i64,
}

/// The tries of one place.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tries {
    /// The sessions, in the order in which they were made.
    pub(crate) sessions: Vec<SessionSummary>,
    /// Which of them this session belongs to, if it is still there.
    pub(crate) current: Option<usize>,
    /// The position of the user's message.
    pub(crate) message_index: usize,
}

/// Which messages to keep.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slice {
    /// The first to keep. Negative numbers count from the end.
    pub(crate) start: Option<i64>,
    /// The first after them.
    pub(crate) end: Option<i64>,
    /// Positions to remove.
    #[serde(default)]
    pub(crate) remove_indices: Vec<i64>,
    /// The revision of the session that was looked at; if messages changed since, it is a conflict.
    pub(crate) revision: Option<u64>,
}

/// Another session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Join {
    /// The session whose messages are appended.
    pub(crate) session_id: String,
}

/// Another agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// The agent.
    pub(crate) agent_id: String,
}

/// What hooks are told.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    /// Data for hooks. Keys that belong to others are ignored.
    #[serde(default)]
    pub(crate) context: Map,
}

/// What actions of a lifecycle did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LifecycleResults {
    /// The actions that ran, in their order.
    pub(crate) results: Vec<orlop_types::ActionRecord>,
    /// The session now.
    pub(crate) session: SessionSummary,
}

/// A message to add: as messages are everywhere, and where it goes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewMessage {
    /// The message it comes after: -1 is the start; the end if it is not said.
    #[serde(default)]
    pub(crate) after_index: Option<i64>,
    /// The revision of the session that was looked at; if messages changed since, it is a conflict.
    #[serde(default)]
    pub(crate) revision: Option<u64>,
    /// The message: `role`, `content`, and what else it has.
    #[serde(flatten)]
    pub(crate) message: Map,
}

/// Another content of a message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewContent {
    /// The content.
    pub(crate) content: Value,
    /// The revision of the session that was looked at; if messages changed since, it is a conflict.
    pub(crate) revision: Option<u64>,
}

/// A change that can be undone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Change {
    /// The change.
    pub(crate) id: String,
    /// The plugin whose action made it.
    pub(crate) plugin: String,
    /// The action.
    pub(crate) action: String,
    /// When, RFC 3339.
    pub(crate) at: String,
    /// Whether it has been undone.
    pub(crate) undone: bool,
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

/// An agent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentView {
    /// The agent.
    pub(crate) agent_id: String,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// Its provider.
    pub(crate) provider: Option<String>,
    /// Its model.
    pub(crate) model: Option<String>,
    /// Whether it is used where none is named.
    pub(crate) default: bool,
    /// Whether it can be used; one that cannot lacks something in the configuration.
    pub(crate) usable: bool,
}

/// The names of plugins, by kind.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PluginNames {
    /// The provider in use.
    pub(crate) providers: Vec<String>,
    /// Its enabled extensions.
    pub(crate) extensions: Vec<String>,
    /// The enabled features, in the order they run.
    pub(crate) features: Vec<String>,
    /// The enabled tool plugins.
    pub(crate) tools: Vec<String>,
}

/// A text to begin with.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TemplateView {
    /// The plugin.
    pub(crate) plugin: String,
    /// The text.
    pub(crate) text: String,
}

/// An action to run.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunAction {
    /// The session it is about.
    pub(crate) session_id: Option<String>,
    /// Its inputs.
    #[serde(default)]
    pub(crate) params: Map,
    /// Data for hooks. Keys that belong to others are ignored.
    #[serde(default)]
    pub(crate) context: Map,
}

/// What came of an action.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionOutcome {
    /// The plugin.
    pub(crate) plugin: String,
    /// The action.
    pub(crate) action_id: String,
    /// What it says: `status`, `message`, `display`, `mutations`, `ui_effects` and more.
    pub(crate) result: Map,
    /// By which the change of the session can be undone, if there was one.
    pub(crate) change_id: Option<String>,
}

/// What an action would do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionPreview {
    /// What it would say.
    pub(crate) result: Map,
    /// What would change: `start`, `removed`, `added`, `metadata`.
    pub(crate) change: Value,
}

/// What somebody has typed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    /// The agent it is for.
    pub(crate) agent_id: String,
    /// The session it is for.
    pub(crate) session_id: Option<String>,
    /// The text before the cursor.
    pub(crate) text: String,
}

/// A completion that somebody accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accepted {
    /// The agent it is for.
    pub(crate) agent_id: String,
    /// The session it is for.
    pub(crate) session_id: Option<String>,
    /// The text after it was applied.
    pub(crate) text: String,
    /// The completion.
    pub(crate) completion: Map,
}

/// What takes the place of a completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Applied {
    /// The text; empty if the completion stays as it is.
    pub(crate) text: String,
}

/// A file that is kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AssetView {
    /// The asset.
    pub(crate) id: String,
    /// The session it belongs to and is deleted with.
    pub(crate) session_id: Option<String>,
    /// The name its user gave it.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) media_type: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of its bytes, in hex.
    pub(crate) sha256: String,
    /// When it was stored, RFC 3339.
    pub(crate) created_at: String,
}

impl From<AssetRecord> for AssetView {
    fn from(record: AssetRecord) -> Self {
        Self {
            id: record.id,
            session_id: record.session,
            name: record.name,
            media_type: record.media_type,
            size: record.size,
            sha256: record.sha256,
            created_at: rfc3339(record.created),
        }
    }
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Status {
    /// `ok`, `ready`, or what is missing.
    pub(crate) status: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_plugin_adds_cannot_stand_in_for_what_a_session_has() {
        let mut plugins: Map =
            OWN_FIELDS.iter().map(|name| ((*name).to_owned(), json!(1))).collect();
        plugins.insert("badge".to_owned(), json!("new"));
        let summary = SessionSummary::from(Summary {
            session_id: "s".to_owned(),
            agent_id: None,
            title: None,
            created_at: String::new(),
            updated_at: String::new(),
            revision: 1,
            message_count: 0,
            pinned: false,
            archived: false,
            branch_of: Some("root".to_owned()),
            plugins,
        });
        let found = Found { summary, message_index: 3, snippet: "x".to_owned() };
        let text = serde_json::to_string(&found).unwrap();
        assert!(crate::unique_keys::check(&text).is_ok(), "{text}");
        let shown: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&shown["session_id"], &shown["badge"]), (&json!("s"), &json!("new")));
    }
}
