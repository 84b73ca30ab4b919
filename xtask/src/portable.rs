//! Whether the crates keep what only some systems have behind `cfg`.
//!
//! Nothing is compiled for another system here, so this reads the sources: a line that names
//! something of Unix must stand below a `#[cfg]` that names a system, its own, that of an item around
//! it, or that of its module. It goes by the indentation that `cargo fmt` gives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// What only Unix, or only Linux, has.
const NAMES: &[&str] = &[
    "std::os::unix",
    "std::os::linux",
    "std::os::fd",
    "tokio::signal::unix",
    "tokio::net::unix",
    "rustix::",
    "libc::",
    "signal_hook::",
    "landlock::",
    "seccompiler::",
    ".process_group(",
];

/// Reads the sources of all crates.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let mut found = Vec::new();
    for folder in source_folders(workspace.root()) {
        let files = read_all(&folder)?;
        let guarded = guarded_modules(&files);
        for (path, text) in files.iter().filter(|(path, _)| !guarded.contains(path)) {
            let shown = path.strip_prefix(workspace.root()).unwrap_or(path).display();
            for line in unguarded(text) {
                found.push(format!("{shown}:{line}"));
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "these lines use what Windows has not, outside of a `cfg`:\n  {}",
        found.join("\n  ")
    ))
}

fn source_folders(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let crates = crates.map(|entry| entry.path());
    let others = ["sdk/rust", "examples", "xtask"].map(|folder| root.join(folder));
    crates.chain(others).map(|folder| folder.join("src")).filter(|it| it.is_dir()).collect()
}

/// All Rust files below a folder.
fn read_all(folder: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                files.push((path, text));
            }
        }
    }
    Ok(files)
}

/// The files of modules that are declared below a `cfg`, or that hold tests only: those may use what
/// the systems have on which they run.
fn guarded_modules(files: &[(PathBuf, String)]) -> BTreeSet<PathBuf> {
    let mut guarded = BTreeSet::new();
    for (path, text) in files {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let words = line.trim_start_matches("pub").trim_start_matches("(crate)").trim();
            let Some(name) = words.strip_prefix("mod ").and_then(|it| it.strip_suffix(';')) else {
                continue;
            };
            if is_guarded(&lines, number) {
                let below = match path.file_stem().and_then(|stem| stem.to_str()) {
                    Some("lib" | "main" | "mod") | None => path.with_file_name(""),
                    Some(_) => path.with_extension(""),
                };
                guarded.insert(below.join(format!("{name}.rs")));
                guarded.insert(below.join(name).join("mod.rs"));
            }
        }
    }
    guarded
}

/// The numbers of the lines that name something of Unix and stand below no `cfg`.
fn unguarded(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let names = |line: &str| {
        let code = line.split("//").next().unwrap_or(line);
        !code.trim_start().starts_with('"') && NAMES.iter().any(|name| code.contains(name))
    };
    let found = (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| names(line)));
    found.filter(|at| !is_guarded(&lines, *at)).map(|at| at + 1).collect()
}

/// Whether a line, or an item around it, has a `cfg` that names a system or tests.
fn is_guarded(lines: &[&str], at: usize) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut depth = lines.get(at).map_or(0, |line| indentation(line));
    // Attributes stand directly above what they belong to, as deep as it is.
    let mut is_above = true;
    for line in lines.get(..at).unwrap_or_default().iter().rev() {
        if line.trim().is_empty() {
            is_above = false;
            continue;
        }
        let (deep, words) = (indentation(line), line.trim_start());
        let is_attribute = words.starts_with("#[") || words.starts_with("///");
        if deep < depth && !is_attribute {
            (depth, is_above) = (deep, true);
        } else if deep == depth && is_attribute && is_above {
            if names_a_system(words) {
                return true;
            }
        } else if deep <= depth {
            is_above = false;
        }
    }
    lines.iter().any(|line| line.starts_with("#![cfg(") && names_a_system(line))
}

/// Whether an attribute is a condition that leaves other systems out.
fn names_a_system(attribute: &str) -> bool {
    let Some(condition) = attribute.split_once("cfg(").map(|(_, rest)| rest) else { return false };
    let left_out = condition.starts_with("not(") || condition.starts_with("any(not(");
    !left_out && ["unix", "target_os", "windows", "test"].iter().any(|it| condition.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_condition_of_its_own_or_around_it_is_guarded() {
        let lines = [
            "use std::os::unix::fs::MetadataExt;",
            "#[cfg(unix)]",
            "use std::os::unix::fs::PermissionsExt;",
            "use rustix::fs::Mode;",
            "",
            "/// Told.",
            r#"#[cfg(target_os = "linux")]"#,
            "#[allow(dead_code)]",
            "fn inside() {",
            "    if true {",
            "        rustix::fs::one(",
            "            libc::TWO,",
            "        );",
            "    }",
            "}",
            "",
            "fn outside() {",
            "    #[cfg(unix)]",
            "    std::os::unix::fs::mode(1);",
            "    std::os::unix::fs::mode(2);",
            "    // libc::X is only told of.",
            "}",
            "",
            "#[cfg(not(unix))]",
            "fn elsewhere() {",
            "    rustix::fs::three();",
            "}",
            "",
            "#[cfg(test)]",
            "mod tests {",
            "    use std::os::unix::fs::symlink;",
            "}",
        ];
        let text = lines.join("\n");
        assert_eq!(unguarded(&text), [1, 4, 20, 26]);
        assert_eq!(unguarded(&format!("#![cfg(unix)]\n{text}")), [0; 0]);
    }

    #[test]
    fn a_module_is_guarded_where_it_is_declared() {
        let file = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
        let files = [
            file("src/lib.rs", "#[cfg(unix)]\nmod a;\nmod b;\n"),
            file("src/b.rs", "#[cfg(target_os = \"linux\")]\npub(crate) mod c;\n"),
            file("src/d/mod.rs", "#[cfg(test)]\nmod tests;\n"),
        ];
        let guarded = guarded_modules(&files);
        let is = |path: &str| guarded.contains(Path::new(path));
        assert!(is("src/a.rs") && is("src/b/c.rs") && is("src/d/tests.rs"), "{guarded:?}");
        assert!(!is("src/b.rs"));
    }
}
