//! `cargo xtask clients`: programs that speak OpenAI's API, unmodified, against `orlop serve`.
//!
//! They are installed from npm and PyPI in the versions that `tests/clients` locks, and kept under
//! `target`. Where that is not possible the step fails: nothing else shows that they work.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{fs, thread};

use crate::{process, python, served::Served, workspace::Workspace};

const SOURCES: &str = "tests/clients";

const PYTHON: [&str; 5] = [
    "openai_sdk.py",
    "docs.py",
    "langchain_client.py",
    "agents_client.py",
    "pydantic_ai_client.py",
];
const NODE: [&str; 3] = ["openai_sdk.mjs", "ai_sdk.mjs", "codex.mjs"];

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(crate::unknown_arguments("clients", arguments));
    }
    check(workspace, |_| {})?;
    Ok(ExitCode::SUCCESS)
}

/// Runs all scripts, showing each line they print to `look`.
pub(crate) fn check(workspace: &Workspace, mut look: impl FnMut(&str)) -> Result<(), String> {
    let sources = workspace.root().join(SOURCES);
    let folder = workspace.output_folder("openai-clients")?;
    thread::scope(|scope| {
        let list = sources.join("python/requirements.txt");
        let venv = folder.join("python");
        let python = scope.spawn(move || python::install(&list, &venv).map(drop));
        let node = install_node(&sources, &folder);
        python.join().unwrap_or_else(|_| Err("pip could not be run".to_owned())).and(node)
    })
    .map_err(|why| format!("the clients could not be installed: {why}"))?;
    let served = Served::start(workspace, &sources.join("orlop.toml"), &folder)?;
    let mut failures = Vec::new();
    let python = PYTHON.map(|script| {
        let mut command = Command::new(folder.join("python/bin/python"));
        command.arg(sources.join("python").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
        (script, command)
    });
    let node = NODE.map(|script| {
        let mut command = Command::new(folder.join("node/node_modules/.bin/node"));
        command.arg(folder.join("node").join(script));
        (script, command)
    });
    for (script, mut command) in python.into_iter().chain(node) {
        println!("{script}");
        if process::stream(served.told(&mut command), &mut look).is_err() {
            failures.push(script);
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!("these clients failed: {}", failures.join(", "))),
    }
}

/// Whether what `stamp` names was installed for these contents.
fn is_installed(stamp: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|installed| installed == wanted)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn written(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn install_node(sources: &Path, folder: &Path) -> Result<(), String> {
    let (sources, folder, stamp) =
        (sources.join("node"), folder.join("node"), folder.join("node.txt"));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    // Modules are looked for beside the scripts.
    for entry in fs::read_dir(&sources).map_err(|error| error.to_string())?.flatten() {
        if entry.path().is_file() {
            let copied = fs::copy(entry.path(), folder.join(entry.file_name()));
            copied.map_err(|error| error.to_string())?;
        }
    }
    let wanted = read(&folder.join("package-lock.json"))?;
    if is_installed(&stamp, &wanted) {
        return Ok(());
    }
    println!("installing clients from npm");
    let arguments = ["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
    process::text_of(Command::new("npm").args(arguments).current_dir(&folder))?;
    written(&stamp, &wanted)
}
