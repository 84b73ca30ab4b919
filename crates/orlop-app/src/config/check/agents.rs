//! Agents: names, what they extend, their provider and tools, and what their plugins require.

use super::super::tree::item;
use super::*;
use crate::check_id;
use orlop_core::OutputSchema;

impl Check<'_> {
    pub(super) fn agents(&mut self) {
        let config = self.config;
        for (key, node) in config.agent_table().into_iter().flatten() {
            let path = below("agents", key);
            if let Err(error) = check_id("agent", key) {
                let problem = Problem::new(
                    ProblemKind::BadValue,
                    node.key_origin.clone(),
                    &path,
                    "is no name for an agent",
                );
                let rule = error.message().split_once("; ").map_or("", |(_, rule)| rule);
                self.problems.push(problem.remedy(rule));
            }
            if node.table().is_some() {
                self.agent(key, node, &path);
            }
        }
        if let Some(node) = config.tree.get("default_agent") {
            let agents: Vec<String> =
                config.agents().iter().map(|name| (*name).to_owned()).collect();
            let known = (!agents.is_empty()).then_some(agents.as_slice());
            self.name(node, "default_agent", "agent", known, &[]);
        }
        let shared = config.shared();
        self.own_settings(&shared, "");
        for table in config.agent_table().into_iter().flatten() {
            if let Some(own) = table.1.table() {
                self.own_settings(own, &below("agents", table.0));
            }
        }
    }

    /// Names and schemas, where they are written.
    fn own_settings(&mut self, table: &Table, path: &str) {
        self.provider_and_tools(table, path);
        let fallbacks = table.get("fallback").and_then(Node::list).unwrap_or_default();
        for (index, node) in fallbacks.iter().enumerate() {
            let path = item(&below(path, "fallback"), index);
            match node.table() {
                Some(settings) => self.provider_and_tools(settings, &path),
                None if node.text() == Some("") => self.report(
                    ProblemKind::BadValue,
                    node,
                    &path,
                    "names no model",
                    "name one, or remove it",
                ),
                None => {}
            }
        }
        if let Some(node) = table.get("output_schema").filter(|node| node.table().is_some()) {
            self.output_schema(node, &below(path, "output_schema"));
        }
    }

    fn output_schema(&mut self, node: &Node, path: &str) {
        // Variables that are not set are reported with all others.
        let Ok(schema) = self.config.resolved(node, path) else { return };
        if let Err(bad) = OutputSchema::new(&schema) {
            let steps = bad.place.split('/').skip(1);
            let steps: Vec<String> =
                steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
            let (node, path) = within(node, path, &steps);
            let message = format!("is no JSON Schema that can be used: {}", bad.message);
            self.report(ProblemKind::BadValue, node, &path, message, "correct the schema");
        }
    }

    fn provider_and_tools(&mut self, table: &Table, path: &str) {
        let config = self.config;
        let schema = self.schema;
        let plugins = config.plugin_names();
        if let Some(node) = table.get("provider") {
            self.name(
                node,
                &below(path, "provider"),
                "provider",
                schema.provider_names(),
                &plugins,
            );
        }
        let path = below(path, "tools");
        let others = [plugins, config.mcp_server_names()].concat();
        let tools = table.get("tools").and_then(Node::list).unwrap_or_default();
        for (index, node) in tools.iter().enumerate() {
            self.name(node, &item(&path, index), "tool plugin", schema.tool_names(), &others);
        }
    }

    fn agent(&mut self, name: &str, node: &Node, path: &str) {
        let flat = match self.config.flattened(name) {
            Ok(flat) => flat,
            Err(problem) => {
                // Every agent that leads to it finds the same problem.
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                return;
            }
        };
        if self.config.unusable.is_some() {
            return;
        }
        let schema = self.schema;
        let provider = match flat.get("provider") {
            Some(node) => self.text(node, path),
            None => match schema.provider_names() {
                Some([only]) => Some(only.clone()),
                Some(_) => return self.no_provider(node, &below(path, "provider")),
                None => None,
            },
        };
        self.required_by_fallbacks(&flat, provider.as_deref(), path);
        for required in schema.required() {
            let is_used = match schema.is_provider(&required.plugin) {
                true => provider.as_deref() == Some(&required.plugin),
                false => in_use(&flat, &required.plugin, required.steps.len() > 1),
            };
            if is_used && lookup(&flat, &required.steps).is_none() {
                let key =
                    required.steps.iter().fold(path.to_owned(), |path, step| below(&path, step));
                let message =
                    format!("the plugin \"{}\" requires {}", required.plugin, required.key);
                self.missing(node, &key, &message);
            }
        }
    }

    /// A fallback of another provider needs what that provider requires.
    fn required_by_fallbacks(&mut self, flat: &Table, own: Option<&str>, path: &str) {
        let entries = flat.get("fallback").and_then(Node::list).unwrap_or_default();
        for (index, node) in entries.iter().enumerate() {
            let path = item(&below(path, "fallback"), index);
            let Some(settings) = node.table() else { continue };
            let Some(provider) = settings.get("provider").and_then(|node| self.text(node, &path))
            else {
                continue;
            };
            let schema = self.schema;
            let required = schema
                .required()
                .iter()
                .filter(|required| required.plugin == provider && own != Some(provider.as_str()));
            for required in required {
                if lookup(settings, &required.steps).is_none() {
                    let key =
                        required.steps.iter().fold(path.clone(), |path, step| below(&path, step));
                    let message = format!("the plugin \"{provider}\" requires {}", required.key);
                    self.missing(node, &key, &message);
                }
            }
        }
    }

    fn no_provider(&mut self, node: &Node, path: &str) {
        const MESSAGE: &str = "an agent needs a provider";
        let untrusted = self.config.untrusted();
        let is_ignored = |key: &str| key == path || key == "provider";
        match untrusted.filter(|trust| trust.settings.iter().any(|it| is_ignored(&it.key))) {
            Some(trust) => {
                let message = format!("{MESSAGE}, and that of {} is not trusted", trust.file);
                let origin = node.key_origin.clone();
                let problem = Problem::new(ProblemKind::Missing, origin, path, &message);
                self.problems
                    .push(problem.remedy("trust it with `orlop trust`, or once with --trust"));
            }
            None => self.missing(node, path, MESSAGE),
        }
    }

    fn missing(&mut self, node: &Node, path: &str, message: &str) {
        let problem = Problem::new(ProblemKind::Missing, node.key_origin.clone(), path, message);
        self.problems.push(problem.remedy("add it"));
    }
}

/// The deepest node on the way that these steps name, and its path.
fn within<'a>(node: &'a Node, path: &str, steps: &[String]) -> (&'a Node, String) {
    let inner = match steps {
        [] => None,
        [step, rest @ ..] => match (node.table(), node.list()) {
            (Some(table), _) => table.get(step).map(|node| (node, below(path, step), rest)),
            (_, Some(items)) => step
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index).map(|node| (node, item(path, index), rest))),
            _ => None,
        },
    };
    match inner {
        Some((node, path, rest)) => within(node, &path, rest),
        None => (node, path.to_owned()),
    }
}

/// Whether a plugin that is no provider takes part: one with a section does where there is one.
fn in_use(flat: &Table, plugin: &str, has_section: bool) -> bool {
    match flat.get(plugin) {
        Some(section) => is_enabled(section),
        None => !has_section,
    }
}

fn lookup<'a>(table: &'a Table, steps: &[String]) -> Option<&'a Node> {
    let (first, rest) = steps.split_first()?;
    let node = table.get(first)?;
    if rest.is_empty() { Some(node) } else { lookup(node.table()?, rest) }
}
