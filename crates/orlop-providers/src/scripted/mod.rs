//! A provider without a network: it answers from a script, for tests, demos and authors of plugins.
//!
//! `script` reads scripts and chooses replies, `shape` is the native form in its varieties,
//! `play` turns a reply into chunks; [`Scripted`] is the plugin.

mod fields;
mod pattern;
mod play;
mod provider;
mod reply;
mod script;
mod shape;
#[cfg(test)]
mod tests;

pub use provider::{NAME, Scripted};
pub use reply::{Call, Failure, Reply, When};
pub use script::{AtEnd, Io, Script};
pub use shape::Shape;
