//! Stored sessions: the row of one, loading it whole or in part, and lists of them.

use crate::database::{Row, Tx, from_json, params, to_json};
use crate::items::{self, Tail};
use crate::pieces::Pieces;
use orlop_app::Scope;
use orlop_app::store::{Archived, Head, ListQuery, NativeOutline, Outline, Page, StoredSession};
use orlop_core::types::SessionJson;
use orlop_core::{Error, Map, Message, NativeEnd, NativeItem, Result, Value};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The columns of a [`Head`].
pub(crate) const HEAD: &str =
    "id, agent, title, created, updated, revision, messages_revision, message_count";

/// The metadata key of sessions that work for another one.
const PARENT: &str = "parent_session_id";
/// What stored metadata has in it if a session was put away, or is to be at the top.
const ARCHIVED: &str = "\"archived\":true";
const PINNED: &str = "\"pinned\":true";
/// What it has in it if a session is a branch.
const BRANCH: &str = "\"branch_of\":";

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;

pub(crate) fn head_of(row: &mut Row) -> Result<Head> {
    Ok(Head {
        id: row.text()?,
        agent: row.maybe_text()?,
        title: row.maybe_text()?,
        created: row.int()?,
        updated: row.int()?,
        revision: row.count()?,
        messages_revision: row.count()?,
        message_count: row.count()? as usize,
        ..Head::default()
    })
}

/// The same with what metadata says, as far as it was read.
pub(crate) fn marked(head: Head, stored: &str) -> Result<Head> {
    if ![ARCHIVED, PINNED, BRANCH].iter().any(|mark| stored.contains(mark)) {
        return Ok(head);
    }
    let metadata: Map = from_json("metadata of a session", stored)?;
    let is = |key: &str| metadata.get(key) == Some(&Value::Bool(true));
    let branch_of = metadata.get("branch_of").and_then(Value::as_str).map(str::to_owned);
    Ok(Head { pinned: is("pinned"), archived: is("archived"), branch_of, ..head })
}

/// What is in a session, its lists as pieces and its metadata as JSON text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) messages: Pieces,
    pub(crate) native: Option<Pieces>,
    pub(crate) seal: Option<String>,
    pub(crate) format: Option<String>,
    /// Whether messages and native items lie side by side.
    #[serde(skip)]
    pub(crate) side_by_side: bool,
    pub(crate) metadata: String,
}

impl Default for Content {
    fn default() -> Self {
        let metadata = "{}".to_owned();
        Self {
            messages: Pieces::default(),
            native: None,
            seal: None,
            format: None,
            side_by_side: false,
            metadata,
        }
    }
}

impl Content {
    /// The session with all its items.
    pub(crate) fn read(self, tx: &mut dyn Tx, id: &str) -> Result<SessionJson> {
        let what = format!("native history of session \"{id}\"");
        let native = match &self.native {
            None => None,
            Some(pieces) => {
                let texts = items::read(tx, pieces)?;
                let items = texts.iter().map(|text| from_json::<NativeItem>(&what, text));
                Some(items.collect::<Result<_>>()?)
            }
        };
        Ok(SessionJson {
            session_id: id.to_owned(),
            messages: read_messages(tx, id, &self.messages)?,
            metadata: from_json(&format!("metadata of session \"{id}\""), &self.metadata)?,
            native_messages: native,
            native_integrity: self.seal,
            native_format: self.format,
        })
    }
}

fn read_messages(tx: &mut dyn Tx, id: &str, pieces: &Pieces) -> Result<Vec<Message>> {
    let what = format!("a message of session \"{id}\"");
    items::read(tx, pieces)?.iter().map(|text| from_json(&what, text)).collect()
}

/// The whole row of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) head: Head,
    pub(crate) content: Content,
    pub(crate) messages: Tail,
    pub(crate) native: Tail,
}

/// Reads the row of a session; `lock` is what the statement ends with.
pub(crate) fn record(
    tx: &mut dyn Tx,
    scope: &Scope,
    id: &str,
    lock: &str,
) -> Result<Option<Record>> {
    let sql = format!(
        "SELECT {HEAD}, message_log, message_next, native_log, native_next, message_pieces, native_pieces, seal, format, side_by_side, metadata \
         FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3{lock}"
    );
    let Some(mut row) = tx.row(&sql, &params![scope.tenant(), scope.user(), id])? else {
        return Ok(None);
    };
    let what = format!("session \"{id}\"");
    let mut record = Record {
        head: head_of(&mut row)?,
        messages: Tail { log: row.maybe_int()?, next: row.count()? },
        native: Tail { log: row.maybe_int()?, next: row.count()? },
        content: Content {
            messages: from_json(&what, &row.text()?)?,
            native: row.maybe_text()?.map(|text| from_json(&what, &text)).transpose()?,
            seal: row.maybe_text()?,
            format: row.maybe_text()?,
            side_by_side: row.int()? != 0,
            metadata: row.text()?,
        },
    };
    record.head = marked(record.head, &record.content.metadata)?;
    Ok(Some(record))
}

pub(crate) fn load(tx: &mut dyn Tx, scope: &Scope, id: &str) -> Result<Option<StoredSession>> {
    let Some(record) = record(tx, scope, id, "")? else { return Ok(None) };
    Ok(Some(StoredSession { session: record.content.read(tx, id)?, head: record.head }))
}

pub(crate) fn head(tx: &mut dyn Tx, scope: &Scope, id: &str) -> Result<Option<Head>> {
    let find = tx.dialect().find_text();
    let sql = format!(
        "SELECT {HEAD}, CASE WHEN {find}(metadata, $4) > 0 OR {find}(metadata, $5) > 0 OR {find}(metadata, $6) > 0 \
         THEN metadata ELSE '' END \
         FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3"
    );
    let marks = params![scope.tenant(), scope.user(), id, ARCHIVED, PINNED, BRANCH];
    let row = tx.row(&sql, &marks)?;
    let Some(mut row) = row else { return Ok(None) };
    let head = head_of(&mut row)?;
    marked(head, &row.text()?).map(Some)
}

pub(crate) fn outline(tx: &mut dyn Tx, scope: &Scope, id: &str) -> Result<Option<Outline>> {
    let sql = format!(
        "SELECT {HEAD}, metadata, native_pieces, seal, format, side_by_side \
         FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3"
    );
    let row = tx.row(&sql, &params![scope.tenant(), scope.user(), id])?;
    let Some(mut row) = row else { return Ok(None) };
    let (head, stored) = (head_of(&mut row)?, row.text()?);
    let metadata = from_json(&format!("metadata of session \"{id}\""), &stored)?;
    let native = native_outline(&mut row, id)?;
    Ok(Some(Outline { head: marked(head, &stored)?, metadata, native }))
}

fn native_outline(row: &mut Row, id: &str) -> Result<NativeOutline> {
    let Some(pieces) = row.maybe_text()? else { return Ok(NativeOutline::Absent) };
    let (seal, format) = (row.maybe_text()?, row.maybe_text()?);
    if row.int()? == 0 {
        return Ok(NativeOutline::Other);
    }
    let pieces: Pieces = from_json(&format!("session \"{id}\""), &pieces)?;
    Ok(NativeOutline::SideBySide(NativeEnd { len: pieces.len() as usize, seal, format }))
}

pub(crate) fn messages(
    tx: &mut dyn Tx,
    scope: &Scope,
    id: &str,
    range: &Range<usize>,
) -> Result<Option<Vec<Message>>> {
    let sql = "SELECT message_pieces FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3";
    let Some(mut row) = tx.row(sql, &params![scope.tenant(), scope.user(), id])? else {
        return Ok(None);
    };
    let pieces: Pieces = from_json(&format!("session \"{id}\""), &row.text()?)?;
    let end = pieces.len().min(range.end as u64);
    let start = end.min(range.start as u64);
    read_messages(tx, id, &pieces.slice(start..end)).map(Some)
}

pub(crate) fn list(tx: &mut dyn Tx, scope: &Scope, query: &ListQuery) -> Result<Page> {
    let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit.min(MAX_LIMIT) };
    let (before, before_id) = query.cursor.as_deref().map_or(Ok((i64::MAX, "")), read_cursor)?;
    let (mut before, mut before_id) = (before, before_id.to_owned());
    let mut heads: Vec<Head> = Vec::new();
    loop {
        let rows = list_rows(tx, scope, query, (before, &before_id), limit + 1)?;
        let is_last = rows.len() <= limit;
        for mut row in rows {
            let head = head_of(&mut row)?;
            (before, before_id) = (head.updated, head.id.clone());
            let stored = row.text()?;
            let head = marked(head, &stored)?;
            if is_wanted(&head, &stored, query)? {
                heads.push(head);
            }
        }
        if is_last || heads.len() > limit {
            break;
        }
    }
    let more = heads.len() > limit;
    heads.truncate(limit);
    let next = heads.last().filter(|_| more).map(|last| format!("{}_{}", last.updated, last.id));
    Ok(Page { heads, next })
}

/// The rows of sessions that come after `before` in the list. Of those with certain metadata, there
/// may be some that have it only further inside.
fn list_rows(
    tx: &mut dyn Tx,
    scope: &Scope,
    query: &ListQuery,
    before: (i64, &str),
    limit: usize,
) -> Result<Vec<Row>> {
    let mut conditions = String::new();
    let mut params = params![scope.tenant(), scope.user(), before.0, before.1, limit].to_vec();
    if let Some(agent) = &query.agent {
        params.push(agent.into());
        conditions += &format!(" AND agent = ${}", params.len());
    }
    let title = query.title.as_deref().map(fold_title).filter(|title| !title.is_empty());
    let metadata = query.metadata.as_ref().map(metadata_text).transpose()?;
    let find = tx.dialect().find_text();
    // Only metadata that has to be looked into is read.
    let metadata_column = match &metadata {
        Some(_) => "metadata".to_owned(),
        None => {
            let parent = format!("\"{PARENT}\":");
            let mut has = Vec::new();
            for text in [parent.as_str(), ARCHIVED, PINNED, BRANCH] {
                params.push(text.to_owned().into());
                has.push(format!("{find}(metadata, ${}) > 0", params.len()));
            }
            format!("CASE WHEN {} THEN metadata ELSE '' END", has.join(" OR "))
        }
    };
    let wanted =
        [(query.archived == Archived::Only, ARCHIVED), (query.pinned == Some(true), PINNED)];
    for (_, text) in wanted.into_iter().filter(|(is_wanted, _)| *is_wanted) {
        // In these words, because there is an index of such sessions with the same words.
        conditions += &format!(" AND {find}(metadata, '{text}') > 0");
    }
    for (column, text) in [("title_folded", title), ("metadata", metadata)] {
        if let Some(text) = text {
            params.push(text.into());
            conditions += &format!(" AND {find}({column}, ${}) > 0", params.len());
        }
    }
    let sql = format!(
        "SELECT {HEAD}, {metadata_column} FROM sessions \
         WHERE tenant = $1 AND user_id = $2 AND updated <= $3 AND (updated < $3 OR id < $4){conditions} \
         ORDER BY updated DESC, id DESC LIMIT $5"
    );
    tx.query(&sql, &params)
}

/// The text that stored metadata has if it has this entry: both are written the same way.
fn metadata_text((key, value): &(String, String)) -> Result<String> {
    Ok(format!("{}:{}", to_json("a key", key)?, to_json("a value", value)?))
}

/// Whether a session works for another one, by its stored metadata.
pub(crate) fn is_sub_session(stored: &str) -> Result<bool> {
    // Most are not, and are told without being read.
    if !stored.contains(&format!("\"{PARENT}\":")) {
        return Ok(false);
    }
    let metadata: Map = from_json("metadata of a session", stored)?;
    Ok(metadata.get(PARENT).is_some_and(Value::is_string))
}

/// Whether a session belongs into the list, by its metadata as far as it was read.
fn is_wanted(head: &Head, stored: &str, query: &ListQuery) -> Result<bool> {
    let is_left_out = match query.archived {
        Archived::Without => head.archived,
        Archived::With => false,
        Archived::Only => !head.archived,
    };
    if is_left_out || query.pinned.is_some_and(|pinned| pinned != head.pinned) {
        return Ok(false);
    }
    if stored.is_empty() {
        return Ok(true);
    }
    let metadata: Map = from_json("metadata of a session", stored)?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let fits = query.metadata.as_ref().is_none_or(|(key, value)| text(key) == Some(value));
    Ok(fits && (query.sub_sessions || text(PARENT).is_none()))
}

fn read_cursor(cursor: &str) -> Result<(i64, &str)> {
    cursor
        .split_once('_')
        .and_then(|(updated, id)| Some((updated.parse().ok()?, id)))
        .ok_or_else(|| {
            Error::bad_argument(
                "this is no cursor of a list of sessions; pass on the one that came with the page before",
            )
        })
}

/// A title as it is compared: without case.
pub(crate) fn fold_title(title: &str) -> String {
    clean_title(title).to_lowercase()
}

/// A title as it is stored. PostgreSQL has no text with the character of number zero.
pub(crate) fn clean_title(title: &str) -> String {
    title.replace('\0', "\u{fffd}")
}
