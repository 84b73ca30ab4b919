//! Plays a list of steps as one HTTP response body, and notices a client that leaves before the
//! last of them.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;

use crate::gate::Gate;
use crate::local_server::Stopping;

/// One step of a response body.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends these bytes as one chunk.
    Write(Bytes),
    /// Waits for the test.
    Wait(Gate),
    /// Waits for the clock.
    Delay(Duration),
    /// Breaks the connection off; nothing after it is sent.
    Cut,
}

/// Makes the body that plays `steps`.
pub(crate) fn play(steps: Vec<Step>, stopping: Stopping, mut presence: Presence) -> Body {
    if steps.is_empty() {
        // An empty body may never be asked for its end.
        presence.reply_is_complete();
    }
    let playing = Playing { steps: steps.into(), stopping, presence };
    Body::from_stream(stream::unfold(playing, |mut playing: Playing| async move {
        let item = playing.next().await?;
        Some((item, playing))
    }))
}

/// The error that makes hyper close the connection in the middle of a body.
#[derive(Debug, thiserror::Error)]
#[error("the connection is broken off on purpose")]
pub(crate) struct BrokenOff;

struct Playing {
    steps: VecDeque<Step>,
    stopping: Stopping,
    presence: Presence,
}

impl Playing {
    async fn next(&mut self) -> Option<Result<Bytes, BrokenOff>> {
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Write(bytes) => {
                    // hyper flushes when the body has nothing ready: give it that moment, so
                    // that each write goes out alone instead of being merged with the next.
                    tokio::task::yield_now().await;
                    if self.steps.is_empty() {
                        // hyper need not ask again once the announced length is reached.
                        self.presence.reply_is_complete();
                    }
                    return Some(Ok(bytes));
                }
                Step::Wait(gate) => {
                    tokio::select! {
                        () = gate.pass() => {}
                        () = self.stopping.wait() => return Some(self.break_off()),
                    }
                }
                Step::Delay(time) => {
                    tokio::select! {
                        () = tokio::time::sleep(time) => {}
                        () = self.stopping.wait() => return Some(self.break_off()),
                    }
                }
                Step::Cut => {
                    // As above: what was written before must reach the client.
                    tokio::task::yield_now().await;
                    return Some(self.break_off());
                }
            }
        }
        self.presence.reply_is_complete();
        None
    }

    fn break_off(&mut self) -> Result<Bytes, BrokenOff> {
        self.steps.clear();
        self.presence.reply_is_complete();
        Err(BrokenOff)
    }
}

/// Lives as long as a request is being answered. If it is dropped before the reply is complete,
/// the client has gone away.
#[derive(Debug)]
pub(crate) struct Presence {
    disconnects: watch::Sender<usize>,
    complete: bool,
}

impl Presence {
    pub(crate) fn new(disconnects: watch::Sender<usize>) -> Self {
        Self { disconnects, complete: false }
    }

    pub(crate) fn reply_is_complete(&mut self) {
        self.complete = true;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.complete {
            self.disconnects.send_modify(|count| *count += 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};
    use tokio::sync::watch;

    use super::{Presence, Step, play};
    use crate::local_server::Stopping;

    #[tokio::test]
    async fn every_write_leaves_a_moment_to_flush_the_one_before() {
        let (_running, stopping) = watch::channel(false);
        let steps = vec![Step::Write("a".into()), Step::Write("b".into()), Step::Cut];
        let presence = Presence::new(watch::Sender::default());
        let mut body = play(steps, Stopping::new(stopping), presence).into_data_stream();
        for expected in [Some("a"), Some("b"), None] {
            assert!(body.next().now_or_never().is_none(), "before {expected:?}");
            let item = body.next().await.and_then(Result::ok);
            assert_eq!(item.as_deref(), expected.map(str::as_bytes));
        }
    }
}
