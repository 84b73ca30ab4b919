//! Threads that own connections: async callers hand them work and wait without blocking.
//!
//! A job that panics costs only itself: its caller gets an error, and the thread goes on.

use crate::database::{Access, Connection, Tx};
use futures::channel::oneshot;
use orlop_core::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce(&mut dyn Connection) + Send>;

/// One thread a connection, all taking their work from one queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// What is to be done. A job wakes one thread and no other: most jobs take less time than that.
#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.jobs().waiting.push_back(job);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.jobs().closed = true;
        self.changed.notify_all();
    }

    /// The next job, as soon as there is one; none once the queue is closed and empty.
    fn next(&self) -> Option<Job> {
        let is_idle = |jobs: &mut Jobs| jobs.waiting.is_empty() && !jobs.closed;
        let jobs = self.changed.wait_while(self.jobs(), is_idle);
        jobs.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
    }
}

impl Workers {
    /// Starts the threads; their name shows up in debuggers and lists of threads.
    pub(crate) fn start(name: &str, connections: Vec<Box<dyn Connection>>) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let mut workers = Self { queue: queue.clone(), threads: Vec::new() };
        for connection in connections {
            let queue = queue.clone();
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || work(connection, &queue))
                .map_err(|error| {
                    Error::unavailable(format!(
                        "no thread could be started for the store ({error}); close other programs and try again"
                    ))
                })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Runs `work` in a transaction on one of the threads. It is finished even if nobody waits.
    pub(crate) fn run<T, W>(
        &self,
        access: Access,
        work: W,
    ) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Fn(&mut dyn Tx) -> Result<T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let mut done = None;
            let result = connection.transaction(access, &mut |tx| {
                done = Some(work(tx)?);
                Ok(())
            });
            let result = result.and_then(|()| done.ok_or_else(lost));
            // Nobody waits any more: what is done is done.
            let _ = answer.send(result);
        });
        self.queue.push(job);
        async move { answered.await.unwrap_or_else(|_| Err(lost())) }
    }
}

impl Drop for Workers {
    /// Lets the threads finish what is queued, and waits for them.
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(mut connection: Box<dyn Connection>, queue: &Queue) {
    while let Some(job) = queue.next() {
        if catch_unwind(AssertUnwindSafe(|| job(connection.as_mut()))).is_err() {
            tracing::error!("an operation of the store panicked; its changes are rolled back");
        }
    }
}

fn lost() -> Error {
    Error::internal(
        "an operation of the store ended without an answer, and what it did was taken back; this is a defect of Orlop, please report it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite;
    use futures::executor::block_on;

    fn workers(count: usize) -> Workers {
        let connections = (0..count).map(|_| sqlite::memory_connection().unwrap());
        Workers::start("test", connections.collect()).unwrap()
    }

    #[test]
    fn a_panic_is_an_error_for_its_caller_and_nobody_else() {
        let workers = workers(1);
        let panicking = workers.run(Access::Write, |tx| -> Result<()> {
            tx.execute("CREATE TABLE half_done (x)", &[])?;
            panic!("on purpose")
        });
        assert_eq!(block_on(panicking).unwrap_err().class(), orlop_core::ErrorClass::Internal);
        let tables = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'half_done'";
        let after = workers.run(Access::Read, move |tx| tx.query(tables, &[])?.remove(0).int());
        assert_eq!(block_on(after).unwrap(), 0);
    }

    #[test]
    fn what_is_queued_is_done_before_the_threads_end() {
        let workers = workers(2);
        let answers: Vec<_> =
            (0..20).map(|number| workers.run(Access::Read, move |_| Ok(number))).collect();
        drop(workers);
        let answers: Vec<i32> = answers.into_iter().map(|it| block_on(it).unwrap()).collect();
        assert_eq!(answers, Vec::from_iter(0..20));
    }
}
