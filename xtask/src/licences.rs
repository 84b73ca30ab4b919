//! `cargo xtask licences`: every dependency has a licence we accept and comes from the registry.
//!
//! Works without the network and without further tools, on what `cargo metadata` says and on the
//! list `allow` in `deny.toml`. If cargo-deny is installed, it gives its opinion too.

mod expression;

use std::process::ExitCode;

use serde::Deserialize;

use crate::{process, workspace::Workspace};

/// How cargo names the public registry, however it is reached.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `deny.toml` that this check reads.
#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

/// The part of cargo's metadata that this check reads.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(crate::unknown_arguments("licences", arguments));
    }
    check(workspace).map(|()| ExitCode::SUCCESS)
}

/// Checks all dependencies, and fails with those that do not pass.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let deny: Deny = toml::from_str(&workspace.read("deny.toml")?)
        .map_err(|error| format!("deny.toml: {error}"))?;
    let mut ask = workspace.cargo(["metadata", "--format-version", "1", "--locked"]);
    let metadata: Metadata = serde_json::from_str(&process::text_of(&mut ask)?)
        .map_err(|error| format!("the output of `cargo metadata` has another form: {error}"))?;

    let problems = problems(&metadata, &deny.licenses.allow);
    if !problems.is_empty() {
        return Err(format!("{} in the dependencies:\n{}", problems.len(), problems.join("\n")));
    }
    let dependencies = metadata.packages.len() - metadata.workspace_members.len();
    println!("{dependencies} dependencies from the registry, all under accepted licences");
    ask_cargo_deny(workspace)
}

fn problems(metadata: &Metadata, allowed: &[String]) -> Vec<String> {
    let members = &metadata.workspace_members;
    let dependencies = metadata.packages.iter().filter(|package| !members.contains(&package.id));
    dependencies
        .flat_map(|package| {
            let found = [origin_problem(package), licence_problem(package, allowed)];
            let name = format!("{} {}", package.name, package.version);
            found.into_iter().flatten().map(move |problem| format!("{name}: {problem}"))
        })
        .collect()
}

fn origin_problem(package: &Package) -> Option<String> {
    match package.source.as_deref() {
        Some(REGISTRY) => None,
        Some(other) => Some(format!("comes from {other}; use a release from the registry")),
        None => Some("is a folder outside the workspace; use a release from the registry".into()),
    }
}

fn licence_problem(package: &Package, allowed: &[String]) -> Option<String> {
    let Some(licence) = package.license.as_deref() else {
        return Some("states no licence expression; replace it".into());
    };
    match expression::is_satisfied_by(licence, allowed) {
        Ok(true) => None,
        Ok(false) => Some(format!("the licence {licence} is not in `allow` of deny.toml")),
        Err(why) => Some(format!("the licence {licence} cannot be read: {why}")),
    }
}

fn ask_cargo_deny(workspace: &Workspace) -> Result<(), String> {
    let installed = workspace.cargo(["deny", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("cargo-deny is not installed, its own checks are left out");
        return Ok(());
    }
    process::run(&mut workspace.cargo(["deny", "check", "licenses", "bans", "sources"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: Option<&str>, license: Option<&str>, expected: &[&str]) {
        let package = |id: &str, license: Option<&str>, source: Option<&str>| Package {
            id: id.into(),
            name: "a".into(),
            version: "1.2.3".into(),
            license: license.map(Into::into),
            source: source.map(Into::into),
        };
        let metadata = Metadata {
            packages: vec![package("own", None, None), package("dep", license, source)],
            workspace_members: vec!["own".into()],
        };
        assert_eq!(problems(&metadata, &["MIT".into()]), expected);
    }

    #[test]
    fn a_registry_release_under_an_accepted_licence_passes() {
        check(Some(REGISTRY), Some("MIT OR Apache-2.0"), &[]);
    }

    #[test]
    fn licences_outside_the_list_are_named() {
        let expected = ["a 1.2.3: the licence GPL-3.0-only is not in `allow` of deny.toml"];
        check(Some(REGISTRY), Some("GPL-3.0-only"), &expected);
        let expected = ["a 1.2.3: states no licence expression; replace it"];
        check(Some(REGISTRY), None, &expected);
    }

    #[test]
    fn other_origins_are_named() {
        let expected = ["a 1.2.3: comes from git+ssh://a; use a release from the registry"];
        check(Some("git+ssh://a"), Some("MIT"), &expected);
        let expected =
            ["a 1.2.3: is a folder outside the workspace; use a release from the registry"];
        check(None, Some("MIT"), &expected);
    }
}
