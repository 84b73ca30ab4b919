//! The provider plugin `gemini`: `generateContent`, as Google serves it in its two APIs.

use super::call_ids::function_call;
use super::stream::ContentReader;
use super::{assemble, from_native, models, request, schema, settings, to_native};
use crate::http::Call;
use crate::wire::{self, HttpProvider, Whole, Wire, with_own_calls, with_own_headers};
use orlop_core::hooks::ModelRequest;
use orlop_core::interop::{Interop, calls};
use orlop_core::{Config, Context, Manifest, Map, Message, NativeItem, Result, Value};

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "gemini";

/// Gemini models through `generateContent`. Cloning shares the connections.
pub type Gemini = HttpProvider<GenerateContent>;

/// The `generateContent` API.
#[derive(Debug)]
pub struct GenerateContent;

/// Where a model is below the address of the server; its name may have the folder already.
fn path(model: &str) -> String {
    let model = model.trim_matches('/');
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}

fn authorised(call: Call, config: &Config) -> Result<Call> {
    with_own_headers(call.key_header("x-goog-api-key", wire::key(config))?, config)
}

/// A message with its calls in the form of this API.
fn with_calls(message: &Message, cx: &Context) -> Message {
    let own = with_own_calls(message, calls::GEMINI_FUNCTION_CALL, &[], cx);
    match message.tool_calls().next() {
        Some(first) if function_call(first).is_none() => to_native::signed(&own),
        _ => own,
    }
}

impl Wire for GenerateContent {
    const NAME: &'static str = NAME;
    const FORMAT: &'static str = "gemini.generate_content";
    const BASE_URL: &'static str = "https://generativelanguage.googleapis.com/v1beta";
    const GROUPS: &'static [&'static str] = &["generationConfig"];
    const TAGS: &'static [&'static str] = &["chat", "streaming", "tools", "images"];
    type Reader = ContentReader;

    fn describe(manifest: Manifest) -> Manifest {
        settings::describe(manifest)
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schema::DECLARATION.to_owned()),
            call_format: Some(calls::GEMINI_FUNCTION_CALL.to_owned()),
            schemas: vec![schema::format()],
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        Ok(settings::parameters(config))
    }

    fn call(input: &ModelRequest, cx: &Context) -> Result<Call> {
        let (config, params) = (&input.state.config, &input.state.request);
        let model = params.get("model").and_then(Value::as_str).or(config.text("model"));
        let path = path(model.unwrap_or_default());
        let body = request::body(params, &input.native_messages, cx.wire_tools());
        let base_url = wire::base_url::<Self>(config);
        let call = match input.stream {
            true => Call::post(base_url, &format!("{path}:streamGenerateContent"), body)?
                .query("alt", "sse")
                .accept_events(),
            false => Call::post(base_url, &format!("{path}:generateContent"), body)?,
        };
        authorised(call, config)
    }

    fn models_call(config: &Config) -> Result<Call> {
        let call = Call::get(wire::base_url::<Self>(config), "models")?;
        authorised(call.query("pageSize", "1000"), config)
    }

    fn models(body: &str) -> Result<Vec<Map>> {
        models::models(body)
    }

    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem> {
        let own: Vec<Message> = messages.iter().map(|message| with_calls(message, cx)).collect();
        to_native::to_native(&own)
    }

    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
        from_native::from_native(items)
    }

    fn whole(body: &str) -> Result<Whole> {
        assemble::answer(body)
    }
}
