//! Session locks: a lease in the store, kept alive while it is held, re-entrant within one flow. Sessions
//! that are made for one request and not stored have none: nobody else knows them.
//!
//! Flows of one process queue up in order; another process is waited for by asking again.

use crate::persist::Known;
use crate::scope::Scope;
use crate::store::{Acquired, Lease, Store};
use orlop_core::{CancelToken, Cancellation, Error, Result};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// How long a lease lasts without being renewed.
const LEASE: Duration = Duration::from_secs(15);

/// How long what follows a turn may keep its session.
const AFTERMATH: Duration = Duration::from_secs(5);

/// How long to wait for a session that somebody else works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: a busy session is a conflict.
    No,
    /// Not for a turn that runs, but for what follows one whose end was told already.
    Briefly,
    /// So long.
    For(Duration),
}

impl Default for Wait {
    fn default() -> Self {
        Self::For(Duration::from_secs(30))
    }
}

type Key = (Scope, String);

/// Everything that takes locks in this process.
pub(crate) struct Locks {
    store: Arc<dyn Store>,
    owner: String,
    queues: Mutex<HashMap<Key, Weak<tokio::sync::Mutex<()>>>>,
}

/// One course of work: a request, an operation, and whatever plugins do inside of it. It holds
/// each session at most once, however often it asks.
#[derive(Clone, Default)]
pub(crate) struct Flow {
    held: Arc<Mutex<HashMap<String, Weak<Held>>>>,
    runs: Arc<Runs>,
    aside: bool,
}

#[derive(Default)]
struct Runs {
    /// Sessions in the middle of a lifecycle run, as the run has them now.
    current: Mutex<HashMap<String, orlop_core::Session>>,
    /// Sessions whose saving is under way.
    saving: Mutex<HashSet<String>>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flow {
    /// The same locks for work that is not stored: what it makes of a session is its own.
    pub(crate) fn aside(&self) -> Self {
        Self { held: self.held.clone(), runs: Arc::default(), aside: true }
    }

    /// Whether what is done here is not stored.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside
    }

    fn held(&self, session: &str) -> Option<Arc<Held>> {
        locked(&self.held).get(session).and_then(Weak::upgrade)
    }

    /// The lock on a session that was made for this flow and is not stored.
    pub(crate) fn hold_unstored(&self, session: &str) -> SessionLock {
        self.hold(session, None, Arc::default())
    }

    fn hold(&self, session: &str, leased: Option<Leased>, lost: Arc<AtomicBool>) -> SessionLock {
        let known = Mutex::default();
        let held = Held { session: session.to_owned(), leased: Mutex::new(leased), lost, known };
        let held = Arc::new(held);
        locked(&self.held).insert(session.to_owned(), Arc::downgrade(&held));
        SessionLock(held)
    }

    /// A session that this flow holds, as it was last read or written here: however many others are used
    /// meanwhile, it need not be read again.
    pub(crate) fn known(&self, session: &str) -> Option<Arc<Known>> {
        locked(&self.held(session)?.known).clone()
    }

    /// Sets what [`known`](Self::known) gives, if the flow holds the session.
    pub(crate) fn keep_known(&self, known: &Arc<Known>) {
        if let Some(held) = self.held(known.session.id()) {
            *locked(&held.known) = Some(known.clone());
        }
    }

    /// The session as the lifecycle run under way has it.
    pub(crate) fn current(&self, session: &str) -> Option<orlop_core::Session> {
        locked(&self.runs.current).get(session).cloned()
    }

    /// Sets what [`current`](Self::current) gives, and gives what it was.
    pub(crate) fn set_current(
        &self,
        session: &str,
        value: Option<orlop_core::Session>,
    ) -> Option<orlop_core::Session> {
        let mut current = locked(&self.runs.current);
        match value {
            Some(value) => current.insert(session.to_owned(), value),
            None => {
                let before = current.remove(session);
                if current.is_empty() {
                    // A turn that waits for its model need not have the room.
                    current.shrink_to_fit();
                }
                before
            }
        }
    }

    /// Marks a session as being saved; `false` if it is already.
    pub(crate) fn begin_saving(&self, session: &str) -> bool {
        locked(&self.runs.saving).insert(session.to_owned())
    }

    /// Takes the mark off.
    pub(crate) fn end_saving(&self, session: &str) {
        locked(&self.runs.saving).remove(session);
    }
}

/// The right to change a session, given back when the last holder of the flow drops it.
#[derive(Clone)]
pub struct SessionLock(Arc<Held>);

struct Held {
    session: String,
    /// What the store knows of it; nothing where the session is not stored.
    leased: Mutex<Option<Leased>>,
    lost: Arc<AtomicBool>,
    /// The session as it was last read or written.
    known: Mutex<Option<Arc<Known>>>,
}

struct Leased {
    lease: Lease,
    store: Arc<dyn Store>,
    scope: Scope,
    runtime: tokio::runtime::Handle,
    renewing: tokio::task::AbortHandle,
    /// Dropped when the lease is given back, so that the next in line comes after that.
    turn: OwnedMutexGuard<()>,
}

impl SessionLock {
    /// The lease, for commits. Fails if it was lost in the meantime.
    pub(crate) fn lease(&self) -> Result<Lease> {
        let Held { session, leased, lost, .. } = &*self.0;
        if lost.load(Ordering::Relaxed) {
            return Err(Error::conflict(format!(
                "the lock on session \"{session}\" was lost to another process; load the session and try again"
            )));
        }
        let lease = locked(leased).as_ref().map(|leased| leased.lease.clone());
        lease.ok_or_else(|| {
            Error::bad_state(format!(
                "session \"{session}\" belongs to a request that stores nothing; send it without persist: false"
            ))
        })
    }

    /// The session.
    pub fn session_id(&self) -> &str {
        &self.0.session
    }

    /// Gives the lock back and waits until it is free, unless the flow has other uses for it.
    pub async fn release(self) {
        let leased = Arc::into_inner(self.0).and_then(|held| locked(&held.leased).take());
        if let Some(leased) = leased {
            leased.give_back().await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(leased) = locked(&self.leased).take() {
            leased.renewing.abort();
            let runtime = leased.runtime.clone();
            runtime.spawn(leased.give_back());
        }
    }
}

impl Leased {
    async fn give_back(self) {
        let Self { lease, store, scope, renewing, turn, .. } = self;
        renewing.abort();
        if let Err(error) = store.release(&scope, &lease).await {
            tracing::warn!(target: "orlop::app", %error, session = lease.session, "a lock was not given back; it ends by itself");
        }
        drop(turn);
    }
}

impl Locks {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let owner = crate::owner::of_this_process();
        Self { store, owner, queues: Mutex::default() }
    }

    /// Takes the lock on a session for `flow`, or shares the one it has.
    pub(crate) async fn acquire(
        &self,
        scope: &Scope,
        session: &str,
        flow: &Flow,
        wait: Wait,
        cancelled: Option<&CancelToken>,
    ) -> Result<SessionLock> {
        if let Some(held) = flow.held(session) {
            return Ok(SessionLock(held));
        }
        let deadline = match wait {
            Wait::No => None,
            Wait::Briefly if self.is_answering(scope, session).await? => None,
            Wait::Briefly => Some(Instant::now() + AFTERMATH),
            Wait::For(time) => Some(Instant::now() + time),
        };
        let turn = unless(cancelled, self.queue(scope, session, deadline)).await??;
        let lease = self.lease(scope, session, deadline, cancelled).await?;
        let lost = Arc::new(AtomicBool::new(false));
        let renewing = renew(self.store.clone(), scope.clone(), lease.clone(), lost.clone());
        let leased = Leased {
            lease,
            store: self.store.clone(),
            scope: scope.clone(),
            runtime: tokio::runtime::Handle::current(),
            renewing,
            turn,
        };
        Ok(flow.hold(session, Some(leased), lost))
    }

    async fn is_answering(&self, scope: &Scope, session: &str) -> Result<bool> {
        let last = self.store.turns(scope, Some(session), 1).await?;
        Ok(last.first().is_some_and(|turn| !turn.settled))
    }

    /// How many sessions are locked by this process.
    pub(crate) fn held(&self) -> usize {
        let queues = locked(&self.queues);
        // Whoever holds a lock, or waits for it, holds its queue.
        let held = |queue: &Weak<tokio::sync::Mutex<()>>| queue.strong_count() > 0;
        let sessions = queues.iter().filter(|((_, name), _)| !name.starts_with("request "));
        sessions.filter(|(_, queue)| held(queue)).count()
    }

    /// Waits until nobody else in this process begins the same request.
    pub(crate) async fn beginning(&self, scope: &Scope, request: &str) -> OwnedMutexGuard<()> {
        // No session has such an id.
        self.line(scope, format!("request {request}")).lock_owned().await
    }

    /// Where those wait who want the same thing.
    fn line(&self, scope: &Scope, name: String) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = locked(&self.queues);
        if queues.len() > 1024 {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let held = queues.entry((scope.clone(), name)).or_default();
        held.upgrade().unwrap_or_else(|| {
            let queue = Arc::new(tokio::sync::Mutex::new(()));
            *held = Arc::downgrade(&queue);
            queue
        })
    }

    /// Waits behind the flows of this process.
    async fn queue(
        &self,
        scope: &Scope,
        session: &str,
        deadline: Option<Instant>,
    ) -> Result<OwnedMutexGuard<()>> {
        let queue = self.line(scope, session.to_owned());
        match deadline {
            None => queue.try_lock_owned().map_err(|_| busy(session)),
            Some(deadline) => tokio::time::timeout_at(deadline, queue.lock_owned())
                .await
                .map_err(|_| busy(session)),
        }
    }

    /// Asks the store until it says yes or time is up.
    async fn lease(
        &self,
        scope: &Scope,
        session: &str,
        deadline: Option<Instant>,
        cancelled: Option<&CancelToken>,
    ) -> Result<Lease> {
        // Each lease has an owner of its own: another flow of this process is another owner.
        let owner = format!("{}/{}", self.owner, uuid::Uuid::new_v4());
        let mut pause = Duration::from_millis(10);
        loop {
            match self.store.acquire(scope, session, &owner, LEASE).await? {
                Acquired::Lease(lease) => return Ok(lease),
                Acquired::Held { owner, .. }
                    if crate::owner::is_gone(&owner)
                        && self.store.revoke(scope, session, &owner).await? => {}
                Acquired::Held { remaining, .. } => {
                    let now = Instant::now();
                    let Some(left) = deadline.and_then(|end| end.checked_duration_since(now))
                    else {
                        return Err(busy(session));
                    };
                    if left.is_zero() {
                        return Err(busy(session));
                    }
                    let pause_now = pause.min(remaining.max(Duration::from_millis(1))).min(left);
                    // Not while it asks: the store might say yes to nobody.
                    unless(cancelled, tokio::time::sleep(pause_now)).await?;
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
            }
        }
    }
}

/// Does the work, unless whoever wants it is cancelled before it is done.
async fn unless<T>(cancelled: Option<&CancelToken>, work: impl Future<Output = T>) -> Result<T> {
    let Some(token) = cancelled else { return Ok(work.await) };
    tokio::select! {
        biased;
        () = token.cancelled() => Err(Error::cancelled("the request was cancelled")),
        done = work => Ok(done),
    }
}

fn busy(session: &str) -> Error {
    Error::conflict(format!(
        "session \"{session}\" is busy with another request; wait for it to end, or cancel it"
    ))
    .with_retryable(true)
}

/// Keeps a lease alive until it is aborted or the lease is lost.
fn renew(
    store: Arc<dyn Store>,
    scope: Scope,
    lease: Lease,
    lost: Arc<AtomicBool>,
) -> tokio::task::AbortHandle {
    let task = tokio::spawn(async move {
        let mut last = Instant::now();
        loop {
            tokio::time::sleep(LEASE / 3).await;
            match store.renew(&scope, &lease, LEASE).await {
                Ok(true) => last = Instant::now(),
                Ok(false) => break lost.store(true, Ordering::Relaxed),
                Err(error) if last.elapsed() > LEASE => {
                    tracing::error!(target: "orlop::app", %error, session = lease.session, "a lock could not be kept");
                    break lost.store(true, Ordering::Relaxed);
                }
                Err(error) => {
                    tracing::warn!(target: "orlop::app", %error, session = lease.session, "a lock could not be renewed; trying again");
                }
            }
        }
    });
    task.abort_handle()
}
