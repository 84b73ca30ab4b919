//! A provider that is another one except for what a test says.

use futures::stream::BoxStream;
use orlop_core::hooks::{
    CancelInput, Chunk, FinalizeChange, FinalizeInput, FromNativeInput, ModelAnswer, ModelRequest,
    RequestChange, RequestInput, ToNativeInput,
};
use orlop_core::interop::Interop;
use orlop_core::{Answer, Context, Manifest, Message, NativeItem, Plugin, Provider, Result};
use std::sync::Arc;

type Stream = Option<BoxStream<'static, Result<Chunk>>>;
type StreamHook<P> = Arc<dyn Fn(&P, &ModelRequest, &Context) -> Stream + Send + Sync>;
type CallHook = Arc<dyn Fn(&ModelRequest) -> ModelAnswer + Send + Sync>;
type InitialiseHook = Arc<dyn Fn(&RequestInput, &Context) -> RequestChange + Send + Sync>;
type CancelHook = Arc<dyn Fn(&CancelInput) -> Result<()> + Send + Sync>;
type FormatHook = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// `inner` with some hooks answered otherwise. Model I/O is only what the test gives it.
#[derive(Clone)]
pub struct Over<P> {
    name: Option<String>,
    inner: P,
    stream: Option<StreamHook<P>>,
    call: Option<CallHook>,
    initialise: Option<InitialiseHook>,
    cancel: Option<CancelHook>,
    format: Option<FormatHook>,
}

impl<P: Provider> Over<P> {
    /// `inner` without model I/O.
    pub fn new(inner: P) -> Self {
        Self {
            name: None,
            inner,
            stream: None,
            call: None,
            initialise: None,
            cancel: None,
            format: None,
        }
    }

    /// Under another name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Streams this.
    pub fn stream_api(
        mut self,
        hook: impl Fn(&P, &ModelRequest, &Context) -> Stream + Send + Sync + 'static,
    ) -> Self {
        self.stream = Some(Arc::new(hook));
        self
    }

    /// Answers this when called.
    pub fn call_api(
        mut self,
        hook: impl Fn(&ModelRequest) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        self.call = Some(Arc::new(hook));
        self
    }

    /// Prepares requests like this.
    pub fn initialize_request(
        mut self,
        hook: impl Fn(&RequestInput, &Context) -> RequestChange + Send + Sync + 'static,
    ) -> Self {
        self.initialise = Some(Arc::new(hook));
        self
    }

    /// Takes a cancellation like this.
    pub fn cancel_request(
        mut self,
        hook: impl Fn(&CancelInput) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.cancel = Some(Arc::new(hook));
        self
    }

    /// Names its native form like this.
    pub fn native_format(
        mut self,
        hook: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.format = Some(Arc::new(hook));
        self
    }
}

impl<P: Provider> Plugin for Over<P> {
    fn manifest(&self) -> Manifest {
        let mut manifest = self.inner.manifest();
        if let Some(name) = &self.name {
            manifest.name.clone_from(name);
        }
        manifest
    }
}

impl<P: Provider> Provider for Over<P> {
    fn native_format(&self, config: &orlop_core::Config) -> Option<String> {
        match &self.format {
            Some(format) => format(),
            None => self.inner.native_format(config),
        }
    }

    fn interop(&self) -> Interop {
        self.inner.interop()
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        self.inner.to_native_messages(input, cx)
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        self.inner.from_native_messages(input, cx)
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        match &self.initialise {
            Some(hook) => Answer::ok(hook(input, cx)),
            None => self.inner.initialize_request(input, cx),
        }
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        _: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        Answer::ok(self.call.as_ref().map(|hook| hook(input)))
    }

    fn stream_api(&self, input: &ModelRequest, cx: &Context) -> Stream {
        self.stream.as_ref().and_then(|hook| hook(&self.inner, input, cx))
    }

    fn finalize<'a>(
        &'a self,
        input: &'a FinalizeInput,
        cx: &'a Context,
    ) -> Answer<'a, FinalizeChange> {
        self.inner.finalize(input, cx)
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, cx: &'a Context) -> Answer<'a, ()> {
        match &self.cancel {
            Some(hook) => hook(input).into(),
            None => self.inner.cancel_request(input, cx),
        }
    }
}
