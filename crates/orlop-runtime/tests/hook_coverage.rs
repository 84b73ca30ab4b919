//! Every hook and every lifecycle against every path a request can take. The table is written to
//! `docs/reference/hook-coverage.md`; a hook that no path calls fails here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::stage::*;
use futures::stream::BoxStream;
use orlop_app::{ChatRequest, Host, Plugins};
use orlop_core::hooks::*;
use orlop_core::types::{ActionDefinition, Change, ToolDescriptor, ToolPart, ToolReport};
use orlop_core::{
    ActionResult, Config, Context, Manifest, Map, Message, NativeItem, Result, Value, lifecycle,
};
use orlop_plugins::Delegate;
use orlop_testkit::Gate;
use orlop_testkit::scripted::{ScriptedProvider, ScriptedReply};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const PATHS: [&str; 4] = ["chat", "stream", "cancelled", "delegated"];

/// Hooks that belong to no request.
const ELSEWHERE: &[(&str, &str)] = &[
    ("get_ui_elements", "asked for by front ends"),
    ("get_template", "asked for by front ends"),
    ("get_completions", "asked for by front ends"),
    ("apply_completion", "asked for by front ends"),
    ("start", "when the host starts"),
    ("stop", "when the host stops"),
    ("attachment_parts", "with files"),
    ("attachment_handler", "with files"),
    ("format_tool_call_preview", "where a person is asked"),
    ("get_models", "where a plugin looks at models"),
    ("from_native_messages", "where history is converted"),
    ("call_api", "where a provider does not stream"),
    ("stream_tool", "in place of execute_tool"),
    ("execute_tool", "where a tool does not stream"),
    ("cancel_request", "by callers of the core"),
    ("init", "once for each configuration"),
    ("get_tags", "once for each configuration"),
    ("is_enabled", "once for each configuration"),
    ("get_tool_schemas", "once for each configuration"),
    ("prepare_tools", "once for each configuration"),
    ("filter_tools", "once for each configuration"),
];

/// What was called, and the paths it was called on.
type Noted = BTreeMap<String, BTreeSet<String>>;

/// The path that is taken now, and what was noted so far.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<(String, Noted)>>);

impl Notes {
    fn on(&self, path: &str) {
        self.0.lock().unwrap().0 = path.to_owned();
    }

    fn hook(&self, hook: Hook, agent: Option<&str>) {
        let spec = hook.spec();
        self.add(format!("{}.{}", spec.kind.as_str(), spec.name), agent);
    }

    /// On the path of delegation only what happens inside counts.
    fn add(&self, what: String, agent: Option<&str>) {
        let (path, noted) = &mut *self.0.lock().unwrap();
        let inside = agent == Some("inner");
        if path != "delegated" || inside {
            noted.entry(what).or_default().insert(path.clone());
        }
    }
}

struct Recorder {
    notes: Notes,
    model: ScriptedProvider,
}

/// The agent a hook is called for, told by its model.
fn agent(config: &Config) -> Option<&str> {
    config.text("model")
}

macro_rules! notes {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty;)*) => {$(
        fn $name<'a>(&'a self, _: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            self.notes.hook(Hook::$hook, agent(cx.config()));
            Answer::default()
        }
    )*};
}

macro_rules! forwards {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty;)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            self.notes.hook(Hook::$hook, agent(cx.config()));
            Provider::$name(&self.model, input, cx)
        }
    )*};
}

/// Hooks of the host are told the agent.
macro_rules! host_notes {
    ($($name:ident: $hook:ident($input:ty) -> $outcome:ty, $($request:ident)?;)*) => {$(
        fn $name<'a>(&'a self, input: &'a $input, _: &'a Context) -> Answer<'a, $outcome> {
            self.notes.hook(Hook::$hook, Some(&input$(.$request)?.agent_id));
            Answer::default()
        }
    )*};
}

impl Plugin for Recorder {
    fn manifest(&self) -> Manifest {
        Manifest::new("scripted", "1")
    }

    notes! {
        init: Init(InitInput) -> StateChange;
        get_tags: GetTags(TagsInput) -> Vec<String>;
        is_enabled: IsEnabled(EnabledInput) -> Option<bool>;
        get_ui_elements: GetUiElements(UiInput) -> Vec<Value>;
    }
}

impl Provider for Recorder {
    forwards! {
        get_models: GetModels(ConfigInput) -> Vec<Map>;
        to_native_messages: ProviderToNative(ToNativeInput) -> Vec<NativeItem>;
        from_native_messages: ProviderFromNative(FromNativeInput) -> Vec<Message>;
        initialize_request: ProviderInitializeRequest(RequestInput) -> RequestChange;
        call_api: CallApi(ModelRequest) -> Option<ModelAnswer>;
        finalize: ProviderFinalize(FinalizeInput) -> FinalizeChange;
        cancel_request: CancelRequest(CancelInput) -> ();
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        self.notes.hook(Hook::StreamApi, agent(cx.config()));
        self.model.stream_api(input, cx)
    }
}

impl Extension for Recorder {
    fn process_chunk(&self, state: &State, _: &mut Chunk) -> Result<()> {
        self.notes.hook(Hook::ProcessChunk, agent(&state.config));
        Ok(())
    }

    notes! {
        to_native_messages: ExtensionToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: ExtensionFromNative(FromNativeInput) -> Change<Message>;
        initialize_request: ExtensionInitializeRequest(RequestInput) -> RequestChange;
        finalize: ExtensionFinalize(FinalizeInput) -> FinalizeChange;
        execute_action: ExtensionExecuteAction(ActionInput) -> ActionResult;
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        self.notes.hook(Hook::ExtensionGetActions, agent(cx.config()));
        Answer::ok(vec![every_lifecycle()])
    }
}

impl Feature for Recorder {
    notes! {
        to_native_messages: FeatureToNative(ToNativeInput) -> Change<NativeItem>;
        from_native_messages: FeatureFromNative(FromNativeInput) -> Change<Message>;
        initialize_request: FeatureInitializeRequest(RequestInput) -> RequestChange;
        finalize: FeatureFinalize(FinalizeInput) -> FinalizeChange;
        filter_tools: FilterTools(ToolPolicyInput) -> Option<Vec<ToolDescriptor>>;
        attachment_parts: AttachmentParts(AttachmentPartsInput) -> Vec<Map>;
        get_template: GetTemplate(ConfigInput) -> String;
        get_completions: GetCompletions(CompletionsInput) -> Vec<Value>;
        apply_completion: ApplyCompletion(ApplyCompletionInput) -> String;
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        self.notes.hook(Hook::FeatureGetActions, agent(cx.config()));
        Answer::ok(vec![every_lifecycle()])
    }

    fn execute_action<'a>(
        &'a self,
        _: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        self.notes.hook(Hook::FeatureExecuteAction, agent(cx.config()));
        self.notes
            .add(format!("lifecycle {}", cx.lifecycle().unwrap_or_default()), agent(cx.config()));
        Answer::default()
    }
}

impl Tool for Recorder {
    notes! {
        prepare_tools: PrepareTools(PrepareInput) -> Value;
        to_display_format: ToDisplayFormat(DisplayInput) -> Option<Value>;
        format_tool_result: FormatToolResult(FormatResultInput) -> Option<Value>;
        format_tool_call_preview: FormatToolCallPreview(ToolInput) -> String;
    }

    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        self.notes.hook(Hook::GetToolSchemas, agent(cx.config()));
        let schema = json!({"name": "note", "description": "d", "parameters": {"type": "object", "properties": {}}});
        Answer::ok(vec![schema.as_object().cloned().unwrap()])
    }

    fn execute_tool<'a>(&'a self, _: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        self.notes.hook(Hook::ExecuteTool, agent(cx.config()));
        Answer::ok(ToolReport::ok("noted"))
    }

    fn stream_tool(
        &self,
        _: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        self.notes.hook(Hook::StreamTool, agent(cx.config()));
        None
    }
}

impl ApplicationPlugin for Recorder {
    fn manifest(&self) -> Manifest {
        Manifest::new("scripted", "1")
    }

    notes! {
        init: ApplicationInit(ApplicationInitInput) -> Value;
        get_ui_elements: ApplicationGetUiElements(ApplicationUiInput) -> Vec<Value>;
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        self.notes.hook(Hook::ApplicationGetActions, agent(cx.config()));
        Answer::ok(vec![every_lifecycle()])
    }

    fn execute_action<'a>(
        &'a self,
        _: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        self.notes.hook(Hook::ApplicationExecuteAction, agent(cx.config()));
        self.notes
            .add(format!("lifecycle {}", cx.lifecycle().unwrap_or_default()), agent(cx.config()));
        Answer::default()
    }
}

impl HostPlugin for Recorder {
    fn manifest(&self) -> Manifest {
        Manifest::host("scripted", "1")
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

/// An action that every lifecycle of a request triggers.
fn every_lifecycle() -> ActionDefinition {
    let names: Vec<&str> = lifecycle::STANDARD.iter().map(|(name, _)| *name).collect();
    ActionDefinition::new("note", "Note").on(&names)
}

async fn ask_at(host: &Host, stream: bool) {
    let request = ChatRequest { stream, ..chat("s", "go") };
    chat_to_end(host, request).await;
}

async fn paths(stage: &Stage, host: &Host, notes: &Notes) {
    let call = |tool: &str, input: Value| ScriptedReply::calls(&[("c1", tool, input)]);
    for (path, stream) in [("chat", false), ("stream", true)] {
        notes.on(path);
        stage.model.reply(call("note", json!({}))).reply(ScriptedReply::text(&["done"]));
        ask_at(host, stream).await;
    }
    notes.on("cancelled");
    let gate = Gate::new();
    stage.model.reply(ScriptedReply::text(&["wait"]).waiting_for(&gate));
    let mut running = host.chat(ChatRequest { stream: true, ..chat("s", "go") }).await.unwrap();
    while let Some(event) = running.next().await {
        if event.kind.name() == "partial" {
            host.app().cancel_request(&running.request_id, "enough").await.unwrap();
        }
    }
    running.ended().await;
    notes.on("delegated");
    stage.model.reply(call("delegate", json!({"task": "go", "agent": "inner"})));
    stage.model.reply(call("note", json!({}))).reply(ScriptedReply::text(&["inner done"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    ask_at(host, true).await;
}

fn table(noted: &Noted) -> (String, Vec<String>) {
    let mut text = String::from(
        "# Which hook runs where\n\nWritten by a test that asks a plugin with every hook along every path a request can take in this version; do not edit.\n\
         *delegated* counts only what happens inside of the task. The paths of the HTTP host and of the terminal will be added with them.\n\n",
    );
    let header = |text: &mut String, what: &str| {
        text.push_str(&format!(
            "| {what} | {} |\n|---|{}\n",
            PATHS.join(" | "),
            "---|".repeat(PATHS.len())
        ));
    };
    let marks = |name: &str| {
        let held = noted.get(name).cloned().unwrap_or_default();
        PATHS.map(|path| if held.contains(path) { "yes" } else { "" }).join(" | ")
    };
    let mut never = Vec::new();
    header(&mut text, "hook");
    for row in HOOKS {
        let name = format!("{}.{}", row.kind.as_str(), row.name);
        let elsewhere = ELSEWHERE.iter().find(|(hook, _)| *hook == row.name);
        let called = |held: &BTreeSet<String>| PATHS.iter().any(|path| held.contains(*path));
        let is_called = noted.get(&name).is_some_and(called);
        if !is_called && elsewhere.is_none() {
            never.push(name.clone());
        }
        let why =
            elsewhere.filter(|_| !is_called).map_or(String::new(), |(_, why)| format!(" ({why})"));
        text.push_str(&format!("| `{name}`{why} | {} |\n", marks(&name)));
    }
    text.push('\n');
    header(&mut text, "lifecycle");
    for (name, _) in lifecycle::STANDARD {
        text.push_str(&format!("| `{name}` | {} |\n", marks(&format!("lifecycle {name}"))));
    }
    (text, never)
}

#[tokio::test]
async fn every_hook_runs_on_the_paths_it_is_said_to() {
    let notes = Notes::default();
    notes.on("start");
    let stage =
        Stage::default().more("[agents.inner]\nprovider = \"scripted\"\nmodel = \"inner\"\n");
    let recorder = Arc::new(Recorder { notes: notes.clone(), model: stage.model.clone() });
    let held = recorder.clone();
    let stage = stage.with(|_| {
        Plugins::new()
            .provider(held.clone(), vec![held.clone()])
            .feature(held.clone())
            .tool(held.clone())
            .tool(Arc::new(Delegate::default()))
            .application(held.clone())
            .host(held)
    });
    let host = Host::start(stage.start().await, None).await.unwrap();
    paths(&stage, &host, &notes).await;
    host.stop().await;
    let noted = notes.0.lock().unwrap().1.clone();
    let (text, never) = table(&noted);
    expect_test::expect_file!["../../../docs/reference/hook-coverage.md"].assert_eq(&text);
    assert_eq!(never, Vec::<String>::new(), "no path calls these");
}
