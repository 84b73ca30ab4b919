//! What the mock model answers, as a stream and as one document.

use orlop_testkit::mock_model::{MockModel, Reply, ToolCall};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{Answer, get, post};

async fn stream(server: &MockModel) -> Outcome<Answer> {
    let body = json!({"model": "gpt-test", "stream": true, "messages": []});
    chat(server, body).await
}

async fn document(server: &MockModel) -> Outcome<Answer> {
    chat(server, json!({"model": "gpt-test", "messages": []})).await
}

async fn chat(server: &MockModel, body: Value) -> Outcome<Answer> {
    post(server.base_url() + "/chat/completions", &body).answer().await
}

#[tokio::test]
async fn text_streams_in_its_chunks() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["Hel", "lo"]));
    let answer = stream(&server).await?;

    assert_eq!(answer.status, 200);
    assert!(answer.complete);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(
        answer.deltas()?,
        [
            json!({"role": "assistant", "content": ""}),
            json!({"content": "Hel"}),
            json!({"content": "lo"}),
            json!({}),
        ]
    );
    assert_eq!(
        answer.events()?[1],
        json!({
            "id": "chatcmpl-mock-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "gpt-test",
            "choices": [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": null}],
        })
    );
    assert_eq!(answer.events()?[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer.data().last().map(String::as_str), Some("[DONE]"));
    // Each event is a chunk of its own.
    assert_eq!(answer.chunks.len(), 5);
    Ok(())
}

#[tokio::test]
async fn the_same_reply_is_one_document_without_stream() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["Hel", "lo"]).reasoning("hm"));
    let answer = document(&server).await?;

    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("content-length"), Some(answer.body().len().to_string().as_str()));
    assert_eq!(
        answer.json()?,
        json!({
            "id": "chatcmpl-mock-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-test",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "reasoning_content": "hm"},
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        })
    );
    Ok(())
}

#[tokio::test]
async fn usage_ends_a_stream_only_when_asked_for() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).usage(7, 3)).reply(Reply::text(["a"]).usage(7, 3));
    let without = stream(&server).await?;
    assert!(without.events()?.iter().all(|event| event.get("usage").is_none()));

    let asked = json!({"stream": true, "stream_options": {"include_usage": true}});
    let with = chat(&server, asked).await?.events()?;
    let (last, others) = with.split_last().ok_or("no event")?;
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["total_tokens"], 10);
    assert!(others.iter().all(|event| event["usage"].is_null()));
    Ok(())
}

#[tokio::test]
async fn reasoning_comes_first_in_the_field_of_the_server() -> Outcome {
    let server = MockModel::start().await?;
    let reply = Reply::text(["42"]).reasoning("six ").reasoning("times seven");
    server.reply(reply.clone()).reply(reply.reasoning_field("reasoning"));

    let deltas = stream(&server).await?.deltas()?;
    assert_eq!(
        deltas[1..4],
        [
            json!({"reasoning_content": "six "}),
            json!({"reasoning_content": "times seven"}),
            json!({"content": "42"}),
        ]
    );
    let deltas = stream(&server).await?.deltas()?;
    assert_eq!(deltas[1], json!({"reasoning": "six "}));
    Ok(())
}

#[tokio::test]
async fn arguments_of_a_tool_call_come_in_fragments() -> Outcome {
    let arguments = r#"{"text":"hi"}"#;
    let server = MockModel::start().await?;
    server.reply(Reply::tool_call("call_1", "echo", arguments).split_arguments(3));
    server.reply(Reply::tool_call("call_1", "echo", arguments).split_arguments(3));

    let answer = stream(&server).await?;
    let calls: Vec<Value> =
        answer.deltas()?.iter().filter_map(|it| it.get("tool_calls").cloned()).collect();
    assert_eq!(
        calls[0],
        json!([{
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": "echo", "arguments": ""},
        }])
    );
    let fragments: Vec<&str> =
        calls[1..].iter().filter_map(|call| call[0]["function"]["arguments"].as_str()).collect();
    assert_eq!(fragments.len(), 3);
    assert_eq!(fragments.concat(), arguments);
    assert_eq!(answer.events()?[5]["choices"][0]["finish_reason"], "tool_calls");

    let message = document(&server).await?.json()?["choices"][0]["message"].take();
    assert_eq!(message["content"], Value::Null);
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], arguments);
    Ok(())
}

#[tokio::test]
async fn parallel_calls_follow_each_other_or_interleave() -> Outcome {
    let calls = || [ToolCall::new("a", "one", "12"), ToolCall::new("b", "two", "345")];
    let server = MockModel::start().await?;
    server.reply(Reply::tool_calls(calls()).split_arguments(2));
    server.reply(Reply::tool_calls(calls()).split_arguments(2).interleaved());
    server.reply(
        Reply::text(["first"])
            .then_tool_calls([("a", "one", "1")])
            .then_tool_calls([("b", "two", "2")]),
    );

    let mut order = Vec::new();
    for _ in 0..3 {
        let deltas = stream(&server).await?.deltas()?;
        let calls = deltas.iter().filter_map(|delta| delta["tool_calls"][0]["index"].as_u64());
        order.push(calls.collect::<Vec<_>>());
    }
    assert_eq!(order, [vec![0, 0, 0, 1, 1, 1], vec![0, 1, 0, 1, 0, 1], vec![0, 0, 1, 1]]);
    Ok(())
}

#[tokio::test]
async fn endings_can_be_other_than_usual() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["a"]).finish_reason("length"));
    server.reply(Reply::text(["a"]).without_done());
    server.reply(Reply::text(["a"]).without_finish());
    server.reply(Reply::text(["a"]).then_error(json!({"message": "lost"})));
    server.reply(Reply::error("overloaded"));
    server.reply(Reply::error("overloaded"));

    let finish = |event: &Value| event["choices"][0]["finish_reason"].clone();
    assert_eq!(finish(&stream(&server).await?.events()?[2]), "length");

    let answer = stream(&server).await?;
    assert!(answer.complete && !answer.text().contains("[DONE]"));
    assert_eq!(finish(&answer.events()?[2]), "stop");

    let answer = stream(&server).await?;
    assert!(answer.complete);
    assert_eq!(answer.events()?.len(), 2);

    let answer = stream(&server).await?;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.events()?[2], json!({"error": {"message": "lost"}}));

    let events = stream(&server).await?.events()?;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["error"]["message"], "overloaded");

    let answer = document(&server).await?;
    assert_eq!((answer.status, &answer.json()?["error"]["message"]), (200, &json!("overloaded")));
    Ok(())
}

#[tokio::test]
async fn a_status_has_its_headers_and_body() -> Outcome {
    let server = MockModel::start().await?;
    let body = r#"{"error":{"message":"slow down"}}"#;
    server.reply(Reply::status(429).header("retry-after", "0").body(body));
    server.reply(Reply::status(502).header("content-type", "text/html").body("<h1>oh</h1>"));
    server.reply(Reply::status(500));
    server.reply(Reply::status(204).body(""));

    let answer = stream(&server).await?;
    assert_eq!((answer.status, answer.text().as_str()), (429, body));
    assert_eq!(answer.header("retry-after"), Some("0"));
    let answer = stream(&server).await?;
    assert_eq!((answer.status, answer.header("content-type")), (502, Some("text/html")));
    assert_eq!(stream(&server).await?.json()?["error"]["message"], "mock status 500");
    assert_eq!(
        post(server.base_url() + "/chat/completions", &json!({})).start().await?.status,
        204
    );
    assert_eq!(server.disconnects(), 0);
    Ok(())
}

#[tokio::test]
async fn replies_go_out_in_order_until_none_is_left() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["one"])).reply(Reply::text(["two"]));
    let said = async || -> Outcome<Value> {
        Ok(document(&server).await?.json()?["choices"][0]["message"]["content"].take())
    };
    assert_eq!(said().await?, "one");
    assert_eq!(server.unused_replies(), 1);
    assert_eq!(said().await?, "two");

    let answer = document(&server).await?;
    assert_eq!(answer.status, 500);
    let message = answer.json()?["error"]["message"].to_string();
    assert!(message.contains("the script is exhausted"), "{message}");

    server.otherwise(|request| Reply::text([request.json()["model"].to_string()]));
    assert_eq!(said().await?, "\"gpt-test\"");
    Ok(())
}

#[tokio::test]
async fn a_script_that_is_wrong_says_so() -> Outcome {
    let server = MockModel::start().await?;
    server.reply(Reply::status(7)).reply(Reply::text(["a"]).header("no name", "x"));
    for expected in ["the scripted status 7", "the scripted header \\\"no name\\\""] {
        let answer = stream(&server).await?;
        assert_eq!(answer.status, 500);
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
    assert_eq!(server.disconnects(), 0);
    Ok(())
}

#[tokio::test]
async fn models_are_listed_or_fail() -> Outcome {
    let server = MockModel::start().await?;
    let models = async || get(server.base_url() + "/models").answer().await;
    assert_eq!(models().await?.json()?["data"][0]["id"], "mock-model");

    server.models(["gpt-test", "other"]);
    let list = models().await?.json()?;
    assert_eq!(list["object"], "list");
    let names: Vec<&Value> =
        list["data"].as_array().into_iter().flatten().map(|it| &it["id"]).collect();
    assert_eq!(names, ["gpt-test", "other"]);

    server.models_reply(Reply::status(401));
    assert_eq!(models().await?.status, 401);

    let answer = get(server.base_url() + "/nothing").answer().await?;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("GET /v1/nothing"));
    Ok(())
}

#[tokio::test]
async fn two_runs_send_the_same_bytes() -> Outcome {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let server = MockModel::start().await?;
        server.reply(Reply::tool_call("call_1", "echo", "{}").reasoning("hm"));
        runs.push(stream(&server).await?.body());
    }
    assert_eq!(runs[0], runs[1]);
    Ok(())
}
