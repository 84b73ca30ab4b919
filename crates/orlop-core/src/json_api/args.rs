//! Arguments of a JSON call, checked by type as they are taken.

use super::Sessions;
use crate::config::Config;
use crate::session::Session;
use orlop_types::{Error, Map, Message, NativeItem, Result, Seq, Value};

/// The arguments of one call. Absent and `null` are the same.
pub(super) struct Args<'a> {
    pub(super) values: Map,
    pub(super) sessions: &'a dyn Sessions,
}

impl Args<'_> {
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.values.shift_remove(key).filter(|value| !value.is_null())
    }

    fn needed(&mut self, key: &str) -> Result<Value> {
        self.take(key).ok_or_else(|| Error::bad_argument(format!("{key} must be given")))
    }

    pub(super) fn session(&mut self, key: &str) -> Result<Session> {
        match self.needed(key)? {
            value @ Value::Object(_) => self.sessions.take(value),
            _ => Err(Error::wrong_type(format!("{key} must be a session mapping"))),
        }
    }

    /// The configuration; without one, `None`.
    pub(super) fn optional_config(&mut self) -> Result<Option<Config>> {
        self.take("config").map(Config::from_json).transpose()
    }

    /// The configuration, which must be a mapping; anything else, absence included, is the wrong
    /// type.
    pub(super) fn config(&mut self) -> Result<Config> {
        Config::from_json(self.take("config").unwrap_or_default())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::wrong_type(format!("{key} must be a string"))),
        }
    }

    /// A name that must be a non-empty string.
    pub(super) fn name(&mut self, key: &str) -> Result<String> {
        match self.take(key) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(Error::bad_argument(format!("{key} must be a non-empty string"))),
        }
    }

    pub(super) fn integer(&mut self, key: &str) -> Result<Option<i64>> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => value
                .as_i64()
                .map(Some)
                .ok_or_else(|| Error::wrong_type(format!("{key} must be an integer"))),
        }
    }

    /// The integers of a list; what is none is skipped.
    pub(super) fn integers(&mut self, key: &str) -> Vec<i64> {
        let list = self.take(key);
        list.as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_i64)
            .collect()
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.take(key).and_then(|value| value.as_bool()).unwrap_or(false)
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Vec<Value>> {
        match self.take(key) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(Error::wrong_type(format!("{key} must be a list"))),
        }
    }

    /// The mappings of a list; what is none is skipped.
    pub(super) fn mappings(&mut self, key: &str) -> Result<Vec<Map>> {
        Ok(self
            .list(key)?
            .into_iter()
            .filter_map(|item| match item {
                Value::Object(item) => Some(item),
                _ => None,
            })
            .collect())
    }

    pub(super) fn mapping(&mut self, key: &str) -> Result<Map> {
        match self.take(key) {
            Some(Value::Object(fields)) => Ok(fields),
            _ => Err(Error::wrong_type(format!("{key} must be a mapping"))),
        }
    }

    pub(super) fn messages(&mut self, key: &str) -> Result<Vec<Message>> {
        self.list(key)?.into_iter().map(Message::from_json).collect()
    }

    pub(super) fn native(&mut self, key: &str) -> Result<Seq<NativeItem>> {
        Ok(self.list(key)?.into_iter().map(NativeItem::from).collect())
    }
}
