//! The same requests for callers without async: results and iterators instead of futures and
//! streams.

use super::{CoreEvent, RequestOptions, RequestStream, Response};
use crate::config::Config;
use crate::core::Core;
use crate::session::Session;
use futures::StreamExt;
use orlop_types::Result;
use std::future::Future;

/// Runs a future to its end on the calling thread.
pub trait Executor {
    /// Blocks until `future` ends.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// Polls on the calling thread. Enough for plugins that need no runtime of their own; a provider
/// that talks HTTP needs the executor of its runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalExecutor;

impl Executor for LocalExecutor {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        futures::executor::block_on(future)
    }
}

/// A core for callers that block.
///
/// ```
/// use orlop_core::{Blocking, Config, Core, LocalExecutor, Message};
/// let core = Blocking::new(Core::new(), LocalExecutor);
/// let session = core.core().create_session(None);
/// let session = core.run(core.core().add_message(&session, Message::user("hi"), &Config::empty()))?;
/// assert_eq!(session.messages().len(), 1);
/// # Ok::<(), orlop_core::Error>(())
/// ```
pub struct Blocking<E> {
    core: Core,
    executor: E,
}

impl<E: Executor> Blocking<E> {
    /// `core`, run by `executor`.
    pub fn new(core: Core, executor: E) -> Self {
        Self { core, executor }
    }

    /// The core itself.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Runs any operation of the core to its end.
    pub fn run<F: Future>(&self, operation: F) -> F::Output {
        self.executor.block_on(operation)
    }

    /// [`Core::send_request`], blocking.
    pub fn send_request(
        &self,
        session: &Session,
        config: &Config,
        options: RequestOptions,
    ) -> Result<Response> {
        self.run(self.core.send_request(session, config, options))
    }

    /// [`Core::send_request_stream`] as an iterator.
    pub fn send_request_stream(
        &self,
        session: &Session,
        config: &Config,
        options: RequestOptions,
    ) -> Events<'_, E> {
        Events {
            stream: self.core.send_request_stream(session, config, options),
            executor: &self.executor,
        }
    }
}

/// The events of a request, one after another.
pub struct Events<'a, E> {
    stream: RequestStream,
    executor: &'a E,
}

impl<E: Executor> Iterator for Events<'_, E> {
    type Item = Result<CoreEvent>;
    fn next(&mut self) -> Option<Self::Item> {
        self.executor.block_on(self.stream.next())
    }
}
