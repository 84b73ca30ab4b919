//! Errors: a status for each class, one shape, and no secrets in it.

use crate::common::*;
use crate::site::*;
use axum::response::IntoResponse;
use expect_test::expect;
use orlop_core::{ActionDefinition, Error, ErrorClass};
use orlop_http::Problem;
use orlop_testkit::scripted::*;
use reqwest::Method;
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
    let response = site.request(Method::GET, "/nowhere").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.status(), 404);
    assert_eq!(site.delete("/sessions").await.0, 405);
}

#[tokio::test]
async fn secrets_stay_at_home() {
    orlop_testkit::logged();
    let config =
        format!("{CONFIG}\n[agents.keyed]\nextends = \"default\"\napi_key = \"sk-very-secret\"\n");
    let settings = orlop_http::Settings {
        tokens: vec![token("tok-very-secret", "acme", "ana", orlop_http::Right::Admin)],
        ..Default::default()
    };
    let scene = Scene::says(&["hello", "hello"]).config(&config);
    let down = Error::provider("down").with_provider_body(Some(500), "no sk-very-secret here");
    scene.provider.reply(ScriptedReply::default().failing(down.clone()));
    scene.provider.reply(ScriptedReply::default().failing(down));
    let mut site = Site::with(&scene, settings).await;
    site.token("tok-very-secret");
    site.post("/sessions", json!({ "session_id": "s", "agent_id": "keyed" })).await;
    let mut all = Vec::new();
    let failing = ["r2", "r3"];
    for request in ["r", "r1", "r2", "r3"] {
        let (session, responses) = ("/sessions/s/requests", "//v1/responses");
        let is_v1 = matches!(request, "r1" | "r3");
        let path = if is_v1 { responses } else { session };
        let body = match is_v1 {
            true => json!({ "model": "keyed", "input": "hi" }),
            false => json!({ "content": "hi", "stream": false }),
        };
        let sent = site.request(Method::POST, path).header("content-type", "application/json");
        let sent =
            sent.header("x-request-id", request).body(body.to_string()).send().await.unwrap();
        let (status, said) = answer(sent).await;
        assert_eq!(status, if failing.contains(&request) { 502 } else { 200 }, "{said}");
        all.push(said.to_string());
    }
    // Everything that can be read, by every name that means something.
    let (_, document) = site.get("//openapi.json").await;
    let paths = document["paths"].as_object().unwrap();
    let mut asked = 0;
    for (path, _) in
        paths.iter().filter(|(path, it)| it.get("get").is_some() && !path.ends_with("/v1/events"))
    {
        for (id, request) in [("s", "r"), ("resp_r1", "r2"), ("conv_s", "r3"), ("keyed", "r1")] {
            let path = path.replace("{agent}", "keyed").replace("{request}", request);
            let path = path.replace("{id}", id).replace("{item}", "item_s_0");
            for query in ["", "?session_id=s", "?index=0", "?query=hello", "?stream=true"] {
                let (_, said) = site.get(&format!("/{path}{query}")).await;
                all.push(said.to_string());
                asked += 1;
            }
        }
    }
    site.token("wrong-very-secret");
    all.push(site.get("/sessions").await.1.to_string());
    assert!(asked > 400 && all.concat().len() > 100_000);
    for said in &all {
        assert!(!said.contains("very-secret"), "{said}");
    }
    let log = orlop_testkit::logged();
    assert!(log.contains("answered") && log.contains("request_id"), "{log}");
    let told = log.lines().find(|line| line.contains("very-secret"));
    assert_eq!(told, None);
}

#[tokio::test] // K-20
async fn a_wait_that_the_model_server_asks_for_reaches_the_client() {
    let scene = Scene::default();
    let busy = || {
        let wait = std::time::Duration::from_millis(6_500);
        Error::provider("too many requests").with_retryable(true).with_retry_after(wait)
    };
    for _ in 0..4 {
        scene.provider.reply(ScriptedReply::default().failing(busy()));
    }
    let site = Site::open(&scene).await;
    site.session("s").await;
    let native = json!({ "content": "hi", "stream": false });
    let message = json!({ "role": "user", "content": "hi" });
    let openai = json!({ "model": "default", "input": "hi", "messages": [message] });
    for (path, body) in [
        ("/sessions/s/requests", &native),
        ("//v1/responses", &openai),
        ("//v1/chat/completions", &openai),
    ] {
        let response = site.send(Method::POST, path, body.clone()).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (502, &"7".parse().unwrap()),
            "{path}"
        );
        let (_, problem) = answer(response).await;
        let told = problem.get("retry_after_seconds").cloned();
        assert_eq!(told, (path == "/sessions/s/requests").then(|| json!(7)), "{path}");
    }
    let stream = json!({ "content": "hi", "stream": true });
    let told = site.send(Method::POST, "/sessions/s/requests", stream).await.text().await.unwrap();
    let failed =
        told.lines().rfind(|line| line.contains("request_failed") && line.starts_with("data:"));
    assert!(failed.unwrap().contains("\"retry_after_seconds\":7"), "{told}");
}
