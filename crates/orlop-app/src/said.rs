//! Fragments of an answer in a row, in little room: their text once, and where each of them ends.

use crate::time::{rfc3339, unix_ms};
use orlop_core::Partial;
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::types::text;

/// Fragments with numbers in a row, of visible text or of reasoning.
pub(crate) struct Said {
    session_id: Option<String>,
    request_id: Option<String>,
    /// The number of the first, and when it was said.
    first: u64,
    began: i64,
    is_reasoning: bool,
    text: String,
    pieces: Vec<Piece>,
}

/// Where a fragment ends in the text, and so many milliseconds after the first it was said.
struct Piece {
    end: u32,
    after: u32,
}

impl Said {
    /// Begins with a fragment, if it is one that has text and nothing else.
    pub(crate) fn begin(event: &Event) -> Option<Self> {
        let (is_reasoning, _) = text_of(event)?;
        let mut said = Self {
            session_id: event.session_id.clone(),
            request_id: event.request_id.clone(),
            first: event.seq,
            began: unix_ms(&event.at)?,
            is_reasoning,
            text: String::new(),
            pieces: Vec::new(),
        };
        said.take_in(event).then_some(said)
    }

    /// Takes the next fragment. Says whether it is of the same kind and follows.
    pub(crate) fn take_in(&mut self, event: &Event) -> bool {
        let Some((is_reasoning, piece)) = text_of(event) else { return false };
        let of_this = self.request_id == event.request_id && self.session_id == event.session_id;
        if is_reasoning != self.is_reasoning || !of_this || event.seq != self.next() {
            return false;
        }
        let after = unix_ms(&event.at).and_then(|at| u32::try_from(at - self.began).ok());
        let end = u32::try_from(self.text.len() + piece.len()).ok();
        let (Some(after), Some(end)) = (after, end) else { return false };
        text::append(&mut self.text, piece);
        self.pieces.push(Piece { end, after });
        true
    }

    /// Gives back the room that was kept for more.
    pub(crate) fn close(&mut self) {
        self.text.shrink_to_fit();
        self.pieces.shrink_to_fit();
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.text.capacity() + self.pieces.capacity() * size_of::<Piece>()
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn last(&self) -> u64 {
        self.next() - 1
    }

    fn next(&self) -> u64 {
        self.first + self.pieces.len() as u64
    }

    /// The event with this number, as it was.
    pub(crate) fn event(&self, seq: u64) -> Option<Event> {
        let place = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        let piece = self.pieces.get(place)?;
        let begin = place.checked_sub(1).and_then(|before| self.pieces.get(before));
        let text =
            self.text.get(begin.map_or(0, |piece| piece.end as usize)..piece.end as usize)?;
        let message =
            if self.is_reasoning { Partial::reasoning(text) } else { Partial::text(text) };
        Some(Event {
            seq,
            at: rfc3339(self.began + i64::from(piece.after)),
            session_id: self.session_id.clone(),
            request_id: self.request_id.clone(),
            kind: EventKind::Partial { message },
        })
    }
}

/// The text of a fragment that has nothing else, and whether it is reasoning.
fn text_of(event: &Event) -> Option<(bool, &str)> {
    let EventKind::Partial { message } = &event.kind else { return None };
    let Partial { content, reasoning, tool_calls, metadata } = message;
    if !tool_calls.is_empty() || metadata.is_some() {
        return None;
    }
    match (content.is_empty(), reasoning.is_empty()) {
        (false, true) => Some((false, content)),
        (true, false) => Some((true, reasoning)),
        _ => None,
    }
}
