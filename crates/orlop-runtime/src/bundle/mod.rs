//! Packages in formats of others, without a program of their own: a folder of the Agent Plugins format
//! (`plugin.json`) brings skills and MCP servers, and `hooks.json` brings commands that run around
//! requests and tool calls.

mod commands;
mod hooks;
mod servers;

pub(crate) use commands::CommandHooks;
pub use hooks::{CommandHook, HookEvent};
pub(crate) use servers::with_data;

use crate::grants::Grants;
use crate::package::{Limits, Package, Run};
use orlop_app::config::{McpServer, McpTransport};
use orlop_core::types::protocol::{Description, PROTOCOL, PluginDescription};
use orlop_core::{Error, Result, Value};
use std::path::{Path, PathBuf};

/// The manifest of the Agent Plugins format.
pub(crate) const PLUGIN_JSON: &str = "plugin.json";
/// Where commands may be: alone, or in the folder of a plugin.
const HOOKS: [&str; 2] = ["hooks.json", "hooks/hooks.json"];
/// The version of the format that is read.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// What a package without a program brings.
#[derive(Clone, Default, PartialEq)]
pub struct Bundle {
    /// The folder with its skills.
    pub skills: Option<PathBuf>,
    /// Its MCP servers, with `${PLUGIN_DATA}` still to be filled in.
    pub servers: Vec<McpServer>,
    /// Its commands.
    pub hooks: Vec<CommandHook>,
    /// What of it cannot be used, and why.
    pub problems: Vec<String>,
}

impl std::fmt::Debug for Bundle {
    // Settings of servers may hold secrets.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        out.debug_struct("Bundle")
            .field("skills", &self.skills)
            .field("servers", &servers)
            .field("hooks", &self.hooks)
            .finish()
    }
}

impl Bundle {
    /// Whether a folder is such a package.
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join(PLUGIN_JSON).is_file() || hooks_file(folder).is_some()
    }

    /// Reads the package in a folder; `name` is what it is called if it does not say.
    pub(crate) fn package(folder: &Path, name: Result<String>) -> Result<Package> {
        let mut bundle = Self::default();
        let (name, version) = match folder.join(PLUGIN_JSON).is_file() {
            true => bundle.read_manifest(folder)?,
            false => (name?, "0.0.0".to_owned()),
        };
        if let Some(file) = hooks_file(folder) {
            let text = read(&file)?;
            bundle.hooks = hooks::read(&text, &mut bundle.problems)
                .map_err(|error| Error::bad_argument(format!("{}: {error}", file.display())))?;
        }
        if bundle.skills.is_none() && bundle.servers.is_empty() && bundle.hooks.is_empty() {
            let why = match bundle.problems.is_empty() {
                true => "it has neither skills nor MCP servers nor hooks".to_owned(),
                false => bundle.problems.join("; "),
            };
            return Err(Error::bad_argument(format!(
                "{} brings nothing that can be used: {why}",
                folder.display()
            )));
        }
        let grants = bundle.grants();
        Ok(Package {
            name,
            version,
            folder: folder.to_owned(),
            run: Run::Bundle(Box::new(bundle)),
            grants,
            limits: Limits::default(),
        })
    }

    /// What it holds: its commands are a host plugin. Skills and servers are used by others.
    pub(crate) fn description(&self, package: &Package) -> Description {
        let commands = PluginDescription {
            name: package.name.clone(),
            kind: "host".to_owned(),
            ..PluginDescription::default()
        };
        let plugins = if self.hooks.is_empty() { Vec::new() } else { vec![commands] };
        Description { protocol: PROTOCOL, sdk: None, plugins, warnings: Vec::new() }
    }

    /// What it brings, in words.
    pub fn in_words(&self) -> String {
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let skills = self.skills.as_deref().map_or(0, |folder| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter(|entry| entry.path().join("SKILL.md").is_file()).count()
        });
        let all = [
            count(skills, "skill"),
            count(self.servers.len(), "MCP server"),
            count(self.hooks.len(), "command"),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn read_manifest(&mut self, folder: &Path) -> Result<(String, String)> {
        let file = folder.join(PLUGIN_JSON);
        let wrong = |what: &str| Error::bad_argument(format!("{}: {what}", file.display()));
        let manifest: Value = serde_json::from_str(&read(&file)?)
            .map_err(|error| wrong(&format!("it is no JSON: {error}")))?;
        if manifest["$schema"] != SCHEMA {
            let text =
                format!("$schema has to be {SCHEMA}, the version of the format that is known");
            return Err(wrong(&text));
        }
        let name = manifest["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(wrong(
                "name must have 1 to 64 lower-case letters and digits, and - or . between them",
            ));
        }
        let skills = folder.join("skills");
        if skills.is_dir() {
            match is_within(&skills, folder) {
                true => self.skills = Some(skills),
                false => self.problems.push("skills lies outside of the package".to_owned()),
            }
        }
        let servers = folder.join("mcp.json");
        if servers.is_file() {
            match is_within(&servers, folder).then(|| read(&servers)) {
                Some(text) => servers::read(&text?, folder, self),
                None => self.problems.push("mcp.json lies outside of the package".to_owned()),
            }
        }
        // Names of plugins have no dots here: they are sections of the configuration.
        let version = manifest["version"].as_str().unwrap_or("0.0.0").to_owned();
        Ok((name.replace('.', "_"), version))
    }

    /// What the user agrees to: what of it runs, and where it leads.
    fn grants(&self) -> Grants {
        let servers = self.servers.iter().map(|server| match &server.transport {
            McpTransport::Command { command, .. } => {
                format!("run the MCP server {}: {}", server.name, command.join(" "))
            }
            McpTransport::Http { url, .. } => {
                format!("use the MCP server {} at {url}", server.name)
            }
        });
        let hooks = self
            .hooks
            .iter()
            .map(|hook| format!("run {}: {}", hook.event.in_words(), hook.command));
        Grants { commands: servers.chain(hooks).collect(), ..Grants::default() }
    }
}

/// Words of letters and digits with one `-` or `.` between them.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.len() <= 64 && name.split(['-', '.']).all(is_word)
}

fn hooks_file(folder: &Path) -> Option<PathBuf> {
    let files = HOOKS.iter().map(|name| folder.join(name));
    files.into_iter().find(|file| file.is_file() && is_within(file, folder))
}

/// Whether a path, its links followed, stays in a folder.
fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|error| Error::unavailable(format!("{} cannot be read: {error}", file.display())))
}
