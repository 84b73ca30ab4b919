//! PostgreSQL for the tests of the store: installed if it is missing and that is possible.
//!
//! Without it those tests count as skipped, so nothing here is a failure.

use super::packages;
use std::path::Path;

/// Installs PostgreSQL from the packages of the system, unless it is there.
pub(super) fn ensure() {
    if is_installed() {
        return;
    }
    println!("PostgreSQL is missing; installing it for the tests of the store");
    if let Err(why) = packages::install("postgresql") {
        println!(
            "PostgreSQL could not be installed ({why}); its tests are skipped. \
             Install the package `postgresql`, or put its `initdb` and `postgres` on the PATH."
        );
    }
}

fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|entry| entry.path().join("bin"));
    folders.chain(std::env::split_paths(&path)).any(|folder| has_server(&folder))
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}
