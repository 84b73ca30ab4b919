//! A plugin package: a folder with a `plugin.toml`, or a single file.

use crate::bundle::{Bundle, PLUGIN_JSON};
use crate::grants::Grants;
use orlop_core::types::protocol::PROTOCOL;
use orlop_core::{Error, Result};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that describes a package.
pub const MANIFEST: &str = "plugin.toml";

/// How much of a package is looked at to tell whether it changed.
const MAX_FILES: usize = 2_000;

/// A plugin package as its author describes it.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The folder it is in.
    pub folder: PathBuf,
    /// How it is run.
    pub run: Run,
    /// What it asks for.
    pub grants: Grants,
    /// What it may use up.
    pub limits: Limits,
}

/// How a package is run.
#[derive(Debug, Clone, PartialEq)]
pub enum Run {
    /// A Python file, with the SDK that comes with Orlop.
    Python(PathBuf),
    /// A JavaScript or TypeScript file, with the SDK that comes with Orlop.
    Node(PathBuf),
    /// A program that speaks the protocol, and its arguments.
    Command(Vec<String>),
    /// Nothing of its own: a package in a format of others.
    Bundle(Box<Bundle>),
}

/// What a package may use up, and what its failures mean.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Memory of its process and all it starts, 1024 if it does not say.
    pub memory_mb: Option<u64>,
    /// The longest answer, where the hook has no shorter limit.
    pub timeout_ms: Option<u64>,
    /// The longest line and the longest stream, where the protocol has no shorter limit.
    pub output_mb: Option<u64>,
    /// Tokens of requests that it sends itself.
    pub tokens_per_day: Option<u64>,
    /// What a failure of its hooks means, whatever the hook table says.
    pub on_failure: Option<OnFailure>,
}

/// What a failure of a hook does, where a package says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The operation goes on without its answer, where it can.
    Skip,
    /// The operation fails.
    Fail,
}

/// The memory of a package that does not say how much it needs.
const USUAL_MEMORY_MB: u64 = 1024;

impl Limits {
    /// The most memory that its processes may take together.
    pub fn memory_mb(&self) -> u64 {
        self.memory_mb.unwrap_or(USUAL_MEMORY_MB)
    }

    /// These limits as far as others are not tighter, and what of the others is looser and does not
    /// count.
    pub(crate) fn tightened(&self, by: &Self) -> (Self, Vec<&'static str>) {
        let mut ignored = Vec::new();
        let mut tighter = |name, own: Option<u64>, usual: Option<u64>, asked: Option<u64>| {
            let most = own.or(usual);
            match asked {
                Some(asked) if most.is_none_or(|most| asked <= most) => Some(asked),
                Some(_) => {
                    ignored.push(name);
                    own
                }
                None => own,
            }
        };
        let usual = Some(USUAL_MEMORY_MB);
        let mut limits = Self {
            memory_mb: tighter("memory_mb", self.memory_mb, usual, by.memory_mb),
            timeout_ms: tighter("timeout_ms", self.timeout_ms, None, by.timeout_ms),
            output_mb: tighter("output_mb", self.output_mb, None, by.output_mb),
            tokens_per_day: tighter("tokens_per_day", self.tokens_per_day, None, by.tokens_per_day),
            on_failure: self.on_failure,
        };
        match by.on_failure {
            Some(OnFailure::Fail) => limits.on_failure = Some(OnFailure::Fail),
            Some(OnFailure::Skip) if self.on_failure != Some(OnFailure::Skip) => {
                ignored.push("on_failure");
            }
            _ => {}
        }
        (limits, ignored)
    }

    /// The longest line or stream in bytes, where `most` is the most that the protocol allows.
    pub(crate) fn output_within(&self, most: usize) -> usize {
        let own = self.output_mb.and_then(|own| usize::try_from(own).ok()?.checked_mul(1 << 20));
        own.map_or(most, |own| own.min(most))
    }

    /// The longest answer.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    plugin: Identity,
    run: Option<RunTable>,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    limits: Limits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    name: String,
    #[serde(default = "no_version")]
    version: String,
    #[serde(default = "newest")]
    protocol: u64,
    #[serde(default)]
    #[allow(dead_code)]
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    python: Option<PathBuf>,
    node: Option<PathBuf>,
    command: Option<Vec<String>>,
    wasm: Option<PathBuf>,
}

fn no_version() -> String {
    "0.0.0".to_owned()
}

fn newest() -> u64 {
    PROTOCOL
}

impl Package {
    /// Reads the package at a path: a folder, its manifest, or a single file.
    pub fn read(path: &Path) -> Result<Self> {
        let path = path.canonicalize().map_err(|error| {
            Error::not_found(format!("there is no plugin at {}: {error}", path.display()))
        })?;
        if path.is_dir() {
            return Self::of_folder(&path);
        }
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) if is_manifest(name) => Self::of_folder(path.parent().unwrap_or(&path)),
            _ => Self::of_file(&path),
        }
    }

    /// The package under another name: that of its folder of data and of its settings.
    pub fn named(self, name: &str) -> Result<Self> {
        check_name(name)?;
        Ok(Self { name: name.to_owned(), ..self })
    }

    fn of_folder(folder: &Path) -> Result<Self> {
        let manifest = folder.join(MANIFEST);
        if !manifest.is_file() {
            let only = ["plugin.py", "plugin.ts", "plugin.mjs", "plugin.js"];
            let found = only.iter().map(|name| folder.join(name)).find(|path| path.is_file());
            if found.is_none() && Bundle::is_in(folder) {
                return Bundle::package(folder, name_of(folder));
            }
            return match found {
                Some(file) => {
                    refuse_link_out(folder, &file)?;
                    Ok(Self { name: name_of(folder)?, ..Self::of_file(&file)? })
                }
                None => Err(Error::bad_argument(format!(
                    "{} is no plugin: it has neither a {MANIFEST} nor a plugin.py or plugin.js, and no plugin.json or hooks.json",
                    folder.display()
                ))),
            };
        }
        let text = std::fs::read_to_string(&manifest).map_err(|error| {
            Error::unavailable(format!("{} cannot be read: {error}", manifest.display()))
        })?;
        Self::parse(&text, folder).map_err(|error| {
            Error::bad_argument(format!("{}: {}", manifest.display(), error.message()))
        })
    }

    /// Reads the text of a manifest in a folder.
    pub fn parse(text: &str, folder: &Path) -> Result<Self> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::bad_argument(error.to_string().trim_end().to_owned()))?;
        let File { plugin, run, grants, limits } = file;
        if !grants.commands.is_empty() {
            return Err(Error::bad_argument("[grants] has no commands; leave them out"));
        }
        check_name(&plugin.name)?;
        if plugin.protocol != PROTOCOL {
            return Err(Error::bad_argument(format!(
                "the plugin speaks version {} of the protocol and this Orlop version {PROTOCOL}; get a version of one that fits the other",
                plugin.protocol
            )));
        }
        let run = run
            .ok_or_else(|| Error::bad_argument("[run] is missing; say python, node or command"))?;
        let inside = |file: PathBuf| inside(folder, file);
        let run = match (run.python, run.node, run.command, run.wasm) {
            (Some(file), None, None, None) => Run::Python(inside(file)?),
            (None, Some(file), None, None) => Run::Node(inside(file)?),
            (None, None, Some(command), None) if !command.is_empty() => Run::Command(command),
            (None, None, None, Some(_)) => {
                return Err(Error::bad_argument(
                    "plugins in WebAssembly cannot be run yet; use python, node or command",
                ));
            }
            _ => {
                return Err(Error::bad_argument(
                    "[run] must have exactly one of python, node and command",
                ));
            }
        };
        let folder = folder.to_owned();
        Ok(Self { name: plugin.name, version: plugin.version, folder, run, grants, limits })
    }

    /// A single file: no grants, usual limits.
    fn of_file(file: &Path) -> Result<Self> {
        let run = match file.extension().and_then(|end| end.to_str()) {
            Some("py") => Run::Python(file.to_owned()),
            Some("js" | "mjs" | "cjs" | "ts" | "mts") => Run::Node(file.to_owned()),
            _ => {
                return Err(Error::bad_argument(format!(
                    "{} is neither Python nor JavaScript nor TypeScript; put a {MANIFEST} beside it that says how to run it",
                    file.display()
                )));
            }
        };
        Ok(Self {
            name: name_of(file)?,
            version: no_version(),
            folder: file.parent().unwrap_or(file).to_owned(),
            run,
            grants: Grants::default(),
            limits: Limits::default(),
        })
    }

    /// What the package is made of, as one text that changes with any of its files.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{:?}{:?}{:?}", self.run, self.grants, self.limits));
        let single = match &self.run {
            Run::Python(file) | Run::Node(file) if !self.folder.join(MANIFEST).is_file() => {
                Some(file)
            }
            _ => None,
        };
        let mut files = Vec::new();
        match single {
            Some(file) => {
                collect_modules(&self.folder, file, 1, &mut files);
                files.push(file.clone());
                files.sort();
                files.dedup();
            }
            None => {
                collect(&self.folder, &mut files);
                files.sort();
                // What was built lies where other files of a build are left out.
                if let Run::Command(words) = &self.run {
                    files.extend(words.first().map(|program| self.folder.join(program)));
                }
            }
        }
        files.iter().for_each(|file| hash_file(&mut hash, file));
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether a file of this name speaks for the folder it lies in.
pub(crate) fn is_manifest(name: &str) -> bool {
    matches!(name, MANIFEST | PLUGIN_JSON | "hooks.json")
}

/// A name as configuration, files and people can use it.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_told = name.chars().any(|c| c.is_ascii_alphanumeric());
    match is_told && name.len() <= 64 && name.chars().all(fits) {
        true => Ok(()),
        false => Err(Error::bad_argument(format!(
            "a plugin cannot be called {name:?}; use up to 64 letters, digits, _ and -"
        ))),
    }
}

fn name_of(path: &Path) -> Result<String> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // One without any letter or digit can be tried, and has to be named when it is added.
    if !plain.is_empty() && plain.chars().all(|c| c == '_') {
        return Ok("_".to_owned());
    }
    check_name(&plain)?;
    Ok(plain)
}

fn inside(folder: &Path, file: PathBuf) -> Result<PathBuf> {
    let path = folder.join(&file);
    if !path.is_file() {
        let text = format!("[run] names {}, which is not there", file.display());
        return Err(Error::not_found(text));
    }
    refuse_link_out(folder, &path)?;
    Ok(path)
}

/// Refuses a file that is a link to one elsewhere: a package reads its own folder, and a link would let
/// it read whatever it points to.
fn refuse_link_out(folder: &Path, file: &Path) -> Result<()> {
    let (Ok(folder), Ok(real)) = (folder.canonicalize(), file.canonicalize()) else {
        return Ok(());
    };
    match real.starts_with(&folder) {
        true => Ok(()),
        false => Err(Error::bad_argument(format!(
            "{} is a link to {}, which is outside of the plugin's folder, and a plugin reads only its own; put the file itself there, or name {} in its place",
            file.display(),
            real.display(),
            real.display()
        ))),
    }
}

/// The files of a package, without what tools put beside them.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || is_of_tools(&name) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() && files.len() < MAX_FILES => files.push(entry.path()),
            _ => {}
        }
    }
}

/// What a plugin without a manifest may import: files in its language beside it, and in folders there.
fn collect_modules(folder: &Path, plugin: &Path, below: usize, files: &mut Vec<PathBuf>) {
    let is_python = plugin.extension() == Some("py".as_ref());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        if name.starts_with('.') || is_of_tools(&name) || files.len() >= MAX_FILES {
            continue;
        }
        let is_code = match path.extension().and_then(|end| end.to_str()) {
            Some("py") => is_python,
            Some("js" | "mjs" | "cjs" | "ts" | "mts" | "json") => !is_python,
            _ => false,
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && below > 0 => {
                collect_modules(&path, plugin, below - 1, files);
            }
            Ok(kind) if kind.is_file() && is_code => files.push(path),
            _ => {}
        }
    }
}

/// Whether a folder is one that tools put beside the files of an author.
fn is_of_tools(name: &str) -> bool {
    matches!(name, "node_modules" | "__pycache__" | "target")
}

/// A file counts by its name, its size and the time of its last change.
fn hash_file(hash: &mut Sha256, file: &Path) {
    hash.update(file.as_os_str().as_encoded_bytes());
    if let Ok(found) = file.metadata() {
        let modified =
            found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        hash.update(format!("{}:{:?}", found.len(), modified));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn limits(text: &str) -> Limits {
        toml::from_str(text).unwrap()
    }

    #[track_caller]
    fn check_tightened(own: &str, by: &str, expected: &str, ignored: &[&str]) {
        assert_eq!(limits(own).tightened(&limits(by)), (limits(expected), ignored.to_vec()));
    }

    #[test]
    fn a_configuration_tightens_limits_and_loosens_none() {
        check_tightened("timeout_ms = 50", "", "timeout_ms = 50", &[]);
        check_tightened("timeout_ms = 50", "timeout_ms = 20", "timeout_ms = 20", &[]);
        check_tightened("timeout_ms = 50", "timeout_ms = 80", "timeout_ms = 50", &["timeout_ms"]);
        check_tightened(
            "",
            "tokens_per_day = 9\noutput_mb = 1",
            "tokens_per_day = 9\noutput_mb = 1",
            &[],
        );
        // What a package does not say is the usual limit.
        check_tightened("", "memory_mb = 512", "memory_mb = 512", &[]);
        check_tightened("", "memory_mb = 4096", "", &["memory_mb"]);
        check_tightened("memory_mb = 4096", "memory_mb = 2048", "memory_mb = 2048", &[]);
    }

    #[test]
    fn a_configuration_can_make_failures_count_and_not_the_other_way() {
        let (skip, fail) = ("on_failure = \"skip\"", "on_failure = \"fail\"");
        check_tightened(skip, fail, fail, &[]);
        check_tightened("", fail, fail, &[]);
        check_tightened(skip, skip, skip, &[]);
        check_tightened(fail, skip, fail, &["on_failure"]);
        check_tightened("", skip, "", &["on_failure"]);
    }
}
