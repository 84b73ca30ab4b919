//! Unified diffs, as `diff -u` and `git diff` write them.

use super::envelope::step;
use super::{Chunk, FileChange, Step};
use orlop_core::{Error, Result};

const NOTHING: &str = "/dev/null";

/// What is known of one file while its part of the diff is read.
#[derive(Default)]
struct Section {
    from: Option<String>,
    to: Option<String>,
    renamed: Option<(String, String)>,
    chunks: Vec<Chunk>,
}

pub(super) fn parse(text: &str) -> Result<Vec<FileChange>> {
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    // Lines of the chunk under way that are still to come, on both sides.
    let mut left = (0usize, 0usize);
    while let Some((number, line)) = lines.next() {
        let wrong = |why: &str| {
            let line: String = line.chars().take(80).collect();
            Error::bad_argument(format!(
                "line {} of the patch ({line:?}): {why}; nothing was changed",
                number + 1
            ))
        };
        let current = sections.last_mut();
        if let Some(section) = current {
            let chunk = section.chunks.last_mut();
            if let Some(chunk) = chunk.filter(|_| left != (0, 0)) {
                if line.starts_with('\\') {
                    chunk.open_end = true;
                    continue;
                }
                let step =
                    step(line).ok_or_else(|| wrong("the chunk is shorter than its header says"))?;
                let (old, new) = match &step {
                    Step::Keep(_) => (1, 1),
                    Step::Remove(_) => (1, 0),
                    Step::Add(_) => (0, 1),
                };
                let (Some(old), Some(new)) = (left.0.checked_sub(old), left.1.checked_sub(new))
                else {
                    return Err(wrong("the chunk is longer than its header says"));
                };
                left = (old, new);
                chunk.steps.push(step);
                continue;
            }
        }
        if line.starts_with("diff --git ") {
            sections.push(Section::default());
        } else if let Some(path) = line.strip_prefix("--- ") {
            let to = lines.next_if(|(_, next)| next.starts_with("+++ "));
            let to = to.and_then(|(_, next)| next.strip_prefix("+++ "));
            let to = to.ok_or_else(|| wrong("a line with `+++ ` must follow"))?;
            let from = name(path, "a/");
            if sections.last().is_none_or(|section| !section.awaits(&from)) {
                sections.push(Section::default());
            }
            if let Some(section) = sections.last_mut() {
                section.from = Some(from);
                section.to = Some(name(to, "b/"));
            }
        } else if line.starts_with("@@ ") {
            let (chunk, counts) =
                chunk(line).ok_or_else(|| wrong("this is no header of a chunk"))?;
            let Some(section) = sections.last_mut().filter(|section| section.to.is_some()) else {
                return Err(wrong("a chunk comes before the name of its file"));
            };
            section.chunks.push(chunk);
            left = counts;
        } else if line.starts_with('\\') {
            let chunk = sections.last_mut().and_then(|section| section.chunks.last_mut());
            if let Some(chunk) = chunk {
                chunk.open_end |= matches!(chunk.steps.last(), Some(Step::Add(_) | Step::Keep(_)));
            }
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(wrong("binary changes cannot be applied"));
        } else if let Some(section) = sections.last_mut() {
            section.note(line);
        }
    }
    if left != (0, 0) {
        return Err(Error::bad_argument(
            "the patch ends in the middle of a chunk; nothing was changed",
        ));
    }
    if sections.is_empty() {
        return Err(Error::bad_argument(
            "this is no patch: begin with `*** Begin Patch`, or send a unified diff with --- and +++ lines",
        ));
    }
    sections.into_iter().filter_map(|section| section.finish().transpose()).collect()
}

impl Section {
    /// Whether a `---` line with this name belongs to it.
    fn awaits(&self, from: &str) -> bool {
        let renamed = self.renamed.as_ref().is_none_or(|(old, _)| old == from);
        self.from.is_none() && self.chunks.is_empty() && renamed
    }

    /// A line between the header of git and the first chunk.
    fn note(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("rename from ") {
            self.renamed = Some((path.to_owned(), String::new()));
        } else if let Some(path) = line.strip_prefix("rename to ")
            && let Some((_, to)) = &mut self.renamed
        {
            *to = path.to_owned();
        }
    }

    fn finish(mut self) -> Result<Option<FileChange>> {
        let renamed = self.renamed.take().filter(|(_, to)| !to.is_empty());
        let chunks = self.chunks;
        let (from, to) = match (self.from, self.to, renamed) {
            (Some(from), Some(to), None) => (from, to),
            (_, _, Some((from, to))) => (from, to),
            _ => return Ok(None),
        };
        if from == NOTHING {
            let steps = chunks.iter().flat_map(|chunk| &chunk.steps);
            let added: Vec<&str> = steps
                .filter_map(|step| match step {
                    Step::Add(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            let mut content = added.join("\n");
            let open = chunks.last().is_some_and(|chunk| chunk.open_end);
            if !content.is_empty() && !open {
                content.push('\n');
            }
            return Ok(Some(FileChange::Add { path: to, content }));
        }
        if to == NOTHING {
            return Ok(Some(FileChange::Delete { path: from }));
        }
        let moved_to = (from != to).then_some(to);
        Ok(Some(FileChange::Update { path: from, moved_to, chunks }))
    }
}

/// The path in a `---` or `+++` line: without the time behind it and the letter before it.
fn name(text: &str, side: &str) -> String {
    let path = text.split('\t').next().unwrap_or(text).trim_end();
    if path == NOTHING {
        return path.to_owned();
    }
    path.strip_prefix(side).unwrap_or(path).to_owned()
}

/// `@@ -3,7 +3,8 @@ fn main()`: the chunk that begins, and how many lines it has on both sides.
fn chunk(line: &str) -> Option<(Chunk, (usize, usize))> {
    let inner = line.strip_prefix("@@ ")?.split(" @@").next()?;
    let (old, new) = inner.trim().split_once(' ')?;
    let range = |text: &str, sign: char| {
        let text = text.strip_prefix(sign)?;
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((start, old), (_, new)) = (range(old, '-')?, range(new, '+')?);
    // A chunk that only adds is put behind the line it names.
    let line = if old == 0 { start + 1 } else { start.max(1) };
    Some((Chunk { line: Some(line), ..Chunk::default() }, (old, new)))
}

/// The line that the rest of an `@@` line of the other form names, where it is like one of these.
pub(super) fn place(context: &str) -> Option<usize> {
    chunk(&format!("@@ {context}")).and_then(|(chunk, _)| chunk.line)
}
