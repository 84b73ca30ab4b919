//! The turn as data: what state it is in, and which state follows from what happened.
//!
//! Transitions are pure. The driver makes a new state durable before it acts on it, so wherever a
//! process is killed, the stored state says what was about to happen.

pub use super::again::{Again, Ending, FailedModel, Unfit};
use super::{Approval, form};
use orlop_core::types::InspectedCall;
use orlop_core::types::app_event::{CallerCall, ModelName, RememberOffer};
use orlop_core::{Error, Map, Message, Result, Value, closed_tool_message};
use serde::{Deserialize, Serialize};

/// A turn between two steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The agent that answers.
    pub agent: String,
    /// Settings of this request, over those of the session.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub overrides: Map,
    /// What the caller told hooks.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map,
    /// A digest of what was asked, if the caller told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Texts that go before the user's message in every model call of the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preface: Vec<String>,
    /// What the caller wants the model to be told in this turn, beside the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether fragments are wanted.
    pub stream: bool,
    /// What becomes of calls that a person should decide on.
    #[serde(default)]
    pub approval: Approval,
    /// The position of the first message of the turn.
    pub first_message: usize,
    /// How many model calls have been answered.
    pub step: u32,
    /// How many there may be.
    pub max_steps: u32,
    /// Token counts so far.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub usage: Map,
    /// Tools that the caller brought and runs itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caller_tools: Vec<Map>,
    /// How many further calls of the agent's own tools the caller allows; as many as there are if
    /// it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls_left: Option<u64>,
    /// Calls of tools of the caller with which the turn ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caller_calls: Vec<CallerCall>,
    /// Which model is asked, and what is asked again.
    #[serde(default)]
    pub again: Again,
    /// What is under way.
    pub phase: Phase,
}

/// What is under way in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// The model is being asked.
    Model,
    /// The conversation is too long for the model; plugins are asked for a shorter one.
    Shortening {
        /// What the model server said.
        error: Value,
    },
    /// Calls of the model are being dealt with.
    Tools {
        /// In the order the model made them.
        calls: Vec<Call>,
    },
    /// The outcome is known; the lifecycle that tells of it is due.
    Settling {
        /// The outcome.
        outcome: Outcome,
    },
    /// It is over.
    Settled {
        /// The outcome.
        outcome: Outcome,
    },
}

/// A tool call of the current step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The id it is known by; made up where the model gave none.
    pub id: String,
    /// The call, as it is to be run.
    pub call: InspectedCall,
    /// Whether running it twice does no harm.
    pub idempotent: bool,
    /// Whether it may run beside other calls.
    pub concurrent: bool,
    /// How far it is.
    pub state: CallState,
}

impl Call {
    /// A call that nobody here runs.
    pub(super) fn of(id: String, call: InspectedCall, state: CallState) -> Self {
        Self { id, call, idempotent: false, concurrent: false, state }
    }

    /// Whether nothing is left to do here.
    fn is_over(&self) -> bool {
        matches!(self.state, CallState::Done { .. } | CallState::Caller)
    }

    fn for_caller(self) -> CallerCall {
        let Self { id, call, .. } = self;
        CallerCall {
            call_id: id,
            name: call.tool_name.unwrap_or_default(),
            input: call.payload,
            kind: call.payload_kind,
            call: call.raw,
        }
    }
}

/// How far a tool call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallState {
    /// A person has to decide.
    Asking {
        /// Why.
        reason: String,
        /// What the call needs to know before it may run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Map>,
        /// What can be remembered with the decision.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remember: Vec<RememberOffer>,
    },
    /// It may run.
    Ready,
    /// It was started, or is about to be.
    Running,
    /// It is for the caller to run, and the turn ends with it.
    Caller,
    /// It is over.
    Done {
        /// The tool message.
        message: Message,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Complete,
    /// With an error: `type`, `message`, `retryable`.
    Failed {
        /// The error.
        error: Value,
    },
    /// Somebody cancelled.
    Cancelled {
        /// Why.
        reason: String,
    },
}

/// What happened to a turn.
#[derive(Debug, Clone)]
pub enum Input {
    /// The model answered; these are its calls, gated already.
    Answered {
        /// The calls.
        calls: Vec<Call>,
        /// Token counts of this answer.
        usage: Map,
        /// How it ended, if it calls no tools.
        ending: Ending,
    },
    /// The model could not be asked; another one might.
    ModelFailed {
        /// The model.
        name: ModelName,
        /// Why.
        error: Error,
        /// How many models the agent has.
        models: usize,
    },
    /// The conversation is longer than the model can take.
    TooLong(Error),
    /// Plugins were asked for a shorter conversation.
    Shortened {
        /// Whether it is shorter now.
        is_shorter: bool,
    },
    /// Something failed that ends the turn.
    Failed(Error),
    /// A person decided on a call.
    Decided {
        /// The call.
        call: String,
        /// Whether it may run.
        allow: bool,
        /// Another input for it.
        input: Option<Value>,
        /// What the model reads if it may not.
        reason: Option<String>,
    },
    /// A tool is done.
    Finished {
        /// The call.
        call: String,
        /// Its tool message.
        message: Message,
    },
    /// Somebody cancelled.
    Cancelled(String),
    /// The process that ran the turn is gone.
    Interrupted {
        /// Whether to go on; else the turn is closed.
        resume: bool,
    },
    /// The lifecycle of the outcome has run.
    Told,
}

/// What follows from an input. Messages are appended with the commit of the new state; effects
/// come after it.
#[derive(Debug, Default, PartialEq)]
pub struct Next {
    /// Tool messages that close the step.
    pub append: Vec<Message>,
    /// What to do.
    pub effects: Vec<Effect>,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    CallModel,
    /// Ask plugins for a shorter conversation.
    Shorten,
    /// Run a call of the current step.
    Run(String),
    /// Run the lifecycle of the outcome, then settle.
    Settle,
}

impl Turn {
    /// The calls of the current step.
    pub fn calls(&self) -> &[Call] {
        match &self.phase {
            Phase::Tools { calls } => calls,
            _ => &[],
        }
    }

    /// The calls of the current step that are not over: position and id.
    pub fn open_calls(&self) -> Vec<(usize, String)> {
        let calls = self.calls().iter().enumerate();
        let open = calls.filter(|(_, call)| !call.is_over());
        open.map(|(index, call)| (index, call.id.clone())).collect()
    }

    /// Whether the turn is over.
    pub fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. })
    }

    /// The outcome, once there is one.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Settling { outcome } | Phase::Settled { outcome } => Some(outcome),
            _ => None,
        }
    }

    /// The state after `input`. An input that does not fit the state changes nothing and is a bad
    /// state error; one that comes too late (a decision after the end) is just that.
    pub fn apply(&mut self, input: Input) -> Result<Next> {
        match input {
            Input::Answered { calls, usage, ending } => self.answered(calls, usage, ending),
            Input::ModelFailed { name, error, models } => self.model_failed(name, error, models),
            Input::TooLong(error) => self.too_long(error),
            Input::Shortened { is_shorter } => self.after_shortening(is_shorter),
            Input::Decided { call, allow, input, reason } => {
                self.decided(&call, allow, input, reason)
            }
            Input::Finished { call, message } => self.finished(&call, message),
            Input::Failed(error) => self.end(
                Outcome::Failed { error: error.to_json() },
                "the request failed before this call ended; whether it had an effect is not known",
            ),
            Input::Cancelled(reason) => self.end(
                Outcome::Cancelled { reason },
                "the user cancelled this call before it ended; whether it had an effect is not known",
            ),
            Input::Interrupted { resume } => self.interrupted(resume),
            Input::Told => match std::mem::replace(&mut self.phase, Phase::Model) {
                Phase::Settling { outcome } => {
                    self.phase = Phase::Settled { outcome };
                    Ok(Next::default())
                }
                other => {
                    self.phase = other;
                    Err(Error::bad_state("the turn has no outcome to tell of"))
                }
            },
        }
    }

    fn answered(&mut self, calls: Vec<Call>, usage: Map, ending: Ending) -> Result<Next> {
        if self.phase != Phase::Model {
            return Err(Error::bad_state("the model answered though it was not asked"));
        }
        self.step += 1;
        add_usage(&mut self.usage, &usage);
        self.again.failed.clear();
        self.again.unfit = None;
        self.again.shortened = false;
        if calls.is_empty() {
            return Ok(self.ended(ending));
        }
        // Behind the others, so that what closes the step lies where its calls do.
        let mut calls = calls;
        calls.sort_by_key(|call| call.state == CallState::Caller);
        self.phase = Phase::Tools { calls };
        Ok(self.advance())
    }

    fn decided(
        &mut self,
        id: &str,
        allow: bool,
        input: Option<Value>,
        reason: Option<String>,
    ) -> Result<Next> {
        let call = self.call_mut(id)?;
        let CallState::Asking { form, .. } = &call.state else {
            return Err(Error::conflict(format!("call \"{id}\" has been decided on already")));
        };
        if allow {
            call.call.payload = match (form, input) {
                (Some(form), input) => form::answered(form, &call.call.payload, input.as_ref())?,
                (None, Some(input)) => input,
                (None, None) => std::mem::take(&mut call.call.payload),
            };
            call.state = CallState::Ready;
        } else {
            let refused = match form {
                Some(_) => "the user does not want to answer; go on without an answer, or stop",
                None => "the user refused this call",
            };
            let reason = reason.unwrap_or_else(|| refused.to_owned());
            call.state = CallState::Done { message: denied(&call.call, &reason) };
        }
        Ok(self.advance())
    }

    fn finished(&mut self, id: &str, message: Message) -> Result<Next> {
        let call = self.call_mut(id)?;
        if call.state != CallState::Running {
            return Err(Error::bad_state(format!("call \"{id}\" ended though it was not running")));
        }
        call.state = CallState::Done { message };
        Ok(self.advance())
    }

    fn call_mut(&mut self, id: &str) -> Result<&mut Call> {
        let calls = match &mut self.phase {
            Phase::Tools { calls } => calls.as_mut_slice(),
            _ => &mut [],
        };
        calls.iter_mut().find(|call| call.id == id).ok_or_else(|| {
            Error::not_found(format!("the turn waits for no call \"{id}\" at the moment"))
        })
    }

    /// Starts what may start now, or closes the step if all calls are over. A call starts when
    /// those before it are over, or when both may run side by side. A step with calls for the
    /// caller is the last one.
    fn advance(&mut self) -> Next {
        let Phase::Tools { calls } = &mut self.phase else { return Next::default() };
        let mut effects = Vec::new();
        // Of the calls that are not over, up to here: whether there are any, and whether all of
        // them let others run beside them.
        let (mut open, mut side_by_side) = (false, true);
        for call in calls.iter_mut() {
            if call.state == CallState::Ready && (!open || (side_by_side && call.concurrent)) {
                call.state = CallState::Running;
                effects.push(Effect::Run(call.id.clone()));
            }
            if !call.is_over() {
                (open, side_by_side) = (true, side_by_side && call.concurrent);
            }
        }
        if open {
            return Next { append: Vec::new(), effects };
        }
        let handed: Vec<Call> =
            calls.extract_if(.., |call| call.state == CallState::Caller).collect();
        let append = self.close_step("");
        if handed.is_empty() {
            return self.ask_again(append);
        }
        self.caller_calls = handed.into_iter().map(Call::for_caller).collect();
        Next { append, ..self.settling(Outcome::Complete) }
    }

    /// Asks the model once more, as long as there are steps left.
    pub(super) fn ask_again(&mut self, append: Vec<Message>) -> Next {
        if self.step >= self.max_steps {
            let error = Error::bad_state(format!(
                "the agent wanted more than {} steps; raise max_steps, or ask for less at once",
                self.max_steps
            ));
            return Next { append, ..self.settling(Outcome::Failed { error: error.to_json() }) };
        }
        self.phase = Phase::Model;
        Next { append, effects: vec![Effect::CallModel] }
    }

    pub(super) fn settling(&mut self, outcome: Outcome) -> Next {
        self.phase = Phase::Settling { outcome };
        Next { append: Vec::new(), effects: vec![Effect::Settle] }
    }

    /// The tool messages of the step, in call order; calls that are not over get `reason`.
    fn close_step(&mut self, reason: &str) -> Vec<Message> {
        let Phase::Tools { calls } = &mut self.phase else { return Vec::new() };
        let calls = std::mem::take(calls);
        let message = |call: Call| match call.state {
            CallState::Done { message } => message,
            CallState::Running => closed_tool_message(&call.call, format!("Error: {reason}")),
            CallState::Ready | CallState::Asking { .. } | CallState::Caller => closed_tool_message(
                &call.call,
                "Error: this call was not run; the request ended before",
            ),
        };
        calls.into_iter().map(message).collect()
    }

    /// Ends the turn wherever it is. One that has its outcome keeps it.
    fn end(&mut self, outcome: Outcome, reason: &str) -> Result<Next> {
        if self.outcome().is_some() {
            return Ok(Next::default());
        }
        let append = self.close_step(reason);
        Ok(Next { append, ..self.settling(outcome) })
    }

    fn interrupted(&mut self, resume: bool) -> Result<Next> {
        const UNKNOWN: &str =
            "the program ended while this call was running; whether it had an effect is not known";
        if !resume {
            let error = Error::unavailable(
                "the program that ran this request ended before it was done; send it again",
            );
            if let Phase::Settling { .. } = self.phase {
                return Ok(Next { append: Vec::new(), effects: vec![Effect::Settle] });
            }
            return self.end(Outcome::Failed { error: error.to_json() }, UNKNOWN);
        }
        match &mut self.phase {
            Phase::Model => Ok(Next { append: Vec::new(), effects: vec![Effect::CallModel] }),
            Phase::Shortening { .. } => {
                Ok(Next { append: Vec::new(), effects: vec![Effect::Shorten] })
            }
            Phase::Settling { .. } => {
                Ok(Next { append: Vec::new(), effects: vec![Effect::Settle] })
            }
            Phase::Settled { .. } => Ok(Next::default()),
            Phase::Tools { calls } => {
                for call in calls.iter_mut().filter(|call| call.state == CallState::Running) {
                    call.state = match call.idempotent {
                        true => CallState::Ready,
                        false => CallState::Done {
                            message: closed_tool_message(&call.call, format!("Error: {UNKNOWN}")),
                        },
                    };
                }
                Ok(self.advance())
            }
        }
    }
}

/// The tool message of a call that was refused.
pub(crate) fn denied(call: &InspectedCall, reason: &str) -> Message {
    closed_tool_message(call, format!("Error: this call was not allowed: {reason}"))
        .with_metadata_entry("tool_denied", true)
}

/// Adds token counts up, section by section; anything but numbers is replaced.
fn add_usage(total: &mut Map, more: &Map) {
    for (key, value) in more {
        match (total.get_mut(key), value) {
            (Some(Value::Object(held)), Value::Object(more)) => add_usage(held, more),
            (Some(Value::Number(held)), Value::Number(more)) => {
                let sum = match (held.as_u64(), more.as_u64()) {
                    (Some(a), Some(b)) => Value::from(a.saturating_add(b)),
                    _ => Value::from(
                        held.as_f64().unwrap_or_default() + more.as_f64().unwrap_or_default(),
                    ),
                };
                total.insert(key.clone(), sum);
            }
            _ => {
                total.insert(key.clone(), value.clone());
            }
        }
    }
}
