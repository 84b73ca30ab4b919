//! Branches: another try from a message of the user on. A branch is a fork that ends before that
//! message and knows the place, so that the tries of one place find each other.

use crate::application::Application;
use crate::session_list::Summary;
use crate::store::{Archived, Head, ListQuery};
use orlop_core::{Error, Map, Message, Result, Role, Session, Value};

/// The metadata of a branch: the session it left and the place of the message, `SESSION#INDEX`.
const POINT: &str = "branch_point";
/// The metadata of a branch: the session that all its branches come from, however often they branched.
const FAMILY: &str = "branch_of";
/// How many branches of branches are followed, and how many tries of one place are known.
const MAX_DEPTH: usize = 64;
const MAX_TRIES: usize = 1_000;
/// How many messages are read at once while one of the user is looked for.
const AT_ONCE: usize = 16;

/// A branch that has just been made.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The new session, which ends before the message.
    pub session_id: String,
    /// The message of the user that stood there, to be sent again or in other words.
    pub message: Message,
}

/// The tries of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Branches {
    /// The sessions, in the order in which they were made.
    pub sessions: Vec<Summary>,
    /// Which of them the session that was asked about belongs to, if it is still there.
    pub current: Option<usize>,
    /// The position of the user's message.
    pub message_index: usize,
}

impl Application {
    /// Makes a branch at a message of the user, or at the one that an answer belongs to. Negative
    /// numbers count from the end. The session itself stays as it is.
    pub async fn branch_session(
        &self,
        id: &str,
        index: i64,
        new_id: Option<&str>,
    ) -> Result<Branch> {
        let app = self.in_flow().changing("branch a session")?;
        let lock = app.acquire_session_lock(id).await?;
        let (place, message) = app.asked_at(id, index).await?;
        let (_, point) = app.point_of(id, place).await?;
        let family = app.metadata_of(id).await?.metadata().get(FAMILY).cloned();
        let upto = i64::try_from(place).unwrap_or(i64::MAX) - 1;
        let fork = app.fork_stored(id, Some(upto), new_id).await?;
        lock.release().await;
        let family = family.unwrap_or_else(|| id.into());
        let patch = Map::from_iter([(POINT.to_owned(), point.into()), (FAMILY.to_owned(), family)]);
        self.patch_session(&fork, patch).await?;
        Ok(Branch { session_id: fork, message })
    }

    /// The message of the user at a place, or the last one before it, and where it stands. Reads no
    /// more messages than lie between.
    pub(crate) async fn asked_at(&self, id: &str, index: i64) -> Result<(usize, Message)> {
        let count = self.outlined(id).await?.head.message_count;
        let found = self.last_asked(id, place_of(index, count)?).await?;
        found.ok_or_else(|| {
            Error::bad_argument(format!("no message of the user stands at {index} or before it"))
        })
    }

    /// The last message of the user up to a place.
    async fn last_asked(&self, id: &str, place: usize) -> Result<Option<(usize, Message)>> {
        let mut end = place + 1;
        while end > 0 {
            let range = end.saturating_sub(AT_ONCE)..end;
            end = range.start;
            let found = self.store().messages(self.scope(), id, range).await?.unwrap_or_default();
            if let Some(at) = found.iter().rposition(|message| message.role() == Role::User) {
                return Ok(Some((end + at, found[at].clone())));
            }
        }
        Ok(None)
    }

    /// The tries there are at a message of a session; none where the message is not: somebody else may
    /// have taken it back in the meantime.
    pub async fn branches(&self, id: &str, index: i64) -> Result<Branches> {
        let count = self.outlined(id).await?.head.message_count;
        let asked = match place_of(index, count) {
            Ok(place) => self.last_asked(id, place).await?,
            Err(_) => None,
        };
        let Some((place, _)) = asked else {
            let message_index = usize::try_from(index).unwrap_or_default();
            return Ok(Branches { sessions: Vec::new(), current: None, message_index });
        };
        let (of, point) = self.point_of(id, place).await?;
        let root = point.rsplit_once('#').map_or("", |(root, _)| root);
        let query = ListQuery {
            metadata: Some((POINT.to_owned(), point.clone())),
            archived: Archived::With,
            limit: MAX_TRIES,
            ..ListQuery::default()
        };
        let mut heads: Vec<Head> = self.store().list(self.scope(), &query).await?.heads;
        heads.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        if let Some(first) = self.store().head(self.scope(), root).await? {
            heads.insert(0, first);
        }
        Ok(Branches {
            current: heads.iter().position(|head| head.id == of),
            sessions: heads.into_iter().map(Summary::from).collect(),
            message_index: place,
        })
    }

    /// The place of a message as its tries know it, and the session among them that this one
    /// belongs to: what a branch has of before it left is the history of the session it left.
    async fn point_of(&self, id: &str, place: usize) -> Result<(String, String)> {
        let mut session = self.metadata_of(id).await?;
        for _ in 0..MAX_DEPTH {
            let id = session.id().to_owned();
            match point(&session) {
                Some((root, at)) if place == at => return Ok((id, format!("{root}#{at}"))),
                Some((root, at)) if place < at => {
                    let Ok(left) = self.metadata_of(root).await else {
                        return Ok((id, format!("{root}#{place}")));
                    };
                    session = left;
                }
                _ => return Ok((id.clone(), format!("{id}#{place}"))),
            }
        }
        Err(Error::bad_state("the session is a branch of too many branches; fork it instead"))
    }
}

/// What a copy keeps of a session: it is no branch of what the session is a branch of.
pub(crate) fn unbranched(copy: Session) -> Session {
    if ![POINT, FAMILY].iter().any(|key| copy.metadata().contains_key(*key)) {
        return copy;
    }
    let mut metadata = copy.metadata().clone();
    metadata.retain(|key, _| key != POINT && key != FAMILY);
    copy.with_metadata(metadata)
}

/// Where a session left another one.
fn point(session: &Session) -> Option<(&str, usize)> {
    let (root, at) = session.metadata().get(POINT).and_then(Value::as_str)?.rsplit_once('#')?;
    Some((root, at.parse().ok()?))
}

/// The position of a message; negative numbers count from the end.
fn place_of(index: i64, count: usize) -> Result<usize> {
    let place = match usize::try_from(index) {
        Ok(place) => Some(place).filter(|place| *place < count),
        Err(_) => {
            usize::try_from(index.unsigned_abs()).ok().and_then(|back| count.checked_sub(back))
        }
    };
    place.ok_or_else(|| {
        Error::out_of_range(format!("there is no message {index}; the session has {count}"))
    })
}
