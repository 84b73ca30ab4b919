//! Parameters and cells as PostgreSQL has them: BIGINT and TEXT, and nothing else.

use crate::database::{Cell, Param, Row};
use bytes::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use std::error::Error;

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql_checked(kind, out),
            Self::Text(text) => text.as_ref().to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The cells of a row.
pub(super) fn row(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let cells = row.columns().iter().enumerate().map(|(index, column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map_or(Cell::Null, Cell::Int),
            _ => row.try_get::<_, Option<String>>(index)?.map_or(Cell::Null, Cell::Text),
        })
    });
    cells.collect::<Result<_, postgres::Error>>().map(Row::new)
}

/// A list of values such as `($1, $2)` with its numbers moved up by `offset`.
pub(super) fn renumber(row: &str, offset: usize) -> String {
    let mut parts = row.split('$');
    let mut moved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().unwrap_or_default() + offset;
        moved += &format!("${number}{rest}");
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::renumber;

    #[test]
    fn numbers_move_up() {
        assert_eq!(renumber("($1, f($2, ' '), $10)", 12), "($13, f($14, ' '), $22)");
        assert_eq!(renumber("(1)", 12), "(1)");
    }
}
