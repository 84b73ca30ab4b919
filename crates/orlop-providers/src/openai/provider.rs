//! The provider plugin `openai_compatible`: chat completions of any server that speaks them.

use super::assemble::{completion, shown};
use super::stream::ChatReader;
use super::{convert, request};
use crate::http::Call;
use crate::wire::options::{ToolChoice, output_schema, tool_choice};
use crate::wire::{self, HttpProvider, Whole, Wire, with_own_calls, with_own_headers};
use bytes::Bytes;
use orlop_core::hooks::ModelRequest;
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{Config, Context, Error, Manifest, Map, Message, NativeItem, Result, Value};
use serde_json::json;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "openai_compatible";

/// Chat completions of any server that speaks them. Cloning shares the connections.
pub type OpenAiCompatible = HttpProvider<Chat>;

/// The chat completions API.
#[derive(Debug)]
pub struct Chat;

const PROMPT_CACHE_KEY: &str = "prompt_cache_key";

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
    "parallel_tool_calls",
    "response_format",
    PROMPT_CACHE_KEY,
    "service_tier",
];

/// The body that a request comes to.
fn body(input: &ModelRequest, cx: &Context) -> Bytes {
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

fn choice_as_sent(choice: ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
        ToolChoice::Native(choice) => choice,
    }
}

fn authorised(call: Call, config: &Config) -> Result<Call> {
    with_own_headers(call.bearer(wire::key(config))?, config)
}

impl Wire for Chat {
    const NAME: &'static str = NAME;
    const FORMAT: &'static str = "openai.chat";
    const BASE_URL: &'static str = "https://api.openai.com/v1";
    const TAGS: &'static [&'static str] = &["chat", "streaming", "tools", "images"];
    type Reader = ChatReader;

    fn describe(manifest: Manifest) -> Manifest {
        manifest
            .config("temperature", json!({ "type": "number", "description": "How much chance there is in the answer." }))
            .config("max_tokens", json!({ "type": "integer", "description": "The longest answer, in tokens." }))
            .config("reasoning_effort", json!({ "type": "string", "description": "How long a reasoning model may think." }))
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schemas::OPENAI_FUNCTION.to_owned()),
            call_format: Some(calls::OPENAI_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        let given = PARAMETERS.iter();
        let mut params: Map =
            given.filter_map(|key| Some(((*key).to_owned(), config.get(key)?.clone()))).collect();
        if let Some(choice) = tool_choice(config) {
            params.insert("tool_choice".to_owned(), choice_as_sent(choice));
        }
        if let Some(schema) = output_schema(config) {
            let format = json!({ "name": "answer", "schema": schema });
            params
                .entry("response_format")
                .or_insert_with(|| json!({ "type": "json_schema", "json_schema": format }));
        }
        Ok(params)
    }

    fn call(input: &ModelRequest, cx: &Context) -> Result<Call> {
        let config = &input.state.config;
        let call = Call::post(wire::base_url::<Self>(config), "chat/completions", body(input, cx))?;
        authorised(if input.stream { call.accept_events() } else { call }, config)
    }

    /// A server that knows no such key may refuse it, and can answer without.
    fn instead(input: &ModelRequest, cx: &Context, refusal: &Error) -> Option<Result<Call>> {
        let is_refused = matches!(refusal.provider_status(), Some(400 | 422))
            && refusal.provider_body().is_some_and(|body| body.contains(PROMPT_CACHE_KEY));
        let mut input = input.clone();
        let held = input.state.request.shift_remove(PROMPT_CACHE_KEY);
        held.filter(|_| is_refused).map(|_| Self::call(&input, cx))
    }

    fn models_call(config: &Config) -> Result<Call> {
        authorised(Call::get(wire::base_url::<Self>(config), "models")?, config)
    }

    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem> {
        let own = |message: &Message| {
            with_own_calls(message, calls::OPENAI_FUNCTION, &[calls::OPENAI_CUSTOM], cx)
        };
        convert::to_native(&messages.iter().map(own).collect::<Vec<_>>())
    }

    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
        convert::from_native(items)
    }

    fn whole(body: &str) -> Result<Whole> {
        let item = completion(body)?.item;
        Ok(Whole { shown: shown(&item), items: vec![item] })
    }
}
