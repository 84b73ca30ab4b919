//! A server on loopback with a scripted model behind it, and a client that knows nothing but HTTP.

use futures::StreamExt;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::{Application, Host, Plugins};
use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::{Answer, Context, HostPlugin, Manifest, Map, Plugin, Tool, ToolReport, Value};
use orlop_http::{Server, Settings, serve};
use orlop_store::SqliteStore;
use orlop_testkit::scripted::{ScriptedProvider, ScriptedReply};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

const JSON: &str = "application/json";

const CONFIG: &str = r#"
default_agent = "helper"
[agents.helper]
provider = "scripted"
model = "m"
[agents.judged]
extends = "helper"
output_schema = { type = "object" }
"#;

/// What a server is made of.
pub struct Scene {
    pub provider: ScriptedProvider,
    plugins: Plugins,
    config: String,
}

impl Scene {
    /// The model answers with these.
    pub fn of(replies: Vec<ScriptedReply>) -> Self {
        let provider = ScriptedProvider::new("scripted");
        for reply in replies {
            provider.reply(reply);
        }
        let plugins = Plugins::new().provider(Arc::new(provider.clone()), vec![]);
        Self { provider, plugins, config: CONFIG.to_owned() }
    }

    pub fn says(texts: &[&str]) -> Self {
        Self::of(texts.iter().map(|text| ScriptedReply::text(&[text])).collect())
    }

    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.plugins = self.plugins.tool(Arc::new(tool));
        self
    }

    pub fn host(mut self, plugin: impl HostPlugin + 'static) -> Self {
        self.plugins = self.plugins.host(Arc::new(plugin));
        self
    }

    /// With these lines in the configuration.
    pub fn config(mut self, lines: &str) -> Self {
        self.config.push_str(lines);
        self
    }

    pub async fn start(self) -> Client {
        let env = RuntimeEnv::from_vars(Vars::new());
        let config = AppConfig::from_text(Path::new("orlop.toml"), &self.config, env).unwrap();
        let settings = Settings::of(&config).unwrap();
        let store = Arc::new(SqliteStore::open_in_memory().unwrap());
        let app = Application::builder(config, store).plugins(self.plugins).start().await.unwrap();
        let host = Host::start(app, None).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = Server::new(host.clone(), settings).unwrap();
        let end = Arc::new(Notify::new());
        let told = end.clone();
        tokio::spawn(serve(server, listener, async move { told.notified().await }));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Client { base, http, host, provider: self.provider, token: None, end }
    }
}

/// A client of the server, and what is behind it.
#[derive(Clone)]
pub struct Client {
    base: String,
    http: reqwest::Client,
    pub host: Host,
    pub provider: ScriptedProvider,
    token: Option<&'static str>,
    end: Arc<Notify>,
}

impl Client {
    /// Has the server end.
    pub fn end_server(&self) {
        self.end.notify_one();
    }

    pub fn with_token(&self, token: &'static str) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method.parse().unwrap(), format!("{}{path}", self.base));
        match self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Status and JSON of an answer.
    pub async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let mut request = self.request(method, path);
        if !body.is_null() {
            request = request.header("content-type", JSON).body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let answer = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status} {text}"));
        (status, answer)
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask("POST", path, body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The message of an error, after its status.
    pub async fn refused(&self, method: &str, path: &str, body: Value) -> String {
        let (status, answer) = self.ask(method, path, body).await;
        shown_error(status, &answer)
    }

    /// The same for a request that is made in another way.
    pub async fn refused_request(&self, request: reqwest::RequestBuilder) -> String {
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], JSON);
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        shown_error(status, &serde_json::from_str(&text).unwrap())
    }

    /// The numbers of the server.
    pub async fn metrics(&self) -> String {
        let address = self.base.strip_suffix("/v1").unwrap();
        let answer = self.http.get(format!("{address}/metrics")).send().await.unwrap();
        answer.text().await.unwrap()
    }

    /// Where it is, with `/v1`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request with this body, and the id that the client gives it.
    pub fn request_named(&self, id: &str, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request = self.request("POST", path).header("content-type", JSON);
        request.header("x-request-id", id).body(body.to_string())
    }

    pub async fn stream(&self, path: &str, body: Value) -> Events {
        let request = match body.is_null() {
            true => self.request("GET", path),
            false => {
                let request = self.request("POST", path).header("content-type", JSON);
                request.body(body.to_string())
            }
        };
        self.stream_of(request).await
    }

    pub async fn stream_of(&self, request: reqwest::RequestBuilder) -> Events {
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Events { bytes: response.bytes_stream().boxed(), read: Vec::new() }
    }
}

fn shown_error(status: u16, answer: &Value) -> String {
    let error = &answer["error"];
    for field in ["message", "type", "param", "code"] {
        assert!(error.get(field).is_some(), "{answer}");
    }
    format!("{status} {} {} {}", error["type"], error["code"], error["message"]).replace('"', "")
}

/// Server-sent events, as they come.
pub struct Events {
    bytes: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    read: Vec<u8>,
}

impl Events {
    /// The data of the next event; text that is no JSON is a string.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let text = String::from_utf8_lossy(&self.read).into_owned();
            if let Some((event, rest)) = text.split_once("\n\n") {
                self.read = rest.as_bytes().to_vec();
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                match data {
                    Some(data) => {
                        return Some(serde_json::from_str(data).unwrap_or_else(|_| data.into()));
                    }
                    None => continue,
                }
            }
            self.read.extend_from_slice(&self.bytes.next().await?.unwrap());
        }
    }

    /// Events up to the first of this type.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let found = event["type"] == kind;
            events.push(event);
            if found {
                return events;
            }
        }
        panic!("the stream ended without {kind}: {events:?}")
    }

    pub async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// A tool that says when it is called, and answers when it is let go.
#[derive(Clone)]
pub struct Slow {
    called: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

impl Slow {
    pub fn new() -> Self {
        Self { called: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(0)) }
    }

    pub async fn is_called(&self) {
        self.called.acquire().await.unwrap().forget();
    }

    pub fn let_go(&self) {
        self.let_go.add_permits(1);
    }
}

impl Plugin for Slow {
    fn manifest(&self) -> Manifest {
        Manifest::new("slow", "1.0.0").without_models()
    }
}

impl Tool for Slow {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({ "name": "look", "parameters": { "type": "object" } });
        Answer::ok(vec![schema.as_object().cloned().unwrap()])
    }

    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move {
            self.called.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
            Ok(ToolReport::ok("waves"))
        })
    }
}
