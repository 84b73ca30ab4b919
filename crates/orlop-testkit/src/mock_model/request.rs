//! A request as the mock server received it.

use std::fmt;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use bytes::Bytes;
use serde_json::Value;

use super::api;
use crate::cassette::redact::{self, Redactor};

/// A request that a server of this crate received.
///
/// Its `Debug` output masks credentials, so that a failing assertion does not print them.
#[derive(Clone)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// What stands after the `?`, if anything.
    pub query: Option<String>,
    /// All headers, as received.
    pub headers: HeaderMap,
    /// The body, as received.
    pub body: Bytes,
}

impl RecordedRequest {
    pub(crate) fn new(head: &Parts, body: Bytes) -> Self {
        Self {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: head.headers.clone(),
            body,
        }
    }

    /// A header by its name in any case, if it is there and readable as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether it asks for a stream.
    pub fn wants_stream(&self) -> bool {
        api::wants_stream(self)
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redactor = Redactor::default();
        let headers: Vec<(&str, String)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), redact::header(name.as_str(), value)))
            .collect();
        let query = self.query.as_deref().map(|query| redactor.path(&format!("?{query}")));
        f.debug_struct("RecordedRequest")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("query", &query)
            .field("headers", &headers)
            .field("body", &redactor.text(&String::from_utf8_lossy(&self.body)))
            .finish()
    }
}
