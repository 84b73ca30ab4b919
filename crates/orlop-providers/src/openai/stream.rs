//! A streamed answer: bytes in, fragments to show and one finished item out.

use super::assemble::{Assembler, completion, shown};
use super::failure;
use super::frame::Frame;
use super::wire::Chunk;
use crate::http::Answer;
use crate::secret::Secret;
use crate::sse::{DONE, SseEvent, SseParser};
use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, stream};
use orlop_types::{Error, NativeItem, Partial, Result};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How many chunks behind the end are taken off a connection, so that it can be used again.
const LEFTOVERS: usize = 4;

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A fragment to show.
    Partial(Partial),
    /// The finished message; nothing follows.
    Final(NativeItem),
}

/// Reads the events of a streamed chat completion from the chunks of its body.
///
/// The stream ends after [`Step::Final`] or after an error. A body that ends, or breaks, before
/// the model said why it stopped is an error; after that only token counts can be lost.
pub fn events<B>(body: B) -> Events<B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    Events {
        body,
        parser: SseParser::new(),
        assembler: Assembler::default(),
        frame: Frame::default(),
        stage: Stage::Reading,
        secret: Secret::none(),
    }
}

/// The steps of an answer, whether the server streamed it or sent it whole.
pub fn steps(answer: Answer, secret: Secret) -> impl Stream<Item = Result<Step>> + Send + Unpin {
    if !answer.is_json() {
        return events(answer.into_body()).with_secret(secret).left_stream();
    }
    let steps = whole(answer).map(move |steps| match steps {
        Ok(steps) => stream::iter(steps.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(secret.mask_error(error))]),
    });
    Box::pin(steps.flatten_stream()).right_stream()
}

async fn whole(answer: Answer) -> Result<Vec<Step>> {
    let item = completion(&answer.text().await?)?.item;
    let partial = Some(shown(&item)).filter(|partial| !partial.is_empty());
    Ok(partial.map(Step::Partial).into_iter().chain([Step::Final(item)]).collect())
}

/// See [`events`].
pub struct Events<B> {
    body: B,
    parser: SseParser,
    assembler: Assembler,
    frame: Frame,
    stage: Stage,
    secret: Secret,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Reading,
    /// The body is over; an event without the empty line behind it may be left.
    BodyEnded,
    /// Everything was read; the message is due.
    Complete,
    /// The message was handed out; the body may have an end left to read.
    Delivered,
    Ended,
}

/// What one event means.
enum Meaning {
    Show(Partial),
    Nothing,
    Done,
}

impl<B> Events<B> {
    /// With the key masked in errors that repeat what the server sent.
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = secret;
        self
    }

    /// The next fragment among the bytes that are here; `None` when they are used up.
    fn next_fragment(&mut self) -> Result<Option<Partial>> {
        while let Some(event) = self.parser.next_event()? {
            match understand(event, &mut self.assembler, &mut self.frame)? {
                Meaning::Show(partial) => return Ok(Some(partial)),
                Meaning::Nothing => {}
                Meaning::Done => {
                    self.stage = Stage::Complete;
                    break;
                }
            }
        }
        Ok(None)
    }

    /// The fragment of an event that the end of the body cut off behind its data.
    fn last_fragment(&mut self) -> Result<Option<Partial>> {
        self.stage = Stage::Complete;
        let Some(event) = self.parser.finish()? else { return self.check_end() };
        match understand(event, &mut self.assembler, &mut self.frame)? {
            Meaning::Done => Ok(None),
            Meaning::Show(partial) => self.check_end().map(|_| Some(partial)),
            Meaning::Nothing => self.check_end(),
        }
    }

    /// An end without `[DONE]` is one if the model said why it stopped.
    fn check_end(&self) -> Result<Option<Partial>> {
        match self.assembler.finish_reason() {
            Some(_) => Ok(None),
            None => Err(failure::ended_early()),
        }
    }

    fn deliver(&mut self) -> Result<NativeItem> {
        self.stage = Stage::Delivered;
        std::mem::take(&mut self.assembler).finish().map(|finished| finished.item)
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Step>>> {
        self.stage = Stage::Ended;
        Poll::Ready(Some(Err(self.secret.mask_error(error))))
    }
}

impl<B> fmt::Debug for Events<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl<B: Stream<Item = Result<Bytes>> + Unpin> Stream for Events<B> {
    type Item = Result<Step>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let fragment = match this.stage {
                Stage::Reading => this.next_fragment(),
                Stage::BodyEnded => this.last_fragment(),
                Stage::Complete => {
                    return match this.deliver() {
                        Ok(item) => Poll::Ready(Some(Ok(Step::Final(item)))),
                        Err(error) => this.fail(error),
                    };
                }
                Stage::Delivered => {
                    this.stage = Stage::Ended;
                    for _ in 0..LEFTOVERS {
                        let Poll::Ready(Some(Ok(_))) = this.body.poll_next_unpin(cx) else { break };
                    }
                    return Poll::Ready(None);
                }
                Stage::Ended => return Poll::Ready(None),
            };
            match fragment {
                Ok(Some(partial)) => return Poll::Ready(Some(Ok(Step::Partial(partial)))),
                Ok(None) if this.stage != Stage::Reading => continue,
                Ok(None) => {}
                Err(error) => return this.fail(error),
            }
            match ready!(this.body.poll_next_unpin(cx)) {
                Some(Ok(bytes)) => this.parser.push(&bytes),
                None => this.stage = Stage::BodyEnded,
                // The message is complete; what broke could only have told its cost.
                Some(Err(_)) if this.assembler.finish_reason().is_some() => {
                    this.stage = Stage::Complete;
                }
                Some(Err(error)) => return this.fail(error),
            }
        }
    }
}

fn understand(
    event: SseEvent<'_>,
    assembler: &mut Assembler,
    frame: &mut Frame,
) -> Result<Meaning> {
    let data = event.data;
    let show = |partial: Partial| match partial.is_empty() {
        true => Meaning::Nothing,
        false => Meaning::Show(partial),
    };
    if let (None, Some(text)) = (event.event, frame.text(data)) {
        return Ok(show(assembler.push_text(text)));
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
    frame.learn(data, &chunk);
    assembler.push(&mut chunk).map(show)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use futures::executor::block_on;
    use proptest::prelude::*;

    fn render(step: &Result<Step>) -> String {
        match step {
            Ok(Step::Partial(partial)) => serde_json::to_string(partial).unwrap(),
            Ok(Step::Final(item)) => format!("final {item:?}"),
            Err(error) => {
                let body = error.provider_body().map(|body| format!(" body {body}"));
                let body = body.unwrap_or_default();
                format!("{error:?} (retryable {}){body}", error.retryable())
            }
        }
    }

    fn steps(chunks: Vec<Result<Bytes>>) -> String {
        let steps = events(stream::iter(chunks)).with_secret(Secret::new(["k", "ey"].concat()));
        let steps: Vec<_> = block_on(steps.collect());
        steps.iter().map(render).collect::<Vec<_>>().join("\n")
    }

    fn check(body: &str, expected: Expect) {
        let whole = steps(vec![Ok(Bytes::copy_from_slice(body.as_bytes()))]);
        let bytes = body.as_bytes().chunks(1).map(|byte| Ok(Bytes::copy_from_slice(byte)));
        assert_eq!(steps(bytes.collect()), whole, "byte by byte");
        expected.assert_eq(&whole);
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
                final {"role":"assistant","content":"Hey"} + {"finish_reason": String("stop"), "model": String("m"), "usage": Object {"total_tokens": Number(7)}}"#]],
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
                r#"provider: the model server sent a data line that is no JSON (expected value at line 1 column 13): "{\"choices\":[}"; check that "base_url" leads to an OpenAI-compatible server (retryable false) body {"choices":[}"#
            ]],
        );
        check(
            "data: <html>key</html>\n\n",
            expect![[
                r#"provider: the model server sent a data line that is no JSON (expected value at line 1 column 1): "<html>***</html>"; check that "base_url" leads to an OpenAI-compatible server (retryable false) body <html>***</html>"#
            ]],
        );
        check(
            "data: {\"choices\":7}\n\n",
            expect![[
                r#"provider: the model server sent a data line that has an unexpected shape (invalid type: integer `7`, expected a list of choices at line 1 column 12): "{\"choices\":7}"; check that "base_url" leads to an OpenAI-compatible server (retryable false) body {"choices":7}"#
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
        let text = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        let broken = || Err(Error::provider("the answer ended early"));
        let open = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early (retryable false)"#]]
        .assert_eq(&steps(vec![text(open), broken()]));
        expect![[r#"
            {"role":"assistant","content":"a"}
            final {"role":"assistant","content":"a"} + {"finish_reason": String("stop")}"#]]
        .assert_eq(&steps(vec![text(open), text(stop), broken()]));
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
            let body = Bytes::from(body + "data: [DONE]\n\n");
            let steps = block_on(events(stream::iter([Ok(body)])).collect::<Vec<_>>());
            let mut seen = String::new();
            for step in &steps {
                match step {
                    Ok(Step::Partial(partial)) => seen.push_str(&format!("{partial:?}\n")),
                    Ok(Step::Final(item)) => {
                        prop_assert_eq!(item, &std::mem::take(&mut assembler).finish().unwrap().item)
                    }
                    Err(_) => prop_assert!(broken || chunks.is_empty()),
                }
            }
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn damaged_streams_end_in_one_message_or_one_error(
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            size in 1usize..400,
        ) {
            let mut body = concat!(
                "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"é\"}],",
                "\"x\":{\"y\":[1]}}}]}\r\n\r\n: ping\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\",",
                "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},",
                "\"finish_reason\":\"stop\"}],\"usage\":{}}\n\ndata: [DONE]\n\n",
            ).as_bytes().to_vec();
            for (at, byte) in damage {
                let at = at.index(body.len());
                body[at] = byte;
            }
            let chunks = body.chunks(size).map(|part| Ok(Bytes::copy_from_slice(part)));
            let steps = block_on(events(stream::iter(chunks.collect::<Vec<_>>())).collect::<Vec<_>>());
            let ends = |step: &&Result<Step>| !matches!(step, Ok(Step::Partial(_)));
            prop_assert_eq!(steps.iter().filter(ends).count(), 1);
            prop_assert!(steps.last().is_some_and(|step| ends(&step)));
        }
    }
}
