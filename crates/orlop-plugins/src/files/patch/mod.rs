//! `apply_patch`: changes to several files in one text, all of them or none. Two forms are known:
//! the one between `*** Begin Patch` and `*** End Patch`, and unified diffs.

mod apply;
mod envelope;
mod unified;

use super::call::Call;
use super::edit::Before;
use super::plan::Plan;
use orlop_core::{Error, Result};
use serde::Deserialize;

/// How many files one patch may change.
const MAX_FILES: usize = 500;

#[derive(Deserialize)]
pub(super) struct Arguments {
    patch: String,
}

/// What a patch does to one file.
#[derive(Debug, PartialEq)]
pub(crate) enum FileChange {
    /// Makes it.
    Add { path: String, content: String },
    /// Removes it.
    Delete { path: String },
    /// Changes lines of it, and perhaps its name.
    Update { path: String, moved_to: Option<String>, chunks: Vec<Chunk> },
}

/// Lines that belong together.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    /// Lines that stand somewhere above, from the outermost inwards.
    pub(crate) below: Vec<String>,
    /// The number of the first line, from 1, where the patch tells it.
    pub(crate) line: Option<usize>,
    pub(crate) steps: Vec<Step>,
    /// Whether it ends with the file.
    pub(crate) at_end: bool,
    /// Whether the last line gets no line end.
    pub(crate) open_end: bool,
}

/// One line of a chunk.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Keep(String),
    Remove(String),
    Add(String),
}

impl FileChange {
    /// The paths it names.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, moved_to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, moved_to, .. } => (path, moved_to.as_ref()),
        };
        std::iter::once(path).chain(moved_to).map(String::as_str)
    }
}

/// Reads a patch in either form.
pub(crate) fn parse(patch: &str) -> Result<Vec<FileChange>> {
    let text = unwrapped(patch);
    let changes = match text.starts_with(envelope::BEGIN) {
        true => envelope::parse(text)?,
        false => unified::parse(text)?,
    };
    match changes.len() {
        0 => Err(Error::bad_argument("the patch changes no file")),
        count if count > MAX_FILES => Err(Error::bad_argument(format!(
            "the patch changes {count} files, more than {MAX_FILES}; send it in parts"
        ))),
        _ => Ok(changes),
    }
}

/// The paths a patch would change, as it names them. A patch that cannot be read has none, and
/// will not be applied either.
pub fn patch_paths(patch: &str) -> Vec<String> {
    let changes = parse(patch).unwrap_or_default();
    changes.iter().flat_map(FileChange::paths).map(str::to_owned).collect()
}

/// A patch without the fence or the here-document models put around it.
fn unwrapped(patch: &str) -> &str {
    let text = patch.trim_matches(['\n', '\r', ' ', '\t']);
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let end = rest.trim_end().rsplit_once('\n');
    match end {
        Some((inner, last)) if first.starts_with("```") && last.trim() == "```" => inner,
        Some((inner, last))
            if first.contains("<<") && last.trim().chars().all(char::is_uppercase) =>
        {
            inner
        }
        _ => text,
    }
}

pub(super) fn apply_patch(call: &Call, arguments: &Arguments) -> Result<Plan> {
    let mut plan = Plan::default();
    for change in parse(&arguments.patch)? {
        let planned = match change {
            FileChange::Add { path, content } => {
                let before = Before::read(call, &path)?;
                if before.content().is_some_and(|content| !content.is_empty()) {
                    return Err(Error::conflict(format!(
                        "{path} exists already; update it, or delete it first; nothing was changed"
                    )));
                }
                vec![before.becomes(Some(content.into_bytes()))]
            }
            FileChange::Delete { path } => {
                let before = Before::read(call, &path)?;
                missing(&before, &path)?;
                vec![before.becomes(None)]
            }
            FileChange::Update { path, moved_to, chunks } => {
                let before = Before::read(call, &path)?;
                let content = missing(&before, &path)?;
                let after = apply::applied(content, &chunks, &path)?;
                match moved_to {
                    None => vec![before.becomes(Some(after))],
                    Some(target) => {
                        let new = Before::read(call, &target)?;
                        if new.content().is_some() {
                            return Err(Error::conflict(format!(
                                "{path} cannot become {target}, which exists already; nothing was changed"
                            )));
                        }
                        let mode = before.held.as_ref().map(|(opened, _)| opened.mode);
                        let mut new = new.becomes(Some(after));
                        new.mode = mode;
                        vec![before.becomes(None), new]
                    }
                }
            }
        };
        plan.files.extend(planned);
    }
    let mut paths: Vec<_> = plan.files.iter().map(|file| &file.path).collect();
    paths.sort();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::bad_argument(format!(
            "the patch names {} twice; put all changes of a file into one section",
            call.shown(pair[0])
        ))),
        None => Ok(plan),
    }
}

fn missing<'a>(before: &'a Before, path: &str) -> Result<&'a [u8]> {
    before.content().ok_or_else(|| {
        Error::not_found(format!(
            "{path} does not exist; nothing was changed; check the path with find_files"
        ))
    })
}
