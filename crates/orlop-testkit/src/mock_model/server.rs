//! The mock server itself: the queue of replies, the requests seen, the clients gone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use axum::Router;
use tokio::sync::watch;

use super::api::{Api, Asked};
use super::reply::{Content, Reply};
use super::request::RecordedRequest;
use super::{answer, api, echo, rules};
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
    models: Models,
    strict: bool,
}

/// The answer to the question for models.
#[derive(Debug)]
enum Models {
    Names(Vec<String>),
    Reply(Reply),
}

impl MockModel {
    /// Starts a server with nothing queued. A request without a reply gets status 500.
    pub async fn start() -> Result<Self, TestkitError> {
        let shared = Arc::new(Shared {
            script: Mutex::new(ServerScript {
                replies: VecDeque::new(),
                otherwise: Arc::new(exhausted),
                models: Models::Names(vec!["mock-model".to_owned()]),
                strict: false,
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

    /// Starts a server that refuses a request as the real one would: with status 400 and the
    /// reason, if the conversation in it breaks a rule of the API.
    pub async fn strict() -> Result<Self, TestkitError> {
        let server = Self::start().await?;
        lock(&server.shared.script).strict = true;
        Ok(server)
    }

    /// The address to give to a client of chat completions: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        self.base_url_of(Api::Chat)
    }

    /// The address to give to a client of this API.
    pub fn base_url_of(&self, api: Api) -> String {
        format!("{}{}", self.server.origin(), api.base_path())
    }

    /// Queues the reply to the next request for an answer that has none yet.
    pub fn reply(&self, reply: Reply<impl Into<Content>>) -> &Self {
        lock(&self.shared.script).replies.push_back(reply.any());
        self
    }

    /// Says how to answer when nothing is queued.
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

    /// The models that the server lists: `mock-model` unless set.
    pub fn models(&self, names: impl IntoIterator<Item = impl Into<String>>) -> &Self {
        let names = names.into_iter().map(Into::into).collect();
        lock(&self.shared.script).models = Models::Names(names);
        self
    }

    /// The answer to the question for models from now on, such as `Reply::status(503)`.
    pub fn models_reply(&self, reply: Reply<impl Into<Content>>) -> &Self {
        lock(&self.shared.script).models = Models::Reply(reply.any());
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

impl ServerScript {
    /// What the real server would say against this request.
    fn mistake(&self, api: Api, request: &RecordedRequest) -> Option<String> {
        self.strict.then(|| rules::check(api, request).err())?
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
        let reply = match Api::of(request) {
            Some((api, Asked::Answer)) => match script.mistake(api, request) {
                Some(mistake) => refused(api, 400, &mistake),
                None => match script.replies.pop_front() {
                    Some(reply) => reply,
                    None => {
                        let otherwise = script.otherwise.clone();
                        drop(script);
                        otherwise(request)
                    }
                },
            },
            Some((api, Asked::Models)) => match &script.models {
                Models::Names(names) => Reply::status(200).json(api.speech().models(names)).any(),
                Models::Reply(reply) => reply.clone(),
            },
            Some((_, Asked::Model)) => Reply::status(200).json(api::ollama::shown()).any(),
            None => {
                let (method, path) = (&request.method, &request.path);
                let message = format!("the mock server has no {method} {path}");
                refused(Api::Chat, 404, &message)
            }
        };
        (reply, number)
    }
}

fn exhausted(request: &RecordedRequest) -> Reply {
    let api = Api::of(request).map_or(Api::Chat, |(api, _)| api);
    refused(api, 500, "the script is exhausted: no reply is queued for this request")
}

fn refused(api: Api, status: u16, message: &str) -> Reply {
    Reply::status(status).json(api.speech().error(status, message)).any()
}

impl fmt::Debug for ServerScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerScript")
            .field("replies", &self.replies)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}
