//! The events of a streamed chat completion.

use super::assemble::Assembler;
use super::wire::Chunk;
use crate::sse::{DONE, SseEvent, SseParser};
use crate::wire::frame::Frame;
use crate::wire::{Events, Meaning, Reader, failure};
use bytes::Bytes;
use futures::Stream;
use orlop_types::{NativeItem, Result};

/// Reads the events of one chat completion.
#[derive(Debug, Default)]
pub struct ChatReader {
    assembler: Assembler,
    frame: Frame,
}

/// Reads the events of a streamed chat completion from the chunks of its body.
pub fn events<B>(body: B) -> Events<ChatReader, B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    crate::wire::events(body)
}

impl Reader for ChatReader {
    type Framing = SseParser;

    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning> {
        let data = event.data;
        if let (None, Some(text)) = (event.event, self.frame.text(data)) {
            return Ok(self.assembler.push_text(&text).into());
        }
        if data == DONE {
            return Ok(Meaning::Done);
        }
        if data.trim().is_empty() {
            return Ok(Meaning::Nothing);
        }
        if event.event == Some("error") {
            return Err(failure::reported(data));
        }
        let mut chunk =
            Chunk::parse(data).map_err(|error| failure::unreadable("a data line", data, &error))?;
        if chunk.is_error() {
            return Err(failure::reported(data));
        }
        self.frame.learn(data, chunk.only_text());
        self.assembler.push(&mut chunk).map(Meaning::from)
    }

    fn is_complete(&self) -> bool {
        self.assembler.finish_reason().is_some()
    }

    fn finish(self) -> Result<Vec<NativeItem>> {
        Ok(vec![self.assembler.finish()?.item])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(body: &str, expected: Expect) {
        testing::check::<ChatReader>(body, expected);
    }

    #[test]
    fn text_streams_and_then_the_message_comes() {
        check(
            r#": ping

data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"index":0,"delta":{"content":"He"}},{"index":1,"delta":{"content":"no"}}]}

data: {"choices":[{"index":1,"delta":{"content":"no"}}]}

data: {"choices":[{"index":0,"delta":{"content":"y"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"total_tokens":7}}

data: [DONE]

"#,
            expect![[r#"
                {"role":"assistant","content":"He"}
                {"role":"assistant","content":"y"}
                final {"role":"assistant","content":"Hey"} + {"finish_reason": String("stop"), "model": String("m"), "usage": Object {"input_tokens": Number(0), "output_tokens": Number(0), "total_tokens": Number(0)}, "native_usage": Object {"total_tokens": Number(7)}}"#]],
        );
    }

    #[test]
    fn a_stream_needs_no_done_after_a_finish_reason() {
        check(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}",
            expect![[r#"
                {"role":"assistant","content":"a"}
                final {"role":"assistant","content":"a"} + {"finish_reason": String("length")}"#]],
        );
    }

    #[test]
    fn done_is_enough_without_a_finish_reason() {
        check(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]",
            expect![[r#"
                {"role":"assistant","content":"a"}
                final {"role":"assistant","content":"a"}"#]],
        );
    }

    #[test]
    fn an_end_before_either_is_an_error() {
        check(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choi",
            expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"#]],
        );
        check(
            "",
            expect![
                "provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"
            ],
        );
    }

    #[test]
    fn a_stream_without_a_message_is_an_error() {
        check(
            "data: [DONE]\n\n",
            expect![
                "provider: the model server sent an answer without a message; try again (retryable true)"
            ],
        );
    }

    #[test]
    fn a_line_that_is_no_json_is_shown() {
        check(
            "data: {\"choices\":[}\n\n",
            expect![[
                r#"provider: the model server sent a data line that is no JSON (expected value at line 1 column 13): "{\"choices\":[}"; check that "base_url" leads to a server for this provider (retryable false) body {"choices":[}"#
            ]],
        );
        check(
            "data: <html>key</html>\n\n",
            expect![[
                r#"provider: the model server sent a data line that is no JSON (expected value at line 1 column 1): "<html>***</html>"; check that "base_url" leads to a server for this provider (retryable false) body <html>***</html>"#
            ]],
        );
        check(
            "data: {\"choices\":7}\n\n",
            expect![[
                r#"provider: the model server sent a data line that has an unexpected shape (invalid type: integer `7`, expected a list of choices at line 1 column 12): "{\"choices\":7}"; check that "base_url" leads to a server for this provider (retryable false) body {"choices":7}"#
            ]],
        );
    }

    #[test]
    fn an_error_in_a_data_line_ends_the_stream() {
        check(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\n\
             data: {\"error\":{\"message\":\"overloaded, key\",\"code\":529}}\n\ndata: [DONE]\n\n",
            expect![[r#"
                {"role":"assistant","content":"a"}
                provider: the model server reported an error: overloaded, ***; try again later (retryable true) body {"error":{"message":"overloaded, ***","code":529}}"#]],
        );
        check(
            "event: error\ndata: {\"message\":\"no\"}\n\n",
            expect![[
                r#"provider: the model server reported an error: no; change the request accordingly (retryable false) body {"message":"no"}"#
            ]],
        );
        check(
            "data: {\"object\":\"error\",\"message\":\"no\",\"code\":400}\n\n",
            expect![[
                r#"provider: the model server reported an error: no; change the request accordingly (retryable false) body {"object":"error","message":"no","code":400}"#
            ]],
        );
    }

    #[test]
    fn a_break_matters_only_before_the_finish_reason() {
        testing::check_break::<ChatReader>(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            expect![[r#"
                {"role":"assistant","content":"a"}
                provider: the answer ended early (retryable false)"#]],
            expect![[r#"
                {"role":"assistant","content":"a"}
                final {"role":"assistant","content":"a"} + {"finish_reason": String("stop")}"#]],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Skipping the parser where only the text differs must not show: chunks drawn from a few
        /// frames give what parsing every one of them gives.
        #[test]
        fn chunks_in_known_frames_say_what_parsing_them_would(
            picks in proptest::collection::vec((0usize..6, "[a-c\"\\\\n{}é]{0,3}"), 0..40),
        ) {
            let chunk = |(frame, text): &(usize, String)| match frame {
                0 | 1 => format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#),
                2 => format!(r#"{{"choices":[{{"delta":{{"content":{}}}}}]}}"#, serde_json::json!(text)),
                3 => format!(r#"{{"model":"m","choices":[{{"index":0,"delta":{{"role":"assistant","content":"{text}"}}}}]}}"#),
                4 => format!(r#"{{"choices":[{{"delta":{{"reasoning":"{text}"}}}}]}}"#),
                _ => format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}],"usage":{{"n":1}}}}"#),
            };
            let chunks: Vec<String> = picks.iter().map(chunk).collect();
            let mut assembler = Assembler::default();
            let mut expected = String::new();
            let mut broken = false;
            for chunk in &chunks {
                let Ok(mut chunk) = Chunk::parse(chunk) else { broken = true; break };
                let partial = assembler.push(&mut chunk).unwrap();
                if !partial.is_empty() {
                    expected.push_str(&format!("{partial:?}\n"));
                }
            }
            let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            let (seen, end) = testing::shown::<ChatReader>(body + "data: [DONE]\n\n");
            match end {
                Ok(items) => prop_assert_eq!(&items[0], &assembler.finish().unwrap().item),
                Err(_) => prop_assert!(broken || chunks.is_empty()),
            }
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn damaged_streams_end_in_one_message_or_one_error(damage in testing::damage(), size in 1usize..400) {
            let body = concat!(
                "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"é\"}],",
                "\"x\":{\"y\":[1]}}}]}\r\n\r\n: ping\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\",",
                "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},",
                "\"finish_reason\":\"stop\"}],\"usage\":{}}\n\ndata: [DONE]\n\n",
            );
            testing::ends_once::<ChatReader>(body, damage, size)?;
        }
    }
}
