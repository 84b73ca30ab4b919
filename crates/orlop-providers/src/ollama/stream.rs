//! The lines of a streamed answer.

use super::assemble::Assembler;
use super::frame::StampedFrame;
use super::wire::{Line, Only};
use crate::lines::LineParser;
use crate::sse::SseEvent;
use crate::wire::{Events, Meaning, Reader, failure};
use bytes::Bytes;
use futures::Stream;
use orlop_types::{NativeItem, Result};

/// Reads the lines of one answer.
#[derive(Debug, Default)]
pub struct ChatReader {
    assembler: Assembler,
    frame: StampedFrame,
}

/// Reads the lines of a streamed answer from the chunks of its body.
pub fn events<B>(body: B) -> Events<ChatReader, B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    crate::wire::events(body)
}

impl Reader for ChatReader {
    type Framing = LineParser;

    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning> {
        let data = event.data;
        if self.assembler.is_done() {
            return Ok(Meaning::Done);
        }
        match self.frame.text(data) {
            Some(Only::Content(text)) => return Ok(self.assembler.push_text(&text).into()),
            Some(Only::Thinking(text)) => return Ok(self.assembler.push_thinking(&text).into()),
            None => {}
        }
        let mut line =
            Line::parse(data).map_err(|error| failure::unreadable("a line", data, &error))?;
        if line.error.is_some() {
            return Err(failure::reported(data));
        }
        self.frame.learn(data, &line);
        let meaning = self.assembler.push(&mut line)?.into();
        Ok(match meaning {
            Meaning::Nothing if self.assembler.is_done() => Meaning::Done,
            meaning => meaning,
        })
    }

    fn is_complete(&self) -> bool {
        self.assembler.is_done()
    }

    fn finish(self) -> Result<Vec<NativeItem>> {
        Ok(vec![self.assembler.finish()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Step;
    use crate::wire::testing::{self};
    use expect_test::{Expect, expect};
    use futures::executor::block_on;
    use futures::{StreamExt, stream};
    use orlop_types::Error;
    use proptest::prelude::*;

    fn steps(chunks: Vec<Result<Bytes>>) -> String {
        testing::steps::<ChatReader>(chunks)
    }

    fn check(body: &str, expected: Expect) {
        testing::check::<ChatReader>(body, expected);
    }

    const OPEN: &str = "{\"created_at\":\"1\",\"message\":{\"content\":\"a\"},\"done\":false}\n";

    #[test]
    fn text_streams_and_then_the_message_comes() {
        check(
            &format!(
                "{OPEN}{}\n\n{{\"message\":{{\"content\":\"c\"}},\"done\":true,\"done_reason\":\"stop\"}}\n",
                OPEN.replace("\"a\"", "\"b\"")
            ),
            expect![[r#"
                {"role":"assistant","content":"a"}
                {"role":"assistant","content":"b"}
                {"role":"assistant","content":"c"}
                final {"role":"assistant","content":"abc"} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn the_last_line_needs_no_line_feed() {
        check(
            &format!("{OPEN}{{\"message\":{{\"content\":\"\"}},\"done\":true}}"),
            expect![[r#"
            {"role":"assistant","content":"a"}
            final {"role":"assistant","content":"a"} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn nothing_behind_the_end_is_read() {
        check(
            &format!("{{\"message\":{{\"content\":\"b\"}},\"done\":true}}\n{OPEN}nonsense\n"),
            expect![[r#"
                {"role":"assistant","content":"b"}
                final {"role":"assistant","content":"b"} + {"finish_reason": String("stop")}"#]],
        );
    }

    #[test]
    fn an_end_before_done_is_an_error() {
        check(
            OPEN,
            expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"#]],
        );
        check(
            &format!("{OPEN}{{\"message\""),
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
            "{\"done\":true}\n",
            expect![
                "provider: the model server sent an answer without a message; try again (retryable true)"
            ],
        );
    }

    #[test]
    fn an_error_in_a_line_ends_the_stream() {
        check(
            &format!("{OPEN}{{\"error\":\"out of memory, key\"}}\n{OPEN}"),
            expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the model server reported an error: out of memory, ***; change the request accordingly (retryable false) body {"error":"out of memory, ***"}"#]],
        );
    }

    #[test]
    fn a_line_that_is_no_json_is_shown() {
        check(
            "<html>key</html>\n",
            expect![[
                r#"provider: the model server sent a line that is no JSON (expected value at line 1 column 1): "<html>***</html>"; check that "base_url" leads to a server for this provider (retryable false) body <html>***</html>"#
            ]],
        );
        check(
            "{\"message\":7}\n",
            expect![[
                r#"provider: the model server sent a line that has an unexpected shape (invalid type: integer `7`, expected a message at line 1 column 12): "{\"message\":7}"; check that "base_url" leads to a server for this provider (retryable false) body {"message":7}"#
            ]],
        );
    }

    #[test]
    fn a_break_matters_only_before_the_end() {
        let text = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        let broken = || Err(Error::provider("the answer ended early"));
        let end = "{\"message\":{\"content\":\"b\"},\"done\":true}\n";
        expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early (retryable false)"#]]
        .assert_eq(&steps(vec![text(OPEN), broken()]));
        expect![[r#"
            {"role":"assistant","content":"a"}
            {"role":"assistant","content":"b"}
            final {"role":"assistant","content":"ab"} + {"finish_reason": String("stop")}"#]]
        .assert_eq(&steps(vec![text(OPEN), text(end), broken()]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Skipping the parser where only time and text differ must not show.
        #[test]
        fn lines_in_known_frames_say_what_parsing_them_would(
            picks in proptest::collection::vec((0usize..6, 0u8..3, "[a-c\"\\\\n{}é]{0,3}"), 0..40),
        ) {
            let line = |(frame, time, text): &(usize, u8, String)| match frame {
                0 | 1 => format!(r#"{{"created_at":"{time}","message":{{"content":"{text}"}},"done":false}}"#),
                2 => format!(r#"{{"created_at":"{time}","message":{{"content":{}}}}}"#, serde_json::json!(text)),
                3 => format!(r#"{{"created_at":"{time}","message":{{"content":"","thinking":"{text}"}},"done":false}}"#),
                4 => format!(r#"{{"message":{{"content":"{text}"}},"created_at":"{time}"}}"#),
                _ => format!(r#"{{"created_at":"{time}","message":{{"content":"{text}"}},"done":false,"n":1}}"#),
            };
            let lines: Vec<String> = picks.iter().map(line).collect();
            let mut assembler = Assembler::default();
            let (mut expected, mut broken) = (String::new(), false);
            for line in &lines {
                let Ok(mut line) = Line::parse(line) else { broken = true; break };
                let partial = assembler.push(&mut line).unwrap();
                if !partial.is_empty() {
                    expected.push_str(&format!("{partial:?}\n"));
                }
            }
            let end = r#"{"message":{"content":""},"done":true}"#;
            assembler.push(&mut Line::parse(end).unwrap()).unwrap();
            let body = Bytes::from(format!("{}\n{end}\n", lines.join("\n")));
            let mut seen = String::new();
            for step in block_on(events(stream::iter([Ok(body)])).collect::<Vec<_>>()) {
                match step {
                    Ok(Step::Partial(partial)) => seen.push_str(&format!("{partial:?}\n")),
                    Ok(Step::Final(items)) => {
                        prop_assert_eq!(&items[0], &std::mem::take(&mut assembler).finish().unwrap())
                    }
                    Err(_) => prop_assert!(broken),
                }
            }
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn damaged_streams_end_in_one_message_or_one_error(damage in testing::damage(), size in 1usize..400) {
            let body = concat!(
                "{\"created_at\":\"1\",\"message\":{\"role\":\"assistant\",\"content\":\"é\",\"x\":{\"y\":[1]}},\"done\":false}\r\n",
                "{\"created_at\":\"2\",\"message\":{\"content\":\"\",\"thinking\":\"b\",",
                "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]},\"done\":false}\n\n",
                "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1}\n",
            );
            testing::ends_once::<ChatReader>(body, damage, size)?;
        }
    }
}
