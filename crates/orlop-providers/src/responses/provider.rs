//! The provider plugin `openai_responses`.

use super::history::{Selection, texts};
use super::previous::{self, Previous};
use super::{answer, convert, request, stream::ResponsesReader};
use crate::extensions::reasoning;
use crate::http::Call;
use crate::wire::options::{ToolChoice, output_schema, tool_choice};
use crate::wire::{self, HttpProvider, Whole, Wire, with_own_calls, with_own_headers};
use orlop_core::hooks::ModelRequest;
use orlop_core::interop::{Interop, calls, schemas};
use orlop_core::{Config, Context, Error, Manifest, Map, Message, NativeItem, Result, Value};
use serde_json::json;

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "openai_responses";

/// Responses of OpenAI and of any server that speaks Open Responses. Cloning shares the
/// connections.
pub type Responses = HttpProvider<ResponsesWire>;

/// The Responses API.
#[derive(Debug)]
pub struct ResponsesWire;

/// Configuration keys that go into the request under their own name.
const PARAMETERS: &[&str] = &[
    "model",
    "instructions",
    "temperature",
    "top_p",
    "max_output_tokens",
    "parallel_tool_calls",
    "max_tool_calls",
    "top_logprobs",
    "prompt_cache_key",
    "service_tier",
    "safety_identifier",
    "truncation",
];

/// What makes reasoning readable to the model again although the server stores nothing.
const ENCRYPTED: &str = "reasoning.encrypted_content";
const PREVIOUS: &str = "previous_response_id";

/// What a second try leaves out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Omit {
    Nothing,
    /// The server does not know the response.
    Previous,
    /// The model has no reasoning that could be encrypted.
    Include,
    /// The server cannot read the encrypted reasoning; another one wrote it.
    Reasoning,
}

fn call(input: &ModelRequest, cx: &Context, omit: Omit) -> Result<Call> {
    let config = &input.state.config;
    let mut params = input.state.request.clone();
    // The caller decides on the form of the answer, not the configuration.
    params.shift_remove("stream");
    if input.stream {
        params.insert("stream".to_owned(), true.into());
    } else {
        params.shift_remove("stream_options");
    }
    if omit == Omit::Include {
        params.shift_remove("include");
    }
    let mut selection = Selection {
        continues: [PREVIOUS, "conversation"].iter().any(|key| params.contains_key(*key)),
        stored: params.get("store") == Some(&Value::Bool(true)),
        without_reasoning: omit == Omit::Reasoning,
        ..Selection::default()
    };
    if let Some(previous) = previous(input).filter(|_| omit != Omit::Previous) {
        params.insert(PREVIOUS.to_owned(), previous.id.into());
        (selection.start, selection.answer) = (previous.start, previous.answer);
    }
    let items = texts(&input.native_messages, selection);
    let body = request::body(&params, &items, cx.wire_tools());
    let call = Call::post(wire::base_url::<ResponsesWire>(config), "responses", body)?;
    authorised(if input.stream { call.accept_events() } else { call }, config)
}

fn uses_previous(config: &Config) -> bool {
    config.get("use_previous_response") == Some(&Value::Bool(true))
}

/// The stored response that the request goes on from, if the configuration wants that.
fn previous(input: &ModelRequest) -> Option<Previous> {
    let wanted = uses_previous(&input.state.config) && !input.state.request.contains_key(PREVIOUS);
    if wanted { Previous::of(input.native_messages.iter()) } else { None }
}

/// What to leave out so that the server takes a request that it refused.
fn omission(input: &ModelRequest, refusal: &Error) -> Option<Omit> {
    if !matches!(refusal.provider_status(), Some(400 | 404 | 422)) {
        return None;
    }
    let body: Value = serde_json::from_str(refusal.provider_body()?).ok()?;
    let error = body.get("error").filter(|error| error.is_object()).unwrap_or(&body);
    let says = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let mentions = |word: &str| {
        ["code", "param", "message"].iter().any(|key| says(key).to_lowercase().contains(word))
    };
    if mentions("previous_response") {
        return previous(input).map(|_| Omit::Previous);
    }
    if says("code") == "invalid_encrypted_content" {
        return Some(Omit::Reasoning);
    }
    let asked = input.state.request.contains_key("include");
    (asked && says("param").starts_with("include") && mentions("encrypted"))
        .then_some(Omit::Include)
}

fn choice_as_sent(choice: ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
        ToolChoice::Native(choice) => choice,
    }
}

/// An object of the request: what the configuration gives of it whole, and then key by key.
fn object(config: &Config, key: &str, fields: &[(&str, Option<Value>)]) -> Option<Value> {
    let mut object = config.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    if key == "reasoning" {
        object.retain(|key, _| !reasoning::OWN_KEYS.contains(&key.as_str()));
    }
    for (key, value) in fields {
        if let Some(value) = value {
            object.entry(*key).or_insert_with(|| value.clone());
        }
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

/// What to include in the answer. Models that are known not to reason refuse to encrypt it.
fn included(config: &Config) -> Option<Value> {
    if let Some(include) = config.get("include") {
        return Some(include.clone()).filter(|include| include != &json!([]));
    }
    let name = config.text("model").unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    let reasons = !["gpt-3", "gpt-4", "chatgpt-4o"].iter().any(|old| name.starts_with(old));
    reasons.then(|| json!([ENCRYPTED]))
}

fn authorised(call: Call, config: &Config) -> Result<Call> {
    with_own_headers(call.bearer(wire::key(config))?, config)
}

impl Wire for ResponsesWire {
    const NAME: &'static str = NAME;
    const FORMAT: &'static str = "openai.responses";
    const BASE_URL: &'static str = "https://api.openai.com/v1";
    const TAGS: &'static [&'static str] =
        &["chat", "streaming", "tools", "images", "files", "reasoning"];
    type Reader = ResponsesReader;

    fn describe(manifest: Manifest) -> Manifest {
        let describe = |kind: &str, text: &str| json!({ "type": kind, "description": text });
        manifest
            .config("temperature", describe("number", "How much chance there is in the answer."))
            .config("top_p", describe("number", "How unlikely a word may be."))
            .config("max_tokens", describe("integer", "The longest answer, in tokens."))
            .config("max_output_tokens", describe("integer", "The same under the API's name."))
            .config("max_tool_calls", describe("integer", "How often the server may use its own tools."))
            .config("reasoning_effort", describe("string", "How long a reasoning model may think."))
            .config("reasoning_summary", describe("string", "How much of its reasoning is told: auto, concise or detailed."))
            .config("reasoning", describe("object", "Settings of reasoning in the words of the API."))
            .config("verbosity", describe("string", "How long the answer is to be: low, medium or high."))
            .config("text", describe("object", "Settings of text in the words of the API."))
            .config("instructions", describe("string", "Instructions beside those of the conversation, sent in the field of that name."))
            .config("parallel_tool_calls", describe("boolean", "Whether the model may call several tools at once."))
            .config("server_tools", describe("array", "Tools that the server runs itself, for instance {\"type\": \"web_search\"}."))
            .config("include", describe("array", "What else the answer is to have; encrypted reasoning unless set."))
            .config("store", describe("boolean", "Whether the server keeps the answer; not unless set."))
            .config("use_previous_response", describe("boolean", "Whether to go on from the stored answer in place of sending the conversation again; needs store."))
            .config("top_logprobs", describe("integer", "How many likely words to tell at each place."))
            .config("prompt_cache_key", describe("string", "What requests with the same beginning have in common."))
            .config("service_tier", describe("string", "How fast, and at what price, the server answers."))
            .config("safety_identifier", describe("string", "Who asks, in a form that tells nobody who it is."))
            .config("truncation", describe("string", "auto lets the server drop the start of a long conversation."))
    }

    fn interop() -> Interop {
        Interop {
            schema_format: Some(schemas::OPENAI_RESPONSES.to_owned()),
            call_format: Some(calls::RESPONSES_FUNCTION.to_owned()),
            ..Interop::default()
        }
    }

    fn parameters(config: &Config) -> Result<Map> {
        let given = |key: &str| config.get(key).filter(|value| !value.is_null()).cloned();
        let mut params: Map =
            PARAMETERS.iter().filter_map(|key| Some(((*key).to_owned(), given(key)?))).collect();
        let stored = given("store").unwrap_or(Value::Bool(false));
        if uses_previous(config) && stored != true {
            return Err(Error::bad_argument(
                "use_previous_response needs answers that the server stores; set store to true",
            ));
        }
        let format = output_schema(config)
            .map(|schema| json!({ "type": "json_schema", "name": "answer", "schema": schema }));
        let text = [("format", format), ("verbosity", given("verbosity"))];
        let reasoning =
            [("effort", given("reasoning_effort")), ("summary", given("reasoning_summary"))];
        for (key, value) in [
            ("max_output_tokens", given("max_tokens")),
            ("reasoning", object(config, "reasoning", &reasoning)),
            ("text", object(config, "text", &text)),
            ("tool_choice", tool_choice(config).map(choice_as_sent)),
            ("tools", given("server_tools")),
            ("include", included(config)),
            ("store", Some(stored)),
        ] {
            if let Some(value) = value {
                params.entry(key).or_insert(value);
            }
        }
        Ok(params)
    }

    fn call(input: &ModelRequest, cx: &Context) -> Result<Call> {
        call(input, cx, Omit::Nothing)
    }

    fn instead(input: &ModelRequest, cx: &Context, refusal: &Error) -> Option<Result<Call>> {
        omission(input, refusal).map(|omit| call(input, cx, omit))
    }

    fn settle(items: Vec<NativeItem>, input: &ModelRequest) -> Vec<NativeItem> {
        match uses_previous(&input.state.config) {
            true => previous::remember(items, &input.native_messages),
            false => items,
        }
    }

    fn models_call(config: &Config) -> Result<Call> {
        authorised(Call::get(wire::base_url::<Self>(config), "models")?, config)
    }

    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem> {
        let own = |message: &Message| {
            let free_form = [calls::RESPONSES_CUSTOM, calls::OPENAI_CUSTOM];
            let message = with_own_calls(message, calls::RESPONSES_FUNCTION, &free_form, cx);
            with_own_calls(&message, calls::RESPONSES_CUSTOM, &[calls::RESPONSES_FUNCTION], cx)
        };
        convert::to_native(&messages.iter().map(own).collect::<Vec<_>>())
    }

    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
        convert::from_native(items)
    }

    fn whole(body: &str) -> Result<Whole> {
        answer::response(body)
    }
}
