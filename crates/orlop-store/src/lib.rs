//! Stores: SQLite in one file, or PostgreSQL, behind the contract of [`orlop_app::store::Store`].
//!
//! What a store does is written once, as plain code over transactions; each database has its own
//! connections, tables and error messages only. Threads own the connections, so the futures of a
//! store never block.

mod assets;
mod changes;
mod commit;
mod database;
mod events;
mod items;
mod leases;
mod open;
mod pieces;
mod plugin_states;
mod postgres;
mod search;
mod sessions;
mod shares;
mod sql_store;
mod sqlite;
mod turns;
mod words;
mod workers;

pub use open::open;
pub use postgres::{Postgres, PostgresStore};
pub use sql_store::SqlStore;
pub use sqlite::{Sqlite, SqliteStore};
