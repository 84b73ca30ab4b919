//! Calls of host plugins: one after another, each isolated, each failure reported once.

use crate::application::Application;
use crate::lock::locked;
use futures::StreamExt;
use orlop_core::hooks::{
    AttachmentInput, ContextInput, FileInfo, Hook, InterceptInput, Interception, RequestInfo,
    RequestKind, Rewrite, ToolCallInfo, ToolGate, ToolResultInfo,
};
use orlop_core::{
    Answer, Config, Context, Core, Error, HostPlugin, Registered, Result, TriggerSource, Value,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// How long stopping waits for requests that are under way.
const GRACE: Duration = Duration::from_secs(5);

/// A hook of a host plugin that failed.
#[derive(Debug, Clone)]
pub struct HookFailure {
    /// The plugin.
    pub plugin: String,
    /// The hook.
    pub hook: &'static str,
    /// What went wrong.
    pub error: Error,
}

/// Hears of failures.
pub(super) type Listener = Arc<dyn Fn(&HookFailure) + Send + Sync>;

/// Whether the door is open, who is inside, and who hears of failures.
#[derive(Default)]
pub(crate) struct Door {
    passage: watch::Sender<Passage>,
    listener: Mutex<Option<Listener>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Phase {
    #[default]
    New,
    Open,
    Closed,
}

#[derive(Clone, Copy, Default)]
struct Passage {
    phase: Phase,
    /// Requests between their first hook and their last.
    inside: usize,
}

/// A request between its first hook and its last. Clones are the same request.
#[derive(Clone)]
pub(super) struct Inside(#[expect(dead_code, reason = "held for its drop")] Arc<Leaving>);

struct Leaving(Application);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.shared.door.passage.send_modify(|passage| passage.inside -= 1);
    }
}

impl Door {
    pub(super) fn is_open(&self) -> bool {
        self.passage.borrow().phase == Phase::Open
    }

    pub(super) fn open(&self) {
        self.passage.send_modify(|passage| passage.phase = Phase::Open);
    }

    /// Lets nobody in any more and waits for those inside, but not for ever. `false` if it was
    /// not open.
    pub(super) async fn close(&self) -> bool {
        let was_open = self.passage.send_if_modified(|passage| {
            let was_open = passage.phase == Phase::Open;
            if was_open {
                passage.phase = Phase::Closed;
            }
            was_open
        });
        if was_open {
            let mut passage = self.passage.subscribe();
            let _ = tokio::time::timeout(GRACE, passage.wait_for(|now| now.inside == 0)).await;
        }
        was_open
    }

    pub(crate) fn set_listener(&self, listener: Option<Listener>) {
        *locked(&self.listener) = listener;
    }

    pub(crate) fn failed(&self, plugin: &str, hook: Hook, error: &Error) {
        tracing::error!(target: "orlop::host", plugin, hook = hook.name(), %error, "a host plugin failed");
        let listener = locked(&self.listener).clone();
        if let Some(listener) = listener {
            let failure =
                HookFailure { plugin: plugin.to_owned(), hook: hook.name(), error: error.clone() };
            // Whoever listens must not be able to break what it is told of.
            if catch_unwind(AssertUnwindSafe(|| listener(&failure))).is_err() {
                tracing::error!(target: "orlop::host", "the listener to failures of host plugins panicked");
            }
        }
    }
}

impl Application {
    /// Lets a request in, if the door is open.
    pub(super) fn enter(&self) -> Result<Inside> {
        let entered = self.shared.door.passage.send_if_modified(|passage| {
            let open = passage.phase == Phase::Open;
            passage.inside += usize::from(open);
            open
        });
        match entered {
            true => Ok(Inside(Arc::new(Leaving(self.clone())))),
            false => Err(Error::unavailable("the host has been stopped and takes no requests")),
        }
    }

    /// The host plugins in the order they run, if they were ever started. What is still under way
    /// when the host stops has them to its end.
    pub(super) fn hosts(&self) -> &[Registered<dyn HostPlugin>] {
        match self.shared.door.passage.borrow().phase {
            Phase::New => &[],
            Phase::Open | Phase::Closed => &self.shared.hosts,
        }
    }

    pub(crate) fn host_context(&self) -> Context {
        let layer = self.layer(&Config::empty(), TriggerSource::Application);
        Core::new().call_context(&Config::empty(), layer, None, None)
    }

    /// Asks one plugin; a failure is reported and gives `None`.
    async fn ask_host<'a, T>(
        &self,
        plugin: &'a Registered<dyn HostPlugin>,
        hook: Hook,
        ask: impl FnOnce(&'a dyn HostPlugin) -> Answer<'a, T>,
    ) -> Option<T>
    where
        T: serde::Serialize + Default,
    {
        match self.runner().try_call(plugin, hook, ask).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.shared.door.failed(plugin.name(), hook, &error);
                None
            }
        }
    }

    /// Host plugins that have a hook, each with what it is told.
    fn hosts_with(
        &self,
        hook: Hook,
    ) -> impl Iterator<Item = (&Registered<dyn HostPlugin>, Context)> {
        let having = self.hosts().iter().filter(move |it| it.manifest.hooks.contains(hook));
        having.map(|plugin| (plugin, self.host_context()))
    }

    /// The hooks that only hear of a request.
    pub(crate) async fn tell_hosts(&self, hook: Hook, info: &RequestInfo) {
        for (plugin, cx) in self.hosts_with(hook) {
            self.ask_host(plugin, hook, |p| match hook {
                Hook::OnRequestStart => p.on_request_start(info, &cx),
                Hook::OnTurnPersisted => p.on_turn_persisted(info, &cx),
                _ => p.on_request_end(info, &cx),
            })
            .await;
        }
    }

    /// What interceptors make of a request: the first answer, else all rewrites as one. One of a
    /// critical plugin that fails ends the request.
    pub(crate) async fn intercept(
        &self,
        mut input: InterceptInput,
    ) -> Result<Option<Interception>> {
        let hook = Hook::InterceptChatRequest;
        let mut rewritten: Option<Rewrite> = None;
        for (plugin, cx) in self.hosts_with(hook) {
            let runner = self.runner();
            let asked = runner.try_call(plugin, hook, |p| p.intercept_chat_request(&input, &cx));
            match asked.await {
                Ok(Some(Interception::Handled(handled))) => return Ok(Some(handled.into())),
                Ok(Some(Interception::Rewrite(rewrite))) => {
                    input.text.clone_from(&rewrite.text);
                    let all = rewritten.get_or_insert_default();
                    all.text = rewrite.text;
                    all.metadata.extend(rewrite.metadata);
                    all.overrides.extend(rewrite.overrides);
                    all.parts.extend(rewrite.parts);
                }
                Ok(None) => {}
                Err(error) => {
                    self.shared.door.failed(plugin.name(), hook, &error);
                    if plugin.manifest.critical {
                        return Err(error);
                    }
                }
            }
        }
        Ok(rewritten.map(Interception::Rewrite))
    }

    /// What handlers say of the files of a request, as one text.
    pub(crate) async fn attachment_texts(
        &self,
        info: &RequestInfo,
        files: Vec<FileInfo>,
    ) -> Vec<String> {
        if files.is_empty() {
            return Vec::new();
        }
        let input = AttachmentInput { request: info.clone(), files };
        let mut texts = Vec::new();
        let hook = Hook::AttachmentHandler;
        for (plugin, cx) in self.hosts_with(hook) {
            let said = self.ask_host(plugin, hook, |p| p.attachment_handler(&input, &cx)).await;
            texts.extend(said.filter(|text| !text.trim().is_empty()));
        }
        texts
    }

    /// What context providers say before a model call.
    pub(crate) async fn context_texts(
        &self,
        request: RequestInfo,
        text: String,
        step: u32,
    ) -> Vec<String> {
        let input = ContextInput { request, text, step };
        let mut texts = Vec::new();
        let hook = Hook::ContextProviders;
        for (plugin, cx) in self.hosts_with(hook) {
            let said = self.ask_host(plugin, hook, |p| p.context_providers(&input, &cx)).await;
            texts.extend(
                said.unwrap_or_default().into_iter().filter(|text| !text.trim().is_empty()),
            );
        }
        texts
    }

    /// Whether a tool call may run, and with what input: rewrites chain, the first refusal wins. A
    /// critical plugin that cannot say refuses.
    pub(crate) async fn gate_tool_call(&self, mut info: ToolCallInfo) -> (ToolGate, Value) {
        let mut gate = ToolGate::Allow;
        let hook = Hook::BeforeToolCall;
        for (plugin, cx) in self.hosts_with(hook) {
            let said = self.ask_host(plugin, hook, |p| p.before_tool_call(&info, &cx)).await;
            match said {
                Some(ToolGate::Rewrite(input)) => info.input = input,
                Some(ToolGate::Ask(reason)) => gate = ToolGate::Ask(reason),
                Some(ToolGate::Deny(reason)) => return (ToolGate::Deny(reason), info.input),
                None if plugin.manifest.critical => {
                    let reason = format!("plugin \"{}\" could not check it", plugin.name());
                    return (ToolGate::Deny(reason), info.input);
                }
                Some(ToolGate::Allow) | None => {}
            }
        }
        (gate, info.input)
    }

    /// Another text for the model, if a plugin has one; each sees what the one before left.
    pub(crate) async fn after_tool_call(&self, mut info: ToolResultInfo) -> Option<String> {
        let mut replaced = None;
        let hook = Hook::AfterToolCall;
        for (plugin, cx) in self.hosts_with(hook) {
            let said = self.ask_host(plugin, hook, |p| p.after_tool_call(&info, &cx)).await;
            if let Some(Some(text)) = said {
                info.result.clone_from(&text);
                replaced = Some(text);
            }
        }
        replaced
    }

    /// Tells host plugins that a turn is durable.
    pub(crate) async fn turn_persisted(
        &self,
        request: &str,
        session: &str,
        agent: &str,
        stream: bool,
    ) {
        if self.hosts().is_empty() {
            return;
        }
        let info = RequestInfo {
            kind: if stream { RequestKind::Stream } else { RequestKind::Chat },
            tenant_id: self.scope.tenant().to_owned(),
            user_id: self.scope.user().to_owned(),
            session_id: session.to_owned(),
            agent_id: agent.to_owned(),
            request_id: request.to_owned(),
        };
        self.tell_hosts(Hook::OnTurnPersisted, &info).await;
    }

    /// Waits until a request has left nothing to do. One of another process is over with its last
    /// event.
    pub async fn settled(&self, request: &str) {
        if let Some(feed) = self.shared.hub.feed(&self.scope, request) {
            return feed.closed().await;
        }
        if let Ok(mut events) = self.request_events(request, 0).await {
            while events.next().await.is_some() {}
        }
    }
}
