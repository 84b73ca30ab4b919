//! What a request said before somebody came to listen: fragments of answers that are whole are gone,
//! and its messages have them.

use orlop_core::{Map, Message, Role};

/// The messages of a request so far, for those who were not there.
#[derive(Default)]
pub(super) struct Recall {
    messages: Vec<Message>,
    /// How many of them were told.
    told: usize,
    /// Whether the answer under way was heard from its beginning.
    heard: bool,
}

impl Recall {
    pub(super) fn of(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// A fragment of the answer under way was heard.
    pub(super) fn hear(&mut self) {
        self.heard = true;
    }

    /// The answers up to the one that made this call, unless they were heard.
    pub(super) fn up_to(&mut self, call: &Map) -> Vec<Message> {
        let heard = std::mem::take(&mut self.heard);
        let made = |message: &Message| message.tool_calls().any(|made| made == call);
        let Some(place) = self.messages.iter().skip(self.told).position(made) else {
            return Vec::new();
        };
        let past = self.messages.iter().skip(self.told).take(place + 1);
        let answers = past.filter(|message| message.role() == Role::Assistant && !heard);
        let answers = answers.cloned().collect();
        self.told += place + 1;
        answers
    }

    /// The answers that are left, unless the last one was heard.
    pub(super) fn rest(&self) -> Vec<Message> {
        let left = self.messages.iter().skip(self.told);
        let answers = left.filter(|message| message.role() == Role::Assistant && !self.heard);
        answers.cloned().collect()
    }
}
