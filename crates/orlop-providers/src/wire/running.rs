//! The requests that can be cancelled by their id. Ids come from callers, so two may be the same.

use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream, StreamExt};
use orlop_core::hooks::Chunk;
use orlop_core::{CancelToken, Cancellation, Error, Result};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll};

#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    next: u64,
    by_number: HashMap<u64, (String, CancelToken)>,
}

impl Running {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request under its id for as long as the guard lives.
    pub(crate) fn enter(&self, request_id: Option<&String>) -> Option<Entered> {
        let (id, token) = (request_id?.clone(), CancelToken::new());
        let mut requests = self.requests();
        let number = requests.next;
        requests.next += 1;
        requests.by_number.insert(number, (id, token.clone()));
        Some(Entered { number, cancelled: token.cancelled(), running: self.clone() })
    }

    pub(crate) fn cancel(&self, request_id: &str) {
        let requests = self.requests();
        let named = requests.by_number.values().filter(|(id, _)| id == request_id);
        let tokens: Vec<CancelToken> = named.map(|(_, token)| token.clone()).collect();
        // Cancelling may end a request, and ending it needs the lock.
        drop(requests);
        tokens.iter().for_each(CancelToken::cancel);
    }
}

/// A request that is registered under its id until this is dropped.
pub(crate) struct Entered {
    number: u64,
    cancelled: BoxFuture<'static, ()>,
    running: Running,
}

impl Entered {
    pub(crate) async fn unless_cancelled<T>(
        mut self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let cancelled = std::mem::replace(&mut self.cancelled, Box::pin(std::future::pending()));
        match futures::future::select(std::pin::pin!(work), cancelled).await {
            futures::future::Either::Left((result, _)) => result,
            futures::future::Either::Right(_) => Err(was_cancelled()),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.requests().by_number.remove(&self.number);
    }
}

fn was_cancelled() -> Error {
    Error::cancelled("the request was cancelled")
}

/// Chunks until the request is cancelled by its id.
pub(crate) struct Guarded {
    chunks: BoxStream<'static, Result<Chunk>>,
    entered: Option<Entered>,
}

impl Guarded {
    /// `chunks`, cancelled with the request where it has an id.
    pub(crate) fn stream(
        chunks: BoxStream<'static, Result<Chunk>>,
        entered: Option<Entered>,
    ) -> BoxStream<'static, Result<Chunk>> {
        match entered {
            Some(entered) => Self { chunks, entered: Some(entered) }.boxed(),
            None => chunks,
        }
    }
}

impl Stream for Guarded {
    type Item = Result<Chunk>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(entered) = &mut this.entered else { return Poll::Ready(None) };
        if entered.cancelled.as_mut().poll(task).is_ready() {
            this.chunks = futures::stream::empty().boxed();
            this.entered = None;
            return Poll::Ready(Some(Err(was_cancelled())));
        }
        this.chunks.poll_next_unpin(task)
    }
}
