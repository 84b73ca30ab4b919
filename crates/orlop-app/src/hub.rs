//! Live events: the feed of each running turn, and subscribers to everything of a scope.

use crate::feed::Feed;
use crate::lock::locked;
use crate::scope::Scope;
use orlop_core::types::app_event::Event;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// How many events wait for a subscriber before it has to catch up from the store.
const MAX_QUEUED: usize = 1_024;

/// Everything that hears of events in this process.
#[derive(Default)]
pub(crate) struct Hub {
    feeds: Mutex<HashMap<(Scope, String), Arc<Feed>>>,
    subscribers: Mutex<Subscribers>,
}

type Queue = mpsc::Sender<Arc<Event>>;

/// By whom they act for and what they follow, so that an event costs those who want it.
#[derive(Default)]
struct Subscribers {
    of: HashMap<Scope, OfScope>,
    /// How many there are, as far as is known.
    count: usize,
    /// When there are more, those that are gone are looked for.
    tidy_above: usize,
}

#[derive(Default)]
struct OfScope {
    everything: Vec<Queue>,
    sessions: HashMap<String, Vec<Queue>>,
}

impl Subscribers {
    /// Drops those that are gone. Most are noticed when they are told something; those who follow
    /// what never changes are not.
    fn tidy(&mut self) {
        if self.count <= self.tidy_above {
            return;
        }
        let mut count = 0;
        self.of.retain(|_, of| {
            of.everything.retain(|queue| !queue.is_closed());
            of.sessions.retain(|_, queues| {
                queues.retain(|queue| !queue.is_closed());
                !queues.is_empty()
            });
            let left = of.everything.len() + of.sessions.values().map(Vec::len).sum::<usize>();
            count += left;
            left > 0
        });
        self.count = count;
        self.tidy_above = (count * 2).max(1_024);
    }
}

impl Hub {
    /// Opens the feed of a turn.
    pub(crate) fn open(&self, scope: &Scope, request: &str) -> Arc<Feed> {
        let feed = Arc::new(Feed::default());
        locked(&self.feeds).insert((scope.clone(), request.to_owned()), feed.clone());
        feed
    }

    /// The feed of a turn that runs in this process.
    pub(crate) fn feed(&self, scope: &Scope, request: &str) -> Option<Arc<Feed>> {
        locked(&self.feeds).get(&(scope.clone(), request.to_owned())).cloned()
    }

    /// Ends the feed of a turn.
    pub(crate) fn close(&self, scope: &Scope, request: &str) {
        if let Some(feed) = locked(&self.feeds).remove(&(scope.clone(), request.to_owned())) {
            feed.end();
        }
    }

    /// Tells subscribers. One that does not keep up loses its place and has to read the store.
    pub(crate) fn tell(&self, scope: &Scope, event: &Arc<Event>) {
        let mut subscribers = locked(&self.subscribers);
        let Some(of) = subscribers.of.get_mut(scope) else { return };
        let tell = |queue: &Queue| queue.try_send(event.clone()).is_ok();
        of.everything.retain(tell);
        let session = event.session_id.as_deref();
        if let Some(queues) = session.and_then(|session| of.sessions.get_mut(session)) {
            queues.retain(tell);
        }
    }

    /// Events from now on. The queue ends when the subscriber does not keep up.
    pub(crate) fn subscribe(
        &self,
        scope: &Scope,
        session: Option<&str>,
    ) -> mpsc::Receiver<Arc<Event>> {
        let (queue, events) = mpsc::channel(MAX_QUEUED);
        let mut subscribers = locked(&self.subscribers);
        subscribers.count += 1;
        subscribers.tidy();
        let of = subscribers.of.entry(scope.clone()).or_default();
        match session {
            Some(session) => of.sessions.entry(session.to_owned()).or_default().push(queue),
            None => of.everything.push(queue),
        }
        events
    }
}
