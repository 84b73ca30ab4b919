//! The same reply in the words of each API, and what a strict server refuses.

use orlop_testkit::mock_model::{Api, MockModel, Reply};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{Answer, get, post};

/// Where an API is asked for an answer, streamed or not, and with what.
fn question(api: Api, stream: bool) -> (&'static str, Value) {
    let hi = json!([{"role": "user", "content": "hi"}]);
    match api {
        Api::Chat => ("/chat/completions", json!({"model": "m", "messages": hi, "stream": stream})),
        Api::Responses => ("/responses", json!({"model": "m", "input": hi, "stream": stream})),
        Api::Messages => {
            ("/messages", json!({"model": "m", "max_tokens": 9, "messages": hi, "stream": stream}))
        }
        Api::Gemini => {
            let hi = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
            match stream {
                true => ("/models/m:streamGenerateContent?alt=sse", hi),
                false => ("/models/m:generateContent", hi),
            }
        }
        Api::Ollama => ("/api/chat", json!({"model": "m", "messages": hi, "stream": stream})),
    }
}

async fn ask(server: &MockModel, api: Api, stream: bool) -> Outcome<Answer> {
    let (path, body) = question(api, stream);
    post(server.base_url_of(api) + path, &body).answer().await
}

#[tokio::test]
async fn one_reply_is_said_in_the_words_of_each_api() -> Outcome {
    for (api, reasoning, text, name) in [
        (
            Api::Chat,
            "/choices/0/message/reasoning_content",
            "/choices/0/message/content",
            "/choices/0/message/tool_calls/0/function/name",
        ),
        (Api::Responses, "/output/0/summary/0/text", "/output/1/content/0/text", "/output/2/name"),
        (Api::Messages, "/content/0/thinking", "/content/1/text", "/content/2/name"),
        (
            Api::Gemini,
            "/candidates/0/content/parts/0/text",
            "/candidates/0/content/parts/1/text",
            "/candidates/0/content/parts/2/functionCall/name",
        ),
        (
            Api::Ollama,
            "/message/thinking",
            "/message/content",
            "/message/tool_calls/0/function/name",
        ),
    ] {
        let server = MockModel::strict().await?;
        let calls = [("call_1", "echo", "{}")];
        let reply = Reply::text(["Hel", "lo"]).reasoning("hm").then_tool_calls(calls);
        server.reply(reply.clone()).reply(reply.cut());
        let whole = ask(&server, api, false).await?.json()?;
        let said = [reasoning, text, name].map(|path| whole.pointer(path));
        assert_eq!(said, [&json!("hm"), &json!("Hello"), &json!("echo")].map(Some), "{whole}");
        let cut = ask(&server, api, true).await?;
        assert!(!cut.complete);
        let cut = String::from_utf8_lossy(&cut.body()).into_owned();
        assert!(["hm", "Hel", "lo", "echo"].iter().all(|said| cut.contains(said)), "{cut}");
    }
    Ok(())
}

#[tokio::test]
async fn a_status_and_a_refusal_are_errors_of_the_api() -> Outcome {
    for (api, message) in [
        (Api::Chat, "/error/message"),
        (Api::Responses, "/error/message"),
        (Api::Messages, "/error/message"),
        (Api::Gemini, "/error/message"),
        (Api::Ollama, "/error"),
    ] {
        let server = MockModel::strict().await?;
        server.reply(Reply::status(529));
        let busy = ask(&server, api, true).await?;
        assert_eq!(busy.status, 529);
        assert_eq!(busy.json()?.pointer(message), Some(&json!("mock status 529")));

        let (path, mut body) = question(api, false);
        body["messages"] = json!([{"role": "nobody", "content": "hi"}]);
        body["contents"] = json!([]);
        body["input"] = json!([]);
        let refused = post(server.base_url_of(api) + path, &body).answer().await?;
        assert_eq!(refused.status, 400, "{api:?}");
        assert!(refused.json()?.pointer(message).is_some_and(Value::is_string), "{api:?}");
    }
    Ok(())
}

#[tokio::test]
async fn each_api_lists_models_in_its_own_way() -> Outcome {
    let server = MockModel::start().await?;
    server.models(["one", "two"]);
    for (api, path, header, first) in [
        (Api::Chat, "/models", "accept", "/data/0/id"),
        (Api::Messages, "/models", "anthropic-version", "/data/0/display_name"),
        (Api::Gemini, "/models?pageSize=9", "accept", "/models/0/displayName"),
        (Api::Ollama, "/api/tags", "accept", "/models/0/name"),
    ] {
        let asked = get(server.base_url_of(api) + path).header(header, "2023-06-01");
        let listed = asked.answer().await?.json()?;
        let name = listed.pointer(first).and_then(Value::as_str).unwrap_or_default();
        assert!(name.ends_with("one"), "{api:?}: {listed}");
    }
    Ok(())
}
