//! The application's sections as types. Each is resolved when it is asked for, so that a variable
//! missing for one MCP server leaves the others alone.

use super::app_config::AppConfig;
use super::env::Vars;
use super::known;
use super::problem::{Problem, ProblemKind};
use super::tree::{Content, Node, below};
use orlop_core::types::nearest::hint;
use orlop_core::{Error, Map, Result, Value};
use std::fmt;
use std::path::PathBuf;

/// A plugin of `[plugins]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginEntry {
    /// Its name.
    pub name: String,
    /// Where it is; none for a shipped one.
    pub path: Option<PathBuf>,
    /// Its own settings; agents see them in the section of its name.
    pub settings: Map,
    /// Limits that are tighter than those of its package.
    pub limits: Map,
}

/// A server of `[mcp_servers]`.
#[derive(Clone, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// The longest wait for an answer.
    pub timeout_ms: Option<u64>,
    /// How long the first turn waits for it while nothing is known of it.
    pub first_wait_ms: Option<u64>,
}

/// How an MCP server is reached.
#[derive(Clone, PartialEq)]
pub enum McpTransport {
    /// A child process.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Further environment variables.
        env: Vars,
        /// The folder it runs in.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Where it is.
        url: String,
        /// Further headers.
        headers: Vars,
    },
}

/// `[assets]`.
#[derive(Clone, PartialEq)]
pub struct Assets {
    /// Where attachments are kept.
    pub url: String,
    /// The largest attachment.
    pub max_bytes: u64,
    /// Media types that are accepted; none means all.
    pub types: Option<Vec<String>>,
}

/// `[terminal]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Whether the editor has the keys of vi.
    pub vi_keys: bool,
    /// Whether what was sent is remembered beyond a chat.
    pub history: bool,
}

impl AppConfig {
    /// The names in `[plugins]` that are enabled.
    pub fn plugin_names(&self) -> Vec<&str> {
        self.enabled("plugins")
    }

    /// Whether `[plugins]` says that a plugin is not to be used.
    pub fn is_plugin_off(&self, name: &str) -> bool {
        let node = self.tree.get("plugins").and_then(Node::table).and_then(|table| table.get(name));
        node.is_some_and(|node| !is_enabled(node))
    }

    /// A plugin of `[plugins]`.
    pub fn plugin(&self, name: &str) -> Result<PluginEntry> {
        let (node, values) = self.entry("plugins", "plugin", name)?;
        let path = node.table().and_then(|table| table.get("path"));
        let path = path.zip(values.get("path").and_then(Value::as_str));
        let path = path.map(|(node, text)| self.path_of(node, text));
        let limits = values.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
        let settings = values.into_iter().filter(|(key, _)| !known::is_plugin_key(key)).collect();
        Ok(PluginEntry { name: name.to_owned(), path, settings, limits })
    }

    /// The names in `[mcp_servers]` that are enabled.
    pub fn mcp_server_names(&self) -> Vec<&str> {
        self.enabled("mcp_servers")
    }

    /// A server of `[mcp_servers]`.
    pub fn mcp_server(&self, name: &str) -> Result<McpServer> {
        let (node, values) = self.entry("mcp_servers", "MCP server", name)?;
        let cwd = node.table().and_then(|table| table.get("cwd"));
        let cwd = cwd.zip(values.get("cwd").and_then(Value::as_str));
        let transport = match (values.get("command"), values.get("url").and_then(Value::as_str)) {
            (Some(command), None) => McpTransport::Command {
                command: texts(command),
                env: vars(values.get("env")),
                cwd: cwd.map(|(node, text)| self.path_of(node, text)),
            },
            (None, Some(url)) => {
                McpTransport::Http { url: url.to_owned(), headers: vars(values.get("headers")) }
            }
            _ => {
                let path = below("mcp_servers", name);
                let message = "has to have either command or url";
                return Err(Problem::new(
                    ProblemKind::BadValue,
                    node.key_origin.clone(),
                    path,
                    message,
                )
                .remedy("keep one of them")
                .into());
            }
        };
        let timeout_ms = values.get("timeout_ms").and_then(Value::as_u64);
        let first_wait_ms = values.get("first_wait_ms").and_then(Value::as_u64);
        Ok(McpServer { name: name.to_owned(), transport, timeout_ms, first_wait_ms })
    }

    /// The names of `hosts.plugins`, in the order they are registered in.
    pub fn host_plugins(&self) -> Result<Vec<String>> {
        Ok(self.setting("hosts", "plugins")?.as_ref().map(texts).unwrap_or_default())
    }

    /// `store.url`.
    pub fn store_url(&self) -> Result<String> {
        self.text_setting("store", "url")
    }

    /// `events.url`.
    pub fn events_url(&self) -> Result<String> {
        self.text_setting("events", "url")
    }

    /// `[assets]`.
    pub fn assets(&self) -> Result<Assets> {
        let max_bytes = self.setting("assets", "max_bytes")?.and_then(|value| value.as_u64());
        Ok(Assets {
            url: self.text_setting("assets", "url")?,
            max_bytes: max_bytes.unwrap_or(known::MAX_ASSET_BYTES),
            types: self.setting("assets", "types")?.as_ref().map(texts),
        })
    }

    /// `[terminal]`.
    pub fn terminal(&self) -> Result<Terminal> {
        let history = self.setting("terminal", "history")?.and_then(|value| value.as_bool());
        let vi_keys = self.text_setting("terminal", "keys")? == "vi";
        Ok(Terminal { vi_keys, history: history.unwrap_or(true) })
    }

    /// A section by its name, resolved; none if it is not there. For sections that have no type of
    /// their own.
    pub fn section(&self, name: &str) -> Result<Option<Value>> {
        let node = self.tree.get(name);
        Ok(node.map(|node| self.resolved(node, &below("", name))).transpose()?)
    }

    /// A path that is written at `node`: relative to the file it is written in.
    pub(super) fn path_of(&self, node: &Node, text: &str) -> PathBuf {
        let in_force = self.env.get("CONFIG_DIR").map(PathBuf::from);
        let folder = node.origin.file().map(|file| file.folder().to_owned()).or(in_force);
        folder.unwrap_or_default().join(text)
    }

    fn enabled(&self, section: &str) -> Vec<&str> {
        let table = self.tree.get(section).and_then(Node::table).into_iter().flatten();
        table.filter(|(_, node)| is_enabled(node)).map(|(name, _)| name.as_str()).collect()
    }

    fn entry(&self, section: &str, what: &str, name: &str) -> Result<(&Node, Map)> {
        let table = self.tree.get(section).and_then(Node::table);
        let Some(node) = table.and_then(|table| table.get(name)) else {
            let known: Vec<&str> =
                table.into_iter().flat_map(|table| table.keys().map(String::as_str)).collect();
            let message = format!(
                "there is no {what} \"{}\"; {}",
                super::tree::shortened(name),
                hint(name, known)
            );
            return Err(Error::not_found(message));
        };
        match self.resolved(node, &below(section, name))? {
            Value::Object(values) => Ok((node, values)),
            _ => Err(Error::wrong_type(format!(
                "{section}.{name} is not a section; write [{section}.{name}]"
            ))),
        }
    }

    /// The value of a key in a section, or its default.
    pub(super) fn setting(&self, section: &str, key: &str) -> Result<Option<Value>> {
        let node = self.tree.get(section).and_then(Node::table).and_then(|table| table.get(key));
        match node {
            Some(node) => Ok(Some(self.resolved(node, &below(section, key))?)),
            None => Ok(known::default_of(section, key).cloned()),
        }
    }

    pub(super) fn text_setting(&self, section: &str, key: &str) -> Result<String> {
        match self.setting(section, key)? {
            Some(Value::String(text)) => Ok(text),
            _ => Err(Error::wrong_type(format!(
                "{section}.{key} is not text; put the value in double quotes"
            ))),
        }
    }
}

pub(super) fn is_enabled(node: &Node) -> bool {
    let enabled = node.table().and_then(|table| table.get("enabled"));
    !enabled.is_some_and(|node| matches!(node.content, Content::Scalar(Value::Bool(false))))
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn vars(value: Option<&Value>) -> Vars {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Shows the name only: arguments, variables and headers may be secrets.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "McpServer({})", self.name)
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command { .. } => "Command",
            Self::Http { .. } => "Http",
        })
    }
}

impl fmt::Debug for Assets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Assets({})", super::secrets::mask_url(&self.url))
    }
}
