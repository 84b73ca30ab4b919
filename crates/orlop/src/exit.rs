//! How a command ends: one exit code per kind of failure, one message on stderr.

use orlop_app::config::ConfigError;
use orlop_core::{Error, ErrorClass};
use std::process::ExitCode;

/// The request failed, or anything else did.
pub(crate) const FAILED: u8 = 1;
/// The command line makes no sense.
pub(crate) const USAGE: u8 = 2;
/// The configuration does not work.
pub(crate) const CONFIGURATION: u8 = 3;
/// What was named does not exist.
pub(crate) const NOT_FOUND: u8 = 4;
/// Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }

    pub(crate) fn config(error: &Error) -> Self {
        Self { code: CONFIGURATION, message: error.to_string() }
    }

    /// Already told; only the code is left.
    pub(crate) fn silent(code: u8) -> Self {
        Self { code, message: String::new() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.class() {
            ErrorClass::NotFound => NOT_FOUND,
            ErrorClass::BadArgument | ErrorClass::WrongType | ErrorClass::OutOfRange => USAGE,
            ErrorClass::Cancelled => INTERRUPTED,
            _ => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { code: CONFIGURATION, message: error.to_string() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // A reader that left (`orlop ... | head`) is no failure worth a message.
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::silent(0),
            _ => Self {
                code: FAILED,
                message: format!(
                    "cannot read the input or write the output: {error}; check where they lead"
                ),
            },
        }
    }
}

/// Tells of a failure and gives its exit code.
pub(crate) fn failed(failure: &Failure) -> ExitCode {
    if !failure.message.is_empty() {
        let text = orlop_app::ui::plain_text(&failure.message);
        crate::output::tell(&format!("orlop: {text}"));
    }
    ExitCode::from(failure.code)
}

/// Help, version, or a command line that makes no sense.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    match error.use_stderr() {
        true => ExitCode::from(USAGE),
        false => ExitCode::SUCCESS,
    }
}
