//! The provider plugin `local`.

use super::answer::Job;
use super::shelf::{CAN, Shelf};
use super::{items, request};
use crate::openai::convert;
use crate::wire::{Guarded, Running, model_setting, placed, with_own_calls};
use futures::channel::oneshot;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::{
    CancelInput, Chunk, ConfigInput, FromNativeInput, ModelAnswer, ModelRequest, RequestChange,
    RequestInput, TagsInput, ToNativeInput, UiInput,
};
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{
    Answer, Config, Context, Error, Manifest, Map, Message, NativeItem, Plugin, Provider, Result,
    StateChange, Value,
};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "local";

/// The embedded model. Cloning shares the models that are open.
#[derive(Clone)]
pub struct LocalModel {
    shelf: Arc<Shelf>,
    running: Running,
}

impl LocalModel {
    /// The provider whose models are the GGUF files of this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { shelf: Arc::new(Shelf::new(folder.into())), running: Running::default() }
    }

    /// The job of a request, or what is wrong with it.
    fn job(&self, input: &ModelRequest, cx: &Context) -> Result<Job> {
        let params = &input.state.request;
        let messages = items::messages(input.native_messages.iter());
        Ok(Job {
            shelf: self.shelf.clone(),
            model: request::model(params),
            options: request::options(&input.state.config)?,
            request: request::request(params, messages, cx.wire_tools())?,
        })
    }
}

impl Plugin for LocalModel {
    fn manifest(&self) -> Manifest {
        let number = |about: &str| json!({ "type": "number", "description": about });
        let count = |about: &str| json!({ "type": "integer", "description": about });
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .config("model", json!({ "type": "string", "default": request::MODEL, "description": "The name of a model in the models folder, or the path of a GGUF file." }))
            .config("threads", count("Threads that compute; without it the physical cores minus one."))
            .config("context", count("The most tokens of a conversation."))
            .config("temperature", number("How much chance there is in the answer; 0 is none."))
            .config("top_k", count("Only so many of the likeliest tokens; 0 for all."))
            .config("top_p", number("Only the likeliest tokens that together have this probability."))
            .config("min_p", number("Only tokens with this share of the probability of the likeliest one."))
            .config("repeat_penalty", number("Makes repetitions less likely; 1 changes nothing."))
            .config("seed", count("The same seed gives the same answer."))
            .config("max_tokens", json!({ "type": "integer", "default": request::MAX_TOKENS, "description": "The longest answer, in tokens." }))
            .config("stop", json!({ "description": "A text, or several, that end the answer." }))
            .config("tool_choice", json!({ "description": "auto, none, required, or a mapping with the name of the tool to call." }))
            .config("output_schema", json!({ "type": "object", "description": "The JSON Schema that the answer has to fit." }))
    }

    fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        let tags = ["chat", "streaming"].into_iter().chain(CAN).chain(["local"]);
        Answer::ok(tags.map(str::to_owned).collect())
    }

    fn get_ui_elements<'a>(&'a self, input: &'a UiInput, _: &'a Context) -> Answer<'a, Vec<Value>> {
        Answer::ok(vec![model_setting(&input.models)])
    }
}

impl Provider for LocalModel {
    fn native_format(&self, _: &Config) -> Option<String> {
        Some("orlop.local".to_owned())
    }

    fn interop(&self) -> Interop {
        Interop {
            schema_format: Some(schemas::OPENAI_FUNCTION.to_owned()),
            call_format: Some(calls::OPENAI_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn context_window(&self, config: &Config) -> Option<u64> {
        config.get("context").and_then(Value::as_u64)
    }

    fn get_models<'a>(&'a self, input: &'a ConfigInput, _: &'a Context) -> Answer<'a, Vec<Map>> {
        Answer::later(async move {
            let options = request::options(&input.config)?;
            let (shelf, (sender, listed)) = (self.shelf.clone(), oneshot::channel());
            let list = move || drop(sender.send(shelf.models(&options)));
            let started = std::thread::Builder::new().name("orlop-models".to_owned()).spawn(list);
            started.map_err(|error| {
                Error::unavailable(format!("the model files cannot be read: {error}"))
            })?;
            listed.await.map_err(|_| Error::internal("reading the model files broke off"))
        })
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        let own = |message: &Message| with_own_calls(message, calls::OPENAI_FUNCTION, &[], cx);
        Answer::ok(convert::to_native(&input.messages.iter().map(own).collect::<Vec<_>>()))
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        let items: Vec<NativeItem> = input.native_messages.iter().cloned().collect();
        Answer::ok(placed(convert::from_native(&items)))
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        _: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let params = Value::Object(request::parameters(&input.state.config));
        let request = Map::from_iter([("request".to_owned(), params)]);
        Answer::ok(RequestChange::state(StateChange::patch(request)))
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        cx: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        Answer::later(async move {
            let entered = self.running.enter(input.request_id.as_ref());
            let mut chunks = Guarded::stream(self.job(input, cx)?.start(), entered);
            let mut final_messages = Vec::new();
            while let Some(chunk) = chunks.next().await {
                final_messages.extend(chunk?.final_messages);
            }
            Ok(Some(ModelAnswer { final_messages, ..ModelAnswer::default() }))
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        let entered = self.running.enter(input.request_id.as_ref());
        let chunks = match self.job(input, cx) {
            Ok(job) => job.start(),
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        };
        Some(Guarded::stream(chunks, entered))
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, _: &'a Context) -> Answer<'a, ()> {
        self.running.cancel(&input.request_id);
        Answer::default()
    }
}
