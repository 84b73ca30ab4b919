//! OpenAI-compatible chat completions: the wire, and both directions between it and messages.
//!
//! Native items of this provider are the message objects of the API. [`request`] copies them into
//! a body, [`stream`] turns the events of the answer into fragments and one new item, [`convert`]
//! translates between items and the neutral transcript; none of them does I/O. [`OpenAiCompatible`]
//! is the plugin that puts them together.

pub mod assemble;
mod content;
pub mod convert;
mod provider;
pub mod request;
pub mod stream;
mod tool_calls;
pub mod wire;

pub use assemble::{Assembler, Finished, completion};
pub use provider::{Chat, NAME, OpenAiCompatible};
pub use stream::{ChatReader, events};
