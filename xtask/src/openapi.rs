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

/// The token of the server that needs one.
const TOKEN: &str = "a-token-for-these-tests";

/// Asks everything of a server that anybody on this machine may ask, and of one that needs a token;
/// `arguments` are passed on to Schemathesis.
pub(crate) fn check(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let sources = workspace.root().join(SOURCES);
    let folder = workspace.output_folder("openapi")?;
    let python = python::install(&sources.join("requirements.txt"), &folder.join("python"))
        .map_err(|why| format!("Schemathesis could not be installed: {why}"))?;
    for (config, token) in [("orlop.toml", None), ("tokens.toml", Some(TOKEN))] {
        println!("{config}");
        let served = Served::start(workspace, &sources.join(config), &folder)?;
        let mut probe = Command::new(&python);
        probe.arg(sources.join("probe.py")).args(arguments).current_dir(&folder);
        probe.env("PYTHONDONTWRITEBYTECODE", "1").envs(token.map(|token| ("ORLOP_TOKEN", token)));
        process::run(served.told(&mut probe))?;
    }
    Ok(())
}
