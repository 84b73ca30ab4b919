//! The plugins of the scene as values of Rust, inside of the program.

use crate::scene::{self, Notes, Trouble};
use futures::StreamExt;
use futures::stream::BoxStream;
use orlop_app::Plugins;
use orlop_core::hooks::*;
use orlop_core::types::{ActionDefinition, Change, ToolDescriptor, ToolPart, ToolReport};
use orlop_core::{
    ActionResult, Config, Context, Error, Manifest, Map, Message, NativeItem, Partial, Result,
    Value, lifecycle,
};
use serde_json::json;
use std::sync::Arc;

/// One value that is a plugin of every kind.
pub struct Recorder(pub Notes);

/// A tool that gives parts on the way.
pub struct Flow(pub Notes);

pub fn plugins(notes: &Notes) -> Plugins {
    let (recorder, flow) = (Arc::new(Recorder(notes.clone())), Arc::new(Flow(notes.clone())));
    orlop::shipped_plugins()
        .provider(recorder.clone(), vec![recorder.clone()])
        .feature(recorder.clone())
        .tool(recorder.clone())
        .tool(flow)
        .application(recorder.clone())
        .host(recorder)
}

/// The agent a hook is called for, told by its model.
fn agent(config: &Config) -> Option<&str> {
    config.text("model")
}

fn note(notes: &Notes, hook: Hook, agent: Option<&str>, cx: Option<&Context>) {
    let spec = hook.spec();
    let (lifecycle, request) =
        (cx.and_then(|cx| cx.lifecycle()), cx.and_then(|cx| cx.request_id()));
    notes.add(&[Some(spec.kind.as_str()), Some(spec.name), lifecycle, agent, request]);
}

macro_rules! notes {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty $(= $answer:expr)?;)*) => {$(
        fn $name<'a>(&'a self, _: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            note(&self.0, Hook::$hook, agent(cx.config()), Some(cx));
            #[allow(unused_mut, unused_assignments)]
            let mut answer = Answer::default();
            $( answer = Answer::ok($answer); )?
            answer
        }
    )*};
}

/// Hooks of the host are told the agent.
macro_rules! host_notes {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty, $($request:ident)?;)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            note(&self.0, Hook::$hook, Some(&input$(.$request)?.agent_id), Some(cx));
            Answer::default()
        }
    )*};
}

impl Plugin for Recorder {
    fn manifest(&self) -> Manifest {
        // Before the feature that ships for attachments.
        Manifest { priority: 0, ..Manifest::new("notes", "1") }
    }

    notes! {
        init: Init(InitInput) -> StateChange;
        get_tags: GetTags(TagsInput) -> Vec<String>;
        is_enabled: IsEnabled(EnabledInput) -> Option<bool>;
        get_ui_elements: GetUiElements(UiInput) -> Vec<Value>;
    }
}

/// What the model says to this history, or that it is too long.
fn reply(notes: &Notes, items: &orlop_core::types::Seq<NativeItem>) -> Result<NativeItem> {
    let last = items.iter().last().map(|item| item.value().clone()).unwrap_or_default();
    match scene::reply(&last, notes.folder()) {
        Ok(said) => Ok(said.into()),
        Err(Trouble::TooLong) => Err(Error::provider("too long").with_context_overflow()),
        Err(Trouble::Broken) => Err(Error::provider("the model is at sea")),
        // What ends here is the host.
        Err(Trouble::Crash) => Err(Error::plugin("it does not crash alone")),
    }
}

impl Provider for Recorder {
    notes! {
        get_models: GetModels(ConfigInput) -> Vec<Map> = scene::models();
        initialize_request: ProviderInitializeRequest(RequestInput) -> RequestChange;
        finalize: ProviderFinalize(FinalizeInput) -> FinalizeChange;
        cancel_request: CancelRequest(CancelInput) -> ();
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        note(&self.0, Hook::ProviderToNative, agent(cx.config()), Some(cx));
        let item = |message: &Message| {
            let held = |key: &str| message.metadata().get(key).cloned();
            NativeItem::from(json!({
                "role": message.role(), "content": message.content(),
                "calls": held("tool_calls"), "answers": held("tool_call_id"),
            }))
        };
        Answer::ok(input.messages.iter().map(item).collect())
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        note(&self.0, Hook::ProviderFromNative, agent(cx.config()), Some(cx));
        let message = |(at, item): (usize, &NativeItem)| {
            let mut metadata = json!({ "native_indices": [at] });
            for (from, to) in [("calls", "tool_calls"), ("answers", "tool_call_id")] {
                if let Some(held) = item.get(from).filter(|held| !held.is_null()) {
                    metadata[to] = held.clone();
                }
            }
            Message::from_json(json!({
                "role": item.get("role"), "content": item.get("content"), "metadata": metadata,
            }))
        };
        input.native_messages.iter().enumerate().map(message).collect::<Result<_>>().into()
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        cx: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        note(&self.0, Hook::CallApi, agent(cx.config()), Some(cx));
        let answer = reply(&self.0, &input.native_messages)
            .map(|said| Some(ModelAnswer { final_messages: vec![said], ..ModelAnswer::default() }));
        answer.into()
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        note(&self.0, Hook::StreamApi, agent(cx.config()), Some(cx));
        let (notes, items) = (self.0.clone(), input.native_messages.clone());
        let begun = Chunk { partial: Some(Partial::text("done")), ..Chunk::default() };
        let rest = async move {
            let last = items.iter().last().map(|item| item.value().clone()).unwrap_or_default();
            while scene::waits(&last, notes.folder()) {
                tokio::time::sleep(scene::PAUSE).await;
            }
            let said = reply(&notes, &items)?;
            Ok(Chunk { final_messages: vec![said], ..Chunk::default() })
        };
        Some(futures::stream::iter([Ok(begun)]).chain(futures::stream::once(rest)).boxed())
    }
}

impl Extension for Recorder {
    fn process_chunk(&self, state: &State, _: &mut Chunk) -> Result<()> {
        note(&self.0, Hook::ProcessChunk, agent(&state.config), None);
        Ok(())
    }

    notes! {
        to_native_messages: ExtensionToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: ExtensionFromNative(FromNativeInput) -> Change<Message>;
        initialize_request: ExtensionInitializeRequest(RequestInput) -> RequestChange;
        finalize: ExtensionFinalize(FinalizeInput) -> FinalizeChange;
        get_actions: ExtensionGetActions(ActionsInput) -> Vec<ActionDefinition> = actions();
        execute_action: ExtensionExecuteAction(ActionInput) -> ActionResult;
    }
}

impl Feature for Recorder {
    notes! {
        to_native_messages: FeatureToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: FeatureFromNative(FromNativeInput) -> Change<Message>;
        initialize_request: FeatureInitializeRequest(RequestInput) -> RequestChange;
        finalize: FeatureFinalize(FinalizeInput) -> FinalizeChange;
        get_actions: FeatureGetActions(ActionsInput) -> Vec<ActionDefinition> = actions();
        execute_action: FeatureExecuteAction(ActionInput) -> ActionResult;
        filter_tools: FilterTools(ToolPolicyInput) -> Option<Vec<ToolDescriptor>>;
        attachment_parts: AttachmentParts(AttachmentPartsInput) -> Vec<Map>;
        get_template: GetTemplate(ConfigInput) -> String = scene::TEMPLATE.to_owned();
        get_completions: GetCompletions(CompletionsInput) -> Vec<Value> = scene::completions();
        apply_completion: ApplyCompletion(ApplyCompletionInput) -> String = scene::APPLIED.to_owned();
    }
}

impl Tool for Recorder {
    notes! {
        get_tool_schemas: GetToolSchemas(ToolSchemasInput) -> Vec<Map> = scene::schemas("notes");
        prepare_tools: PrepareTools(PrepareInput) -> Value;
        to_display_format: ToDisplayFormat(DisplayInput) -> Option<Value>;
        format_tool_result: FormatToolResult(FormatResultInput) -> Option<Value>;
        format_tool_call_preview: FormatToolCallPreview(ToolInput) -> String;
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        note(&self.0, Hook::ExecuteTool, agent(cx.config()), Some(cx));
        Answer::ok(match input.payload["fail"].as_bool() {
            Some(true) => ToolReport::failed("it failed"),
            _ => ToolReport::ok("noted"),
        })
    }
}

impl Plugin for Flow {
    fn manifest(&self) -> Manifest {
        Manifest::new("flow", "1")
    }
}

impl Tool for Flow {
    notes! {
        get_tool_schemas: GetToolSchemas(ToolSchemasInput) -> Vec<Map> = scene::schemas("flow");
        execute_tool: ExecuteTool(ToolInput) -> ToolReport = ToolReport::ok("flowed");
    }

    fn stream_tool(
        &self,
        _: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        note(&self.0, Hook::StreamTool, agent(cx.config()), Some(cx));
        let parts = [ToolPart::Part(json!("half")), ToolPart::Report(ToolReport::ok("flowed"))];
        Some(futures::stream::iter(parts.map(Ok)).boxed())
    }
}

impl ApplicationPlugin for Recorder {
    fn manifest(&self) -> Manifest {
        Manifest::new("notes", "1")
    }

    notes! {
        init: ApplicationInit(ApplicationInitInput) -> Value;
        get_ui_elements: ApplicationGetUiElements(ApplicationUiInput) -> Vec<Value> = scene::elements();
        get_actions: ApplicationGetActions(ApplicationActionsInput) -> Vec<ActionDefinition> = actions();
        execute_action: ApplicationExecuteAction(ApplicationActionInput) -> ActionResult;
    }
}

impl HostPlugin for Recorder {
    fn manifest(&self) -> Manifest {
        Manifest::host("notes", "1")
    }

    notes! {
        start: Start(HostInput) -> ();
        stop: Stop(HostInput) -> ();
    }

    host_notes! {
        on_request_start: OnRequestStart(RequestInfo) -> (), ;
        intercept_chat_request: InterceptChatRequest(InterceptInput) -> Option<Interception>, request;
        attachment_handler: AttachmentHandler(AttachmentInput) -> String, request;
        context_providers: ContextProviders(ContextInput) -> Vec<String>, request;
        before_tool_call: BeforeToolCall(ToolCallInfo) -> ToolGate, request;
        after_tool_call: AfterToolCall(ToolResultInfo) -> Option<String>, request;
        on_turn_persisted: OnTurnPersisted(RequestInfo) -> (), ;
        on_request_end: OnRequestEnd(RequestInfo) -> (), ;
    }
}

/// An action that every lifecycle triggers.
fn actions() -> Vec<ActionDefinition> {
    let names: Vec<&str> = lifecycle::STANDARD.iter().map(|(name, _)| *name).collect();
    vec![ActionDefinition::new("note", "Note").on(&names)]
}
