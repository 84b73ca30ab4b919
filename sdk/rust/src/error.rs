//! Why a hook failed, or why the host refused something.

use serde_json::{Value, json};
use std::fmt;

/// A failure with a class of Orlop, such as `bad_argument` or `unavailable`.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What sort of failure it is.
    pub class: String,
    /// What happened, and what to do.
    pub message: String,
    /// Whether trying again may help.
    pub retryable: bool,
    /// Of a provider: the conversation is too long for the model. It is made shorter and sent again.
    pub context_overflow: bool,
}

impl Error {
    /// A failure of a class.
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        let class = class.to_owned();
        Self { class, message: message.into(), retryable: false, context_overflow: false }
    }

    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the call was cancelled")
    }

    /// As JSON-RPC has it.
    pub(crate) fn to_json(&self, code: i64) -> Value {
        let mut data = json!({"class": self.class, "retryable": self.retryable});
        if self.context_overflow {
            data["context_overflow"] = true.into();
        }
        json!({"code": code, "message": self.message, "data": data})
    }

    pub(crate) fn from_json(error: &Value) -> Self {
        let text = |value: &Value, or: &str| value.as_str().unwrap_or(or).to_owned();
        let data = &error["data"];
        Self {
            class: text(&data["class"], "internal"),
            message: text(&error["message"], "the host refused"),
            retryable: data["retryable"] == true,
            context_overflow: data["context_overflow"] == true,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::new("internal", message)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::new("internal", message)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new("unavailable", error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new("bad_argument", error.to_string())
    }
}
