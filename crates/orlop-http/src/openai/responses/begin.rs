//! Beginning a response: which session it goes on with, and what it carries over.

use super::input;
use super::item::Item;
use super::kept;
use super::request::Wanted;
use super::resource::{Resource, id_of};
use super::stored::{self, Stored};
use crate::openai::CONTEXT;
use crate::openai::conversations::session_of;
use crate::openai::error::{Answer, Failure};
use crate::openai::turns::{self, Caller, seconds_now};
use orlop_app::store::Head;
use orlop_app::{Application, ChatRequest, KnownRequest, Wait};
use orlop_core::{Error, Map, Message, Value};
use std::collections::HashMap;

/// A response under way.
pub(super) struct Begun {
    pub(super) turn: turns::Begun,
    pub(super) response: Resource,
    /// Whether answers wait until they are accepted.
    pub(super) hold: bool,
    /// Whether a host plugin answered in place of the agent, which is over at once and stored nowhere.
    pub(super) is_over: bool,
    /// What was said so far, if the request had been sent before.
    pub(super) known: Vec<Message>,
}

/// What is wanted, and what it goes on with.
struct Read<'a> {
    wanted: &'a Wanted,
    messages: Vec<Message>,
    model: String,
    hold: bool,
    previous: Option<Stored>,
    conversation: Option<Head>,
}

/// Where a response goes on.
#[derive(Clone, Default)]
struct Place {
    session: Option<String>,
    /// How many messages the session has, and whether it must have so many still.
    length: usize,
    exactly: bool,
    /// How often messages had been removed from it.
    removed: usize,
    /// The conversation itself, where its session stays as it is.
    carried: Vec<Message>,
}

pub(super) async fn begin(caller: &mut Caller, wanted: &mut Wanted) -> Answer<Begun> {
    let app = &caller.app();
    let previous = match wanted.previous.as_deref() {
        Some(id) => Some(stored::find(app, id, Some("previous_response_id")).await?),
        None => None,
    };
    let conversation = match wanted.conversation.as_deref() {
        Some(id) => Some(session_of(app, id).await?),
        None => None,
    };
    let model = match (&wanted.model, &previous, &conversation) {
        (Some(model), _, _) => model.clone(),
        (None, Some(previous), _) => agent_of(previous),
        (None, None, Some(Head { agent: Some(agent), .. })) => agent.clone(),
        (None, None, _) => app.config().default_agent()?,
    };
    let config = turns::agent(app, &model)?;
    let items = followed(app, std::mem::take(&mut wanted.items)).await?;
    let messages = input::messages(items)?;
    let hold = turns::is_judged(&config, &wanted.overrides);
    let read = Read { wanted, messages, model, hold, previous, conversation };
    loop {
        let known = caller.sent_before().await?;
        match read.begin(caller, known).await {
            Err(failure) if failure.is_conflict() && caller.is_renamed().await? => {}
            begun => return begun,
        }
    }
}

impl Read<'_> {
    /// Begins it, or joins it if it is `known`.
    async fn begin(&self, caller: &Caller, known: Option<KnownRequest>) -> Answer<Begun> {
        let app = &caller.app();
        let mut response = self.wanted.response(caller.request(), seconds_now(), &self.model);
        let (model, store) = (&*self.model, self.wanted.store);
        let place = match (known, &self.previous, &self.conversation) {
            (Some(known), _, _) => Place { session: Some(known.session_id), ..Place::default() },
            (None, Some(previous), _) => place_after(app, previous, model, store).await?,
            (None, None, Some(head)) => place_in(app, head.clone(), model, store).await?,
            (None, None, None) => Place::default(),
        };
        let began = caller.chat(|| self.request(caller, &response, &place)).await;
        let mut turn = match (began, &self.previous) {
            // Somebody else goes on with the conversation just now: each has its own from here.
            (Err(failure), Some(previous)) if failure.is_conflict() => {
                let place = carried(app, previous).await?;
                caller.chat(|| self.request(caller, &response, &place)).await?
            }
            (began, _) => began?,
        };
        let mut known = Vec::new();
        if let Some(said) = turn.said.take() {
            known = said;
            // A retry is the same response.
            if let Ok(stored) = stored::find(app, &id_of(caller.request()), None).await {
                known = stored.messages(app).await?;
                response = stored.response;
            }
        }
        let is_over = turn.is_handled;
        if is_over {
            response.set("store", false);
        }
        Ok(Begun { turn, response, hold: self.hold, is_over, known })
    }

    fn request(&self, caller: &Caller, response: &Resource, place: &Place) -> ChatRequest {
        let wanted = self.wanted;
        let all = place.carried.iter().chain(&self.messages).cloned().collect();
        let request = caller.request_with(all);
        let mut kept = response.0.clone();
        // The turn has these itself.
        kept.shift_remove("tools");
        kept.shift_remove("instructions");
        kept.insert("input_start".to_owned(), (place.length + place.carried.len()).into());
        kept.insert("removed_before".to_owned(), place.removed.into());
        ChatRequest {
            session_id: place.session.clone(),
            at_length: place.exactly.then_some(place.length),
            agent_id: Some(self.model.clone()),
            instructions: wanted.instructions.clone(),
            caller_tools: wanted.tools.clone(),
            max_tool_calls: wanted.max_tool_calls,
            overrides: wanted.overrides.clone(),
            // Whoever reads a response in the background later on wants to read it as it comes.
            stream: wanted.stream || wanted.background,
            closely: wanted.stream,
            wait: Wait::Briefly,
            persist: (!wanted.store).then_some(false),
            context: request.context.clone().with(CONTEXT, Value::Object(kept)),
            ..request
        }
    }
}

fn agent_of(previous: &Stored) -> String {
    previous.record.state.get("agent").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The session of a response, if nothing came after it; else a fork of it up to there, or a copy
/// while somebody works on it.
async fn place_after(
    app: &Application,
    previous: &Stored,
    model: &str,
    store: bool,
) -> Answer<Place> {
    let (session, length) = (previous.record.session.clone(), previous.length()?);
    if !store || is_busy(app, &session).await? {
        return carried(app, previous).await;
    }
    let head = app.store().head(app.scope(), &session).await?;
    let goes_on = head
        .is_some_and(|head| head.message_count == length && head.agent.as_deref() == Some(model));
    match goes_on {
        true => Ok(Place { exactly: true, ..at(app, session, length).await? }),
        false => fork(app, previous, model).await,
    }
}

/// The session of a conversation, at its end.
async fn place_in(app: &Application, head: Head, model: &str, store: bool) -> Answer<Place> {
    let Head { id, agent, message_count: length, .. } = head;
    if !store {
        let messages = app.store().messages(app.scope(), &id, 0..length).await?;
        return Ok(Place { carried: messages.unwrap_or_default(), ..Place::default() });
    }
    if is_busy(app, &id).await? {
        let busy = "another response of this conversation is under way; wait for it, or cancel it";
        return Err(Error::conflict(busy).with_retryable(true).into());
    }
    if agent.as_deref() != Some(model) {
        app.switch_agent(&id, model).await?;
    }
    at(app, id, length).await
}

/// A session that has so many messages.
async fn at(app: &Application, session: String, length: usize) -> Answer<Place> {
    let removed = kept::of(app, &session).await?.1.removed.len();
    Ok(Place { session: Some(session), length, removed, ..Place::default() })
}

/// A new session that begins with a copy of the conversation.
async fn carried(app: &Application, previous: &Stored) -> Answer<Place> {
    let (session, length) = (&previous.record.session, previous.length()?);
    let messages = app.store().messages(app.scope(), session, 0..length).await?;
    Ok(Place { carried: messages.unwrap_or_default(), ..Place::default() })
}

async fn is_busy(app: &Application, session: &str) -> Answer<bool> {
    let turns = app.store().turns(app.scope(), Some(session), 1).await?;
    Ok(turns.iter().any(|turn| !turn.settled))
}

async fn fork(app: &Application, previous: &Stored, model: &str) -> Answer<Place> {
    let length = previous.length()?;
    let upto = i64::try_from(length).unwrap_or(i64::MAX) - 1;
    let id = app.fork_stored(&previous.record.session, Some(upto), None).await?;
    let agent = app.store().head(app.scope(), &id).await?.and_then(|head| head.agent);
    if agent.as_deref() != Some(model) {
        app.switch_agent(&id, model).await?;
    }
    Ok(Place { exactly: true, ..at(app, id, length).await? })
}

/// The input with what its references refer to in their place.
async fn followed(app: &Application, items: Vec<Map>) -> Answer<Vec<Map>> {
    let mut known: HashMap<String, Vec<Item>> = HashMap::new();
    let mut followed = Vec::with_capacity(items.len());
    for item in items {
        let is_reference = match item.get("type").and_then(Value::as_str) {
            Some("item_reference") => true,
            // Some clients leave the type out.
            None => item.contains_key("id") && !item.contains_key("role"),
            _ => false,
        };
        if !is_reference {
            followed.push(item);
            continue;
        }
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        let missing = || {
            let message = format!("there is no item {id:?} of a stored response");
            Failure::missing(Some("input"), "not_found", message)
        };
        let (request, place) = place_of(id).ok_or_else(missing)?;
        if !known.contains_key(request) {
            let stored = stored::find(app, &id_of(request), None).await.map_err(|_| missing())?;
            known.insert(request.to_owned(), stored.items());
        }
        let found = known.get(request).and_then(|items| items.get(place)).ok_or_else(missing)?;
        match found.json(request, place, "completed") {
            Value::Object(found) => followed.push(found),
            _ => return Err(missing()),
        }
    }
    Ok(followed)
}

/// The request and the place that the id of an item names.
fn place_of(id: &str) -> Option<(&str, usize)> {
    let (_, rest) = id.split_once('_')?;
    let (request, place) = rest.rsplit_once('_')?;
    Some((request, place.parse().ok()?))
}
