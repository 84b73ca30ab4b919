//! Errors as clients see them: problem documents (RFC 9457) with `status`, `error_type` and
//! `message`.

use crate::request_id::{self, RequestId};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use orlop_core::{Error, ErrorClass};
use serde::Serialize;

/// A request that was not done, and why.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    error_type: &'static str,
    message: String,
    retry_after: Option<u32>,
    request_id: Option<String>,
}

/// The document in the body.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Document<'a> {
    /// A name for the kind of problem; `about:blank` where the status says it all.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'a str,
    /// The status.
    status: u16,
    /// The same as `message`.
    detail: &'a str,
    /// The class of the error, for programs.
    error_type: &'a str,
    /// What happened and what to do, for people.
    message: &'a str,
    /// After how many seconds to try again, where that may help; the header `Retry-After` has it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

/// What clients that closed the connection, or cancelled, would have seen.
fn client_closed_request() -> StatusCode {
    StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST)
}

impl Problem {
    /// A problem that is no error of the application.
    pub fn new(status: StatusCode, error_type: &'static str, message: impl Into<String>) -> Self {
        Self { status, error_type, message: message.into(), retry_after: None, request_id: None }
    }

    /// Who asks is not known.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// Who asks may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// The body is larger than it may be.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// There is too much of something; trying again after so many seconds may help.
    pub fn too_many(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message).retry_after(seconds)
    }

    /// The same, telling when to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same, for a request whose id its body gave.
    #[must_use]
    pub(crate) fn of_request(mut self, id: &RequestId) -> Self {
        self.request_id = Some(id.as_str().to_owned());
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The class of the error, for programs.
    pub fn error_type(&self) -> &'static str {
        self.error_type
    }

    /// What happened and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// After how many seconds to try again, if that may help.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.retry_after
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let class = error.class();
        let status = match class {
            ErrorClass::BadArgument | ErrorClass::WrongType | ErrorClass::OutOfRange => {
                StatusCode::BAD_REQUEST
            }
            ErrorClass::NotFound => StatusCode::NOT_FOUND,
            ErrorClass::BadState | ErrorClass::Conflict => StatusCode::CONFLICT,
            ErrorClass::Cancelled => client_closed_request(),
            ErrorClass::Provider => StatusCode::BAD_GATEWAY,
            ErrorClass::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorClass::Plugin | ErrorClass::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let asked = error.retry_after_seconds().and_then(|wait| u32::try_from(wait).ok());
        let retry_after = match class {
            _ if asked.is_some() => asked,
            ErrorClass::Conflict if error.retryable() => Some(1),
            ErrorClass::Unavailable => Some(5),
            _ => None,
        };
        let message = error.to_string();
        Self { status, error_type: class.as_str(), message, retry_after, request_id: None }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::error!(target: "orlop::http", status = self.status.as_u16(), error_type = self.error_type, error = self.message, "a request failed");
        }
        let title = self.status.canonical_reason().unwrap_or("Client Closed Request");
        let document = Document {
            kind: "about:blank",
            title,
            status: self.status.as_u16(),
            detail: &self.message,
            error_type: self.error_type,
            message: &self.message,
            retry_after_seconds: self.retry_after,
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(id) = self.request_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(request_id::HEADER, id);
        }
        // For routes whose clients read errors in another shape.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::unique_keys;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The one line that this logs as JSON, as a server does that is told to.
    pub(crate) fn logged(work: impl FnOnce()) -> serde_json::Value {
        let lines = Lines::default();
        let held = lines.clone();
        let log = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false);
        let log = log.with_writer(move || held.clone()).finish();
        tracing::subscriber::with_default(log, work);
        let line = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        unique_keys::check(&line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn what_is_logged_as_json_has_every_key_once() {
        let line = logged(|| drop(Problem::from(Error::internal("it broke")).into_response()));
        assert_eq!(line["message"], "a request failed");
        assert!(line["error"].as_str().unwrap().contains("it broke"), "{line}");
        assert_eq!((&line["status"], &line["error_type"]), (&500.into(), &"internal".into()));
    }
}
