//! From a client's request to a turn, and from its events to an answer.

use super::error::{Answer, Failure};
use super::responses;
use crate::asked::asked_at;
pub(super) use crate::begin::{Abandoned, Begun, Events};
use crate::caller::told_headers;
use crate::extract::{body_of, parsed, refuse_forms};
use crate::identity::{Identity, Right};
use crate::limits::Slot;
use crate::request_id::RequestId;
use crate::route::{Input, Operation};
use crate::server::{Server, ending};
use crate::sse::EventStream;
pub(super) use crate::sse::Translate;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::IntoResponse;
use futures::stream::StreamExt;
use orlop_app::{Application, Approval, ChatRequest, KnownRequest, error_of};
use orlop_core::types::app_event::{CallerCall, Event, EventKind};
use orlop_core::{CallContext, Config, Error, ErrorClass, Map, Message, Role};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Somebody who may send requests.
pub(super) struct Caller {
    server: Server,
    identity: Identity,
    request_id: RequestId,
    headers: Map,
    asked: Asked,
}

/// What the client asks for: digests of it.
#[derive(Default)]
enum Asked {
    /// Nothing that begins a turn.
    #[default]
    Nothing,
    /// A completion, which is never stored.
    Completion(String),
    /// A response.
    Response(String),
}

impl Asked {
    fn digest(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Completion(digest) | Self::Response(digest) => Some(digest),
        }
    }
}

/// Somebody who may look at what there is.
pub(super) struct Reader(pub(super) Caller);

impl Caller {
    async fn with(right: Right, parts: &mut Parts, server: &Server) -> Answer<Self> {
        let identity = Identity::from_request_parts(parts, server).await?;
        identity.need(right)?;
        let request_id = RequestId::from_request_parts(parts, server).await?;
        let headers = told_headers(&parts.headers);
        let (server, asked) = (server.clone(), Asked::Nothing);
        Ok(Self { server, identity, request_id, headers, asked })
    }

    /// The same, asking for a completion.
    pub(super) fn asking_completion(self, what: &impl Serialize) -> Self {
        Self { asked: Asked::Completion(asked_at("chat/completions", what)), ..self }
    }

    /// The same, asking for a response.
    pub(super) fn asking_response(self, what: &impl Serialize) -> Self {
        Self { asked: Asked::Response(asked_at("responses", what)), ..self }
    }

    /// The same request, if it was sent before. If its id belongs to another one it gets an id of its
    /// own: what stands between clients and servers passes one id on with all calls of a task.
    pub(super) async fn sent_before(&mut self) -> Answer<Option<KnownRequest>> {
        let app = self.app();
        while self.request_id.is_given() {
            let Some(known) = app.known_request(self.request()).await? else { break };
            if self.is_same(&app, &known).await? {
                return Ok(Some(known));
            }
            let other = self.request_id.other_for(self.asked.digest().unwrap_or_default());
            tracing::debug!(target: "orlop::http", id = self.request(), other = other.as_str(), "the id belongs to another request");
            self.request_id = other;
        }
        Ok(None)
    }

    async fn is_same(&self, app: &Application, known: &KnownRequest) -> Answer<bool> {
        if known.asked.is_some() && known.asked.as_deref() != self.asked.digest() {
            return Ok(false);
        }
        match (&self.asked, app.store().turn(app.scope(), self.request()).await?) {
            (_, None) => Ok(known.asked.is_some()),
            (Asked::Response(_), Some(_)) => responses::is_known(app, self.request()).await,
            (_, Some(_)) => Ok(false),
        }
    }

    /// Whether a request that met a conflict has another id now, because somebody else began one
    /// with the same id meanwhile.
    pub(super) async fn is_renamed(&mut self) -> Answer<bool> {
        let id = self.request().to_owned();
        self.sent_before().await?;
        Ok(self.request() != id)
    }

    /// The id of the turn that it begins: that of the HTTP request, if it is not taken.
    pub(super) fn request(&self) -> &str {
        self.request_id.as_str()
    }

    /// The application; its hooks are told where the call comes from.
    pub(super) fn app(&self) -> Application {
        self.server.host(&self.identity).app().called_with(self.context())
    }

    fn context(&self) -> CallContext {
        self.server.context(&self.identity, &self.request_id)
    }

    /// A request with these messages. The last one is what the user says now, if it is the user's.
    pub(super) fn request_with(&self, mut messages: Vec<Message>) -> ChatRequest {
        let now = match messages.last().map(Message::role) {
            Some(Role::User) => messages.pop(),
            _ => None,
        };
        let now = now.as_ref();
        ChatRequest {
            content: now.map(|message| message.content().clone()).unwrap_or_default(),
            multipart_content: now.map(|it| it.multipart_content().to_vec()).unwrap_or_default(),
            history: messages,
            request_id: Some(self.request().to_owned()),
            fresh_id: !self.request_id.is_given(),
            asked: self.asked.digest().map(str::to_owned),
            headers: self.headers.clone(),
            // Nobody who uses this API can be asked.
            approval: Approval::Deny,
            context: self.context(),
            ..ChatRequest::default()
        }
    }

    /// Begins a turn, if there is room for one; see [`Server::begin`].
    pub(super) async fn chat(&self, request: impl FnOnce() -> ChatRequest) -> Answer<Begun> {
        Ok(self.server.begin(&self.identity, request, None).await?)
    }

    /// Room for an event stream, to be taken before anything is begun.
    pub(super) fn take_stream(&self) -> Answer<Slot> {
        Ok(self.server.take_stream(&self.identity)?)
    }
}

impl FromRequestParts<Server> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Answer<Self> {
        Self::with(Right::Chat, parts, server).await
    }
}

impl FromRequestParts<Server> for Reader {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Answer<Self> {
        Caller::with(Right::Read, parts, server).await.map(Self)
    }
}

impl Input for Caller {
    fn describe(operation: &mut Operation<'_>) {
        operation.needs(Right::Chat.as_str());
    }
}

impl Input for Reader {
    fn describe(operation: &mut Operation<'_>) {
        operation.needs(Right::Read.as_str());
    }
}

/// A JSON body, whatever its content type says, unless it is one that forms have.
pub(super) struct Json<T>(pub(super) T);

impl<T: JsonSchema> Input for Json<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<T>();
        operation.takes("application/json", schema, true);
    }
}

impl<T: DeserializeOwned> FromRequest<Server> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, server: &Server) -> Answer<Self> {
        refuse_forms(request.headers())?;
        Ok(Self(parsed(&body_of(request, server).await?)?))
    }
}

/// The settings of the agent that a client names as its model.
pub(super) fn agent(app: &Application, model: &str) -> Answer<Config> {
    match app.agent(model) {
        Ok((_, config)) => Ok(config),
        Err(error) if error.class() == ErrorClass::NotFound => {
            Err(Failure::missing(Some("model"), "model_not_found", error.message()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether answers may be asked for again, so that none can be shown before it is accepted.
pub(super) fn is_judged(config: &Config, overrides: &Map) -> bool {
    config.get("output_schema").is_some() || overrides.contains_key("output_schema")
}

/// What a request came to.
pub(super) struct Done {
    /// When, in seconds since 1970.
    pub(super) at: i64,
    pub(super) messages: Vec<Message>,
    pub(super) usage: Option<Map>,
    pub(super) calls: Vec<CallerCall>,
}

/// Waits for the end of a request. A failure is an error, and so is a server that ends before.
pub(super) async fn finish(caller: &Caller, begun: Begun) -> Answer<Done> {
    let Begun { events, abandoned, .. } = begun;
    let done = tokio::select! {
        biased;
        done = outcome_of(events) => done,
        () = caller.server.closing() => Err(ending().into()),
    };
    abandoned.forget();
    done
}

async fn outcome_of(mut events: Events) -> Answer<Done> {
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Final { messages, usage, caller_calls, .. } => {
                return Ok(Done {
                    at: seconds_of(&event),
                    messages: messages.clone(),
                    usage: usage.clone(),
                    calls: caller_calls.clone(),
                });
            }
            EventKind::RequestFailed { error } => return Err(error_of(error).into()),
            EventKind::RequestCancelled { reason } => {
                return Err(Error::cancelled(reason.clone()).into());
            }
            _ => {}
        }
    }
    Err(ending().into())
}

/// The events of a request as server-sent events, as a translation has them.
pub(super) fn event_stream(
    caller: &Caller,
    begun: Begun,
    translate: impl Translate,
    slot: Slot,
) -> Answer {
    let closing = caller.server.closing();
    let stream = EventStream::translated(begun.events, translate, closing, slot);
    Ok(stream.or_abandoned(begun.abandoned).into_response())
}

/// When something happened, in seconds since 1970.
pub(super) fn seconds_of(event: &Event) -> i64 {
    orlop_app::unix_seconds(&event.at).unwrap_or_else(seconds_now)
}

/// The time, in seconds since 1970.
pub(super) fn seconds_now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map(|time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX)).unwrap_or_default()
}
