//! Events in, one message out: the object the server would have sent without streaming.
//!
//! Everything in a block goes back to the server as it came, known here or not. Why the model
//! stopped and what it cost is kept beside the message and never sent.

use super::block::Block;
use super::event::{Event, Growth, Message};
use crate::wire::json::Unknown;
use crate::wire::merge::{Strings, add_raw};
use crate::wire::{Facts, Finish, Meaning, Usage, Whole, call_fragment, failure};
use orlop_types::{Error, Map, NativeItem, Partial, Result, Value};
use serde_json::value::RawValue;

/// Collects the events of one answer.
#[derive(Debug, Default)]
pub struct Assembler {
    /// With the numbers that the server gives them.
    blocks: Vec<(u64, Block)>,
    calls: usize,
    told: Told,
    /// Whether the message began.
    begun: bool,
}

impl Assembler {
    /// Adds an event and says what it means.
    pub fn push(&mut self, event: Event<'_>) -> Result<Meaning> {
        let index = event.index.unwrap_or_default();
        match event.kind.as_str().unwrap_or_default() {
            "content_block_delta" => match event.delta {
                Some(delta) => self.block(index)?.push(delta).map(Meaning::from),
                None => Ok(Meaning::Nothing),
            },
            "content_block_start" => {
                let beginning = event.content_block.map_or("{}", RawValue::get);
                let (block, shown) = Block::begin(beginning, &mut self.calls)?;
                self.blocks.push((index, block));
                Ok(shown.into())
            }
            "message_start" => {
                self.begun = true;
                let message = event.message.map_or("{}", RawValue::get);
                let message = Message::parse(message)
                    .map_err(|error| failure::unreadable("a message", message, &error))?;
                self.told.learn(&message)?;
                self.begin_with(message.content)
            }
            "message_delta" => {
                if let Some(delta) = &event.delta {
                    self.told.stopped(delta.stop_reason.filled());
                    self.told.learn_others(&delta.unknown)?;
                }
                self.told.learn_usage(event.usage);
                self.told.learn_others(&event.unknown)?;
                Ok(Meaning::Nothing)
            }
            "message_stop" => Ok(Meaning::Done),
            // Pings, the ends of blocks, and what the API may add one day.
            _ => Ok(Meaning::Nothing),
        }
    }

    /// Adds text to a block; an event before it told everything else.
    pub(super) fn grow(&mut self, index: u64, growth: Growth, text: &str) -> Result<Partial> {
        Ok(self.block(index)?.grow(growth, text))
    }

    /// Why the model stopped, once it did.
    pub fn stop_reason(&self) -> Option<&str> {
        self.told.stop_reason.as_deref()
    }

    fn block(&mut self, index: u64) -> Result<&mut Block> {
        let found = self.blocks.iter_mut().rev().find(|(number, _)| *number == index);
        found.map(|(_, block)| block).ok_or_else(|| {
            Error::provider(format!(
                "the model server sent a piece of block {index}, which never began; try again"
            ))
            .with_retryable(true)
        })
    }

    /// Blocks that the message begins with: none, except from servers that only pretend to stream.
    fn begin_with(&mut self, content: Option<&RawValue>) -> Result<Meaning> {
        let blocks: Vec<&RawValue> =
            content.and_then(|blocks| serde_json::from_str(blocks.get()).ok()).unwrap_or_default();
        let mut all = Partial::default();
        for (block, index) in blocks.into_iter().zip(0..) {
            let (block, shown) = Block::begin(block.get(), &mut self.calls)?;
            self.blocks.push((index, block));
            all.content.push_str(&shown.content);
            all.reasoning.push_str(&shown.reasoning);
            all.tool_calls.extend(shown.tool_calls);
        }
        Ok(all.into())
    }

    /// The message. An answer that never began is an error.
    pub fn finish(self) -> Result<NativeItem> {
        if !self.begun {
            return Err(failure::no_choice(None));
        }
        let mut content = String::from("[");
        for (position, (_, block)) in self.blocks.into_iter().enumerate() {
            if position > 0 {
                content.push(',');
            }
            block.write(&mut content)?;
        }
        content.push(']');
        Ok(self.told.beside(item(&content)?))
    }
}

/// The item of an answer with this content.
fn item(content: &str) -> Result<NativeItem> {
    let text = format!(r#"{{"role":"assistant","content":{content}}}"#);
    NativeItem::from_text(&text).map_err(|error| failure::unreadable("a message", &text, &error))
}

/// What an answer says beside its content.
#[derive(Debug, Default)]
struct Told {
    id: Option<String>,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Option<Map>,
    /// Fields of the message, for instance `stop_sequence` and `container`.
    others: Map,
}

impl Told {
    fn learn(&mut self, message: &Message<'_>) -> Result<()> {
        self.id = message.id.filled().map(str::to_owned);
        self.model = message.model.filled().map(str::to_owned);
        self.stopped(message.stop_reason.filled());
        self.learn_usage(message.usage);
        self.learn_others(&message.unknown)
    }

    fn stopped(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.stop_reason = Some(reason.to_owned());
        }
    }

    /// Counts are totals; one that is told again replaces the one before.
    fn learn_usage(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = usage.and_then(|usage| serde_json::from_str::<Map>(usage.get()).ok())
        else {
            return;
        };
        match &mut self.usage {
            Some(held) => held.extend(usage.into_iter().filter(|(_, count)| !count.is_null())),
            None => self.usage = Some(usage),
        }
    }

    fn learn_others(&mut self, unknown: &Unknown<'_>) -> Result<()> {
        unknown
            .iter()
            .try_for_each(|(key, value)| add_raw(&mut self.others, key, value, Strings::Replace))
    }

    fn beside(self, item: NativeItem) -> NativeItem {
        let mut others = Map::new();
        if !self.others.is_empty() {
            others.insert(MESSAGE.to_owned(), self.others.into());
        }
        let facts = Facts {
            finish: self.stop_reason.as_deref().map(finish),
            native_finish: self.stop_reason,
            model: self.model,
            usage: self.usage.as_ref().map(counts),
            native_usage: self.usage,
            response_id: self.id,
            others,
        };
        facts.beside(item)
    }
}

/// Where the internal metadata of an item has the further fields of the message.
const MESSAGE: &str = "message";

/// The container in which the tools of an unfinished answer run: it goes on only in there.
pub(super) fn open_container(item: &NativeItem) -> Option<&str> {
    let reason = item.metadata().get("finish_reason")?.as_str()?;
    let open = [Finish::Pause.as_str(), Finish::ToolCalls.as_str()].contains(&reason);
    item.metadata().get(MESSAGE)?.get("container")?.get("id")?.as_str().filter(|_| open)
}

fn finish(reason: &str) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "pause_turn" | "compaction" => Finish::Pause,
        "refusal" => Finish::Refusal,
        _ => Finish::Stop,
    }
}

fn counts(usage: &Map) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let thinking = || usage.get("output_tokens_details")?.get("thinking_tokens")?.as_u64();
    let (read, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    Usage {
        // The API counts what came out of a cache, or went into one, apart from the rest.
        input: [count("input_tokens"), read, written]
            .into_iter()
            .flatten()
            .fold(0, u64::saturating_add),
        output: count("output_tokens").unwrap_or_default(),
        cache_read: read,
        cache_write: written,
        reasoning: thinking(),
    }
}

/// Reads an answer that was not streamed. Its content stays as the server wrote it, byte for byte.
pub fn answer(body: &str) -> Result<Whole> {
    let message =
        Message::parse(body).map_err(|error| failure::unreadable("an answer", body, &error))?;
    if message.error.is_some() || message.kind.as_str() == Some("error") {
        return Err(failure::reported(body));
    }
    let Some(content) = message.content else { return Err(failure::no_choice(Some(body))) };
    let mut told = Told::default();
    told.learn(&message)?;
    let item = told.beside(item(content.get())?);
    Ok(Whole { shown: shown(&item), items: vec![item] })
}

/// What to show of a message that came whole.
fn shown(item: &NativeItem) -> Partial {
    let mut shown = Partial::default();
    for block in item.get("content").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => shown.content.push_str(text("text").unwrap_or_default()),
            Some("thinking") => shown.reasoning.push_str(text("thinking").unwrap_or_default()),
            Some("tool_use") => {
                let input = block.get("input").unwrap_or(&Value::Null).to_string();
                let position = shown.tool_calls.len();
                let call = call_fragment(position, text("id"), text("name"), &input);
                shown.tool_calls.push(call);
            }
            _ => {}
        }
    }
    shown
}
