//! What can go wrong while a test sets up its servers and files.

use std::path::PathBuf;

/// A failed set-up. Tests pass it on with `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestkitError {
    /// No local port could be opened.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(#[source] std::io::Error),
    /// The address to record from is not an absolute http or https URL.
    #[error("not a usable upstream address: {0}")]
    Upstream(String),
    /// The HTTP client of the recorder could not be built.
    #[error("cannot build the HTTP client of the recorder: {0}")]
    Client(#[source] reqwest::Error),
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should hold.
    #[error("{} is not a recording: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}
