//! A mock model server that speaks the APIs of model servers.
//!
//! A test queues one [`Reply`] per expected request; the server plays them in order, in the form
//! of the [`Api`] that the request speaks, as a stream or as one JSON document, whichever it asked
//! for, and keeps what it received. A strict server also refuses what the real one would refuse.

mod answer;
mod api;
mod echo;
mod forms;
mod reply;
mod request;
mod rules;
mod server;
mod sign;

pub use api::Api;
pub use reply::{Completion, Content, Fixed, Reply, Script, ToolCall};
pub use request::RecordedRequest;
pub use server::MockModel;
