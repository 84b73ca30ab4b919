//! What plugins contribute for people: settings, elements, completions, templates.

use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{
    ApplyCompletionInput, AttachmentPartsInput, CompletionsInput, ConfigInput, FileInfo, Hook,
    UiInput,
};
use orlop_types::{ActionOwner, Map, Result, Value};
use std::sync::Arc;

/// A text template of a feature.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Template {
    /// The feature.
    pub plugin: String,
    /// The text.
    pub text: String,
}

impl Core {
    /// The configuration keys of all registered plugins: providers each with their extensions,
    /// then features, then tools. Two plugins with the same key give two entries.
    pub fn config_schema(&self) -> Vec<Map> {
        let mut entries = Vec::new();
        let mut add = |schema: &Map, plugin: &str| entries.extend(config_entries(schema, plugin));
        for held in &self.plugins.providers {
            add(&held.provider.manifest.config_schema, held.provider.name());
            for extension in &held.extensions {
                add(&extension.manifest.config_schema, extension.name());
            }
        }
        for feature in &self.plugins.features {
            add(&feature.manifest.config_schema, feature.name());
        }
        for tool in &self.plugins.tools {
            add(&tool.manifest.config_schema, tool.name());
        }
        entries
    }

    /// The elements of the plugins active for `config`: actions and others first, in the order
    /// they were contributed, then settings, each key once.
    pub async fn ui_schema(&self, config: &Config) -> Result<Vec<Map>> {
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, &CallContext::new("core"));
        let models = match &resolution.provider {
            Some(provider) => self.models.get(self, provider, config).await,
            None => resolution.models.clone(),
        };
        let input = UiInput {
            config: config.clone(),
            tags: resolution.tags.clone(),
            models,
            available_tools: resolution.available.clone(),
            tools: resolution.effective.clone(),
        };
        let mut elements = Elements::default();
        macro_rules! ask {
            ($plugin:expr, $owner:expr) => {{
                let plugin = $plugin;
                let found = self
                    .runner
                    .call(plugin, Hook::GetUiElements, |p| p.get_ui_elements(&input, &cx))
                    .await?;
                elements.add(found, plugin.name(), $owner);
            }};
        }
        if let Some(provider) = &resolution.provider {
            ask!(&provider.provider, None);
        }
        for extension in &resolution.extensions {
            ask!(&**extension, Some(ActionOwner::ProviderExtension));
        }
        for feature in &resolution.features {
            // The pair of plugin and action id finds an extension first, so its name wins here too.
            let mut extensions = resolution.extensions.iter();
            let owner = match extensions.any(|extension| extension.name() == feature.name()) {
                true => ActionOwner::ProviderExtension,
                false => ActionOwner::Feature,
            };
            ask!(&**feature, Some(owner));
        }
        for held in &resolution.tools {
            ask!(&*held.tool, None);
        }
        Ok(elements.in_order())
    }

    /// Completions of all registered features for the text before the cursor. `start` of a
    /// completion is a character offset from the cursor, zero or negative. A feature that fails
    /// has none.
    pub async fn completions(&self, config: &Config, text: &str) -> Result<Vec<Map>> {
        self.completions_in(&self.plain_context(config), text).await
    }

    /// For layers above the core: the same, with what hooks are told by
    /// [`call_context`](Self::call_context).
    pub async fn completions_in(&self, cx: &Context, text: &str) -> Result<Vec<Map>> {
        let input = CompletionsInput { config: cx.config().clone(), text: text.to_owned() };
        let mut completions = Vec::new();
        let hook = Hook::GetCompletions;
        let asked = self.plugins.features.iter().filter(|held| held.manifest.hooks.contains(hook));
        for feature in asked {
            let found = self
                .runner
                .try_call(feature, hook, |p| p.get_completions(&input, cx))
                .await
                .inspect_err(
                    |error| tracing::debug!(target: "orlop::core", %error, "no completions"),
                )
                .unwrap_or_default();
            completions.extend(found.into_iter().filter_map(|item| match item {
                Value::Object(item) => Some(item),
                _ => None,
            }));
        }
        Ok(completions)
    }

    /// The snippet for an accepted completion: the first feature that has one; empty if none.
    /// `text` is the buffer after the completion was applied.
    pub async fn apply_completion(
        &self,
        config: &Config,
        text: &str,
        completion: Map,
    ) -> Result<String> {
        self.apply_completion_in(&self.plain_context(config), text, completion).await
    }

    /// For layers above the core: the same, with what hooks are told by
    /// [`call_context`](Self::call_context).
    pub async fn apply_completion_in(
        &self,
        cx: &Context,
        text: &str,
        completion: Map,
    ) -> Result<String> {
        let config = cx.config().clone();
        let input = ApplyCompletionInput { config, text: text.to_owned(), completion };
        for feature in &self.plugins.features {
            let snippet = self
                .runner
                .call(feature, Hook::ApplyCompletion, |p| p.apply_completion(&input, cx))
                .await?;
            if !snippet.is_empty() {
                return Ok(snippet);
            }
        }
        Ok(String::new())
    }

    /// What a message carries of a file: the parts of the first feature active for `config` that
    /// has some; none if no feature does. A feature that fails has none.
    pub async fn attachment_parts(
        &self,
        config: &Config,
        file: FileInfo,
        context: &CallContext,
    ) -> Result<Vec<Map>> {
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, context);
        let input = AttachmentPartsInput { config: config.clone(), file };
        for feature in &resolution.features {
            let parts = self
                .runner
                .call(feature, Hook::AttachmentParts, |p| p.attachment_parts(&input, &cx))
                .await?;
            if !parts.is_empty() {
                return Ok(parts);
            }
        }
        Ok(Vec::new())
    }

    /// The templates of the features active for `config`.
    pub async fn templates(&self, config: &Config) -> Result<Vec<Template>> {
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, &CallContext::new("core"));
        let input = ConfigInput { config: config.clone() };
        let mut templates = Vec::new();
        for feature in &resolution.features {
            let text = self
                .runner
                .call(feature, Hook::GetTemplate, |p| p.get_template(&input, &cx))
                .await?;
            if !text.is_empty() {
                templates.push(Template { plugin: feature.name().to_owned(), text });
            }
        }
        Ok(templates)
    }

    fn plain_context(&self, config: &Config) -> Context {
        Context::new(self.clone(), config.clone(), Arc::new(CallContext::new("core")))
    }
}

/// The entries that a plugin's configuration schema comes to: each descriptor with `plugin` and
/// `key`. The layers above use it for plugins the core does not hold, so that all entries look
/// the same.
pub fn config_entries(schema: &Map, plugin: &str) -> Vec<Map> {
    let described = schema.iter().filter(|(key, _)| !key.is_empty());
    described
        .filter_map(|(key, descriptor)| {
            let mut entry = descriptor.as_object()?.clone();
            entry.entry("plugin").or_insert_with(|| plugin.into());
            entry.entry("key").or_insert_with(|| key.as_str().into());
            Some(entry)
        })
        .collect()
}

/// Elements as they are contributed. A setting with a key replaces an earlier one of that key
/// and keeps its place.
#[derive(Default)]
struct Elements {
    others: Vec<Map>,
    settings: Vec<(String, Map)>,
}

impl Elements {
    fn add(&mut self, found: Vec<Value>, plugin: &str, owner: Option<ActionOwner>) {
        for element in found {
            let Value::Object(mut element) = element else { continue };
            let kind = match element.get("ui_type").and_then(Value::as_str) {
                Some(kind) if !kind.is_empty() => kind.to_owned(),
                _ => {
                    element.insert("ui_type".into(), "config".into());
                    "config".to_owned()
                }
            };
            element.entry("plugin").or_insert_with(|| plugin.into());
            let is_action = matches!(kind.as_str(), "session_action" | "message_action")
                && element.get("action_id").is_some_and(Value::is_string);
            if let (Some(owner), true) = (owner, is_action) {
                element
                    .entry("action_owner")
                    .or_insert_with(|| serde_json::to_value(owner).unwrap_or_default());
            }
            let key = element.get("key").and_then(Value::as_str).filter(|key| !key.is_empty());
            match key {
                Some(key) if kind == "config" => {
                    let key = key.to_owned();
                    match self.settings.iter_mut().find(|(held, _)| *held == key) {
                        Some((_, held)) => *held = element,
                        None => self.settings.push((key, element)),
                    }
                }
                _ => self.others.push(element),
            }
        }
    }

    fn in_order(self) -> Vec<Map> {
        self.others
            .into_iter()
            .chain(self.settings.into_iter().map(|(_, element)| element))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test] // J-05
    fn a_plugin_outside_the_core_has_its_entries_in_the_same_form() {
        let schema = json!({ "enabled": { "type": "boolean", "default": true }, "": {}, "odd": 1 });
        let entries = config_entries(schema.as_object().unwrap(), "app_plugin");
        let expected =
            json!({ "type": "boolean", "default": true, "plugin": "app_plugin", "key": "enabled" });
        assert_eq!(entries, [expected.as_object().cloned().unwrap()]);
    }
}
