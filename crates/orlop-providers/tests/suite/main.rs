//! Providers, against model servers of this program and recorded exchanges.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../read_stream/mod.rs"]
mod read_stream;

mod anthropic_recorded;
mod anthropic_requests;
mod catalogue;
mod extensions;
mod gemini_recorded;
mod gemini_requests;
mod http;
mod ollama_recorded;
mod ollama_requests;
mod provider_answers;
mod provider_cancel;
mod provider_errors;
mod provider_recorded;
mod provider_requests;
mod pull;
mod recorded;
mod responses_recorded;
mod responses_requests;
mod scripted;
