//! Token counts and endings, as the two APIs tell them.

use orlop_core::types::app_event::CallerCall;
use orlop_core::{Map, Message, Role, Value};
use serde_json::json;

/// Token counts of a request; what is not known counts as none.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

impl Usage {
    pub(super) fn of(usage: Option<&Map>) -> Self {
        let count = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64);
        Self {
            input: count("input_tokens").unwrap_or_default(),
            output: count("output_tokens").unwrap_or_default(),
            cached: count("cache_read_tokens").unwrap_or_default(),
            reasoning: count("reasoning_tokens").unwrap_or_default(),
        }
    }

    pub(super) fn of_chat(self) -> Value {
        json!({
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input.saturating_add(self.output),
            "prompt_tokens_details": { "cached_tokens": self.cached, "audio_tokens": 0 },
            "completion_tokens_details": {
                "reasoning_tokens": self.reasoning, "audio_tokens": 0,
                "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
            },
        })
    }

    pub(super) fn of_response(self) -> Value {
        json!({
            "input_tokens": self.input,
            "input_tokens_details": { "cached_tokens": self.cached },
            "output_tokens": self.output,
            "output_tokens_details": { "reasoning_tokens": self.reasoning },
            "total_tokens": self.input.saturating_add(self.output),
        })
    }
}

/// Why an answer ended, in the words of chat completions.
pub(super) fn finish_reason(messages: &[Message], calls: &[CallerCall]) -> &'static str {
    if !calls.is_empty() {
        return "tool_calls";
    }
    let last = messages.iter().rev().find(|message| message.role() == Role::Assistant);
    let said = last.and_then(|message| message.metadata().get("finish_reason")?.as_str());
    match said {
        Some("length") => "length",
        Some("content_filter" | "refusal") => "content_filter",
        _ => "stop",
    }
}
