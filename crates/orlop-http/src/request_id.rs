//! The id of an HTTP request: the client's, or a fresh one. It is returned, logged, told to hooks,
//! and the id of the turn if the request is one.

use crate::problem::Problem;
use crate::route::Input;
use crate::server::Server;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};

/// The header it travels in.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the HTTP request under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    id: String,
    given: bool,
    /// What the client sent in place of an id, if that is none.
    odd: Option<String>,
    trace_parent: Option<String>,
}

/// Routes whose requests are turns, as they are documented.
pub(crate) const TURNS: &[&str] =
    &["/api/v1/sessions/{id}/requests", "/v1/chat/completions", "/v1/responses"];

impl RequestId {
    /// The id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// Whether the client chose it, so that the same request may have come before.
    pub fn is_given(&self) -> bool {
        self.given
    }

    /// The trace that the client is in, as it tells in the header `traceparent`.
    pub fn trace_parent(&self) -> Option<&str> {
        self.trace_parent.as_deref()
    }

    /// The same request under the id that its body gives it, if it does.
    pub(crate) fn or_of_body(self, id: Option<String>) -> Result<Self, Problem> {
        match id {
            Some(id) => {
                orlop_app::check_id("request", &id)?;
                Ok(Self { id, given: true, odd: None, ..self })
            }
            None => self.check().map(|()| self),
        }
    }

    /// Refuses what cannot name a turn, though the client meant it to.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match &self.odd {
            Some(odd) => Ok(orlop_app::check_id("request", odd)?),
            None => Ok(()),
        }
    }

    /// Another id for what is `asked`, where this one belongs to something else: the same one each
    /// time, so that it can be asked again.
    #[must_use]
    pub(crate) fn other_for(&self, asked: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{} {asked}", self.id)).into();
        let bytes = digest.first_chunk::<16>().copied().unwrap_or_default();
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid().to_string();
        Self { id, ..self.clone() }
    }
}

impl Input for RequestId {}

impl FromRequestParts<Server> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, Problem> {
        let known = parts.extensions.get::<RequestId>().cloned();
        Ok(known.unwrap_or_else(fresh))
    }
}

fn fresh() -> RequestId {
    let id = uuid::Uuid::new_v4().to_string();
    RequestId { id, given: false, odd: None, trace_parent: None }
}

/// Gives every request its id, and the response the id it did not set itself.
pub(crate) async fn assign(mut request: Request, next: Next) -> Response {
    let mut id = match request.headers().get(&HEADER) {
        None => fresh(),
        Some(given) => {
            let given = given.to_str().unwrap_or_default().to_owned();
            match orlop_app::check_id("request", &given) {
                Ok(()) => RequestId { id: given, given: true, ..fresh() },
                Err(_) => RequestId { odd: Some(given), ..fresh() },
            }
        }
    };
    let parent = request.headers().get("traceparent").and_then(|parent| parent.to_str().ok());
    // What is no such thing is ignored, as its specification says.
    id.trace_parent = parent.filter(|parent| is_trace_parent(parent)).map(str::to_owned);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id.id) {
        response.headers_mut().entry(HEADER).or_insert(value);
    }
    response
}

/// Whether a text is a `traceparent` (W3C Trace Context): version, trace, span and flags in hex.
fn is_trace_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(5, '-').collect();
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
    };
    let named = |part: &str| part.bytes().any(|byte| byte != b'0');
    match parts.as_slice() {
        [version, trace, span, flags, rest @ ..] => {
            hex(version, 2)
                && *version != "ff"
                && hex(trace, 32)
                && hex(span, 16)
                && hex(flags, 2)
                && named(trace)
                && named(span)
                && (rest.is_empty() || *version != "00")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_parent_is_taken_as_its_specification_says() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for (text, taken) in [
            (format!("00-{trace}-{span}-01"), true),
            (format!("01-{trace}-{span}-01-more"), true),
            (format!("00-{trace}-{span}-01-more"), false),
            (format!("ff-{trace}-{span}-01"), false),
            (format!("00-{}-{span}-01", "0".repeat(32)), false),
            (format!("00-{trace}-{}-01", "0".repeat(16)), false),
            (format!("00-{}-{span}-01", trace.to_uppercase()), false),
            (format!("00-{trace}-{span}"), false),
            (String::new(), false),
        ] {
            assert_eq!(is_trace_parent(&text), taken, "{text}");
        }
    }
}
