//! Tool calls: whether they may run, running them, and what is made of their results.

use super::driver::Driver;
use super::machine::{Call, CallState, Input, denied};
use super::{Approval, Decision, TurnInfo, form};
use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::{RequestInfo, RequestKind, ToolCallInfo, ToolGate, ToolResultInfo};
use orlop_core::types::app_event::{EventKind, RememberOffer};
use orlop_core::types::tool::schema_name;
use orlop_core::types::{ActionRecord, InspectedCall, ToolDescriptor};
use orlop_core::{Error, Map, Message, Result, ToolEvent, Value, closed_tool_message, lifecycle};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// The most calls of one answer. Every call that ends is a commit of its own, of the same size.
const MAX_CALLS: usize = 1_024;

/// Why a call does not run where the caller allows no further ones.
const NONE_LEFT: &str = "this call was not run: the request allows no more calls of tools (max_tool_calls); go on without them";

/// Why none of so many calls runs.
pub(super) fn too_many(calls: usize) -> Option<String> {
    (calls > MAX_CALLS).then(|| {
        format!(
            "none of these calls was run: {calls} calls in one answer are more than {MAX_CALLS}; make fewer at once"
        )
    })
}

/// What a running tool came to.
pub(super) enum Event {
    Part { call: String, part: Value, rest: BoxStream<'static, Result<ToolEvent>> },
    Done { call: String, message: Message },
}

/// The next event of one running tool.
pub(super) type Running = BoxFuture<'static, Event>;

fn next_of(
    call: String,
    mut events: BoxStream<'static, Result<ToolEvent>>,
    inspected: InspectedCall,
) -> Running {
    Box::pin(async move {
        match events.next().await {
            Some(Ok(ToolEvent::Part(part))) => Event::Part { call, part, rest: events },
            Some(Ok(ToolEvent::Message(message))) => Event::Done { call, message },
            Some(Err(error)) => {
                let message =
                    closed_tool_message(&inspected, format!("Tool error: {}", error.message()));
                Event::Done { call, message }
            }
            None => {
                let message =
                    closed_tool_message(&inspected, "Error: the tool ended without a result");
                Event::Done { call, message }
            }
        }
    })
}

impl Driver {
    pub(super) fn request_info(&self) -> RequestInfo {
        RequestInfo {
            kind: if self.turn.stream { RequestKind::Stream } else { RequestKind::Chat },
            tenant_id: self.app.scope.tenant().to_owned(),
            user_id: self.app.scope.user().to_owned(),
            session_id: self.session.id().to_owned(),
            agent_id: self.agent.id.clone(),
            request_id: self.request.clone(),
        }
    }

    /// A call as it is to be run, refused or asked about, and the events that tell of it.
    /// Models repeat ids at times; a call whose id is `taken` gets another one here.
    pub(super) async fn plan(
        &mut self,
        raw: Map,
        index: usize,
        taken: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<(Call, Vec<EventKind>)> {
        let core = self.app.core_of(&self.agent);
        let (id, mut call) = self.identify(&raw, index, taken).await;
        let name = call.tool_name.clone().unwrap_or_default();
        if self.turn.caller_tools.iter().any(|tool| schema_name(tool) == Some(&name)) {
            return Ok((Call::of(id, call, CallState::Caller), Vec::new()));
        }
        match &mut self.turn.tool_calls_left {
            Some(0) => return Ok(closed(id, raw, call, NONE_LEFT)),
            Some(left) => *left -= 1,
            None => {}
        }
        let tool = core.tool_for(&call, &self.config).await?;
        self.app.tool_called(tool.is_some().then_some(&name));
        match self.app.shared.arguments.read(tool.as_ref(), &call).await {
            Ok(arguments) => call.payload = arguments,
            Err(reason) => return Ok(closed(id, raw, call, &reason)),
        }
        let judged = call.payload.clone();
        let preview = core.preview_tool_call(&raw, &self.config, &self.context()).await;
        let mut events = vec![EventKind::ToolCall {
            call_id: id.clone(),
            name: name.clone(),
            call: raw.clone(),
            preview: preview.map(|preview| preview.preview).unwrap_or_default(),
        }];
        let mut call = Call {
            id,
            idempotent: says(tool.as_ref(), "idempotent"),
            concurrent: says(tool.as_ref(), "concurrent"),
            state: CallState::Ready,
            call,
        };
        let (mut gate, remember) = self.gate(&mut call, tool.as_ref()).await?;
        if call.call.payload != judged
            && !matches!(gate, ToolGate::Deny(_))
            && let Err(reason) = self.app.shared.arguments.read(tool.as_ref(), &call.call).await
        {
            gate = ToolGate::Deny(format!("a plugin changed its arguments, and {reason}"));
        }
        match gate {
            ToolGate::Deny(reason) => {
                let message = denied(&call.call, &reason);
                events.push(EventKind::ToolResult {
                    call_id: call.id.clone(),
                    message: message.clone(),
                });
                call.state = CallState::Done { message };
            }
            ToolGate::Ask(reason) => {
                let form = match wants(tool.as_ref(), "answer") {
                    true => form::of_call(&call.call.payload).ok(),
                    false => None,
                };
                events.push(EventKind::ApprovalRequested {
                    call_id: call.id.clone(),
                    name,
                    call: raw,
                    input: call.call.payload.clone(),
                    reason: reason.clone(),
                    choices: vec!["allow".to_owned(), "deny".to_owned()],
                    form: form.clone(),
                    remember: remember.clone(),
                });
                call.state = CallState::Asking { reason, form, remember };
            }
            ToolGate::Allow | ToolGate::Rewrite(_) => {}
        }
        Ok((call, events))
    }

    /// Whether another input that a person gave is one that the tool takes. An answer to a
    /// question has been compared with its form.
    pub(super) async fn input_fits(&mut self, id: &str, decision: &Decision) -> Result<()> {
        let asked = self.turn.calls().iter().find(|call| call.id == id);
        let (Some(call), Some(input)) = (asked, &decision.input) else { return Ok(()) };
        if !decision.allow || matches!(call.state, CallState::Asking { form: Some(_), .. }) {
            return Ok(());
        }
        let call = InspectedCall { payload: input.clone(), ..call.call.clone() };
        let tool = self.app.core_of(&self.agent).tool_for(&call, &self.config).await?;
        let read = self.app.shared.arguments.read(tool.as_ref(), &call).await;
        read.map(drop).map_err(Error::bad_argument)
    }

    /// What a call is, under an id that no other call of the answer has.
    async fn identify(
        &mut self,
        raw: &Map,
        index: usize,
        taken: &(dyn Fn(&str) -> bool + Sync),
    ) -> (String, InspectedCall) {
        let core = self.app.core_of(&self.agent);
        let made_up = || format!("call-{}-{index}", self.turn.step + 1);
        let call = match core.inspect_tool_call(raw, &self.config).await {
            Ok(call) => call,
            Err(_) => InspectedCall { raw: raw.clone(), ..InspectedCall::default() },
        };
        let given = call.call_id.clone().filter(|id| !id.is_empty() && !taken(id));
        let mut id = given.unwrap_or_else(made_up);
        while taken(&id) {
            id.push('+');
        }
        (id, call)
    }

    /// A call that is not even looked at, and the events that tell of it.
    pub(super) async fn refuse(
        &mut self,
        raw: Map,
        index: usize,
        taken: &(dyn Fn(&str) -> bool + Sync),
        reason: &str,
    ) -> (Call, Vec<EventKind>) {
        let (id, call) = self.identify(&raw, index, taken).await;
        self.app.tool_called(None);
        closed(id, raw, call, reason)
    }

    /// Host plugins, then the `permission` and `tool_before` actions, then the tool's own wish to
    /// be asked about. The first refusal wins; an explicit permission answers the tool's wish.
    /// With it comes what a person who is asked may have remembered.
    async fn gate(
        &mut self,
        call: &mut Call,
        tool: Option<&ToolDescriptor>,
    ) -> Result<(ToolGate, Vec<RememberOffer>)> {
        let name = call.call.tool_name.clone().unwrap_or_default();
        let info = ToolCallInfo {
            request: self.request_info(),
            call_id: call.id.clone(),
            tool_name: name.clone(),
            input: call.call.payload.clone(),
        };
        let (mut gate, input) = self.app.gate_tool_call(info).await;
        call.call.payload = input;
        if let ToolGate::Deny(_) = gate {
            return Ok((gate, Vec::new()));
        }
        let mut permitted = false;
        let mut remember = Vec::new();
        for point in [lifecycle::PERMISSION, lifecycle::TOOL_BEFORE] {
            let told = [("tool_call", told_of(call))];
            for record in self.lifecycle(point, &told).await? {
                permitted |= record.result.get("decision").is_some_and(|said| said == "allow");
                match decision_of(&record) {
                    Some(ToolGate::Deny(reason)) => {
                        return Ok((ToolGate::Deny(reason), Vec::new()));
                    }
                    Some(ToolGate::Ask(reason)) => {
                        gate = ToolGate::Ask(reason);
                        remember.extend(offers_of(&record));
                    }
                    Some(ToolGate::Rewrite(input)) => call.call.payload = input,
                    Some(ToolGate::Allow) | None => {}
                }
            }
        }
        if wants(tool, "answer") {
            let gate = match (form::of_call(&call.call.payload), self.turn.approval) {
                (Err(error), _) => ToolGate::Deny(error.message().to_owned()),
                (Ok(_), Approval::Wait) => ToolGate::Ask(format!("tool \"{name}\" has a question")),
                // To allow everything is no answer.
                (Ok(_), Approval::Allow | Approval::Deny) => ToolGate::Deny(
                    "nobody is there to answer; decide yourself what can be decided, and say at the end what you assumed"
                        .to_owned(),
                ),
            };
            return Ok((gate, Vec::new()));
        }
        if gate == ToolGate::Allow && !permitted && wants(tool, "ask") {
            gate = ToolGate::Ask(format!("tool \"{name}\" asks before it runs"));
        }
        let gate = match (gate, self.turn.approval) {
            (ToolGate::Ask(_), Approval::Allow) => ToolGate::Allow,
            (ToolGate::Ask(reason), Approval::Deny) => ToolGate::Deny(format!(
                "it needs the approval of a person, and none can be asked ({reason})"
            )),
            (gate, _) => gate,
        };
        Ok((gate, remember))
    }

    /// Tells plugins of a decision that is to hold for more than its call. It was made about the
    /// call as it was shown, so one with another input is not remembered.
    pub(super) async fn remember(&mut self, id: &str, decision: &Decision) {
        let Some(scope) = decision.remember.filter(|_| decision.input.is_none()) else { return };
        let asked = self.turn.calls().iter().find(|call| call.id == id);
        let Some(call) = asked else { return };
        let CallState::Asking { remember, .. } = &call.state else { return };
        let offered = remember.iter().filter(|offer| offer.scope == scope);
        let rules: Vec<&str> = offered.map(|offer| &*offer.rule).collect();
        let decided = json!({
            "allow": decision.allow, "remember": scope, "rules": rules, "by": decision.by,
        });
        let told = [("tool_call", told_of(call)), ("decision", decided)];
        if let Err(error) = self.lifecycle(lifecycle::PERMISSION_DECIDED, &told).await {
            tracing::error!(target: "orlop::app", %error, "a decision could not be remembered");
        }
    }

    /// Starts a call whose intent is durable.
    pub(super) fn start_tool(&mut self, id: &str) {
        let Some(call) = self.turn.calls().iter().find(|call| call.id == id) else { return };
        let core = self.app.core_of(&self.agent);
        let inspected = call.call.clone();
        let context = self.context().owning("tool_call", told_of(call)).lending(
            "turn",
            Arc::new(TurnInfo {
                request_id: self.request.clone(),
                session_id: self.session.id().to_owned(),
                agent_id: self.agent.id.clone(),
                call_id: call.id.clone(),
                step: self.turn.step,
                approval: self.turn.approval,
                stored: self.persist,
                stream: self.turn.stream,
            }),
        );
        let events = core.run_tool_call(inspected.clone(), &self.config, &context).boxed();
        self.tools_since.insert(id.to_owned(), Instant::now());
        self.tools.push(next_of(id.to_owned(), events, inspected));
    }

    /// What a running tool had to say: a fragment to show, or its result.
    pub(super) async fn tool_event(
        &mut self,
        event: Event,
    ) -> Result<(Option<Input>, Vec<EventKind>)> {
        match event {
            Event::Part { call, part, rest } => {
                let part = match part {
                    Value::Object(mut fields) if fields.len() == 1 => {
                        fields.shift_remove("part").unwrap_or(Value::Object(fields))
                    }
                    part => part,
                };
                self.fragment(EventKind::ToolPartial { call_id: call.clone(), part }).await?;
                let inspected = self.inspected(&call);
                self.tools.push(next_of(call, rest, inspected));
                Ok((None, Vec::new()))
            }
            Event::Done { call, message } => {
                let message = self.timed(&call, message);
                let message = self.finished(&call, message).await?;
                let event =
                    EventKind::ToolResult { call_id: call.clone(), message: message.clone() };
                Ok((Some(Input::Finished { call, message }), vec![event]))
            }
        }
    }

    /// Notes in the trace and with its message how long a tool took.
    fn timed(&mut self, id: &str, message: Message) -> Message {
        let Some(began) = self.tools_since.remove(id) else { return message };
        if let Some(tracer) = &self.app.tracer {
            let name = self.inspected(id).tool_name;
            let detail = json!({ "step": self.turn.step, "call_id": id, "tool": name });
            tracer.note("tool_call", detail, began, !has_failed(&message));
        }
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        message.with_metadata_entry("duration_ms", took)
    }

    fn inspected(&self, id: &str) -> InspectedCall {
        let found = self.turn.calls().iter().find(|call| call.id == id);
        found.map(|call| call.call.clone()).unwrap_or_default()
    }

    /// The result after host plugins and the `tool_after` or `tool_error` actions.
    async fn finished(&mut self, id: &str, message: Message) -> Result<Message> {
        let call = self.inspected(id);
        let failed = has_failed(&message);
        let info = ToolResultInfo {
            request: self.request_info(),
            call_id: id.to_owned(),
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
        let told = [
            ("tool_call", json!({ "id": id, "name": call.tool_name, "input": call.payload })),
            ("tool_result", json!(message)),
        ];
        // The tool has run: an action that fails here cannot undo that, and must not hide it.
        match self.lifecycle(point, &told).await {
            Ok(records) => {
                let said =
                    records.iter().rev().find_map(|record| record.result.get("result")?.as_str());
                Ok(match said {
                    Some(text) => replaced(message, text.to_owned()),
                    None => message,
                })
            }
            Err(error) => {
                tracing::error!(target: "orlop::app", lifecycle = point, %error, "a lifecycle failed after a tool call");
                Ok(message)
            }
        }
    }
}

/// Whether a tool failed. Only one that answered leaves its schema.
fn has_failed(message: &Message) -> bool {
    message.metadata().contains_key("tool_error") || !message.metadata().contains_key("tool_schema")
}

/// A call that nobody is asked about and that is not run, and the events that tell of it.
fn closed(id: String, raw: Map, call: InspectedCall, reason: &str) -> (Call, Vec<EventKind>) {
    let name = call.tool_name.clone().unwrap_or_default();
    let message = closed_tool_message(&call, format!("Error: {reason}"));
    let events = vec![
        EventKind::ToolCall { call_id: id.clone(), name, call: raw, preview: String::new() },
        EventKind::ToolResult { call_id: id.clone(), message: message.clone() },
    ];
    (Call::of(id, call, CallState::Done { message }), events)
}

/// A tool message with another text for the model; a structured result no longer fits it.
pub(super) fn replaced(message: Message, text: String) -> Message {
    let result = json!({ "type": "tool_result", "text": text });
    let message = message.with_content(text);
    match result {
        Value::Object(result) if message.tool_result().is_some() => {
            message.with_tool_result(result)
        }
        _ => message,
    }
}

fn told_of(call: &Call) -> Value {
    json!({ "id": call.id, "name": call.call.tool_name, "input": call.call.payload })
}

/// What an action at `permission` or `tool_before` decided, if it did.
pub(super) fn decision_of(record: &ActionRecord) -> Option<ToolGate> {
    let result = &record.result;
    let reason = || {
        let said = result.get("reason").or_else(|| result.get("message")).and_then(Value::as_str);
        said.map_or_else(|| format!("plugin \"{}\" decided so", record.plugin), str::to_owned)
    };
    match result.get("decision").and_then(Value::as_str) {
        Some("deny") => Some(ToolGate::Deny(reason())),
        Some("ask") => Some(ToolGate::Ask(reason())),
        Some("allow") => Some(match result.get("input") {
            Some(input) if !input.is_null() => ToolGate::Rewrite(input.clone()),
            _ => ToolGate::Allow,
        }),
        _ => result.get("input").filter(|input| !input.is_null()).cloned().map(ToolGate::Rewrite),
    }
}

/// What an action that asks offers to remember.
fn offers_of(record: &ActionRecord) -> Vec<RememberOffer> {
    let offers = record.result.get("remember").cloned().unwrap_or_default();
    serde_json::from_value(offers).unwrap_or_default()
}

/// What the schema of a tool says of it under `annotations`.
fn annotation<'a>(tool: Option<&'a ToolDescriptor>, key: &str) -> Option<&'a Value> {
    let schema = &tool?.schema;
    let annotations = schema
        .get("annotations")
        .or_else(|| schema.get("function").and_then(|function| function.get("annotations")));
    annotations?.get(key)
}

fn says(tool: Option<&ToolDescriptor>, key: &str) -> bool {
    annotation(tool, key).and_then(Value::as_bool) == Some(true)
}

/// What a tool wants of a person before it runs: `ask` for a permission, `answer` to a question.
pub(super) fn wants(tool: Option<&ToolDescriptor>, what: &str) -> bool {
    annotation(tool, "approval").and_then(Value::as_str) == Some(what)
}
