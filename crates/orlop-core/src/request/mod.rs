//! One model call: prepare the request, stream the answer, finish the session.
//!
//! [`RequestStream`] is the base; the collected form and the blocking facade stand on it.

mod blocking;
mod finish;
mod prepare;
mod provider_run;

pub use blocking::{Blocking, Executor, LocalExecutor};

use crate::cancel::{CallbackId, Cancellation};
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use crate::hooks::{CancelInput, Hook};
use crate::plugin::RegisteredProvider;
use crate::resolve::no_provider;
use crate::session::Session;
use finish::Running;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{Stream, StreamExt};
use futures::task::{Context as Task, Poll};
use orlop_types::{ActionRecord, Error, Map, Message, Partial, ProviderEvent, Result};
use prepare::PreparedCall;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::pin::Pin;
use std::sync::Arc;

/// What a request may carry beside session and configuration.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// The id by which the provider can be told to stop.
    pub request_id: Option<String>,
    /// Ends the request when cancelled.
    pub cancellation: Option<Arc<dyn Cancellation>>,
    /// What hooks and actions are told of the caller.
    pub context: CallContext,
    /// Messages put before the last user message of this request. The model reads them; the
    /// session does not keep them.
    pub preface: Vec<Message>,
    /// Whether the model is offered no tools, for instance because nobody would run them.
    pub without_tools: bool,
    /// Tools that the caller runs itself. The model sees them beside its own; where two have the
    /// same name, the caller's takes the place of the other.
    pub caller_tools: Vec<Map>,
}

/// What a request streams.
#[derive(Debug, Clone, PartialEq)]
pub enum CoreEvent {
    /// A fragment of the answer.
    Partial(Partial),
    /// The end: exactly one, the last.
    Final(Box<Response>),
}

/// What a request gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The session with the answer.
    pub session: Session,
    /// The messages of the answer.
    pub messages: Vec<Message>,
    /// What the `response_finalize` actions reported.
    pub action_results: Vec<ActionRecord>,
}

impl Serialize for CoreEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self {
            Self::Partial(message) => {
                fields.serialize_entry("type", "partial")?;
                fields.serialize_entry("message", message)?;
            }
            Self::Final(response) => {
                fields.serialize_entry("type", "final")?;
                fields.serialize_entry("session", &response.session)?;
                fields.serialize_entry("messages", &response.messages)?;
            }
        }
        fields.end()
    }
}

impl Core {
    /// Sends the session to the model and streams the answer: partials as they come, then one
    /// final. Dropping the stream ends the request.
    pub fn send_request_stream(
        &self,
        session: &Session,
        config: &Config,
        options: RequestOptions,
    ) -> RequestStream {
        RequestStream::new(self.clone(), session.clone(), config.clone(), options, true)
    }

    /// Sends the session to the model and gives the session with the answer, and the answer.
    pub async fn send_request(
        &self,
        session: &Session,
        config: &Config,
        options: RequestOptions,
    ) -> Result<Response> {
        let mut events =
            RequestStream::new(self.clone(), session.clone(), config.clone(), options, false);
        while let Some(event) = events.next().await {
            if let CoreEvent::Final(response) = event? {
                return Ok(*response);
            }
        }
        Err(Error::internal("the request ended without an answer"))
    }
}

/// The events of one request. See [`Core::send_request_stream`].
pub struct RequestStream {
    core: Core,
    phase: Phase,
    partials: bool,
    cancelled: Option<BoxFuture<'static, ()>>,
    /// Held while the provider may be at work.
    provider_cancel: Option<ProviderCancel>,
}

enum Phase {
    Preparing(BoxFuture<'static, Result<Running>>),
    Streaming(Box<Running>),
    Finishing(BoxFuture<'static, Result<Response>>),
    Done,
}

impl RequestStream {
    fn new(
        core: Core,
        session: Session,
        config: Config,
        options: RequestOptions,
        stream: bool,
    ) -> Self {
        let RequestOptions {
            request_id,
            cancellation,
            context,
            preface,
            without_tools,
            caller_tools,
        } = options;
        let context = match &cancellation {
            Some(cancellation) => context.cancelled_by(cancellation.clone()),
            None => context,
        };
        let selected =
            core.select_provider(&config).and_then(|found| found.ok_or_else(no_provider));
        let provider_cancel = match (&selected, &request_id, &cancellation) {
            (Ok(provider), Some(id), Some(cancellation)) => {
                ProviderCancel::register(&core, provider, id, cancellation)
            }
            _ => None,
        };
        let preparing = {
            let core = core.clone();
            async move {
                selected?;
                let call =
                    PreparedCall { request_id, context, stream, without_tools, caller_tools };
                core.start(session, config, call, preface).await
            }
        };
        Self {
            core,
            phase: Phase::Preparing(preparing.boxed()),
            partials: stream,
            cancelled: cancellation.map(|cancellation| cancellation.cancelled()),
            provider_cancel,
        }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<CoreEvent>>> {
        self.phase = Phase::Done;
        self.provider_cancel = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for RequestStream {
    type Item = Result<CoreEvent>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if matches!(this.phase, Phase::Done) {
            return Poll::Ready(None);
        }
        if let Some(cancelled) = &mut this.cancelled
            && cancelled.poll_unpin(task).is_ready()
        {
            return this.fail(Error::cancelled("the request was cancelled"));
        }
        loop {
            match &mut this.phase {
                Phase::Preparing(preparing) => {
                    match std::task::ready!(preparing.poll_unpin(task)) {
                        Ok(running) => this.phase = Phase::Streaming(Box::new(running)),
                        Err(error) => return this.fail(error),
                    }
                }
                Phase::Streaming(running) => {
                    match std::task::ready!(running.run.poll_event(task)) {
                        Some(Ok(ProviderEvent::Partial(partial))) if this.partials => {
                            return Poll::Ready(Some(Ok(CoreEvent::Partial(partial))));
                        }
                        Some(Ok(ProviderEvent::FinalMessages(items))) => {
                            running.finals.extend(items)
                        }
                        Some(Ok(_)) => {}
                        Some(Err(error)) => return this.fail(error),
                        None => {
                            this.provider_cancel = None;
                            if let Phase::Streaming(running) =
                                std::mem::replace(&mut this.phase, Phase::Done)
                            {
                                let core = this.core.clone();
                                this.phase = Phase::Finishing(
                                    async move { core.finish(*running).await }.boxed(),
                                );
                            }
                        }
                    }
                }
                Phase::Finishing(finishing) => {
                    match std::task::ready!(finishing.poll_unpin(task)) {
                        Ok(response) => {
                            this.phase = Phase::Done;
                            return Poll::Ready(Some(Ok(CoreEvent::Final(Box::new(response)))));
                        }
                        Err(error) => return this.fail(error),
                    }
                }
                Phase::Done => return Poll::Ready(None),
            }
        }
    }
}

/// The callback that tells the provider to stop; gone when provider I/O ends.
struct ProviderCancel {
    cancellation: Arc<dyn Cancellation>,
    callback: CallbackId,
}

impl ProviderCancel {
    /// Registers the callback. A token that refuses it still cancels the request by itself.
    fn register(
        core: &Core,
        provider: &Arc<RegisteredProvider>,
        request_id: &str,
        cancellation: &Arc<dyn Cancellation>,
    ) -> Option<Self> {
        let (core, provider) = (core.clone(), provider.clone());
        let input = CancelInput { request_id: request_id.to_owned() };
        let callback = Box::new(move || {
            let call = CallContext::new("core");
            let cx = crate::context::Context::new(core.clone(), Config::empty(), Arc::new(call));
            // There is no runtime to wait on here: a provider answers at once or has at least
            // been told.
            let told = core
                .runner
                .call(&provider.provider, Hook::CancelRequest, |p| p.cancel_request(&input, &cx));
            let _ = told.now_or_never();
        });
        let callback = cancellation
            .add_callback(callback)
            .inspect_err(
                |error| tracing::debug!(target: "orlop::core", %error, "no cancellation callback"),
            )
            .ok()?;
        Some(Self { cancellation: cancellation.clone(), callback })
    }
}

impl Drop for ProviderCancel {
    fn drop(&mut self) {
        // It may have run already; then there is nothing to remove.
        let _ = self.cancellation.remove_callback(self.callback);
    }
}
