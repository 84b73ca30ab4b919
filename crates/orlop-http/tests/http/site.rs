//! A server on a free port of this machine, and a client for it.

use crate::common::{AssetFolder, Scene};
use orlop_app::assets::{AssetFiles, AssetLimits};
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::{Application, HookFailure, Host, Scope};
use orlop_core::Value;
use orlop_http::{Metrics, Right, Server, Settings, Token};
use orlop_testkit::scripted::Log;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs, until it is closed or the test ends.
pub(crate) struct Site {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) host: Host,
    pub(crate) token: Option<String>,
    /// The hooks of host plugins that failed, as `plugin.hook`.
    pub(crate) failures: Log,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<orlop_core::Result<()>>>,
    folder: AssetFolder,
}

/// What came back: the status and the body as JSON.
pub(crate) type Answer = (u16, Value);

impl Site {
    /// Without tokens.
    pub(crate) async fn open(scene: &Scene) -> Self {
        Self::with(scene, Settings::default()).await
    }

    /// Why a server with these settings does not begin.
    pub(crate) async fn refused(scene: &Scene, settings: Settings) -> String {
        let host = Host::start(scene.start().await, None).await.unwrap();
        Server::new(host, settings).err().unwrap().to_string()
    }

    pub(crate) async fn with(scene: &Scene, settings: Settings) -> Self {
        let folder = AssetFolder::new();
        let env = RuntimeEnv::from_vars(Vars::new());
        let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
        let types = settings.asset_types.clone();
        let limits = AssetLimits { max_bytes: settings.max_asset_bytes, types };
        let metrics = Metrics::default();
        let app = Application::builder(config, scene.store.clone())
            .plugins(scene.plugins.clone())
            .assets(AssetFiles::new(folder.0.clone(), limits))
            .watcher(Arc::new(metrics.clone()))
            .start()
            .await
            .unwrap();
        let failures = Log::new();
        let heard = failures.clone();
        let listen = move |failure: &HookFailure| {
            heard.add(format!("{}.{}", failure.plugin, failure.hook));
        };
        let host = Host::start(app, Some(Arc::new(listen))).await.unwrap();
        let server = Server::new(host.clone(), Settings { metrics, ..settings }).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = orlop_http::serve(server, listener, async move {
            let _ = stopped.await;
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            url,
            client: Client::builder().no_proxy().tls_certs_only([]).build().unwrap(),
            host,
            token: None,
            failures,
            stop: Some(stop),
            served: Some(tokio::spawn(served)),
            folder,
        }
    }

    /// The files that are kept, and those that are on their way to be.
    pub(crate) fn files(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let entries =
                std::fs::read_dir(folder).into_iter().flatten().map(|it| it.unwrap().path());
            entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
        }
        count(&self.folder.0)
    }

    /// A connection that stays open from one request to the next.
    pub(crate) async fn keep(&self) -> Kept {
        let address = self.url.strip_prefix("http://").unwrap();
        Kept(TcpStream::connect(address).await.unwrap())
    }

    /// The same client with another token.
    pub(crate) fn token(&mut self, token: &str) {
        self.token = Some(token.to_owned());
    }

    /// Ends the server in order, and waits for it.
    pub(crate) async fn close(&mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.served.take().unwrap().await.unwrap().unwrap();
    }

    /// Begins to end the server.
    pub(crate) fn begin_to_close(&mut self) -> JoinHandle<orlop_core::Result<()>> {
        let _ = self.stop.take().unwrap().send(());
        self.served.take().unwrap()
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let path = match path.starts_with("/api") || path.starts_with("//") {
            true => path.trim_start_matches('/').to_owned(),
            false => format!("api/v1{path}"),
        };
        let request = self.client.request(method, format!("{}/{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        answer(self.send(Method::POST, path, body).await).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        answer(self.send(Method::PATCH, path, body).await).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        let request = self.request(method, path).header("content-type", "application/json");
        request.body(body.to_string()).send().await.unwrap()
    }

    /// A new session of this id.
    pub(crate) async fn session(&self, id: &str) {
        let (status, body) = self.post("/sessions", json!({ "session_id": id })).await;
        assert_eq!(status, 201, "{body}");
    }

    /// One turn as a whole.
    pub(crate) async fn say(&self, session: &str, text: &str) -> Answer {
        let body = json!({ "content": text, "stream": false });
        self.post(&format!("/sessions/{session}/requests"), body).await
    }

    /// One turn as events, while it is under way.
    pub(crate) async fn stream(&self, session: &str, body: Value) -> Sse {
        let path = format!("/sessions/{session}/requests");
        Sse::of(self.send(Method::POST, &path, body).await)
    }
}

/// A connection that stays open, and a client that knows as much of HTTP as it takes.
pub(crate) struct Kept(TcpStream);

impl Kept {
    /// The head of the answer in lower case, and its body.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &str) -> (String, String) {
        self.send(method, path, body).await;
        self.read().await
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &str) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(head.as_bytes()).await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> (String, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap())
    }
}

pub(crate) async fn answer(response: Response) -> Answer {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A stream of events, as it is read.
pub(crate) struct Sse {
    response: Response,
    buffer: String,
}

/// One event: its id, its type, its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Sse {
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new() }
    }

    pub(crate) fn header(&self, name: &str) -> String {
        self.response.headers()[name].to_str().unwrap().to_owned()
    }

    /// The next event; comments are passed over.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let sent = parse(block);
                self.buffer = rest.to_owned();
                match sent {
                    Some(sent) => return Some(sent),
                    None => continue,
                }
            }
            let piece = self.response.chunk().await.ok()??;
            self.buffer.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// Everything up to the first event of this type, that one included.
    pub(crate) async fn until(&mut self, event: &str) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
            if all.last().is_some_and(|sent| sent.event == event) {
                return all;
            }
        }
        panic!("no {event} among {all:?}")
    }

    pub(crate) async fn rest(mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
        }
        all
    }
}

fn parse(block: &str) -> Option<Sent> {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.map(str::to_owned)
    };
    Some(Sent {
        id: field("id").map(|id| id.parse().unwrap()),
        event: field("event")?,
        data: serde_json::from_str(&field("data")?).unwrap(),
    })
}

/// The types of events, with those of one kind in a row counted once.
pub(crate) fn kinds(events: &[Sent]) -> String {
    let mut kinds: Vec<&str> = events.iter().map(|sent| sent.event.as_str()).collect();
    kinds.dedup();
    kinds.join(" ")
}

/// The text of all fragments.
pub(crate) fn text_of(events: &[Sent]) -> String {
    let partials = events.iter().filter(|sent| sent.event == "partial");
    partials.filter_map(|sent| sent.data["message"]["content"].as_str()).collect()
}

/// A token for a user of a tenant.
pub(crate) fn token(secret: &str, tenant: &str, user: &str, right: Right) -> Token {
    Token {
        secret: secret.to_owned(),
        scope: Scope::new(tenant, user).unwrap(),
        rights: vec![right],
    }
}
