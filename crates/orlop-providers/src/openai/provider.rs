//! The provider plugin `openai_compatible`: chat completions of any server that speaks them.

use super::{Step, completion, convert, models, request, steps};
use crate::http::{Call, HttpClient, HttpSettings};
use crate::secret::Secret;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use orlop_core::hooks::{
    CancelInput, Chunk, ConfigInput, FromNativeInput, ModelAnswer, ModelRequest, RequestChange,
    RequestInput, TagsInput, ToNativeInput, UiInput,
};
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{
    Answer, CancelToken, Cancellation, Config, Context, Error, Manifest, Map, Message,
    NativeIndices, NativeItem, Plugin, Provider, Result, StateChange, Value,
};
use serde_json::json;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll};

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "openai_compatible";

const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// Configuration keys that go into the request under their own name.
const PARAMETERS: &[&str] = &[
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "prompt_cache_key",
    "service_tier",
];

/// Chat completions of any server that speaks them. Cloning shares the connections.
#[derive(Clone)]
pub struct OpenAiCompatible {
    http: HttpClient,
    running: Running,
}

/// The requests that can be cancelled by id. Ids come from callers, so two may be the same.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    next: u64,
    by_number: HashMap<u64, (String, CancelToken)>,
}

impl Running {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request under its id for as long as the guard lives.
    fn enter(&self, request_id: Option<&String>) -> Option<Entered> {
        let (id, token) = (request_id?.clone(), CancelToken::new());
        let mut requests = self.requests();
        let number = requests.next;
        requests.next += 1;
        requests.by_number.insert(number, (id, token.clone()));
        Some(Entered { number, cancelled: token.cancelled(), running: self.clone() })
    }

    fn cancel(&self, request_id: &str) {
        let requests = self.requests();
        let named = requests.by_number.values().filter(|(id, _)| id == request_id);
        let tokens: Vec<CancelToken> = named.map(|(_, token)| token.clone()).collect();
        // Cancelling may end a request, and ending it needs the lock.
        drop(requests);
        tokens.iter().for_each(CancelToken::cancel);
    }
}

impl Default for OpenAiCompatible {
    fn default() -> Self {
        Self::new(HttpClient::new(HttpSettings::default()))
    }
}

impl OpenAiCompatible {
    /// The provider on this client.
    pub fn new(http: HttpClient) -> Self {
        Self { http, running: Running::default() }
    }

    /// The body that a request comes to.
    pub fn body(&self, input: &ModelRequest, cx: &Context) -> Bytes {
        let mut params = input.state.request.clone();
        if input.stream {
            params.insert("stream".to_owned(), true.into());
            // A server that does not know the field is spared it by `stream_options = null`.
            let declined = input.state.config.get("extra_body.stream_options");
            if !declined.is_some_and(Value::is_null) {
                params.entry("stream_options").or_insert_with(|| json!({ "include_usage": true }));
            }
        } else {
            // The caller decides on the form of the answer, not the configuration.
            params.shift_remove("stream");
            params.shift_remove("stream_options");
        }
        request::body(&params, &input.native_messages, cx.wire_tools())
    }

    fn call(&self, input: &ModelRequest, cx: &Context) -> Result<Call> {
        let config = &input.state.config;
        let call = Call::post(base_url(config), "chat/completions", self.body(input, cx))?;
        authorised(if input.stream { call.accept_events() } else { call }, config)
    }
}

fn base_url(config: &Config) -> &str {
    config.text("base_url").unwrap_or(DEFAULT_BASE_URL)
}

fn authorised(call: Call, config: &Config) -> Result<Call> {
    let mut call = call.bearer(secret(config))?;
    if let Some(Value::Object(headers)) = config.get("headers") {
        for (name, value) in headers {
            let value = value.as_str().ok_or_else(|| {
                Error::wrong_type(format!("header {name:?} in the configuration must be a string"))
            })?;
            call = call.header(name, value)?;
        }
    }
    Ok(call)
}

fn secret(config: &Config) -> Secret {
    Secret::new(config.text("api_key").unwrap_or_default())
}

/// The parameters of the request that the configuration gives.
fn parameters(config: &Config) -> Result<Map> {
    let mut params: Map = PARAMETERS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), config.get(key)?.clone())))
        .collect();
    if let Some(Value::Object(extra)) = config.get("extra_body") {
        params.extend(extra.clone());
    }
    match params.get("model").and_then(Value::as_str) {
        Some(model) if !model.is_empty() => Ok(params),
        _ => Err(Error::bad_argument(format!(
            "the configuration names no model; set model to one that {} offers",
            base_url(config)
        ))),
    }
}

impl Plugin for OpenAiCompatible {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .discovery(&["base_url", "api_key", "headers"])
            .config("model", json!({ "type": "string", "required": true, "description": "The model to use." }))
            .config("base_url", json!({ "type": "string", "default": DEFAULT_BASE_URL, "description": "Where the server is, up to and including /v1." }))
            .config("api_key", json!({ "type": "string", "secret": true, "description": "The key; none for servers that ask for none." }))
            .config("temperature", json!({ "type": "number", "description": "How much chance there is in the answer." }))
            .config("max_tokens", json!({ "type": "integer", "description": "The longest answer, in tokens." }))
            .config("reasoning_effort", json!({ "type": "string", "description": "How long a reasoning model may think." }))
            .config("headers", json!({ "type": "object", "description": "Further HTTP headers." }))
            .config("extra_body", json!({ "type": "object", "description": "Further fields of the request." }))
    }

    fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        Answer::ok(["chat", "streaming", "tools", "images"].map(str::to_owned).to_vec())
    }

    fn get_ui_elements<'a>(&'a self, input: &'a UiInput, _: &'a Context) -> Answer<'a, Vec<Value>> {
        let options: Vec<&Value> =
            input.models.iter().filter_map(|model| model.get("id")).collect();
        Answer::ok(vec![json!({
            "ui_type": "config", "key": "model", "label": "Model", "type": "string", "options": options,
        })])
    }
}

impl Provider for OpenAiCompatible {
    fn native_format(&self) -> Option<String> {
        Some("openai.chat".to_owned())
    }

    fn interop(&self) -> Interop {
        Interop {
            schema_format: Some(schemas::OPENAI_FUNCTION.to_owned()),
            call_format: Some(calls::OPENAI_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn get_models<'a>(&'a self, input: &'a ConfigInput, _: &'a Context) -> Answer<'a, Vec<Map>> {
        Answer::later(async move {
            let config = &input.config;
            let call = authorised(Call::get(base_url(config), "models")?, config)?;
            match self.http.send(&call).await {
                Ok(answer) => models::parse(&answer.text().await?)
                    .map_err(|error| call.secret().mask_error(error)),
                // A server without a model list is a server whose list is empty.
                Err(error) if matches!(error.provider_status(), Some(404 | 405 | 501)) => {
                    Ok(Vec::new())
                }
                Err(error) => Err(error),
            }
        })
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        let messages: Vec<Message> =
            input.messages.iter().map(|message| with_own_calls(message, cx)).collect();
        Answer::ok(convert::to_native(&messages))
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        let items: Vec<NativeItem> = input.native_messages.iter().cloned().collect();
        let messages = convert::from_native(&items).into_iter();
        Answer::ok(
            messages
                .map(|(message, from)| message.with_native_indices(NativeIndices::new(from)))
                .collect(),
        )
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        _: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let change = parameters(&input.state.config).map(|params| {
            let request = Map::from_iter([("request".to_owned(), Value::Object(params))]);
            RequestChange::state(StateChange::patch(request))
        });
        change.into()
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        cx: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        Answer::later(async move {
            let entered = self.running.enter(input.request_id.as_ref());
            let call = self.call(input, cx)?;
            let answer = async {
                let text = self.http.send(&call).await?.text().await?;
                completion(&text).map_err(|error| call.secret().mask_error(error))
            };
            let finished = match entered {
                Some(entered) => entered.unless_cancelled(answer).await?,
                None => answer.await?,
            };
            Ok(Some(ModelAnswer { final_messages: vec![finished.item], ..ModelAnswer::default() }))
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        let entered = self.running.enter(input.request_id.as_ref());
        let (http, call) = (self.http.clone(), self.call(input, cx));
        let steps = async move {
            let call = call?;
            Ok::<_, Error>(steps(http.send(&call).await?, call.secret().clone()))
        };
        let chunks = futures::stream::once(steps).try_flatten().map(|step| step.map(Chunk::from));
        Some(match entered {
            Some(entered) => Guarded { chunks: chunks.boxed(), entered: Some(entered) }.boxed(),
            None => chunks.boxed(),
        })
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, _: &'a Context) -> Answer<'a, ()> {
        self.running.cancel(&input.request_id);
        Answer::default()
    }
}

impl From<Step> for Chunk {
    fn from(step: Step) -> Self {
        match step {
            Step::Partial(partial) => Self::partial(partial),
            Step::Final(item) => Self::finals(vec![item]),
        }
    }
}

/// A message whose tool calls are in the form of this wire, whoever made them.
fn with_own_calls(message: &Message, cx: &Context) -> Message {
    let Some(interop) = cx.interop() else { return message.clone() };
    if message.tool_calls().next().is_none() {
        return message.clone();
    }
    let own = |call: &Map| {
        let custom = call.get("type").and_then(Value::as_str) == Some("custom");
        if custom { Some(call.clone()) } else { interop.convert_call(call, calls::OPENAI_FUNCTION) }
    };
    let calls: Vec<Value> = message.tool_calls().filter_map(own).map(Value::Object).collect();
    message.clone().with_metadata_entry("tool_calls", calls)
}

/// A request that is registered under its id until this is dropped.
struct Entered {
    number: u64,
    cancelled: BoxFuture<'static, ()>,
    running: Running,
}

impl Entered {
    async fn unless_cancelled<T>(mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let cancelled = std::mem::replace(&mut self.cancelled, Box::pin(std::future::pending()));
        match futures::future::select(std::pin::pin!(work), cancelled).await {
            futures::future::Either::Left((result, _)) => result,
            futures::future::Either::Right(_) => Err(was_cancelled()),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.requests().by_number.remove(&self.number);
    }
}

fn was_cancelled() -> Error {
    Error::cancelled("the request was cancelled")
}

/// Chunks until the request is cancelled by its id.
struct Guarded {
    chunks: BoxStream<'static, Result<Chunk>>,
    entered: Option<Entered>,
}

impl Stream for Guarded {
    type Item = Result<Chunk>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(entered) = &mut this.entered else { return Poll::Ready(None) };
        if entered.cancelled.as_mut().poll(task).is_ready() {
            this.chunks = futures::stream::empty().boxed();
            this.entered = None;
            return Poll::Ready(Some(Err(was_cancelled())));
        }
        this.chunks.poll_next_unpin(task)
    }
}
