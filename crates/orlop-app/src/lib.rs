//! The application layer of Orlop: stored sessions, durable turns, locks, events, actions, host
//! plugins and configuration, on top of the core.

pub mod config;
mod scope;
pub mod store;

pub use scope::{MAX_ID, Scope, check_id};
