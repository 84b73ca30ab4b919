//! Extensions, features and tools made of closures: a test says only what the plugin does.

use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::{
    ActionInput, ActionsInput, ApplyCompletionInput, AttachmentPartsInput, Chunk, CompletionsInput,
    ConfigInput, DisplayInput, EnabledInput, FinalizeChange, FinalizeInput, FormatResultInput,
    FromNativeInput, InitInput, PrepareInput, RequestChange, RequestInput, TagsInput,
    ToNativeInput, ToolInput, ToolPolicyInput, ToolSchemasInput, UiInput,
};
use orlop_core::interop::Interop;
use orlop_core::types::{
    ActionDefinition, ActionResult, Map, ToolDescriptor, ToolPart, ToolReport, Value,
};
use orlop_core::{
    Answer, Change, Context, Extension, Feature, Manifest, Message, NativeItem, Plugin, Result,
    State, StateChange, Tool,
};
use std::sync::Arc;

type Hook<I, O> = Option<Arc<dyn Fn(&I, &Context) -> Result<O> + Send + Sync>>;
type ChunkHook = dyn Fn(&mut Chunk, &State) -> Result<()> + Send + Sync;
type PartsHook = dyn Fn(&ToolInput, &Context) -> Vec<Result<ToolPart>> + Send + Sync;

macro_rules! scripted {
    (
        $(#[$doc:meta])* $Type:ident: $Trait:ident {
            plugin { $($plugin_hook:ident($plugin_input:ty) -> $plugin_outcome:ty;)* }
            own { $($hook:ident($input:ty) -> $outcome:ty;)* }
            $(special { $special:ident: $special_type:ty })?
            $(other { $($other:item)* })?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $Type {
            manifest: Manifest,
            $($special: Option<$special_type>, interop: Interop,)?
            $($plugin_hook: Hook<$plugin_input, $plugin_outcome>,)*
            $($hook: Hook<$input, $outcome>,)*
        }

        impl $Type {
            /// A plugin that does nothing yet.
            pub fn new(name: &str) -> Self {
                Self::with_manifest(Manifest::new(name, "1.0.0").without_models())
            }

            /// A plugin with this manifest that does nothing yet.
            pub fn with_manifest(manifest: Manifest) -> Self {
                Self {
                    manifest,
                    $($special: None, interop: Interop::default(),)?
                    $($plugin_hook: None,)*
                    $($hook: None,)*
                }
            }

            /// With this priority.
            pub fn priority(mut self, priority: i64) -> Self {
                self.manifest = self.manifest.priority(priority);
                self
            }

            $(
                /// Answers this hook like that.
                pub fn $plugin_hook(
                    mut self,
                    hook: impl Fn(&$plugin_input, &Context) -> Result<$plugin_outcome> + Send + Sync + 'static,
                ) -> Self {
                    self.$plugin_hook = Some(Arc::new(hook));
                    self
                }
            )*
            $(
                /// Answers this hook like that.
                pub fn $hook(
                    mut self,
                    hook: impl Fn(&$input, &Context) -> Result<$outcome> + Send + Sync + 'static,
                ) -> Self {
                    self.$hook = Some(Arc::new(hook));
                    self
                }
            )*
        }

        impl Plugin for $Type {
            fn manifest(&self) -> Manifest {
                self.manifest.clone()
            }
            $(
                fn $plugin_hook<'a>(&'a self, input: &'a $plugin_input, cx: &'a Context) -> Answer<'a, $plugin_outcome> {
                    ask(&self.$plugin_hook, input, cx)
                }
            )*
        }

        impl $Trait for $Type {
            $(
                fn $hook<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
                    ask(&self.$hook, input, cx)
                }
            )*
            $($($other)*)?
        }
    };
}

fn ask<'a, I, O: Default>(hook: &Hook<I, O>, input: &I, cx: &Context) -> Answer<'a, O> {
    match hook {
        Some(hook) => hook(input, cx).into(),
        None => Answer::default(),
    }
}

scripted! {
    /// A feature made of closures.
    ScriptedFeature: Feature {
        plugin {
            init(InitInput) -> StateChange;
            get_tags(TagsInput) -> Vec<String>;
            is_enabled(EnabledInput) -> Option<bool>;
            get_ui_elements(UiInput) -> Vec<Value>;
        }
        own {
            to_native_messages(ToNativeInput) -> Change<NativeItem>;
            from_native_messages(FromNativeInput) -> Change<Message>;
            initialize_request(RequestInput) -> RequestChange;
            finalize(FinalizeInput) -> FinalizeChange;
            get_actions(ActionsInput) -> Vec<ActionDefinition>;
            execute_action(ActionInput) -> ActionResult;
            filter_tools(ToolPolicyInput) -> Option<Vec<ToolDescriptor>>;
            attachment_parts(AttachmentPartsInput) -> Vec<Map>;
            get_template(ConfigInput) -> String;
            get_completions(CompletionsInput) -> Vec<Value>;
            apply_completion(ApplyCompletionInput) -> String;
        }
    }
}

scripted! {
    /// An extension made of closures.
    ScriptedExtension: Extension {
        plugin {
            init(InitInput) -> StateChange;
            get_tags(TagsInput) -> Vec<String>;
            is_enabled(EnabledInput) -> Option<bool>;
            get_ui_elements(UiInput) -> Vec<Value>;
        }
        own {
            to_native_messages(ToNativeInput) -> Change<NativeItem>;
            from_native_messages(FromNativeInput) -> Change<Message>;
            initialize_request(RequestInput) -> RequestChange;
            finalize(FinalizeInput) -> FinalizeChange;
            get_actions(ActionsInput) -> Vec<ActionDefinition>;
            execute_action(ActionInput) -> ActionResult;
        }
        special { chunk: Arc<ChunkHook> }
        other {
            fn interop(&self) -> Interop {
                self.interop.clone()
            }
            fn process_chunk(&self, state: &State, chunk: &mut Chunk) -> Result<()> {
                match &self.chunk {
                    Some(hook) => hook(chunk, state),
                    None => Ok(()),
                }
            }
        }
    }
}

scripted! {
    /// A tool made of closures. Without more it offers nothing and reports success.
    ScriptedTool: Tool {
        plugin {
            init(InitInput) -> StateChange;
            get_tags(TagsInput) -> Vec<String>;
            is_enabled(EnabledInput) -> Option<bool>;
            get_ui_elements(UiInput) -> Vec<Value>;
        }
        own {
            get_tool_schemas(ToolSchemasInput) -> Vec<Map>;
            prepare_tools(PrepareInput) -> Value;
            execute_tool(ToolInput) -> ToolReport;
            format_tool_result(FormatResultInput) -> Option<Value>;
            to_display_format(DisplayInput) -> Option<Value>;
            format_tool_call_preview(ToolInput) -> String;
        }
        special { parts: Arc<PartsHook> }
        other {
            fn interop(&self) -> Interop {
                self.interop.clone()
            }
            fn stream_tool(&self, input: &ToolInput, cx: &Context) -> Option<BoxStream<'static, Result<ToolPart>>> {
                let parts = self.parts.as_ref()?;
                Some(futures::stream::iter(parts(input, cx)).boxed())
            }
        }
    }
}

impl ScriptedExtension {
    /// With these interop formats.
    pub fn interop(mut self, interop: Interop) -> Self {
        self.interop = interop;
        self
    }

    /// Does this to each chunk.
    pub fn process_chunk(
        mut self,
        hook: impl Fn(&mut Chunk, &State) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.chunk = Some(Arc::new(hook));
        self
    }
}

impl ScriptedTool {
    /// With these interop formats.
    pub fn interop(mut self, interop: Interop) -> Self {
        self.interop = interop;
        self
    }

    /// Offers tools of these names that take any object.
    pub fn offering(self, names: &[&str]) -> Self {
        let schemas: Vec<Map> = names
            .iter()
            .filter_map(|name| {
                let schema = serde_json::json!({
                    "name": name, "description": format!("the {name} tool"),
                    "parameters": { "type": "object", "properties": {} },
                });
                schema.as_object().cloned()
            })
            .collect();
        self.get_tool_schemas(move |_, _| Ok(schemas.clone()))
    }

    /// Streams these parts for each call.
    pub fn stream_tool(
        mut self,
        parts: impl Fn(&ToolInput, &Context) -> Vec<Result<ToolPart>> + Send + Sync + 'static,
    ) -> Self {
        self.parts = Some(Arc::new(parts));
        self
    }
}
