//! Finding the lines of a chunk in a file, and putting others in their place.

use super::{Chunk, Step};
use crate::files::text::{Ending, Line, lines};
use orlop_core::{Error, Result};

/// How strictly lines are compared: models get spaces and quotes wrong.
const WAYS: [fn(&[u8], &str) -> bool; 4] = [exact, without_end_spaces, without_spaces, plainly];

/// The content after all chunks, which stand in the order of the file.
pub(super) fn applied(content: &[u8], chunks: &[Chunk], path: &str) -> Result<Vec<u8>> {
    let held = lines(content);
    let ending = Ending::of(content).bytes();
    let mut made: Vec<Line<'_>> = Vec::with_capacity(held.len());
    let mut next = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        let at = find(&held, next, chunk).ok_or_else(|| not_found(&held, chunk, index, path))?;
        made.extend_from_slice(&held[next..at]);
        next = at;
        for step in &chunk.steps {
            match step {
                Step::Keep(_) => {
                    made.extend(held.get(next).cloned());
                    next += 1;
                }
                Step::Remove(_) => next += 1,
                Step::Add(text) => made.push(Line { text: text.as_bytes(), ending }),
            }
        }
        let is_last = next >= held.len() && index + 1 == chunks.len();
        if let Some(last) = made.last_mut().filter(|_| chunk.open_end && is_last) {
            last.ending = b"";
        }
    }
    made.extend_from_slice(held.get(next..).unwrap_or_default());
    Ok(joined(&made, ending))
}

/// The bytes of lines. A line in the middle that came from the end of the file gets a line end.
fn joined(made: &[Line<'_>], ending: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, line) in made.iter().enumerate() {
        bytes.extend_from_slice(line.text);
        let is_last = index + 1 == made.len();
        let end = if line.ending.is_empty() && !is_last { ending } else { line.ending };
        bytes.extend_from_slice(end);
    }
    bytes
}

/// The lines a chunk wants to find.
fn wanted(chunk: &Chunk) -> Vec<&str> {
    let old = chunk.steps.iter().filter_map(|step| match step {
        Step::Keep(text) | Step::Remove(text) => Some(text.as_str()),
        Step::Add(_) => None,
    });
    old.collect()
}

/// Where a chunk begins, at line `from` or after it.
fn find(held: &[Line<'_>], from: usize, chunk: &Chunk) -> Option<usize> {
    let mut from = from;
    for above in &chunk.below {
        let same = |way: fn(&[u8], &str) -> bool| {
            let rest = held.get(from..)?;
            rest.iter().position(|line| way(line.text, above)).map(|at| from + at + 1)
        };
        from = WAYS.iter().find_map(|way| same(*way))?;
    }
    let wanted = wanted(chunk);
    if wanted.is_empty() {
        // It only adds: behind the line above it, at its line, or at the end.
        return Some(match chunk.line {
            Some(line) => (line - 1).clamp(from, held.len()),
            None if !chunk.below.is_empty() && !chunk.at_end => from,
            None => held.len(),
        });
    }
    let last = held.len().checked_sub(wanted.len())?;
    let fits = |way: fn(&[u8], &str) -> bool, at: usize| {
        held[at..].iter().zip(&wanted).all(|(line, wanted)| way(line.text, wanted))
    };
    WAYS.iter().find_map(|way| {
        if chunk.at_end && last >= from && fits(*way, last) {
            return Some(last);
        }
        let found = (from..=last).filter(|at| fits(*way, *at));
        match chunk.line {
            Some(line) => found.min_by_key(|at| at.abs_diff(line - 1)),
            None => found.min(),
        }
    })
}

fn not_found(held: &[Line<'_>], chunk: &Chunk, index: usize, path: &str) -> Error {
    let wanted = wanted(chunk);
    let shown: Vec<String> =
        wanted.iter().take(8).map(|line| line.chars().take(200).collect()).collect();
    let more = if wanted.len() > 8 { "\n..." } else { "" };
    let lost = chunk.below.iter().find(|above| !held.iter().any(|line| plainly(line.text, above)));
    let why = match lost {
        Some(above) => format!("there is no line {above:?}"),
        None => format!("these lines are not there:\n{}{more}\n", shown.join("\n")),
    };
    Error::not_found(format!(
        "part {} of the patch does not fit {path}: {why}; nothing was changed; read the file again",
        index + 1
    ))
}

fn exact(held: &[u8], wanted: &str) -> bool {
    held == wanted.as_bytes()
}

fn without_end_spaces(held: &[u8], wanted: &str) -> bool {
    held.trim_ascii_end() == wanted.trim_ascii_end().as_bytes()
}

fn without_spaces(held: &[u8], wanted: &str) -> bool {
    held.trim_ascii() == wanted.trim_ascii().as_bytes()
}

/// With typographic characters as the plain ones models write for them.
fn plainly(held: &[u8], wanted: &str) -> bool {
    let plain = |text: &str| -> String {
        let as_plain = |c| match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{2018}'..='\u{201b}' => '\'',
            '\u{201c}'..='\u{201f}' => '"',
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
            other => other,
        };
        text.trim().chars().map(as_plain).collect()
    };
    plain(&String::from_utf8_lossy(held)) == plain(wanted)
}
