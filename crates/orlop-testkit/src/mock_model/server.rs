//! The mock server itself: the queue of replies, the requests seen, the clients gone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use axum::Router;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::reply::{Content, Reply, error_object};
use super::request::RecordedRequest;
use super::{answer, echo};
use crate::error::TestkitError;
use crate::local_server::LocalServer;
use crate::sync::lock;

/// A model server on a local port. It stops when it is dropped.
///
/// ```no_run
/// # async fn test() -> Result<(), orlop_testkit::TestkitError> {
/// use orlop_testkit::mock_model::{MockModel, Reply};
///
/// let server = MockModel::start().await?;
/// server.reply(Reply::status(429).header("retry-after", "0"));
/// server.reply(Reply::text(["Hel", "lo"]));
/// // ... point the client under test at server.base_url() ...
/// assert_eq!(server.requests()[0].json()["stream"], true);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MockModel {
    server: LocalServer,
    shared: Arc<Shared>,
}

/// What the handle and the requests being answered have in common.
#[derive(Debug)]
pub(super) struct Shared {
    script: Mutex<ServerScript>,
    requests: watch::Sender<Vec<RecordedRequest>>,
    pub(super) disconnects: watch::Sender<usize>,
}

struct ServerScript {
    replies: VecDeque<Reply>,
    otherwise: Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>,
    models: Reply,
}

impl MockModel {
    /// Starts a server with nothing queued. A chat request without a reply gets status 500.
    pub async fn start() -> Result<Self, TestkitError> {
        let shared = Arc::new(Shared {
            script: Mutex::new(ServerScript {
                replies: VecDeque::new(),
                otherwise: Arc::new(|_| exhausted()),
                models: list_of_models(["mock-model"]),
            }),
            requests: watch::Sender::default(),
            disconnects: watch::Sender::default(),
        });
        let server = LocalServer::start(|stopping| {
            Router::new().fallback(answer::answer).with_state((shared.clone(), stopping))
        })
        .await?;
        Ok(Self { server, shared })
    }

    /// Starts a server that answers `You said: ...` to everything, for demos. Offered a tool and
    /// told `call something`, it asks for the first tool with `{"text": "something"}` and answers
    /// from the result.
    pub async fn echo() -> Result<Self, TestkitError> {
        let server = Self::start().await?;
        server.otherwise(echo::answer);
        Ok(server)
    }

    /// The address to give to a client: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.origin())
    }

    /// Queues the reply to the next chat request that has none yet.
    pub fn reply(&self, reply: Reply<impl Into<Content>>) -> &Self {
        lock(&self.shared.script).replies.push_back(reply.any());
        self
    }

    /// Says how to answer chat requests when nothing is queued.
    pub fn otherwise<C: Into<Content>>(
        &self,
        answer: impl Fn(&RecordedRequest) -> Reply<C> + Send + Sync + 'static,
    ) -> &Self {
        lock(&self.shared.script).otherwise = Arc::new(move |request| answer(request).any());
        self
    }

    /// How many queued replies no request has taken yet.
    pub fn unused_replies(&self) -> usize {
        lock(&self.shared.script).replies.len()
    }

    /// The models that `GET /v1/models` lists: `mock-model` unless set.
    pub fn models(&self, names: impl IntoIterator<Item = impl Into<String>>) -> &Self {
        self.models_reply(list_of_models(names))
    }

    /// The answer to `GET /v1/models` from now on, such as `Reply::status(503)`.
    pub fn models_reply(&self, reply: Reply<impl Into<Content>>) -> &Self {
        lock(&self.shared.script).models = reply.any();
        self
    }

    /// Every request so far, to any path, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until `count` requests have come, and returns the last of these.
    pub async fn wait_for_request(&self, count: usize) -> RecordedRequest {
        let last = count.max(1) - 1;
        let mut requests = self.shared.requests.subscribe();
        match requests.wait_for(|requests| requests.len() > last).await {
            Ok(requests) => requests[last].clone(),
            // The sender is gone, which cannot be while `self` holds it.
            Err(_) => std::future::pending().await,
        }
    }

    /// How many clients left before their reply was complete.
    pub fn disconnects(&self) -> usize {
        *self.shared.disconnects.borrow()
    }

    /// Waits until a client has left before its reply was complete.
    pub async fn wait_for_disconnect(&self) {
        self.wait_for_disconnects(1).await;
    }

    /// Waits until `count` clients have left before their reply was complete.
    pub async fn wait_for_disconnects(&self, count: usize) {
        // Fails only when the sender is gone, and `self` holds it.
        let _ = self.shared.disconnects.subscribe().wait_for(|seen| *seen >= count).await;
    }

    /// Stops the server, and returns when its port is closed. Running replies break off.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

impl Shared {
    /// Records a request and finds its reply. The number counts the requests from 1.
    pub(super) fn receive(&self, request: &RecordedRequest) -> (Reply, usize) {
        // One lock for both, so that the replies go out in the order of the recorded requests.
        let mut script = lock(&self.script);
        let mut number = 0;
        self.requests.send_modify(|requests| {
            requests.push(request.clone());
            number = requests.len();
        });
        let reply = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/chat/completions") => match script.replies.pop_front() {
                Some(reply) => reply,
                None => {
                    let otherwise = script.otherwise.clone();
                    drop(script);
                    otherwise(request)
                }
            },
            ("GET", "/v1/models") => script.models.clone(),
            (method, path) => failed(404, &format!("the mock server has no {method} {path}")),
        };
        (reply, number)
    }
}

fn exhausted() -> Reply {
    failed(500, "the script is exhausted: no reply is queued for this request")
}

fn failed(status: u16, message: &str) -> Reply {
    Reply::status(status).json(json!({"error": error_object(message)})).any()
}

fn list_of_models(names: impl IntoIterator<Item = impl Into<String>>) -> Reply {
    let models: Vec<Value> = names
        .into_iter()
        .map(|name| {
            json!({
                "id": name.into(),
                "object": "model",
                "created": 1_700_000_000,
                "owned_by": "orlop-testkit",
            })
        })
        .collect();
    Reply::status(200).json(json!({"object": "list", "data": models})).any()
}

impl fmt::Debug for ServerScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerScript")
            .field("replies", &self.replies)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}
