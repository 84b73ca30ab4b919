//! Asking the model: the lifecycles around it, the fragments on the way, the calls it makes.

use super::asked;
use super::driver::{Driver, SIGNALS};
use super::machine::{Call, Ending, Input, Unfit};
use super::tools::too_many;
use futures::StreamExt;
use orlop_core::types::app_event::EventKind;
use orlop_core::types::text;
use orlop_core::{
    CoreEvent, Error, ErrorClass, Map, Message, NativeItem, OUTPUT_PROBLEMS, Partial,
    RequestOptions, Response, Result, Role, Value, is_paused, lifecycle,
};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::time::Instant;

impl Driver {
    /// One model call. Gives what happened and the events that go with it.
    pub(super) async fn call_model(&mut self) -> (Input, Vec<EventKind>) {
        let began = std::time::Instant::now();
        self.answered = Map::new();
        let asked = self.ask().await;
        let answered = matches!(&asked, Ok((Input::Answered { .. }, _)));
        if let Some(tracer) = &self.app.tracer {
            let name = self.models.name(&self.config);
            let mut detail =
                json!({ "step": self.turn.step, "provider": name.provider, "model": name.model });
            if let (Value::Object(detail), Ok((Input::Answered { usage, .. }, _))) =
                (&mut detail, &asked)
            {
                detail.append(&mut self.answered);
                detail.insert("usage".to_owned(), usage.clone().into());
            }
            tracer.note("model_call", detail, began, answered);
        }
        match asked {
            Ok(answered) => answered,
            Err(error) if error.is_cancelled() || self.is_cancelled() => {
                (Input::Cancelled(self.reason()), Vec::new())
            }
            Err(error) => (Input::Failed(error), Vec::new()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        use orlop_core::Cancellation;
        self.cancel.is_cancelled()
    }

    /// Why the turn was cancelled, as whoever did it said.
    pub(super) fn reason(&mut self) -> String {
        let left = std::iter::from_fn(|| {
            let signal = self.signals.pop_front();
            signal.or_else(|| self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()))
        });
        let mut reasons = left.filter_map(|control| match control {
            super::Control::Cancel(reason) => Some(reason),
            super::Control::Decide { .. } => None,
        });
        reasons.next().unwrap_or_else(|| "the request was cancelled".to_owned())
    }

    async fn ask(&mut self) -> Result<(Input, Vec<EventKind>)> {
        Box::pin(self.renew_logins()).await?;
        Box::pin(self.prepare_model_call()).await?;
        let options = Box::pin(self.options()).await;
        let before = self.session.native().map_or(0, |native| native.items().len());
        let mut spoke = false;
        self.settle_trace();
        let response = self.stream(options, &mut spoke).await;
        self.streams.set(false);
        let response = match response {
            Ok(response) => response,
            Err(error) if !spoke && error.is_context_overflow() && !self.is_cancelled() => {
                return Ok((Input::TooLong(error), Vec::new()));
            }
            Err(error) if !spoke && self.another_might_answer(&error) => {
                let (name, models) = (self.models.name(&self.config), self.models.len());
                return Ok((Input::ModelFailed { name, error, models }, Vec::new()));
            }
            Err(error) => return Err(error),
        };
        self.answered = facts_of(&response);
        let ending = ending_of(&response);
        if let (Ending::Unfit(unfit), true) = (&ending, self.turn.may_repair()) {
            // As with an answer that failed, nothing of it becomes part of the session.
            let rejected = EventKind::OutputRejected { problems: unfit.problems.clone() };
            let usage = self.usage_of(&response, before);
            return Ok((Input::Answered { calls: Vec::new(), usage, ending }, vec![rejected]));
        }
        let (held, first) = (self.session.clone(), self.turn.first_message);
        let taken = Box::pin(self.take_in(response, before, ending)).await;
        if taken.is_err() {
            // An answer whose calls cannot be dealt with would be one that no result follows.
            (self.session, self.turn.first_message) = (held, first);
        }
        taken
    }

    async fn options(&mut self) -> RequestOptions {
        RequestOptions {
            request_id: Some(self.request.clone()),
            cancellation: Some(Arc::new(self.cancel.clone())),
            context: self.context(),
            preface: self.preface().await,
            without_tools: false,
            caller_tools: self.turn.caller_tools.clone(),
        }
    }

    /// Whether the failure is one of this model and not of what it is asked: the server cannot be
    /// reached or is busy, refuses the key, or does not have the model.
    fn another_might_answer(&self, error: &Error) -> bool {
        let name = self.models.name(&self.config);
        let is_the_model =
            error.plugin_name().is_none_or(|plugin| name.provider.as_deref() == Some(plugin));
        let fails_here = error.retryable()
            || matches!(error.class(), ErrorClass::Unavailable | ErrorClass::NotFound)
            || matches!(error.provider_status(), Some(401..=404));
        self.models.len() > 1
            && is_the_model
            && fails_here
            && !error.is_cancelled()
            && !self.is_cancelled()
    }

    /// Token counts of what the model just said, and what it cost if that is known.
    fn usage_of(&self, response: &Response, before: usize) -> Map {
        let Some(native) = response.session.native() else { return Map::new() };
        let new = native.items().suffix(before.min(native.items().len()));
        let counted = |item: &NativeItem| item.metadata().get("usage")?.as_object().cloned();
        let Some((item, mut usage)) =
            new.iter().rev().find_map(|item| Some((item, counted(item)?)))
        else {
            return Map::new();
        };
        let model = item.metadata().get("model").and_then(Value::as_str);
        let model = model.or_else(|| self.config.text("model")).unwrap_or_default();
        if let Some(cost) = self.agent.core.cost(&self.config, model, &usage) {
            usage.insert("cost".to_owned(), cost.into());
        }
        usage
    }

    /// The answer becomes part of the session, and its calls are planned.
    async fn take_in(
        &mut self,
        response: Response,
        before: usize,
        ending: Ending,
    ) -> Result<(Input, Vec<EventKind>)> {
        let usage = self.usage_of(&response, before);
        self.counted = tokens_of(&usage);
        self.turn.first_message = self.moved_by(&response);
        self.session = response.session;
        let mut events: Vec<EventKind> =
            response.action_results.into_iter().filter_map(shown).collect();
        self.lifecycle(lifecycle::MODEL_RESPONSE, &[]).await?;
        let calls = orlop_core::session::extract_tool_calls(&response.messages);
        let refusal = too_many(calls.len());
        let mut planned: Vec<Call> = Vec::with_capacity(calls.len());
        let mut ids = HashSet::with_capacity(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let taken = |id: &str| ids.contains(id);
            let (call, told) = match &refusal {
                None => self.plan(call, index, &taken).await?,
                Some(reason) => self.refuse(call, index, &taken, reason).await,
            };
            events.extend(told);
            ids.insert(call.id.clone());
            planned.push(call);
        }
        Ok((Input::Answered { calls: planned, usage, ending }, events))
    }

    /// Where the user's message is after plugins may have changed the history before it.
    fn moved_by(&self, response: &Response) -> usize {
        let (old, new) = (self.session.messages(), response.session.messages());
        let first = self.turn.first_message;
        let tail = old.len().saturating_sub(first) + response.messages.len();
        let place = new.len().saturating_sub(tail);
        let said = |message: &Message| (message.role(), message.content().clone());
        match old.get(first).map(said) == new.get(place).map(said) {
            true => place,
            false => first,
        }
    }

    /// Context of the request: its instructions, what came with it, then what host plugins know
    /// right now.
    async fn preface(&mut self) -> Vec<Message> {
        let mut texts = self.turn.preface.clone();
        let text = asked(&self.session, self.turn.first_message);
        let info = self.request_info();
        texts.extend(self.app.context_texts(info, text, self.turn.step).await);
        texts.extend(self.turn.again.unfit.as_ref().map(Unfit::request));
        texts.retain(|text| !text.trim().is_empty());
        let told = self.turn.instructions.clone().map(Message::system);
        let context = (!texts.is_empty()).then(|| Message::user(texts.join("\n\n")));
        told.into_iter().chain(context).collect()
    }

    /// The answer. If the user stops it in the middle, what was said so far is kept and marked.
    /// `spoke` tells whether anything of it was shown.
    async fn stream(&mut self, options: RequestOptions, spoke: &mut bool) -> Result<Response> {
        let core = self.app.core_of(&self.agent);
        let mut looks = tokio::time::interval_at(Instant::now() + SIGNALS, SIGNALS);
        // A store that takes longer than that must not keep the answer waiting.
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        if !self.turn.stream {
            let (session, config) = (self.session.clone(), self.config.clone());
            let mut answer = Box::pin(core.send_request(&session, &config, options));
            loop {
                tokio::select! {
                    answer = &mut answer => return answer,
                    _ = looks.tick(), if self.persist => Box::pin(self.look_for_signals()).await?,
                }
            }
        }
        let mut events = core.send_request_stream(&self.session, &self.config, options);
        let mut said = String::new();
        loop {
            let event = tokio::select! {
                biased;
                _ = looks.tick(), if self.persist => {
                    Box::pin(self.look_for_signals()).await?;
                    continue;
                }
                event = events.next() => event,
            };
            let Some(event) = event else { break };
            self.streams.set(true);
            match event {
                Ok(CoreEvent::Partial(message)) => {
                    *spoke |= is_output(&message);
                    text::append(&mut said, &message.content);
                    self.fragment(EventKind::Partial { message }).await?;
                }
                Ok(CoreEvent::Final(response)) => return Ok(*response),
                Err(error) => {
                    if error.is_cancelled() && !said.is_empty() {
                        let cut = Message::assistant(said).with_metadata_entry("interrupted", true);
                        self.interrupted = Some(cut);
                    }
                    return Err(error);
                }
            }
        }
        Err(Error::internal("the model call ended without an answer"))
    }
}

/// What the server said of its answer: which model gave it, and why it ended.
fn facts_of(response: &Response) -> Map {
    let last = response.messages.iter().rev().find(|message| message.role() == Role::Assistant);
    let said = |key: &str| last.and_then(|answer| answer.metadata().get(key)?.as_str());
    let facts = [("response_model", said("model")), ("finish_reason", said("finish_reason"))];
    let facts = facts.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?.into())));
    facts.collect()
}

/// The tokens of a conversation up to an answer with these counts.
fn tokens_of(usage: &Map) -> Option<u64> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    Some(count("input_tokens")? + count("output_tokens").unwrap_or(0))
}

/// Whether a fragment is part of an answer. That a request is sent again is not.
fn is_output(message: &Partial) -> bool {
    let Partial { content, reasoning, tool_calls, metadata } = message;
    let further = metadata.iter().flat_map(|metadata| metadata.keys());
    !(content.is_empty() && reasoning.is_empty() && tool_calls.is_empty())
        || further.into_iter().any(|key| key != "retry")
}

/// How the answer ended, as the provider and the judge of its output say.
fn ending_of(response: &Response) -> Ending {
    let last = response.messages.iter().rev().find(|message| message.role() == Role::Assistant);
    let Some(answer) = last else { return Ending::Done };
    if is_paused(answer) {
        return Ending::Paused;
    }
    let problems = answer.metadata().get(OUTPUT_PROBLEMS).and_then(Value::as_array);
    let Some(problems) = problems else { return Ending::Done };
    let text = match answer.content() {
        Value::String(text) => text.clone(),
        content => content.to_string(),
    };
    let problems = problems.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ending::Unfit(Unfit { text, problems })
}

/// An action's result, if there is something for people in it.
pub(super) fn shown(record: orlop_core::types::ActionRecord) -> Option<EventKind> {
    record.result.contains_key("display").then_some(EventKind::ActionResult {
        plugin: record.plugin,
        action_id: record.action_id,
        result: record.result,
    })
}
