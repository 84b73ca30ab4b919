//! Arguments of tool calls against the schemas that tools declare, before anybody is asked.

use crate::common::doubles::*;
use crate::common::*;
use expect_test::{Expect, expect};
use orlop_app::*;
use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

/// A tool of somebody else with this schema. It logs what its hooks see, and answers with it.
struct Foreign {
    schema: Value,
    log: Log,
}

impl Plugin for Foreign {
    fn manifest(&self) -> Manifest {
        Manifest::new("foreign", "1.0.0").without_models()
    }
}

impl Tool for Foreign {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(vec![map(self.schema.clone())])
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        self.log.add(format!("preview {}", input.payload));
        Answer::ok(String::new())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        self.log.add(format!("run {}", input.payload));
        Answer::ok(ToolReport::ok(input.payload.to_string()))
    }
}

/// A scene with a foreign tool `t`; the model calls it with each of these, then says `end`.
fn scene(parameters: Value, calls: &[Value]) -> (Scene, Log) {
    of_schema(json!({ "name": "t", "description": "", "parameters": parameters }), calls)
}

fn with_tool(schema: Value) -> (Scene, Log) {
    let (mut scene, log) = (Scene::default(), Log::new());
    scene.plugins = scene.plugins.tool(Arc::new(Foreign { schema, log: log.clone() }));
    (scene, log)
}

fn of_schema(schema: Value, calls: &[Value]) -> (Scene, Log) {
    let (scene, log) = with_tool(schema);
    let ids: Vec<String> = (0..calls.len()).map(|number| format!("c{number}")).collect();
    let calls: Vec<_> =
        ids.iter().zip(calls).map(|(id, call)| (&**id, "t", call.clone())).collect();
    scene.provider.reply(ScriptedReply::calls(&calls)).reply(ScriptedReply::text(&["end"]));
    (scene, log)
}

/// What the model reads of each of the calls.
async fn check(parameters: Value, calls: &[Value], expected: Expect) {
    let (scene, _) = scene(parameters, calls);
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    let session = app.session("s").await.unwrap().session;
    let results = session.messages().iter().filter(|message| message.role() == Role::Tool);
    let results: Vec<_> = results.map(|message| message.text().to_owned()).collect();
    expected.assert_eq(&results.join("\n"));
}

fn reading() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1 },
            "lines": { "type": "integer" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "or_null": { "type": ["string", "null"] },
            "mail": { "type": "string", "format": "email" },
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn what_does_not_fit_is_told_with_its_place_and_the_turn_goes_on() {
    check(
        reading(),
        &[
            json!({}),
            json!({ "path": ["a"], "tags": ["x", 1] }),
            json!({ "path": "", "file": "a" }),
            json!([1]),
            json!({ "path": "a" }),
        ],
        expect![[r#"
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - "path" is a required property
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - /path: ["a"] is not of type "string"
            - /tags/1: 1 is not of type "string"
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - /path: "" is shorter than 1 character
            - Additional properties are not allowed ('file' was unexpected)
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - [1] is not of type "object"
            {"path":"a"}"#]],
    )
    .await;
}

#[tokio::test]
async fn what_can_only_be_meant_in_one_way_is_taken_that_way() {
    check(
        reading(),
        &[
            json!({ "path": "a", "lines": null, "tags": null, "or_null": null }),
            json!({ "path": "a", "lines": "12", "tags": "[\"x\"]" }),
            json!({ "path": "12", "or_null": "null", "mail": "no address" }),
            json!({ "path": null }),
            json!({ "path": "a", "lines": "many", "tags": "[1]" }),
        ],
        expect![[r#"
            {"path":"a","or_null":null}
            {"path":"a","lines":12,"tags":["x"]}
            {"path":"12","or_null":"null","mail":"no address"}
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - "path" is a required property
            Error: tool "t" was not run, because its arguments do not fit its schema; correct them and call it again:
            - /lines: "many" is not of type "integer"
            - /tags/0: 1 is not of type "string""#]],
    )
    .await;
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_does_not_fit_and_its_tool_sees_nothing_of_it() {
    let (scene, log) = scene(reading(), &[json!({ "path": 1 }), json!({ "path": "a" })]);
    let asked = log.clone();
    let guard = ScriptedFeature::new("guard").get_actions(|_, _| Ok(vec![at("permission")]));
    let guard = guard.execute_action(move |_, cx| {
        asked.add(format!("permission {}", cx.get("tool_call").unwrap()["input"]));
        Ok(ActionResult::default())
    });
    let app = scene.feature(guard).start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(
        names(&events),
        "session_created request_started tool_call tool_result tool_call tool_result partial final"
    );
    expect![[r#"
        preview {"path":"a"}
        permission {"path":"a"}
        run {"path":"a"}"#]]
    .assert_eq(&log.lines().join("\n"));
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told() {
    let (scene, log) = with_tool(json!({ "name": "t", "parameters": reading() }));
    let broken = json!({"id": "c", "type": "function",
        "function": {"name": "t", "arguments": "{\"path\": "}});
    scene.provider.reply(ScriptedReply::items(vec![
        json!({"who": "assistant", "say": "", "calls": [broken]}),
    ]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    assert_eq!(
        talk(&app, "s", "go").await,
        "go||Error: tool \"t\" was not run: the arguments are not JSON: EOF while parsing a value at line 1 column 9; send them again as one JSON object|end"
    );
    assert_eq!(log.text(), "");
}

/// Schemas come from anywhere: whatever they are, calls go on, and nothing is fetched.
#[tokio::test]
async fn a_schema_that_cannot_be_used_judges_nothing() {
    let chain: Map = (0..6_000)
        .map(|n| (format!("a{n}"), json!({ "$ref": format!("#/$defs/a{}", n + 1) })))
        .chain([("a6000".to_owned(), json!({}))])
        .collect();
    let doubling: Map = (0..60)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/a{}", n + 1) });
            (format!("a{n}"), json!({ "allOf": [next, next] }))
        })
        .chain([("a60".to_owned(), json!({}))])
        .collect();
    let schemas = [
        json!({ "type": "text" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "file:///etc/hostname" }),
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "description": "x".repeat(300_000), "required": ["never"] }),
        json!({ "properties": { "n": { "pattern": "(" } } }),
        json!({ "$ref": "#/$defs/a0", "$defs": chain }),
        json!({ "$ref": "#/$defs/a0", "$defs": doubling }),
    ];
    for schema in schemas {
        let (scene, log) = scene(schema.clone(), &[json!({ "n": 1 }), json!({ "n": 2 })]);
        events_of(&scene.start().await, ask("s", "go")).await;
        let ran = log.lines().iter().filter(|line| line.starts_with("run")).count();
        let shown: String = schema.to_string().chars().take(80).collect();
        assert_eq!(ran, 2, "{shown}");
    }
}

#[tokio::test]
async fn tools_without_a_json_schema_get_what_comes() {
    for schema in [
        json!({ "type": "custom", "name": "t", "parameters": reading() }),
        json!({ "name": "t", "description": "" }),
        json!({ "name": "t", "parameters": true }),
    ] {
        let (scene, log) = of_schema(schema, &[json!({ "any": null })]);
        events_of(&scene.start().await, ask("s", "go")).await;
        assert_eq!(log.lines().last().unwrap(), r#"run {"any":null}"#);
    }
}

#[tokio::test]
async fn what_plugins_and_people_make_of_arguments_has_to_fit_as_well() {
    let rewriting = ScriptedFeature::new("guard")
        .get_actions(|_, _| Ok(vec![at("tool_before")]))
        .execute_action(|_, _| {
            let result = json!({ "input": { "path": 1 } });
            Ok(ActionResult { public: map(result), ..ActionResult::default() })
        });
    let (scene, log) = scene(reading(), &[json!({ "path": "a" })]);
    let app = scene.feature(rewriting).start().await;
    assert_eq!(
        talk(&app, "s", "go").await.replace('\n', " "),
        "go||Error: this call was not allowed: a plugin changed its arguments, and tool \"t\" was not run, because its arguments do not fit its schema; correct them and call it again: - /path: 1 is not of type \"string\"|end"
    );
    assert_eq!(log.text(), r#"preview {"path":"a"}"#);

    let schema = json!({
        "name": "t", "parameters": reading(), "annotations": { "approval": "ask" },
    });
    let (scene, log) = of_schema(schema, &[json!({ "path": "a" })]);
    let app = scene.start().await;
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "go") };
    let mut handle = app.send_request(request).await.unwrap();
    until(&mut handle, "approval_requested").await;
    let allow = |input: Value| Decision { allow: true, input: Some(input), ..Decision::default() };
    let refused = app.decide("r", "c0", allow(json!({ "path": 2 }))).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::BadArgument);
    assert!(refused.message().ends_with("- /path: 2 is not of type \"string\""), "{refused}");
    app.decide("r", "c0", allow(json!({ "path": "b" }))).await.unwrap();
    assert_eq!(rest(handle).await, "approval_resolved tool_result partial final");
    assert_eq!(log.lines().last().unwrap(), r#"run {"path":"b"}"#);
}
