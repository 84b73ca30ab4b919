//! Finding messages by words, in what sessions have now: text that was edited away is not found.

use crate::database::{Dialect, Tx, from_json, params};
use crate::pieces::{ItemId, Pieces};
use crate::sessions::{HEAD, head_of, is_sub_session, marked};
use crate::words;
use orlop_app::Scope;
use orlop_app::store::{Head, Hit, SearchQuery};
use orlop_core::{Message, Result};
use std::collections::HashMap;

/// How many messages are looked at in one go.
const BATCH: usize = 500;
/// After so many messages, the newest first, no more are looked at if there are enough hits.
const ENOUGH: usize = 2_000;
/// After so many, in any case.
const MOST: usize = 20_000;

pub(crate) fn search(tx: &mut dyn Tx, scope: &Scope, query: &SearchQuery) -> Result<Vec<Hit>> {
    let limit = query.limit;
    let wanted = words::query_words(&query.text);
    if wanted.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let mut sessions = Sessions::new(scope, query.sub_sessions);
    let mut best: HashMap<String, Found> = HashMap::new();
    let (mut below, mut seen) = (i64::MAX, 0);
    loop {
        let batch = candidates(tx, scope, &wanted, below)?;
        for (item, text) in &batch {
            let score = words::score(text, &wanted);
            for session in sessions.with_log(tx, item.log)? {
                let Some(index) = sessions.position_of(tx, &session, *item)? else { continue };
                if best.get(&session).is_none_or(|held| score > held.score) {
                    best.insert(session, Found { score, index, text: text.clone() });
                }
            }
        }
        seen += batch.len();
        let done = seen >= MOST || (seen >= ENOUGH && best.len() >= limit);
        match batch.last() {
            Some((last, _)) if batch.len() == BATCH && !done => below = last.key(),
            _ => break,
        }
    }
    Ok(sessions.hits(best, &wanted, limit))
}

/// The best message of a session so far.
struct Found {
    score: f64,
    index: u64,
    text: String,
}

/// Messages of a scope that have all words, and their text; the newest first.
fn candidates(
    tx: &mut dyn Tx,
    scope: &Scope,
    wanted: &[String],
    below: i64,
) -> Result<Vec<(ItemId, String)>> {
    // Words are letters and digits only, and so cannot end the quotes.
    let scope_word = words::scope_word(scope);
    let all = wanted.iter().chain(std::iter::once(&scope_word));
    let (sql, query) = match tx.dialect() {
        Dialect::Sqlite => (
            "SELECT items.id, items.words, items.body FROM item_terms CROSS JOIN items ON items.id = item_terms.rowid \
             WHERE item_terms MATCH $1 AND item_terms.rowid < $2 ORDER BY item_terms.rowid DESC LIMIT $3",
            all.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" "),
        ),
        Dialect::Postgres => (
            "SELECT id, words, body FROM items WHERE terms @@ $1::text::tsquery AND id < $2 ORDER BY id DESC LIMIT $3",
            all.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" & "),
        ),
    };
    let rows = tx.query(sql, &params![query, below, BATCH])?;
    rows.into_iter()
        .map(|mut row| {
            let (key, words, body) = (row.int()?, row.maybe_text()?, row.text()?);
            let text = match words {
                Some(words) => words,
                None => from_json::<Message>("a message", &body)?.text().to_owned(),
            };
            Ok((ItemId::from_key(key), text))
        })
        .collect()
}

/// The sessions met on the way, each read once.
struct Sessions<'a> {
    scope: &'a Scope,
    /// Whether those that work for another one count.
    sub_sessions: bool,
    with_log: HashMap<i64, Vec<String>>,
    known: HashMap<String, Option<(Head, Pieces)>>,
}

impl<'a> Sessions<'a> {
    fn new(scope: &'a Scope, sub_sessions: bool) -> Self {
        Self { scope, sub_sessions, with_log: HashMap::new(), known: HashMap::new() }
    }

    fn with_log(&mut self, tx: &mut dyn Tx, log: i64) -> Result<Vec<String>> {
        if let Some(known) = self.with_log.get(&log) {
            return Ok(known.clone());
        }
        let sql = "SELECT session FROM log_refs WHERE log = $1 AND tenant = $2 AND user_id = $3";
        let rows = tx.query(sql, &params![log, self.scope.tenant(), self.scope.user()])?;
        let sessions =
            rows.into_iter().map(|mut row| row.text()).collect::<Result<Vec<String>>>()?;
        self.with_log.insert(log, sessions.clone());
        Ok(sessions)
    }

    fn position_of(&mut self, tx: &mut dyn Tx, id: &str, item: ItemId) -> Result<Option<u64>> {
        if !self.known.contains_key(id) {
            let session = self.read(tx, id)?;
            self.known.insert(id.to_owned(), session);
        }
        let session = self.known.get(id).and_then(Option::as_ref);
        Ok(session.and_then(|(_, pieces)| pieces.position_of(item)))
    }

    fn read(&self, tx: &mut dyn Tx, id: &str) -> Result<Option<(Head, Pieces)>> {
        let sql = format!(
            "SELECT {HEAD}, message_pieces, metadata FROM sessions WHERE tenant = $1 AND user_id = $2 AND id = $3"
        );
        let row = tx.row(&sql, &params![self.scope.tenant(), self.scope.user(), id])?;
        let Some(mut row) = row else { return Ok(None) };
        let (head, pieces) = (head_of(&mut row)?, from_json("a session", &row.text()?)?);
        let metadata = row.text()?;
        let counts = self.sub_sessions || !is_sub_session(&metadata)?;
        let head = marked(head, &metadata)?;
        Ok(counts.then_some((head, pieces)))
    }

    fn hits(mut self, best: HashMap<String, Found>, wanted: &[String], limit: usize) -> Vec<Hit> {
        let mut found: Vec<(Head, Found)> = best
            .into_iter()
            .filter_map(|(id, found)| Some((self.known.remove(&id)??.0, found)))
            .collect();
        found.sort_by(|(a, one), (b, other)| {
            other.score.total_cmp(&one.score).then((b.updated, &b.id).cmp(&(a.updated, &a.id)))
        });
        found.truncate(limit);
        let hit = |(head, found): (Head, Found)| Hit {
            head,
            message_index: found.index as usize,
            snippet: words::snippet(&found.text, wanted),
        };
        found.into_iter().map(hit).collect()
    }
}
