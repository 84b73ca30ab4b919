//! Wire types of Orlop: what crosses a process border, lands in a file or is shown to a plugin.
//!
//! This crate holds data and the rules that keep it well formed. It knows nothing of plugins
//! running, requests, stores or surfaces; those are built on it.

pub mod action;
pub mod app_event;
pub mod change;
pub mod error;
pub mod event;
mod findings;
pub mod json;
pub mod lifecycle;
pub mod message;
pub mod native;
pub mod nearest;
pub mod protocol;
pub mod seq;
pub mod session;
pub mod text;
pub mod tool;

pub use action::{ActionDefinition, ActionOwner, ActionRecord, ActionResult, ActionStatus};
pub use app_event::{Event, EventKind};
pub use change::{Change, Edit};
pub use error::{Error, ErrorClass, Result};
pub use event::{Partial, ProviderEvent};
pub use json::{Map, Value};
pub use message::{Message, NativeIndices, Role};
pub use native::NativeItem;
pub use seq::Seq;
pub use session::SessionJson;
pub use tool::{InspectedCall, InspectedResult, PayloadKind, ToolDescriptor, ToolPart, ToolReport};
