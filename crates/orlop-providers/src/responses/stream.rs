//! The events of a streamed response.

use super::answer::check;
use super::assemble::{Assembler, str_of};
use super::wire::{Event, Response, TEXT_DELTA};
use crate::sse::{DONE, SseEvent, SseParser};
use crate::wire::frame::Frame;
use crate::wire::{Events, Meaning, Reader, failure};
use bytes::Bytes;
use futures::Stream;
use orlop_types::{NativeItem, Result};

/// Reads the events of one response.
#[derive(Debug, Default)]
pub struct ResponsesReader {
    assembler: Assembler,
    frame: Frame,
    /// The item that text in the known frame belongs to.
    framed: usize,
}

/// Reads the events of a streamed response from the chunks of its body.
pub fn events<B>(body: B) -> Events<ResponsesReader, B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    crate::wire::events(body)
}

impl Reader for ResponsesReader {
    type Framing = SseParser;

    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning> {
        let data = event.data;
        if self.assembler.is_over() {
            return Ok(Meaning::Done);
        }
        if let Some(text) = self.frame.text(data) {
            return Ok(self.assembler.more_text(self.framed, &text).into());
        }
        if data == DONE {
            // Everything came but the sum of it.
            let whole = self.assembler.has_whole_items();
            return if whole { Ok(Meaning::Done) } else { Err(failure::ended_early()) };
        }
        if data.trim().is_empty() {
            return Ok(Meaning::Nothing);
        }
        let read =
            Event::parse(data).map_err(|error| failure::unreadable("an event", data, &error))?;
        if event.event == Some("error") || read.error.is_some() {
            return Err(failure::reported(data));
        }
        self.understand(&read, data)
    }

    fn is_complete(&self) -> bool {
        self.assembler.is_over()
    }

    fn finish(self) -> Result<Vec<NativeItem>> {
        Ok(self.assembler.finish())
    }
}

impl ResponsesReader {
    fn understand(&mut self, event: &Event<'_>, data: &str) -> Result<Meaning> {
        let (delta, items) = (str_of(&event.delta), self.assembler.len());
        let partial = match str_of(&event.kind) {
            TEXT_DELTA => {
                let partial = self.assembler.text(event, delta);
                let text = event.only_text();
                self.frame.learn(data, text);
                if text.is_some() {
                    self.framed = self.assembler.current();
                }
                partial
            }
            "response.refusal.delta" => self.assembler.text(event, delta),
            "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.reasoning.delta" => self.assembler.reasoning(event, delta),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.assembler.arguments(event, delta)
            }
            "response.output_item.added" => self.assembler.begin(event)?,
            "response.output_item.done" => self.assembler.end(event)?,
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => return self.end(event, data),
            "error" => return Err(failure::reported(data)),
            // There are dozens of others; what they tell is in the finished items.
            _ => return Ok(Meaning::Nothing),
        };
        if self.assembler.len() != items {
            // Where events do not name their item, the same frame now means another one.
            self.frame = Frame::default();
        }
        Ok(partial.into())
    }

    fn end(&mut self, event: &Event<'_>, data: &str) -> Result<Meaning> {
        let body = event.response.map_or("{}", |response| response.get());
        let response = Response::parse(body)
            .map_err(|error| failure::unreadable("a response", data, &error))?;
        if str_of(&event.kind) == "response.failed" {
            return Err(failure::reported(body));
        }
        check(&response, body)?;
        let partial = self.assembler.finish_with(&response, body)?;
        Ok(if partial.is_empty() { Meaning::Done } else { Meaning::Show(partial) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{self, body_of};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each line is the data of one event.
    fn check(lines: &str, expected: Expect) {
        testing::check::<ResponsesReader>(&body_of(lines), expected);
    }

    #[test]
    fn text_streams_and_then_the_items_come_as_they_were_sent() {
        check(
            r#"
            {"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}
            {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}
            {"type":"response.content_part.added","output_index":0,"part":{"type":"output_text","text":""}}
            {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"He"}
            {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"y"}
            {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"\n"}
            {"type":"response.output_text.done","output_index":0,"text":"Hey\n"}
            {"type":"response.odd","delta":{"x":1}}
            {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","n":1.0,"content":[{"type":"output_text","text":"Hey\n"}]}}
            {"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","output":[{"type":"message"}],"usage":{"input_tokens":1,"output_tokens":2}}}
            {"type":"ping"}
            [DONE]"#,
            expect![[r#"
                {"role":"assistant","content":"He"}
                {"role":"assistant","content":"y"}
                {"role":"assistant","content":"\n"}
                final {"type":"message","id":"msg_1","role":"assistant","n":1.0,"content":[{"type":"output_text","text":"Hey\n"}]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed"), "model": String("m"), "usage": Object {"input_tokens": Number(1), "output_tokens": Number(2), "total_tokens": Number(3)}, "native_usage": Object {"input_tokens": Number(1), "output_tokens": Number(2)}, "response_id": String("resp_1")}"#]],
        );
    }

    #[test]
    fn reasoning_and_calls_are_shown_in_fragments() {
        check(
            r#"
            {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}
            {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}
            {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"b"}
            {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"c"}
            {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[{"type":"summary_text","text":"ab"},{"type":"summary_text","text":"c"}]}}
            {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":""}}
            {"type":"response.output_item.added","output_index":2,"item":{"type":"custom_tool_call","id":"ct_1","call_id":"c2","name":"g","input":""}}
            {"type":"response.function_call_arguments.delta","output_index":1,"item_id":"other","delta":"{\"x\":"}
            {"type":"response.custom_tool_call_input.delta","output_index":2,"delta":"text"}
            {"type":"response.function_call_arguments.delta","output_index":1,"item_id":"another","delta":"1}"}
            {"type":"response.output_item.done","output_index":2,"item":{"type":"custom_tool_call","id":"ct_1","call_id":"c2","name":"g","input":"text"}}
            {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"x\":1}"}}
            {"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"a"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"b"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"\n\nc"}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"g","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"function":{"arguments":"text"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}
                final {"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[{"type":"summary_text","text":"ab"},{"type":"summary_text","text":"c"}]}
                      {"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"x\":1}"}
                      {"type":"custom_tool_call","id":"ct_1","call_id":"c2","name":"g","input":"text"} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("completed")}"#]],
        );
    }

    #[test]
    fn several_messages_of_one_answer_are_paragraphs() {
        check(
            r#"
            {"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}
            {"type":"response.output_text.delta","output_index":0,"delta":"I look."}
            {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}
            {"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"ws_1"}}
            {"type":"response.output_item.added","output_index":2,"item":{"type":"message","role":"assistant","content":[]}}
            {"type":"response.refusal.delta","output_index":2,"delta":"No"}
            {"type":"response.refusal.delta","output_index":2,"delta":"!"}
            {"type":"response.output_item.done","output_index":2,"item":{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No!"}]}}
            {"type":"response.completed","response":{"status":"completed"}}"#,
            expect![[r#"
                {"role":"assistant","content":"I look."}
                {"role":"assistant","content":"\n\nNo"}
                {"role":"assistant","content":"!"}
                final {"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}
                      {"type":"web_search_call","id":"ws_1"}
                      {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No!"}]} + {"finish_reason": String("refusal"), "native_finish_reason": String("completed")}"#]],
        );
    }

    #[test]
    fn what_came_without_fragments_is_shown_when_it_is_complete() {
        check(
            r#"
            {"type":"response.output_item.done","item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}]}}
            {"type":"response.output_item.done","item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}
            {"type":"response.output_item.added","item":{"type":"function_call","id":"f","call_id":"c1","name":"f","arguments":""}}
            {"type":"response.output_item.done","item":{"type":"function_call","id":"f","call_id":"c1","name":"f","arguments":"{}"}}
            {"type":"response.output_item.done","item":{"type":"function_call","id":"g","call_id":"c2","name":"g","arguments":"[]"}}
            {"type":"response.completed","response":{"status":"completed"}}"#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"hm"}}
                {"role":"assistant","content":"hi"}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"g","arguments":"[]"}}]}}
                final {"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}]}
                      {"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"hi"}]}
                      {"type":"function_call","id":"f","call_id":"c1","name":"f","arguments":"{}"}
                      {"type":"function_call","id":"g","call_id":"c2","name":"g","arguments":"[]"} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("completed")}"#]],
        );
        check(
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"all at once"}]}]}}"#,
            expect![[r#"
                {"role":"assistant","content":"all at once"}
                final {"type":"message","role":"assistant","content":[{"type":"output_text","text":"all at once"}]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed")}"#]],
        );
    }

    #[test]
    fn servers_that_leave_out_indices_and_ends_are_understood() {
        check(
            r#"
            {"type":"response.output_text.delta","delta":"a"}
            {"type":"response.output_text.delta","delta":"b"}
            {"type":"response.completed","response":{"status":"completed"}}"#,
            expect![[r#"
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"b"}
                final {"type":"message","role":"assistant","content":[{"type":"output_text","text":"ab","annotations":[]}]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed")}"#]],
        );
        check(
            r#"
            {"type":"response.output_item.added","item":{"type":"reasoning","id":"rs","summary":[]}}
            {"type":"response.reasoning_text.delta","item_id":"rs","delta":"hm"}
            {"type":"response.output_item.added","item":{"type":"message","id":"ms","role":"assistant","content":[]}}
            {"type":"response.output_text.delta","item_id":"ms","delta":"a"}
            {"type":"response.output_item.added","item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}}
            {"type":"response.function_call_arguments.delta","item_id":"fc","delta":"{}"}
            {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}"#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"hm"}}
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}
                final {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}]}
                      {"type":"message","id":"ms","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}
                      {"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"} + {"finish_reason": String("length"), "native_finish_reason": String("max_output_tokens")}"#]],
        );
    }

    #[test]
    fn an_end_without_a_sum_is_one_if_everything_is_complete() {
        check(
            r#"
            {"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}
            [DONE]"#,
            expect![[r#"
                {"role":"assistant","content":"hi"}
                final {"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]} + {"finish_reason": String("stop")}"#]],
        );
        check(
            r#"
            {"type":"response.output_text.delta","delta":"a"}
            [DONE]"#,
            expect![[r#"
                {"role":"assistant","content":"a"}
                provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"#]],
        );
        check(
            r#"{"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[]}}"#,
            expect![
                "provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"
            ],
        );
        check(
            "",
            expect![
                "provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"
            ],
        );
    }

    #[test]
    fn a_model_may_say_nothing() {
        check(
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            expect![[
                r#"final {"type":"message","role":"assistant","content":[]} + {"finish_reason": String("stop"), "native_finish_reason": String("completed")}"#
            ]],
        );
    }

    #[test]
    fn failures_are_errors() {
        check(
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down, key"}}}"#,
            expect![[
                r#"provider: the model server reported an error: slow down, ***; try again later (retryable true) body {"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down, ***"}}"#
            ]],
        );
        check(
            r#"{"type":"error","code":"server_error","message":"it broke","param":null,"sequence_number":3}"#,
            expect![[
                r#"provider: the model server reported an error: it broke; try again later (retryable true) body {"type":"error","code":"server_error","message":"it broke","param":null,"sequence_number":3}"#
            ]],
        );
        check(
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}"#,
            expect![[
                r#"provider: the model server reported an error: too long; compact or shorten the conversation, or use a model with a larger context window (retryable false) body {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}"#
            ]],
        );
        check(
            r#"{"error":{"message":"no","code":400}}"#,
            expect![[
                r#"provider: the model server reported an error: no; change the request accordingly (retryable false) body {"error":{"message":"no","code":400}}"#
            ]],
        );
        check(
            "<html>key</html>",
            expect![[
                r#"provider: the model server sent an event that is no JSON (expected value at line 1 column 1): "<html>***</html>"; check that "base_url" leads to a server for this provider (retryable false) body <html>***</html>"#
            ]],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Skipping the parser where only the text differs must not show.
        #[test]
        fn events_in_known_frames_say_what_parsing_them_would(
            picks in proptest::collection::vec((0usize..5, "[a-c\"\\\\n{}é]{0,3}"), 0..30),
        ) {
            let event = |(frame, text): &(usize, String)| {
                let text = serde_json::json!(text);
                match frame {
                    0 | 1 => format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":{text}}}"#),
                    2 => format!(r#"{{"type":"response.output_text.delta","output_index":1,"delta":{text}}}"#),
                    3 => format!(r#"{{"type":"response.output_text.delta","delta":{text}}}"#),
                    _ => format!(r#"{{"type":"response.reasoning_text.delta","output_index":2,"delta":{text}}}"#),
                }
            };
            let lines: Vec<String> = picks.iter().map(event).collect();
            let mut assembler = Assembler::default();
            let mut expected = String::new();
            for line in &lines {
                let event = Event::parse(line).unwrap();
                let text = str_of(&event.delta);
                let partial = match str_of(&event.kind) {
                    TEXT_DELTA => assembler.text(&event, text),
                    _ => assembler.reasoning(&event, text),
                };
                if !partial.is_empty() {
                    expected.push_str(&format!("{partial:?}\n"));
                }
            }
            let end = r#"{"type":"response.completed","response":{}}"#;
            assembler.finish_with(&Response::default(), "").unwrap();
            let body = body_of(&format!("{}\n{end}", lines.join("\n")));
            let (seen, end) = testing::shown::<ResponsesReader>(body);
            prop_assert_eq!(end.unwrap(), assembler.finish());
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn damaged_streams_end_in_items_or_one_error(damage in testing::damage(), size in 1usize..400) {
            let body = body_of(r#"
                {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}
                {"type":"response.output_text.delta","output_index":0,"delta":"é"}
                {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}
                {"type":"response.function_call_arguments.delta","output_index":1,"delta":"{}"}
                {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"é"}]}}
                {"type":"response.completed","response":{"status":"completed","usage":{}}}"#);
            testing::ends_once::<ResponsesReader>(&body, damage, size)?;
        }
    }
}
