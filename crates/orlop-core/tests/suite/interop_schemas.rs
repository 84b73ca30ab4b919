//! Interop: tool schemas, neutral or in a provider's style, as each provider wants them.

use orlop_core::interop::Registry;
use orlop_core::interop::schemas::*;
use orlop_core::{Map, Value};
use serde_json::json;

fn built_in() -> Registry {
    Registry::new(None, [])
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn check_schema(schema: Value, format: &str, expected: Value) {
    let written = built_in().convert_schema(&map(schema.clone()), format);
    assert_eq!(written.unwrap(), expected, "{schema} as {format}");
}

#[test]
fn a_neutral_schema_is_written_as_each_provider_wants_it() {
    let parameters = json!({"type": "object", "properties": {"deep": {"type": "integer"}}});
    let neutral = json!({"name": "dig", "description": "Digs.", "parameters": parameters});
    let openai = json!({"type": "function", "function": neutral});
    let responses = json!({"type": "function", "name": "dig", "description": "Digs.",
                           "parameters": parameters, "strict": false});
    let anthropic = json!({"name": "dig", "description": "Digs.", "input_schema": parameters});
    // Whatever style it comes in, it is written the same.
    for schema in [&neutral, &openai, &responses, &anthropic] {
        check_schema(schema.clone(), OPENAI_FUNCTION, openai.clone());
        check_schema(schema.clone(), OPENAI_RESPONSES, responses.clone());
        check_schema(schema.clone(), ANTHROPIC, anthropic.clone());
        check_schema(schema.clone(), GEMINI, neutral.clone());
        check_schema(schema.clone(), OLLAMA, openai.clone());
    }
    assert_eq!(built_in().convert_schema(&map(neutral), "unknown"), None);
}

#[test]
fn strictness_is_kept_where_the_wire_has_it() {
    let strict = json!({"name": "dig", "parameters": {"type": "object"}, "strict": true});
    let written = |format| built_in().convert_schema(&map(strict.clone()), format).unwrap();
    assert_eq!(written(OPENAI_FUNCTION)["function"]["strict"], true);
    assert_eq!(written(OPENAI_RESPONSES)["strict"], true);
    for format in [ANTHROPIC, GEMINI, OLLAMA] {
        assert!(written(format).get("strict").is_none());
    }
}

#[test]
fn a_free_form_tool_becomes_one_text_where_the_wire_knows_none() {
    let grammar = json!({"type": "grammar", "syntax": "lark", "definition": "start: /x/"});
    let free = json!({"type": "custom", "name": "sh", "description": "Runs.", "format": grammar});
    let inner = json!({"name": "sh", "description": "Runs.", "format": grammar});
    let text = json!({"type": "object", "properties": {"input": {"type": "string"}},
                      "required": ["input"]});
    assert!(is_free_form(&map(free.clone())));
    for schema in [free.clone(), json!({"type": "custom", "custom": inner})] {
        check_schema(schema.clone(), OPENAI_FUNCTION, json!({"type": "custom", "custom": inner}));
        check_schema(schema.clone(), OPENAI_RESPONSES, free.clone());
        check_schema(
            schema.clone(),
            ANTHROPIC,
            json!({"name": "sh", "description": "Runs.", "input_schema": text}),
        );
        let declared = json!({"name": "sh", "description": "Runs.", "parameters": text});
        check_schema(schema.clone(), GEMINI, declared.clone());
        check_schema(schema, OLLAMA, json!({"type": "function", "function": declared}));
    }
    let plain = json!({"type": "custom", "name": "sh"});
    let written = json!({"type": "custom", "name": "sh", "description": ""});
    check_schema(plain, OPENAI_RESPONSES, written);
}

#[test]
fn hostile_schemas_get_defaults_or_are_refused() {
    let empty = json!({"type": "object", "properties": {}});
    let odd = [
        json!({}),
        json!({"parameters": null}),
        json!({"parameters": "x"}),
        json!({"parameters": [1]}),
    ];
    for mut schema in odd {
        schema["name"] = json!("dig");
        let expected = json!({"name": "dig", "description": "", "parameters": empty});
        check_schema(schema, GEMINI, expected);
    }
    for nameless in [json!({}), json!({"name": 7}), json!({"function": {"description": "x"}})] {
        for format in [OPENAI_FUNCTION, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA] {
            assert_eq!(built_in().convert_schema(&map(nameless.clone()), format), None);
        }
    }
}
