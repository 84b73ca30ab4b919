//! Events as they are sent: server-sent events with heartbeats, resumable by their numbers.
//!
//! A stream holds no events of its own: it takes them from the turn's feed as fast as its client
//! reads. A client that falls far behind, or is connected when the server ends, is told to come
//! back with the number of the last event it has.

use crate::begin::Abandoned;
use crate::limits::Slot;
use crate::problem::Problem;
use crate::route::{Input, Operation, Output};
use crate::server::Server;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, Stream, StreamExt};
use orlop_app::Event;
use orlop_core::Error;
use serde_json::json;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// How often an idle stream says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many bytes of events are sent as one piece, where there are many.
const PIECE: usize = 32 * 1024;

/// About as many bytes as a fragment becomes.
const ROOM: usize = 320;

/// Where a client finds the rest of its events.
#[derive(Clone)]
pub(crate) enum Source {
    /// The events of a request, which have an end.
    Request(String),
    /// Everything that happens.
    Everything,
}

/// What becomes of events on their way to a client.
pub(crate) trait Translate: Send + Unpin + 'static {
    /// Writes down an event.
    fn event(&mut self, event: &Event, out: &mut Vec<u8>);

    /// Tells that the stream ends before its events do.
    fn cut(&mut self, out: &mut Vec<u8>);

    /// Whether nothing follows an event.
    fn is_last(&self, event: &Event) -> bool {
        event.kind.ends_request()
    }
}

/// Events as they are, which a client can go on with after the last one it has.
pub(crate) struct AsTheyAre {
    source: Source,
    last: u64,
}

impl Translate for AsTheyAre {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.last = event.seq;
        write_event(event, out);
    }

    /// Tells the client to come back.
    fn cut(&mut self, out: &mut Vec<u8>) {
        let after = self.last;
        let told = match &self.source {
            Source::Request(id) => json!({
                "type": "resume", "after": after, "request_id": id,
                "url": format!("/api/v1/requests/{id}/events?after={after}"),
            }),
            Source::Everything => json!({ "type": "resume", "after": after }),
        };
        out.extend_from_slice(format!("retry: 1000\nevent: resume\ndata: {told}\n\n").as_bytes());
    }

    fn is_last(&self, event: &Event) -> bool {
        event.kind.ends_request() && matches!(self.source, Source::Request(_))
    }
}

/// A stream of events on its way to a client. A turn goes on at its own pace, however slowly it is
/// read.
pub(crate) struct EventStream<T = AsTheyAre> {
    events: BoxStream<'static, Arc<Event>>,
    translate: T,
    closing: BoxFuture<'static, ()>,
    heartbeat: Interval,
    over: bool,
    abandoned: Option<Box<Abandoned>>,
    _slot: Slot,
}

impl EventStream {
    /// Sends `events`, which come after the number `last`, until they end or `closing` does.
    pub(crate) fn new(
        events: BoxStream<'static, Arc<Event>>,
        source: Source,
        last: u64,
        closing: BoxFuture<'static, ()>,
        slot: Slot,
    ) -> Self {
        Self::translated(events, AsTheyAre { source, last }, closing, slot)
    }
}

impl<T: Translate> EventStream<T> {
    /// Sends what `translate` makes of `events`.
    pub(crate) fn translated(
        events: BoxStream<'static, Arc<Event>>,
        translate: T,
        closing: BoxFuture<'static, ()>,
        slot: Slot,
    ) -> Self {
        let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { events, translate, closing, heartbeat, over: false, abandoned: None, _slot: slot }
    }

    /// The same; a request that is not stored is abandoned where the client leaves before its end.
    pub(crate) fn or_abandoned(self, abandoned: Abandoned) -> Self {
        Self { abandoned: Some(Box::new(abandoned)), ..self }
    }

    fn cut(&mut self, out: &mut Vec<u8>) {
        self.over = true;
        self.translate.cut(out);
    }
}

impl<T: Translate> Stream for EventStream<T> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut out = Vec::new();
        while out.len() < PIECE && !this.over {
            match this.events.poll_next_unpin(cx) {
                Poll::Ready(Some(event)) => {
                    out.reserve(ROOM);
                    this.translate.event(&event, &mut out);
                    this.over = this.translate.is_last(&event);
                    if this.over
                        && let Some(abandoned) = this.abandoned.take()
                    {
                        abandoned.forget();
                    }
                }
                // The events of a request end with its last one, unless the client is too slow or
                // the request is to go on elsewhere.
                Poll::Ready(None) => this.cut(&mut out),
                Poll::Pending => break,
            }
        }
        if out.is_empty() && this.over {
            return Poll::Ready(None);
        }
        if out.is_empty() && this.closing.poll_unpin(cx).is_ready() {
            this.cut(&mut out);
        }
        if out.is_empty() && this.heartbeat.poll_tick(cx).is_ready() {
            out.extend_from_slice(b": still here\n\n");
        }
        match out.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(Some(Ok(out.into()))),
        }
    }
}

fn write_event(event: &Event, out: &mut Vec<u8>) {
    let _ = write!(out, "id: {}\nevent: ", event.seq);
    // What plugins publish may be named anything.
    let name = event.kind.name();
    match name.contains(char::is_control) {
        true => out.extend(name.chars().filter(|c| !c.is_control()).collect::<String>().bytes()),
        false => out.extend_from_slice(name.as_bytes()),
    }
    out.extend_from_slice(b"\ndata: ");
    let place = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, event) {
        tracing::error!(target: "orlop::http", %error, "an event does not serialise");
        out.truncate(place);
        out.extend_from_slice(b"{}");
    }
    out.extend_from_slice(b"\n\n");
}

impl<T: Translate> IntoResponse for EventStream<T> {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE.as_str(), "text/event-stream"),
            (header::CACHE_CONTROL.as_str(), "no-store"),
            ("x-accel-buffering", "no"),
        ];
        (headers, Body::from_stream(self)).into_response()
    }
}

impl Output for EventStream {
    fn describe(operation: &mut Operation<'_>) {
        let event = operation.schema::<Event>();
        let resume = json!({
            "type": "object", "required": ["type", "after"],
            "properties": {
                "type": { "const": "resume" },
                "after": { "type": "integer", "minimum": 0 },
                "request_id": { "type": "string" },
                "url": { "type": "string" },
            },
        });
        operation.streams(json!({ "anyOf": [resume, event] }));
    }
}

/// The number of the last event that a client has, as browsers send it when they come back.
pub(crate) struct LastEventId(Option<u64>);

impl LastEventId {
    /// The number after which the client wants events, where its query may say one, too.
    pub(crate) fn or(self, query: Option<u64>) -> Option<u64> {
        self.0.or(query)
    }
}

impl FromRequestParts<Server> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, Problem> {
        let Some(given) = parts.headers.get("last-event-id") else { return Ok(Self(None)) };
        let number = given.to_str().ok().and_then(|text| text.trim().parse().ok());
        let odd = "Last-Event-ID is no number of an event; send the `id` of one";
        number.map(|number| Self(Some(number))).ok_or_else(|| Error::bad_argument(odd).into())
    }
}

impl Input for LastEventId {
    fn describe(operation: &mut Operation<'_>) {
        operation.asks_header(
            "Last-Event-ID",
            json!({ "type": "integer", "format": "uint64", "minimum": 0, "maximum": u64::MAX }),
            "The `id` of the last event that the client has: it wants those that follow. It counts before `after`.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Counts;

    #[tokio::test(start_paused = true)]
    async fn a_stream_in_which_nothing_happens_says_that_it_is_there() {
        let slot = Counts::default().take("t", 1).unwrap();
        let (events, closing) = (futures::stream::pending().boxed(), futures::future::pending());
        let mut stream = EventStream::new(events, Source::Everything, 0, closing.boxed(), slot);
        let began = Instant::now();
        for beat in 1..=3 {
            let said = stream.next().await.unwrap().unwrap();
            assert_eq!(said, b": still here\n\n".as_slice());
            assert_eq!(began.elapsed().as_secs(), beat * HEARTBEAT.as_secs());
        }
    }
}
