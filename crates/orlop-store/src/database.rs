//! What the store's logic needs of a database: statements with parameters inside one transaction.
//!
//! SQL is written once, with `$1` for parameters. What really differs between the databases is
//! asked of [`Dialect`].

use orlop_core::{Error, Result};
use std::borrow::Cow;

/// Which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Ends a `SELECT` whose rows this transaction is about to change.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            // A transaction that writes has the whole file from its beginning on.
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// The function that says where in its first argument the second one begins; 0 is nowhere.
    pub(crate) fn find_text(self) -> &'static str {
        match self {
            Self::Sqlite => "instr",
            Self::Postgres => "strpos",
        }
    }
}

/// Numbers that only grow, each given once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sequence {
    Logs,
    Turns,
    Signals,
    Assets,
}

impl Sequence {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Logs => "log_numbers",
            Self::Turns => "turn_numbers",
            Self::Signals => "signal_numbers",
            Self::Assets => "asset_numbers",
        }
    }
}

/// Whether a transaction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Writes what may be lost with the power, such as leases: whoever held them is gone then, too.
    WriteLightly,
}

/// One connection to a database, owned by one thread.
pub(crate) trait Connection: Send {
    /// Runs `work` in a transaction, and commits what it did if it succeeded. The work may be run
    /// more than once, each time from the state before it.
    fn transaction(&mut self, access: Access, work: &mut Work<'_>) -> Result<()>;
}

/// What is done inside a transaction.
pub(crate) type Work<'a> = dyn FnMut(&mut dyn Tx) -> Result<()> + 'a;

/// A transaction under way.
pub(crate) trait Tx {
    fn dialect(&self) -> Dialect;

    /// Runs a statement; gives the number of rows it changed.
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64>;

    /// Runs a statement; gives the rows it answers with.
    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>>;

    /// Inserts rows. `into` is the statement up to `VALUES`, `row` one list of values, such as
    /// `($1, $2)`.
    fn insert(&mut self, into: &str, row: &str, rows: &[Vec<Param<'_>>]) -> Result<()> {
        let sql = format!("{into} VALUES {row}");
        rows.iter().try_for_each(|row| self.execute(&sql, row).map(drop))
    }

    /// Milliseconds since 1970, by the clock that all users of the database share.
    fn now(&mut self) -> Result<i64>;

    /// The next number of a sequence.
    fn next(&mut self, sequence: Sequence) -> Result<i64>;
}

impl dyn Tx + '_ {
    /// Runs a query that gives one row at most.
    pub(crate) fn row(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, params)?.into_iter().next())
    }
}

/// A value given to a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Param<'_> {
    /// Numbers beyond what a database counts to are as good as its greatest one.
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Param<'_> {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value.as_str().into())
    }
}

impl From<String> for Param<'_> {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A list of [`Param`]s.
macro_rules! params {
    ($($value:expr),* $(,)?) => { [$($crate::database::Param::from($value)),*] };
}
pub(crate) use params;

/// A value a query answers with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
}

/// A row of an answer, read column by column from the left.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Cell>);

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self(cells.into_iter())
    }

    /// The next column, a text or nothing.
    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            other => Err(unexpected("a text", other)),
        }
    }

    /// The next column, a text.
    pub(crate) fn text(&mut self) -> Result<String> {
        self.maybe_text()?.ok_or_else(|| unexpected("a text", None))
    }

    /// The next column, a number or nothing.
    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>> {
        match self.0.next() {
            Some(Cell::Int(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            other => Err(unexpected("a number", other)),
        }
    }

    /// The next column, a number.
    pub(crate) fn int(&mut self) -> Result<i64> {
        self.maybe_int()?.ok_or_else(|| unexpected("a number", None))
    }

    /// The next column, a number that counts something.
    pub(crate) fn count(&mut self) -> Result<u64> {
        let number = self.int()?;
        u64::try_from(number).map_err(|_| unexpected("a number from 0 on", Some(Cell::Int(number))))
    }
}

fn unexpected(wanted: &str, found: Option<Cell>) -> Error {
    let found = match found {
        None | Some(Cell::Null) => "nothing".to_owned(),
        Some(Cell::Int(number)) => format!("the number {number}"),
        Some(Cell::Text(_)) => "a text".to_owned(),
    };
    Error::bad_state(format!(
        "the database has {found} where {wanted} belongs; another program must have changed it: restore it from a backup"
    ))
}

/// Reads JSON that the store has written.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Error::bad_state(format!(
            "{what} is not stored as it should be ({error}); restore the database from a backup"
        ))
    })
}

/// Writes JSON for the store.
pub(crate) fn to_json<T: serde::Serialize>(what: &str, value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("{what} cannot be written as JSON: {error}")))
}
