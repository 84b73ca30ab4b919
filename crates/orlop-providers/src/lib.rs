//! How Orlop talks to models: the HTTP client that providers share, what the APIs of model servers
//! have in common, and one module for each of them.
//!
//! Bytes come in through [`http`], become events in [`sse`] or [`lines`], and leave a [`wire`] as fragments to
//! show and finished native items. A provider never sees a session.

pub mod anthropic;
pub mod catalogue;
mod executor;
pub mod extensions;
pub mod gemini;
pub mod http;
pub mod lines;
#[cfg(feature = "local")]
pub mod local;
pub mod ollama;
pub mod openai;
pub mod pull;
pub mod responses;
pub mod scripted;
pub mod secret;
pub mod sse;
pub mod wire;

pub use executor::TokioExecutor;
pub use gemini::Gemini;
pub use http::{Answer, Call, HttpClient, HttpSettings};
pub use openai::OpenAiCompatible;
pub use secret::Secret;
