//! Runs the blocking facade of the core on a tokio runtime, which the HTTP client needs.

use orlop_core::Executor;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A tokio runtime for callers without async.
///
/// It runs on a thread of its own: what a caller drops between two blocking calls, such as a
/// stream that is not wanted any more, ends then and not with the next call.
pub struct TokioExecutor {
    runtime: Handle,
    /// Dropped to end the thread.
    running: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TokioExecutor {
    /// A runtime that runs until this is dropped.
    pub fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, ended) = oneshot::channel::<()>();
        let run = move || {
            // An error says that the sender is gone, which is the signal.
            let _ = runtime.block_on(ended);
        };
        let thread = std::thread::Builder::new().name("orlop-executor".to_owned()).spawn(run)?;
        Ok(Self { runtime: handle, running: Some(running), thread: Some(thread) })
    }
}

impl Executor for TokioExecutor {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

impl Drop for TokioExecutor {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            // Waited for, so that no connection outlives this. It has nothing to tell.
            let _ = thread.join();
        }
    }
}
