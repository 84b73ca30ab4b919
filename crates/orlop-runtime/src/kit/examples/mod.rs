//! The examples of a package: calls with what is expected of them, in `examples.toml` or in the
//! files of `examples/`.

mod displays;
mod run;

pub(super) use run::Ran;

use super::bench::{Bench, Subject};
use super::compare;
use super::report::{Finding, Report, Verdict, short};
use crate::package::{MANIFEST, Package, Run};
use displays::Displays;
use orlop_core::{Error, Map, Result, Value};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// All examples of a package.
pub(super) struct Examples {
    /// The section of the package in the configuration, while it is tested.
    pub(super) config: Map,
    examples: Vec<Example>,
    displays: PathBuf,
    /// Where examples are looked for, to say it.
    place: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    config: Map,
    #[serde(default, rename = "example")]
    examples: Vec<Example>,
}

/// One example: exactly one of `tool`, `action`, `chat` and `hook` says what is called.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Example {
    /// What it shows.
    pub(super) name: String,
    /// The plugin, where several could be meant.
    pub(super) plugin: Option<String>,
    /// The tool to call.
    pub(super) tool: Option<String>,
    /// The action to run.
    pub(super) action: Option<String>,
    /// What a user writes, for a host plugin to see.
    pub(super) chat: Option<String>,
    /// The hook to call.
    pub(super) hook: Option<String>,
    /// The arguments of the tool, the inputs of the action, or the fields of the hook's input.
    pub(super) input: Map,
    /// The conversation of the session that an action runs on.
    pub(super) messages: Option<Vec<Value>>,
    /// The metadata of that session.
    pub(super) metadata: Map,
    /// Further keys of the context.
    pub(super) context: Map,
    /// Answers of the host: method to answer.
    pub(super) answers: Map,
    /// The outcome, all of it.
    pub(super) expect: Option<Value>,
    /// A part of the outcome.
    pub(super) contains: Option<Value>,
    /// The text: what the model reads of a tool, the message of an action, the answer to a chat.
    pub(super) says: Option<String>,
    /// Nothing changes, or nothing is answered.
    pub(super) unchanged: bool,
    /// It fails, and the reason has these words.
    pub(super) fails: Option<String>,
}

impl Example {
    /// What is called, if that is one thing.
    fn called(&self) -> Option<String> {
        let calls = [&self.tool, &self.action, &self.chat, &self.hook];
        let mut calls = calls.into_iter().flatten();
        calls.next().filter(|_| calls.next().is_none()).cloned()
    }
}

impl Examples {
    /// Reads the examples of a package; none if it has none.
    pub(super) fn read(package: &Package) -> Result<Self> {
        let (files, displays, place) = places(package);
        let mut all = Self { config: Map::new(), examples: Vec::new(), displays, place };
        for file in files {
            let wrong = |what: String| {
                Error::bad_argument(format!("{}: {}", file.display(), what.trim_end()))
            };
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
            let read: File = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            all.config.extend(read.config);
            for mut example in read.examples {
                let Some(called) = example.called() else {
                    return Err(wrong(format!(
                        "example \"{}\" must have exactly one of tool, action, chat and hook",
                        example.name
                    )));
                };
                if example.name.is_empty() {
                    example.name = called;
                }
                if all.examples.iter().any(|held| held.name == example.name) {
                    return Err(wrong(format!(
                        "there are two examples \"{}\"; give them different names",
                        example.name
                    )));
                }
                all.examples.push(example);
            }
        }
        Ok(all)
    }

    /// Runs all examples.
    pub(super) fn run(
        &self,
        bench: &mut Bench,
        subjects: &[Subject],
        update: bool,
        report: &mut Report,
    ) -> Result<Vec<Ran>> {
        if self.examples.is_empty() {
            let why = format!("there are none; write some into {}", self.place);
            report.add("package", "examples", Verdict::skipped(why));
            return Ok(Vec::new());
        }
        let mut written = Displays::read(&self.displays)?;
        let mut all = Vec::new();
        for example in &self.examples {
            let name = format!("example \"{}\"", example.name);
            let ran = match Ran::of(example, bench, subjects) {
                Ok(ran) => ran,
                Err(finding) => {
                    report.add("package", name, finding.into());
                    continue;
                }
            };
            let label = ran.label.clone();
            report.add(&label, &name, verdict(example, &ran));
            written.compare(example, &ran, update, report);
            all.push(ran);
        }
        if update {
            written.write(&self.displays)?;
        }
        Ok(all)
    }
}

/// Where examples are, where what people see is written down, and how to name the place.
fn places(package: &Package) -> (Vec<PathBuf>, PathBuf, String) {
    let folder = &package.folder;
    let single = match &package.run {
        Run::Python(file) | Run::Node(file)
            if !folder.join(MANIFEST).is_file()
                && file.file_stem().is_none_or(|stem| stem != "plugin") =>
        {
            file.file_stem().and_then(|stem| stem.to_str())
        }
        _ => None,
    };
    if let Some(stem) = single {
        let file = folder.join(format!("{stem}.examples.toml"));
        let place = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let displays = folder.join(format!("{stem}.displays.toml"));
        return (if file.is_file() { vec![file] } else { Vec::new() }, displays, place);
    }
    let mut files = vec![folder.join("examples.toml")];
    files.retain(|file| file.is_file());
    let more = std::fs::read_dir(folder.join("examples")).into_iter().flatten().flatten();
    let mut more: Vec<PathBuf> =
        more.map(|entry| entry.path()).filter(|path| is_toml(path)).collect();
    more.sort();
    files.extend(more);
    (files, folder.join("displays.toml"), "examples.toml".to_owned())
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "toml")
}

/// Compares what came with what is expected.
fn verdict(example: &Example, ran: &Ran) -> Verdict {
    let fix = "correct the plugin, or the example if this is what it should do";
    if let Some(words) = &example.fails {
        return match &ran.failure {
            Some(failure) if failure.contains(words) => Verdict::Ok,
            Some(failure) => {
                Finding::new(failure, format!("a failure with the words \"{words}\""), fix).into()
            }
            None => Finding::new(
                format!("it went well: {}", short(&ran.effect)),
                format!("a failure with the words \"{words}\""),
                fix,
            )
            .into(),
        };
    }
    if let Some(failure) = &ran.failure {
        let fix =
            "correct the plugin; if it is meant to fail, say so in the example: fails = \"...\"";
        return Finding::new(failure, "that it goes well", fix).into();
    }
    if example.unchanged && ran.is_change {
        return Finding::new(short(&ran.effect), "that nothing changes", fix).into();
    }
    if let Some(text) = &example.says
        && ran.says.as_ref() != Some(text)
    {
        let seen = ran.says.as_deref().unwrap_or("no text");
        return Finding::new(seen, text, fix).into();
    }
    if let Some(expected) = &example.expect
        && let Some((place, expected, seen)) = compare::difference(expected, &ran.effect)
    {
        let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let (seen, expected) = (short(seen), short(expected));
        return Finding::new(format!("{at}{seen}"), format!("{at}{expected}"), fix).into();
    }
    if let Some(part) = &example.contains
        && let Some(place) = compare::missing(part, &ran.effect)
    {
        let place = if place.is_empty() { String::new() } else { format!(" (look at {place})") };
        return Finding::new(format!("{}{place}", short(&ran.effect)), short(part), fix).into();
    }
    Verdict::Ok
}
