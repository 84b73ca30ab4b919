//! The Responses API, of OpenAI and of servers that speak Open Responses: the wire, and both
//! directions between it and messages.
//!
//! Native items are the input and output items of the API, those of tools that the server runs
//! itself included. One message of the model is all items of a response; [`history`] says which of
//! them are sent again and what is left out because the API refuses it. [`Responses`] is the
//! plugin.

pub mod answer;
pub mod assemble;
pub mod convert;
mod draft;
pub mod history;
mod previous;
mod provider;
pub mod request;
pub mod stream;
pub mod wire;

pub use answer::response;
pub use provider::{NAME, Responses, ResponsesWire};
pub use stream::{ResponsesReader, events};
