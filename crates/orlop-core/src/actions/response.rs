//! The lifecycle the core itself owns: actions on the response in flight, before it is given out.

use super::{ChangeLedger, public, refusal};
use crate::context::{Context, ResponseInFlight};
use crate::core::Core;
use crate::hooks::{ActionInput, State};
use crate::resolve::Resolution;
use crate::session::convert::{Unmapped, turn_start, with_global_indices};
use orlop_types::{
    ActionRecord, ActionResult, Error, Map, Message, NativeItem, Result, Seq, Value,
};

/// The response as the actions find it.
pub(crate) struct ResponseActions {
    pub(crate) finals: Vec<Message>,
    pub(crate) native: Seq<NativeItem>,
    pub(crate) native_finals: Seq<NativeItem>,
    pub(crate) baseline: usize,
}

/// The response as the actions left it.
pub(crate) struct ResponseDone {
    pub(crate) finals: Vec<Message>,
    pub(crate) native: Seq<NativeItem>,
    pub(crate) native_changed: bool,
    /// Where the items of this turn begin in native history now.
    pub(crate) baseline: usize,
    /// What the actions patch in the session's metadata, in order.
    pub(crate) metadata_patches: Vec<Map>,
    pub(crate) results: Vec<ActionRecord>,
}

impl Core {
    /// Runs the matching actions of the request's extensions and features. Each sees finals and
    /// native history as the one before left them, and the session as it was before the request.
    /// Where an action changes native history and says nothing of the finals, they are derived
    /// from it anew.
    pub(crate) async fn run_response_actions(
        &self,
        lifecycle: &str,
        resolution: &Resolution,
        response: ResponseActions,
        state: &State,
        cx: &Context,
    ) -> Result<ResponseDone> {
        self.runner.about_to_run(lifecycle);
        let ResponseActions { finals, native, native_finals, baseline } = response;
        let mut done = ResponseDone {
            finals,
            native,
            native_changed: false,
            baseline,
            metadata_patches: Vec::new(),
            results: Vec::new(),
        };
        let mut ledger = ChangeLedger::default();
        let triggered = self.triggered_actions(lifecycle, resolution, state, cx).await?;
        for (owner, definition) in triggered {
            let session = cx
                .session()
                .cloned()
                .ok_or_else(|| Error::internal("a response without a session"))?;
            let cx = cx.with(|inner| {
                inner.lifecycle = Some(lifecycle.to_owned());
                inner.response = Some(ResponseInFlight {
                    final_messages: done.finals.clone(),
                    native_final_messages: native_finals.clone(),
                    native_messages: done.native.clone(),
                    turn_native_start_index: done.baseline,
                });
            });
            let input = ActionInput {
                action_id: definition.id.clone(),
                session,
                native_messages: done.native.clone(),
                params: definition.validate(&Map::new())?,
                state: state.clone(),
                revision: ledger.revision(),
            };
            let mut result = self.run_action(&owner, input, &cx).await?;
            let mut changed = false;
            match ledger.admit(&done.native, owner.name(), &definition.id, &mut result) {
                Ok(native) => {
                    changed = native.is_some();
                    done.take_in(native, &result);
                    match result.final_messages.take() {
                        Some(finals) => done.finals = finals,
                        None if changed => {
                            done.finals = self.derive_finals(&done, resolution, state, &cx).await?;
                        }
                        None => {}
                    }
                }
                Err(error) => result = refusal(error)?,
            }
            done.results.push(ActionRecord {
                plugin: owner.name().to_owned(),
                action_id: definition.id,
                action_owner: owner.kind(),
                result: public(result),
                changed,
            });
        }
        Ok(done)
    }

    /// The messages that the items of this turn stand for.
    async fn derive_finals(
        &self,
        response: &ResponseDone,
        resolution: &Resolution,
        state: &State,
        cx: &Context,
    ) -> Result<Vec<Message>> {
        let ResponseDone { native, baseline, .. } = response;
        let turn = native.suffix(*baseline);
        let messages = self.from_native(resolution, &turn, state, cx).await?;
        Ok(with_global_indices(messages, turn.len(), *baseline, native.len(), Unmapped::TakeAll))
    }
}

impl ResponseDone {
    fn take_in(&mut self, native: Option<Seq<NativeItem>>, result: &ActionResult) {
        if let Some(native) = native {
            self.baseline = turn_start(&self.native, &native, self.baseline);
            self.native = native;
            self.native_changed = true;
        }
        if let Some(Value::Object(patch)) = &result.session_metadata {
            self.metadata_patches.push(patch.clone());
        }
    }
}
