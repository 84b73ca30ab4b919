//! The requirement ids that tests carry.
//!
//! In Rust an id stands in a comment on the line of the test attribute, `#[test] // B-03, B-04`,
//! or in comments directly above it, `// covers: B-03, B-04`. Tests in TypeScript and Python use
//! the second form. Ids in any other comment are prose.

use std::{fs, path::Path};

use super::id::Id;
use crate::workspace::Workspace;

/// The folders that hold tests; those that do not exist are passed over.
const FOLDERS: [&str; 5] = ["crates", "examples", "sdk", "web", "xtask"];

/// An id on a test.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) id: Id,
    pub(super) file: String,
    pub(super) line: usize,
}

/// What the tests say, and what was wrong in saying it.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) marks: Vec<Mark>,
    pub(super) problems: Vec<String>,
}

#[derive(Clone, Copy)]
enum Language {
    Rust,
    TypeScript,
    Python,
}

/// Reads every source file of the workspace.
pub(super) fn read(workspace: &Workspace) -> Result<Marks, String> {
    let mut marks = Marks::default();
    for folder in FOLDERS.map(|name| workspace.root().join(name)) {
        if folder.is_dir() {
            marks.read_folder(workspace.root(), &folder)?;
        }
    }
    Ok(marks)
}

impl Marks {
    fn read_folder(&mut self, root: &Path, folder: &Path) -> Result<(), String> {
        let cannot = |error| format!("cannot read {}: {error}", folder.display());
        let mut entries = fs::read_dir(folder)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(cannot)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let listed = fs::read_to_string(folder.join("main.rs")).ok();
        let listed = listed.filter(|_| folder.components().any(|part| part.as_os_str() == "tests"));
        for entry in entries {
            let path = entry.path();
            if entry.file_type().map_err(cannot)?.is_dir() {
                if !is_foreign(&entry.file_name().to_string_lossy()) {
                    self.read_folder(root, &path)?;
                }
            } else if let Some(language) = Language::of(&path) {
                let text = fs::read_to_string(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                if listed.as_deref().is_some_and(|main| is_left_out(&path, main)) {
                    self.problems.push(format!("{name}: main.rs beside it has no `mod` for it, so that its tests do not run"));
                }
                self.read_text(&name, &text, language);
            }
        }
        Ok(())
    }

    fn read_text(&mut self, file: &str, text: &str, language: Language) {
        let mut above = Vec::new();
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if let Some(list) = language.covers(line) {
                above.push((index + 1, list));
                continue;
            }
            let lists_above = std::mem::take(&mut above);
            if !language.is_test(line) {
                continue;
            }
            for (number, list) in lists_above {
                self.add_list(file, number, list);
            }
            if let Some(list) = language.list_beside(line) {
                self.add_list(file, index + 1, list);
            }
        }
    }

    fn add_list(&mut self, file: &str, line: usize, list: &str) {
        for word in list.split(',').map(str::trim) {
            match word.parse() {
                Ok(id) => self.marks.push(Mark { id, file: file.to_owned(), line }),
                Err(why) => self.problems.push(format!(
                    "{file}:{line}: {why}; write nothing but ids, with commas between them"
                )),
            }
        }
    }
}

/// Whether a file is no part of the program that `main.rs` beside it makes.
fn is_left_out(path: &Path, main: &str) -> bool {
    let Some(module) = path.file_stem().and_then(|stem| stem.to_str()) else { return false };
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    is_rust && module != "main" && !main.lines().any(|line| line == format!("mod {module};"))
}

/// Folders whose sources are not the project's own.
fn is_foreign(folder: &str) -> bool {
    folder.starts_with('.') || ["target", "node_modules", "dist"].contains(&folder)
}

impl Language {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "ts" | "tsx" => Some(Self::TypeScript),
            "py" => Some(Self::Python),
            _ => None,
        }
    }

    /// The list in a comment `// covers: B-03, B-04`.
    fn covers(self, line: &str) -> Option<&str> {
        let comment = match self {
            Self::Rust | Self::TypeScript => line.strip_prefix("//"),
            Self::Python => line.strip_prefix('#'),
        };
        comment?.trim_start().strip_prefix("covers:").map(str::trim)
    }

    /// Whether the line begins a test.
    fn is_test(self, line: &str) -> bool {
        let begins_with = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
        match self {
            Self::Rust => attribute(line).is_some_and(|(name, _)| is_test_attribute(name)),
            Self::TypeScript => begins_with(&["test(", "it("]),
            Self::Python => begins_with(&["def test_", "async def test_"]),
        }
    }

    /// The list on the line of the test itself, unless the comment there is prose.
    fn list_beside(self, line: &str) -> Option<&str> {
        match self {
            Self::Rust => {
                let (_, rest) = attribute(line)?;
                let (_, after) = rest.split_once(']')?;
                let comment = after.trim_start().strip_prefix("//")?.trim();
                Id::is_meant_by(comment).then_some(comment)
            }
            Self::TypeScript | Self::Python => None,
        }
    }
}

/// Splits `#[tokio::test(...)] ...` into the name `tokio::test` and the rest.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let attribute = line.strip_prefix("#[")?;
    let end = attribute.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    Some(attribute.split_at(end))
}

fn is_test_attribute(name: &str) -> bool {
    name == "test" || name.ends_with("::test")
}

#[cfg(test)]
mod tests;
