//! Everything that is wrong with a configuration, found at once.

mod agents;
mod sections;
#[cfg(test)]
mod tests;

use super::app_config::AppConfig;
use super::origin::Origin;
use super::problem::{ConfigError, Problem, ProblemKind};
use super::resolve::Resolver;
use super::schema::Schema;
use super::sections::is_enabled;
use super::tree::{Content, Node, Table, below};
use super::validate::{shown, validate};
use orlop_core::types::nearest::hint;

impl AppConfig {
    /// Every problem, in the order of the files. Where a file could not be read, only that is
    /// said.
    pub fn check(&self, schema: &Schema) -> Vec<Problem> {
        if !self.read_problems.is_empty() {
            return self.read_problems.clone();
        }
        let root = schema.with_sections(&self.plugin_names());
        let mut check =
            Check { config: self, schema, problems: validate(&self.tree, &root, &self.env) };
        check.variables();
        check.agents();
        check.sections();
        let mut problems = check.problems;
        problems.sort_by_key(|problem| self.place_of(&problem.origin));
        problems.dedup();
        problems
    }

    /// Fails with every problem that stops the application from starting. A variable that is not
    /// set does not: it is an error where it is used.
    pub fn verify(&self, schema: &Schema) -> Result<(), ConfigError> {
        let mut problems = self.check(schema);
        problems.retain(|problem| problem.kind != ProblemKind::UndefinedVariable);
        ConfigError::unless_empty(problems)
    }

    fn place_of(&self, origin: &Origin) -> (usize, Option<super::Position>) {
        let files = self.files.iter();
        let file = files.clone().position(|file| origin.file() == Some(file));
        (file.unwrap_or(files.len()), origin.position())
    }
}

/// The names of `[plugins]` and `[mcp_servers]` can stand wherever a plugin can.
struct Check<'a> {
    config: &'a AppConfig,
    schema: &'a Schema,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn report(
        &mut self,
        kind: ProblemKind,
        node: &Node,
        path: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let problem = Problem::new(kind, node.origin.clone(), path, message);
        self.problems.push(problem.remedy(remedy));
    }

    /// Reports a name that is not known; nothing where any name will do.
    fn name(
        &mut self,
        node: &Node,
        path: &str,
        what: &str,
        known: Option<&[String]>,
        others: &[&str],
    ) {
        let Some(known) = known else { return };
        let Some(name) = self.text(node, path) else { return };
        let known = known.iter().map(String::as_str).chain(others.iter().copied());
        if known.clone().any(|known| known == name) {
            return;
        }
        let written = shown(&node.to_json(), "");
        let message = format!("there is no {what} {written}");
        let remedy = hint(&name, known.collect::<Vec<_>>());
        self.report(ProblemKind::UnknownName, node, path, message, remedy);
    }

    /// A text with its placeholders replaced; none where that cannot be, which is said elsewhere.
    fn text(&self, node: &Node, path: &str) -> Option<String> {
        self.config.resolved(node, path).ok()?.as_str().map(str::to_owned)
    }

    fn section(&self, name: &str) -> Option<&'a Table> {
        self.config.tree.get(name).and_then(Node::table)
    }

    /// Variables that are not set, of everything that is in use.
    fn variables(&mut self) {
        let mut resolver = Resolver::new(&self.config.env);
        for (key, node) in &self.config.tree {
            match (&node.content, key.as_str()) {
                (Content::Table(table), "plugins" | "mcp_servers") => {
                    for (name, node) in table.iter().filter(|(_, node)| is_enabled(node)) {
                        resolver.value(node, &below(key, name));
                    }
                }
                _ => {
                    resolver.value(node, &below("", key));
                }
            }
        }
        self.problems.extend(resolver.problems);
    }
}
