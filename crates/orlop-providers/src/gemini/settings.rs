//! What the configuration says about a request, in the words of the API.

use super::schema::accepted;
use crate::wire::options::{ToolChoice, output_schema, tool_choice};
use orlop_core::{Config, Manifest, Map, Value};
use serde_json::json;

/// Settings of the answer: our name, the API's name, the type, and what it does.
const GENERATION: [(&str, &str, &str, &str); 8] = [
    ("temperature", "temperature", "number", "How much chance there is in the answer."),
    ("top_p", "topP", "number", "Only tokens within this share of the probability are chosen."),
    ("top_k", "topK", "integer", "Only so many of the likeliest tokens are chosen from."),
    ("max_tokens", "maxOutputTokens", "integer", "The longest answer, in tokens."),
    ("seed", "seed", "integer", "Makes answers repeatable, as far as the server can."),
    ("presence_penalty", "presencePenalty", "number", "Keeps the model from returning to a word."),
    ("frequency_penalty", "frequencyPenalty", "number", "The same, growing with each use."),
    (
        "response_modalities",
        "responseModalities",
        "array",
        "What to answer with: TEXT, IMAGE, AUDIO.",
    ),
];

/// Tools that the server runs: our name, and the API's.
const SERVER_TOOLS: [(&str, &str, &str); 3] = [
    ("google_search", "googleSearch", "Whether the server may search the web for the model."),
    ("url_context", "urlContext", "Whether the server may read pages for the model."),
    ("code_execution", "codeExecution", "Whether the server may run code for the model."),
];

/// Adds the configuration keys to the manifest.
pub(super) fn describe(mut manifest: Manifest) -> Manifest {
    for (key, _, kind, description) in GENERATION {
        manifest = manifest.config(key, json!({ "type": kind, "description": description }));
    }
    for (key, _, description) in SERVER_TOOLS {
        manifest = manifest.config(key, json!({ "type": "boolean", "description": description }));
    }
    manifest
        .config("thinking_budget", json!({ "type": "integer", "description": "How many tokens the model may think; wins over reasoning_effort." }))
        .config("stop", json!({ "description": "Text, or a list of texts, that ends the answer." }))
        .config("reasoning_effort", json!({ "type": "string", "description": "How long the model may think: none, minimal, low, medium or high." }))
}

/// The fields of the request that the configuration gives, and the model.
pub(super) fn parameters(config: &Config) -> Map {
    let mut params = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            params.insert(key.to_owned(), value);
        }
    };
    set("model", config.get("model").cloned());
    let generation = generation(config);
    set("generationConfig", (!generation.is_empty()).then_some(Value::Object(generation)));
    set("toolConfig", tool_choice(config).map(choice_as_sent));
    let chosen =
        SERVER_TOOLS.iter().filter(|(key, ..)| config.get(key).is_some_and(|on| on == true));
    let tools: Vec<Value> = chosen.map(|(_, name, _)| json!({ *name: {} })).collect();
    set("tools", (!tools.is_empty()).then_some(Value::Array(tools)));
    params
}

fn generation(config: &Config) -> Map {
    let mut fields = Map::new();
    for (key, name, ..) in GENERATION {
        if let Some(value) = config.get(key) {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    match config.get("stop") {
        Some(text @ Value::String(_)) => {
            fields.insert("stopSequences".to_owned(), json!([text]));
        }
        Some(texts) if !texts.is_null() => {
            fields.insert("stopSequences".to_owned(), texts.clone());
        }
        _ => {}
    }
    if let Some(schema) = output_schema(config) {
        fields.insert("responseMimeType".to_owned(), "application/json".into());
        fields.insert("responseJsonSchema".to_owned(), accepted(schema));
    }
    let model = config.text("model").unwrap_or_default();
    let thinking = match config.get("thinking_budget").and_then(Value::as_i64) {
        Some(budget) => Some(json!({ "thinkingBudget": budget, "includeThoughts": budget != 0 })),
        None => config.text("reasoning_effort").and_then(|effort| thinking(model, effort)),
    };
    if let Some(thinking) = thinking {
        fields.insert("thinkingConfig".to_owned(), thinking);
    }
    fields
}

/// How long a model may think. The generation 2.5 counts tokens, later ones take a level, those
/// before do not think.
fn thinking(model: &str, effort: &str) -> Option<Value> {
    let has = |part: &str| model.contains(part);
    if ["gemini-1", "gemini-2.0", "gemma"].into_iter().any(has) {
        return None;
    }
    if has("gemini-2.5") {
        let budget = match effort {
            "none" if has("pro") => 128,
            "none" => 0,
            "minimal" | "low" => 1024,
            "medium" => 8192,
            _ => 24576,
        };
        return Some(json!({ "thinkingBudget": budget, "includeThoughts": effort != "none" }));
    }
    let level = match effort {
        "none" | "minimal" if has("pro") => "low",
        "none" | "minimal" => "minimal",
        "low" | "medium" => effort,
        _ => "high",
    };
    Some(json!({ "thinkingLevel": level, "includeThoughts": effort != "none" }))
}

fn choice_as_sent(choice: ToolChoice) -> Value {
    let calling = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
        ToolChoice::Native(choice) if choice.get("functionCallingConfig").is_some() => {
            return choice;
        }
        ToolChoice::Native(choice) => choice,
    };
    json!({ "functionCallingConfig": calling })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(config: Value, expected: Expect) {
        let params = parameters(&orlop_testkit::scripted::config(config));
        expected.assert_eq(&Value::Object(params).to_string());
    }

    #[test]
    fn settings_have_the_names_of_the_api() {
        check(
            json!({ "model": "gemini-2.5-flash", "temperature": 0.5, "top_p": 0.9, "top_k": 3, "max_tokens": 9,
                "stop": "END", "seed": 1, "presence_penalty": 0.1, "frequency_penalty": 0.2,
                "response_modalities": ["TEXT"], "google_search": true, "url_context": false }),
            expect![[
                r#"{"model":"gemini-2.5-flash","generationConfig":{"temperature":0.5,"topP":0.9,"topK":3,"maxOutputTokens":9,"seed":1,"presencePenalty":0.1,"frequencyPenalty":0.2,"responseModalities":["TEXT"],"stopSequences":["END"]},"tools":[{"googleSearch":{}}]}"#
            ]],
        );
        check(
            json!({ "model": "m", "stop": ["a", "b"] }),
            expect![[r#"{"model":"m","generationConfig":{"stopSequences":["a","b"]}}"#]],
        );
        check(json!({ "model": "m" }), expect![[r#"{"model":"m"}"#]]);
    }

    #[test]
    fn an_answer_can_be_bound_to_a_schema() {
        check(
            json!({ "model": "m", "output_schema": { "$schema": "x", "type": "object" } }),
            expect![[
                r#"{"model":"m","generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}"#
            ]],
        );
    }

    #[test]
    fn calling_tools_is_ruled() {
        for (choice, expected) in [
            (
                json!("auto"),
                expect![[r#"{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}"#]],
            ),
            (
                json!("none"),
                expect![[r#"{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}"#]],
            ),
            (
                json!("required"),
                expect![[r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}"#]],
            ),
            (
                json!({ "name": "f" }),
                expect![[
                    r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}"#
                ]],
            ),
            (
                json!({ "mode": "VALIDATED", "x": 1 }),
                expect![[r#"{"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED","x":1}}}"#]],
            ),
        ] {
            check(json!({ "tool_choice": choice }), expected);
        }
    }

    #[test]
    fn thinking_is_counted_or_graded_by_generation() {
        let rows = [
            ("gemini-2.5-flash", "none"),
            ("gemini-2.5-pro", "none"),
            ("gemini-2.5-flash", "low"),
            ("gemini-2.5-flash", "medium"),
            ("gemini-2.5-flash", "high"),
            ("gemini-3-flash-preview", "none"),
            ("gemini-3.1-pro-preview", "minimal"),
            ("models/gemini-3-flash", "medium"),
            ("gemini-flash-latest", "xhigh"),
            ("gemini-2.0-flash", "high"),
        ];
        let lines = rows.map(|(model, effort)| match thinking(model, effort) {
            Some(config) => format!("{model} {effort}: {config}"),
            None => format!("{model} {effort}: nothing"),
        });
        expect![[r#"
            gemini-2.5-flash none: {"thinkingBudget":0,"includeThoughts":false}
            gemini-2.5-pro none: {"thinkingBudget":128,"includeThoughts":false}
            gemini-2.5-flash low: {"thinkingBudget":1024,"includeThoughts":true}
            gemini-2.5-flash medium: {"thinkingBudget":8192,"includeThoughts":true}
            gemini-2.5-flash high: {"thinkingBudget":24576,"includeThoughts":true}
            gemini-3-flash-preview none: {"thinkingLevel":"minimal","includeThoughts":false}
            gemini-3.1-pro-preview minimal: {"thinkingLevel":"low","includeThoughts":true}
            models/gemini-3-flash medium: {"thinkingLevel":"medium","includeThoughts":true}
            gemini-flash-latest xhigh: {"thinkingLevel":"high","includeThoughts":true}
            gemini-2.0-flash high: nothing"#]]
        .assert_eq(&lines.join("\n"));
        check(
            json!({ "model": "gemini-2.5-flash", "reasoning_effort": "high", "thinking_budget": 0 }),
            expect![[
                r#"{"model":"gemini-2.5-flash","generationConfig":{"thinkingConfig":{"thinkingBudget":0,"includeThoughts":false}}}"#
            ]],
        );
    }
}
