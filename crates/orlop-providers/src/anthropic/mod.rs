//! The Anthropic Messages API: the wire, and both directions between it and messages.
//!
//! Native items are the message objects of the API, `{role, content}`; instructions are items of
//! the role `system`, which [`request`] puts where the API wants them. [`stream`] turns the events
//! of an answer into fragments and one new item, [`convert`] translates between items and the
//! neutral transcript. [`Anthropic`] is the plugin that puts them together.

pub mod assemble;
mod block;
mod content;
pub mod convert;
pub mod event;
mod fields;
mod found;
mod ids;
mod provider;
pub mod request;
pub mod settings;
pub mod stream;
mod turns;

pub use assemble::{Assembler, answer};
pub use convert::INVALID_JSON;
pub use provider::{Anthropic, Messages, NAME};
pub use stream::{MessagesReader, events};
