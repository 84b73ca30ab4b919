//! Which settings of a project hold without trust: those named here. Whatever else a file says,
//! settings of plugins that nobody here knows included, needs it.

use super::super::known;
use super::super::placeholder;
use super::super::secrets;
use super::super::tree::{Content, Node, Table, below};
use orlop_core::{Map, Value};

/// Say nothing about what may be done, or where anything goes.
const HARMLESS: &[&str] = &[
    "attachments.max_picture",
    "attachments.max_text",
    "compaction.agent_id",
    "compaction.at",
    "compaction.auto",
    "compaction.keep",
    "compaction.triggers",
    "context_window",
    "default_agent",
    "description",
    "extends",
    "frequency_penalty",
    "max_output_tokens",
    "max_tokens",
    "min_p",
    "model",
    "output_repairs",
    "output_schema",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning.show",
    "reasoning.tags",
    "reasoning_effort",
    "reasoning_summary",
    "repeat_penalty",
    "seed",
    "session_title.agent_id",
    "shell.max_output",
    "shell.timeout_s",
    "stop",
    "system_message",
    "temperature",
    "think",
    "thinking_budget",
    "top_k",
    "top_p",
    "verbosity",
];

/// Make less possible than without them, but perhaps more than the user's own value does.
const LIMITS: &[&str] = &[
    "delegate.agents",
    "max_steps",
    "permissions.ask",
    "sandbox.hide",
    "tools",
    "usage.max_cost_per_day",
    "usage.max_cost_per_session",
    "usage.max_cost_per_turn",
    "usage.max_tokens_per_day",
    "usage.max_tokens_per_session",
    "usage.max_tokens_per_turn",
];

/// Plugins that guard nothing: a project may do without them.
const DISPENSABLE: &[&str] = &[
    "ask_user",
    "attachment_hints",
    "attachments",
    "compaction",
    "delegate",
    "files",
    "memory",
    "mentions",
    "prompt_cache",
    "reasoning",
    "session_title",
    "shell",
    "skills",
    "system_message",
    "todo",
    "todo_reminder",
    "user_memory",
    "web_fetch",
];

/// Variables that tell a file where it is.
const PLACES: &[&str] = &["CONFIG_DIR", "WORKING_DIR", "BUILTIN_PLUGINS"];

/// A part of a project's file that needs trust.
pub(super) struct Part {
    /// The path of the key in the file.
    pub(super) path: String,
    /// The setting it is, wherever in the file it stands: `permissions.mode`, `mcp_servers`.
    pub(super) setting: String,
    /// The last step of the path.
    pub(super) key: String,
    pub(super) node: Node,
}

impl Part {
    /// Whether everything in it is taken for a secret.
    pub(super) fn is_secret(&self) -> bool {
        self.setting.split('.').any(secrets::is_secret_section)
    }
}

/// The first of these overrides that changes more than how a model answers, if there is one: what
/// may be done, or where anything goes. Whoever may only chat may not set it.
pub fn first_powerful(overrides: &Map) -> Option<String> {
    let is_harmless = |setting: &str| HARMLESS.contains(&setting);
    overrides.iter().find_map(|(key, value)| match value {
        _ if is_harmless(key) => None,
        Value::Object(section) if !key.contains('.') && !section.is_empty() => {
            let settings = section.keys().map(|inner| format!("{key}.{inner}"));
            settings.into_iter().find(|setting| !is_harmless(setting))
        }
        _ => Some(key.clone()),
    })
}

/// The first setting in which two configurations differ that says more than how a model answers, if
/// there is one. What a plugin may change of a request: fewer tools, and no plugins that guard
/// nothing, are no more than that; nor is anything in the sections of these names, which are its own.
pub fn first_powerful_change(before: &Map, after: &Map, own: &[String]) -> Option<String> {
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let mut changed = keys.filter(|key| before.get(*key) != after.get(*key));
    changed.find_map(|key| {
        if HARMLESS.contains(&key.as_str()) || own.contains(key) {
            return None;
        }
        let section = |held: Option<&Value>| match held {
            None => Some(Map::new()),
            Some(Value::Object(section)) => Some(section.clone()),
            Some(_) => None,
        };
        match (section(before.get(key)), section(after.get(key))) {
            _ if key == "tools" && is_part(after.get(key), before.get(key)) => None,
            (Some(before), Some(after)) => powerful_within(key, &before, &after),
            _ => Some(key.clone()),
        }
    })
}

fn powerful_within(section: &str, before: &Map, after: &Map) -> Option<String> {
    let is_off = |key: &str| {
        key == "enabled" && DISPENSABLE.contains(&section) && after.get(key) == Some(&false.into())
    };
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let mut changed = keys.filter(|key| before.get(*key) != after.get(*key) && !is_off(key));
    let named = changed.find(|key| !HARMLESS.contains(&&*format!("{section}.{key}")));
    named.map(|key| format!("{section}.{key}"))
}

/// Whether a list has nothing that is not in the other one; without that, everything is.
fn is_part(list: Option<&Value>, whole: Option<&Value>) -> bool {
    match (list.and_then(Value::as_array), whole) {
        (Some(_), None) => true,
        (Some(list), Some(Value::Array(whole))) => list.iter().all(|item| whole.contains(item)),
        _ => false,
    }
}

/// What holds in any case, and the parts that need trust. `users` is what the user's own files say.
pub(super) fn divide(layer: &Table, users: &Table) -> (Table, Vec<Part>) {
    let mut divider = Divider { users, parts: Vec::new() };
    let mut kept = Table::new();
    for (key, node) in layer {
        let path = below("", key);
        let left = match (key.as_str(), node.table()) {
            ("agents", Some(agents)) => divider.each(node, agents, &path, |it, _, agent, path| {
                let settings = agent.table()?;
                it.settings(agent, settings, path, "")
            }),
            ("plugins", Some(plugins)) => {
                divider.each(node, plugins, &path, |it, name, plugin, path| {
                    it.settings(plugin, plugin.table()?, path, name)
                })
            }
            ("mcp_servers", Some(servers)) => {
                divider.each(node, servers, &path, |_, _, server, _| {
                    let only_off = server.table()?.iter().all(|(key, value)| is_off(key, value));
                    only_off.then(|| server.clone())
                })
            }
            (section, Some(inner)) if known::SECTIONS.contains_key(section) => {
                divider.each(node, inner, &path, |_, _, _, _| None)
            }
            _ => divider.setting(node, &path, &path, key),
        };
        kept.extend(left.map(|node| (key.clone(), node)));
    }
    (kept, divider.parts)
}

struct Divider<'a> {
    users: &'a Table,
    parts: Vec<Part>,
}

impl Divider<'_> {
    /// Every entry of a table for itself: `keep` gives what holds of one, and what it gives nothing
    /// of without naming parts of it needs trust as a whole.
    fn each(
        &mut self,
        node: &Node,
        table: &Table,
        path: &str,
        mut keep: impl FnMut(&mut Self, &str, &Node, &str) -> Option<Node>,
    ) -> Option<Node> {
        let mut kept = Table::new();
        for (key, inner) in table {
            let path = below(path, key);
            let known = self.parts.len();
            match keep(self, key, inner, &path) {
                Some(left) => {
                    kept.insert(key.clone(), left);
                }
                None if self.parts.len() == known => {
                    let section = path.split('.').next().unwrap_or_default().to_owned();
                    self.needs_trust(inner, &path, &section, key);
                }
                None => {}
            }
        }
        (table.is_empty() || !kept.is_empty()).then(|| with(node, kept))
    }

    /// The settings of one agent (`section` is empty) or of one plugin.
    fn settings(&mut self, node: &Node, table: &Table, path: &str, section: &str) -> Option<Node> {
        let mut kept = Table::new();
        for (key, inner) in table {
            let setting = below(section, key);
            let left = self.setting(inner, &setting, &below(path, key), key);
            kept.extend(left.map(|left| (key.clone(), left)));
        }
        // An agent is there, whatever of it holds: others may extend it.
        let is_agent = section.is_empty();
        (is_agent || table.is_empty() || !kept.is_empty()).then(|| with(node, kept))
    }

    /// What holds of a setting; sections are divided key by key.
    fn setting(&mut self, node: &Node, setting: &str, path: &str, key: &str) -> Option<Node> {
        if self.holds(setting, key, node) {
            return Some(node.clone());
        }
        match node.table() {
            Some(section) if !setting.contains('.') => self.settings(node, section, path, setting),
            _ => {
                self.needs_trust(node, path, setting, key);
                None
            }
        }
    }

    fn needs_trust(&mut self, node: &Node, path: &str, setting: &str, key: &str) {
        self.parts.push(Part {
            path: path.to_owned(),
            setting: setting.to_owned(),
            key: key.to_owned(),
            node: node.clone(),
        });
    }

    /// Whether a setting holds without trust.
    fn holds(&self, setting: &str, key: &str, node: &Node) -> bool {
        if reads_the_environment(node) {
            return false;
        }
        let text = node.text();
        match setting {
            "permissions.mode" if text == Some("read_only") => true,
            "permissions.mode" => {
                let may_be_narrower =
                    |node: &Node| !matches!(node.text(), Some("ask" | "accept_edits" | "all"));
                text == Some("ask") && !self.users_say(setting, &may_be_narrower)
            }
            "sandbox.network" => is(node, false),
            "sandbox.enabled" => is(node, true),
            "fallback" => node.list().is_some_and(|it| it.iter().all(|it| it.text().is_some())),
            _ if HARMLESS.contains(&setting) => true,
            _ if LIMITS.contains(&setting) => !self.users_say(setting, &|_| true),
            // What is no list would take the place of the user's.
            _ if known::adds_up(key) => node.list().is_some(),
            _ if key == "enabled" => {
                let plugin = setting.trim_end_matches(".enabled");
                let unsaid = || !self.users_say(setting, &|_| true);
                DISPENSABLE.contains(&plugin) && (is(node, false) || is(node, true) && unsaid())
            }
            _ => false,
        }
    }

    /// Whether the user's own files have such a value for the setting, for whichever agent.
    fn users_say(&self, setting: &str, such: &dyn Fn(&Node) -> bool) -> bool {
        let (first, second) =
            setting.split_once('.').map_or((setting, None), |(a, b)| (a, Some(b)));
        let said = |table: &Table| {
            let node = table.get(first);
            let node = second.map_or(node, |key| node.and_then(Node::table)?.get(key));
            node.is_some_and(such)
        };
        let table = |key: &str| self.users.get(key).and_then(Node::table);
        let of_plugins = || table("plugins").is_some_and(said);
        let of_agents = || {
            let mut agents = table("agents").into_iter().flatten();
            agents.any(|(_, agent)| agent.table().is_some_and(said))
        };
        said(self.users) || of_plugins() || of_agents()
    }
}

fn with(node: &Node, table: Table) -> Node {
    Node { content: Content::Table(table), ..node.clone() }
}

fn is(node: &Node, wanted: bool) -> bool {
    matches!(node.content, Content::Scalar(Value::Bool(truth)) if truth == wanted)
}

fn is_off(key: &str, node: &Node) -> bool {
    key == "enabled" && is(node, false)
}

/// Whether a value depends on variables or logins of whoever uses the file.
fn reads_the_environment(node: &Node) -> bool {
    match &node.content {
        Content::Table(table) => table.values().any(reads_the_environment),
        Content::List(items) => items.iter().any(reads_the_environment),
        Content::Scalar(Value::String(text)) => !placeholder::needs_only(text, PLACES),
        Content::Scalar(_) => false,
    }
}
