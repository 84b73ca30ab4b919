//! Anthropic messages.

use serde_json::{Value, json};

use super::super::reply::{Completion, Ending, ToolCall, Usage};
use super::super::sign;
use super::blocks::{Block, CallPiece, Piece, blocks, call_pieces, joined};
use super::events::Events;
use super::{CREATED_AT, Frame, Speech, rules};
use crate::playback::Step;

pub(super) struct Messages;

impl Speech for Messages {
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step> {
        let mut stream = Blocks { events: Events::new(completion), index: 0 };
        if !matches!((&completion.ending, completion.parts.as_slice()), (Ending::Error(_), [])) {
            let mut message = message(completion, frame, Vec::new(), Value::Null);
            message["usage"]["output_tokens"] = json!(1);
            stream.events.named(&json!({"type": "message_start", "message": message}));
            stream.events.named(&json!({"type": "ping"}));
        }
        for block in blocks(completion) {
            match block {
                Block::Pause(step) => stream.events.steps.push(step),
                Block::Reasoning(pieces) => stream.thinking(&pieces),
                Block::Text(pieces) => stream.text(&pieces),
                Block::Calls(calls) => stream.calls(completion, calls),
            }
        }
        let mut events = stream.events;
        match &completion.ending {
            Ending::Complete | Ending::WithoutDone => {
                events.named(&json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": stop_reason(completion), "stop_sequence": null},
                    "usage": usage(completion),
                }));
                if matches!(completion.ending, Ending::Complete) {
                    events.named(&json!({"type": "message_stop"}));
                }
            }
            Ending::WithoutFinish => {}
            Ending::Error(_) => {
                let (status, message) = completion.ending.failure();
                events.named(&self.error(status, &message));
            }
            Ending::Cut => events.steps.push(Step::Cut),
        }
        events.steps
    }

    fn document(&self, completion: &Completion, frame: &Frame) -> Value {
        if let Ending::Error(_) = &completion.ending {
            let (status, message) = completion.ending.failure();
            return self.error(status, &message);
        }
        let mut content = Vec::new();
        for block in blocks(completion) {
            match block {
                Block::Pause(_) => {}
                Block::Reasoning(pieces) => {
                    let text = joined(&pieces);
                    let signature = sign::of("messages", &text);
                    content.push(
                        json!({"type": "thinking", "thinking": text, "signature": signature}),
                    );
                }
                Block::Text(pieces) => {
                    content.push(json!({"type": "text", "text": joined(&pieces)}));
                }
                Block::Calls(calls) => content.extend(calls.iter().map(tool_use)),
            }
        }
        let stop_reason = match completion.ending {
            Ending::WithoutFinish => Value::Null,
            _ => json!(stop_reason(completion)),
        };
        message(completion, frame, content, stop_reason)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 | 413 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }

    fn models(&self, names: &[String]) -> Value {
        let model = |name: &String| {
            json!({
                "type": "model",
                "id": name,
                "display_name": format!("Mock {name}"),
                "created_at": CREATED_AT,
                "max_input_tokens": 200_000,
                "max_tokens": 64_000,
            })
        };
        json!({
            "data": names.iter().map(model).collect::<Vec<_>>(),
            "has_more": false,
            "first_id": names.first(),
            "last_id": names.last(),
        })
    }

    fn check(&self, body: &Value, _: &str) -> Result<(), String> {
        rules::messages::check(body)
    }
}

/// The content blocks of a stream.
struct Blocks<'a> {
    events: Events<'a>,
    index: usize,
}

impl Blocks<'_> {
    fn thinking(&mut self, pieces: &[Piece<'_>]) {
        let index = self.index;
        self.start(index, json!({"type": "thinking", "thinking": "", "signature": ""}));
        self.events.pieces(pieces, |events, text| {
            events.named(&delta(index, json!({"type": "thinking_delta", "thinking": text})));
        });
        let signature = sign::of("messages", &joined(pieces));
        self.events
            .named(&delta(index, json!({"type": "signature_delta", "signature": signature})));
        self.stop(index);
        self.index += 1;
    }

    fn text(&mut self, pieces: &[Piece<'_>]) {
        let index = self.index;
        self.start(index, json!({"type": "text", "text": ""}));
        self.events.pieces(pieces, |events, text| {
            events.named(&delta(index, json!({"type": "text_delta", "text": text})));
        });
        self.stop(index);
        self.index += 1;
    }

    fn calls(&mut self, completion: &Completion, calls: &[ToolCall]) {
        for (position, piece) in call_pieces(completion, calls) {
            let index = self.index + position;
            match piece {
                CallPiece::Open(call) => {
                    let opening =
                        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
                    self.start(index, opening);
                    let nothing = json!({"type": "input_json_delta", "partial_json": ""});
                    self.events.named(&delta(index, nothing));
                }
                CallPiece::Arguments(text) => {
                    let piece = json!({"type": "input_json_delta", "partial_json": text});
                    self.events.named(&delta(index, piece));
                }
                CallPiece::Close(_) => self.stop(index),
            }
        }
        self.index += calls.len();
    }

    fn start(&mut self, index: usize, block: Value) {
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        self.events.named(&start);
    }

    fn stop(&mut self, index: usize) {
        self.events.named(&json!({"type": "content_block_stop", "index": index}));
    }
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn tool_use(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.argument_object()})
}

fn message(
    completion: &Completion,
    frame: &Frame,
    content: Vec<Value>,
    stop_reason: Value,
) -> Value {
    json!({
        "id": format!("msg_mock_{}", frame.number),
        "type": "message",
        "role": "assistant",
        "model": frame.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(completion),
    })
}

fn stop_reason(completion: &Completion) -> &str {
    match completion.finish() {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        "pause" => "pause_turn",
        other => other,
    }
}

/// Here `input_tokens` are those that came from no cache.
fn usage(completion: &Completion) -> Value {
    if let Some(usage) = &completion.usage_json {
        return usage.clone();
    }
    let Usage { input, output, cached, reasoning } = completion.usage;
    let cached = cached.unwrap_or_default();
    let mut usage = json!({
        "input_tokens": input - cached.min(input),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    });
    if let Some(reasoning) = reasoning {
        usage["output_tokens_details"] = json!({"thinking_tokens": reasoning});
    }
    usage
}
