//! A recording: everything that crossed the border between the host and its packages in one turn,
//! one JSON object a line, the first of which says what it is.

use super::masking::Masking;
use crate::Runtime;
use crate::tap::{Crossed, Tap, Way};
use orlop_core::types::protocol::Description;
use orlop_core::{Error, Map, Result, Value};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The version of the form.
const VERSION: u64 = 1;

/// A turn as the plugins in it saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub(super) head: Head,
    pub(super) lines: Vec<Line>,
}

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    recording: u64,
    /// What was asked.
    prompt: String,
    pub(super) packages: Vec<RecordedPackage>,
}

/// A package as it was when its calls were recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedPackage {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) config: Map,
    pub(super) description: Description,
}

/// One line that crossed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) package: String,
    /// Which process of the package, from 1.
    pub(super) process: u64,
    pub(super) to: Way,
    pub(super) line: Value,
}

/// Keeps what crosses while a turn runs.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Line>>>);

impl Recorder {
    /// Nothing kept yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to hand to a runtime.
    pub fn tap(&self) -> Tap {
        let kept = self.0.clone();
        Arc::new(move |crossed: Crossed<'_>| {
            if matches!(crossed.way, Way::Log | Way::End) {
                return;
            }
            // What is no JSON ended the process, and is told as that.
            let Ok(line) = serde_json::from_slice(crossed.line) else { return };
            let (package, process) = (crossed.package.to_owned(), crossed.process);
            let line = Line { package, process, to: crossed.way, line };
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        })
    }

    /// What was kept, without secrets.
    pub fn finish(&self, prompt: &str, runtime: &Runtime) -> Recording {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let described = runtime.packages.iter().map(|loaded| RecordedPackage {
            name: loaded.process.package().name.clone(),
            version: loaded.process.package().version.clone(),
            config: loaded.process.settings().clone(),
            description: loaded.description.clone(),
        });
        let called = |name: &str| lines.iter().any(|line| line.package == name);
        let mut packages: Vec<_> = described.filter(|package| called(&package.name)).collect();
        let mut masking = Masking::default();
        for package in &packages {
            masking.learn(&Value::Object(package.config.clone()));
        }
        lines.iter().for_each(|line| masking.learn(&line.line));
        for package in &mut packages {
            let mut config = Value::Object(std::mem::take(&mut package.config));
            masking.mask(&mut config);
            if let Value::Object(config) = config {
                package.config = config;
            }
        }
        lines.iter_mut().for_each(|line| masking.mask(&mut line.line));
        number_processes(&mut lines);
        let mut prompt = Value::from(prompt);
        masking.mask(&mut prompt);
        let prompt = prompt.as_str().unwrap_or_default().to_owned();
        Recording { head: Head { recording: VERSION, prompt, packages }, lines }
    }
}

/// Counts the processes of each package from 1.
fn number_processes(lines: &mut [Line]) {
    let mut numbers: HashMap<String, Vec<u64>> = HashMap::new();
    for line in lines {
        let known = numbers.entry(line.package.clone()).or_default();
        let place = known.iter().position(|process| *process == line.process);
        let place = place.unwrap_or_else(|| {
            known.push(line.process);
            known.len() - 1
        });
        line.process = place as u64 + 1;
    }
}

impl Recording {
    /// How many hook calls it has, and of which packages.
    pub fn summary(&self) -> (usize, Vec<String>) {
        let hooks = self.lines.iter().filter(|line| {
            line.to == Way::Plugin && line.line.get("method").is_some_and(|it| it == "hook")
        });
        let names = self.head.packages.iter().map(|package| package.name.clone());
        (hooks.count(), names.collect())
    }

    /// Reads a recording.
    pub fn read(file: &Path) -> Result<Self> {
        let wrong = |what: String| {
            Error::bad_argument(format!(
                "{} is no recording of a turn: {what}; `orlop plugin record` makes one",
                file.display()
            ))
        };
        let text = std::fs::read_to_string(file).map_err(|error| {
            Error::not_found(format!("{} cannot be read: {error}", file.display()))
        })?;
        let mut lines = text.lines().enumerate();
        let (_, head) = lines.next().ok_or_else(|| wrong("it is empty".to_owned()))?;
        let head: Head =
            serde_json::from_str(head).map_err(|error| wrong(format!("line 1: {error}")))?;
        if head.recording != VERSION {
            return Err(wrong(format!(
                "it has form {}, this Orlop reads form {VERSION}",
                head.recording
            )));
        }
        let lines = lines.map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| wrong(format!("line {}: {error}", number + 1)))
        });
        Ok(Self { head, lines: lines.collect::<Result<_>>()? })
    }

    /// Writes it to a file, whole or not at all.
    pub fn write(&self, file: &Path) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::unavailable(format!("{} cannot be written: {error}", file.display()))
        };
        let mut text = serde_json::to_string(&self.head).map_err(|error| failed(&error))?;
        text.push('\n');
        for line in &self.lines {
            text.push_str(&serde_json::to_string(line).map_err(|error| failed(&error))?);
            text.push('\n');
        }
        let beside = file.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, file))
            .map_err(|error| failed(&error))
    }

    /// The package that is to be played again: the one of this name, or the only one.
    pub(super) fn package(&self, name: Option<&str>) -> Result<&RecordedPackage> {
        let packages = &self.head.packages;
        let named = packages.iter().find(|package| Some(&*package.name) == name);
        match (named, packages.as_slice()) {
            (Some(package), _) | (None, [package]) => Ok(package),
            (None, []) => Err(Error::not_found("no plugin was called in this recording")),
            (None, _) => {
                let names: Vec<&str> = packages.iter().map(|package| &*package.name).collect();
                Err(Error::not_found(format!(
                    "the recording has several packages ({}); name the folder of one of them",
                    names.join(", ")
                )))
            }
        }
    }

    /// The name of the only package, or of the one that fits.
    pub fn package_name(&self, name: Option<&str>) -> Result<String> {
        self.package(name).map(|package| package.name.clone())
    }
}
