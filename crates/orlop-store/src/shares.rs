//! Links by which others may read a session.

use crate::database::{Row, Tx, params};
use orlop_app::Scope;
use orlop_app::store::ShareRecord;
use orlop_core::{Error, Result};

pub(crate) fn put(tx: &mut dyn Tx, scope: &Scope, share: &ShareRecord) -> Result<()> {
    let lock = tx.dialect().for_update();
    let find = format!(
        "SELECT revision FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3{lock}"
    );
    if tx.row(&find, &params![scope.tenant(), scope.user(), &share.session])?.is_none() {
        return Err(Error::not_found(format!("there is no session \"{}\"", share.session)));
    }
    let sql = "INSERT INTO shares (id, tenant, user_id, session, secret_hash, created) \
               VALUES ($1, $2, $3, $4, $5, $6)";
    let ShareRecord { id, session, secret_hash, created } = share;
    let values = params![id, scope.tenant(), scope.user(), session, secret_hash, *created];
    tx.execute(sql, &values).map(drop)
}

pub(crate) fn list(tx: &mut dyn Tx, scope: &Scope, session: &str) -> Result<Vec<ShareRecord>> {
    let sql = "SELECT id, session, secret_hash, created FROM shares \
               WHERE tenant = $1 AND user_id = $2 AND session = $3 ORDER BY created, id";
    let rows = tx.query(sql, &params![scope.tenant(), scope.user(), session])?;
    rows.into_iter().map(|mut row| record(&mut row)).collect()
}

pub(crate) fn find(tx: &mut dyn Tx, id: &str) -> Result<Option<(Scope, ShareRecord)>> {
    let sql = "SELECT tenant, user_id, id, session, secret_hash, created FROM shares WHERE id = $1";
    let Some(mut row) = tx.row(sql, &params![id])? else { return Ok(None) };
    let scope = Scope::new(row.text()?, row.text()?)?;
    Ok(Some((scope, record(&mut row)?)))
}

pub(crate) fn delete(tx: &mut dyn Tx, scope: &Scope, session: &str, id: &str) -> Result<bool> {
    let sql = "DELETE FROM shares WHERE tenant = $1 AND user_id = $2 AND session = $3 AND id = $4";
    Ok(tx.execute(sql, &params![scope.tenant(), scope.user(), session, id])? > 0)
}

fn record(row: &mut Row) -> Result<ShareRecord> {
    Ok(ShareRecord {
        id: row.text()?,
        session: row.text()?,
        secret_hash: row.text()?,
        created: row.int()?,
    })
}
