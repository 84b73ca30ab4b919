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
        let hooks: Vec<Hook> = self.hooks.iter().filter_map(|name| self.hook(name)).collect();
        manifest.hooks = HookSet::of(&hooks);
        // Progress of a tool that only reports at the end is shown as parts, too.
        manifest.tells_progress = hooks.contains(&Hook::ExecuteTool);
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
    let description: Description = serde_json::from_value(value.clone()).map_err(|error| {
        let place = misfit(&value).map_or_else(String::new, |place| format!("{place}: "));
        wrong(place + &plain(&error.to_string()))
    })?;
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

/// The field of a plugin without which its description could be read.
fn misfit(answer: &Value) -> Option<String> {
    let plugins = answer.get("plugins")?.as_array()?;
    for plugin in plugins.iter().filter_map(Value::as_object) {
        if serde_json::from_value::<PluginDescription>(plugin.clone().into()).is_ok() {
            continue;
        }
        let fits_without = |key: &&String| {
            let rest = plugin.iter().filter(|(held, _)| held != key);
            let rest: Map = rest.map(|(held, value)| (held.clone(), value.clone())).collect();
            serde_json::from_value::<PluginDescription>(rest.into()).is_ok()
        };
        let key = plugin.keys().find(fits_without)?;
        let name = plugin.get("name").and_then(Value::as_str).unwrap_or("without a name");
        return Some(format!("{key} of plugin {name}"));
    }
    None
}

/// An error without the names that types have in Rust.
fn plain(error: &str) -> String {
    let names = [
        ("i64", "a whole number"),
        ("u64", "a whole number from 0"),
        ("a boolean", "true or false"),
    ];
    names.iter().fold(error.to_owned(), |text, (name, word)| text.replace(name, word))
}

/// What a hook may answer, in words.
pub(crate) fn outcome_in_words(hook: Hook) -> String {
    let outcome = hook.spec().outcome;
    let (inner, nothing) = match inside(outcome, "Option<") {
        Some(inner) => (inner, ", or nothing"),
        None => (outcome, ""),
    };
    let several = |inner: &str| match inner {
        "String" => Some("a list of texts"),
        "Map" => Some("a list of mappings"),
        "Message" | "NativeItem" => Some("a list of messages"),
        "ActionDefinition" => Some("a list of actions"),
        "ToolDescriptor" => Some("a list of tools"),
        "Value" => Some("a list"),
        _ => None,
    };
    let words = match inside(inner, "Vec<") {
        Some(item) => several(item),
        None if inner == "String" => Some("a text"),
        None if inner == "bool" => Some("true or false"),
        None => None,
    };
    match words {
        Some(words) => format!("{words}{nothing}"),
        None => "what docs/reference/hooks.md says".to_owned(),
    }
}

/// `Vec<Map>` with `Vec<` is `Map`.
fn inside<'a>(name: &'a str, around: &str) -> Option<&'a str> {
    name.strip_prefix(around)?.strip_suffix('>')
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_told_with_its_field_and_without_names_of_rust() {
        let told = |priority: Value| {
            let plugin = json!({"name": "a", "kind": "feature", "hooks": [], "priority": priority});
            let answer = json!({"protocol": 1, "plugins": [plugin]});
            read(&answer.to_string(), "p").map(drop).map_err(|error| error.message().to_owned())
        };
        assert_eq!(told(json!(3)), Ok(()));
        assert_eq!(
            told(json!("high")),
            Err("plugin \"p\" describes itself wrongly: priority of plugin a: invalid type: string \"high\", expected a whole number".to_owned())
        );
    }

    #[test]
    fn no_outcome_is_told_with_its_name_in_rust() {
        for row in HOOKS {
            let words = outcome_in_words(row.hook);
            assert!(!words.contains(['<', '>']) && !words.contains("Map"), "{words}");
        }
        assert_eq!(outcome_in_words(Hook::GetTags), "a list of texts");
        assert_eq!(outcome_in_words(Hook::IsEnabled), "true or false, or nothing");
    }
}
