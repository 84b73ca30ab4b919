//! Errors as clients of this API read them: `{"error": {"message", "type", "param", "code"}}`.

use crate::problem::Problem;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use orlop_core::{Error, ErrorClass, Value};
use serde_json::json;

/// By this header the SDKs know whether trying again makes sense.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A request that was not done.
#[derive(Debug)]
pub(super) struct Failure {
    problem: Problem,
    param: Option<&'static str>,
    code: Option<&'static str>,
    retryable: Option<bool>,
}

/// What handlers answer with.
pub(super) type Answer<T = Response> = Result<T, Failure>;

impl Failure {
    /// Something in the request is not right.
    pub(super) fn bad(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Error::bad_argument(message.into()).into() }
    }

    /// The request names something that is not there.
    pub(super) fn missing(
        param: Option<&'static str>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { param, code: Some(code), ..Error::not_found(message.into()).into() }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.problem.status()
    }

    /// Whether somebody else is at it.
    pub(super) fn is_conflict(&self) -> bool {
        self.problem.error_type() == ErrorClass::Conflict.as_str()
    }

    /// The error object.
    pub(super) fn body(&self) -> Value {
        json!({
            "message": self.problem.message(),
            "type": kind(self.problem.status()),
            "param": self.param,
            "code": self.code(),
        })
    }

    /// The short name of the error.
    pub(super) fn code(&self) -> Option<&str> {
        self.code.or(match self.problem.status() {
            StatusCode::UNAUTHORIZED => Some("invalid_api_key"),
            StatusCode::TOO_MANY_REQUESTS => Some("rate_limit_exceeded"),
            status if status.is_server_error() => Some("server_error"),
            _ => None,
        })
    }

    /// What happened.
    pub(super) fn message(&self) -> &str {
        self.problem.message()
    }
}

fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::CONFLICT => "conflict_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem, param: None, code: None, retryable: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let retryable = error.retryable() || error.class() == ErrorClass::Unavailable;
        let code = error.is_context_overflow().then_some("context_length_exceeded");
        let problem = match code {
            // To these clients it is their mistake, as the model server says too.
            Some(_) => Error::bad_argument(error.to_string()).into(),
            None => error.into(),
        };
        Self { problem, param: None, code, retryable: Some(retryable) }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status(), self.problem.retry_after_seconds());
        if status.is_server_error() {
            tracing::error!(target: "orlop::http", status = status.as_u16(), message = self.message(), "a request failed");
        }
        let body = json!({ "error": self.body() }).to_string();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(retryable) = self.retryable {
            let told = if retryable { "true" } else { "false" };
            headers.insert(SHOULD_RETRY, HeaderValue::from_static(told));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
