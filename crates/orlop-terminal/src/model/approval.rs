//! What an agent waits for: whether a call may run, or the answer to a question.

use super::block::Tone;
use super::form::{Form, Purpose};
use super::{Ask, Effect, Model, Overlay};
use crossterm::event::{KeyCode, KeyEvent};
use orlop_app::ui::{Dialog, plain_line};
use orlop_app::{Decision, Event, EventKind, Remember, RememberOffer};
use orlop_core::{Map, Value};
use serde_json::json;

/// Something an agent waits for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request that waits.
    pub request: String,
    /// The call.
    pub call: String,
    /// The tool.
    pub name: String,
    /// Why it is asked.
    pub reason: String,
    /// What the call would run with.
    pub input: Value,
    /// What can be remembered with the answer.
    pub remember: Vec<RememberOffer>,
    /// What the call needs to know, if it is a question.
    pub form: Option<Map>,
    /// Whether the question stood on the screen before the last key was pressed.
    pub(super) seen: bool,
    /// Whether all of it was written to the history.
    pub(crate) opened: bool,
}

impl Asked {
    /// What an event asks, or one that it passes on from another agent.
    pub fn in_event(event: &Event) -> Option<Self> {
        let asks = |event: &Event| matches!(event.kind, EventKind::ApprovalRequested { .. });
        let event = match asks(event) {
            true => event.clone(),
            false => event.passed_on().filter(asks)?,
        };
        let request = event.request_id.unwrap_or_default();
        match event.kind {
            EventKind::ApprovalRequested {
                call_id, name, input, reason, form, remember, ..
            } => Some(Self {
                request,
                call: call_id,
                name: plain_line(&name),
                reason: plain_line(&reason),
                input,
                remember,
                form,
                seen: false,
                opened: false,
            }),
            _ => None,
        }
    }

    /// What the call would run with, as people read it; nothing if it has no input.
    pub fn whole_input(&self) -> String {
        match &self.input {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            input => serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string()),
        }
    }

    /// What would be remembered for so long, as people read it; nothing if it is not offered.
    pub fn rules(&self, scope: Remember) -> Option<String> {
        let offered = self.remember.iter().filter(|offer| offer.scope == scope);
        let rules: Vec<String> = offered.map(|offer| plain_line(&offer.rule)).collect();
        (!rules.is_empty()).then(|| rules.join(", "))
    }
}

fn by_user() -> Decision {
    Decision { by: "user".to_owned(), ..Decision::default() }
}

impl Model {
    /// Brings up the question that waits longest, if nothing else is in front.
    pub(super) fn show_asked(&mut self) {
        let Some(asked) = self.asked.front() else { return };
        let form = asked.form.as_ref().and_then(|form| Dialog::read(&Value::Object(form.clone())));
        if let (Some(dialog), None) = (form, &self.overlay) {
            let form = Form::new(dialog, Purpose::Answer(Box::new(asked.clone())));
            self.overlay = Some(Overlay::Form(form));
        }
    }

    /// The call that waits for a key.
    pub(crate) fn approving(&self) -> Option<&Asked> {
        self.asked.front().filter(|asked| asked.form.is_none() && self.overlay.is_none())
    }

    /// What the call that waits is about to do, in the words of its tool.
    pub(crate) fn preview_of(&self, asked: &Asked) -> &str {
        let cards = self.turn.iter().flat_map(|turn| &turn.cards);
        let mut cards = cards.filter(|card| card.call == asked.call);
        cards.next().map(|card| card.preview.as_str()).unwrap_or_default()
    }

    /// All of what waits for a decision, once.
    pub(super) fn open_asked(&mut self) -> Option<(String, String)> {
        let asked = self.approving().filter(|asked| !asked.opened)?;
        let parts = [self.preview_of(asked).to_owned(), asked.whole_input()];
        let parts: Vec<String> = parts.into_iter().filter(|it| !it.trim().is_empty()).collect();
        let (title, call) = (asked.name.clone(), asked.call.clone());
        if let Some(asked) = self.asked.front_mut() {
            asked.opened = true;
        }
        let cards = self.turn.iter_mut().flat_map(|turn| &mut turn.cards);
        cards.filter(|card| card.call == call).for_each(|card| card.opened = true);
        Some((title, parts.join("\n\n")))
    }

    /// What the model holds was drawn: a key that comes now may answer it.
    pub fn drawn(&mut self) {
        if self.approving().is_some()
            && let Some(asked) = self.asked.front_mut()
        {
            asked.seen = true;
        }
    }

    pub(super) fn approval_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        // Whoever is in the middle of a sentence does not mean to allow anything, nor does who
        // began one before the question stood there.
        let asked = self.approving().filter(|asked| asked.seen && self.editor.is_empty())?;
        let decision = |allow, remember| Decision { allow, remember, ..by_user() };
        let can = |scope| asked.rules(scope).is_some();
        let decided = match key.code {
            KeyCode::Char('y') => decision(true, None),
            KeyCode::Char('s') if can(Remember::Session) => decision(true, Some(Remember::Session)),
            KeyCode::Char('a') if can(Remember::Always) => decision(true, Some(Remember::Always)),
            KeyCode::Char('n') => decision(false, None),
            KeyCode::Char('r') => {
                let dialog = Dialog::read(&json!({
                    "title": format!("Why not {}?", asked.name),
                    "inputs": [{ "name": "reason", "label": "Tell the model" }],
                }));
                let asked = Box::new(asked.clone());
                let form = Form::new(dialog.unwrap_or_default(), Purpose::Refuse(asked));
                self.overlay = Some(Overlay::Form(form));
                return Some(Vec::new());
            }
            KeyCode::Char(_) | KeyCode::Enter => return Some(Vec::new()),
            _ => return None,
        };
        Some(self.decide(decided))
    }

    fn decide(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(asked) = self.asked.pop_front() else { return Vec::new() };
        vec![Effect::App(Ask::Decide(Box::new(asked), decision))]
    }

    /// The reason for a refusal was written.
    pub(super) fn refuse(&mut self, asked: &Asked, answers: &Map) -> Vec<Effect> {
        let reason = answers.get("reason").and_then(Value::as_str).map(str::to_owned);
        match self.asked.front() {
            Some(front) if front.call == asked.call => {
                self.decide(Decision { reason, ..by_user() })
            }
            _ => Vec::new(),
        }
    }

    /// A question was answered; nothing at all refuses it.
    pub(super) fn answer(&mut self, asked: &Asked, answers: Option<Map>) -> Vec<Effect> {
        if self.asked.front().is_none_or(|front| front.call != asked.call) {
            return Vec::new();
        }
        let Some(mut answers) = answers else { return self.decide(by_user()) };
        let schema = asked.form.as_ref().and_then(|form| form.get("schema"));
        let is_mapping = schema.is_some_and(|schema| schema["type"] == "object");
        let answer = match is_mapping {
            true => Value::Object(answers),
            false => answers.shift_remove("answer").unwrap_or_default(),
        };
        let input = Some(json!({ "answer": answer }));
        self.decide(Decision { allow: true, input, ..by_user() })
    }

    /// An answer that does not fit is asked for again.
    pub(super) fn undecided(&mut self, asked: Asked, problem: Option<String>) {
        let Some(problem) = problem else { return };
        self.notice(Tone::Warning, problem);
        if asked.form.is_some() && self.turn.is_some() {
            self.asked.push_front(asked);
        }
    }

    /// Somebody else decided.
    pub(super) fn resolved(&mut self, call: &str) {
        self.asked.retain(|asked| asked.call != call);
        self.close_asked();
    }

    /// Takes away a form whose question nobody asks any more.
    pub(super) fn close_asked(&mut self) {
        let gone = |asked: &Asked| !self.asked.iter().any(|it| it.call == asked.call);
        let is_gone = match &self.overlay {
            Some(Overlay::Form(form)) => match &form.purpose {
                Purpose::Answer(asked) | Purpose::Refuse(asked) => gone(asked),
                _ => false,
            },
            _ => false,
        };
        if is_gone {
            self.overlay = None;
        }
    }
}
