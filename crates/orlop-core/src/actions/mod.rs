//! Session-scoped actions of extensions and features: listing them, running one by hand, and
//! running those a lifecycle triggers.

mod ledger;
mod lifecycle;
mod refused;
mod response;

pub use ledger::{ChangeLedger, LedgerEntry};
pub use lifecycle::LifecycleRun;
pub(crate) use response::ResponseActions;

use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{ActionInput, ActionsInput, Extension, Feature, Hook, State};
use crate::plugin::{Manifest, Registered};
use crate::resolve::Resolution;
use crate::session::Session;
use orlop_types::{
    ActionDefinition, ActionOwner, ActionResult, Error, ErrorClass, Map, NativeItem, Result, Seq,
    Value,
};
use std::sync::Arc;

/// What to run by hand.
#[derive(Debug, Clone, Default)]
pub struct ActionCall {
    /// The plugin.
    pub plugin: String,
    /// Its action.
    pub action: String,
    /// The inputs.
    pub params: Map,
}

impl ActionCall {
    /// `action` of `plugin`, without inputs.
    pub fn new(plugin: impl Into<String>, action: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), action: action.into(), params: Map::new() }
    }

    /// With one more input.
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }
}

/// The plugin that owns an action.
pub(crate) enum Owner {
    Extension(Arc<Registered<dyn Extension>>),
    Feature(Arc<Registered<dyn Feature>>),
}

impl Owner {
    fn name(&self) -> &str {
        match self {
            Self::Extension(plugin) => plugin.name(),
            Self::Feature(plugin) => plugin.name(),
        }
    }

    fn kind(&self) -> ActionOwner {
        match self {
            Self::Extension(_) => ActionOwner::ProviderExtension,
            Self::Feature(_) => ActionOwner::Feature,
        }
    }
}

impl Core {
    /// The actions that active extensions and features offer on a session, in the order they
    /// would run, each with `plugin` and `action_owner`. None without a provider.
    pub async fn session_actions(&self, config: &Config) -> Result<Vec<ActionDefinition>> {
        if self.plugins.providers.is_empty() {
            return Ok(Vec::new());
        }
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, &CallContext::new("core"));
        let actions = self.collect_actions(&resolution, &resolution.state, &cx).await?;
        Ok(actions.into_iter().map(|(_, definition)| definition).collect())
    }

    /// All actions: of extensions in registration order, then of features by priority; definitions
    /// without an id are left out.
    pub(crate) async fn collect_actions(
        &self,
        resolution: &Resolution,
        state: &State,
        cx: &Context,
    ) -> Result<Vec<(Owner, ActionDefinition)>> {
        self.collect_from(resolution, state, cx, |_| true).await
    }

    /// The same of those that `lifecycle` triggers.
    pub(crate) async fn triggered_actions(
        &self,
        lifecycle: &str,
        resolution: &Resolution,
        state: &State,
        cx: &Context,
    ) -> Result<Vec<(Owner, ActionDefinition)>> {
        let asked = |manifest: &Manifest| manifest.may_act_at(lifecycle);
        let mut actions = self.collect_from(resolution, state, cx, asked).await?;
        actions.retain(|(_, definition)| definition.runs_at(lifecycle));
        Ok(actions)
    }

    /// The actions of the plugins that are `asked` for them.
    async fn collect_from(
        &self,
        resolution: &Resolution,
        state: &State,
        cx: &Context,
        asked: impl Fn(&Manifest) -> bool,
    ) -> Result<Vec<(Owner, ActionDefinition)>> {
        let ask = ActionsInput { state: state.clone() };
        let mut actions = Vec::new();
        let mut add = |owner: &dyn Fn() -> Owner, definitions: Vec<ActionDefinition>| {
            for mut definition in definitions.into_iter().filter(|found| !found.id.is_empty()) {
                let owner = owner();
                definition.plugin = Some(owner.name().to_owned());
                definition.action_owner = Some(owner.kind());
                actions.push((owner, definition));
            }
        };
        for plugin in resolution.extensions.iter().filter(|plugin| asked(&plugin.manifest)) {
            let found = self
                .runner
                .call(plugin, Hook::ExtensionGetActions, |p| p.get_actions(&ask, cx))
                .await?;
            add(&|| Owner::Extension(plugin.clone()), found);
        }
        for plugin in resolution.features.iter().filter(|plugin| asked(&plugin.manifest)) {
            let found = self
                .runner
                .call(plugin, Hook::FeatureGetActions, |p| p.get_actions(&ask, cx))
                .await?;
            add(&|| Owner::Feature(plugin.clone()), found);
        }
        Ok(actions)
    }

    /// Runs one action by hand, triggered or not, and gives the changed session and the public
    /// result.
    pub async fn execute_session_action(
        &self,
        session: &Session,
        config: &Config,
        call: ActionCall,
        context: &CallContext,
    ) -> Result<(Session, Map)> {
        for (what, value) in [("plugin", &call.plugin), ("action", &call.action)] {
            if value.is_empty() {
                return Err(Error::bad_argument(format!(
                    "the {what} id must be a non-empty string"
                )));
            }
        }
        let resolution = self.resolve(config).await?;
        resolution.provider()?;
        let cx = self.action_context(&resolution, config, context, session, None);
        let actions = self.collect_actions(&resolution, &resolution.state, &cx).await?;
        let is_meant = |(owner, definition): &(Owner, ActionDefinition)| {
            owner.name() == call.plugin && definition.id == call.action
        };
        let Some((owner, definition)) = actions.into_iter().find(is_meant) else {
            let why = self.why_not_offered(&resolution, config, &call.plugin);
            self.runner.refused(&call.plugin, &call.action, &why);
            return Err(unknown_action(&call));
        };
        let params = definition.validate(&call.params).inspect_err(|error| {
            self.runner.refused(&call.plugin, &call.action, error.message());
        })?;
        let native = self.native_for_action(&resolution, session, &cx).await?;
        let input = ActionInput {
            action_id: call.action,
            session: session.clone(),
            native_messages: native.clone(),
            params,
            state: (*resolution.state).clone(),
            revision: 0,
        };
        let mut result = self.run_action(&owner, input, &cx).await?;
        let (plugin, action) = (owner.name(), &definition.id);
        let native = ChangeLedger::default().admit(&native, plugin, action, &mut result)?;
        let session = self.apply_action(session, native, &result, &resolution, &cx).await?;
        Ok((session, public(result)))
    }

    /// What an action of a session is told.
    pub(crate) fn action_context(
        &self,
        resolution: &Arc<Resolution>,
        config: &Config,
        context: &CallContext,
        session: &Session,
        lifecycle: Option<&str>,
    ) -> Context {
        self.context(resolution, config, context).with(|inner| {
            inner.session = Some(session.clone());
            inner.lifecycle = lifecycle.map(str::to_owned);
        })
    }

    /// The native history an action works on: retained, else converted from the messages.
    pub(crate) async fn native_for_action(
        &self,
        resolution: &Resolution,
        session: &Session,
        cx: &Context,
    ) -> Result<Seq<NativeItem>> {
        match session.usable_native(resolution.native_format()?) {
            Some(native) => Ok(native.items().clone()),
            None => {
                let messages = session.messages().iter().cloned().collect();
                self.to_native(resolution, messages, cx).await
            }
        }
    }

    pub(crate) async fn run_action(
        &self,
        owner: &Owner,
        input: ActionInput,
        cx: &Context,
    ) -> Result<ActionResult> {
        self.runner.about_to_act(owner.name(), &input.action_id, cx.lifecycle());
        match owner {
            Owner::Extension(plugin) => {
                let hook = Hook::ExtensionExecuteAction;
                self.runner.call(plugin, hook, |p| p.execute_action(&input, cx)).await
            }
            Owner::Feature(plugin) => {
                let hook = Hook::FeatureExecuteAction;
                self.runner.call(plugin, hook, |p| p.execute_action(&input, cx)).await
            }
        }
    }

    /// The session after an action: messages derived from the native history it left, if it left
    /// another one, and its metadata patch laid on top.
    pub(crate) async fn apply_action(
        &self,
        session: &Session,
        native: Option<Seq<NativeItem>>,
        result: &ActionResult,
        resolution: &Resolution,
        cx: &Context,
    ) -> Result<Session> {
        let mut session = session.clone();
        if let Some(native) = native {
            let format = resolution.native_format()?;
            let (messages, native) =
                self.rebuild_from_native(resolution, native, false, cx).await?;
            session = session.with_native(messages.into_iter().collect(), native, format);
        }
        if let Some(Value::Object(patch)) = &result.session_metadata {
            session = session.with_metadata_patch(patch);
        }
        Ok(session)
    }

    /// Applies request-time initialisation to what an action works on, so that it sees the state
    /// a request would, compiled instructions included.
    pub async fn initialize_action_request(
        &self,
        native: Seq<NativeItem>,
        state: State,
        cx: &Context,
    ) -> Result<(Seq<NativeItem>, State)> {
        let resolution = cx.0.resolution.clone().filter(|resolution| resolution.provider.is_some());
        let resolution = resolution
            .ok_or_else(|| Error::bad_argument("request_runtime must include provider"))?;
        let ready = self.initialise(&resolution, native, state, cx).await?;
        Ok((ready.native, ready.state))
    }
}

/// What callers see of a result. Application effects are not a session action's to have.
pub(crate) fn public(result: ActionResult) -> Map {
    let mut public = result.public;
    for key in ["ui_effects", "mutations"] {
        if public.shift_remove(key).is_some() {
            tracing::warn!(target: "orlop::core", key, "a session action cannot have application effects; ignored");
        }
    }
    public
}

/// What a run records of an action whose changes were refused; any other error stops the run.
fn refusal(error: Error) -> Result<ActionResult> {
    if error.class() != ErrorClass::Conflict {
        return Err(error);
    }
    tracing::warn!(target: "orlop::core", %error, "an action's changes were refused");
    Ok(ActionResult::error(error.class().as_str(), error.to_string()))
}

fn unknown_action(call: &ActionCall) -> Error {
    Error::not_found(format!(
        "there is no session action \"{}\" of plugin \"{}\" for this configuration",
        call.action, call.plugin
    ))
}
