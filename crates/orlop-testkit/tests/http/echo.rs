//! The demo server that needs no script.

use orlop_testkit::mock_model::{MockModel, Reply};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{Answer, post};

async fn ask(server: &MockModel, messages: Value, tools: Value) -> Outcome<Answer> {
    let body = json!({"stream": true, "messages": messages, "tools": tools});
    post(server.base_url() + "/chat/completions", &body).answer().await
}

fn text(answer: &Answer) -> Outcome<String> {
    let deltas = answer.deltas()?;
    Ok(deltas.iter().filter_map(|delta| delta["content"].as_str()).collect())
}

#[tokio::test]
async fn it_says_what_it_was_told_in_several_chunks() -> Outcome {
    let server = MockModel::echo().await?;
    let answer = ask(&server, json!([{"role": "user", "content": "good day"}]), json!([])).await?;
    assert_eq!(text(&answer)?, "You said: good day");
    assert!(answer.events()?.len() > 4);

    let parts = json!([{"type": "text", "text": "call "}, {"type": "text", "text": "me"}]);
    let messages =
        json!([{"role": "user", "content": parts}, {"role": "assistant", "content": "?"}]);
    assert_eq!(text(&ask(&server, messages, Value::Null).await?)?, "You said: call me");
    assert_eq!(text(&ask(&server, Value::Null, Value::Null).await?)?, "You said: ");
    Ok(())
}

#[tokio::test]
async fn it_calls_the_first_tool_once_and_answers_from_the_result() -> Outcome {
    let server = MockModel::echo().await?;
    let tools = json!([{"type": "function", "function": {"name": "shout"}}]);
    let mut messages = vec![json!({"role": "user", "content": "call hello"})];
    let answer = ask(&server, json!(messages), tools.clone()).await?;
    let calls: Vec<Value> =
        answer.deltas()?.iter().map(|delta| delta["tool_calls"][0].clone()).collect();
    assert_eq!(calls[1]["function"]["name"], "shout");
    let arguments: String =
        calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, r#"{"text":"hello"}"#);

    messages.push(json!({"role": "assistant", "tool_calls": []}));
    messages.push(json!({"role": "tool", "tool_call_id": calls[1]["id"], "content": "HELLO"}));
    let answer = ask(&server, json!(messages), tools).await?;
    assert_eq!(text(&answer)?, "The tool said: HELLO");
    Ok(())
}

#[tokio::test]
async fn a_queued_reply_goes_first() -> Outcome {
    let server = MockModel::echo().await?;
    server.reply(Reply::status(429));
    let messages = json!([{"role": "user", "content": "hi"}]);
    assert_eq!(ask(&server, messages.clone(), Value::Null).await?.status, 429);
    assert_eq!(text(&ask(&server, messages, Value::Null).await?)?, "You said: hi");
    Ok(())
}
