//! The workspace the tasks work on: where it stands, and how to call its cargo.

use crate::process;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The checked-out workspace.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that holds the current directory.
    pub(crate) fn find() -> Result<Self, String> {
        let mut locate = cargo();
        locate.args(["locate-project", "--workspace", "--message-format", "plain"]);
        let manifest = crate::process::text_of(&mut locate)?;
        match Path::new(manifest.trim()).parent() {
            Some(root) => Ok(Self { root: root.to_owned() }),
            None => Err(format!("cargo named `{}` as the workspace manifest", manifest.trim())),
        }
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A call of cargo in the root folder.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// The text of a file named relative to the root.
    pub(crate) fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.root.join(file))
            .map_err(|error| format!("cannot read {file}: {error}"))
    }

    /// What cargo built in a profile.
    pub(crate) fn built(&self, profile: &str) -> PathBuf {
        let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        target.unwrap_or_else(|| self.root.join("target")).join(profile)
    }

    /// The program that cargo built, in a profile's folder.
    pub(crate) fn program(&self, profile: &str) -> PathBuf {
        self.built(profile).join("orlop")
    }

    /// Builds the program for tests, as the tests themselves have it built: any other call of cargo
    /// would choose other features of dependencies and compile most of them again.
    pub(crate) fn built_program(&self) -> Result<PathBuf, String> {
        let arguments = ["test", "--workspace", "--locked", "--no-run", "--test", "mcp"];
        process::run(&mut self.cargo(arguments))?;
        Ok(self.program("debug"))
    }

    /// A folder `target/<name>`, made if it is not there.
    pub(crate) fn output_folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.root.join("target").join(name);
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(folder),
            Err(error) => Err(format!("cannot make the folder {}: {error}", folder.display())),
        }
    }
}

/// The cargo that runs this program, without the variables it set to describe the xtask package:
/// build scripts watch some of them, and would run again after every change between
/// `cargo xtask test` and `cargo test`.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
