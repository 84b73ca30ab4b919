//! Lines in, one message out: the object the server would have sent without streaming.
//!
//! What came from the server goes back to it under the names it used, known here or not. Token
//! counts and the reason to stop are kept beside the message and never sent.

use super::call_ids::{CALL_IDS, given, made};
use super::wire::{Delta, Line};
use crate::wire::json::{Text, Unknown};
use crate::wire::merge::{Strings, add_raw};
use crate::wire::{Facts, Finish, Usage, call_fragment, failure};
use orlop_types::text::append;
use orlop_types::{Map, NativeItem, Partial, Result, Value};
use serde::de::Error as _;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::mem::take;

/// Collects the lines of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    role: String,
    content: String,
    thinking: Option<String>,
    /// Each as the server wrote it.
    calls: Vec<String>,
    /// As many as there are calls.
    call_ids: Vec<String>,
    /// Whether the server named none of its calls, or not all of them.
    nameless: bool,
    unknown: Map,
    told: Told,
    /// Whether any line had a message.
    begun: bool,
}

impl Assembler {
    /// Adds a line and gives what to show of it; the texts are taken out of the line.
    pub fn push(&mut self, line: &mut Line<'_>) -> Result<Partial> {
        self.told.learn(line)?;
        let Some(delta) = &mut line.message else { return Ok(Partial::default()) };
        let time = line.created_at.as_str().unwrap_or_default();
        self.push_delta(delta, time)
    }

    fn push_delta(&mut self, delta: &mut Delta<'_>, time: &str) -> Result<Partial> {
        self.begun = true;
        if let (true, Some(role)) = (self.role.is_empty(), delta.role.filled()) {
            self.role = role.to_owned();
        }
        let content = string("content", take(&mut delta.content))?.unwrap_or_default();
        let mut partial = self.push_text(&content);
        if let Some(thinking) = string("thinking", take(&mut delta.thinking))? {
            partial.reasoning = self.push_thinking(&thinking).reasoning;
        }
        if let Some(calls) = delta.tool_calls {
            partial.tool_calls = self.push_calls(calls, time)?;
        }
        add_unknown(&mut self.unknown, &delta.unknown)?;
        Ok(partial)
    }

    /// Adds text of the message; a line before it told everything else.
    pub(super) fn push_text(&mut self, text: &str) -> Partial {
        append(&mut self.content, text);
        Partial::text(text)
    }

    /// The same for reasoning.
    pub(super) fn push_thinking(&mut self, text: &str) -> Partial {
        append(self.thinking.get_or_insert_default(), text);
        Partial::reasoning(text)
    }

    /// Calls come whole.
    fn push_calls(&mut self, calls: &RawValue, time: &str) -> Result<Vec<Value>> {
        let unreadable = |error| failure::unreadable("a list of tool calls", calls.get(), &error);
        let calls: Vec<&RawValue> = serde_json::from_str(calls.get()).map_err(unreadable)?;
        calls.into_iter().map(|call| self.push_call(call.get(), time)).collect()
    }

    fn push_call(&mut self, text: &str, time: &str) -> Result<Value> {
        let unreadable = |error| failure::unreadable("a tool call", text, &error);
        let call: Value = serde_json::from_str(text).map_err(unreadable)?;
        let index = self.calls.len();
        let id = given(&call).map(str::to_owned);
        self.nameless |= id.is_none();
        let id = id.unwrap_or_else(|| made(time, index, text));
        let function = call.get("function");
        let name = function.and_then(|function| function.get("name")?.as_str());
        let arguments = function.and_then(|function| function.get("arguments"));
        let arguments = arguments.map(Value::to_string).unwrap_or_default();
        let fragment = call_fragment(index, Some(&id), name, &arguments);
        self.calls.push(text.to_owned());
        self.call_ids.push(id);
        Ok(fragment)
    }

    /// Whether the model said that it is done.
    pub fn is_done(&self) -> bool {
        self.told.done
    }

    /// The message. An answer without any is an error.
    pub fn finish(self) -> Result<NativeItem> {
        if !self.begun {
            return Err(failure::no_choice(None));
        }
        let role = if self.role.is_empty() { "assistant" } else { &self.role };
        let mut text = format!(
            "{{\"role\":{},\"content\":{}",
            Value::from(role),
            Value::from(self.content.as_str())
        );
        if let Some(thinking) = &self.thinking {
            text.push_str(&format!(",\"thinking\":{}", Value::from(thinking.as_str())));
        }
        if !self.calls.is_empty() {
            text.push_str(&format!(",\"tool_calls\":[{}]", self.calls.join(",")));
        }
        for (key, value) in &self.unknown {
            text.push_str(&format!(",{}:{value}", Value::from(key.as_str())));
        }
        text.push('}');
        let item = NativeItem::from_text(&text)
            .map_err(|error| failure::unreadable("a message", &text, &error))?;
        let ids = self.nameless.then_some(self.call_ids);
        Ok(self.told.beside(item, !self.calls.is_empty(), ids))
    }
}

/// A field that has to be text.
fn string<'a>(name: &str, piece: Text<'a>) -> Result<Option<Cow<'a, str>>> {
    match piece {
        Text::Absent => Ok(None),
        Text::Str(text) => Ok(Some(text)),
        Text::Json(value) => {
            let error = serde_json::Error::custom(format!("{name:?} must be a string"));
            Err(failure::unreadable("a message", &value.to_string(), &error))
        }
    }
}

fn add_unknown(fields: &mut Map, unknown: &Unknown<'_>) -> Result<()> {
    unknown.iter().try_for_each(|(key, piece)| add_raw(fields, key, piece, Strings::Append))
}

/// What the lines say beside the message.
#[derive(Debug, Default)]
struct Told {
    done: bool,
    reason: Option<String>,
    model: Option<String>,
    /// Counts and durations.
    usage: Map,
    /// Further fields of the lines, for instance `logprobs`.
    others: Map,
}

/// Where an answer says what it cost.
const COSTS: [&str; 6] = [
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
];

impl Told {
    fn learn(&mut self, line: &Line<'_>) -> Result<()> {
        if let (None, Some(model)) = (&self.model, line.model.filled()) {
            self.model = Some(model.to_owned());
        }
        if let Some(reason) = line.done_reason.filled() {
            self.reason = Some(reason.to_owned());
        }
        self.done |= line.done == Some(true);
        line.unknown.iter().try_for_each(|(key, value)| {
            let is_cost = COSTS.contains(&&**key);
            let fields = if is_cost { &mut self.usage } else { &mut self.others };
            add_raw(fields, key, value, Strings::Replace)
        })
    }

    /// The message with these facts beside it.
    fn beside(self, item: NativeItem, calls: bool, call_ids: Option<Vec<String>>) -> NativeItem {
        let count = |key: &str| self.usage.get(key).and_then(Value::as_u64);
        let (read, written) = (count("prompt_eval_count"), count("eval_count"));
        let usage = (read.is_some() || written.is_some()).then(|| Usage {
            input: read.unwrap_or_default(),
            output: written.unwrap_or_default(),
            ..Usage::default()
        });
        let mut others = Map::new();
        if let Some(ids) = call_ids {
            others.insert(CALL_IDS.to_owned(), ids.into());
        }
        if !self.others.is_empty() {
            others.insert("answer".to_owned(), self.others.into());
        }
        Facts {
            finish: self.done.then(|| finish(self.reason.as_deref(), calls)),
            native_finish: self.reason,
            model: self.model,
            usage,
            native_usage: (!self.usage.is_empty()).then_some(self.usage),
            others,
            ..Facts::default()
        }
        .beside(item)
    }
}

/// The server says `stop` also when it waits for tools.
fn finish(reason: Option<&str>, calls: bool) -> Finish {
    match reason {
        Some("length") => Finish::Length,
        _ if calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}

/// Reads an answer that was not streamed, and says what to show of it. The message stays as the
/// server wrote it, byte for byte.
pub fn answer(body: &str) -> Result<(Partial, NativeItem)> {
    #[derive(serde::Deserialize)]
    struct Raw<'a> {
        #[serde(borrow)]
        message: Option<&'a RawValue>,
    }
    let unreadable = |error| failure::unreadable("an answer", body, &error);
    let mut line = Line::parse(body).map_err(unreadable)?;
    if line.error.is_some() {
        return Err(failure::reported(body));
    }
    let raw: Raw<'_> = serde_json::from_str(body).map_err(unreadable)?;
    let Some(raw) = raw.message else { return Err(failure::no_choice(Some(body))) };
    // The answer is here: whatever it says of it, it is done.
    line.done = Some(true);
    let mut assembler = Assembler::default();
    let shown = assembler.push(&mut line)?;
    let item = NativeItem::from_text(raw.get()).map_err(unreadable)?;
    let ids = assembler.nameless.then_some(assembler.call_ids);
    Ok((shown, assembler.told.beside(item, !assembler.calls.is_empty(), ids)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn render(partial: &Partial) -> String {
        serde_json::to_string(partial).unwrap()
    }

    fn check(lines: &str, expected: Expect) {
        let mut assembler = Assembler::default();
        let mut seen = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let partial = assembler.push(&mut Line::parse(line).unwrap()).unwrap();
            if !partial.is_empty() {
                seen.push_str(&format!("{}\n", render(&partial)));
            }
        }
        expected.assert_eq(&format!("{seen}{:?}", assembler.finish().unwrap()));
    }

    fn check_whole(body: &str, expected: Expect) {
        let seen = match answer(body) {
            Ok((shown, item)) => format!("{}\n{item:?}", render(&shown)),
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn text_is_joined_and_costs_are_kept_beside_it() {
        check(
            r#"
            {"model":"m","created_at":"1","message":{"role":"assistant","content":"a\n"},"done":false}
            {"model":"m","created_at":"2","message":{"role":"assistant","content":"b"},"done":false}
            {"model":"m","created_at":"3","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":4,"eval_count":2}
            "#,
            expect![[r#"
                {"role":"assistant","content":"a\n"}
                {"role":"assistant","content":"b"}
                {"role":"assistant","content":"a\nb"} + {"finish_reason": String("stop"), "model": String("m"), "usage": Object {"input_tokens": Number(4), "output_tokens": Number(2), "total_tokens": Number(6)}, "native_usage": Object {"total_duration": Number(9), "prompt_eval_count": Number(4), "eval_count": Number(2)}}"#]],
        );
    }

    #[test]
    fn reasoning_stands_beside_the_text() {
        check(
            r#"
            {"message":{"role":"assistant","content":"","thinking":"h"}}
            {"message":{"role":"assistant","content":"","thinking":"m"}}
            {"message":{"role":"assistant","content":"yes"}}
            {"message":{"role":"assistant","content":""},"done":true,"done_reason":"length"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"h"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"m"}}
                {"role":"assistant","content":"yes"}
                {"role":"assistant","content":"yes","thinking":"hm"} + {"finish_reason": String("length")}"#]],
        );
    }

    #[test]
    fn calls_stay_as_they_came_and_end_the_answer() {
        check(
            r#"
            {"created_at":"1","message":{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"x":1.50,"y":"\u00e9"}}}]}}
            {"created_at":"2","message":{"role":"assistant","content":"","tool_calls":[{"id":"b","function":{"index":1,"name":"g","arguments":{}}}]}}
            {"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1.5,\"y\":\"é\"}"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}}
                {"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"x":1.50,"y":"\u00e9"}}},{"id":"b","function":{"index":1,"name":"g","arguments":{}}}]} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn calls_without_ids_get_some_beside_the_message() {
        check(
            r#"
            {"created_at":"1","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"f","arguments":{}}}]}}
            {"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"call_45cf8c5df95b7685_0","type":"function","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"call_45cf8c5df95b7685_1","type":"function","function":{"name":"f","arguments":"{}"}}]}}
                {"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"f","arguments":{}}}]} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("stop"), "call_ids": Array [String("call_45cf8c5df95b7685_0"), String("call_45cf8c5df95b7685_1")]}"#]],
        );
    }

    #[test]
    fn what_the_server_adds_is_kept() {
        check(
            r#"
            {"message":{"content":"a","mood":"so","n":{"x":1}},"logprobs":[{"token":"a"}],"remote_model":"r"}
            {"message":{"content":"b","mood":"-so","n":{"y":2}},"logprobs":[{"token":"b"}],"remote_model":"r","done":true}
            "#,
            expect![[r#"
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"b"}
                {"role":"assistant","content":"ab","mood":"so-so","n":{"x":1,"y":2}} + {"finish_reason": String("stop"), "answer": Object {"logprobs": Array [Object {"token": String("a")}, Object {"token": String("b")}], "remote_model": String("r")}}"#]],
        );
    }

    #[test]
    fn a_whole_answer_keeps_its_bytes() {
        check_whole(
            r#"{"model":"m","created_at":"t","message":{"thinking":"h\u006d", "role":"assistant","content":"\u003cb\u003e","x":1.0},"done":true,"done_reason":"stop","eval_count":3,"prompt_eval_count":5}"#,
            expect![[r#"
                {"role":"assistant","content":"<b>","metadata":{"reasoning":"hm"}}
                {"thinking":"h\u006d","role":"assistant","content":"\u003cb\u003e","x":1.0} + {"finish_reason": String("stop"), "model": String("m"), "usage": Object {"input_tokens": Number(5), "output_tokens": Number(3), "total_tokens": Number(8)}, "native_usage": Object {"eval_count": Number(3), "prompt_eval_count": Number(5)}}"#]],
        );
        check_whole(
            r#"{"created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]},"done":true}"#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"call_2920bf6fa8aafefc_0","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":2}"}}]}}
                {"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]} + {"finish_reason": String("tool_calls"), "call_ids": Array [String("call_2920bf6fa8aafefc_0")]}"#]],
        );
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        check_whole(
            r#"{"error":"no"}"#,
            expect![
                "provider: the model server reported an error: no; change the request accordingly"
            ],
        );
        check_whole(
            r#"{"model":"m","done":true}"#,
            expect!["provider: the model server sent an answer without a message; try again"],
        );
        check_whole(
            "<html>",
            expect![[
                r#"provider: the model server sent an answer that is no JSON (expected value at line 1 column 1): "<html>"; check that "base_url" leads to a server for this provider"#
            ]],
        );
        check_whole(
            r#"{"message":{"content":["a"]}}"#,
            expect![[
                r#"provider: the model server sent a message that has an unexpected shape ("content" must be a string): "[\"a\"]"; check that "base_url" leads to a server for this provider"#
            ]],
        );
        check_whole(
            r#"{"message":{"content":"a","tool_calls":{}}}"#,
            expect![[
                r#"provider: the model server sent a list of tool calls that has an unexpected shape (invalid type: map, expected a sequence at line 1 column 0): "{}"; check that "base_url" leads to a server for this provider"#
            ]],
        );
    }
}
