//! `cargo xtask test`: every check of the workspace in one go, as the continuous checks run it.
//!
//! The steps run in the order of [`steps`] and the first failure ends the run. The last line is
//! `N passed, N failed, N skipped`, summed over all test programs (see [`Tally`]).

mod postgres;
mod skips;
mod tally;
mod terminals;

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::workspace::Workspace;
use crate::{
    book, clients, coverage, fresh_clone, licences, mcp, model, openapi, portable, process,
    schemas, web,
};
use skips::Skips;
use tally::Tally;

/// One check: its heading, and what it runs.
struct Step {
    title: &'static str,
    run: fn(&Workspace, &mut Tally) -> Result<(), String>,
}

/// All checks, cheap ones first.
fn steps() -> Vec<Step> {
    vec![
        Step { title: "format", run: |workspace, _| format(workspace) },
        Step { title: "other systems", run: |workspace, _| portable::check(workspace) },
        // Before anything is compiled, because the program takes the page in.
        Step { title: "web page", run: web_page },
        Step { title: "clippy", run: |workspace, _| clippy(workspace) },
        Step { title: "licences", run: |workspace, _| licences::check(workspace) },
        Step { title: "book", run: |workspace, _| book::check(workspace) },
        Step { title: "schemas", run: |workspace, _| schemas::check(workspace) },
        Step { title: "SDK for Python", run: |workspace, _| python_sdk(workspace) },
        Step { title: "SDK for TypeScript", run: |workspace, _| typescript_sdk(workspace) },
        Step { title: "tests", run: tests },
        Step { title: "first run from a fresh clone", run: first_run },
        Step { title: "web page in a browser", run: web_page_in_browser },
        Step { title: "clients of the OpenAI-compatible API", run: openai_clients },
        Step { title: "every route, asked", run: |workspace, _| openapi::check(workspace, &[]) },
        Step { title: "documentation", run: |workspace, _| documentation(workspace) },
        Step { title: "coverage", run: |workspace, _| coverage::check(workspace, false) },
    ]
}

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(crate::unknown_arguments("test", arguments));
    }
    let mut tally = Tally::default();
    for step in steps() {
        println!("\n=== {} ===", step.title);
        let start = Instant::now();
        let result = (step.run)(workspace, &mut tally);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(message) = result {
            tally.count_failed_step();
            println!("--- {}: FAILED after {seconds:.1} s: {message}\n\n{tally}", step.title);
            return Ok(ExitCode::FAILURE);
        }
        println!("--- {}: {seconds:.1} s", step.title);
    }
    println!("\n{tally}");
    Ok(ExitCode::SUCCESS)
}

fn format(workspace: &Workspace) -> Result<(), String> {
    process::run(&mut workspace.cargo(["fmt", "--all", "--check"]))
        .map_err(|message| format!("{message}; `cargo fmt --all` puts it right"))
}

fn clippy(workspace: &Workspace) -> Result<(), String> {
    let arguments =
        ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
    process::run(&mut workspace.cargo(arguments))
}

fn python_sdk(workspace: &Workspace) -> Result<(), String> {
    let mut tests = Command::new("python3");
    tests.args(["-m", "unittest", "discover", "-s", ".", "-t", "."]);
    process::run(tests.current_dir(workspace.root().join("sdk/python")))
}

fn typescript_sdk(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.root().join("sdk/typescript");
    if !folder.join("node_modules").is_dir() {
        let mut install = Command::new("npm");
        install.args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
        process::run(install.current_dir(&folder))?;
    }
    process::run(Command::new("node").arg("--test").current_dir(&folder))
}

fn web_page(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    web::check(workspace, |line| tally.read_line(line))
}

fn web_page_in_browser(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    match web::browser() {
        Ok(browser) => web::test_in_browser(workspace, &browser, |line| tally.read_line(line)),
        Err(why) => {
            println!("SKIPPED: the web page in a browser: {why}");
            tally.count_skipped_step();
            Ok(())
        }
    }
}

fn tests(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    postgres::ensure();
    terminals::ensure();
    let skips = Skips::new(workspace)?;
    let mut tests = workspace.cargo(["test", "--workspace", "--locked", "--no-fail-fast"]);
    tests.env(skips::VARIABLE, skips.file());
    if let Some(weights) = model::ensure(workspace) {
        tests.env(model::VARIABLE, weights);
        if let Some(python) = model::reference(workspace) {
            tests.env(model::LLAMA_CPP, python);
        }
    }
    if let Some(servers) = mcp::ensure(workspace) {
        tests.env(mcp::VARIABLE, servers);
    }
    let result = process::stream(&mut tests, |line| tally.read_line(line));
    let lines = skips.lines()?;
    for line in &lines {
        println!("{line}");
    }
    tally.count_skips(lines.len());
    result
}

fn first_run(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    match model::ensure(workspace) {
        Some(weights) => fresh_clone::check(workspace, &weights, |line| tally.read_line(line)),
        None => {
            println!("SKIPPED: the first run from a fresh clone: no model could be fetched");
            tally.count_skipped_step();
            Ok(())
        }
    }
}

fn openai_clients(workspace: &Workspace, tally: &mut Tally) -> Result<(), String> {
    clients::check(workspace, |line| tally.read_line(line))
}

fn documentation(workspace: &Workspace) -> Result<(), String> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps", "--locked"]);
    process::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}
