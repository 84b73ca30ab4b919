//! `cargo xtask schemas`: the files that are made from the hook table and from the messages of the
//! plugin protocol. They are kept in the repository so that they can be read without building; the
//! check fails if they are stale.

use std::{collections::BTreeMap, fs, process::ExitCode};

use crate::{process, workspace::Workspace};

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    match arguments {
        [] => write(workspace)?,
        ["--check"] => check(workspace)?,
        other => return Err(crate::unknown_arguments("schemas", other)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails and names the files that are not what the hook table makes of them.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let stale: Vec<String> = generated(workspace)?
        .into_iter()
        .filter(|(file, text)| workspace.read(file).ok().as_ref() != Some(text))
        .map(|(file, _)| file)
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("not up to date: {}; `cargo xtask schemas` writes them", stale.join(", ")))
}

fn write(workspace: &Workspace) -> Result<(), String> {
    for (file, text) in generated(workspace)? {
        let path = workspace.root().join(&file);
        let folder = path.parent().unwrap_or(workspace.root());
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {file}: {error}"))?;
        println!("wrote {file}");
    }
    Ok(())
}

/// File name to text, as the core's own generator prints it.
fn generated(workspace: &Workspace) -> Result<BTreeMap<String, String>, String> {
    let mut generator = workspace.cargo([
        "run",
        "--quiet",
        "--locked",
        "--package",
        "orlop-core",
        "--features",
        "schema",
        "--example",
        "hook_reference",
    ]);
    let text = process::text_of(&mut generator)?;
    serde_json::from_str(&text)
        .map_err(|error| format!("the generator printed something else than files: {error}"))
}
