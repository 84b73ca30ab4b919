//! Real MCP servers for the tests that talk to them: from npm and from PyPI, in fixed versions.
//!
//! They are kept under `target`. Where they cannot be had the tests count as skipped, so nothing here
//! is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{process, workspace::Workspace};

/// The variable that names the folder to tests.
pub(crate) const VARIABLE: &str = "ORLOP_MCP_SERVERS";

/// What npm brings.
const NPM: [&str; 2] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];
/// What pip brings.
const PIP: &str = "mcp==2.3.0";

/// The folder of the servers, which are installed if they are not there.
pub(crate) fn ensure(workspace: &Workspace) -> Option<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    match install(workspace) {
        Ok(folder) => Some(folder),
        Err(why) => {
            println!(
                "MCP servers could not be installed ({why}); the tests that talk to them are skipped. \
                 Make `npm` and `python3 -m pip` work, or name a folder with them in {VARIABLE}."
            );
            None
        }
    }
}

fn install(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.output_folder("mcp-servers")?;
    // Another list of versions is installed anew.
    let wanted = [NPM.as_slice(), &[PIP]].concat().join("\n");
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    println!("installing MCP servers from npm and PyPI");
    let npm =
        ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
    process::text_of(Command::new("npm").current_dir(&folder).args(npm).args(NPM))?;
    process::text_of(Command::new("python3").args(["-m", "venv"]).arg(folder.join("python")))?;
    let python = python_in(&folder);
    process::text_of(Command::new(python).args(["-m", "pip", "install", "--quiet", PIP]))?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn python_in(folder: &Path) -> PathBuf {
    folder.join("python/bin/python")
}
