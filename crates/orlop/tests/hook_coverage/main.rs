//! Every hook and every lifecycle against every path through the program and every language of
//! plugins. What is promised stands in the hook table and in `promise.rs`, and is written to
//! `docs/reference/hook-coverage.md`; a promise that nobody keeps fails here.

#![cfg(unix)]
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod in_process;
mod paths;
mod process;
mod promise;
mod scene;

use paths::{ARGUMENTS, NOTES, Stage};
use promise::{PATHS, Promise};
use scene::Notes;
use std::collections::{BTreeMap, BTreeSet};

/// `orlop`, if the environment has arguments for it; with the plugins of the scene if it says where to
/// note what they are asked.
#[test]
fn own_program() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let plugins = match std::env::var(NOTES) {
        Ok(folder) => in_process::plugins(&Notes::new(folder)),
        Err(_) => orlop::shipped_plugins(),
    };
    let arguments = ["orlop"].into_iter().chain(arguments.lines()).map(Into::into);
    let code = format!("{:?}", orlop::run(arguments, plugins));
    let number: String = code.chars().filter(char::is_ascii_digit).collect();
    std::process::exit(number.parse().unwrap());
}

/// The plugins of the scene as a process in Rust, if the environment is that of a plugin.
#[test]
fn rust_plugin() {
    let Ok(data) = std::env::var("PLUGIN_DATA") else { return };
    let _ = process::serve(&data);
    std::process::exit(0);
}

/// What was called, by path.
type Called = BTreeMap<&'static str, BTreeSet<String>>;

/// The promises that were not kept.
fn broken(called: &Called) -> Vec<String> {
    let mut broken = Vec::new();
    let mut look = |row: &Promise, name: String| {
        let missing = row.paths.iter().filter(|path| !called[*path].contains(&name));
        broken.extend(missing.map(|path| format!("{name} on the path {path}")));
    };
    for row in promise::hooks() {
        look(&row, row.name.clone());
    }
    for row in promise::lifecycles() {
        look(&row, format!("lifecycle {}", row.name));
    }
    broken
}

async fn promises_are_kept(language: &str) {
    let stage = Stage::new(language).await;
    let mut called = Called::new();
    for (path, _) in PATHS {
        called.insert(path, stage.take(path).await);
    }
    assert_eq!(broken(&called), Vec::<String>::new(), "not called, though promised: {language}");
}

#[tokio::test(flavor = "multi_thread")] // C-01
async fn plugins_inside_of_the_program_are_called_as_promised() {
    promises_are_kept("Rust").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_in_rust_of_their_own_are_called_as_promised() {
    promises_are_kept("Rust process").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_in_python_are_called_as_promised() {
    promises_are_kept("Python").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_in_javascript_are_called_as_promised() {
    if std::process::Command::new("node").arg("--version").output().is_err() {
        return orlop_testkit::skip("hook coverage in JavaScript", "there is no node");
    }
    promises_are_kept("JavaScript").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_in_typescript_are_called_as_promised() {
    let modules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/typescript/node_modules");
    if !std::path::Path::new(modules).join("typescript").is_dir() {
        return orlop_testkit::skip(
            "hook coverage in TypeScript",
            "no compiler of TypeScript; `npm ci` in sdk/typescript",
        );
    }
    promises_are_kept("TypeScript").await;
}

#[test]
fn what_is_promised_is_written_down() {
    expect_test::expect_file!["../../../../docs/reference/hook-coverage.md"]
        .assert_eq(&promise::page());
}

#[test]
fn every_hook_has_a_path() {
    let without: Vec<String> = promise::hooks()
        .into_iter()
        .filter(|row| row.paths.is_empty())
        .map(|row| row.name)
        .collect();
    assert_eq!(without, Vec::<String>::new());
}
