//! What is wrong with a configuration: a place, a key, what happened and what to do.

use super::origin::Origin;
use orlop_core::Error;
use serde::Serialize;
use serde::ser::SerializeMap;
use std::fmt;

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The file cannot be read.
    Unreadable,
    /// The text is not TOML, or not such as a configuration can hold.
    Syntax,
    /// A key nobody knows.
    UnknownKey,
    /// A value of another type than the key has.
    WrongType,
    /// The right type, but not an acceptable value.
    BadValue,
    /// A key that has to be there is not.
    Missing,
    /// The name of an agent, provider or plugin that does not exist.
    UnknownName,
    /// `extends` leads nowhere or in a circle.
    Extends,
    /// A placeholder names a variable that is not set, or a login that cannot be used now.
    UndefinedVariable,
}

/// One problem. Secrets never enter it.
///
/// ```
/// use orlop_app::config::{Origin, Problem, ProblemKind};
/// let problem = Problem::new(ProblemKind::UnknownKey, Origin::Flag, "modle", "unknown key")
///     .remedy("did you mean \"model\"?");
/// assert_eq!(problem.to_string(), "--set: modle: unknown key; did you mean \"model\"?");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// Where it is.
    pub origin: Origin,
    /// The path of the key, for instance `agents.default.model`; empty for a whole file.
    pub key: String,
    /// What happened.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// A problem without advice.
    pub fn new(
        kind: ProblemKind,
        origin: Origin,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (key, message) = (key.into(), message.into());
        Self { kind, origin, key, message, remedy: String::new() }
    }

    /// Says what to do.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl Serialize for Problem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("file", &self.origin.file().map(|file| file.path()))?;
        map.serialize_entry("line", &self.origin.position().map(|position| position.line))?;
        map.serialize_entry("column", &self.origin.position().map(|position| position.column))?;
        map.serialize_entry("key", &self.key)?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("remedy", &self.remedy)?;
        map.end()
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let message = problem.to_string();
        match problem.kind {
            ProblemKind::WrongType => Self::wrong_type(message),
            ProblemKind::UnknownName => Self::not_found(message),
            _ => Self::bad_argument(message),
        }
    }
}

/// All problems of a configuration, at least one. Shows one a line.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// `Ok` where there are no problems.
    pub fn unless_empty(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// The problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        match <[Problem; 1]>::try_from(error.problems) {
            Ok([problem]) => problem.into(),
            Err(problems) => {
                let count = problems.len();
                let all = ConfigError { problems };
                Self::bad_argument(format!("the configuration has {count} problems:\n{all}"))
            }
        }
    }
}
