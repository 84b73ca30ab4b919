//! The provider plugin of a wire.

use super::refused::Refused;
use super::stream::{send, sent};
use super::{Guarded, Running, Whole, Wire};
use crate::catalogue;
use crate::http::{Call, HttpClient, HttpSettings};
use crate::secret::Secret;
use futures::TryFutureExt;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::{
    CancelInput, Chunk, ConfigInput, FromNativeInput, ModelAnswer, ModelRequest, RequestChange,
    RequestInput, TagsInput, ToNativeInput, UiInput,
};
use orlop_core::interop::Interop;
use orlop_core::{
    Answer, Config, Context, Error, Manifest, Map, Message, NativeIndices, NativeItem, Plugin,
    Provider, Result, StateChange, Value,
};
use serde_json::json;
use std::marker::PhantomData;
use std::time::Duration;

/// The provider plugin of the wire `W`. Cloning shares the connections.
pub struct HttpProvider<W> {
    http: HttpClient,
    running: Running,
    refused: Refused,
    wire: PhantomData<fn() -> W>,
}

impl<W> Clone for HttpProvider<W> {
    fn clone(&self) -> Self {
        Self {
            http: self.http.clone(),
            running: self.running.clone(),
            refused: self.refused.clone(),
            wire: PhantomData,
        }
    }
}

impl<W> Default for HttpProvider<W> {
    fn default() -> Self {
        Self::new(HttpClient::new(HttpSettings::default()))
    }
}

impl<W> HttpProvider<W> {
    /// The provider on this client.
    pub fn new(http: HttpClient) -> Self {
        Self { http, running: Running::default(), refused: Refused::default(), wire: PhantomData }
    }
}

/// Where the server is.
pub fn base_url<W: Wire>(config: &Config) -> &str {
    config.text("base_url").unwrap_or(W::BASE_URL)
}

/// The key of the configuration; none if it is empty.
pub fn key(config: &Config) -> Secret {
    Secret::new(config.text("api_key").unwrap_or_default())
}

/// `call` with the headers that the configuration adds.
pub fn with_own_headers(mut call: Call, config: &Config) -> Result<Call> {
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

/// Messages that say from which items they stem.
pub(crate) fn placed(messages: Vec<(Message, Vec<usize>)>) -> Vec<Message> {
    let messages = messages.into_iter();
    messages.map(|(message, from)| message.with_native_indices(NativeIndices::new(from))).collect()
}

/// The choice among `models` for those who look at the settings.
pub(crate) fn model_setting(models: &[Map]) -> Value {
    let options: Vec<&Value> = models.iter().filter_map(|model| model.get("id")).collect();
    json!({
        "ui_type": "config", "key": "model", "label": "Model", "type": "string", "options": options,
    })
}

/// A message whose tool calls are in the form `format`, whoever made them. Calls in one of the
/// forms `passing` stay as they are; those that `format` cannot say are left out.
pub fn with_own_calls(message: &Message, format: &str, passing: &[&str], cx: &Context) -> Message {
    let Some(interop) = cx.interop() else { return message.clone() };
    if message.tool_calls().next().is_none() {
        return message.clone();
    }
    let passes = |call: &Map| {
        let read = interop.inspect_call(call).ok();
        let form = read.and_then(|read| read.payload_format);
        form.is_some_and(|form| passing.contains(&form.as_str()))
    };
    let own = |call: &Map| match !passing.is_empty() && passes(call) {
        true => Some(call.clone()),
        false => interop.convert_call(call, format),
    };
    let calls: Vec<Value> = message.tool_calls().filter_map(own).map(Value::Object).collect();
    message.clone().with_metadata_entry("tool_calls", calls)
}

impl<W: Wire> Plugin for HttpProvider<W> {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new(W::NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .discovery(W::DISCOVERY)
            .config("model", json!({ "type": "string", "required": true, "description": "The model to use." }))
            .config("base_url", json!({ "type": "string", "default": W::BASE_URL, "description": "Where the server is." }))
            .config("api_key", json!({ "type": "string", "secret": true, "description": "The key; none for servers that ask for none." }))
            .config("headers", json!({ "type": "object", "description": "Further HTTP headers." }))
            .config("tool_choice", json!({ "description": "auto, none, required, or a mapping with the name of the tool to call." }))
            .config("output_schema", json!({ "type": "object", "description": "The JSON Schema that the answer has to fit." }))
            .config("max_retries", json!({ "type": "integer", "default": 2, "description": "How often a request that failed for a passing reason is sent again." }))
            .config("first_byte_timeout", json!({ "type": "number", "default": 600, "description": "Seconds until the answer must have begun." }))
            .config("idle_timeout", json!({ "type": "number", "default": 300, "description": "Seconds of silence after which an answer counts as broken off." }))
            .config("extra_body", json!({ "type": "object", "description": "Further fields of the request." }));
        W::describe(manifest)
    }

    fn get_tags<'a>(&'a self, input: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        let model = input.config.text("model").unwrap_or_default();
        Answer::ok(catalogue::tags(model, W::TAGS))
    }

    fn get_ui_elements<'a>(&'a self, input: &'a UiInput, _: &'a Context) -> Answer<'a, Vec<Value>> {
        Answer::ok(vec![model_setting(&input.models)])
    }
}

impl<W: Wire> Provider for HttpProvider<W> {
    fn native_format(&self, config: &Config) -> Option<String> {
        Some(match family(config.text("model").unwrap_or_default()) {
            "" => W::FORMAT.to_owned(),
            family => format!("{}:{family}", W::FORMAT),
        })
    }

    fn interop(&self) -> Interop {
        W::interop()
    }

    fn context_window(&self, config: &Config) -> Option<u64> {
        W::context_window(config)
    }

    fn cost(&self, model: &str, usage: &Map) -> Option<f64> {
        catalogue::cost(&super::Usage::from_map(usage), model)
    }

    fn get_models<'a>(&'a self, input: &'a ConfigInput, _: &'a Context) -> Answer<'a, Vec<Map>> {
        Answer::later(async move {
            let call = W::models_call(&input.config)?;
            match self.http.send(&call).await {
                Ok(answer) => {
                    let models = W::models(&answer.text().await?);
                    let mut models = models.map_err(|error| call.secret().mask_error(error))?;
                    models.iter_mut().for_each(catalogue::describe);
                    Ok(models)
                }
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
        Answer::ok(W::to_native(&input.messages, cx))
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        let items: Vec<NativeItem> = input.native_messages.iter().cloned().collect();
        Answer::ok(placed(W::from_native(&items)))
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        _: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let config = &input.state.config;
        let change = parameters::<W>(config).map(|params| {
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
            let input = &self.refused.spared::<W>(input.clone());
            let call = W::call(input, cx)?;
            let http = self.http.clone().with_settings(waits(&input.state.config, &self.http));
            let answer = async {
                let text =
                    send::<W>(&http, &self.refused, &call, input, cx, |_| ()).await?.text().await?;
                W::whole(&text).map_err(|error| call.secret().mask_error(error))
            };
            let answer = answer.map_err(|error| W::explained(error, model_of(input)));
            let Whole { items, .. } = match entered {
                Some(entered) => entered.unless_cancelled(answer).await?,
                None => answer.await?,
            };
            let final_messages = W::settle(items, input);
            Ok(Some(ModelAnswer { final_messages, ..ModelAnswer::default() }))
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        let entered = self.running.enter(input.request_id.as_ref());
        let http = self.http.clone().with_settings(waits(&input.state.config, &self.http));
        let chunks = sent::<W>(http, self.refused.clone(), input.clone(), cx.clone());
        let model = model_of(input).to_owned();
        let chunks = chunks.map(move |chunk| chunk.map_err(|error| W::explained(error, &model)));
        Some(Guarded::stream(chunks.boxed(), entered))
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, _: &'a Context) -> Answer<'a, ()> {
        self.running.cancel(&input.request_id);
        Answer::default()
    }
}

/// How long to wait and how often to try, where the configuration has its own idea.
fn waits(config: &Config, http: &HttpClient) -> HttpSettings {
    let mut settings = http.settings().clone();
    let number = |key: &str| config.get(key).and_then(Value::as_f64);
    let seconds = |key: &str| Duration::try_from_secs_f64(number(key)?).ok();
    if let Some(tries) = config.get("max_retries").and_then(Value::as_u64) {
        settings.retries.attempts = u32::try_from(tries).unwrap_or(u32::MAX).saturating_add(1);
    }
    if let Some(limit) = seconds("first_byte_timeout") {
        settings.first_byte_timeout = limit;
    }
    if let Some(limit) = seconds("idle_timeout") {
        settings.idle_timeout = limit;
    }
    settings
}

/// The family of a model: what its name begins with, the vendor left out. Signed reasoning and the
/// like mean something to the family that wrote it only.
fn family(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let end = name.find(|c: char| !c.is_alphabetic()).unwrap_or(name.len());
    &name[..end]
}

/// The model that a request goes to.
fn model_of(input: &ModelRequest) -> &str {
    input.state.request.get("model").and_then(Value::as_str).unwrap_or_default()
}

/// What the configuration says about the request; `extra_body` has the last word.
fn parameters<W: Wire>(config: &Config) -> Result<Map> {
    if config.text("model").is_none_or(str::is_empty) {
        return Err(Error::bad_argument(format!(
            "the configuration names no model; set model to one that {} offers",
            base_url::<W>(config)
        )));
    }
    let mut params = W::parameters(config)?;
    if let Some(Value::Object(extra)) = config.get("extra_body") {
        for (key, value) in extra {
            match (params.get_mut(key), value) {
                (Some(Value::Object(group)), Value::Object(more))
                    if W::GROUPS.contains(&&**key) =>
                {
                    group.extend(more.clone());
                }
                _ => {
                    params.insert(key.clone(), value.clone());
                }
            }
        }
    }
    Ok(params)
}
