//! Which store a setting such as `sqlite:` or `postgres://host/db` names.

use crate::{PostgresStore, SqliteStore};
use orlop_app::store::Store;
use orlop_core::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Opens the store that `url` names: `sqlite:` (the file `default_file`), `sqlite:PATH`, or
/// `postgres://USER:PASSWORD@HOST/DATABASE`.
///
/// Opening reads and writes files or talks to a server, and so blocks; call it where that is
/// allowed.
pub fn open(url: &str, default_file: &Path) -> Result<Arc<dyn Store>> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    match scheme {
        "sqlite" => Ok(Arc::new(SqliteStore::open(file_of(rest).unwrap_or(default_file))?)),
        "postgres" | "postgresql" => Ok(Arc::new(PostgresStore::connect(url)?)),
        _ => Err(unknown(scheme)),
    }
}

/// The path behind `sqlite:`, of which other programs write `sqlite://` as well.
fn file_of(rest: &str) -> Option<&Path> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    Some(path).filter(|path| !path.is_empty()).map(Path::new)
}

/// Shows no more of it than its beginning: the rest may have a password.
fn unknown(scheme: &str) -> Error {
    let shown = match scheme {
        "" => "this".to_owned(),
        scheme if scheme.len() <= 20 => format!("\"{}:\"", scheme.escape_debug()),
        _ => "this".to_owned(),
    };
    Error::bad_argument(format!(
        "{shown} names no store; use sqlite:, sqlite:/path/to/orlop.db or postgres://user@host/database"
    ))
}
