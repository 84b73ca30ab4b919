//! Commands that people write themselves: Markdown files whose text is sent to the model in place
//! of the command, with its arguments put in.

use super::typed::words;
use crate::front_matter;
use crate::project::{config_folder, project_folders};
use orlop_app::config::RuntimeEnv;
use orlop_app::ui::plain_line;
use orlop_core::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Folders of commands in a project, those of Orlop first.
const IN_PROJECT: [&str; 2] = [".orlop/commands", ".claude/commands"];
/// The same in the home folder.
const IN_HOME: [&str; 1] = [".claude/commands"];
/// How many files are used, how deep below a folder, and how long one may be.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 4;
const MAX_BYTES: u64 = 64 * 1024;
/// How long a description is shown.
const MAX_DESCRIPTION: usize = 200;

/// A command from a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileCommand {
    /// Its name; a folder is put in front as `folder:`.
    pub(super) name: String,
    /// `project` or `user`.
    pub(super) of: &'static str,
    pub(super) description: String,
    pub(super) arguments: String,
    /// The model to ask, where the file is one of Orlop's.
    pub(super) model: Option<String>,
    body: String,
}

/// The commands there are, and what is wrong with files that are none.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) commands: Vec<FileCommand>,
    pub(super) problems: Vec<String>,
}

struct Place {
    folder: PathBuf,
    of: &'static str,
    /// What files must lie below, for folders that others may have made.
    within: Option<PathBuf>,
    /// Whether `model` means one of the models here; other programs have names of their own.
    is_ours: bool,
}

/// Looks for commands, the nearest folder first.
pub(super) fn find(env: &RuntimeEnv) -> Found {
    let mut found = Found::default();
    for place in places(env) {
        let mut files = Vec::new();
        below(&place.folder, MAX_DEPTH, &mut files);
        for file in files {
            if found.commands.len() == MAX_FILES {
                found.problems.push(format!("only the first {MAX_FILES} command files are used"));
                return found;
            }
            match read(&file, &place) {
                Ok(command) => {
                    let held = found.commands.iter();
                    let mut of_name = held.filter(|held| held.name == command.name);
                    // The nearest of a name is used, as with all files of a project.
                    if !of_name.any(|held| held.of == command.of) {
                        found.commands.push(command);
                    }
                }
                Err(problem) => {
                    let name = plain_line(&file.display().to_string());
                    found.problems.push(format!("{name}: {problem}"));
                }
            }
        }
    }
    found
}

fn places(env: &RuntimeEnv) -> Vec<Place> {
    let mut places = Vec::new();
    let home = env.get("HOME").filter(|home| !home.is_empty()).map(Path::new);
    if let Some(working) = env.get("WORKING_DIR").map(Path::new) {
        let project = project_folders(working, None);
        let top = project.first().and_then(|top| top.canonicalize().ok());
        // A home folder is no project.
        for folder in project.iter().rev().filter(|folder| Some(folder.as_path()) != home) {
            places.extend(IN_PROJECT.iter().enumerate().map(|(index, name)| Place {
                folder: folder.join(name),
                of: "project",
                within: top.clone(),
                is_ours: index == 0,
            }));
        }
    }
    let users = |folder: PathBuf, is_ours| Place { folder, of: "user", within: None, is_ours };
    places.extend(config_folder(env).map(|folder| users(folder.join("commands"), true)));
    let in_home = |home: &Path| IN_HOME.map(|name| users(home.join(name), false));
    places.extend(home.map(in_home).into_iter().flatten());
    places
}

/// The Markdown files below a folder, in the order of their names.
fn below(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut entries: Vec<PathBuf> = entries.take(2 * MAX_FILES).collect();
    entries.sort();
    for path in entries {
        if files.len() > MAX_FILES {
            return;
        }
        let is_markdown = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
        if is_markdown {
            files.push(path);
        } else if depth > 1 && path.is_dir() {
            below(&path, depth - 1, files);
        }
    }
}

fn read(file: &Path, place: &Place) -> Result<FileCommand, String> {
    let name = name_of(file, &place.folder)?;
    let gone = |error: std::io::Error| format!("it cannot be read: {error}");
    let real = file.canonicalize().map_err(gone)?;
    if place.within.as_deref().is_some_and(|top| !real.starts_with(top)) {
        return Err("a link leads out of the project".to_owned());
    }
    if !real.metadata().map_err(gone)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(&real).map_err(gone)?;
    opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(gone)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is longer than {} KiB", MAX_BYTES / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    let has_head = text.trim_start_matches('\u{feff}').starts_with("---");
    let (head, body) = match has_head {
        true => front_matter::read(&text).map(|read| (read.head, read.body))?,
        false => (orlop_core::Map::new(), text.trim()),
    };
    if body.is_empty() {
        return Err(
            "there is no text behind its head; write what the model is to be told".to_owned()
        );
    }
    let said = |key: &str| {
        let text = head.get(key).and_then(Value::as_str).map(plain_line);
        text.filter(|text| !text.is_empty())
    };
    let first_line = || plain_line(body.lines().next().unwrap_or_default().trim_start_matches('#'));
    let description = said("description").unwrap_or_else(first_line);
    // A hint such as `[file] [how]` reads as a list.
    let hint = match head.get("argument-hint") {
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str);
            words.map(|word| format!("[{}]", plain_line(word))).collect::<Vec<_>>().join(" ")
        }
        _ => said("argument-hint").unwrap_or_default(),
    };
    Ok(FileCommand {
        name,
        of: place.of,
        description: description.chars().take(MAX_DESCRIPTION).collect(),
        arguments: hint,
        model: said("model").filter(|_| place.is_ours),
        body: body.to_owned(),
    })
}

/// `git/commit.md` is `git:commit`.
fn name_of(file: &Path, folder: &Path) -> Result<String, String> {
    let inner = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let steps: Vec<String> =
        inner.components().map(|step| step.as_os_str().to_string_lossy().into_owned()).collect();
    let name = steps.join(":");
    match super::typed::Typed::read(&format!("/{name}")) {
        Some(typed) if typed.rest.is_empty() && typed.name == name => Ok(name),
        _ => Err("its name cannot be typed as a command; use letters, digits, - and _".to_owned()),
    }
}

impl FileCommand {
    /// What the model is told: `$ARGUMENTS` is all that was typed, `$1` to `$9` are its words.
    /// Where the file has a place for neither, what was typed follows its text.
    pub(super) fn message(&self, typed: &str) -> String {
        let words = words(typed);
        let word = |number: usize| words.get(number).map(|word| word.text()).unwrap_or_default();
        let mut message = String::with_capacity(self.body.len() + typed.len());
        let mut rest = self.body.as_str();
        let mut has_place = false;
        while let Some((before, behind)) = rest.split_once('$') {
            message.push_str(before);
            let mut letters = behind.chars();
            let digit = letters.next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0);
            let alone = !letters.next().is_some_and(|c| c.is_ascii_digit());
            if let Some(after) = behind.strip_prefix("ARGUMENTS") {
                message.push_str(typed);
                rest = after;
                has_place = true;
            } else if let Some(digit) = digit.filter(|_| alone) {
                message.push_str(&word(digit as usize - 1));
                rest = &behind[1..];
                has_place = true;
            } else {
                message.push('$');
                rest = behind;
            }
        }
        message.push_str(rest);
        if !has_place && !typed.is_empty() {
            message.push_str("\n\n");
            message.push_str(typed);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // M-20
    fn arguments_are_put_in_once() {
        let message = |body: &str, typed: &str| {
            let command = FileCommand {
                name: "x".to_owned(),
                of: "user",
                description: String::new(),
                arguments: String::new(),
                model: None,
                body: body.to_owned(),
            };
            command.message(typed)
        };
        for (body, typed, told) in [
            ("Review $1 for $2.", "src/a.rs 'odd names'", "Review src/a.rs for odd names."),
            ("Review $1 for $2.", "src/a.rs", "Review src/a.rs for ."),
            ("Do: $ARGUMENTS!", "a  'b'", "Do: a  'b'!"),
            ("$1", "$2 $ARGUMENTS", "$2"),
            ("$ARGUMENTS", "$1", "$1"),
            ("It costs $100, $0 and ${x} $", "", "It costs $100, $0 and ${x} $"),
            ("Fix it.", "now", "Fix it.\n\nnow"),
            ("Fix it.", "", "Fix it."),
            ("$1=$2", "k=v w", "k=v=w"),
        ] {
            assert_eq!(message(body, typed), told, "{body:?} {typed:?}");
        }
    }
}
