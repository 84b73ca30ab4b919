//! Turns a tree into values: placeholders are replaced, and what cannot be is a problem.

use super::env::RuntimeEnv;
use super::origin::Origin;
use super::placeholder::{self, Failure, Name};
use super::problem::{Problem, ProblemKind};
use super::tree::{Content, Node, Table, below, item, shortened};
use orlop_core::{Map, Value};
use std::borrow::Cow;

/// Resolves values and gathers what is wrong with them.
pub(super) struct Resolver<'a> {
    env: &'a RuntimeEnv,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(env: &'a RuntimeEnv) -> Self {
        Self { env, problems: Vec::new() }
    }

    /// The table at `path` with its values resolved.
    pub(super) fn table(&mut self, table: &Table, path: &str) -> Map {
        let values =
            table.iter().map(|(key, node)| (key.clone(), self.value(node, &below(path, key))));
        values.collect()
    }

    /// The value at `path`; a text that cannot be resolved stays as it is written.
    pub(super) fn value(&mut self, node: &Node, path: &str) -> Value {
        match &node.content {
            Content::Table(table) => Value::Object(self.table(table, path)),
            Content::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, node)| self.value(node, &item(path, index))).collect()
            }
            Content::Scalar(Value::String(text)) => {
                Value::String(self.text(text, &node.origin, path).unwrap_or_else(|| text.clone()))
            }
            Content::Scalar(value) => value.clone(),
        }
    }

    fn text(&mut self, text: &str, origin: &Origin, path: &str) -> Option<String> {
        match placeholder::resolve(text, &|name| value_of(self.env, origin, name)) {
            Ok(text) => Some(text),
            Err(failure) => {
                self.problems.push(problem_of(failure, origin, path));
                None
            }
        }
    }
}

/// The value of a placeholder in a text that stands at `origin`: `CONFIG_DIR` is the folder of the
/// very file the text is in.
pub(super) fn value_of<'a>(
    env: &'a RuntimeEnv,
    origin: &'a Origin,
    name: Name<'_>,
) -> Result<Option<Cow<'a, str>>, String> {
    let folder = origin.file().and_then(|file| file.folder().to_str());
    match (name, folder) {
        (Name::Variable("CONFIG_DIR"), Some(folder)) => Ok(Some(folder.into())),
        (Name::Variable(name), _) => Ok(env.get(name).map(Cow::from)),
        (Name::Credential(name), _) => token(env, name).map(|token| token.map(Cow::from)),
    }
}

/// The token of a stored login, as it is right now.
fn token(env: &RuntimeEnv, name: &str) -> Result<Option<String>, String> {
    let Some(credentials) = env.credentials() else { return Ok(None) };
    match credentials.get(name).map_err(|error| error.to_string())? {
        // Where it can be renewed, that happens when a request begins.
        Some(login) if login.is_expired() && !login.can_be_renewed() => {
            Err(format!("the login \"{}\" has expired; log in again", shortened(name)))
        }
        login => Ok(login.map(|login| login.access_token)),
    }
}

fn problem_of(failure: Failure, origin: &Origin, path: &str) -> Problem {
    let undefined = |message: String| {
        Problem::new(ProblemKind::UndefinedVariable, origin.clone(), path, message)
    };
    match failure {
        Failure::Undefined(name) => {
            undefined(format!("the environment variable {name} is not set"))
                .remedy(format!("set {name}, or give a default as in ${{env:{name}:-default}}"))
        }
        Failure::NoCredential(name) => {
            undefined(format!("there is no login \"{}\"", shortened(&name)))
                .remedy("log in with the plugin that provides it")
        }
        Failure::Unusable(message) => undefined(message),
        Failure::Malformed(message) => {
            Problem::new(ProblemKind::BadValue, origin.clone(), path, message).remedy(
                "write ${env:NAME} or ${env:NAME:-default}, and $${env:NAME} for the text itself",
            )
        }
    }
}
