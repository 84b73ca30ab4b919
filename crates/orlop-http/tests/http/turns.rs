//! Turns over HTTP: as a whole and as events, joined, queued, cancelled, decided on.

use crate::common::doubles::{Stop, stopping};
use crate::common::*;
use crate::site::*;
use orlop_core::Partial;
use orlop_core::hooks::ToolGate;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::json;
use std::sync::Arc;

#[tokio::test] // K-09, K-22, E-26
async fn a_turn_comes_as_a_whole_or_as_events() {
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["hel", "lo"]));
    scene.provider.reply(ScriptedReply::text(&["hel", "lo"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let (status, whole) = site.say("s", "hi").await;
    assert_eq!((status, &whole["messages"][0]["content"]), (200, &json!("hello")));
    assert_eq!(
        (&whole["session_id"], &whole["session"]["message_count"]),
        (&json!("s"), &json!(2))
    );

    let events = site.stream("s", json!({ "content": "hi" })).await.rest().await;
    assert_eq!(kinds(&events), "request_started partial final");
    assert_eq!(text_of(&events), "hello");
    let last = events.last().unwrap();
    assert_eq!(last.data["messages"][0]["content"], whole["messages"][0]["content"]);
    assert_eq!((last.id, &last.data["seq"]), (last.data["seq"].as_u64(), &json!(last.id)));
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(events.iter().all(|sent| sent.data["type"] == sent.event.as_str()));
}

#[tokio::test] // K-10, K-11
async fn the_id_of_a_request_is_taken_returned_and_cancels_it() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["he"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let path = "/sessions/s/requests";
    let request = site.request(Method::POST, path).header("content-type", "application/json");
    let request = request.header("x-request-id", "mine").body(r#"{"content": "hi"}"#);
    let mut stream = Sse::of(request.send().await.unwrap());
    assert_eq!(stream.header("x-request-id"), "mine");
    let begun = stream.until("partial").await;
    assert!(begun.iter().all(|sent| sent.data["request_id"] == "mine"));
    assert_eq!(site.get("/requests/mine").await.1["status"], "running");
    let (status, told) = site.post("/requests/mine/cancel", json!({ "reason": "enough" })).await;
    assert_eq!((status, &told["status"]), (200, &json!("cancelled")));
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().event, "request_cancelled");
    assert_eq!(rest.last().unwrap().data["reason"], "enough");
    let (_, state) = site.get("/requests/mine").await;
    assert_eq!((&state["status"], &state["reason"]), (&json!("cancelled"), &json!("enough")));
    // What is over stays as it is, and what never was cannot be cancelled.
    assert_eq!(site.post("/requests/mine/cancel", json!({})).await.1["status"], "cancelled");
    assert_eq!(site.post("/requests/other/cancel", json!({})).await.0, 404);

    let healthz = site.request(Method::GET, "/healthz").send().await.unwrap();
    assert_eq!(healthz.headers()["x-request-id"].len(), 36);
}

#[tokio::test] // K-10
async fn a_header_that_is_no_id_is_refused_where_it_would_name_a_turn() {
    let scene = Scene::says(&["hello"]);
    let site = Site::open(&scene).await;
    site.session("s").await;
    let path = "/sessions/s/requests";
    for odd in ["../x", "Root=1-67891233-abcdef012345678912345678", "_x", "aGVsbG8+d29ybGQ="] {
        for other in ["/healthz", "/sessions/s", path] {
            let request = site.request(Method::GET, other).header("x-request-id", odd);
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 200, "{other} {odd}");
            assert_eq!(response.headers()["x-request-id"].len(), 36, "{other} {odd}");
        }
        let request = site.request(Method::POST, path).header("content-type", "application/json");
        let request = request.header("x-request-id", odd);
        let (status, problem) =
            answer(request.body(r#"{"content": "hi"}"#).send().await.unwrap()).await;
        assert_eq!((status, &problem["error_type"]), (400, &json!("bad_argument")));
        assert!(problem["message"].as_str().unwrap().contains("cannot be a request id"));
    }
    assert!(scene.provider.requests().is_empty());
    // The body names it.
    let request = site.request(Method::POST, path).header("content-type", "application/json");
    let request = request.header("x-request-id", "../x");
    let body = r#"{"content": "hi", "request_id": "r", "stream": false}"#;
    let response = request.body(body).send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-request-id"]),
        (200, &"r".parse().unwrap())
    );
}

#[tokio::test] // K-09
async fn the_same_request_joins_whether_it_runs_or_is_done() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["hello"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    site.session("t").await;
    let body = json!({ "content": "hi", "request_id": "r" });
    let mut first = site.stream("s", body.clone()).await;
    first.until("partial").await;
    let second = site.stream("s", body.clone()).await;
    gate.open();
    let (first, second) = (first.rest().await, second.rest().await);
    assert_eq!(first.last(), second.last());
    let whole = json!({ "content": "hi", "request_id": "r", "stream": false });
    let (status, done) = site.post("/sessions/s/requests", whole.clone()).await;
    assert_eq!((status, &done["messages"][0]["content"]), (200, &json!("hello")));
    assert_eq!(said(site.host.app(), "s").await, "hi|hello");
    let (status, problem) = site.post("/sessions/t/requests", whole).await;
    assert_eq!((status, &problem["error_type"]), (409, &json!("conflict")));
}

#[tokio::test] // K-09
async fn another_request_with_the_same_id_is_a_conflict_whether_the_first_runs_or_is_done() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["hello"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let body = |text: &str| json!({ "content": text, "request_id": "r", "stream": false });
    let mut first = site.stream("s", json!({ "content": "hi", "request_id": "r" })).await;
    first.until("partial").await;
    let refused = async || {
        let (status, problem) = site.post("/sessions/s/requests", body("ho")).await;
        let told = problem["message"].as_str().unwrap().to_owned();
        assert_eq!(status, 409, "{told}");
        assert!(told.contains("belongs to a request that asked for something else"), "{told}");
    };
    refused().await;
    gate.open();
    first.rest().await;
    refused().await;
    assert_eq!(site.post("/sessions/s/requests", body("hi")).await.0, 200);
    assert_eq!(said(site.host.app(), "s").await, "hi|hello");
}

#[tokio::test] // K-20
async fn a_busy_session_is_a_conflict_unless_the_request_queues() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(&gate));
    scene.provider.reply(ScriptedReply::text(&["two"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let mut first = site.stream("s", json!({ "content": "a" })).await;
    first.until("partial").await;
    let body = json!({ "content": "b", "stream": false });
    let busy = site.send(Method::POST, "/sessions/s/requests", body).await;
    assert_eq!(
        (busy.status().as_u16(), &busy.headers()["retry-after"]),
        (409, &"1".parse().unwrap())
    );
    // So is a change of it: whoever wants one is told, and does not wait for the answer.
    assert_eq!(site.patch("/sessions/s", json!({ "title": "t" })).await.0, 409);
    let queued = json!({ "content": "b", "stream": false, "queue": true });
    let queued = site.post("/sessions/s/requests", queued);
    let (queued, ()) = tokio::join!(queued, async {
        while !site.get("//metrics").await.1.as_str().unwrap().contains("orlop_queue_length 1") {}
        gate.open();
    });
    assert_eq!((queued.0, &queued.1["messages"][0]["content"]), (200, &json!("two")));
    assert_eq!(said(site.host.app(), "s").await, "a|one|b|two");
}

#[tokio::test]
async fn a_session_is_deleted_while_it_is_being_answered() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let mut stream = site.stream("s", json!({ "content": "a" })).await;
    stream.until("partial").await;
    assert_eq!(site.delete("/sessions/s").await.0, 204);
    let events = stream.rest().await;
    assert_eq!(events.last().unwrap().event, "request_cancelled");
    assert_eq!(site.get("/sessions/s").await.0, 404);
}

#[tokio::test] // K-09
async fn leaving_does_not_end_a_turn_and_coming_back_misses_nothing() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["he", "l", "lo"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let body = json!({ "content": "hi", "request_id": "r" });
    let mut stream = site.stream("s", body).await;
    let seen = stream.until("partial").await;
    drop(stream);
    let last = seen.last().unwrap().id.unwrap();
    let path = format!("/requests/r/events?after={last}");
    let back = Sse::of(site.request(Method::GET, &path).send().await.unwrap());
    gate.open();
    let rest = back.rest().await;
    assert_eq!(text_of(&seen) + &text_of(&rest), "hello");
    assert_eq!(kinds(&rest), "partial final");
    // After the end, when the store alone has it, by the header that browsers send.
    while !site.get("//metrics").await.1.as_str().unwrap().contains("orlop_leases_held 0") {}
    let again = site.request(Method::GET, "/requests/r/events").header("last-event-id", last);
    let again = Sse::of(again.send().await.unwrap()).rest().await;
    assert_eq!(kinds(&again), "final");
    // Nothing follows the last one, and browsers do not open the stream again.
    let last = again.last().unwrap().id.unwrap();
    for after in [last, last + 1, u64::MAX] {
        let over = site.request(Method::GET, "/requests/r/events").header("last-event-id", after);
        assert_eq!(over.send().await.unwrap().status(), 204, "{after}");
        assert_eq!(site.get(&format!("/requests/r/events?after={after}")).await.0, 204);
    }
    let odd = site.request(Method::GET, "/requests/r/events").header("last-event-id", "x");
    assert_eq!(odd.send().await.unwrap().status(), 400);
    assert_eq!(site.get("/requests/nope/events").await.0, 404);
}

#[tokio::test] // K-09
async fn a_number_that_is_yet_to_come_hides_no_events() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["hello"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let far = u64::MAX;
    let open = async |path: String| Sse::of(site.request(Method::GET, &path).send().await.unwrap());
    let mut all = open(format!("/events?after={far}")).await;
    let mut of_session = open(format!("/events?session_id=s&after={far}")).await;
    let mut stream = site.stream("s", json!({ "content": "hi", "request_id": "r" })).await;
    stream.until("partial").await;
    let back = open(format!("/requests/r/events?after={far}")).await;
    gate.open();
    assert_eq!(kinds(&back.rest().await), "final");
    for events in [&mut all, &mut of_session] {
        assert_eq!(kinds(&events.until("final").await), "request_started partial final");
    }
}

#[tokio::test] // K-09
async fn who_comes_back_in_a_later_step_is_told_the_rest_of_an_earlier_answer() {
    let (stop, gate) = (Stop::default(), Gate::new());
    let mut scene = Scene::default();
    scene.plugins = scene.plugins.tool(Arc::new(stopping("work", json!({}), &stop, &Log::new())));
    let mut calls = ScriptedReply::calls(&[("c1", "work", json!({}))]);
    for text in ["one ", "two ", "three ", "four"] {
        calls = calls.with_partial(Partial::text(text));
    }
    scene.provider.reply(calls);
    scene.provider.reply(ScriptedReply::text(&["five", " six"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let mut stream = site.stream("s", json!({ "content": "hi", "request_id": "r" })).await;
    let seen = stream.until("partial").await;
    assert_eq!(text_of(&seen), "one ");
    drop(stream);
    stop.reached_by(1).await;
    stop.let_go(1);
    gate.reached().await;
    let open = async |after: u64| {
        let path = format!("/requests/r/events?after={after}");
        Sse::of(site.request(Method::GET, &path).send().await.unwrap())
    };
    // Who left at the first word, and who left at each that follows; nobody is told anything twice.
    let mut back = open(seen.last().unwrap().id.unwrap()).await;
    let missed = back.until("tool_result").await;
    assert_eq!(kinds(&missed), "partial tool_call tool_result");
    assert_eq!(text_of(&missed), "two three four");
    for (place, left) in missed.iter().enumerate() {
        let again = open(left.id.unwrap()).await.until("partial").await;
        assert_eq!(again[..again.len() - 1], missed[place + 1..][..again.len() - 1]);
        if again.last().unwrap().data["message"]["content"] == "five" {
            assert_eq!(again.len(), missed.len() - place);
        }
    }
    gate.open();
    let rest = back.rest().await;
    assert_eq!((kinds(&rest), text_of(&rest)), ("partial final".to_owned(), "five six".to_owned()));
}

#[tokio::test] // K-09
async fn a_person_decides_on_a_tool_call() {
    let asks = ScriptedHost::new("asks")
        .before_tool_call(|_, _| async { Ok(ToolGate::Ask("is it fine?".to_owned())) });
    let scene = Scene::default().host(asks).tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({ "n": 1 }))]));
    scene.provider.reply(ScriptedReply::text(&["done"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let mut stream = site.stream("s", json!({ "content": "hi", "request_id": "r" })).await;
    let asked = stream.until("approval_requested").await;
    let call = asked.last().unwrap().data["call_id"].as_str().unwrap().to_owned();
    let (_, state) = site.get("/requests/r").await;
    assert_eq!(
        (&state["status"], &state["waiting_for"][0]["reason"]),
        (&json!("waiting"), &json!("is it fine?"))
    );
    let path = format!("/requests/r/approvals/{call}");
    assert_eq!(site.post(&path, json!({ "decision": "maybe" })).await.0, 400);
    assert_eq!(site.post("/requests/r/approvals/zz", json!({ "decision": "allow" })).await.0, 404);
    assert_eq!(site.post(&path, json!({ "decision": "allow", "input": { "n": 2 } })).await.0, 200);
    let rest = stream.rest().await;
    assert_eq!(kinds(&rest), "approval_resolved tool_result partial final");
    assert!(rest[1].data["message"].to_string().contains('2'));
    let (_, trace) = site.get("/requests/r/trace").await;
    assert!(trace["items"].to_string().contains("before_tool_call"));
}

#[tokio::test] // K-10
async fn the_requests_of_a_session_are_listed_the_newest_first() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["one"]));
    scene.provider.reply(ScriptedReply::text(&["two"]).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    site.session("other").await;
    site.say("s", "hi").await;
    let mut second = site.stream("s", json!({ "content": "hi", "request_id": "second" })).await;
    second.until("request_started").await;
    let (status, listed) = site.get("/sessions/s/requests").await;
    let states: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!((status, states), (200, vec![json!("running"), json!("completed")]));
    assert_eq!(listed["items"][0]["request_id"], "second");
    let (_, newest) = site.get("/sessions/s/requests?limit=1").await;
    assert_eq!(newest["items"].as_array().unwrap().len(), 1);
    assert_eq!(site.get("/sessions/other/requests").await.1, json!({ "items": [] }));
    assert_eq!(site.get("/sessions/nobody/requests").await.0, 404);
    gate.open();
    second.rest().await;
}
