//! Clients that leave while their turn is still being prepared: it goes on, and counts for as long as
//! it does.

use crate::common::doubles::Stop;
use crate::common::*;
use crate::site::*;
use orlop_core::hooks::Handled;
use orlop_http::Settings;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::{Value, json};

/// A site with one turn at a time, whose interceptor holds every request that says `hold`, and answers
/// one that says `free` itself.
async fn holding(scene: Scene, stop: &Stop) -> Site {
    let stop = stop.clone();
    let holds = ScriptedHost::new("holds").intercept_chat_request(move |input, _| {
        let (stop, is_held) = (stop.clone(), input.text == "hold");
        let answer = (input.text == "free").then(|| Handled::text("yes").into());
        async move {
            if is_held {
                stop.here().await;
            }
            Ok(answer)
        }
    });
    let mut settings = Settings::default();
    settings.limits.turns_per_tenant = 1;
    let site = Site::with(&scene.host(holds), settings).await;
    site.session("s").await;
    site.session("t").await;
    site
}

/// Sends a request and leaves as soon as it stands at the interceptor. The server has noticed it when
/// this returns.
async fn leave(site: &Site, stop: &Stop, path: &str, body: Value) {
    let mut watch = site.keep().await;
    let before = number(&mut watch, "orlop_connections_open").await;
    let mut client = site.keep().await;
    client.send("POST", path, &body.to_string()).await;
    stop.reached_by(1).await;
    drop(client);
    while number(&mut watch, "orlop_connections_open").await != before {}
}

/// A number of the server.
async fn number(watch: &mut Kept, name: &str) -> usize {
    let (_, text) = watch.ask("GET", "/metrics", "").await;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

/// Says something once there is room for it.
async fn say_when_free(site: &Site, text: &str) -> Value {
    loop {
        match site.say("t", text).await {
            (429, _) => tokio::task::yield_now().await,
            (status, body) => {
                assert_eq!(status, 200, "{body}");
                return body["messages"][0]["content"].clone();
            }
        }
    }
}

#[tokio::test]
async fn a_turn_whose_client_left_before_it_began_still_counts() {
    for stream in [true, false] {
        let stop = Stop::default();
        let site = holding(Scene::says(&["one", "two"]), &stop).await;
        let body = json!({ "content": "hold", "stream": stream, "request_id": "r" });
        leave(&site, &stop, "/api/v1/sessions/s/requests", body).await;
        let (status, problem) = site.say("t", "b").await;
        assert_eq!(status, 429, "{problem}");
        stop.let_go(1);
        assert_eq!(say_when_free(&site, "b").await, "two");
        assert_eq!(said(site.host.app(), "s").await, "hold|one");
    }
}

#[tokio::test]
async fn a_completion_whose_client_left_before_it_began_is_cancelled() {
    for stream in [true, false] {
        let (stop, gate) = (Stop::default(), Gate::new());
        let scene = Scene::default();
        // Only a turn that is cancelled ends while the gate is closed.
        scene.provider.reply(ScriptedReply::text(&["never"]).waiting_for(&gate));
        scene.provider.reply(ScriptedReply::text(&["two"]));
        let site = holding(scene, &stop).await;
        let message = json!({ "role": "user", "content": "hold" });
        let body = json!({ "model": "default", "messages": [message], "stream": stream });
        leave(&site, &stop, "/v1/chat/completions", body).await;
        assert_eq!(site.say("t", "b").await.0, 429);
        stop.let_go(1);
        while site.say("t", "free").await.0 == 429 {
            tokio::task::yield_now().await;
        }
        gate.open();
        // A turn that was cancelled before it asked the model leaves both replies.
        let said = say_when_free(&site, "b").await;
        assert!(said == "two" || said == "never", "{said}");
        let mut watch = site.keep().await;
        while number(&mut watch, "orlop_turns_running").await != 0 {}
    }
}

#[tokio::test]
async fn a_request_that_gets_no_stream_begins_no_turn() {
    let scene = Scene::default();
    let mut settings = Settings::default();
    settings.limits.streams_per_tenant = 1;
    let site = Site::with(&scene, settings).await;
    site.session("s").await;
    let events = site.request(reqwest::Method::GET, "/events");
    let _held = Sse::of(events.send().await.unwrap());
    let message = json!({ "role": "user", "content": "hi" });
    for (path, body) in [
        ("/sessions/s/requests", json!({ "content": "hi", "request_id": "r" })),
        (
            "//v1/chat/completions",
            json!({ "model": "default", "messages": [message], "stream": true }),
        ),
        ("//v1/responses", json!({ "model": "default", "input": "hi", "stream": true })),
    ] {
        let (status, problem) = site.post(path, body).await;
        assert_eq!(status, 429, "{path}: {problem}");
    }
    assert!(scene.provider.requests().is_empty());
    assert_eq!(site.get("/requests/r").await.0, 404);
    assert_eq!(site.get("/sessions/s").await.1["messages"], json!([]));
}
