//! Answers that are errors although the status said success.

use crate::http::{TOO_LONG, cut, is_overflow, message_in, passes};
use orlop_types::{Error, Value};

/// How much of a line that cannot be read is shown.
const SHOWN: usize = 120;

/// The server put an error where a chunk or a completion should be.
pub(crate) fn reported(body: &str) -> Error {
    let words = message_in(body).unwrap_or_else(|| "it gives no reason".to_owned());
    let status = status_in(body);
    let retryable = status.is_some_and(passes);
    let too_long = is_overflow(status, body);
    let advice = match (too_long, retryable) {
        (true, _) => TOO_LONG,
        (_, true) => "try again later",
        _ => "change the request accordingly",
    };
    let error = Error::provider(format!("the model server reported an error: {words}; {advice}"))
        .with_provider_body(status, kept(body))
        .with_retryable(retryable);
    if too_long { error.with_context_overflow() } else { error }
}

/// The HTTP status that an error object names.
fn status_in(body: &str) -> Option<u16> {
    let value: Value = serde_json::from_str(body).ok()?;
    let error = value.get("error").unwrap_or(&value);
    let number = |key: &str| error.get(key)?.as_u64().filter(|code| (400..600).contains(code));
    match ["status_code", "code", "status"].into_iter().find_map(number) {
        Some(status) => u16::try_from(status).ok(),
        None => {
            ["code", "type"].into_iter().find_map(|key| status_named(error.get(key)?.as_str()?))
        }
    }
}

/// The HTTP status that goes with the name of an error, where only the name is said.
fn status_named(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" | "server_is_overloaded" => 529,
        _ => return None,
    })
}

/// What came is no JSON, or not of the shape it should have.
pub(crate) fn unreadable(what: &str, body: &str, error: &serde_json::Error) -> Error {
    let mut start = body.to_owned();
    cut(&mut start, SHOWN);
    let problem = if error.is_data() { "has an unexpected shape" } else { "is no JSON" };
    Error::provider(format!(
        "the model server sent {what} that {problem} ({error}): {start:?}; \
         check that \"base_url\" leads to a server for this provider"
    ))
    .with_provider_body(None, kept(body))
}

/// The stream ended before the model did.
pub(crate) fn ended_early() -> Error {
    Error::provider(
        "the answer ended early: the model server closed the stream before the end of the message; try again",
    )
    .with_retryable(true)
}

/// There is no message in the answer.
pub(crate) fn no_choice(body: Option<&str>) -> Error {
    let error = Error::provider("the model server sent an answer without a message; try again")
        .with_retryable(true);
    match body {
        Some(body) => error.with_provider_body(None, kept(body)),
        None => error,
    }
}

fn kept(body: &str) -> String {
    let mut body = body.to_owned();
    cut(&mut body, crate::http::MAX_ERROR_BODY);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_in_words_says_more_than_the_kind() {
        let body = r#"{"error":{"type":"invalid_request_error","code":"rate_limit_exceeded","message":"no"}}"#;
        assert_eq!(reported(body).provider_status(), Some(429));
        let body = r#"{"code":"server_error","message":"no"}"#;
        assert!(reported(body).retryable());
    }

    #[test]
    fn the_name_of_an_error_says_whether_it_passes() {
        for (kind, status, passes) in [
            ("overloaded_error", Some(529), true),
            ("rate_limit_error", Some(429), true),
            ("api_error", Some(500), true),
            ("invalid_request_error", Some(400), false),
            ("odd_error", None, false),
        ] {
            let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"no"}}}}"#);
            let error = reported(&body);
            assert_eq!((error.provider_status(), error.retryable()), (status, passes), "{kind}");
        }
    }
}
