//! Where plugins come from that are no part of the program, and how all plugins are doing.

use crate::application::Application;
use indexmap::IndexMap;
use orlop_core::{ActionDefinition, Value};
use serde::Serialize;

/// Brings plugins from outside the program, and knows how they are doing.
pub trait Supplier: Send + Sync {
    /// Everything it brought, and what it could not bring. Starts nothing.
    fn supplied(&self) -> Vec<Supplied>;
}

/// Plugins that came together, as one package or from one server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Supplied {
    /// The package or the server.
    pub name: String,
    /// What it is: `package` or `mcp_server`.
    pub source: &'static str,
    /// Where it is, for who runs the program.
    pub place: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// How it is doing.
    pub state: PluginHealth,
    /// What is wrong with it.
    pub problem: Option<String>,
    /// What it was granted, in words.
    pub grants: Vec<String>,
    /// The names of the plugins in it.
    pub plugins: Vec<String>,
    /// The actions on sessions that they were last known to offer.
    pub actions: Vec<ActionDefinition>,
}

/// How a plugin is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginHealth {
    /// Nobody has needed it yet.
    NotStarted,
    /// It is at work.
    #[default]
    Running,
    /// It cannot be used.
    Failed,
    /// The configuration says that it is not to be used.
    Disabled,
}

/// A plugin as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// What it is: `provider`, `extension`, `feature`, `tool`, `application`, `host`; none if that
    /// is not known.
    pub kinds: Vec<&'static str>,
    /// Its version.
    pub version: Option<String>,
    /// Where it comes from: `built_in`, `package` or `mcp_server`.
    pub source: &'static str,
    /// The package it came in, if it came in one.
    pub package: Option<String>,
    /// Where that is, for who runs the program.
    pub place: Option<String>,
    /// How it is doing.
    pub state: PluginHealth,
    /// What is wrong with it.
    pub problem: Option<String>,
    /// What it was granted, in words. What is built in needs no grants.
    pub grants: Vec<String>,
    /// Whether nothing goes on without it: its manifest says `critical`.
    pub critical: bool,
}

impl Application {
    /// All plugins by name: those in use, those that could not be used, those that are turned off.
    pub fn plugin_infos(&self) -> Vec<PluginInfo> {
        let mut infos: IndexMap<String, PluginInfo> = IndexMap::new();
        for (kind, manifest) in self.shared.plugins.manifests() {
            let info = infos.entry(manifest.name.clone()).or_insert_with(|| PluginInfo {
                version: Some(manifest.version.clone()),
                ..built_in(manifest.name)
            });
            info.critical |= manifest.critical;
            if !info.kinds.contains(&kind) {
                info.kinds.push(kind);
            }
        }
        for supplied in self.shared.plugins.supplied() {
            let held = supplied.plugins.iter().filter(|name| infos.contains_key(*name)).cloned();
            let mut names: Vec<String> = held.collect();
            if names.is_empty() {
                // Nothing of it is in use; what has its name is another plugin.
                names.push(match infos.contains_key(&supplied.name) {
                    true => format!("{} ({})", supplied.name, supplied.source),
                    false => supplied.name.clone(),
                });
            }
            for name in names {
                let info = infos.entry(name.clone()).or_insert_with(|| built_in(name));
                info.source = supplied.source;
                info.package = Some(supplied.name.clone());
                info.place.clone_from(&supplied.place);
                info.version = supplied.version.clone().or(info.version.take());
                info.state = supplied.state;
                info.problem.clone_from(&supplied.problem);
                info.grants.clone_from(&supplied.grants);
            }
        }
        self.mark_disabled(&mut infos);
        let mut infos: Vec<PluginInfo> = infos.into_values().collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }

    /// Plugins that cannot be used, and without which requests fail: those that say they are critical,
    /// and providers of agents.
    pub fn missing_plugins(&self) -> Vec<String> {
        let failed = self.plugin_infos().into_iter();
        let failed = failed.filter(|info| info.state == PluginHealth::Failed);
        let is_needed =
            |info: &PluginInfo| info.critical || self.is_provider_of_an_agent(&info.name);
        failed.filter(is_needed).map(|info| info.name).collect()
    }

    fn is_provider_of_an_agent(&self, name: &str) -> bool {
        let config = &self.shared.config;
        let agents = config.agents().into_iter().filter_map(|id| self.shared.agent(id).ok());
        agents.into_iter().any(|agent| agent.config.text("provider") == Some(name))
    }

    fn mark_disabled(&self, infos: &mut IndexMap<String, PluginInfo>) {
        let (config, raw) = (&self.shared.config, self.shared.config.raw());
        for (section, source) in [("plugins", "package"), ("mcp_servers", "mcp_server")] {
            let named = raw.get(section).and_then(Value::as_object).into_iter().flatten();
            let off = |entry: &Value| entry.get("enabled").and_then(Value::as_bool) == Some(false);
            for (name, _) in named.filter(|(_, entry)| off(entry)) {
                let unknown = || PluginInfo { source, ..built_in(name.clone()) };
                infos.entry(name.clone()).or_insert_with(unknown).state = PluginHealth::Disabled;
            }
        }
        let is_used = |name: &str| self.shared.hosts.iter().any(|held| held.name() == name);
        let hosts = raw.get("hosts").and_then(|hosts| hosts.get("plugins")).is_some();
        for info in infos.values_mut().filter(|info| hosts && info.kinds == ["host"]) {
            if !is_used(&info.name) || config.is_plugin_off(&info.name) {
                info.state = PluginHealth::Disabled;
            }
        }
    }
}

fn built_in(name: String) -> PluginInfo {
    PluginInfo {
        name,
        kinds: Vec::new(),
        version: None,
        source: "built_in",
        package: None,
        place: None,
        state: PluginHealth::Running,
        problem: None,
        grants: Vec::new(),
        critical: false,
    }
}
