//! Chat completions: what reaches the model, and what never waits.

use crate::scene::*;
use expect_test::expect;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Value};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

fn user(text: &str) -> Value {
    json!({ "model": "helper", "messages": [{ "role": "user", "content": text }] })
}

fn streaming(mut body: Value) -> Value {
    body["stream"] = true.into();
    body
}

/// The text of a stream.
fn text(events: &[Value]) -> String {
    let deltas = events.iter().filter_map(|it| it["choices"][0]["delta"]["content"].as_str());
    deltas.collect()
}

#[tokio::test]
async fn the_whole_conversation_reaches_the_model_and_nothing_is_kept() {
    let client = Scene::says(&["three"]).start().await;
    let body = json!({
        "model": "helper",
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "two" },
            { "role": "user", "content": "and?" },
        ],
    });
    let answer = client.post("/chat/completions", body).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "three");
    assert_eq!(client.provider.last_request(), "be brief|one|two|and?");
    let sessions = client.host.app().list_sessions(&Default::default()).await.unwrap();
    assert_eq!(sessions.sessions.len(), 0);
}

#[tokio::test]
async fn settings_of_the_request_reach_the_model() {
    let client = Scene::says(&["ok"]).start().await;
    let mut body = user("hi");
    body["temperature"] = 0.25.into();
    body["max_completion_tokens"] = 9.into();
    body["a_field_of_the_future"] = 1.into();
    client.post("/chat/completions", body).await;
    let (_, state) = client.provider.requests().pop().unwrap();
    let values = state.config.values();
    assert_eq!((&values["temperature"], &values["max_tokens"]), (&json!(0.25), &json!(9)));
}

#[tokio::test]
async fn a_tool_that_needs_a_person_is_refused_and_the_request_ends() {
    let asks = ScriptedTool::new("danger")
        .get_tool_schemas(|_, _| {
            let schema = json!({
                "name": "danger", "annotations": { "approval": "ask" },
                "parameters": { "type": "object" },
            });
            Ok(vec![schema.as_object().cloned().unwrap()])
        })
        .execute_tool(|_, _| Ok(ToolReport::ok("boom")));
    let replies = vec![
        ScriptedReply::calls(&[("c", "danger", json!({}))]),
        ScriptedReply::text(&["as you like"]),
    ];
    let client = Scene::of(replies).tool(asks).start().await;
    let answer = client.post("/chat/completions", user("go")).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "as you like");
    let sent = client.provider.last_request();
    assert!(sent.contains("needs the approval of a person") && !sent.contains("boom"), "{sent}");
}

#[tokio::test]
async fn a_request_that_nobody_hears_of_any_more_is_cancelled() {
    let gate = Gate::new();
    let reply = || ScriptedReply::text(&["begun"]).waiting_for(&gate);
    let client = Scene::of(vec![reply(), reply()]).start().await;
    let mut events = client.stream("/chat/completions", streaming(user("go"))).await;
    while text(&[events.next().await.unwrap()]).is_empty() {}
    drop(events);
    // The provider hears of it.
    while !client.provider.log().text().contains("cancel(") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_never_shown() {
    let client = Scene::says(&["nonsense", "{}"]).start().await;
    let mut body = streaming(user("go"));
    body["model"] = "judged".into();
    let events = client.stream("/chat/completions", body).await.rest().await;
    assert_eq!(text(&events), "{}");
    assert_eq!(events.last().unwrap(), "[DONE]");
}

#[tokio::test]
async fn a_failure_in_the_middle_is_told_in_the_stream() {
    let failing = ScriptedReply::text(&["a"]).failing(Error::provider("out of paper"));
    let client = Scene::of(vec![failing]).start().await;
    let events = client.stream("/chat/completions", streaming(user("go"))).await.rest().await;
    let message = events.last().unwrap()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("out of paper"), "{message}");
}

#[tokio::test]
async fn what_cannot_be_done_is_refused() {
    let client = Scene::says(&[]).start().await;
    let with = |key: &str, value: Value| {
        let mut body = user("hi");
        body[key] = value;
        body
    };
    let mut lines = Vec::new();
    for body in [
        with("model", json!("nobody")),
        with("n", json!(2)),
        with("logprobs", json!(true)),
        with("functions", json!([])),
        with("modalities", json!(["audio"])),
        with("messages", json!([])),
        with("messages", json!("hi")),
        with("tools", json!([{ "type": "function", "function": {} }])),
        with("response_format", json!({ "type": "json_schema" })),
    ] {
        lines.push(client.refused("POST", "/chat/completions", body).await);
    }
    expect![[r#"
        404 invalid_request_error model_not_found there is no agent \nobody\; known: helper, judged
        400 invalid_request_error null an agent gives one answer; send n: 1, or ask several times
        400 invalid_request_error null agents do not tell probabilities; leave logprobs out
        400 invalid_request_error null functions are tools now; send tools and tool_choice
        400 invalid_request_error null agents answer in text; leave audio out
        400 invalid_request_error null there are no messages; send at least one
        400 invalid_request_error null the body does not fit: invalid type: string \hi\, expected a sequence at line 1 column 33; correct it
        400 invalid_request_error null each tool needs a name
        400 invalid_request_error null a format of type \json_schema\ needs a schema"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn who_asks_must_be_known_where_there_are_tokens() {
    let tokens = "[[server.tokens]]\ntoken = \"secret-a\"\ntenant = \"t\"\nuser = \"a\"\n";
    let client = Scene::says(&["ok"]).config(tokens).start().await;
    let refused = client.refused("POST", "/chat/completions", user("hi")).await;
    assert!(refused.starts_with("401 authentication_error invalid_api_key"), "{refused}");
    let refused = client.with_token("wrong").refused("GET", "/models", Value::Null).await;
    assert!(refused.starts_with("401 "), "{refused}");
    let known = client.with_token("secret-a");
    known.post("/chat/completions", user("hi")).await;
    assert_eq!(known.get("/models/helper").await["owned_by"], "orlop");
}

#[tokio::test]
async fn pictures_reach_the_model_by_both_apis() {
    let client = Scene::says(&["1", "2"]).start().await;
    let url = "data:image/png;base64,iVBORw0KGgo=";
    let picture = json!({ "type": "image_url", "image_url": { "url": url } });
    let content = json!([{ "type": "text", "text": "see" }, picture]);
    let messages = json!([{ "role": "user", "content": content }]);
    client.post("/chat/completions", json!({ "model": "helper", "messages": messages })).await;
    let shown = json!({ "type": "input_image", "image_url": url });
    let content = json!([{ "type": "input_text", "text": "see" }, shown]);
    let input = json!([{ "role": "user", "content": content }]);
    client.post("/responses", json!({ "model": "helper", "input": input })).await;
    let sent: Vec<Value> =
        client.provider.requests().iter().map(|(items, _)| items[0].to_json()).collect();
    for (item, part) in sent.iter().zip([picture, shown]) {
        assert_eq!((&item["say"], &item["parts"]), (&json!("see"), &json!([part])));
    }
    assert_eq!(sent.len(), 2);
}
