//! The hook table: each hook is declared once, here, with its input, its outcome, how several
//! outcomes combine, how long it may take and what a failure does.
//!
//! The Rust traits below, the [`Hook`] list, the JSON Schemas of all payloads and the reference
//! page come from this one declaration. All hooks have the same form: what to act on, then the
//! context; the answer is an outcome whose default changes nothing.

mod answer;
pub mod payload;
mod run;
mod state;

pub use answer::Answer;
pub use payload::*;
pub use run::Runner;
pub(crate) use run::panicked;
pub use run::{HookEvent, Observer, Outcome, Timer};
pub use state::{State, StateChange};

use crate::context::Context;
use crate::interop::Interop;
use crate::plugin::Manifest;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use orlop_types::{
    ActionDefinition, ActionResult, Change, Map, Message, NativeItem, Result, ToolDescriptor,
    ToolPart, ToolReport, Value,
};
use std::time::Duration;

/// A chunk that an extension gives later; nothing leaves the one it saw as it is.
pub type LaterChunk = BoxFuture<'static, Result<Option<Chunk>>>;

/// The kinds of plugin. The core runs the first four; the application runs the last two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Hooks that every kind has.
    Any,
    /// Model access.
    Provider,
    /// Works beside one provider, on its stream.
    Extension,
    /// Shapes requests and history whatever the provider.
    Feature,
    /// Gives the model something to call.
    Tool,
    /// Acts on all sessions of an application.
    Application,
    /// Stands around every request of every surface.
    Host,
}

impl Kind {
    /// The kind in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Provider => "provider",
            Self::Extension => "extension",
            Self::Feature => "feature",
            Self::Tool => "tool",
            Self::Application => "application",
            Self::Host => "host",
        }
    }
}

/// How the outcomes of several plugins combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Only one plugin is asked.
    One,
    /// Each plugin sees what the one before it made.
    Chain,
    /// All outcomes, one after another.
    Concat,
    /// The first outcome that is not empty.
    First,
    /// `false` of the plugin itself disables it.
    Veto,
}

/// What a failure of the hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The operation fails.
    Fail,
    /// The failure is logged and the plugin's outcome left out.
    Skip,
}

/// How much history the hook needs; what crosses a process border is no more than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// None.
    None,
    /// What this turn added.
    Tail,
    /// All of it.
    Full,
}

/// When the hook is called. It is what the table promises to plugins: a test takes every path of
/// every surface, and fails where a hook is not called on one that is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the host comes up or goes down.
    Host,
    /// Once for each configuration, when it is first used.
    Configuration,
    /// For each request that somebody makes, at the front door.
    Request,
    /// In each turn, also in one that another turn delegates.
    Turn,
    /// In each turn that is stored.
    Stored,
    /// When a model has answered.
    Answer,
    /// When a model is asked for an answer in one piece.
    Whole,
    /// When a model is asked for an answer piece by piece.
    Stream,
    /// When a tool is called.
    ToolCall,
    /// When somebody cancels.
    Cancel,
    /// When files come with a request.
    Files,
    /// When something is shown to people, or they type.
    FrontEnd,
}

/// How the hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Asked once, answers once.
    Answer,
    /// Answers with a stream.
    Stream,
    /// Called in place for each chunk, on the hot path.
    InPlace,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct HookSpec {
    /// The row's own name.
    pub hook: Hook,
    /// The kind of plugin.
    pub kind: Kind,
    /// The method.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// The input type.
    pub input: &'static str,
    /// The outcome type.
    pub outcome: &'static str,
    /// How it is called.
    pub shape: Shape,
    /// How several outcomes combine.
    pub fold: Fold,
    /// How long it may take; streams have no limit of their own.
    pub timeout: Option<Duration>,
    /// What a failure does.
    pub on_failure: OnFailure,
    /// How much history it needs.
    pub history: History,
    /// When it is called.
    pub when: When,
    /// Whether a plugin of the kind must have it.
    pub required: bool,
}

/// A set of hooks, for instance those a plugin implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookSet(u64);

impl HookSet {
    /// Every hook.
    pub const ALL: Self = Self(u64::MAX);

    /// These hooks.
    pub fn of(hooks: &[Hook]) -> Self {
        Self(hooks.iter().fold(0, |bits, hook| bits | 1 << *hook as u32))
    }

    /// Whether `hook` is among them.
    pub fn contains(self, hook: Hook) -> bool {
        self.0 & (1 << hook as u32) != 0
    }
}

macro_rules! hook_method {
    (answer optional $(#[doc = $doc:literal])* $name:ident $input:ty, $outcome:ty) => {
        $(#[doc = $doc])*
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
            let _ = (input, cx);
            Answer::default()
        }
    };
    (answer required $(#[doc = $doc:literal])* $name:ident $input:ty, $outcome:ty) => {
        $(#[doc = $doc])*
        fn $name<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome>;
    };
    (stream optional $(#[doc = $doc:literal])* $name:ident $input:ty, $outcome:ty) => {
        $(#[doc = $doc])*
        fn $name(&self, input: &$input, cx: &Context) -> Option<BoxStream<'static, Result<$outcome>>> {
            let _ = (input, cx);
            None
        }
    };
    (in_place required $(#[doc = $doc:literal])* $name:ident $input:ty, $outcome:ty) => {
        $(#[doc = $doc])*
        fn $name(&self, input: &$input, chunk: &mut $outcome) -> Result<()>;
    };
}

macro_rules! shape {
    (answer) => {
        Shape::Answer
    };
    (stream) => {
        Shape::Stream
    };
    (in_place) => {
        Shape::InPlace
    };
}

macro_rules! limit {
    (none) => {
        None
    };
    ($seconds:literal) => {
        Some(Duration::from_secs($seconds))
    };
}

macro_rules! hook_table {
    ($(
        $(#[$trait_doc:meta])*
        trait $Trait:ident ($kind:ident) [$($bounds:tt)*] {
            $({ $($own:item)* })?
            $(
                $(#[doc = $doc:literal])*
                $Hook:ident: $shape:ident $need:ident $name:ident($input:ty) -> $outcome:ty,
                fold $fold:ident, seconds $seconds:tt, failure $failure:ident, history $history:ident, when $when:ident;
            )*
        }
    )*) => {
        $(
            $(#[$trait_doc])*
            pub trait $Trait: $($bounds)* {
                $($($own)*)?
                $( hook_method!($shape $need $(#[doc = $doc])* $name $input, $outcome); )*
            }
        )*

        /// Every hook of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Hook { $($( $(#[doc = $doc])* $Hook, )*)* }

        /// The table: one row a hook, in the order of the kinds.
        pub const HOOKS: &[HookSpec] = &[$($(
            HookSpec {
                hook: Hook::$Hook,
                kind: Kind::$kind,
                name: stringify!($name),
                doc: concat!($($doc),*),
                input: stringify!($input),
                outcome: stringify!($outcome),
                shape: shape!($shape),
                fold: Fold::$fold,
                timeout: limit!($seconds),
                on_failure: OnFailure::$failure,
                history: History::$history,
                when: When::$when,
                required: matches!(stringify!($need).as_bytes(), b"required"),
            },
        )*)*];

        /// The JSON Schemas of each hook's input and outcome, in the order of [`HOOKS`].
        #[cfg(feature = "schema")]
        pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(Hook, schemars::Schema, schemars::Schema)> {
            vec![$($(
                (Hook::$Hook, generator.subschema_for::<$input>(), generator.subschema_for::<$outcome>()),
            )*)*]
        }
    };
}

hook_table! {
    /// What every plugin of the core has: who it is, and the hooks of all kinds.
    trait Plugin (Any) [Send + Sync + 'static] {
        {
            /// Name, version, and everything else about the plugin that does not change.
            fn manifest(&self) -> Manifest;
        }
        /// Takes the resolved configuration and the shared state, and puts into the state what
        /// the plugin's other hooks will need. Runs once per configuration: provider,
        /// extensions, features, tools.
        Init: answer optional init(InitInput) -> StateChange,
            fold Chain, seconds 30, failure Fail, history None, when Configuration;
        /// The capabilities the plugin adds to the tag pool.
        GetTags: answer optional get_tags(TagsInput) -> Vec<String>,
            fold Concat, seconds 5, failure Fail, history None, when Configuration;
        /// `false` disables the plugin; `true` and no opinion leave it to the tags.
        IsEnabled: answer optional is_enabled(EnabledInput) -> Option<bool>,
            fold Veto, seconds 5, failure Fail, history None, when Configuration;
        /// Buttons, settings and other elements for people.
        GetUiElements: answer optional get_ui_elements(UiInput) -> Vec<Value>,
            fold Concat, seconds 5, failure Skip, history None, when FrontEnd;
    }

    /// Model access: talks to a model server and knows its native form. Needs `call_api` or
    /// `stream_api`; the core derives the other.
    trait Provider (Provider) [Plugin] {
        {
            /// Names the form of the native history with this configuration; history in another
            /// form is rebuilt before use. The plugin's name by default.
            fn native_format(&self, _config: &crate::Config) -> Option<String> { None }

            /// The interop formats in which the provider takes tool schemas and results, and
            /// further formats it knows.
            fn interop(&self) -> Interop { Interop::default() }

            /// How many tokens the configured model takes, as far as it is known without asking
            /// the server.
            fn context_window(&self, _config: &crate::Config) -> Option<u64> { None }

            /// What an answer of `model` with these token counts cost in US dollars, as far as
            /// prices are known.
            fn cost(&self, _model: &str, _usage: &Map) -> Option<f64> { None }
        }
        /// The models on offer: mappings with at least an `id`.
        GetModels: answer optional get_models(ConfigInput) -> Vec<Map>,
            fold Concat, seconds 30, failure Skip, history None, when Configuration;
        /// Converts messages to native items, tool calls, tool results and parts included.
        ProviderToNative: answer required to_native_messages(ToNativeInput) -> Vec<NativeItem>,
            fold One, seconds 30, failure Fail, history Full, when Turn;
        /// Converts native items to messages; `metadata.native_indices` of each message says
        /// which items it came from.
        ProviderFromNative: answer required from_native_messages(FromNativeInput) -> Vec<Message>,
            fold One, seconds 30, failure Fail, history Full, when Answer;
        /// Prepares the outgoing request.
        ProviderInitializeRequest: answer optional initialize_request(RequestInput) -> RequestChange,
            fold Chain, seconds 30, failure Fail, history Full, when Turn;
        /// Sends the request and answers when all of it has come; `None` if the provider only streams.
        CallApi: answer optional call_api(ModelRequest) -> Option<ModelAnswer>,
            fold One, seconds none, failure Fail, history Full, when Whole;
        /// Sends the request and gives chunks as they come; `None` if the provider only calls.
        /// Dropping the stream must end the request.
        StreamApi: stream optional stream_api(ModelRequest) -> Chunk,
            fold One, seconds none, failure Fail, history Full, when Stream;
        /// Runs after the model has answered; may add finals.
        ProviderFinalize: answer optional finalize(FinalizeInput) -> FinalizeChange,
            fold Chain, seconds 30, failure Fail, history Tail, when Answer;
        /// Aborts a running request; unknown ids are ignored.
        CancelRequest: answer optional cancel_request(CancelInput) -> (),
            fold One, seconds 5, failure Skip, history None, when Cancel;
    }

    /// Works beside one provider, in its process, on its stream.
    trait Extension (Extension) [Plugin] {
        {
            /// Interop formats the extension knows.
            fn interop(&self) -> Interop { Interop::default() }

            /// For an extension that must wait, such as one in another process: the chunk that takes
            /// the place of this one, later. Where it gives something, `process_chunk` is not called.
            fn process_chunk_later(&self, _input: &State, _chunk: &Chunk) -> Option<LaterChunk> {
                None
            }
        }
        /// Sees each chunk after the provider and may change what it shows or finishes. Called in
        /// place for every chunk: it must not wait.
        ProcessChunk: in_place required process_chunk(State) -> Chunk,
            fold Chain, seconds none, failure Fail, history None, when Stream;
        /// Adjusts the native items made from messages.
        ExtensionToNative: answer optional to_native_messages(ToNativeInput) -> Change<NativeItem>,
            fold Chain, seconds 30, failure Fail, history Full, when Turn;
        /// Adjusts the messages made from native items.
        ExtensionFromNative: answer optional from_native_messages(FromNativeInput) -> Change<Message>,
            fold Chain, seconds 30, failure Fail, history Full, when Answer;
        /// Adjusts the outgoing request.
        ExtensionInitializeRequest: answer optional initialize_request(RequestInput) -> RequestChange,
            fold Chain, seconds 30, failure Fail, history Full, when Turn;
        /// Runs after the model has answered.
        ExtensionFinalize: answer optional finalize(FinalizeInput) -> FinalizeChange,
            fold Chain, seconds 30, failure Fail, history Tail, when Answer;
        /// The actions the extension offers on a session.
        ExtensionGetActions: answer optional get_actions(ActionsInput) -> Vec<ActionDefinition>,
            fold Concat, seconds 5, failure Fail, history None, when Turn;
        /// Runs one of them.
        ExtensionExecuteAction: answer optional execute_action(ActionInput) -> ActionResult,
            fold One, seconds 600, failure Fail, history Full, when Turn;
    }

    /// Shapes requests, history and tools of one session, whatever the provider.
    trait Feature (Feature) [Plugin] {
        /// Adjusts the native items made from messages.
        FeatureToNative: answer optional to_native_messages(ToNativeInput) -> Change<NativeItem>,
            fold Chain, seconds 30, failure Fail, history Full, when Turn;
        /// Adjusts the messages made from native items.
        FeatureFromNative: answer optional from_native_messages(FromNativeInput) -> Change<Message>,
            fold Chain, seconds 30, failure Fail, history Full, when Answer;
        /// Adjusts the outgoing request; may restructure native history. Must be idempotent.
        FeatureInitializeRequest: answer optional initialize_request(RequestInput) -> RequestChange,
            fold Chain, seconds 30, failure Fail, history Full, when Turn;
        /// Adjusts what the model answered, in native form.
        FeatureFinalize: answer optional finalize(FinalizeInput) -> FinalizeChange,
            fold Chain, seconds 30, failure Fail, history Tail, when Answer;
        /// The actions the feature offers on a session.
        FeatureGetActions: answer optional get_actions(ActionsInput) -> Vec<ActionDefinition>,
            fold Concat, seconds 5, failure Fail, history None, when Turn;
        /// Runs one of them.
        FeatureExecuteAction: answer optional execute_action(ActionInput) -> ActionResult,
            fold One, seconds 600, failure Fail, history Full, when Turn;
        /// Removes or replaces tools before the model sees them; `None` leaves them alone.
        FilterTools: answer optional filter_tools(ToolPolicyInput) -> Option<Vec<ToolDescriptor>>,
            fold Chain, seconds 5, failure Fail, history None, when Configuration;
        /// What a message carries of a file that came with it: content parts; none if it is not
        /// this feature's.
        AttachmentParts: answer optional attachment_parts(AttachmentPartsInput) -> Vec<Map>,
            fold First, seconds 30, failure Skip, history None, when Files;
        /// A text template for people to start from.
        GetTemplate: answer optional get_template(ConfigInput) -> String,
            fold Concat, seconds 5, failure Skip, history None, when FrontEnd;
        /// Completions for the text before the cursor.
        GetCompletions: answer optional get_completions(CompletionsInput) -> Vec<Value>,
            fold Concat, seconds 2, failure Skip, history None, when FrontEnd;
        /// The snippet for an accepted completion; empty if it is not this feature's.
        ApplyCompletion: answer optional apply_completion(ApplyCompletionInput) -> String,
            fold First, seconds 2, failure Fail, history None, when FrontEnd;
    }

    /// Gives the model something to call.
    trait Tool (Tool) [Plugin] {
        {
            /// Interop formats the tool knows.
            fn interop(&self) -> Interop { Interop::default() }

            /// Another number than before when the plugin's tools have changed. What was resolved
            /// with the old number is resolved anew then, `init` of all plugins included. Called
            /// often: it must not wait.
            fn tools_version(&self) -> u64 { 0 }
        }
        /// The tools of the plugin: name, description and a JSON Schema of the parameters.
        GetToolSchemas: answer required get_tool_schemas(ToolSchemasInput) -> Vec<Map>,
            fold Concat, seconds 30, failure Skip, history None, when Configuration;
        /// Computes once per configuration what running and previewing need.
        PrepareTools: answer optional prepare_tools(PrepareInput) -> Value,
            fold One, seconds 30, failure Skip, history None, when Configuration;
        /// Runs a call and reports when it is done.
        ExecuteTool: answer required execute_tool(ToolInput) -> ToolReport,
            fold One, seconds none, failure Fail, history None, when ToolCall;
        /// Runs a call and gives parts on the way; `None` if the tool only reports at the end.
        StreamTool: stream optional stream_tool(ToolInput) -> ToolPart,
            fold One, seconds none, failure Fail, history None, when ToolCall;
        /// What the model reads of a report: text, or a structured result. By default the
        /// report's `output` or `error`.
        FormatToolResult: answer optional format_tool_result(FormatResultInput) -> Option<Value>,
            fold One, seconds 5, failure Fail, history None, when ToolCall;
        /// What a person sees of a report. By default the text.
        ToDisplayFormat: answer optional to_display_format(DisplayInput) -> Option<Value>,
            fold One, seconds 5, failure Skip, history None, when ToolCall;
        /// A short text that says what a call is about to do.
        FormatToolCallPreview: answer optional format_tool_call_preview(ToolInput) -> String,
            fold One, seconds 5, failure Skip, history None, when ToolCall;
    }

    /// Acts on all sessions of an application: stored sessions, requests, locks, events, agents.
    /// The application lends itself in the context, under `app`.
    trait ApplicationPlugin (Application) [Send + Sync + 'static] {
        {
            /// Name, version, and everything else about the plugin that does not change.
            fn manifest(&self) -> Manifest;
        }
        /// Takes the whole configuration of the application and gives the plugin's state, which
        /// its other hooks are handed. Runs once, when the application starts.
        ApplicationInit: answer optional init(ApplicationInitInput) -> Value,
            fold One, seconds 30, failure Fail, history None, when Host;
        /// Buttons, settings and other elements for people.
        ApplicationGetUiElements: answer optional get_ui_elements(ApplicationUiInput) -> Vec<Value>,
            fold Concat, seconds 5, failure Skip, history None, when FrontEnd;
        /// The actions the plugin offers, to people and to lifecycles.
        ApplicationGetActions: answer optional get_actions(ApplicationActionsInput) -> Vec<ActionDefinition>,
            fold Concat, seconds 5, failure Fail, history None, when Turn;
        /// Runs one of them. Beside its own keys the result may have `mutations`, `ui_effects`,
        /// `display`, `message`, `session_metadata`, or `status: error`.
        ApplicationExecuteAction: answer optional execute_action(ApplicationActionInput) -> ActionResult,
            fold One, seconds 600, failure Fail, history None, when Turn;
    }

    /// Stands around every request of every surface. Hooks run one after another, those of higher
    /// priority first; lifecycles run inside.
    trait HostPlugin (Host) [Send + Sync + 'static] {
        {
            /// Name, version, priority, and whether a failing interceptor stops the request.
            fn manifest(&self) -> Manifest;
        }
        /// Runs before the first request is taken. If it fails the host does not come up.
        Start: answer optional start(HostInput) -> (),
            fold Chain, seconds 30, failure Fail, history None, when Host;
        /// Ends what `start` began.
        Stop: answer optional stop(HostInput) -> (),
            fold Chain, seconds 10, failure Skip, history None, when Host;
        /// The beginning of a request, before all other hooks.
        OnRequestStart: answer optional on_request_start(RequestInfo) -> (),
            fold Chain, seconds 5, failure Skip, history None, when Request;
        /// May answer the request in place of the agent, or rewrite what it is asked. The first
        /// answer counts; rewrites chain.
        InterceptChatRequest: answer optional intercept_chat_request(InterceptInput) -> Option<Interception>,
            fold Chain, seconds 600, failure Skip, history None, when Request;
        /// What to tell the model of the files that came with the request.
        AttachmentHandler: answer optional attachment_handler(AttachmentInput) -> String,
            fold Concat, seconds 30, failure Skip, history None, when Files;
        /// Texts put in front of the request, before each model call. They are not stored.
        ContextProviders: answer optional context_providers(ContextInput) -> Vec<String>,
            fold Concat, seconds 10, failure Skip, history None, when Turn;
        /// Sees a tool call before it runs: may rewrite its input, ask a person, or refuse.
        BeforeToolCall: answer optional before_tool_call(ToolCallInfo) -> ToolGate,
            fold Chain, seconds 30, failure Skip, history None, when ToolCall;
        /// Sees the result of a tool call and may replace what the model reads.
        AfterToolCall: answer optional after_tool_call(ToolResultInfo) -> Option<String>,
            fold Chain, seconds 30, failure Skip, history None, when ToolCall;
        /// The turn is durable.
        OnTurnPersisted: answer optional on_turn_persisted(RequestInfo) -> (),
            fold Chain, seconds 5, failure Skip, history None, when Stored;
        /// The end of a request, whatever became of it.
        OnRequestEnd: answer optional on_request_end(RequestInfo) -> (),
            fold Chain, seconds 5, failure Skip, history None, when Request;
    }
}

impl Hook {
    /// The row of this hook.
    pub fn spec(self) -> &'static HookSpec {
        &HOOKS[self as usize]
    }

    /// The method's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether a plugin is only asked what it has: nothing is changed by the answer, and the question
    /// comes again and again.
    pub fn asks_only(self) -> bool {
        matches!(
            self,
            Self::GetUiElements
                | Self::GetModels
                | Self::ExtensionGetActions
                | Self::FeatureGetActions
                | Self::GetTemplate
                | Self::GetCompletions
                | Self::GetToolSchemas
                | Self::ApplicationGetUiElements
                | Self::ApplicationGetActions
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_hooks_and_fit_a_set() {
        for (index, row) in HOOKS.iter().enumerate() {
            assert_eq!(row.hook as usize, index);
            assert!(!row.doc.trim().is_empty());
        }
        assert!(HOOKS.len() <= 64);
        let set = HookSet::of(&[Hook::Init, Hook::FormatToolCallPreview]);
        assert!(set.contains(Hook::Init) && !set.contains(Hook::GetTags));
    }
}
