//! What a process says it holds, read with the hook table.

use crate::package::{OnFailure, Package};
use orlop_core::hooks::{HOOKS, Hook, HookSet, Kind};
use orlop_core::types::protocol::{Description, PROTOCOL, PluginDescription, Wanted};
use orlop_core::{Config, Error, Manifest, Map, Result, Value};

/// What the hook table says of a plugin that a process describes.
pub(crate) trait Described {
    /// The kind.
    fn kind(&self) -> Option<Kind>;

    /// Whether it is the provider of a configuration, whose keys are meant for it.
    fn provides(&self, config: &Config) -> bool;

    /// The hook of this plugin that has a name.
    fn hook(&self, name: &str) -> Option<Hook>;

    /// How much of a list `hook` wants, where the plugin says so.
    fn wanted(&self, hook: Hook) -> Option<Wanted>;

    /// What it says of itself, as the core has it.
    fn manifest(&self, package: &Package) -> Manifest;
}

impl Described for PluginDescription {
    fn kind(&self) -> Option<Kind> {
        let kinds = [
            Kind::Provider,
            Kind::Extension,
            Kind::Feature,
            Kind::Tool,
            Kind::Application,
            Kind::Host,
        ];
        kinds.into_iter().find(|kind| kind.as_str() == self.kind)
    }

    fn provides(&self, config: &Config) -> bool {
        self.kind() == Some(Kind::Provider) && config.text("provider") == Some(&self.name)
    }

    fn hook(&self, name: &str) -> Option<Hook> {
        let kind = self.kind()?;
        // Application and host plugins have their own `init` and UI elements.
        let any = !matches!(kind, Kind::Application | Kind::Host);
        let fits = |held: Kind| held == kind || (any && held == Kind::Any);
        HOOKS.iter().find(|row| row.name == name && fits(row.kind)).map(|row| row.hook)
    }

    fn wanted(&self, hook: Hook) -> Option<Wanted> {
        self.history.get(hook.name()).copied()
    }

    fn manifest(&self, package: &Package) -> Manifest {
        let version = self.version.clone().unwrap_or_else(|| package.version.clone());
        let mut manifest = match self.kind() {
            Some(Kind::Host) => Manifest::host(&self.name, version),
            _ => Manifest::new(&self.name, version),
        };
        if let Some(priority) = self.priority {
            manifest.priority = priority;
        }
        manifest.strict = package.limits.on_failure == Some(OnFailure::Fail);
        manifest.lenient = package.limits.on_failure == Some(OnFailure::Skip);
        // Hooks of host plugins have their own word for it.
        manifest.critical = self.critical || manifest.strict;
        manifest.dispensable = !manifest.strict;
        manifest.yields = true;
        manifest.config_schema = self.config_schema.clone();
        manifest.required_tags = self.required_tags.clone();
        manifest.forbidden_tags = self.forbidden_tags.clone();
        manifest.uses_models = self.uses_models;
        manifest.discovery_keys = self.discovery_keys.clone();
        manifest.before = self.before.clone();
        manifest.after = self.after.clone();
        let mut hooks: Vec<Hook> = self.hooks.iter().filter_map(|name| self.hook(name)).collect();
        // Progress of a tool that only reports at the end is shown as parts, too.
        if hooks.contains(&Hook::ExecuteTool) {
            hooks.push(Hook::StreamTool);
        }
        manifest.hooks = HookSet::of(&hooks);
        manifest
    }
}

/// Reads and checks the answer to `initialize`.
pub(crate) fn read(answer: &str, package: &str) -> Result<Description> {
    let wrong = |what: String| {
        Error::plugin(format!("plugin \"{package}\" describes itself wrongly: {what}"))
    };
    let value: Value = serde_json::from_str(answer).map_err(|error| wrong(error.to_string()))?;
    match value.get("protocol").and_then(Value::as_u64) {
        Some(PROTOCOL) => {}
        Some(other) => {
            return Err(wrong(format!(
                "it speaks version {other} of the protocol, this Orlop version {PROTOCOL}"
            )));
        }
        None => return Err(wrong("its answer to initialize has no protocol".to_owned())),
    }
    let description: Description =
        serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    if description.plugins.is_empty() {
        return Err(wrong("it holds no plugin; define a class with the methods of one".to_owned()));
    }
    for (index, plugin) in description.plugins.iter().enumerate() {
        let same =
            |other: &PluginDescription| (&other.name, &other.kind) == (&plugin.name, &plugin.kind);
        if plugin.name.trim().is_empty() {
            return Err(wrong("a plugin in it has no name".to_owned()));
        }
        if plugin.kind().is_none() {
            return Err(wrong(format!(
                "plugin \"{}\" is of kind \"{}\"; known: provider, extension, feature, tool, application, host",
                plugin.name, plugin.kind
            )));
        }
        if description.plugins[..index].iter().any(same) {
            let (kind, name) = (&plugin.kind, &plugin.name);
            return Err(wrong(format!("it holds two {kind} plugins named \"{name}\"")));
        }
    }
    Ok(description)
}

/// Whether a process that is started again holds the same plugins with the same hooks. What it says
/// of its settings may differ from one start to the next.
pub(crate) fn is_same(before: &Description, now: &Description) -> bool {
    let without_settings = |plugin: &PluginDescription| PluginDescription {
        config_schema: Map::new(),
        ..plugin.clone()
    };
    let plugins = |it: &Description| it.plugins.iter().map(without_settings).collect::<Vec<_>>();
    plugins(before) == plugins(now)
}
