//! What hooks are told of a request over HTTP.

use crate::common::*;
use crate::site::*;
use expect_test::expect;
use orlop_core::{ActionDefinition, ActionResult, Context, TriggerSource};
use orlop_testkit::logged;
use orlop_testkit::scripted::*;
use serde_json::json;

fn seen(cx: &Context) -> String {
    let key = |key: &str| cx.get(key).map(ToString::to_string).unwrap_or_default();
    format!(
        "{:?} request_id={} server={} colour={} core={:?}",
        cx.trigger_source(),
        key("request_id"),
        cx.get("server").map(|told| told["surface"].to_string()).unwrap_or_default(),
        key("colour"),
        cx.get("core"),
    )
}

#[tokio::test] // H-32, H-35, H-39, K-10, K-21
async fn actions_see_the_server_and_the_request_and_clients_cannot_pretend() {
    let log = Log::new();
    let (of_feature, of_app) = (log.clone(), log.clone());
    let feature = ScriptedFeature::new("look")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("now", "Now"), at("request_complete")]))
        .execute_action(move |input, cx| {
            of_feature.add(format!("{} {}", input.action_id, seen(cx)));
            Ok(ActionResult::default())
        });
    let plugin = ScriptedApplication::new("report")
        .actions(vec![ActionDefinition::new("show", "Show")])
        .execute_action(move |input, cx| {
            of_app.add(format!("{} {}", input.action_id, seen(&cx)));
            async { Ok(ActionResult::default()) }
        });
    let scene = Scene::says(&["hello"]).feature(feature).application(plugin);
    let site = Site::open(&scene).await;
    site.session("s").await;
    let context =
        json!({ "colour": "red", "core": "mine", "server": "mine", "request_id": "mine" });
    let post = async |path: &str, id: &str, mut body: serde_json::Value| {
        body["context"] = context.clone();
        let request = site.request(reqwest::Method::POST, path).header("x-request-id", id);
        let request = request.header("content-type", "application/json").body(body.to_string());
        assert_eq!(request.send().await.unwrap().status(), 200, "{path}");
    };
    post("/sessions/s/requests", "r1", json!({ "content": "hi", "stream": false })).await;
    post("/actions/look/now", "r2", json!({ "session_id": "s" })).await;
    post("/actions/report/show", "r3", json!({})).await;
    expect![[r#"
        request_complete Application request_id="r1" server="http" colour="red" core=None
        now Server request_id="r2" server="http" colour="red" core=None
        show Server request_id="r3" server="http" colour="red" core=None"#]]
    .assert_eq(&log.lines().join("\n"));
}

#[tokio::test] // H-35, K-21
async fn a_reserved_key_of_a_client_is_dropped_with_a_warning() {
    logged();
    let site = Site::open(&Scene::says(&["hello"])).await;
    site.session("s").await;
    let context = json!({ "delete_reason": 1, "openai": { "id": "resp_r" } });
    let body = json!({ "content": "hi", "stream": false, "context": context });
    let (status, turn) = site.post("/sessions/s/requests", body).await;
    assert_eq!(status, 200);
    let log = logged();
    for key in ["delete_reason", "openai"] {
        let warned = |line: &&str| line.contains("is reserved") && line.contains(key);
        assert_eq!(log.lines().filter(warned).count(), 1, "{log}");
    }
    // Nor is it a response of the other API for that.
    let path = format!("//v1/responses/resp_{}", turn["request_id"].as_str().unwrap());
    let found = site.request(reqwest::Method::GET, &path).send().await.unwrap();
    assert_eq!(found.status(), 404);
}

#[test] // H-39
fn the_entry_point_has_a_name() {
    let name = serde_json::to_value(TriggerSource::Server).unwrap();
    assert_eq!(name, "server");
}
