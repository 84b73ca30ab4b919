//! The stateless core of Orlop: sessions as values, the plugin contracts, and the pipeline of one
//! model call.
//!
//! The core does no I/O and knows no clock, file, socket, thread or async runtime; plugins are its
//! only effects. It has no global state: two cores share nothing but what the caller passes in.
//!
//! - [`Session`] is a value; operations on it that need plugins are methods of [`Core`].
//! - [`hooks`] declares every hook once; [`Provider`], [`Extension`], [`Feature`] and [`Tool`] are
//!   the traits that come of it.
//! - [`Core::send_request_stream`] is one model call; [`Core::send_request`] collects it and
//!   [`Blocking`] does without async.
//! - [`interop`] lets a tool written once work with every provider's wire.
//!
//! A plugin says who it is and implements the hooks it cares about; every other hook changes
//! nothing:
//!
//! ```
//! use orlop_core::hooks::{RequestChange, RequestInput};
//! use orlop_core::{Answer, Context, Core, Feature, Manifest, Plugin, StateChange};
//! use std::sync::Arc;
//!
//! /// Asks every model for a cool head.
//! struct CoolHead;
//!
//! impl Plugin for CoolHead {
//!     fn manifest(&self) -> Manifest {
//!         Manifest::new("cool_head", "1.0.0").without_models()
//!     }
//! }
//!
//! impl Feature for CoolHead {
//!     fn initialize_request<'a>(&'a self, _: &'a RequestInput, _: &'a Context) -> Answer<'a, RequestChange> {
//!         Answer::ok(RequestChange::state(StateChange::request("temperature", 0.0)))
//!     }
//! }
//!
//! let mut core = Core::new();
//! core.register_feature(Arc::new(CoolHead))?;
//! assert_eq!(core.registered().features, ["cool_head"]);
//! # Ok::<(), orlop_core::Error>(())
//! ```

pub mod actions;
mod arguments;
mod cancel;
mod config;
mod context;
mod core;
mod digest;
mod discovery;
pub mod hooks;
pub mod interop;
pub mod json_api;
mod json_schema;
pub mod order;
mod output;
mod plugin;
mod price;
mod request;
mod resolve;
pub mod session;
mod tools;
mod ui;

pub use crate::core::Core;
pub use actions::{ActionCall, ChangeLedger, LifecycleRun};
pub use arguments::ArgumentSchema;
pub use cancel::{CallbackId, CancelToken, Cancellation};
pub use config::{Config, Fingerprint};
pub use context::{CallContext, Context, RESERVED_KEYS, ResponseInFlight, TriggerSource};
pub use discovery::{AnyPlugin, Bundle, BundlePlugin, Bundles, classify};
pub use hooks::{
    Answer, ApplicationPlugin, Extension, Feature, HostPlugin, Plugin, Provider, State,
    StateChange, Tool,
};
pub use json_schema::BadSchema;
pub use output::{OUTPUT, OUTPUT_PROBLEMS, OutputSchema, is_paused};
pub use plugin::{Manifest, Registered};
pub use price::configured_cost;
pub use request::{
    Blocking, CoreEvent, Executor, LocalExecutor, RequestOptions, RequestStream, Response,
};
pub use resolve::{ActivePlugins, ModelCache, UnusedTool};
pub use session::{
    Added, Cut, NativeEnd, NativeHistory, NewMessage, Place, Session, Slice, Transcript,
};
pub use tools::{ToolEvent, ToolPreview, closed_tool_message};
pub use ui::{Template, config_entries};

pub use orlop_types::{
    self as types, ActionDefinition, ActionResult, Change, Edit, Error, ErrorClass, Map, Message,
    NativeIndices, NativeItem, Partial, Result, Role, Seq, ToolPart, ToolReport, Value, lifecycle,
};
