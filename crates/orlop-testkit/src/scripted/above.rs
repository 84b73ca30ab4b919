//! Application and host plugins made of async closures.

use futures::future::{BoxFuture, FutureExt};
use orlop_core::hooks::{
    ApplicationActionInput, ApplicationActionsInput, ApplicationInitInput, ApplicationUiInput,
    AttachmentInput, ContextInput, HostInput, InterceptInput, Interception, RequestInfo,
    ToolCallInfo, ToolGate, ToolResultInfo,
};
use orlop_core::types::{ActionDefinition, ActionResult, Value};
use orlop_core::{Answer, ApplicationPlugin, Context, HostPlugin, Manifest, Result};
use std::future::Future;
use std::sync::Arc;

type Hook<I, O> = Option<Arc<dyn Fn(I, Context) -> BoxFuture<'static, Result<O>> + Send + Sync>>;

macro_rules! scripted {
    ($(#[$doc:meta])* $Type:ident: $Trait:ident { $($hook:ident($input:ty) -> $outcome:ty;)* }) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $Type {
            manifest: Manifest,
            $($hook: Hook<$input, $outcome>,)*
        }

        impl $Type {
            /// A plugin with this manifest that does nothing yet.
            pub fn with_manifest(manifest: Manifest) -> Self {
                Self { manifest, $($hook: None,)* }
            }

            $(
                /// Answers this hook like that.
                pub fn $hook<F>(
                    mut self,
                    hook: impl Fn($input, Context) -> F + Send + Sync + 'static,
                ) -> Self
                where
                    F: Future<Output = Result<$outcome>> + Send + 'static,
                {
                    self.$hook = Some(Arc::new(move |input, cx| hook(input, cx).boxed()));
                    self
                }
            )*
        }

        impl $Trait for $Type {
            fn manifest(&self) -> Manifest {
                self.manifest.clone()
            }
            $(
                fn $hook<'a>(&'a self, input: &'a $input, cx: &'a Context) -> Answer<'a, $outcome> {
                    match &self.$hook {
                        Some(hook) => Answer::Pending(hook(input.clone(), cx.clone())),
                        None => Answer::default(),
                    }
                }
            )*
        }
    };
}

scripted! {
    /// An application plugin made of closures.
    ScriptedApplication: ApplicationPlugin {
        init(ApplicationInitInput) -> Value;
        get_ui_elements(ApplicationUiInput) -> Vec<Value>;
        get_actions(ApplicationActionsInput) -> Vec<ActionDefinition>;
        execute_action(ApplicationActionInput) -> ActionResult;
    }
}

scripted! {
    /// A host plugin made of closures.
    ScriptedHost: HostPlugin {
        start(HostInput) -> ();
        stop(HostInput) -> ();
        on_request_start(RequestInfo) -> ();
        intercept_chat_request(InterceptInput) -> Option<Interception>;
        attachment_handler(AttachmentInput) -> String;
        context_providers(ContextInput) -> Vec<String>;
        before_tool_call(ToolCallInfo) -> ToolGate;
        after_tool_call(ToolResultInfo) -> Option<String>;
        on_turn_persisted(RequestInfo) -> ();
        on_request_end(RequestInfo) -> ();
    }
}

impl ScriptedApplication {
    /// A plugin that does nothing yet.
    pub fn new(name: &str) -> Self {
        Self::with_manifest(Manifest::new(name, "1.0.0"))
    }

    /// Offers these actions.
    pub fn actions(self, actions: Vec<ActionDefinition>) -> Self {
        self.get_actions(move |_, _| {
            let actions = actions.clone();
            async move { Ok(actions) }
        })
    }
}

impl ScriptedHost {
    /// A plugin that does nothing yet.
    pub fn new(name: &str) -> Self {
        Self::with_manifest(Manifest::host(name, "1.0.0"))
    }
}
