//! Where a test keeps its data: a fresh file or a fresh database, gone when the test is over.

use orlop_app::store::Store;
use orlop_store::{PostgresStore, SqliteStore};
use orlop_testkit::PostgresServer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A fresh place for one test.
pub(crate) enum Place {
    Sqlite(Folder),
    Postgres(String),
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(Folder::new())
    }

    /// A fresh database, unless the machine has no PostgreSQL.
    pub(crate) fn postgres() -> Option<Self> {
        let server = PostgresServer::shared()?;
        Some(Self::Postgres(server.database().unwrap()))
    }

    /// Opens the store. A second call is what another process would see.
    pub(crate) fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(folder) => Arc::new(SqliteStore::open(&folder.file()).unwrap()),
            Self::Postgres(url) => Arc::new(PostgresStore::connect(url).unwrap()),
        }
    }
}

/// What only a look into the tables can tell.
impl Place {
    /// Runs a query that gives a number. Tables are called as in `orlop.items`.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match self {
            Self::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.file()).unwrap();
                connection.query_row(&sql.replace("orlop.", ""), [], |row| row.get(0)).unwrap()
            }
            Self::Postgres(url) => {
                let server = PostgresServer::shared().unwrap();
                server.sql(url, sql).unwrap().parse().unwrap()
            }
        }
    }

    /// How many rows a table has.
    pub(crate) fn rows(&self, table: &str) -> i64 {
        self.number(&format!("SELECT COUNT(*) FROM orlop.{table}"))
    }
}

/// A folder that is deleted with its owner.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-store-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// The database in it.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("orlop.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes a test for each store out of each case of the file.
macro_rules! on_every_store {
    ($(#[test] $case:ident;)*) => {
        mod sqlite {
            $(#[test]
            fn $case() {
                let place = $crate::place::Place::sqlite();
                futures::executor::block_on(super::$case(&place));
            })*
        }
        mod postgres {
            $(#[test]
            fn $case() {
                match $crate::place::Place::postgres() {
                    Some(place) => futures::executor::block_on(super::$case(&place)),
                    None => orlop_testkit::skip(
                        concat!("PostgreSQL: ", stringify!($case)),
                        "no PostgreSQL server is installed",
                    ),
                }
            })*
        }
    };
}
pub(crate) use on_every_store;
