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
    sent: SentText,
    /// What stands around a text; chunks differ in nothing else.
    around: Option<(String, String)>,
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

/// All text that was sent, as far as it takes to know it again: an answer may be long.
#[derive(Default)]
struct SentText {
    length: usize,
    /// FNV-1a, which does not depend on where a text is cut.
    digest: u64,
}

impl SentText {
    fn add(&mut self, text: &str) {
        let next =
            |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.digest = text.bytes().fold(self.digest, next);
        self.length += text.len();
    }

    /// What follows it in a text that begins with it.
    fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (begin, rest) = whole.split_at_checked(self.length)?;
        let mut same = Self::default();
        same.add(begin);
        (same.digest == self.digest).then_some(rest)
    }
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
            sent: SentText::default(),
            around: None,
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

    fn on(&mut self, event: &Event, out: &mut Vec<u8>) {
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

    fn let_go(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        self.say(&held.reasoning, &held.text, out);
    }

    fn say(&mut self, reasoning: &str, text: &str, out: &mut Vec<u8>) {
        if !reasoning.is_empty() {
            let delta = Delta { reasoning_content: Some(reasoning), ..Delta::default() };
            self.push(delta, None, out);
        }
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_next_answer) && self.sent.length > 0 {
            self.text(BETWEEN, out);
        }
        self.text(text, out);
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.sent.add(text);
        if self.around.is_none() {
            let mut empty = Vec::new();
            self.push(Delta { content: Some(""), ..Delta::default() }, None, &mut empty);
            let empty = String::from_utf8(empty).unwrap_or_default();
            // Nothing before it can have quotation marks like these.
            let around = empty.split_once(r#""content":"""#);
            self.around =
                around.map(|(before, after)| (format!(r#"{before}"content":"#), after.to_owned()));
        }
        let Some((before, after)) = &self.around else { return };
        out.extend_from_slice(before.as_bytes());
        // Text can always be written.
        let _ = serde_json::to_writer(&mut *out, text);
        out.extend_from_slice(after.as_bytes());
    }

    fn complete(
        &mut self,
        messages: &[Message],
        usage: Option<&Map>,
        calls: &[CallerCall],
        out: &mut Vec<u8>,
    ) {
        let whole = text_of(messages);
        // There is more of a model that does not stream, or of a host plugin that answered. If a plugin
        // changed the text at the end, what was said cannot be taken back.
        let rest = self.sent.rest_of(&whole).unwrap_or_default();
        if !rest.is_empty() {
            self.text(rest, out);
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
            write_data(&last, out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn push(&self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut Vec<u8>) {
        let chunk = Chunk {
            id: &self.head.id,
            object: "chat.completion.chunk",
            created: self.head.created,
            model: &self.head.model,
            system_fingerprint: None,
            choices: [Choice { index: 0, delta, logprobs: None, finish_reason }],
            usage: self.with_usage.then_some(None),
        };
        write_data(&chunk, out);
    }
}

impl Translate for Chunks {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.on(event, out);
    }

    fn cut(&mut self, out: &mut Vec<u8>) {
        fail(Error::unavailable("the answer was cut off; ask again"), out);
    }
}

fn write_data(data: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    // There is nothing in it that could not be written.
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

/// An error in the middle of a stream; the SDKs raise it.
fn fail(error: Error, out: &mut Vec<u8>) {
    write_data(&json!({ "error": Failure::from(error).body() }), out);
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
