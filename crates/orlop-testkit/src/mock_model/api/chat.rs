//! OpenAI chat completions.

use serde_json::{Map, Value, json};

use super::super::reply::{Completion, Ending, Part, Usage, error_object};
use super::blocks::{Block, CallPiece, blocks, call_pieces};
use super::events::Events;
use super::{CREATED, Frame, Speech, rules};
use crate::playback::Step;

pub(super) struct Chat;

impl Speech for Chat {
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step> {
        let mut events = Events::new(completion);
        if !matches!((&completion.ending, completion.parts.as_slice()), (Ending::Error(_), [])) {
            events.json(&chunk(frame, json!({"role": "assistant", "content": ""}), None));
        }
        let mut calls_so_far = 0;
        for block in blocks(completion) {
            match block {
                Block::Pause(step) => events.steps.push(step),
                Block::Reasoning(pieces) => events.pieces(&pieces, |events, text| {
                    let delta = Map::from_iter([(completion.reasoning_field.clone(), text.into())]);
                    events.json(&chunk(frame, Value::Object(delta), None));
                }),
                Block::Text(pieces) => events.pieces(&pieces, |events, text| {
                    events.json(&chunk(frame, json!({"content": text}), None));
                }),
                Block::Calls(calls) => {
                    for (position, piece) in call_pieces(completion, calls) {
                        if let Some(delta) = call_delta(calls_so_far + position, &piece) {
                            events.json(&chunk(frame, json!({"tool_calls": [delta]}), None));
                        }
                    }
                    calls_so_far += calls.len();
                }
            }
        }

        match &completion.ending {
            Ending::Complete | Ending::WithoutDone => {
                events.json(&chunk(frame, json!({}), Some(finish_reason(completion))));
                if frame.include_usage {
                    events.json(&chunk_with_choices(frame, json!([]), usage(completion)));
                }
                if matches!(completion.ending, Ending::Complete) {
                    events.data("[DONE]");
                }
            }
            Ending::WithoutFinish => {}
            Ending::Error(error) => events.json(&json!({"error": error})),
            Ending::Cut => events.steps.push(Step::Cut),
        }
        events.steps
    }

    fn document(&self, completion: &Completion, frame: &Frame) -> Value {
        if let Ending::Error(error) = &completion.ending {
            return json!({"error": error});
        }
        let [mut text, mut reasoning] = [String::new(), String::new()];
        let mut calls = Vec::new();
        for part in &completion.parts {
            match part {
                Part::Text(chunk) => text.push_str(chunk),
                Part::Reasoning(chunk) => reasoning.push_str(chunk),
                Part::ToolCalls(more) => calls.extend(more.iter().map(|call| {
                    json!({
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                    })
                })),
                Part::Wait(_) | Part::Delay(_) => {}
            }
        }

        // A message of nothing but tool calls has null for its content, not an empty text.
        let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
        let mut message = json!({"role": "assistant", "content": content});
        if !reasoning.is_empty() {
            message[&completion.reasoning_field] = json!(reasoning);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let finish_reason = match completion.ending {
            Ending::WithoutFinish => None,
            _ => Some(finish_reason(completion)),
        };
        json!({
            "id": id(frame),
            "object": "chat.completion",
            "created": CREATED,
            "model": frame.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": usage(completion),
        })
    }

    fn error(&self, _: u16, message: &str) -> Value {
        json!({"error": error_object(message)})
    }

    fn models(&self, names: &[String]) -> Value {
        let model = |name| json!({"id": name, "object": "model", "created": CREATED, "owned_by": "orlop-testkit"});
        json!({"object": "list", "data": names.iter().map(model).collect::<Vec<_>>()})
    }

    fn check(&self, body: &Value, _: &str) -> Result<(), String> {
        rules::chat::check(body)
    }
}

fn id(frame: &Frame) -> String {
    format!("chatcmpl-mock-{}", frame.number)
}

fn chunk(frame: &Frame, delta: Value, finish_reason: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    chunk_with_choices(frame, json!([choice]), Value::Null)
}

fn chunk_with_choices(frame: &Frame, choices: Value, usage: Value) -> Value {
    let mut chunk = json!({
        "id": id(frame),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": frame.model,
        "choices": choices,
    });
    if frame.include_usage {
        // Real servers send the field in every chunk then, null in all but the last.
        chunk["usage"] = usage;
    }
    chunk
}

/// An opening with id and name, or a piece of the arguments.
fn call_delta(index: usize, piece: &CallPiece<'_>) -> Option<Value> {
    match piece {
        CallPiece::Open(call) => Some(json!({
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        })),
        CallPiece::Arguments(text) => {
            Some(json!({"index": index, "function": {"arguments": text}}))
        }
        CallPiece::Close(_) => None,
    }
}

fn finish_reason(completion: &Completion) -> &str {
    completion.finish()
}

fn usage(completion: &Completion) -> Value {
    if let Some(usage) = &completion.usage_json {
        return usage.clone();
    }
    let Usage { input, output, cached, reasoning } = completion.usage;
    let mut usage = json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
    });
    if let Some(cached) = cached {
        usage["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    if let Some(reasoning) = reasoning {
        usage["completion_tokens_details"] = json!({"reasoning_tokens": reasoning});
    }
    usage
}
