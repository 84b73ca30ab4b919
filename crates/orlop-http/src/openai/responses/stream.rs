//! The events of a request as the events of a response.
//!
//! The number of an event follows from the number of the one it is made of, so it is the same
//! whenever, and on whichever node, the events are read again.

use super::item::{Outcome, read_call, said};
use super::resource::{Ended, Resource};
use super::writer::{Told, Writer};
use crate::openai::content::as_text;
use crate::openai::turns::{Translate, seconds_now};
use orlop_app::error_of;
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Map, Message, Role};
use serde_json::json;

/// How many numbers lie between those of two events of a request. The last event of a request may
/// become more than so many; no other does.
const STEP: u64 = 100;

/// An event of a response, ready to be sent.
#[derive(Debug, PartialEq)]
pub(super) struct Sent {
    pub(super) kind: &'static str,
    pub(super) number: u64,
    pub(super) data: String,
}

/// Makes events of a response of those of its request.
pub(super) struct Stream {
    response: Resource,
    writer: Writer,
    /// Whether an answer waits until it is accepted; one that is not is never shown.
    hold: bool,
    held: (String, String),
    /// Whether the answer under way was heard from its beginning.
    heard: bool,
    /// What the session has of the request already, for events that are read again.
    known: Vec<Message>,
    /// How many of them were told.
    told: usize,
    first: Option<u64>,
    /// Events with a number up to this one are known to the client.
    after: Option<u64>,
    last: u64,
}

impl Stream {
    pub(super) fn new(request: &str, response: Resource, hold: bool) -> Self {
        Self {
            response,
            writer: Writer::new(request),
            hold,
            held: Default::default(),
            heard: false,
            known: Vec::new(),
            told: 0,
            first: None,
            after: None,
            last: 0,
        }
    }

    /// For events that are read again: fragments of answers that are whole are gone, and the
    /// session has them.
    pub(super) fn knowing(mut self, messages: Vec<Message>) -> Self {
        self.known = messages;
        self
    }

    /// Leaves out what the client has already.
    pub(super) fn after(mut self, number: Option<u64>) -> Self {
        self.after = number;
        self
    }

    /// What an event of the request amounts to.
    pub(super) fn on(&mut self, event: &Event) -> Vec<Sent> {
        let mut told = Vec::new();
        if self.first.is_none() {
            // What comes before that is about the session.
            if !matches!(event.kind, EventKind::RequestStarted { .. }) && !event.kind.ends_request()
            {
                return Vec::new();
            }
            self.first = Some(event.seq);
            let response = self.response.running();
            for kind in ["response.created", "response.in_progress"] {
                told.push(Told { kind, fields: json!({ "response": response }) });
            }
        }
        self.apply(event, &mut told);
        let start = event.seq.saturating_sub(self.first.unwrap_or_default()) * STEP;
        let numbered = (start..).zip(told);
        numbered.map(|(number, told)| sent(number, told)).collect()
    }

    fn apply(&mut self, event: &Event, told: &mut Vec<Told>) {
        match &event.kind {
            EventKind::Partial { message } => {
                self.heard = true;
                self.held.0.push_str(&message.reasoning);
                self.held.1.push_str(&message.content);
                if !self.hold {
                    self.let_go();
                }
            }
            EventKind::OutputRejected { .. } => self.held = Default::default(),
            EventKind::ToolCall { call_id, name, call, .. } => {
                self.let_go();
                if !std::mem::take(&mut self.heard) {
                    self.recall(call);
                }
                let arguments = read_call(call).map(|(_, _, arguments)| arguments);
                self.writer.own_call(
                    call_id,
                    name,
                    &arguments.unwrap_or_else(|| as_text(&json!({}))),
                );
            }
            EventKind::ToolResult { call_id, message } => {
                self.writer.own_result(call_id, Outcome::of(message));
            }
            EventKind::Final { messages, usage, caller_calls: calls, .. } => {
                self.let_go();
                let at = seconds_now();
                let ended = Ended { at, messages, calls, usage: usage.as_ref() };
                self.writer.finish(&ended.items());
                told.append(&mut self.writer.take());
                let response = self.response.completed(&ended, self.writer.output());
                let kind = match response["status"] == "incomplete" {
                    true => "response.incomplete",
                    false => "response.completed",
                };
                told.push(Told { kind, fields: json!({ "response": response }) });
            }
            EventKind::RequestFailed { error } => self.fail(error_of(error), told),
            EventKind::RequestCancelled { reason } => {
                self.fail(Error::cancelled(reason.clone()), told);
            }
            _ => {}
        }
        told.append(&mut self.writer.take());
    }

    fn fail(&mut self, error: Error, told: &mut Vec<Told>) {
        told.append(&mut self.writer.take());
        let response = self.response.failed(error, self.writer.output());
        told.push(Told { kind: "response.failed", fields: json!({ "response": response }) });
    }

    fn let_go(&mut self) {
        let (reasoning, text) = std::mem::take(&mut self.held);
        self.writer.reason(&reasoning);
        self.writer.say(&text);
    }

    /// Tells what the model said before it made this call, from the session.
    fn recall(&mut self, call: &Map) {
        let made = |message: &Message| message.tool_calls().any(|made| made == call);
        let Some(place) = self.known.iter().skip(self.told).position(made) else { return };
        for _ in 0..=place {
            if let Some(message) =
                self.known.get(self.told).filter(|it| it.role() == Role::Assistant)
            {
                said(message).for_each(|item| self.writer.write(&item));
            }
            self.told += 1;
        }
    }
}

impl Translate for Stream {
    fn event(&mut self, event: &Event, out: &mut String) {
        for Sent { kind, number, data } in self.on(event) {
            self.last = number;
            if self.after.is_none_or(|after| number > after) {
                out.extend(["event: ", kind, "\ndata: ", &data, "\n\n"]);
            }
        }
    }

    fn cut(&mut self, out: &mut String) {
        let told = format!(
            "the stream was cut off and the response goes on; read it again with stream=true&starting_after={}",
            self.last
        );
        let error = json!({ "type": "server_error", "code": "stream_cut_off", "message": told, "param": null });
        let fields =
            json!({ "error": error, "code": "stream_cut_off", "message": told, "param": null });
        let Sent { kind, data, .. } = sent(self.last + 1, Told { kind: "error", fields });
        out.extend(["event: ", kind, "\ndata: ", &data, "\n\n"]);
    }
}

fn sent(number: u64, Told { kind, mut fields }: Told) -> Sent {
    fields["type"] = kind.into();
    fields["sequence_number"] = number.into();
    Sent { kind, number, data: fields.to_string() }
}
