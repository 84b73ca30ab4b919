//! The small model that Orlop offers, with its real weights: answers, calls and JSON.
//! The file is named by `ORLOP_LOCAL_MODEL`; `cargo xtask test` fetches it.

#![allow(clippy::unwrap_used)]

mod support;

use std::ops::ControlFlow;
use std::path::Path;

use orlop_local::{Completion, Finish, Model, Options, Request, Sampling, Tool, ToolChoice};
use serde_json::{Value, json};
use support::{ask, message};

fn model(what: &str) -> Option<Model> {
    let path = std::env::var_os("ORLOP_LOCAL_MODEL").filter(|it| !it.is_empty());
    let Some(path) = path else {
        orlop_testkit::skip(what, "ORLOP_LOCAL_MODEL names no model file");
        return None;
    };
    let options = Options { threads: Some(1), ..Options::default() };
    Some(Model::open_with(Path::new(&path), &options).unwrap())
}

fn answer(model: &Model, request: &Request) -> Completion {
    model.chat(request, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn it_answers_in_sentences_and_goes_on_without_reading_again() {
    let Some(model) = model("an answer with real weights") else { return };
    let mut messages = vec![
        message("system", "You are a helpful assistant."),
        message("user", "Write one short sentence about a cat."),
    ];
    let first = answer(&model, &ask(&messages, 40));
    assert!(first.text.to_lowercase().contains("cat"), "{first:?}");
    messages.push(message("assistant", &first.text));
    messages.push(message("user", "And one about a dog."));
    let second = answer(&model, &ask(&messages, 8));
    let read = second.usage.prompt - second.usage.cached;
    assert!(second.usage.cached >= first.usage.prompt && read < 24, "{second:?}");
    assert!(!second.text.is_empty());
}

fn tools() -> Vec<Tool> {
    let tool = |name: &str, description: &str, parameters: Value| Tool {
        name: name.into(),
        description: description.into(),
        parameters: Some(parameters),
    };
    let city = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "unit": { "enum": ["celsius", "fahrenheit"] } },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    let numbers = json!({
        "type": "object",
        "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    vec![
        tool("get_weather", "The weather of a city", city),
        tool("add", "Adds two numbers", numbers),
    ]
}

#[test]
fn four_of_four_calls_are_valid() {
    let Some(model) = model("tool calls with real weights") else { return };
    let questions = [
        "What is the weather in Paris?",
        "How warm is it in Tokyo right now?",
        "What is 2 plus 40?",
        "Please add 1.5 and 7.",
    ];
    for question in questions {
        let request = Request {
            tools: tools(),
            tool_choice: ToolChoice::Required,
            ..ask(&[message("user", question)], 200)
        };
        let completion = answer(&model, &request);
        assert_eq!(completion.finish, Finish::ToolCalls, "{question}: {completion:?}");
        for call in &completion.calls {
            let valid = match call.name.as_str() {
                "get_weather" => {
                    call.arguments["city"].is_string()
                        && ["celsius", "fahrenheit"]
                            .contains(&call.arguments["unit"].as_str().unwrap())
                }
                "add" => call.arguments["a"].is_number() && call.arguments["b"].is_number(),
                _ => false,
            };
            assert!(valid && call.arguments.len() == 2, "{question}: {call:?}");
        }
    }
    let weather = Request {
        tools: tools(),
        tool_choice: ToolChoice::Named("get_weather".into()),
        ..ask(&[message("user", questions[0])], 200)
    };
    assert_eq!(answer(&model, &weather).calls[0].arguments["city"], "Paris");
}

#[test]
fn an_answer_by_schema_is_json_of_that_schema() {
    let Some(model) = model("answers by schema with real weights") else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "maxLength": 40 },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "tags": { "type": "array", "items": { "enum": ["human", "robot"] }, "maxItems": 2 },
        },
        "required": ["name", "age", "tags"],
        "additionalProperties": false,
    });
    for seed in 0..3 {
        let request = Request {
            output_schema: Some(schema.clone()),
            sampling: Sampling { temperature: 0.8, seed: Some(seed), ..Sampling::default() },
            ..ask(&[message("user", "Ada is 36 years old.")], 200)
        };
        let completion = answer(&model, &request);
        assert_eq!(completion.finish, Finish::Stop, "{completion:?}");
        let value: Value = serde_json::from_str(&completion.text).unwrap();
        assert!(value["name"].is_string() && value["tags"].is_array());
        assert!((0..=150).contains(&value["age"].as_i64().unwrap()));
    }
}
