//! One error type for the whole platform: a class, a sentence a person can act on, and who failed.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What kind of failure it is; surfaces map it to exit codes and HTTP statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ErrorClass {
    /// Right type, unacceptable value.
    BadArgument,
    /// A JSON value of the wrong type.
    WrongType,
    /// Unknown id.
    NotFound,
    /// An index beyond the list.
    OutOfRange,
    /// A precondition or a plugin contract was violated.
    BadState,
    /// Two changes that cannot both hold.
    Conflict,
    /// Somebody cancelled.
    Cancelled,
    /// The model server refused, failed or sent nonsense.
    Provider,
    /// A plugin failed, panicked or took too long.
    Plugin,
    /// Something needed is not there right now; trying later may help.
    Unavailable,
    /// A defect of Orlop itself.
    Internal,
}

impl ErrorClass {
    /// The class as written in JSON, for instance `bad_argument`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadArgument => "bad_argument",
            Self::WrongType => "wrong_type",
            Self::NotFound => "not_found",
            Self::OutOfRange => "out_of_range",
            Self::BadState => "bad_state",
            Self::Conflict => "conflict",
            Self::Cancelled => "cancelled",
            Self::Provider => "provider",
            Self::Plugin => "plugin",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

/// The key under which the JSON of an error tells after how many seconds to try again.
pub const RETRY_AFTER: &str = "retry_after_seconds";

/// `Result` with the platform's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure. Cheap to move, safe to log: secrets never enter it.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct Error(Box<Details>);

#[derive(Debug, Clone, PartialEq)]
struct Details {
    class: ErrorClass,
    message: String,
    plugin: Option<String>,
    hook: Option<String>,
    provider_status: Option<u16>,
    provider_body: Option<String>,
    retryable: bool,
    retry_after: Option<Duration>,
    context_overflow: bool,
    timed_out: bool,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $class:ident),* $(,)?) => {
        $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorClass::$class, message)
        })*
    };
}

impl Error {
    /// A failure of `class` with one sentence that says what happened and what to do.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            class,
            message: message.into(),
            plugin: None,
            hook: None,
            provider_status: None,
            provider_body: None,
            retryable: class == ErrorClass::Unavailable,
            retry_after: None,
            context_overflow: false,
            timed_out: false,
        }))
    }

    constructors! {
        /// Right type, unacceptable value.
        bad_argument => BadArgument,
        /// A JSON value of the wrong type.
        wrong_type => WrongType,
        /// Unknown id.
        not_found => NotFound,
        /// An index beyond the list.
        out_of_range => OutOfRange,
        /// A precondition or a plugin contract was violated.
        bad_state => BadState,
        /// Two changes that cannot both hold.
        conflict => Conflict,
        /// Somebody cancelled.
        cancelled => Cancelled,
        /// The model server failed.
        provider => Provider,
        /// A plugin failed.
        plugin => Plugin,
        /// Not there right now.
        unavailable => Unavailable,
        /// A defect of Orlop itself.
        internal => Internal,
    }

    /// Names the plugin and the hook that failed; the first one named stays.
    pub fn in_hook(mut self, plugin: &str, hook: &str) -> Self {
        self.0.plugin.get_or_insert_with(|| plugin.to_owned());
        self.0.hook.get_or_insert_with(|| hook.to_owned());
        self
    }

    /// Keeps what the model server answered, as it answered it.
    pub fn with_provider_body(mut self, status: Option<u16>, body: impl Into<String>) -> Self {
        self.0.provider_status = status;
        self.0.provider_body = Some(body.into());
        self
    }

    /// Says whether the same call may succeed later.
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says how long to wait before the same call is made again, as whoever failed asks for.
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.0.retry_after = wait.into();
        self
    }

    /// Says that the conversation is longer than the model can take; a shorter one may succeed.
    pub fn with_context_overflow(mut self) -> Self {
        self.0.context_overflow = true;
        self
    }

    /// Says that there was no answer in time.
    pub fn with_timeout(mut self) -> Self {
        self.0.timed_out = true;
        self
    }

    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The sentence, without the name of the plugin.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The plugin that failed, if one did.
    pub fn plugin_name(&self) -> Option<&str> {
        self.0.plugin.as_deref()
    }

    /// The hook that failed, if one did.
    pub fn hook_name(&self) -> Option<&str> {
        self.0.hook.as_deref()
    }

    /// The HTTP status of the model server, if it got that far.
    pub fn provider_status(&self) -> Option<u16> {
        self.0.provider_status
    }

    /// The raw answer of the model server.
    pub fn provider_body(&self) -> Option<&str> {
        self.0.provider_body.as_deref()
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// How long to wait before the same call is made again, if that was asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The same in seconds, as HTTP and events tell it. Nobody comes back too early.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.0.retry_after?;
        Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
    }

    /// Whether the conversation is longer than the model can take.
    pub fn is_context_overflow(&self) -> bool {
        self.0.context_overflow
    }

    /// Whether there was no answer in time.
    pub fn is_timeout(&self) -> bool {
        self.0.timed_out
    }

    /// Whether this is a cancellation.
    pub fn is_cancelled(&self) -> bool {
        self.0.class == ErrorClass::Cancelled
    }

    /// The failure as events and action results carry it.
    pub fn to_json(&self) -> serde_json::Value {
        let mut error = serde_json::json!({
            "type": self.0.class,
            "message": self.to_string(),
            "retryable": self.0.retryable,
        });
        if let Some(seconds) = self.retry_after_seconds() {
            error[RETRY_AFTER] = seconds.into();
        }
        if self.0.context_overflow {
            error["context_overflow"] = true.into();
        }
        error
    }

    fn describe(&self) -> String {
        match (&self.0.plugin, &self.0.hook) {
            (Some(plugin), Some(hook)) => {
                format!("{} (plugin \"{plugin}\", hook {hook})", self.0.message)
            }
            (Some(plugin), None) => format!("{} (plugin \"{plugin}\")", self.0.message),
            _ => self.0.message.clone(),
        }
    }
}

/// The form of [`Error::to_json`].
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Error {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RequestError".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "Why something failed.",
            "properties": {
                "type": { "type": "string", "description": "The class of the failure, such as `provider`." },
                "message": { "type": "string", "description": "What happened, and what to do." },
                "retryable": { "type": "boolean", "description": "Whether another try may help." },
                "context_overflow": { "type": "boolean", "description": "Whether the conversation is too long for the model." },
                "retry_after_seconds": { "type": "number", "minimum": 0, "description": "How long to wait before another try, where somebody said so." }
            },
            "required": ["type", "message", "retryable"]
        })
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.class.as_str(), self.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_plugin_named_stays() {
        let error =
            Error::bad_state("broken").in_hook("inner", "init").in_hook("outer", "finalize");
        assert_eq!(error.to_string(), "broken (plugin \"inner\", hook init)");
        assert_eq!(error.to_json()["type"], "bad_state");
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds() {
        let told =
            |wait| Error::provider("busy").with_retry_after(wait).to_json()[RETRY_AFTER].clone();
        assert_eq!(told(Duration::from_millis(1)), 1);
        assert_eq!(told(Duration::from_secs(7)), 7);
        assert_eq!(Error::provider("busy").to_json().get(RETRY_AFTER), None);
    }
}
