//! A turn begins and ends with milliseconds of work, and hundreds may begin at once. So that answers
//! under way go on meanwhile, this work waits in line: as many turns at a time as half the
//! processors, one step each, and everything else that is ready goes first whenever they had their
//! share of the time. Turns that have begun go before requests that are being taken, and who came
//! first goes first; a step that takes too long is passed by.

use crate::lock::locked;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, timeout};

/// A step that takes longer, because a plugin keeps its thread, holds its place in vain.
const PATIENCE: Duration = Duration::from_millis(100);

/// So long the line works before everything else goes first. Answers under way wait for it, and those
/// that begin wait for all answers under way as often as it is over.
const SHARE: Duration = Duration::from_millis(1);

/// The line.
#[derive(Clone)]
pub(crate) struct Pace(Arc<Mutex<Line>>);

struct Line {
    /// How many more may take a step now.
    free: usize,
    /// How long it may work at once, and what is left of that.
    share: Duration,
    left: Duration,
    /// The number of who comes next.
    next: u64,
    waiting: BTreeMap<Rank, Waker>,
    /// Who takes a step, and since when.
    stepping: BTreeMap<Rank, Instant>,
}

/// Where one stands in the line.
type Rank = (Stage, u64);

/// How far a turn is; those named first go first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Begun,
    Taken,
}

/// Whether a turn streams, and need not wait in line.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<AtomicBool>);

impl Streams {
    pub(crate) fn set(&self, streams: bool) {
        self.0.store(streams, Ordering::Relaxed);
    }

    fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Pace {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::of((processors / 2).max(1), SHARE)
    }

    fn of(width: usize, share: Duration) -> Self {
        let (waiting, stepping) = (BTreeMap::new(), BTreeMap::new());
        let line = Line { free: width, share, left: share, next: 0, waiting, stepping };
        Self(Arc::new(Mutex::new(line)))
    }

    /// Does the work in a task of its own, which waits in line with every step that is not one of a
    /// stream. What waits for something else holds nobody up.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        stage: Stage,
        work: impl Future<Output = T> + Send + 'static,
        streams: Streams,
    ) -> JoinHandle<T> {
        let mut line = locked(&self.0);
        let rank = (stage, line.next);
        line.next += 1;
        let place = Place { rank, line: self.0.clone() };
        tokio::spawn(walk(place, Box::pin(work), streams))
    }
}

async fn walk<F: Future>(place: Place, mut work: Pin<Box<F>>, streams: Streams) -> F::Output {
    loop {
        let waits = !streams.now();
        if waits {
            place.step_up().await;
            place.share().await;
        }
        let step = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if waits {
            place.step_back();
        }
        match step {
            Poll::Ready(done) => return done,
            Poll::Pending => woken().await,
        }
    }
}

/// Ends when the task is woken, by whatever its last step waits for.
fn woken() -> impl Future<Output = ()> {
    let mut slept = false;
    poll_fn(move |_| match std::mem::replace(&mut slept, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// The place of one task in the line.
struct Place {
    rank: Rank,
    line: Arc<Mutex<Line>>,
}

impl Place {
    async fn step_up(&self) {
        while timeout(PATIENCE, poll_fn(|cx| self.poll_step_up(cx))).await.is_err() {
            locked(&self.line).pass_by();
        }
    }

    fn poll_step_up(&self, cx: &Context<'_>) -> Poll<()> {
        let mut line = locked(&self.line);
        let is_first = line.waiting.keys().next().is_none_or(|first| *first >= self.rank);
        if line.free == 0 || !is_first {
            line.waiting.insert(self.rank, cx.waker().clone());
            return Poll::Pending;
        }
        line.waiting.remove(&self.rank);
        line.free -= 1;
        line.stepping.insert(self.rank, Instant::now());
        // There may be room for another one.
        line.call();
        Poll::Ready(())
    }

    /// Lets everything else go first if the line had its share of the time.
    async fn share(&self) {
        {
            let mut line = locked(&self.line);
            if !line.left.is_zero() {
                return;
            }
            line.left = line.share;
        }
        // Who says the answers and who reads them may wait for a processor as well, outside of this process.
        std::thread::yield_now();
        yield_now().await;
        if let Some(since) = locked(&self.line).stepping.get_mut(&self.rank) {
            *since = Instant::now();
        }
    }

    fn step_back(&self) {
        let mut line = locked(&self.line);
        // Who was passed by has no place to give.
        if let Some(since) = line.stepping.remove(&self.rank) {
            line.left = line.left.saturating_sub(since.elapsed());
            line.free += 1;
            line.call();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.step_back();
        let mut line = locked(&self.line);
        if line.waiting.remove(&self.rank).is_some() {
            line.call();
        }
    }
}

impl Line {
    /// Wakes the first one that waits, if it may step up. It stays in the line until it does.
    fn call(&self) {
        if self.free > 0
            && let Some(first) = self.waiting.values().next()
        {
            first.wake_by_ref();
        }
    }

    /// Gives the places of those away whose steps take too long.
    fn pass_by(&mut self) {
        let before = self.stepping.len();
        self.stepping.retain(|_, since| since.elapsed() < PATIENCE);
        self.free += before - self.stepping.len();
        self.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What twenty tasks with work and one that streams do, in order: "p" is a step of work, which
    /// takes 300 microseconds, "s" one of the stream.
    async fn order(share: Duration, streams: bool) -> String {
        let (pace, order) = (Pace::of(1, share), Arc::new(Mutex::new(String::new())));
        let steps = |letter: char, count: usize, takes: u64| {
            let order = order.clone();
            async move {
                for _ in 0..count {
                    order.lock().unwrap().push(letter);
                    tokio::time::advance(Duration::from_micros(takes)).await;
                }
            }
        };
        let mut tasks = Vec::new();
        for _ in 0..20 {
            let free = Streams::default();
            free.set(streams);
            tasks.push(pace.spawn(Stage::Taken, steps('p', 3, 300), free));
        }
        tasks.push(tokio::spawn(steps('s', 10, 0)));
        futures::future::join_all(tasks).await;
        let order = order.lock().unwrap();
        assert_eq!(order.matches('p').count(), 60);
        order.clone()
    }

    /// The most steps of work between two of the stream.
    fn most_between(order: &str) -> usize {
        let (from, to) = (order.find('s').unwrap(), order.rfind('s').unwrap());
        order[from..to].split('s').map(str::len).max().unwrap_or(0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_waits_for_few_steps_and_not_for_all() {
        let between = most_between(&order(Duration::ZERO, false).await);
        assert!(between <= 2, "{between}");
        // Those that begin have their share of four steps, and not one each time.
        let between = most_between(&order(SHARE, false).await);
        assert!((4..=8).contains(&between), "{between}");
        // Without a line all are in between.
        let between = most_between(&order(SHARE, true).await);
        assert!(between >= 20, "{between}");
    }

    #[tokio::test]
    async fn of_those_that_wait_the_first_goes_first() {
        let (pace, done) = (Pace::of(1, Duration::ZERO), Arc::new(Mutex::new(Vec::new())));
        let tasks = (0..5).map(|number| {
            let done = done.clone();
            let work = async move {
                for _ in 0..10 - number {
                    yield_now().await;
                }
                done.lock().unwrap().push(number);
            };
            pace.spawn(Stage::Taken, work, Streams::default())
        });
        futures::future::join_all(tasks.collect::<Vec<_>>()).await;
        // While one sleeps the next one has its turn, so that two at a time are under way; without the
        // line the last would be done first, for it has the least to do.
        assert_eq!(*done.lock().unwrap(), [1, 0, 3, 2, 4]);
    }

    #[tokio::test]
    async fn a_turn_that_has_begun_goes_before_requests_that_came_earlier() {
        let (pace, done) = (Pace::of(1, Duration::ZERO), Arc::new(Mutex::new(Vec::new())));
        let tasks = [Stage::Taken, Stage::Taken, Stage::Taken, Stage::Begun].map(|stage| {
            let done = done.clone();
            let work = async move {
                // One that was there first is a step ahead.
                for _ in 0..if stage == Stage::Begun { 8 } else { 10 } {
                    yield_now().await;
                }
                done.lock().unwrap().push(stage == Stage::Begun);
            };
            pace.spawn(stage, work, Streams::default())
        });
        futures::future::join_all(tasks).await;
        assert_eq!(*done.lock().unwrap(), [true, false, false, false]);
    }

    #[tokio::test]
    async fn work_that_waits_or_is_given_up_holds_nobody_up() {
        let pace = Pace::of(1, Duration::ZERO);
        let hangs = pace.spawn(Stage::Taken, std::future::pending::<()>(), Streams::default());
        let busy = async {
            loop {
                yield_now().await;
            }
        };
        let given_up = pace.spawn(Stage::Taken, busy, Streams::default());
        let other = pace.spawn(Stage::Taken, async { yield_now().await }, Streams::default());
        yield_now().await;
        given_up.abort();
        other.await.unwrap();
        assert!(!hangs.is_finished());
        hangs.abort();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_that_keeps_its_thread_is_passed_by() {
        let pace = Pace::of(1, Duration::ZERO);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let keeps = pace.spawn(
            Stage::Taken,
            async move {
                begun.send(()).unwrap();
                told.recv().unwrap();
            },
            Streams::default(),
        );
        begins.await.unwrap();
        pace.spawn(Stage::Taken, async {}, Streams::default()).await.unwrap();
        tell.send(()).unwrap();
        keeps.await.unwrap();
        // And it left no place too many.
        assert_eq!(locked(&pace.0).free, 1);
    }

    #[tokio::test]
    async fn work_that_panics_leaves_the_line() {
        let pace = Pace::of(1, Duration::ZERO);
        let panics = pace.spawn(Stage::Taken, async { panic!("on purpose") }, Streams::default());
        assert!(panics.await.is_err());
        pace.spawn(Stage::Taken, async {}, Streams::default()).await.unwrap();
    }
}
