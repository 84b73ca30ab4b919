//! What the model gets of a skill: its instructions with a list of its files, and each file when
//! it asks.

use super::find::{Skill, is_passed_over, text_of};
use crate::front_matter;
use crate::workspace::real_path;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// How much of a text is given, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// How many files are listed, and how deep.
const MAX_FILES: usize = 100;
const MAX_DEPTH: usize = 4;

/// The instructions of a skill and the names of its files.
pub(super) fn instructions(skill: &Skill) -> Result<String, String> {
    let bad = |what: String| format!("the skill {} cannot be used: {what}", skill.name);
    let text = text_of(&skill.folder.join("SKILL.md")).map_err(bad)?;
    let document = front_matter::read(&text).map_err(bad)?;
    let mut told = format!("<skill name=\"{}\">\n{}", skill.name, cut(document.body));
    told.push_str("\n</skill>\n");
    let folder = skill.folder.display();
    told.push_str(&format!("Its folder is {folder}; paths in it start there."));
    let mut files = Vec::new();
    list(&skill.folder, Path::new(""), MAX_DEPTH, &mut files);
    if !files.is_empty() {
        let more = if files.len() > MAX_FILES { ", and more" } else { "" };
        files.truncate(MAX_FILES);
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        told.push_str(&format!(
            "\nIts files, to be read with this tool and `file`: {}{more}",
            names.join(", ")
        ));
    }
    Ok(told)
}

/// A file of a skill. Nothing outside of its folder is.
pub(super) fn file(skill: &Skill, name: &str) -> Result<String, String> {
    let path = Path::new(name);
    let is_below =
        path.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
    let outside = || format!("{name:?} is not a file of the skill {}", skill.name);
    if !is_below || name.contains('\0') {
        return Err(outside());
    }
    let real = real_path(&skill.folder.join(path)).map_err(|error| format!("{name}: {error}"))?;
    if !real.starts_with(&skill.folder) {
        return Err(outside());
    }
    let known = real.metadata().map_err(|error| format!("{name}: {error}"))?;
    if !known.is_file() {
        return Err(format!("{name} is not a file; name one of those the skill lists"));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(&real).map_err(|error| format!("{name}: {error}"))?;
    // One character more than is given, so that a cut is seen as one.
    let read = opened.take(MAX_TEXT as u64 + 4).read_to_end(&mut bytes);
    read.map_err(|error| format!("{name}: {error}"))?;
    let valid = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "\0",
    };
    if valid.contains('\0') {
        let (size, at) = (known.len(), real.display());
        return Err(format!("{name} is not text ({size} bytes); use another tool on {at}"));
    }
    let text = cut(valid);
    Ok(match known.len() > MAX_TEXT as u64 {
        true => {
            format!("{text}\n[the file has {} bytes; it is at {}]", known.len(), real.display())
        }
        false => text,
    })
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_TEXT);
    format!("{}\n[cut after {} KiB]", &text[..end], MAX_TEXT / 1024)
}

/// The files below a folder, by name, without links.
fn list(root: &Path, below: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).take(10 * MAX_FILES).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        if files.len() > MAX_FILES {
            return;
        }
        let path = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 && !is_passed_over(&path) => {
                list(root, &path, depth - 1, files);
            }
            Ok(kind) if kind.is_file() && path != Path::new("SKILL.md") => files.push(path),
            _ => {}
        }
    }
}
