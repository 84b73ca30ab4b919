//! The plugins an application is made of, and the core each agent gets of them.

use crate::config::Schema;
use crate::supply::{Supplied, Supplier};
use orlop_core::order::{Circle, arrange};
use orlop_core::{
    ApplicationPlugin, Config, Core, Error, Extension, Feature, HostPlugin, Manifest, ModelCache,
    Provider, Result, Tool, Value,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

/// Plugins in registration order. Every agent's core has all providers, extensions and features;
/// its `tools` say which tool plugins it has (all, if it does not say).
#[derive(Clone, Default)]
pub struct Plugins {
    providers: Vec<WithExtensions>,
    /// Kept, because every request asks for them and a manifest is made anew each time.
    provider_names: Vec<String>,
    features: Vec<Arc<dyn Feature>>,
    tools: Vec<Arc<dyn Tool>>,
    pub(crate) applications: Vec<Arc<dyn ApplicationPlugin>>,
    pub(crate) hosts: Vec<Arc<dyn HostPlugin>>,
    suppliers: Vec<Arc<dyn Supplier>>,
}

type WithExtensions = (Arc<dyn Provider>, Vec<Arc<dyn Extension>>);

impl Plugins {
    /// No plugins.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a provider and its extensions.
    pub fn provider(
        mut self,
        provider: Arc<dyn Provider>,
        extensions: Vec<Arc<dyn Extension>>,
    ) -> Self {
        self.provider_names.push(provider.manifest().name);
        self.providers.push((provider, extensions));
        self
    }

    /// With an extension beside a provider that is registered already; without a name, beside all
    /// of them.
    pub fn extension(mut self, provider: Option<&str>, extension: Arc<dyn Extension>) -> Self {
        for (held, extensions) in &mut self.providers {
            if provider.is_none_or(|name| held.manifest().name == name) {
                extensions.push(extension.clone());
            }
        }
        self
    }

    /// With a feature.
    pub fn feature(mut self, feature: Arc<dyn Feature>) -> Self {
        self.features.push(feature);
        self
    }

    /// With a tool plugin.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// With an application plugin.
    pub fn application(mut self, plugin: Arc<dyn ApplicationPlugin>) -> Self {
        self.applications.push(plugin);
        self
    }

    /// With a host plugin.
    pub fn host(mut self, plugin: Arc<dyn HostPlugin>) -> Self {
        self.hosts.push(plugin);
        self
    }

    /// With somebody who tells how plugins are doing that it brought; they are registered as all
    /// others are.
    pub fn supplied_by(mut self, supplier: Arc<dyn Supplier>) -> Self {
        self.suppliers.push(supplier);
        self
    }

    /// What was brought from outside the program, and how it is doing.
    pub fn supplied(&self) -> Vec<Supplied> {
        self.suppliers.iter().flat_map(|supplier| supplier.supplied()).collect()
    }

    /// The names of the providers.
    pub fn provider_names(&self) -> &[String] {
        &self.provider_names
    }

    /// The manifests of all plugins, kind by kind.
    pub fn manifests(&self) -> Vec<(&'static str, Manifest)> {
        let mut all = Vec::new();
        for (provider, extensions) in &self.providers {
            all.push(("provider", provider.manifest()));
            all.extend(extensions.iter().map(|plugin| ("extension", plugin.manifest())));
        }
        all.extend(self.features.iter().map(|plugin| ("feature", plugin.manifest())));
        all.extend(self.tools.iter().map(|plugin| ("tool", plugin.manifest())));
        all.extend(self.applications.iter().map(|plugin| ("application", plugin.manifest())));
        all.extend(self.hosts.iter().map(|plugin| ("host", plugin.manifest())));
        all
    }

    /// The plugins of each kind in the order they run in, and who waits for whom in a circle.
    pub fn order(&self) -> Vec<(&'static str, Vec<Manifest>, Vec<Circle>)> {
        let kinds = ["provider", "extension", "feature", "tool", "application", "host"];
        let all = self.manifests();
        let of_kind = |kind: &'static str| {
            let held = all.iter().filter(|(held, _)| *held == kind);
            let mut manifests: Vec<Manifest> = held.map(|(_, manifest)| manifest.clone()).collect();
            match kind {
                "feature" | "tool" => manifests.sort_by_key(|manifest| manifest.priority),
                "host" => manifests.sort_by_key(|manifest| Reverse(manifest.priority)),
                // An extension may stand beside several providers.
                _ => {
                    let mut seen = HashSet::new();
                    manifests.retain(|manifest| seen.insert(manifest.name.clone()));
                }
            }
            match kind {
                // These stand in the order of registration.
                "provider" | "extension" => (kind, manifests, Vec::new()),
                _ => {
                    let (manifests, circles) = arrange(manifests, |manifest| manifest);
                    (kind, manifests, circles)
                }
            }
        };
        kinds.into_iter().map(of_kind).collect()
    }

    /// What these plugins make of a configuration file.
    pub fn schema(&self) -> Schema {
        let manifests = self.manifests();
        let named = |kind: &str| {
            let found = manifests.iter().filter(|(held, _)| *held == kind);
            found.map(|(_, manifest)| manifest.name.clone()).collect::<Vec<_>>()
        };
        let (providers, tools, hosts) = (named("provider"), named("tool"), named("host"));
        // A plugin whose name was taken is none of its package.
        let own = manifests.iter().filter(|(_, manifest)| manifest.yields);
        let own: HashSet<String> = own.map(|(_, manifest)| manifest.name.clone()).collect();
        let sections =
            manifests.into_iter().map(|(_, manifest)| (manifest.name, manifest.config_schema));
        let packages = self.supplied().into_iter().filter(|it| it.source == "package");
        let packages = packages.map(|package| {
            let plugins = package.plugins.into_iter().filter(|name| own.contains(name));
            (package.name, plugins.collect())
        });
        Schema::new(sections.collect())
            .providers(providers)
            .tools(tools)
            .hosts(hosts)
            .packages(packages)
    }

    /// The core of an agent with this configuration.
    pub(crate) fn core_for(
        &self,
        agent: &str,
        config: &Config,
        models: ModelCache,
    ) -> Result<Core> {
        let mut core = Core::with_model_cache(models);
        // A plugin is left out where its section says so; it may look at the key itself as well.
        let is_on = |name: &str| {
            let enabled = config.get(name).and_then(|section| section.get("enabled"));
            enabled.and_then(Value::as_bool) != Some(false)
        };
        for (provider, extensions) in &self.providers {
            let on = extensions.iter().filter(|plugin| is_on(&plugin.manifest().name));
            core.register_provider(provider.clone(), on.cloned().collect())?;
        }
        for feature in self.features.iter().filter(|plugin| is_on(&plugin.manifest().name)) {
            core.register_feature(feature.clone())?;
        }
        let wanted = wanted_tools(agent, config)?;
        for tool in &self.tools {
            let name = tool.manifest().name;
            if is_on(&name) && wanted.as_ref().is_none_or(|wanted| wanted.contains(&name)) {
                core.register_tool(tool.clone())?;
            }
        }
        self.check(agent, config, wanted)?;
        Ok(core)
    }

    /// A core of nothing but the tools that yield to nobody.
    pub(crate) fn core_of_tools(&self) -> Result<Core> {
        let mut core = Core::new();
        for tool in self.tools.iter().filter(|tool| !tool.manifest().yields) {
            core.register_tool(tool.clone())?;
        }
        Ok(core)
    }

    fn check(&self, agent: &str, config: &Config, wanted: Option<Vec<String>>) -> Result<()> {
        let unknown = |key: &str, what: &str, name: &str, known: Vec<String>| {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(Error::bad_argument(format!(
                "agents.{agent}.{key}: there is no {what} \"{name}\"; known: {known}"
            )))
        };
        match config.text("provider") {
            Some(name) if !self.provider_names().iter().any(|known| known == name) => {
                return unknown("provider", "provider", name, self.provider_names().to_vec());
            }
            _ => {}
        }
        let tools: Vec<String> = self.tools.iter().map(|tool| tool.manifest().name).collect();
        match wanted.unwrap_or_default().into_iter().find(|name| !tools.contains(name)) {
            Some(name) => unknown("tools", "tool plugin", &name, tools),
            None => Ok(()),
        }
    }
}

fn wanted_tools(agent: &str, config: &Config) -> Result<Option<Vec<String>>> {
    let wrong = || {
        Error::wrong_type(format!("agents.{agent}.tools must be a list of names of tool plugins"))
    };
    match config.get("tools") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}
