//! Whether a server refused a request because the conversation is longer than its model can take.
//! Each API has words of its own for that, and the servers behind one API have many.

use orlop_types::Value;

/// What to do about it.
pub(crate) const TOO_LONG: &str =
    "compact or shorten the conversation, or use a model with a larger context window";

/// The kinds of errors that say so, where the server names them.
const KINDS: [&str; 4] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "request_too_large",
];

/// How servers that only write sentences put it, in lower case.
const WORDS: [&str; 22] = [
    // Anthropic, and those that serve its models
    "prompt is too long",
    "exceed context limit",
    "input is too long",
    // OpenAI and what speaks like it: vLLM, DeepSeek, OpenRouter, Mistral
    "maximum context length",
    "exceeds the context window",
    "exceeds the model's context",
    "context length exceeded",
    "longer than the maximum model length",
    "input tokens exceed the configured limit",
    // Gemini
    "exceeds the maximum number of tokens allowed",
    // xAI, Groq, Moonshot, MiniMax, GitHub
    "maximum prompt length is",
    "reduce the length of the messages",
    "exceeded model token limit",
    "context window exceeds limit",
    "prompt token count of",
    // llama.cpp, LM Studio, Ollama, text-generation-inference
    "exceeds the available context size",
    "exceed the available context size",
    "greater than the context length",
    "exceeds the context length",
    "exceeds context length",
    "tokens + `max_new_tokens` must be",
    "larger than the maximum context size",
];

/// Words of limits on how much may be sent in a minute: waiting helps, shortening need not.
const RATES: [&str; 4] = ["rate_limit", "rate limit", "per minute", "per min"];

/// Whether an answer with this status and body says that the conversation is too long.
pub(crate) fn is_overflow(status: Option<u16>, body: &str) -> bool {
    let said = body.to_lowercase();
    if status == Some(429) || RATES.iter().any(|word| said.contains(word)) {
        return false;
    }
    // A server that fails for reasons of its own may still quote what it was asked.
    let is_refusal = status.is_none_or(|status| (400..500).contains(&status))
        || status == Some(500) && said.contains("context size");
    let refused = || WORDS.iter().any(|words| said.contains(words));
    is_refusal && (status == Some(413) || names_it(body) || refused())
}

fn names_it(body: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return false };
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").unwrap_or(value);
    let named = ["code", "type"].into_iter().filter_map(|key| error.get(key)?.as_str());
    named.into_iter().any(|kind| KINDS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_of_a_conversation_that_is_too_long() {
        let said = [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190012 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576."}}]"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}}"#,
            ),
            (
                400,
                r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is greater than the context length"}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":{"detail":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"},"type":"invalid_request_error"}"#,
            ),
            (400, r#"{"message":"Input is too long for requested model."}"#),
        ];
        for (status, body) in said {
            assert!(is_overflow(Some(status), body), "{body}");
        }
        assert!(is_overflow(None, said[2].1), "in the middle of a stream no status is said");
    }

    #[test]
    fn other_failures_are_something_else() {
        let said = [
            (
                429,
                r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ),
            (
                413,
                r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000","code":"rate_limit_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 200000. This model supports at most 16384 completion tokens","code":"invalid_value"}}"#,
            ),
            (401, r#"{"error":{"message":"Incorrect API key provided"}}"#),
            (500, r#"{"error":{"message":"prompt is too long to be cached"}}"#),
            (404, "not found"),
        ];
        for (status, body) in said {
            assert!(!is_overflow(Some(status), body), "{body}");
        }
    }
}
