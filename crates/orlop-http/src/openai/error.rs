//! Errors as clients of this API read them: `{"error": {"message", "type", "param", "code"}}`.

use super::PREFIX;
use crate::problem::Problem;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use orlop_core::{Error, ErrorClass};
use schemars::JsonSchema;
use serde::Serialize;

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

/// The document in the body.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiError")]
pub(crate) struct ErrorDocument<'a> {
    /// What went wrong.
    error: ErrorObject<'a>,
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiErrorObject")]
pub(crate) struct ErrorObject<'a> {
    /// What happened and what to do, for people.
    message: &'a str,
    /// The kind of error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The part of the request that is wrong, if it is one.
    param: Option<&'static str>,
    /// The short name of the error, if it has one.
    code: Option<&'a str>,
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
    pub(super) fn body(&self) -> ErrorObject<'_> {
        ErrorObject {
            message: self.problem.message(),
            kind: kind(self.problem.status()),
            param: self.param,
            code: self.code(),
        }
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
            tracing::error!(target: "orlop::http", status = status.as_u16(), error = self.message(), "a request failed");
        }
        let body = serde_json::to_vec(&ErrorDocument { error: self.body() }).unwrap_or_default();
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

/// Puts what was refused before a handler was asked (by its address, its token, its method, its
/// body) into the shape of this API, if it was asked for under it.
pub(crate) async fn in_its_shape(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_asked = path.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('/'));
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>().filter(|_| is_asked) else {
        return response;
    };
    let shaped = Failure::from(problem.clone()).into_response();
    let (parts, _) = response.into_parts();
    let (mut shaped, body) = shaped.into_parts();
    for (name, value) in &parts.headers {
        if name != header::CONTENT_LENGTH {
            shaped.headers.entry(name).or_insert_with(|| value.clone());
        }
    }
    Response::from_parts(shaped, body)
}
