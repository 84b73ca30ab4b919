//! The right to change a session, one holder at a time, each with a greater token than the last.
//!
//! The row of a session's lease stays when the lease is given back and when the session is deleted:
//! it remembers the greatest token.

use crate::database::{Tx, params};
use orlop_app::Scope;
use orlop_app::store::{Acquired, Lease};
use orlop_core::{Error, Result};
use std::time::Duration;

pub(crate) fn acquire(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    owner: &str,
    time: Duration,
) -> Result<Acquired> {
    let first = "INSERT INTO leases (tenant, user_id, session, owner, token, expires) \
                 VALUES ($1, $2, $3, NULL, 0, 0) ON CONFLICT DO NOTHING";
    tx.execute(first, &params![scope.tenant(), scope.user(), session])?;
    let held = find(tx, scope, session)?;
    let now = tx.now()?;
    let token = held.as_ref().map_or(0, |held| held.token) + 1;
    if let Some(Held { owner: Some(owner), expires, .. }) = held
        && expires > now
    {
        let remaining = Duration::from_millis((expires - now).unsigned_abs());
        return Ok(Acquired::Held { owner, remaining });
    }
    let take = "UPDATE leases SET owner = $4, token = $5, expires = $6 \
                WHERE tenant = $1 AND user_id = $2 AND session = $3";
    let expires = end_of(now, time);
    tx.execute(take, &params![scope.tenant(), scope.user(), session, owner, token, expires])?;
    Ok(Acquired::Lease(Lease { session: session.to_owned(), owner: owner.to_owned(), token }))
}

struct Held {
    owner: Option<String>,
    token: u64,
    expires: i64,
}

fn find(tx: &mut dyn Tx, scope: &Scope, session: &str) -> Result<Option<Held>> {
    let sql = format!(
        "SELECT owner, token, expires FROM leases WHERE tenant = $1 AND user_id = $2 AND session = $3{}",
        tx.dialect().for_update()
    );
    let Some(mut row) = tx.row(&sql, &params![scope.tenant(), scope.user(), session])? else {
        return Ok(None);
    };
    Ok(Some(Held { owner: row.maybe_text()?, token: row.count()?, expires: row.int()? }))
}

/// When a lease taken now ends. Part of a millisecond counts as a whole one.
fn end_of(now: i64, time: Duration) -> i64 {
    let millis = time.as_nanos().div_ceil(1_000_000);
    now.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// Refuses everybody but the holder of the newest lease, and keeps it from changing hands until
/// the transaction ends. Whether its time is over does not matter as long as nobody took it.
pub(crate) fn check(tx: &mut dyn Tx, scope: &Scope, lease: &Lease) -> Result<()> {
    let held = find(tx, scope, &lease.session)?;
    let is_ours = held.is_some_and(|held| {
        held.token == lease.token && held.owner.as_deref() == Some(lease.owner.as_str())
    });
    if is_ours {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "the lease of session \"{}\" is not ours any more: it was given back or somebody else took it; acquire it again and load the session",
        lease.session
    )))
}

pub(crate) fn renew(tx: &mut dyn Tx, scope: &Scope, lease: &Lease, time: Duration) -> Result<bool> {
    let expires = end_of(tx.now()?, time);
    let sql = "UPDATE leases SET expires = $6 WHERE tenant = $1 AND user_id = $2 AND session = $3 AND owner = $4 AND token = $5";
    let keys =
        params![scope.tenant(), scope.user(), &lease.session, &lease.owner, lease.token, expires];
    Ok(tx.execute(sql, &keys)? > 0)
}

pub(crate) fn release(tx: &mut dyn Tx, scope: &Scope, lease: &Lease) -> Result<()> {
    let sql = "UPDATE leases SET owner = NULL, expires = 0 \
               WHERE tenant = $1 AND user_id = $2 AND session = $3 AND owner = $4 AND token = $5";
    let keys = params![scope.tenant(), scope.user(), &lease.session, &lease.owner, lease.token];
    tx.execute(sql, &keys).map(drop)
}

pub(crate) fn revoke(tx: &mut dyn Tx, scope: &Scope, session: &str, owner: &str) -> Result<bool> {
    let sql = "UPDATE leases SET owner = NULL, expires = 0 \
               WHERE tenant = $1 AND user_id = $2 AND session = $3 AND owner = $4";
    let keys = params![scope.tenant(), scope.user(), session, owner];
    Ok(tx.execute(sql, &keys)? > 0)
}
