//! Items in their logs: written once, read by pieces, deleted with the last session that has them.

use crate::database::{Dialect, Param, Sequence, Tx, params};
use crate::pieces::{ItemId, Piece, Pieces};
use crate::words;
use orlop_app::Scope;
use orlop_app::store::NewItem;
use orlop_core::{Error, Message, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The log a session appends to, and the next free position in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tail {
    pub(crate) log: Option<i64>,
    pub(crate) next: u64,
}

/// A new log that belongs to a session.
pub(crate) fn new_log(tx: &mut dyn Tx, scope: &Scope, session: &str) -> Result<i64> {
    let log = tx.next(Sequence::Logs)?;
    refer(tx, scope, session, &BTreeSet::from([log]))?;
    Ok(log)
}

/// Notes that a session has items of these logs, so that they live as long as it does.
pub(crate) fn refer(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    logs: &BTreeSet<i64>,
) -> Result<()> {
    let rows: Vec<_> = logs
        .iter()
        .map(|log| params![scope.tenant(), scope.user(), session, *log].to_vec())
        .collect();
    tx.insert("INSERT INTO log_refs (tenant, user_id, session, log)", "($1, $2, $3, $4)", &rows)
}

/// Writes items to the end of a log.
pub(crate) fn append(
    tx: &mut dyn Tx,
    scope: &Scope,
    log: i64,
    next: u64,
    items: &[&NewItem],
) -> Result<()> {
    if next + items.len() as u64 > u64::from(u32::MAX) {
        return Err(Error::bad_state(
            "this session has been changed more than four thousand million times and is full; go on in a fork of it",
        ));
    }
    let mut rows = Vec::with_capacity(items.len());
    let mut indexed = Vec::new();
    for (position, item) in (next..).zip(items) {
        let key = ItemId { log, position }.key();
        let terms = words::terms(scope, &item.search);
        let words = terms.as_ref().and_then(|_| words_beside_body(item));
        let mut row = params![key, &item.body, words].to_vec();
        match tx.dialect() {
            Dialect::Postgres => row.push(terms.into()),
            Dialect::Sqlite => indexed.extend(terms.map(|terms| params![key, terms].to_vec())),
        }
        rows.push(row);
    }
    match tx.dialect() {
        Dialect::Postgres => tx.insert(
            "INSERT INTO items (id, body, words, terms)",
            "($1, $2, $3, array_to_tsvector(string_to_array($4, ' ')))",
            &rows,
        ),
        Dialect::Sqlite => {
            tx.insert("INSERT INTO items (id, body, words)", "($1, $2, $3)", &rows)?;
            tx.insert("INSERT INTO item_terms (rowid, terms)", "($1, $2)", &indexed)
        }
    }
}

/// The text a message is found by, unless it is the message's own text, which is stored already.
fn words_beside_body(item: &NewItem) -> Option<Param<'static>> {
    match serde_json::from_str::<Message>(&item.body) {
        Ok(message) if message.text() == item.search => None,
        _ => Some(Param::from(item.search.replace('\0', " "))),
    }
}

/// The JSON texts of a list.
pub(crate) fn read(tx: &mut dyn Tx, pieces: &Pieces) -> Result<Vec<String>> {
    let mut shared = BTreeMap::new();
    for run in shared_runs(pieces) {
        shared.insert(run.log, (run.start, read_run(tx, &run)?));
    }
    let mut list = Vec::new();
    for piece in pieces.iter() {
        match shared.get(&piece.log) {
            Some((start, texts)) => {
                let from = (piece.start - start) as usize;
                list.extend_from_slice(&texts[from..from + piece.len() as usize]);
            }
            None => list.extend(read_run(tx, piece)?),
        }
    }
    Ok(list)
}

/// What is read at once instead of piece by piece: a log's items from the first to the last piece
/// of it, if there are several and they have most of it. A list that is often edited has many.
fn shared_runs(pieces: &Pieces) -> Vec<Piece> {
    let mut runs: BTreeMap<i64, (Piece, u64, usize)> = BTreeMap::new();
    for piece in pieces.iter() {
        let (run, used, count) = runs.entry(piece.log).or_insert((*piece, 0, 0));
        run.start = run.start.min(piece.start);
        run.end = run.end.max(piece.end);
        *used += piece.len();
        *count += 1;
    }
    let worth_it = |(run, used, count): &(Piece, u64, usize)| *count > 1 && used * 2 >= run.len();
    runs.into_values().filter(worth_it).map(|(run, ..)| run).collect()
}

fn read_run(tx: &mut dyn Tx, run: &Piece) -> Result<Vec<String>> {
    let [start, end] = [run.start, run.end].map(|position| ItemId { log: run.log, position }.key());
    let sql = "SELECT body FROM items WHERE id >= $1 AND id < $2 ORDER BY id";
    let rows = tx.query(sql, &params![start, end])?;
    if rows.len() as u64 != run.len() {
        return Err(Error::bad_state(format!(
            "{} stored items of a session are missing; restore the database from a backup",
            run.len().saturating_sub(rows.len() as u64)
        )));
    }
    rows.into_iter().map(|mut row| row.text()).collect()
}

/// Ends what a session has of logs, and deletes the items of those that no other session has.
pub(crate) fn drop_logs(tx: &mut dyn Tx, scope: &Scope, session: &str) -> Result<()> {
    let keys = params![scope.tenant(), scope.user(), session];
    let logs =
        "SELECT log FROM log_refs WHERE tenant = $1 AND user_id = $2 AND session = $3 ORDER BY log";
    let logs = tx.query(logs, &keys)?;
    // Two sessions of one log that are deleted at the same time: the second waits here, and sees
    // that it is the last.
    let users = format!(
        "SELECT session FROM log_refs WHERE log = $1 ORDER BY tenant, user_id, session{}",
        tx.dialect().for_update()
    );
    for mut log in logs {
        let log = log.int()?;
        let users = tx.query(&users, &params![log])?;
        let end =
            "DELETE FROM log_refs WHERE tenant = $1 AND user_id = $2 AND session = $3 AND log = $4";
        tx.execute(end, &params![scope.tenant(), scope.user(), session, log])?;
        if users.len() > 1 {
            continue;
        }
        let [start, end] = [log, log + 1].map(|log| ItemId { log, position: 0 }.key());
        if tx.dialect() == Dialect::Sqlite {
            let sql = "DELETE FROM item_terms WHERE rowid >= $1 AND rowid < $2";
            tx.execute(sql, &params![start, end])?;
        }
        tx.execute("DELETE FROM items WHERE id >= $1 AND id < $2", &params![start, end])?;
    }
    Ok(())
}
