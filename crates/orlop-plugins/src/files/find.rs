//! `list_files` and `find_files`: which files there are.

use super::call::Call;
use super::place::{Kind, bytes, shown};
use super::walk::{footer, walk};
use ignore::DirEntry;
use ignore::overrides::{Override, OverrideBuilder};
use orlop_core::types::ToolReport;
use orlop_core::{Error, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const LISTED: usize = 500;
const FOUND: usize = 100;
const MAX_SHOWN: usize = 5_000;

#[derive(Deserialize)]
pub(super) struct ListArguments {
    path: Option<String>,
    depth: Option<u64>,
    ignored: Option<bool>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct FindArguments {
    pattern: String,
    path: Option<String>,
    ignored: Option<bool>,
    limit: Option<u64>,
}

pub(super) fn list_files(
    call: &Call,
    arguments: &ListArguments,
    progress: &dyn Fn(usize),
) -> Result<ToolReport> {
    let folder = call.path(arguments.path.as_deref().unwrap_or("."))?;
    let limit = limited(arguments.limit, LISTED);
    let depth = usize::try_from(arguments.depth.unwrap_or(1)).unwrap_or(usize::MAX).max(1);
    let with_ignored = arguments.ignored == Some(true);
    let mut listed = Vec::new();
    let mut more = 0;
    let walked = walk(call, &folder, with_ignored, Some(depth), progress, |entry| {
        if listed.len() < limit {
            listed.push(entry_line(entry, &folder));
        } else {
            more += 1;
        }
        true
    })?;
    let mut text: String = listed.iter().map(|line| format!("{line}\n")).collect();
    let mut notes = Vec::new();
    if listed.is_empty() {
        text = format!("{} has no files in it\n", call.shown(&folder));
        if !with_ignored {
            notes.push(
                "files that .gitignore names are left out; ignored: true shows them".to_owned(),
            );
        }
    }
    if more > 0 {
        notes.push(format!("{more} more are not shown; list a folder in it, or raise limit"));
    }
    walked.notes(&mut notes);
    text.push_str(&footer(&notes));
    Ok(ToolReport::ok(text))
}

/// A line of a listing: folders with `/`, links with where they lead, files with their size.
fn entry_line(entry: &DirEntry, folder: &Path) -> String {
    let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
    let name = shown(path);
    let Ok(meta) = entry.path().symlink_metadata() else { return name };
    let kind = meta.file_type();
    if kind.is_dir() {
        format!("{name}/")
    } else if kind.is_symlink() {
        let target = entry.path().read_link().map(|target| shown(&target)).unwrap_or_default();
        format!("{name} -> {target}")
    } else if kind.is_file() {
        format!("{name} ({})", bytes(meta.len()))
    } else {
        format!("{name} ({})", Kind::of(kind).name())
    }
}

pub(super) fn find_files(
    call: &Call,
    arguments: &FindArguments,
    progress: &dyn Fn(usize),
) -> Result<ToolReport> {
    let folder = call.path(arguments.path.as_deref().unwrap_or("."))?;
    let limit = limited(arguments.limit, FOUND);
    let pattern = glob(&folder, &arguments.pattern)?;
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    let with_ignored = arguments.ignored == Some(true);
    let walked = walk(call, &folder, with_ignored, None, progress, |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_dir && pattern.matched(entry.path(), false).is_whitelist() {
            let meta = entry.path().symlink_metadata();
            let modified = meta.and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((modified, entry.path().to_owned()));
        }
        true
    })?;
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut text: String = String::new();
    for (_, path) in found.iter().take(limit) {
        text.push_str(&call.shown(path));
        text.push('\n');
    }
    let mut notes = Vec::new();
    if found.is_empty() {
        text = format!("no file matches {:?}\n", arguments.pattern);
        if !with_ignored {
            notes.push(
                "files that .gitignore names are left out; ignored: true looks at them".to_owned(),
            );
        }
    }
    if found.len() > limit {
        notes.push(format!(
            "the newest {limit} of {}; narrow the pattern, or raise limit",
            found.len()
        ));
    }
    walked.notes(&mut notes);
    text.push_str(&footer(&notes));
    Ok(ToolReport::ok(text))
}

/// A pattern as `.gitignore` has them: `*.rs` anywhere, `src/*.rs` from the folder on.
pub(super) fn glob(folder: &Path, pattern: &str) -> Result<Override> {
    let wrong = |error: ignore::Error| {
        Error::bad_argument(format!("{pattern:?} is no pattern for files: {error}"))
    };
    if pattern.is_empty() {
        return Err(Error::bad_argument("the pattern is empty; **/* stands for all files"));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let mut builder = OverrideBuilder::new(folder);
    builder.add(pattern).map_err(wrong)?;
    builder.build().map_err(wrong)
}

fn limited(limit: Option<u64>, default: usize) -> usize {
    limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(MAX_SHOWN)).clamp(1, MAX_SHOWN)
}
