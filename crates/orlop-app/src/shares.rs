//! Links by which others may read a session without being anybody here.
//!
//! A link is an id and a secret. The id finds the record, the secret is compared with the hash that
//! is kept of it. Whatever is wrong with a link, whoever follows it hears the same.

use crate::application::Application;
use crate::events::Follow;
use crate::scope::{Scope, check_id};
use crate::store::ShareRecord;
use crate::time::{now, now_ms, rfc3339};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Map, Message, Partial, Result, Role, Value};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::time::{Instant, timeout};

/// The most links to one session.
const MAX_SHARES: usize = 50;

/// The most messages of one page, and how many there are if nobody says.
const MAX_PAGE: usize = 500;
const PAGE: usize = 100;

/// How long somebody who follows a link may go on after it was taken back elsewhere.
const RECHECK: Duration = Duration::from_secs(10);

/// What is shown of a message's metadata. The rest is the business of its user.
const SHOWN: [&str; 7] = [
    "tool_calls",
    "tool_call_id",
    "tool_name",
    "tool_error",
    "tool_denied",
    "interrupted",
    "duration_ms",
];

/// A link to a session, without what makes it work.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// What it is called when it is taken back.
    pub id: String,
    /// When it was made, RFC 3339.
    pub created_at: String,
}

/// A link that was just made. Nobody can tell the link afterwards; debugging does not show it.
#[derive(Clone)]
pub struct NewShare {
    /// What is kept of it.
    pub share: Share,
    /// What whoever has it may read the session by.
    pub link: String,
}

impl fmt::Debug for NewShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewShare({})", self.share.id)
    }
}

/// A session that somebody reads by a link.
#[derive(Clone)]
pub struct Shared {
    /// Acts for who made the link.
    app: Application,
    share: String,
    session: String,
}

/// What a link shows of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPage {
    /// The title of the session.
    pub title: Option<String>,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
    /// Grows with every change.
    pub revision: u64,
    /// How many messages it has, with those that are not shown.
    pub message_count: usize,
    /// The position of the first message that was looked at.
    pub first_index: usize,
    /// The messages that are shown, each with its position.
    pub messages: Vec<(usize, Message)>,
}

impl Application {
    /// Makes a link by which others may read a session of this scope.
    pub async fn share_session(&self, session_id: &str) -> Result<NewShare> {
        let app = self.clone().changing("share a session")?;
        check_id("session", session_id)?;
        let store = &app.shared.store;
        if store.shares(&app.scope, session_id).await?.len() >= MAX_SHARES {
            return Err(Error::conflict(format!(
                "there are {MAX_SHARES} links to session \"{session_id}\" already; take one back"
            )));
        }
        let secret = [uuid::Uuid::new_v4().into_bytes(), uuid::Uuid::new_v4().into_bytes()];
        let secret = URL_SAFE_NO_PAD.encode(secret.concat());
        let record = ShareRecord {
            id: uuid::Uuid::new_v4().simple().to_string(),
            session: session_id.to_owned(),
            secret_hash: hash(&secret),
            created: now_ms(),
        };
        store.put_share(&app.scope, &record).await?;
        let link = format!("{}.{secret}", record.id);
        Ok(NewShare { share: record.into(), link })
    }

    /// The links to a session, oldest first.
    pub async fn shares(&self, session_id: &str) -> Result<Vec<Share>> {
        check_id("session", session_id)?;
        let records = self.shared.store.shares(&self.scope, session_id).await?;
        Ok(records.into_iter().map(Share::from).collect())
    }

    /// Takes a link back: nobody can read by it any more.
    pub async fn revoke_share(&self, session_id: &str, share_id: &str) -> Result<()> {
        let app = self.clone().changing("take a link back")?;
        check_id("session", session_id)?;
        check_id("share", share_id)?;
        match app.shared.store.delete_share(&app.scope, session_id, share_id).await? {
            true => Ok(()),
            false => Err(Error::not_found(format!(
                "there is no link \"{share_id}\" to session \"{session_id}\"; it may be taken back already"
            ))),
        }
    }

    /// The session that a link leads to, whoever follows it.
    pub async fn shared(&self, link: &str) -> Result<Shared> {
        let (id, secret) = link.split_once('.').ok_or_else(no_such_link)?;
        check_id("share", id).map_err(|_| no_such_link())?;
        let found = self.shared.store.share(id).await?;
        let (scope, record) = found.ok_or_else(no_such_link)?;
        let same = record.secret_hash.as_bytes().ct_eq(hash(secret).as_bytes());
        if !bool::from(same) {
            return Err(no_such_link());
        }
        Ok(Shared { app: self.for_scope(scope), share: record.id, session: record.session })
    }
}

impl Shared {
    /// Whose session it is.
    pub fn scope(&self) -> &Scope {
        self.app.scope()
    }

    /// What the link is called by who made it.
    pub fn share_id(&self) -> &str {
        &self.share
    }

    /// The last messages, or the last before position `before`. Costs what it gives.
    pub async fn page(&self, last: Option<usize>, before: Option<usize>) -> Result<SharedPage> {
        let (store, scope) = (self.app.store(), self.app.scope());
        let head = store.head(scope, &self.session).await?.ok_or_else(no_such_link)?;
        let end = before.unwrap_or(usize::MAX).min(head.message_count);
        let first_index = end.saturating_sub(last.unwrap_or(PAGE).clamp(1, MAX_PAGE));
        let messages = store.messages(scope, &self.session, first_index..end).await?;
        let messages = messages.ok_or_else(no_such_link)?.into_iter().enumerate();
        let messages =
            messages.filter_map(|(at, message)| Some((first_index + at, shown(message)?)));
        Ok(SharedPage {
            title: head.title,
            updated_at: rfc3339(head.updated),
            revision: head.revision,
            message_count: head.message_count,
            first_index,
            messages: messages.collect(),
        })
    }

    /// What happens from now on: `partial` with the text that an answer grows by, and `updated`
    /// with `revision` and `message_count` when there is more to read. The first event is one of
    /// those. It ends when the link is taken back.
    pub async fn follow(self) -> Result<BoxStream<'static, Arc<Event>>> {
        let follow = Follow { session_id: Some(self.session.clone()), after: None };
        let events = self.app.follow_events(follow).await?;
        let state = Following { shared: self, events, checked: None };
        Ok(futures::stream::unfold(state, |mut state| async move {
            let event = state.next().await?;
            Some((event, state))
        })
        .boxed())
    }

    async fn is_there(&self) -> bool {
        matches!(self.app.store().share(&self.share).await, Ok(Some(_)))
    }
}

struct Following {
    shared: Shared,
    events: BoxStream<'static, Arc<Event>>,
    /// When the link was last looked for.
    checked: Option<Instant>,
}

impl Following {
    async fn next(&mut self) -> Option<Arc<Event>> {
        if self.checked.is_none() {
            return self.updated(0).await;
        }
        loop {
            let event = timeout(RECHECK, self.events.next()).await;
            let is_fresh = self.checked.is_some_and(|at| at.elapsed() < RECHECK);
            if !is_fresh && !self.check().await {
                return None;
            }
            let Ok(event) = event else { continue };
            let event = event?;
            match &event.kind {
                EventKind::Partial { message } if !message.content.is_empty() => {
                    let message = Partial::text(message.content.clone());
                    return Some(told(event.seq, EventKind::Partial { message }));
                }
                EventKind::Partial { .. } | EventKind::ToolPartial { .. } => {}
                _ => return self.updated(event.seq).await,
            }
        }
    }

    async fn check(&mut self) -> bool {
        self.checked = Some(Instant::now());
        self.shared.is_there().await
    }

    /// How far the session is; nothing if the link, or the session, is gone.
    async fn updated(&mut self, seq: u64) -> Option<Arc<Event>> {
        if !self.check().await {
            return None;
        }
        let Shared { app, session, .. } = &self.shared;
        let head = app.store().head(app.scope(), session).await.ok()??;
        let now = json!({
            "type": "updated", "revision": head.revision, "message_count": head.message_count,
        });
        Some(told(seq, EventKind::Other(now.as_object().cloned()?)))
    }
}

/// An event without the ids of what it is about.
fn told(seq: u64, kind: EventKind) -> Arc<Event> {
    Arc::new(Event { seq, at: now(), session_id: None, request_id: None, kind })
}

/// A message as others see it; instructions to the model are not for them.
fn shown(message: Message) -> Option<Message> {
    if message.role() == Role::System {
        return None;
    }
    let metadata = message.metadata();
    let kept = metadata.iter().filter(|(key, _)| SHOWN.contains(&key.as_str()));
    let mut kept: Map = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    // Which plugin it was is not shown, but that it broke: then it left no schema.
    if metadata.contains_key("tool_plugin") && !metadata.contains_key("tool_schema") {
        kept.insert("tool_error".to_owned(), true.into());
    }
    if let Some(names) = metadata.get("attachments").and_then(file_names) {
        kept.insert("attachments".to_owned(), names);
    }
    let shown = Message::new(message.role(), message.content().clone());
    Some(shown.with_multipart_content(message.multipart_content().to_vec()).with_metadata(kept))
}

/// The names of attached files, without the ids they are kept by.
fn file_names(attachments: &Value) -> Option<Value> {
    let name = |file: &Value| file.as_str().or_else(|| file.get("name")?.as_str()).map(Value::from);
    Some(attachments.as_array()?.iter().filter_map(name).collect())
}

fn hash(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn no_such_link() -> Error {
    Error::not_found("this link leads nowhere; ask who gave it to you for another one")
}

impl From<ShareRecord> for Share {
    fn from(record: ShareRecord) -> Self {
        Self { id: record.id, created_at: rfc3339(record.created) }
    }
}
