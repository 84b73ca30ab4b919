//! Answers that have to fit a schema, and answers that only paused.

use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

const CONFIG: &str = r#"
[agents.default]
provider = "scripted"
model = "m"
max_steps = 4
[agents.default.output_schema]
type = "object"
required = ["city"]
properties.city.type = "string"
"#;

fn scene(texts: &[&str]) -> Scene {
    Scene::says(texts).config(CONFIG)
}

fn last(events: &[Arc<Event>]) -> &EventKind {
    &events.last().unwrap().kind
}

async fn answer(app: &Application, session: &str) -> Message {
    app.session(session).await.unwrap().session.messages().last().unwrap().clone()
}

#[tokio::test]
async fn an_answer_that_fits_carries_its_value() {
    let scene = scene(&["```json\n{\"city\": \"Bremen\"}\n```"]);
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "where?")).await;
    assert_eq!(names(&events), "session_created request_started partial final");
    let EventKind::Final { messages, .. } = last(&events) else { panic!() };
    assert_eq!(messages[0].metadata()["output"], json!({"city": "Bremen"}));
    assert_eq!(answer(&app, "s").await.metadata()["output"], json!({"city": "Bremen"}));
}

#[tokio::test]
async fn one_that_does_not_fit_is_asked_for_again_and_forgotten() {
    let scene = scene(&["It is Bremen.", r#"{"city": "Bremen"}"#]);
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "where?")).await;
    assert_eq!(
        names(&events),
        "session_created request_started partial output_rejected partial final"
    );
    // The model reads what was wrong; nobody keeps it.
    expect![[r#"
        Your answer to the following message was not accepted, because it does not fit the required JSON Schema:
        - the answer is no JSON: expected value at line 1 column 1
        The answer was:
        It is Bremen.
        Answer again with nothing but JSON that fits the schema.|where?"#]]
    .assert_eq(&scene.provider.last_request());
    assert_eq!(said(&app, "s").await, r#"where?|{"city": "Bremen"}"#);
    scene.provider.reply(ScriptedReply::text(&[r#"{"city": "Ulm"}"#]));
    talk(&app, "s", "and now?").await;
    assert_eq!(scene.provider.last_request(), r#"where?|{"city": "Bremen"}|and now?"#);
}

#[tokio::test]
async fn repairs_end_with_an_error_that_keeps_the_answer() {
    let scene = scene(&[r#"{"city": 1}"#, r#"{"town": "Ulm"}"#]);
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "where?")).await;
    let EventKind::RequestFailed { error } = last(&events) else { panic!("{events:?}") };
    expect![[r#"{"type":"provider","message":"the answer does not fit output_schema (\"city\" is a required property); ask again, raise output_repairs, or change the schema","retryable":true,"answer":"{\"town\": \"Ulm\"}"}"#]]
        .assert_eq(&error.to_string());
    assert_eq!(scene.provider.requests().len(), 2);
    let kept = answer(&app, "s").await;
    assert_eq!(kept.text(), r#"{"town": "Ulm"}"#);
    assert_eq!(kept.metadata()["output_problems"], json!(["\"city\" is a required property"]));
}

#[tokio::test]
async fn how_often_is_a_setting_and_steps_bound_it() {
    for (repairs, asked) in [(0, 1), (2, 3), (9, 4)] {
        let scene = scene(&["a", "b", "c", "d", "e"]);
        let app = scene.start().await;
        let overrides = Map::from_iter([("output_repairs".to_owned(), json!(repairs))]);
        let events = events_of(&app, Request { overrides, ..ask("s", "where?") }).await;
        let EventKind::RequestFailed { error } = last(&events) else { panic!("{events:?}") };
        assert!(error["message"].as_str().unwrap().contains("does not fit"), "{error}");
        assert_eq!(scene.provider.requests().len(), asked, "{repairs}");
    }
}

#[tokio::test]
async fn tokens_of_rejected_answers_count_too() {
    let said = |text: &str| {
        let item = json!({"who": "assistant", "say": text, "_metadata": {"usage": {"total": 5}}});
        ScriptedReply::items(vec![item])
    };
    let scene = Scene::default().config(CONFIG);
    scene.provider.reply(said("no")).reply(said(r#"{"city": "x"}"#));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "where?")).await;
    let EventKind::Final { usage, .. } = last(&events) else { panic!("{events:?}") };
    assert_eq!(json!(usage), json!({"total": 10}));
}

#[tokio::test]
async fn calls_of_tools_are_not_judged() {
    let tool = ScriptedTool::new("echo").execute_tool(|_, _| Ok(ToolReport::ok("Bremen")));
    let scene = Scene::default().config(CONFIG).tool(tool);
    scene.provider.reply(ScriptedReply::calls(&[("c", "echo", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&[r#"{"city": "Bremen"}"#]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "where?")).await;
    assert_eq!(
        names(&events),
        "session_created request_started tool_call tool_result partial final"
    );
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused_before_anything_is_asked() {
    let scene = scene(&[]);
    let app = scene.start().await;
    let overrides = Map::from_iter([("output_schema".to_owned(), json!({"type": "text"}))]);
    let refused =
        app.send_request(Request { overrides, ..ask("s", "where?") }).await.err().unwrap();
    expect![[r#"bad_argument: output_schema is no JSON Schema that can be used: /type: "text" is not valid under any of the schemas listed in the 'anyOf' keyword; correct it"#]].assert_eq(&format!("{refused:?}"));
    assert_eq!(scene.provider.requests().len(), 0);
    let bad = Scene::default().config(&CONFIG.replace("\"string\"", "\"text\""));
    let refused = bad.try_start().await.err().unwrap();
    expect![[r#"bad_argument: orlop.toml:9:24: agents.default.output_schema.properties.city.type: is no JSON Schema that can be used: "text" is not valid under any of the schemas listed in the 'anyOf' keyword; correct the schema"#]].assert_eq(&format!("{refused:?}"));
}

fn pausing(text: &str) -> ScriptedReply {
    ScriptedReply::items(vec![json!({"who": "assistant", "say": text, "stopped": "pause"})])
}

#[tokio::test]
async fn an_answer_that_paused_is_gone_on_with() {
    let scene = Scene::default();
    scene
        .provider
        .reply(pausing("Search"))
        .reply(pausing("ing "))
        .reply(ScriptedReply::text(&["done"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    let EventKind::Final { messages, .. } = last(&events) else { panic!("{events:?}") };
    let texts: Vec<&str> = messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["Search", "ing ", "done"]);
    assert_eq!(scene.provider.last_request(), "go|Search|ing ");
}

#[tokio::test]
async fn pauses_are_steps() {
    let scene = Scene::default().config(CONFIG);
    for _ in 0..5 {
        scene.provider.reply(pausing("x"));
    }
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    let EventKind::RequestFailed { error } = last(&events) else { panic!("{events:?}") };
    assert!(error["message"].as_str().unwrap().contains("more than 4 steps"), "{error}");
    assert_eq!(scene.provider.requests().len(), 4);
}
