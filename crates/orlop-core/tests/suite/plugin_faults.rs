//! Plugins that fail: every hook of the table with every fault. The core says who failed, leaves
//! out what the table says may be left out, and works on.

use futures::future::{self, BoxFuture};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use orlop_core::hooks::*;
use orlop_core::interop::Interop;
use orlop_core::types::{Partial, ToolDescriptor, ToolPart, ToolReport};
use orlop_core::{
    ActionCall, ActionDefinition, ActionResult, ActivePlugins, CallContext, CancelToken, Change,
    Config, Context, Core, CoreEvent, Error, ErrorClass, Manifest, Map, Message, NativeIndices,
    NativeItem, RequestOptions, Result, Value,
};
use orlop_testkit::Gate;
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, core_with, plain_session,
};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Panics when asked.
    Panic,
    /// Answers with a future that panics.
    LatePanic,
    /// Fails when asked.
    Error,
    /// Answers with a future that fails.
    LateError,
    /// Answers with a future that never ends.
    Hang,
}

const FAULTS: [Fault; 5] =
    [Fault::Panic, Fault::LatePanic, Fault::Error, Fault::LateError, Fault::Hang];

/// A plugin of every kind. One of its hooks is at fault, until it is repaired.
#[derive(Clone)]
struct Faulty {
    hook: Hook,
    fault: Fault,
    repaired: Arc<AtomicBool>,
}

impl Faulty {
    fn new(hook: Hook, fault: Fault) -> Self {
        Self { hook, fault, repaired: Arc::default() }
    }

    fn is_at_fault(&self, hook: Hook) -> bool {
        hook == self.hook && !self.repaired.load(Ordering::SeqCst)
    }

    fn answer<'a, T: Send + 'a>(&self, hook: Hook, sound: T) -> Answer<'a, T> {
        if !self.is_at_fault(hook) {
            return Answer::ok(sound);
        }
        match self.fault {
            Fault::Panic => panic!("boom"),
            Fault::LatePanic => Answer::later(async { panic!("boom") }),
            Fault::Error => Err(Error::unavailable("broken")).into(),
            Fault::LateError => Answer::later(future::ready(Err(Error::unavailable("broken")))),
            Fault::Hang => Answer::later(future::pending()),
        }
    }

    /// A stream whose first item is at fault.
    fn faulty_stream<T: Send + 'static>(&self) -> BoxStream<'static, Result<T>> {
        match self.fault {
            Fault::Panic => panic!("boom"),
            Fault::LatePanic => stream::once(async { panic!("boom") }).boxed(),
            Fault::Error | Fault::LateError => {
                stream::iter([Err(Error::unavailable("broken"))]).boxed()
            }
            Fault::Hang => stream::pending().boxed(),
        }
    }
}

macro_rules! answers {
    ($($method:ident($input:ident: $Input:ty) $Hook:ident -> $Outcome:ty $sound:block)*) => {$(
        fn $method<'a>(&'a self, $input: &'a $Input, _: &'a Context) -> Answer<'a, $Outcome> {
            let _ = $input;
            self.answer(Hook::$Hook, $sound)
        }
    )*};
}

impl Plugin for Faulty {
    fn manifest(&self) -> Manifest {
        Manifest::new("faulty", "1.0.0")
    }
    answers! {
        init(input: InitInput) Init -> StateChange { StateChange::Keep }
        get_tags(input: TagsInput) GetTags -> Vec<String> { vec![] }
        is_enabled(input: EnabledInput) IsEnabled -> Option<bool> { None }
        get_ui_elements(input: UiInput) GetUiElements -> Vec<Value> { vec![json!({})] }
    }
}

fn yes() -> NativeItem {
    json!({"who": "assistant", "say": "yes"}).into()
}

impl Provider for Faulty {
    answers! {
        get_models(input: ConfigInput) GetModels -> Vec<Map> { vec![] }
        to_native_messages(input: ToNativeInput) ProviderToNative -> Vec<NativeItem> {
            input.messages.iter().map(|message| json!({"say": message.content()}).into()).collect()
        }
        from_native_messages(input: FromNativeInput) ProviderFromNative -> Vec<Message> {
            let said = input.native_messages.iter().map(|item| item.get("say").cloned());
            said.enumerate()
                .map(|(index, said)| {
                    let indices = NativeIndices::new([index]);
                    Message::assistant(said.unwrap_or_default()).with_native_indices(indices)
                })
                .collect()
        }
        initialize_request(input: RequestInput) ProviderInitializeRequest -> RequestChange {
            RequestChange::default()
        }
        call_api(input: ModelRequest) CallApi -> Option<ModelAnswer> {
            Some(ModelAnswer { final_messages: vec![yes()], ..Default::default() })
        }
        finalize(input: FinalizeInput) ProviderFinalize -> FinalizeChange { Default::default() }
        cancel_request(input: CancelInput) CancelRequest -> () {}
    }
    fn stream_api(
        &self,
        _: &ModelRequest,
        _: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        let first = stream::iter([Ok(Chunk::partial(Partial::text("y")))]);
        Some(match self.is_at_fault(Hook::StreamApi) {
            true => first.chain(self.faulty_stream()).boxed(),
            false => first.chain(stream::iter([Ok(Chunk::finals(vec![yes()]))])).boxed(),
        })
    }
}

impl Extension for Faulty {
    fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
        match self.is_at_fault(Hook::ProcessChunk) {
            true if self.fault == Fault::Panic => panic!("boom"),
            true => Err(Error::unavailable("broken")),
            false => Ok(()),
        }
    }
    answers! {
        to_native_messages(input: ToNativeInput) ExtensionToNative -> Change<NativeItem> { Change::Keep }
        from_native_messages(input: FromNativeInput) ExtensionFromNative -> Change<Message> { Change::Keep }
        initialize_request(input: RequestInput) ExtensionInitializeRequest -> RequestChange {
            RequestChange::default()
        }
        finalize(input: FinalizeInput) ExtensionFinalize -> FinalizeChange { Default::default() }
        get_actions(input: ActionsInput) ExtensionGetActions -> Vec<ActionDefinition> {
            vec![ActionDefinition::new("go", "Go")]
        }
        execute_action(input: ActionInput) ExtensionExecuteAction -> ActionResult { Default::default() }
    }
}

impl Feature for Faulty {
    answers! {
        to_native_messages(input: ToNativeInput) FeatureToNative -> Change<NativeItem> { Change::Keep }
        from_native_messages(input: FromNativeInput) FeatureFromNative -> Change<Message> { Change::Keep }
        initialize_request(input: RequestInput) FeatureInitializeRequest -> RequestChange {
            RequestChange::default()
        }
        finalize(input: FinalizeInput) FeatureFinalize -> FinalizeChange { Default::default() }
        get_actions(input: ActionsInput) FeatureGetActions -> Vec<ActionDefinition> {
            vec![ActionDefinition::new("go", "Go")]
        }
        execute_action(input: ActionInput) FeatureExecuteAction -> ActionResult { Default::default() }
        filter_tools(input: ToolPolicyInput) FilterTools -> Option<Vec<ToolDescriptor>> { None }
        attachment_parts(input: AttachmentPartsInput) AttachmentParts -> Vec<Map> { vec![Map::new()] }
        get_template(input: ConfigInput) GetTemplate -> String { "template".into() }
        get_completions(input: CompletionsInput) GetCompletions -> Vec<Value> { vec![json!({})] }
        apply_completion(input: ApplyCompletionInput) ApplyCompletion -> String { "snippet".into() }
    }
}

impl Tool for Faulty {
    fn stream_tool(
        &self,
        _: &ToolInput,
        _: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        self.is_at_fault(Hook::StreamTool).then(|| self.faulty_stream())
    }
    answers! {
        get_tool_schemas(input: ToolSchemasInput) GetToolSchemas -> Vec<Map> {
            vec![json!({"name": "dig"}).as_object().cloned().unwrap()]
        }
        prepare_tools(input: PrepareInput) PrepareTools -> Value { json!("prepared") }
        execute_tool(input: ToolInput) ExecuteTool -> ToolReport { ToolReport::ok("done") }
        format_tool_result(input: FormatResultInput) FormatToolResult -> Option<Value> { None }
        to_display_format(input: DisplayInput) ToDisplayFormat -> Option<Value> { None }
        format_tool_call_preview(input: ToolInput) FormatToolCallPreview -> String { "preview".into() }
    }
}

/// Ends every wait at once, and remembers how long it should have been.
#[derive(Default)]
struct AtOnce(Mutex<Vec<Duration>>);

impl Timer for AtOnce {
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(duration);
        future::ready(()).boxed()
    }
}

/// A core in which the faulty plugin has this kind, beside sound plugins of the others.
fn core_of(plugin: &Faulty, kind: Kind) -> Core {
    let mut core = Core::new();
    let extensions: Vec<Arc<dyn Extension>> = match kind {
        Kind::Extension => vec![Arc::new(plugin.clone())],
        _ => vec![],
    };
    match kind {
        Kind::Provider => core.register_provider(Arc::new(plugin.clone()), extensions).unwrap(),
        _ => {
            let provider = ScriptedProvider::default();
            provider.reply(ScriptedReply::text(&["yes"])).reply(ScriptedReply::text(&["yes"]));
            core.register_provider(Arc::new(provider), extensions).unwrap();
        }
    }
    match kind {
        Kind::Feature | Kind::Any => core.register_feature(Arc::new(plugin.clone())).unwrap(),
        Kind::Tool => core.register_tool(Arc::new(plugin.clone())).unwrap(),
        _ => {}
    }
    core
}

fn dig() -> Map {
    json!({"id": "c1", "name": "dig", "arguments": {}}).as_object().cloned().unwrap()
}

/// Does what makes the core call `hook`, and says in a word what came of it.
async fn provoke(core: &Core, hook: Hook) -> Result<String> {
    let (config, context) = (Config::empty(), CallContext::new("test"));
    let session = plain_session(&[Message::user("hi")]).await?;
    let count = |count: usize| Ok(count.to_string());
    match hook {
        Hook::GetUiElements => count(core.ui_schema(&config).await?.len()),
        Hook::GetModels => count(core.models_for(&config).await?.len()),
        Hook::AttachmentParts => {
            let file = FileInfo::default();
            count(core.attachment_parts(&config, file, &context).await?.len())
        }
        Hook::GetTemplate => count(core.templates(&config).await?.len()),
        Hook::GetCompletions => count(core.completions(&config, "").await?.len()),
        Hook::ApplyCompletion => core.apply_completion(&config, "", Map::new()).await,
        Hook::ExtensionGetActions | Hook::FeatureGetActions => {
            count(core.session_actions(&config).await?.len())
        }
        Hook::ExtensionExecuteAction | Hook::FeatureExecuteAction => {
            let go = ActionCall::new("faulty", "go");
            core.execute_session_action(&session, &config, go, &context).await?;
            Ok("ran".into())
        }
        Hook::GetToolSchemas | Hook::PrepareTools | Hook::FilterTools => {
            count(core.tool_schemas(&config).await?.len())
        }
        Hook::ExecuteTool | Hook::StreamTool | Hook::FormatToolResult | Hook::ToDisplayFormat => {
            let messages = core.execute_tool_calls(vec![dig()], &config, &context).await?;
            Ok(messages[0].text().to_owned())
        }
        Hook::FormatToolCallPreview => {
            Ok(core.format_tool_call_preview(&dig(), &config).await?.preview)
        }
        Hook::StreamApi | Hook::ProcessChunk => {
            let events = core.send_request_stream(&session, &config, RequestOptions::default());
            let events: Vec<CoreEvent> = events.try_collect().await?;
            count(events.len())
        }
        _ => {
            let sent = core.send_request(&session, &config, RequestOptions::default()).await?;
            Ok(sent.messages[0].text().to_owned())
        }
    }
}

fn check_error(error: &Error, hook: Hook, fault: Fault) {
    let (class, text) = match fault {
        Fault::Panic | Fault::LatePanic => (ErrorClass::Plugin, "panicked: boom".to_owned()),
        Fault::Error | Fault::LateError => (ErrorClass::Unavailable, "broken".to_owned()),
        Fault::Hang => {
            let limit = hook.spec().timeout.unwrap().as_secs();
            (ErrorClass::Plugin, format!("no answer within {limit} s"))
        }
    };
    assert_eq!(error.class(), class, "{hook:?} {fault:?}");
    assert!(error.message().contains(&text), "{error}");
    assert_eq!(error.plugin_name(), Some("faulty"), "{hook:?} {fault:?}");
    assert_eq!(error.hook_name(), Some(hook.name()), "{hook:?} {fault:?}");
    let shown = error.to_string();
    assert!(shown.contains("faulty") && shown.contains(hook.name()), "{shown}");
}

/// What a call gives where its tool, or a hook that shapes the result, fails.
fn spoken_failure(hook: Hook, fault: Fault) -> Option<String> {
    let reason = match fault {
        Fault::Panic | Fault::LatePanic => "the plugin panicked: boom",
        Fault::Error | Fault::LateError => "broken",
        Fault::Hang => "no answer within 5 s",
    };
    match hook {
        Hook::ExecuteTool | Hook::StreamTool => Some(format!("Tool error: {reason}")),
        Hook::FormatToolResult => Some(format!("Tool formatting error: {reason}")),
        _ => None,
    }
}

async fn check_fault(hook: Hook, kind: Kind, fault: Fault) {
    let plugin = Faulty::new(hook, fault);
    let timer = Arc::new(AtOnce::default());
    let core = core_of(&plugin, kind).with_timer(timer.clone());
    let outcome = provoke(&core, hook).await;
    match (outcome, spoken_failure(hook, fault), hook.spec().on_failure) {
        (Ok(text), Some(spoken), _) => assert_eq!(text, spoken, "{hook:?} {fault:?}"),
        (Ok(_), None, OnFailure::Skip) => {}
        (Err(error), None, OnFailure::Fail) => check_error(&error, hook, fault),
        (outcome, ..) => panic!("{hook:?} as {kind:?} {fault:?}: {outcome:?}"),
    }
    if fault == Fault::Hang {
        let waited = timer.0.lock().unwrap().clone();
        assert!(waited.contains(&hook.spec().timeout.unwrap()), "{hook:?} {waited:?}");
    }
    plugin.repaired.store(true, Ordering::SeqCst);
    let again = provoke(&core, hook).await;
    assert!(again.is_ok(), "usable afterwards: {hook:?} {fault:?} {again:?}");
}

#[tokio::test]
async fn every_hook_that_answers_may_fail_in_every_way() {
    // The hooks of the last two kinds are run by the application, which tests them itself.
    let above = [Kind::Application, Kind::Host];
    let asked = HOOKS.iter().filter(|row| row.shape == Shape::Answer && !above.contains(&row.kind));
    for row in asked.filter(|row| row.hook != Hook::CancelRequest) {
        for fault in FAULTS {
            if fault != Fault::Hang || row.timeout.is_some() {
                check_fault(row.hook, row.kind, fault).await;
            }
        }
    }
}

#[tokio::test]
async fn the_hooks_of_all_kinds_fail_alike_in_each() {
    for kind in [Kind::Provider, Kind::Extension, Kind::Tool] {
        for hook in [Hook::Init, Hook::GetTags, Hook::IsEnabled, Hook::GetUiElements] {
            // A provider is chosen by configuration and not asked whether it is enabled.
            if (kind, hook) != (Kind::Provider, Hook::IsEnabled) {
                check_fault(hook, kind, Fault::LatePanic).await;
            }
        }
    }
}

#[tokio::test]
async fn what_is_skipped_leaves_out_that_plugin_only() {
    let cases = [
        (Hook::GetUiElements, "1", "2"),
        (Hook::GetTemplate, "1", "2"),
        (Hook::GetCompletions, "1", "2"),
    ];
    for (hook, without, with) in cases {
        let plugin = Faulty::new(hook, Fault::Panic);
        let mut core = core_of(&plugin, Kind::Feature);
        let sound = ScriptedFeature::new("sound")
            .get_ui_elements(|_, _| Ok(vec![json!({})]))
            .get_template(|_, _| Ok("template".into()))
            .get_completions(|_, _| Ok(vec![json!({})]));
        core.register_feature(Arc::new(sound)).unwrap();
        assert_eq!(provoke(&core, hook).await.unwrap(), without, "{hook:?}");
        plugin.repaired.store(true, Ordering::SeqCst);
        assert_eq!(provoke(&core, hook).await.unwrap(), with, "{hook:?}");
    }
    let quiet = core_of(&Faulty::new(Hook::ToDisplayFormat, Fault::Panic), Kind::Tool);
    assert_eq!(provoke(&quiet, Hook::ToDisplayFormat).await.unwrap(), "done");
    let blank = core_of(&Faulty::new(Hook::FormatToolCallPreview, Fault::Panic), Kind::Tool);
    assert_eq!(provoke(&blank, Hook::FormatToolCallPreview).await.unwrap(), "");
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_the_error_and_keeps_what_was_shown() {
    for fault in [Fault::Panic, Fault::LatePanic, Fault::Error] {
        let plugin = Faulty::new(Hook::StreamApi, fault);
        let core = core_of(&plugin, Kind::Provider);
        let session = core.create_session(Some("s"));
        let config = Config::empty();
        let events = core.send_request_stream(&session, &config, RequestOptions::default());
        let mut events: Vec<_> = events.collect().await;
        let error = events.pop().unwrap().unwrap_err();
        check_error(&error, Hook::StreamApi, fault);
        // What panics when asked never gets to show anything.
        assert_eq!(events.len(), usize::from(fault != Fault::Panic), "{fault:?}");
        plugin.repaired.store(true, Ordering::SeqCst);
        assert_eq!(provoke(&core, Hook::StreamApi).await.unwrap(), "2");
    }
}

#[tokio::test]
async fn a_failing_process_chunk_ends_the_request_by_name() {
    for fault in [Fault::Panic, Fault::Error] {
        let plugin = Faulty::new(Hook::ProcessChunk, fault);
        let core = core_of(&plugin, Kind::Extension);
        let error = provoke(&core, Hook::ProcessChunk).await.unwrap_err();
        check_error(&error, Hook::ProcessChunk, fault);
        plugin.repaired.store(true, Ordering::SeqCst);
        assert_eq!(provoke(&core, Hook::ProcessChunk).await.unwrap(), "2");
    }
}

#[tokio::test]
async fn a_failing_tool_stream_is_told_to_the_model() {
    for fault in [Fault::Panic, Fault::LatePanic, Fault::Error] {
        check_fault(Hook::StreamTool, Kind::Tool, fault).await;
    }
    // Who reads the chunks gets the failure itself.
    for (fault, class) in
        [(Fault::LatePanic, ErrorClass::Plugin), (Fault::Error, ErrorClass::Unavailable)]
    {
        let core = core_of(&Faulty::new(Hook::StreamTool, fault), Kind::Tool);
        let context = CallContext::new("test");
        let chunks = core.stream_tool_call(&dig(), &Config::empty(), &context).await.unwrap();
        let error = chunks.try_collect::<Vec<_>>().await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
    }
}

#[tokio::test]
async fn a_provider_that_cannot_cancel_does_not_hold_the_request() {
    for fault in FAULTS {
        let token = CancelToken::new();
        let core = core_of(&Faulty::new(Hook::CancelRequest, fault), Kind::Provider)
            .with_timer(Arc::new(AtOnce::default()));
        let options = RequestOptions {
            request_id: Some("r".into()),
            cancellation: Some(Arc::new(token.clone())),
            ..Default::default()
        };
        let session = core.create_session(Some("s"));
        let mut events = core.send_request_stream(&session, &Config::empty(), options);
        assert!(matches!(events.next().await, Some(Ok(CoreEvent::Partial(_)))));
        token.cancel();
        let error = events.next().now_or_never().flatten().unwrap().unwrap_err();
        assert!(error.is_cancelled(), "{fault:?} {error}");
    }
}

#[tokio::test]
async fn hooks_without_a_limit_are_waited_for() {
    let gate = Gate::new();
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["slow"]).waiting_for(&gate));
    let core = core_with(&provider).unwrap().with_timer(Arc::new(AtOnce::default()));
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = Config::empty();
    let mut sending = core.send_request(&session, &config, RequestOptions::default()).boxed();
    assert!((&mut sending).now_or_never().is_none(), "a model takes as long as it takes");
    gate.open();
    assert_eq!(sending.await.unwrap().messages[0].text(), "slow");
}

#[tokio::test]
async fn an_answer_that_is_there_beats_a_limit_that_is_over() {
    struct Late;
    impl Plugin for Late {
        fn manifest(&self) -> Manifest {
            Manifest::new("late", "1.0.0")
        }
        fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
            Answer::later(future::ready(Ok(vec!["there".to_owned()])))
        }
    }
    impl Feature for Late {}
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(Arc::new(Late)).unwrap();
    let core = core.with_timer(Arc::new(AtOnce::default()));
    assert_eq!(core.tags_for(&Config::empty()).await.unwrap(), ["there"]);
}

#[tokio::test]
async fn a_panic_without_words_is_an_error_all_the_same() {
    let feature = ScriptedFeature::new("mute").get_tags(|_, _| std::panic::panic_any(7));
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    let error = core.tags_for(&Config::empty()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Plugin);
    assert_eq!(error.plugin_name(), Some("mute"));
}

#[test]
fn a_plugin_that_cannot_say_who_it_is_is_not_registered() {
    struct Nobody;
    impl Plugin for Nobody {
        fn manifest(&self) -> Manifest {
            panic!("who am I")
        }
    }
    impl Feature for Nobody {}
    impl Extension for Nobody {
        fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
            Ok(())
        }
    }
    let mut core = Core::new();
    let provider = Arc::new(ScriptedProvider::default());
    let errors = [
        core.register_feature(Arc::new(Nobody)).unwrap_err(),
        core.register_provider(provider, vec![Arc::new(Nobody)]).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.class(), ErrorClass::Plugin);
        assert!(error.message().contains("manifest"), "{error}");
    }
    assert_eq!(core.registered(), ActivePlugins::default());
}

#[tokio::test]
async fn formats_that_cannot_be_had_are_an_error_by_name() {
    struct Formless;
    impl Plugin for Formless {
        fn manifest(&self) -> Manifest {
            Manifest::new("formless", "1.0.0")
        }
    }
    impl Extension for Formless {
        fn interop(&self) -> Interop {
            panic!("no form")
        }
        fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
            Ok(())
        }
    }
    let mut core = Core::new();
    let provider = Arc::new(ScriptedProvider::default());
    core.register_provider(provider, vec![Arc::new(Formless)]).unwrap();
    let error = core.plugins_for(&Config::empty()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Plugin);
    assert_eq!((error.plugin_name(), error.hook_name()), (Some("formless"), Some("interop")));
}

#[tokio::test]
async fn a_fault_leaves_the_session_of_the_caller_as_it_was() {
    let plugin = Faulty::new(Hook::FeatureFinalize, Fault::Panic);
    let core = core_of(&plugin, Kind::Feature);
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = Config::empty();
    let error = core.send_request(&session, &config, RequestOptions::default()).await.unwrap_err();
    check_error(&error, Hook::FeatureFinalize, Fault::Panic);
    assert_eq!(session.messages().len(), 1, "the session the caller holds is as it was");
    plugin.repaired.store(true, Ordering::SeqCst);
    let sent = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(sent.session.messages().len(), 2);
}
