//! Responses that are stored: each is a turn of a session, and is made again of what is kept of it.

use super::item::{Item, items_of};
use super::kept;
use super::resource::{Ended, Resource, id_of, output_of, request_of};
use crate::openai::CONTEXT;
use crate::openai::error::{Answer, Failure};
use crate::openai::turns::{is_judged, seconds_of};
use axum::http::StatusCode;
use orlop_app::store::{EventQuery, TurnRecord};
use orlop_app::{Application, error_of};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Map, Message, Role, Value};
use std::ops::Range;

/// How many messages are read at once where it is not known how many there are.
const SOME: usize = 64;

/// A response that is stored.
pub(super) struct Stored {
    pub(super) request: String,
    pub(super) record: TurnRecord,
    pub(super) response: Resource,
    /// How many messages the session had before its input.
    input_start: usize,
    /// Where its input ends, and its answer begins.
    input_end: usize,
    /// Where messages were removed from its session since.
    removed: Vec<usize>,
    /// The event that ended it, if it is over.
    pub(super) end: Option<Event>,
}

/// The response of this id; `param` is where a client named it.
pub(super) async fn find(
    app: &Application,
    id: &str,
    param: Option<&'static str>,
) -> Answer<Stored> {
    let missing = || {
        let code = match param {
            Some(_) => "previous_response_not_found",
            None => "not_found",
        };
        let message =
            format!("there is no response {id:?}; it may have been sent with store: false");
        Failure::missing(param, code, message)
    };
    let request = request_of(id).ok_or_else(missing)?;
    orlop_app::check_id("request", request).map_err(|_| missing())?;
    let record = app.store().turn(app.scope(), request).await?.ok_or_else(missing)?;
    let told = |key: &str| record.state.get(key).cloned().unwrap_or_default();
    // Turns of other surfaces are no responses.
    let Some(Value::Object(mut kept)) = told("context").get(CONTEXT).cloned() else {
        return Err(missing());
    };
    let (_, beside) = kept::of(app, &record.session).await?;
    if beside.deleted.contains(&record.request) {
        return Err(missing());
    }
    let count = |value: Option<Value>| {
        value.and_then(|value| value.as_u64()).and_then(|it| usize::try_from(it).ok())
    };
    let removed_before = count(kept.remove("removed_before")).unwrap_or_default();
    let removed: Vec<usize> = beside.removed.into_iter().skip(removed_before).collect();
    let input_start = count(kept.remove("input_start")).unwrap_or_default();
    let input_end = count(Some(told("first_message"))).unwrap_or_default() + 1;
    let [input_start, input_end] = [input_start, input_end].map(|it| kept::moved(it, &removed));
    kept.insert("instructions".to_owned(), told("instructions"));
    let tools: Vec<Map> = serde_json::from_value(told("caller_tools")).unwrap_or_default();
    let response = Resource(kept).with_tools(&tools);
    let end = match record.settled {
        true => last_event(app, request).await?,
        false => None,
    };
    let request = request.to_owned();
    Ok(Stored { request, record, response, input_start, input_end, removed, end })
}

/// Whether there is a response to this request.
pub(in crate::openai) async fn is_known(app: &Application, request: &str) -> Answer<bool> {
    match find(app, &id_of(request), None).await {
        Ok(_) => Ok(true),
        Err(failure) if failure.status() == StatusCode::NOT_FOUND => Ok(false),
        Err(failure) => Err(failure),
    }
}

async fn last_event(app: &Application, request: &str) -> Answer<Option<Event>> {
    let mut query = EventQuery { request: Some(request.to_owned()), ..EventQuery::default() };
    loop {
        let events = app.store().events(app.scope(), &query).await?;
        let Some(last) = events.last() else { return Ok(None) };
        if last.kind.ends_request() {
            return Ok(events.into_iter().next_back());
        }
        query.after = last.seq;
    }
}

impl Stored {
    /// The response as it is now.
    pub(super) async fn json(&self, app: &Application) -> Answer<Value> {
        let Some(end) = &self.end else { return Ok(self.response.running()) };
        let error = match &end.kind {
            EventKind::Final { messages, usage, caller_calls: calls, .. } => {
                let at = seconds_of(end);
                let ended = Ended { at, messages, calls, usage: usage.as_ref() };
                return Ok(self.response.completed(&ended, ended.output(&self.request)));
            }
            EventKind::RequestFailed { error } => error_of(error),
            _ => Error::cancelled("cancelled"),
        };
        let output = self.cut_off(&self.messages(app).await?);
        Ok(self.response.failed(error, output))
    }

    /// What there is of the output of a response that failed or was cancelled.
    fn cut_off(&self, messages: &[Message]) -> Value {
        let items = items_of(messages, &[]);
        let interrupted = messages.last().and_then(|last| last.metadata().get("interrupted"));
        let open = interrupted.is_some_and(|it| *it == true).then(|| items.len().saturating_sub(1));
        output_of(&self.request, &items, open)
    }

    /// Whether its answers wait until they are accepted.
    pub(super) fn is_judged(&self, app: &Application) -> bool {
        let state = &self.record.state;
        let agent = state.get("agent").and_then(Value::as_str).unwrap_or_default();
        let overrides = state.get("overrides").and_then(Value::as_object);
        let config = app.agent(agent).map(|(_, config)| config).unwrap_or_default();
        is_judged(&config, overrides.unwrap_or(&Map::new()))
    }

    /// Its items, once it is done.
    pub(super) fn items(&self) -> Vec<Item> {
        match self.end.as_ref().map(|event| &event.kind) {
            Some(EventKind::Final { messages, caller_calls, .. }) => {
                items_of(messages, caller_calls)
            }
            _ => Vec::new(),
        }
    }

    /// What the session has of its answer.
    pub(super) async fn messages(&self, app: &Application) -> Answer<Vec<Message>> {
        let start = self.input_end;
        match self.end.as_ref().map(|end| &end.kind) {
            Some(EventKind::Final { messages, .. }) => Ok(messages.clone()),
            None => self.read(app, start..usize::MAX).await,
            Some(_) => self.answers_from(app, start).await,
        }
    }

    /// What the agent and its tools said from here on, up to what somebody else did.
    async fn answers_from(&self, app: &Application, mut start: usize) -> Answer<Vec<Message>> {
        let is_own = |message: &Message| matches!(message.role(), Role::Assistant | Role::Tool);
        let mut own = Vec::new();
        loop {
            let some = self.read(app, start..start.saturating_add(SOME)).await?;
            let (count, before) = (some.len(), own.len());
            own.extend(some.into_iter().take_while(is_own));
            if own.len() - before < SOME.max(count) {
                return Ok(own);
            }
            start += count;
        }
    }

    async fn read(&self, app: &Application, range: Range<usize>) -> Answer<Vec<Message>> {
        let messages = app.store().messages(app.scope(), &self.record.session, range).await?;
        Ok(messages.unwrap_or_default())
    }

    /// The messages of its input.
    pub(super) async fn input(&self, app: &Application) -> Answer<Vec<Message>> {
        self.read(app, self.input_start..self.input_end).await
    }

    /// How many messages its session had when it was done, without those that are gone by now. One
    /// that is not done cannot be continued.
    pub(super) fn length(&self) -> Answer<usize> {
        match self.end.as_ref().map(|event| &event.kind) {
            Some(EventKind::Final { session, .. }) => {
                Ok(kept::moved(session.message_count, &self.removed))
            }
            Some(_) => Err(Failure::bad(
                "previous_response_id",
                "that response failed or was cancelled; continue the one before it",
            )),
            None => Err(Failure::bad(
                "previous_response_id",
                "that response is not done yet; wait for it, or cancel it",
            )),
        }
    }
}

/// Deletes a response. Its messages are gone when all responses of the conversation are.
pub(super) async fn delete(app: &Application, stored: &Stored) -> Answer<()> {
    let session = &stored.record.session;
    kept::change(app, session, |kept| kept.deleted.push(stored.request.clone())).await?;
    let (_, kept) = kept::of(app, session).await?;
    let turns = app.store().turns(app.scope(), Some(session), kept.deleted.len() + 1).await?;
    if turns.iter().all(|turn| kept.deleted.contains(&turn.request)) {
        app.delete_session(session, Some("its last response was deleted")).await?;
    }
    Ok(())
}
