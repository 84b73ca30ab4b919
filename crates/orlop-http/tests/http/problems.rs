//! Errors: a status for each class, one shape, and no secrets in it.

use crate::common::*;
use crate::site::*;
use axum::response::IntoResponse;
use expect_test::expect;
use orlop_core::{ActionDefinition, Error, ErrorClass};
use orlop_http::Problem;
use orlop_testkit::scripted::*;
use serde_json::json;

#[test] // K-20
fn each_class_has_a_status() {
    let classes = [
        ErrorClass::BadArgument,
        ErrorClass::WrongType,
        ErrorClass::NotFound,
        ErrorClass::OutOfRange,
        ErrorClass::BadState,
        ErrorClass::Conflict,
        ErrorClass::Cancelled,
        ErrorClass::Provider,
        ErrorClass::Plugin,
        ErrorClass::Unavailable,
        ErrorClass::Internal,
    ];
    let lines = classes.map(|class| {
        let response = Problem::from(Error::new(class, "oh")).into_response();
        let retry = response.headers().contains_key("retry-after");
        format!(
            "{} {}{}",
            class.as_str(),
            response.status().as_u16(),
            if retry { " retry" } else { "" }
        )
    });
    expect![[r#"
        bad_argument 400
        wrong_type 400
        not_found 404
        out_of_range 400
        bad_state 409
        conflict 409
        cancelled 499
        provider 502
        plugin 500
        unavailable 503 retry
        internal 500"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test] // K-20
async fn a_problem_says_what_happened_in_one_shape() {
    let failing = ScriptedFeature::new("f")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("go", "Go")]))
        .execute_action(|_, _| Err(Error::bad_state("not now")));
    let scene = Scene::default().feature(failing);
    let down = Error::provider("the model is down").with_provider_body(Some(500), "key sk-12345");
    scene.provider.reply(ScriptedReply::default().failing(down));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let (status, problem) = site.say("s", "hi").await;
    assert_eq!(status, 502);
    expect![[r#"{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"the model is down (plugin \"scripted\", hook call_api)","error_type":"provider","message":"the model is down (plugin \"scripted\", hook call_api)"}"#]]
        .assert_eq(&problem.to_string());
    let (status, problem) = site.post("/actions/f/go", json!({ "session_id": "s" })).await;
    assert_eq!((status, &problem["error_type"]), (409, &json!("bad_state")));
    assert_eq!(site.get("/sessions/nope").await.0, 404);
    let response = site.request(reqwest::Method::GET, "/nowhere").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.status(), 404);
    assert_eq!(site.delete("/sessions").await.0, 405);
}

#[tokio::test]
async fn secrets_stay_at_home() {
    let config =
        format!("{CONFIG}\n[agents.keyed]\nextends = \"default\"\napi_key = \"sk-very-secret\"\n");
    let settings = orlop_http::Settings {
        tokens: vec![token("tok-very-secret", "acme", "ana", orlop_http::Right::Admin)],
        ..Default::default()
    };
    let mut site = Site::with(&Scene::says(&["hello"]).config(&config), settings).await;
    site.token("tok-very-secret");
    site.post("/sessions", json!({ "session_id": "s", "agent_id": "keyed" })).await;
    let body = json!({ "content": "hi", "stream": false, "request_id": "r" });
    let mut all = site.post("/sessions/s/requests", body).await.1.to_string();
    for path in [
        "/agents",
        "/agents/keyed/config-schema",
        "/agents/keyed/ui-schema?session_id=s",
        "/agents/keyed/plugins",
        "/agents/keyed/tools",
        "/sessions",
        "/sessions/s",
        "/sessions/s/export",
        "/requests/r",
        "/requests/r/trace",
        "/requests/r/events",
        "/actions?session_id=s",
        "//metrics",
        "//openapi.json",
        "/agents/nobody/tools",
    ] {
        all += &site.get(path).await.1.to_string();
    }
    assert!(all.len() > 1_000 && !all.contains("very-secret"));
}
