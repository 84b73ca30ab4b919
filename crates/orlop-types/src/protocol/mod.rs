//! The messages between the host and a plugin that is a process of its own: JSON-RPC 2.0, one object
//! a line. `docs/reference/plugin-protocol.md` tells how they are used; their JSON Schemas, made of
//! these types, are in `docs/schema/protocol.json`. What the hooks themselves are given and answer is
//! in the schemas of their kinds.

pub mod app;
pub mod core;
mod crossing;
mod described;
mod from_plugin;
mod operation;
#[cfg(feature = "schema")]
mod schema;
mod to_plugin;

pub use crossing::{GivenSession, LentList, LentSession, ListPart, Name, SessionFields};
pub use described::{Description, PluginDescription, Wanted};
pub use from_plugin::{Asked, Failure, FailureData, Log, Part, Progress};
#[cfg(feature = "schema")]
pub use schema::document;
pub use to_plugin::{Cancel, Folders, HookCall, HookContext, HostPart, Initialize, Nothing};

/// The version of the protocol that this host speaks.
pub const PROTOCOL: u64 = 1;
