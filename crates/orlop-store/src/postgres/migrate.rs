//! The versions of the PostgreSQL tables. Each step is one transaction, and there is no way back.

use super::errors::explain;
use orlop_core::{Error, Result};
use postgres::{Client, Transaction};

/// What leads from each version to the next.
const STEPS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
];

/// The lock that those who prepare the tables take in turn; the number is arbitrary.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5724893347921)";

pub(super) fn migrate(client: &mut Client, place: &str) -> Result<()> {
    loop {
        let mut step = client.transaction().map_err(|error| explain(place, &error))?;
        let version = version(&mut step).map_err(|error| explain(place, &error))?;
        if version > STEPS.len() {
            return Err(Error::bad_state(format!(
                "the database at {place} was written by a newer version of Orlop (its tables have version {version}, this program knows {}); update Orlop",
                STEPS.len()
            )));
        }
        let Some(sql) = STEPS.get(version) else { return Ok(()) };
        let sql = format!("{sql}; UPDATE schema_version SET version = {};", version + 1);
        step.batch_execute(&sql)
            .and_then(|()| step.commit())
            .map_err(|error| explain(place, &error))?;
        tracing::info!(version = version + 1, "prepared the tables of the store");
    }
}

/// The version the tables have; makes the schema and the table that tells if there are none.
fn version(step: &mut Transaction<'_>) -> Result<usize, postgres::Error> {
    step.batch_execute(LOCK)?;
    let found = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'orlop' AND tablename = 'schema_version'";
    if step.query_opt(found, &[])?.is_none() {
        let schema = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'orlop'";
        if step.query_opt(schema, &[])?.is_none() {
            step.batch_execute("CREATE SCHEMA orlop")?;
        }
        step.batch_execute(
            "CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (0)",
        )?;
    }
    let version: i64 = step.query_one("SELECT version FROM schema_version", &[])?.try_get(0)?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
