//! Changes that can be undone, each with the session before and after it, as pieces.

use crate::database::{Row, Tx, from_json, params, to_json};
use crate::sessions::Content;
use orlop_app::Scope;
use orlop_app::store::{ChangeNote, StoredChange};
use orlop_core::{Error, Result};

const NOTE: &str = "id, plugin, action, at, undone";

fn note_of(row: &mut Row) -> Result<ChangeNote> {
    Ok(ChangeNote {
        id: row.text()?,
        plugin: row.text()?,
        action: row.text()?,
        at: row.int()?,
        undone: row.int()? != 0,
    })
}

pub(crate) fn write(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    note: &ChangeNote,
    before: &Content,
    after: &Content,
) -> Result<()> {
    let what = "a change";
    let sql = "INSERT INTO changes (tenant, user_id, session, id, plugin, action, at, undone, before, after, number) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (SELECT COALESCE(MAX(number), 0) + 1 FROM changes \
               WHERE tenant = $1 AND user_id = $2 AND session = $3)) ON CONFLICT DO NOTHING";
    let values = params![
        scope.tenant(),
        scope.user(),
        session,
        &note.id,
        &note.plugin,
        &note.action,
        note.at,
        note.undone,
        to_json(what, before)?,
        to_json(what, after)?,
    ];
    match tx.execute(sql, &values)? {
        0 => Err(Error::conflict(format!(
            "session \"{session}\" has a change \"{}\" already; use another id",
            note.id
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn mark_undone(tx: &mut dyn Tx, scope: &Scope, session: &str, id: &str) -> Result<()> {
    let sql = "UPDATE changes SET undone = 1 WHERE tenant = $1 AND user_id = $2 AND session = $3 AND id = $4";
    match tx.execute(sql, &params![scope.tenant(), scope.user(), session, id])? {
        0 => Err(Error::not_found(format!(
            "session \"{session}\" has no change \"{id}\" that could be undone; list its changes"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn list(tx: &mut dyn Tx, scope: &Scope, session: &str) -> Result<Vec<ChangeNote>> {
    let sql = format!(
        "SELECT {NOTE} FROM changes WHERE tenant = $1 AND user_id = $2 AND session = $3 ORDER BY number DESC"
    );
    let mut rows = tx.query(&sql, &params![scope.tenant(), scope.user(), session])?;
    rows.iter_mut().map(note_of).collect()
}

pub(crate) fn get(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    id: &str,
) -> Result<Option<StoredChange>> {
    let sql = format!(
        "SELECT {NOTE}, before, after FROM changes WHERE tenant = $1 AND user_id = $2 AND session = $3 AND id = $4"
    );
    let Some(mut row) = tx.row(&sql, &params![scope.tenant(), scope.user(), session, id])? else {
        return Ok(None);
    };
    let note = note_of(&mut row)?;
    let [before, after] = [row.text()?, row.text()?]
        .map(|text| from_json::<Content>(&format!("change \"{id}\""), &text));
    let before = before?.read(tx, session)?;
    Ok(Some(StoredChange { note, before, after: after?.read(tx, session)? }))
}
