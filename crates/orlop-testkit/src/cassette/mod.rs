//! Recorded HTTP exchanges: a recorder that removes the secrets, and a replayer.
//!
//! A cassette file holds `{"exchanges": [...]}`; each exchange has the shape of the fixture files:
//! `{"request": {"method", "path", "body"}, "response": {"status", "content_type", "body"}, ...}`.

mod body_text;
mod capture;
mod difference;
mod forward;
mod percent;
mod record;
pub(crate) mod redact;
mod replay;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::TestkitError;

pub use record::Recorder;
pub use replay::Replayer;

/// A list of exchanges, in the order in which the requests were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cassette {
    /// The exchanges.
    pub exchanges: Vec<Exchange>,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The host that answered.
    #[serde(default)]
    pub host: String,
    /// Whether the response is a stream of events.
    #[serde(default)]
    pub stream: bool,
    /// What was asked.
    pub request: ExchangeRequest,
    /// What came back.
    pub response: ExchangeResponse,
    /// Whatever else the file says about the exchange, such as its origin.
    #[serde(flatten)]
    pub notes: Map<String, Value>,
}

/// The request of an exchange. Request headers are not kept: they carry secrets, and no answer of
/// a recording depends on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeRequest {
    /// The HTTP method.
    pub method: String,
    /// The path, and the query if one was recorded.
    pub path: String,
    /// The body: JSON as it is, other text as a string, `null` if there was none.
    #[serde(default)]
    pub body: Value,
}

/// The response of an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeResponse {
    /// The HTTP status.
    pub status: u16,
    /// The content type, if the recording knows it.
    pub content_type: Option<String>,
    /// The headers that a client acts upon, such as `retry-after`; no others are kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body, byte for byte. In the file it is a string, or `{"hex": "..."}` if it is not UTF-8.
    #[serde(with = "body_text")]
    pub body: Bytes,
    /// Whether the body ended early: the upstream broke the connection off, or the client left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Cassette {
    /// Reads a cassette file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TestkitError> {
        read_json(path.as_ref())
    }

    /// Writes a cassette file, as it is: what a [`Recorder`] gives is free of secrets already.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TestkitError> {
        let path = path.as_ref();
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|source| TestkitError::Format { path: path.to_owned(), source })?;
        text.push('\n');
        std::fs::write(path, text)
            .map_err(|source| TestkitError::Write { path: path.to_owned(), source })
    }
}

impl FromIterator<Exchange> for Cassette {
    fn from_iter<I: IntoIterator<Item = Exchange>>(exchanges: I) -> Self {
        Self { exchanges: exchanges.into_iter().collect() }
    }
}

impl ExchangeResponse {
    /// The body as text; what is not UTF-8 in it is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, TestkitError> {
    let bytes = std::fs::read(path)
        .map_err(|source| TestkitError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes)
        .map_err(|source| TestkitError::Format { path: path.to_owned(), source })
}
