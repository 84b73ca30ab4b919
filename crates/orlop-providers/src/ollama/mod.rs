//! The native chat API of Ollama: the wire, and both directions between it and messages.
//!
//! Native items of this provider are the message objects of the API. An answer is lines of JSON:
//! [`stream`] turns them into fragments and one new item, [`convert`] translates between items and
//! the neutral transcript; neither does I/O. [`Ollama`] is the plugin that puts them together.

pub mod assemble;
mod call_ids;
pub mod convert;
mod frame;
mod pictures;
mod provider;
mod pull;
pub mod stream;
pub mod wire;

pub use assemble::{Assembler, answer};
pub use provider::{Chat, NAME, Ollama};
pub use pull::pull;
pub use stream::{ChatReader, events};
