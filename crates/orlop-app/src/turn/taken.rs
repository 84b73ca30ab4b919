//! Requests that were taken and have not begun: they wait for their session, or are being prepared.
//! Nothing of them is stored yet, so that whoever asks for one, or cancels it, finds it here.

use crate::application::{Application, Shared};
use crate::lock::locked;
use crate::scope::Scope;
use orlop_core::{CancelToken, Cancellation, Error, Result, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use tokio::sync::watch;

type Key = (Scope, String);

/// Those of this process.
#[derive(Default)]
pub(crate) struct TakenRequests(Mutex<HashMap<Key, Weak<Taken>>>);

impl TakenRequests {
    pub(super) fn get(&self, scope: &Scope, request: &str) -> Option<Arc<Taken>> {
        locked(&self.0).get(&(scope.clone(), request.to_owned())).and_then(Weak::upgrade)
    }

    /// Cancels those of a session, but not the request `own`.
    fn cancel_of(&self, scope: &Scope, session: &str, own: Option<&str>, reason: &str) {
        // Let go of outside of the lock, which whoever is the last to hold one takes.
        let all: Vec<Arc<Taken>> = locked(&self.0).values().filter_map(Weak::upgrade).collect();
        let is_own = |it: &Taken| own == Some(it.key.1.as_str());
        let is_of = |it: &&Arc<Taken>| it.key.0 == *scope && it.session == session && !is_own(it);
        all.iter().filter(is_of).for_each(|it| it.cancel(reason));
    }
}

/// A request that was taken and has not begun, for as long as somebody holds it. All who send the
/// same request hold the same.
pub struct Taken {
    key: Key,
    session: String,
    cancel: CancelToken,
    reason: OnceLock<String>,
    /// Why it does not begin; it closes when nobody holds the request any more.
    failed: watch::Sender<Option<Error>>,
    shared: Arc<Shared>,
}

impl Application {
    /// Cancels requests of a session that have not begun. One in which a plugin asks for it goes on.
    pub(crate) fn cancel_taken(&self, session: &str, reason: &str) {
        let own = self.caller.owned("request_id").and_then(Value::as_str);
        self.shared.taken.cancel_of(&self.scope, session, own, reason);
    }

    /// Notes that a request is being taken, so that it can be cancelled from now on. Sending it does
    /// that as well; whoever has something to do before holds what this gives meanwhile.
    pub fn take_request(&self, request_id: &str, session_id: &str) -> Arc<Taken> {
        let key = (self.scope.clone(), request_id.to_owned());
        let mut all = locked(&self.shared.taken.0);
        let held = all.entry(key.clone()).or_default();
        held.upgrade().unwrap_or_else(|| {
            let taken = Arc::new(Taken {
                key,
                session: session_id.to_owned(),
                cancel: CancelToken::new(),
                reason: OnceLock::new(),
                failed: watch::Sender::new(None),
                shared: self.shared.clone(),
            });
            *held = Arc::downgrade(&taken);
            taken
        })
    }
}

impl Taken {
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn cancel(&self, reason: &str) {
        let _ = self.reason.set(reason.to_owned());
        self.cancel.cancel();
    }

    pub(super) fn token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Why it was cancelled, if it was.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Does the work, unless the request is cancelled before it is done; then it is given up.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Error::cancelled(self.reason().unwrap_or_default())),
            done = work => done,
        }
    }

    /// Passes on what became of it, and tells those who follow it if it does not begin.
    pub(crate) fn told<T>(&self, begun: Result<T>) -> Result<T> {
        begun.inspect_err(|error| {
            self.failed.send_replace(Some(error.clone()));
        })
    }

    /// Waits until it has begun, or does not any more. Gives why not, if that is known.
    pub(super) fn begun(&self) -> impl Future<Output = Option<Error>> + use<> {
        let mut failed = self.failed.subscribe();
        async move {
            while failed.changed().await.is_ok() {}
            failed.borrow().clone()
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut all = locked(&self.shared.taken.0);
        // The same request may have been sent again just now.
        if all.get(&self.key).is_some_and(|held| held.strong_count() == 0) {
            all.remove(&self.key);
        }
    }
}
