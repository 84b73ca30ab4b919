//! Sessions: what is shown of them, and what is done with them.

use orlop_app::Summary;
use orlop_app::store::{Head, Hit};
use orlop_core::{Map, Message, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Which messages of a session to load.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSession {
    /// Only the last so many messages; all if it is not said.
    pub(crate) last: Option<usize>,
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
