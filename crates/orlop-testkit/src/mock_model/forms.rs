//! A completion without a server: the bytes of its stream, and its form as a script.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::api::{Api, Frame};
use super::reply::{Completion, Ending, Part, Reply};
use crate::playback::Step;

impl Reply<Completion> {
    /// The body that streams this reply, as the first request for `model` of a server gets it.
    /// Waits are left out, and so is what follows a cut.
    pub fn streamed(&self, api: Api, model: &str) -> Bytes {
        let frame = Frame { number: 1, model: model.to_owned(), include_usage: true };
        let steps = api.speech().stream(&self.content, &frame);
        let written = steps.iter().take_while(|step| !matches!(step, Step::Cut));
        let bytes = written.filter_map(|step| match step {
            Step::Write(bytes) => Some(bytes.iter().copied()),
            _ => None,
        });
        bytes.flatten().collect()
    }

    /// The reply as one of a script that the provider `scripted` plays.
    pub fn to_script(&self) -> Value {
        let completion = &self.content;
        let (mut text, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for part in &completion.parts {
            match part {
                Part::Text(chunk) => text.push(chunk.as_str()),
                Part::Reasoning(chunk) => reasoning.push(chunk.as_str()),
                Part::ToolCalls(more) => calls.extend(more.iter().map(
                    |call| json!({"id": call.id, "name": call.name, "arguments": call.arguments}),
                )),
                Part::Wait(_) | Part::Delay(_) => {}
            }
        }
        let usage = completion.usage;
        let mut counts = json!({"input_tokens": usage.input, "output_tokens": usage.output});
        for (key, count) in
            [("cache_read_tokens", usage.cached), ("reasoning_tokens", usage.reasoning)]
        {
            if let Some(count) = count {
                counts[key] = json!(count);
            }
        }
        let mut script = Map::new();
        let mut say = |key: &str, value: Value| {
            let nothing = value.as_array().is_some_and(Vec::is_empty);
            if !nothing {
                script.insert(key.to_owned(), value);
            }
        };
        say("text", json!(text));
        say("reasoning", json!(reasoning));
        say("tool_calls", json!(calls));
        say("usage", counts);
        say("finish_reason", json!(completion.finish()));
        if let Ending::Error(_) = completion.ending {
            let (status, message) = completion.ending.failure();
            let retryable = matches!(status, 408 | 429 | 500..);
            let after = text.len() + reasoning.len();
            say(
                "error",
                json!({"status": status, "message": message, "retryable": retryable, "after": after}),
            );
        }
        Value::Object(script)
    }
}
