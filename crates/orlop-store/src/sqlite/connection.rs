//! One connection to a SQLite file, and transactions on it.

use super::errors::{explain, read_only};
use super::migrate;
use crate::database::{Access, Cell, Connection, Dialect, Param, Row, Sequence, Tx, Work, params};
use orlop_core::{Error, Result};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{OpenFlags, ToSql, TransactionBehavior, params_from_iter};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// How long to wait for other processes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct SqliteConnection {
    connection: rusqlite::Connection,
    place: String,
    durable: bool,
}

impl SqliteConnection {
    /// Opens a file to read and write, and brings its tables up to date.
    pub(super) fn open(path: &Path, place: &str) -> Result<Self> {
        let connection = open_file(path, place)?;
        if connection.is_readonly("main").map_err(|error| explain(place, &error))? {
            return Err(read_only(place));
        }
        patiently(|| migrate::refuse_foreign(&connection)).map_err(|error| error.at(place))?;
        patiently(|| Ok(settings(&connection)?)).map_err(|error| error.at(place))?;
        let connection = std::cell::RefCell::new(connection);
        patiently(|| migrate::migrate(&mut connection.borrow_mut()))
            .map_err(|error| error.at(place))?;
        Ok(Self::new(connection.into_inner(), place))
    }

    /// Opens a file that is up to date, to read only.
    pub(super) fn open_reader(path: &Path, place: &str) -> Result<Self> {
        let connection = open_file(path, place)?;
        let read_only = "PRAGMA temp_store = MEMORY; PRAGMA query_only = ON;";
        patiently(|| Ok(connection.execute_batch(read_only)?)).map_err(|error| error.at(place))?;
        Ok(Self::new(connection, place))
    }

    pub(super) fn open_in_memory() -> Result<Self> {
        let place = "memory";
        let open = || -> Result<_, Failure> {
            let mut connection = rusqlite::Connection::open_in_memory()?;
            migrate::migrate(&mut connection)?;
            Ok(connection)
        };
        Ok(Self::new(open().map_err(|error| error.at(place))?, place))
    }

    fn new(connection: rusqlite::Connection, place: &str) -> Self {
        Self { connection, place: place.to_owned(), durable: true }
    }
}

fn open_file(path: &Path, place: &str) -> Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<_> {
        let connection = rusqlite::Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(connection)
    };
    open().map_err(|error| explain(place, &error))
}

/// One that writes is durable: what is committed survives the loss of power.
fn settings(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864;",
    )
}

/// Why a database cannot be opened.
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Refused(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Failure {
    fn at(&self, place: &str) -> Error {
        match self {
            Self::Sqlite(error) => explain(place, error),
            Self::Refused(why) => Error::bad_state(format!("{place} {why}")),
        }
    }

    fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        let Self::Sqlite(error) = self else { return false };
        matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
    }
}

/// Tries again while other processes have the file. SQLite waits by itself, but not where two
/// processes could wait for each other, as when both set up the same new file.
fn patiently<T>(attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(failure) if failure.is_busy() && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

impl Connection for SqliteConnection {
    fn transaction(&mut self, access: Access, work: &mut Work<'_>) -> Result<()> {
        let behavior = match access {
            Access::Read => TransactionBehavior::Deferred,
            Access::Write | Access::WriteLightly => TransactionBehavior::Immediate,
        };
        self.set_durable(access == Access::Write)?;
        let place = &self.place;
        let transaction = self.connection.transaction_with_behavior(behavior);
        let transaction = transaction.map_err(|error| explain(place, &error))?;
        work(&mut SqliteTx { connection: &transaction, place })?;
        transaction.commit().map_err(|error| explain(place, &error))
    }
}

impl SqliteConnection {
    /// Says whether what is committed from now on must survive the loss of power. Asked for before
    /// each transaction, so that none depends on how the one before it ended.
    fn set_durable(&mut self, durable: bool) -> Result<()> {
        if self.durable == durable {
            return Ok(());
        }
        let mode = if durable { "FULL" } else { "NORMAL" };
        let set = self.connection.execute_batch(&format!("PRAGMA synchronous = {mode}"));
        set.map_err(|error| explain(&self.place, &error))?;
        self.durable = durable;
        Ok(())
    }
}

struct SqliteTx<'a> {
    connection: &'a rusqlite::Connection,
    place: &'a str,
}

impl SqliteTx<'_> {
    fn rows(&self, sql: &str, params: &[Param<'_>]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(&sql.replace('$', "?"))?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(params))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| cell(row.get_ref(column)?, column));
            found.push(Row::new(cells.collect::<rusqlite::Result<_>>()?));
        }
        Ok(found)
    }
}

fn cell(value: ValueRef<'_>, column: usize) -> rusqlite::Result<Cell> {
    let odd = |it: ValueRef<'_>| {
        rusqlite::Error::InvalidColumnType(column, format!("column {column}"), it.data_type())
    };
    match value {
        ValueRef::Null => Ok(Cell::Null),
        ValueRef::Integer(number) => Ok(Cell::Int(number)),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Cell::Text(text.to_owned())),
            Err(_) => Err(odd(value)),
        },
        other => Err(odd(other)),
    }
}

impl Tx for SqliteTx<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64> {
        let run = || {
            let mut statement = self.connection.prepare_cached(&sql.replace('$', "?"))?;
            statement.execute(params_from_iter(params))
        };
        run().map(|changed| changed as u64).map_err(|error| explain(self.place, &error))
    }

    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        self.rows(sql, params).map_err(|error| explain(self.place, &error))
    }

    fn now(&mut self) -> Result<i64> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = since_1970.ok().and_then(|time| i64::try_from(time.as_millis()).ok());
        millis.ok_or_else(|| {
            Error::bad_state("the clock of this machine is before 1970; set it to the present time")
        })
    }

    fn next(&mut self, sequence: Sequence) -> Result<i64> {
        let sql = "UPDATE sequences SET value = value + 1 WHERE name = $1 RETURNING value";
        let mut rows = self.query(sql, &params![sequence.name()])?;
        rows.pop().map_or_else(
            || {
                Err(Error::bad_state(format!(
                    "{} lacks a counter; restore it from a backup",
                    self.place
                )))
            },
            |mut row| row.int(),
        )
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Param::Null => ToSqlOutput::Owned(Value::Null),
            Param::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Param::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::ErrorClass::Unavailable;

    fn synchronous(connection: &mut SqliteConnection, access: Access) -> i64 {
        let mut level = 0;
        let mut ask = |tx: &mut dyn Tx| {
            level = tx.query("PRAGMA synchronous", &[])?.remove(0).int()?;
            Ok(())
        };
        connection.transaction(access, &mut ask).unwrap();
        level
    }

    #[test]
    fn a_step_is_durable_whatever_came_before_it() {
        let (normal, full) = (1, 2);
        let mut connection = SqliteConnection::open_in_memory().unwrap();
        assert_eq!(synchronous(&mut connection, Access::Write), full);
        assert_eq!(synchronous(&mut connection, Access::WriteLightly), normal);
        assert_eq!(synchronous(&mut connection, Access::Write), full);
        let panicking = std::panic::AssertUnwindSafe(|| {
            connection.transaction(Access::WriteLightly, &mut |_| panic!("on purpose"))
        });
        assert!(std::panic::catch_unwind(panicking).is_err());
        assert_eq!(synchronous(&mut connection, Access::Write), full);
    }

    #[test]
    fn a_full_disk_is_said_and_nothing_is_half_done() {
        let mut connection = SqliteConnection::open_in_memory().unwrap();
        let pages = "PRAGMA page_count";
        let pages: i64 = connection.connection.query_row(pages, [], |row| row.get(0)).unwrap();
        let limit = format!("PRAGMA max_page_count = {}", pages + 10);
        connection.connection.query_row(&limit, [], |_| Ok(())).unwrap();
        let insert = "INSERT INTO items (id, body) VALUES ($1, $2)";
        let mut fill = |tx: &mut dyn Tx| {
            let body = "x".repeat(10_000);
            (0..100).try_for_each(|id| tx.execute(insert, &params![id as i64, &body]).map(drop))
        };
        let error = connection.transaction(Access::Write, &mut fill).unwrap_err();
        assert_eq!(error.class(), Unavailable);
        assert!(error.message().contains("full"), "{error}");
        let mut count = |tx: &mut dyn Tx| {
            assert_eq!(tx.query("SELECT COUNT(*) FROM items", &[])?.remove(0).int()?, 0);
            tx.execute(insert, &params![1_i64, "small"]).map(drop)
        };
        connection.transaction(Access::Write, &mut count).unwrap();
    }

    #[test]
    fn a_connection_that_cannot_write_says_so() {
        let mut connection = SqliteConnection::open_in_memory().unwrap();
        connection.connection.execute_batch("PRAGMA query_only = ON").unwrap();
        let mut write = |tx: &mut dyn Tx| tx.execute("DELETE FROM items", &[]).map(drop);
        let error = connection.transaction(Access::Write, &mut write).unwrap_err();
        assert_eq!(error.class(), Unavailable, "{error}");
    }
}
