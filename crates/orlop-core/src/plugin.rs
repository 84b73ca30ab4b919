//! Plugins as the core holds them: what they say of themselves, and the object that does the work.

use crate::hooks::{Extension, Fold, Hook, HookSet, OnFailure, Provider};
use orlop_types::{Error, Map, Result, Value};
use std::sync::Arc;

/// What a plugin says of itself once, when it is registered.
///
/// ```
/// use orlop_core::Manifest;
/// let manifest = Manifest::new("greeter", "1.0.0").priority(50).requires(&["tools"]);
/// assert_eq!(manifest.name, "greeter");
/// ```
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The plugin's id in schemas, actions and results.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Read on features and tools, where lower runs first, and on host plugins, where higher does.
    pub priority: i64,
    /// Configuration key to descriptor (`type`, `default`, `required`, `description`, ...).
    pub config_schema: Map,
    /// Tags that must all be there.
    pub required_tags: Vec<String>,
    /// Tags none of which may be there.
    pub forbidden_tags: Vec<String>,
    /// The hooks it implements; others are never called.
    pub hooks: HookSet,
    /// Whether it looks at model descriptors. If no plugin does, none are fetched.
    pub uses_models: bool,
    /// For a provider: the configuration keys its model list depends on; empty means all.
    pub discovery_keys: Vec<String>,
    /// Configuration keys that it reads while a request runs and no plugin's `init`, tags or tools depend
    /// on. Sessions that differ in them alone share everything that is made of a configuration.
    pub request_keys: Vec<String>,
    /// For a host plugin: a failing interceptor stops the request.
    pub critical: bool,
    /// A failure of any of its hooks fails the operation, whatever the hook table says.
    pub strict: bool,
    /// A failure of its hooks leaves its answer out, whatever the hook table says. Where one plugin
    /// alone is asked nothing stands in for its answer, and the table counts.
    pub lenient: bool,
    /// For a tool plugin: where a tool of it has the name of one of a plugin that does not yield, the
    /// other one is used, whatever the priority. So nobody takes the place of a tool that ships.
    pub yields: bool,
    /// For a tool plugin without `stream_tool`: its `stream_tool` gives the progress of `execute_tool` and
    /// then its report, and is told of as that.
    pub tells_progress: bool,
    /// For an application plugin: one whose `init` fails is left out, and the others start.
    pub dispensable: bool,
    /// The lifecycles that trigger its actions, if it says them: it is asked for its actions at no other
    /// one. Turns run half a dozen lifecycles each.
    pub lifecycles: Option<Vec<String>>,
    /// Plugins of the same kind that it runs before, whatever their priority.
    pub before: Vec<String>,
    /// Plugins of the same kind that it runs after.
    pub after: Vec<String>,
}

impl Manifest {
    /// Whether an operation goes on without the answer of a hook that failed.
    pub fn goes_on_without(&self, hook: Hook) -> bool {
        let row = hook.spec();
        let is_one_of_many = row.fold != Fold::One;
        let is_skipped = row.on_failure == OnFailure::Skip || (self.lenient && is_one_of_many);
        is_skipped && !self.strict
    }

    /// A plugin with default priority and every hook of its kind.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            priority: 100,
            config_schema: Map::new(),
            required_tags: Vec::new(),
            forbidden_tags: Vec::new(),
            hooks: HookSet::ALL,
            uses_models: true,
            discovery_keys: Vec::new(),
            request_keys: Vec::new(),
            critical: false,
            strict: false,
            lenient: false,
            yields: false,
            tells_progress: false,
            dispensable: false,
            lifecycles: None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// A host plugin with priority 0; higher ones run earlier.
    pub fn host(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::new(name, version).priority(0)
    }

    /// For a host plugin: a failing interceptor stops the request.
    pub fn critical(mut self) -> Self {
        self.critical = true;
        self
    }

    /// For a tool plugin: takes no name from others; see [`Manifest::yields`].
    pub fn yielding(mut self) -> Self {
        self.yields = true;
        self
    }

    /// Where it stands among others of its kind.
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = priority;
        self
    }

    /// Runs before these plugins of the same kind.
    pub fn before(mut self, names: &[&str]) -> Self {
        self.before = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Runs after these plugins of the same kind.
    pub fn after(mut self, names: &[&str]) -> Self {
        self.after = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// No other lifecycle than these triggers its actions; see [`Manifest::lifecycles`].
    pub fn acting_at(mut self, lifecycles: &[&str]) -> Self {
        self.lifecycles = Some(lifecycles.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// Whether `lifecycle` may trigger actions of it.
    pub fn may_act_at(&self, lifecycle: &str) -> bool {
        self.lifecycles.as_ref().is_none_or(|names| names.iter().any(|name| name == lifecycle))
    }

    /// Describes a configuration key.
    pub fn config(mut self, key: &str, descriptor: Value) -> Self {
        self.config_schema.insert(key.to_owned(), descriptor);
        self
    }

    /// Is enabled only where all these tags are.
    pub fn requires(mut self, tags: &[&str]) -> Self {
        self.required_tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        self
    }

    /// Is disabled where any of these tags is.
    pub fn forbids(mut self, tags: &[&str]) -> Self {
        self.forbidden_tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        self
    }

    /// Implements only these hooks.
    pub fn only(mut self, hooks: HookSet) -> Self {
        self.hooks = hooks;
        self
    }

    /// Never looks at model descriptors.
    pub fn without_models(mut self) -> Self {
        self.uses_models = false;
        self
    }

    /// For a provider: its model list depends on these configuration keys only.
    pub fn discovery(mut self, keys: &[&str]) -> Self {
        self.discovery_keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self
    }

    /// These configuration keys matter to requests only; see [`Manifest::request_keys`].
    pub fn only_for_requests(mut self, keys: &[&str]) -> Self {
        self.request_keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self
    }
}

/// A plugin and its manifest, read once.
pub struct Registered<P: ?Sized> {
    /// What the plugin said of itself.
    pub manifest: Manifest,
    /// The plugin.
    pub plugin: Arc<P>,
}

impl<P: ?Sized> Registered<P> {
    /// Reads the manifest; a name must not be empty and not taken by another plugin of the kind.
    pub fn new<'a>(
        manifest: Manifest,
        plugin: Arc<P>,
        kind: &str,
        taken: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        if manifest.name.trim().is_empty() {
            return Err(Error::bad_argument(format!(
                "a {kind} plugin has an empty name; give it one"
            )));
        }
        if taken.into_iter().any(|name| name == manifest.name) {
            return Err(Error::conflict(format!(
                "a {kind} plugin named \"{}\" is registered already; names must be unique per kind",
                manifest.name
            )));
        }
        Ok(Self { manifest, plugin })
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }
}

/// A provider and the extensions registered with it.
pub(crate) struct RegisteredProvider {
    pub(crate) provider: Registered<dyn Provider>,
    pub(crate) extensions: Vec<Arc<Registered<dyn Extension>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_means_what_the_plugin_says_and_else_what_the_table_says() {
        let goes_on = |strict: bool, lenient: bool| {
            let manifest = Manifest { strict, lenient, ..Manifest::new("p", "1.0.0") };
            [Hook::GetUiElements, Hook::FeatureInitializeRequest, Hook::CallApi]
                .map(|hook| manifest.goes_on_without(hook))
        };
        assert_eq!(goes_on(false, false), [true, false, false]);
        // Nothing stands in for the only one that is asked.
        assert_eq!(goes_on(false, true), [true, true, false]);
        assert_eq!(goes_on(true, false), [false, false, false]);
    }
}
