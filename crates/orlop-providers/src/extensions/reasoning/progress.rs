//! How far an answer has come: inside of a tag or not, with the beginning of a tag in hand, and
//! how much of the reasoning was shown. Between chunks it is kept in the state of the request.

use super::settings::{Settings, Show};
use orlop_core::{Partial, Value};
use serde::{Deserialize, Serialize};

/// The longest summary, in characters.
const SUMMARY: usize = 200;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Whether what comes next is reasoning.
    inside: bool,
    /// Whether white space comes from the tag before it.
    after_tag: bool,
    /// What may be the beginning of a tag.
    held: String,
    /// How many characters of the summary were shown.
    shown: usize,
    /// Whether the summary is complete.
    summed_up: bool,
}

impl Progress {
    pub(super) fn read(value: Option<&Value>) -> Self {
        value.and_then(|value| Self::deserialize(value).ok()).unwrap_or_default()
    }

    /// `null`, which takes it out of the state, where the answer is as it was at the beginning.
    pub(super) fn write(&self) -> Value {
        if *self == Self::default() {
            return Value::Null;
        }
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Passes a fragment on as it is to be shown. With the last one, nothing is held back.
    pub(super) fn pass(&mut self, settings: &Settings<'_>, partial: &mut Partial, is_end: bool) {
        if let Some((open, close)) = settings.tags {
            self.split(open, close, partial);
            if is_end {
                let held = std::mem::take(&mut self.held);
                self.current(partial).push_str(&held);
            }
        }
        match settings.show {
            Show::Full => {}
            Show::None => partial.reasoning.clear(),
            Show::Summary => self.sum_up(&mut partial.reasoning),
        }
    }

    fn current<'a>(&self, partial: &'a mut Partial) -> &'a mut String {
        if self.inside { &mut partial.reasoning } else { &mut partial.content }
    }

    fn split(&mut self, open: &str, close: &str, partial: &mut Partial) {
        let first = if self.inside { close } else { open }.as_bytes()[0];
        let has_tag = memchr::memchr(first, partial.content.as_bytes()).is_some();
        if !has_tag && self.held.is_empty() && !self.after_tag {
            if self.inside && partial.reasoning.is_empty() {
                std::mem::swap(&mut partial.content, &mut partial.reasoning);
            } else if self.inside {
                partial.reasoning.push_str(&std::mem::take(&mut partial.content));
            }
            return;
        }
        let text = std::mem::take(&mut partial.content);
        let text = match self.held.is_empty() {
            true => text,
            false => std::mem::take(&mut self.held) + &text,
        };
        let mut rest = text.as_str();
        loop {
            if self.after_tag {
                rest = rest.trim_start();
                self.after_tag = rest.is_empty();
            }
            let tag = if self.inside { close } else { open };
            let Some(at) = rest.find(tag) else { break };
            self.current(partial).push_str(&rest[..at]);
            rest = &rest[at + tag.len()..];
            self.inside = !self.inside;
            self.after_tag = true;
        }
        let tag = if self.inside { close } else { open };
        let certain = rest.len() - beginning_of(tag, rest);
        self.current(partial).push_str(&rest[..certain]);
        self.held.push_str(&rest[certain..]);
    }

    /// Leaves of the reasoning what belongs to its first line.
    fn sum_up(&mut self, reasoning: &mut String) {
        if self.summed_up {
            reasoning.clear();
            return;
        }
        let text = if self.shown == 0 { reasoning.trim_start() } else { reasoning.as_str() };
        let mut summary = String::new();
        for letter in text.chars() {
            self.summed_up = letter == '\n' || self.shown == SUMMARY;
            if self.summed_up {
                summary.push_str(if letter == '\n' { "" } else { "…" });
                break;
            }
            summary.push(letter);
            self.shown += 1;
        }
        *reasoning = summary;
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn beginning_of(tag: &str, text: &str) -> usize {
    let longest = tag.len().saturating_sub(1).min(text.len());
    (1..=longest)
        .rev()
        .filter(|length| {
            text.is_char_boundary(text.len() - length) && tag.is_char_boundary(*length)
        })
        .find(|length| text.ends_with(&tag[..*length]))
        .unwrap_or_default()
}
