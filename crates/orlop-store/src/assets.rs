//! What is known of assets; their bytes are elsewhere.

use crate::database::{Sequence, Tx, from_json, params, to_json};
use orlop_app::Scope;
use orlop_app::store::AssetRecord;
use orlop_core::Result;

pub(crate) fn put(tx: &mut dyn Tx, scope: &Scope, asset: &AssetRecord) -> Result<()> {
    let body = to_json("an asset", asset)?;
    let number = tx.next(Sequence::Assets)?;
    let session = asset.session.as_ref();
    let sql = "INSERT INTO assets (tenant, user_id, id, session, created, number, body) \
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, user_id, id) \
               DO UPDATE SET session = excluded.session, created = excluded.created, body = excluded.body";
    let values =
        params![scope.tenant(), scope.user(), &asset.id, session, asset.created, number, body];
    tx.execute(sql, &values).map(drop)
}

pub(crate) fn get(tx: &mut dyn Tx, scope: &Scope, id: &str) -> Result<Option<AssetRecord>> {
    let sql = "SELECT body FROM assets WHERE tenant = $1 AND user_id = $2 AND id = $3";
    let row = tx.row(sql, &params![scope.tenant(), scope.user(), id])?;
    row.map(|mut row| from_json("an asset", &row.text()?)).transpose()
}

pub(crate) fn list(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: Option<&str>,
) -> Result<Vec<AssetRecord>> {
    let mut params = params![scope.tenant(), scope.user()].to_vec();
    let whose = match session {
        Some(session) => {
            params.push(session.into());
            "session = $3"
        }
        None => "session IS NULL",
    };
    let sql = format!(
        "SELECT body FROM assets WHERE tenant = $1 AND user_id = $2 AND {whose} ORDER BY created, number"
    );
    let rows = tx.query(&sql, &params)?;
    rows.into_iter().map(|mut row| from_json("an asset", &row.text()?)).collect()
}

pub(crate) fn delete(tx: &mut dyn Tx, scope: &Scope, id: &str) -> Result<bool> {
    let sql = "DELETE FROM assets WHERE tenant = $1 AND user_id = $2 AND id = $3";
    Ok(tx.execute(sql, &params![scope.tenant(), scope.user(), id])? > 0)
}
