//! Real answers and events against the published schema of Open Responses, which is not part of the
//! sources: `specs/open-responses/openapi.json` beside the folder of recorded exchanges.

use crate::scene::*;
use orlop_core::Value;
use orlop_core::types::Partial;
use orlop_testkit::scripted::*;
use orlop_testkit::skip;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// The published document, if it is there.
struct Document(Value);

impl Document {
    fn open() -> Option<Self> {
        let fixtures = std::env::var_os("ORLOP_FIXTURES").filter(|it| !it.is_empty())?;
        let path = Path::new(&fixtures).parent()?.join("specs/open-responses/openapi.json");
        Some(Self(serde_json::from_str(&std::fs::read_to_string(path).ok()?).unwrap()))
    }

    /// Judges values by one schema of the document.
    fn judge(&self, reference: &str) -> jsonschema::Validator {
        let mut schema = self.0.clone();
        schema["$ref"] = reference.into();
        jsonschema::draft202012::options().build(&schema).unwrap()
    }

    /// The schema of the events of one type.
    fn event(&self, kind: &str) -> Option<jsonschema::Validator> {
        let schemas = self.0["components"]["schemas"].as_object().unwrap();
        let is_it = |schema: &Value| {
            let kinds = schema["properties"]["type"]["enum"].as_array();
            schema["properties"].get("sequence_number").is_some()
                && kinds.is_some_and(|kinds| kinds.contains(&kind.into()))
        };
        let (name, _) = schemas.iter().find(|(_, schema)| is_it(schema))?;
        Some(self.judge(&format!("#/components/schemas/{name}")))
    }
}

fn check(judge: &jsonschema::Validator, value: &Value, what: &str) {
    let errors: Vec<String> =
        judge.iter_errors(value).map(|it| format!("{} {it}", it.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
}

/// Items that the document does not know (calls of the agent's own tools, free-form calls) are
/// extensions that it allows; they are not judged by it.
fn is_extension(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("mcp_call" | "custom_tool_call"))
}

fn without_extensions(mut value: Value) -> Value {
    let known = |item: &Value| !is_extension(item);
    let response = match value.get("response").is_some() {
        true => &mut value["response"],
        false => &mut value,
    };
    if let Some(Value::Array(items)) = response.get_mut("output") {
        items.retain(known);
    }
    // It knows free-form tools no more than calls of them.
    if let Some(Value::Array(tools)) = response.get_mut("tools") {
        tools.retain(|tool| tool["type"] != "custom");
    }
    // It knows a schema of the answer in requests only; here it allows nothing but null.
    if let Some(schema) = response.pointer_mut("/text/format/schema") {
        *schema = Value::Null;
    }
    value
}

fn thought(text: &str) -> Partial {
    Partial { reasoning: text.into(), ..Partial::default() }
}

#[tokio::test]
async fn a_stream_that_the_server_cuts_off_ends_with_an_error_of_the_document() {
    let Some(document) = Document::open() else {
        return skip("Open Responses, errors", "its document is not beside ORLOP_FIXTURES");
    };
    let gate = orlop_testkit::Gate::new();
    let client = Scene::of(vec![ScriptedReply::text(&["x"]).waiting_for(&gate)]).start().await;
    let body = json!({ "model": "helper", "input": "hi", "stream": true });
    let mut events = client.stream("/responses", body).await;
    events.until("response.output_text.delta").await;
    client.end_server();
    let error = events.rest().await.pop().unwrap();
    check(&document.event("error").unwrap(), &error, "error");
    assert_eq!(error["error"]["code"], "stream_cut_off");
}

#[tokio::test]
async fn answers_and_events_have_every_field_that_the_document_requires() {
    let Some(document) = Document::open() else {
        return skip("Open Responses", "its document is not beside ORLOP_FIXTURES");
    };
    let response = document.judge("#/components/schemas/ResponseResource");
    let function = json!({ "type": "function", "name": "get_weather", "parameters": {
        "type": "object", "properties": { "city": { "type": "string" } } } });
    let format =
        json!({ "format": { "type": "json_schema", "name": "a", "schema": { "type": "object" } } });
    let cases = [
        ("plain", json!({}), vec![ScriptedReply::text(&["he", "llo"])]),
        (
            "a call of a tool of the client",
            json!({ "tools": [function], "tool_choice": "auto", "instructions": "be brief",
                "metadata": { "k": "v" }, "temperature": 0.5, "max_output_tokens": 9 }),
            vec![ScriptedReply::calls(&[("c", "get_weather", json!({ "city": "Oslo" }))])],
        ),
        (
            "structured",
            json!({ "model": "judged", "text": format }),
            vec![ScriptedReply::text(&["{\"a\"", ": 1}"])],
        ),
        (
            "a free-form call",
            json!({ "tools": [{ "type": "custom", "name": "patch" }] }),
            vec![ScriptedReply::items(vec![json!({
                "who": "assistant", "say": "see", "calls": [
                    { "id": "c", "type": "custom", "custom": { "name": "patch", "input": "*** Begin" } },
                ],
            })])],
        ),
        (
            "reasoning",
            json!({ "reasoning": { "effort": "low", "summary": "auto" } }),
            vec![
                ScriptedReply::items(vec![
                    json!({ "who": "assistant", "say": "hi", "reasoning": "hm, well" }),
                ])
                .with_partial(thought("hm, "))
                .with_partial(thought("well"))
                .with_partial(Partial::text("hi")),
            ],
        ),
        (
            "too long",
            json!({ "max_output_tokens": 1 }),
            vec![ScriptedReply::items(vec![
                json!({ "who": "assistant", "say": "once upon", "stopped": "length" }),
            ])],
        ),
        (
            "a failure",
            json!({}),
            vec![ScriptedReply::default().failing(orlop_core::Error::provider("down"))],
        ),
    ];
    let mut seen = BTreeSet::new();
    for (what, fields, replies) in cases {
        let fails = what == "a failure";
        let client = Scene::of([replies.clone(), replies].concat()).start().await;
        let mut body = json!({ "model": "helper", "input": "hi" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        if !fails {
            let whole = client.post("/responses", body.clone()).await;
            check(&response, &without_extensions(whole.clone()), what);
            let path = format!("/responses/{}", whole["id"].as_str().unwrap());
            check(&response, &without_extensions(client.get(&path).await), what);
        }
        body["stream"] = true.into();
        let events = client.stream("/responses", body).await.rest().await;
        for event in &events {
            let kind = event["type"].as_str().unwrap();
            assert!(event["sequence_number"].is_u64(), "{event}");
            let is_known = !kind.contains("mcp_call") && !kind.contains("custom_tool_call");
            if is_known && !is_extension(&event["item"]) {
                let judge = document.event(kind).unwrap_or_else(|| panic!("{kind} is not known"));
                check(&judge, &without_extensions(event.clone()), &format!("{what}, {kind}"));
            }
            seen.insert(kind.to_owned());
        }
        if let Some(ended) = events.last().map(|event| &event["response"]) {
            check(&response, &without_extensions(ended.clone()), what);
        }
    }
    // Background: a response that is not done has all fields, too.
    let gate = orlop_testkit::Gate::new();
    let client = Scene::of(vec![ScriptedReply::text(&["x"]).waiting_for(&gate)]).start().await;
    let body = json!({ "model": "helper", "input": "hi", "background": true });
    let begun = client.post("/responses", body).await;
    check(&response, &begun, "background");
    let path = format!("/responses/{}/cancel", begun["id"].as_str().unwrap());
    check(&response, &client.post(&path, json!({})).await, "cancelled");
    for kind in [
        "response.created",
        "response.in_progress",
        "response.completed",
        "response.failed",
        "response.incomplete",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    ] {
        assert!(seen.contains(kind), "{kind} among {seen:?}");
    }
}
