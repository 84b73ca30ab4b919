//! The file in which tests say that they were skipped.
//!
//! The output of a passing test is not shown, so a test whose precondition is missing appends one
//! line to the file named by [`VARIABLE`] and returns. CONTRIBUTING.md tells test authors so.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::workspace::Workspace;

/// The environment variable that tells tests where to write.
pub(super) const VARIABLE: &str = "ORLOP_SKIPPED";

/// The file for one run of the tests; removed when the value is dropped.
pub(super) struct Skips {
    file: PathBuf,
}

impl Skips {
    /// An empty file of our own, so that two runs at once do not mix.
    pub(super) fn new(workspace: &Workspace) -> Result<Self, String> {
        let name = format!("skipped-{}.txt", std::process::id());
        let file = workspace.output_folder("xtask")?.join(name);
        match fs::write(&file, "") {
            Ok(()) => Ok(Self { file }),
            Err(error) => Err(format!("cannot write {}: {error}", file.display())),
        }
    }

    /// What the tests find in [`VARIABLE`].
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// One line for each skipped test, beginning with `SKIPPED:`.
    pub(super) fn lines(&self) -> Result<Vec<String>, String> {
        match fs::read(&self.file) {
            Ok(text) => Ok(skip_lines(&String::from_utf8_lossy(&text))),
            Err(error) => Err(format!("cannot read {}: {error}", self.file.display())),
        }
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        // A file that stays behind in `target` harms nobody.
        let _ = fs::remove_file(&self.file);
    }
}

fn skip_lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.strip_prefix("SKIPPED:").unwrap_or(line).trim())
        .filter(|reason| !reason.is_empty())
        .map(|reason| format!("SKIPPED: {reason}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_with_a_reason_is_a_skip() {
        let text = "SKIPPED: streams: ORLOP_FIXTURES is not set\n\nno network\n";
        assert_eq!(
            skip_lines(text),
            ["SKIPPED: streams: ORLOP_FIXTURES is not set", "SKIPPED: no network"]
        );
    }
}
