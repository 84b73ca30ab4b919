//! Requests that were taken and have not begun: they are known, followed and cancelled all the same.

use crate::common::doubles::{Stop, app_recorder};
use crate::common::*;
use crate::site::*;
use orlop_core::ActionResult;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};

/// A site whose session `s` is busy until the gate opens; then it says "two" to who comes next.
async fn busy(gate: &Gate) -> (Site, Sse, Scene) {
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(gate));
    scene.provider.reply(ScriptedReply::text(&["two"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let mut first = site.stream("s", json!({ "content": "a", "request_id": "a" })).await;
    first.until("partial").await;
    (site, first, scene)
}

fn queued() -> Value {
    json!({ "content": "b", "request_id": "b", "stream": false, "queue": true })
}

/// The state of a request that somebody has just sent, once the server has it.
async fn state(site: &Site, request: &str) -> Value {
    loop {
        match site.get(&format!("/requests/{request}")).await {
            (404, _) => tokio::task::yield_now().await,
            (_, state) => return state,
        }
    }
}

async fn follow(site: &Site, request: &str) -> Sse {
    let path = format!("/requests/{request}/events");
    Sse::of(site.request(Method::GET, &path).send().await.unwrap())
}

#[tokio::test] // K-11, K-20
async fn a_request_that_waits_for_its_session_is_cancelled() {
    let gate = Gate::new();
    let (site, first, scene) = busy(&gate).await;
    let both = async {
        // Both are the same request.
        tokio::join!(
            site.post("/sessions/s/requests", queued()),
            site.post("/sessions/s/requests", queued())
        )
    };
    let cancels = async {
        let waiting = state(&site, "b").await;
        assert_eq!((&waiting["status"], &waiting["session_id"]), (&json!("queued"), &json!("s")));
        while !site.get("//metrics").await.1.as_str().unwrap().contains("orlop_queue_length 2") {}
        let followed = follow(&site, "b").await;
        let (status, told) = site.post("/requests/b/cancel", json!({ "reason": "enough" })).await;
        assert_eq!(
            (status, &told["status"], &told["reason"]),
            (200, &json!("cancelled"), &json!("enough"))
        );
        followed.rest().await
    };
    let ((one, other), followed) = tokio::join!(both, cancels);
    for (status, problem) in [one, other] {
        assert_eq!((status, &problem["error_type"]), (499, &json!("cancelled")));
        assert!(problem["message"].as_str().unwrap().contains("enough"), "{problem}");
    }
    assert_eq!(kinds(&followed), "request_cancelled");
    assert_eq!(followed[0].data["reason"], "enough");
    gate.open();
    first.rest().await;
    // Nothing of it is kept, and its id is free.
    assert_eq!(site.get("/requests/b").await.0, 404);
    assert_eq!(said(site.host.app(), "s").await, "a|one");
    let (status, done) = site.post("/sessions/s/requests", queued()).await;
    assert_eq!((status, &done["messages"][0]["content"]), (200, &json!("two")));
    assert_eq!(scene.provider.requests().len(), 2);
}

#[tokio::test] // K-09
async fn a_request_that_waits_goes_with_its_session() {
    let gate = Gate::new();
    let (site, first, scene) = busy(&gate).await;
    let deletes = async {
        state(&site, "b").await;
        while !site.get("//metrics").await.1.as_str().unwrap().contains("orlop_queue_length 1") {}
        site.delete("/sessions/s").await.0
    };
    let (queued, deleted) = tokio::join!(site.post("/sessions/s/requests", queued()), deletes);
    assert_eq!((queued.0, &queued.1["error_type"], deleted), (499, &json!("cancelled"), 204));
    assert!(queued.1["message"].as_str().unwrap().contains("the session is deleted"));
    assert_eq!(kinds(&first.rest().await).split(' ').next_back(), Some("request_cancelled"));
    // Nothing brings it back.
    assert_eq!(site.get("/sessions/s").await.0, 404);
    assert_eq!(site.get("/requests/b").await.0, 404);
    assert_eq!(scene.provider.requests().len(), 1);
}

#[tokio::test] // K-09, K-20
async fn a_request_that_waits_for_its_session_is_followed() {
    let gate = Gate::new();
    let (site, first, _scene) = busy(&gate).await;
    let follows = async {
        state(&site, "b").await;
        let followed = follow(&site, "b").await;
        gate.open();
        first.rest().await;
        followed.rest().await
    };
    let ((status, done), followed) =
        tokio::join!(site.post("/sessions/s/requests", queued()), follows);
    assert_eq!((status, &done["messages"][0]["content"]), (200, &json!("two")));
    assert_eq!(kinds(&followed), "request_started final");
}

/// Sends a request that stops where it is prepared, cancels it there, and sees that the session is free.
async fn cancelled_where_it_stands(scene: Scene, stop: &Stop) {
    let site = Site::open(&scene).await;
    site.session("s").await;
    let body = json!({ "content": "hold", "request_id": "r" });
    let (refused, ()) = tokio::join!(site.post("/sessions/s/requests", body), async {
        stop.reached_by(1).await;
        assert_eq!(site.get("/requests/r").await.1["status"], "queued");
        assert_eq!(site.post("/requests/r/cancel", json!({})).await.1["status"], "cancelled");
    });
    assert_eq!((refused.0, &refused.1["error_type"]), (499, &json!("cancelled")));
    assert_eq!(site.get("/requests/r").await.0, 404);
    assert_eq!(site.say("s", "b").await.1["messages"][0]["content"], "one");
    assert_eq!(said(site.host.app(), "s").await, "b|one");
}

/// An interceptor that holds every request that says `hold`.
fn holding(stop: &Stop) -> ScriptedHost {
    let held = stop.clone();
    ScriptedHost::new("holds").intercept_chat_request(move |input, _| {
        let (stop, is_held) = (held.clone(), input.text == "hold");
        async move {
            if is_held {
                stop.here().await;
            }
            Ok(None)
        }
    })
}

#[tokio::test] // K-11
async fn a_request_that_stands_at_an_interceptor_is_cancelled() {
    let stop = Stop::default();
    cancelled_where_it_stands(Scene::says(&["one"]).host(holding(&stop)), &stop).await;
}

#[tokio::test] // K-11
async fn a_request_that_has_the_session_and_is_prepared_is_cancelled() {
    let stop = Stop::default();
    let held = stop.clone();
    let prepares = app_recorder(&Log::new(), &["request_prepare"], move |_, cx| {
        let stop = held.clone();
        async move {
            if cx.session().is_some_and(|it| texts(it) == "hold") {
                stop.here().await;
            }
            Ok(ActionResult::unchanged())
        }
    });
    cancelled_where_it_stands(Scene::says(&["one"]).application(prepares), &stop).await;
}

#[tokio::test]
async fn requests_that_stand_at_a_plugin_keep_no_others_from_beginning() {
    let stop = Stop::default();
    let site = Site::open(&Scene::says(&["one"; 21]).host(holding(&stop))).await;
    let names: Vec<String> = (0..20).map(|number| format!("h{number}")).collect();
    for name in names.iter().map(String::as_str).chain(["s"]) {
        site.session(name).await;
    }
    let waiting = futures::future::join_all(names.iter().map(|name| site.say(name, "hold")));
    let (waited, ()) = tokio::join!(waiting, async {
        // More than begin at a time.
        stop.reached_by(20).await;
        assert_eq!(site.say("s", "b").await.1["messages"][0]["content"], "one");
        stop.let_go(20);
    });
    assert!(waited.iter().all(|(status, _)| *status == 200), "{waited:?}");
}

#[tokio::test]
async fn a_request_that_stands_at_a_plugin_does_not_bring_a_deleted_session_back() {
    let stop = Stop::default();
    let scene = Scene::says(&["one"]).host(holding(&stop));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let (refused, deleted) = tokio::join!(site.say("s", "hold"), async {
        stop.reached_by(1).await;
        let deleted = site.delete("/sessions/s").await.0;
        stop.let_go(1);
        deleted
    });
    assert_eq!((refused.0, &refused.1["error_type"], deleted), (499, &json!("cancelled"), 204));
    assert_eq!(site.get("/sessions/s").await.0, 404);
    assert!(scene.provider.requests().is_empty());
}
