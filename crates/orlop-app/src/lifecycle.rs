//! Lifecycles: the actions of application plugins, then those of the core, each on the session as
//! the one before left it.

use crate::application::{Agent, Application, ApplicationEntry};
use crate::sessions::updated;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, Hook};
use orlop_core::types::nearest::nearest;
use orlop_core::types::{ActionOwner, ActionRecord, ActionStatus};
use orlop_core::{
    ActionDefinition, ActionResult, CallContext, Config, Core, Error, LifecycleRun, Map, Result,
    Session, TriggerSource, Value,
};

impl Application {
    /// Runs the actions that `lifecycle` triggers on a session, with `extra` told beside the keys
    /// of the layers. Any name will do. Nothing is stored.
    pub async fn run_session_lifecycle(
        &self,
        lifecycle: &str,
        session: &Session,
        config: &Config,
        extra: Map,
    ) -> Result<LifecycleRun> {
        let agent = self.agent_of(session)?;
        let app = self.in_flow().telling(extra);
        app.hooked().run(lifecycle, session, &agent, config, &[]).await
    }

    /// Runs a lifecycle on a stored session, and stores what it made of it.
    pub async fn run_stored_lifecycle(
        &self,
        lifecycle: &str,
        session_id: &str,
        extra: Map,
    ) -> Result<LifecycleRun> {
        let app = self.in_flow().telling(extra).changing("run a lifecycle")?;
        let lock = app.lock(session_id, app.wait).await?;
        let session = app.session(session_id).await?.session;
        let agent = app.agent_of(&session)?;
        let config = app.effective(&agent, &session, &[]);
        let mut run = app.hooked().run(lifecycle, &session, &agent, &config, &[]).await?;
        if run.session != session {
            let event = |_: Option<&str>| updated(lifecycle);
            run.session = app.save_locked(&lock, run.session, event).await?;
        }
        lock.release().await;
        Ok(run)
    }

    /// The same handle, with more data of the caller. Reserved keys are dropped with a warning.
    pub fn telling(&self, data: Map) -> Self {
        Self { caller: self.caller.clone().with_all(data), ..self.clone() }
    }

    /// The actions of all application plugins.
    pub async fn application_actions(&self) -> Result<Vec<ActionDefinition>> {
        let (mut all, cx) = (Vec::new(), self.host_context());
        for entry in &self.shared.applications {
            all.extend(self.hooked().actions_of(entry, &cx).await?);
        }
        Ok(all)
    }
}

/// Calls of application plugins, and lifecycle runs made of them.
pub(crate) struct Hooked<'a> {
    pub(crate) app: &'a Application,
}

/// Values that a lifecycle owns: `error`, `original_session` and the like.
pub(crate) type Owned<'a> = &'a [(&'static str, Value)];

impl Hooked<'_> {
    /// The actions of one application plugin, with its name in them.
    pub(crate) async fn actions_of(
        &self,
        entry: &ApplicationEntry,
        cx: &orlop_core::Context,
    ) -> Result<Vec<ActionDefinition>> {
        let input = ApplicationActionsInput { state: entry.state.clone() };
        let hook = Hook::ApplicationGetActions;
        let found =
            self.app.runner().call(&entry.plugin, hook, |p| p.get_actions(&input, cx)).await?;
        let owned = found.into_iter().filter(|action| !action.id.is_empty()).map(|mut action| {
            action.plugin = Some(entry.plugin.name().to_owned());
            action.action_owner = Some(ActionOwner::Application);
            action
        });
        Ok(owned.collect())
    }

    /// Runs one action of an application plugin with inputs that were validated.
    pub(crate) async fn execute(
        &self,
        entry: &ApplicationEntry,
        action: &str,
        params: Map,
        cx: &orlop_core::Context,
    ) -> Result<ActionResult> {
        let input = ApplicationActionInput {
            action_id: action.to_owned(),
            params,
            state: entry.state.clone(),
        };
        let hook = Hook::ApplicationExecuteAction;
        let runner = self.app.runner();
        runner.about_to_act(entry.plugin.name(), action, cx.lifecycle());
        runner.call(&entry.plugin, hook, |p| p.execute_action(&input, cx)).await
    }

    /// What an action of an application plugin is told.
    pub(crate) fn context(
        &self,
        agent: Option<&Agent>,
        config: &Config,
        session: Option<&Session>,
        lifecycle: Option<&str>,
        source: TriggerSource,
        owned: Owned<'_>,
    ) -> orlop_core::Context {
        let (core, base) = match agent {
            Some(agent) => (self.app.core_of(agent), agent.base.clone()),
            None => (Core::new(), Config::new(self.app.shared.config.raw())),
        };
        core.call_context(config, self.call(&base, source, owned), session, lifecycle)
    }

    fn call(&self, base: &Config, source: TriggerSource, owned: Owned<'_>) -> CallContext {
        let layer = self.app.layer(base, source);
        owned.iter().fold(layer, |layer, (key, value)| layer.owning(key, value.clone()))
    }

    /// Whether any action runs at `lifecycle`.
    pub(crate) async fn listens(
        &self,
        lifecycle: &str,
        agent: &Agent,
        config: &Config,
    ) -> Result<bool> {
        let cx = self.app.host_context();
        for entry in self.asked_at(lifecycle) {
            if self.actions_of(entry, &cx).await?.iter().any(|action| action.runs_at(lifecycle)) {
                return Ok(true);
            }
        }
        let actions = self.app.core_of(agent).session_actions(config).await?;
        Ok(actions.iter().any(|action| action.runs_at(lifecycle)))
    }

    /// The application plugins whose actions `lifecycle` may trigger.
    fn asked_at(&self, lifecycle: &str) -> impl Iterator<Item = &ApplicationEntry> + Send {
        let entries = self.app.shared.applications.iter();
        entries.filter(move |entry| entry.plugin.manifest.may_act_at(lifecycle))
    }

    /// The whole run. Fails with the first action that fails; the session is then as it was.
    pub(crate) async fn run(
        &self,
        lifecycle: &str,
        session: &Session,
        agent: &Agent,
        config: &Config,
        owned: Owned<'_>,
    ) -> Result<LifecycleRun> {
        if lifecycle.is_empty() {
            return Err(Error::bad_argument("the lifecycle name must be a non-empty string"));
        }
        let mut run = LifecycleRun { session: session.clone(), results: Vec::new() };
        // On the heap: every operation on a session runs lifecycles, and would have room for them as
        // long as it lasts.
        Box::pin(self.run_application(lifecycle, agent, config, owned, &mut run)).await?;
        let call = self.call(&agent.base, TriggerSource::Application, owned);
        let core = self.app.core_of(agent);
        let actions = core.execute_lifecycle_actions(&run.session, config, lifecycle, &call);
        let inner = Box::pin(actions).await?;
        run.session = inner.session;
        run.results.extend(inner.results);
        for record in &run.results {
            warn_of_error(lifecycle, record);
        }
        Ok(run)
    }

    async fn run_application(
        &self,
        lifecycle: &str,
        agent: &Agent,
        config: &Config,
        owned: Owned<'_>,
        run: &mut LifecycleRun,
    ) -> Result<()> {
        if self.asked_at(lifecycle).next().is_none() {
            return Ok(());
        }
        let id = run.session.id().to_owned();
        let flow = self.app.flow.clone().unwrap_or_default();
        let before = flow.set_current(&id, Some(run.session.clone()));
        let done = self.run_entries(lifecycle, agent, config, owned, run, &flow).await;
        flow.set_current(&id, before);
        done
    }

    async fn run_entries(
        &self,
        lifecycle: &str,
        agent: &Agent,
        config: &Config,
        owned: Owned<'_>,
        run: &mut LifecycleRun,
        flow: &crate::lock::Flow,
    ) -> Result<()> {
        let id = run.session.id().to_owned();
        let asking = self.app.host_context();
        for entry in self.asked_at(lifecycle) {
            for action in self.actions_of(entry, &asking).await? {
                if !action.runs_at(lifecycle) {
                    continue;
                }
                let params = action.validate(&implied(&action, &id, &agent.id))?;
                let cx = self.context(
                    Some(agent),
                    config,
                    Some(&run.session),
                    Some(lifecycle),
                    TriggerSource::Application,
                    owned,
                );
                let mut result = self.execute(entry, &action.id, params, &cx).await?;
                // What the action saved, then what it patched.
                let mut changed = false;
                if let Some(current) = flow.current(&id) {
                    changed = current.messages() != run.session.messages();
                    run.session = current;
                }
                if let Some(Value::Object(patch)) = result.session_metadata.take() {
                    run.session = run.session.with_metadata_patch(&patch);
                    flow.set_current(&id, Some(run.session.clone()));
                }
                run.results.push(ActionRecord {
                    plugin: entry.plugin.name().to_owned(),
                    action_id: action.id,
                    action_owner: ActionOwner::Application,
                    result: result.public,
                    changed,
                });
            }
        }
        Ok(())
    }
}

/// What a triggered action gets without anybody giving it: `session_id` and `agent_id`, where it
/// declares them.
fn implied(action: &ActionDefinition, session: &str, agent: &str) -> Map {
    let values = [("session_id", session), ("agent_id", agent)];
    let declared = values.into_iter().filter(|(name, _)| action.inputs.contains_key(*name));
    declared.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn warn_of_error(lifecycle: &str, record: &ActionRecord) {
    let result = ActionResult { public: record.result.clone(), ..ActionResult::default() };
    if result.status() == ActionStatus::Error {
        let reason = record.result.get("error").or_else(|| record.result.get("message"));
        tracing::warn!(
            target: "orlop::app",
            plugin = record.plugin,
            action = record.action_id,
            lifecycle,
            reason = reason.map(ToString::to_string).unwrap_or_default(),
            "an action reported an error"
        );
    }
}

/// Tells of an action that waits for what nobody runs, if another lifecycle was probably meant.
/// Other plugins may run lifecycles of their own, so that a name alone is nothing to tell of.
pub fn tell_of_mistyped_triggers(plugin: &str, action: &ActionDefinition) {
    for name in action.lifecycles() {
        let known = orlop_core::lifecycle::STANDARD.iter().map(|(name, _)| *name);
        if known.clone().any(|known| known == name) {
            continue;
        }
        if let Some(meant) = nearest(name, known) {
            let id = &action.id;
            tracing::error!(target: "orlop::plugins", "the action \"{id}\" of the plugin \"{plugin}\" waits for \"{name}\", which Orlop never runs; did you mean \"{meant}\"?");
        }
    }
}
