//! Requests: one turn each, from the user's message to the settled outcome.
//!
//! [`machine`] says what follows from what, [`driver`](self) does it. A turn runs in a task of its
//! own, so that nobody who listens can hold it up or end it by leaving.

mod again;
mod arguments;
mod by_hand;
mod continued;
mod control;
mod driver;
mod for_plugin;
mod form;
mod info;
mod journal;
mod known;
pub mod machine;
mod model;
mod models;
mod pause;
mod recover;
mod replay;
mod shorten;
mod state;
mod taken;
mod tools;
mod unbegun;

pub(crate) use arguments::ArgumentSchemas;
use continued::{continued, is_at};
pub use info::TurnInfo;
pub use known::KnownRequest;
pub use machine::{Outcome, Turn};
pub(crate) use pause::Pausing;
pub use recover::Recovery;
pub use state::{RequestState, RequestStatus, WaitingCall};
pub use taken::Taken;
pub(crate) use taken::TakenRequests;
pub use unbegun::Unbegun;

use crate::application::{Application, Step};
use crate::feed::Feed;
use crate::lock::{SessionLock, Wait, locked};
use crate::pace::Stage;
use crate::scope::check_id;
use crate::sessions::{NewSession, is_stored};
use crate::store::TurnWrite;
use driver::Driver;
use futures::channel::mpsc;
use futures::stream::{BoxStream, StreamExt};
use machine::{Again, Effect, Next, Phase};
use orlop_core::types::app_event::{Event, EventKind, Remember};
use orlop_core::{
    CancelToken, Config, Error, ErrorClass, Map, Message, Result, Session, Value, lifecycle,
};
use replay::until_end;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::Instrument;
use unbegun::leaves_traces;

/// How many sequence numbers are kept free for fragments at a time.
const FRAGMENTS: u64 = 4_096;

/// How many steps a turn may take where the agent does not say.
const MAX_STEPS: u32 = 50;

/// How often the model is asked again for output that fits, where the agent does not say.
pub(crate) const OUTPUT_REPAIRS: u32 = 1;

/// What to send.
#[derive(Clone, Default)]
pub struct Request {
    /// The session.
    pub session: Target,
    /// Messages to append first: earlier parts of a conversation that the caller keeps, and results
    /// of calls that it was handed.
    pub history: Vec<Message>,
    /// How many messages the session must have before that; else the request is a conflict.
    pub at_length: Option<usize>,
    /// Tools that the caller runs itself. A call of one ends the request; its result belongs into
    /// the `history` of the next one.
    pub caller_tools: Vec<Map>,
    /// How many calls of the agent's own tools may run; those beyond it are refused.
    pub max_tool_calls: Option<u64>,
    /// The user's message, appended then; none if the session has it already.
    pub message: Option<Message>,
    /// Settings of this request, over those of the session.
    pub overrides: Map,
    /// The id of the request. Another one with the same id is the same request.
    pub request_id: Option<String>,
    /// Whether the id was made for this request: it cannot have come before, and nobody looks for it.
    pub fresh_id: bool,
    /// A digest of what is asked, where the caller has one: another request with the same id and
    /// another digest is a conflict.
    pub asked: Option<String>,
    /// Whether fragments are wanted.
    pub stream: bool,
    /// Whether the session is stored; by default if it is already, and not marked `ephemeral` or
    /// `side`.
    pub persist: Option<bool>,
    /// How long to wait if the session is busy.
    pub wait: Wait,
    /// What becomes of tool calls that a person should decide on.
    pub approval: Approval,
    /// Texts that go before the user's message and are not stored.
    pub preface: Vec<String>,
    /// Whether the events end where whoever reads them falls far behind.
    pub closely: bool,
    /// A system message for this request alone; it is not stored either.
    pub instructions: Option<String>,
}

impl Request {
    /// The id of the session; a new one without an id gets it here.
    fn settle_session(&mut self) -> String {
        match &mut self.session {
            Target::Stored(id) => id.clone(),
            Target::StoredOrNew(new) | Target::New(new) => {
                new.id.get_or_insert_with(|| uuid::Uuid::new_v4().to_string()).clone()
            }
            Target::Value(session) => session.id().to_owned(),
        }
    }
}

/// The session of a request.
#[derive(Clone)]
pub enum Target {
    /// A stored one.
    Stored(String),
    /// A stored one, or a new one if there is none.
    StoredOrNew(NewSession),
    /// A new one, whose id was made for it: the store need not be asked for it.
    New(NewSession),
    /// This one.
    Value(Box<Session>),
}

impl Default for Target {
    fn default() -> Self {
        Self::StoredOrNew(NewSession::default())
    }
}

/// What becomes of tool calls that a person should decide on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The turn waits for a decision.
    #[default]
    Wait,
    /// They run.
    Allow,
    /// They do not run, and the model is told so.
    Deny,
}

/// A decision on a tool call.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// Whether it may run.
    pub allow: bool,
    /// Another input for it.
    pub input: Option<Value>,
    /// What the model reads if it may not.
    pub reason: Option<String>,
    /// Who decided.
    pub by: String,
    /// For how long it holds, if for more than this call: what was offered with the question is
    /// remembered, unless the call gets another input.
    pub remember: Option<Remember>,
}

/// A turn that runs in this process.
pub(crate) struct Running {
    pub(crate) session: String,
    /// The digest of what was asked.
    pub(crate) asked: Option<String>,
    pub(crate) cancel: CancelToken,
    pub(crate) control: Controls,
}

/// Where a running turn is reached. It takes room for what waits only.
pub(crate) type Controls = mpsc::UnboundedSender<Control>;

/// What reaches a running turn from outside.
#[derive(Debug)]
pub(crate) enum Control {
    Cancel(String),
    Decide {
        call: String,
        decision: Box<Decision>,
        answer: tokio::sync::oneshot::Sender<Result<()>>,
    },
}

/// A request under way.
pub struct RequestHandle {
    request_id: String,
    session_id: String,
    app: Application,
    events: BoxStream<'static, Arc<Event>>,
    said: Option<Vec<Message>>,
    /// Its events as this process has them, if it runs here.
    feed: Option<Arc<Feed>>,
}

impl RequestHandle {
    /// The id of the request.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The session.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The next event; `None` after the one that ends the request.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        self.events.next().await
    }

    /// Takes what the agent and its tools had said by then, if the request had been sent before:
    /// fragments of that may be gone. It is empty where the session is stored, which has it.
    pub fn take_said(&mut self) -> Option<Vec<Message>> {
        self.said.take()
    }

    /// Where this process has its events, if it runs here.
    pub(crate) fn feed(&self) -> Option<Arc<Feed>> {
        self.feed.clone()
    }

    /// All events from here on.
    pub fn into_events(self) -> BoxStream<'static, Arc<Event>> {
        self.events
    }

    /// Cancels the request.
    pub async fn cancel(&self, reason: &str) -> Result<()> {
        self.app.cancel_request(&self.request_id, reason).await
    }

    /// Waits for the end and gives the event that ended the request. A failure is an error.
    pub async fn finish(mut self) -> Result<Arc<Event>> {
        while let Some(event) = self.next().await {
            match &event.kind {
                EventKind::Final { .. } => return Ok(event),
                EventKind::RequestFailed { error } => return Err(error_of(error)),
                EventKind::RequestCancelled { reason } => {
                    return Err(Error::cancelled(reason.clone()));
                }
                _ => {}
            }
        }
        Err(Error::internal("the request ended without an outcome"))
    }
}

/// The error that an event carries.
pub fn error_of(error: &Value) -> Error {
    let class = error.get("type").and_then(|class| serde_json::from_value(class.clone()).ok());
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the request failed");
    let retryable = error.get("retryable").and_then(Value::as_bool).unwrap_or(false);
    let wait = error.get(orlop_core::types::error::RETRY_AFTER).and_then(Value::as_u64);
    Error::new(class.unwrap_or(ErrorClass::Internal), message)
        .with_retryable(retryable)
        .with_retry_after(wait.map(std::time::Duration::from_secs))
}

impl Application {
    /// Sends a request. The turn runs on its own; the handle gives its events.
    pub async fn send_request(&self, mut request: Request) -> Result<RequestHandle> {
        let Some(id) = request.request_id.clone() else { return self.begin_request(request).await };
        check_id("request", &id)?;
        let taken = self.take_request(&id, &request.settle_session());
        let beginning = async { Ok(self.shared.locks.beginning(&self.scope, &id).await) };
        let begun = async {
            let _beginning = taken.unless_cancelled(beginning).await?;
            self.begin_request(request).await
        };
        taken.told(begun.await)
    }

    /// Sends a request, which nobody else in this process begins at the same time.
    pub(crate) async fn begin_request(&self, mut request: Request) -> Result<RequestHandle> {
        let request_id =
            request.request_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        check_id("request", &request_id)?;
        let taken = self.take_request(&request_id, &request.settle_session());
        // Who waits here is who sent it; plugins have more time.
        let wait = Wait::default();
        let app = Self { tracer: self.new_tracer(), wait, ..self.in_flow() };
        let closely = request.closely;
        if request.fresh_id || request.request_id.is_none() {
            return Ok(app.prepare(request, request_id, &taken).await?.spawn(closely));
        }
        let asked = request.asked.clone();
        if let Some(handle) = app.join(&request_id, asked.as_deref(), closely).await? {
            return Ok(handle);
        }
        match app.clone().prepare(request, request_id.clone(), &taken).await {
            Ok(prepared) => Ok(prepared.spawn(closely)),
            // Another process may have begun the same request meanwhile.
            Err(error) if error.class() == ErrorClass::Conflict => {
                app.join(&request_id, asked.as_deref(), closely).await?.ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Everything up to the moment the model is asked: lock, session, settings, the user's
    /// message, `request_prepare`, and the first checkpoint.
    async fn prepare(
        self,
        mut request: Request,
        request_id: String,
        taken: &Taken,
    ) -> Result<Driver> {
        let id = request.settle_session();
        let is_unstored =
            matches!(request.session, Target::New(_)) && request.persist == Some(false);
        let lock = match &self.flow {
            // Nobody else can want it.
            Some(flow) if is_unstored => Ok(flow.hold_unstored(&id)),
            _ => self.lock_unless(&id, request.wait, Some(taken.token())).await,
        };
        let lock = match (lock, taken.reason()) {
            (Err(error), Some(reason)) if error.is_cancelled() => {
                return Err(Error::cancelled(reason));
            }
            (lock, _) => lock?,
        };
        let (app, is_stored) = (self.clone(), leaves_traces(&request) && !self.read_only);
        let prepared =
            self.prepare_locked(lock.clone(), &id, request, request_id.clone(), taken).await;
        if let Err(error) = &prepared {
            lock.release().await;
            if is_stored && error.plugin_name().is_some() {
                app.note_unbegun(&request_id, &id, error).await;
            }
        }
        prepared
    }

    async fn prepare_locked(
        mut self,
        lock: SessionLock,
        id: &str,
        request: Request,
        request_id: String,
        taken: &Taken,
    ) -> Result<Driver> {
        let Request { session, history, at_length, caller_tools, max_tool_calls, message, .. } =
            request;
        let Request { overrides, stream, persist, approval, preface, instructions, asked, .. } =
            request;
        let is_made = matches!(session, Target::New(_));
        let settled = !is_made && self.settle_abandoned(id, &lock).await?;
        if settled && matches!(session, Target::Value(_)) {
            return Err(Error::conflict(format!(
                "session \"{id}\" had a request that was cut off and has just been closed; load the session and try again"
            ))
            .with_retryable(true));
        }
        let (session, events) = taken.unless_cancelled(self.session_for(session, id)).await?;
        at_length.map_or(Ok(()), |length| is_at(&session, length))?;
        let is_new = !events.is_empty();
        let known = !is_new && self.shared.store.head(&self.scope, id).await?.is_some();
        let persist = is_stored(&session, known || is_new, persist);
        if persist && self.read_only {
            return Err(Error::bad_state(
                "this is no place for a request that is stored; send it with persist: false",
            ));
        }
        if !persist {
            self.flow = self.flow.map(|flow| flow.aside());
        }
        let mut agent = self.agent_of(&session)?;
        if !agent.credentials.is_empty() {
            self.renew_logins(&agent).await?;
            agent = self.agent_of(&session)?;
        }
        let core = self.core_of(&agent);
        let config = self.effective(&agent, &session, &[&overrides]);
        let models = self.models_of(&config)?;
        let adding = async {
            let mut session = session;
            for message in history.into_iter().chain(message) {
                session = continued(&core, session, message, &config).await?;
            }
            Ok(session)
        };
        let session = taken.unless_cancelled(adding).await?;
        let first_message = session.messages().len().saturating_sub(1);
        let name = lifecycle::REQUEST_PREPARE;
        let hooked = self.hooked();
        let run = hooked.run(name, &session, &agent, &config, &[]);
        let run = taken.unless_cancelled(run).await?;
        let first_message = moved(first_message, &session, &run.session);
        let turn = Turn {
            agent: agent.id.clone(),
            overrides,
            context: self.caller.data().clone(),
            asked,
            preface,
            instructions,
            stream,
            approval,
            first_message,
            step: 0,
            max_steps: max_steps(&config),
            usage: Map::new(),
            caller_tools,
            tool_calls_left: max_tool_calls,
            caller_calls: Vec::new(),
            again: Again { repairs: output_repairs(&config), ..Again::default() },
            phase: Phase::Model,
        };
        let mut driver =
            Driver::new(self, lock, agent, models, turn, run.session, request_id, persist);
        let mut events = if persist { events } else { Vec::new() };
        events.push(EventKind::RequestStarted {
            agent_id: driver.agent.id.clone(),
            message_index: Some(first_message),
        });
        driver.checkpoint_new(events).await?;
        driver.next = Next { append: Vec::new(), effects: vec![Effect::CallModel] };
        Ok(driver)
    }

    /// The session to work on, and the event that it is new, if it is.
    async fn session_for(&self, target: Target, id: &str) -> Result<(Session, Vec<EventKind>)> {
        match target {
            Target::Value(session) => Ok((*session, Vec::new())),
            Target::Stored(_) => Ok((self.session(id).await?.session, Vec::new())),
            Target::StoredOrNew(new) => match self.load_session(id).await? {
                Some(loaded) => Ok((loaded.session, Vec::new())),
                None => self.made(new, id).await,
            },
            Target::New(new) => self.made(new, id).await,
        }
    }

    /// A new session, and the event that it is new.
    async fn made(&self, new: NewSession, id: &str) -> Result<(Session, Vec<EventKind>)> {
        let new = NewSession { id: Some(id.to_owned()), ..new };
        let made = self.create_ephemeral_session(new).await?.session;
        let session = without_mark(&made);
        let agent_id = session.agent_id().map(str::to_owned);
        Ok((session, vec![EventKind::SessionCreated { agent_id, forked_from: None }]))
    }

    /// Settles a turn that another process left behind on a session this flow has the lock of.
    /// Gives whether there was one.
    async fn settle_abandoned(&self, session: &str, lock: &SessionLock) -> Result<bool> {
        let turns = self.shared.store.turns(&self.scope, Some(session), 1).await?;
        let left = turns.into_iter().find(|turn| !turn.settled);
        // One that runs in this very flow, such as a request of a plugin inside of a request.
        let left = left.filter(|turn| self.shared.hub.feed(&self.scope, &turn.request).is_none());
        match left {
            Some(record) => Box::pin(self.take_over(record, lock.clone(), Recovery::Settle)).await,
            None => Ok(false),
        }
    }
}

fn max_steps(config: &Config) -> u32 {
    count(config, "max_steps").unwrap_or(MAX_STEPS).max(1)
}

fn output_repairs(config: &Config) -> u32 {
    count(config, "output_repairs").unwrap_or(OUTPUT_REPAIRS)
}

fn count(config: &Config, key: &str) -> Option<u32> {
    config.get(key).and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok())
}

/// A session that was made without being stored, and now is to be.
fn without_mark(session: &Session) -> Session {
    let mut wire = session.to_wire();
    wire.metadata.shift_remove("ephemeral");
    Session::from_wire(wire)
}

/// Where the message at `first` is after a plugin changed the history before it. It stays where it
/// is if what follows it changed instead.
pub(crate) fn moved(first: usize, before: &Session, after: &Session) -> usize {
    let (old, new) = (before.messages(), after.messages());
    if old.len() == new.len() {
        return first;
    }
    let tail = old.len().saturating_sub(first);
    let said = |message: &Message| (message.role(), message.content().clone());
    let same = old.iter().rev().take(tail).map(said).eq(new.iter().rev().take(tail).map(said));
    if same {
        return new.len().saturating_sub(tail);
    }
    let asked = old.get(first).map(said);
    let kept = (0..new.len()).rev().find(|place| new.get(*place).map(said) == asked);
    kept.unwrap_or_else(|| first.min(new.len().saturating_sub(1)))
}

/// The text of the user's message that the turn answers.
pub(crate) fn asked(session: &Session, first_message: usize) -> String {
    session
        .messages()
        .get(first_message)
        .map(|message| message.text().to_owned())
        .unwrap_or_default()
}

impl Driver {
    /// The first checkpoint of a turn: the session after preparation, and the turn itself.
    async fn checkpoint_new(&mut self, events: Vec<EventKind>) -> Result<()> {
        let step = Step {
            session: Some(self.session.clone()),
            turn: Some(TurnWrite { new: true, ..self.turn_write()? }),
            events,
            ..Step::default()
        };
        self.feed = Some(self.app.shared.hub.open(&self.app.scope, &self.request));
        let written = self.commit(step).await;
        if written.is_err() {
            self.app.shared.hub.close(&self.app.scope, &self.request);
        }
        written
    }

    fn turn_write(&mut self) -> Result<TurnWrite> {
        self.journal.write(&self.request, &mut self.turn)
    }

    /// Runs the turn in a task of its own.
    fn spawn(mut self, closely: bool) -> RequestHandle {
        let app = Application { flow: None, tracer: None, ..self.app.clone() };
        let events = match &self.feed {
            Some(feed) if closely => until_end(feed.read_closely(0)),
            Some(feed) => until_end(feed.read(0)),
            None => futures::stream::empty().boxed(),
        };
        let handle = RequestHandle {
            request_id: self.request.clone(),
            session_id: self.session.id().to_owned(),
            app,
            events,
            said: None,
            feed: self.feed.clone(),
        };
        self.register();
        self.start();
        handle
    }

    /// Lets it run, in a task of its own. What is logged there names the request and the session.
    fn start(self) {
        let span = tracing::info_span!(
            target: "orlop::app", parent: None, "turn",
            request_id = self.request, session_id = self.session.id()
        );
        let (pace, streams) = (self.app.shared.pace.clone(), self.streams.clone());
        pace.spawn(Stage::Begun, Box::new(self).run().instrument(span), streams);
    }

    fn register(&mut self) {
        let (control, inbox) = mpsc::unbounded();
        self.inbox = Some(inbox);
        let session = self.session.id().to_owned();
        let asked = self.turn.asked.clone();
        let running = Running { session, asked, cancel: self.cancel.clone(), control };
        let (scope, request) = (&self.app.scope, &self.request);
        let told = running.control.clone();
        locked(&self.app.shared.running).insert((scope.clone(), request.clone()), running);
        // Whoever cancels it now finds it here; whoever did before left word.
        let taken = self.app.shared.taken.get(scope, request);
        if let Some(reason) = taken.as_ref().and_then(|taken| taken.reason()) {
            let _ = told.unbounded_send(Control::Cancel(reason.to_owned()));
            self.cancel.cancel();
        }
    }
}
