//! The steps of a streamed body, put together event by event.

use serde_json::Value;

use super::super::reply::Completion;
use super::blocks::Piece;
use crate::playback::Step;

/// The steps of a streamed body so far.
pub(super) struct Events<'a> {
    pub(super) steps: Vec<Step>,
    completion: &'a Completion,
}

impl<'a> Events<'a> {
    pub(super) fn new(completion: &'a Completion) -> Self {
        Self { steps: Vec::new(), completion }
    }

    /// A data line with this text.
    pub(super) fn data(&mut self, data: &str) {
        self.write(format!("data: {data}\n\n"));
    }

    /// A data line with this JSON.
    pub(super) fn json(&mut self, data: &Value) {
        self.data(&data.to_string());
    }

    /// A data line with this JSON, behind a line that repeats its `type` as the event's name.
    pub(super) fn named(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or("message");
        self.write(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// A line of its own with this JSON.
    pub(super) fn line(&mut self, data: &Value) {
        self.write(format!("{data}\n"));
    }

    /// Says each piece with `say`, and waits where the completion waits.
    pub(super) fn pieces(&mut self, pieces: &[Piece<'_>], mut say: impl FnMut(&mut Self, &str)) {
        for piece in pieces {
            match piece {
                Piece::Say(text) => say(self, text),
                Piece::Pause(step) => self.steps.push(step.clone()),
            }
        }
    }

    fn write(&mut self, text: String) {
        self.steps.extend(self.completion.pace.map(Step::Delay));
        self.steps.push(Step::Write(text.into()));
    }
}
