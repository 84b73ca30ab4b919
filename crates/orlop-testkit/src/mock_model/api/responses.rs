//! OpenAI responses.

use serde_json::{Value, json};

use super::super::reply::{Completion, Ending, ToolCall, Usage, error_object};
use super::super::sign;
use super::blocks::{Block, CallPiece, Piece, blocks, call_pieces, joined};
use super::events::Events;
use super::{CREATED, Frame, Speech, chat, rules};
use crate::playback::Step;

pub(super) struct Responses;

impl Speech for Responses {
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step> {
        let mut stream = Stream { events: Events::new(completion), frame, sequence: 0, index: 0 };
        let started = response(completion, frame, "in_progress", &[], Value::Null);
        stream.event("response.created", json!({"response": started}));
        stream.event("response.in_progress", json!({"response": started}));
        for block in spoken(completion) {
            match block {
                Block::Pause(step) => stream.events.steps.push(step),
                Block::Reasoning(pieces) => stream.reasoning(&pieces),
                Block::Text(pieces) => stream.message(completion, &pieces),
                Block::Calls(calls) => stream.calls(completion, calls),
            }
        }
        match &completion.ending {
            Ending::Complete | Ending::WithoutDone => {
                let output = output(completion, frame);
                let (status, _) = status(completion);
                let ended = response(completion, frame, status, &output, usage(completion));
                stream.event(&format!("response.{status}"), json!({"response": ended}));
            }
            Ending::WithoutFinish => {}
            Ending::Error(_) => {
                let (status, message) = completion.ending.failure();
                let mut failed = response(completion, frame, "failed", &[], Value::Null);
                failed["error"] = json!({"code": code(status), "message": message});
                stream.event("response.failed", json!({"response": failed}));
            }
            Ending::Cut => stream.events.steps.push(Step::Cut),
        }
        stream.events.steps
    }

    fn document(&self, completion: &Completion, frame: &Frame) -> Value {
        if let Ending::Error(_) = &completion.ending {
            let (status, message) = completion.ending.failure();
            let mut failed = response(completion, frame, "failed", &[], Value::Null);
            failed["error"] = json!({"code": code(status), "message": message});
            return failed;
        }
        let (status, _) = status(completion);
        response(completion, frame, status, &output(completion, frame), usage(completion))
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let mut error = error_object(message);
        error["type"] = match status {
            400..=499 => "invalid_request_error".into(),
            _ => "server_error".into(),
        };
        json!({"error": error})
    }

    fn models(&self, names: &[String]) -> Value {
        chat::Chat.models(names)
    }

    fn check(&self, body: &Value, _: &str) -> Result<(), String> {
        rules::responses::check(body)
    }
}

struct Stream<'a> {
    events: Events<'a>,
    frame: &'a Frame,
    sequence: usize,
    index: usize,
}

impl Stream<'_> {
    fn event(&mut self, kind: &str, fields: Value) {
        let mut event = json!({"type": kind});
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.events.named(&event);
    }

    fn item(&mut self, kind: &str, index: usize, item: Value) {
        self.event(
            &format!("response.output_item.{kind}"),
            json!({"output_index": index, "item": item}),
        );
    }

    /// One delta for each piece, with `at` beside it.
    fn deltas(&mut self, kind: &str, at: &Value, pieces: &[Piece<'_>]) {
        for piece in pieces {
            match piece {
                Piece::Pause(step) => self.events.steps.push(step.clone()),
                Piece::Say(text) => {
                    let mut fields = at.clone();
                    fields["delta"] = json!(text);
                    self.event(&format!("{kind}.delta"), fields);
                }
            }
        }
    }

    fn reasoning(&mut self, pieces: &[Piece<'_>]) {
        let (index, done) = (self.index, reasoning_item(self.frame, self.index, &joined(pieces)));
        let mut opening = done.clone();
        opening["summary"] = json!([]);
        self.item("added", index, opening);
        let at = json!({"item_id": done["id"], "output_index": index, "summary_index": 0});
        let part = |text: &str| {
            let mut fields = at.clone();
            fields["part"] = json!({"type": "summary_text", "text": text});
            fields
        };
        self.event("response.reasoning_summary_part.added", part(""));
        self.deltas("response.reasoning_summary_text", &at, pieces);
        let text = joined(pieces);
        let mut whole = at.clone();
        whole["text"] = json!(text);
        self.event("response.reasoning_summary_text.done", whole);
        self.event("response.reasoning_summary_part.done", part(&text));
        self.item("done", index, done);
        self.index += 1;
    }

    fn message(&mut self, completion: &Completion, pieces: &[Piece<'_>]) {
        let (index, text) = (self.index, joined(pieces));
        let done = message_item(completion, self.frame, index, &text);
        let mut opening = done.clone();
        opening["status"] = json!("in_progress");
        opening["content"] = json!([]);
        self.item("added", index, opening);
        let at = json!({"item_id": done["id"], "output_index": index, "content_index": 0});
        let part = |text: &str| {
            let mut fields = at.clone();
            fields["part"] = content_part(completion, text);
            fields
        };
        self.event("response.content_part.added", part(""));
        let (kind, field) = match completion.finish() {
            "refusal" => ("response.refusal", "refusal"),
            _ => ("response.output_text", "text"),
        };
        self.deltas(kind, &at, pieces);
        let mut whole = at.clone();
        whole[field] = json!(text);
        self.event(&format!("{kind}.done"), whole);
        self.event("response.content_part.done", part(&text));
        self.item("done", index, done);
        self.index += 1;
    }

    fn calls(&mut self, completion: &Completion, calls: &[ToolCall]) {
        for (position, piece) in call_pieces(completion, calls) {
            let (index, call) = (self.index + position, &calls[position]);
            let done = call_item(self.frame, index, call);
            let at = json!({"item_id": done["id"], "output_index": index});
            let with = |field: &str, text: &str| {
                let mut fields = at.clone();
                fields[field] = json!(text);
                fields
            };
            match piece {
                CallPiece::Open(_) => {
                    let mut opening = done;
                    opening["status"] = json!("in_progress");
                    opening["arguments"] = json!("");
                    self.item("added", index, opening);
                }
                CallPiece::Arguments(text) => {
                    self.event("response.function_call_arguments.delta", with("delta", &text));
                }
                CallPiece::Close(call) => {
                    let whole = with("arguments", &call.arguments);
                    self.event("response.function_call_arguments.done", whole);
                    self.item("done", index, done);
                }
            }
        }
        self.index += calls.len();
    }
}

/// The blocks of a completion. This server says nothing in a message of its own.
fn spoken(completion: &Completion) -> Vec<Block<'_>> {
    let mut blocks = blocks(completion);
    let ends = matches!(completion.ending, Ending::Complete | Ending::WithoutDone);
    if ends && blocks.iter().all(|block| matches!(block, Block::Pause(_))) {
        blocks.push(Block::Text(Vec::new()));
    }
    blocks
}

/// The items of a completion, as they stand in the whole response.
fn output(completion: &Completion, frame: &Frame) -> Vec<Value> {
    let mut items = Vec::new();
    for block in spoken(completion) {
        let index = items.len();
        match block {
            Block::Pause(_) => {}
            Block::Reasoning(pieces) => {
                items.push(reasoning_item(frame, index, &joined(&pieces)));
            }
            Block::Text(pieces) => {
                items.push(message_item(completion, frame, index, &joined(&pieces)));
            }
            Block::Calls(calls) => {
                let item = |(position, call)| call_item(frame, index + position, call);
                items.extend(calls.iter().enumerate().map(item));
            }
        }
    }
    items
}

fn reasoning_item(frame: &Frame, index: usize, text: &str) -> Value {
    json!({
        "id": format!("rs_mock_{}_{index}", frame.number),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": sign::of("responses", text),
    })
}

fn message_item(completion: &Completion, frame: &Frame, index: usize, text: &str) -> Value {
    json!({
        "id": format!("msg_mock_{}_{index}", frame.number),
        "type": "message",
        "status": status(completion).0,
        "role": "assistant",
        "content": [content_part(completion, text)],
    })
}

fn content_part(completion: &Completion, text: &str) -> Value {
    match completion.finish() {
        "refusal" => json!({"type": "refusal", "refusal": text}),
        _ => json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text}),
    }
}

fn call_item(frame: &Frame, index: usize, call: &ToolCall) -> Value {
    json!({
        "id": format!("fc_mock_{}_{index}", frame.number),
        "type": "function_call",
        "status": "completed",
        "arguments": call.arguments,
        "call_id": call.id,
        "name": call.name,
    })
}

/// How the response ended, and why not properly.
fn status(completion: &Completion) -> (&'static str, Option<&str>) {
    match completion.finish() {
        "length" => ("incomplete", Some("max_output_tokens")),
        "content_filter" => ("incomplete", Some("content_filter")),
        _ => ("completed", None),
    }
}

fn response(
    completion: &Completion,
    frame: &Frame,
    status: &str,
    output: &[Value],
    usage: Value,
) -> Value {
    let reason = match status {
        "incomplete" => self::status(completion).1,
        _ => None,
    };
    json!({
        "id": format!("resp_mock_{}", frame.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "instructions": null,
        "model": frame.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "usage": usage,
        "metadata": {},
    })
}

fn code(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_prompt",
        _ => "server_error",
    }
}

fn usage(completion: &Completion) -> Value {
    if let Some(usage) = &completion.usage_json {
        return usage.clone();
    }
    let Usage { input, output, cached, reasoning } = completion.usage;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached.unwrap_or_default()},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning.unwrap_or_default()},
        "total_tokens": input + output,
    })
}
