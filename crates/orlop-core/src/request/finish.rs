//! After the model call: finalise hooks, back to messages, response actions, the new session.

use super::Response;
use super::prepare::Prepared;
use super::provider_run::ProviderRun;
use crate::actions::ResponseActions;
use crate::core::Core;
use crate::hooks::{FinalizeInput, Hook, State};
use crate::session::convert::{Unmapped, apply, turn_start, with_global_indices};
use crate::session::{Session, Transcript};
use orlop_types::{
    Change, Edit, Map, Message, NativeIndices, NativeItem, Result, Seq, Value, lifecycle,
};

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
        let Running { prepared, run, mut baseline, finals } = running;
        if run.native_replaced {
            let mut expected = prepared.native.clone();
            expected.extend(finals.iter().cloned());
            baseline = turn_start(&expected, &run.native, baseline);
        }
        let input = FinalizeInput {
            final_messages: finals.into(),
            native_messages: run.native,
            state: run.state,
        };
        let Finalised { input, touched, baseline } =
            self.finalise(&prepared, input, baseline).await?;
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
        let touched = run.native_replaced || touched || done.native_changed;
        let len = done.native.len();
        let finals: Vec<_> = done.finals.into_iter().map(|message| within(message, len)).collect();
        let finals = match prepared.resolution.output()? {
            Some(schema) => schema.judge(finals),
            None => finals,
        };
        let patched = patched(&prepared.session, &state, &done.metadata_patches);
        let transcript =
            self.transcript(&prepared, &done.native, &finals, done.baseline, touched).await?;
        let format = prepared.resolution.native_format()?;
        let session = patched.with_native(transcript, done.native, format);
        if prepared.cx.stream() {
            tracing::debug!(target: "orlop::core", finals = finals.len(), "streaming request complete");
        } else {
            tracing::info!(target: "orlop::core", finals = finals.len(), "request complete");
        }
        Ok(Response { session, messages: finals, action_results: done.results })
    }

    /// Provider, extensions, then features by priority, each seeing what the one before left.
    async fn finalise(
        &self,
        prepared: &Prepared,
        mut input: FinalizeInput,
        mut baseline: usize,
    ) -> Result<Finalised> {
        let (resolution, cx) = (&prepared.resolution, &prepared.cx);
        let mut touched = false;
        macro_rules! finalise {
            ($plugin:expr, $hook:ident, $adjust:expr) => {{
                let (plugin, hook) = ($plugin, Hook::$hook);
                let change = self.runner.call(plugin, hook, |p| p.finalize(&input, cx)).await?;
                let change = $adjust(change);
                apply(change.final_messages, &mut input.final_messages, plugin.name(), hook)?;
                let before = input.native_messages.clone();
                if apply(change.native_messages, &mut input.native_messages, plugin.name(), hook)? {
                    touched = true;
                    baseline = turn_start(&before, &input.native_messages, baseline);
                }
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
        Ok(Finalised { input, touched, baseline })
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
        // What belongs to this turn is what the caller gets, too.
        let (resolution, cx) = (&prepared.resolution, &prepared.cx);
        let history = native.prefix(baseline);
        let (mut earlier, made) =
            self.rebuild_from_native(resolution, history.clone(), true, cx).await?;
        if made != history {
            // Where initialisation would add again what was taken out, messages must stand for
            // the history that is kept.
            (earlier, _) = self.rebuild_from_native(resolution, history, false, cx).await?;
        }
        Ok(earlier.into_iter().chain(finals.iter().cloned()).collect())
    }
}

/// The answer after all finalise hooks.
struct Finalised {
    input: FinalizeInput,
    /// Whether any hook touched native history.
    touched: bool,
    /// Where the turn begins in it now.
    baseline: usize,
}

/// A mapping to items that are not there says nothing.
fn within(message: Message, native_len: usize) -> Message {
    match message.native_indices().positions() {
        Some(positions) if positions.iter().any(|&position| position >= native_len) => {
            message.with_native_indices(NativeIndices::Absent)
        }
        _ => message,
    }
}

/// The session with the state's metadata patch and those of the actions on top.
fn patched(session: &Session, state: &State, actions: &[Map]) -> Session {
    let own = state.session_metadata_patch.as_ref().and_then(Value::as_object);
    let patches = own.into_iter().chain(actions);
    patches.fold(session.clone(), |session, patch| session.with_metadata_patch(patch))
}
