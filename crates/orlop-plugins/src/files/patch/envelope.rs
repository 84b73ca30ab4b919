//! The form between `*** Begin Patch` and `*** End Patch`.

use super::{Chunk, FileChange, Step};
use orlop_core::{Error, Result};

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse(text: &str) -> Result<Vec<FileChange>> {
    let mut lines = text.lines().enumerate().skip(1).peekable();
    let mut changes = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim() == END {
            return Ok(changes);
        }
        if line.trim().is_empty() {
            continue;
        }
        let section = &mut std::iter::from_fn(|| lines.next_if(|(_, line)| !is_header(line)));
        changes.push(if let Some(path) = line.strip_prefix(ADD) {
            add(path, section)?
        } else if let Some(path) = line.strip_prefix(DELETE) {
            FileChange::Delete { path: path.trim().to_owned() }
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            update(path, section)?
        } else {
            return Err(wrong(
                number,
                line,
                "`*** Add File: `, `*** Delete File: ` or `*** Update File: ` is expected",
            ));
        });
    }
    Err(Error::bad_argument(format!("the patch ends without a line `{END}`; nothing was changed")))
}

fn is_header(line: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|header| line.starts_with(header)) || line.trim() == END
}

fn wrong(number: usize, line: &str, why: &str) -> Error {
    let line: String = line.chars().take(80).collect();
    Error::bad_argument(format!(
        "line {} of the patch ({line:?}): {why}; nothing was changed",
        number + 1
    ))
}

fn add<'a>(path: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<FileChange> {
    let mut content = String::new();
    for (number, line) in lines {
        let Some(text) = line.strip_prefix('+') else {
            return Err(wrong(number, line, "every line of a new file begins with +"));
        };
        content.push_str(text);
        content.push('\n');
    }
    Ok(FileChange::Add { path: path.trim().to_owned(), content })
}

fn update<'a>(
    path: &str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<FileChange> {
    let mut moved_to = None;
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut open = false;
    for (number, line) in lines {
        if let Some(target) = line.strip_prefix(MOVE) {
            moved_to = Some(target.trim().to_owned());
            continue;
        }
        if let Some(context) = line.strip_prefix("@@") {
            let context = context.trim();
            // Several in a row narrow the place down.
            let fresh = chunks.last().is_some_and(|chunk| chunk.steps.is_empty());
            if !fresh {
                chunks.push(Chunk::default());
            }
            open = true;
            if let Some(chunk) = chunks.last_mut().filter(|_| !context.is_empty()) {
                match super::unified::place(context) {
                    Some(line) => chunk.line = Some(line),
                    None => chunk.below.push(context.to_owned()),
                }
            }
            continue;
        }
        if !open {
            chunks.push(Chunk::default());
            open = true;
        }
        let Some(chunk) = chunks.last_mut() else { continue };
        if line.trim_end() == END_OF_FILE {
            chunk.at_end = true;
            open = false;
            continue;
        }
        chunk.steps.push(step(line).ok_or_else(|| {
            wrong(number, line, "a line begins with a space (kept), - (removed) or + (added)")
        })?);
    }
    chunks.retain(|chunk| !chunk.steps.is_empty());
    if chunks.is_empty() && moved_to.is_none() {
        return Err(Error::bad_argument(format!(
            "the patch of {} has no changes in it; nothing was changed",
            path.trim()
        )));
    }
    Ok(FileChange::Update { path: path.trim().to_owned(), moved_to, chunks })
}

/// One line of a chunk; an empty one is an empty line that is kept.
pub(super) fn step(line: &str) -> Option<Step> {
    let mut rest = line.chars();
    match rest.next() {
        None => Some(Step::Keep(String::new())),
        Some(' ') => Some(Step::Keep(rest.as_str().to_owned())),
        Some('-') => Some(Step::Remove(rest.as_str().to_owned())),
        Some('+') => Some(Step::Add(rest.as_str().to_owned())),
        Some(_) => None,
    }
}
