//! What the configuration says about an answer, as the engine takes it.

use crate::wire::options::{self, output_schema, tool_choice};
use orlop_core::{Config, Error, Map, Result, Value};
use orlop_local::{Message, Options, Request, Sampling, Tool, ToolChoice};

/// The model without a setting.
pub(super) const MODEL: &str = "smollm2";

/// The longest answer without a setting. Small models sometimes repeat themselves without an end.
pub(super) const MAX_TOKENS: usize = 1024;

/// Configuration keys that go into the request under their own name.
const PARAMETERS: &[&str] = &[
    "model",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "repeat_penalty",
    "seed",
    "max_tokens",
    "stop",
    "tool_choice",
    "output_schema",
];

/// The fields of the request that the configuration gives.
pub(super) fn parameters(config: &Config) -> Map {
    let given = |key: &&str| Some(((*key).to_owned(), config.get(key)?.clone()));
    let mut params: Map = PARAMETERS.iter().filter_map(given).collect();
    params.entry("model").or_insert_with(|| MODEL.into());
    params
}

/// The model that the request asks for.
pub(super) fn model(params: &Map) -> String {
    params
        .get("model")
        .and_then(Value::as_str)
        .filter(|it| !it.is_empty())
        .unwrap_or(MODEL)
        .to_owned()
}

/// How the model is run.
pub(super) fn options(config: &Config) -> Result<Options> {
    let config = config.values();
    Ok(Options {
        threads: count(config, "threads")?,
        context: count(config, "context")?,
        ..Options::default()
    })
}

/// The request for the engine.
pub(super) fn request(
    params: &Map,
    messages: Vec<Message>,
    tools: Option<&str>,
) -> Result<Request> {
    let settings = Config::new(params.clone());
    let standard = Sampling::default();
    let sampling = Sampling {
        temperature: number(params, "temperature")?.unwrap_or(standard.temperature),
        top_k: count(params, "top_k")?.unwrap_or(standard.top_k),
        top_p: number(params, "top_p")?.unwrap_or(standard.top_p),
        min_p: number(params, "min_p")?.unwrap_or(standard.min_p),
        repeat_penalty: number(params, "repeat_penalty")?.unwrap_or(standard.repeat_penalty),
        seed: count(params, "seed")?.map(|seed| seed as u64),
    };
    Ok(Request {
        messages,
        tools: tools.map(read_tools).transpose()?.unwrap_or_default(),
        tool_choice: choice(&settings)?,
        output_schema: output_schema(&settings).cloned(),
        sampling,
        max_tokens: Some(count(params, "max_tokens")?.unwrap_or(MAX_TOKENS)),
        stop: stops(params)?,
    })
}

/// The tools in the form `openai.function`.
fn read_tools(text: &str) -> Result<Vec<Tool>> {
    let broken =
        |error: serde_json::Error| Error::internal(format!("tools cannot be read: {error}"));
    let tools: Vec<Value> = serde_json::from_str(text).map_err(broken)?;
    let tool = |tool: &Value| {
        let function = tool.get("function")?;
        let text = |key: &str| function.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Tool {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            parameters: function.get("parameters").cloned(),
        })
    };
    Ok(tools.iter().filter_map(tool).collect())
}

fn choice(settings: &Config) -> Result<ToolChoice> {
    Ok(match tool_choice(settings) {
        None | Some(options::ToolChoice::Auto) => ToolChoice::Auto,
        Some(options::ToolChoice::None) => ToolChoice::None,
        Some(options::ToolChoice::Required) => ToolChoice::Required,
        Some(options::ToolChoice::Tool(name)) => ToolChoice::Named(name),
        Some(options::ToolChoice::Native(other)) => {
            let name = other.pointer("/function/name").and_then(Value::as_str);
            let name = name.ok_or_else(|| {
                wrong("tool_choice", "auto, none, required or the name of a tool")
            })?;
            ToolChoice::Named(name.to_owned())
        }
    })
}

fn stops(params: &Map) -> Result<Vec<String>> {
    let wrong = || wrong("stop", "a text or a list of texts");
    match params.get("stop") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(texts)) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned).ok_or_else(wrong));
            texts.collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn count(params: &Map, key: &str) -> Result<Option<usize>> {
    match params.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
            count.map(Some).ok_or_else(|| wrong(key, "a whole number that is not negative"))
        }
    }
}

fn number(params: &Map, key: &str) -> Result<Option<f32>> {
    match params.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(|it| Some(it as f32)).ok_or_else(|| wrong(key, "a number"))
        }
    }
}

fn wrong(key: &str, wanted: &str) -> Error {
    Error::wrong_type(format!("`{key}` for the embedded model has to be {wanted}"))
}
