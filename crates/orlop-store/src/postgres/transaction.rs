//! A transaction of PostgreSQL.

use super::errors::{explain, is_broken, is_passing};
use super::values;
use crate::database::{Dialect, Param, Row, Sequence, Tx, params};
use orlop_core::{Error, Result};
use postgres::types::ToSql;
use postgres::{Statement, Transaction};
use std::collections::HashMap;

/// How many rows are inserted by one statement.
const ROWS_AT_ONCE: usize = 32;

pub(super) struct PostgresTx<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut HashMap<String, Statement>,
    place: &'a str,
    may_succeed_again: bool,
}

impl<'a> PostgresTx<'a> {
    pub(super) fn new(
        transaction: Transaction<'a>,
        statements: &'a mut HashMap<String, Statement>,
        place: &'a str,
    ) -> Self {
        Self { transaction, statements, place, may_succeed_again: false }
    }

    /// Whether what failed in here may succeed in a new transaction.
    pub(super) fn may_succeed_again(&self) -> bool {
        self.may_succeed_again
    }

    pub(super) fn commit(self) -> Result<(), postgres::Error> {
        self.transaction.commit()
    }

    fn statement(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn fail(&mut self, error: &postgres::Error) -> Error {
        self.may_succeed_again = is_passing(error) || is_broken(error);
        explain(self.place, error)
    }

    fn number(&mut self, sql: &str, params: &[Param<'_>]) -> Result<i64> {
        let row = self.query(sql, params)?.pop();
        let missing = || Error::internal("PostgreSQL gave no number; please report this");
        row.ok_or_else(missing)?.int()
    }
}

impl Tx for PostgresTx<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64> {
        let result = self
            .statement(sql)
            .and_then(|statement| self.transaction.execute(&statement, &borrowed(params)));
        result.map_err(|error| self.fail(&error))
    }

    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        let result = self
            .statement(sql)
            .and_then(|statement| self.transaction.query(&statement, &borrowed(params)))
            .and_then(|rows| rows.iter().map(values::row).collect());
        result.map_err(|error| self.fail(&error))
    }

    fn insert(&mut self, into: &str, row: &str, rows: &[Vec<Param<'_>>]) -> Result<()> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let mut sql = format!("{into} VALUES ");
            let mut params = Vec::new();
            for (index, values) in rows.iter().enumerate() {
                sql += if index == 0 { "" } else { ", " };
                sql += &values::renumber(row, params.len());
                params.extend_from_slice(values);
            }
            self.execute(&sql, &params)?;
        }
        Ok(())
    }

    fn now(&mut self) -> Result<i64> {
        self.number("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT", &[])
    }

    fn next(&mut self, sequence: Sequence) -> Result<i64> {
        self.number("SELECT nextval($1::TEXT::REGCLASS)", &params![sequence.name()])
    }
}

fn borrowed<'a>(params: &'a [Param<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}
