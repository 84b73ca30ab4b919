//! Which plugins take part for a configuration: the provider it names, and the extensions,
//! features and tools whose tags are satisfied, computed once per configuration content.

mod cache;
mod enable;
mod models;

pub(crate) use cache::Caches;
pub use models::ModelCache;

use crate::config::{Config, Fingerprint};
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{
    ConfigInput, Extension, Feature, Hook, InitInput, Models, PrepareInput, State, Tool,
    ToolPolicyInput, ToolSchemasInput,
};
use crate::interop::{Interop, Registry};
use crate::order;
use crate::output::OutputSchema;
use crate::plugin::{Manifest, Registered, RegisteredProvider};
use crate::price::configured_cost;
use orlop_types::tool::schema_name;
use orlop_types::{Error, Map, Result, ToolDescriptor, Value};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What stands for a plugin where a tool is run by the caller.
const CALLER: &str = "caller";

/// Everything that is known about a configuration before a request.
#[derive(Clone)]
pub(crate) struct Resolution {
    pub(crate) provider: Option<Arc<RegisteredProvider>>,
    pub(crate) extensions: Vec<Arc<Registered<dyn Extension>>>,
    /// By ascending priority.
    pub(crate) features: Vec<Arc<Registered<dyn Feature>>>,
    /// By ascending priority.
    pub(crate) tools: Vec<PreparedTool>,
    pub(crate) tags: Vec<String>,
    pub(crate) models: Models,
    /// Whether `models` is empty because they could not be fetched.
    models_missing: bool,
    /// After every plugin's `init`.
    pub(crate) state: Arc<State>,
    pub(crate) available: Arc<Vec<ToolDescriptor>>,
    pub(crate) effective: Arc<Vec<ToolDescriptor>>,
    pub(crate) unused: Vec<UnusedTool>,
    pub(crate) wire_tools: Option<Arc<str>>,
    pub(crate) interop: Registry,
    native_format: Option<String>,
    /// What answers are judged by. A bad schema matters to requests only.
    output: Result<Option<Arc<OutputSchema>>>,
}

/// A tool plugin with what it computed once for this configuration.
#[derive(Clone)]
pub(crate) struct PreparedTool {
    pub(crate) tool: Arc<Registered<dyn Tool>>,
    pub(crate) prepared: Arc<Value>,
    /// What the plugin called its tools when it was asked for them.
    version: u64,
}

impl PreparedTool {
    fn is_current(&self) -> bool {
        version_of(&self.tool) == self.version
    }
}

/// The version of a plugin's tools. One that cannot say it changes nothing.
fn version_of(tool: &Registered<dyn Tool>) -> u64 {
    catch_unwind(AssertUnwindSafe(|| tool.plugin.tools_version())).unwrap_or(0)
}

impl Resolution {
    /// The same for a configuration that differs in these keys only, on which nothing here depends.
    fn with_config(&self, config: &Config, keys: &[&str]) -> Self {
        // Not simply the configuration: a plugin's `init` may have changed it.
        let mut values = self.state.config.values().clone();
        for key in keys {
            match config.values().get(*key) {
                Some(value) => values.insert((*key).to_owned(), value.clone()),
                None => values.shift_remove(*key),
            };
        }
        let changed = Config::new(values);
        let config = if changed == *config { config.clone() } else { changed };
        Self { state: Arc::new(State { config, ..(*self.state).clone() }), ..self.clone() }
    }

    /// The provider; without one, requests and everything native are impossible.
    pub(crate) fn provider(&self) -> Result<&RegisteredProvider> {
        self.provider.as_deref().ok_or_else(no_provider)
    }

    /// The same, with nothing for the model to call.
    pub(crate) fn without_tools(&self) -> Self {
        Self { effective: Arc::default(), wire_tools: None, ..self.clone() }
    }

    /// The same, with these tools beside those of the plugins, or in place of one that has the
    /// same name.
    pub(crate) fn with_caller_tools(&self, schemas: Vec<Map>) -> Result<Self> {
        let brought = |tool: &&ToolDescriptor| {
            let name = tool.name();
            schemas.iter().any(|schema| schema_name(schema) == name)
        };
        let mut tools: Vec<ToolDescriptor> =
            self.effective.iter().filter(|tool| !brought(tool)).cloned().collect();
        let of_caller = |schema| ToolDescriptor { schema, plugin: CALLER.to_owned() };
        tools.extend(schemas.iter().cloned().map(of_caller));
        let wire_tools = wire_tools(&self.interop, &tools)?;
        Ok(Self { effective: Arc::new(tools), wire_tools, ..self.clone() })
    }

    /// The form of the provider's native history.
    pub(crate) fn native_format(&self) -> Result<&str> {
        self.native_format.as_deref().ok_or_else(no_provider)
    }

    /// What answers are judged by, if they are.
    pub(crate) fn output(&self) -> Result<Option<&OutputSchema>> {
        self.output.as_ref().map(Option::as_deref).map_err(Clone::clone)
    }
}

pub(crate) fn no_provider() -> Error {
    Error::bad_state("no provider registered; register one before sending requests")
}

/// A tool that models do not get, because another one has its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct UnusedTool {
    /// The name of both.
    pub name: String,
    /// Its plugin.
    pub plugin: String,
    /// The plugin whose tool is used.
    pub other: String,
}

impl fmt::Display for UnusedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, plugin, other } = self;
        write!(
            f,
            "the tool \"{name}\" of plugin \"{plugin}\" is not used, because plugin \"{other}\" has one of that name; give it another name"
        )
    }
}

/// The names of the plugins that are active for a configuration.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct ActivePlugins {
    /// The provider in use.
    pub providers: Vec<String>,
    /// Its enabled extensions.
    pub extensions: Vec<String>,
    /// The enabled features, in the order they run.
    pub features: Vec<String>,
    /// The enabled tool plugins.
    pub tools: Vec<String>,
}

/// By priority, and as they wish among each other.
fn in_order<T>(kind: &str, mut plugins: Vec<T>, manifest: impl Fn(&T) -> &Manifest) -> Vec<T> {
    plugins.sort_by_key(|plugin| manifest(plugin).priority);
    let (plugins, circles) = order::arrange(plugins, manifest);
    for circle in circles {
        tracing::warn!(target: "orlop::core", kind, %circle, "plugins want to run before each other");
    }
    plugins
}

impl Core {
    /// The names of the plugins that are active for `config`.
    pub async fn plugins_for(&self, config: &Config) -> Result<ActivePlugins> {
        let resolution = self.resolve(config).await?;
        let provider = resolution.provider()?;
        Ok(ActivePlugins {
            providers: vec![provider.provider.name().to_owned()],
            extensions: resolution
                .extensions
                .iter()
                .map(|plugin| plugin.name().to_owned())
                .collect(),
            features: resolution.features.iter().map(|plugin| plugin.name().to_owned()).collect(),
            tools: resolution.tools.iter().map(|tool| tool.tool.name().to_owned()).collect(),
        })
    }

    /// The tags in force for `config`.
    pub async fn tags_for(&self, config: &Config) -> Result<Vec<String>> {
        Ok(self.resolve(config).await?.tags.clone())
    }

    /// The models the configured provider offers; empty if it cannot tell.
    pub async fn models_for(&self, config: &Config) -> Result<Models> {
        Ok(match self.select_provider(config)? {
            Some(provider) => self.models.get(self, &provider, config).await,
            None => Models::default(),
        })
    }

    /// How many tokens the configured model takes: the setting `context_window`, else what the
    /// provider knows without asking.
    pub fn context_window(&self, config: &Config) -> Option<u64> {
        let set = config.get("context_window").and_then(Value::as_u64);
        set.or_else(|| self.select_provider(config).ok()??.provider.plugin.context_window(config))
    }

    /// What an answer of `model` with these token counts cost in US dollars: by the price that is
    /// configured, else by the one that the provider knows.
    pub fn cost(&self, config: &Config, model: &str, usage: &Map) -> Option<f64> {
        configured_cost(config, usage)
            .or_else(|| self.select_provider(config).ok()??.provider.plugin.cost(model, usage))
    }

    /// Asks the configured provider for its models now, and says why if it cannot tell.
    pub async fn fetch_models(&self, config: &Config) -> Result<Vec<Map>> {
        let provider = self.select_provider(config)?.ok_or_else(no_provider)?;
        let input = ConfigInput { config: config.clone() };
        let cx = Context::new(self.clone(), config.clone(), Arc::new(CallContext::new("core")));
        let hook = Hook::GetModels;
        self.runner.try_call(&provider.provider, hook, |p| p.get_models(&input, &cx)).await
    }

    /// Resolves `config`, or remembers having done so.
    pub(crate) async fn resolve(&self, config: &Config) -> Result<Arc<Resolution>> {
        if let Some(known) = self.remembered(config.fingerprint(), config).await {
            return Ok(known);
        }
        let request_keys = self.request_keys();
        let Some(common) = config.without(&request_keys) else {
            return self.resolve_and_remember(config).await;
        };
        let known = match self.remembered(common.fingerprint(), config).await {
            Some(known) => known,
            None => self.resolve_and_remember(&common).await?,
        };
        let own = Arc::new(known.with_config(config, &request_keys));
        self.caches.put(config.fingerprint(), own.clone());
        Ok(own)
    }

    /// The configuration without what matters to requests only: what plugins are, and which tools and
    /// actions they offer, goes by this.
    pub fn without_request_keys(&self, config: &Config) -> Config {
        config.without(&self.request_keys()).unwrap_or_else(|| config.clone())
    }

    async fn resolve_and_remember(&self, config: &Config) -> Result<Arc<Resolution>> {
        let resolution = Arc::new(self.resolve_anew(config).await?);
        tracing::debug!(
            target: "orlop::core",
            provider = resolution.provider.as_ref().map(|provider| provider.provider.name()),
            extensions = ?resolution.extensions.iter().map(|plugin| plugin.name()).collect::<Vec<_>>(),
            features = ?resolution.features.iter().map(|plugin| plugin.name()).collect::<Vec<_>>(),
            tools = ?resolution.tools.iter().map(|tool| tool.tool.name()).collect::<Vec<_>>(),
            tags = ?resolution.tags,
            "plugins resolved"
        );
        self.caches.put(config.fingerprint(), resolution.clone());
        Ok(resolution)
    }

    /// What was resolved before, if it still holds.
    async fn remembered(&self, content: Fingerprint, config: &Config) -> Option<Arc<Resolution>> {
        let known = self.caches.get(content)?;
        let holds = known.tools.iter().all(PreparedTool::is_current)
            && !self.models_are_back(&known, config).await;
        holds.then_some(known)
    }

    /// The keys that matter to requests only, of all plugins.
    fn request_keys(&self) -> Vec<&str> {
        let plugins = &self.plugins;
        let of_providers = plugins.providers.iter().flat_map(|provider| {
            let extensions = provider.extensions.iter().map(|plugin| &plugin.manifest);
            extensions.chain([&provider.provider.manifest])
        });
        let others = plugins.features.iter().map(|plugin| &plugin.manifest);
        let others = others.chain(plugins.tools.iter().map(|plugin| &plugin.manifest));
        let keys = of_providers.chain(others).flat_map(|manifest| &manifest.request_keys);
        keys.map(String::as_str).collect()
    }

    /// The provider that `config` selects; `None` if none is registered at all.
    pub(crate) fn select_provider(
        &self,
        config: &Config,
    ) -> Result<Option<Arc<RegisteredProvider>>> {
        let providers = &self.plugins.providers;
        let known = || {
            let names: Vec<_> = providers.iter().map(|provider| provider.provider.name()).collect();
            names.join(", ")
        };
        match (config.text("provider"), providers.as_slice()) {
            (_, []) => Ok(None),
            (Some(name), _) => providers
                .iter()
                .find(|provider| provider.provider.name() == name)
                .map(|provider| Some(provider.clone()))
                .ok_or_else(|| {
                    Error::not_found(format!(
                        "provider \"{name}\" is not registered; known: {}",
                        known()
                    ))
                }),
            (None, [only]) => Ok(Some(only.clone())),
            (None, _) => Err(Error::bad_argument(format!(
                "config names no provider and several are registered; set provider to one of: {}",
                known()
            ))),
        }
    }

    async fn resolve_anew(&self, config: &Config) -> Result<Resolution> {
        let cx = Context::new(self.clone(), config.clone(), Arc::new(CallContext::new("core")));
        let provider = self.select_provider(config)?;
        let fetched = match &provider {
            Some(provider) if self.wants_models(provider) => {
                self.models.fetch(self, provider, config).await
            }
            _ => Some(Models::default()),
        };
        let models_missing = fetched.is_none();
        let models = fetched.unwrap_or_default();
        let enabled = match &provider {
            Some(provider) => self.enabled_for(provider, config, &models, &cx).await?,
            None => enable::Enabled::everything(&self.plugins),
        };
        let enable::Enabled { extensions, features, tools, tags } = enabled;
        let features = in_order("feature", features, |feature| &feature.manifest);
        let tools = in_order("tool", tools, |tool| &tool.manifest);

        let interop = match &provider {
            Some(provider) => {
                let own = formats(&provider.provider, |p| p.interop())?;
                let mut others = Vec::with_capacity(extensions.len() + tools.len());
                for extension in &extensions {
                    others.push(formats(extension, |p| p.interop())?);
                }
                for tool in &tools {
                    others.push(formats(tool, |p| p.interop())?);
                }
                Registry::new(Some(own), others)
            }
            // Nobody sends or receives anything: the core's own formats are enough.
            None => Registry::new(None, []),
        };
        let native_format = provider.as_deref().map(|it| native_format(it, config)).transpose()?;
        let state =
            self.init_all(config, provider.as_deref(), &extensions, &features, &tools, &cx).await?;
        let (tools, available) = self.prepare_tools(config, &state, tools, &cx).await?;
        let allowed = self.apply_tool_policy(config, &features, available.clone(), &cx).await?;
        let (effective, unused) = self.without_namesakes(allowed);
        for tool in unused.iter().filter(|tool| self.caches.is_news(tool)) {
            tracing::error!(target: "orlop::core", "{tool}");
        }
        let wire_tools = wire_tools(&interop, &effective)?;
        Ok(Resolution {
            provider,
            extensions,
            features,
            tools,
            tags,
            models,
            models_missing,
            state: Arc::new(state),
            available: Arc::new(available),
            effective: Arc::new(effective),
            unused,
            wire_tools,
            interop,
            native_format,
            output: OutputSchema::of(config).map(|schema| schema.map(Arc::new)),
        })
    }

    /// Whether a resolution made without models could be made with them now.
    async fn models_are_back(&self, known: &Resolution, config: &Config) -> bool {
        match &known.provider {
            Some(provider) if known.models_missing => {
                self.models.fetch(self, provider, config).await.is_some()
            }
            _ => false,
        }
    }

    fn wants_models(&self, provider: &RegisteredProvider) -> bool {
        provider.provider.manifest.uses_models
            || provider.extensions.iter().any(|plugin| plugin.manifest.uses_models)
            || self.plugins.features.iter().any(|plugin| plugin.manifest.uses_models)
            || self.plugins.tools.iter().any(|plugin| plugin.manifest.uses_models)
    }

    async fn init_all(
        &self,
        config: &Config,
        provider: Option<&RegisteredProvider>,
        extensions: &[Arc<Registered<dyn Extension>>],
        features: &[Arc<Registered<dyn Feature>>],
        tools: &[Arc<Registered<dyn Tool>>],
        cx: &Context,
    ) -> Result<State> {
        let state = State { config: config.clone(), ..State::default() };
        let mut input = InitInput { config: config.clone(), state };
        macro_rules! init {
            ($plugin:expr) => {{
                let plugin = $plugin;
                let change = self.runner.call(plugin, Hook::Init, |p| p.init(&input, cx)).await?;
                change.apply(&mut input.state);
            }};
        }
        if let Some(provider) = provider {
            init!(&provider.provider);
        }
        for extension in extensions {
            init!(extension);
        }
        for feature in features {
            init!(feature);
        }
        for tool in tools {
            init!(tool);
        }
        Ok(input.state)
    }

    async fn prepare_tools(
        &self,
        config: &Config,
        state: &State,
        tools: Vec<Arc<Registered<dyn Tool>>>,
        cx: &Context,
    ) -> Result<(Vec<PreparedTool>, Vec<ToolDescriptor>)> {
        // Side by side: one that has to be waited for does not hold up the others.
        let asked = tools.into_iter().map(|tool| self.prepare_tool(config, state, tool, cx));
        let (mut prepared, mut catalogue) = (Vec::new(), Vec::new());
        for answer in futures::future::join_all(asked).await {
            let (tool, schemas) = answer?;
            let plugin = tool.tool.name();
            let described = |schema| ToolDescriptor { schema, plugin: plugin.to_owned() };
            catalogue.extend(schemas.into_iter().map(described));
            prepared.push(tool);
        }
        Ok((prepared, catalogue))
    }

    async fn prepare_tool(
        &self,
        config: &Config,
        state: &State,
        tool: Arc<Registered<dyn Tool>>,
        cx: &Context,
    ) -> Result<(PreparedTool, Vec<Map>)> {
        // Before they are asked for: a change meanwhile must not be missed.
        let version = version_of(&tool);
        let ask = ToolSchemasInput { config: config.clone(), state: state.clone() };
        let schemas =
            self.runner.call(&tool, Hook::GetToolSchemas, |p| p.get_tool_schemas(&ask, cx)).await?;
        let ask = PrepareInput { config: config.clone(), state: state.clone(), schemas };
        let data =
            self.runner.call(&tool, Hook::PrepareTools, |p| p.prepare_tools(&ask, cx)).await?;
        let prepared = Arc::new(data);
        Ok((PreparedTool { tool, prepared, version }, ask.schemas))
    }

    async fn apply_tool_policy(
        &self,
        config: &Config,
        features: &[Arc<Registered<dyn Feature>>],
        tools: Vec<ToolDescriptor>,
        cx: &Context,
    ) -> Result<Vec<ToolDescriptor>> {
        let mut input = ToolPolicyInput { config: config.clone(), tools };
        for feature in features {
            let answer = self
                .runner
                .call(feature, Hook::FilterTools, |p| p.filter_tools(&input, cx))
                .await?;
            if let Some(tools) = answer {
                input.tools = tools;
            }
        }
        Ok(input.tools)
    }

    /// One tool of each name and type, because model servers refuse two, and those that are not used.
    /// That of a plugin which does not yield is used, else the first.
    fn without_namesakes(
        &self,
        mut tools: Vec<ToolDescriptor>,
    ) -> (Vec<ToolDescriptor>, Vec<UnusedTool>) {
        let yields = |plugin: &str| {
            let mut plugins = self.plugins.tools.iter();
            plugins.any(|held| held.name() == plugin && held.manifest.yields)
        };
        let key = |tool: &ToolDescriptor| {
            let of_type = tool.schema.get("type").and_then(Value::as_str).unwrap_or("function");
            Some((tool.name()?.to_owned(), of_type.to_owned()))
        };
        // By name: where the tool stands that is used, and whose it is.
        let mut used: HashMap<(String, String), (usize, String)> = HashMap::new();
        for (place, tool) in tools.iter().enumerate() {
            let Some(key) = key(tool) else { continue };
            let this = (place, tool.plugin.clone());
            match used.get(&key) {
                Some((_, held)) if !yields(held) || yields(&tool.plugin) => {}
                _ => drop(used.insert(key, this)),
            }
        }
        let (mut places, mut unused) = (0.., Vec::new());
        tools.retain(|tool| {
            let place = places.next();
            let held = key(tool).and_then(|key| used.get(&key));
            let Some((_, other)) = held.filter(|(held, _)| Some(*held) != place) else {
                return true;
            };
            let name = tool.name().unwrap_or_default().to_owned();
            let (plugin, other) = (tool.plugin.clone(), other.clone());
            unused.push(UnusedTool { name, plugin, other });
            false
        });
        (tools, unused)
    }
}

/// The form of a provider's native history.
fn native_format(provider: &RegisteredProvider, config: &Config) -> Result<String> {
    let Registered { plugin, .. } = &provider.provider;
    let name = provider.provider.name();
    let named = catch_unwind(AssertUnwindSafe(|| plugin.native_format(config)))
        .map_err(|panic| crate::hooks::panicked(&*panic).in_hook(name, "native_format"))?;
    Ok(named.unwrap_or_else(|| name.to_owned()))
}

/// The interop formats of a plugin.
fn formats<P: ?Sized>(plugin: &Registered<P>, ask: impl FnOnce(&P) -> Interop) -> Result<Interop> {
    catch_unwind(AssertUnwindSafe(|| ask(&plugin.plugin)))
        .map_err(|panic| crate::hooks::panicked(&*panic).in_hook(plugin.name(), "interop"))
}

/// The schemas as the provider wants them, as JSON text.
fn wire_tools(interop: &Registry, tools: &[ToolDescriptor]) -> Result<Option<Arc<str>>> {
    if tools.is_empty() {
        return Ok(None);
    }
    let written = |schema: &Map| match interop.schema_format() {
        Some(format) => interop.convert_schema(schema, format),
        None => None,
    };
    let schemas: Vec<Value> = tools
        .iter()
        .map(|tool| written(&tool.schema).unwrap_or_else(|| Value::Object(tool.schema.clone())))
        .collect();
    let text = serde_json::to_string(&schemas)
        .map_err(|error| Error::internal(format!("tool schemas do not serialise: {error}")))?;
    Ok(Some(text.into()))
}
