//! Operations of the application, `app.*`. Most need the grant of their name.

use super::operation::operations;
use super::{GivenSession, LentSession, Name};
#[cfg(feature = "schema")]
use crate::action::ActionDefinition;
use crate::json::{Map, Value};
use serde::Serialize;

/// A session with its agent and that agent's settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loaded {
    /// The agent of the session.
    pub agent_id: String,
    /// Its settings, without what is secret.
    pub config: Map,
    /// The session.
    pub session: LentSession,
}

/// One page of sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionPage {
    /// What is known of each.
    pub sessions: Vec<Map>,
    /// For the next page; `null` at the end.
    pub cursor: Option<String>,
}

/// A lock that the call holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldLock {
    /// Its name.
    pub lock: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssetBytes {
    /// What is known of it.
    pub asset: Map,
    /// Its bytes as base64.
    pub data: String,
}

operations! {
    /// A stored session; `null` if there is none.
    "load_session": LoadSession {
        /// Which.
        session_id: Name,
    } -> Option<Loaded>;

    /// Stores a session, and gives it as it was stored.
    "save_session": SaveSession {
        /// The session.
        session: GivenSession,
    } -> LentSession;

    /// A new stored session.
    "create_session": CreateSession {
        /// Whose; without it, of the usual agent.
        agent_id: Option<String>,
        /// Its id; without it, a new one.
        session_id: Option<String>,
        /// Its metadata.
        metadata: Option<Map>,
    } -> Loaded;

    /// A stored copy of a session, up to one of its messages.
    "fork_session": ForkSession {
        /// Which.
        session_id: Name,
        /// The last message; without it, all.
        upto_index: Option<i64>,
        /// The id of the copy; without it, a new one.
        new_session_id: Option<String>,
    } -> Loaded;

    /// Deletes a stored session.
    "delete_session": DeleteSession {
        /// Which.
        session_id: Name,
        /// Why, for those who look later.
        reason: Option<String>,
    } -> ();

    /// The stored sessions, page by page.
    "list_sessions": ListSessions {
        /// How many at most.
        limit: Option<i64>,
        /// Where the page before ended.
        cursor: Option<String>,
        /// What their titles have in them.
        search: Option<String>,
    } -> SessionPage;

    /// Gives a session to another agent; nothing is stored.
    "update_agent": UpdateAgent {
        /// The agent.
        agent_id: Name,
        /// The session.
        session: GivenSession,
    } -> Loaded;

    /// Sends a request with the whole loop of tools, and gives its events; `null` if they were told as they came.
    "send_request": SendRequest {
        /// The session.
        session: GivenSession,
        /// Another agent than that of the session, which needs the grant `update_agent`.
        agent_id: Option<String>,
        /// What a person would say: a text, or a message.
        message: Option<Value>,
        /// Settings for this request alone.
        overrides: Option<Map>,
        /// Whether the session is stored.
        persist: Option<bool>,
    } -> Option<Vec<Map>>;

    /// Shows an event to all who listen, and gives it as it was published.
    "publish_event": PublishEvent {
        /// The event; it has a `type`.
        event: Option<Map>,
    } -> Map;

    /// Takes the lock of a session. It is given back with the end of the call, or before.
    "acquire_session_lock": AcquireSessionLock {
        /// Which.
        session_id: Name,
    } -> HeldLock;

    /// Gives a lock back.
    "release_session_lock": ReleaseSessionLock {
        /// Its name.
        lock: Name,
    } -> ();

    /// The actions that people can run.
    "list_actions": ListActions {
        /// Those of this session as well.
        session_id: Option<String>,
    } -> Vec<ActionDefinition>;

    /// Runs an action, and gives its result.
    "execute_action": ExecuteAction {
        /// The plugin.
        plugin: Name,
        /// The action.
        action_id: Name,
        /// Its inputs.
        params: Option<Map>,
        /// The session it runs on.
        session_id: Option<String>,
    } -> Map;

    /// What is known of the files of a session.
    "list_assets": ListAssets {
        /// Which.
        session_id: Name,
    } -> Vec<Map>;

    /// A file, up to 20 MiB.
    "read_asset": ReadAsset {
        /// Which.
        asset_id: Name,
    } -> AssetBytes;

    /// Keeps a file, and gives what is known of it.
    "put_asset": PutAsset {
        /// Its name.
        name: Name,
        /// Its bytes as base64.
        data: Option<String>,
        /// What it is, for instance `text/plain`.
        media_type: Option<String>,
        /// The session it belongs to; without it, none.
        session_id: Option<String>,
    } -> Map;

    /// What `set_state` kept, or `null`. Needs no grant.
    "get_state": GetState {
        /// The session it is kept with; without it, the user.
        session_id: Option<String>,
    } -> Value;

    /// Keeps a value of the plugin. Needs no grant.
    "set_state": SetState {
        /// The session it is kept with; without it, the user.
        session_id: Option<String>,
        /// Any value; `null` forgets it.
        value: Option<Value>,
    } -> ();
}
