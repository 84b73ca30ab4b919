//! Conversion between messages and native items through provider, extensions and features.

use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{FromNativeInput, Hook, RequestInput, State, ToNativeInput};
use crate::resolve::Resolution;
use orlop_types::{Change, Message, NativeIndices, NativeItem, Result, Seq};
use std::sync::Arc;

/// A request as the initialise hooks left it.
pub(crate) struct Initialised {
    pub(crate) native: Seq<NativeItem>,
    pub(crate) state: State,
    /// Whether native history differs from what went in.
    pub(crate) changed: bool,
}

impl Core {
    /// Converts messages to native items for `config`, as the next request would. Touches no
    /// session.
    pub async fn core_messages_to_native(
        &self,
        messages: Vec<Message>,
        config: &Config,
        context: &CallContext,
    ) -> Result<Vec<NativeItem>> {
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, context);
        let native = self.to_native(&resolution, messages, &cx).await?;
        Ok(native.iter().cloned().collect())
    }

    pub(crate) fn context(
        &self,
        resolution: &Arc<Resolution>,
        config: &Config,
        call: &CallContext,
    ) -> Context {
        Context::new(self.clone(), config.clone(), Arc::new(call.clone()))
            .with(|inner| inner.resolution = Some(resolution.clone()))
    }

    /// Provider, then extensions, then features, each seeing what the one before made.
    pub(crate) async fn to_native(
        &self,
        resolution: &Resolution,
        messages: Vec<Message>,
        cx: &Context,
    ) -> Result<Seq<NativeItem>> {
        let provider = &resolution.provider()?.provider;
        let mut input = ToNativeInput {
            messages,
            native_messages: Seq::new(),
            state: (*resolution.state).clone(),
        };
        let made = self
            .runner
            .call(provider, Hook::ProviderToNative, |p| p.to_native_messages(&input, cx))
            .await?;
        input.native_messages = made.into();
        for extension in &resolution.extensions {
            let hook = Hook::ExtensionToNative;
            let change =
                self.runner.call(extension, hook, |p| p.to_native_messages(&input, cx)).await?;
            apply(change, &mut input.native_messages, extension.name(), hook)?;
        }
        for feature in &resolution.features {
            let hook = Hook::FeatureToNative;
            let change =
                self.runner.call(feature, hook, |p| p.to_native_messages(&input, cx)).await?;
            apply(change, &mut input.native_messages, feature.name(), hook)?;
        }
        Ok(input.native_messages)
    }

    /// Provider, then extensions, then features. Mappings of the messages are positions in `native`.
    pub(crate) async fn from_native(
        &self,
        resolution: &Resolution,
        native: &Seq<NativeItem>,
        state: &State,
        cx: &Context,
    ) -> Result<Vec<Message>> {
        let provider = &resolution.provider()?.provider;
        let mut input = FromNativeInput {
            native_messages: native.clone(),
            messages: Seq::new(),
            state: state.clone(),
        };
        let made = self
            .runner
            .call(provider, Hook::ProviderFromNative, |p| p.from_native_messages(&input, cx))
            .await?;
        input.messages = made.into();
        for extension in &resolution.extensions {
            let hook = Hook::ExtensionFromNative;
            let change =
                self.runner.call(extension, hook, |p| p.from_native_messages(&input, cx)).await?;
            apply(change, &mut input.messages, extension.name(), hook)?;
        }
        for feature in &resolution.features {
            let hook = Hook::FeatureFromNative;
            let change =
                self.runner.call(feature, hook, |p| p.from_native_messages(&input, cx)).await?;
            apply(change, &mut input.messages, feature.name(), hook)?;
        }
        Ok(input.messages.iter().cloned().collect())
    }

    /// Runs the initialise hooks of provider, extensions and features over a request.
    pub(crate) async fn initialise(
        &self,
        resolution: &Resolution,
        native: Seq<NativeItem>,
        state: State,
        cx: &Context,
    ) -> Result<Initialised> {
        let mut input = RequestInput { native_messages: native, state };
        let mut changed = false;
        macro_rules! initialise {
            ($plugin:expr, $hook:ident) => {{
                let (plugin, hook) = ($plugin, Hook::$hook);
                let change =
                    self.runner.call(plugin, hook, |p| p.initialize_request(&input, cx)).await?;
                changed |=
                    apply(change.native_messages, &mut input.native_messages, plugin.name(), hook)?;
                change.state.apply(&mut input.state);
            }};
        }
        initialise!(&resolution.provider()?.provider, ProviderInitializeRequest);
        for extension in &resolution.extensions {
            initialise!(&**extension, ExtensionInitializeRequest);
        }
        for feature in &resolution.features {
            initialise!(&**feature, FeatureInitializeRequest);
        }
        Ok(Initialised { native: input.native_messages, state: input.state, changed })
    }

    /// The messages that `native` stands for, and the native list they were derived from: the
    /// same one, or what the initialise hooks made of it.
    pub(crate) async fn rebuild_from_native(
        &self,
        resolution: &Resolution,
        native: Seq<NativeItem>,
        initialise: bool,
        cx: &Context,
    ) -> Result<(Vec<Message>, Seq<NativeItem>)> {
        let state = (*resolution.state).clone();
        let (native, state) = if initialise {
            let ready = self.initialise(resolution, native, state, cx).await?;
            (ready.native, ready.state)
        } else {
            (native, state)
        };
        let messages = self.from_native(resolution, &native, &state, cx).await?;
        let messages = with_global_indices(messages, native.len(), 0, native.len(), Unmapped::Stay);
        Ok((messages, native))
    }
}

/// Makes a plugin's change and says whether the list is another one now.
pub(crate) fn apply<T>(
    change: Change<T>,
    list: &mut Seq<T>,
    plugin: &str,
    hook: Hook,
) -> Result<bool>
where
    T: orlop_types::change::Patchable + PartialEq,
{
    if change.is_keep() {
        return Ok(false);
    }
    let next = change.apply(list).map_err(|error| error.in_hook(plugin, hook.name()))?;
    let changed = next != *list;
    if changed {
        *list = next;
    }
    Ok(changed)
}

/// What becomes of messages that no plugin mapped while their number differs from the items'.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unmapped {
    /// They stay unmapped.
    Stay,
    /// They stand for all items together.
    TakeAll,
}

/// Turns mappings into positions of the whole native list: `local_len` items from `baseline` on.
/// Where no message has a mapping, equal counts map one to one. No index leaves the native list.
pub(crate) fn with_global_indices(
    messages: Vec<Message>,
    local_len: usize,
    baseline: usize,
    native_len: usize,
    unmapped: Unmapped,
) -> Vec<Message> {
    let none_mapped = messages.iter().all(|message| message.native_indices().positions().is_none());
    let one_to_one = none_mapped && messages.len() == local_len;
    messages
        .into_iter()
        .enumerate()
        .map(|(position, message)| {
            let local = match message.native_indices().positions() {
                Some(local) => local,
                None if one_to_one => vec![position],
                None if none_mapped && unmapped == Unmapped::TakeAll => (0..local_len).collect(),
                None => Vec::new(),
            };
            let in_range =
                local.iter().all(|&index| index < local_len && index + baseline < native_len);
            let indices = if local.is_empty() || !in_range {
                NativeIndices::Absent
            } else {
                NativeIndices::new(local.into_iter().map(|index| index + baseline))
            };
            message.with_native_indices(indices)
        })
        .collect()
}

/// Where the turn that began at `baseline` of `before` begins in `after`: at the same place if the
/// history before it is the same, as far from the end if the turn itself is.
pub(crate) fn turn_start(
    before: &Seq<NativeItem>,
    after: &Seq<NativeItem>,
    baseline: usize,
) -> usize {
    if after.prefix(baseline) != before.prefix(baseline) {
        let turn = before.suffix(baseline);
        let start = after.len().saturating_sub(turn.len());
        if after.suffix(start) == turn {
            return start;
        }
    }
    baseline.min(after.len())
}
