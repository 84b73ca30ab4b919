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
use orlop_core::{Config, Context, Manifest, Map, Message, NativeItem, Result, Value};
use serde_json::json;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "openai_compatible";

/// Chat completions of any server that speaks them. Cloning shares the connections.
pub type OpenAiCompatible = HttpProvider<Chat>;

/// The chat completions API.
#[derive(Debug)]
pub struct Chat;

const PROMPT_CACHE_KEY: &str = "prompt_cache_key";

/// Configuration keys that go into the request under their own name: the type, and what they do.
const PARAMETERS: [(&str, Option<&str>, &str); 13] = [
    ("temperature", Some("number"), "How much chance there is in the answer."),
    ("top_p", Some("number"), "Only tokens within this share of the probability are chosen."),
    ("max_tokens", Some("integer"), "The longest answer, in tokens."),
    ("max_completion_tokens", Some("integer"), "The same under the name newer servers want."),
    ("reasoning_effort", Some("string"), "How long a reasoning model may think."),
    ("stop", None, "A text, or a list of texts, that ends the answer."),
    ("seed", Some("integer"), "Makes answers repeatable, as far as the server can."),
    ("presence_penalty", Some("number"), "Keeps the model from returning to a word."),
    ("frequency_penalty", Some("number"), "The same, growing with each use."),
    ("parallel_tool_calls", Some("boolean"), "Whether the model may call several tools at once."),
    ("response_format", Some("object"), "The form of the answer in the words of the API."),
    (PROMPT_CACHE_KEY, Some("string"), "What requests with the same beginning have in common."),
    ("service_tier", Some("string"), "How fast, and at what price, the server answers."),
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
    const OPTIONAL: &'static [&'static str] = &[PROMPT_CACHE_KEY];
    const TAGS: &'static [&'static str] = &["chat", "streaming", "tools", "images"];
    type Reader = ChatReader;

    fn describe(manifest: Manifest) -> Manifest {
        PARAMETERS.iter().fold(manifest, |manifest, (key, kind, description)| {
            let mut descriptor = json!({ "description": description });
            if let Some(kind) = kind {
                descriptor["type"] = (*kind).into();
            }
            manifest.config(key, descriptor)
        })
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schemas::OPENAI_FUNCTION.to_owned()),
            call_format: Some(calls::OPENAI_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        let given = ["model"].into_iter().chain(PARAMETERS.iter().map(|(key, ..)| *key));
        let mut params: Map =
            given.filter_map(|key| Some((key.to_owned(), config.get(key)?.clone()))).collect();
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
