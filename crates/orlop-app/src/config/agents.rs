//! Agents: which there are, what they extend, and their settings made flat.

use super::app_config::AppConfig;
use super::known;
use super::placeholder;
use super::problem::{Problem, ProblemKind};
use super::resolve::Resolver;
use super::secrets;
use super::tree::{Content, Node, Table, below, lay_over, set_by_flag, shortened, table_to_json};
use orlop_core::types::nearest::hint;
use orlop_core::{Config, Error, Map, Result, Value};
use std::collections::BTreeSet;

/// The longest chain of agents that extend each other.
const MAX_LINEAGE: usize = 32;

impl AppConfig {
    /// The names of the agents, in the order of the file.
    pub fn agents(&self) -> Vec<&str> {
        self.agent_table()
            .map(|table| table.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// The agent used where none is named: `default_agent`, else the one called `default`, else
    /// the first.
    pub fn default_agent(&self) -> Result<String> {
        if let Some(node) = self.tree.get("default_agent") {
            let name = self.resolved(node, "default_agent")?;
            let name = name.as_str().unwrap_or_default().to_owned();
            self.agent(&name)?;
            return Ok(name);
        }
        let agents = self.agents();
        let name = agents.iter().find(|name| **name == "default").or(agents.first());
        name.map(|name| (*name).to_owned()).ok_or_else(|| {
            Error::bad_state(
                "the configuration has no agents; add [agents.default], or run `orlop config init`",
            )
        })
    }

    /// The settings of one agent: shared ones, under those of the agents it extends, under its
    /// own. Placeholders are replaced; a variable that is not set is an error.
    pub fn build_agent_config(&self, agent: &str) -> Result<Config> {
        self.agent(agent)?;
        if let Some(reason) = self.unusable.as_ref() {
            return Err(Error::bad_state(reason.clone()));
        }
        let flat = self.flattened(agent)?;
        let mut resolver = Resolver::new(&self.env);
        let values = resolver.table(&flat, &below("agents", agent));
        super::ConfigError::unless_empty(resolver.problems)?;
        Ok(Config::new(values))
    }

    /// The logins whose tokens settings of the agent hold. These may change at any time.
    pub(crate) fn credentials_of(&self, agent: &str) -> BTreeSet<String> {
        fn gather(node: &Node, names: &mut BTreeSet<String>) {
            match &node.content {
                Content::Table(table) => table.values().for_each(|node| gather(node, names)),
                Content::List(items) => items.iter().for_each(|node| gather(node, names)),
                Content::Scalar(value) => {
                    names.extend(value.as_str().into_iter().flat_map(placeholder::credentials));
                }
            }
        }
        let mut names = BTreeSet::new();
        if let Ok(flat) = self.flattened(agent) {
            flat.values().for_each(|node| gather(node, &mut names));
        }
        names
    }

    /// The settings of one agent with the table of all agents under `agents`. There, placeholders
    /// stay as they are written and secrets written out are masked.
    pub fn base_config(&self, agent: &str) -> Result<Config> {
        let mut values = self.build_agent_config(agent)?.values().clone();
        let mut agents = Value::Object(self.agent_table().map(table_to_json).unwrap_or_default());
        secrets::mask_written(&mut agents, false);
        values.insert("agents".to_owned(), agents);
        Ok(Config::new(values))
    }

    /// The whole configuration as it is written: layers merged, placeholders unresolved, secrets
    /// that are written out included.
    pub fn raw(&self) -> Map {
        table_to_json(&self.tree)
    }

    /// The settings of an agent, unresolved.
    pub(super) fn flattened(&self, agent: &str) -> Result<Table, Problem> {
        let mut layers = vec![self.plugin_settings(), self.shared()];
        for name in self.lineage(agent)?.iter().rev() {
            layers.extend(self.agent_table().and_then(|agents| agents.get(name)?.table().cloned()));
        }
        // A flag is the last word, also where it names a setting of all agents.
        let flagged: Vec<Table> = layers.iter().map(set_by_flag).collect();
        let mut flat = Table::new();
        for layer in layers.into_iter().chain(flagged) {
            lay_over(&mut flat, layer);
        }
        flat.shift_remove("extends");
        Ok(flat)
    }

    /// The agent, the one it extends, and so on.
    pub(super) fn lineage(&self, agent: &str) -> Result<Vec<String>, Problem> {
        self.agent(agent)?;
        let mut lineage = vec![agent.to_owned()];
        let mut child = agent.to_owned();
        while let Some(parent) = self.parent(&child) {
            if let Some(start) = lineage.iter().position(|name| *name == parent) {
                return Err(self.circle(&lineage[start..]));
            }
            if let Err(missing) = self.agent(&parent) {
                let message = format!("the agent \"{}\" does not exist", shortened(&parent));
                return Err(self.extends_problem(&child, message).remedy(missing.remedy));
            }
            if lineage.len() == MAX_LINEAGE {
                let message = format!("is the end of a chain of more than {MAX_LINEAGE} agents");
                return Err(self.extends_problem(agent, message).remedy("extend fewer agents"));
            }
            lineage.push(parent.clone());
            child = parent;
        }
        Ok(lineage)
    }

    fn parent(&self, agent: &str) -> Option<String> {
        let extends = self.agent(agent).ok()?.table()?.get("extends")?;
        self.resolved(extends, "").ok()?.as_str().map(str::to_owned)
    }

    /// A circle is the same problem from wherever it is entered.
    fn circle(&self, members: &[String]) -> Problem {
        let mut circle = members.to_vec();
        let first = (0..circle.len()).min_by_key(|index| &members[*index]).unwrap_or(0);
        circle.rotate_left(first);
        circle.push(members[first].clone());
        let message = format!("agents extend each other in a circle: {}", circle.join(" -> "));
        self.extends_problem(&members[first], message).remedy("remove one \"extends\" of it")
    }

    fn extends_problem(&self, agent: &str, message: String) -> Problem {
        let extends = self.agent(agent).ok().and_then(|node| node.table()?.get("extends"));
        let origin = extends.map_or_else(|| self.whole(), |node| node.origin.clone());
        let path = below(&below("agents", agent), "extends");
        Problem::new(ProblemKind::Extends, origin, path, message)
    }

    pub(super) fn agent(&self, name: &str) -> Result<&Node, Problem> {
        let table = self.agent_table();
        table.and_then(|agents| agents.get(name)).ok_or_else(|| {
            let message = format!("there is no agent \"{}\"", shortened(name));
            Problem::new(ProblemKind::UnknownName, self.whole(), "agents", message)
                .remedy(hint(name, self.agents()))
        })
    }

    pub(super) fn agent_table(&self) -> Option<&Table> {
        self.tree.get("agents").and_then(Node::table)
    }

    /// Settings at the top of the file that are nobody's section.
    pub(super) fn shared(&self) -> Table {
        let shared = self.tree.iter().filter(|(key, _)| !known::SECTIONS.contains_key(*key));
        shared.map(|(key, node)| (key.clone(), node.clone())).collect()
    }

    /// What `[plugins.NAME]` says beyond where the plugin is, as the section `NAME`.
    fn plugin_settings(&self) -> Table {
        let plugins = self.tree.get("plugins").and_then(Node::table);
        let sections = plugins.into_iter().flatten().filter_map(|(name, node)| {
            let own = node.table()?.iter().filter(|(key, _)| !known::is_plugin_key(key));
            let own: Table = own.map(|(key, node)| (key.clone(), node.clone())).collect();
            let section = Node { content: Content::Table(own), ..node.clone() };
            section.table().is_some_and(|own| !own.is_empty()).then(|| (name.clone(), section))
        });
        sections.collect()
    }
}
