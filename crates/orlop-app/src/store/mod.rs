//! What the application keeps, and the contract of the places it is kept in.
//!
//! A store never calls a plugin and knows no rules of the application. Its one write for turns and
//! sessions is [`Store::commit`]: everything that belongs to one step becomes durable together, or
//! not at all, and only for the holder of the session's lease.
//!
//! Lists (messages, native items) are written as what they are made of: pieces of what is stored
//! already, and new items. So appending writes the new items, an edit in the middle writes the
//! edited ones, and a fork writes none.

use crate::scope::Scope;
use futures::future::BoxFuture;
use orlop_core::types::SessionJson;
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Map, NativeEnd, Result, Value};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// What a store answers with, some time.
pub type Stored<'a, T> = BoxFuture<'a, Result<T>>;

/// A place where sessions, turns, events and leases are kept. Times are milliseconds since 1970.
pub trait Store: Send + Sync + 'static {
    /// A whole session.
    fn load<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<StoredSession>>;

    /// What is known of a session without reading its messages.
    fn head<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Head>>;

    /// The same with the session's metadata.
    fn outline<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Outline>>;

    /// A session's messages in `range` (cut to what there is), without native history.
    fn messages<'a>(
        &'a self,
        scope: &'a Scope,
        id: &'a str,
        range: Range<usize>,
    ) -> Stored<'a, Option<Vec<orlop_core::Message>>>;

    /// Sessions, the most recently changed first.
    fn list<'a>(&'a self, scope: &'a Scope, query: &'a ListQuery) -> Stored<'a, Page>;

    /// Messages in which all words of a query occur, best first; one hit a session.
    fn search<'a>(&'a self, scope: &'a Scope, query: &'a SearchQuery) -> Stored<'a, Vec<Hit>>;

    /// Makes one step durable. Fails with a conflict, and changes nothing, if the lease is not the
    /// newest one, if the session is not at the expected revision, or if a new turn's id is taken.
    fn commit<'a>(&'a self, scope: &'a Scope, commit: Commit) -> Stored<'a, Committed>;

    /// Removes a session with everything that belongs to it, its turns and events included, and
    /// writes `events`. `None`, and nothing written, if there is no such session.
    fn delete<'a>(
        &'a self,
        scope: &'a Scope,
        lease: &'a Lease,
        events: Vec<NewEvent>,
    ) -> Stored<'a, Option<Committed>>;

    /// Takes the lease of a session (which need not exist) unless another owner has it.
    fn acquire<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        owner: &'a str,
        time: Duration,
    ) -> Stored<'a, Acquired>;

    /// Keeps a lease for another while; `false` if it is lost.
    fn renew<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, time: Duration) -> Stored<'a, bool>;

    /// Gives a lease back; one that is lost already is no error.
    fn release<'a>(&'a self, scope: &'a Scope, lease: &'a Lease) -> Stored<'a, ()>;

    /// Takes a lease away from an owner that is known to be gone; `false` if it is not theirs.
    fn revoke<'a>(&'a self, scope: &'a Scope, session: &'a str, owner: &'a str)
    -> Stored<'a, bool>;

    /// A turn by the id of its request.
    fn turn<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Option<TurnRecord>>;

    /// The turns of a session, or of all, the newest first.
    fn turns<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
        limit: usize,
    ) -> Stored<'a, Vec<TurnRecord>>;

    /// Turns of all tenants that are not settled and whose session nobody has a lease on.
    fn abandoned(&self, limit: usize) -> Stored<'_, Vec<(Scope, TurnRecord)>>;

    /// Leaves a message for whoever runs the turn: a cancellation, a decision.
    fn signal<'a>(&'a self, scope: &'a Scope, request: &'a str, signal: Value) -> Stored<'a, ()>;

    /// Takes the messages left for a turn, oldest first.
    fn take_signals<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Value>>;

    /// Writes events that belong to no step, and reserves numbers behind them.
    fn publish<'a>(
        &'a self,
        scope: &'a Scope,
        events: Vec<NewEvent>,
        reserve: u64,
    ) -> Stored<'a, Numbers>;

    /// Durable events with a number above `after`, oldest first.
    fn events<'a>(&'a self, scope: &'a Scope, query: &'a EventQuery) -> Stored<'a, Vec<Event>>;

    /// The trace of a request, in order.
    fn trace<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Map>>;

    /// What a plugin keeps with a session, or under [`OF_USER`] with the user.
    fn plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
    ) -> Stored<'a, Option<PluginState>>;

    /// Sets what a plugin keeps with a session if it is still at version `expected` (0: there is
    /// none); `None` removes it. Gives the new version, or `None` if somebody else was first.
    /// A session that does not exist is not found; [`OF_USER`] always is.
    fn set_plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
        expected: u64,
        value: Option<Value>,
    ) -> Stored<'a, Option<u64>>;

    /// Remembers an asset, or replaces what is remembered of it.
    fn put_asset<'a>(&'a self, scope: &'a Scope, asset: &'a AssetRecord) -> Stored<'a, ()>;

    /// An asset by id.
    fn asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<AssetRecord>>;

    /// The assets of a session, or those of none, oldest first.
    fn assets<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
    ) -> Stored<'a, Vec<AssetRecord>>;

    /// Forgets an asset; `false` if there is none.
    fn delete_asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, bool>;

    /// Keeps a link by which others may read a session; a session that does not exist is not found.
    fn put_share<'a>(&'a self, scope: &'a Scope, share: &'a ShareRecord) -> Stored<'a, ()>;

    /// The links to a session, oldest first.
    fn shares<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ShareRecord>>;

    /// A link by its id, and whose it is. Whoever follows a link does not say for whom they act.
    fn share<'a>(&'a self, id: &'a str) -> Stored<'a, Option<(Scope, ShareRecord)>>;

    /// Forgets a link to a session; `false` if there is none.
    fn delete_share<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, bool>;

    /// The changes that can be undone, newest first.
    fn changes<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ChangeNote>>;

    /// A change with the session before and after it.
    fn change<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, Option<StoredChange>>;

    /// Whether the store can be read and written.
    fn check(&self) -> Stored<'_, StoreHealth>;
}

/// A session as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    /// What is known of it.
    pub head: Head,
    /// The session.
    pub session: SessionJson,
}

/// A session as it is stored, without its messages. Reading it costs the same however many there
/// are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// What is known of it.
    pub head: Head,
    /// Its metadata.
    pub metadata: Map,
    /// Its native history.
    pub native: NativeOutline,
}

/// What is known of native history without reading it.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum NativeOutline {
    /// There is none.
    #[default]
    Absent,
    /// It lay side by side with the messages when it was written.
    SideBySide(NativeEnd),
    /// It has to be read with the messages to know more of it.
    Other,
}

/// The integrity value of native history that was cut along with its messages and nobody read
/// since: it belongs to them, and whoever reads them makes the value.
pub const CUT_UNREAD: &str = "cut";

/// What is known of a session without its messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The session.
    pub id: String,
    /// Its agent.
    pub agent: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it was first stored.
    pub created: i64,
    /// When it last changed.
    pub updated: i64,
    /// Grows by one with every change.
    pub revision: u64,
    /// The revision in which its messages last changed.
    #[serde(default)]
    pub messages_revision: u64,
    /// How many messages it has.
    pub message_count: usize,
    /// Whether its user wants it at the top (`pinned` in its metadata).
    #[serde(default)]
    pub pinned: bool,
    /// Whether its user put it away (`archived` in its metadata).
    #[serde(default)]
    pub archived: bool,
    /// Of a branch, the session that all its branches come from (`branch_of` in its metadata).
    #[serde(default)]
    pub branch_of: Option<String>,
}

/// Which of the sessions that their user put away to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Archived {
    /// None of them.
    #[default]
    Without,
    /// All of them, and the others.
    With,
    /// Them alone.
    Only,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those whose title contains this text, whatever its case.
    pub title: Option<String>,
    /// Only those whose metadata has this text under this key.
    pub metadata: Option<(String, String)>,
    /// Also those that work for another session (`parent_session_id` in their metadata).
    pub sub_sessions: bool,
    /// Which of those that were put away.
    pub archived: Archived,
    /// Only those that are pinned, or only those that are not.
    pub pinned: Option<bool>,
    /// At most so many; 0 means 50, and 1000 is the most.
    pub limit: usize,
    /// Goes on where a page ended.
    pub cursor: Option<String>,
}

/// Which messages to find.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchQuery {
    /// The words that have to be in a message, all of them.
    pub text: String,
    /// Also in sessions that work for another one (`parent_session_id` in their metadata).
    pub sub_sessions: bool,
    /// At most so many sessions.
    pub limit: usize,
}

impl SearchQuery {
    /// Looks for the words in sessions of people, and not in those that work for another one.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self { text: text.into(), sub_sessions: false, limit }
    }
}

/// A page of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The sessions.
    pub heads: Vec<Head>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A message that was searched for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The session.
    pub head: Head,
    /// The position of the message.
    pub message_index: usize,
    /// Text around the words found, on one line.
    pub snippet: String,
}

/// Everything that one step changes.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The lease of the session.
    pub lease: Lease,
    /// What changes in the session.
    pub session: Option<SessionWrite>,
    /// The turn as it is now.
    pub turn: Option<TurnWrite>,
    /// What happened.
    pub events: Vec<NewEvent>,
    /// How many numbers to keep free behind the events, for fragments that are not stored.
    pub reserve: u64,
    /// What hooks did, for the request the turn belongs to: JSON objects, one a line.
    pub trace: String,
    /// Keeps the session before and after, so that the change can be undone.
    pub undo: Option<ChangeNote>,
    /// The id of a change that this one takes back; it is marked as undone.
    pub undoes: Option<String>,
}

impl Commit {
    /// A step that changes nothing yet.
    pub fn new(lease: Lease) -> Self {
        Self {
            lease,
            session: None,
            turn: None,
            events: Vec::new(),
            reserve: 0,
            trace: String::new(),
            undo: None,
            undoes: None,
        }
    }
}

/// What a commit gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Committed {
    /// The session's revision now; 0 if the commit did not touch it.
    pub revision: u64,
    /// The numbers of the events.
    pub numbers: Numbers,
}

/// Sequence numbers: the events have those from `first` on, one each, and those of `reserved` are
/// free for fragments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    /// The number of the first event.
    pub first: u64,
    /// Numbers nobody else will use.
    pub reserved: Range<u64>,
}

/// What changes in a session. `None` leaves a part as it is.
#[derive(Debug, Clone, Default)]
pub struct SessionWrite {
    /// The revision the change is made to; 0 creates the session.
    pub expected: u64,
    /// For a new session: the stored session whose lists [`Segment::Kept`] means, whose native
    /// history [`NativeWrite::Copy`] means, and whose plugin state is copied.
    pub from: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// All metadata but native history.
    pub metadata: Option<Map>,
    /// The messages.
    pub messages: Option<Vec<Segment>>,
    /// Native history.
    pub native: NativeWrite,
}

/// What changes in native history.
#[derive(Debug, Clone, Default)]
pub enum NativeWrite {
    /// Nothing.
    #[default]
    Keep,
    /// For a new session: it is that of the session it is made from.
    Copy,
    /// There is none any more.
    Drop,
    /// It is this.
    Set {
        /// The items; `None` leaves them.
        items: Option<Vec<Segment>>,
        /// The integrity value.
        seal: Option<String>,
        /// The format.
        format: Option<String>,
        /// Whether it is sealed to the messages and lies side by side with them.
        side_by_side: bool,
    },
}

/// A part of a list: what is stored already, or new items.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// These positions of the stored list.
    Kept(Range<usize>),
    /// Items that are not stored yet.
    New(Vec<NewItem>),
}

/// A message or a native item to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewItem {
    /// Its JSON text.
    pub body: String,
    /// The text it can be found by; empty for native items.
    pub search: String,
}

/// The right to change a session. A later lease of the same session has a greater token.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// Who holds it.
    pub owner: String,
    /// Grows with every lease of the session.
    pub token: u64,
}

/// What came of asking for a lease.
#[derive(Debug, Clone, PartialEq)]
pub enum Acquired {
    /// It is ours.
    Lease(Lease),
    /// Somebody else has it, at least for so long unless they give it back.
    Held {
        /// Who.
        owner: String,
        /// For how long.
        remaining: Duration,
    },
}

/// A turn as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// The id of the request.
    pub request: String,
    /// The session.
    pub session: String,
    /// The state of the turn's machine, without the calls of its step.
    pub state: Value,
    /// The calls of its step, in order.
    pub calls: Vec<Value>,
    /// Whether it is over.
    pub settled: bool,
    /// When it began.
    pub created: i64,
    /// When it last changed.
    pub updated: i64,
}

/// A turn to store.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnWrite {
    /// The id of the request.
    pub request: String,
    /// Whether this is its first state: then the id must not be taken.
    pub new: bool,
    /// The state of the turn's machine, without the calls of its step.
    pub state: Value,
    /// What changes in the calls of its step.
    pub calls: CallsWrite,
    /// Whether it is over.
    pub settled: bool,
}

/// What changes in the stored calls of a turn. Each is stored for itself, so that one that ends
/// costs the same however many there are.
#[derive(Debug, Clone, PartialEq)]
pub enum CallsWrite {
    /// Those at these positions; the others stay as they are.
    Changed(Vec<(usize, Value)>),
    /// They are these, and those that were stored before are gone.
    All(Vec<Value>),
}

impl Default for CallsWrite {
    fn default() -> Self {
        Self::Changed(Vec::new())
    }
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The session.
    pub session: Option<String>,
    /// The request.
    pub request: Option<String>,
    /// When it happened, RFC 3339.
    pub at: String,
    /// What happened.
    pub kind: EventKind,
}

/// Which events to read.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of this request.
    pub request: Option<String>,
    /// Only those with a greater number.
    pub after: u64,
    /// At most so many; 0 means 1000.
    pub limit: usize,
    /// Where there are more, the newest of them and not the oldest.
    pub newest: bool,
}

/// The session under which a plugin keeps what belongs to the user. No session has this id.
pub const OF_USER: &str = "";

/// What a plugin keeps with a session or a user.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginState {
    /// The value.
    pub value: Value,
    /// Grows with every change.
    pub version: u64,
}

/// What is known of an asset; its bytes are elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AssetRecord {
    /// The asset.
    pub id: String,
    /// The session it belongs to and is deleted with.
    pub session: Option<String>,
    /// The name its user gave it. Never part of a path.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// When it was stored.
    pub created: i64,
}

/// A link by which others may read a session. What makes it work is not kept, only a hash of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShareRecord {
    /// The link; unique among those of all tenants.
    pub id: String,
    /// The session it leads to and is deleted with.
    pub session: String,
    /// The SHA-256 of its secret, in hex.
    pub secret_hash: String,
    /// When it was made.
    pub created: i64,
}

/// Who made a change that can be undone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeNote {
    /// The change.
    pub id: String,
    /// The plugin whose action made it.
    pub plugin: String,
    /// The action.
    pub action: String,
    /// When.
    pub at: i64,
    /// Whether it has been undone.
    pub undone: bool,
}

/// A change with the session before and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChange {
    /// Who made it.
    pub note: ChangeNote,
    /// The session before.
    pub before: SessionJson,
    /// The session after.
    pub after: SessionJson,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreHealth {
    /// What kind of store it is and where, without secrets.
    pub name: String,
    /// The version of its schema.
    pub schema_version: u32,
    /// How many sessions it has.
    pub sessions: u64,
}
