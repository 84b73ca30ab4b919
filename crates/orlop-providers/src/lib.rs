//! How Orlop talks to model servers: the HTTP client that providers share, server-sent events,
//! and OpenAI-compatible chat completions.
//!
//! Bytes come in through [`http`], become events in [`sse`], and leave [`openai`] as fragments to
//! show and one finished native item. A provider never sees a session.

mod executor;
pub mod http;
pub mod openai;
pub mod secret;
pub mod sse;

pub use executor::TokioExecutor;
pub use http::{Answer, Call, HttpClient, HttpSettings};
pub use openai::OpenAiCompatible;
pub use secret::Secret;
