//! PostgreSQL for the tests of the store: installed if it is missing and that is possible.
//!
//! Without it those tests count as skipped, so nothing here is a failure.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Installs PostgreSQL from the packages of the system, unless it is there.
pub(super) fn ensure() {
    if is_installed() {
        return;
    }
    println!("PostgreSQL is missing; installing it for the tests of the store");
    if let Err(why) = install() {
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

fn install() -> Result<(), String> {
    let prefix = rights().ok_or("neither root nor sudo without a password")?;
    let install = ["install", "-y", "-q", "--no-install-recommends", "postgresql"];
    if apt_get(prefix, &install).is_ok() {
        return Ok(());
    }
    // The lists of packages may be missing or old.
    apt_get(prefix, &["update", "-q"])?;
    apt_get(prefix, &install)
}

/// What to put before a command so that it runs as root.
fn rights() -> Option<&'static [&'static str]> {
    let runs = |program: &str, arguments: &[&str]| -> Option<Output> {
        Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()
    };
    if runs("id", &["-u"])?.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    runs("sudo", &["-n", "true"])?.status.success().then_some(&["sudo", "-n"])
}

fn apt_get(prefix: &[&str], arguments: &[&str]) -> Result<(), String> {
    let line = [prefix, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], arguments].concat();
    let output = Command::new(line[0])
        .args(&line[1..])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("apt-get: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("apt-get failed").to_owned())
}
