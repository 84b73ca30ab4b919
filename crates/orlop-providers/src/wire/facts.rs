//! What an answer says beside its content: why it ended, what it cost, who gave it. It is kept in
//! the internal metadata of the native item and never sent, in words that are the same for every
//! API; the server's own words stay beside them.

use orlop_types::message::TOOL_RESULT;
use orlop_types::{Map, Message, NativeItem, Value};
use serde_json::json;

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// A limit of tokens was reached.
    Length,
    /// It waits for the results of tools.
    ToolCalls,
    /// The server kept the rest back.
    ContentFilter,
    /// The model declined to answer.
    Refusal,
    /// It goes on when the answer is sent back to it.
    Pause,
    /// The model failed in the middle.
    Error,
}

impl Finish {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::Error => "error",
        }
    }
}

/// Token counts. `input` counts everything the model read, what came out of a cache included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written, reasoning included.
    pub output: u64,
    /// Read from a cache, where the server says so.
    pub cache_read: Option<u64>,
    /// Written to a cache, where the server says so.
    pub cache_write: Option<u64>,
    /// Written as reasoning, where the server says so.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Reads what stands in `metadata.usage`.
    pub fn from_map(fields: &Map) -> Self {
        let count = |key: &str| fields.get(key).and_then(Value::as_u64);
        Self {
            input: count("input_tokens").unwrap_or_default(),
            output: count("output_tokens").unwrap_or_default(),
            cache_read: count("cache_read_tokens"),
            cache_write: count("cache_write_tokens"),
            reasoning: count("reasoning_tokens"),
        }
    }

    /// As it stands in `metadata.usage`.
    pub fn to_map(self) -> Map {
        let mut fields = Map::new();
        let mut count = |key: &str, count: Option<u64>| {
            if let Some(count) = count {
                fields.insert(key.to_owned(), count.into());
            }
        };
        count("input_tokens", Some(self.input));
        count("output_tokens", Some(self.output));
        count("total_tokens", Some(self.input.saturating_add(self.output)));
        count("cache_read_tokens", self.cache_read);
        count("cache_write_tokens", self.cache_write);
        count("reasoning_tokens", self.reasoning);
        fields
    }
}

/// What an answer says beside its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Why the model stopped.
    pub finish: Option<Finish>,
    /// The same in the server's word.
    pub native_finish: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Token counts.
    pub usage: Option<Usage>,
    /// Token counts, as the server gave them.
    pub native_usage: Option<Map>,
    /// The server's id of the answer.
    pub response_id: Option<String>,
    /// Further facts.
    pub others: Map,
}

const FINISH_REASON: &str = "finish_reason";
const NATIVE_FINISH_REASON: &str = "native_finish_reason";
const MODEL: &str = "model";
const USAGE: &str = "usage";
const NATIVE_USAGE: &str = "native_usage";
const RESPONSE_ID: &str = "response_id";

impl Facts {
    /// `item` with these facts beside it, and nothing else: a server cannot write there.
    pub fn beside(self, item: NativeItem) -> NativeItem {
        let mut metadata = Map::new();
        let mut remember = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                metadata.insert(key.to_owned(), value);
            }
        };
        let word = self.finish.map(Finish::as_str);
        let native = self.native_finish.filter(|native| Some(native.as_str()) != word);
        remember(FINISH_REASON, word.map(Value::from));
        remember(NATIVE_FINISH_REASON, native.map(Value::from));
        remember(MODEL, self.model.map(Value::from));
        remember(USAGE, self.usage.map(|usage| usage.to_map().into()));
        remember(NATIVE_USAGE, self.native_usage.map(Value::from));
        remember(RESPONSE_ID, self.response_id.map(Value::from));
        metadata.extend(self.others);
        item.with_metadata(metadata)
    }
}

/// What of an answer's facts a message tells.
const TOLD: [&str; 4] = [FINISH_REASON, MODEL, USAGE, "reasoning"];
/// What a tool message tells beside its result.
const TOLD_OF_TOOLS: [&str; 3] = ["tool_name", "tool_plugin", "display"];

/// Keeps what an assistant message tells that this API has no field for.
pub(crate) fn remember(message: &Message, item: NativeItem) -> NativeItem {
    remembering(message, &TOLD, item)
}

/// The same for a tool message.
pub(crate) fn remember_result(message: &Message, item: NativeItem) -> NativeItem {
    let item = remembering(message, &TOLD_OF_TOOLS, item);
    match message.tool_result() {
        Some(result) => {
            let mut metadata = item.metadata().clone();
            metadata.insert(TOOL_RESULT.to_owned(), Value::Object(result.clone()));
            item.with_metadata(metadata)
        }
        None => item,
    }
}

fn remembering(message: &Message, keys: &[&str], item: NativeItem) -> NativeItem {
    let mut metadata = item.metadata().clone();
    for key in keys {
        if let Some(value) = message.metadata().get(*key).filter(|value| !value.is_null()) {
            metadata.insert((*key).to_owned(), value.clone());
        }
    }
    if metadata.is_empty() { item } else { item.with_metadata(metadata) }
}

/// Adds to the metadata of an assistant message what its item remembers.
pub(crate) fn recall(item: &NativeItem, metadata: &mut Map) {
    recalling(item, &TOLD, metadata);
}

/// The same for a tool message; gives its structured result.
pub(crate) fn recall_result(item: &NativeItem, metadata: &mut Map) -> Option<Map> {
    recalling(item, &TOLD_OF_TOOLS, metadata);
    item.metadata().get(TOOL_RESULT)?.as_object().cloned()
}

fn recalling(item: &NativeItem, keys: &[&str], metadata: &mut Map) {
    for key in keys {
        if let Some(value) = item.metadata().get(*key) {
            metadata.entry((*key).to_owned()).or_insert_with(|| value.clone());
        }
    }
}

/// A fragment of a tool call, as partials show it: `index` is the position of the call in the
/// message; id and name come with the first fragment, arguments in pieces.
pub fn call_fragment(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut function = Map::new();
    if let Some(name) = name {
        function.insert("name".to_owned(), name.into());
    }
    function.insert("arguments".to_owned(), arguments.into());
    let mut call = Map::new();
    call.insert("index".to_owned(), index.into());
    if let Some(id) = id {
        call.insert("id".to_owned(), id.into());
        call.insert("type".to_owned(), json!("function"));
    }
    call.insert("function".to_owned(), Value::Object(function));
    Value::Object(call)
}
