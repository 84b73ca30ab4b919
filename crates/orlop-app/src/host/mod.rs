//! The front door: the one place every surface hands its requests to, with the host plugins around
//! it. Host hooks stand outside, lifecycles inside.

mod answered;
mod attachments;
mod hooks;

pub(crate) use hooks::Door;
pub use hooks::HookFailure;

use crate::application::Application;
use crate::lock::Wait;
use crate::pace::{Stage, Streams};
use crate::scope::check_id;
use crate::sessions::NewSession;
use crate::turn::{Approval, Request, Taken, Target};
use futures::stream::{BoxStream, StreamExt};
use hooks::{Inside, Listener};
use orlop_core::hooks::{
    Handled, Hook, HostInput, InterceptInput, Interception, RequestInfo, RequestKind, Rewrite,
};
use orlop_core::types::app_event::{Event, EventKind, SessionState};
use orlop_core::{CallContext, Error, Map, Message, Result, Value};
use std::any::Any;
use std::sync::Arc;
use tracing::Instrument;

/// The door, open.
#[derive(Clone)]
pub struct Host {
    app: Application,
}

/// A request of a surface.
#[derive(Clone, Default)]
pub struct ChatRequest {
    /// The session; a fresh one if it is not said.
    pub session_id: Option<String>,
    /// Answers on a branch of the session, in place of the message of the user at this position or
    /// before it; without content that message is sent again. Negative numbers count from the end.
    pub branch_at: Option<i64>,
    /// The agent of a new session.
    pub agent_id: Option<String>,
    /// Metadata of a new session.
    pub metadata: Map,
    /// What the user wrote: text, or any JSON value.
    pub content: Value,
    /// Further parts of the message.
    pub multipart_content: Vec<Map>,
    /// Assets that go with it.
    pub attachments: Vec<String>,
    /// Messages that come before it: earlier parts of a conversation that the caller keeps, and
    /// results of calls that it was handed. With them, there need be no message of the user.
    pub history: Vec<Message>,
    /// How many messages the session must have; with more or fewer, the request is a conflict.
    pub at_length: Option<usize>,
    /// Tools that the caller runs itself. A call of one ends the request.
    pub caller_tools: Vec<Map>,
    /// How many calls of the agent's own tools may run; those beyond it are refused.
    pub max_tool_calls: Option<u64>,
    /// A system message for this request alone. It is not stored.
    pub instructions: Option<String>,
    /// Settings of this request.
    pub overrides: Map,
    /// The id of the request. Another one with the same id is the same request.
    pub request_id: Option<String>,
    /// Whether the id was made for this request: it cannot have come before, and nobody looks for it.
    pub fresh_id: bool,
    /// A digest of what is asked, where the surface has one: another request with the same id and
    /// another digest is a conflict.
    pub asked: Option<String>,
    /// Whether fragments are wanted.
    pub stream: bool,
    /// `false` stores nothing.
    pub persist: Option<bool>,
    /// How long to wait if the session is busy.
    pub wait: Wait,
    /// What becomes of tool calls that a person should decide on.
    pub approval: Approval,
    /// Whether the events end where whoever reads them falls far behind.
    pub closely: bool,
    /// The headers, where the surface has some; names in lower case.
    pub headers: Map,
    /// What the surface tells hooks: its own keys, its live objects, and data of its caller.
    pub context: CallContext,
    /// What the surface holds until everything that belongs to the request has run, such as room for it.
    pub held: Option<Arc<dyn Any + Send + Sync>>,
}

/// A request that passed the door.
pub struct Chat {
    /// The id of the request.
    pub request_id: String,
    /// The session.
    pub session_id: String,
    /// The answer of a host plugin, if one answered in place of the agent.
    pub handled: Option<Handled>,
    /// What the agent and its tools had said, if the request had been sent before; see
    /// [`RequestHandle::take_said`](crate::RequestHandle::take_said).
    pub said: Option<Vec<Message>>,
    events: BoxStream<'static, Arc<Event>>,
    ended: tokio::task::JoinHandle<()>,
}

impl Chat {
    /// The next event; `None` after the one that ends the request.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        self.events.next().await
    }

    /// Waits until everything that belongs to the request has run, the request-end hooks included.
    pub async fn ended(self) {
        drop(self.events);
        let _ = self.ended.await;
    }

    /// The events, for surfaces that pass them on. The request-end hooks run without them.
    pub fn into_events(self) -> BoxStream<'static, Arc<Event>> {
        self.events
    }
}

impl Host {
    /// Opens the door: starts the host plugins, those of higher priority first. If one fails,
    /// those started are stopped again in reverse order. `on_failure` hears of every hook that
    /// fails.
    pub async fn start(app: Application, on_failure: Option<Listener>) -> Result<Self> {
        if app.shared.door.is_open() {
            return Err(Error::conflict("the host of this application is started already"));
        }
        app.shared.door.set_listener(on_failure);
        let input = whole_config(&app);
        for (index, plugin) in app.shared.hosts.iter().enumerate() {
            let cx = app.host_context();
            let runner = app.runner();
            if let Err(error) = runner.try_call(plugin, Hook::Start, |p| p.start(&input, &cx)).await
            {
                app.shared.door.failed(plugin.name(), Hook::Start, &error);
                stop_first(&app, index).await;
                return Err(error);
            }
        }
        app.shared.door.open();
        Ok(Self { app })
    }

    /// The application behind the door.
    pub fn app(&self) -> &Application {
        &self.app
    }

    /// The same door for someone else.
    pub fn for_scope(&self, scope: crate::scope::Scope) -> Self {
        Self { app: self.app.for_scope(scope) }
    }

    /// Closes the door: takes no more requests, waits a few seconds for those under way, and
    /// stops the host plugins in the reverse order of their start. One that fails does not keep
    /// the others from being stopped. Stopping again does nothing.
    pub async fn stop(self) {
        if self.app.shared.door.close().await {
            stop_first(&self.app, self.app.shared.hosts.len()).await;
        }
    }

    /// Takes a request. It goes on if whoever sent it does not wait for it.
    pub async fn chat(&self, mut request: ChatRequest) -> Result<Chat> {
        let inside = self.app.enter()?;
        request.fresh_id |= request.request_id.is_none();
        let fresh = || uuid::Uuid::new_v4().to_string();
        let ids = (
            request.request_id.clone().unwrap_or_else(fresh),
            request.session_id.clone().unwrap_or_else(fresh),
        );
        check_id("request", &ids.0)?;
        let taken = self.app.take_request(&ids.0, &ids.1);
        let host = self.clone();
        // Those that wait in line take no more room than what they ask for.
        let work = async move {
            let chat = Box::pin(host.taken(request, ids, &taken, inside)).await;
            taken.told(chat)
        };
        let pace = &self.app.shared.pace;
        let chat = pace.spawn(Stage::Taken, work.in_current_span(), Streams::default()).await;
        chat.unwrap_or_else(|error| {
            Err(Error::internal(format!("the request could not be taken: {error}")))
        })
    }

    async fn taken(
        &self,
        request: ChatRequest,
        (request_id, session_id): (String, String),
        taken: &Taken,
        inside: Inside,
    ) -> Result<Chat> {
        // Of two that are the same, the second finds what became of the first.
        let beginning = async {
            Ok(match request.fresh_id {
                true => None,
                false => {
                    let locks = &self.app.shared.locks;
                    Some(locks.beginning(self.app.scope(), &request_id).await)
                }
            })
        };
        let _beginning = taken.unless_cancelled(beginning).await?;
        let request = self.branched(request, &request_id).await?;
        let session_id = request.session_id.clone().unwrap_or(session_id);
        check_id("session", &session_id)?;
        let info = self.info(&request, &request_id, &session_id).await?;
        let told = request
            .context
            .clone()
            .owning("request_id", request_id.clone())
            .owning("approval", serde_json::json!(request.approval));
        let app = self.app.called_with(told);
        app.tell_hosts(Hook::OnRequestStart, &info).await;
        match self.admitted(&app, request, &info, taken, &inside).await {
            Ok(chat) => Ok(chat),
            Err(error) => {
                app.tell_hosts(Hook::OnRequestEnd, &info).await;
                Err(error)
            }
        }
    }

    /// The request on a branch of its session, if it asks for one. One that was sent before stays on
    /// the branch it has.
    async fn branched(&self, mut request: ChatRequest, id: &str) -> Result<ChatRequest> {
        let Some(index) = request.branch_at.take() else { return Ok(request) };
        let from = request.session_id.take().ok_or_else(|| {
            Error::bad_argument(
                "there is no session to branch; name the one that the message is in",
            )
        })?;
        check_id("session", &from)?;
        let says_nothing = text_of(&request).trim().is_empty()
            && request.multipart_content.is_empty()
            && request.attachments.is_empty();
        if says_nothing {
            let (_, message) = self.app.asked_at(&from, index).await?;
            request.content = message.content().clone();
            request.multipart_content = message.multipart_content().to_vec();
        }
        let before = self.app.store().turn(self.app.scope(), id).await?;
        request.session_id = Some(match before {
            Some(turn) => turn.session,
            None => self.app.branch_session(&from, index, None).await?.session_id,
        });
        Ok(request)
    }

    async fn info(&self, request: &ChatRequest, id: &str, session_id: &str) -> Result<RequestInfo> {
        let scope = self.app.scope();
        let stored = match &request.session_id {
            Some(_) => self.app.store().head(scope, session_id).await?.and_then(|head| head.agent),
            None => None,
        };
        let agent_id = match stored.or_else(|| request.agent_id.clone()) {
            Some(agent) => agent,
            None => self.app.config().default_agent()?,
        };
        Ok(RequestInfo {
            kind: if request.stream { RequestKind::Stream } else { RequestKind::Chat },
            tenant_id: scope.tenant().to_owned(),
            user_id: scope.user().to_owned(),
            session_id: session_id.to_owned(),
            agent_id,
            request_id: id.to_owned(),
        })
    }

    /// Interceptors, attachments, then the turn.
    async fn admitted(
        &self,
        app: &Application,
        request: ChatRequest,
        info: &RequestInfo,
        taken: &Taken,
        inside: &Inside,
    ) -> Result<Chat> {
        let (id, session) = (info.request_id.as_str(), request.session_id.clone());
        let asked = request.asked.clone();
        if !request.fresh_id {
            let before = app.answered_before(id, session.as_deref(), asked.as_deref());
            if let Some(handled) = before.await? {
                let held = (inside.clone(), request.held);
                return Ok(answered(app, info, handled, held).await);
            }
        }
        let files = app.files_of(&request.attachments).await?;
        let file_infos: Vec<_> = files.iter().map(|file| file.info.clone()).collect();
        let input = InterceptInput {
            request: info.clone(),
            text: all_text_of(&request),
            files: file_infos.clone(),
            headers: request.headers.clone(),
        };
        // One that was sent before joins its turn, and what interceptors do is done.
        let is_known = !request.fresh_id && app.known_request(id).await?.is_some();
        let intercepted = match is_known {
            true => None,
            false => taken.unless_cancelled(app.intercept(input)).await?,
        };
        let (request, metadata) = match intercepted {
            Some(Interception::Handled(handled)) => {
                app.keep_answer(id, session.as_deref(), asked, &handled).await;
                let held = (inside.clone(), request.held);
                return Ok(answered(app, info, handled, held).await);
            }
            Some(Interception::Rewrite(rewrite)) => rewritten(request, rewrite),
            None => (request, Map::new()),
        };
        let shaping = async {
            let preface = app.attachment_texts(info, file_infos).await;
            Ok((preface, app.shaped(files, info, &request.overrides).await?))
        };
        let (preface, files) = taken.unless_cancelled(shaping).await?;
        let message = match request.history.is_empty() || has_content(&request, &files) {
            true => {
                let message = message_of(&request, &files)?.with_metadata(metadata);
                Some(attachments::noted(message, &files))
            }
            false => None,
        };
        let new = NewSession {
            agent: request.agent_id,
            id: Some(info.session_id.clone()),
            metadata: request.metadata,
        };
        let mut sent = app
            .begin_request(Request {
                session: match session {
                    Some(_) => Target::StoredOrNew(new),
                    None => Target::New(new),
                },
                history: request.history,
                at_length: request.at_length,
                caller_tools: request.caller_tools,
                max_tool_calls: request.max_tool_calls,
                message,
                overrides: request.overrides,
                request_id: Some(info.request_id.clone()),
                fresh_id: request.fresh_id,
                asked,
                stream: request.stream,
                persist: request.persist,
                wait: request.wait,
                approval: request.approval,
                preface,
                closely: request.closely,
                instructions: request.instructions,
            })
            .await?;
        app.adopt_assets(&request.attachments, &info.session_id).await?;
        let (ender, at_end, inside) = (app.clone(), Box::new(info.clone()), inside.clone());
        let (feed, held) = (sent.feed(), request.held);
        // It is there as long as the turn, and has room for little but waiting.
        let ending = async move {
            match feed {
                Some(feed) => feed.closed().await,
                None => Box::pin(ender.settled(&at_end.request_id)).await,
            }
            Box::pin(ender.tell_hosts(Hook::OnRequestEnd, &at_end)).await;
            drop((inside, held));
        };
        let ended = tokio::spawn(ending.in_current_span());
        Ok(Chat {
            request_id: info.request_id.clone(),
            session_id: info.session_id.clone(),
            handled: None,
            said: sent.take_said(),
            events: sent.into_events(),
            ended,
        })
    }
}

/// The answer of a host plugin as a request of its own that ends at once. The session stays as it is.
async fn answered(
    app: &Application,
    info: &RequestInfo,
    handled: Handled,
    held: impl Send + 'static,
) -> Chat {
    let mut message = Message::assistant(handled.text.clone());
    if !handled.data.is_empty() {
        let told = serde_json::json!({ "status": handled.status, "data": handled.data });
        message = message.with_metadata_entry("handled", told);
    }
    let kind = EventKind::Final {
        messages: vec![message],
        session: SessionState::default(),
        usage: None,
        model: None,
        caller_calls: Vec::new(),
    };
    let event = Arc::new(Event {
        seq: app.unstored_number().await,
        at: crate::time::now(),
        session_id: Some(info.session_id.clone()),
        request_id: Some(info.request_id.clone()),
        kind,
    });
    let (ender, at_end) = (app.clone(), info.clone());
    let ending = async move {
        ender.tell_hosts(Hook::OnRequestEnd, &at_end).await;
        drop(held);
    };
    let ended = tokio::spawn(ending.in_current_span());
    Chat {
        request_id: info.request_id.clone(),
        session_id: info.session_id.clone(),
        handled: Some(handled),
        said: None,
        events: futures::stream::iter([event]).boxed(),
        ended,
    }
}

fn whole_config(app: &Application) -> HostInput {
    HostInput { config: app.shared.whole_config() }
}

async fn stop_first(app: &Application, count: usize) {
    let input = whole_config(app);
    for plugin in app.shared.hosts[..count].iter().rev() {
        let cx = app.host_context();
        if let Err(error) = app.runner().try_call(plugin, Hook::Stop, |p| p.stop(&input, &cx)).await
        {
            app.shared.door.failed(plugin.name(), Hook::Stop, &error);
        }
    }
}

/// Everything a user wrote, further parts included.
fn all_text_of(request: &ChatRequest) -> String {
    let parts = request.multipart_content.iter();
    let further = parts.filter_map(|part| part.get("text")?.as_str().map(str::to_owned));
    let all = std::iter::once(text_of(request)).chain(further);
    all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The request with another text, and what to keep with its message. All that was text before is
/// replaced; what the surface set counts more than what the interceptor did.
fn rewritten(mut request: ChatRequest, rewrite: Rewrite) -> (ChatRequest, Map) {
    request.content = rewrite.text.into();
    request.multipart_content.retain(|part| !part.get("text").is_some_and(Value::is_string));
    request.multipart_content.extend(rewrite.parts);
    for (key, value) in rewrite.overrides {
        request.overrides.entry(key).or_insert(value);
    }
    (request, rewrite.metadata)
}

fn text_of(request: &ChatRequest) -> String {
    match &request.content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn has_content(request: &ChatRequest, files: &[attachments::File]) -> bool {
    let says = match &request.content {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    };
    says || !request.multipart_content.is_empty() || !files.is_empty()
}

fn message_of(request: &ChatRequest, files: &[attachments::File]) -> Result<Message> {
    let mut parts = request.multipart_content.clone();
    parts.extend(files.iter().flat_map(|file| file.parts.clone()));
    let content = match &request.content {
        Value::Null if parts.is_empty() => {
            return Err(Error::bad_argument("there is nothing to send; write a message"));
        }
        Value::String(text) if text.trim().is_empty() && parts.is_empty() => {
            return Err(Error::bad_argument("there is nothing to send; write a message"));
        }
        Value::Null => Value::String(String::new()),
        content => content.clone(),
    };
    // The text is the content; among the parts it would reach the model twice.
    Ok(Message::user(content).with_multipart_content(parts))
}
