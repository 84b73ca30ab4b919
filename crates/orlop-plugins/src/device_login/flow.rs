//! A login under way: the code somebody has to enter, and the task that waits for it.

use super::NAME;
use super::protocol::{Asked, MAX_INTERVAL, Offer, Server, after};
use orlop_app::{Application, Credentials};
use orlop_core::Map;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

/// How a login stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// The code has not been entered.
    Pending,
    Success,
    /// It will not become one; this is why.
    Failed(String),
    Cancelled,
}

/// A login that was started in this process.
pub(super) struct Flow {
    number: u64,
    pub(super) state: State,
    pub(super) offer: Offer,
    pub(super) expires_at: String,
    worker: Option<AbortHandle>,
}

/// The logins that were started, by service. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Flows(Arc<Held>);

#[derive(Default)]
struct Held {
    flows: Mutex<HashMap<String, Flow>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let flows = self.flows.get_mut().unwrap_or_else(PoisonError::into_inner);
        flows.values().filter_map(|flow| flow.worker.as_ref()).for_each(AbortHandle::abort);
    }
}

impl Flows {
    fn held(&self) -> MutexGuard<'_, HashMap<String, Flow>> {
        self.0.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the login of a service, if one was started.
    pub(super) fn look<T>(&self, service: &str, look: impl FnOnce(&Flow) -> T) -> Option<T> {
        self.held().get(service).map(look)
    }

    /// Begins to wait for a code, in place of what was under way.
    pub(super) fn begin(
        &self,
        server: Server,
        offer: Offer,
        app: &Application,
        credentials: Credentials,
        second: Duration,
    ) {
        let service = server.service.name.clone();
        let mut held = self.held();
        let number = held.get(&service).map_or(1, |flow| flow.number + 1);
        if let Some(worker) = held.get(&service).and_then(|flow| flow.worker.as_ref()) {
            worker.abort();
        }
        let expires_at = after(offer.expires_in);
        let waiting = Waiting {
            // Only what the worker is told of itself: the flow keeps no workers of its own alive.
            flows: Arc::downgrade(&self.0),
            server,
            offer: offer.clone(),
            // Not the handle of the action, which ends before.
            app: app.for_scope(app.scope().clone()),
            credentials,
            second,
            number,
        };
        let worker = Some(tokio::spawn(waiting.run()).abort_handle());
        held.insert(service, Flow { number, state: State::Pending, offer, expires_at, worker });
    }

    /// Ends the login of a service that is under way. Says whether one was.
    pub(super) fn cancel(&self, service: &str) -> bool {
        let mut held = self.held();
        let Some(flow) = held.get_mut(service).filter(|flow| flow.state == State::Pending) else {
            return false;
        };
        flow.state = State::Cancelled;
        if let Some(worker) = flow.worker.take() {
            worker.abort();
        }
        true
    }

    /// Forgets what became of the login of a service.
    pub(super) fn forget(&self, service: &str) {
        self.cancel(service);
        self.held().remove(service);
    }
}

/// The task that waits.
struct Waiting {
    flows: std::sync::Weak<Held>,
    server: Server,
    offer: Offer,
    app: Application,
    credentials: Credentials,
    second: Duration,
    number: u64,
}

impl Waiting {
    async fn run(self) {
        let asked = self.ask().await;
        let service = self.server.service.name.clone();
        let Some(flows) = self.flows.upgrade().map(Flows) else { return };
        let state = {
            // Who cancels meanwhile waits for the lock, or has been there; nothing is written then.
            let mut held = flows.held();
            let flow = held.get_mut(&service);
            let flow = flow.filter(|it| it.number == self.number && it.state == State::Pending);
            let Some(flow) = flow else { return };
            flow.worker = None;
            flow.state = match asked {
                Ok(credential) => {
                    match self.credentials.store(&self.server.service.credential, credential) {
                        Ok(()) => State::Success,
                        Err(error) => State::Failed(error.message().to_owned()),
                    }
                }
                Err(why) => State::Failed(why),
            };
            flow.state.clone()
        };
        let mut event = Map::from_iter([
            ("type".to_owned(), "login_finished".into()),
            ("name".to_owned(), service.into()),
        ]);
        match state {
            State::Failed(why) => {
                event.insert("state".to_owned(), "failed".into());
                event.insert("message".to_owned(), why.into());
            }
            _ => drop(event.insert("state".to_owned(), json!("success"))),
        }
        if let Err(error) = self.app.publish_event(NAME, event).await {
            tracing::warn!(target: "orlop::plugins", %error, "the end of a login could not be told");
        }
    }

    /// Asks until there is a token, a refusal, or no time left.
    async fn ask(&self) -> Result<orlop_app::Credential, String> {
        let lasts =
            |seconds: u64| self.second.saturating_mul(u32::try_from(seconds).unwrap_or(u32::MAX));
        let deadline = Instant::now() + lasts(self.offer.expires_in);
        let mut interval = self.offer.interval;
        let mut problem = None;
        loop {
            sleep(lasts(interval)).await;
            if Instant::now() >= deadline {
                let why = "the code was not entered in time; log in again";
                return Err(match problem {
                    Some(problem) => format!("{why} ({problem})"),
                    None => why.to_owned(),
                });
            }
            problem = None;
            match self.server.ask(&self.offer).await {
                Asked::Granted(credential) => return Ok(credential),
                Asked::Refused(why) => return Err(why),
                Asked::Pending => {}
                Asked::SlowDown => interval = (interval + 5).min(MAX_INTERVAL),
                Asked::Lost(why) => {
                    interval = (interval * 2).min(MAX_INTERVAL);
                    problem = Some(why);
                }
            }
        }
    }
}
