//! Ending in order: nothing is lost, and everybody is told.

use crate::common::doubles::{Stop, stopping};
use crate::common::recorders::{three, told};
use crate::common::*;
use crate::site::*;
use orlop_app::Recovery;
use orlop_http::Settings;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test] // L-04
async fn a_turn_stops_at_a_checkpoint_and_goes_on_after_a_restart() {
    let (stop, log) = (Stop::default(), Log::new());
    let mut scene = Scene::default();
    scene.plugins = scene.plugins.tool(Arc::new(stopping("work", json!({}), &stop, &log)));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "work", json!({ "n": 1 }))]));
    scene.provider.reply(ScriptedReply::text(&["done"]));
    let mut site = Site::open(&scene).await;
    site.session("s").await;
    let mut stream = site.stream("s", json!({ "content": "go", "request_id": "r" })).await;
    let seen = stream.until("tool_call").await;
    stop.reached_by(1).await;
    let ending = site.begin_to_close();
    // The tool comes to its end; the model is not asked any more.
    stop.let_go(1);
    let rest = stream.rest().await;
    assert_eq!(kinds(&rest), "tool_result resume");
    let last = rest[rest.len() - 2].id.unwrap();
    let resume = &rest.last().unwrap().data;
    assert_eq!(resume["after"], last);
    ending.await.unwrap().unwrap();
    assert_eq!(log.count("work{\"n\":1}"), 1);

    let site = Site::open(&scene).await;
    assert_eq!(site.host.app().recover(Recovery::Resume).await.unwrap(), 1);
    let path = resume["url"].as_str().unwrap();
    let back = Sse::of(site.request(Method::GET, path).send().await.unwrap()).rest().await;
    assert_eq!(back.last().unwrap().event, "final");
    assert!(back.iter().all(|sent| sent.id.unwrap() > last));
    assert_eq!(log.count("work{\"n\":1}"), 1);
    assert!(!seen.is_empty() && said(site.host.app(), "s").await.ends_with("|done"));
}

#[tokio::test] // L-04
async fn what_waits_for_a_person_waits_on() {
    let asks = ScriptedHost::new("asks").before_tool_call(|_, _| async {
        Ok(orlop_core::hooks::ToolGate::Ask("is it fine?".to_owned()))
    });
    let scene = Scene::default().host(asks).tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["done"]));
    let mut site = Site::open(&scene).await;
    site.session("s").await;
    let mut stream = site.stream("s", json!({ "content": "go", "request_id": "r" })).await;
    let asked = stream.until("approval_requested").await;
    let call = asked.last().unwrap().data["call_id"].as_str().unwrap().to_owned();
    let mut idle = Sse::of(site.request(Method::GET, "/events").send().await.unwrap());
    site.close().await;
    assert_eq!(kinds(&stream.rest().await), "resume");
    assert_eq!(idle.next().await.unwrap().event, "resume");

    let site = Site::open(&scene).await;
    assert_eq!(site.get("/requests/r").await.1["status"], "waiting");
    site.host.app().recover(Recovery::Resume).await.unwrap();
    let path = format!("/requests/r/approvals/{call}");
    assert_eq!(site.post(&path, json!({ "decision": "allow" })).await.0, 200);
    let events = Sse::of(site.request(Method::GET, "/requests/r/events").send().await.unwrap());
    assert_eq!(events.rest().await.last().unwrap().event, "final");
}

#[tokio::test] // L-03, L-04
async fn plugins_are_stopped_and_no_more_turns_are_taken() {
    let (log, gate) = (Log::new(), Gate::new());
    let scene = three(&log);
    scene.provider.reply(ScriptedReply::text(&["ok"]).waiting_for(&gate));
    let mut site = Site::open(&scene).await;
    site.session("s").await;
    site.session("t").await;
    assert!(told(&log).starts_with("start c a b"));
    let stream = site.stream("s", json!({ "content": "hi", "request_id": "r" })).await;
    gate.reached().await;
    let mut client = site.keep().await;
    assert!(client.ask("GET", "/readyz", "").await.0.starts_with("http/1.1 200"));
    let ending = site.begin_to_close();
    // While the turn comes to its end, those who are connected are told that others are not taken.
    while client.ask("GET", "/readyz", "").await.0.starts_with("http/1.1 200") {}
    let message = json!({ "role": "user", "content": "late" });
    for (path, body) in [
        (
            "/api/v1/sessions/t/requests",
            json!({ "content": "late", "stream": false, "request_id": "late" }),
        ),
        ("/api/v1/sessions/t/requests", json!({ "content": "late", "request_id": "late" })),
        ("/v1/chat/completions", json!({ "model": "default", "messages": [message] })),
    ] {
        let (head, problem) = client.ask("POST", path, &body.to_string()).await;
        assert!(head.starts_with("http/1.1 503"), "{path}: {head}{problem}");
        assert!(head.contains("retry-after: ") && problem.contains("is ending"), "{head}{problem}");
        let named = body.get("request_id").map(|_| "x-request-id: late\r\n");
        assert!(head.contains(named.unwrap_or("x-request-id: ")), "{head}");
    }
    gate.open();
    assert_eq!(stream.rest().await.last().unwrap().event, "final");
    ending.await.unwrap().unwrap();
    assert!(told(&log).ends_with("stop b a c"));
    assert_eq!(said(site.host.app(), "t").await, "");
    assert!(site.client.get(format!("{}/healthz", site.url)).send().await.is_err());
}

#[tokio::test]
async fn who_waits_for_the_whole_of_a_turn_that_is_cut_off_is_told_to_come_again() {
    let scene = Scene::default();
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    for gate in &gates {
        // Nobody opens it.
        scene.provider.reply(ScriptedReply::text(&["never"]).waiting_for(gate));
    }
    let mut settings = Settings::default();
    settings.limits.shutdown_timeout = Duration::ZERO;
    let mut site = Site::with(&scene, settings).await;
    site.session("s").await;
    let message = json!({ "role": "user", "content": "hi" });
    let mut clients = Vec::new();
    for (gate, (path, body)) in gates.iter().zip([
        (
            "/api/v1/sessions/s/requests",
            json!({ "content": "hi", "stream": false, "request_id": "mine" }),
        ),
        ("/v1/responses", json!({ "model": "default", "input": "hi" })),
        ("/v1/chat/completions", json!({ "model": "default", "messages": [message] })),
    ]) {
        let mut client = site.keep().await;
        client.send("POST", path, &body.to_string()).await;
        gate.reached().await;
        clients.push(client);
    }
    let ending = site.begin_to_close();
    for (place, client) in clients.iter_mut().enumerate() {
        let (head, problem) = client.read().await;
        assert!(head.starts_with("http/1.1 503"), "{head}{problem}");
        assert!(head.contains("retry-after: ") && problem.contains("try again"), "{head}{problem}");
        let id = if place == 0 { "x-request-id: mine\r\n" } else { "x-request-id: " };
        assert!(head.contains(id), "{head}");
    }
    ending.await.unwrap().unwrap();
}
