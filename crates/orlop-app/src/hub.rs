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

/// How many events a reader that is told when it is slow may be behind.
const MAX_BEHIND: usize = 1_024;

/// How many events wait for a subscriber before it has to catch up from the store.
const MAX_QUEUED: usize = 1_024;

/// The events of one running turn.
#[derive(Default)]
pub(crate) struct Feed {
    state: Mutex<FeedState>,
    changed: Notify,
    /// Told once: those who wait for the end only need not wake up for every event.
    ended: Notify,
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
        self.ended.notify_waiters();
    }

    /// Waits for the end of the turn.
    pub(crate) async fn closed(&self) {
        let ended = self.ended.notified();
        let mut ended = std::pin::pin!(ended);
        ended.as_mut().enable();
        if !locked(&self.state).ended {
            ended.await;
        }
    }

    /// Events with a number above `after`, to the end of the turn.
    pub(crate) fn read(self: &Arc<Self>, after: u64) -> BoxStream<'static, Arc<Event>> {
        self.read_within(after, usize::MAX)
    }

    /// The same for a reader that has to keep up: the events end where it falls behind.
    pub(crate) fn read_closely(self: &Arc<Self>, after: u64) -> BoxStream<'static, Arc<Event>> {
        self.read_within(after, MAX_BEHIND)
    }

    fn read_within(self: &Arc<Self>, after: u64, most: usize) -> BoxStream<'static, Arc<Event>> {
        let reader = {
            let mut state = locked(&self.state);
            state.next_reader += 1;
            let id = state.next_reader;
            state.readers.insert(id, after);
            Reader { feed: self.clone(), id, after, most, allowed: usize::MAX }
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
    /// How far behind it may be once it has caught up.
    most: usize,
    /// How far behind it may be now: no further than it was.
    allowed: usize,
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
                let behind = state.events.len() - place;
                if behind > self.allowed {
                    return None;
                }
                self.allowed = self.allowed.min(behind.saturating_add(self.most));
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
