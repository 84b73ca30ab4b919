//! The events of a request as the events of a response.
//!
//! The number of an event follows from what was told before it, and a text takes a number for each of
//! its characters. So the numbers are the same whenever and on whichever node events are read again, be
//! it piece by piece or as a whole, and a client that goes on after one of them hears the rest of a text.

use super::item::{Item, Outcome, read_call, said};
use super::resource::{Ended, Resource, output_of};
use super::writer::{Told, Writer};
use crate::openai::content::as_text;
use crate::openai::recall::Recall;
use crate::openai::turns::{Translate, seconds_of};
use orlop_app::error_of;
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Message};
use serde_json::json;

/// An event of a response, ready to be sent.
#[derive(Debug, PartialEq)]
pub(super) struct Sent {
    pub(super) kind: &'static str,
    pub(super) number: u64,
    pub(super) data: String,
}

impl Sent {
    fn write(&self, out: &mut Vec<u8>) {
        for part in ["event: ", self.kind, "\ndata: ", &self.data, "\n\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// Makes events of a response of those of its request.
pub(super) struct Stream {
    response: Resource,
    writer: Writer,
    /// Whether an answer waits until it is accepted; one that is not is never shown.
    hold: bool,
    held: (String, String),
    /// What the session has of the request already, for events that are read again.
    recall: Recall,
    began: bool,
    /// The number of the next event.
    next: u64,
    /// The last number that the client knows.
    last: Option<u64>,
}

impl Stream {
    pub(super) fn new(request: &str, response: Resource, hold: bool) -> Self {
        Self {
            response,
            writer: Writer::new(request),
            hold,
            held: Default::default(),
            recall: Recall::default(),
            began: false,
            next: 0,
            last: None,
        }
    }

    /// For events that are read again: fragments of answers that are whole are gone, and the
    /// session has them.
    pub(super) fn knowing(mut self, messages: Vec<Message>) -> Self {
        self.recall = Recall::of(messages);
        self
    }

    /// Leaves out what the client has already.
    pub(super) fn after(mut self, number: Option<u64>) -> Self {
        self.last = number;
        self
    }

    /// What an event of the request amounts to.
    pub(super) fn on(&mut self, event: &Event) -> Vec<Sent> {
        let mut told = Vec::new();
        if !self.began {
            // What comes before that is about the session.
            if !matches!(event.kind, EventKind::RequestStarted { .. }) && !event.kind.ends_request()
            {
                return Vec::new();
            }
            self.began = true;
            let response = self.response.running();
            for kind in ["response.created", "response.in_progress"] {
                told.push(Told::new(kind, json!({ "response": response })));
            }
        }
        self.apply(event, &mut told);
        let ends = event.kind.ends_request();
        let count = told.len();
        let numbered = told.into_iter().enumerate();
        numbered.filter_map(|(at, told)| self.numbered(told, ends && at + 1 == count)).collect()
    }

    /// Numbers an event, and leaves out what the client knows of it.
    fn numbered(&mut self, told: Told, is_end: bool) -> Option<Sent> {
        let first = self.next;
        self.next += told.numbers();
        let number = self.next - 1;
        let unknown = self.last.map_or(0, |last| last.saturating_add(1));
        let sent = if number >= unknown {
            sent(number, told.without(unknown.saturating_sub(first)))
        } else if is_end && self.last > Some(number) {
            // The client knows more than there is: it heard the beginning of a longer answer, which
            // was lost with its server and asked for again. It hears the end of this one at least.
            sent(unknown, told)
        } else {
            return None;
        };
        self.last = Some(sent.number);
        Some(sent)
    }

    fn apply(&mut self, event: &Event, told: &mut Vec<Told>) {
        match &event.kind {
            EventKind::Partial { message } => {
                self.recall.hear();
                self.held.0.push_str(&message.reasoning);
                self.held.1.push_str(&message.content);
                if !self.hold {
                    self.let_go();
                }
            }
            EventKind::OutputRejected { .. } => self.held = Default::default(),
            EventKind::ToolCall { call_id, name, call, .. } => {
                self.let_go();
                for message in self.recall.up_to(call) {
                    self.writer.write(&said(&message).collect::<Vec<Item>>());
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
                let at = seconds_of(event);
                let ended = Ended { at, messages, calls, usage: usage.as_ref() };
                let items = ended.items();
                let cut_off = ended.cut_off(&items);
                self.writer.finish(&items, cut_off);
                told.append(&mut self.writer.take());
                let output = output_of(self.writer.request(), &items, cut_off);
                let response = self.response.completed(&ended, output);
                let kind = match response["status"] == "incomplete" {
                    true => "response.incomplete",
                    false => "response.completed",
                };
                told.push(Told::new(kind, json!({ "response": response })));
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
        self.recall_rest();
        told.append(&mut self.writer.take());
        let response = self.response.failed(error, self.writer.output());
        told.push(Told::new("response.failed", json!({ "response": response })));
    }

    fn let_go(&mut self) {
        let (reasoning, text) = std::mem::take(&mut self.held);
        self.writer.reason(&reasoning);
        self.writer.say(&text);
    }

    /// Tells what the session has of an answer that was cut off, which stays open.
    fn recall_rest(&mut self) {
        for item in self.recall.rest().iter().flat_map(said) {
            match item {
                Item::Reasoning { text } => self.writer.reason(&text),
                Item::Message { text } => self.writer.say(&text),
                Item::Own { .. } | Item::Caller(_) => {}
            }
        }
    }
}

impl Translate for Stream {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.on(event).iter().for_each(|sent| sent.write(out));
    }

    fn cut(&mut self, out: &mut Vec<u8>) {
        let after = self.last.map(|last| format!("&starting_after={last}")).unwrap_or_default();
        let told = format!(
            "the stream was cut off and the response goes on; read it again with stream=true{after}"
        );
        let error = json!({ "type": "server_error", "code": "stream_cut_off", "message": told, "param": null });
        let fields =
            json!({ "error": error, "code": "stream_cut_off", "message": told, "param": null });
        // It has the number of what came last: whoever goes on after it has missed nothing.
        let last = self.last.unwrap_or_default();
        sent(last, Told::new("error", fields)).write(out);
    }
}

fn sent(number: u64, Told { kind, mut fields, .. }: Told) -> Sent {
    fields["type"] = kind.into();
    fields["sequence_number"] = number.into();
    Sent { kind, number, data: fields.to_string() }
}
