//! The events of a request as chunks of a chat completion, and as a whole one.

use super::content::as_text;
use super::error::Failure;
use super::recall::Recall;
use super::turns::Translate;
use super::usage::{Usage, finish_reason};
use orlop_app::error_of;
use orlop_core::types::PayloadKind;
use orlop_core::types::app_event::{CallerCall, Event, EventKind};
use orlop_core::{Error, Map, Message, Role, Value};
use serde::Serialize;
use serde_json::json;

/// What stands between the texts of two answers of one request.
const BETWEEN: &str = "\n\n";

/// What all chunks of a completion have in common.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
}

/// Makes chunks of events.
pub(super) struct Chunks {
    head: Head,
    with_usage: bool,
    /// Whether text waits until its answer is accepted; one that is not is never shown.
    hold: bool,
    held: Held,
    /// All text that was sent.
    sent: String,
    /// Whether what comes next belongs to another answer than what was sent.
    is_next_answer: bool,
    began: bool,
    recall: Recall,
}

#[derive(Default)]
struct Held {
    reasoning: String,
    text: String,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    system_fingerprint: Option<&'static str>,
    choices: [Choice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<Value>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<Value>,
    finish_reason: Option<&'static str>,
}

#[derive(Serialize, Default)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

impl Chunks {
    pub(super) fn new(head: Head, with_usage: bool, hold: bool) -> Self {
        Self {
            head,
            with_usage,
            hold,
            held: Held::default(),
            sent: String::new(),
            is_next_answer: false,
            began: false,
            recall: Recall::default(),
        }
    }

    /// For a request that was joined, which has said this.
    pub(super) fn knowing(mut self, messages: Vec<Message>) -> Self {
        self.recall = Recall::of(messages);
        self
    }

    /// The data lines that an event amounts to.
    pub(super) fn on(&mut self, event: &Event, out: &mut Vec<String>) {
        if !self.began {
            self.began = true;
            let delta = Delta { role: Some("assistant"), content: Some(""), ..Delta::default() };
            self.push(delta, None, out);
        }
        match &event.kind {
            EventKind::Partial { message } => {
                self.recall.hear();
                if self.hold {
                    self.held.reasoning.push_str(&message.reasoning);
                    self.held.text.push_str(&message.content);
                } else {
                    self.say(&message.reasoning, &message.content, out);
                }
            }
            EventKind::OutputRejected { .. } => self.held = Held::default(),
            EventKind::ToolCall { call, .. } => {
                self.let_go(out);
                self.is_next_answer = true;
                for message in self.recall.up_to(call) {
                    let reasoning = reasoning_of(&message).unwrap_or_default();
                    self.say(reasoning, message.content().as_str().unwrap_or_default(), out);
                    self.is_next_answer = true;
                }
            }
            EventKind::Final { messages, usage, caller_calls, .. } => {
                self.let_go(out);
                self.complete(messages, usage.as_ref(), caller_calls, out);
            }
            EventKind::RequestFailed { error } => fail(error_of(error), out),
            EventKind::RequestCancelled { reason } => fail(Error::cancelled(reason.clone()), out),
            _ => {}
        }
    }

    fn let_go(&mut self, out: &mut Vec<String>) {
        let held = std::mem::take(&mut self.held);
        self.say(&held.reasoning, &held.text, out);
    }

    fn say(&mut self, reasoning: &str, text: &str, out: &mut Vec<String>) {
        if !reasoning.is_empty() {
            let delta = Delta { reasoning_content: Some(reasoning), ..Delta::default() };
            self.push(delta, None, out);
        }
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_next_answer) && !self.sent.is_empty() {
            self.sent.push_str(BETWEEN);
            self.push(Delta { content: Some(BETWEEN), ..Delta::default() }, None, out);
        }
        self.sent.push_str(text);
        self.push(Delta { content: Some(text), ..Delta::default() }, None, out);
    }

    fn complete(
        &mut self,
        messages: &[Message],
        usage: Option<&Map>,
        calls: &[CallerCall],
        out: &mut Vec<String>,
    ) {
        let whole = text_of(messages);
        match whole.strip_prefix(self.sent.as_str()) {
            Some("") => {}
            // A model that does not stream, or a host plugin that answered.
            Some(rest) => {
                self.push(Delta { content: Some(rest), ..Delta::default() }, None, out);
            }
            // A plugin changed the text at the end. What was said cannot be taken back.
            None => {}
        }
        if !calls.is_empty() {
            let tool_calls = calls.iter().enumerate().map(|(index, call)| {
                let mut call = call_json(call);
                call["index"] = index.into();
                call
            });
            let delta = Delta { tool_calls: tool_calls.collect(), ..Delta::default() };
            self.push(delta, None, out);
        }
        self.push(Delta::default(), Some(finish_reason(messages, calls)), out);
        if self.with_usage {
            let Head { id, created, model } = &self.head;
            let last = json!({
                "id": id, "object": "chat.completion.chunk", "created": created, "model": model,
                "system_fingerprint": null, "choices": [], "usage": Usage::of(usage).of_chat(),
            });
            out.push(last.to_string());
        }
        out.push("[DONE]".to_owned());
    }

    fn push(&self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut Vec<String>) {
        let chunk = Chunk {
            id: &self.head.id,
            object: "chat.completion.chunk",
            created: self.head.created,
            model: &self.head.model,
            system_fingerprint: None,
            choices: [Choice { index: 0, delta, logprobs: None, finish_reason }],
            usage: self.with_usage.then_some(None),
        };
        out.extend(serde_json::to_string(&chunk).ok());
    }
}

impl Translate for Chunks {
    fn event(&mut self, event: &Event, out: &mut String) {
        let mut lines = Vec::new();
        self.on(event, &mut lines);
        lines.iter().for_each(|line| out.extend(["data: ", line, "\n\n"]));
    }

    fn cut(&mut self, out: &mut String) {
        let mut lines = Vec::new();
        fail(Error::unavailable("the answer was cut off; ask again"), &mut lines);
        lines.iter().for_each(|line| out.extend(["data: ", line, "\n\n"]));
    }
}

/// An error in the middle of a stream; the SDKs raise it.
fn fail(error: Error, out: &mut Vec<String>) {
    out.push(json!({ "error": Failure::from(error).body() }).to_string());
}

/// A whole completion.
pub(super) fn completion(
    head: &Head,
    messages: &[Message],
    usage: Option<&Map>,
    calls: &[CallerCall],
) -> Value {
    let text = text_of(messages);
    let mut message = json!({
        "role": "assistant",
        "content": if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() },
        "refusal": null,
        "annotations": [],
    });
    let reasoning = joined(messages, reasoning_of);
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(call_json).collect();
    }
    let Head { id, created, model } = head;
    json!({
        "id": id, "object": "chat.completion", "created": created, "model": model,
        "choices": [{
            "index": 0, "message": message, "logprobs": null,
            "finish_reason": finish_reason(messages, calls),
        }],
        "usage": Usage::of(usage).of_chat(),
        "system_fingerprint": null,
        "service_tier": null,
    })
}

fn call_json(call: &CallerCall) -> Value {
    let input = as_text(&call.input);
    match call.kind {
        PayloadKind::Json => super::content::function_call(&call.call_id, &call.name, &input),
        PayloadKind::Text => super::content::custom_call(&call.call_id, &call.name, &input),
    }
}

/// What the agent said in all its answers.
fn text_of(messages: &[Message]) -> String {
    joined(messages, |message| message.content().as_str())
}

fn reasoning_of(message: &Message) -> Option<&str> {
    message.metadata().get("reasoning")?.as_str()
}

fn joined<'a>(messages: &'a [Message], part: impl Fn(&'a Message) -> Option<&'a str>) -> String {
    let said = messages.iter().filter(|message| message.role() == Role::Assistant);
    let said: Vec<&str> = said.filter_map(part).filter(|text| !text.is_empty()).collect();
    said.join(BETWEEN)
}
