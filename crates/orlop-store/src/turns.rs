//! Turns by the id of their request, the messages left for them, and their traces.

use crate::database::{Row, Sequence, Tx, from_json, params, to_json};
use orlop_app::Scope;
use orlop_app::store::{CallsWrite, TurnRecord, TurnWrite};
use orlop_core::{Error, Map, Result, Value};

const TURN: &str = "request, session, state, settled, created, updated";

fn turn_of(row: &mut Row) -> Result<TurnRecord> {
    let request = row.text()?;
    Ok(TurnRecord {
        session: row.text()?,
        state: from_json(&format!("the turn of request \"{request}\""), &row.text()?)?,
        calls: Vec::new(),
        settled: row.int()? != 0,
        created: row.int()?,
        updated: row.int()?,
        request,
    })
}

pub(crate) fn write(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: &str,
    turn: &TurnWrite,
    now: i64,
) -> Result<()> {
    let request = turn.request.as_str();
    let state = to_json("the state of a turn", &turn.state)?;
    let mut params =
        params![scope.tenant(), scope.user(), request, session, state, turn.settled, now].to_vec();
    if !turn.new {
        let sql = "UPDATE turns SET state = $5, settled = $6, updated = $7 \
                   WHERE tenant = $1 AND user_id = $2 AND request = $3 AND session = $4";
        return match tx.execute(sql, &params)? {
            0 => Err(Error::not_found(format!(
                "session \"{session}\" has no turn for request \"{request}\"; store its first state as a new turn"
            ))),
            _ => write_calls(tx, scope, request, &turn.calls),
        };
    }
    params.push(tx.next(Sequence::Turns)?.into());
    let sql = "INSERT INTO turns (tenant, user_id, request, session, state, settled, created, updated, number) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8) ON CONFLICT DO NOTHING";
    match tx.execute(sql, &params)? {
        0 => Err(Error::conflict(format!(
            "there is a turn for request \"{request}\" already; use another request id"
        ))),
        _ => write_calls(tx, scope, request, &turn.calls),
    }
}

fn write_calls(tx: &mut dyn Tx, scope: &Scope, request: &str, calls: &CallsWrite) -> Result<()> {
    let row = |number: usize, call: &Value| {
        let body = to_json("a call of a turn", call)?;
        Ok(params![scope.tenant(), scope.user(), request, number, body].to_vec())
    };
    match calls {
        CallsWrite::Changed(calls) => calls.iter().try_for_each(|(number, call)| {
            let sql = "UPDATE turn_calls SET body = $5 \
                       WHERE tenant = $1 AND user_id = $2 AND request = $3 AND number = $4";
            match tx.execute(sql, &row(*number, call)?)? {
                0 => Err(Error::not_found(format!(
                    "the turn of request \"{request}\" has no call at position {number}; store all of its calls first"
                ))),
                _ => Ok(()),
            }
        }),
        CallsWrite::All(calls) => {
            let sql = "DELETE FROM turn_calls WHERE tenant = $1 AND user_id = $2 AND request = $3";
            tx.execute(sql, &params![scope.tenant(), scope.user(), request])?;
            let rows = calls.iter().enumerate().map(|(number, call)| row(number, call));
            let rows = rows.collect::<Result<Vec<_>>>()?;
            let into = "INSERT INTO turn_calls (tenant, user_id, request, number, body)";
            tx.insert(into, "($1, $2, $3, $4, $5)", &rows)
        }
    }
}

/// A turn with the calls of its step. One that is over has none.
fn with_calls(tx: &mut dyn Tx, scope: &Scope, mut turn: TurnRecord) -> Result<TurnRecord> {
    if !turn.settled {
        let sql = "SELECT body FROM turn_calls WHERE tenant = $1 AND user_id = $2 AND request = $3 ORDER BY number";
        let rows = tx.query(sql, &params![scope.tenant(), scope.user(), &turn.request])?;
        let call = |mut row: Row| from_json("a call of a turn", &row.text()?);
        turn.calls = rows.into_iter().map(call).collect::<Result<_>>()?;
    }
    Ok(turn)
}

pub(crate) fn turn(tx: &mut dyn Tx, scope: &Scope, request: &str) -> Result<Option<TurnRecord>> {
    let sql =
        format!("SELECT {TURN} FROM turns WHERE tenant = $1 AND user_id = $2 AND request = $3");
    let row = tx.row(&sql, &params![scope.tenant(), scope.user(), request])?;
    row.map(|mut row| with_calls(tx, scope, turn_of(&mut row)?)).transpose()
}

pub(crate) fn turns(
    tx: &mut dyn Tx,
    scope: &Scope,
    session: Option<&str>,
    limit: usize,
) -> Result<Vec<TurnRecord>> {
    let mut params = params![scope.tenant(), scope.user(), limit].to_vec();
    let of_session = session.map_or("", |session| {
        params.push(session.into());
        " AND session = $4"
    });
    let sql = format!(
        "SELECT {TURN} FROM turns WHERE tenant = $1 AND user_id = $2{of_session} ORDER BY number DESC LIMIT $3"
    );
    let rows = tx.query(&sql, &params)?;
    rows.into_iter().map(|mut row| with_calls(tx, scope, turn_of(&mut row)?)).collect()
}

pub(crate) fn abandoned(tx: &mut dyn Tx, limit: usize) -> Result<Vec<(Scope, TurnRecord)>> {
    let now = tx.now()?;
    let sql = "SELECT t.tenant, t.user_id, t.request, t.session, t.state, t.settled, t.created, t.updated FROM turns t \
               LEFT JOIN leases l ON l.tenant = t.tenant AND l.user_id = t.user_id AND l.session = t.session \
               WHERE t.settled = 0 AND (l.owner IS NULL OR l.expires <= $1) ORDER BY t.number LIMIT $2";
    let rows = tx.query(sql, &params![now, limit])?;
    rows.into_iter()
        .map(|mut row| {
            let scope = Scope::new(row.text()?, row.text()?)?;
            let turn = with_calls(tx, &scope, turn_of(&mut row)?)?;
            Ok((scope, turn))
        })
        .collect()
}

pub(crate) fn signal(tx: &mut dyn Tx, scope: &Scope, request: &str, signal: &Value) -> Result<()> {
    let number = tx.next(Sequence::Signals)?;
    let body = to_json("a signal", signal)?;
    let sql =
        "INSERT INTO signals (tenant, user_id, request, number, body) VALUES ($1, $2, $3, $4, $5)";
    tx.execute(sql, &params![scope.tenant(), scope.user(), request, number, body]).map(drop)
}

pub(crate) fn take_signals(tx: &mut dyn Tx, scope: &Scope, request: &str) -> Result<Vec<Value>> {
    let sql = "DELETE FROM signals WHERE tenant = $1 AND user_id = $2 AND request = $3 RETURNING number, body";
    let rows = tx.query(sql, &params![scope.tenant(), scope.user(), request])?;
    let mut signals = rows
        .into_iter()
        .map(|mut row| Ok((row.int()?, from_json("a signal", &row.text()?)?)))
        .collect::<Result<Vec<(i64, Value)>>>()?;
    signals.sort_by_key(|(number, _)| *number);
    Ok(signals.into_iter().map(|(_, signal)| signal).collect())
}

pub(crate) fn write_trace(
    tx: &mut dyn Tx,
    scope: &Scope,
    request: &str,
    lines: &str,
) -> Result<()> {
    let sql = "INSERT INTO traces (tenant, user_id, request, number, body) \
               SELECT $1, $2, $3, COALESCE(MAX(number), 0) + 1, $4 FROM traces \
               WHERE tenant = $1 AND user_id = $2 AND request = $3";
    tx.execute(sql, &params![scope.tenant(), scope.user(), request, lines]).map(drop)
}

pub(crate) fn trace(tx: &mut dyn Tx, scope: &Scope, request: &str) -> Result<Vec<Map>> {
    let sql = "SELECT body FROM traces WHERE tenant = $1 AND user_id = $2 AND request = $3 ORDER BY number";
    let rows = tx.query(sql, &params![scope.tenant(), scope.user(), request])?;
    let mut trace = Vec::new();
    for mut row in rows {
        for line in row.text()?.lines() {
            trace.push(from_json("a trace", line)?);
        }
    }
    Ok(trace)
}
