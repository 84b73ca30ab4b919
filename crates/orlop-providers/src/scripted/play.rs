//! A reply as it is played: pieces at their pace, the failure where it belongs, then the items.

use super::reply::{Call, Failure, Reply};
use super::script::turn;
use super::shape::Shape;
use crate::wire::{Facts, call_fragment};
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::Chunk;
use orlop_types::{Error, Map, Message, NativeItem, Partial, Result, Value};
use serde_json::json;
use std::time::Duration;

/// What happens, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Play {
    pub(super) delay: Duration,
    pub(super) pace: Duration,
    pub(super) pieces: Vec<Partial>,
    /// The items, or the failure after the pieces.
    pub(super) end: Result<Vec<NativeItem>>,
}

impl Play {
    /// `reply` in the conversation `messages`, with `failure` if it is to fail this time.
    pub(super) fn new(
        reply: &Reply,
        failure: Option<&Failure>,
        messages: &[Message],
        shape: Shape,
        model: Option<&str>,
    ) -> Self {
        let mut text = reply.text.clone();
        if reply.echo {
            text.extend(messages.last().map(spoken).filter(|said| !said.is_empty()));
        }
        let turn = turn(messages);
        let calls: Vec<Map> =
            reply.tool_calls.iter().enumerate().map(|(at, call)| call.made(turn, at)).collect();
        let mut pieces: Vec<Partial> = reply.reasoning.iter().map(Partial::reasoning).collect();
        pieces.extend(text.iter().map(Partial::text));
        pieces.extend(calls.iter().enumerate().map(|(at, call)| shown(at, call)));
        let end = match failure {
            Some(failure) => {
                pieces.truncate(usize::try_from(failure.after).unwrap_or(usize::MAX));
                Err(failure.error.clone())
            }
            None => {
                let items = shape.answer(&answer(reply, text.concat(), calls, model));
                Ok(counted(items, reply, model))
            }
        };
        Self { delay: reply.delay, pace: reply.pace, pieces, end }
    }

    /// Streams it.
    pub(super) fn chunks(self) -> BoxStream<'static, Result<Chunk>> {
        let Self { delay, pace, pieces, end } = self;
        let last = end.map(Chunk::finals);
        let chunks = pieces.into_iter().map(|piece| Ok(Chunk::partial(piece))).chain([last]);
        let first = delay;
        futures::stream::iter(chunks.enumerate())
            .then(move |(at, chunk)| async move {
                // The items come with the last piece, not after it.
                let is_end = chunk.as_ref().map_or(true, |chunk| chunk.partial.is_none());
                let wait = match (at, is_end) {
                    (0, _) => first,
                    (_, true) => Duration::ZERO,
                    _ => pace,
                };
                pause(wait).await?;
                chunk
            })
            .boxed()
    }

    /// Plays it to its end.
    pub(super) async fn whole(self) -> Result<Vec<NativeItem>> {
        let between = u32::try_from(self.pieces.len().saturating_sub(1)).unwrap_or(u32::MAX);
        pause(self.delay.saturating_add(self.pace.saturating_mul(between))).await?;
        self.end
    }
}

/// Waits. Dropping the request ends it.
async fn pause(time: Duration) -> Result<()> {
    if time.is_zero() {
        return Ok(());
    }
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(Error::bad_state(
            "the script has delays, and nothing here measures time; run it on a tokio runtime or take delay_ms and pace_ms out",
        ));
    }
    tokio::time::sleep(time).await;
    Ok(())
}

fn answer(reply: &Reply, text: String, calls: Vec<Map>, model: Option<&str>) -> Message {
    let mut metadata = Map::new();
    if !calls.is_empty() {
        metadata.insert("tool_calls".to_owned(), calls.into_iter().map(Value::Object).collect());
    }
    if !reply.reasoning.is_empty() {
        metadata.insert("reasoning".to_owned(), reply.reasoning.concat().into());
    }
    metadata.insert("finish_reason".to_owned(), reply.finish().as_str().into());
    if let Some(model) = model {
        metadata.insert("model".to_owned(), model.into());
    }
    if let Some(usage) = reply.usage {
        metadata.insert("usage".to_owned(), usage.to_map().into());
    }
    Message::assistant(text).with_metadata(metadata)
}

/// The items, with the token counts where those of other providers have them.
fn counted(mut items: Vec<NativeItem>, reply: &Reply, model: Option<&str>) -> Vec<NativeItem> {
    if reply.usage.is_some()
        && let Some(last) = items.pop()
    {
        let model = model.map(str::to_owned);
        items.push(Facts { usage: reply.usage, model, ..Facts::default() }.beside(last));
    }
    items
}

/// What a message says, as text.
fn spoken(message: &Message) -> String {
    match message.content() {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Call {
    fn made(&self, turn: u64, at: usize) -> Map {
        let id = self.id.clone().unwrap_or_else(|| format!("call_{turn}_{}", at + 1));
        let call = json!({ "id": id, "name": self.name, "arguments": self.arguments });
        call.as_object().cloned().unwrap_or_default()
    }
}

fn shown(at: usize, call: &Map) -> Partial {
    let text = |key: &str| call.get(key).and_then(Value::as_str);
    let arguments = match call.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let fragment = call_fragment(at, text("id"), text("name"), &arguments);
    Partial { tool_calls: vec![fragment], ..Partial::default() }
}
