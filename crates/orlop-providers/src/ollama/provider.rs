//! The provider plugin `ollama`: the native chat API of Ollama.

use super::assemble::answer;
use super::convert;
use super::stream::ChatReader;
use crate::http::{Call, message_in};
use crate::openai::request;
use crate::wire::options::{ToolChoice, output_schema, tool_choice};
use crate::wire::{self, HttpProvider, Whole, Wire, with_own_calls, with_own_headers};
use bytes::Bytes;
use orlop_core::hooks::ModelRequest;
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{Config, Context, Error, Manifest, Map, Message, NativeItem, Result, Value};
use serde_json::json;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "ollama";

/// The native chat API of Ollama. Cloning shares the connections.
pub type Ollama = HttpProvider<Chat>;

/// The chat API.
#[derive(Debug)]
pub struct Chat;

/// Configuration keys that go into `options`, and their names there.
const OPTIONS: &[(&str, &str)] = &[
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("seed", "seed"),
    ("max_tokens", "num_predict"),
    ("context", "num_ctx"),
    ("stop", "stop"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("repeat_penalty", "repeat_penalty"),
];

/// What the configuration says about the model's settings; `options` has the last word.
fn options(config: &Config) -> Map {
    let set = |key: &str| config.get(key).filter(|value| !value.is_null());
    let mut options: Map = OPTIONS
        .iter()
        .filter_map(|(key, name)| Some(((*name).to_owned(), set(key)?.clone())))
        .collect();
    // The server takes a list only.
    if let Some(stop) = options.get_mut("stop").filter(|stop| stop.is_string()) {
        *stop = json!([stop]);
    }
    if let Some(Value::Object(own)) = config.get("options") {
        options.extend(own.clone());
    }
    options
}

/// Whether and how long to think: `think`, else what `reasoning_effort` comes to.
fn think(config: &Config) -> Option<Value> {
    if let Some(think) = config.get("think").filter(|think| !think.is_null()) {
        return Some(think.clone());
    }
    let effort = config.get("reasoning_effort").filter(|effort| !effort.is_null())?;
    Some(match effort.as_str() {
        Some("none" | "off") => false.into(),
        Some("on" | "auto") => true.into(),
        Some("minimal") => "low".into(),
        Some("xhigh") => "high".into(),
        _ => effort.clone(),
    })
}

/// The body that a request comes to.
fn body(input: &ModelRequest, cx: &Context) -> Bytes {
    let mut params = input.state.request.clone();
    // Without a word about it this server streams.
    params.insert("stream".to_owned(), input.stream.into());
    // It knows no choice of tools; not to offer any is the way to have none called.
    let tools = match tool_choice(&input.state.config) {
        Some(ToolChoice::None) => {
            params.shift_remove("tools");
            None
        }
        _ => cx.wire_tools(),
    };
    request::body(&params, &input.native_messages, tools)
}

fn authorised(call: Call, config: &Config) -> Result<Call> {
    with_own_headers(call.bearer(wire::key(config))?, config)
}

impl Wire for Chat {
    const NAME: &'static str = NAME;
    const FORMAT: &'static str = "ollama.chat";
    const BASE_URL: &'static str = "http://127.0.0.1:11434";
    const TAGS: &'static [&'static str] = &["chat", "streaming", "tools", "images"];
    type Reader = ChatReader;

    fn describe(manifest: Manifest) -> Manifest {
        let number = |about: &str| json!({ "type": "number", "description": about });
        let integer = |about: &str| json!({ "type": "integer", "description": about });
        manifest
            .config("temperature", number("How much chance there is in the answer."))
            .config("top_p", number("Only the likeliest tokens, up to this sum of probabilities."))
            .config("top_k", integer("Only so many of the likeliest tokens."))
            .config("min_p", number("Only tokens that are at least so likely beside the likeliest."))
            .config("seed", integer("The same seed gives the same answer."))
            .config("max_tokens", integer("The longest answer, in tokens."))
            .config("context", integer("How many tokens the model may look back; the server has a small default."))
            .config("stop", json!({ "description": "A text, or a list of texts, that ends the answer." }))
            .config("presence_penalty", number("How much less likely a token gets once it was used."))
            .config("frequency_penalty", number("How much less likely a token gets each time it was used."))
            .config("repeat_penalty", number("How much less likely repetitions get."))
            .config("reasoning_effort", json!({ "type": "string", "description": "How long a reasoning model may think: none, low, medium, high, or on." }))
            .config("think", json!({ "description": "Whether to think, in the server's own words; wins over reasoning_effort." }))
            .config("keep_alive", json!({ "description": "How long the model stays loaded, such as 10m; -1 for ever." }))
            .config("options", json!({ "type": "object", "description": "Further options of the model, in the server's own words." }))
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schemas::OLLAMA.to_owned()),
            call_format: Some(calls::OLLAMA_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        let mut params = Map::new();
        for key in ["model", "keep_alive"] {
            if let Some(value) = config.get(key).filter(|value| !value.is_null()) {
                params.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(think) = think(config) {
            params.insert("think".to_owned(), think);
        }
        if let Some(schema) = output_schema(config) {
            params.insert("format".to_owned(), schema.clone());
        }
        let options = options(config);
        if !options.is_empty() {
            params.insert("options".to_owned(), options.into());
        }
        Ok(params)
    }

    fn call(input: &ModelRequest, cx: &Context) -> Result<Call> {
        let config = &input.state.config;
        authorised(Call::post(wire::base_url::<Self>(config), "api/chat", body(input, cx))?, config)
    }

    fn models_call(config: &Config) -> Result<Call> {
        authorised(Call::get(wire::base_url::<Self>(config), "api/tags")?, config)
    }

    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem> {
        let own = |message: &Message| with_own_calls(message, calls::OLLAMA_FUNCTION, &[], cx);
        convert::to_native(&messages.iter().map(own).collect::<Vec<_>>())
    }

    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
        convert::from_native(items)
    }

    fn whole(body: &str) -> Result<Whole> {
        let (shown, item) = answer(body)?;
        Ok(Whole { shown, items: vec![item] })
    }

    // The server decides how much of what the model could take it uses, unless it is told.
    fn context_window(config: &Config) -> Option<u64> {
        config.get("context").and_then(Value::as_u64)
    }

    fn explained(error: Error, model: &str) -> Error {
        let words = error.provider_body().and_then(message_in).unwrap_or_default();
        let is_missing = words.starts_with("model") && words.contains("not found");
        if !is_missing {
            return error;
        }
        let message = format!(
            "the model server does not have the model {model:?}; \
             run \"orlop model pull {model} --provider ollama\", or choose one of \
             \"orlop model list\""
        );
        let explained = Error::provider(message).with_retryable(false);
        let body = error.provider_body().unwrap_or_default();
        explained.with_provider_body(error.provider_status(), body)
    }
}
