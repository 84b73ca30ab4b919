//! Chunks in, one content out: the object the server would have sent without streaming.
//!
//! Pieces of text join until a signature closes the part; every other part comes whole and goes
//! back as it came. Token counts and the reason to stop are kept beside the content and never sent.

use super::call_ids::{CALL_IDS, made, random_seed};
use super::facts::{Told, blocked};
use super::pieces::{CallPiece, OpenCall};
use super::wire::{Chunk, Content, Part};
use crate::wire::json::{Text, Unknown};
use crate::wire::{Whole, call_fragment, failure};
use orlop_types::text::append;
use orlop_types::{NativeItem, Partial, Result, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::mem::take;

/// Collects the chunks of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    role: Option<String>,
    role_first: bool,
    parts: Vec<Held>,
    /// Whether the server sent a list of parts, if only an empty one.
    lists_parts: bool,
    /// The other fields of the content, as text.
    beside: String,
    /// The ids of the calls that have none of their own.
    call_ids: Vec<Option<String>>,
    open_call: Option<OpenCall>,
    /// What ids are made of where the server gives the answer none.
    seed: Option<String>,
    told: Told,
    /// Whether any chunk had a candidate.
    begun: bool,
    /// Whether something came behind the last reason to stop.
    goes_on: bool,
    /// Whether the last part is code that the server is about to run.
    awaits_result: bool,
}

/// A part so far.
#[derive(Debug)]
enum Held {
    Text(TextPart),
    /// JSON text.
    Whole(String),
}

#[derive(Debug)]
struct TextPart {
    text: String,
    thought: bool,
    /// Whether a signature, or a field that is not known here, ended the part.
    closed: bool,
    /// The fields before and behind the text, as text: `"key":value,` and `,"key":value`.
    before: String,
    behind: String,
}

impl Assembler {
    /// Adds a chunk and gives what to show of it; the texts are taken out of the chunk.
    pub fn push(&mut self, chunk: &mut Chunk<'_>) -> Result<Partial> {
        self.told.learn(chunk);
        let Some(candidate) = &mut chunk.candidate else { return Ok(Partial::default()) };
        self.begun = true;
        self.told.learn_candidate(candidate)?;
        let finishes = candidate.finish_reason.filled().is_some();
        let mut partial = Partial::default();
        if let Some(content) = &mut candidate.content {
            let says = content.parts.as_ref().is_some_and(|parts| !parts.is_empty());
            self.push_content(content, &mut partial)?;
            self.goes_on |= says;
        }
        self.goes_on &= !finishes;
        Ok(partial)
    }

    /// Adds text of the answer; a chunk before it told everything else.
    pub(super) fn push_text(&mut self, text: &str) -> Partial {
        let mut partial = Partial::default();
        self.goes_on = true;
        let part = Part { text: Text::Str(Cow::Borrowed(text)), ..Part::default() };
        self.push_text_part(part, &mut partial);
        partial
    }

    /// Whether the model said that it stopped and nothing more is due. Where the server runs code,
    /// it may go on behind a reason to stop.
    pub fn is_complete(&self) -> bool {
        let stopped = self.told.finish_reason.as_deref();
        let runs_code = self.awaits_result && stopped == Some("STOP");
        stopped.is_some() && !self.goes_on && !runs_code
    }

    fn push_content(&mut self, content: &mut Content<'_>, partial: &mut Partial) -> Result<()> {
        if let (None, Some(role)) = (&self.role, content.role.filled()) {
            self.role = Some(role.to_owned());
            self.role_first = content.role_first;
        }
        if !content.unknown.is_empty() {
            self.beside = fields_text(&content.unknown, ",", "");
        }
        self.lists_parts |= content.parts.is_some();
        for part in content.parts.iter_mut().flatten() {
            self.push_part(take(part), partial)?;
        }
        Ok(())
    }

    fn push_part(&mut self, mut part: Part<'_>, partial: &mut Partial) -> Result<()> {
        if let Some(call) = part.field("functionCall") {
            self.awaits_result = false;
            return self.push_call(call, &part.fields, partial);
        }
        if matches!(part.text, Text::Absent) && self.only_closes(&part) {
            part.text = Text::Str(Cow::Borrowed(""));
        }
        match part.text {
            Text::Str(_) => self.push_text_part(part, partial),
            Text::Absent if part.fields.is_empty() => {}
            Text::Absent => {
                self.awaits_result = part.field("executableCode").is_some();
                self.parts.push(Held::Whole(format!("{{{}}}", fields_text(&part.fields, "", ","))));
            }
            Text::Json(value) => {
                let fields = fields_text(&part.fields, ",", "");
                self.parts.push(Held::Whole(format!("{{\"text\":{value}{fields}}}")));
            }
        }
        Ok(())
    }

    /// Whether a part without content is the signature of the text before it.
    fn only_closes(&self, part: &Part<'_>) -> bool {
        let only_signature = matches!(&part.fields[..], [(key, _)] if key == SIGNATURE);
        let open = |last: &Held| matches!(last, Held::Text(text) if !text.closed && !text.thought);
        only_signature && self.parts.last().is_some_and(open)
    }

    fn push_text_part(&mut self, part: Part<'_>, partial: &mut Partial) {
        let thought = part.is_thought();
        let known = |key: &str| key == SIGNATURE || key == "thought";
        let odd = part.fields.iter().any(|(key, _)| !known(key));
        let signature = part.field(SIGNATURE);
        let Text::Str(text) = part.text else { return };
        if text.is_empty() && signature.is_none() && !odd {
            return;
        }
        self.awaits_result = false;
        match self.parts.last_mut() {
            Some(Held::Text(last)) if !last.closed && last.thought == thought && !odd => {
                append(&mut last.text, &text);
                if let Some(signature) = signature {
                    last.behind.push_str(&format!(",\"{SIGNATURE}\":{}", signature.get()));
                    last.closed = true;
                }
            }
            _ => {
                let (before, behind) = part.fields.split_at(part.text_at.min(part.fields.len()));
                self.parts.push(Held::Text(TextPart {
                    text: text.clone().into_owned(),
                    thought,
                    closed: odd || signature.is_some(),
                    before: fields_text(before, "", ",") + if before.is_empty() { "" } else { "," },
                    behind: fields_text(behind, ",", ""),
                }));
            }
        }
        let shown = if thought { &mut partial.reasoning } else { &mut partial.content };
        if shown.is_empty() {
            *shown = text.into_owned();
        } else {
            shown.push_str(&text);
        }
    }

    fn push_call(
        &mut self,
        call: &RawValue,
        fields: &Unknown<'_>,
        partial: &mut Partial,
    ) -> Result<()> {
        let piece: CallPiece<'_> = serde_json::from_str(call.get())
            .map_err(|error| failure::unreadable("a function call", call.get(), &error))?;
        let begins = piece.name.filled().is_some();
        if begins {
            self.close_call(partial);
        }
        if piece.is_whole() {
            let args = Value::Object(piece.args.unwrap_or_default());
            self.show_call(&piece.id, &piece.name, &args.to_string(), partial);
            self.parts.push(Held::Whole(format!("{{{}}}", fields_text(fields, "", ","))));
            return Ok(());
        }
        if begins {
            self.show_call(&piece.id, &piece.name, "", partial);
            self.open_call = Some(OpenCall::new(&piece));
        }
        let Some(open) = &mut self.open_call else {
            if !piece.is_end() {
                self.parts.push(Held::Whole(format!("{{{}}}", fields_text(fields, "", ","))));
            }
            return Ok(());
        };
        for (key, value) in fields.iter().filter(|(key, _)| key != "functionCall") {
            open.beside.push_str(&format!(",{}:{}", Value::from(&**key), value.get()));
        }
        let ends = !piece.will_continue;
        open.push(piece);
        if ends {
            self.close_call(partial);
        }
        Ok(())
    }

    fn close_call(&mut self, partial: &mut Partial) {
        if let Some(call) = self.open_call.take() {
            let index = self.call_ids.len().saturating_sub(1);
            partial.tool_calls.push(call_fragment(index, None, None, &call.arguments()));
            self.parts.push(Held::Whole(call.into_part()));
        }
    }

    /// Shows the begin of a call, and gives it an id if the server gave none.
    fn show_call(&mut self, id: &Text<'_>, name: &Text<'_>, args: &str, partial: &mut Partial) {
        let index = self.call_ids.len();
        let made = match id.filled() {
            Some(_) => None,
            None => {
                let seed = match &self.told.response_id {
                    Some(id) => id,
                    None => self.seed.get_or_insert_with(random_seed),
                };
                Some(made(seed, index))
            }
        };
        let id = made.as_deref().or(id.filled());
        partial.tool_calls.push(call_fragment(index, id, name.filled(), args));
        self.call_ids.push(made);
    }

    /// The content. An answer without any candidate is an error, and so is one that the model
    /// failed to give.
    pub fn finish(mut self) -> Result<NativeItem> {
        self.close_call(&mut Partial::default());
        let text = self.content_text();
        self.finish_as(&text)
    }

    /// The content in the words of `text`, which says what was pushed.
    fn finish_as(mut self, text: &str) -> Result<NativeItem> {
        if !self.begun {
            return Err(failure::no_choice(None));
        }
        if self.parts.is_empty()
            && let Some(failure) = self.told.failure()
        {
            return Err(failure);
        }
        let item = NativeItem::from_text(text)
            .map_err(|error| failure::unreadable("a content", text, &error))?;
        let mut facts = take(&mut self.told).facts(!self.call_ids.is_empty());
        if self.call_ids.iter().any(Option::is_some) {
            facts.others.insert(CALL_IDS.to_owned(), self.call_ids.into());
        }
        Ok(facts.beside(item))
    }

    fn content_text(&self) -> String {
        let role = Value::from(self.role.as_deref().unwrap_or("model"));
        let mut parts = String::new();
        for part in &self.parts {
            if !parts.is_empty() {
                parts.push(',');
            }
            match part {
                Held::Whole(text) => parts.push_str(text),
                Held::Text(TextPart { text, before, behind, .. }) => {
                    let text = Value::from(text.as_str());
                    parts.push_str(&format!("{{{before}\"text\":{text}{behind}}}"));
                }
            }
        }
        match self.role_first {
            _ if !self.lists_parts => format!("{{\"role\":{role}{}}}", self.beside),
            true => format!("{{\"role\":{role},\"parts\":[{parts}]{}}}", self.beside),
            false => format!("{{\"parts\":[{parts}],\"role\":{role}{}}}", self.beside),
        }
    }
}

/// Where a part keeps what the model wants back.
const SIGNATURE: &str = "thoughtSignature";

/// Fields as JSON text, each behind `before`, with `between` between them.
fn fields_text(fields: &[(Cow<'_, str>, &RawValue)], before: &str, between: &str) -> String {
    let field = |(key, value): &(Cow<'_, str>, &RawValue)| {
        format!("{before}{}:{}", Value::from(&**key), value.get())
    };
    fields.iter().map(field).collect::<Vec<_>>().join(between)
}

/// Reads an answer that was not streamed. The content stays as the server wrote it, byte for byte.
pub fn answer(body: &str) -> Result<Whole> {
    let mut chunk =
        Chunk::parse(body).map_err(|error| failure::unreadable("an answer", body, &error))?;
    if chunk.error.is_some() {
        return Err(failure::reported(body));
    }
    if chunk.candidate.is_none() {
        return Err(blocked(&chunk, body).unwrap_or_else(|| failure::no_choice(Some(body))));
    }
    let mut assembler = Assembler::default();
    let shown = assembler.push(&mut chunk)?;
    let item = match content(body) {
        Some(content) => assembler.finish_as(content.get()),
        None => assembler.finish(),
    };
    let item = item.map_err(|error| match error.provider_body() {
        None => error.with_provider_body(None, body),
        Some(_) => error,
    })?;
    Ok(Whole { shown, items: vec![item] })
}

/// The content of the first candidate, if it says whose it is.
fn content(body: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        candidates: Vec<Candidate<'a>>,
    }
    #[derive(Deserialize)]
    struct Candidate<'a> {
        index: Option<u64>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Role<'a> {
        #[serde(borrow)]
        role: Text<'a>,
    }
    let answer: Answer<'_> = serde_json::from_str(body).ok()?;
    let first = answer.candidates.into_iter().find(|it| it.index.unwrap_or(0) == 0)?;
    let content = first.content?;
    serde_json::from_str::<Role<'_>>(content.get()).ok()?.role.filled()?;
    Some(content)
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
