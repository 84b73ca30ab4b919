//! Links by which others read a session.

use crate::common::*;
use crate::site::*;
use orlop_http::{Right, Settings};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};

fn sharing() -> Settings {
    Settings { share_links: true, ..Settings::default() }
}

async fn shared(site: &Site, session: &str) -> (String, String) {
    let (status, made) = site.post(&format!("/sessions/{session}/shares"), json!({})).await;
    assert_eq!(status, 201, "{made}");
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    assert_eq!(text("url"), format!("/api/v1/shared/{}", text("link")));
    (text("id"), text("link"))
}

#[tokio::test]
async fn a_link_shows_the_messages_and_nothing_else() {
    let scene = Scene::default().tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({ "n": 1 }))]));
    scene.provider.reply(ScriptedReply::text(&["It says 1."]));
    let site = Site::with(&scene, sharing()).await;
    let secret = json!({ "session_id": "my-session", "metadata": { "note": "private", "overrides": { "temperature": 0.5 } } });
    assert_eq!(site.post("/sessions", secret).await.0, 201);
    let told = json!({ "role": "system", "content": "private instructions" });
    assert_eq!(site.post("/sessions/my-session/messages", told).await.0, 201);
    let asked = json!({ "role": "user", "content": "What does it say?", "metadata": { "mine": "private" } });
    assert_eq!(site.post("/sessions/my-session/messages", asked).await.0, 201);
    let turn = json!({ "content": "Look again.", "stream": false, "request_id": "my-request" });
    assert_eq!(site.post("/sessions/my-session/requests", turn).await.0, 200);
    assert_eq!(site.patch("/sessions/my-session", json!({ "title": "Numbers" })).await.0, 200);
    let (id, link) = shared(&site, "my-session").await;
    let (status, page) = site.get(&format!("/shared/{link}")).await;
    assert_eq!(status, 200, "{page}");
    assert_eq!((&page["title"], &page["message_count"]), (&json!("Numbers"), &json!(6)));
    let said: Vec<(u64, &str, &str)> = page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or_default();
            (it["index"].as_u64().unwrap(), text("role"), text("content"))
        })
        .collect();
    assert_eq!(
        said,
        [
            (1, "user", "What does it say?"),
            (2, "user", "Look again."),
            (3, "assistant", ""),
            (4, "tool", r#"{"n":1}"#),
            (5, "assistant", "It says 1."),
        ]
    );
    let calls = &page["messages"][2]["metadata"]["tool_calls"];
    assert_eq!(calls.as_array().unwrap().len(), 1, "{page}");
    let keys: Vec<&String> = page.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["title", "updated_at", "revision", "message_count", "first_index", "messages"]
    );
    for private in ["private", "my-session", "my-request", "default", "temperature", "native", &id]
    {
        assert!(!page.to_string().contains(private), "{private} in {page}");
    }
    // The secret is told once.
    let (_, listed) = site.get("/sessions/my-session/shares").await;
    assert_eq!(listed["items"][0]["id"], id.as_str());
    assert!(!listed.to_string().contains(link.split_once('.').unwrap().1));
}

#[tokio::test]
async fn a_link_is_read_page_by_page() {
    let site = Site::with(&Scene::default(), sharing()).await;
    site.session("s").await;
    for n in 0..7 {
        let message = json!({ "role": "user", "content": format!("m{n}") });
        assert_eq!(site.post("/sessions/s/messages", message).await.0, 201);
    }
    let (_, link) = shared(&site, "s").await;
    let page = async |query: &str| {
        let (status, page) = site.get(&format!("/shared/{link}{query}")).await;
        assert_eq!(status, 200, "{page}");
        let said = page["messages"].as_array().unwrap().iter();
        let said: Vec<&str> = said.map(|it| it["content"].as_str().unwrap()).collect();
        format!("{} {}", page["first_index"], said.join(","))
    };
    assert_eq!(page("?last=3").await, "4 m4,m5,m6");
    assert_eq!(page("?last=3&before=4").await, "1 m1,m2,m3");
    assert_eq!(page("?last=3&before=1").await, "0 m0");
    assert_eq!(page("?last=0&before=99").await, "6 m6");
    assert_eq!(page("").await, "0 m0,m1,m2,m3,m4,m5,m6");
    assert_eq!(site.get(&format!("/shared/{link}?all=1")).await.0, 400);
}

#[tokio::test]
async fn whatever_is_wrong_with_a_link_is_the_same() {
    let tokens = vec![
        token("a", "acme", "ana", Right::Chat),
        token("r", "acme", "ana", Right::Read),
        token("e", "evil", "eve", Right::Chat),
    ];
    let mut site = Site::with(&Scene::default(), Settings { tokens, ..sharing() }).await;
    site.token("a");
    site.session("s").await;
    let (id, link) = shared(&site, "s").await;
    let (_, other) = shared(&site, "s").await;
    let (revoked_id, revoked) = shared(&site, "s").await;
    assert_eq!(site.delete(&format!("/sessions/s/shares/{revoked_id}")).await.0, 204);
    assert_eq!(site.delete(&format!("/sessions/s/shares/{revoked_id}")).await.0, 404);
    // Nobody else's token makes, lists or takes back links.
    site.token("r");
    assert_eq!(site.post("/sessions/s/shares", json!({})).await.0, 403);
    assert_eq!(site.get("/sessions/s/shares").await.0, 403);
    site.token("e");
    assert_eq!(site.post("/sessions/s/shares", json!({})).await.0, 404);
    assert_eq!(site.get("/sessions/s/shares").await.0, 404);
    assert_eq!(site.delete(&format!("/sessions/s/shares/{id}")).await.0, 404);
    site.session("s").await;
    assert_eq!(site.delete(&format!("/sessions/s/shares/{id}")).await.0, 404);
    // Whoever has a link needs no token, and another one does not matter.
    for reader in [Some("e"), Some("nonsense"), None] {
        site.token = reader.map(str::to_owned);
        assert_eq!(site.get(&format!("/shared/{link}")).await.0, 200, "{reader:?}");
    }
    let (own, foreign) = (link.split_once('.').unwrap(), other.split_once('.').unwrap());
    let never = "0".repeat(32);
    let mut answers = Vec::new();
    for wrong in [
        revoked,
        format!("{}.{}", own.0, foreign.1),
        format!("{}.", own.0),
        own.0.to_owned(),
        format!("{never}.{}", own.1),
        format!("{link}x"),
        link.to_uppercase(),
        "s".to_owned(),
        ".".to_owned() + own.1,
    ] {
        for path in [format!("/shared/{wrong}"), format!("/shared/{wrong}/events")] {
            answers.push(site.get(&path).await);
        }
    }
    assert_eq!(answers[0].0, 404);
    assert_eq!(answers[0].1["error_type"], "not_found");
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    // A link goes with its session.
    site.token("a");
    assert_eq!(site.delete("/sessions/s").await.0, 204);
    site.session("s").await;
    site.token = None;
    assert_eq!(site.get(&format!("/shared/{link}")).await, answers[0]);
}

#[tokio::test]
async fn links_are_there_where_the_host_allows_them() {
    let scene = Scene::default();
    let site = Site::with(&scene, sharing()).await;
    site.session("s").await;
    let (id, link) = shared(&site, "s").await;
    // Another process, which does not allow it, on the same store.
    let strict = Site::open(&scene).await;
    assert_eq!(strict.get(&format!("/shared/{link}")).await.0, 404);
    let (status, problem) = strict.post("/sessions/s/shares", json!({})).await;
    assert_eq!(status, 403);
    assert!(problem["message"].as_str().unwrap().contains("server.share_links"));
    // What was made can still be taken back.
    assert_eq!(strict.delete(&format!("/sessions/s/shares/{id}")).await.0, 204);
    assert_eq!(site.get(&format!("/shared/{link}")).await.0, 404);
}

#[tokio::test]
async fn who_has_a_link_sees_an_answer_grow() {
    let gate = Gate::new();
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["Hel", "lo"]).waiting_for(&gate));
    let site = Site::with(&scene, sharing()).await;
    site.session("s").await;
    let (id, link) = shared(&site, "s").await;
    let request = site.request(Method::GET, &format!("/shared/{link}/events"));
    let mut events = Sse::of(request.send().await.unwrap());
    let first = events.next().await.unwrap();
    assert_eq!((first.event.as_str(), &first.data["message_count"]), ("updated", &json!(0)));
    let turn = site.stream("s", json!({ "content": "hi", "request_id": "my-request" })).await;
    assert_eq!(events.next().await.unwrap().data["message_count"], 1);
    gate.open();
    let seen = events.until("updated").await;
    assert_eq!(text_of(&seen), "Hello");
    assert_eq!(seen.last().unwrap().data["message_count"], 2);
    for sent in &seen {
        let data = sent.data.as_object().unwrap();
        assert!(!data.contains_key("session_id") && !data.contains_key("request_id"), "{sent:?}");
    }
    turn.rest().await;
    // Taken back, it ends with the next thing that happens.
    assert_eq!(site.delete(&format!("/sessions/s/shares/{id}")).await.0, 204);
    assert_eq!(site.patch("/sessions/s", json!({ "title": "x" })).await.0, 200);
    let last = events.rest().await;
    assert_eq!(kinds(&last), "resume");
    assert_eq!(last[0].data["request_id"], Value::Null);
}
