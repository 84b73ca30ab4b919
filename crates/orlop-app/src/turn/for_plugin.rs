//! Tools that a plugin runs of its own accord. They pass the gate that the calls of models pass, with
//! the settings of the agent. Nobody is asked: what would ask is refused, unless the turn that the
//! plugin runs in allows such calls.

use super::by_hand::Hand;
use super::machine::denied;
use super::{Approval, TurnInfo};
use crate::application::Application;
use orlop_core::hooks::{RequestInfo, RequestKind};
use orlop_core::types::InspectedCall;
use orlop_core::{Context, Error, Map, Message, Result, Session, Value};

/// How deep tools may call tools through plugins.
const MAX_DEPTH: u64 = 8;
/// What a tool is told of how deep it is.
const DEPTH: &str = "plugin_tool_depth";

impl Application {
    /// Runs tool calls for `plugin`, whose hook has the context `cx`, and gives one tool message for
    /// each, in order; one that is not allowed says so in its message. `agent` names another agent
    /// than that of the call.
    pub async fn run_tools_for_plugin(
        &self,
        plugin: &str,
        cx: &Context,
        agent: Option<&str>,
        calls: Vec<Map>,
    ) -> Result<Vec<Message>> {
        let depth = cx.get(DEPTH).and_then(Value::as_u64).unwrap_or_default() + 1;
        if depth > MAX_DEPTH {
            return Err(Error::bad_state(format!(
                "tools have called tools through plugins {MAX_DEPTH} times; call none here"
            )));
        }
        let app = self.in_flow().telling(Map::from_iter([(DEPTH.to_owned(), depth.into())]));
        let session = cx.session().cloned();
        let session = session.unwrap_or_else(|| Session::new(uuid::Uuid::new_v4().to_string()));
        let found = match agent {
            Some(id) => app.shared.agent(id)?,
            None => app.agent_of(&session)?,
        };
        // A request may have narrower settings than its agent.
        let config = match (agent, cx.provider()) {
            (None, Some(_)) => cx.config().clone(),
            _ => app.effective(&found, &session, &[]),
        };
        let request = RequestInfo {
            kind: RequestKind::Chat,
            tenant_id: app.scope.tenant().to_owned(),
            user_id: app.scope.user().to_owned(),
            session_id: session.id().to_owned(),
            agent_id: found.id.clone(),
            request_id: cx.request_id().unwrap_or_default().to_owned(),
        };
        let approval = match TurnInfo::of(cx) {
            Ok(TurnInfo { approval: Approval::Allow, .. }) => Approval::Allow,
            _ => Approval::Deny,
        };
        let hand = Hand {
            app: &app,
            agent: &found,
            config: &config,
            session: &session,
            request: &request,
            approval,
            plugin: Some(plugin),
        };
        let core = app.core_of(&found);
        let mut messages = Vec::with_capacity(calls.len());
        for raw in calls {
            let call = match core.inspect_tool_call(&raw, &config).await {
                Ok(call) => call,
                Err(_) => InspectedCall { raw, ..InspectedCall::default() },
            };
            let ran = hand.run_call(call.clone()).await;
            messages.push(ran.unwrap_or_else(|error| denied(&call, error.message())));
        }
        Ok(messages)
    }
}
