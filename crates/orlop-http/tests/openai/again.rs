//! Requests that come again: the same is joined and told whole, and another one under the same id is
//! another one.

use crate::scene::*;
use orlop_core::{Partial, Value};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

const PATHS: [&str; 2] = ["/responses", "/chat/completions"];

fn asking(path: &str, text: &str) -> Value {
    match path {
        "/responses" => json!({ "model": "helper", "input": text }),
        _ => json!({ "model": "helper", "messages": [{ "role": "user", "content": text }] }),
    }
}

fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

/// A model that says something, has a tool run, and says something else.
fn two_steps(gate: &Gate) -> Scene {
    let call =
        json!({ "id": "c", "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let first = json!({ "who": "assistant", "say": "Let me look.", "calls": [call] });
    let first = ScriptedReply::items(vec![first])
        .with_partial(Partial::text("Let me "))
        .with_partial(Partial::text("look."));
    let second = ScriptedReply::text(&["I see ", "waves."]).waiting_for(gate);
    let look = ScriptedTool::new("look").offering(&["look"]);
    let look = look.execute_tool(|_, _| Ok(orlop_core::ToolReport::ok("sea")));
    Scene::of(vec![first, second]).tool(look)
}

async fn streamed(client: &Client, id: &str, path: &str, body: &Value) -> Events {
    let body = with(body.clone(), "stream", json!(true));
    client.stream_of(client.request_named(id, path, &body)).await
}

async fn whole(client: &Client, id: &str, path: &str, body: &Value) -> Value {
    let answer = client.request_named(id, path, body).send().await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], id);
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

/// The text of a whole answer of either API.
fn said(answer: &Value) -> String {
    let items = answer["output"].as_array().into_iter().flatten();
    let texts = items.filter_map(|item| item["content"][0]["text"].as_str());
    let choice = answer["choices"][0]["message"]["content"].as_str();
    texts.chain(choice).collect::<Vec<_>>().join("|")
}

/// What a stream tells, with the pieces of each text put together: the number and the type of each
/// event, and what it adds.
fn told(events: &[Value]) -> Vec<(u64, String, String)> {
    let mut told: Vec<(u64, String, String)> = Vec::new();
    for event in events {
        let number = event["sequence_number"].as_u64().unwrap_or_default();
        let kind = event["type"].as_str().unwrap_or("chunk").to_owned();
        let chunk = event["choices"][0]["delta"]["content"].as_str();
        let delta = event["delta"].as_str().or(chunk).unwrap_or_default();
        match told.last_mut() {
            Some(last) if last.1 == kind && (kind.ends_with(".delta") || kind == "chunk") => {
                last.0 = number;
                last.2.push_str(delta);
            }
            _ => told.push((number, kind, delta.to_owned())),
        }
    }
    told
}

#[tokio::test]
async fn a_stream_that_is_asked_for_again_tells_the_same() {
    let gate = Gate::new();
    let client = two_steps(&gate).start().await;
    gate.open();
    let body = asking("/responses", "go");
    let first = streamed(&client, "p", "/responses", &body).await.rest().await;
    let again = streamed(&client, "p", "/responses", &body).await.rest().await;
    assert_eq!(told(&again), told(&first));
    let texts: Vec<_> = told(&again).into_iter().filter(|it| it.1.contains("text.delta")).collect();
    assert_eq!((&*texts[0].2, &*texts[1].2), ("Let me look.", "I see waves."));
    assert_eq!(again.last(), first.last());
    assert_eq!(client.provider.requests().len(), 2);
}

#[tokio::test]
async fn whoever_joins_in_the_middle_hears_what_was_said_before() {
    for (path, store) in [(PATHS[0], true), (PATHS[0], false), (PATHS[1], false)] {
        let gate = Gate::new();
        let client = two_steps(&gate).start().await;
        let body = with(asking(path, "go"), "store", store.into());
        let first = streamed(&client, "p", path, &body).await;
        gate.reached().await;
        let mut second = streamed(&client, "p", path, &body).await;
        let mut late = Vec::new();
        // The fragments of the second step are there; nobody has to wait for its end.
        while !late.iter().any(|event: &Value| event.to_string().contains("waves.")) {
            late.push(second.next().await.unwrap());
        }
        gate.open();
        late.extend(second.rest().await);
        assert_eq!(told(&late), told(&first.rest().await), "{path} store: {store}");
        let text: String = told(&late).into_iter().map(|it| it.2).collect();
        assert!(text.contains("Let me look.") && text.contains("I see waves."), "{text}");
    }
}

#[tokio::test]
async fn another_request_with_the_same_id_is_another_request() {
    let client = Scene::says(&["1", "2", "3", "4"]).start().await;
    let (hi, ho) = (asking(PATHS[0], "hi"), asking(PATHS[0], "ho"));
    let first = whole(&client, "xr1", PATHS[0], &hi).await;
    assert_eq!((said(&first), &first["id"]), ("1".to_owned(), &json!("resp_xr1")));
    let second = whole(&client, "xr1", PATHS[0], &ho).await;
    assert_eq!(said(&second), "2");
    assert_ne!(first["id"], second["id"]);
    assert_eq!(said(&whole(&client, "xr1", PATHS[1], &asking(PATHS[1], "hi")).await), "3");
    // Each of those that are stored can be asked for again, in whatever form.
    assert_eq!(whole(&client, "xr1", PATHS[0], &hi).await, first);
    assert_eq!(whole(&client, "xr1", PATHS[0], &ho).await, second);
    let events = streamed(&client, "xr1", PATHS[0], &ho).await.rest().await;
    assert_eq!(events.last().unwrap()["response"], second);
    assert_eq!(client.provider.requests().len(), 3);
    let found = client.get(&format!("/responses/{}", second["id"].as_str().unwrap())).await;
    assert_eq!(found, second);
}

#[tokio::test]
async fn one_id_for_calls_side_by_side_is_no_conflict() {
    for path in PATHS {
        let gate = Gate::new();
        let reply = |text| ScriptedReply::text(&[text]).waiting_for(&gate);
        let client = Scene::of(vec![reply("x"), reply("x"), reply("x")]).start().await;
        let bodies = ["a", "b", "c"].map(|text| asking(path, text));
        let all = bodies.iter().map(|body| whole(&client, "task", path, body));
        let opened = async {
            while client.provider.requests().len() < 3 {
                tokio::task::yield_now().await;
            }
            gate.open();
        };
        let (answers, ()) = tokio::join!(futures::future::join_all(all), opened);
        let ids: std::collections::BTreeSet<_> =
            answers.iter().map(|answer| answer["id"].to_string()).collect();
        assert_eq!((ids.len(), answers.iter().all(|it| said(it) == "x")), (3, true), "{answers:?}");
    }
}

#[tokio::test]
async fn a_turn_of_another_surface_is_no_answer() {
    let client = Scene::says(&["native", "native"]).start().await;
    let app = client.host.app();
    app.create_session(orlop_app::NewSession { id: Some("s".into()), ..Default::default() })
        .await
        .unwrap();
    for asked in [None, Some("a digest".to_owned())] {
        let id = if asked.is_some() { "told" } else { "untold" };
        let request = orlop_app::ChatRequest {
            session_id: Some("s".to_owned()),
            content: "hi".into(),
            request_id: Some(id.to_owned()),
            asked,
            ..Default::default()
        };
        client.host.chat(request).await.unwrap().ended().await;
        for path in PATHS {
            let count = client.provider.requests().len();
            client.provider.reply(ScriptedReply::text(&["of its own"]));
            let answer = whole(&client, id, path, &asking(path, "hi")).await;
            assert_eq!(client.provider.requests().len(), count + 1, "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_response_that_was_deleted_does_not_come_back() {
    let client = Scene::says(&["1", "2", "3"]).start().await;
    let conversation = client.post("/conversations", json!({})).await["id"].clone();
    let asked = |text| with(asking("/responses", text), "conversation", conversation.clone());
    let first = whole(&client, "p", "/responses", &asked("a")).await;
    whole(&client, "q", "/responses", &asked("b")).await;
    let (status, _) = client.ask("DELETE", "/responses/resp_p", Value::Null).await;
    assert_eq!((status, said(&first)), (200, "1".to_owned()));
    let again = whole(&client, "p", "/responses", &asked("a")).await;
    assert_eq!((said(&again), again["id"] == "resp_p"), ("3".to_owned(), false));
    assert!(client.refused("GET", "/responses/resp_p", Value::Null).await.starts_with("404"));
}
