//! A plugin in a process, as the core and the application see it: every hook is a call.

use crate::call::{Lent, Rights};
use crate::crossing::{ChunkInput, Crosses, Writer};
use crate::description::{self, Described};
use crate::lists::Slots;
use crate::peer::{Answered, Call, Peer, Step};
use crate::process::Process;
use crate::remembered::{self, Asking, Remembered};
use crate::secrets;
use futures::future::FutureExt;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::*;
use orlop_core::interop::Interop;
use orlop_core::types::protocol::PluginDescription;
use orlop_core::types::{Change, ToolDescriptor, ToolPart, ToolReport};
use orlop_core::{
    ActionDefinition, ActionResult, Config, Context, Error, Manifest, Map, Message, NativeItem,
    Result, Session, Value,
};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long one chunk may take, where the package has no shorter limit.
const CHUNK: Duration = Duration::from_secs(5);

/// A plugin of a package. Cloning is one pointer.
#[derive(Clone)]
pub(crate) struct ProcessPlugin(Arc<Inner>);

struct Inner {
    process: Arc<Process>,
    described: PluginDescription,
    manifest: Manifest,
    rights: Arc<Rights>,
    /// Whether the process said which actions there are.
    told_actions: AtomicBool,
}

impl ProcessPlugin {
    /// The plugin of a process, with the sections of configurations that are its own.
    pub(crate) fn new(
        process: &Arc<Process>,
        described: PluginDescription,
        own: Vec<String>,
    ) -> Self {
        let manifest = described.manifest(process.package());
        let package = process.package();
        let rights = Arc::new(Rights::new(&package.grants, package.limits.tokens_per_day, own));
        let (process, told_actions) = (process.clone(), AtomicBool::new(false));
        Self(Arc::new(Inner { process, described, manifest, rights, told_actions }))
    }

    fn lend(&self, cx: Option<&Context>) -> Arc<Lent> {
        Lent::new(&self.0.described.name, &self.0.rights, cx)
    }

    /// What a hook makes of the state, with secrets put back, if it may change that.
    fn admit(
        &self,
        change: &mut StateChange,
        config: &Config,
        session: Option<&Session>,
    ) -> Result<()> {
        if !self.0.described.provides(config) {
            secrets::restore_state(change, config, &self.0.rights.own)?;
        }
        let (StateChange::Patch(fields) | StateChange::Replace(fields)) = change else {
            return Ok(());
        };
        self.admit_metadata(fields.get("session_metadata_patch"), session)
    }

    /// Whether it may lay this over the metadata of a session.
    fn admit_metadata(&self, patch: Option<&Value>, session: Option<&Session>) -> Result<()> {
        let Some(Value::Object(patch)) = patch else { return Ok(()) };
        secrets::check_metadata(patch, session, false, &self.0.rights.own)?;
        match (patch.get("agent_id"), session.and_then(Session::agent_id)) {
            (None, _) => Ok(()),
            (Some(Value::String(agent)), Some(held)) if agent == held => Ok(()),
            (Some(agent), _) => {
                let agent = agent.as_str().unwrap_or("none");
                self.0.rights.grants.check_other_agent(agent, "a session")
            }
        }
    }

    /// Writes a call.
    fn line(
        &self,
        hook: Hook,
        input: &dyn Crosses,
        cx: Option<&Context>,
        lent: &Lent,
        slots: &mut Slots,
        id: u64,
    ) -> Result<Vec<u8>> {
        let owner = cx.and_then(Context::session).map(|session| session.id().to_owned());
        let writer = Writer {
            text: Vec::with_capacity(512),
            slots,
            lent,
            plugin: &self.0.described,
            hook,
            owner: owner.as_deref().unwrap_or_default(),
        };
        writer.hook(id, input, cx)
    }

    async fn ask<T: DeserializeOwned + Default>(
        &self,
        hook: Hook,
        input: &dyn Crosses,
        cx: &Context,
    ) -> Result<T> {
        self.ask_in(hook, input, Some(cx)).await
    }

    /// Asks the process and reads its answer.
    pub(crate) async fn ask_in<T: DeserializeOwned + Default>(
        &self,
        hook: Hook,
        input: &dyn Crosses,
        cx: Option<&Context>,
    ) -> Result<T> {
        if !self.0.manifest.hooks.contains(hook) {
            return Ok(T::default());
        }
        let peer = self.0.process.peer().await?;
        let lent = self.lend(cx);
        let (call, answer) =
            peer.ask(lent.clone(), |slots, id| self.line(hook, input, cx, &lent, slots, id))?;
        let ended = match self.0.process.package().limits.timeout() {
            None => answer.await,
            Some(limit) => {
                let answer = tokio::time::timeout(limit, answer).await;
                answer.map_err(|_| self.no_answer("", limit))?
            }
        };
        drop(call);
        let answer = ended.map_err(|_| self.gone())??;
        self.read(answer.get(), hook)
    }

    /// An answer of the process. The time that a hook has begins when the process is there.
    fn later<'a, T>(
        &'a self,
        hook: Hook,
        asked: impl Future<Output = Result<T>> + Send + 'a,
    ) -> Answer<'a, T> {
        if self.0.process.running().is_some() || !self.0.manifest.hooks.contains(hook) {
            return Answer::later(asked);
        }
        Answer::after(async { self.0.process.peer().await.map(drop) }, asked)
    }

    /// Where answers of this plugin are remembered, and what it is asked, in short.
    fn memory(&self, input: &impl Asking, cx: &Context) -> Option<(&Remembered, String)> {
        let shown = |config: &Config| {
            secrets::masked(&cx.core().without_request_keys(config), &self.0.rights.own)
        };
        let asked = remembered::asked(&self.0.described, input, shown)?;
        Some((self.0.process.remembered()?, asked))
    }

    /// The actions on offer, as they are remembered or as the process says.
    fn offered<'a>(
        &'a self,
        hook: Hook,
        input: &'a impl Asking,
        cx: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let is_running = self.0.process.running().is_some();
        // Lifecycles come often: what is said there for the first time is remembered.
        let is_told = self.0.told_actions.load(Ordering::Relaxed);
        if is_running && is_told && cx.lifecycle().is_some() {
            return Answer::later(self.ask(hook, input, cx));
        }
        let memory = self.memory(input, cx);
        if let (false, Some((remembered, asked))) = (is_running, &memory)
            && let Some(known) = remembered.actions(asked)
        {
            return Answer::ok(known);
        }
        self.later(hook, async move {
            let actions: Vec<ActionDefinition> = self.ask(hook, input, cx).await?;
            let Some((remembered, asked)) = memory else { return Ok(actions) };
            self.0.told_actions.store(true, Ordering::Relaxed);
            let is_new = remembered.put_actions(&self.0.described, asked, &actions);
            // Those that are known are told of when the host starts, and those of application plugins always.
            let is_to_be_told = cx.lifecycle().is_some() && hook != Hook::ApplicationGetActions;
            if is_new && is_to_be_told {
                let name = &self.0.described.name;
                actions.iter().for_each(|it| orlop_app::tell_of_mistyped_triggers(name, it));
            }
            Ok(actions)
        })
    }

    /// Writes a chunk to the process.
    fn begin_chunk(&self, peer: &Peer, input: &State, chunk: &Chunk) -> Result<(Call, Answered)> {
        let lent = self.lend(None);
        peer.ask(lent.clone(), |slots, id| {
            let state = slots.state_if_new(&self.0.described.name, input).then_some(input);
            let input = ChunkInput { state, chunk };
            self.line(Hook::ProcessChunk, &input, None, &lent, slots, id)
        })
    }

    fn no_answer(&self, to: &str, limit: Duration) -> Error {
        let (name, limit) = (&self.0.described.name, limit.as_millis());
        Error::plugin(format!(
            "plugin \"{name}\" gave no answer {to}within {limit} ms (limits.timeout_ms)"
        ))
        .with_timeout()
    }

    fn gone(&self) -> Error {
        Error::plugin(format!("the process of plugin \"{}\" ended", self.0.described.name))
    }

    /// Reads an answer; `null` is the one that changes nothing.
    fn read<T: DeserializeOwned + Default>(&self, answer: &str, hook: Hook) -> Result<T> {
        match serde_json::from_str(answer) {
            Ok(outcome) => Ok(outcome),
            Err(_) if answer == "null" => Ok(T::default()),
            Err(error) => Err(Error::plugin(format!(
                "{} of plugin \"{}\" answered what it must not: {error}; expected {}",
                hook.name(),
                self.0.described.name,
                description::outcome_in_words(hook)
            ))),
        }
    }

    /// Asks the process for a stream.
    fn stream<T: Send + 'static>(
        &self,
        hook: Hook,
        input: impl Crosses + 'static,
        cx: &Context,
        read: fn(&Self, Step) -> Option<Result<T>>,
    ) -> BoxStream<'static, Result<T>> {
        let (plugin, cx) = (self.clone(), cx.clone());
        let begun = async move {
            let peer = plugin.0.process.peer().await?;
            let lent = plugin.lend(Some(&cx));
            let (call, steps, backlog) = peer.stream(lent.clone(), |slots, id| {
                plugin.line(hook, &input, Some(&cx), &lent, slots, id)
            })?;
            let limit = plugin.0.process.package().limits.timeout();
            let items = futures::stream::unfold(Some((call, steps)), move |held| {
                let (backlog, plugin) = (backlog.clone(), plugin.clone());
                async move {
                    // The call lives as long as somebody takes its parts.
                    let (call, mut steps) = held?;
                    let next = match limit {
                        None => steps.next().await,
                        Some(limit) => match tokio::time::timeout(limit, steps.next()).await {
                            Ok(next) => next,
                            Err(_) => return Some((Some(Err(plugin.no_answer("", limit))), None)),
                        },
                    };
                    backlog.take();
                    Some((read(&plugin, next?), Some((call, steps))))
                }
            });
            let items = items.filter_map(futures::future::ready);
            Ok::<_, Error>(items)
        };
        futures::stream::once(begun)
            .flat_map(|begun| match begun {
                Ok(items) => items.boxed(),
                Err(error) => futures::stream::once(futures::future::ready(Err(error))).boxed(),
            })
            .boxed()
    }
}

/// The outcome of a hook that has none, whatever was answered.
#[derive(Default)]
struct Nothing;

impl<'de> serde::Deserialize<'de> for Nothing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

macro_rules! asks {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty;)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            self.later(Hook::$hook, self.ask(Hook::$hook, input, cx))
        }
    )*};
}

/// Hooks that answer nothing.
macro_rules! tells {
    ($($name:ident: $hook:ident($input:ty);)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, ()> {
            self.later(Hook::$hook, async move {
                self.ask::<Nothing>(Hook::$hook, input, cx).await.map(|_| ())
            })
        }
    )*};
}

/// Hooks that may change the state, secrets in which are put back.
macro_rules! changes {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty, $config:ident;)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            self.later(Hook::$hook, async move {
                let mut outcome: $outcome = self.ask(Hook::$hook, input, cx).await?;
                self.admit(&mut outcome.state, &input.$config.config, cx.session())?;
                Ok(outcome)
            })
        }
    )*};
}

/// The actions on offer. A process that does not run is not started for them if it was asked the same
/// before.
macro_rules! offers {
    ($name:ident: $hook:ident($input:ty);) => {
        fn $name<'a>(
            &'a self,
            input: &'a $input,
            cx: &'a Context,
        ) -> Answer<'a, Vec<ActionDefinition>> {
            self.offered(Hook::$hook, input, cx)
        }
    };
}

/// Actions, which may lay something over the metadata of their session.
macro_rules! acts {
    ($($name:ident: $hook:ident($input:ty);)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, ActionResult> {
            self.later(Hook::$hook, async move {
                let result: ActionResult = self.ask(Hook::$hook, input, cx).await?;
                self.admit_metadata(result.session_metadata.as_ref(), cx.session())?;
                Ok(result)
            })
        }
    )*};
}

impl Plugin for ProcessPlugin {
    fn manifest(&self) -> Manifest {
        self.0.manifest.clone()
    }

    fn init<'a>(&'a self, input: &'a InitInput, cx: &'a Context) -> Answer<'a, StateChange> {
        self.later(Hook::Init, async move {
            let mut change: StateChange = self.ask(Hook::Init, input, cx).await?;
            self.admit(&mut change, &input.config, cx.session())?;
            Ok(change)
        })
    }

    asks! {
        get_tags: GetTags(TagsInput) -> Vec<String>;
        is_enabled: IsEnabled(EnabledInput) -> Option<bool>;
        get_ui_elements: GetUiElements(UiInput) -> Vec<Value>;
    }
}

impl Provider for ProcessPlugin {
    fn native_format(&self, _: &Config) -> Option<String> {
        self.0.described.native_format.clone()
    }

    fn interop(&self) -> Interop {
        Interop {
            schema_format: self.0.described.schema_format.clone(),
            call_format: self.0.described.call_format.clone(),
            ..Interop::default()
        }
    }

    asks! {
        get_models: GetModels(ConfigInput) -> Vec<Map>;
        to_native_messages: ProviderToNative(ToNativeInput) -> Vec<NativeItem>;
        from_native_messages: ProviderFromNative(FromNativeInput) -> Vec<Message>;
    }

    changes! {
        initialize_request: ProviderInitializeRequest(RequestInput) -> RequestChange, state;
        finalize: ProviderFinalize(FinalizeInput) -> FinalizeChange, state;
    }

    tells! { cancel_request: CancelRequest(CancelInput); }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        cx: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        self.later(Hook::CallApi, async move {
            let mut answer: Option<ModelAnswer> = self.ask(Hook::CallApi, input, cx).await?;
            if let Some(answer) = &mut answer {
                self.admit(&mut answer.state, &input.state.config, cx.session())?;
            }
            Ok(answer)
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        if !self.0.described.hooks.iter().any(|hook| hook == "stream_api") {
            return None;
        }
        let (plugin, config) = (self.clone(), input.state.config.clone());
        let session = cx.session().cloned();
        let chunks = self.stream(Hook::StreamApi, input.clone(), cx, |plugin, step| match step {
            Step::Part(part) => Some(plugin.read::<Chunk>(part.get(), Hook::StreamApi)),
            Step::Progress(_) | Step::End(Ok(_)) => None,
            Step::End(Err(error)) => Some(Err(error)),
        });
        let chunks = chunks.map(move |chunk| {
            let mut chunk = chunk?;
            plugin.admit(&mut chunk.state, &config, session.as_ref())?;
            Ok(chunk)
        });
        Some(chunks.boxed())
    }
}

impl Extension for ProcessPlugin {
    /// A process is waited for; see below.
    fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
        Err(Error::internal("a chunk was shown to a process in place"))
    }

    fn process_chunk_later(&self, input: &State, chunk: &Chunk) -> Option<LaterChunk> {
        let (plugin, config) = (self.clone(), input.config.clone());
        // The usual case writes at once, without a copy of the state.
        let begun = match self.0.process.running() {
            Some(peer) => Ok(self.begin_chunk(&peer, input, chunk).map(|begun| (peer, begun))),
            None => Err((input.clone(), chunk.clone())),
        };
        let asked = async move {
            let (_peer, (call, answer)) = match begun {
                Ok(begun) => begun?,
                Err((input, chunk)) => {
                    let peer = plugin.0.process.peer().await?;
                    let begun = plugin.begin_chunk(&peer, &input, &chunk)?;
                    (peer, begun)
                }
            };
            let own = plugin.0.process.package().limits.timeout();
            let limit = own.map_or(CHUNK, |own| own.min(CHUNK));
            let answer = tokio::time::timeout(limit, answer).await;
            let answer = answer.map_err(|_| plugin.no_answer("to a chunk ", limit))?;
            drop(call);
            let answer = answer.map_err(|_| plugin.gone())??;
            let mut changed: Option<Chunk> = plugin.read(answer.get(), Hook::ProcessChunk)?;
            if let Some(changed) = &mut changed {
                plugin.admit(&mut changed.state, &config, None)?;
            }
            Ok(changed)
        };
        let lenient = self.clone();
        let later = asked.map(move |changed: Result<Option<Chunk>>| match changed {
            Err(error) if lenient.0.manifest.lenient => {
                let plugin = &lenient.0.described.name;
                tracing::warn!(target: "orlop::plugin", plugin, %error, "a chunk is left as it is");
                Ok(None)
            }
            changed => changed,
        });
        Some(later.boxed())
    }

    asks! {
        to_native_messages: ExtensionToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: ExtensionFromNative(FromNativeInput) -> Change<Message>;
    }

    offers! { get_actions: ExtensionGetActions(ActionsInput); }

    acts! { execute_action: ExtensionExecuteAction(ActionInput); }

    changes! {
        initialize_request: ExtensionInitializeRequest(RequestInput) -> RequestChange, state;
        finalize: ExtensionFinalize(FinalizeInput) -> FinalizeChange, state;
    }
}

impl Feature for ProcessPlugin {
    offers! { get_actions: FeatureGetActions(ActionsInput); }

    acts! { execute_action: FeatureExecuteAction(ActionInput); }

    asks! {
        to_native_messages: FeatureToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: FeatureFromNative(FromNativeInput) -> Change<Message>;
        filter_tools: FilterTools(ToolPolicyInput) -> Option<Vec<ToolDescriptor>>;
        attachment_parts: AttachmentParts(AttachmentPartsInput) -> Vec<Map>;
        get_template: GetTemplate(ConfigInput) -> String;
        get_completions: GetCompletions(CompletionsInput) -> Vec<Value>;
        apply_completion: ApplyCompletion(ApplyCompletionInput) -> String;
    }

    changes! {
        initialize_request: FeatureInitializeRequest(RequestInput) -> RequestChange, state;
        finalize: FeatureFinalize(FinalizeInput) -> FinalizeChange, state;
    }
}

impl Tool for ProcessPlugin {
    /// As they are remembered or as the process says.
    fn get_tool_schemas<'a>(
        &'a self,
        input: &'a ToolSchemasInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let memory = self.memory(input, cx);
        if let (None, Some((remembered, asked))) = (self.0.process.running(), &memory)
            && let Some(known) = remembered.schemas(asked)
        {
            return Answer::ok(known);
        }
        let hook = Hook::GetToolSchemas;
        self.later(hook, async move {
            let schemas: Vec<Map> = self.ask(hook, input, cx).await?;
            if let Some((remembered, asked)) = memory {
                remembered.put_schemas(asked, &schemas);
            }
            Ok(schemas)
        })
    }

    /// Another process is asked for its tools, whatever is remembered of those before it.
    fn tools_version(&self) -> u64 {
        self.0.process.number()
    }

    asks! {
        prepare_tools: PrepareTools(PrepareInput) -> Value;
        execute_tool: ExecuteTool(ToolInput) -> ToolReport;
        format_tool_result: FormatToolResult(FormatResultInput) -> Option<Value>;
        to_display_format: ToDisplayFormat(DisplayInput) -> Option<Value>;
        format_tool_call_preview: FormatToolCallPreview(ToolInput) -> String;
    }

    fn stream_tool(
        &self,
        input: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        // A tool that only reports at the end may still tell of its progress.
        let hook = match self.0.described.hooks.iter().any(|hook| hook == "stream_tool") {
            true => Hook::StreamTool,
            false => Hook::ExecuteTool,
        };
        Some(self.stream(hook, input.clone(), cx, |plugin, step| match step {
            Step::Part(part) => {
                serde_json::from_str(part.get()).ok().and_then(ToolPart::from_json).map(Ok)
            }
            Step::Progress(told) => Some(Ok(ToolPart::Part(told))),
            Step::End(Ok(report)) if report.get() == "null" => None,
            Step::End(Ok(report)) => Some(
                plugin.read::<ToolReport>(report.get(), Hook::ExecuteTool).map(ToolPart::Report),
            ),
            Step::End(Err(error)) => Some(Err(error)),
        }))
    }
}

impl ApplicationPlugin for ProcessPlugin {
    fn manifest(&self) -> Manifest {
        self.0.manifest.clone()
    }

    asks! {
        init: ApplicationInit(ApplicationInitInput) -> Value;
        get_ui_elements: ApplicationGetUiElements(ApplicationUiInput) -> Vec<Value>;
    }

    offers! { get_actions: ApplicationGetActions(ApplicationActionsInput); }

    acts! { execute_action: ApplicationExecuteAction(ApplicationActionInput); }
}

impl HostPlugin for ProcessPlugin {
    fn manifest(&self) -> Manifest {
        self.0.manifest.clone()
    }

    asks! {
        intercept_chat_request: InterceptChatRequest(InterceptInput) -> Option<Interception>;
        attachment_handler: AttachmentHandler(AttachmentInput) -> String;
        context_providers: ContextProviders(ContextInput) -> Vec<String>;
        before_tool_call: BeforeToolCall(ToolCallInfo) -> ToolGate;
        after_tool_call: AfterToolCall(ToolResultInfo) -> Option<String>;
    }

    tells! {
        start: Start(HostInput);
        stop: Stop(HostInput);
        on_request_start: OnRequestStart(RequestInfo);
        on_turn_persisted: OnTurnPersisted(RequestInfo);
        on_request_end: OnRequestEnd(RequestInfo);
    }
}
