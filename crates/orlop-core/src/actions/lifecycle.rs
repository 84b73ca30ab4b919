//! Runs every action that a lifecycle triggers, one after another, each on the session as the one
//! before left it.

use super::ledger::ChangeLedger;
use super::{public, refusal};
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use crate::hooks::ActionInput;
use crate::session::Session;
use orlop_types::{ActionRecord, Error, Map, Result};

/// What a lifecycle run gives.
#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleRun {
    /// The session after all actions.
    pub session: Session,
    /// What each action reported, in order.
    pub results: Vec<ActionRecord>,
}

impl Core {
    /// Runs the actions of extensions and features whose trigger is `lifecycle`; any name will do.
    ///
    /// An action that answers with `error` is recorded and the run goes on; one that fails stops
    /// the run and nothing of it is kept. Without a provider nothing runs.
    pub async fn execute_lifecycle_actions(
        &self,
        session: &Session,
        config: &Config,
        lifecycle: &str,
        context: &CallContext,
    ) -> Result<LifecycleRun> {
        if lifecycle.is_empty() {
            return Err(Error::bad_argument("the lifecycle name must be a non-empty string"));
        }
        let mut run = LifecycleRun { session: session.clone(), results: Vec::new() };
        if self.plugins.providers.is_empty() {
            return Ok(run);
        }
        self.runner.about_to_run(lifecycle);
        let resolution = self.resolve(config).await?;
        let state = &resolution.state;
        let cx = self.action_context(&resolution, config, context, session, Some(lifecycle));
        let mut ledger = ChangeLedger::default();
        let triggered = self.triggered_actions(lifecycle, &resolution, state, &cx).await?;
        for (owner, definition) in triggered {
            let params = definition.validate(&Map::new())?;
            let cx =
                self.action_context(&resolution, config, context, &run.session, Some(lifecycle));
            let native = self.native_for_action(&resolution, &run.session, &cx).await?;
            let input = ActionInput {
                action_id: definition.id.clone(),
                session: run.session.clone(),
                native_messages: native.clone(),
                params,
                state: (**state).clone(),
                revision: ledger.revision(),
            };
            let mut result = self.run_action(&owner, input, &cx).await?;
            let mut has_changed = false;
            match ledger.admit(&native, owner.name(), &definition.id, &mut result) {
                Ok(changed) => {
                    has_changed = changed.is_some();
                    run.session =
                        self.apply_action(&run.session, changed, &result, &resolution, &cx).await?;
                }
                Err(error) => result = refusal(error)?,
            }
            run.results.push(ActionRecord {
                plugin: owner.name().to_owned(),
                action_id: definition.id,
                action_owner: owner.kind(),
                result: public(result),
                changed: has_changed,
            });
        }
        Ok(run)
    }
}
