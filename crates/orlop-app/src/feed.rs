//! The events of one running turn, fragments included, so that a client that comes back in the middle
//! misses nothing. What is durable is in the store as well and outlives the process.

use crate::lock::locked;
use crate::said::Said;
use futures::stream::{BoxStream, Stream, StreamExt};
use orlop_core::Message;
use orlop_core::types::app_event::{Event, EventKind};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// How many fragments are held for readers that do not keep up.
const MAX_WAITING: usize = 20_000;

/// How many events a reader that is told when it is slow may be behind.
const MAX_BEHIND: u64 = 1_024;

/// How many bytes are held of what was said in messages that are whole by now.
const MAX_SAID: usize = 512 * 1024;

/// How many fragments there are before those that everybody has seen are put together.
const LOOSE: usize = 8;

/// The events of one running turn.
#[derive(Default)]
pub(crate) struct Feed {
    state: Mutex<FeedState>,
    /// Told once: those who wait for the end only need not wake up for every event.
    ended: Notify,
    /// What a turn that is not stored has said; the store has it of others.
    said: Mutex<Vec<Message>>,
}

#[derive(Default)]
struct FeedState {
    /// In the order of their numbers.
    held: VecDeque<Held>,
    /// How many events there were so far.
    told: u64,
    /// Whether there were fragments since the last message that is whole.
    is_speaking: bool,
    /// How many fragments are held one by one, and with how many they are put together.
    loose: usize,
    loose_at_most: usize,
    /// Who reads, each in a place of its own; a place that somebody left is free.
    readers: Vec<Option<Reading>>,
    ended: bool,
}

struct Reading {
    /// The last number it has seen.
    seen: u64,
    /// Who waits for the next one.
    waits: Option<Waker>,
}

/// Events that are held, and how many were told before them.
struct Held {
    place: u64,
    what: What,
}

enum What {
    One(Arc<Event>),
    /// Fragments that every reader has seen, for those who come later.
    Said(Box<Said>),
}

impl Held {
    fn first(&self) -> u64 {
        match &self.what {
            What::One(event) => event.seq,
            What::Said(said) => said.first(),
        }
    }

    fn last(&self) -> u64 {
        match &self.what {
            What::One(event) => event.seq,
            What::Said(said) => said.last(),
        }
    }

    fn is_durable(&self) -> bool {
        matches!(&self.what, What::One(event) if event.kind.is_durable())
    }

    /// Whether it is a fragment with something to read in it: no progress of a tool, and no piece of
    /// a call, which is told as a whole.
    fn is_said(&self) -> bool {
        match &self.what {
            What::One(event) => match &event.kind {
                EventKind::Partial { message } => {
                    !(message.content.is_empty() && message.reasoning.is_empty())
                }
                _ => false,
            },
            What::Said(_) => true,
        }
    }

    /// Whether it is a fragment that says nothing.
    fn is_idle(&self) -> bool {
        !self.is_durable() && !self.is_said()
    }

    /// About how many bytes a fragment takes.
    fn size(&self) -> usize {
        match &self.what {
            What::One(event) => match &event.kind {
                EventKind::Partial { message } => {
                    size_of::<Event>() + message.content.len() + message.reasoning.len()
                }
                _ => 0,
            },
            What::Said(said) => said.size(),
        }
    }

    /// The first event with a number above `after`, and how many were told before it.
    fn next(&self, after: u64) -> Option<(u64, Arc<Event>)> {
        match &self.what {
            What::One(event) => Some((self.place, event.clone())),
            What::Said(said) => {
                let seq = said.first().max(after + 1);
                Some((self.place + seq - said.first(), Arc::new(said.event(seq)?)))
            }
        }
    }
}

impl Feed {
    pub(crate) fn push(&self, event: Arc<Event>) {
        let waiting = {
            let mut state = locked(&self.state);
            let durable = event.kind.is_durable();
            let place = state.told;
            state.told += 1;
            state.held.push_back(Held { place, what: What::One(event) });
            if durable {
                state.settle_fragments();
            } else {
                state.is_speaking = true;
                state.loose += 1;
                state.put_together();
            }
            state.waiting()
        };
        waiting.wake();
    }

    /// Keeps what the turn has said so far, before the events that tell that it is whole.
    pub(crate) fn keep_said(&self, messages: Vec<Message>) {
        *locked(&self.said) = messages;
    }

    /// What a turn that is not stored has said so far.
    pub(crate) fn said(&self) -> Vec<Message> {
        locked(&self.said).clone()
    }

    /// Whether somebody reads it.
    pub(crate) fn is_read(&self) -> bool {
        locked(&self.state).readers.iter().any(Option::is_some)
    }

    /// The number of the first event it has.
    pub(crate) fn first(&self) -> Option<u64> {
        locked(&self.state).held.front().map(Held::first)
    }

    pub(crate) fn end(&self) {
        let waiting = {
            let mut state = locked(&self.state);
            state.ended = true;
            state.waiting()
        };
        waiting.wake();
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
        self.read_within(after, u64::MAX)
    }

    /// The same for a reader that has to keep up: the events end where it falls behind.
    pub(crate) fn read_closely(self: &Arc<Self>, after: u64) -> BoxStream<'static, Arc<Event>> {
        self.read_within(after, MAX_BEHIND)
    }

    fn read_within(self: &Arc<Self>, after: u64, most: u64) -> BoxStream<'static, Arc<Event>> {
        let mut state = locked(&self.state);
        // A number that is yet to come would hide what happens until then.
        let after = state.held.back().map_or(after, |newest| after.min(newest.last()));
        let place = state.take_place(Reading { seen: after, waits: None });
        Reader { feed: self.clone(), place, after, most, allowed: u64::MAX }.boxed()
    }
}

/// Those who wait for an event: mostly one, and none is told while the feed is held.
struct Waiting {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Waiting {
    fn wake(self) {
        self.first.into_iter().chain(self.others).for_each(Waker::wake);
    }
}

impl FeedState {
    /// What everybody who reads has seen.
    fn seen(&self) -> u64 {
        self.readers.iter().flatten().map(|reading| reading.seen).min().unwrap_or(u64::MAX)
    }

    fn take_place(&mut self, reading: Reading) -> usize {
        match self.readers.iter().position(Option::is_none) {
            Some(place) => {
                self.readers[place] = Some(reading);
                place
            }
            None => {
                self.readers.push(Some(reading));
                self.readers.len() - 1
            }
        }
    }

    fn waiting(&mut self) -> Waiting {
        let mut waiting = self.readers.iter_mut().flatten().filter_map(|it| it.waits.take());
        Waiting { first: waiting.next(), others: waiting.collect() }
    }

    /// Whether the last event was told.
    fn is_over(&self) -> bool {
        let last = self.held.back().map(|held| &held.what);
        matches!(last, Some(What::One(event)) if event.kind.ends_request())
    }

    /// Puts what was said of a message together that is whole by now, for those who come back in the
    /// middle of it. What says nothing at its end only readers in the middle of that need.
    fn settle_fragments(&mut self) {
        // Many durable events in a row must not each look at all of them.
        if !std::mem::take(&mut self.is_speaking) {
            return;
        }
        let seen = self.seen();
        for held in std::mem::take(&mut self.held) {
            if held.is_durable() {
                while self.held.back().is_some_and(|it| it.is_idle() && it.last() <= seen) {
                    self.held.pop_back();
                }
            }
            self.hold(held, seen);
        }
        for held in &mut self.held {
            if let What::Said(said) = &mut held.what {
                said.close();
            }
        }
        self.forget_earliest(seen);
        self.count_fragments();
    }

    /// Lets go of what was said first where it is too much, a message at a time: one with a hole in it
    /// would be worse than none.
    fn forget_earliest(&mut self, seen: u64) {
        let mut size: usize = self.held.iter().map(Held::size).sum();
        while size > MAX_SAID {
            let Some(start) = self.held.iter().position(|held| !held.is_durable()) else { return };
            let rest = self.held.iter().skip(start);
            let message: Vec<&Held> = rest.take_while(|held| !held.is_durable()).collect();
            if message.last().is_some_and(|last| last.last() > seen) {
                return;
            }
            size -= message.iter().map(|held| held.size()).sum::<usize>();
            let count = message.len();
            self.held.drain(start..start + count);
        }
    }

    /// Puts fragments together that everybody has seen. If there are too many that somebody has not,
    /// they go: nobody waits for readers, and the store has the message once it is whole.
    fn put_together(&mut self) {
        if self.loose > MAX_WAITING {
            self.held.retain(Held::is_durable);
            self.count_fragments();
        } else if self.loose >= self.loose_at_most.max(LOOSE) {
            let seen = self.seen();
            // What comes before the first of them stays as it is.
            let is_loose = |held: &Held| matches!(held.what, What::One(_)) && !held.is_durable();
            let first = self.held.iter().position(is_loose).unwrap_or(self.held.len());
            for held in self.held.split_off(first) {
                self.hold(held, seen);
            }
            self.count_fragments();
        }
    }

    fn hold(&mut self, held: Held, seen: u64) {
        let Held { place, what: What::One(event) } = held else {
            self.held.push_back(held);
            return;
        };
        if event.seq <= seen {
            if let Some(Held { what: What::Said(said), .. }) = self.held.back_mut()
                && said.take_in(&event)
            {
                return;
            }
            if let Some(said) = Said::begin(&event) {
                self.held.push_back(Held { place, what: What::Said(Box::new(said)) });
                return;
            }
        }
        self.held.push_back(Held { place, what: What::One(event) });
    }

    fn count_fragments(&mut self) {
        let fragments = self.held.iter().filter(|held| !held.is_durable());
        self.loose = fragments.filter(|held| matches!(held.what, What::One(_))).count();
        // Looking at those that somebody has not seen again and again would cost more than they do.
        self.loose_at_most = self.loose * 2;
    }
}

struct Reader {
    feed: Arc<Feed>,
    /// Its place among those who read.
    place: usize,
    after: u64,
    /// How far behind it may be once it has caught up.
    most: u64,
    /// How far behind it may be now: no further than it was.
    allowed: u64,
}

impl Stream for Reader {
    type Item = Arc<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<Event>>> {
        let Self { feed, place, after, most, allowed } = &mut *self;
        let mut state = locked(&feed.state);
        let first = state.held.partition_point(|held| held.last() <= *after);
        let next = state.held.get(first).and_then(|held| held.next(*after));
        let behind = next.as_ref().map_or(0, |(told, _)| state.told - told);
        if behind > *allowed {
            return Poll::Ready(None);
        }
        *allowed = (*allowed).min(behind.saturating_add(*most));
        let is_over = state.ended || state.is_over();
        let Some(Some(reading)) = state.readers.get_mut(*place) else { return Poll::Ready(None) };
        if let Some((_, event)) = next {
            *after = event.seq;
            reading.seen = event.seq;
            return Poll::Ready(Some(event));
        }
        if is_over {
            return Poll::Ready(None);
        }
        match &mut reading.waits {
            Some(held) => held.clone_from(cx.waker()),
            waits => *waits = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = locked(&self.feed.state);
        if let Some(place) = state.readers.get_mut(self.place) {
            *place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::rfc3339;
    use orlop_core::Partial;
    use serde_json::json;

    fn event(seq: u64, kind: EventKind) -> Arc<Event> {
        let at = rfc3339(1_700_000_000_000 + i64::try_from(seq * 7).unwrap());
        let (session_id, request_id) = (Some("s".to_owned()), Some("r".to_owned()));
        Arc::new(Event { seq, at, session_id, request_id, kind })
    }

    /// Reasoning, text, something of a tool, text again.
    fn fragment(seq: u64) -> Arc<Event> {
        let partial = |message| EventKind::Partial { message };
        event(
            seq,
            match seq {
                ..40 => partial(Partial::reasoning(format!("r{seq} "))),
                90 => EventKind::ToolPartial { call_id: "c".to_owned(), part: json!("out") },
                91 => partial(Partial { reasoning: "both".to_owned(), ..Partial::text("both") }),
                _ => partial(Partial::text(format!("é{seq} "))),
            },
        )
    }

    async fn all(feed: &Arc<Feed>, after: u64) -> Vec<Arc<Event>> {
        feed.read(after).collect().await
    }

    #[tokio::test]
    async fn who_comes_late_is_told_what_those_were_told_who_came_early() {
        let feed = Arc::new(Feed::default());
        let mut early = feed.read(0);
        let mut told = Vec::new();
        for seq in 1..=200 {
            feed.push(fragment(seq));
            told.push(early.next().await.unwrap());
        }
        let held = locked(&feed.state).held.len();
        assert!(held < 30, "{held} are held");
        drop(early);
        feed.end();
        let pushed: Vec<_> = (1..=200).map(fragment).collect();
        assert_eq!(told, pushed);
        for after in [0, 1, 39, 40, 77, 90, 91, 199, 200] {
            assert_eq!(all(&feed, after as u64).await, pushed[after..], "after {after}");
        }
    }

    #[tokio::test]
    async fn what_somebody_has_not_seen_is_kept_for_them_to_the_end_of_the_message() {
        let feed = Arc::new(Feed::default());
        let slow = feed.read(0);
        for seq in 1..=100 {
            feed.push(fragment(seq));
        }
        feed.push(event(101, EventKind::SessionDeleted {}));
        feed.end();
        assert_eq!(slow.collect::<Vec<_>>().await.len(), 101);
        assert_eq!(all(&feed, 0).await.len(), 101);
        let after = Arc::new(Feed::default());
        (1..=100).for_each(|seq| after.push(fragment(seq)));
        after.push(event(101, EventKind::SessionDeleted {}));
        after.end();
        let told = all(&after, 0).await;
        assert_eq!(told.len(), 101, "what was said is kept for those who come back");
        assert_eq!(locked(&after.state).held.len(), 6, "and put together");
    }

    fn text(seq: u64, text: &str) -> Arc<Event> {
        event(seq, EventKind::Partial { message: Partial::text(text) })
    }

    fn whole(seq: u64) -> Arc<Event> {
        event(seq, EventKind::AnswerRestarted {})
    }

    #[tokio::test]
    async fn what_says_nothing_at_the_end_of_a_message_goes_with_it() {
        let feed = Arc::new(Feed::default());
        let part = |seq| {
            event(seq, EventKind::ToolPartial { call_id: "c".to_owned(), part: json!("out") })
        };
        for told in [text(1, "a"), part(2), text(3, "b"), part(4), part(5), whole(6), part(7)] {
            feed.push(told);
        }
        feed.push(whole(8));
        feed.end();
        // One in the middle stays, so that the numbers of a text have no hole.
        let numbers: Vec<u64> = all(&feed, 0).await.iter().map(|it| it.seq).collect();
        assert_eq!(numbers, [1, 2, 3, 6, 8]);
    }

    #[tokio::test]
    async fn of_too_much_that_was_said_the_earliest_message_goes_as_a_whole() {
        let feed = Arc::new(Feed::default());
        let half = "x".repeat(MAX_SAID / 2 - 4096);
        for message in 0..4u64 {
            let first = message * 10 + 1;
            feed.push(text(first, &half));
            feed.push(text(first + 1, "end"));
            feed.push(whole(first + 2));
        }
        let numbers = async |after| {
            let told = feed.read(after).map(|it| it.seq);
            told.collect::<Vec<u64>>().await
        };
        feed.end();
        assert_eq!(numbers(0).await, [3, 13, 21, 22, 23, 31, 32, 33]);
        assert_eq!(numbers(21).await, [22, 23, 31, 32, 33]);
        let held = locked(&feed.state).held.iter().map(Held::size).sum::<usize>();
        assert!(held <= MAX_SAID, "{held}");
    }

    #[tokio::test]
    async fn a_number_that_is_yet_to_come_hides_nothing() {
        let feed = Arc::new(Feed::default());
        feed.push(text(1, "a"));
        let mut far = feed.read(1_000);
        feed.push(text(2, "b"));
        assert_eq!(far.next().await.unwrap().seq, 2);
        let cancelled = EventKind::RequestCancelled { reason: "enough".to_owned() };
        feed.push(event(3, cancelled));
        // Nothing follows the last event, though the turn is not closed yet.
        assert!(feed.read(3).next().await.is_none());
    }

    #[tokio::test]
    async fn who_has_to_keep_up_hears_no_more_once_too_far_behind() {
        let feed = Arc::new(Feed::default());
        let mut close = feed.read_closely(0);
        feed.push(fragment(1));
        assert_eq!(close.next().await.unwrap().seq, 1);
        for seq in 2..=MAX_BEHIND + 10 {
            feed.push(fragment(seq));
        }
        assert!(close.next().await.is_none());
    }
}
