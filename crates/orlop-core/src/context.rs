//! What a hook knows of the call it belongs to: data and handles, in layers that each own their keys.
//!
//! The core owns `config`, `session`, `trigger_source` and the like, the application adds `app`
//! and `base_config`, a surface adds its own. Callers may add data under any other key; a
//! reserved key from a caller is dropped with a warning.

use crate::cancel::Cancellation;
use crate::config::Config;
use crate::core::Core;
use crate::interop::Registry;
use crate::resolve::Resolution;
use crate::session::Session;
use orlop_types::{Map, Message, NativeItem, Seq, ToolDescriptor, Value};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::sync::Arc;

/// Keys owned by the layers; callers cannot set them.
pub const RESERVED_KEYS: &[&str] = &[
    "core",
    "config",
    "trigger_source",
    "session",
    "lifecycle",
    "request_context",
    "request_runtime",
    "app",
    "application",
    "base_config",
    "session_asset_store",
    "terminal",
    "server",
    "request_id",
    "original_session",
    "previous_agent_id",
    "next_agent_id",
    "error",
    "delete_reason",
    "final_messages",
    "native_final_messages",
    "native_messages",
    "stream",
    "turn_native_start_index",
    "revision",
    "cancellation",
    "tool_call",
    "tool_result",
    "decision",
    "env",
];

/// Who started the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerSource {
    /// The core itself.
    #[default]
    Core,
    /// The application.
    Application,
    /// The HTTP server.
    Server,
    /// A person.
    Manual,
}

/// What a caller and the layers above the core pass along with a call.
///
/// ```
/// use orlop_core::CallContext;
/// let context = CallContext::new("terminal").with("theme", "dark").with("config", "ignored");
/// assert_eq!(context.data().len(), 1);
/// ```
#[derive(Clone, Default)]
pub struct CallContext {
    caller: &'static str,
    data: Map,
    /// Shared, because each hook is handed a copy.
    owned: Vec<(&'static str, Arc<Value>)>,
    trigger_source: TriggerSource,
    handles: Vec<(&'static str, Arc<dyn Any + Send + Sync>)>,
    cancellation: Option<Arc<dyn Cancellation>>,
}

impl CallContext {
    /// The context of a call by `caller`, a name for warnings.
    pub fn new(caller: &'static str) -> Self {
        Self { caller, ..Self::default() }
    }

    /// Adds data of the caller, JSON and nothing else. A reserved key is dropped with a warning.
    ///
    /// ```compile_fail
    /// orlop_core::CallContext::new("terminal").with("out", std::io::stdout());
    /// ```
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if RESERVED_KEYS.contains(&key) {
            tracing::warn!(target: "orlop::core", caller = self.caller, key, "context key is reserved; the caller's value is ignored");
        } else {
            self.data.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Adds all entries of a mapping as data of the caller.
    pub fn with_all(self, data: Map) -> Self {
        data.into_iter().fold(self, |context, (key, value)| context.with(&key, value))
    }

    /// For layers above the core: sets data under a key the layer owns.
    pub fn owning(self, key: &'static str, value: impl Into<Value>) -> Self {
        self.owning_shared(key, Arc::new(value.into()))
    }

    /// The same with a value that is kept elsewhere, too, and too large to be copied for each call.
    pub fn owning_shared(mut self, key: &'static str, value: Arc<Value>) -> Self {
        self.owned.retain(|(held, _)| *held != key);
        self.owned.push((key, value));
        self
    }

    /// For layers above the core: lends a live object under a key the layer owns.
    pub fn lending<T: Any + Send + Sync>(mut self, key: &'static str, handle: Arc<T>) -> Self {
        self.handles.push((key, handle));
        self
    }

    /// For layers above the core: says who started the call.
    pub fn from_source(mut self, source: TriggerSource) -> Self {
        self.trigger_source = source;
        self
    }

    /// Who started the call.
    pub fn source(&self) -> TriggerSource {
        self.trigger_source
    }

    /// Makes hooks and tools of this call see a cancellation.
    pub fn cancelled_by(mut self, cancellation: Arc<dyn Cancellation>) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// What a layer above the core set under a key it owns.
    pub fn owned(&self, key: &str) -> Option<&Value> {
        self.owned.iter().find(|(held, _)| *held == key).map(|(_, value)| &**value)
    }

    /// Data of the caller.
    pub fn data(&self) -> &Map {
        &self.data
    }

    pub(crate) fn cancellation(&self) -> Option<&Arc<dyn Cancellation>> {
        self.cancellation.as_ref()
    }
}

/// What the `response_finalize` lifecycle sees of the response in flight.
#[derive(Clone)]
pub struct ResponseInFlight {
    /// The finals as messages.
    pub final_messages: Vec<Message>,
    /// The finals as native items.
    pub native_final_messages: Seq<NativeItem>,
    /// The whole native history.
    pub native_messages: Seq<NativeItem>,
    /// The position of the first native item of this turn.
    pub turn_native_start_index: usize,
}

/// What a hook is told beside its input. Cloning is one pointer.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Inner>);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) core: Core,
    pub(crate) config: Config,
    pub(crate) call: Arc<CallContext>,
    pub(crate) resolution: Option<Arc<Resolution>>,
    pub(crate) session: Option<Session>,
    pub(crate) request_id: Option<String>,
    pub(crate) stream: bool,
    pub(crate) lifecycle: Option<String>,
    pub(crate) response: Option<ResponseInFlight>,
}

impl Context {
    pub(crate) fn new(core: Core, config: Config, call: Arc<CallContext>) -> Self {
        Self(Arc::new(Inner {
            core,
            config,
            call,
            resolution: None,
            session: None,
            request_id: None,
            stream: false,
            lifecycle: None,
            response: None,
        }))
    }

    /// The same context with `change` made.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = (*self.0).clone();
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// The core, for session operations and requests.
    pub fn core(&self) -> &Core {
        &self.0.core
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The configuration of the agent where the application gave one, else the resolved one.
    pub fn base_config(&self) -> Config {
        match self.0.call.owned("base_config") {
            Some(Value::Object(values)) => Config::new(values.clone()),
            _ => self.0.config.clone(),
        }
    }

    /// The session the call is about.
    pub fn session(&self) -> Option<&Session> {
        self.0.session.as_ref()
    }

    /// The id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Whether the request streams.
    pub fn stream(&self) -> bool {
        self.0.stream
    }

    /// The lifecycle that triggered the call.
    pub fn lifecycle(&self) -> Option<&str> {
        self.0.lifecycle.as_deref()
    }

    /// Who started the call.
    pub fn trigger_source(&self) -> TriggerSource {
        self.0.call.trigger_source
    }

    /// The response in flight, at `response_finalize`.
    pub fn response(&self) -> Option<&ResponseInFlight> {
        self.0.response.as_ref()
    }

    /// The name of the provider in use.
    pub fn provider(&self) -> Option<&str> {
        Some(self.0.resolution.as_ref()?.provider.as_ref()?.provider.name())
    }

    /// How many tokens the configured model takes: the setting `context_window`, else what the
    /// provider knows.
    pub fn context_window(&self) -> Option<u64> {
        self.core().context_window(self.config())
    }

    /// What an answer of `model` with these token counts cost in US dollars, if a price is
    /// configured or the provider knows one.
    pub fn cost(&self, model: &str, usage: &Map) -> Option<f64> {
        self.core().cost(self.config(), model, usage)
    }

    /// The names of the enabled extensions.
    pub fn extensions(&self) -> Vec<&str> {
        self.names(|resolution| resolution.extensions.iter().map(|plugin| plugin.name()).collect())
    }

    /// The names of the enabled features, in the order they run.
    pub fn features(&self) -> Vec<&str> {
        self.names(|resolution| resolution.features.iter().map(|plugin| plugin.name()).collect())
    }

    /// The names of the enabled tool plugins.
    pub fn tool_plugins(&self) -> Vec<&str> {
        self.names(|resolution| resolution.tools.iter().map(|tool| tool.tool.name()).collect())
    }

    fn names<'a>(&'a self, list: impl FnOnce(&'a Resolution) -> Vec<&'a str>) -> Vec<&'a str> {
        self.0.resolution.as_deref().map(list).unwrap_or_default()
    }

    /// The tags in force.
    pub fn tags(&self) -> &[String] {
        self.0.resolution.as_ref().map_or(&[], |resolution| &resolution.tags)
    }

    /// The model descriptors.
    pub fn models(&self) -> &[Map] {
        self.0.resolution.as_ref().map_or(&[], |resolution| &resolution.models)
    }

    /// The full tool catalogue.
    pub fn available_tools(&self) -> &[ToolDescriptor] {
        self.0.resolution.as_ref().map_or(&[], |resolution| &resolution.available)
    }

    /// The tool catalogue after feature policy.
    pub fn tools(&self) -> &[ToolDescriptor] {
        self.0.resolution.as_ref().map_or(&[], |resolution| &resolution.effective)
    }

    /// The effective tool schemas in the provider's own form, as JSON text; `None` without tools.
    pub fn wire_tools(&self) -> Option<&str> {
        self.0.resolution.as_ref().and_then(|resolution| resolution.wire_tools.as_deref())
    }

    /// The interop registry in force.
    pub fn interop(&self) -> Option<&Registry> {
        self.0.resolution.as_ref().map(|resolution| &resolution.interop)
    }

    /// The cancellation of the call.
    pub fn cancellation(&self) -> Option<&Arc<dyn Cancellation>> {
        self.0.call.cancellation()
    }

    /// Whether the call has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation().is_some_and(|cancellation| cancellation.is_cancelled())
    }

    /// A value set by the caller or by a layer above the core.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.call.owned(key).or_else(|| self.0.call.data.get(key))
    }

    /// A live object lent by a layer above the core, such as `app`.
    pub fn handle<T: Any + Send + Sync>(&self, key: &str) -> Option<Arc<T>> {
        let key = if key == "application" { "app" } else { key };
        let (_, handle) = self.lent().find(|(name, _)| *name == key)?;
        handle.clone().downcast().ok()
    }

    /// The names of the live objects: `core`, and what the layers above lend.
    pub fn handles(&self) -> Vec<&'static str> {
        let mut names = vec!["core"];
        for (name, _) in self.lent() {
            if names.contains(name) {
                continue;
            }
            names.push(name);
            if *name == "app" {
                names.push("application");
            }
        }
        names
    }

    /// What the call lends, then what the core lends to all calls.
    fn lent(&self) -> impl Iterator<Item = &(&'static str, Arc<dyn Any + Send + Sync>)> {
        self.0.call.handles.iter().chain(self.0.core.lent.iter())
    }

    /// The provider and the features of the request, as actions see it under `request_runtime`.
    pub fn request_runtime(&self) -> Value {
        serde_json::json!({ "provider": self.provider(), "features": self.features() })
    }

    /// What the caller and the layers above the core told of the call.
    pub fn told(&self) -> Map {
        let mut told = self.0.call.data.clone();
        let owned = self.0.call.owned.iter();
        told.extend(owned.map(|(key, value)| ((*key).to_owned(), (**value).clone())));
        told
    }

    /// What is known of the request and its plugins, as actions see it under `request_context`.
    pub fn request_context(&self) -> Value {
        serde_json::json!({
            "provider": self.provider(),
            "extensions": self.extensions(),
            "features": self.features(),
            "enabled_tools": self.tool_plugins(),
            "tags": self.tags(),
            "models": self.models(),
            "available_tools": self.available_tools(),
            "tools": self.tools(),
            "request_id": self.request_id(),
            "stream": self.stream(),
        })
    }

    /// The data of all layers as one mapping, for plugins in other languages.
    pub fn to_json(&self) -> Map {
        let inner = &*self.0;
        let mut data = Map::new();
        let mut put = |key: &str, value: Value| {
            data.insert(key.to_owned(), value);
        };
        put("config", Value::Object(inner.config.values().clone()));
        put("trigger_source", serde_json::to_value(self.trigger_source()).unwrap_or_default());
        if let Some(session) = &inner.session {
            put("session", session.to_json());
        }
        if let Some(lifecycle) = &inner.lifecycle {
            put("lifecycle", lifecycle.as_str().into());
        }
        put("request_context", self.request_context());
        put("request_runtime", self.request_runtime());
        if let Some(response) = &inner.response {
            put(
                "final_messages",
                serde_json::to_value(&response.final_messages).unwrap_or_default(),
            );
            put(
                "native_final_messages",
                serde_json::to_value(&response.native_final_messages).unwrap_or_default(),
            );
            put(
                "native_messages",
                serde_json::to_value(&response.native_messages).unwrap_or_default(),
            );
            put("stream", inner.stream.into());
            put("turn_native_start_index", response.turn_native_start_index.into());
        }
        data.extend(self.told());
        data
    }
}
