//! What the APIs of model servers have in common. A [`Wire`] says what is particular to one of
//! them; [`HttpProvider`] makes the provider plugin of it.
//!
//! Bytes of an answer go through a [`Framing`] into a [`Reader`], which shows
//! fragments and ends in native items. None of the parts does I/O but the plugin.

pub(crate) mod body;
pub(crate) mod facts;
pub(crate) mod failure;
pub(crate) mod frame;
pub mod json;
pub(crate) mod merge;
pub mod models;
pub mod options;
pub mod parts;
pub(crate) mod place;
mod provider;
mod refused;
mod running;
mod stream;
#[cfg(test)]
pub(crate) mod testing;

pub use facts::{Facts, Finish, Usage, call_fragment};
#[cfg(feature = "local")]
pub(crate) use provider::model_setting;
pub(crate) use provider::placed;
pub use provider::{HttpProvider, base_url, key, with_own_calls, with_own_headers};
pub(crate) use running::{Guarded, Running};
pub use stream::{Events, events, steps};

use crate::http::Call;
use crate::sse::{Framing, SseEvent};
use orlop_core::hooks::{Chunk, ModelRequest};
use orlop_core::interop::Interop;
use orlop_core::{Config, Context, Error, Manifest, Map, Message, NativeItem, Result};
use orlop_types::Partial;

/// One API of model servers: a type without values, whose functions say how it is spoken.
pub trait Wire: Send + Sync + 'static {
    /// The plugin's name, as `provider` in a configuration says it.
    const NAME: &'static str;
    /// The name of the form of its native items.
    const FORMAT: &'static str;
    /// Where the server is unless the configuration says so.
    const BASE_URL: &'static str;
    /// Configuration keys on which the list of models depends.
    const DISCOVERY: &'static [&'static str] = &["base_url", "api_key", "headers"];
    /// Fields of the request that are groups of settings: `extra_body` adds to them, setting by
    /// setting, where it would replace any other field.
    const GROUPS: &'static [&'static str] = &[];
    /// Fields of the request that some servers refuse, and can answer without. A server that names
    /// one in a refusal is asked again without it, and is not sent it any more.
    const OPTIONAL: &'static [&'static str] = &[];
    /// What every model behind this API can do, as far as the API is concerned.
    const TAGS: &'static [&'static str];
    /// Reads a streamed answer.
    type Reader: Reader;

    /// Adds the configuration keys to the manifest.
    fn describe(manifest: Manifest) -> Manifest;

    /// The forms in which this API takes tool schemas and tool calls.
    fn interop() -> Interop;

    /// The fields of the request that the configuration gives; they become `state.request`, where
    /// extensions and features may change them.
    fn parameters(config: &Config) -> Result<Map>;

    /// The request, with its key and headers.
    fn call(input: &ModelRequest, cx: &Context) -> Result<Call>;

    /// What to send, once, in place of a request that the server refused; `None` if nothing else
    /// would do.
    fn instead(_: &ModelRequest, _: &Context, _refusal: &Error) -> Option<Result<Call>> {
        None
    }

    /// The items of an answer, with what is to be remembered of the request that led to it.
    fn settle(items: Vec<NativeItem>, _: &ModelRequest) -> Vec<NativeItem> {
        items
    }

    /// Asks for the list of models.
    fn models_call(config: &Config) -> Result<Call>;

    /// Reads the list of models: mappings with an `id`.
    fn models(body: &str) -> Result<Vec<Map>> {
        models::parse(body)
    }

    /// The messages in this API's form. Tool calls may be in any form; see [`with_own_calls`].
    fn to_native(messages: &[Message], cx: &Context) -> Vec<NativeItem>;

    /// The messages that the items amount to, each with the positions of the items it stems from.
    fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)>;

    /// Reads an answer that was not streamed.
    fn whole(body: &str) -> Result<Whole>;

    /// How many tokens the configured model takes.
    fn context_window(config: &Config) -> Option<u64> {
        crate::catalogue::find(config.text("model")?)?.context_window
    }

    /// A failed request to `model`, with better advice where this API is known to mean something
    /// by it.
    fn explained(error: Error, _model: &str) -> Error {
        error
    }
}

/// Reads the events of one answer.
pub trait Reader: Default + Send + Unpin + 'static {
    /// How events stand in the body.
    type Framing: Framing;

    /// What an event means.
    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning>;

    /// Whether the model said that it stopped: what follows could only tell the cost.
    fn is_complete(&self) -> bool;

    /// The items of the answer. An answer without any is an error.
    fn finish(self) -> Result<Vec<NativeItem>>;
}

/// What one event means.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// There is something to show.
    Show(Partial),
    /// It says nothing to people.
    Nothing,
    /// The answer is over.
    Done,
}

impl From<Partial> for Meaning {
    fn from(partial: Partial) -> Self {
        if partial.is_empty() { Self::Nothing } else { Self::Show(partial) }
    }
}

/// An answer that came in one piece.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Whole {
    /// What to show of it.
    pub shown: Partial,
    /// Its items.
    pub items: Vec<NativeItem>,
}

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A fragment to show.
    Partial(Partial),
    /// The finished items; nothing follows.
    Final(Vec<NativeItem>),
}

impl From<Step> for Chunk {
    fn from(step: Step) -> Self {
        match step {
            Step::Partial(partial) => Self::partial(partial),
            Step::Final(items) => Self::finals(items),
        }
    }
}
