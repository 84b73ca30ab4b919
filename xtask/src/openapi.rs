//! `cargo xtask openapi`: Schemathesis asks every route of the OpenAPI document of `orlop serve`.
//!
//! It is installed from PyPI in the versions that `tests/openapi` locks, and kept under `target`.

use std::process::{Command, ExitCode};

use crate::{process, python, served::Served, workspace::Workspace};

const SOURCES: &str = "tests/openapi";

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    check(workspace, arguments)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks everything; `arguments` are passed on to Schemathesis.
pub(crate) fn check(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let sources = workspace.root().join(SOURCES);
    let folder = workspace.output_folder("openapi")?;
    let python = python::install(&sources.join("requirements.txt"), &folder.join("python"))
        .map_err(|why| format!("Schemathesis could not be installed: {why}"))?;
    let served = Served::start(workspace, &sources.join("orlop.toml"), &folder)?;
    let mut probe = Command::new(python);
    probe.arg(sources.join("probe.py")).args(arguments).current_dir(&folder);
    process::run(served.told(probe.env("PYTHONDONTWRITEBYTECODE", "1")))
}
