//! The key-value part of a GGUF file, and typed questions to it.

use std::collections::HashMap;

use orlop_types::{Error, Result};

use super::broken;
use super::cursor::Cursor;

/// A value, with the many number types of the file brought down to two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(i64),
    Real(f64),
    Bool(bool),
    Text(String),
    Wholes(Vec<i64>),
    Reals(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
}

/// All values by key.
#[derive(Debug)]
pub(crate) struct Metadata(HashMap<String, Value>);

impl Metadata {
    pub(super) fn read(cursor: &mut Cursor<'_>, entries: u64) -> Result<Self> {
        let mut values = HashMap::new();
        for _ in 0..entries {
            let key = cursor.text()?;
            let kind = cursor.u32()?;
            values.insert(key, value(cursor, kind)?);
        }
        Ok(Self(values))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A text, if the key is there.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(key, "a text")),
        }
    }

    /// A list of texts that must be there.
    pub(crate) fn texts(&self, key: &str) -> Result<&[String]> {
        match self.get(key) {
            Some(Value::Texts(texts)) => Ok(texts),
            Some(_) => Err(wrong_type(key, "a list of texts")),
            None => Err(missing(key)),
        }
    }

    /// A count that must be there.
    pub(crate) fn count(&self, key: &str) -> Result<usize> {
        self.optional_count(key)?.ok_or_else(|| missing(key))
    }

    /// A count, or this one.
    pub(crate) fn count_or(&self, key: &str, otherwise: usize) -> Result<usize> {
        Ok(self.optional_count(key)?.unwrap_or(otherwise))
    }

    /// A count, if the key is there.
    pub(crate) fn optional_count(&self, key: &str) -> Result<Option<usize>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Whole(count)) => {
                usize::try_from(*count).map(Some).map_err(|_| wrong_type(key, "a count"))
            }
            Some(_) => Err(wrong_type(key, "a count")),
        }
    }

    /// A number, or this one.
    pub(crate) fn real_or(&self, key: &str, otherwise: f64) -> Result<f64> {
        match self.get(key) {
            None => Ok(otherwise),
            Some(Value::Real(number)) if number.is_finite() => Ok(*number),
            Some(Value::Whole(number)) => Ok(*number as f64),
            Some(_) => Err(wrong_type(key, "a number")),
        }
    }

    /// A switch, or this.
    pub(crate) fn bool_or(&self, key: &str, otherwise: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(otherwise),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(wrong_type(key, "true or false")),
        }
    }
}

fn missing(key: &str) -> Error {
    broken(format_args!("{key} is missing"))
}

fn wrong_type(key: &str, wanted: &str) -> Error {
    broken(format_args!("{key} is not {wanted}"))
}

fn value(cursor: &mut Cursor<'_>, kind: u32) -> Result<Value> {
    Ok(match kind {
        0..=5 | 10 | 11 => Value::Whole(whole(cursor, kind)?),
        6 | 12 => Value::Real(real(cursor, kind)?),
        7 => Value::Bool(cursor.u8()? != 0),
        8 => Value::Text(cursor.text()?),
        9 => list(cursor)?,
        other => return Err(broken(format_args!("it has a value of the unknown type {other}"))),
    })
}

fn list(cursor: &mut Cursor<'_>) -> Result<Value> {
    let kind = cursor.u32()?;
    let size = match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        8 | 10..=12 => 8,
        other => return Err(broken(format_args!("it has a list of the type {other}"))),
    };
    let count = cursor.count(size)?;
    Ok(match kind {
        8 => Value::Texts(collect(count, || cursor.text())?),
        6 | 12 => Value::Reals(collect(count, || real(cursor, kind))?),
        7 => Value::Bools(collect(count, || Ok(cursor.u8()? != 0))?),
        _ => Value::Wholes(collect(count, || whole(cursor, kind))?),
    })
}

fn collect<T>(count: usize, mut next: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    (0..count).map(|_| next()).collect()
}

fn whole(cursor: &mut Cursor<'_>, kind: u32) -> Result<i64> {
    Ok(match kind {
        0 => cursor.u8()?.into(),
        1 => i64::from(cursor.u8()? as i8),
        2 => cursor.u16()?.into(),
        3 => i64::from(cursor.u16()? as i16),
        4 => cursor.u32()?.into(),
        5 => i64::from(cursor.u32()? as i32),
        10 => i64::try_from(cursor.u64()?).map_err(|_| broken("it has a number beyond 2^63"))?,
        _ => cursor.u64()? as i64,
    })
}

fn real(cursor: &mut Cursor<'_>, kind: u32) -> Result<f64> {
    Ok(match kind {
        6 => f32::from_bits(cursor.u32()?).into(),
        _ => f64::from_bits(cursor.u64()?),
    })
}
