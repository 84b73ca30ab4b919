//! The lifecycle the core itself owns: actions on the response in flight, before it is given out.

use super::{Owner, public};
use crate::context::{Context, ResponseInFlight};
use crate::core::Core;
use crate::hooks::{ActionInput, State};
use crate::resolve::Resolution;
use orlop_types::json::merge_session_metadata;
use orlop_types::{ActionRecord, Error, Map, Message, NativeItem, Result, Seq, Value};

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
    pub(crate) finals_changed: bool,
    pub(crate) native: Seq<NativeItem>,
    pub(crate) native_changed: bool,
    pub(crate) metadata_patch: Map,
    pub(crate) results: Vec<ActionRecord>,
}

impl Core {
    /// Runs the matching actions of the request's extensions and features. Each sees finals and
    /// native history as the one before left them, and the session as it was before the request.
    pub(crate) async fn run_response_actions(
        &self,
        lifecycle: &str,
        resolution: &Resolution,
        response: ResponseActions,
        state: &State,
        cx: &Context,
    ) -> Result<ResponseDone> {
        let ResponseActions { finals, native, native_finals, baseline } = response;
        let mut done = ResponseDone {
            finals,
            finals_changed: false,
            native,
            native_changed: false,
            metadata_patch: Map::new(),
            results: Vec::new(),
        };
        for (owner, definition) in self.collect_actions(resolution, state, cx).await? {
            if !definition.runs_at(lifecycle) {
                continue;
            }
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
                    turn_native_start_index: baseline,
                });
            });
            let input = ActionInput {
                action_id: definition.id.clone(),
                session,
                native_messages: done.native.clone(),
                params: definition.validate(&Map::new())?,
                state: state.clone(),
                revision: done.results.len() as u64,
            };
            self.take_in(&mut done, &owner, input, &cx).await?;
        }
        Ok(done)
    }

    async fn take_in(
        &self,
        done: &mut ResponseDone,
        owner: &Owner,
        input: ActionInput,
        cx: &Context,
    ) -> Result<()> {
        let action_id = input.action_id.clone();
        let mut result = self.run_action(owner, input, cx).await?;
        if let Some(finals) = result.final_messages.take() {
            done.finals = finals;
            done.finals_changed = true;
        }
        if let Some(native) = super::ledger::changed(&done.native, &mut result)? {
            done.native = native;
            done.native_changed = true;
        }
        if let Some(Value::Object(patch)) = &result.session_metadata {
            merge_session_metadata(&mut done.metadata_patch, patch);
        }
        done.results.push(ActionRecord {
            plugin: owner.name().to_owned(),
            action_id,
            action_owner: owner.kind(),
            result: public(result),
        });
        Ok(())
    }
}
