//! Live events: the feed of each running turn, and subscribers to everything of a scope.
//!
//! A feed holds all events of its turn, fragments included, so that a client that comes back in
//! the middle misses nothing. What is durable is in the store as well and outlives the process.

use crate::lock::locked;
use crate::scope::Scope;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::types::app_event::Event;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc};

/// How many events a feed holds for readers that do not keep up.
const MAX_WAITING: usize = 20_000;

/// How many events wait for a subscriber before it has to catch up from the store.
const MAX_QUEUED: usize = 1_024;

/// The events of one running turn.
#[derive(Default)]
pub(crate) struct Feed {
    state: Mutex<FeedState>,
    changed: Notify,
}

#[derive(Default)]
struct FeedState {
    /// How many of the events are fragments.
    fragments: usize,
    /// In the order of their numbers.
    events: VecDeque<Arc<Event>>,
    /// The last number each reader has seen.
    readers: HashMap<u64, u64>,
    next_reader: u64,
    ended: bool,
}

impl Feed {
    pub(crate) fn push(&self, event: Arc<Event>) {
        {
            let mut state = locked(&self.state);
            let durable = event.kind.is_durable();
            state.events.push_back(event);
            state.fragments += usize::from(!durable);
            if durable {
                state.forget_fragments();
            } else if state.events.len() > MAX_WAITING {
                state.events.retain(|event| event.kind.is_durable());
                state.fragments = 0;
            }
        }
        self.changed.notify_waiters();
    }

    /// The number of the first event it has.
    pub(crate) fn first(&self) -> Option<u64> {
        locked(&self.state).events.front().map(|event| event.seq)
    }

    pub(crate) fn end(&self) {
        locked(&self.state).ended = true;
        self.changed.notify_waiters();
    }

    /// Waits for the end of the turn.
    pub(crate) async fn closed(&self) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if locked(&self.state).ended {
                return;
            }
            changed.await;
        }
    }

    /// Events with a number above `after`, to the end of the turn.
    pub(crate) fn read(self: &Arc<Self>, after: u64) -> BoxStream<'static, Arc<Event>> {
        let reader = {
            let mut state = locked(&self.state);
            state.next_reader += 1;
            let id = state.next_reader;
            state.readers.insert(id, after);
            Reader { feed: self.clone(), id, after }
        };
        futures::stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await?;
            Some((event, reader))
        })
        .boxed()
    }
}

impl FeedState {
    /// A finished message has all its fragments, so only readers in the middle of them need them.
    fn forget_fragments(&mut self) {
        // Many durable events in a row must not each look at all of them.
        if self.fragments == 0 {
            return;
        }
        let seen = self.readers.values().copied().min().unwrap_or(u64::MAX);
        let before = self.events.len();
        self.events.retain(|event| event.kind.is_durable() || event.seq > seen);
        self.fragments -= before - self.events.len();
    }
}

struct Reader {
    feed: Arc<Feed>,
    id: u64,
    after: u64,
}

impl Reader {
    async fn next(&mut self) -> Option<Arc<Event>> {
        let feed = self.feed.clone();
        loop {
            let changed = feed.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = locked(&feed.state);
                let place = state.events.partition_point(|event| event.seq <= self.after);
                if let Some(event) = state.events.get(place).cloned() {
                    self.after = event.seq;
                    state.readers.insert(self.id, event.seq);
                    return Some(event);
                }
                if state.ended {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        locked(&self.feed.state).readers.remove(&self.id);
    }
}

/// Everything that hears of events in this process.
#[derive(Default)]
pub(crate) struct Hub {
    feeds: Mutex<HashMap<(Scope, String), Arc<Feed>>>,
    subscribers: Mutex<Vec<Subscriber>>,
}

struct Subscriber {
    scope: Scope,
    session: Option<String>,
    queue: mpsc::Sender<Arc<Event>>,
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
        if subscribers.is_empty() {
            return;
        }
        subscribers.retain(|subscriber| {
            let wanted = subscriber.scope == *scope
                && subscriber
                    .session
                    .as_ref()
                    .is_none_or(|session| event.session_id.as_deref() == Some(session.as_str()));
            match wanted {
                true => subscriber.queue.try_send(event.clone()).is_ok(),
                false => !subscriber.queue.is_closed(),
            }
        });
    }

    /// Events from now on. The queue ends when the subscriber does not keep up.
    pub(crate) fn subscribe(
        &self,
        scope: &Scope,
        session: Option<&str>,
    ) -> mpsc::Receiver<Arc<Event>> {
        let (queue, events) = mpsc::channel(MAX_QUEUED);
        locked(&self.subscribers).push(Subscriber {
            scope: scope.clone(),
            session: session.map(str::to_owned),
            queue,
        });
        events
    }
}
