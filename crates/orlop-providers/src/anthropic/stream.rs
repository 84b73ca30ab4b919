//! The events of a streamed message.

use super::assemble::Assembler;
use super::event::{Event, Growth};
use crate::sse::{DONE, SseEvent, SseParser};
use crate::wire::frame::Frame;
use crate::wire::{Events, Meaning, Reader, failure};
use bytes::Bytes;
use futures::Stream;
use orlop_types::{NativeItem, Result};

/// Reads the events of one message.
#[derive(Debug, Default)]
pub struct MessagesReader {
    assembler: Assembler,
    frame: Frame,
    /// What text in the frame is added to.
    framed: (u64, Growth),
}

/// Reads the events of a streamed message from the chunks of its body.
pub fn events<B>(body: B) -> Events<MessagesReader, B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    crate::wire::events(body)
}

/// The data without its end. The server pads events with spaces before the last bracket, so that
/// their lengths tell nothing.
fn unpadded(data: &str) -> &str {
    data.strip_suffix('}').map_or(data, |data| data.trim_end_matches(' '))
}

impl Reader for MessagesReader {
    type Framing = SseParser;

    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning> {
        let data = event.data;
        if let Some(text) = self.frame.text(unpadded(data)) {
            let (index, growth) = self.framed;
            return self.assembler.grow(index, growth, &text).map(Meaning::from);
        }
        // Gateways add the end of another API.
        if data == DONE {
            return Ok(Meaning::Done);
        }
        if data.trim().is_empty() {
            return Ok(Meaning::Nothing);
        }
        if event.event == Some("error") {
            return Err(failure::reported(data));
        }
        let read =
            Event::parse(data).map_err(|error| failure::unreadable("a data line", data, &error))?;
        if read.kind.as_str().is_none_or(|kind| kind == "error") {
            return Err(failure::reported(data));
        }
        if let Some((index, growth, text)) = read.only_text() {
            self.frame.learn(unpadded(data), Some(text));
            self.framed = (index, growth);
        }
        self.assembler.push(read)
    }

    fn is_complete(&self) -> bool {
        self.assembler.stop_reason().is_some()
    }

    fn finish(self) -> Result<Vec<NativeItem>> {
        Ok(vec![self.assembler.finish()?])
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
        testing::check::<MessagesReader>(&body_of(lines), expected);
    }

    #[test]
    fn text_and_thoughts_stream_and_then_the_message_comes() {
        check(
            r#"
            {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":2,"cache_read_input_tokens":null,"output_tokens":1}}}
            {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
            {"type": "ping"}
            {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}
            {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}    }
            {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
            {"type":"content_block_stop","index":0}
            {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"eA=="}}
            {"type":"content_block_stop","index":1}
            {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
            {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"He"}       }
            {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"y"}  }
            {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\n"}}
            {"type":"content_block_stop","index":2    }
            {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"x"},"usage":{"output_tokens":9}}
            {"type":"message_stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"reasoning":"h"}}
                {"role":"assistant","content":"","metadata":{"reasoning":"m"}}
                {"role":"assistant","content":"He"}
                {"role":"assistant","content":"y"}
                {"role":"assistant","content":"\n"}
                final {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"Hey\n"}]} + {"finish_reason": String("stop"), "native_finish_reason": String("stop_sequence"), "model": String("m"), "usage": Object {"input_tokens": Number(5), "output_tokens": Number(9), "total_tokens": Number(14), "cache_write_tokens": Number(2)}, "native_usage": Object {"input_tokens": Number(3), "cache_creation_input_tokens": Number(2), "cache_read_input_tokens": Null, "output_tokens": Number(9)}, "response_id": String("msg_1"), "message": Object {"stop_sequence": String("x")}}"#]],
        );
    }

    #[test]
    fn calls_have_the_input_that_the_server_would_have_sent() {
        check(
            r#"
            {"type":"message_start","message":{}}
            {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\": 1.0"}}
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":", \"x\": \"a b\"}"}}
            {"type":"content_block_stop","index":0}
            {"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"search","input":{}}}
            {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":\"\\u00e9\"}"}}
            {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"g","input":{},"caller":{"type":"direct"}}}
            {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c","name":"h","input":{}}}
            {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}
            {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"d","name":"h","input":{"y":1}}}
            {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{}}
            {"type":"message_stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\": 1.0"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":", \"x\": \"a b\"}"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":2,"id":"c","type":"function","function":{"name":"h","arguments":""}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":2,"function":{"arguments":"{\"x\":"}}]}}
                {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":3,"id":"d","type":"function","function":{"name":"h","arguments":"{\"y\":1}"}}]}}
                final {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1.0,"x":"a b"}},{"type":"server_tool_use","id":"s","name":"search","input":{"q":"\u00e9"}},{"type":"tool_use","id":"b","name":"g","input":{},"caller":{"type":"direct"}},{"type":"tool_use","id":"c","name":"h","input":{"_invalid_json":"{\"x\":"}},{"type":"tool_use","id":"d","name":"h","input":{"y":1}}]} + {"finish_reason": String("length"), "native_finish_reason": String("max_tokens"), "usage": Object {"input_tokens": Number(0), "output_tokens": Number(0), "total_tokens": Number(0)}, "native_usage": Object {}}"#]],
        );
    }

    #[test]
    fn what_the_server_adds_is_kept() {
        check(
            r#"
            {"type":"message_start","message":{"content":[],"container":null,"provider":"x"}}
            {"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"e","n":1.0}]}}
            {"type":"content_block_start","index":1,"content_block":{"citations":[],"type":"text","text":"so: "}}
            {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"url":"u","n":1.0}}}
            {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"yes"}}
            {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"url":"v"}}}
            {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
            {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"url":"w"}}}
            {"type":"content_block_start","index":3,"content_block":{"type":"compaction","content":null}}
            {"type":"content_block_delta","index":3,"delta":{"type":"compaction_delta","content":"short"}}
            {"type":"odd_event","index":7}
            {"type":"message_delta","delta":{"stop_reason":"pause_turn","container":{"id":"c1"},"stop_details":null},"usage":{"output_tokens":1,"output_tokens_details":{"thinking_tokens":1}},"context_management":{"applied_edits":[]}}
            {"type":"message_stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"so: "}
                {"role":"assistant","content":"yes"}
                final {"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"e","n":1.0}]},{"citations":[{"url":"u","n":1.0},{"url":"v"}],"type":"text","text":"so: yes"},{"type":"text","text":"","citations":[{"url":"w"}]},{"type":"compaction","content":"short"}]} + {"finish_reason": String("pause"), "native_finish_reason": String("pause_turn"), "usage": Object {"input_tokens": Number(0), "output_tokens": Number(1), "total_tokens": Number(1), "reasoning_tokens": Number(1)}, "native_usage": Object {"output_tokens": Number(1), "output_tokens_details": Object {"thinking_tokens": Number(1)}}, "message": Object {"provider": String("x"), "container": Object {"id": String("c1")}, "context_management": Object {"applied_edits": Array []}}}"#]],
        );
    }

    #[test]
    fn an_error_ends_the_stream() {
        check(
            r#"
            {"type":"message_start","message":{}}
            {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}
            {"type":"error","error":{"type":"overloaded_error","message":"Overloaded, key"}}
            {"type":"message_stop"}
            "#,
            expect![[r#"
                {"role":"assistant","content":"a"}
                provider: the model server reported an error: Overloaded, ***; try again later (retryable true) body {"type":"error","error":{"type":"overloaded_error","message":"Overloaded, ***"}}"#]],
        );
        check(
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#,
            expect![[
                r#"provider: the model server reported an error: no; change the request accordingly (retryable false) body {"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#
            ]],
        );
        check(
            r#"{"choices":[]}"#,
            expect![[
                r#"provider: the model server reported an error: {"choices":[]}; change the request accordingly (retryable false) body {"choices":[]}"#
            ]],
        );
        check(
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}"#,
            expect![
                "provider: the model server sent a piece of block 1, which never began; try again (retryable true)"
            ],
        );
        check(
            "<html>",
            expect![[
                r#"provider: the model server sent a data line that is no JSON (expected value at line 1 column 1): "<html>"; check that "base_url" leads to a server for this provider (retryable false) body <html>"#
            ]],
        );
    }

    #[test]
    fn a_stream_is_complete_once_the_model_said_why_it_stopped() {
        let begin = r#"{"type":"message_start","message":{}}"#;
        let stop = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
        check(
            &format!("{begin}\n{stop}"),
            expect![[
                r#"final {"role":"assistant","content":[]} + {"finish_reason": String("stop"), "native_finish_reason": String("end_turn")}"#
            ]],
        );
        check(
            begin,
            expect![
                "provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"
            ],
        );
        check(&format!("{begin}\n[DONE]"), expect![[r#"final {"role":"assistant","content":[]}"#]]);
        check(
            r#"{"type":"message_stop"}"#,
            expect![
                "provider: the model server sent an answer without a message; try again (retryable true)"
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
    fn reasons_to_stop_have_one_word_for_every_api() {
        for (reason, word) in [
            ("end_turn", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("tool_use", "tool_calls"),
            ("pause_turn", "pause"),
            ("refusal", "refusal"),
        ] {
            let mut reader = MessagesReader::default();
            let stop =
                format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
            for data in [r#"{"type":"message_start","message":{}}"#, &stop] {
                reader.read(SseEvent { event: None, data }).unwrap();
            }
            let items = reader.finish().unwrap();
            assert_eq!(items[0].metadata()["finish_reason"], word);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Skipping the parser where only the text differs must not show.
        #[test]
        fn events_in_known_frames_say_what_parsing_them_would(
            picks in proptest::collection::vec((0usize..6, "[a-c\"\\\\n{}é ]{0,3}", 0usize..3), 0..40),
        ) {
            let event = |(frame, text, padding): &(usize, String, usize)| {
                let quoted = serde_json::json!(text);
                let delta = match frame {
                    0 | 1 => format!(r#""index":0,"delta":{{"type":"text_delta","text":"{text}"}}"#),
                    2 => format!(r#""index":0,"delta":{{"type":"text_delta","text":{quoted}}}"#),
                    3 => format!(r#""index":1,"delta":{{"type":"thinking_delta","thinking":{quoted}}}"#),
                    4 => format!(r#""index":1,"delta":{{"type":"thinking_delta","thinking":"{text}"}}"#),
                    _ => format!(r#""index":2,"delta":{{"type":"input_json_delta","partial_json":{quoted}}}"#),
                };
                format!(r#"{{"type":"content_block_delta",{delta}{}}}"#, " ".repeat(*padding))
            };
            let mut events: Vec<String> = [
                r#"{"type":"message_start","message":{}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
            ].map(str::to_owned).to_vec();
            events.extend(picks.iter().map(event));
            let (mut plain, mut framed) = (Assembler::default(), MessagesReader::default());
            for data in &events {
                let seen = framed.read(SseEvent { event: None, data });
                match Event::parse(data) {
                    Ok(event) => prop_assert_eq!(seen.unwrap(), plain.push(event).unwrap()),
                    Err(_) => { prop_assert!(seen.is_err()); return Ok(()); }
                }
            }
            prop_assert_eq!(framed.finish().unwrap(), vec![plain.finish().unwrap()]);
        }

        #[test]
        fn damaged_streams_end_in_one_message_or_one_error(damage in testing::damage(), size in 1usize..400) {
            let body = concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\r\n\r\n",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":[1]}\"}}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"é\",\"citations\":[]}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"citations_delta\",\"citation\":{\"a\":1}}}\n\n",
                "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
            );
            testing::ends_once::<MessagesReader>(body, damage, size)?;
        }
    }
}
