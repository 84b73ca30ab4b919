//! `cargo xtask web`: builds the web page, which the next build of the program takes in, tests it in
//! a browser, against a program that has it inside, and takes the pictures of the documentation.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;
use std::{env, fs};

use crate::{packages, process, workspace::Workspace};

/// The variable that names a browser other than Debian's.
const CHROMIUM: &str = "CHROMIUM";

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    match arguments {
        [] => build(workspace)?,
        ["--test"] => {
            build(workspace)?;
            test_in_browser(workspace, &browser()?, |_| {})?;
        }
        ["--pictures"] => {
            build(workspace)?;
            in_browser(workspace, &browser()?, "pictures", |_| {})?;
        }
        other => return Err(crate::unknown_arguments("web", other)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the page if it is older than its sources, and tests its rules without a browser.
pub(crate) fn check(workspace: &Workspace, look: impl FnMut(&str)) -> Result<(), String> {
    if is_current(&folder(workspace)) {
        process::run(&mut npm(workspace, ["run", "check"]))?;
        process::run(&mut npm(workspace, ["run", "size"]))?;
    } else {
        build(workspace)?;
    }
    process::stream(&mut npm(workspace, ["test"]), look)
}

/// A browser for the tests: the one that is named, Debian's, or Debian's once it is installed.
/// Without one the error says why.
pub(crate) fn browser() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(CHROMIUM) {
        return Ok(named.into());
    }
    let debians = PathBuf::from("/usr/bin/chromium");
    if !debians.is_file() {
        println!("Chromium is missing; installing it for the tests of the page");
        packages::install("chromium").map_err(|why| {
            format!(
                "Chromium could not be installed ({why}); install it, or name one in {CHROMIUM}"
            )
        })?;
    }
    Ok(debians)
}

/// Tests the page as the program serves it, showing each line of the tests to `look`.
pub(crate) fn test_in_browser(
    workspace: &Workspace,
    browser: &Path,
    look: impl FnMut(&str),
) -> Result<(), String> {
    in_browser(workspace, browser, "e2e", look)
}

/// Runs a script of the page in a browser, against a program built now.
fn in_browser(
    workspace: &Workspace,
    browser: &Path,
    script: &str,
    look: impl FnMut(&str),
) -> Result<(), String> {
    let program = workspace.built_program()?;
    let mut tests = npm(workspace, ["run", script]);
    tests.env(CHROMIUM, browser).env("ORLOP_BIN", program);
    // What is looked at is what the program serves.
    process::stream(tests.env_remove("ORLOP_PAGE"), look)
}

/// Measures the page in a browser, showing each line of the figures to `look`.
pub(crate) fn bench(workspace: &Workspace, look: impl FnMut(&str)) -> Result<(), String> {
    let browser = browser()?;
    if !is_current(&folder(workspace)) {
        build(workspace)?;
    }
    process::run(&mut workspace.cargo(["build", "--release", "--locked", "--package", "orlop"]))?;
    let mut figures = npm(workspace, ["run", "bench"]);
    figures.env(CHROMIUM, browser).env("ORLOP_BIN", workspace.program("release"));
    process::stream(figures.env_remove("ORLOP_PAGE"), look)
}

/// Builds the page.
fn build(workspace: &Workspace) -> Result<(), String> {
    process::run(&mut npm(workspace, ["ci", "--no-fund", "--no-audit"]))?;
    process::run(&mut npm(workspace, ["run", "build"]))?;
    process::run(&mut npm(workspace, ["run", "size"]))
}

/// Whether the page was built after the last change of what it is made of. Building it again would
/// have the program compiled again.
fn is_current(folder: &Path) -> bool {
    let Some(built) = changed(&folder.join("dist/index.html")) else { return false };
    let sources = ["src", "public", "index.html", "package-lock.json", "vite.config.ts"];
    folder.join("node_modules").is_dir()
        && sources.iter().all(|source| newest(&folder.join(source)).is_none_or(|at| at <= built))
}

/// When something last changed in a file, or in a folder and all below it.
fn newest(path: &Path) -> Option<SystemTime> {
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    below.filter_map(|entry| newest(&entry.path())).chain(changed(path)).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join("web")
}

fn npm<const N: usize>(workspace: &Workspace, arguments: [&str; N]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder(workspace)).args(arguments);
    command
}
