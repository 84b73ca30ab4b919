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

/// Builds the page, with its own checks before.
pub(crate) fn build(workspace: &Workspace) -> Result<(), String> {
    process::run(&mut npm(workspace, ["ci", "--no-fund", "--no-audit"]))?;
    process::run(&mut npm(workspace, ["test"]))?;
    process::run(&mut npm(workspace, ["run", "build"]))?;
    process::run(&mut npm(workspace, ["run", "size"]))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join("web")
}

fn npm<const N: usize>(workspace: &Workspace, arguments: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder(workspace)).args(arguments);
    command
}
