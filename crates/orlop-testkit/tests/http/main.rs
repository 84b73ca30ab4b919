//! The servers of this crate, seen over real HTTP by a client that hides nothing.

mod apis;
mod client;
mod completions;
mod echo;
mod faults;
mod fixtures;
mod observation;
mod recorder;
mod replayer;

/// What a test returns.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
