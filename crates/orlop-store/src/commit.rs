//! One step made durable: session, turn, trace, undo note and events, all of it or nothing.

use crate::database::{Param, Tx, params, to_json};
use crate::items::{self, Tail};
use crate::pieces::{Pieces, rewrite};
use crate::sessions::{self, Content, Record, clean_title, fold_title};
use crate::{changes, events, leases, plugin_states, turns};
use orlop_app::Scope;
use orlop_app::store::{Commit, Committed, NativeWrite, Segment, SessionWrite};
use orlop_core::{Error, Result};

pub(crate) fn commit(tx: &mut dyn Tx, scope: &Scope, commit: &Commit) -> Result<Committed> {
    let session = commit.lease.session.as_str();
    leases::check(tx, scope, &commit.lease)?;
    let now = tx.now()?;
    let lock = tx.dialect().for_update();
    let stored = match commit.session.is_some() || commit.undo.is_some() {
        true => sessions::record(tx, scope, session, lock)?,
        false => None,
    };
    let written = match &commit.session {
        Some(write) => Some(write_session(tx, scope, session, stored.as_ref(), write, now)?),
        None => None,
    };
    if let Some(turn) = &commit.turn {
        turns::write(tx, scope, session, turn, now)?;
    }
    if !commit.trace.is_empty() {
        let request = commit.turn.as_ref().map(|turn| turn.request.as_str()).ok_or_else(|| {
            Error::bad_argument("a trace belongs to a request; commit it together with the turn")
        })?;
        turns::write_trace(tx, scope, request, &commit.trace)?;
    }
    if let Some(note) = &commit.undo {
        let before = stored.map(|record| record.content);
        let after = match &written {
            Some((_, after)) => after.clone(),
            None => before.clone().ok_or_else(|| no_session(session))?,
        };
        changes::write(tx, scope, session, note, &before.unwrap_or_default(), &after)?;
    }
    if let Some(id) = &commit.undoes {
        changes::mark_undone(tx, scope, session, id)?;
    }
    // Last, because all steps of a tenant wait for each other from here to the end.
    let numbers = events::write(tx, scope, &commit.events, commit.reserve)?;
    Ok(Committed { revision: written.map_or(0, |(revision, _)| revision), numbers })
}

fn no_session(id: &str) -> Error {
    Error::not_found(format!("session \"{id}\" is not stored; save it first, or check its id"))
}

/// Writes what changes in a session; gives its revision and content now.
fn write_session(
    tx: &mut dyn Tx,
    scope: &Scope,
    id: &str,
    stored: Option<&Record>,
    write: &SessionWrite,
    now: i64,
) -> Result<(u64, Content)> {
    let revision = stored.map_or(0, |record| record.head.revision);
    if revision != write.expected {
        let expected = write.expected;
        return Err(Error::conflict(format!(
            "session \"{id}\" is at revision {revision}, and the change was made to revision {expected}; load it again and repeat the change"
        )));
    }
    let source = kept_lists(tx, scope, id, stored, write)?;
    let mut record = stored.cloned().unwrap_or_default();
    if let Some(segments) = &write.messages {
        let kept = &source.messages;
        record.content.messages = write_list(tx, scope, id, kept, segments, &mut record.messages)?;
    }
    match &write.native {
        NativeWrite::Keep => {}
        NativeWrite::Copy => {
            let Content { native, seal, format, side_by_side, .. } = source;
            record.content = Content { native, seal, format, side_by_side, ..record.content };
        }
        NativeWrite::Drop => {
            let Content { messages, metadata, .. } = record.content;
            record.content = Content { messages, metadata, ..Content::default() };
        }
        NativeWrite::Set { items, seal, format, side_by_side } => {
            if let Some(segments) = items {
                let kept = source.native.clone().unwrap_or_default();
                let list = write_list(tx, scope, id, &kept, segments, &mut record.native)?;
                record.content.native = Some(list);
            }
            (record.content.seal, record.content.format) = (seal.clone(), format.clone());
            record.content.side_by_side = *side_by_side;
        }
    }
    if let Some(source) = &write.from {
        refer_to_source(tx, scope, id, &record)?;
        plugin_states::copy(tx, scope, source, id)?;
    }
    if let Some(metadata) = &write.metadata {
        record.content.metadata = to_json("metadata of a session", metadata)?;
    }
    if stored.is_none_or(|stored| stored.content.messages != record.content.messages) {
        record.head.messages_revision = revision + 1;
    }
    write_row(tx, scope, id, &record, write, now)?;
    Ok((revision + 1, record.content))
}

/// The lists that [`Segment::Kept`] means.
fn kept_lists(
    tx: &mut dyn Tx,
    scope: &Scope,
    id: &str,
    stored: Option<&Record>,
    write: &SessionWrite,
) -> Result<Content> {
    let Some(from) = &write.from else {
        return Ok(stored.map(|record| record.content.clone()).unwrap_or_default());
    };
    if stored.is_some() {
        return Err(Error::bad_argument(format!(
            "session \"{id}\" is stored already and cannot begin as a copy of \"{from}\"; use a new id"
        )));
    }
    // Locked, so that its items are not deleted before this session refers to them.
    let lock = tx.dialect().for_update();
    let source = sessions::record(tx, scope, from, lock)?.ok_or_else(|| no_session(from))?;
    Ok(source.content)
}

fn write_list(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    kept: &Pieces,
    segments: &[Segment],
    tail: &mut Tail,
) -> Result<Pieces> {
    let has_new = |it: &Segment| matches!(it, Segment::New(items) if !items.is_empty());
    let log = match tail.log {
        Some(log) => log,
        None if segments.iter().any(has_new) => items::new_log(tx, scope, session)?,
        None => return Ok(rewrite(kept, segments, 0, 0)?.pieces),
    };
    let list = rewrite(kept, segments, log, tail.next)?;
    items::append(tx, scope, log, tail.next, &list.new)?;
    *tail = Tail { log: Some(log), next: tail.next + list.new.len() as u64 };
    Ok(list.pieces)
}

fn refer_to_source(tx: &mut dyn Tx, scope: &Scope, id: &str, record: &Record) -> Result<()> {
    let mut logs = record.content.messages.logs();
    logs.extend(record.content.native.iter().flat_map(Pieces::logs));
    logs.retain(|log| ![record.messages.log, record.native.log].contains(&Some(*log)));
    items::refer(tx, scope, id, &logs)
}

fn write_row(
    tx: &mut dyn Tx,
    scope: &Scope,
    id: &str,
    record: &Record,
    write: &SessionWrite,
    now: i64,
) -> Result<()> {
    let what = "the lists of a session";
    let content = &record.content;
    let native = content.native.as_ref().map(|native| to_json(what, native)).transpose()?;
    let new = write.expected == 0;
    let mut params = params![
        scope.tenant(),
        scope.user(),
        id,
        write.agent.as_ref(),
        write.title.as_deref().map(clean_title),
        write.title.as_deref().map(fold_title),
        time_of_change(tx, scope, now)?,
        content.messages.len(),
        record.messages.log,
        record.messages.next,
        record.native.log,
        record.native.next,
        to_json(what, &content.messages)?,
        native,
        content.seal.as_ref(),
        content.format.as_ref(),
        Some(content.metadata.as_str()).filter(|_| new || write.metadata.is_some()),
        content.side_by_side,
        record.head.messages_revision,
    ]
    .to_vec();
    let sql = if new {
        params.push(Param::from(now));
        "INSERT INTO sessions (tenant, user_id, id, agent, title, title_folded, updated, message_count, message_log, message_next, \
         native_log, native_next, message_pieces, native_pieces, seal, format, metadata, side_by_side, messages_revision, created, revision) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 1)"
    } else {
        "UPDATE sessions SET agent = COALESCE($4, agent), title = COALESCE($5, title), title_folded = COALESCE($6, title_folded), \
         updated = $7, message_count = $8, message_log = $9, message_next = $10, native_log = $11, native_next = $12, \
         message_pieces = $13, native_pieces = $14, seal = $15, format = $16, metadata = COALESCE($17, metadata), side_by_side = $18, messages_revision = $19, \
         revision = revision + 1 WHERE tenant = $1 AND user_id = $2 AND id = $3"
    };
    tx.execute(sql, &params).map(drop)
}

/// Now, or just after the latest change of all sessions: the order of changes survives two of them
/// in one millisecond, and a clock that is set back.
fn time_of_change(tx: &mut dyn Tx, scope: &Scope, now: i64) -> Result<i64> {
    let sql = "SELECT MAX(updated) FROM sessions WHERE tenant = $1 AND user_id = $2";
    let latest = tx.row(sql, &params![scope.tenant(), scope.user()])?;
    let latest = latest.map(|mut row| row.maybe_int()).transpose()?.flatten();
    Ok(latest.map_or(now, |latest| now.max(latest + 1)))
}

/// Removes a session with everything that belongs to it.
pub(crate) fn delete(
    tx: &mut dyn Tx,
    scope: &Scope,
    lease: &orlop_app::store::Lease,
    new_events: &[orlop_app::store::NewEvent],
) -> Result<Option<Committed>> {
    leases::check(tx, scope, lease)?;
    let session = lease.session.as_str();
    let keys = params![scope.tenant(), scope.user(), session];
    let lock = tx.dialect().for_update();
    let find = format!(
        "SELECT revision FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3{lock}"
    );
    if tx.row(&find, &keys)?.is_none() {
        return Ok(None);
    }
    items::drop_logs(tx, scope, session)?;
    for table in ["signals", "traces", "turn_calls"] {
        let sql = format!(
            "DELETE FROM {table} WHERE tenant = $1 AND user_id = $2 AND request IN \
             (SELECT request FROM turns WHERE tenant = $1 AND user_id = $2 AND session = $3)"
        );
        tx.execute(&sql, &keys)?;
    }
    for table in ["turns", "events", "changes", "plugin_states", "assets", "shares"] {
        let sql =
            format!("DELETE FROM {table} WHERE tenant = $1 AND user_id = $2 AND session = $3");
        tx.execute(&sql, &keys)?;
    }
    tx.execute("DELETE FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3", &keys)?;
    let numbers = events::write(tx, scope, new_events, 0)?;
    Ok(Some(Committed { revision: 0, numbers }))
}
