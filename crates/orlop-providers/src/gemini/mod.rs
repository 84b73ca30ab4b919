//! Gemini's `generateContent`: the wire, and both directions between it and messages.
//!
//! Native items of this provider are the `Content` objects of the API; instructions are items with
//! the role `system`. [`history`] arranges them as the API wants them and [`request`] makes the body,
//! [`stream`] turns the events of the answer into fragments and one new item, [`to_native`] and
//! [`from_native`] translate between items and the neutral transcript; none of them does I/O.
//! [`Gemini`] is the plugin that puts them together.

pub mod assemble;
mod attachments;
mod call_ids;
mod facts;
pub mod from_native;
pub mod history;
mod models;
mod pieces;
mod provider;
pub mod request;
mod schema;
mod settings;
pub mod stream;
pub mod to_native;
pub mod wire;

pub use assemble::{Assembler, answer};
pub use provider::{Gemini, GenerateContent, NAME};
pub use stream::{ContentReader, events};
