//! Ollama's own chat: lines of JSON. Tool calls come whole, their arguments as objects.

use serde_json::{Value, json};

use super::super::reply::{Completion, Ending, Part, ToolCall};
use super::blocks::{Block, blocks};
use super::events::Events;
use super::{CREATED_AT, Frame, Speech, rules};
use crate::playback::Step;

pub(super) struct Ollama;

impl Speech for Ollama {
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step> {
        let mut events = Events::new(completion);
        let mut calls_so_far = 0;
        for block in blocks(completion) {
            match block {
                Block::Pause(step) => events.steps.push(step),
                Block::Reasoning(pieces) => events.pieces(&pieces, |events, text| {
                    let fields = json!({"role": "assistant", "content": "", "thinking": text});
                    events.line(&line(frame, fields, false));
                }),
                Block::Text(pieces) => events.pieces(&pieces, |events, text| {
                    let fields = json!({"role": "assistant", "content": text});
                    events.line(&line(frame, fields, false));
                }),
                Block::Calls(calls) => {
                    for call in calls {
                        let call = tool_call(calls_so_far, call);
                        let fields =
                            json!({"role": "assistant", "content": "", "tool_calls": [call]});
                        events.line(&line(frame, fields, false));
                        calls_so_far += 1;
                    }
                }
            }
        }
        match &completion.ending {
            Ending::Complete | Ending::WithoutDone => {
                let mut end = line(frame, json!({"role": "assistant", "content": ""}), true);
                finish(&mut end, completion);
                events.line(&end);
            }
            Ending::WithoutFinish => {}
            Ending::Error(_) => {
                let (status, message) = completion.ending.failure();
                events.line(&self.error(status, &message));
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
        let [mut text, mut thinking] = [String::new(), String::new()];
        let mut calls = Vec::new();
        for part in &completion.parts {
            match part {
                Part::Text(chunk) => text.push_str(chunk),
                Part::Reasoning(chunk) => thinking.push_str(chunk),
                Part::ToolCalls(more) => {
                    for call in more {
                        calls.push(tool_call(calls.len(), call));
                    }
                }
                Part::Wait(_) | Part::Delay(_) => {}
            }
        }
        let mut message = json!({"role": "assistant", "content": text});
        if !thinking.is_empty() {
            message["thinking"] = json!(thinking);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let mut document = line(frame, message, true);
        if !matches!(completion.ending, Ending::WithoutFinish) {
            finish(&mut document, completion);
        }
        document
    }

    fn error(&self, _: u16, message: &str) -> Value {
        json!({"error": message})
    }

    fn models(&self, names: &[String]) -> Value {
        let model = |name: &String| {
            json!({
                "name": name,
                "model": name,
                "modified_at": CREATED_AT,
                "size": 2_019_393_189_u64,
                "digest": "0123456789abcdef",
                "details": {
                    "parent_model": "",
                    "format": "gguf",
                    "family": "llama",
                    "families": ["llama"],
                    "parameter_size": "3.2B",
                    "quantization_level": "Q4_K_M",
                },
            })
        };
        json!({"models": names.iter().map(model).collect::<Vec<_>>()})
    }

    fn check(&self, body: &Value, _: &str) -> Result<(), String> {
        rules::ollama::check(body)
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }
}

/// What `/api/show` tells of every model.
pub(in crate::mock_model) fn shown() -> Value {
    json!({
        "details": {"family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        "capabilities": ["completion", "tools", "thinking", "vision"],
    })
}

fn line(frame: &Frame, message: Value, done: bool) -> Value {
    json!({"model": frame.model, "created_at": CREATED_AT, "message": message, "done": done})
}

fn tool_call(index: usize, call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "function": {"index": index, "name": call.name, "arguments": call.argument_object()},
    })
}

/// Why the model stopped and what it took. Ollama does not tell calls from other ends.
fn finish(line: &mut Value, completion: &Completion) {
    line["done_reason"] = match completion.finish() {
        "tool_calls" => json!("stop"),
        other => json!(other),
    };
    line["total_duration"] = json!(9_127_309_042_u64);
    line["load_duration"] = json!(59_622_792);
    line["prompt_eval_count"] = json!(completion.usage.input);
    line["prompt_eval_duration"] = json!(808_018_167);
    line["eval_count"] = json!(completion.usage.output);
    line["eval_duration"] = json!(7_603_807_420_u64);
}
