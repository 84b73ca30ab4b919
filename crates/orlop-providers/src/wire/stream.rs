//! A streamed answer: bytes in, fragments to show and finished items out.

use super::{Meaning, Reader, Step, Whole, Wire, failure};
use crate::http::Answer;
use crate::secret::Secret;
use crate::sse::Framing;
use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, stream};
use orlop_types::{Error, NativeItem, Partial, Result};
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
