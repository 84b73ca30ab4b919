//! Tool schemas: one neutral form, written as each provider wants it.
//!
//! Neutral: `{"name", "description", "parameters": <JSON Schema>}`, or for free-form tools
//! `{"type": "custom", "name", "description", "format"?}`. A schema that is in function style
//! already is read as neutral.

use super::SchemaFormat;
use orlop_types::{Map, Value};
use serde_json::json;
use std::sync::Arc;

/// Chat completions: `{"type": "function", "function": {...}}`.
pub const OPENAI_FUNCTION: &str = "openai.function";
/// Responses: `{"type": "function", "name", ...}`.
pub const OPENAI_RESPONSES: &str = "openai.responses";
/// Messages API: `{"name", "description", "input_schema"}`.
pub const ANTHROPIC: &str = "anthropic";
/// Gemini: one function declaration.
pub const GEMINI: &str = "gemini";
/// Ollama: as chat completions, and for free-form tools a function that takes one text.
pub const OLLAMA: &str = "ollama";

pub(super) fn built_in() -> Vec<SchemaFormat> {
    let format = |id: &str, write: fn(&Neutral) -> Value| SchemaFormat {
        id: id.to_owned(),
        write: Arc::new(move |schema| Some(write(&Neutral::read(schema)?))),
    };
    vec![
        format(OPENAI_FUNCTION, write_openai),
        format(OPENAI_RESPONSES, write_responses),
        format(ANTHROPIC, write_anthropic),
        format(GEMINI, write_gemini),
        format(OLLAMA, write_ollama),
    ]
}

/// Whether a schema describes a free-form tool.
pub fn is_free_form(schema: &Map) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("custom")
}

/// What a schema says of the arguments: a JSON Schema, if it has one.
pub fn parameters(schema: &Map) -> Option<&Value> {
    let inner = inner(schema);
    let parameters = inner.get("parameters").or_else(|| inner.get("input_schema"));
    parameters.filter(|parameters| parameters.is_object())
}

/// What describes the tool: the schema, or what it has inside in function style.
fn inner(schema: &Map) -> &Map {
    let inner = schema.get("function").or_else(|| schema.get("custom"));
    inner.and_then(Value::as_object).unwrap_or(schema)
}

struct Neutral {
    name: Value,
    description: Value,
    parameters: Value,
    free_form: Option<Value>,
    strict: Option<Value>,
}

impl Neutral {
    fn read(schema: &Map) -> Option<Self> {
        let inner = inner(schema);
        Some(Self {
            name: inner.get("name").filter(|name| name.is_string())?.clone(),
            description: inner.get("description").cloned().unwrap_or_else(|| json!("")),
            parameters: parameters(schema)
                .cloned()
                .unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
            free_form: is_free_form(schema)
                .then(|| inner.get("format").cloned().unwrap_or_default()),
            // Not being strict is what is meant where nothing is said.
            strict: inner.get("strict").filter(|strict| **strict != false).cloned(),
        })
    }

    /// The parameters of a free-form tool on a wire that has none: one text.
    fn parameters(&self) -> Value {
        match self.free_form {
            None => self.parameters.clone(),
            Some(_) => json!({
                "type": "object",
                "properties": { "input": { "type": "string" } },
                "required": ["input"],
            }),
        }
    }
}

fn write_openai(schema: &Neutral) -> Value {
    if let Some(format) = &schema.free_form {
        let mut custom = json!({ "name": schema.name, "description": schema.description });
        if !format.is_null() {
            custom["format"] = format.clone();
        }
        return json!({ "type": "custom", "custom": custom });
    }
    let mut function = json!({
        "name": schema.name, "description": schema.description, "parameters": schema.parameters,
    });
    if let Some(strict) = &schema.strict {
        function["strict"] = strict.clone();
    }
    json!({ "type": "function", "function": function })
}

fn write_responses(schema: &Neutral) -> Value {
    if let Some(format) = &schema.free_form {
        let mut custom =
            json!({ "type": "custom", "name": schema.name, "description": schema.description });
        if !format.is_null() {
            custom["format"] = format.clone();
        }
        return custom;
    }
    // Left out it would mean that the server makes every parameter required.
    let strict = schema.strict.clone().unwrap_or(Value::Bool(false));
    json!({
        "type": "function", "name": schema.name, "description": schema.description,
        "parameters": schema.parameters, "strict": strict,
    })
}

fn write_anthropic(schema: &Neutral) -> Value {
    json!({
        "name": schema.name, "description": schema.description, "input_schema": schema.parameters(),
    })
}

fn write_gemini(schema: &Neutral) -> Value {
    json!({
        "name": schema.name, "description": schema.description, "parameters": schema.parameters(),
    })
}

fn write_ollama(schema: &Neutral) -> Value {
    json!({ "type": "function", "function": {
        "name": schema.name, "description": schema.description, "parameters": schema.parameters(),
    } })
}
