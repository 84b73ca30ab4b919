//! Gemini's generateContent. Tool calls come whole and without ids, as the real server sends them.

use serde_json::{Value, json};

use super::super::reply::{Completion, Ending, ToolCall, Usage};
use super::super::sign;
use super::blocks::{Block, Piece, blocks, joined};
use super::events::Events;
use super::{Frame, Speech, rules};
use crate::playback::Step;

pub(super) struct Gemini;

impl Speech for Gemini {
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step> {
        let mut said = Vec::new();
        // The thinking is signed on the first part that is none.
        let mut thoughts = None;
        for block in blocks(completion) {
            match block {
                Block::Pause(step) => said.push(Said::Pause(step)),
                Block::Reasoning(pieces) => {
                    said.extend(pieces.iter().map(|piece| {
                        Said::piece(piece, |text| json!({"text": text, "thought": true}))
                    }));
                    thoughts = Some(joined(&pieces));
                }
                Block::Text(pieces) => said.extend(pieces.iter().map(|piece| {
                    Said::piece(piece, |text| {
                        signed(json!({"text": text}), thoughts.take().map(Signed::Text))
                    })
                })),
                Block::Calls(calls) => {
                    said.extend(call_parts(calls, &mut thoughts).into_iter().map(Said::Part));
                }
            }
        }
        let ends = matches!(completion.ending, Ending::Complete | Ending::WithoutDone);
        // The reason to stop comes with the last part, or alone if there is none to come with.
        let last = said.len().checked_sub(1).filter(|_| ends);
        let alone = !matches!(said.last(), Some(Said::Part(_)));
        let mut events = Events::new(completion);
        for (position, said) in said.into_iter().enumerate() {
            match said {
                Said::Pause(step) => events.steps.push(step),
                Said::Part(part) => {
                    let reason = (last == Some(position)).then(|| finish_reason(completion));
                    events.json(&chunk(completion, frame, vec![part], reason));
                }
            }
        }
        match &completion.ending {
            Ending::Complete | Ending::WithoutDone if alone => {
                events.json(&chunk(completion, frame, vec![], Some(finish_reason(completion))));
            }
            Ending::Error(_) => {
                let (status, message) = completion.ending.failure();
                events.json(&self.error(status, &message));
            }
            Ending::Cut => events.steps.push(Step::Cut),
            Ending::Complete | Ending::WithoutDone | Ending::WithoutFinish => {}
        }
        events.steps
    }

    fn document(&self, completion: &Completion, frame: &Frame) -> Value {
        if let Ending::Error(_) = &completion.ending {
            let (status, message) = completion.ending.failure();
            return self.error(status, &message);
        }
        let (mut parts, mut thoughts) = (Vec::new(), None);
        for block in blocks(completion) {
            match block {
                Block::Pause(_) => {}
                Block::Reasoning(pieces) => {
                    let text = joined(&pieces);
                    parts.push(json!({"text": text, "thought": true}));
                    thoughts = Some(text);
                }
                Block::Text(pieces) => {
                    let part = json!({"text": joined(&pieces)});
                    parts.push(signed(part, thoughts.take().map(Signed::Text)));
                }
                Block::Calls(calls) => parts.extend(call_parts(calls, &mut thoughts)),
            }
        }
        let reason = match completion.ending {
            Ending::WithoutFinish => None,
            _ => Some(finish_reason(completion)),
        };
        chunk(completion, frame, parts, reason)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let word = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": status, "message": message, "status": word}})
    }

    fn models(&self, names: &[String]) -> Value {
        let model = |name: &String| {
            json!({
                "name": format!("models/{name}"),
                "version": "001",
                "displayName": format!("Mock {name}"),
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        };
        let mut models: Vec<Value> = names.iter().map(model).collect();
        models.push(json!({
            "name": "models/mock-embedding",
            "displayName": "Mock embedding",
            "inputTokenLimit": 2048,
            "outputTokenLimit": 1,
            "supportedGenerationMethods": ["embedContent"],
        }));
        json!({"models": models})
    }

    fn check(&self, body: &Value, model: &str) -> Result<(), String> {
        rules::gemini::check(body, model)
    }
}

/// The method in a path such as `/v1beta/models/m:generateContent`.
pub(super) fn method(path: &str) -> Option<&str> {
    let (_, method) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
    matches!(method, "generateContent" | "streamGenerateContent").then_some(method)
}

/// The model in such a path.
pub(super) fn model(path: &str) -> Option<&str> {
    Some(path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?.0)
}

/// What a stream says next.
enum Said {
    Part(Value),
    Pause(Step),
}

impl Said {
    fn piece(piece: &Piece<'_>, part: impl FnOnce(&str) -> Value) -> Self {
        match piece {
            Piece::Say(text) => Self::Part(part(text)),
            Piece::Pause(step) => Self::Pause(step.clone()),
        }
    }
}

/// What a signature signs.
enum Signed<'a> {
    Text(String),
    Call(&'a ToolCall),
}

fn signed(mut part: Value, what: Option<Signed<'_>>) -> Value {
    match what {
        Some(Signed::Text(thoughts)) => {
            part["thoughtSignature"] = json!(sign::of("gemini text", &thoughts));
        }
        Some(Signed::Call(call)) => {
            part["thoughtSignature"] =
                json!(sign::of_call("gemini", &call.name, &call.argument_object()));
        }
        None => {}
    }
    part
}

/// The calls of a group; the first of them is signed, whether there were thoughts to see or not.
fn call_parts(calls: &[ToolCall], thoughts: &mut Option<String>) -> Vec<Value> {
    *thoughts = None;
    let part = |(position, call): (usize, &ToolCall)| {
        let part = json!({"functionCall": {"name": call.name, "args": call.argument_object()}});
        signed(part, (position == 0).then_some(Signed::Call(call)))
    };
    calls.iter().enumerate().map(part).collect()
}

fn chunk(
    completion: &Completion,
    frame: &Frame,
    parts: Vec<Value>,
    finish_reason: Option<&str>,
) -> Value {
    let content = match parts.is_empty() {
        true => json!({"role": "model"}),
        false => json!({"parts": parts, "role": "model"}),
    };
    let mut candidate = json!({"content": content});
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = json!(reason);
    }
    candidate["index"] = json!(0);
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(completion, finish_reason.is_some()),
        "modelVersion": frame.model,
        "responseId": format!("mock-response-{}", frame.number),
    })
}

fn finish_reason(completion: &Completion) -> &str {
    match completion.finish() {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}

/// Here what is written as thoughts does not count among the candidates' tokens.
fn usage(completion: &Completion, ended: bool) -> Value {
    if let Some(usage) = &completion.usage_json {
        return usage.clone();
    }
    let Usage { input, output, cached, reasoning } = completion.usage;
    let mut usage = json!({"promptTokenCount": input});
    if let Some(cached) = cached {
        usage["cachedContentTokenCount"] = json!(cached);
    }
    if !ended {
        usage["totalTokenCount"] = json!(input);
        return usage;
    }
    if let Some(reasoning) = reasoning {
        usage["thoughtsTokenCount"] = json!(reasoning);
    }
    usage["candidatesTokenCount"] = json!(output - reasoning.unwrap_or_default().min(output));
    usage["totalTokenCount"] = json!(input + output);
    usage
}
