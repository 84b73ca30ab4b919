//! A new plugin from a template. Templates are plugins that run: only their name is replaced.

use crate::package::{MANIFEST, check_name};
use crate::sdk;
use orlop_core::hooks::Kind;
use orlop_core::{Error, Result};
use std::path::{Path, PathBuf};

/// What templates are called, as it is and as a class.
const NAME: &str = "my_plugin";
const CLASS: &str = "MyPlugin";

/// Where the crate lies that a plugin in Rust is built with.
const RUST_SDK: &str = "orlop-plugin";

/// Where the types lie that a plugin in TypeScript is written with.
const TYPES: &str = "orlop";

/// A language that there are templates for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python 3.10 or later.
    Python,
    /// TypeScript on Node 20 or later.
    TypeScript,
    /// JavaScript on Node 20 or later.
    JavaScript,
    /// Rust, as a program of its own.
    Rust,
}

/// A plugin to be made.
#[derive(Debug, Clone)]
pub struct New {
    /// Its name, and that of its folder.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its language.
    pub language: Language,
}

/// A plugin that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// Its folder.
    pub folder: PathBuf,
    /// The file to read first, in that folder.
    pub main: &'static str,
}

macro_rules! of_each_kind {
    ($kind:expr, $folder:literal, $end:literal) => {
        match $kind {
            Kind::Provider => {
                include_str!(concat!("../../templates/", $folder, "/provider.", $end))
            }
            Kind::Extension => {
                include_str!(concat!("../../templates/", $folder, "/extension.", $end))
            }
            Kind::Feature => include_str!(concat!("../../templates/", $folder, "/feature.", $end)),
            Kind::Tool | Kind::Any => {
                include_str!(concat!("../../templates/", $folder, "/tool.", $end))
            }
            Kind::Application => {
                include_str!(concat!("../../templates/", $folder, "/application.", $end))
            }
            Kind::Host => include_str!(concat!("../../templates/", $folder, "/host.", $end)),
        }
    };
}

/// Makes a plugin in a folder of its name below `parent`. Nothing that is there is overwritten.
pub fn new_plugin(new: &New, parent: &Path) -> Result<Made> {
    check_name(&new.name)?;
    if !new.name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err(Error::bad_argument(format!(
            "a plugin cannot be called \"{}\"; let the name begin with a letter",
            new.name
        )));
    }
    let folder = parent.join(&new.name);
    let is_taken = match std::fs::read_dir(&folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.exists(),
    };
    if is_taken {
        return Err(Error::conflict(format!(
            "{} is there already and stays as it is; choose another name, or change to another folder",
            folder.display()
        )));
    }
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        write_new(&file, text).map_err(|error| {
            Error::unavailable(format!("{} cannot be written: {error}", file.display()))
        })
    };
    let (main, files) = files(new);
    for (name, text) in files {
        write(name, &text.replace(NAME, &new.name).replace(CLASS, &class(&new.name)))?;
    }
    if new.language == Language::TypeScript {
        // For the compiler and for editors. The program itself brings what runs.
        for (name, text) in sdk::NODE.iter().filter(|(name, _)| name.ends_with(".d.ts")) {
            write(&format!("{TYPES}/{name}"), text)?;
        }
    }
    if new.language == Language::Rust {
        // Plugins in Rust are built by their authors, and later by others, with no Orlop at hand.
        for (name, text) in sdk::RUST {
            write(&format!("{RUST_SDK}/{name}"), text)?;
        }
        let manifest = include_str!("../../templates/rust/sdk.toml");
        let manifest = manifest.replace("ORLOP_VERSION", env!("CARGO_PKG_VERSION"));
        write(&format!("{RUST_SDK}/Cargo.toml"), &manifest)?;
    }
    Ok(Made { folder, main })
}

fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(file)?.write_all(text.as_bytes())
}

/// The main file, and all files.
fn files(new: &New) -> (&'static str, Vec<(&'static str, String)>) {
    let kind = new.kind;
    let examples = of_each_kind!(kind, "examples", "toml");
    let examples = match new.language {
        // A tool that is declared there is a plugin by itself, and has its name.
        Language::JavaScript | Language::TypeScript => examples.replace("greet\"", "my_plugin\""),
        Language::Python | Language::Rust => examples.to_owned(),
    };
    let (main, manifest, text) = match new.language {
        Language::Python => (
            "plugin.py",
            include_str!("../../templates/python/plugin.toml"),
            of_each_kind!(kind, "python", "py"),
        ),
        Language::JavaScript => (
            "plugin.mjs",
            include_str!("../../templates/javascript/plugin.toml"),
            of_each_kind!(kind, "javascript", "mjs"),
        ),
        Language::TypeScript => (
            "plugin.ts",
            include_str!("../../templates/typescript/plugin.toml"),
            of_each_kind!(kind, "typescript", "ts"),
        ),
        Language::Rust => (
            "src/main.rs",
            include_str!("../../templates/rust/plugin.toml"),
            of_each_kind!(kind, "rust", "rs"),
        ),
    };
    // What a template may call is granted, and nothing else.
    let grants = match kind {
        Kind::Application => "\n[grants]\napp = [\"list_sessions\"]\n",
        _ => "",
    };
    let readme = include_str!("../../templates/README.md").replace("MAIN_FILE", main);
    let mut files = vec![
        (main, text.to_owned()),
        (MANIFEST, format!("{manifest}{grants}")),
        ("examples.toml", examples),
        ("README.md", readme),
    ];
    if new.language == Language::TypeScript {
        files.push((
            "package.json",
            include_str!("../../templates/typescript/package.json").to_owned(),
        ));
        files.push((
            "tsconfig.json",
            include_str!("../../templates/typescript/tsconfig.json").to_owned(),
        ));
        files.push((".gitignore", "node_modules\n".to_owned()));
    }
    if new.language == Language::Rust {
        let crates = include_str!("../../templates/rust/crate.toml");
        files.push(("Cargo.toml", crates.to_owned()));
        files.push((".gitignore", "target\n".to_owned()));
    }
    (main, files)
}

/// Names of classes that mean something else in a template: what it imports, and what JavaScript has.
const TAKEN: &[&str] = &[
    "ActionInput",
    "ApplicationActionInput",
    "ApplicationPlugin",
    "Call",
    "Chunk",
    "ContextInput",
    "Extension",
    "Feature",
    "FromNativeInput",
    "HostPlugin",
    "InterceptInput",
    "ModelRequest",
    "Provider",
    "ToNativeInput",
    "Tool",
    "Array",
    "Boolean",
    "Date",
    "Error",
    "Function",
    "Map",
    "Math",
    "Number",
    "Object",
    "Promise",
    "RegExp",
    "Set",
    "String",
    "Symbol",
];

/// A name as a class: `word_count` is `WordCount`.
fn class(name: &str) -> String {
    let words = name.split(['_', '-']).filter(|word| !word.is_empty());
    let class: String = words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect();
    if TAKEN.contains(&class.as_str()) { class + "Plugin" } else { class }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes_are_words() {
        let cases = [
            ("word_count", "WordCount"),
            ("a-b", "AB"),
            ("x", "X"),
            ("a1__b", "A1B"),
            ("string", "StringPlugin"),
            ("feature", "FeaturePlugin"),
        ];
        for (name, expected) in cases {
            assert_eq!(class(name), expected);
        }
    }
}
