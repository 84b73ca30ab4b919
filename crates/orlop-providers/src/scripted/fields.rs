//! Reads the tables of a script; every complaint names the file and the key.

use orlop_types::{Error, Map, Result, Value};

/// A table that is being read. Keys that nobody asked for are errors at the end.
pub(super) struct Fields {
    /// The file and the keys that lead to the table.
    path: String,
    fields: Map,
    asked: Vec<&'static str>,
}

impl Fields {
    pub(super) fn of(path: &str, value: Value) -> Result<Self> {
        match value {
            Value::Object(fields) => Ok(Self { path: path.to_owned(), fields, asked: Vec::new() }),
            other => Err(wrong(path, "a table", &other)),
        }
    }

    /// The path of a key of this table.
    pub(super) fn path(&self, key: &str) -> String {
        let separator = if self.path.ends_with(": ") || self.path.is_empty() { "" } else { "." };
        format!("{}{separator}{key}", self.path)
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        self.fields.shift_remove(key).filter(|value| !value.is_null())
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| wrong(&self.path(key), wanted, &value))
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>> {
        self.read(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// A text, or a list of its pieces.
    pub(super) fn pieces(&mut self, key: &'static str) -> Result<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let pieces = self.read(key, "a text or a list of texts", |value| match value {
            Value::Array(pieces) => pieces.iter().map(text).collect(),
            value => text(value).map(|text| vec![text]),
        })?;
        Ok(pieces.unwrap_or_default().into_iter().filter(|piece| !piece.is_empty()).collect())
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>> {
        self.read(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(&mut self, key: &'static str) -> Result<Option<u64>> {
        self.read(key, "a whole number", Value::as_u64)
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let path = self.path(key);
            Error::bad_argument(format!(
                "{path}: {text:?} is not known; write one of {}",
                known.join(", ")
            ))
        })
    }

    pub(super) fn table(&mut self, key: &'static str) -> Result<Option<Fields>> {
        let path = self.path(key);
        self.take(key).map(|value| Self::of(&path, value)).transpose()
    }

    /// The entries of a list, each with its path.
    pub(super) fn list(&mut self, key: &'static str) -> Result<Vec<(String, Value)>> {
        let path = self.path(key);
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => Ok(entries
                .into_iter()
                .enumerate()
                .map(|(index, entry)| (format!("{path}[{index}]"), entry))
                .collect()),
            Some(other) => Err(wrong(&path, "a list", &other)),
        }
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<()> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(key) => Err(Error::bad_argument(format!(
                "{}: unknown key; the keys here are {}",
                self.path(key),
                self.asked.join(", ")
            ))),
        }
    }
}

/// `path` holds something else than it should.
pub(super) fn wrong(path: &str, wanted: &str, value: &Value) -> Error {
    let path = path.trim_end_matches(": ");
    let found = match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        other => other.to_string(),
    };
    Error::bad_argument(format!("{path}: {found} stands where {wanted} must be"))
}
