//! Test support for Orlop: a scripted model server, recorded HTTP exchanges and their fixtures.
//!
//! Every server here listens on a free port of 127.0.0.1, runs on the runtime of the test that
//! started it and stops when it is dropped.

pub mod asking;
pub mod cassette;
pub mod chat_stream;
mod error;
pub mod fixtures;
mod gate;
mod local_server;
mod logged;
pub mod mock_model;
mod playback;
pub mod postgres;
pub mod raw_server;
pub mod scripted;
mod sync;
pub mod tiny_model;

pub use error::TestkitError;
pub use fixtures::skip;
pub use gate::Gate;
pub use logged::logged;
pub use postgres::PostgresServer;
pub use raw_server::RawServer;
