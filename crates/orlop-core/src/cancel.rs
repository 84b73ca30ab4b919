//! Cancellation: one token, seen by the caller, the core, the provider and the tools.

use futures::future::BoxFuture;
use futures::task::{AtomicWaker, Context, Poll};
use orlop_types::{Error, Result};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Identifies a callback added to a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallbackId(u64);

impl CallbackId {
    /// An id, for a cancellation of the host's own kind.
    pub fn new(id: u64) -> Self {
        Self(id)
    }
}

/// Something that can be cancelled. [`CancelToken`] is the ordinary one; a host with its own kind
/// of token implements this for it.
pub trait Cancellation: Send + Sync {
    /// Whether it has been cancelled.
    fn is_cancelled(&self) -> bool;
    /// Ends when it is cancelled.
    fn cancelled(&self) -> BoxFuture<'static, ()>;
    /// Runs `callback` when it is cancelled (at once, if it already is).
    fn add_callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<CallbackId>;
    /// Forgets a callback that has not run.
    fn remove_callback(&self, id: CallbackId) -> Result<()>;
}

/// A token shared by whoever may cancel and whoever must stop.
///
/// ```
/// use orlop_core::{CancelToken, Cancellation};
/// let token = CancelToken::new();
/// let seen = token.clone();
/// token.cancel();
/// assert!(seen.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    callbacks: BTreeMap<CallbackId, Box<dyn FnOnce() + Send>>,
    wakers: Vec<Arc<AtomicWaker>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels. Callbacks run on this thread, each once.
    pub fn cancel(&self) {
        if self.0.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        let waiting = std::mem::take(&mut *self.waiting());
        for waker in waiting.wakers {
            waker.wake();
        }
        for callback in waiting.callbacks.into_values() {
            callback();
        }
    }

    /// How many callbacks wait.
    pub fn callback_count(&self) -> usize {
        self.waiting().callbacks.len()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cancellation for CancelToken {
    fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    fn cancelled(&self) -> BoxFuture<'static, ()> {
        let waker = Arc::new(AtomicWaker::new());
        self.waiting().wakers.push(waker.clone());
        Box::pin(Cancelled { token: self.clone(), waker })
    }

    fn add_callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<CallbackId> {
        let mut waiting = self.waiting();
        let id = CallbackId(waiting.next);
        waiting.next += 1;
        if !self.is_cancelled() {
            waiting.callbacks.insert(id, callback);
            return Ok(id);
        }
        drop(waiting);
        callback();
        Ok(id)
    }

    fn remove_callback(&self, id: CallbackId) -> Result<()> {
        match self.waiting().callbacks.remove(&id) {
            Some(_) => Ok(()),
            None => Err(Error::not_found("this callback has run or was removed before")),
        }
    }
}

struct Cancelled {
    token: CancelToken,
    waker: Arc<AtomicWaker>,
}

impl Future for Cancelled {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        if self.token.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.token.waiting().wakers.retain(|waker| !Arc::ptr_eq(waker, &self.waker));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn callbacks_run_once_and_can_be_removed() {
        let (token, runs) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let count = |runs: &Arc<AtomicUsize>| {
            let runs = runs.clone();
            Box::new(move || {
                runs.fetch_add(1, Ordering::SeqCst);
            })
        };
        let kept = token.add_callback(count(&runs)).unwrap();
        let removed = token.add_callback(count(&runs)).unwrap();
        assert_ne!(kept, removed);
        token.remove_callback(removed).unwrap();
        assert!(token.remove_callback(removed).is_err());
        token.cancel();
        token.cancel();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        token.add_callback(count(&runs)).unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 2, "added after cancelling: runs at once");
    }

    #[test]
    fn waiting_ends_on_cancel_and_leaves_nothing_behind() {
        let token = CancelToken::new();
        let mut wait = token.cancelled();
        assert!((&mut wait).now_or_never().is_none());
        token.cancel();
        assert!((&mut wait).now_or_never().is_some());
        let other = CancelToken::new();
        drop(other.cancelled());
        assert!(other.waiting().wakers.is_empty());
    }
}
