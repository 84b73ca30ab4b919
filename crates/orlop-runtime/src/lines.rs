//! The lines of a process, as they are read.

use orlop_core::types::error::RETRY_AFTER;
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
    pub(crate) error: Option<RpcError>,
}

#[derive(Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    data: Option<Value>,
}

impl RpcError {
    pub(crate) fn into_error(self, package: &str) -> Error {
        let data = self.data.unwrap_or_default();
        let class = data.get("class").cloned().and_then(|class| serde_json::from_value(class).ok());
        let class = match class.unwrap_or(ErrorClass::Plugin) {
            // It is not Orlop's defect.
            ErrorClass::Internal => ErrorClass::Plugin,
            class => class,
        };
        let message = match self.message.is_empty() {
            true => format!("plugin \"{package}\" failed and does not say why"),
            false => self.message,
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
}

#[derive(Deserialize)]
pub(crate) struct Asked {
    pub(crate) call: u64,
    #[serde(default)]
    pub(crate) args: orlop_core::Map,
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Whether what comes on the way is told as it comes.
    #[serde(default)]
    pub(crate) stream: bool,
}

#[derive(Deserialize)]
pub(crate) struct PartParams<'a> {
    pub(crate) call: u64,
    #[serde(borrow)]
    pub(crate) value: &'a RawValue,
}

#[derive(Deserialize)]
pub(crate) struct Progress {
    pub(crate) call: u64,
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
}

#[derive(Deserialize)]
pub(crate) struct Log {
    pub(crate) level: Option<String>,
    #[serde(default)]
    pub(crate) message: String,
}
