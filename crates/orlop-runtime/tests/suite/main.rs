//! Plugins in processes, with real processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod bundles;
mod faults;
mod grants;
mod host_operations;
mod kit;
mod limits;
mod node;
mod powers;
mod protocol;
mod python;
mod starting;
