//! Asking the model: the lifecycles around it, the fragments on the way, the calls it makes.

use super::asked;
use super::driver::Driver;
use super::machine::{Call, Input};
use crate::time::now_ms;
use futures::StreamExt;
use orlop_core::types::app_event::EventKind;
use orlop_core::{
    CoreEvent, Error, Map, Message, RequestOptions, Response, Result, Value, lifecycle,
};
use std::sync::Arc;

impl Driver {
    /// One model call. Gives what happened and the events that go with it.
    pub(super) async fn call_model(&mut self) -> (Input, Vec<EventKind>) {
        let began = std::time::Instant::now();
        let asked = self.ask().await;
        let outcome = if asked.is_ok() { "ok" } else { "error" };
        if let Some(tracer) = &self.app.tracer {
            tracer.note("model_call", Value::from(self.turn.step), began, outcome);
        }
        match asked {
            Ok(answered) => answered,
            Err(error) if error.is_cancelled() || self.is_cancelled() => {
                (Input::Cancelled(self.reason()), Vec::new())
            }
            Err(error) => (Input::Failed(error), Vec::new()),
        }
    }

    fn is_cancelled(&self) -> bool {
        use orlop_core::Cancellation;
        self.cancel.is_cancelled()
    }

    /// Why the turn was cancelled, as whoever did it said.
    fn reason(&mut self) -> String {
        while let Some(control) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) {
            if let super::Control::Cancel(reason) = control {
                return reason;
            }
        }
        "the request was cancelled".to_owned()
    }

    async fn ask(&mut self) -> Result<(Input, Vec<EventKind>)> {
        self.lifecycle(lifecycle::MODEL_REQUEST, &[]).await?;
        let options = RequestOptions {
            request_id: Some(self.request.clone()),
            cancellation: Some(Arc::new(self.cancel.clone())),
            context: self.context(),
            preface: self.preface().await,
        };
        let before = self.session.native().map_or(0, |native| native.items().len());
        let response = self.stream(options).await?;
        let usage = usage_of(&response, before);
        self.session = response.session;
        let mut events: Vec<EventKind> =
            response.action_results.into_iter().filter_map(shown).collect();
        self.lifecycle(lifecycle::MODEL_RESPONSE, &[]).await?;
        let calls = orlop_core::session::extract_tool_calls(&response.messages);
        let mut planned: Vec<Call> = Vec::with_capacity(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let (call, told) = self.plan(call, index).await?;
            events.extend(told);
            planned.push(call);
        }
        Ok((Input::Answered { calls: planned, usage }, events))
    }

    /// Context of the request: what came with it, then what host plugins know right now.
    async fn preface(&mut self) -> Vec<Message> {
        let mut texts = self.turn.preface.clone();
        let text = asked(&self.session, self.turn.first_message);
        let info = self.request_info();
        texts.extend(self.app.context_texts(info, text, self.turn.step).await);
        texts.retain(|text| !text.trim().is_empty());
        match texts.is_empty() {
            true => Vec::new(),
            false => vec![Message::user(texts.join("\n\n"))],
        }
    }

    /// The answer. If the user stops it in the middle, what was said so far is kept and marked.
    async fn stream(&mut self, options: RequestOptions) -> Result<Response> {
        let core = self.app.core_of(&self.agent);
        if !self.turn.stream {
            return core.send_request(&self.session, &self.config, options).await;
        }
        let mut events = core.send_request_stream(&self.session, &self.config, options);
        let mut said = String::new();
        let mut looked = now_ms();
        while let Some(event) = events.next().await {
            match event {
                Ok(CoreEvent::Partial(message)) => {
                    said.push_str(&message.content);
                    self.fragment(EventKind::Partial { message }).await?;
                }
                Ok(CoreEvent::Final(response)) => return Ok(*response),
                Err(error) => {
                    if error.is_cancelled() && !said.is_empty() {
                        let cut = Message::assistant(said).with_metadata_entry("interrupted", true);
                        self.append(cut).await?;
                    }
                    return Err(error);
                }
            }
            if self.persist && now_ms() - looked > 1_000 {
                looked = now_ms();
                self.look_for_cancellation().await?;
            }
        }
        Err(Error::internal("the model call ended without an answer"))
    }

    /// A cancellation by another process is found in the store.
    async fn look_for_cancellation(&mut self) -> Result<()> {
        let store = self.app.shared.store.clone();
        for signal in store.take_signals(&self.app.scope, &self.request).await? {
            if signal.get("signal").and_then(Value::as_str) == Some("cancel") {
                self.cancel.cancel();
            }
        }
        Ok(())
    }
}

/// Token counts of what the model just said.
fn usage_of(response: &Response, before: usize) -> Map {
    let Some(native) = response.session.native() else { return Map::new() };
    let new = native.items().suffix(before.min(native.items().len()));
    let usage = new.iter().filter_map(|item| item.metadata().get("usage")?.as_object().cloned());
    usage.last().unwrap_or_default()
}

/// An action's result, if there is something for people in it.
fn shown(record: orlop_core::types::ActionRecord) -> Option<EventKind> {
    record.result.contains_key("display").then_some(EventKind::ActionResult {
        plugin: record.plugin,
        action_id: record.action_id,
        result: record.result,
    })
}
