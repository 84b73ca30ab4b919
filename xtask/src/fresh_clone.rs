//! `cargo xtask first-run`: the first run as the README promises it, from a fresh clone.
//!
//! What is committed is cloned into a temporary folder. There the test `fresh_clone` runs the command
//! of the README on a terminal, with an empty home folder, until the embedded model has answered.
//! Dependencies that are compiled already are lent to the clone, because they come from the same
//! sources. The crates of the workspace are compiled from the files of the clone.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use crate::{model, process, workspace::Workspace};

/// What the test is told: the clone, and the folder that cargo builds it in.
const CLONE: &str = "ORLOP_FRESH_CLONE";
const TARGET: &str = "ORLOP_FRESH_TARGET";

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(crate::unknown_arguments("first-run", arguments));
    }
    let weights = model::ensure(workspace).ok_or("there is no model that could answer")?;
    check(workspace, &weights, |_| {})?;
    Ok(ExitCode::SUCCESS)
}

/// Clones, and runs the test with these weights, showing each line of it to `look`.
pub(crate) fn check(
    workspace: &Workspace,
    weights: &Path,
    look: impl FnMut(&str),
) -> Result<(), String> {
    let clone = Clone::of(workspace)?;
    let target = workspace.output_folder("first-run")?;
    lend(&workspace.built("debug"), &target.join("debug"))
        .map_err(|error| format!("cannot lend dependencies to the clone: {error}"))?;
    // As all tests are built: see `Workspace::built_program`.
    let arguments = ["test", "--workspace", "--locked", "--test", "fresh_clone"];
    let mut test = workspace.cargo(arguments);
    test.env(CLONE, &clone.folder).env(TARGET, target).env(model::VARIABLE, weights);
    process::stream(&mut test, look)
}

/// A clone of what is committed; removed when the value is dropped.
struct Clone {
    folder: PathBuf,
}

impl Clone {
    fn of(workspace: &Workspace) -> Result<Self, String> {
        let name = format!("orlop-fresh-clone-{}", std::process::id());
        let clone = Self { folder: env::temp_dir().join(name) };
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"]).arg(workspace.root()).arg(&clone.folder);
        process::run(&mut git)?;
        let mut changed = Command::new("git");
        changed.current_dir(workspace.root()).args(["status", "--short", "--untracked-files=no"]);
        if !process::text_of(&mut changed)?.is_empty() {
            println!("what is not committed is not part of the clone");
        }
        clone.date_back(workspace.root())?;
        Ok(clone)
    }

    /// Gives files that are the same in the checkout their date there, so that a second run compiles
    /// only what has changed since the first: cargo goes by dates.
    fn date_back(&self, checkout: &Path) -> Result<(), String> {
        let mut list = Command::new("git");
        list.current_dir(&self.folder).args(["ls-files", "-z"]);
        for name in process::text_of(&mut list)?.split_terminator('\0') {
            let (here, there) = (self.folder.join(name), checkout.join(name));
            let is_same =
                fs::read(&there).is_ok_and(|text| fs::read(&here).is_ok_and(|it| it == text));
            if is_same {
                date_as(&there, &here).map_err(|error| format!("cannot date {name}: {error}"))?;
            }
        }
        Ok(())
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        // It is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Lends what is compiled of dependencies: what cargo knows of them and what their build scripts made
/// is copied, because cargo writes into these files. Libraries are linked; they are only ever replaced.
fn lend(from: &Path, to: &Path) -> io::Result<()> {
    for folder in [".fingerprint", "build", "deps"] {
        fs::create_dir_all(to.join(folder))?;
        for entry in entries(&from.join(folder)) {
            let name = entry.file_name();
            let is_ours = name.to_str().is_none_or(is_of_workspace);
            let is_lent = folder != "deps" || is_library(&entry.path());
            let place = to.join(folder).join(&name);
            if !is_ours && is_lent && !place.exists() {
                copy(&entry.path(), &place)?;
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Whether this is the name of something that was made of a crate of the workspace.
fn is_of_workspace(name: &str) -> bool {
    let name = name.strip_prefix("lib").unwrap_or(name);
    ["orlop", "xtask"].iter().any(|ours| name.starts_with(ours))
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// A library, or the list of files it was made of; no program of tests.
fn is_library(path: &Path) -> bool {
    matches!(ending(path), "rlib" | "rmeta" | "so" | "dylib" | "dll" | "d")
}

/// A file or a folder with its dates; libraries as a second name of the same file, where that is
/// possible.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        return entries(from)
            .try_for_each(|entry| copy(&entry.path(), &to.join(entry.file_name())));
    }
    if matches!(ending(from), "rlib" | "rmeta") && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)?;
    date_as(from, to)
}

fn date_as(from: &Path, to: &Path) -> io::Result<()> {
    let date = fs::metadata(from)?.modified()?;
    // A program that is not writable can still be dated by its owner.
    fs::File::open(to)?.set_modified(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependencies_are_lent() {
        let names = ["liborlop_app-1f.rlib", "orlop-3c", "xtask-5d", "libtokio-2a.rlib", "ring-99"];
        assert_eq!(names.map(is_of_workspace), [true, true, true, false, false]);
    }

    #[test]
    fn what_is_lent_keeps_its_date_and_what_the_clone_has_is_left_alone() {
        let folder = env::temp_dir().join(format!("orlop-lend-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        let date = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        for name in ["deps/libring-1.rlib", "deps/ring-1.d", "deps/a_test-1", "build/ring-1/out/x"]
        {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "old").unwrap();
            fs::File::open(&path).unwrap().set_modified(date).unwrap();
        }
        lend(&from, &to).unwrap();
        for name in ["deps/libring-1.rlib", "deps/ring-1.d", "build/ring-1/out/x"] {
            assert_eq!(fs::metadata(to.join(name)).unwrap().modified().unwrap(), date, "{name}");
        }
        assert!(!to.join("deps/a_test-1").exists());
        fs::write(to.join("deps/ring-1.d"), "new").unwrap();
        lend(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("deps/ring-1.d")).unwrap(), "new");
        assert_eq!(fs::read_to_string(from.join("deps/ring-1.d")).unwrap(), "old");
        fs::remove_dir_all(folder).unwrap();
    }
}
