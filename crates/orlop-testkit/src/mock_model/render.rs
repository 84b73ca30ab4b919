//! Turns a completion into the steps of a response body: server-sent events or one document.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::RecordedRequest;
use super::reply::{Completion, Ending, Part, ToolCall};
use crate::playback::Step;

/// A fixed time, so that two runs of a test send the same bytes.
const CREATED: u64 = 1_700_000_000;

/// What the answers to one request have in common.
pub(super) struct Frame {
    id: String,
    model: String,
    include_usage: bool,
}

impl Frame {
    /// The frame of the answer to `request`, the `number`th of this server.
    pub(super) fn new(request: &RecordedRequest, number: usize) -> Self {
        let body = request.json();
        Self {
            id: format!("chatcmpl-mock-{number}"),
            model: body["model"].as_str().unwrap_or("mock-model").to_owned(),
            include_usage: body["stream_options"]["include_usage"] == true,
        }
    }

    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        self.chunk_with_choices(
            json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]),
            Value::Null,
        )
    }

    fn chunk_with_choices(&self, choices: Value, usage: Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "choices": choices,
        });
        if self.include_usage {
            // Real servers send the field in every chunk then, null in all but the last.
            chunk["usage"] = usage;
        }
        chunk
    }
}

/// The completion as server-sent events.
pub(super) fn as_events(completion: &Completion, frame: &Frame) -> Vec<Step> {
    let mut events = Events { steps: Vec::new(), completion };
    if !matches!((&completion.ending, completion.parts.as_slice()), (Ending::Error(_), [])) {
        events.json(frame.chunk(json!({"role": "assistant", "content": ""}), None));
    }

    let mut calls_so_far = 0;
    for part in &completion.parts {
        match part {
            Part::Reasoning(text) => {
                let delta = Map::from_iter([(completion.reasoning_field.clone(), json!(text))]);
                events.json(frame.chunk(Value::Object(delta), None));
            }
            Part::Text(text) => events.json(frame.chunk(json!({"content": text}), None)),
            Part::ToolCalls(calls) => {
                for delta in call_deltas(completion, calls, calls_so_far) {
                    events.json(frame.chunk(json!({"tool_calls": [delta]}), None));
                }
                calls_so_far += calls.len();
            }
            Part::Wait(gate) => events.steps.push(Step::Wait(gate.clone())),
            Part::Delay(time) => events.steps.push(Step::Delay(*time)),
        }
    }

    match &completion.ending {
        Ending::Complete | Ending::WithoutDone => {
            events.json(frame.chunk(json!({}), Some(finish_reason(completion))));
            if frame.include_usage {
                events.json(frame.chunk_with_choices(json!([]), completion.usage.clone()));
            }
            if matches!(completion.ending, Ending::Complete) {
                events.data("[DONE]");
            }
        }
        Ending::WithoutFinish => {}
        Ending::Error(error) => events.json(json!({"error": error})),
        Ending::Cut => events.steps.push(Step::Cut),
    }
    events.steps
}

struct Events<'a> {
    steps: Vec<Step>,
    completion: &'a Completion,
}

impl Events<'_> {
    fn json(&mut self, data: Value) {
        self.data(&data.to_string());
    }

    fn data(&mut self, data: &str) {
        self.steps.extend(self.completion.pace.map(Step::Delay));
        self.steps.push(Step::Write(format!("data: {data}\n\n").into()));
    }
}

/// The completion as one JSON document, with its length for the header.
///
/// The gates come first: nothing can be sent before all of it is known.
pub(super) fn as_document(completion: &Completion, frame: &Frame) -> (Vec<Step>, usize) {
    let document = Bytes::from(document(completion, frame).to_string());
    let length = document.len();
    let mut steps: Vec<Step> = completion
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Wait(gate) => Some(Step::Wait(gate.clone())),
            Part::Delay(time) => Some(Step::Delay(*time)),
            Part::Reasoning(_) | Part::Text(_) | Part::ToolCalls(_) => None,
        })
        .collect();
    if matches!(completion.ending, Ending::Cut) {
        steps.extend([Step::Write(document.slice(..length / 2)), Step::Cut]);
    } else {
        steps.push(Step::Write(document));
    }
    (steps, length)
}

fn document(completion: &Completion, frame: &Frame) -> Value {
    if let Ending::Error(error) = &completion.ending {
        return json!({"error": error});
    }

    let mut text = String::new();
    let mut reasoning = String::new();
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
        "id": frame.id,
        "object": "chat.completion",
        "created": CREATED,
        "model": frame.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": completion.usage,
    })
}

fn finish_reason(completion: &Completion) -> &str {
    let calls_tools = completion.parts.iter().any(|part| matches!(part, Part::ToolCalls(_)));
    match &completion.finish_reason {
        Some(reason) => reason,
        None if calls_tools => "tool_calls",
        None => "stop",
    }
}

/// The deltas of a group of calls: an opening with id and name for each, then its arguments.
fn call_deltas(completion: &Completion, calls: &[ToolCall], first_index: usize) -> Vec<Value> {
    let mut per_call: Vec<std::vec::IntoIter<Value>> = calls
        .iter()
        .zip(first_index..)
        .map(|(call, index)| {
            let opening = json!({
                "index": index,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            });
            let fragments = split(&call.arguments, completion.fragments)
                .into_iter()
                .map(|fragment| json!({"index": index, "function": {"arguments": fragment}}));
            std::iter::once(opening).chain(fragments).collect::<Vec<_>>().into_iter()
        })
        .collect();

    if !completion.interleaved {
        return per_call.into_iter().flatten().collect();
    }
    let mut deltas = Vec::new();
    loop {
        let round: Vec<Value> = per_call.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return deltas;
        }
        deltas.extend(round);
    }
}

/// Splits between characters into `count` pieces of nearly the same length, fewer if there are
/// not enough characters.
fn split(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let count = count.clamp(1, characters.len().max(1));
    (0..count)
        .map(|piece| {
            let start = piece * characters.len() / count;
            let end = (piece + 1) * characters.len() / count;
            characters[start..end].iter().collect::<String>()
        })
        .filter(|piece| !piece.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn pieces_are_whole_characters_and_none_is_empty() {
        assert_eq!(split("abcdefg", 3), ["ab", "cd", "efg"]);
        assert_eq!(split("äöü", 2), ["ä", "öü"]);
        assert_eq!(split("ab", 9), ["a", "b"]);
        assert_eq!(split("ab", 0), ["ab"]);
        assert!(split("", 3).is_empty());
    }
}
