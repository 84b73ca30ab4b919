//! Conversations are sessions.

use crate::scene::*;
use orlop_core::Value;
use serde_json::json;

fn id(of: &Value) -> String {
    of["id"].as_str().unwrap().to_owned()
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list["data"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

#[tokio::test]
async fn responses_go_on_in_a_conversation() {
    let client = Scene::says(&["1", "2"]).start().await;
    let begun = json!({
        "items": [{ "role": "developer", "content": "be brief" }], "metadata": { "topic": "sea" },
    });
    let conversation = client.post("/conversations", begun).await;
    assert_eq!(conversation["metadata"]["topic"], "sea");
    for (text, sent) in [("a", "be brief|a"), ("b", "be brief|a|1|b")] {
        let body = json!({ "model": "helper", "input": text, "conversation": id(&conversation) });
        let response = client.post("/responses", body).await;
        assert_eq!(response["conversation"]["id"], conversation["id"]);
        assert_eq!(client.provider.last_request(), sent);
    }
    let path = format!("/conversations/{}/items", id(&conversation));
    let all = client.get(&format!("{path}?order=asc")).await;
    assert_eq!(texts(&all), ["be brief", "a", "1", "b", "2"]);
    let newest = client.get(&format!("{path}?limit=2")).await;
    assert_eq!((texts(&newest), &newest["has_more"]), (vec!["2", "b"], &json!(true)));
    let after = newest["last_id"].as_str().unwrap();
    let next = client.get(&format!("{path}?limit=9&after={after}")).await;
    assert_eq!((texts(&next), &next["has_more"]), (vec!["1", "a", "be brief"], &json!(false)));
}

#[tokio::test]
async fn items_come_all_at_once() {
    let client = Scene::says(&[]).start().await;
    let items = json!([
        { "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
    ]);
    let conversation = client.post("/conversations", json!({ "items": items })).await;
    let app = client.host.app();
    let revision = async || {
        let session = id(&conversation).replace("conv_", "");
        app.store().head(app.scope(), &session).await.unwrap().unwrap().revision
    };
    assert_eq!(revision().await, 1);
    client
        .post(&format!("/conversations/{}/items", id(&conversation)), json!({ "items": items }))
        .await;
    assert_eq!(revision().await, 2);
    let broken = json!({ "items": [{ "role": "user", "content": "a" }, { "role": "nobody" }] });
    assert!(client.refused("POST", "/conversations", broken).await.starts_with("400"));
    assert_eq!(app.list_sessions(&Default::default()).await.unwrap().sessions.len(), 1);
}

#[tokio::test]
async fn items_are_added_read_and_removed() {
    let client = Scene::says(&[]).start().await;
    let conversation = client.post("/conversations", json!({})).await;
    let path = format!("/conversations/{}", id(&conversation));
    let items = json!({ "items": [
        { "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
    ] });
    let added = client.post(&format!("{path}/items"), items).await;
    assert_eq!(texts(&added), ["a", "b"]);
    let first = id(&added["data"][0]);
    assert_eq!(client.get(&format!("{path}/items/{first}")).await["role"], "user");
    client.ask("DELETE", &format!("{path}/items/{first}"), Value::Null).await;
    assert_eq!(texts(&client.get(&format!("{path}/items")).await), ["b"]);
    let changed = client.post(&path, json!({ "metadata": { "k": "v" } })).await;
    assert_eq!(
        (&changed["metadata"]["k"], client.get(&path).await),
        (&json!("v"), changed.clone())
    );
    let (_, gone) = client.ask("DELETE", &path, Value::Null).await;
    assert_eq!(gone["deleted"], true);
    for path in [path.clone(), "/conversations/conv_x".to_owned(), "/conversations/x".to_owned()] {
        assert!(client.refused("GET", &path, Value::Null).await.starts_with("404"));
    }
}

#[tokio::test]
async fn responses_stay_what_they_were_when_a_message_before_them_is_removed() {
    let client = Scene::says(&["1", "2", "3", "4", "5"]).start().await;
    let begun = json!({ "items": [{ "role": "developer", "content": "be brief" }] });
    let conversation = id(&client.post("/conversations", begun).await);
    let respond = async |text: &str, on: (&str, &str)| {
        let mut body = json!({ "model": "helper", "input": text });
        body[on.0] = on.1.into();
        id(&client.post("/responses", body).await)
    };
    let in_it = ("conversation", conversation.as_str());
    let first = respond("a", in_it).await;
    let second = respond("b", in_it).await;
    let path = format!("/conversations/{conversation}/items");
    let items = client.get(&format!("{path}?order=asc&limit=1")).await;
    let (status, _) =
        client.ask("DELETE", &format!("{path}/{}", id(&items["data"][0])), Value::Null).await;
    assert_eq!(status, 200);
    let third = respond("c", in_it).await;
    assert_eq!(client.provider.last_request(), "a|1|b|2|c");
    for (response, input) in [(&first, "a"), (&second, "b"), (&third, "c")] {
        let found = client.get(&format!("/responses/{response}/input_items")).await;
        assert_eq!(texts(&found), [input]);
    }
    // Each is continued where it ended, the last one in its session.
    respond("d", ("previous_response_id", &first)).await;
    assert_eq!(client.provider.last_request(), "a|1|d");
    respond("e", ("previous_response_id", &third)).await;
    assert_eq!(client.provider.last_request(), "a|1|b|2|c|3|e");
    let all = client.get(&format!("{path}?order=asc")).await;
    assert_eq!(texts(&all), ["a", "1", "b", "2", "c", "3", "e", "5"]);
}
