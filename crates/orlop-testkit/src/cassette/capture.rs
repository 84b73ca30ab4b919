//! An exchange as it was captured, and what of it may be written.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::redact::Redactor;
use super::{Exchange, ExchangeRequest, ExchangeResponse};

/// An exchange before its secrets are removed. That is done as late as possible, when all of them
/// are known.
pub(super) struct Capture {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) request_body: Bytes,
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) response_body: Vec<u8>,
    pub(super) cut: bool,
}

impl Capture {
    pub(super) fn without_secrets(&self, redactor: &Redactor, host: &str) -> Exchange {
        let request_body = match serde_json::from_slice(&self.request_body) {
            Ok(json) => redactor.json(&json),
            Err(_) if self.request_body.is_empty() => Value::Null,
            Err(_) => redactor.text(&String::from_utf8_lossy(&self.request_body)).into(),
        };
        let content_type = text_header(&self.headers, CONTENT_TYPE.as_str());
        Exchange {
            host: redactor.text(host),
            stream: content_type.as_ref().is_some_and(|it| it.starts_with("text/event-stream")),
            request: ExchangeRequest {
                method: self.method.clone(),
                path: redactor.path(&self.path),
                body: request_body,
            },
            response: ExchangeResponse {
                status: self.status,
                content_type: content_type.map(|it| redactor.text(&it)),
                headers: headers_to_act_upon(&self.headers, redactor),
                body: redactor.bytes(&self.response_body).into(),
                cut: self.cut,
            },
            notes: Map::new(),
        }
    }
}

/// The headers that decide what a client does next. A list of those to keep, not of those to drop:
/// what nobody thought of is not written.
fn headers_to_act_upon(headers: &HeaderMap, redactor: &Redactor) -> BTreeMap<String, String> {
    headers
        .keys()
        .map(|name| name.as_str())
        .filter(|name| {
            matches!(*name, "retry-after" | "retry-after-ms")
                || name.starts_with("x-ratelimit-")
                || name.starts_with("anthropic-ratelimit-")
        })
        .filter_map(|name| Some((name.to_owned(), redactor.text(&text_header(headers, name)?))))
        .collect()
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
