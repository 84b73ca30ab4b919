//! A request under way: what streams in, the tools that run, and how it ends.

use super::approval::Asked;
use super::block::{Block, Card, Tone};
use super::{Ask, Deed, Effect, Model, Operation};
use crate::editor::Draft;
use crate::markdown;
use orlop_app::ui::{Outcome, Surface, plain_line, plain_text};
use orlop_app::{Event, EventKind, error_of};
use orlop_core::types::event::Partial;
use orlop_core::{Message, Role, Value};
use std::time::Duration;

/// How much of the output of a tool is kept while it runs.
const MOST_OUTPUT: usize = 4_000;

/// A turn that takes longer rings when it is over.
const LONG: Duration = Duration::from_secs(10);

/// A request under way.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Which of all that was sent it is.
    pub number: u64,
    /// Its id, once it is known.
    pub request: Option<String>,
    /// When it was sent.
    pub since: Duration,
    /// What the model said and is not in the history yet.
    pub text: String,
    /// What the model thinks.
    pub thought: String,
    /// When it began to think.
    thinking: Option<Duration>,
    /// The tools that run.
    pub cards: Vec<CardUnderWay>,
    /// What it waits for, if it does.
    pub waiting: Option<String>,
    /// Whether it is to end.
    pub cancelled: bool,
    /// Whether the model said anything.
    spoke: bool,
    answer: String,
}

/// A tool that runs.
#[derive(Debug, Clone)]
pub struct CardUnderWay {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub name: String,
    /// What it is about to do.
    pub preview: String,
    /// The end of what it has said so far.
    pub output: String,
    /// Since when it runs.
    pub since: Duration,
    /// Whether somebody looked at all that it is about to do.
    pub(super) opened: bool,
}

/// How many lines of what a tool is about to do are shown while it runs, behind the first.
pub(crate) const PREVIEW_LINES: usize = 12;

/// A longer line may not fit on a screen.
const LONG_LINE: usize = 70;

impl CardUnderWay {
    /// Whether what it is about to do may not be shown as a whole while it runs.
    pub(crate) fn is_long(&self) -> bool {
        let mut lines = self.preview.lines();
        lines.clone().count() > PREVIEW_LINES + 1
            || lines.any(|line| line.chars().count() > LONG_LINE)
    }
}

impl Turn {
    pub(super) fn new(number: u64, now: Duration) -> Self {
        Self {
            number,
            request: None,
            since: now,
            text: String::new(),
            thought: String::new(),
            thinking: None,
            cards: Vec::new(),
            waiting: None,
            cancelled: false,
            spoke: false,
            answer: String::new(),
        }
    }

    pub(super) fn partial(&mut self, now: Duration, partial: &Partial) {
        self.waiting = None;
        if !partial.reasoning.is_empty() {
            self.thinking.get_or_insert(now);
            self.thought.push_str(&plain_text(&partial.reasoning));
        }
        if !partial.content.is_empty() {
            self.spoke = true;
            let text = plain_text(&partial.content);
            self.text.push_str(&text);
            self.answer.push_str(&text);
        }
        let retry = partial.metadata.as_ref().and_then(|metadata| metadata.get("retry"));
        if let Some(retry) = retry {
            let seconds = retry["wait_ms"].as_u64().unwrap_or_default().div_ceil(1000);
            let why = plain_line(retry["why"].as_str().unwrap_or_default());
            let (attempt, of) = (&retry["attempt"], &retry["of"]);
            let text = format!("{why}; trying again in {seconds} s ({attempt} of {of})");
            self.waiting = Some(text);
        }
    }

    pub(super) fn begin_card(&mut self, now: Duration, call: &str, name: &str, preview: &str) {
        self.answer.clear();
        self.cards.push(CardUnderWay {
            call: call.to_owned(),
            name: plain_line(name),
            preview: plain_text(preview),
            output: String::new(),
            since: now,
            opened: false,
        });
    }

    pub(super) fn tool_part(&mut self, event: &Event, call: &str, part: &Value) {
        let passed = event.passed_on().map(|inner| inner.kind);
        let text = match passed {
            Some(EventKind::ToolCall { name, preview, .. }) => {
                let first = preview.lines().next().unwrap_or(&name);
                format!("· {first}\n")
            }
            Some(_) => return,
            None => match part {
                Value::String(text) => text.clone(),
                part => match part.get("text").or_else(|| part.get("message")) {
                    Some(Value::String(text)) => text.clone(),
                    _ => return,
                },
            },
        };
        if let Some(card) = self.cards.iter_mut().find(|card| card.call == call) {
            card.output.push_str(&plain_text(&text));
            if card.output.len() > 2 * MOST_OUTPUT {
                let mut from = card.output.len() - MOST_OUTPUT;
                while !card.output.is_char_boundary(from) {
                    from += 1;
                }
                card.output.drain(..from);
            }
        }
    }

    pub(super) fn take_card(&mut self, call: &str) -> Option<CardUnderWay> {
        let place = self.cards.iter().position(|card| card.call == call)?;
        Some(self.cards.remove(place))
    }

    /// What the model said since the last call, as if none of it had been written yet.
    pub(super) fn say_again(&mut self) {
        self.text.clone_from(&self.answer);
    }
}

impl Model {
    pub(super) fn started(&mut self, number: u64, request: String, session: String) -> Vec<Effect> {
        let turn = match &mut self.turn {
            Some(turn) if turn.number == number => {
                self.conversation.session = Some(session);
                turn
            }
            _ => match self.away.iter_mut().find(|away| away.turn.number == number) {
                Some(away) => {
                    away.session = Some(session);
                    &mut away.turn
                }
                None => return Vec::new(),
            },
        };
        turn.request = Some(request.clone());
        // Somebody may have been quicker than the request.
        match turn.cancelled {
            true => vec![Effect::App(Ask::Cancel(request))],
            false => Vec::new(),
        }
    }

    /// A message did not get through: it stands in the line again, and what waited behind it.
    pub(super) fn not_sent(&mut self, number: u64, draft: Draft, error: String) -> Vec<Effect> {
        self.away.retain(|away| away.turn.number != number);
        self.notice(Tone::Failure, error);
        self.failed = true;
        if self.turn.as_ref().is_some_and(|turn| turn.number == number) {
            self.turn = None;
            self.take_back_queue();
        }
        self.take_back(draft);
        Vec::new()
    }

    /// Puts what waits to be sent back into the line.
    pub(super) fn take_back_queue(&mut self) {
        for draft in std::mem::take(&mut self.queue).into_iter().rev() {
            self.take_back(draft);
        }
    }

    pub(super) fn take_back(&mut self, mut draft: Draft) {
        self.editor.put_back(&draft);
        if let Some(sent) = draft.instead_of.take() {
            self.editing = Some(sent);
        }
    }

    /// Cancels what is under way; what waited to be sent after it stands in the line again.
    pub(super) fn cancel(&mut self) -> Vec<Effect> {
        self.take_back_queue();
        self.asked.clear();
        self.close_asked();
        let Some(turn) = &mut self.turn else { return Vec::new() };
        turn.cancelled = true;
        turn.request.iter().map(|request| Effect::App(Ask::Cancel(request.clone()))).collect()
    }

    /// All of what a tool that runs is about to do, once, if it does not fit on a few rows.
    pub(super) fn open_running(&mut self) -> Option<(String, String)> {
        let mut cards = self.turn.iter_mut().flat_map(|turn| &mut turn.cards).rev();
        let card = cards.find(|card| !card.opened && card.is_long())?;
        card.opened = true;
        Some((card.name.clone(), card.preview.clone()))
    }

    /// What the model said as far as it will not change any more.
    pub(super) fn settle_text(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let finished = markdown::finished(&turn.text);
        if finished > 0 {
            let rest = turn.text.split_off(finished);
            let text = std::mem::replace(&mut turn.text, rest);
            self.say(Block::Answer(text));
        }
    }

    /// Nobody looks any more: what has come so far stays.
    pub fn finish(&mut self) {
        self.end_text();
    }

    /// All of it: something else follows.
    fn end_text(&mut self) {
        self.end_thought();
        let Some(turn) = &mut self.turn else { return };
        let text = std::mem::take(&mut turn.text);
        if !text.trim().is_empty() {
            self.say(Block::Answer(text));
        }
    }

    /// It comes anew: what is not written down yet never is.
    fn drop_answer(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        turn.text.clear();
        turn.answer.clear();
        turn.thought.clear();
        turn.thinking = None;
    }

    fn end_thought(&mut self) {
        let now = self.now;
        let Some(turn) = &mut self.turn else { return };
        let text = std::mem::take(&mut turn.thought);
        let took = turn.thinking.take().map(|since| now.saturating_sub(since));
        if !text.trim().is_empty() {
            self.say(Block::Thought { text, took });
        }
    }

    pub(super) fn event(&mut self, event: &Event) -> Vec<Effect> {
        if let EventKind::Other(fields) = &event.kind {
            self.published(event.session_id.as_ref(), fields);
            return Vec::new();
        }
        let mine = self.turn.as_ref().and_then(|turn| turn.request.as_ref());
        if mine.is_none() || mine != event.request_id.as_ref() {
            return self.event_elsewhere(event);
        }
        if let Some(asked) = Asked::in_event(event) {
            self.end_text();
            self.asked.push_back(asked);
            return vec![Effect::Terminal(Deed::Bell)];
        }
        match &event.kind {
            EventKind::Partial { message } => {
                if !message.content.is_empty() {
                    self.end_thought();
                }
                let now = self.now;
                if let Some(turn) = &mut self.turn {
                    turn.partial(now, message);
                }
            }
            EventKind::ToolCall { call_id, name, preview, .. } => {
                self.end_text();
                let now = self.now;
                if let Some(turn) = &mut self.turn {
                    turn.begin_card(now, call_id, name, preview);
                }
            }
            EventKind::ToolPartial { call_id, part } => {
                if let Some(turn) = &mut self.turn {
                    turn.tool_part(event, call_id, part);
                }
            }
            EventKind::ToolResult { call_id, message } => self.end_card(call_id, message),
            EventKind::ApprovalResolved { call_id, .. } => self.resolved(call_id),
            EventKind::ModelFallback { from, to, error } => {
                self.end_text();
                let why = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let text = format!("{from} failed, asking {to} instead: {why}");
                self.notice(Tone::Warning, plain_line(&text));
            }
            EventKind::OutputRejected { problems } => {
                self.drop_answer();
                let text =
                    format!("the answer does not fit, asking again: {}", problems.join("; "));
                self.notice(Tone::Warning, plain_line(&text));
            }
            EventKind::AnswerRestarted {} => {
                self.drop_answer();
                self.notice(Tone::Info, "the answer was cut off and is asked for again".to_owned());
            }
            EventKind::ActionResult { result, .. } => {
                let outcome = Outcome::from_result(result.clone());
                if outcome.display.is_some() || outcome.failed() {
                    let session = self.conversation.session.clone();
                    return self.show_outcome(Surface::SessionAction, session, None, outcome);
                }
            }
            EventKind::Final { messages, session, model, .. } => {
                if session.title.is_some() {
                    self.conversation.title.clone_from(&session.title);
                }
                if let Some(model) = model.as_ref().and_then(|it| it.model.clone()) {
                    self.conversation.model = model;
                }
                return self.ended(|model| model.answered(messages));
            }
            EventKind::RequestFailed { error } => {
                self.failed = true;
                let error = error_of(error);
                return self.ended(|model| {
                    model.notice(Tone::Failure, plain_text(error.message()));
                    Vec::new()
                });
            }
            EventKind::RequestCancelled { .. } => {
                return self.ended(|model| {
                    model.notice(Tone::Warning, "Stopped");
                    Vec::new()
                });
            }
            _ => {}
        }
        Vec::new()
    }

    fn end_card(&mut self, call: &str, message: &Message) {
        self.end_text();
        let now = self.now;
        let Some(turn) = &mut self.turn else { return };
        let (name, preview, took) = match turn.take_card(call) {
            Some(card) => (card.name, card.preview, Some(now.saturating_sub(card.since))),
            None => {
                let name = message.metadata().get("tool_name").and_then(Value::as_str);
                (plain_line(name.unwrap_or("tool")), String::new(), None)
            }
        };
        let card = Card::of(name, preview, message, took);
        self.say(Block::Tool(card));
    }

    /// The request is over; `then` says how.
    fn ended(&mut self, then: impl FnOnce(&mut Self) -> Vec<Effect>) -> Vec<Effect> {
        self.end_text();
        let now = self.now;
        let mut effects = then(self);
        let Some(turn) = self.turn.take() else { return effects };
        if !turn.answer.trim().is_empty() {
            self.answer = turn.answer;
        }
        self.asked.clear();
        self.close_asked();
        if now.saturating_sub(turn.since) >= LONG {
            effects.push(Effect::Terminal(Deed::Bell));
        }
        if let Some(title) = &self.conversation.title {
            effects.push(Effect::Terminal(Deed::Title(plain_line(title))));
        }
        effects
    }

    /// What a request gave in the end, as far as it did not stream in.
    fn answered(&mut self, messages: &[Message]) -> Vec<Effect> {
        let handled = messages.last().and_then(|message| message.metadata().get("handled"));
        if let Some(handled) = handled {
            return self.handled(messages, &handled.clone());
        }
        if self.turn.as_ref().is_none_or(|turn| !turn.spoke) {
            let said = messages.iter().filter(|message| message.role() == Role::Assistant);
            let text: Vec<&str> = said.map(Message::text).filter(|text| !text.is_empty()).collect();
            if text.is_empty() {
                self.notice(Tone::Info, "The model said nothing");
            } else {
                let text = text.join("\n\n");
                self.answer.clone_from(&text);
                self.say(Block::Answer(text));
            }
        }
        Vec::new()
    }

    /// The answer of a host plugin: what it says, and what surfaces should do about it.
    fn handled(&mut self, messages: &[Message], handled: &Value) -> Vec<Effect> {
        let text = messages.last().map(Message::text).unwrap_or_default().to_owned();
        let status = handled["status"].as_u64().unwrap_or(200);
        let data = handled["data"].as_object().cloned().unwrap_or_default();
        let outcome = Outcome::from_result(data);
        let session = self.conversation.session.clone();
        if outcome.display.is_some() {
            return self.show_outcome(Surface::SessionAction, session, None, outcome);
        }
        match status {
            200..400 => self.say(Block::Answer(text)),
            _ => self.notice(Tone::Failure, plain_text(&text)),
        }
        let mut effects = self.apply(&outcome);
        // A command may have changed what the status line says.
        effects.push(Effect::App(Ask::Do(Operation::Reload)));
        effects
    }
}
