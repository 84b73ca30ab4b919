//! What plugins keep with sessions, and with users, which stands under no session.
//!
//! A state that was removed leaves its version behind, so that versions are never used twice.

use crate::database::{Tx, from_json, params, to_json};
use orlop_app::Scope;
use orlop_app::store::{OF_USER, PluginState};
use orlop_core::{Error, Result, Value};

pub(crate) fn get(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    plugin: &str,
) -> Result<Option<PluginState>> {
    let Some((version, Some(value))) = find(tx, scope, session, plugin)? else { return Ok(None) };
    let value = from_json(&format!("the state of plugin \"{plugin}\""), &value)?;
    Ok(Some(PluginState { value, version }))
}

fn find(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    plugin: &str,
) -> Result<Option<(u64, Option<String>)>> {
    let sql = "SELECT version, value FROM plugin_states \
               WHERE tenant = $1 AND user_id = $2 AND session = $3 AND plugin = $4";
    let row = tx.row(sql, &params![scope.tenant(), scope.user(), session, plugin])?;
    row.map(|mut row| Ok((row.count()?, row.maybe_text()?))).transpose()
}

pub(crate) fn set(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    plugin: &str,
    expected: u64,
    value: Option<&Value>,
) -> Result<Option<u64>> {
    // The session's row is locked, so that it cannot be deleted now.
    let lock = tx.dialect().for_update();
    let find_session =
        format!("SELECT id FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3{lock}");
    if session != OF_USER
        && tx.row(&find_session, &params![scope.tenant(), scope.user(), session])?.is_none()
    {
        return Err(Error::not_found(format!(
            "session \"{session}\" is not stored; a plugin can keep state only with a stored session"
        )));
    }
    let (last, held) = find(tx, scope, session, plugin)?.unwrap_or_default();
    let current = if held.is_some() { last } else { 0 };
    if current != expected {
        return Ok(None);
    }
    if held.is_none() && value.is_none() {
        return Ok(Some(0));
    }
    let text = value.map(|value| to_json("the state of a plugin", value)).transpose()?;
    let sql = "INSERT INTO plugin_states (tenant, user_id, session, plugin, version, value) \
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, user_id, session, plugin) \
               DO UPDATE SET version = excluded.version, value = excluded.value \
               WHERE plugin_states.version = $7";
    let row = params![scope.tenant(), scope.user(), session, plugin, last + 1, text, last];
    // Another process may have been faster since the version was read.
    let written = tx.execute(sql, &row)? == 1;
    Ok(written.then_some(if value.is_some() { last + 1 } else { 0 }))
}

/// Gives a fork what plugins keep with its source, each beginning at version 1.
pub(crate) fn copy(tx: &mut dyn Tx, scope: &Scope, source: &str, fork: &str) -> Result<()> {
    let sql = "INSERT INTO plugin_states (tenant, user_id, session, plugin, version, value) \
               SELECT tenant, user_id, $4, plugin, 1, value FROM plugin_states \
               WHERE tenant = $1 AND user_id = $2 AND session = $3 AND value IS NOT NULL \
               ON CONFLICT (tenant, user_id, session, plugin) \
               DO UPDATE SET value = excluded.value, version = plugin_states.version + 1";
    tx.execute(sql, &params![scope.tenant(), scope.user(), source, fork]).map(drop)
}
