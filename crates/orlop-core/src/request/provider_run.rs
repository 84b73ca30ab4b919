//! The provider at work on one request: its stream, the extensions on it, and what it has made so
//! far. Everything a request changes lives here, so that one provider serves any number at once.

use crate::context::Context;
use crate::core::Core;
use crate::hooks::{Chunk, Extension, Hook, LaterChunk, ModelAnswer, ModelRequest, Runner, State};
use crate::plugin::Registered;
use crate::resolve::Resolution;
use futures::stream::{BoxStream, StreamExt};
use futures::task::{Context as Task, Poll};
use orlop_types::{Error, NativeItem, ProviderEvent, Result, Seq};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(super) struct ProviderRun {
    provider: Arc<crate::plugin::RegisteredProvider>,
    extensions: Vec<Arc<Registered<dyn Extension>>>,
    chunks: BoxStream<'static, Result<Chunk>>,
    /// A chunk that an extension takes its time for. Nothing after it is looked at meanwhile.
    waiting: Option<Waiting>,
    /// Finals that came with a partial and follow it.
    held_back: Vec<NativeItem>,
    pub(super) native: Seq<NativeItem>,
    pub(super) state: State,
    /// Whether the provider answered with a native history of its own making.
    pub(super) native_replaced: bool,
}

struct Waiting {
    chunk: Chunk,
    later: LaterChunk,
    /// The extension that is waited for.
    extension: usize,
}

impl ProviderRun {
    /// Hands the request to the provider in the form asked for, or in the one it has.
    pub(super) async fn start(
        core: &Core,
        resolution: &Resolution,
        request: ModelRequest,
        cx: &Context,
    ) -> Result<Self> {
        let provider = resolution.provider.clone().ok_or_else(crate::resolve::no_provider)?;
        let extensions = resolution
            .extensions
            .iter()
            .filter(|extension| extension.manifest.hooks.contains(Hook::ProcessChunk))
            .cloned()
            .collect();
        let mut run = Self {
            provider,
            extensions,
            chunks: futures::stream::empty().boxed(),
            waiting: None,
            held_back: Vec::new(),
            native: request.native_messages.clone(),
            state: request.state.clone(),
            native_replaced: false,
        };
        if request.stream {
            if !run.open_stream(&core.runner, &request, cx)?
                && !run.call(&core.runner, &request, cx).await?
            {
                return Err(run.no_io());
            }
        } else if !run.call(&core.runner, &request, cx).await?
            && !run.open_stream(&core.runner, &request, cx)?
        {
            return Err(run.no_io());
        }
        Ok(run)
    }

    fn no_io(&self) -> Error {
        Error::bad_state(format!(
            "provider \"{}\" has neither call_api nor stream_api",
            self.provider.provider.name()
        ))
    }

    fn in_hook(&self, error: Error, hook: Hook) -> Error {
        error.in_hook(self.provider.provider.name(), hook.name())
    }

    fn open_stream(
        &mut self,
        runner: &Runner,
        request: &ModelRequest,
        cx: &Context,
    ) -> Result<bool> {
        if !self.provider.provider.manifest.hooks.contains(Hook::StreamApi) {
            return Ok(false);
        }
        let plugin = &self.provider.provider.plugin;
        let opened = catch_unwind(AssertUnwindSafe(|| plugin.stream_api(request, cx)))
            .map_err(|panic| self.in_hook(crate::hooks::panicked(&*panic), Hook::StreamApi))?;
        match opened {
            // Errors of the stream are named below; a wrapper is worth its cost only to a trace.
            Some(chunks) if runner.observer.is_some() => {
                self.chunks = runner.watch(&self.provider.provider, Hook::StreamApi, chunks);
            }
            Some(chunks) => self.chunks = chunks,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Calls the provider and holds its answer as if it had been streamed in one chunk.
    async fn call(
        &mut self,
        runner: &Runner,
        request: &ModelRequest,
        cx: &Context,
    ) -> Result<bool> {
        let provider = self.provider.clone();
        let answer: Option<ModelAnswer> =
            runner.call(&provider.provider, Hook::CallApi, |p| p.call_api(request, cx)).await?;
        let Some(answer) = answer else { return Ok(false) };
        answer.state.apply(&mut self.state);
        let finals = answer.final_messages;
        if answer.native_messages.is_keep() {
            self.native.extend(finals.iter().cloned());
        } else {
            self.native_replaced = true;
            self.native = answer
                .native_messages
                .apply(&self.native)
                .map_err(|error| self.in_hook(error, Hook::CallApi))?;
        }
        self.held_back = finals;
        Ok(true)
    }

    /// The next thing the provider has, after every extension has seen it.
    pub(super) fn poll_event(
        &mut self,
        task: &mut Task<'_>,
    ) -> Poll<Option<Result<ProviderEvent>>> {
        if !self.held_back.is_empty() {
            let finals = std::mem::take(&mut self.held_back);
            return Poll::Ready(Some(Ok(ProviderEvent::FinalMessages(finals))));
        }
        let (chunk, seen) = match self.waiting.take() {
            Some(waiting) => match self.poll_waiting(waiting, task) {
                Poll::Ready(Ok(passed)) => passed,
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending => return Poll::Pending,
            },
            None => match self.poll_chunk(task) {
                Poll::Ready(Some(Ok(chunk))) => (chunk, 0),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(self.in_hook(error, Hook::StreamApi))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            },
        };
        match self.extend(chunk, seen, task) {
            Poll::Ready(Ok(chunk)) => Poll::Ready(Some(Ok(self.take_in(chunk)))),
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(error))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_chunk(&mut self, task: &mut Task<'_>) -> Poll<Option<Result<Chunk>>> {
        catch_unwind(AssertUnwindSafe(|| self.chunks.poll_next_unpin(task)))
            .unwrap_or_else(|panic| Poll::Ready(Some(Err(crate::hooks::panicked(&*panic)))))
    }

    /// Every active extension sees the chunk, in registration order, the first `seen` of which have.
    /// Those in this process see it in place and cost no allocation.
    fn extend(
        &mut self,
        mut chunk: Chunk,
        seen: usize,
        task: &mut Task<'_>,
    ) -> Poll<Result<Chunk>> {
        let mut next = seen;
        while let Some(extension) = self.extensions.get(next) {
            let shown = catch_unwind(AssertUnwindSafe(|| {
                let later = extension.plugin.process_chunk_later(&self.state, &chunk);
                if later.is_none() {
                    extension.plugin.process_chunk(&self.state, &mut chunk)?;
                }
                Ok(later)
            }));
            match shown.unwrap_or_else(|panic| Err(crate::hooks::panicked(&*panic))) {
                Ok(None) => next += 1,
                Ok(Some(later)) => {
                    let waiting = Waiting { chunk, later, extension: next };
                    (chunk, next) = futures::ready!(self.poll_waiting(waiting, task))?;
                }
                Err(error) => return Poll::Ready(Err(self.in_extension(error, next))),
            }
        }
        Poll::Ready(Ok(chunk))
    }

    /// The chunk after the extension that is waited for, and how many have seen it then.
    fn poll_waiting(
        &mut self,
        mut waiting: Waiting,
        task: &mut Task<'_>,
    ) -> Poll<Result<(Chunk, usize)>> {
        let polled = catch_unwind(AssertUnwindSafe(|| waiting.later.as_mut().poll(task)));
        match polled.unwrap_or_else(|panic| Poll::Ready(Err(crate::hooks::panicked(&*panic)))) {
            Poll::Pending => {
                self.waiting = Some(waiting);
                Poll::Pending
            }
            Poll::Ready(Ok(changed)) => {
                let chunk = changed.unwrap_or(waiting.chunk);
                Poll::Ready(Ok((chunk, waiting.extension + 1)))
            }
            Poll::Ready(Err(error)) => {
                Poll::Ready(Err(self.in_extension(error, waiting.extension)))
            }
        }
    }

    fn in_extension(&self, error: Error, extension: usize) -> Error {
        match self.extensions.get(extension) {
            Some(extension) => error.in_hook(extension.name(), Hook::ProcessChunk.name()),
            None => error,
        }
    }

    fn take_in(&mut self, chunk: Chunk) -> ProviderEvent {
        let Chunk { partial, final_messages, state } = chunk;
        state.apply(&mut self.state);
        for item in &final_messages {
            self.native.push(item.clone());
        }
        match partial {
            Some(partial) => {
                tracing::trace!(target: "orlop::chunks", ?partial, "partial");
                self.held_back = final_messages;
                ProviderEvent::Partial(partial)
            }
            None if final_messages.is_empty() => ProviderEvent::Unknown,
            None => ProviderEvent::FinalMessages(final_messages),
        }
    }
}
