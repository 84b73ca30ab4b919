//! Turns a tree into values: placeholders are replaced, and what cannot be is a problem.

use super::env::RuntimeEnv;
use super::origin::Origin;
use super::placeholder::{self, Failure};
use super::problem::{Problem, ProblemKind};
use super::tree::{Content, Node, Table, below, item};
use orlop_core::{Map, Value};

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
        match placeholder::resolve(text, &|name| variable(self.env, origin, name)) {
            Ok(text) => Some(text),
            Err(failure) => {
                self.problems.push(problem_of(failure, origin, path));
                None
            }
        }
    }
}

/// The value of a variable for a text that stands at `origin`: `CONFIG_DIR` is the folder of the
/// very file the text is in.
pub(super) fn variable<'a>(env: &'a RuntimeEnv, origin: &'a Origin, name: &str) -> Option<&'a str> {
    let folder = origin.file().and_then(|file| file.folder().to_str());
    match (name, folder) {
        ("CONFIG_DIR", Some(folder)) => Some(folder),
        _ => env.get(name),
    }
}

fn problem_of(failure: Failure, origin: &Origin, path: &str) -> Problem {
    match failure {
        Failure::Undefined(name) => {
            let message = format!("the environment variable {name} is not set");
            Problem::new(ProblemKind::UndefinedVariable, origin.clone(), path, message)
                .remedy(format!("set {name}, or give a default as in ${{env:{name}:-default}}"))
        }
        Failure::Malformed(message) => {
            Problem::new(ProblemKind::BadValue, origin.clone(), path, message).remedy(
                "write ${env:NAME} or ${env:NAME:-default}, and $${env:NAME} for the text itself",
            )
        }
    }
}
