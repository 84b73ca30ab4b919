//! The first run as somebody has it who follows the README: a fresh clone, an empty home folder, no
//! key, and the command that stands there. `cargo xtask first-run` makes the clone and runs this.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Folder;
use common::pty::open_in;
use common::wheels::Wheels;
use portable_pty::CommandBuilder;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compiling everything takes a slow machine this long at most.
const COMPILED: Duration = Duration::from_secs(30 * 60);

fn told(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    value.unwrap_or_else(|| panic!("{variable} is not set; run `cargo xtask first-run`")).into()
}

/// The first command that the README gives to try it.
fn command_of(readme: &str) -> &str {
    let (_, rest) = readme.split_once("## Try it\n").expect("the README has no \"Try it\"");
    let (_, rest) = rest.split_once("```sh\n").expect("there is no command to try it");
    rest.split_once("\n```").unwrap().0
}

/// What stands for a toolchain that was installed before, wherever it is.
fn toolchain(command: &mut CommandBuilder) {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let named = std::env::var_os(variable).map(PathBuf::from);
        let folder = named.unwrap_or_else(|| home.join(folder));
        if folder.is_dir() {
            command.env(variable, folder);
        }
    }
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
}

#[test] // K-01
fn the_command_of_the_readme_brings_the_model_and_answers() {
    let (clone, target) = (told("ORLOP_FRESH_CLONE"), told("ORLOP_FRESH_TARGET"));
    let wheels = Wheels::of(&told("ORLOP_LOCAL_MODEL"));
    let home = Folder::new("fresh-home");
    let typed = std::fs::read_to_string(clone.join("README.md")).unwrap();
    let typed = command_of(&typed);
    println!("{typed}");

    let mut command = CommandBuilder::new("sh");
    command.args(["-c", typed]);
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TERM", "xterm-256color");
    command.env("HOME", &home.0);
    toolchain(&mut command);
    command.env("CARGO_TARGET_DIR", target);
    // Every dependency is there since the tests were built.
    command.env("CARGO_NET_OFFLINE", "true");
    for (name, value) in wheels.pip() {
        command.env(name, value);
    }
    let mut terminal = open_in(&clone, command, (80, 24));

    let offer = "Bring it now? [Y/n]";
    let screen =
        terminal.until_within(COMPILED, "offered the model", |screen| screen.contains(offer));
    assert!(screen.replace('\n', "").contains("no key of a provider is set"), "{screen}");
    terminal.press("\r");
    terminal.shows("default · smollm2");
    terminal.press("Say hello.\r");
    let answered = |screen: &str| screen.contains("tokens") && !screen.contains("Esc stops");
    let screen = terminal.until("answered", answered);
    let everything = terminal.everything();
    let answer = everything.split("› Say hello.").nth(1).unwrap().split("\n›").next().unwrap();
    println!("{}", answer.trim());
    assert!(answer.chars().filter(|c| c.is_alphabetic()).count() > 3, "{screen}");
    assert!(!everything.contains('✗'), "{everything}");
    terminal.press("\x04");
    assert_eq!(terminal.ends(), 0);
    // What it left is where the documentation says, and nothing is left in the clone.
    assert!(home.0.join(".local/share/orlop/models/smollm2.gguf").is_file());
    assert_eq!(changes_in(&clone), "");
}

fn changes_in(clone: &Path) -> String {
    let mut git = std::process::Command::new("git");
    let status = git.current_dir(clone).args(["status", "--short"]).output().unwrap();
    assert!(status.status.success(), "{status:?}");
    String::from_utf8(status.stdout).unwrap()
}

#[test]
fn the_command_is_taken_as_it_stands() {
    let readme = "# X\n```sh\nno\n```\n## Try it\n\nWith:\n\n```sh\ncargo run -p x\n```\nmore";
    assert_eq!(command_of(readme), "cargo run -p x");
}
