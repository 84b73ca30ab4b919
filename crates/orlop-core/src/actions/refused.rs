//! Why an action that somebody wants to run is not on offer.

use crate::config::Config;
use crate::core::Core;
use crate::plugin::Manifest;
use crate::resolve::Resolution;
use orlop_types::Value;

impl Core {
    /// Why a plugin does not offer an action with a configuration: it is not there, switched off,
    /// filtered, or has no such action.
    pub(super) fn why_not_offered(
        &self,
        resolution: &Resolution,
        config: &Config,
        plugin: &str,
    ) -> String {
        let extensions = resolution.extensions.iter().map(|held| held.name());
        let features = resolution.features.iter().map(|held| held.name());
        if extensions.chain(features).any(|name| name == plugin) {
            return "the plugin offers no such action".to_owned();
        }
        if is_off(plugin, config) {
            return format!("{plugin}.enabled = false switches the plugin off");
        }
        let providers = self.plugins.providers.iter();
        let extensions =
            providers.flat_map(|held| &held.extensions).map(|extension| &extension.manifest);
        let features = self.plugins.features.iter().map(|feature| &feature.manifest);
        match extensions.chain(features).find(|manifest| manifest.name == plugin) {
            None => "there is no feature and no extension of this name".to_owned(),
            Some(manifest) => why_inactive(manifest, &resolution.tags),
        }
    }
}

fn is_off(plugin: &str, config: &Config) -> bool {
    let enabled = config.get(plugin).and_then(|section| section.get("enabled"));
    enabled.and_then(Value::as_bool) == Some(false)
}

fn why_inactive(manifest: &Manifest, tags: &[String]) -> String {
    if let Some(tag) = manifest.required_tags.iter().find(|tag| !tags.contains(tag)) {
        return format!("the plugin requires the tag \"{tag}\", which nothing gives");
    }
    if let Some(tag) = manifest.forbidden_tags.iter().find(|tag| tags.contains(tag)) {
        return format!("the plugin does not go with the tag \"{tag}\", which is in force");
    }
    "the plugin stands beside another provider, or its is_enabled said no".to_owned()
}
