//! The core: registered plugins and nothing else. All data comes in as arguments and goes out as
//! results, so one core serves any number of sessions at once.

use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::hooks::{Extension, Feature, Observer, Plugin, Provider, Runner, Timer, Tool};
use crate::plugin::{Manifest, Registered, RegisteredProvider};
use crate::resolve::{Caches, ModelCache};
use crate::session::Session;
use orlop_types::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The processing pipeline. Cloning is cheap and shares plugins and caches; registering into a
/// clone leaves the other alone.
///
/// ```
/// use orlop_core::Core;
/// let core = Core::new();
/// let session = core.create_session(None);
/// assert!(session.messages().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Core {
    pub(crate) plugins: Arc<Plugins>,
    pub(crate) caches: Arc<Caches>,
    pub(crate) models: ModelCache,
    pub(crate) runner: Runner,
    /// What every hook of this core may use, beside what a call lends.
    pub(crate) lent: Arc<Vec<(&'static str, Arc<dyn Any + Send + Sync>)>>,
}

/// Plugins in registration order.
#[derive(Clone, Default)]
pub(crate) struct Plugins {
    pub(crate) providers: Vec<Arc<RegisteredProvider>>,
    pub(crate) features: Vec<Arc<Registered<dyn Feature>>>,
    pub(crate) tools: Vec<Arc<Registered<dyn Tool>>>,
}

impl Core {
    /// A core without plugins.
    pub fn new() -> Self {
        Self::default()
    }

    /// A core without plugins that shares model lists with the holders of `cache`.
    pub fn with_model_cache(cache: ModelCache) -> Self {
        Self { models: cache, ..Self::default() }
    }

    /// This core with time limits on hooks, measured by `timer`.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.runner.timer = Some(timer);
        self
    }

    /// This core with every hook call shown to `observer`.
    pub fn observed(mut self, observer: Arc<dyn Observer>) -> Self {
        self.runner.observer = Some(observer);
        self
    }

    /// For layers above the core: lends a live object under a key the layer owns to every hook of
    /// this core, also where no call does, such as resolution and completions.
    pub fn lending<T: Any + Send + Sync>(mut self, key: &'static str, handle: Arc<T>) -> Self {
        Arc::make_mut(&mut self.lent).push((key, handle));
        self
    }

    /// Registers a provider together with its extensions.
    pub fn register_provider(
        &mut self,
        provider: Arc<dyn Provider>,
        extensions: Vec<Arc<dyn Extension>>,
    ) -> Result<()> {
        let manifest = manifest_of(&*provider)?;
        let extensions = extensions
            .into_iter()
            .map(|extension| Ok((manifest_of(&*extension)?, extension)))
            .collect::<Result<_>>()?;
        self.add_provider(manifest, provider, extensions)
    }

    /// Registers a feature.
    pub fn register_feature(&mut self, feature: Arc<dyn Feature>) -> Result<()> {
        self.add_feature(manifest_of(&*feature)?, feature)
    }

    /// Registers a tool plugin.
    pub fn register_tool(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        self.add_tool(manifest_of(&*tool)?, tool)
    }

    pub(crate) fn add_provider(
        &mut self,
        manifest: Manifest,
        provider: Arc<dyn Provider>,
        extensions: Vec<(Manifest, Arc<dyn Extension>)>,
    ) -> Result<()> {
        let taken = self.plugins.providers.iter().map(|held| held.provider.name());
        let provider = Registered::new(manifest, provider, "provider", taken)?;
        let mut held: Vec<Arc<Registered<dyn Extension>>> = Vec::new();
        for (manifest, extension) in extensions {
            let taken = held.iter().map(|held| held.name());
            let extension = Registered::new(manifest, extension, "extension", taken)?;
            held.push(Arc::new(extension));
        }
        let registered = RegisteredProvider { provider, extensions: held };
        self.change_plugins(|plugins| plugins.providers.push(Arc::new(registered)));
        Ok(())
    }

    pub(crate) fn add_feature(
        &mut self,
        manifest: Manifest,
        feature: Arc<dyn Feature>,
    ) -> Result<()> {
        let taken = self.plugins.features.iter().map(|held| held.name());
        let registered = Registered::new(manifest, feature, "feature", taken)?;
        self.change_plugins(|plugins| plugins.features.push(Arc::new(registered)));
        Ok(())
    }

    pub(crate) fn add_tool(&mut self, manifest: Manifest, tool: Arc<dyn Tool>) -> Result<()> {
        let taken = self.plugins.tools.iter().map(|held| held.name());
        let registered = Registered::new(manifest, tool, "tool", taken)?;
        self.change_plugins(|plugins| plugins.tools.push(Arc::new(registered)));
        Ok(())
    }

    fn change_plugins(&mut self, change: impl FnOnce(&mut Plugins)) {
        change(Arc::make_mut(&mut self.plugins));
        self.caches = Arc::default();
    }

    /// The names of all registered plugins by kind, in registration order.
    pub fn registered(&self) -> crate::ActivePlugins {
        let providers = &self.plugins.providers;
        crate::ActivePlugins {
            providers: providers.iter().map(|held| held.provider.name().to_owned()).collect(),
            extensions: providers
                .iter()
                .flat_map(|held| {
                    held.extensions.iter().map(|extension| extension.name().to_owned())
                })
                .collect(),
            features: self.plugins.features.iter().map(|held| held.name().to_owned()).collect(),
            tools: self.plugins.tools.iter().map(|held| held.name().to_owned()).collect(),
        }
    }

    /// How this core calls hooks: its time limits and its observer.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// For layers above the core: what a hook of theirs is told, with nothing resolved.
    pub fn call_context(
        &self,
        config: &Config,
        call: CallContext,
        session: Option<&Session>,
        lifecycle: Option<&str>,
    ) -> Context {
        Context::new(self.clone(), config.clone(), Arc::new(call)).with(|inner| {
            inner.session = session.cloned();
            inner.lifecycle = lifecycle.map(str::to_owned);
        })
    }

    /// An empty session with the given id, or with a fresh UUID.
    pub fn create_session(&self, id: Option<&str>) -> Session {
        match id {
            Some(id) => Session::new(id),
            None => Session::new(uuid::Uuid::new_v4().to_string()),
        }
    }
}

pub(crate) fn manifest_of<P: Plugin + ?Sized>(plugin: &P) -> Result<Manifest> {
    catch_unwind(AssertUnwindSafe(|| plugin.manifest()))
        .map_err(|_| Error::plugin("a plugin panicked when asked for its manifest"))
}
