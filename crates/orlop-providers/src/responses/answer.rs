//! What a response says beside its items, and a response that came in one piece.

use super::convert::shown;
use super::wire::Response;
use crate::wire::{Facts, Finish, Usage, Whole, failure};
use orlop_types::{Error, Map, NativeItem, Result, Value};

/// Reads a response that was not streamed. Its items stay as the server wrote them, byte for byte.
pub fn response(body: &str) -> Result<Whole> {
    let response =
        Response::parse(body).map_err(|error| failure::unreadable("an answer", body, &error))?;
    check(&response, body)?;
    if response.output.is_none() {
        return Err(failure::no_choice(Some(body)));
    }
    let items = with_facts(items(&response, body)?, &response);
    Ok(Whole { shown: shown(&items), items })
}

/// The items of a response.
pub(super) fn items(response: &Response<'_>, body: &str) -> Result<Vec<NativeItem>> {
    let output = response.output.iter().flatten();
    let items: std::result::Result<Vec<_>, _> =
        output.map(|item| NativeItem::from_text(item.get())).collect();
    let items = items.map_err(|error| failure::unreadable("an item", body, &error))?;
    Ok(items.into_iter().filter(NativeItem::is_object).collect())
}

/// A response that failed, or that is not there yet, is an error.
pub(super) fn check(response: &Response<'_>, body: &str) -> Result<()> {
    match response.status.as_str() {
        Some("cancelled") => {
            Err(Error::provider("the model server cancelled the answer; try again")
                .with_retryable(true))
        }
        Some("queued" | "in_progress") => Err(Error::provider(
            "the model server answers in the background, which is not waited for; \
             take \"background\" out of \"extra_body\"",
        )),
        Some("failed") => Err(failure::reported(body)),
        _ if response.error.is_some() => Err(failure::reported(body)),
        _ => Ok(()),
    }
}

/// The message of a model that said nothing at all. It is not sent again.
pub(super) const SILENCE: &str = r#"{"type":"message","role":"assistant","content":[]}"#;

/// The items with what the response says beside them, which is kept with the last one.
pub(super) fn with_facts(mut items: Vec<NativeItem>, response: &Response<'_>) -> Vec<NativeItem> {
    if items.is_empty() {
        items.extend(NativeItem::from_text(SILENCE));
    }
    let reason = response.incomplete_details.as_ref().and_then(|it| it.reason.filled());
    let usage: Option<Map> =
        response.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
    let facts = Facts {
        finish: Some(finish(&items, response.status.as_str(), reason)),
        native_finish: reason.or(response.status.filled()).map(str::to_owned),
        model: response.model.filled().map(str::to_owned),
        usage: usage.as_ref().map(counts),
        native_usage: usage,
        response_id: response.id.filled().map(str::to_owned),
        others: Map::new(),
    };
    if let Some(last) = items.pop() {
        items.push(facts.beside(last));
    }
    items
}

fn finish(items: &[NativeItem], status: Option<&str>, reason: Option<&str>) -> Finish {
    match (status, reason) {
        (_, Some("content_filter")) => return Finish::ContentFilter,
        (Some("incomplete"), _) | (_, Some("max_output_tokens")) => return Finish::Length,
        _ => {}
    }
    if items.iter().any(is_call) {
        return Finish::ToolCalls;
    }
    if items.iter().any(refuses) { Finish::Refusal } else { Finish::Stop }
}

/// Whether an item is a call of a tool that is run here.
pub(super) fn is_call(item: &NativeItem) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    matches!(kind, Some("function_call" | "custom_tool_call"))
}

fn refuses(item: &NativeItem) -> bool {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.into_iter().any(|part| part["type"] == "refusal")
}

fn counts(usage: &Map) -> Usage {
    let count = |fields: &Map, key: &str| fields.get(key).and_then(Value::as_u64);
    let detail = |group: &str, key: &str| count(usage.get(group)?.as_object()?, key);
    Usage {
        input: count(usage, "input_tokens").unwrap_or_default(),
        output: count(usage, "output_tokens").unwrap_or_default(),
        cache_read: detail("input_tokens_details", "cached_tokens"),
        cache_write: detail("input_tokens_details", "cache_write_tokens"),
        reasoning: detail("output_tokens_details", "reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(body: &str, expected: Expect) {
        let seen = match response(body) {
            Ok(Whole { shown, items }) => {
                let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
                format!("{}\n{}", serde_json::to_string(&shown).unwrap(), items.join("\n"))
            }
            Err(error) => format!("{error:?} (retryable {})", error.retryable()),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn items_stay_as_they_are_and_the_last_has_the_facts() {
        check(
            r#"{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"m",
                "output":[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x\u00e9=","odd":1.0},
                    {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}],
                "usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":12}}"#,
            expect![[r#"
                {"role":"assistant","content":"hi"}
                {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x\u00e9=","odd":1.0}
                {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed"), "model": String("m"), "usage": Object {"input_tokens": Number(9), "output_tokens": Number(3), "total_tokens": Number(12), "cache_read_tokens": Number(4), "cache_write_tokens": Number(2), "reasoning_tokens": Number(1)}, "native_usage": Object {"input_tokens": Number(9), "input_tokens_details": Object {"cached_tokens": Number(4), "cache_write_tokens": Number(2)}, "output_tokens": Number(3), "output_tokens_details": Object {"reasoning_tokens": Number(1)}, "total_tokens": Number(12)}, "response_id": String("resp_1")}"#]],
        );
    }

    #[test]
    fn the_reason_to_stop_is_found() {
        let finish = |status: &str, details: &str, item: &str| {
            let body = format!(
                r#"{{"status":"{status}","incomplete_details":{details},"output":[{item}]}}"#
            );
            let items = response(&body).unwrap().items;
            let word = |key: &str| items[0].metadata().get(key).cloned().unwrap_or_default();
            format!("{} {}", word("finish_reason"), word("native_finish_reason"))
        };
        let text = r#"{"type":"message","content":[{"type":"output_text","text":"a"}]}"#;
        let refusal = r#"{"type":"message","content":[{"type":"refusal","refusal":"no"}]}"#;
        let call = r#"{"type":"function_call","name":"f","call_id":"c","arguments":"{}"}"#;
        let limit = r#"{"reason":"max_output_tokens"}"#;
        let filter = r#"{"reason":"content_filter"}"#;
        assert_eq!(finish("completed", "null", text), r#""stop" "completed""#);
        assert_eq!(finish("completed", "null", refusal), r#""refusal" "completed""#);
        assert_eq!(finish("completed", "null", call), r#""tool_calls" "completed""#);
        assert_eq!(finish("incomplete", limit, call), r#""length" "max_output_tokens""#);
        assert_eq!(finish("incomplete", filter, text), r#""content_filter" null"#);
        assert_eq!(finish("incomplete", "null", text), r#""length" "incomplete""#);
    }

    #[test]
    fn a_model_may_say_nothing() {
        check(
            r#"{"status":"completed","output":[]}"#,
            expect![[r#"
                {"role":"assistant","content":""}
                {"type":"message","role":"assistant","content":[]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed")}"#]],
        );
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        check(
            r#"{"status":"failed","error":{"code":"server_error","message":"it broke"},"output":[]}"#,
            expect![
                "provider: the model server reported an error: it broke; try again later (retryable true)"
            ],
        );
        check(
            r#"{"error":{"message":"no","code":"invalid_prompt"}}"#,
            expect![
                "provider: the model server reported an error: no; change the request accordingly (retryable false)"
            ],
        );
        check(
            r#"{"status":"cancelled","error":null,"output":[]}"#,
            expect!["provider: the model server cancelled the answer; try again (retryable true)"],
        );
        check(
            r#"{"status":"queued","output":[]}"#,
            expect![[
                r#"provider: the model server answers in the background, which is not waited for; take "background" out of "extra_body" (retryable false)"#
            ]],
        );
        check(
            r#"{"status":"completed"}"#,
            expect![
                "provider: the model server sent an answer without a message; try again (retryable true)"
            ],
        );
        check(
            r#"{"output":7}"#,
            expect![[
                r#"provider: the model server sent an answer that has an unexpected shape (invalid type: integer `7`, expected a sequence at line 1 column 11): "{\"output\":7}"; check that "base_url" leads to a server for this provider (retryable false)"#
            ]],
        );
    }
}
