//! `write_file` and `edit_file`: what they would make of a file.

use super::call::Call;
use super::place::{Opened, Place, missing, shown};
use super::plan::{Plan, Planned};
use super::read::MAX_WHOLE;
use super::text::{BOM, Ending, is_binary, line_at, lines, plain_lines, to_crlf};
use orlop_core::{Error, Result};
use serde::Deserialize;
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// The most that is written at once.
pub(super) const MAX_WRITE: usize = 16 * 1024 * 1024;

/// How many places of a text that occurs several times are told.
const MAX_PLACES: usize = 8;

/// In how many lines a similar place is looked for, and how much of it is shown.
const MAX_LOOKED_AT: usize = 20_000;
const MAX_SHOWN: usize = 20;

#[derive(Deserialize)]
pub(super) struct WriteArguments {
    path: String,
    content: String,
}

#[derive(Deserialize)]
pub(super) struct EditArguments {
    path: String,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    edits: Option<Vec<Replacement>>,
}

#[derive(Deserialize)]
pub(super) struct Replacement {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// A file as it is before a change, if there is one.
pub(super) struct Before {
    pub(super) real: PathBuf,
    pub(super) held: Option<(Opened, Vec<u8>)>,
}

impl Before {
    /// Reads a file that is to be changed. One that changed since the session last saw it is
    /// refused: what the model has in mind is not what is there.
    pub(super) fn read(call: &Call, path: &str) -> Result<Self> {
        let real = call.path_to_change(path)?;
        let opened = match Place::of(&real) {
            Ok(place) => place.open()?,
            // A folder on the way is missing, and so is the file.
            Err(error) if error.class() == orlop_core::ErrorClass::NotFound => None,
            Err(error) => return Err(error),
        };
        let Some(mut opened) = opened else { return Ok(Self { real, held: None }) };
        let content = opened.read_all(&real, MAX_WHOLE)?;
        if opened.mode & 0o222 == 0 {
            return Err(Error::bad_state(format!(
                "{} is read-only; its permissions must be changed first",
                call.shown(&real)
            )));
        }
        match call.seen.get(&call.session, &real) {
            Some(stamp) if !stamp.fits(&opened, &content) => Err(Error::conflict(format!(
                "{} was changed by someone else since it was last read; read it again, then change it",
                call.shown(&real)
            ))),
            _ => Ok(Self { real, held: Some((opened, content)) }),
        }
    }

    pub(super) fn content(&self) -> Option<&[u8]> {
        self.held.as_ref().map(|(_, content)| content.as_slice())
    }

    /// With what comes in its place; nothing removes it.
    pub(super) fn becomes(self, after: Option<Vec<u8>>) -> Planned {
        let (before, mode) = match self.held {
            Some((opened, content)) => (Some(content), Some(opened.mode)),
            None => (None, None),
        };
        Planned { path: self.real, before, after, mode }
    }
}

pub(super) fn write_file(call: &Call, arguments: WriteArguments) -> Result<Plan> {
    if arguments.content.len() > MAX_WRITE {
        return Err(Error::bad_argument("the content has more than 16 MiB; write it in the shell"));
    }
    let before = Before::read(call, &arguments.path)?;
    let mut content = arguments.content.into_bytes();
    if let Some(old) = before.content() {
        if !old.is_empty() && call.seen.get(&call.session, &before.real).is_none() {
            return Err(Error::bad_state(format!(
                "{} exists and was not read yet; read it before you replace it, or change parts of it with edit_file",
                call.shown(&before.real)
            )));
        }
        if Ending::of(old) == Ending::Crlf && !content.contains(&b'\r') {
            let text = String::from_utf8_lossy(&content).into_owned();
            content = to_crlf(&text).into_bytes();
        }
        if old.starts_with(BOM) && !content.starts_with(BOM) {
            content.splice(0..0, BOM.iter().copied());
        }
    }
    Ok(Plan::of(before.becomes(Some(content))))
}

pub(super) fn edit_file(call: &Call, mut arguments: EditArguments) -> Result<Plan> {
    let replacements = arguments.replacements()?;
    let before = Before::read(call, &arguments.path)?;
    let Some(old) = before.content() else {
        return Err(missing(&before.real));
    };
    if is_binary(old) {
        return Err(Error::bad_argument(format!(
            "{} is no text; change it with a program in the shell",
            call.shown(&before.real)
        )));
    }
    let several = replacements.len() > 1;
    let mut content = old.to_vec();
    for (index, replacement) in replacements.iter().enumerate() {
        content = replacement.apply(&content, &before.real).map_err(|error| {
            if several {
                let message = format!(
                    "edit {} of {}: {}; none of the edits was made",
                    index + 1,
                    replacements.len(),
                    error.message()
                );
                Error::new(error.class(), message)
            } else {
                error
            }
        })?;
        if content.len() > MAX_WRITE {
            return Err(Error::bad_argument(
                "the file would have more than 16 MiB after this edit",
            ));
        }
    }
    if content == old {
        return Err(Error::bad_argument("the edits change nothing: the file would be as it is"));
    }
    Ok(Plan::of(before.becomes(Some(content))))
}

impl EditArguments {
    /// The edits in their order: the list, or the one that stands beside the path.
    fn replacements(&mut self) -> Result<Vec<Replacement>> {
        let one = match (self.old_string.take(), self.new_string.take()) {
            (Some(old_string), Some(new_string)) => {
                vec![Replacement { old_string, new_string, replace_all: self.replace_all }]
            }
            (None, None) => Vec::new(),
            _ => return Err(Error::bad_argument("old_string and new_string belong together")),
        };
        let edits = self.edits.take().unwrap_or_default();
        match (one.is_empty(), edits.is_empty()) {
            (false, true) => Ok(one),
            (true, false) => Ok(edits),
            (true, true) => {
                Err(Error::bad_argument("give old_string and new_string, or a list of edits"))
            }
            (false, false) => Err(Error::bad_argument(
                "give either old_string and new_string, or a list of edits, not both",
            )),
        }
    }
}

impl Replacement {
    fn apply(&self, content: &[u8], path: &Path) -> Result<Vec<u8>> {
        if self.old_string.is_empty() {
            return Err(Error::bad_argument(
                "old_string is empty; to make a file or replace all of it use write_file",
            ));
        }
        if self.old_string == self.new_string {
            return Err(Error::bad_argument("old_string and new_string are the same"));
        }
        let (old, new) = self.as_the_file_has_it(content);
        let found: Vec<usize> = memchr::memmem::find_iter(content, &old).collect();
        match found.as_slice() {
            [] => Err(not_found(content, &self.old_string, path)),
            [_] => Ok(replaced(content, &found, old.len(), &new)),
            _ if self.replace_all == Some(true) => Ok(replaced(content, &found, old.len(), &new)),
            _ => Err(ambiguous(content, &found)),
        }
    }

    /// Both texts with the line ends of the file, which models do not see.
    fn as_the_file_has_it(&self, content: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let plain = || (self.old_string.clone().into_bytes(), self.new_string.clone().into_bytes());
        let crlf =
            || (to_crlf(&self.old_string).into_bytes(), to_crlf(&self.new_string).into_bytes());
        match Ending::of(content) {
            Ending::Lf => plain(),
            Ending::Crlf => crlf(),
            Ending::Mixed => {
                let (old, new) = plain();
                if memchr::memmem::find(content, &old).is_some() { (old, new) } else { crlf() }
            }
        }
    }
}

fn replaced(content: &[u8], places: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(content.len() + new.len());
    let mut from = 0;
    for &at in places {
        made.extend_from_slice(&content[from..at]);
        made.extend_from_slice(new);
        from = at + length;
    }
    made.extend_from_slice(&content[from..]);
    made
}

fn ambiguous(content: &[u8], found: &[usize]) -> Error {
    let places: Vec<String> =
        found.iter().take(MAX_PLACES).map(|at| line_at(content, *at).to_string()).collect();
    let more = if found.len() > MAX_PLACES { ", ..." } else { "" };
    Error::bad_argument(format!(
        "old_string occurs {} times (lines {}{more}); add lines around it until it occurs once, or set replace_all",
        found.len(),
        places.join(", ")
    ))
}

/// Says that a text is not there, and what there is that looks like it.
fn not_found(content: &[u8], wanted: &str, path: &Path) -> Error {
    let name = path.file_name().map(Path::new).map(shown).unwrap_or_default();
    let start = format!("old_string is not in {name}");
    match nearest(content, wanted) {
        Some(near) => Error::not_found(format!("{start}; {near}")),
        None => Error::not_found(format!("{start}, and nothing like it; read the file again")),
    }
}

/// The place that is most like the wanted text: the same lines with other spaces, or the most
/// similar first line.
fn nearest(content: &[u8], wanted: &str) -> Option<String> {
    let held: Vec<String> = lines(content)
        .iter()
        .take(MAX_LOOKED_AT)
        .map(|line| String::from_utf8_lossy(line.text).into_owned())
        .collect();
    let wanted = plain_lines(wanted);
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    let same = |held: &str, wanted: &str| held.trim() == wanted.trim();
    let score = |at: usize| {
        let pairs = held[at..].iter().zip(&wanted[first..]);
        pairs.filter(|(held, wanted)| !wanted.trim().is_empty() && same(held, wanted)).count()
    };
    let filled = wanted.iter().filter(|line| !line.trim().is_empty()).count();
    let candidates = (0..held.len()).filter(|at| same(&held[*at], wanted[first]));
    let best =
        candidates.map(|at| (score(at), at)).max_by_key(|(score, at)| (*score, usize::MAX - at));
    let length = wanted.len() - first;
    if let Some((score, at)) = best {
        let why = if score == filled { "only spaces differ" } else { "part of it differs" };
        return Some(format!(
            "the nearest place is line {} ({why}):\n{}",
            at + 1,
            quoted(&held, at, length)
        ));
    }
    let like = |line: &str| TextDiff::from_chars(line.trim(), wanted[first].trim()).ratio();
    let near_in_length = |line: &str| {
        let (held, wanted) = (line.trim().len(), wanted[first].trim().len());
        held > 0 && held < 400 && wanted < 400 && held * 2 >= wanted && wanted * 2 >= held
    };
    let likely = held.iter().enumerate().filter(|(_, line)| near_in_length(line)).take(2_000);
    let (ratio, at) = likely
        .map(|(at, line)| (like(line), at))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (ratio >= 0.6)
        .then(|| format!("the most similar line is {}:\n{}", at + 1, quoted(&held, at, length)))
}

fn quoted(held: &[String], at: usize, length: usize) -> String {
    let shown = held.iter().enumerate().skip(at).take(length.clamp(1, MAX_SHOWN));
    let line = |(at, line): (usize, &String)| {
        let end = line.floor_char_boundary(400);
        format!("{:>6}\t{}", at + 1, &line[..end])
    };
    shown.map(line).collect::<Vec<_>>().join("\n")
}
