//! Turns: sending one, following it, stopping it. A turn goes on whoever listens.

use super::sessions::summary;
use super::trace::TraceEntry;
use super::view::List;
use super::view::request::{
    After, Allowed, ApprovalPolicy, Cancel, ListRequests, NewRequest, RequestView, TurnResult,
    Verdict,
};
use crate::asked::asked_at;
use crate::begin::Events;
use crate::caller::{Caller, Chat, Read, ToldHeaders};
use crate::extract::{Json, Nothing, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::request_id::{self, RequestId};
use crate::route::{Operation, Output};
use crate::server::ending;
use crate::sse::{EventStream, LastEventId, Source};
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use futures::future::FutureExt;
use futures::stream::StreamExt;
use orlop_app::{
    Approval, ChatRequest, Decision, EventKind, RequestState, RequestStatus, Wait, error_of,
};
use orlop_core::{Error, ErrorClass, Map, Value};
use std::pin::Pin;
use std::time::Duration;

/// How long whoever cancels a request waits for its end.
const CANCELLING: Duration = Duration::from_secs(3);

/// The events of a request that somebody wants the rest of.
pub(super) enum Followed {
    /// Those that follow.
    Stream(EventStream),
    /// There will be none any more. What browsers open again and again stays closed then.
    Over,
}

/// A turn, as it happens or as a whole.
pub(super) enum Turn {
    /// The events of this id, as they happen.
    Stream(String, EventStream),
    /// As a whole.
    Whole(Box<TurnResult>),
}

pub(super) async fn send(
    caller: Caller<Chat>,
    Path(session_id): Path<String>,
    ToldHeaders(headers): ToldHeaders,
    Json(mut new): Json<NewRequest>,
) -> Result<Turn, Problem> {
    caller.may_override(Some(&new.overrides))?;
    let id = caller.request_id.clone().or_of_body(new.request_id.take())?;
    if id.as_str() != caller.request_id.as_str() {
        tracing::Span::current().record("request_id", id.as_str());
    }
    turn(&caller, &id, session_id, headers, new).await.map_err(|problem| problem.of_request(&id))
}

async fn turn(
    caller: &Caller<Chat>,
    id: &RequestId,
    session_id: String,
    headers: Map,
    new: NewRequest,
) -> Result<Turn, Problem> {
    let stream = new.stream;
    // A turn that begins must not be answered with a refusal.
    let slot = stream.then(|| caller.server.take_stream(&caller.identity)).transpose()?;
    let asked = asked_at("turn", &new.asked());
    // From here on it can be cancelled.
    let taken = caller.app().take_request(id.as_str(), &session_id);
    let events = match joined(caller, id, &session_id, &asked, stream).await? {
        Some(events) => events,
        None => begun(caller, id, &session_id, headers, asked, new).await?,
    };
    drop(taken);
    let closing = caller.server.closing();
    match slot {
        Some(slot) => {
            let source = Source::Request(id.as_str().to_owned());
            let events = EventStream::new(events, source, 0, closing, slot);
            Ok(Turn::Stream(id.as_str().to_owned(), events))
        }
        None => tokio::select! {
            biased;
            whole = whole(id, session_id, events) => Ok(Turn::Whole(Box::new(whole?))),
            // It is cut off. It goes on when a server takes it up; asking again with its id joins it.
            () = closing => Err(ending()),
        },
    }
}

/// The events of a request that came before, if it did.
async fn joined(
    caller: &Caller<Chat>,
    id: &RequestId,
    session_id: &str,
    asked: &str,
    stream: bool,
) -> Result<Option<Events>, Problem> {
    if !id.is_given() {
        return Ok(None);
    }
    let app = caller.app();
    let Some(known) = app.known_request(id.as_str()).await? else { return Ok(None) };
    if known.session_id != session_id {
        return Err(Error::conflict(format!(
            "the request id \"{}\" belongs to a request of another session; choose another id",
            id.as_str()
        ))
        .into());
    }
    known.check(id.as_str(), Some(asked))?;
    Ok(Some(match stream {
        true => app.request_events_closely(id.as_str(), 0).await?,
        // Whoever waits for the whole is never behind.
        false => app.request_events(id.as_str(), 0).await?,
    }))
}

/// Begins a turn, and gives its events.
async fn begun(
    caller: &Caller<Chat>,
    id: &RequestId,
    session_id: &str,
    headers: Map,
    asked: String,
    new: NewRequest,
) -> Result<Events, Problem> {
    summary(&caller.app(), session_id).await?;
    let wait = match new.queue {
        true => Wait::For(caller.server.limits().queue_timeout),
        false => Wait::Briefly,
    };
    let queued = new.queue.then(|| caller.server.metrics().queued());
    let request = || ChatRequest {
        session_id: Some(session_id.to_owned()),
        content: new.content,
        multipart_content: new.multipart_content,
        attachments: new.attachments,
        overrides: new.overrides,
        request_id: Some(id.as_str().to_owned()),
        fresh_id: !id.is_given(),
        asked: Some(asked),
        stream: new.stream,
        wait,
        approval: match new.approval {
            ApprovalPolicy::Wait => Approval::Wait,
            ApprovalPolicy::Allow => Approval::Allow,
            ApprovalPolicy::Deny => Approval::Deny,
        },
        closely: new.stream,
        headers,
        context: caller.context(new.context),
        ..ChatRequest::default()
    };
    Ok(caller.server.begin(&caller.identity, request, queued).await?.events)
}

/// Waits for the end of a turn.
async fn whole(
    id: &RequestId,
    session_id: String,
    mut events: Events,
) -> Result<TurnResult, Problem> {
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Final { messages, session, usage, .. } => {
                return Ok(TurnResult {
                    request_id: id.as_str().to_owned(),
                    session_id,
                    messages: messages.clone(),
                    session: session.clone(),
                    usage: usage.clone(),
                });
            }
            EventKind::RequestFailed { error } => return Err(error_of(error).into()),
            EventKind::RequestCancelled { reason } => {
                return Err(Error::cancelled(reason.clone()).into());
            }
            _ => {}
        }
    }
    // It stopped at a checkpoint.
    Err(ending())
}

pub(super) async fn of_session(
    caller: Caller<Read>,
    Path(session): Path<String>,
    Query(query): Query<ListRequests>,
) -> Result<Json<List<RequestView>>, Problem> {
    let app = caller.app();
    summary(&app, &session).await?;
    let limit = query.limit.unwrap_or(20).clamp(1, 100);
    let requests = app.session_requests(&session, limit).await?.into_iter();
    Ok(Json(List { items: requests.map(RequestView::from).collect() }))
}

pub(super) async fn state(
    caller: Caller<Read>,
    Path(request): Path<String>,
) -> Result<Json<RequestView>, Problem> {
    Ok(Json(caller.app().request_state(&request).await?.into()))
}

pub(super) async fn events(
    caller: Caller<Read>,
    Path(request): Path<String>,
    Query(query): Query<After>,
    last: LastEventId,
) -> Result<Followed, Problem> {
    let after = last.or(query.after).unwrap_or_default();
    let slot = caller.server.take_stream(&caller.identity)?;
    let app = caller.app();
    let mut events = app.request_events_closely(&request, after).await?.peekable();
    let is_empty = matches!(Pin::new(&mut events).peek().now_or_never(), Some(None));
    if is_empty && app.request_state(&request).await?.is_over() {
        return Ok(Followed::Over);
    }
    let (events, closing) = (events.boxed(), caller.server.closing());
    let source = Source::Request(request);
    Ok(Followed::Stream(EventStream::new(events, source, after, closing, slot)))
}

pub(super) async fn cancel(
    caller: Caller<Chat>,
    Path(request): Path<String>,
    OptionalJson(cancel): OptionalJson<Cancel>,
) -> Result<Json<RequestView>, Problem> {
    let app = caller.app();
    let reason = cancel.reason.unwrap_or_else(|| "the client cancelled it".to_owned());
    let before = app.request_state(&request).await?;
    app.cancel_request(&request, &reason).await?;
    if !before.is_over() {
        let _ = tokio::time::timeout(CANCELLING, app.settled(&request)).await;
    }
    let state = match app.request_state(&request).await {
        // Nothing is kept of one that had not begun, or is not stored.
        Err(error) if error.class() == ErrorClass::NotFound => {
            RequestState { status: RequestStatus::Cancelled, reason: Some(reason), ..before }
        }
        state => state?,
    };
    Ok(Json(state.into()))
}

pub(super) async fn decide(
    caller: Caller<Chat>,
    Path((request, call)): Path<(String, String)>,
    Json(verdict): Json<Verdict>,
) -> Result<Json<RequestView>, Problem> {
    let app = caller.app();
    let decision = Decision {
        allow: verdict.decision == Allowed::Allow,
        input: verdict.input,
        reason: verdict.reason,
        by: caller.identity.scope().user().to_owned(),
        remember: verdict.remember,
    };
    app.decide(&request, &call, decision).await?;
    Ok(Json(app.request_state(&request).await?.into()))
}

pub(super) async fn trace(
    caller: Caller<Read>,
    Path(request): Path<String>,
) -> Result<Json<List<TraceEntry>>, Problem> {
    let trace = caller.app().trace(&request).await?;
    Ok(Json(List { items: trace.into_iter().map(TraceEntry).collect() }))
}

impl IntoResponse for Followed {
    fn into_response(self) -> Response {
        match self {
            Self::Stream(events) => events.into_response(),
            Self::Over => Nothing.into_response(),
        }
    }
}

impl Output for Followed {
    fn describe(operation: &mut Operation<'_>) {
        EventStream::describe(operation);
        Nothing::describe(operation);
    }
}

impl IntoResponse for Turn {
    fn into_response(self) -> Response {
        let (id, mut response) = match self {
            Self::Stream(id, events) => (id, events.into_response()),
            Self::Whole(turn) => (turn.request_id.clone(), Json(turn).into_response()),
        };
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(request_id::HEADER, id);
        }
        response
    }
}

impl Output for Turn {
    fn describe(operation: &mut Operation<'_>) {
        EventStream::describe(operation);
        let schema: Value = operation.schema::<TurnResult>();
        operation.answers("200", "application/json", schema);
    }
}
