//! The lines of a process, as they are read.

use orlop_core::types::error::RETRY_AFTER;
use orlop_core::types::protocol::Failure;
use orlop_core::{Error, ErrorClass, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

#[derive(Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(default)]
    pub(crate) method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}

/// What a plugin says of a failure, as an error of the host.
pub(crate) fn error_of(failure: Failure, package: &str) -> Error {
    let data = failure.data.unwrap_or_default();
    let class = data.get("class").cloned().and_then(|class| serde_json::from_value(class).ok());
    let class = match class.unwrap_or(ErrorClass::Plugin) {
        // It is not Orlop's defect.
        ErrorClass::Internal => ErrorClass::Plugin,
        class => class,
    };
    let message = match failure.message.is_empty() {
        true => format!("plugin \"{package}\" failed and does not say why"),
        false => failure.message,
    };
    let mut error = Error::new(class, message);
    if data.get("context_overflow") == Some(&Value::Bool(true)) {
        error = error.with_context_overflow();
    }
    if let Some(seconds) = data.get(RETRY_AFTER).and_then(Value::as_u64) {
        error = error.with_retry_after(Duration::from_secs(seconds));
    }
    match data.get("retryable").and_then(Value::as_bool) {
        Some(retryable) => error.with_retryable(retryable),
        None => error,
    }
}
