//! A mock model server that speaks the OpenAI chat completions API.
//!
//! A test queues one [`Reply`] per expected request; the server plays them in order, as server-sent
//! events or as one JSON document, whichever the request asked for, and keeps what it received.

mod answer;
mod echo;
mod render;
mod reply;
mod request;
mod server;

pub use reply::{Completion, Content, Fixed, Reply, Script, ToolCall};
pub use request::RecordedRequest;
pub use server::MockModel;
