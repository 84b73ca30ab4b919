//! `cargo xtask web`: builds the web page, which the next build of the program takes in.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::{process, workspace::Workspace};

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    match arguments {
        [] => build(workspace)?,
        ["--test"] => {
            build(workspace)?;
            process::run(&mut npm(workspace, ["run", "e2e"]))?;
        }
        other => return Err(crate::unknown_arguments("web", other)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks the types and the rules of the page, without a browser and without building it.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    if !folder(workspace).join("node_modules").is_dir() {
        install(workspace)?;
    }
    process::run(&mut npm(workspace, ["run", "check"]))?;
    process::run(&mut npm(workspace, ["test"]))
}

/// Builds the page.
fn build(workspace: &Workspace) -> Result<(), String> {
    install(workspace)?;
    process::run(&mut npm(workspace, ["run", "build"]))?;
    process::run(&mut npm(workspace, ["run", "size"]))
}

fn install(workspace: &Workspace) -> Result<(), String> {
    process::run(&mut npm(workspace, ["ci", "--no-fund", "--no-audit"]))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join("web")
}

fn npm<const N: usize>(workspace: &Workspace, arguments: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder(workspace)).args(arguments);
    command
}
