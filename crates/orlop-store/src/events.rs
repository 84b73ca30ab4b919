//! Durable events and their numbers, which one counter a tenant gives out in the order of commits.

use crate::database::{Tx, from_json, params, to_json};
use orlop_app::Scope;
use orlop_app::store::{EventQuery, NewEvent, Numbers};
use orlop_core::types::app_event::Event;
use orlop_core::{Error, Result};

const DEFAULT_LIMIT: usize = 1000;
/// More numbers than any stream has fragments.
const MAX_RESERVE: u64 = 1 << 32;

/// Writes events and reserves numbers behind them.
pub(crate) fn write(
    tx: &mut dyn Tx,
    scope: &Scope,
    events: &[NewEvent],
    reserve: u64,
) -> Result<Numbers> {
    if events.is_empty() && reserve == 0 {
        return Ok(Numbers::default());
    }
    if reserve > MAX_RESERVE {
        return Err(Error::bad_argument(format!(
            "{reserve} numbers are more than can be reserved at once; reserve {MAX_RESERVE} at most"
        )));
    }
    let first = advance(tx, scope, events.len() as u64 + reserve)?;
    let rows = (first..).zip(events).map(|(number, event)| {
        let (session, request) = (event.session.as_ref(), event.request.as_ref());
        let body = to_json("an event", &event.kind)?;
        Ok(params![scope.tenant(), scope.user(), number, session, request, &event.at, body]
            .to_vec())
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let into = "INSERT INTO events (tenant, user_id, seq, session, request, at, body)";
    tx.insert(into, "($1, $2, $3, $4, $5, $6, $7)", &rows)?;
    let free = first + events.len() as u64;
    Ok(Numbers { first, reserved: free..free + reserve })
}

/// Takes `count` numbers; gives the first of them.
fn advance(tx: &mut dyn Tx, scope: &Scope, count: u64) -> Result<u64> {
    let sql = "INSERT INTO event_counters (tenant, last) VALUES ($1, $2) \
               ON CONFLICT (tenant) DO UPDATE SET last = event_counters.last + excluded.last RETURNING last";
    let row = tx.row(sql, &params![scope.tenant(), count])?;
    let last = row.map_or(Ok(count), |mut row| row.count())?;
    Ok(last.saturating_sub(count) + 1)
}

pub(crate) fn events(tx: &mut dyn Tx, scope: &Scope, query: &EventQuery) -> Result<Vec<Event>> {
    let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit };
    let mut params = params![scope.tenant(), scope.user(), query.after, limit].to_vec();
    let mut conditions = String::new();
    for (column, value) in [("session", &query.session), ("request", &query.request)] {
        if let Some(value) = value {
            params.push(value.into());
            conditions += &format!(" AND {column} = ${}", params.len());
        }
    }
    let order = if query.newest { "seq DESC" } else { "seq" };
    let sql = format!(
        "SELECT seq, at, session, request, body FROM events \
         WHERE tenant = $1 AND user_id = $2 AND seq > $3{conditions} ORDER BY {order} LIMIT $4"
    );
    let mut rows = tx.query(&sql, &params)?;
    if query.newest {
        rows.reverse();
    }
    rows.into_iter()
        .map(|mut row| {
            Ok(Event {
                seq: row.count()?,
                at: row.text()?,
                session_id: row.maybe_text()?,
                request_id: row.maybe_text()?,
                kind: from_json("an event", &row.text()?)?,
            })
        })
        .collect()
}
