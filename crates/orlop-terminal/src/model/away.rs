//! Answers under way in sessions that were left: they go on, and what they wait for is told.

use super::approval::Asked;
use super::block::Tone;
use super::{Deed, Effect, Model, Turn};
use orlop_app::ui::plain_line;
use orlop_app::{Event, EventKind};
use std::collections::VecDeque;

/// A request of a session that is not in front.
#[derive(Debug, Clone)]
pub(super) struct Away {
    pub(super) turn: Turn,
    /// Its session, once it is known.
    pub(super) session: Option<String>,
    /// What people know the session as.
    name: String,
    asked: VecDeque<Asked>,
}

impl Model {
    /// The session is left in the middle of an answer, which goes on without anybody looking.
    pub(super) fn put_aside(&mut self) {
        self.finish();
        let Some(mut turn) = self.turn.take() else { return };
        turn.say_again();
        let session = self.conversation.session.clone();
        let title = self.conversation.title.as_deref().map(plain_line);
        let name = title.or_else(|| session.clone()).unwrap_or_else(|| "the last session".into());
        let asked = std::mem::take(&mut self.asked);
        self.close_asked();
        // What was to be said there is not said here by itself.
        self.take_back_queue();
        self.editing = None;
        self.notice(
            Tone::Info,
            format!("The answer goes on in \"{name}\"; /sessions leads back to it"),
        );
        self.away.push(Away { turn, session, name, asked });
    }

    /// Back in a session whose answer is still under way.
    pub(super) fn come_back(&mut self) {
        let session = self.conversation.session.as_ref();
        let place =
            self.away.iter().position(|it| session.is_some() && it.session.as_ref() == session);
        if let Some(Away { turn, asked, .. }) = place.map(|place| self.away.remove(place)) {
            self.turn = Some(turn);
            self.asked = asked;
        }
    }

    /// An event of a request that is not in front.
    pub(super) fn event_elsewhere(&mut self, event: &Event) -> Vec<Effect> {
        let now = self.now;
        let Some(request) = &event.request_id else { return Vec::new() };
        let is_of = |away: &&mut Away| away.turn.request.as_ref() == Some(request);
        let Some(away) = self.away.iter_mut().find(is_of) else { return Vec::new() };
        let name = away.name.clone();
        if let Some(asked) = Asked::in_event(event) {
            away.asked.push_back(asked);
            let text = format!("\"{name}\" waits for your decision; /sessions leads to it");
            self.notice(Tone::Warning, text);
            return vec![Effect::Terminal(Deed::Bell)];
        }
        let turn = &mut away.turn;
        match &event.kind {
            EventKind::Partial { message } => turn.partial(now, message),
            EventKind::ToolCall { call_id, name, preview, .. } => {
                turn.begin_card(now, call_id, name, preview);
                turn.say_again();
            }
            EventKind::ToolPartial { call_id, part } => turn.tool_part(event, call_id, part),
            EventKind::ToolResult { call_id, .. } => drop(turn.take_card(call_id)),
            EventKind::ApprovalResolved { call_id, .. } => {
                away.asked.retain(|asked| asked.call != *call_id);
            }
            kind if kind.ends_request() => {
                let (tone, how) = match kind {
                    EventKind::Final { .. } => (Tone::Success, "is answered"),
                    EventKind::RequestFailed { .. } => (Tone::Failure, "could not be answered"),
                    _ => (Tone::Warning, "was stopped"),
                };
                self.away.retain(|away| away.turn.request.as_ref() != Some(request));
                self.notice(tone, format!("\"{name}\" {how}; /sessions leads to it"));
                return vec![Effect::Terminal(Deed::Bell)];
            }
            _ => {}
        }
        Vec::new()
    }

    /// The requests that run where nobody looks.
    pub(super) fn requests_away(&self) -> impl Iterator<Item = &String> {
        self.away.iter().filter_map(|away| away.turn.request.as_ref())
    }
}
