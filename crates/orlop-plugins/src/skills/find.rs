//! Finding skills: where they may be, what they are called, and what is wrong with those that
//! cannot be used.

use crate::front_matter;
use crate::project::{config_folder, project_folders};
use orlop_app::config::RuntimeEnv;
use orlop_core::{Config, Map, Value};
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Folders in a project in which skills are, those of Orlop first.
const IN_PROJECT: [&str; 3] = [".orlop/skills", ".agents/skills", ".claude/skills"];
/// The same in the home folder.
const IN_HOME: [&str; 2] = [".agents/skills", ".claude/skills"];
/// How many folders are looked at, how deep below one of the above, and how many skills are used.
const MAX_FOLDERS: usize = 1000;
const MAX_DEPTH: usize = 3;
const MAX_SKILLS: usize = 200;
/// How long a `SKILL.md` may be, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// How long names and descriptions may be, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

/// A skill that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    /// Its folder, a real path.
    pub(super) folder: PathBuf,
    pub(super) is_of_project: bool,
    /// Whether it is for people to call, and not for the model to choose.
    pub(super) is_hidden: bool,
}

/// A skill that cannot be used, or not as it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    pub(super) path: PathBuf,
    pub(super) what: String,
}

/// What there is.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) skills: Vec<Skill>,
    pub(super) problems: Vec<Problem>,
}

/// Where to look, what wins first.
pub(super) struct Places {
    folders: Vec<Place>,
    off: Vec<String>,
}

struct Place {
    folder: PathBuf,
    /// For a folder of the project: what its skills must lie below.
    within: Option<PathBuf>,
}

impl Places {
    pub(super) fn of(env: &RuntimeEnv, config: &Config) -> Self {
        let section = config.get("skills");
        let texts = |key: &str| -> Vec<String> {
            let list = section.and_then(|section| section.get(key)).and_then(Value::as_array);
            let list = list.into_iter().flatten().filter_map(Value::as_str);
            list.map(str::to_owned).collect()
        };
        let of_project = section.and_then(|section| section.get("project"));
        let of_project = of_project.and_then(Value::as_bool).unwrap_or(true);
        let home = env.get("HOME").filter(|home| !home.is_empty()).map(Path::new);
        let working = env.get("WORKING_DIR").map(Path::new);
        let mut folders = Vec::new();
        if let Some(working) = working.filter(|_| of_project) {
            // A home folder is no project, its skills are the user's.
            let project = project_folders(working, None);
            let top = project.first().and_then(|top| top.canonicalize().ok());
            for folder in project.iter().rev().filter(|folder| Some(folder.as_path()) != home) {
                let place = |name: &&str| Place { folder: folder.join(name), within: top.clone() };
                folders.extend(IN_PROJECT.iter().map(place));
            }
        }
        let users = |folder: PathBuf| Place { folder, within: None };
        let base = working.unwrap_or(Path::new("/"));
        folders.extend(texts("folders").iter().map(|folder| users(base.join(folder))));
        folders.extend(config_folder(env).map(|folder| users(folder.join("skills"))));
        let in_home = |home: &Path| IN_HOME.map(|name| users(home.join(name)));
        folders.extend(home.map(in_home).into_iter().flatten());
        folders.extend(env.skill_folders().iter().cloned().map(users));
        Self { folders, off: texts("off") }
    }
}

/// Looks for skills, and reads a file again only if it changed.
#[derive(Default)]
pub(super) struct Read {
    held: Mutex<HashMap<PathBuf, Held>>,
}

struct Held {
    modified: Option<SystemTime>,
    size: u64,
    read: Result<Map, String>,
}

impl Read {
    pub(super) fn find(&self, places: &Places) -> Found {
        let mut found = Found::default();
        let mut room = MAX_FOLDERS;
        for place in &places.folders {
            let mut folders = Vec::new();
            below(&place.folder, MAX_DEPTH, &mut room, &mut folders);
            for folder in folders {
                self.add(&folder, place, &places.off, &mut found);
            }
        }
        if room == 0 {
            let what = format!("only the first {MAX_FOLDERS} folders were looked at");
            found.problems.push(Problem { path: PathBuf::from("."), what });
        }
        found
    }

    fn add(&self, folder: &Path, place: &Place, off: &[String], found: &mut Found) {
        let path = folder.join("SKILL.md");
        let mut problem = |what: String| found.problems.push(Problem { path: path.clone(), what });
        let head = match self.head(folder, place.within.as_deref()) {
            Ok(head) => head,
            Err(what) => return problem(what),
        };
        let named = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = head.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = if name.is_empty() { named.clone() } else { name };
        if let Some(what) = bad_name(&name) {
            return problem(what);
        }
        let description = one_line(head.get("description").and_then(Value::as_str).unwrap_or(""));
        if description.is_empty() {
            return problem("it has no description; say in one what it is for".to_owned());
        }
        if off.contains(&name) {
            return;
        }
        if name != named {
            problem(format!("its name is \"{name}\", and its folder is called \"{named}\""));
        }
        if let Some(first) = found.skills.iter().find(|skill| skill.name == name) {
            let first = first.folder.display().to_string();
            return problem(format!("the skill of that name in {first} is used instead"));
        }
        if found.skills.len() == MAX_SKILLS {
            return problem(format!("only {MAX_SKILLS} skills are used"));
        }
        let is_hidden =
            head.get("disable-model-invocation").and_then(Value::as_str) == Some("true");
        found.skills.push(Skill {
            name,
            description,
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
            is_of_project: place.within.is_some(),
            is_hidden,
        });
    }

    /// The head of the skill in a folder.
    fn head(&self, folder: &Path, within: Option<&Path>) -> Result<Map, String> {
        let gone = |error: std::io::Error| format!("it cannot be read: {error}");
        let real = folder.canonicalize().map_err(gone)?;
        let path = real.join("SKILL.md").canonicalize().map_err(gone)?;
        if !path.starts_with(&real) || within.is_some_and(|top| !real.starts_with(top)) {
            return Err("a link leads out of its folder; skills of a project lie in it".to_owned());
        }
        let known = path.metadata().map_err(gone)?;
        if !known.is_file() {
            return Err("it is not a file".to_owned());
        }
        let (modified, size) = (known.modified().ok(), known.len());
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.get(&path).filter(|it| it.modified == modified && it.size == size)
        {
            return held.read.clone();
        }
        let read =
            text_of(&path).and_then(|text| front_matter::read(&text).map(|document| document.head));
        if held.len() >= 2 * MAX_SKILLS {
            held.clear();
        }
        held.insert(path, Held { modified, size, read: read.clone() });
        read
    }
}

/// The text of a `SKILL.md`.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    let gone = |error: std::io::Error| format!("it cannot be read: {error}");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(gone)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(gone)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("it is longer than {} KiB", MAX_FILE / 1024));
    }
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}

/// The folders with a `SKILL.md` in or below one, in the order of their names.
fn below(folder: &Path, depth: usize, room: &mut usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut inner: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !is_passed_over(path) && path.is_dir())
        .take(*room)
        .collect();
    inner.sort();
    for folder in inner {
        if *room == 0 {
            return;
        }
        *room -= 1;
        if folder.join("SKILL.md").symlink_metadata().is_ok() {
            found.push(folder);
        } else if depth > 1 {
            below(&folder, depth - 1, room, found);
        }
    }
}

/// Whether a folder holds nothing that people wrote for others to read.
pub(super) fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == ".git" || name == "node_modules" || name == "__pycache__"
}

/// What is wrong with a name. It becomes part of what the model reads, so it is a plain word.
fn bad_name(name: &str) -> Option<String> {
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let short = name.chars().count() <= MAX_NAME;
    (!fits || !short).then(|| {
        let shown: String = name.chars().take(MAX_NAME).collect();
        format!("its name {shown:?} is not made of at most {MAX_NAME} letters, digits and hyphens")
    })
}

/// A description on one line, and not too long.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
