//! Streams: application events, clients that are slow or stop reading, limits.

use crate::common::doubles::{Stop, stopping};
use crate::common::*;
use crate::site::*;
use orlop_http::Settings;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test] // K-09
async fn application_events_are_followed_and_resumed() {
    let site = Site::open(&Scene::says(&["hello"])).await;
    site.session("s").await;
    site.session("t").await;
    let open = async |path: &str| Sse::of(site.request(Method::GET, path).send().await.unwrap());
    let mut live = open("/events?session_id=s").await;
    site.say("s", "hi").await;
    let seen = live.until("final").await;
    assert!(seen.iter().all(|sent| sent.data["session_id"] == "s"));
    let first = seen.first().unwrap().id.unwrap();
    let mut again = open(&format!("/events?session_id=s&after={first}")).await;
    let replayed = again.until("final").await;
    assert_eq!(replayed.last(), seen.last());
    assert!(replayed.iter().all(|sent| sent.id.unwrap() > first));
    let mut all = open("/events?after=0").await;
    assert_eq!(all.next().await.unwrap().event, "session_created");
    assert_eq!(site.get("/events?session_id=nope").await.0, 404);
}

#[tokio::test] // K-09
async fn application_events_come_without_fragments_where_nobody_wants_them() {
    let site = Site::open(&Scene::says(&["hello"])).await;
    site.session("s").await;
    let open = async |path: &str| Sse::of(site.request(Method::GET, path).send().await.unwrap());
    let mut all = open("/events?session_id=s").await;
    let mut durable = open("/events?session_id=s&fragments=false").await;
    site.stream("s", json!({ "content": "hi" })).await.rest().await;
    let (all, durable) = (all.until("final").await, durable.until("final").await);
    assert!(all.iter().any(|sent| sent.event == "partial"));
    assert!(durable.iter().all(|sent| sent.event != "partial"));
    assert_eq!(durable.last(), all.last());
}

/// Reads on until the end of what was read has these words.
async fn read_until(socket: &mut tokio::net::TcpStream, read: &mut Vec<u8>, words: &str) {
    let mut buffer = vec![0; 1 << 20];
    while !String::from_utf8_lossy(&read[read.len().saturating_sub(600)..]).contains(words) {
        let more = tokio::time::timeout(Duration::from_secs(20), socket.read(&mut buffer)).await;
        let count = more.expect("nothing more came").unwrap();
        assert!(count > 0, "the stream ended without {words}");
        read.extend_from_slice(&buffer[..count]);
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_holds_nobody_up_and_is_told_to_resume() {
    // Much more than the buffers of two sockets hold.
    const PIECES: usize = 6_000;
    let piece = "x".repeat(2_000);
    let pieces: Vec<&str> = (0..PIECES).map(|_| piece.as_str()).collect();
    let (stop, gate) = (Stop::default(), Gate::new());
    let mut scene = Scene::default();
    let work = stopping("work", json!({}), &stop, &Log::new());
    scene.plugins = scene.plugins.tool(Arc::new(work));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "work", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&pieces).waiting_for(&gate));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let address = site.url.strip_prefix("http://").unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1 << 20).unwrap();
    let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
    let body = r#"{"content": "hi", "request_id": "r"}"#;
    let head = format!(
        "POST /api/v1/sessions/s/requests HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    read_until(&mut socket, &mut read, "event: tool_call").await;
    // The turn gets to the end of what it says while nobody reads.
    stop.reached_by(1).await;
    stop.let_go(1);
    gate.reached().await;
    read_until(&mut socket, &mut read, "event: resume").await;
    let text = String::from_utf8_lossy(&read);
    assert!(text.matches("event: partial").count() < PIECES);
    let told = text.rsplit_once("\"after\":").unwrap().1;
    let last: u64 = told.split([',', '}']).next().unwrap().parse().unwrap();
    assert!(text.contains(&format!("/api/v1/requests/r/events?after={last}")));
    let path = format!("/requests/r/events?after={last}");
    let back = Sse::of(site.request(Method::GET, &path).send().await.unwrap());
    gate.open();
    let rest = back.rest().await;
    assert_eq!(rest.last().unwrap().event, "final");
    let seen = text.matches("event: partial").count();
    let others = rest.iter().filter(|sent| sent.event == "partial").count();
    assert_eq!(seen + others, PIECES);
}

#[tokio::test]
async fn turns_and_streams_of_a_tenant_are_counted() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(&gate));
    scene.provider.reply(ScriptedReply::text(&["two"]));
    let mut settings = Settings::default();
    settings.limits.turns_per_tenant = 1;
    settings.limits.streams_per_tenant = 1;
    let site = Site::with(&scene, settings).await;
    site.session("s").await;
    site.session("t").await;
    let mut stream = site.stream("s", json!({ "content": "a" })).await;
    stream.until("partial").await;
    let (status, problem) = site.say("t", "b").await;
    assert_eq!((status, &problem["error_type"]), (429, &json!("too_many_requests")));
    assert!(problem["message"].as_str().unwrap().contains("turns_per_tenant"));
    assert_eq!(site.get("/events").await.0, 429);
    gate.open();
    stream.rest().await;
    // Both are free again as soon as everything that belongs to the turn has run.
    loop {
        match site.say("t", "b").await {
            (429, _) => {}
            (status, body) => {
                break assert_eq!((status, &body["messages"][0]["content"]), (200, &json!("two")));
            }
        }
    }
}
