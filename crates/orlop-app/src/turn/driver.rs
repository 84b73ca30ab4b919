//! Does what the machine says: each new state is durable before it is acted upon.

use super::journal::Journal;
use super::machine::{CallState, Effect, Input, Next, Outcome, Turn};
use super::models::Models;
use super::{Control, Decision, FRAGMENTS};
use crate::application::{Agent, Application, Step};
use crate::feed::Feed;
use crate::lock::{SessionLock, locked};
use crate::pace::Streams;
use crate::store::ChangeNote;
use crate::time::now;
use crate::trace::lines_of;
use crate::watch::{RanIn, RanTo};
use futures::channel::mpsc;
use futures::stream::{FuturesUnordered, StreamExt};
use orlop_core::types::ActionRecord;
use orlop_core::types::app_event::{ContextUse, Event, EventKind, SessionState};
use orlop_core::{
    CancelToken, Config, Error, Message, NewMessage, Result, Session, Value, lifecycle,
};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often messages left in the store are looked for.
pub(super) const SIGNALS: Duration = Duration::from_secs(1);

/// One turn, and everything it needs to run.
pub(crate) struct Driver {
    pub(super) app: Application,
    pub(super) lock: SessionLock,
    pub(super) agent: Arc<Agent>,
    /// The models that may be asked.
    pub(super) models: Models,
    /// The settings of the one that is.
    pub(super) config: Config,
    pub(super) turn: Turn,
    /// What is stored of its calls.
    pub(super) journal: Journal,
    pub(super) session: Session,
    pub(super) request: String,
    pub(super) persist: bool,
    pub(super) cancel: CancelToken,
    pub(super) feed: Option<Arc<Feed>>,
    /// What the model had said when it was stopped.
    pub(super) interrupted: Option<Message>,
    pub(super) inbox: Option<mpsc::UnboundedReceiver<Control>>,
    /// What was left in the store for this turn and is not dealt with yet.
    pub(super) signals: VecDeque<Control>,
    /// What is to be done.
    pub(super) next: Next,
    pub(super) tools: FuturesUnordered<super::tools::Running>,
    /// When the tools that run began.
    pub(super) tools_since: HashMap<String, Instant>,
    /// By which a change of the history that the next commit stores can be undone.
    pub(super) undo: Option<ChangeNote>,
    /// The tokens of the conversation, as the model server counted them with the last answer.
    pub(super) counted: Option<u64>,
    /// What the model server said of its last answer, for the trace.
    pub(super) answered: orlop_core::Map,
    /// Whether the model is speaking.
    pub(super) streams: Streams,
    /// Numbers for fragments.
    numbers: Range<u64>,
    /// Whether the session is lent to the flow, so that tools can change it.
    lent: bool,
}

impl Driver {
    #[expect(clippy::too_many_arguments, reason = "a turn is made of all of these, in one place")]
    pub(super) fn new(
        app: Application,
        lock: SessionLock,
        agent: Arc<Agent>,
        models: Models,
        turn: Turn,
        session: Session,
        request: String,
        persist: bool,
    ) -> Self {
        let cancel = CancelToken::new();
        // What plugins do on behalf of the turn ends with it.
        let caller = app.caller.clone().cancelled_by(Arc::new(cancel.clone()));
        Self {
            app: app.called_with(caller),
            lock,
            agent,
            config: models.config(turn.again.model),
            models,
            turn,
            journal: Journal::default(),
            session,
            request,
            persist,
            cancel,
            feed: None,
            interrupted: None,
            inbox: None,
            signals: VecDeque::new(),
            next: Next::default(),
            tools: FuturesUnordered::new(),
            tools_since: HashMap::new(),
            undo: None,
            counted: None,
            answered: orlop_core::Map::new(),
            streams: Streams::default(),
            numbers: 1..1,
            lent: false,
        }
    }

    /// Runs the turn to its end.
    pub(super) async fn run(mut self: Box<Self>) {
        if let Err(error) = self.drive().await {
            // The store would not take the next state. The stored one stands; whoever has the
            // session next settles it.
            tracing::error!(target: "orlop::app", request = self.request, %error, "a turn could not be made durable");
            self.show(EventKind::RequestFailed { error: error.to_json() });
        }
        let key = (self.app.scope.clone(), self.request.clone());
        locked(&self.app.shared.running).remove(&key);
        self.app.shared.pausing.one_left();
        self.lend(false);
        let Self { app, lock, request, .. } = *self;
        lock.release().await;
        app.shared.hub.close(&app.scope, &request);
    }

    /// What the model says may take minutes, and hundreds of turns may wait for that at once; what is
    /// done before and after it takes room only while it is done.
    async fn drive(&mut self) -> Result<()> {
        loop {
            let next = std::mem::take(&mut self.next);
            for effect in next.effects {
                if self.pauses_before(&effect) {
                    return Ok(());
                }
                match effect {
                    Effect::CallModel => {
                        let (input, events) = self.call_model().await;
                        Box::pin(self.step(input, events)).await?;
                    }
                    Effect::Shorten => {
                        let (input, events) = Box::pin(self.shorten()).await;
                        Box::pin(self.step(input, events)).await?;
                    }
                    Effect::Run(call) => self.start_tool(&call),
                    Effect::Settle => return Box::pin(self.settle()).await,
                }
            }
            if self.next.effects.is_empty() {
                if self.pauses_waiting() {
                    return Ok(());
                }
                let (input, events) = Box::pin(self.wait()).await?;
                if let Some(input) = input {
                    Box::pin(self.step(input, events)).await?;
                }
            }
        }
    }

    /// Applies an input, appends what closes the step, and makes the new state durable.
    async fn step(&mut self, input: Input, mut events: Vec<EventKind>) -> Result<()> {
        self.take_back();
        let open = self.turn.open_calls();
        let asked = self.turn.again.model;
        let next = self.turn.apply(input)?;
        events.extend(self.switch_model(asked));
        for event in ended(open, &self.turn, &next) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        for message in &next.append {
            self.append(message.clone()).await?;
        }
        // What settles is written with the outcome.
        if next.effects.contains(&Effect::Settle) && events.is_empty() && next.append.is_empty() {
            self.next = next;
            return Ok(());
        }
        let turn = self.turn_write()?;
        let trace = self.traced();
        let (session, undo) = (Some(self.session.clone()), self.undo.take());
        self.commit(Step { session, turn: Some(turn), events, trace, undo, ..Step::default() })
            .await?;
        self.next = next;
        self.lend(!self.turn.calls().is_empty());
        Ok(())
    }

    /// Takes the settings of another model if the turn goes on with one, and tells of it.
    fn switch_model(&mut self, before: usize) -> Option<EventKind> {
        let now = self.turn.again.model;
        if now == before {
            return None;
        }
        self.config = self.models.config(now);
        let failed = self.turn.again.failed.last()?;
        Some(EventKind::ModelFallback {
            from: failed.name.clone(),
            to: self.models.name(&self.config),
            error: failed.error.clone(),
        })
    }

    /// Lends the session to the flow while tools run: what they save with the handle they were lent
    /// is part of the turn. In the middle of somebody else's run it is not ours to lend.
    pub(super) fn lend(&mut self, wanted: bool) {
        let Some(flow) = self.app.flow.as_ref().filter(|_| self.persist) else { return };
        let id = self.session.id();
        if self.lent || (wanted && flow.current(id).is_none()) {
            flow.set_current(id, wanted.then(|| self.session.clone()));
            self.lent = wanted;
        }
    }

    /// Takes over what tools saved.
    fn take_back(&mut self) {
        let flow = self.app.flow.as_ref().filter(|_| self.lent);
        if let Some(saved) = flow.and_then(|flow| flow.current(self.session.id())) {
            self.turn.first_message = super::moved(self.turn.first_message, &self.session, &saved);
            self.session = saved;
        }
    }

    pub(super) async fn append(&mut self, message: Message) -> Result<()> {
        let context = self.context();
        let core = self.app.core_of(&self.agent);
        let new = NewMessage::from(message).with_context(context);
        self.session = core.add_message(&self.session, new, &self.config).await?;
        Ok(())
    }

    /// What hooks of this turn are told.
    pub(super) fn context(&self) -> orlop_core::CallContext {
        let layer = self.app.layer(&self.agent.base, orlop_core::TriggerSource::Application);
        layer.owning("request_id", self.request.clone()).owning("session_id", self.session.id())
    }

    /// Runs a lifecycle of this turn on its session. Gives events for what people should see.
    pub(super) async fn lifecycle(
        &mut self,
        name: &str,
        owned: &[(&'static str, Value)],
    ) -> Result<Vec<ActionRecord>> {
        self.take_back();
        let app = self.app.clone();
        let mut told = vec![("request_id", Value::from(self.request.clone()))];
        told.extend_from_slice(owned);
        let run = app.hooked().run(name, &self.session, &self.agent, &self.config, &told).await?;
        self.turn.first_message =
            super::moved(self.turn.first_message, &self.session, &run.session);
        self.session = run.session;
        self.lend(self.lent);
        Ok(run.results)
    }

    /// Keeps little of what ran while the model speaks, which may take long: watchers hear of it now if
    /// nothing of it is stored.
    pub(super) fn settle_trace(&self) {
        match (&self.app.tracer, self.persist) {
            (Some(tracer), true) => tracer.shrink(),
            (Some(_), false) => drop(self.traced()),
            (None, _) => {}
        }
    }

    /// What ran since the last time, as lines of JSON: many steps may wait to be written at once.
    pub(super) fn traced(&self) -> String {
        self.traced_to(None)
    }

    /// The same at the end of the turn, with its outcome.
    fn traced_to(&self, outcome: Option<&Outcome>) -> String {
        let Some(tracer) = &self.app.tracer else { return String::new() };
        let trace = tracer.take();
        if let Some(watcher) = &self.app.shared.watcher {
            let model = self.models.name(&self.config);
            let ended = outcome.map(|outcome| RanTo {
                after: tracer.elapsed(),
                error: match outcome {
                    Outcome::Complete => None,
                    Outcome::Failed { error } => {
                        Some(error.get("type").and_then(Value::as_str).unwrap_or("internal"))
                    }
                    Outcome::Cancelled { .. } => Some("cancelled"),
                },
                usage: &self.turn.usage,
                model: &model,
            });
            let request = RanIn {
                scope: &self.app.scope,
                request_id: &self.request,
                session_id: self.session.id(),
                agent_id: &self.agent.id,
                trace_parent: self.app.caller.owned("trace_parent").and_then(Value::as_str),
                began: tracer.began_at,
                ended,
            };
            watcher.ran(&request, &trace);
        }
        match self.persist {
            true => lines_of(&trace),
            false => String::new(),
        }
    }

    /// Waits for a tool, a decision or a cancellation.
    async fn wait(&mut self) -> Result<(Option<Input>, Vec<EventKind>)> {
        let mut inbox = self.inbox.take();
        let waited = self.wait_with(&mut inbox).await;
        self.inbox = inbox;
        waited
    }

    async fn wait_with(
        &mut self,
        inbox: &mut Option<mpsc::UnboundedReceiver<Control>>,
    ) -> Result<(Option<Input>, Vec<EventKind>)> {
        if let Some(control) = self.signals.pop_front() {
            return Ok(self.controlled(control).await);
        }
        let control = async {
            match inbox {
                Some(inbox) => inbox.next().await,
                None => std::future::pending().await,
            }
        };
        let app = self.app.clone();
        let may_pause = self.persist && self.tools.is_empty();
        let paused = async {
            match may_pause {
                true => app.shared.pausing.begun().await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            control = control => match control {
                Some(control) => Ok(self.controlled(control).await),
                None => Ok((Some(Input::Cancelled("the application ended".to_owned())), Vec::new())),
            },
            Some(event) = self.tools.next(), if !self.tools.is_empty() => {
                self.tool_event(event).await
            }
            () = paused => Ok((None, Vec::new())),
            () = tokio::time::sleep(SIGNALS), if self.persist => {
                self.look_for_signals().await?;
                Ok((None, Vec::new()))
            }
        }
    }

    /// Takes what other processes left in the store for this turn. A cancellation holds at once.
    pub(super) async fn look_for_signals(&mut self) -> Result<()> {
        let store = self.app.shared.store.clone();
        for signal in store.take_signals(&self.app.scope, &self.request).await? {
            let control = control_of(&signal);
            if let Some(Control::Cancel(_)) = control {
                self.cancel.cancel();
            }
            self.signals.extend(control);
        }
        Ok(())
    }

    async fn controlled(&mut self, control: Control) -> (Option<Input>, Vec<EventKind>) {
        match control {
            Control::Cancel(reason) => {
                self.cancel.cancel();
                // Dropping the futures ends what the tools started.
                self.tools = FuturesUnordered::new();
                (Some(Input::Cancelled(reason)), Vec::new())
            }
            Control::Decide { call, decision, answer } => {
                let input = Input::Decided {
                    call: call.clone(),
                    allow: decision.allow,
                    input: decision.input.clone(),
                    reason: decision.reason.clone(),
                };
                // Tried on a copy, so that who decided hears whether it fits.
                let tried = match self.turn.clone().apply(input.clone()) {
                    Ok(_) => self.input_fits(&call, &decision).await,
                    Err(error) => Err(error),
                };
                let fits = tried.is_ok();
                let _ = answer.send(tried);
                if !fits {
                    return (None, Vec::new());
                }
                self.remember(&call, &decision).await;
                let resolved = EventKind::ApprovalResolved {
                    call_id: call,
                    decision: if decision.allow { "allow" } else { "deny" }.to_owned(),
                    by: decision.by,
                    remember: decision.remember,
                };
                (Some(input), vec![resolved])
            }
        }
    }

    /// The end: the lifecycle of the outcome, the final save, the event that ends the request.
    async fn settle(&mut self) -> Result<()> {
        let outcome = self.turn.outcome().cloned().unwrap_or(Outcome::Complete);
        let (name, owned) = match &outcome {
            Outcome::Complete => (lifecycle::REQUEST_COMPLETE, Vec::new()),
            Outcome::Failed { error } => (lifecycle::REQUEST_ERROR, vec![("error", error.clone())]),
            Outcome::Cancelled { reason } => {
                let error = Error::cancelled(reason.clone()).to_json();
                (lifecycle::REQUEST_ERROR, vec![("error", error)])
            }
        };
        // Bookkeeping that fails does not hide the outcome.
        if let Err(error) = self.lifecycle(name, &owned).await {
            tracing::error!(target: "orlop::app", lifecycle = name, %error, "a lifecycle failed after the request was decided");
        }
        // The lifecycle saw the last consistent session; what the user saw is kept beside it.
        if let Some(cut) = self.interrupted.take()
            && let Err(error) = self.append(cut).await
        {
            tracing::warn!(target: "orlop::app", %error, "an interrupted answer could not be kept");
        }
        if self.persist {
            match self.app.prepared_for_saving(self.session.clone()).await {
                Ok((session, None)) => self.session = session,
                // The answer is durable before the history it belongs to changes.
                Ok((session, note)) => {
                    let (held, turn) = (self.session.clone(), self.turn_write()?);
                    let step = Step { session: Some(held), turn: Some(turn), ..Step::default() };
                    self.commit(step).await?;
                    (self.session, self.undo) = (session, note);
                }
                Err(error) => {
                    tracing::error!(target: "orlop::app", %error, "session_save_prepare failed; the answer is saved without it");
                }
            }
        }
        let ended = outcome.clone();
        let event = match outcome {
            Outcome::Complete => EventKind::Final {
                messages: self.answer(),
                session: SessionState {
                    message_count: self.session.messages().len(),
                    context: self.context_use(),
                    ..SessionState::default()
                },
                usage: (!self.turn.usage.is_empty()).then(|| self.turn.usage.clone()),
                model: (self.turn.step > 0).then(|| self.models.name(&self.config)),
                caller_calls: self.turn.caller_calls.clone(),
            },
            Outcome::Failed { error } => EventKind::RequestFailed { error },
            Outcome::Cancelled { reason } => EventKind::RequestCancelled { reason },
        };
        self.turn.apply(Input::Told)?;
        let turn = self.turn_write()?;
        let step = Step {
            session: Some(self.session.clone()),
            turn: Some(turn),
            events: vec![event],
            trace: self.traced_to(Some(&ended)),
            undo: self.undo.take(),
            ..Step::default()
        };
        self.commit(step).await?;
        if self.persist {
            self.app
                .turn_persisted(&self.request, self.session.id(), &self.agent.id, self.turn.stream)
                .await;
        }
        Ok(())
    }

    /// How full the context window is. What was counted before a plugin shortened the history is
    /// no longer so.
    fn context_use(&self) -> Option<ContextUse> {
        let tokens = self.counted.filter(|_| self.undo.is_none())?;
        Some(ContextUse { tokens, window: self.agent.core.context_window(&self.config) })
    }

    /// What the turn added after the user's message.
    fn answer(&self) -> Vec<Message> {
        let skip = self.turn.first_message + 1;
        let messages = self.session.messages();
        let count = messages.len().saturating_sub(skip);
        let mut tail: Vec<Message> = messages.iter().rev().take(count).cloned().collect();
        tail.reverse();
        tail
    }

    /// Makes a step durable and shows its events; a turn that is not stored only shows them.
    pub(super) async fn commit(&mut self, mut step: Step) -> Result<()> {
        if !self.persist {
            if let Some(feed) = &self.feed {
                feed.keep_said(self.answer());
            }
            step.events.into_iter().for_each(|event| self.show(event));
            return Ok(());
        }
        step.request = Some(self.request.clone());
        if !self.turn.is_settled() {
            step.reserve = FRAGMENTS;
        }
        let written = self.app.write(&self.lock, step).await?;
        self.numbers = written.reserved;
        if let Some(session) = written.session {
            self.session = session;
        }
        if let Some(feed) = &self.feed {
            written.events.into_iter().for_each(|event| feed.push(event));
        }
        Ok(())
    }

    /// Shows an event that is not stored.
    pub(super) fn show(&mut self, kind: EventKind) {
        let seq = self.numbers.start;
        self.numbers.start += 1;
        let event = Arc::new(Event {
            seq,
            at: now(),
            session_id: Some(self.session.id().to_owned()),
            request_id: Some(self.request.clone()),
            kind,
        });
        self.app.watched(&event);
        if self.persist {
            self.app.shared.hub.tell(&self.app.scope, &event);
        }
        if let Some(feed) = &self.feed {
            feed.push(event);
        }
    }

    /// Shows a fragment, with a number nobody else has.
    pub(super) async fn fragment(&mut self, kind: EventKind) -> Result<()> {
        if self.persist && self.numbers.is_empty() {
            let store = &self.app.shared.store;
            self.numbers = store.publish(&self.app.scope, Vec::new(), FRAGMENTS).await?.reserved;
        }
        self.show(kind);
        Ok(())
    }
}

/// Results of the calls that were `open` before and are over after a transition.
pub(super) fn ended(open: Vec<(usize, String)>, turn: &Turn, next: &Next) -> Vec<EventKind> {
    let message = |index: usize| match turn.calls().get(index).map(|call| &call.state) {
        Some(CallState::Done { message }) => Some(message.clone()),
        Some(_) => None,
        None => next.append.get(index).cloned(),
    };
    let result =
        |(index, call_id)| message(index).map(|message| EventKind::ToolResult { call_id, message });
    open.into_iter().filter_map(result).collect()
}

/// A message left in the store.
fn control_of(signal: &Value) -> Option<Control> {
    let text = |key: &str| signal.get(key).and_then(Value::as_str).map(str::to_owned);
    match signal.get("signal").and_then(Value::as_str)? {
        "cancel" => Some(Control::Cancel(text("reason").unwrap_or_else(|| "cancelled".to_owned()))),
        "decide" => Some(Control::Decide {
            call: text("call")?,
            decision: Box::new(Decision {
                allow: signal.get("allow").and_then(Value::as_bool)?,
                input: signal.get("input").filter(|input| !input.is_null()).cloned(),
                reason: text("reason"),
                by: text("by").unwrap_or_default(),
                remember: signal
                    .get("remember")
                    .and_then(|remember| serde_json::from_value(remember.clone()).ok()),
            }),
            answer: tokio::sync::oneshot::channel().0,
        }),
        _ => None,
    }
}
