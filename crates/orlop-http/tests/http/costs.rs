//! What routes read of a session that they do not return: none of its messages, however many there
//! are.

use crate::common::doubles::StoreDouble;
use crate::common::*;
use crate::site::*;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::Arc;

const MESSAGES: usize = 400;

/// A scene whose store has a long session, and counts what is read.
async fn long() -> (Scene, Arc<StoreDouble>) {
    let mut scene = Scene::default();
    let role = |n: usize| if n.is_multiple_of(2) { "user" } else { "assistant" };
    let messages: Vec<Value> =
        (0..MESSAGES).map(|n| json!({ "role": role(n), "content": format!("{n}") })).collect();
    let session = json!({ "session_id": "s", "messages": messages, "metadata": {} });
    let site = Site::open(&scene).await;
    let (status, made) = site.post("/sessions/import", session).await;
    assert_eq!((status, &made["message_count"]), (201, &json!(MESSAGES)), "{made}");
    let double = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = double.clone();
    (scene, double)
}

#[tokio::test] // K-09
async fn what_is_not_returned_is_not_read() {
    let (scene, store) = long().await;
    let form = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--X--\r\n";
    let (json_type, form_type) = ("application/json", "multipart/form-data; boundary=X");
    let rows: &[(&str, &str, &str, usize)] = &[
        ("GET", "/sessions", "", 0),
        ("PATCH", "/sessions/s", r#"{"title": "Long", "overrides": {"temperature": 0.5}}"#, 0),
        ("PATCH", "/sessions/s", r#"{"metadata": {"pinned": true}}"#, 0),
        ("POST", "/sessions/s/agent", r#"{"agent_id": "other"}"#, 0),
        ("GET", "/agents/default/ui-schema?session_id=s", "", 0),
        ("GET", "/actions?session_id=s", "", 0),
        ("GET", "/sessions/s/requests", "", 0),
        ("GET", "/sessions/s/changes", "", 0),
        ("POST", "/assets?session_id=s", form, 0),
        ("GET", "//v1/conversations/conv_s", "", 0),
        ("POST", "//v1/conversations/conv_s", r#"{"metadata": {"k": "v"}}"#, 0),
        // As many as are returned, or looked through.
        ("GET", "/sessions/s?last=3", "", 3),
        ("GET", "/sessions/s/branches?index=-1", "", 16),
        ("GET", "//v1/conversations/conv_s/items?limit=2", "", 3),
        ("POST", "/sessions/s/fork", "{}", 0),
        ("POST", "/sessions/s/fork", r#"{"upto_index": 100}"#, 0),
        ("POST", "/sessions/s/branches", r#"{"index": 200}"#, 16),
        ("POST", "/sessions/s/messages", r#"{"role": "user", "content": "x"}"#, 0),
        (
            "POST",
            "//v1/conversations/conv_s/items",
            r#"{"items": [{"role": "user", "content": "x"}]}"#,
            1,
        ),
        ("POST", "/sessions/s/slice", r#"{"end": 400}"#, 0),
        ("GET", "/sessions/s", "", MESSAGES),
        ("DELETE", "/sessions/s", "", 0),
    ];
    for (method, path, body, read) in rows {
        // Nothing is remembered from the row before.
        let site = Site::open(&scene).await;
        store.messages_read();
        let kind = if body.starts_with("--") { form_type } else { json_type };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = site.request(method.clone(), path).header("content-type", kind);
        let (status, answer) = answer(request.body(*body).send().await.unwrap()).await;
        assert!((200..300).contains(&status), "{method} {path} {status} {answer}");
        assert_eq!(store.messages_read(), *read, "{method} {path}");
    }
    let site = Site::open(&scene).await;
    assert_eq!(site.get("/sessions/s").await.0, 404);
}

#[tokio::test] // H-32
async fn plugins_that_look_at_what_is_saved_see_all_of_it() {
    let (scene, store) = long().await;
    let log = Log::new();
    let heard = log.clone();
    let scene = scene.application(
        ScriptedApplication::new("audit").actions(vec![at("session_save_prepare")]).execute_action(
            move |_, cx| {
                heard.add(cx.session().unwrap().messages().len().to_string());
                async { Ok(patch(json!({ "audited": true }))) }
            },
        ),
    );
    let site = Site::open(&scene).await;
    store.messages_read();
    let (status, patched) = site.patch("/sessions/s", json!({ "title": "Long" })).await;
    assert_eq!((status, &patched["title"]), (200, &json!("Long")));
    assert_eq!((log.lines(), store.messages_read()), (vec![MESSAGES.to_string()], MESSAGES));
    let (_, session) = site.get("/sessions/s?last=1").await;
    assert_eq!(session["metadata"]["audited"], true);
}

#[tokio::test] // K-09
async fn a_change_of_metadata_is_seen_by_what_is_remembered() {
    let scene = Scene::says(&["one", "two"]);
    let site = Site::open(&scene).await;
    site.session("s").await;
    site.say("s", "hi").await;
    let derived = site.get("/sessions/s").await.1["title"].clone();
    site.patch("/sessions/s", json!({ "title": "Mine", "overrides": { "model": "x" } })).await;
    let (_, whole) = site.say("s", "again").await;
    assert_eq!(whole["session"]["title"], "Mine");
    assert_eq!(scene.provider.requests().pop().unwrap().1.config.values()["model"], "x");
    assert_eq!(said(site.host.app(), "s").await, "hi|one|again|two");
    // Without a title of its own it has the one of its first message again.
    site.patch("/sessions/s", json!({ "metadata": { "title": null } })).await;
    assert_eq!(site.get("/sessions/s").await.1["title"], derived);
    assert_eq!(derived, "hi");
}

#[tokio::test] // K-09
async fn a_request_is_looked_for_only_if_it_may_have_come_before() {
    let mut scene = Scene::says(&["one", "two", "three", "four"]);
    let store = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = store.clone();
    let site = Site::open(&scene).await;
    site.session("s").await;
    let ask = async |id: Option<&str>, path: &str, mut body: Value| {
        store.turns_read();
        if let Some(id) = id {
            body["request_id"] = json!(id);
        }
        let (status, answer) = site.post(path, body).await;
        assert_eq!(status, 200, "{answer}");
        store.turns_read()
    };
    assert_eq!(ask(None, "/sessions/s/requests", json!({ "content": "a" })).await, 0);
    assert!(ask(Some("r"), "/sessions/s/requests", json!({ "content": "b" })).await > 0);
    let says = json!({ "model": "default", "messages": [{ "role": "user", "content": "c" }] });
    assert_eq!(ask(None, "//v1/chat/completions", says).await, 0);
}

#[tokio::test] // K-09
async fn a_completion_that_stores_nothing_locks_nothing() {
    let mut scene = Scene::says(&["one", "two"]);
    let store = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = store.clone();
    let site = Site::open(&scene).await;
    site.session("s").await;
    store.leases_taken();
    site.say("s", "a").await;
    assert_eq!(store.leases_taken(), 1, "what is stored is locked");
    let says = json!({ "model": "default", "messages": [{ "role": "user", "content": "b" }] });
    assert_eq!(site.post("//v1/chat/completions", says).await.0, 200);
    assert_eq!(store.leases_taken(), 0);
}
