//! Packages of the system that tests want, where they can be installed.

use std::process::{Command, Output, Stdio};

/// Installs a package of the system.
pub(super) fn install(package: &str) -> Result<(), String> {
    let prefix = rights().ok_or("neither root nor sudo without a password")?;
    let install = ["install", "-y", "-q", "--no-install-recommends", package];
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
