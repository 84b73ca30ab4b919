//! The line of those who want to begin a turn. Beginning one takes room and some milliseconds of work, and hundreds
//! may want to at once: few do at a time, and the others hold little more than what they were sent.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How many begin at a time.
const AT_ONCE: usize = 16;

/// One that takes longer waits for its session or for a plugin, and keeps nobody else waiting.
const PATIENCE: Duration = Duration::from_millis(100);

/// The line; who came first goes first.
pub(crate) struct Line(Arc<Semaphore>);

/// The place of one that may begin.
pub(crate) struct Place(Option<OwnedSemaphorePermit>);

impl Default for Line {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Line {
    /// Waits for a place.
    pub(crate) async fn place(&self) -> Place {
        Place(self.0.clone().acquire_owned().await.ok())
    }
}

impl Place {
    /// Does what begins a turn. The next one follows when it is done, or takes too long.
    pub(crate) async fn hold<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = Box::pin(work);
        match timeout(PATIENCE, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                self.0 = None;
                work.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::{join_all, pending};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn few_begin_at_a_time() {
        let (line, now, most) = (Line::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let all = (0..100).map(async |_| {
            let place = line.place().await;
            let work = async {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(PATIENCE / 2).await;
                now.fetch_sub(1, Ordering::Relaxed);
            };
            place.hold(work).await;
        });
        join_all(all).await;
        assert_eq!(most.into_inner(), AT_ONCE);
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_take_long_and_those_that_left_keep_nobody_waiting() {
        let line = Line::default();
        let mut slow = Vec::new();
        for _ in 0..AT_ONCE {
            let place = line.place().await;
            slow.push(tokio::spawn(place.hold(pending::<()>())));
        }
        let began = Instant::now();
        let place = line.place().await;
        assert_eq!(began.elapsed(), PATIENCE);
        assert!(!slow.iter().any(tokio::task::JoinHandle::is_finished));
        // One who has a place and leaves gives it back, and so does one who leaves while he waits.
        drop(line.place());
        drop(place);
        line.place().await;
        slow.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
