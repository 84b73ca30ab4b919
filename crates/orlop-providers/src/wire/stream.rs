//! A streamed answer: bytes in, fragments to show and finished items out.

use super::refused::{Refused, refused_field};
use super::{Meaning, Reader, Step, Whole, Wire, failure};
use crate::http::{Answer, Call, HttpClient, Retry};
use crate::secret::Secret;
use crate::sse::Framing;
use bytes::Bytes;
use futures::channel::mpsc;
use futures::{FutureExt, Stream, StreamExt, stream};
use orlop_core::Context as HookContext;
use orlop_core::hooks::{Chunk, ModelRequest};
use orlop_types::{Error, Map, NativeItem, Partial, Result};
use serde_json::json;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How many chunks behind the end are taken off a connection, so that it can be used again.
const LEFTOVERS: usize = 4;

/// Reads the events of a streamed answer from the chunks of its body.
///
/// The stream ends after [`Step::Final`] or after an error. A body that ends, or breaks, before
/// the model said why it stopped is an error; after that only token counts can be lost.
pub fn events<R, B>(body: B) -> Events<R, B>
where
    R: Reader,
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    Events {
        body,
        framing: R::Framing::default(),
        reader: R::default(),
        stage: Stage::Reading,
        secret: Secret::none(),
    }
}

/// The steps of an answer, whether the server streamed it or sent it whole.
pub fn steps<W: Wire>(
    answer: Answer,
    secret: Secret,
) -> impl Stream<Item = Result<Step>> + Send + Unpin + use<W> {
    if !<W::Reader as Reader>::Framing::is_whole(&answer) {
        return events::<W::Reader, _>(answer.into_body()).with_secret(secret).left_stream();
    }
    let steps = whole::<W>(answer).map(move |steps| match steps {
        Ok(steps) => stream::iter(steps.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(secret.mask_error(error))]),
    });
    Box::pin(steps.flatten_stream()).right_stream()
}

/// A request on its way: tells of each try that failed, then gives the chunks of the answer.
pub(super) fn sent<W: Wire>(
    http: HttpClient,
    refused: Refused,
    input: ModelRequest,
    cx: HookContext,
) -> impl Stream<Item = Result<Chunk>> + Send {
    let input = refused.spared::<W>(input);
    let call = W::call(&input, &cx);
    let (retries, told) = mpsc::unbounded();
    let answer = async move {
        let call = call?;
        // Nobody listens any more when the request was dropped.
        let tell = |retry| drop(retries.unbounded_send(retry));
        let answer = send::<W>(&http, &refused, &call, &input, &cx, tell).await?;
        let steps = steps::<W>(answer, call.secret().clone());
        Ok::<_, Error>(steps.map(move |step| match step? {
            Step::Final(items) => Ok(Chunk::finals(W::settle(items, &input))),
            partial => Ok(partial.into()),
        }))
    };
    Sent { told: Some(told), phase: Phase::Sending(Box::pin(answer)) }
}

/// Sends the request; once, if the server refuses it, what the wire sends in its place: the same
/// without the field that the server does not take, or something else.
pub(super) async fn send<W: Wire>(
    http: &HttpClient,
    refused: &Refused,
    call: &Call,
    input: &ModelRequest,
    cx: &HookContext,
    tell: impl Fn(Retry),
) -> Result<Answer> {
    let refusal = match http.send_telling(call, &tell).await {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    if let Some(field) = refused_field::<W>(input, &refusal) {
        let mut without = input.clone();
        without.state.request.shift_remove(field);
        let answer = http.send_telling(&W::call(&without, cx)?, &tell).await?;
        refused.remember::<W>(input, field);
        return Ok(answer);
    }
    match W::instead(input, cx, &refusal) {
        Some(call) => http.send_telling(&call?, &tell).await,
        None => Err(refusal),
    }
}

/// See [`sent`].
struct Sent<F, S> {
    /// The tries that failed; gone once all of them were told.
    told: Option<mpsc::UnboundedReceiver<Retry>>,
    phase: Phase<F, S>,
}

enum Phase<F, S> {
    Sending(Pin<Box<F>>),
    Answered(S),
    Failed(Option<Error>),
}

impl<F, S> Unpin for Sent<F, S> {}

impl<F, S> Stream for Sent<F, S>
where
    F: Future<Output = Result<S>>,
    S: Stream<Item = Result<Chunk>> + Unpin,
{
    type Item = Result<Chunk>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { told, phase } = &mut *self;
        if let Phase::Sending(answer) = phase
            && let Poll::Ready(answered) = answer.as_mut().poll(cx)
        {
            *phase = match answered {
                Ok(steps) => Phase::Answered(steps),
                Err(error) => Phase::Failed(Some(error)),
            };
        }
        if let Some(retries) = told {
            match retries.poll_next_unpin(cx) {
                Poll::Ready(Some(retry)) => {
                    return Poll::Ready(Some(Ok(Chunk::partial(waiting(&retry)))));
                }
                Poll::Ready(None) => *told = None,
                Poll::Pending => {}
            }
        }
        match phase {
            Phase::Sending(_) => Poll::Pending,
            Phase::Answered(steps) => steps.poll_next_unpin(cx),
            Phase::Failed(error) => Poll::Ready(error.take().map(Err)),
        }
    }
}

/// Says that a failed request is tried again: `metadata.retry`, no text.
fn waiting(retry: &Retry) -> Partial {
    let about = json!({
        "attempt": retry.attempt,
        "of": retry.of,
        "wait_ms": u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX),
        "why": retry.why,
    });
    let metadata = Map::from_iter([("retry".to_owned(), about)]);
    Partial { metadata: Some(Box::new(metadata)), ..Partial::default() }
}

async fn whole<W: Wire>(answer: Answer) -> Result<Vec<Step>> {
    let Whole { shown, items } = W::whole(&answer.text().await?)?;
    let partial = Some(shown).filter(|partial| !partial.is_empty());
    Ok(partial.map(Step::Partial).into_iter().chain([Step::Final(items)]).collect())
}

/// See [`events`].
pub struct Events<R: Reader, B> {
    body: B,
    framing: R::Framing,
    reader: R,
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

impl<R: Reader, B> Events<R, B> {
    /// With the key masked in errors that repeat what the server sent.
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = secret;
        self
    }

    /// The next fragment among the bytes that are here; `None` when they are used up.
    fn next_fragment(&mut self) -> Result<Option<Partial>> {
        while let Some(event) = self.framing.next_event()? {
            match self.reader.read(event)? {
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
        let Some(event) = self.framing.finish()? else { return self.check_end() };
        match self.reader.read(event)? {
            Meaning::Done => Ok(None),
            Meaning::Show(partial) => self.check_end().map(|_| Some(partial)),
            Meaning::Nothing => self.check_end(),
        }
    }

    /// An end without a mark is one if the model said why it stopped.
    fn check_end(&self) -> Result<Option<Partial>> {
        match self.reader.is_complete() {
            true => Ok(None),
            false => Err(failure::ended_early()),
        }
    }

    fn deliver(&mut self) -> Result<Vec<NativeItem>> {
        self.stage = Stage::Delivered;
        std::mem::take(&mut self.reader).finish()
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Step>>> {
        self.stage = Stage::Ended;
        Poll::Ready(Some(Err(self.secret.mask_error(error))))
    }
}

impl<R: Reader, B> fmt::Debug for Events<R, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl<R: Reader, B: Stream<Item = Result<Bytes>> + Unpin> Stream for Events<R, B> {
    type Item = Result<Step>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let fragment = match this.stage {
                Stage::Reading => this.next_fragment(),
                Stage::BodyEnded => this.last_fragment(),
                Stage::Complete => {
                    return match this.deliver() {
                        Ok(items) => Poll::Ready(Some(Ok(Step::Final(items)))),
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
                Some(Ok(bytes)) => this.framing.push(&bytes),
                None => this.stage = Stage::BodyEnded,
                // The message is complete; what broke could only have told its cost.
                Some(Err(_)) if this.reader.is_complete() => {
                    this.stage = Stage::Complete;
                }
                Some(Err(error)) => return this.fail(error),
            }
        }
    }
}
