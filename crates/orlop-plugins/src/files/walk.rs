//! Walking through folders as people see them: without what `.gitignore` leaves out and without
//! `.git`, never through links, and with an end.

use super::call::Call;
use ignore::{DirEntry, WalkBuilder};
use orlop_core::{Error, Result};
use std::path::Path;

/// How many entries are looked at, and how deep.
const MAX_ENTRIES: usize = 500_000;
const MAX_DEPTH: usize = 64;

/// After so many entries it is told how far a walk has come.
pub(super) const STRIDE: usize = 1_000;

/// What a walk came to, beside what it found.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) entries: usize,
    /// Folders that could not be read.
    pub(super) unread: usize,
    /// Why it ended early.
    pub(super) stopped: Option<&'static str>,
}

/// Visits everything below a folder in the order of names until `visit` says `false`.
pub(super) fn walk(
    call: &Call,
    folder: &Path,
    with_ignored: bool,
    depth: Option<usize>,
    progress: &dyn Fn(usize),
    mut visit: impl FnMut(&DirEntry) -> bool,
) -> Result<Walked> {
    let meta = std::fs::symlink_metadata(folder)
        .map_err(|error| super::place::told("look at", folder, error))?;
    if !meta.is_dir() {
        return Err(Error::bad_argument(format!(
            "{} is no folder; give a folder as path",
            call.shown(folder)
        )));
    }
    let mut walked = Walked::default();
    let mut builder = WalkBuilder::new(folder);
    builder
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .max_depth(Some(depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH)))
        .sort_by_file_name(|a, b| a.cmp(b))
        .filter_entry(|entry| entry.file_name() != ".git");
    if with_ignored {
        builder.ignore(false).git_ignore(false).git_exclude(false);
    }
    for entry in builder.build() {
        let entry = match entry {
            Ok(entry) if entry.depth() == 0 => continue,
            Ok(entry) => entry,
            Err(_) => {
                walked.unread += 1;
                continue;
            }
        };
        walked.entries += 1;
        if walked.entries % STRIDE == 0 {
            progress(walked.entries);
        }
        if walked.entries >= MAX_ENTRIES {
            walked.stopped = Some("there are more than 500,000 files and folders");
        } else if call.is_over() {
            call.go_on()?;
            walked.stopped = Some("it took more than 30 seconds");
        }
        if walked.stopped.is_some() || !visit(&entry) {
            break;
        }
    }
    Ok(walked)
}

impl Walked {
    /// What the reader should know of parts that were not seen.
    pub(super) fn notes(&self, notes: &mut Vec<String>) {
        if let Some(why) = self.stopped {
            notes.push(format!("stopped early: {why}; look into a smaller folder"));
        }
        if self.unread > 0 {
            notes.push(format!("{} folders could not be read", self.unread));
        }
    }
}

/// Notes in one line below a list.
pub(super) fn footer(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!("({})\n", notes.join("; ")) }
}
