//! What an answer says beside its content, in the words that are the same for every API.

use super::wire::{Candidate, Chunk};
use crate::wire::json::Text;
use crate::wire::merge::{Strings, add_raw};
use crate::wire::{Facts, Finish, Usage};
use orlop_types::{Error, Map, Result, Value};

/// What the chunks say beside the content.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) finish_reason: Option<String>,
    pub(super) response_id: Option<String>,
    model: Option<String>,
    /// JSON text; the last one counts.
    usage: String,
    /// Fields of the candidate; the last ones count.
    candidate: Map,
}

impl Told {
    pub(super) fn learn(&mut self, chunk: &Chunk<'_>) {
        for (held, told) in
            [(&mut self.model, &chunk.model), (&mut self.response_id, &chunk.response_id)]
        {
            if let (None, Some(text)) = (&held, told.filled()) {
                *held = Some(text.to_owned());
            }
        }
        if let Some(usage) = chunk.usage {
            self.usage.clear();
            self.usage.push_str(usage.get());
        }
    }

    pub(super) fn learn_candidate(&mut self, candidate: &Candidate<'_>) -> Result<()> {
        if let Text::Str(reason) = &candidate.finish_reason
            && !reason.is_empty()
        {
            self.finish_reason = Some(reason.clone().into_owned());
        }
        candidate.unknown.iter().try_for_each(|(key, value)| {
            self.candidate.shift_remove(&**key);
            add_raw(&mut self.candidate, key, value, Strings::Replace)
        })
    }

    /// These facts about an answer with or without calls.
    pub(super) fn facts(self, calls: bool) -> Facts {
        let usage: Option<Map> = serde_json::from_str(&self.usage).ok();
        let mut others = Map::new();
        if !self.candidate.is_empty() {
            others.insert("candidate".to_owned(), self.candidate.into());
        }
        Facts {
            finish: self.finish_reason.as_deref().map(|reason| match finish(reason) {
                Finish::Stop if calls => Finish::ToolCalls,
                other => other,
            }),
            native_finish: self.finish_reason,
            model: self.model,
            usage: usage.as_ref().map(counts),
            native_usage: usage,
            response_id: self.response_id,
            others,
        }
    }

    /// The error that an answer without any content is, if its reason to stop is a failure.
    pub(super) fn failure(&self) -> Option<Error> {
        let reason = self.finish_reason.as_deref()?;
        if finish(reason) != Finish::Error {
            return None;
        }
        let said = self.candidate.get("finishMessage").and_then(Value::as_str);
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let message = format!("the model failed to answer ({reason}{said}); try again");
        Some(Error::provider(message).with_retryable(true))
    }
}

/// Why the model stopped, in our words.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => Finish::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "NO_IMAGE"
        | "IMAGE_OTHER"
        | "OTHER" => Finish::Error,
        _ => Finish::Stop,
    }
}

fn counts(usage: &Map) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let sum = |keys: [&str; 2]| {
        keys.into_iter().filter_map(count).fold(0, |sum: u64, n| sum.saturating_add(n))
    };
    Usage {
        // What tools of the server read for the model is counted apart from the prompt.
        input: sum(["promptTokenCount", "toolUsePromptTokenCount"]),
        output: sum(["candidatesTokenCount", "thoughtsTokenCount"]),
        cache_read: count("cachedContentTokenCount"),
        cache_write: None,
        reasoning: count("thoughtsTokenCount"),
    }
}

/// The prompt was refused.
pub(super) fn blocked(chunk: &Chunk<'_>, body: &str) -> Option<Error> {
    let feedback: Map = serde_json::from_str(chunk.prompt_feedback?.get()).ok()?;
    let reason = feedback.get("blockReason")?.as_str()?;
    let said = feedback.get("blockReasonMessage").and_then(Value::as_str);
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    let message = format!(
        "the model server refused the prompt ({reason}{said}); \
         change the prompt or the safety settings"
    );
    Some(Error::provider(message).with_provider_body(None, body))
}
