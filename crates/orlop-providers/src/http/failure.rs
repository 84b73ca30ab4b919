//! Failed calls as errors a person can act on: what the server said, what to do, and no key.

use super::MAX_ERROR_BODY;
use super::call::Call;
use super::overflow::{TOO_LONG, is_overflow};
use super::retry::{self, Repeat, Retries};
use super::transport::Broken;
use crate::secret::Secret;
use orlop_types::{Error, Value};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use std::time::Duration;

/// How much of a server's own words goes into the sentence; all of them are kept beside it.
const MAX_WORDS: usize = 500;

/// An attempt that failed.
#[derive(Debug)]
pub(super) struct Failure {
    what: String,
    advice: String,
    status: Option<u16>,
    body: Option<String>,
    /// Whether and when to try again.
    pub(super) repeat: Repeat,
    retryable: bool,
    too_long: bool,
}

impl Failure {
    fn unanswered(what: String, advice: &str) -> Self {
        Self {
            what,
            advice: advice.to_owned(),
            status: None,
            body: None,
            repeat: Repeat::Later,
            retryable: true,
            too_long: false,
        }
    }

    /// No connection, or none that lasted until the head of the answer.
    pub(super) fn no_connection(call: &Call, broken: Broken) -> Self {
        let what = format!("cannot reach the model server at {}: {}", call.server(), broken.cause);
        let failure = Self::unanswered(what, "check \"base_url\" and that the server is running");
        let repeat = if broken.passes { Repeat::Later } else { Repeat::Never };
        Self { repeat, retryable: broken.passes, ..failure }
    }

    /// The head of the answer did not come in time. It is not asked again: the work may go on.
    pub(super) fn no_answer(call: &Call, limit: Duration) -> Self {
        let (server, seconds) = (call.server(), limit.as_secs_f64());
        let what = format!("the model server at {server} did not answer within {seconds} seconds");
        let failure = Self::unanswered(what, "try again later or raise the timeout");
        Self { repeat: Repeat::Never, ..failure }
    }

    /// The connection broke between the head and the first byte of the body.
    pub(super) fn broken_at_start(call: &Call, broken: Broken) -> Self {
        let (server, cause) = (call.server(), broken.cause);
        let what =
            format!("the answer ended early: the model server at {server} sent none ({cause})");
        Self::unanswered(what, "try again")
    }

    /// An answer that is none: a status other than success.
    pub(super) fn answered(
        call: &Call,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let body = String::from_utf8_lossy(body);
        let mut body = call.secret().mask(&body).into_owned();
        cut(&mut body, MAX_ERROR_BODY);
        let repeat = retry::repeat(status, headers, &body);
        let mut what = format!("the model server answered {}", name(status));
        if let Some(words) = message_in(&body) {
            what = format!("{what}: {words}");
        }
        let too_long = is_overflow(Some(status.as_u16()), &body);
        Self {
            what,
            advice: if too_long { TOO_LONG.to_owned() } else { advice(status, headers) },
            status: Some(status.as_u16()),
            body: Some(body),
            repeat,
            retryable: retry::passes(status.as_u16()),
            too_long,
        }
    }

    /// What happened, in words.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// The error after `attempts` of these.
    pub(super) fn into_error(self, attempts: u32, retries: &Retries, secret: &Secret) -> Error {
        let mut message = format!("{}; {}", self.what, self.advice);
        let wait = match self.repeat {
            Repeat::After(wait) if !wait.is_zero() => Some(wait),
            _ => None,
        };
        if let Some(wait) = wait {
            let seconds = wait.as_secs_f64().ceil();
            message = match wait > retries.max_retry_after {
                true => format!("{}; it asks to wait {seconds} seconds: try again then", self.what),
                false => format!("{}; retry in {seconds} s", self.what),
            };
        }
        if attempts > 1 {
            message = format!("{message} (tried {attempts} times)");
        }
        let error = Error::provider(secret.mask(&message))
            .with_retryable(self.retryable)
            .with_retry_after(wait);
        let error = if self.too_long { error.with_context_overflow() } else { error };
        match self.body {
            Some(body) => error.with_provider_body(self.status, body),
            None => error,
        }
    }
}

/// The status as a person knows it, for instance `429 Too Many Requests`.
fn name(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None if status.as_u16() == 529 => "529 Overloaded".to_owned(),
        None => status.as_u16().to_string(),
    }
}

/// Cuts `text` to at most `limit` bytes, between two characters.
pub(crate) fn cut(text: &mut String, limit: usize) {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or_default());
}

fn advice(status: StatusCode, headers: &HeaderMap) -> String {
    let advice = match status.as_u16() {
        300..=399 => {
            let target = headers.get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.unwrap_or("another address");
            return format!(
                "it redirects to {target}: set \"base_url\" to where it wants to be asked"
            );
        }
        401 => "check \"api_key\" in the configuration of the agent",
        402 => "check the balance of the account that \"api_key\" belongs to",
        403 => "check that \"api_key\" in the configuration of the agent may use this model",
        404 => "check \"base_url\" and \"model\" in the configuration of the agent",
        405 => "check \"base_url\" in the configuration of the agent",
        413 => "shorten the conversation or the attachments",
        429 => "wait a moment and try again",
        408 | 500.. => "try again later",
        _ => "change the request or the configuration of the agent accordingly",
    };
    advice.to_owned()
}

/// The sentence a server put into its error body, in any of the usual shapes, else the start of
/// the body. `None` if it is empty.
///
/// ```
/// use orlop_providers::http::message_in;
/// assert_eq!(message_in(r#"{"error": {"message": "no"}}"#).as_deref(), Some("no"));
/// assert_eq!(message_in("Bad Gateway\n").as_deref(), Some("Bad Gateway"));
/// ```
pub fn message_in(body: &str) -> Option<String> {
    let words = serde_json::from_str(body).ok().and_then(|value: Value| words_of(&value));
    let words = words.unwrap_or_else(|| body.to_owned());
    let words = words.trim();
    match words.char_indices().nth(MAX_WORDS) {
        _ if words.is_empty() => None,
        Some((end, _)) => Some(format!("{}...", &words[..end])),
        None => Some(words.to_owned()),
    }
}

fn words_of(value: &Value) -> Option<String> {
    match value {
        Value::String(words) => Some(words.clone()),
        Value::Object(fields) => {
            ["error", "message", "detail", "msg"].iter().find_map(|key| words_of(fields.get(*key)?))
        }
        // Gemini wraps its error in a list, FastAPI lists what it refused.
        Value::Array(items) => items.iter().find_map(words_of),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(status: u16, body: &str, expected: Expect) {
        let key = ["tell", "-no-", "body"].concat();
        let call = Call::get("http://host/v1", "models")
            .and_then(|call| call.bearer(Secret::new(key.clone())))
            .unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        let body = body.replace("KEY", &key);
        let failure = Failure::answered(&call, status, &HeaderMap::new(), body.as_bytes());
        let error = failure.into_error(1, &Retries::default(), call.secret());
        let kept = error.provider_body().unwrap_or_default();
        expected.assert_eq(&format!("{error}\nretryable {} {kept}", error.retryable()));
    }

    #[test]
    fn the_message_says_what_the_server_said_and_what_to_do() {
        check(
            401,
            r#"{"error":{"message":"Incorrect API key provided: KEY"}}"#,
            expect![[r#"
            the model server answered 401 Unauthorized: Incorrect API key provided: ***; check "api_key" in the configuration of the agent
            retryable false {"error":{"message":"Incorrect API key provided: ***"}}"#]],
        );
        check(
            403,
            r#"{"detail":"no"}"#,
            expect![[r#"
            the model server answered 403 Forbidden: no; check that "api_key" in the configuration of the agent may use this model
            retryable false {"detail":"no"}"#]],
        );
        check(
            429,
            r#"{"error":"slow down"}"#,
            expect![[r#"
            the model server answered 429 Too Many Requests: slow down; wait a moment and try again
            retryable true {"error":"slow down"}"#]],
        );
        check(
            404,
            r#"[{"error":{"message":"no such model"}}]"#,
            expect![[r#"
            the model server answered 404 Not Found: no such model; check "base_url" and "model" in the configuration of the agent
            retryable false [{"error":{"message":"no such model"}}]"#]],
        );
        check(
            422,
            r#"{"detail":[{"loc":["body"],"msg":"too hot"}]}"#,
            expect![[r#"
            the model server answered 422 Unprocessable Entity: too hot; change the request or the configuration of the agent accordingly
            retryable false {"detail":[{"loc":["body"],"msg":"too hot"}]}"#]],
        );
        check(
            502,
            "<html>bad gateway</html>",
            expect![[r#"
            the model server answered 502 Bad Gateway: <html>bad gateway</html>; try again later
            retryable true <html>bad gateway</html>"#]],
        );
        check(
            529,
            "",
            expect![[r#"
            the model server answered 529 Overloaded; try again later
            retryable true "#]],
        );
    }

    #[test]
    fn long_words_are_cut_in_the_message_only() {
        let body = "é".repeat(2000);
        let words = message_in(&body).unwrap();
        assert_eq!(words.chars().count(), 503);
    }

    #[test]
    fn a_kept_body_has_a_bound_and_no_half_key() {
        let key = ["half", "a", "key"].concat();
        let call = Call::get("http://host", "models")
            .and_then(|call| call.bearer(Secret::new(key.clone())))
            .unwrap();
        let body = format!("{}{key}", "x".repeat(MAX_ERROR_BODY - 4));
        let status = StatusCode::BAD_REQUEST;
        let failure = Failure::answered(&call, status, &HeaderMap::new(), body.as_bytes());
        let kept = failure.body.unwrap();
        assert!(kept.len() <= MAX_ERROR_BODY && kept.ends_with("xxx***"));
    }
}
