//! Packages for tests, and an application that has them.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../orlop-plugins/tests/stage/mod.rs"]
pub mod stage;

use orlop_app::config::{RuntimeEnv, Vars};
use orlop_core::Map;
use orlop_runtime::{Package, Runtime};
use stage::*;

/// A package of one file, written into the working folder's parent.
pub fn package(stage: &Stage, name: &str, manifest: Option<&str>, code: &str) -> Package {
    written(stage, name, "python", "plugin.py", manifest, code)
}

/// The same in JavaScript.
pub fn node_package(stage: &Stage, name: &str, manifest: Option<&str>, code: &str) -> Package {
    written(stage, name, "node", "plugin.mjs", manifest, code)
}

/// A program without an SDK, which may do with the protocol what it likes.
pub fn raw_package(stage: &Stage, name: &str, limits: &str, code: &str) -> Package {
    let folder = stage.outside().join("packages").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("raw.py"), code).unwrap();
    let text = format!(
        "[plugin]\nname = \"{name}\"\n[run]\ncommand = [\"python3\", \"-u\", \"raw.py\"]\n[limits]\n{limits}"
    );
    std::fs::write(folder.join("plugin.toml"), text).unwrap();
    Package::read(&folder).unwrap()
}

fn written(
    stage: &Stage,
    name: &str,
    how: &str,
    file: &str,
    manifest: Option<&str>,
    code: &str,
) -> Package {
    let folder = stage.outside().join("packages").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), code).unwrap();
    if let Some(manifest) = manifest {
        let text = format!(
            "[plugin]\nname = \"{name}\"\nversion = \"1.2.3\"\n[run]\n{how} = \"{file}\"\n{manifest}"
        );
        std::fs::write(folder.join("plugin.toml"), text).unwrap();
    }
    Package::read(&folder).unwrap()
}

pub fn env(stage: &Stage) -> RuntimeEnv {
    let mut vars: Vars = stage.vars.clone();
    vars.insert("WORKING_DIR".to_owned(), stage.work().display().to_string());
    RuntimeEnv::from_vars(vars)
}

/// The stage with the plugins of these packages.
pub fn with_packages(stage: Stage, packages: Vec<Package>) -> (Stage, Runtime) {
    let mut runtime = Runtime::new(env(&stage), stage.home());
    for package in packages {
        runtime.add(package, Map::new()).unwrap();
    }
    let added = runtime.clone();
    (stage.with(|plugins| added.plugins(plugins)), runtime)
}
