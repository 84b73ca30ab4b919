//! The contract of a store, sentence by sentence, on every store there is.
//!
//! A case is a function over a [`place::Place`]; the list at the end of each file makes one test
//! of it for each store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;
mod steps;

mod assets;
mod deleting;
mod events;
mod isolation;
mod leases;
mod lists;
mod opening;
mod plugin_states;
mod search;
mod sessions;
mod shares;
mod sharing;
mod turns;
mod undo;
