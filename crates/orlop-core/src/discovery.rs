//! Registers plugins by what they can do: bundles declare capabilities, the core sorts them into
//! kinds.

use crate::core::{Core, manifest_of};
use crate::hooks::{Extension, Feature, Kind, Provider, Tool, panicked};
use crate::plugin::Manifest;
use crate::resolve::ActivePlugins;
use orlop_types::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A plugin of any kind.
#[derive(Clone)]
pub enum AnyPlugin {
    /// Model access.
    Provider(Arc<dyn Provider>),
    /// Beside a provider.
    Extension(Arc<dyn Extension>),
    /// On any session.
    Feature(Arc<dyn Feature>),
    /// For the model to call.
    Tool(Arc<dyn Tool>),
}

impl AnyPlugin {
    /// What the plugin says of itself; without a name it goes by the name of its type.
    fn manifest(&self, type_name: &str) -> Result<Manifest> {
        let mut manifest = match self {
            Self::Provider(plugin) => manifest_of(&**plugin),
            Self::Extension(plugin) => manifest_of(&**plugin),
            Self::Feature(plugin) => manifest_of(&**plugin),
            Self::Tool(plugin) => manifest_of(&**plugin),
        }?;
        if manifest.name.is_empty() {
            manifest.name = type_name.to_owned();
        }
        Ok(manifest)
    }
}

/// A plugin type as a bundle lists it.
#[derive(Clone)]
pub struct BundlePlugin {
    /// The type's name.
    pub type_name: String,
    /// The module the type is defined in; types that a module only re-exports are passed over.
    pub defined_in: String,
    /// The methods it has.
    pub capabilities: Vec<String>,
    /// Makes the plugin as the kind it was sorted into.
    pub make: Arc<dyn Fn(Kind) -> Result<AnyPlugin> + Send + Sync>,
}

impl BundlePlugin {
    fn load(&self, kind: Kind) -> Result<(AnyPlugin, Manifest)> {
        let plugin = catch_unwind(AssertUnwindSafe(|| (self.make)(kind)))
            .unwrap_or_else(|panic| Err(panicked(&*panic)))?;
        let manifest = plugin.manifest(&self.type_name)?;
        Ok((plugin, manifest))
    }
}

/// A module that holds plugins.
#[derive(Clone)]
pub struct Bundle {
    /// The module's identifier, for instance `plugins.openai_provider`.
    pub module: String,
    /// The plugin types it shows.
    pub plugins: Vec<BundlePlugin>,
}

/// All bundles that can be named.
#[derive(Clone, Default)]
pub struct Bundles(Vec<Bundle>);

impl Bundles {
    /// Adds a bundle.
    pub fn add(&mut self, bundle: Bundle) {
        self.0.push(bundle);
    }

    fn get(&self, module: &str) -> Result<&Bundle> {
        self.0.iter().find(|bundle| bundle.module == module).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|bundle| bundle.module.as_str()).collect();
            Error::not_found(format!(
                "module \"{module}\" cannot be loaded; known: {}",
                known.join(", ")
            ))
        })
    }
}

/// The kind of plugin that these methods make: model I/O makes a provider, else schemas and
/// execution a tool, else chunk processing an extension, else it is a feature.
pub fn classify<'a>(capabilities: impl IntoIterator<Item = &'a str> + Clone) -> Kind {
    let has = |name: &str| capabilities.clone().into_iter().any(|held| held == name);
    if has("stream_api") || has("call_api") {
        Kind::Provider
    } else if has("get_tool_schemas") && has("execute_tool") {
        Kind::Tool
    } else if has("process_chunk") {
        Kind::Extension
    } else {
        Kind::Feature
    }
}

impl Core {
    /// Registers the plugins of `modules`: the first provider found, with all extensions found
    /// attached to it, and every feature and tool. Registers nothing if any part of it fails.
    pub fn discover_and_register(
        &mut self,
        modules: &[&str],
        bundles: &Bundles,
    ) -> Result<ActivePlugins> {
        let mut found = Found::default();
        for module in modules {
            found.scan(bundles.get(module)?)?;
        }
        let mut core = self.clone();
        let registered = core.register_found(found)?;
        *self = core;
        Ok(registered)
    }

    fn register_found(&mut self, found: Found) -> Result<ActivePlugins> {
        let mut summary = ActivePlugins::default();
        let mut providers = found.providers.into_iter();
        if let Some((manifest, provider)) = providers.next() {
            summary.providers.push(manifest.name.clone());
            summary.extensions = found.extensions.iter().map(|(m, _)| m.name.clone()).collect();
            self.add_provider(manifest, provider, found.extensions)?;
        }
        for (skipped, _) in providers {
            tracing::info!(target: "orlop::core", provider = skipped.name, "a further provider was found and is not registered");
        }
        for (manifest, feature) in found.features {
            summary.features.push(manifest.name.clone());
            self.add_feature(manifest, feature)?;
        }
        for (manifest, tool) in found.tools {
            summary.tools.push(manifest.name.clone());
            self.add_tool(manifest, tool)?;
        }
        Ok(summary)
    }
}

/// Plugins found, by kind, in the order they will be registered.
#[derive(Default)]
struct Found {
    providers: Vec<(Manifest, Arc<dyn Provider>)>,
    extensions: Vec<(Manifest, Arc<dyn Extension>)>,
    features: Vec<(Manifest, Arc<dyn Feature>)>,
    tools: Vec<(Manifest, Arc<dyn Tool>)>,
}

impl Found {
    /// Takes in what a module defines. Its providers come in this order: those named like the
    /// module first, then by type name.
    fn scan(&mut self, bundle: &Bundle) -> Result<()> {
        let module = bundle.module.as_str();
        let base = normalise(module.rsplit(['.', ':']).next().unwrap_or(module));
        let mut providers = Vec::new();
        for listed in bundle.plugins.iter().filter(|listed| listed.defined_in == module) {
            let kind = classify(listed.capabilities.iter().map(String::as_str));
            let (plugin, manifest) = listed.load(kind).map_err(|error| {
                let (listed, reason) = (&listed.type_name, error.message());
                let text = format!("module \"{module}\" cannot be loaded: type {listed}: {reason}");
                Error::new(error.class(), text).with_retryable(error.retryable())
            })?;
            match (kind, plugin) {
                (Kind::Provider, AnyPlugin::Provider(plugin)) => {
                    let named_like_module = normalise(&manifest.name) == base
                        || normalise(&snake_case(&listed.type_name)) == base;
                    providers.push((!named_like_module, &listed.type_name, (manifest, plugin)));
                }
                (Kind::Extension, AnyPlugin::Extension(plugin)) => {
                    self.extensions.push((manifest, plugin))
                }
                (Kind::Tool, AnyPlugin::Tool(plugin)) => self.tools.push((manifest, plugin)),
                (Kind::Feature, AnyPlugin::Feature(plugin)) => {
                    self.features.push((manifest, plugin))
                }
                _ => {
                    return Err(Error::bad_state(format!(
                        "type {} of module \"{module}\" has the methods of a {} but does not make one",
                        listed.type_name,
                        kind.as_str()
                    )));
                }
            }
        }
        providers.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        self.providers.extend(providers.into_iter().map(|(_, _, plugin)| plugin));
        Ok(())
    }
}

/// Lower case, runs of other characters than letters and digits as one `_`, none at the ends.
fn normalise(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("_")
}

/// A type's name with `_` before each capital but the first.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (index, c) in name.char_indices() {
        if index > 0 && c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c);
    }
    out
}
