//! After the model call: finalise hooks, back to messages, response actions, the new session.

use super::Response;
use super::prepare::Prepared;
use super::provider_run::ProviderRun;
use crate::actions::ResponseActions;
use crate::core::Core;
use crate::hooks::{FinalizeInput, Hook, State};
use crate::session::convert::{Unmapped, apply, with_global_indices};
use crate::session::{Session, Transcript};
use orlop_types::json::merge_session_metadata;
use orlop_types::{Change, Edit, Map, Message, NativeItem, Result, Seq, Value, lifecycle};

/// A request whose answer is coming in.
pub(super) struct Running {
    pub(super) prepared: Prepared,
    pub(super) run: ProviderRun,
    /// The position of the first native item of this turn.
    pub(super) baseline: usize,
    /// The native items the provider finished so far.
    pub(super) finals: Vec<NativeItem>,
}

impl Core {
    pub(super) async fn finish(self, running: Running) -> Result<Response> {
        let Running { prepared, run, baseline, finals } = running;
        let input = FinalizeInput {
            final_messages: finals.into(),
            native_messages: run.native,
            state: run.state,
        };
        let (input, finalise_touched) = self.finalise(&prepared, input).await?;
        let FinalizeInput { final_messages: native_finals, native_messages: native, state } = input;

        let messages =
            self.from_native(&prepared.resolution, &native_finals, &state, &prepared.cx).await?;
        let messages = with_global_indices(
            messages,
            native_finals.len(),
            baseline,
            native.len(),
            Unmapped::TakeAll,
        );

        let actions = ResponseActions { finals: messages, native, native_finals, baseline };
        let done = self
            .run_response_actions(
                lifecycle::RESPONSE_FINALIZE,
                &prepared.resolution,
                actions,
                &state,
                &prepared.cx,
            )
            .await?;
        let mut finals = done.finals;
        if done.native_changed && !done.finals_changed {
            finals = self.derive_turn(&prepared, &done.native, baseline, &state).await?;
        }

        let touched = run.native_replaced || finalise_touched || done.native_changed;
        let patched = patched(&prepared.session, &state, &done.metadata_patch);
        let transcript =
            self.transcript(&prepared, &done.native, &finals, baseline, touched).await?;
        let format = prepared.resolution.provider()?.format();
        let session = patched.with_native(transcript, done.native, &format);
        if prepared.cx.stream() {
            tracing::debug!(target: "orlop::core", finals = finals.len(), "streaming request complete");
        } else {
            tracing::info!(target: "orlop::core", finals = finals.len(), "request complete");
        }
        Ok(Response { session, messages: finals, action_results: done.results })
    }

    /// Provider, extensions, then features by priority, each seeing what the one before left.
    /// Says, too, whether any of them touched native history.
    async fn finalise(
        &self,
        prepared: &Prepared,
        mut input: FinalizeInput,
    ) -> Result<(FinalizeInput, bool)> {
        let (resolution, cx) = (&prepared.resolution, &prepared.cx);
        let mut touched = false;
        macro_rules! finalise {
            ($plugin:expr, $hook:ident, $adjust:expr) => {{
                let (plugin, hook) = ($plugin, Hook::$hook);
                let change = self.runner.call(plugin, hook, |p| p.finalize(&input, cx)).await?;
                let change = $adjust(change);
                apply(change.final_messages, &mut input.final_messages, plugin.name(), hook)?;
                touched |=
                    apply(change.native_messages, &mut input.native_messages, plugin.name(), hook)?;
                change.state.apply(&mut input.state);
            }};
        }
        // Finals that a provider adds belong to its history, whether it says so twice or not.
        finalise!(
            &resolution.provider()?.provider,
            ProviderFinalize,
            |mut change: crate::hooks::FinalizeChange| {
                if let (Change::Edit(edits), true) =
                    (&change.final_messages, change.native_messages.is_keep())
                {
                    let added: Vec<_> = edits
                        .iter()
                        .filter(|edit| matches!(edit, Edit::Append { .. }))
                        .cloned()
                        .collect();
                    change.native_messages = Change::Edit(added);
                }
                change
            }
        );
        for extension in &resolution.extensions {
            finalise!(&**extension, ExtensionFinalize, |change| change);
        }
        for feature in &resolution.features {
            finalise!(&**feature, FeatureFinalize, |change| change);
        }
        Ok((input, touched))
    }

    /// The messages of this turn as native history now has them.
    async fn derive_turn(
        &self,
        prepared: &Prepared,
        native: &Seq<NativeItem>,
        baseline: usize,
        state: &State,
    ) -> Result<Vec<Message>> {
        let turn = native.suffix(baseline);
        let messages = self.from_native(&prepared.resolution, &turn, state, &prepared.cx).await?;
        Ok(with_global_indices(messages, turn.len(), baseline, native.len(), Unmapped::TakeAll))
    }

    /// The messages of the new session: the finals appended, or, where native history before this
    /// turn is not what the messages stand for, all of them derived anew.
    async fn transcript(
        &self,
        prepared: &Prepared,
        native: &Seq<NativeItem>,
        finals: &[Message],
        baseline: usize,
        touched: bool,
    ) -> Result<Transcript> {
        let history_rewritten = touched && native.prefix(baseline) != prepared.native;
        if !prepared.changed && !history_rewritten {
            let mut messages = prepared.messages.clone();
            finals.iter().for_each(|message| messages.push(message.clone()));
            return Ok(messages);
        }
        let (rebuilt, _) = self
            .rebuild_from_native(&prepared.resolution, native.clone(), true, &prepared.cx)
            .await?;
        // What belongs to this turn is what the caller gets, too.
        let is_earlier = |message: &Message| {
            !message
                .native_indices()
                .positions()
                .is_some_and(|all| all.iter().all(|&index| index >= baseline))
        };
        Ok(rebuilt.into_iter().filter(is_earlier).chain(finals.iter().cloned()).collect())
    }
}

/// The session with the state's metadata patch and the actions' patch on top.
fn patched(session: &Session, state: &State, actions: &Map) -> Session {
    let mut patch = Map::new();
    if let Some(Value::Object(own)) = &state.session_metadata_patch {
        patch = own.clone();
    }
    merge_session_metadata(&mut patch, actions);
    session.with_metadata_patch(&patch)
}
