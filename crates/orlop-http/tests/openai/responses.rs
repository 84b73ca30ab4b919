//! Responses that are stored: continued, branched, resumed, cancelled, and nobody else's.

use crate::scene::*;
use orlop_core::{Partial, Value};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

fn id(response: &Value) -> String {
    response["id"].as_str().unwrap().to_owned()
}

fn texts(response: &Value) -> Vec<&str> {
    let output = response["output"].as_array().unwrap().iter();
    output.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

async fn respond(client: &Client, input: &str, previous: Option<&str>) -> Value {
    let body = json!({ "model": "helper", "input": input, "previous_response_id": previous });
    client.post("/responses", body).await
}

async fn sessions(client: &Client) -> usize {
    let found = client.host.app().list_sessions(&Default::default()).await.unwrap();
    found.sessions.len()
}

#[tokio::test]
async fn a_conversation_goes_on_in_its_session_and_branches_into_another() {
    let client = Scene::says(&["1", "2", "other 2", "3"]).start().await;
    let first = respond(&client, "a", None).await;
    let second = respond(&client, "b", Some(&id(&first))).await;
    assert_eq!(sessions(&client).await, 1);
    assert_eq!(client.provider.last_request(), "a|1|b");
    let branch = respond(&client, "c", Some(&id(&first))).await;
    assert_eq!(sessions(&client).await, 2);
    assert_eq!(client.provider.last_request(), "a|1|c");
    let third = respond(&client, "d", Some(&id(&second))).await;
    assert_eq!(client.provider.last_request(), "a|1|b|2|d");
    let stored = [&first, &second, &branch, &third];
    for response in stored {
        let found = client.get(&format!("/responses/{}", id(response))).await;
        assert_eq!(found, *response);
    }
}

#[tokio::test]
async fn two_who_go_on_at_once_each_have_their_own() {
    let gate = Gate::new();
    let replies = vec![
        ScriptedReply::text(&["1"]),
        ScriptedReply::text(&["slow"]).waiting_for(&gate),
        ScriptedReply::text(&["fast"]),
    ];
    let client = Scene::of(replies).start().await;
    let first = id(&respond(&client, "a", None).await);
    let body = json!({ "model": "helper", "input": "b", "previous_response_id": first, "background": true });
    let slow = client.post("/responses", body).await;
    while client.provider.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    let fast = respond(&client, "c", Some(&first)).await;
    assert_eq!((texts(&fast), client.provider.last_request()), (vec!["fast"], "a|1|c".to_owned()));
    let items = client.get(&format!("/responses/{}/input_items", id(&fast))).await;
    assert_eq!(items["data"].as_array().unwrap().len(), 1, "{items}");
    let refused = client
        .refused("POST", "/responses", json!({ "input": "d", "previous_response_id": id(&slow) }))
        .await;
    assert!(refused.contains("not done yet"), "{refused}");
    gate.open();
}

#[tokio::test]
async fn what_is_not_stored_leaves_the_conversation_as_it_was() {
    let client = Scene::says(&["1", "aside", "2"]).start().await;
    let first = id(&respond(&client, "a", None).await);
    let body =
        json!({ "model": "helper", "input": "b", "previous_response_id": first, "store": false });
    let aside = client.post("/responses", body).await;
    assert_eq!(
        (texts(&aside), client.provider.last_request()),
        (vec!["aside"], "a|1|b".to_owned())
    );
    let refused = client.refused("GET", &format!("/responses/{}", id(&aside)), Value::Null).await;
    assert!(refused.starts_with("404 invalid_request_error not_found"), "{refused}");
    respond(&client, "c", Some(&first)).await;
    assert_eq!((client.provider.last_request(), sessions(&client).await), ("a|1|c".to_owned(), 1));
}

#[tokio::test]
async fn instructions_hold_for_one_response() {
    let client = Scene::says(&["1", "2"]).start().await;
    let body = json!({ "model": "helper", "input": "a", "instructions": "in rhymes" });
    let first = client.post("/responses", body).await;
    assert_eq!(client.provider.last_request(), "in rhymes|a");
    respond(&client, "b", Some(&id(&first))).await;
    assert_eq!(client.provider.last_request(), "a|1|b");
    assert_eq!(
        client.get(&format!("/responses/{}", id(&first))).await["instructions"],
        "in rhymes"
    );
}

#[tokio::test]
async fn a_stream_is_resumed_in_the_middle_of_a_turn() {
    let slow = Slow::new();
    let call = ScriptedReply::calls(&[("c", "look", json!({}))]);
    let replies = vec![call, ScriptedReply::text(&["I see ", "waves."])];
    let client = Scene::of(replies).tool(slow.clone()).start().await;
    let body = json!({ "model": "helper", "input": "look", "stream": true });
    let mut events = client.stream("/responses", body).await;
    let first = events.until("response.mcp_call_arguments.done").await;
    // Who goes away cancels nothing that is stored.
    drop(events);
    slow.is_called().await;
    let (id, last) = (id(&first[0]["response"]), first.last().unwrap()["sequence_number"].clone());
    let running = client.get(&format!("/responses/{id}")).await;
    assert_eq!(running["status"], "in_progress");
    let path = format!("/responses/{id}?stream=true&starting_after={last}");
    let rest = client.stream(&path, Value::Null).await;
    slow.let_go();
    let rest = rest.rest().await;
    let numbers: Vec<u64> =
        first.iter().chain(&rest).map(|it| it["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted() && !numbers.is_empty(), "{numbers:?}");
    assert_eq!(rest[0]["type"], "response.mcp_call.completed");
    let response = &rest.last().unwrap()["response"];
    assert_eq!(texts(response), ["I see waves."]);
    // When it is over, the same can be read from the beginning.
    let again = client.stream(&format!("/responses/{id}?stream=true"), Value::Null).await;
    let again = again.rest().await;
    assert_eq!(again[0]["type"], "response.created");
    assert_eq!(again.last().unwrap()["response"]["output"], response["output"]);
}

#[tokio::test]
async fn a_response_in_the_background_is_cancelled_and_deleted() {
    let gate = Gate::new();
    let client = Scene::of(vec![ScriptedReply::text(&["x"]).waiting_for(&gate)]).start().await;
    let body = json!({ "model": "helper", "input": "a", "background": true });
    let response = client.post("/responses", body).await;
    assert_eq!(
        (&response["status"], &response["background"]),
        (&json!("in_progress"), &json!(true))
    );
    let path = format!("/responses/{}", id(&response));
    let cancelled = client.post(&format!("{path}/cancel"), Value::Null).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(client.post(&format!("{path}/cancel"), Value::Null).await["status"], "cancelled");
    let (_, deleted) = client.ask("DELETE", &path, Value::Null).await;
    assert_eq!(deleted["deleted"], true);
    assert!(client.refused("GET", &path, Value::Null).await.starts_with("404"));
    assert_eq!(sessions(&client).await, 0);
}

#[tokio::test]
async fn items_can_be_referred_to() {
    let client = Scene::says(&["1", "2"]).start().await;
    let first = respond(&client, "a", None).await;
    let body = json!({ "model": "helper", "input": [
        { "role": "user", "content": "a" },
        { "type": "item_reference", "id": first["output"][0]["id"] },
        { "role": "user", "content": "b" },
    ] });
    client.post("/responses", body).await;
    assert_eq!(client.provider.last_request(), "a|1|b");
    let unknown =
        json!({ "model": "helper", "input": [{ "type": "item_reference", "id": "msg_x_0" }] });
    assert!(client.refused("POST", "/responses", unknown).await.starts_with("404"));
}

#[tokio::test]
async fn responses_of_others_do_not_exist() {
    let tokens = "[[server.tokens]]\ntoken = \"secret-a\"\ntenant = \"t\"\nuser = \"a\"\n\
        [[server.tokens]]\ntoken = \"secret-b\"\ntenant = \"u\"\nuser = \"b\"\n";
    let client = Scene::says(&["mine"]).config(tokens).start().await;
    let (mine, theirs) = (client.with_token("secret-a"), client.with_token("secret-b"));
    let response = id(&respond(&mine, "a", None).await);
    for (method, path) in [
        ("GET", format!("/responses/{response}")),
        ("DELETE", format!("/responses/{response}")),
        ("POST", format!("/responses/{response}/cancel")),
        ("GET", format!("/responses/{response}/input_items")),
    ] {
        let found = theirs.refused(method, &path, Value::Null).await;
        let unknown =
            theirs.refused(method, &path.replace(&response, "resp_none"), Value::Null).await;
        assert_eq!(found.replace(&response, "resp_none"), unknown);
    }
    let body = json!({ "model": "helper", "input": "b", "previous_response_id": response });
    let refused = theirs.refused("POST", "/responses", body).await;
    assert!(
        refused.starts_with("404 invalid_request_error previous_response_not_found"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_retry_is_the_same_request() {
    let client = Scene::says(&["1", "2"]).start().await;
    let first = id(&respond(&client, "a", None).await);
    let body = json!({ "model": "helper", "input": "b", "previous_response_id": first });
    let mut answers = Vec::new();
    for _ in 0..2 {
        let request = client.request_named("mine", "/responses", &body);
        let answer = request.send().await.unwrap().text().await.unwrap();
        answers.push(serde_json::from_str::<Value>(&answer).unwrap());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!((answers[0]["id"].as_str(), sessions(&client).await), (Some("resp_mine"), 1));
    assert_eq!(client.provider.requests().len(), 2);
}

/// A host plugin that answers everything that begins with a slash.
fn commands() -> ScriptedHost {
    ScriptedHost::new("commands").intercept_chat_request(|input, _| async move {
        let is_command = input.text.starts_with('/');
        Ok(is_command.then(|| orlop_core::hooks::Handled::text("done").into()))
    })
}

#[tokio::test] // L-16
async fn what_a_host_plugin_answers_is_over_at_once_and_not_stored() {
    let client = Scene::says(&["1"]).host(commands()).start().await;
    let body = |input: &str, more: (&str, bool)| {
        let mut body = json!({ "model": "helper", "input": input });
        body[more.0] = more.1.into();
        body
    };
    for more in [("stream", false), ("background", true)] {
        let answer = client.post("/responses", body("/do", more)).await;
        assert_eq!(
            (texts(&answer), &answer["status"], &answer["store"]),
            (vec!["done"], &json!("completed"), &json!(false))
        );
        let refused =
            client.refused("GET", &format!("/responses/{}", id(&answer)), Value::Null).await;
        assert!(refused.contains("it may have been sent with store: false"), "{refused}");
    }
    let events = client.stream("/responses", body("/do", ("stream", true))).await.rest().await;
    for event in [&events[0], events.last().unwrap()] {
        assert_eq!(event["response"]["store"], false, "{event}");
    }
    let asked = client.post("/responses", body("do", ("stream", false))).await;
    assert_eq!((texts(&asked), &asked["store"]), (vec!["1"], &json!(true)));
}

#[tokio::test]
async fn what_was_said_before_a_response_was_cancelled_stays() {
    let gate = Gate::new();
    let slow = Slow::new();
    let replies = vec![
        ScriptedReply::calls(&[("c", "look", json!({}))]),
        ScriptedReply::text(&["I see ", "wa"]).waiting_for(&gate),
        ScriptedReply::text(&["later"]),
    ];
    let client = Scene::of(replies).tool(slow.clone()).start().await;
    let conversation = id(&client.post("/conversations", json!({})).await);
    let body = |input: &str, stream: bool| json!({ "model": "helper", "input": input, "stream": stream, "conversation": conversation });
    let mut events = client.stream("/responses", body("look", true)).await;
    slow.let_go();
    let mut seen = events.until("response.output_text.delta").await;
    gate.reached().await;
    seen.extend(events.until("response.output_text.delta").await);
    let response = id(&seen[0]["response"]);
    let cancelled = client.post(&format!("/responses/{response}/cancel"), Value::Null).await;
    let told = events.rest().await.pop().unwrap()["response"].clone();
    assert_eq!(told["output"][1]["content"][0]["text"], "I see wa");
    assert_eq!(
        (&told["output"][1]["status"], &told["status"]),
        (&json!("incomplete"), &json!("cancelled"))
    );
    // Nothing of what comes later is taken for a part of it.
    client.post("/responses", body("and now?", false)).await;
    let path = format!("/responses/{response}");
    let again = client.stream(&format!("{path}?stream=true"), Value::Null).await.rest().await;
    for found in [cancelled, client.get(&path).await, again.last().unwrap()["response"].clone()] {
        assert_eq!(found, told);
    }
}

#[tokio::test]
async fn a_completion_with_the_id_of_a_stored_response_does_not_cancel_it() {
    let gate = Gate::new();
    let reply = || ScriptedReply::text(&["x"]).waiting_for(&gate);
    let client = Scene::of(vec![reply(), reply()]).start().await;
    let body = json!({ "model": "helper", "input": "a", "background": true });
    let begun = client.request_named("mine", "/responses", &body).send().await.unwrap();
    assert_eq!(begun.status(), 200);
    let messages = json!([{ "role": "user", "content": "a" }]);
    let body = json!({ "model": "helper", "messages": messages, "stream": true });
    let mut completion =
        client.stream_of(client.request_named("mine", "/chat/completions", &body)).await;
    completion.next().await.unwrap();
    drop(completion);
    // The server has noticed that its reader is gone.
    while !client.metrics().await.contains("orlop_streams_open 0") {
        tokio::task::yield_now().await;
    }
    gate.open();
    let ended = client.stream("/responses/resp_mine?stream=true", Value::Null).await.rest().await;
    assert_eq!(ended.last().unwrap()["type"], "response.completed");
}

#[tokio::test]
async fn no_more_tools_run_than_the_client_allows() {
    let calls = |ids: &[&str]| {
        let calls: Vec<_> = ids.iter().map(|id| (*id, "look", json!({}))).collect();
        ScriptedReply::calls(&calls)
    };
    let own = || {
        let look = ScriptedTool::new("look").offering(&["look"]);
        look.execute_tool(|_, _| Ok(orlop_core::ToolReport::ok("waves")))
    };
    for (most, ran) in [(json!(null), 3), (json!(2), 2), (json!(0), 0)] {
        let replies = vec![calls(&["a"]), calls(&["b", "c"]), ScriptedReply::text(&["done"])];
        let client = Scene::of(replies).tool(own()).start().await;
        let body = json!({ "model": "helper", "input": "look", "max_tool_calls": most });
        let response = client.post("/responses", body).await;
        assert_eq!((&response["max_tool_calls"], texts(&response)), (&most, vec!["done"]));
        let output = response["output"].as_array().unwrap().iter();
        let told: Vec<String> =
            output.filter(|it| it["type"] == "mcp_call").map(|it| it.to_string()).collect();
        let refused = told.iter().filter(|it| it.contains("max_tool_calls")).count();
        assert_eq!((told.len(), refused), (3, 3 - ran), "{told:?}");
        let kept = client.get(&format!("/responses/{}", id(&response))).await;
        assert_eq!(kept["max_tool_calls"], most);
    }
    let client = Scene::says(&["ok"]).start().await;
    let body = json!({ "model": "helper", "input": "look", "max_tool_calls": -1 });
    let refused = client.refused("POST", "/responses", body).await;
    assert!(refused.contains("max_tool_calls is a whole number"), "{refused}");
}

#[tokio::test]
async fn a_response_in_the_background_can_be_read_as_it_comes() {
    let gate = Gate::new();
    let client = Scene::of(vec![ScriptedReply::text(&["I see "]).waiting_for(&gate)]).start().await;
    let body = json!({ "model": "helper", "input": "a", "background": true });
    let begun = client.post("/responses", body).await;
    let path = format!("/responses/{}?stream=true", id(&begun));
    let mut events = client.stream(&path, Value::Null).await;
    let told = events.until("response.output_text.delta").await;
    assert_eq!(told.last().unwrap()["delta"], "I see ");
    gate.open();
    assert_eq!(events.rest().await.last().unwrap()["type"], "response.completed");
}

#[tokio::test]
async fn a_message_that_was_cut_off_says_so() {
    for reason in ["length", "content_filter", "refusal"] {
        let says =
            |stopped: &str| json!({ "who": "assistant", "say": "I see wa", "stopped": stopped });
        let cut = || ScriptedReply::items(vec![says(reason)]).with_partial(Partial::text("I see"));
        let whole = ScriptedReply::items(vec![says("stop")]);
        let client = Scene::of(vec![cut(), cut(), whole]).start().await;
        let body = json!({ "model": "helper", "input": "look" });
        let response = client.post("/responses", body.clone()).await;
        let stored = client.get(&format!("/responses/{}", id(&response))).await;
        let mut streaming = body.clone();
        streaming["stream"] = true.into();
        let events = client.stream("/responses", streaming).await.rest().await;
        let done = events.iter().find(|it| it["type"] == "response.output_item.done").unwrap();
        let last = &events.last().unwrap()["response"];
        for found in
            [&response["output"][0], &stored["output"][0], &done["item"], &last["output"][0]]
        {
            assert_eq!(found["status"], "incomplete", "{reason}: {found}");
        }
        assert_eq!(
            (&response["status"], &last["status"]),
            (&json!("incomplete"), &json!("incomplete"))
        );
        let response = client.post("/responses", body).await;
        assert_eq!(response["output"][0]["status"], "completed");
    }
}
