//! Deltas in, one message out: the object the server would have sent without streaming.
//!
//! What came from the server goes back to it under the names it used, known here or not. Token
//! counts and the reason to stop are kept beside the message and never sent.

use super::content::{Content, Shown};
use super::tool_calls::{Calls, Function};
use super::wire::{Choice, Chunk, Delta};
use crate::wire::json::{Text, Unknown};
use crate::wire::merge::{Strings, add, add_raw};
use crate::wire::{Facts, Finish, Usage, failure};
use orlop_types::{Map, NativeItem, Partial, Result, Value};
use std::mem::take;

/// An answer, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The message; usage, finish reason and model are in its internal metadata.
    pub item: NativeItem,
    /// Token counts, as the server sent them.
    pub usage: Option<Map>,
    /// Why the model stopped.
    pub finish_reason: Option<String>,
}

/// Collects the chunks of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    role: String,
    content: Content,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_text: Option<String>,
    calls: Calls,
    function_call: Option<Function>,
    unknown: Map,
    told: Told,
    /// Whether any chunk had a choice.
    begun: bool,
}

impl Assembler {
    /// Adds a chunk and gives what to show of it; the texts are taken out of the chunk.
    pub fn push(&mut self, chunk: &mut Chunk<'_>) -> Result<Partial> {
        self.told.learn(chunk);
        let Some(choice) = &mut chunk.choice else { return Ok(Partial::default()) };
        self.begun = true;
        self.told.learn_choice(choice)?;
        match (&mut choice.delta, choice.message) {
            (Some(delta), _) => self.push_delta(delta),
            (None, Some(message)) => match Delta::parse(message.get()) {
                Ok(mut delta) => self.push_delta(&mut delta),
                Err(error) => Err(failure::unreadable("a message", message.get(), &error)),
            },
            (None, None) => Ok(Partial::default()),
        }
    }

    /// Adds text of the message; a chunk before it told everything else.
    pub(super) fn push_text(&mut self, text: &str) -> Partial {
        let Shown { text: content, reasoning } = self.content.push(Text::Str(text.into()));
        Partial { content, reasoning, ..Partial::default() }
    }

    /// Why the model stopped, once it did.
    pub fn finish_reason(&self) -> Option<&str> {
        self.told.finish_reason.as_deref()
    }

    fn push_delta(&mut self, delta: &mut Delta<'_>) -> Result<Partial> {
        if let (true, Some(role)) = (self.role.is_empty(), delta.role.filled()) {
            self.role = role.to_owned();
        }
        let Shown { text: content, reasoning } = self.content.push(take(&mut delta.content));
        let mut partial = Partial { content, reasoning, ..Partial::default() };
        let unknown = &mut self.unknown;
        append(&mut self.refusal, unknown, "refusal", &mut delta.refusal, &mut partial.content);
        for (name, place, piece) in [
            ("reasoning_content", &mut self.reasoning_content, &mut delta.reasoning_content),
            ("reasoning", &mut self.reasoning, &mut delta.reasoning),
            ("reasoning_text", &mut self.reasoning_text, &mut delta.reasoning_text),
        ] {
            // Some servers send the same text under two names; it is shown once.
            let mut again = String::new();
            let first = partial.reasoning.is_empty();
            let shown = if first { &mut partial.reasoning } else { &mut again };
            append(place, unknown, name, piece, shown);
        }
        if let Some(details) = delta.reasoning_details {
            add_raw(unknown, "reasoning_details", details, Strings::Append)?;
        }
        self.push_unknown(&delta.unknown)?;
        if let Some(pieces) = delta.tool_calls.take() {
            for piece in pieces {
                partial.tool_calls.push(self.calls.push(piece)?);
            }
        }
        if let Some(piece) = delta.function_call.take() {
            self.function_call.get_or_insert_default().push(piece)?;
        }
        Ok(partial)
    }

    fn push_unknown(&mut self, unknown: &Unknown<'_>) -> Result<()> {
        for (key, piece) in unknown {
            match &**key {
                // These describe the chunk, not the message; servers refuse them in requests.
                "index" | "token_id" | "channel" => {}
                // Groq sends each entry whole, again and again.
                "executed_tools" => add_raw(&mut self.unknown, key, piece, Strings::Replace)?,
                _ => add_raw(&mut self.unknown, key, piece, Strings::Append)?,
            }
        }
        Ok(())
    }

    /// The message. An answer without any choice is an error.
    pub fn finish(self) -> Result<Finished> {
        if !self.begun {
            return Err(failure::no_choice(None));
        }
        let role = if self.role.is_empty() { "assistant".to_owned() } else { self.role };
        let content = match self.content.into_json() {
            Some(content) => content,
            None if self.calls.is_empty()
                && self.function_call.is_none()
                && self.refusal.as_deref().unwrap_or_default().is_empty() =>
            {
                Value::String(String::new())
            }
            None => Value::Null,
        };
        let mut message = Map::new();
        message.insert("role".to_owned(), role.into());
        message.insert("content".to_owned(), content);
        for (name, text) in [
            ("refusal", self.refusal),
            ("reasoning_content", self.reasoning_content),
            ("reasoning", self.reasoning),
            ("reasoning_text", self.reasoning_text),
        ] {
            if let Some(text) = text {
                message.insert(name.to_owned(), text.into());
            }
        }
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.calls.into_json());
        }
        if let Some(call) = self.function_call {
            message.insert("function_call".to_owned(), call.into_json().into());
        }
        message.extend(self.unknown);
        Ok(self.told.beside(NativeItem::from(message)))
    }
}

/// Adds a piece to a field that should be text, and to what is shown. What is no text goes where
/// the unknown fields are.
fn append(
    place: &mut Option<String>,
    unknown: &mut Map,
    name: &str,
    piece: &mut Text<'_>,
    shown: &mut String,
) {
    match take(piece) {
        Text::Absent => {}
        Text::Str(piece) => {
            place.get_or_insert_default().push_str(&piece);
            if shown.is_empty() {
                *shown = piece.into_owned();
            } else {
                shown.push_str(&piece);
            }
        }
        Text::Json(value) => add(unknown, name, *value, Strings::Append),
    }
}

/// What the chunks say beside the message.
#[derive(Debug, Default)]
struct Told {
    finish_reason: Option<String>,
    model: Option<String>,
    /// JSON text; the last one counts.
    usage: String,
    /// Fields of the choice.
    choice: Map,
}

impl Told {
    fn learn(&mut self, chunk: &Chunk<'_>) {
        if let (None, Some(model)) = (&self.model, chunk.model.filled()) {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = chunk.usage() {
            self.usage.clear();
            self.usage.push_str(usage.get());
        }
    }

    fn learn_choice(&mut self, choice: &Choice<'_>) -> Result<()> {
        if let Some(reason) = choice.finish_reason.filled() {
            self.finish_reason = Some(reason.to_owned());
        }
        choice.unknown.iter().try_for_each(|(key, value)| match &**key {
            // The legacy completion fields repeat what the delta says.
            "text" | "role" => Ok(()),
            _ => add_raw(&mut self.choice, key, value, Strings::Replace),
        })
    }

    /// The message with these facts beside it.
    fn beside(self, item: NativeItem) -> Finished {
        let usage: Option<Map> = serde_json::from_str(&self.usage).ok();
        let mut others = Map::new();
        if !self.choice.is_empty() {
            others.insert("choice".to_owned(), self.choice.into());
        }
        let facts = Facts {
            finish: self.finish_reason.as_deref().map(finish),
            native_finish: self.finish_reason.clone(),
            model: self.model,
            usage: usage.as_ref().map(counts),
            native_usage: usage.clone(),
            others,
            ..Facts::default()
        };
        Finished { item: facts.beside(item), usage, finish_reason: self.finish_reason }
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "length" | "model_length" | "max_tokens" => Finish::Length,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "content_filter" | "safety" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => Finish::Stop,
    }
}

fn counts(usage: &Map) -> Usage {
    let count = |fields: &Map, key: &str| fields.get(key).and_then(Value::as_u64);
    let detail = |group: &str, key: &str| count(usage.get(group)?.as_object()?, key);
    let either = |first: &str, second: &str| count(usage, first).or_else(|| count(usage, second));
    Usage {
        input: either("prompt_tokens", "input_tokens").unwrap_or_default(),
        output: either("completion_tokens", "output_tokens").unwrap_or_default(),
        // DeepSeek counts them at the top.
        cache_read: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| count(usage, "prompt_cache_hit_tokens")),
        cache_write: detail("prompt_tokens_details", "cache_write_tokens"),
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
    }
}

/// Reads an answer that was not streamed. The message stays as the server wrote it, byte for byte.
pub fn completion(body: &str) -> Result<Finished> {
    let chunk =
        Chunk::parse(body).map_err(|error| failure::unreadable("an answer", body, &error))?;
    if chunk.is_error() {
        return Err(failure::reported(body));
    }
    let mut told = Told::default();
    told.learn(&chunk);
    let Some(choice) = &chunk.choice else { return Err(failure::no_choice(Some(body))) };
    told.learn_choice(choice)?;
    match choice.message.map(|message| NativeItem::from_text(message.get())) {
        Some(Ok(item)) if item.is_object() => Ok(told.beside(item)),
        Some(Err(error)) => Err(failure::unreadable("a message", body, &error)),
        _ => Err(failure::no_choice(Some(body))),
    }
}

/// What to show of a message that came whole.
pub(super) fn shown(item: &NativeItem) -> Partial {
    let delta = Delta::parse(item.wire()).ok();
    delta.and_then(|mut delta| Assembler::default().push_delta(&mut delta).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Each line is the first choice of one chunk.
    fn check(choices: &str, expected: Expect) {
        let mut assembler = Assembler::default();
        let mut seen = String::new();
        for line in choices.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let data = format!("{{\"choices\":[{line}]}}");
            let partial = assembler.push(&mut Chunk::parse(&data).unwrap()).unwrap();
            if !partial.is_empty() {
                seen.push_str(&format!("{}\n", serde_json::to_string(&partial).unwrap()));
            }
        }
        let finished = assembler.finish().unwrap();
        expected.assert_eq(&format!("{seen}{:?}", finished.item));
    }

    #[test]
    fn text_is_joined() {
        check(
            r#"
            {"index":0,"delta":{"role":"assistant","content":""}}
            {"index":0,"delta":{"content":"a\n"}}
            {"index":0,"delta":{"content":"b"},"finish_reason":null}
            {"index":0,"delta":{},"finish_reason":"stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"a\n"}
                {"role":"assistant","content":"b"}
                {"role":"assistant","content":"a\nb"} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn a_call_without_text_has_null_content() {
        check(
            r#"
            {"delta":{"role":"assistant","content":""}}
            {"delta":{"content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}
            {"delta":{},"finish_reason":"tool_calls"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}
                {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]} + {"finish_reason": String("tool_calls")}"#]],
        );
    }

    #[test]
    fn reasoning_keeps_the_name_the_server_used() {
        check(
            r#"
            {"delta":{"reasoning_content":"hm"}}
            {"delta":{"reasoning_content":"m","content":null}}
            {"delta":{"content":"yes"}}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"hm"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"m"}}
                {"role":"assistant","content":"yes"}
                {"role":"assistant","content":"yes","reasoning_content":"hmm"}"#]],
        );
        check(
            r#"
            {"delta":{"content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","format":"f","index":0}]}}
            {"delta":{"content":"","reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","format":"f","index":0}]}}
            {"delta":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"s","format":"f","index":0}]}}
            {"delta":{"content":"x","reasoning_text":""}}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"a"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"b"}}
                {"role":"assistant","content":"x"}
                {"role":"assistant","content":"x","reasoning":"ab","reasoning_text":"","reasoning_details":[{"type":"reasoning.text","text":"ab","format":"f","index":0,"signature":"s"}]}"#]],
        );
    }

    #[test]
    fn reasoning_under_two_names_shows_once() {
        check(
            r#"{"delta":{"reasoning":"a","reasoning_content":"a"}}"#,
            expect![[r#"
            {"role":"assistant","content":"","metadata":{"reasoning":"a"}}
            {"role":"assistant","content":"","reasoning_content":"a","reasoning":"a"}"#]],
        );
    }

    #[test]
    fn content_may_come_in_parts() {
        check(
            r#"
            {"delta":{"role":"assistant","content":""}}
            {"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}}
            {"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}],"closed":true}]}}
            {"delta":{"content":"a"}}
            {"delta":{"content":[{"type":"text","text":"b"},{"type":"reference","reference_ids":[1]}]}}
            {"delta":{"content":""},"finish_reason":"stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"h"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"m"}}
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"b"}
                {"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true},{"type":"text","text":"ab"},{"type":"reference","reference_ids":[1]}]} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn a_refusal_is_shown() {
        check(
            r#"
            {"delta":{"role":"assistant","content":null,"refusal":"I "}}
            {"delta":{"refusal":"cannot"},"finish_reason":"content_filter"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"I "}
                {"role":"assistant","content":"cannot"}
                {"role":"assistant","content":null,"refusal":"I cannot"} + {"finish_reason": String("content_filter")}"#]],
        );
    }

    #[test]
    fn unknown_fields_go_back_and_chunk_fields_do_not() {
        check(
            r#"
            {"delta":{"index":0,"token_id":5,"channel":"final","content":"a","annotations":[{"url":"u"}],"note":"x"},"logprobs":{"content":[1]},"text":"a"}
            {"delta":{"annotations":[{"url":"v"}],"note":"y","audio":{"id":"i","data":"A"}},"logprobs":{"content":[2]},"native_finish_reason":"STOP"}
            {"delta":{"audio":{"id":"i","data":"B"},"executed_tools":[{"index":0,"arguments":"{}"}]},"logprobs":null}
            {"delta":{"executed_tools":[{"index":0,"arguments":"{}","output":"1"}]}}
            "#,
            expect![[r#"
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"a","annotations":[{"url":"u"},{"url":"v"}],"note":"xy","audio":{"id":"i","data":"AB"},"executed_tools":[{"index":0,"arguments":"{}","output":"1"}]} + {"choice": Object {"logprobs": Object {"content": Array [Number(1), Number(2)]}, "native_finish_reason": String("STOP")}}"#]],
        );
    }

    #[test]
    fn an_old_function_call_is_kept() {
        check(
            r#"
            {"delta":{"content":null,"function_call":{"name":"f","arguments":"{"}}}
            {"delta":{"function_call":{"arguments":"}"}},"finish_reason":"function_call"}
            "#,
            expect![[
                r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("function_call")}"#
            ]],
        );
    }

    #[test]
    fn a_message_instead_of_deltas_is_taken() {
        check(
            r#"{"message":{"role":"assistant","content":"all","x":1},"finish_reason":"stop"}"#,
            expect![[r#"
                {"role":"assistant","content":"all"}
                {"role":"assistant","content":"all","x":1} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn an_empty_answer_is_an_empty_text() {
        check(
            r#"{"delta":{},"finish_reason":"stop"}"#,
            expect![[r#"{"role":"assistant","content":""} + {"finish_reason": String("stop")}"#]],
        );
    }

    fn check_completion(body: &str, expected: Expect) {
        let seen = match completion(body) {
            Ok(finished) => format!("{:?}", finished.item),
            Err(error) => format!(
                "{error:?}\nretryable {} status {:?} body {:?}",
                error.retryable(),
                error.provider_status(),
                error.provider_body()
            ),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn a_whole_message_stays_byte_for_byte() {
        check_completion(
            r#"{"model":"m", "choices": [{"index": 0, "message": {"role":"assistant", "content":"\u00e9", "x": 1.0, "_metadata": {"usage": 1}}, "finish_reason": "stop", "logprobs": null}], "usage": {"total_tokens": 3}}"#,
            expect![[
                r#"{"role":"assistant","content":"\u00e9","x":1.0} + {"finish_reason": String("stop"), "model": String("m"), "usage": Object {"input_tokens": Number(0), "output_tokens": Number(0), "total_tokens": Number(0)}, "native_usage": Object {"total_tokens": Number(3)}}"#
            ]],
        );
    }

    #[test]
    fn an_answer_without_a_message_is_an_error() {
        check_completion(
            r#"{"choices":[]}"#,
            expect![[r#"
            provider: the model server sent an answer without a message; try again
            retryable true status None body Some("{\"choices\":[]}")"#]],
        );
        check_completion(
            r#"{"choices":[{"message":null}]}"#,
            expect![[r#"
            provider: the model server sent an answer without a message; try again
            retryable true status None body Some("{\"choices\":[{\"message\":null}]}")"#]],
        );
        check_completion(
            r#"{"error":{"message":"overloaded","code":503}}"#,
            expect![[r#"
            provider: the model server reported an error: overloaded; try again later
            retryable true status Some(503) body Some("{\"error\":{\"message\":\"overloaded\",\"code\":503}}")"#]],
        );
        check_completion(
            r#"{"object":"error","message":"no such model","code":404}"#,
            expect![[r#"
            provider: the model server reported an error: no such model; change the request accordingly
            retryable false status Some(404) body Some("{\"object\":\"error\",\"message\":\"no such model\",\"code\":404}")"#]],
        );
        check_completion(
            "<html>",
            expect![[r#"
            provider: the model server sent an answer that is no JSON (expected value at line 1 column 1): "<html>"; check that "base_url" leads to a server for this provider
            retryable false status None body Some("<html>")"#]],
        );
        check_completion(
            "[]",
            expect![[r#"
                provider: the model server sent an answer that has an unexpected shape (invalid type: sequence, expected a chunk at line 1 column 0): "[]"; check that "base_url" leads to a server for this provider
                retryable false status None body Some("[]")"#]],
        );
    }
}
