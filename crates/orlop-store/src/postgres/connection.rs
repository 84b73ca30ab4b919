//! One connection to PostgreSQL, made when it is needed and made anew when it broke.

use super::errors::{explain, is_broken, is_passing};
use super::settings::Settings;
use super::transaction::PostgresTx;
use crate::database::{Access, Connection, Tx, Work};
use orlop_core::{Error, Result};
use postgres::{Client, IsolationLevel, Statement};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a step is tried before its failure is its caller's.
const ATTEMPTS: u64 = 8;

pub(super) struct PostgresConnection {
    settings: Arc<Settings>,
    live: Option<Live>,
}

struct Live {
    client: Client,
    statements: HashMap<String, Statement>,
}

/// What came of one attempt.
enum Outcome {
    Done,
    /// Nothing was changed, and the same may succeed now.
    Again(Error),
    Failed(Error),
}

impl PostgresConnection {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, live: None }
    }

    fn attempt(&mut self, access: Access, work: &mut Work<'_>) -> Outcome {
        let place = self.settings.place();
        let live = match &mut self.live {
            Some(live) => live,
            none => match self.settings.connect() {
                Ok(client) => none.insert(Live { client, statements: HashMap::new() }),
                Err(error) => return Outcome::Failed(error),
            },
        };
        let begin = live.client.build_transaction().read_only(access == Access::Read);
        // All that a reader reads is of one moment; a writer locks the rows it depends on.
        let begin = begin.isolation_level(match access {
            Access::Read => IsolationLevel::RepeatableRead,
            Access::Write | Access::WriteLightly => IsolationLevel::ReadCommitted,
        });
        let transaction = match begin.start() {
            Ok(transaction) => transaction,
            Err(error) => return retry_if(is_broken(&error), explain(place, &error)),
        };
        let mut tx = PostgresTx::new(transaction, &mut live.statements, place);
        if access == Access::WriteLightly
            && let Err(error) = tx.execute("SET LOCAL synchronous_commit = off", &[])
        {
            return retry_if(tx.may_succeed_again(), error);
        }
        if let Err(error) = work(&mut tx) {
            return retry_if(tx.may_succeed_again(), error);
        }
        match tx.commit() {
            Ok(()) => Outcome::Done,
            Err(error) if is_passing(&error) => Outcome::Again(explain(place, &error)),
            Err(error) if is_broken(&error) && access == Access::Write => {
                Outcome::Failed(Error::unavailable(format!(
                    "the connection to PostgreSQL at {place} broke at the end of a step, which is stored either whole or not at all; load the session again to see"
                )))
            }
            Err(error) => retry_if(is_broken(&error), explain(place, &error)),
        }
    }
}

fn retry_if(again: bool, error: Error) -> Outcome {
    if again { Outcome::Again(error) } else { Outcome::Failed(error) }
}

impl Connection for PostgresConnection {
    fn transaction(&mut self, access: Access, work: &mut Work<'_>) -> Result<()> {
        let mut attempt = 1;
        loop {
            let outcome = self.attempt(access, work);
            if self.live.as_ref().is_some_and(|live| live.client.is_closed()) {
                self.live = None;
            }
            match outcome {
                Outcome::Done => return Ok(()),
                Outcome::Again(_) if attempt < ATTEMPTS => {
                    // Whoever was in the way gets the time to finish.
                    std::thread::sleep(Duration::from_millis(2 * attempt));
                    attempt += 1;
                }
                Outcome::Again(error) | Outcome::Failed(error) => return Err(error),
            }
        }
    }
}
