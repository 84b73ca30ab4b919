//! A good answer: its head, and its body as a stream that notices silence and broken connections.

use super::transport::{Broken, Chunks, Reply};
use crate::secret::Secret;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};
use orlop_types::{Error, Result};
use reqwest::header::HeaderMap;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

/// The largest body that is read as a whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;

/// An answer with a status of success. `Debug` shows no headers: a server may repeat the key there.
pub struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Body,
}

impl Answer {
    /// Waits for the first chunk, so that a connection that breaks before it can be tried again.
    pub(super) async fn begin(
        reply: Reply,
        idle: Duration,
        secret: Secret,
    ) -> Result<Self, Broken> {
        let mut body = Body::new(reply.body, idle, secret);
        // Silence is not an error yet: the body tells of it when it is read.
        match timeout(idle, body.chunks.next()).await {
            Ok(Some(first)) => body.first = Some(first?),
            Ok(None) => body.ended = true,
            Err(_) => {}
        }
        Ok(Self { status: reply.status.as_u16(), headers: reply.headers, body })
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the body is a JSON object, not an event stream. Its first byte decides; servers
    /// name the type of what they send too carelessly.
    pub fn is_json(&self) -> bool {
        let first = self.body.first.as_deref().unwrap_or_default();
        match first.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(byte) => *byte == b'{',
            None => self.header("content-type").is_some_and(|kind| kind.contains("json")),
        }
    }

    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, chunk by chunk.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// The whole body as text.
    pub async fn text(self) -> Result<String> {
        let mut body = self.body;
        let mut whole = BytesMut::new();
        while let Some(chunk) = body.next().await {
            whole.extend_from_slice(&chunk?);
            if whole.len() > MAX_WHOLE {
                return Err(Error::provider(format!(
                    "the model server sent more than {MAX_WHOLE} bytes at once; \
                     check that the address leads to a model server"
                )));
            }
        }
        String::from_utf8(whole.into()).map_err(|_| {
            Error::provider(
                "the model server sent text that is not UTF-8; \
                 check that the address leads to a model server",
            )
        })
    }
}

/// The body of an answer. A connection that breaks and a server that falls silent are errors.
pub struct Body {
    chunks: Chunks,
    first: Option<Bytes>,
    idle: Duration,
    /// When the last chunk came.
    last: Instant,
    /// Set back only when it fires too early: most chunks never touch the clock's queue.
    timer: Option<Pin<Box<Sleep>>>,
    received: u64,
    ended: bool,
    secret: Secret,
}

impl Body {
    pub(super) fn new(chunks: Chunks, idle: Duration, secret: Secret) -> Self {
        let last = Instant::now();
        Self { chunks, first: None, idle, last, timer: None, received: 0, ended: false, secret }
    }

    fn received(&mut self, chunk: Bytes) -> Poll<Option<Result<Bytes>>> {
        self.last = Instant::now();
        self.received += chunk.len() as u64;
        Poll::Ready(Some(Ok(chunk)))
    }

    fn fail(&mut self, why: String) -> Poll<Option<Result<Bytes>>> {
        self.ended = true;
        let message =
            format!("the answer ended early: {why} after {} bytes; try again", self.received);
        Poll::Ready(Some(Err(Error::provider(self.secret.mask(&message)).with_retryable(true))))
    }

    /// Whether nothing came for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // A limit beyond what the clock can tell never comes.
            let Some(deadline) = self.last.checked_add(self.idle) else { return Poll::Pending };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            std::task::ready!(timer.as_mut().poll(cx));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        if let Some(first) = this.first.take() {
            return this.received(first);
        }
        match this.chunks.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(chunk))) => this.received(chunk),
            Poll::Ready(Some(Err(broken))) => {
                this.fail(format!("the connection to the model server broke ({})", broken.cause))
            }
            Poll::Ready(None) => {
                this.ended = true;
                Poll::Ready(None)
            }
            Poll::Pending => {
                std::task::ready!(this.poll_silence(cx));
                let silence = this.idle.as_secs_f64();
                this.fail(format!("the model server sent nothing for {silence} seconds"))
            }
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {:?})", self.status, self.body)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes so far)", self.received)
    }
}

/// What of a body comes within `limit` bytes and `time`; breaks and silence only end it.
pub(super) async fn read_up_to(mut body: Chunks, limit: usize, time: Duration) -> Vec<u8> {
    let mut read = Vec::new();
    let reading = async {
        while let Some(Ok(chunk)) = body.next().await {
            let room = limit - read.len();
            read.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if read.len() == limit {
                break;
            }
        }
    };
    let _ = timeout(time, reading).await;
    read
}
