//! A tool that a person runs, such as the command of a message `!ls`. Hooks and policies see the call
//! as they see those of models. What they deny stays denied; nobody is asked, since whoever would be
//! asked is the one who runs it.

use super::Approval;
use super::tools::{decision_of, replaced, wants};
use crate::application::{Agent, Application};
use futures::StreamExt;
use orlop_core::hooks::{RequestInfo, ToolCallInfo, ToolGate, ToolResultInfo};
use orlop_core::types::{InspectedCall, ToolDescriptor};
use orlop_core::{
    Config, Error, Map, Message, Result, Session, ToolEvent, TriggerSource, Value, lifecycle,
};
use serde_json::json;

impl Application {
    /// Runs a tool of a session's agent and gives the message that a model would read. Nothing is
    /// added to the session, which need not be stored. A call that is denied, and a tool that the
    /// agent does not have, are errors; so is one that would ask in a request whose `approval` says
    /// that such calls do not run.
    pub async fn run_tool_by_hand(
        &self,
        request: &RequestInfo,
        tool: &str,
        input: Value,
        approval: Approval,
    ) -> Result<Message> {
        let app = self.in_flow();
        let session = match app.load_session(&request.session_id).await? {
            Some(loaded) => loaded.session,
            None => {
                let agent =
                    Map::from_iter([("agent_id".to_owned(), request.agent_id.clone().into())]);
                Session::new(request.session_id.clone()).with_metadata_patch(&agent)
            }
        };
        let agent = app.agent_of(&session)?;
        let config = app.effective(&agent, &session, &[]);
        let hand = Hand {
            app: &app,
            agent: &agent,
            config: &config,
            session: &session,
            request,
            approval,
            plugin: None,
        };
        hand.run(tool, input).await
    }
}

/// Who runs a tool, and where.
pub(super) struct Hand<'a> {
    pub(super) app: &'a Application,
    pub(super) agent: &'a Agent,
    pub(super) config: &'a Config,
    pub(super) session: &'a Session,
    pub(super) request: &'a RequestInfo,
    pub(super) approval: Approval,
    /// The plugin that runs it, if no person does.
    pub(super) plugin: Option<&'a str>,
}

impl Hand<'_> {
    async fn run(&self, tool: &str, input: Value) -> Result<Message> {
        let call = InspectedCall {
            call_id: Some(format!("hand-{}", self.request.request_id)),
            tool_name: Some(tool.to_owned()),
            payload: input,
            ..InspectedCall::default()
        };
        self.run_call(call).await
    }

    /// Runs a call if nobody denies it.
    pub(super) async fn run_call(&self, mut call: InspectedCall) -> Result<Message> {
        let core = self.app.core_of(self.agent);
        let Some(tool) = core.tool_for(&call, self.config).await? else {
            let name = call.tool_name.unwrap_or_default();
            return Err(Error::not_found(format!(
                "the agent \"{}\" has no tool \"{name}\"; add it to its `tools`",
                self.agent.id
            )));
        };
        if self.plugin.is_some() {
            let read = self.app.shared.arguments.read(Some(&tool), &call).await;
            call.payload = read.map_err(Error::bad_argument)?;
            self.wished(&tool)?;
        }
        call.payload = self.permitted(&call).await?;
        let layer = self.app.layer(&self.agent.base, TriggerSource::Manual);
        let context = layer
            .owning("request_id", self.request.request_id.clone())
            .owning("session_id", self.session.id())
            .owning("tool_call", told(&call));
        let mut events = core.run_tool_call(call.clone(), self.config, &context).boxed();
        let mut message = None;
        while let Some(event) = events.next().await {
            if let ToolEvent::Message(said) = event? {
                message = Some(said);
            }
        }
        let message = message.ok_or_else(|| Error::plugin("the tool ended without a result"))?;
        Ok(self.finished(&call, message).await)
    }

    /// The input to run with, if nobody denies the call.
    async fn permitted(&self, call: &InspectedCall) -> Result<Value> {
        let denied = |reason: String| Error::bad_state(format!("it is denied: {reason}"));
        let info = ToolCallInfo {
            request: self.request.clone(),
            call_id: call.call_id.clone().unwrap_or_default(),
            tool_name: call.tool_name.clone().unwrap_or_default(),
            input: call.payload.clone(),
        };
        let (gate, input) = self.app.gate_tool_call(info).await;
        match gate {
            ToolGate::Deny(reason) => return Err(denied(reason)),
            ToolGate::Ask(reason) => self.asked(reason)?,
            ToolGate::Allow | ToolGate::Rewrite(_) => {}
        }
        let mut call = InspectedCall { payload: input, ..call.clone() };
        for point in [lifecycle::PERMISSION, lifecycle::TOOL_BEFORE] {
            let owned = [("tool_call", told(&call))];
            let hooked = self.app.hooked();
            let run = hooked.run(point, self.session, self.agent, self.config, &owned).await?;
            for record in &run.results {
                match decision_of(record) {
                    Some(ToolGate::Deny(reason)) => return Err(denied(reason)),
                    Some(ToolGate::Rewrite(input)) => call.payload = input,
                    Some(ToolGate::Ask(reason)) => self.asked(reason)?,
                    Some(ToolGate::Allow) | None => {}
                }
            }
        }
        Ok(call.payload)
    }

    /// What would ask runs, unless the request is one in which nobody may be asked.
    fn asked(&self, reason: String) -> Result<()> {
        match (self.approval, self.plugin) {
            (Approval::Wait | Approval::Allow, _) => Ok(()),
            (Approval::Deny, None) => Err(Error::bad_state(format!(
                "it is denied: what would ask does not run in this request ({reason})"
            ))),
            (Approval::Deny, Some(plugin)) => Err(Error::bad_state(format!(
                "it needs the approval of a person, and the plugin \"{plugin}\" cannot ask for it ({reason}); allow it in `permissions`, or let the model make the call"
            ))),
        }
    }

    /// What the tool itself wants of a person.
    fn wished(&self, tool: &ToolDescriptor) -> Result<()> {
        if wants(Some(tool), "answer") {
            return Err(Error::bad_state("it has a question, and nobody is there to answer"));
        }
        match wants(Some(tool), "ask") {
            true => self.asked("the tool asks before it runs".to_owned()),
            false => Ok(()),
        }
    }

    /// The result after host plugins and the `tool_after` or `tool_error` actions.
    async fn finished(&self, call: &InspectedCall, message: Message) -> Message {
        let failed = message.metadata().contains_key("tool_error");
        let info = ToolResultInfo {
            request: self.request.clone(),
            call_id: call.call_id.clone().unwrap_or_default(),
            tool_name: call.tool_name.clone().unwrap_or_default(),
            input: call.payload.clone(),
            result: message.text().to_owned(),
            failed,
        };
        let message = match self.app.after_tool_call(info).await {
            Some(text) => replaced(message, text),
            None => message,
        };
        let point = if failed { lifecycle::TOOL_ERROR } else { lifecycle::TOOL_AFTER };
        let owned = [("tool_call", told(call)), ("tool_result", json!(message))];
        let hooked = self.app.hooked();
        match hooked.run(point, self.session, self.agent, self.config, &owned).await {
            Ok(run) => {
                let mut said = run.results.iter().rev();
                match said.find_map(|record| record.result.get("result")?.as_str()) {
                    Some(text) => replaced(message, text.to_owned()),
                    None => message,
                }
            }
            Err(error) => {
                tracing::error!(target: "orlop::app", lifecycle = point, %error, "a lifecycle failed after a tool call");
                message
            }
        }
    }
}

fn told(call: &InspectedCall) -> Value {
    json!({ "id": call.call_id, "name": call.tool_name, "input": call.payload })
}
