//! A real model behind a real server, llama.cpp's, over the three APIs that it speaks. The model is
//! small: the tests look at the shape of its answers, not at their wit.
//!
//! `ORLOP_LLAMA_CPP` names a Python that has the package xllamacpp, `ORLOP_LOCAL_MODEL` a file of
//! weights; `cargo xtask test` provides both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::types::ToolReport;
use orlop_core::{
    CallContext, Config, Core, CoreEvent, Message, Provider, RequestOptions, Response, Session,
    Value,
};
use orlop_providers::{HttpClient, HttpSettings};
use orlop_providers::{anthropic::Anthropic, openai::OpenAiCompatible, responses::Responses};
use orlop_testkit::scripted::{ScriptedTool, config, plain_session, texts};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The server's process. It ends with this value, or with the process of the tests.
struct Server {
    process: Child,
    origin: String,
}

impl Server {
    /// Starts it; nothing if the machine has not what it takes.
    fn start() -> Option<Self> {
        let given = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let (python, weights) = (given("ORLOP_LLAMA_CPP")?, given("ORLOP_LOCAL_MODEL")?);
        let mut process = Command::new(python)
            .args(["-c", include_str!("real_server/llama_server.py")])
            .arg(weights)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ORLOP_LLAMA_CPP is a Python");
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut origin = String::new();
        said.read_line(&mut origin).unwrap();
        let origin = origin.trim().to_owned();
        assert!(origin.starts_with("http://127.0.0.1:"), "the server did not start: {origin:?}");
        Some(Self { process, origin })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The providers that can speak to this server, and whether it keeps to schemas over their API.
fn providers(http: &HttpClient) -> Vec<(Arc<dyn Provider>, bool)> {
    vec![
        (Arc::new(OpenAiCompatible::new(http.clone())), true),
        (Arc::new(Responses::new(http.clone())), false),
        (Arc::new(Anthropic::new(http.clone())), false),
    ]
}

/// A provider, a tool and the server's address.
struct Turn {
    core: Core,
    settings: Value,
}

impl Turn {
    fn new(provider: Arc<dyn Provider>, server: &Server) -> Self {
        let settings = json!({
            "provider": provider.manifest().name, "model": "smollm2",
            "base_url": format!("{}/v1", server.origin), "temperature": 0, "max_tokens": 12,
        });
        let mut core = Core::new();
        core.register_provider(provider, Vec::new()).unwrap();
        Self { core, settings }
    }

    fn config(&self, more: Value) -> Config {
        let mut settings = self.settings.clone();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        config(settings)
    }

    async fn whole(&self, session: &Session, config: &Config) -> Response {
        self.core.send_request(session, config, RequestOptions::default()).await.unwrap()
    }

    async fn streamed(&self, session: &Session, config: &Config) -> (String, Response) {
        let events = self.core.send_request_stream(session, config, RequestOptions::default());
        let mut events: Vec<CoreEvent> = events.map(|event| event.unwrap()).collect().await;
        let Some(CoreEvent::Final(response)) = events.pop() else { panic!("no end") };
        let shown = events.into_iter().map(|event| match event {
            CoreEvent::Partial(partial) => partial.content,
            CoreEvent::Final(_) => panic!("two ends"),
        });
        (shown.collect(), *response)
    }
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

/// A text with a reason to stop and token counts.
fn is_answer(response: &Response) {
    let message = response.messages.last().unwrap();
    assert!(!message.text().is_empty());
    let metadata = message.metadata();
    let reason = metadata["finish_reason"].as_str().unwrap();
    assert!(matches!(reason, "stop" | "length"), "{reason}");
    for count in ["input_tokens", "output_tokens"] {
        assert!(metadata["usage"][count].as_u64().unwrap() > 0, "{metadata:?}");
    }
}

async fn says_something(turn: &Turn) {
    let (session, config) = (asked("Say hi.").await, turn.config(json!({})));
    is_answer(&turn.whole(&session, &config).await);
    let (shown, response) = turn.streamed(&session, &config).await;
    is_answer(&response);
    assert_eq!(shown, response.messages.last().unwrap().text());
}

/// A small model calls no tool on its own, but repeats what it is told to.
async fn told_to_call() -> Session {
    let call = r#"{"name": "echo", "arguments": {"text": "hello"}}"#;
    let history = [
        Message::user("Repeat this text: apple"),
        Message::assistant("apple"),
        Message::user("Repeat this text: red { blue }"),
        Message::assistant("red { blue }"),
        Message::user(format!("Repeat this text: <tool_call>\n{call}\n</tool_call>")),
    ];
    plain_session(&history).await.unwrap()
}

fn echo() -> ScriptedTool {
    let schema = json!({
        "name": "echo", "description": "Repeats a text.",
        "parameters": {
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
        },
    });
    ScriptedTool::new("echo")
        .get_tool_schemas(move |_, _| Ok(vec![schema.as_object().cloned().unwrap()]))
        .execute_tool(|input, _| Ok(ToolReport::ok(input.payload["text"].clone())))
}

async fn calls_a_tool(turn: &Turn) {
    let (mut core, config) = (turn.core.clone(), turn.config(json!({ "max_tokens": 48 })));
    core.register_tool(Arc::new(echo())).unwrap();
    let turn = Turn { core, settings: turn.settings.clone() };
    let (_, response) = turn.streamed(&told_to_call().await, &config).await;
    let calls = extract_tool_calls(&response.messages);
    assert_eq!(calls.len(), 1, "{:?}", response.messages);
    assert_eq!(response.messages.last().unwrap().metadata()["finish_reason"], "tool_calls");
    let results = turn.core.execute_tool_calls(calls, &config, &CallContext::default()).await;
    let [result] = <[Message; 1]>::try_from(results.unwrap()).unwrap();
    assert_eq!(result.text(), "hello");
    let session = turn.core.add_message(&response.session, result, &config).await.unwrap();
    let end = turn.whole(&session, &config).await;
    assert!(texts(&end.session).contains("|hello|"), "{}", texts(&end.session));
}

async fn keeps_to_a_schema(turn: &Turn, knows_schemas: bool) {
    let schema = json!({
        "type": "object", "properties": { "city": { "type": "string", "maxLength": 12 } },
        "required": ["city"], "additionalProperties": false,
    });
    let config = turn.config(json!({ "output_schema": schema, "max_tokens": 40 }));
    let (shown, _) = turn.streamed(&asked("Name a city.").await, &config).await;
    assert!(!shown.is_empty());
    if !knows_schemas {
        return;
    }
    let answer: Value = serde_json::from_str(&shown).expect("the answer is JSON");
    assert!(answer["city"].is_string(), "{answer}");
}

#[tokio::test]
async fn a_real_server_is_understood() {
    let Some(server) = Server::start() else {
        orlop_testkit::skip("real_server", "ORLOP_LLAMA_CPP or ORLOP_LOCAL_MODEL is not set");
        return;
    };
    let http = HttpClient::new(HttpSettings {
        first_byte_timeout: Duration::from_secs(300),
        ..HttpSettings::default()
    });
    for (provider, knows_schemas) in providers(&http) {
        println!("{}", provider.manifest().name);
        let turn = Turn::new(provider, &server);
        let models = turn.core.fetch_models(&turn.config(json!({}))).await.unwrap();
        assert_eq!(models.len(), 1);
        says_something(&turn).await;
        calls_a_tool(&turn).await;
        keeps_to_a_schema(&turn, knows_schemas).await;
    }
}
