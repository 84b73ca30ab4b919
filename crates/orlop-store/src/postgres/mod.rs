//! PostgreSQL: a small pool of threads with a connection each, for any number of processes.
//!
//! All tables are in the schema `orlop` of the database. With `sslmode=require`, or if the server
//! offers it, connections are encrypted and the server's certificate must be one the system trusts.

mod connection;
mod errors;
mod migrate;
mod settings;
mod transaction;
mod values;

use crate::SqlStore;
use crate::database::Connection;
use crate::workers::Workers;
use connection::PostgresConnection;
use orlop_core::{Error, Result};
use settings::Settings;
use std::sync::Arc;

/// How many operations can be under way at once; connections are made when they are needed.
const CONNECTIONS: usize = 8;

/// The kind of a [`PostgresStore`].
#[derive(Debug)]
pub enum Postgres {}

/// A store in a PostgreSQL database.
pub type PostgresStore = SqlStore<Postgres>;

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with options such as
    /// `?sslmode=require` behind it, and creates the tables if need be. Talks to the server, and so
    /// blocks. A connection that breaks later is made anew when it is next needed.
    pub fn connect(url: &str) -> Result<Self> {
        let settings = Arc::new(Settings::read(url)?);
        // The client has a runtime of its own, which cannot run inside that of the caller.
        let migrated = std::thread::scope(|scope| {
            scope.spawn(|| migrate::migrate(&mut settings.connect()?, settings.place())).join()
        });
        migrated.unwrap_or_else(|_| {
            Err(Error::internal("preparing the tables of the store failed; please report it"))
        })?;
        let connections = (0..CONNECTIONS).map(|_| -> Box<dyn Connection> {
            Box::new(PostgresConnection::new(settings.clone()))
        });
        let workers = Workers::start("orlop-store", connections.collect())?;
        Ok(Self::new(format!("postgres {}", settings.place()), workers, None))
    }
}
