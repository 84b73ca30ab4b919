//! The versions of the SQLite tables. Each step is one transaction, and there is no way back.

use super::connection::Failure;
use rusqlite::{Connection, TransactionBehavior};

/// What leads from each version to the next.
const STEPS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
];

/// Marks a file as Orlop's: "Orlp".
const APPLICATION_ID: i64 = 0x4f72_6c70;

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        .map(|version| usize::try_from(version).unwrap_or(usize::MAX))
}

/// Refuses a file of a newer Orlop, and one of another program, before anything is written to it.
pub(super) fn refuse_foreign(connection: &Connection) -> Result<(), Failure> {
    // All of one moment: another process may be about to make the tables.
    let moment = connection.unchecked_transaction()?;
    refuse_foreign_now(&moment)
}

fn refuse_foreign_now(connection: &Connection) -> Result<(), Failure> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get(0))?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(Failure::Refused(
            "is a database of another program; choose another file for Orlop".to_owned(),
        ));
    }
    let version = version(connection)?;
    if version > STEPS.len() {
        return Err(Failure::Refused(format!(
            "was written by a newer version of Orlop (its tables have version {version}, this program knows {}); update Orlop",
            STEPS.len()
        )));
    }
    Ok(())
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    loop {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been here in the meantime.
        refuse_foreign_now(&step)?;
        let version = version(&step)?;
        let Some(sql) = STEPS.get(version) else { return Ok(()) };
        step.execute_batch(sql)?;
        step.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
            version + 1
        ))?;
        step.commit()?;
    }
}
