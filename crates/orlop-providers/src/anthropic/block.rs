//! A block of a message while it arrives: the text of its beginning, and what was added since.

use super::convert::INVALID_JSON;
use super::event::{Beginning, Delta, Growth};
use super::fields::{Fields, Writer, quoted};
use crate::wire::json::Text;
use crate::wire::merge::{Strings, add_raw};
use crate::wire::{call_fragment, failure};
use orlop_types::text::append;
use orlop_types::{Map, Partial, Result};
use std::fmt::Write as _;

/// A block so far.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// As it began, in the server's own text.
    beginning: String,
    /// Which call of the message it is.
    call: Option<usize>,
    text: String,
    thinking: String,
    /// The text of a tool's input.
    input: String,
    signature: Option<String>,
    /// JSON texts, one after the other.
    citations: String,
    /// Fields of deltas that are not known here.
    others: Map,
}

impl Block {
    /// A block that begins with this JSON text, and what to show of it. `calls` counts the calls
    /// of the message.
    pub(super) fn begin(beginning: &str, calls: &mut usize) -> Result<(Self, Partial)> {
        let read = Beginning::parse(beginning)
            .map_err(|error| failure::unreadable("a block", beginning, &error))?;
        let mut block = Self { beginning: beginning.to_owned(), ..Self::default() };
        let mut shown = Partial::default();
        match read.kind.as_str() {
            Some("text") => shown.content = owned(read.text),
            Some("thinking") => shown.reasoning = owned(read.thinking),
            Some("tool_use") => {
                let position = *calls;
                *calls += 1;
                block.call = Some(position);
                let input = read.input.map(|input| input.get()).filter(|input| *input != "{}");
                let (id, name) = (read.id.as_str(), read.name.as_str());
                shown.tool_calls = vec![call_fragment(position, id, name, input.unwrap_or(""))];
            }
            _ => {}
        }
        Ok((block, shown))
    }

    /// Adds text and gives what to show of it.
    pub(super) fn grow(&mut self, growth: Growth, text: &str) -> Partial {
        match growth {
            Growth::Text => {
                append(&mut self.text, text);
                Partial::text(text)
            }
            Growth::Thinking => {
                append(&mut self.thinking, text);
                Partial::reasoning(text)
            }
        }
    }

    /// Adds what an event brings and gives what to show of it.
    pub(super) fn push(&mut self, delta: Delta<'_>) -> Result<Partial> {
        let mut shown = Partial::default();
        if let Text::Str(text) = delta.text {
            append(&mut self.text, &text);
            shown.content = text.into_owned();
        }
        if let Text::Str(text) = delta.thinking {
            append(&mut self.thinking, &text);
            shown.reasoning = text.into_owned();
        }
        if let Some(piece) = delta.partial_json.filled() {
            self.input.push_str(piece);
            let fragment = self.call.map(|position| call_fragment(position, None, None, piece));
            shown.tool_calls.extend(fragment);
        }
        if let Text::Str(signature) = delta.signature {
            self.signature = Some(signature.into_owned());
        }
        if let Some(citation) = delta.citation {
            let comma = if self.citations.is_empty() { "" } else { "," };
            let _ = write!(self.citations, "{comma}{}", citation.get());
        }
        for (key, piece) in &delta.unknown {
            add_raw(&mut self.others, key, piece, Strings::Append)?;
        }
        Ok(shown)
    }

    fn is_as_it_began(&self) -> bool {
        self.text.is_empty()
            && self.thinking.is_empty()
            && self.input.trim().is_empty()
            && self.signature.is_none()
            && self.citations.is_empty()
            && self.others.is_empty()
    }

    /// Writes the block as the server would have sent it at once.
    pub(super) fn write(mut self, out: &mut String) -> Result<()> {
        if self.is_as_it_began() {
            out.push_str(&self.beginning);
            return Ok(());
        }
        let beginning = std::mem::take(&mut self.beginning);
        let Fields(fields) = serde_json::from_str(&beginning)
            .map_err(|error| failure::unreadable("a block", &beginning, &error))?;
        let mut object = Writer::new(out);
        for (key, value) in &fields {
            match self.added(key, value.get()) {
                Some(value) => object.field(key, &value),
                None => object.field(key, value.get()),
            }
        }
        // What the beginning did not name comes behind it.
        for key in ["text", "thinking", "signature", "input", "citations"] {
            if let Some(value) = self.added(key, "null") {
                object.field(key, &value);
            }
        }
        for (key, value) in &self.others {
            object.field(key, &value.to_string());
        }
        object.end();
        Ok(())
    }

    /// The value of a field that was added to, taken out of the block.
    fn added(&mut self, key: &str, held: &str) -> Option<String> {
        let joined = |text: &mut String| {
            let more = std::mem::take(text);
            let held: Option<String> = serde_json::from_str(held).ok();
            (!more.is_empty()).then(|| quoted(&(held.unwrap_or_default() + &more)))
        };
        match key {
            "text" => joined(&mut self.text),
            "thinking" => joined(&mut self.thinking),
            "signature" => self.signature.take().map(|signature| quoted(&signature)),
            "input" => {
                let input = std::mem::take(&mut self.input);
                (!input.trim().is_empty()).then(|| as_object(input))
            }
            "citations" if !self.citations.is_empty() => {
                let more = std::mem::take(&mut self.citations);
                let held = held.strip_prefix('[').and_then(|held| held.strip_suffix(']'));
                match held.map(str::trim).filter(|held| !held.is_empty()) {
                    Some(held) => Some(format!("[{held},{more}]")),
                    None => Some(format!("[{more}]")),
                }
            }
            _ => {
                let piece = self.others.shift_remove(key)?;
                match (serde_json::from_str(held), &piece) {
                    (Ok(orlop_types::Value::String(held)), orlop_types::Value::String(more)) => {
                        Some(quoted(&(held + more)))
                    }
                    _ => Some(piece.to_string()),
                }
            }
        }
    }
}

/// The input of a tool call: its text if that is a JSON object, else an object that holds it.
fn as_object(input: String) -> String {
    match serde_json::from_str::<Map>(&input) {
        Ok(_) => input,
        Err(_) => format!("{{{}:{}}}", quoted(INVALID_JSON), quoted(&input)),
    }
}

fn owned(text: Text<'_>) -> String {
    match text {
        Text::Str(text) => text.into_owned(),
        _ => String::new(),
    }
}
