//! SQLite in one file that several processes may share: one thread writes, others read what was
//! last committed (WAL). What is committed survives the loss of power.

mod connection;
mod errors;
mod migrate;

use crate::SqlStore;
use crate::database::Connection;
use crate::workers::Workers;
use connection::SqliteConnection;
use orlop_core::{Error, Result};
use std::path::Path;

const READERS: usize = 2;

/// The kind of a [`SqliteStore`].
#[derive(Debug)]
pub enum Sqlite {}

/// A store in a SQLite file.
pub type SqliteStore = SqlStore<Sqlite>;

impl SqliteStore {
    /// Opens a file, and creates it, its folder and its tables if need be; a new file can be read
    /// and written by its owner only. Reads and writes files, and so blocks: up to half a minute
    /// if another process is busy with the file.
    ///
    /// ```
    /// use orlop_app::{Scope, store::Store};
    /// use orlop_store::SqliteStore;
    /// # let folder = std::env::temp_dir().join(format!("orlop-doc-{}", std::process::id()));
    /// # futures::executor::block_on(async {
    /// let store = SqliteStore::open(&folder.join("orlop.db"))?;
    /// assert!(store.load(&Scope::local(), "unknown").await?.is_none());
    /// # Ok::<(), orlop_core::Error>(()) }).unwrap();
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// ```
    pub fn open(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        create_file(path, &place)?;
        refuse_scraps(path, &place)?;
        let writer = SqliteConnection::open(path, &place)?;
        let mut readers: Vec<Box<dyn Connection>> = Vec::new();
        for _ in 0..READERS {
            readers.push(Box::new(SqliteConnection::open_reader(path, &place)?));
        }
        let writers = Workers::start("orlop-write", vec![Box::new(writer)])?;
        let readers = Workers::start("orlop-read", readers)?;
        Ok(Self::new(format!("sqlite {place}"), writers, Some(readers)))
    }

    /// A store that is gone when it is dropped.
    pub fn open_in_memory() -> Result<Self> {
        let writers = Workers::start("orlop-store", vec![memory_connection()?])?;
        Ok(Self::new("sqlite in memory".to_owned(), writers, None))
    }
}

pub(crate) fn memory_connection() -> Result<Box<dyn Connection>> {
    Ok(Box::new(SqliteConnection::open_in_memory()?))
}

/// Creates an empty file, which is an empty database, if there is none. One that exists is left
/// alone: to open and close it here would end the locks this process has on it.
fn create_file(path: &Path, place: &str) -> Result<()> {
    let refused = |error: std::io::Error| {
        Error::unavailable(format!(
            "{place} cannot be created ({error}); check that its folder exists and that you may write to it"
        ))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(refused)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(refused(error)),
        _ => Ok(()),
    }
}

/// Refuses what is shorter than the beginning of a database: SQLite would take it for an empty one
/// and write over it.
fn refuse_scraps(path: &Path, place: &str) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && (1..100).contains(&file.len()) => {
            Err(errors::no_database(place))
        }
        _ => Ok(()),
    }
}
