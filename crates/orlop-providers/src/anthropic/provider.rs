//! The provider plugin `anthropic`: the Messages API of Anthropic and of servers that speak it.

use super::request::{self, Cache};
use super::stream::MessagesReader;
use super::{assemble, convert, settings};
use crate::http::Call;
use crate::wire::{self, HttpProvider, Whole, Wire, with_own_calls, with_own_headers};
use bytes::Bytes;
use orlop_core::hooks::ModelRequest;
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{Config, Context, Error, Manifest, Map, Message, NativeItem, Result, Value};
use serde_json::json;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "anthropic";

/// The Messages API of Anthropic and of servers that speak it. Cloning shares the connections.
pub type Anthropic = HttpProvider<Messages>;

/// The Messages API.
#[derive(Debug)]
pub struct Messages;

/// The version of the API that this provider speaks.
const VERSION: &str = "2023-06-01";
/// How tokens begin that a person got by logging in; they are no keys.
const LOGIN_TOKEN: &str = "sk-ant-oat";
/// What allows them.
const LOGIN_BETA: &str = "oauth-2025-04-20";

/// The body that a request comes to.
fn body(input: &ModelRequest, cx: &Context, cache: Cache) -> Bytes {
    let mut params = input.state.request.clone();
    if input.stream {
        params.insert("stream".to_owned(), true.into());
    } else {
        // The caller decides on the form of the answer, not the configuration.
        params.shift_remove("stream");
    }
    request::body(&params, &input.native_messages, cx.wire_tools(), cache)
}

fn call(input: &ModelRequest, cx: &Context, cache: Cache) -> Result<Call> {
    let config = &input.state.config;
    let body = body(input, cx, cache);
    let call = Call::post(wire::base_url::<Messages>(config), "messages", body)?;
    authorised(if input.stream { call.accept_events() } else { call }, config)
}

fn cache(config: &Config) -> Result<Cache> {
    match config.get("prompt_cache") {
        None => Ok(Cache::Minutes),
        Some(Value::String(word)) if word == "auto" => Ok(Cache::Minutes),
        Some(Value::String(word)) if word == "1h" => Ok(Cache::Hour),
        Some(Value::String(word)) if word == "off" => Ok(Cache::Off),
        Some(other) => Err(Error::bad_argument(format!(
            "prompt_cache is {other}; set it to \"auto\", \"1h\" or \"off\""
        ))),
    }
}

/// With the key, the version and the betas; the headers of the configuration have the last word.
fn authorised(call: Call, config: &Config) -> Result<Call> {
    let key = wire::key(config);
    let logged_in = key.expose().starts_with(LOGIN_TOKEN);
    let call = match logged_in {
        true => call.bearer(key)?,
        false => call.key_header("x-api-key", key)?,
    };
    let call = call.header("anthropic-version", VERSION)?;
    let mut betas = betas(config)?;
    if logged_in {
        betas.push(LOGIN_BETA);
    }
    let call = match betas.is_empty() {
        true => call,
        false => call.header("anthropic-beta", &betas.join(","))?,
    };
    with_own_headers(call, config)
}

fn betas(config: &Config) -> Result<Vec<&str>> {
    let Some(betas) = config.get("betas") else { return Ok(Vec::new()) };
    let words = betas.as_array().map(|betas| betas.iter().map(Value::as_str).collect());
    words.flatten().ok_or_else(|| {
        Error::wrong_type(format!("betas is {betas}; set it to a list of names of betas"))
    })
}

/// A description of a model in the words of all wires, beside those of the API.
fn described(mut model: Map) -> Map {
    for (theirs, ours) in [
        ("display_name", "name"),
        ("max_input_tokens", "context_window"),
        ("max_tokens", "max_output_tokens"),
    ] {
        if let Some(value) = model.get(theirs).filter(|value| !value.is_null()).cloned() {
            model.entry(ours).or_insert(value);
        }
    }
    model
}

impl Wire for Messages {
    const NAME: &'static str = NAME;
    const FORMAT: &'static str = "anthropic.messages";
    const BASE_URL: &'static str = "https://api.anthropic.com/v1";
    const DISCOVERY: &'static [&'static str] = &["base_url", "api_key", "headers", "betas"];
    const TAGS: &'static [&'static str] = &["chat", "streaming", "tools", "images"];
    type Reader = MessagesReader;

    fn describe(manifest: Manifest) -> Manifest {
        manifest
            .config("max_tokens", json!({ "type": "integer", "description": "The longest answer, in tokens; by default 32000, or what an older model takes." }))
            .config("temperature", json!({ "type": "number", "description": "How much chance there is in the answer." }))
            .config("top_p", json!({ "type": "number", "description": "How many of the likely words are considered, as a share of their probability." }))
            .config("top_k", json!({ "type": "integer", "description": "How many of the likely words are considered." }))
            .config("stop", json!({ "description": "A text, or several, at which the answer ends." }))
            .config("reasoning_effort", json!({ "type": "string", "description": "How long the model may think: none, minimal, low, medium, high, xhigh or max." }))
            .config("thinking", json!({ "type": "object", "description": "How the model thinks, as the API takes it; before reasoning_effort." }))
            .config("parallel_tool_calls", json!({ "type": "boolean", "description": "Whether the model may call several tools at once." }))
            .config("output_config", json!({ "type": "object", "description": "How the answer should be, as the API takes it." }))
            .config("prompt_cache", json!({ "type": "string", "default": "auto", "description": "Whether the server keeps what it read for the next request: auto, 1h or off." }))
            .config("betas", json!({ "type": "array", "description": "Betas of the API to take part in." }))
            .config("server_tools", json!({ "type": "array", "description": "Tools that the server runs itself, as the API takes them." }))
            .config("mcp_servers", json!({ "type": "array", "description": "MCP servers that the server itself connects to; needs a beta." }))
            .config("container", json!({ "description": "The container in which the server's tools run." }))
            .config("context_management", json!({ "type": "object", "description": "What the server leaves out of long conversations; needs a beta." }))
            .config("metadata", json!({ "type": "object", "description": "What the server is told about the request, for instance user_id." }))
            .config("service_tier", json!({ "type": "string", "description": "auto or standard_only." }))
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schemas::ANTHROPIC.to_owned()),
            call_format: Some(calls::ANTHROPIC_TOOL_USE.to_owned()),
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        Ok(settings::parameters(config))
    }

    fn call(input: &ModelRequest, cx: &Context) -> Result<Call> {
        call(input, cx, cache(&input.state.config)?)
    }

    fn instead(input: &ModelRequest, cx: &Context, refusal: &Error) -> Option<Result<Call>> {
        // Other servers that speak the API may not know of caches.
        let marked = cache(&input.state.config).is_ok_and(|cache| cache != Cache::Off);
        let about_marks = refusal.provider_body().is_some_and(|it| it.contains("cache_control"));
        let refused = refusal.provider_status() == Some(400) && about_marks;
        (marked && refused).then(|| call(input, cx, Cache::Off))
    }

    fn models_call(config: &Config) -> Result<Call> {
        let call = Call::get(wire::base_url::<Self>(config), "models")?;
        authorised(call.query("limit", "1000"), config)
    }

    fn models(body: &str) -> Result<Vec<Map>> {
        Ok(wire::models::parse(body)?.into_iter().map(described).collect())
    }

    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem> {
        let own = |message: &Message| with_own_calls(message, calls::ANTHROPIC_TOOL_USE, &[], cx);
        convert::to_native(&messages.iter().map(own).collect::<Vec<_>>())
    }

    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
        convert::from_native(items)
    }

    fn whole(body: &str) -> Result<Whole> {
        assemble::answer(body)
    }
}
