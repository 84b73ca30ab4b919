//! Packages of Python in the versions that a file locks, kept below `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// Installs what `requirements` names into the folder `venv`, unless it is there already; gives
/// the interpreter.
pub(crate) fn install(requirements: &Path, venv: &Path) -> Result<PathBuf, String> {
    let wanted = fs::read_to_string(requirements)
        .map_err(|error| format!("{}: {error}", requirements.display()))?;
    let (python, stamp) = (venv.join("bin/python"), venv.with_extension("txt"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    println!("installing packages from PyPI");
    process::text_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--requirement"]);
    process::text_of(pip.arg(requirements))?;
    fs::write(&stamp, &wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}
