//! Another agent at work: its events on the way, and what it reports. Dropping it cancels it.

use orlop_app::{Application, EventKind, Recovery, RequestHandle};
use orlop_core::types::ToolReport;
use orlop_core::{Message, Role, Value};
use serde_json::json;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The longest report, in characters.
const MAX_REPORT: usize = 50_000;
/// How long nothing may be heard before it is looked whether anybody still works on it.
const SILENCE: Duration = Duration::from_secs(20);

/// What comes next of another agent.
pub(super) enum Next {
    Part(Value),
    Report(ToolReport),
}

/// A request of another agent.
pub(super) struct Child {
    app: Application,
    handle: RequestHandle,
    agent: String,
    over: bool,
    _place: OwnedSemaphorePermit,
}

impl Child {
    pub(super) fn new(
        app: Application,
        handle: RequestHandle,
        agent: String,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self { app, handle, agent, over: false, _place: place }
    }

    /// The first part: where to look for the others.
    pub(super) fn introduced(&self) -> Value {
        json!({
            "type": "delegate", "agent": self.agent, "session_id": self.handle.session_id(),
            "request_id": self.handle.request_id(),
        })
    }

    pub(super) async fn next(&mut self) -> Next {
        loop {
            let event = match tokio::time::timeout(SILENCE, self.handle.next()).await {
                Ok(event) => event,
                Err(_) => {
                    look_after(&self.app).await;
                    continue;
                }
            };
            let Some(event) = event else {
                return self.ended(ToolReport::failed("the other agent ended without an answer"));
            };
            match &event.kind {
                EventKind::Final { messages, usage, .. } => {
                    let mut report = ToolReport::ok(self.answer(messages));
                    report.data.insert("usage".to_owned(), json!(usage));
                    return self.ended(report);
                }
                EventKind::RequestFailed { error } => {
                    let reason =
                        error.get("message").and_then(Value::as_str).unwrap_or("it failed");
                    let text = format!("agent \"{}\" failed: {reason}", self.agent);
                    return self.ended(ToolReport::failed(text));
                }
                EventKind::RequestCancelled { reason } => {
                    let text = format!("agent \"{}\" was stopped: {reason}", self.agent);
                    return self.ended(ToolReport::failed(text));
                }
                EventKind::SessionCreated { .. } => {}
                _ => {
                    return Next::Part(
                        json!({ "type": "event", "agent": self.agent, "event": event }),
                    );
                }
            }
        }
    }

    fn ended(&mut self, mut report: ToolReport) -> Next {
        self.over = true;
        for (key, value) in [
            ("agent", self.agent.as_str()),
            ("session_id", self.handle.session_id()),
            ("request_id", self.handle.request_id()),
        ] {
            report.data.insert(key.to_owned(), value.into());
        }
        Next::Report(report)
    }

    /// The last thing it said.
    fn answer(&self, messages: &[Message]) -> String {
        let said = messages.iter().rev().find(|message| message.role() == Role::Assistant);
        let said = said.map(Message::text).unwrap_or_default();
        match said.char_indices().nth(MAX_REPORT) {
            _ if said.trim().is_empty() => "The other agent ended without a text.".to_owned(),
            Some((end, _)) => format!(
                "{}\n[The report is longer than {MAX_REPORT} characters; the rest is in session {}.]",
                &said[..end],
                self.handle.session_id()
            ),
            None => said.to_owned(),
        }
    }
}

/// A request that was left behind by another process is taken up.
async fn look_after(app: &Application) {
    if let Err(error) = app.recover_own(Recovery::Resume).await {
        tracing::warn!(target: "orlop::delegate", %error, "abandoned requests could not be looked for");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.over {
            return;
        }
        let (app, request) = (self.app.clone(), self.handle.request_id().to_owned());
        runtime.spawn(async move {
            let reason = "the request it worked for was cancelled";
            if let Err(error) = app.cancel_request(&request, reason).await {
                tracing::warn!(target: "orlop::delegate", %error, "a delegated request could not be cancelled");
            }
        });
    }
}
