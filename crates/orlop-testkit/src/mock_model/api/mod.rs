//! The APIs that the mock server speaks. Each turns the same neutral completion into its own
//! events or document, and has its own forms of errors and of the list of models.

mod blocks;
mod chat;
mod events;
mod gemini;
mod messages;
pub(super) mod ollama;
mod responses;

use serde_json::Value;

use super::reply::Completion;
use super::request::RecordedRequest;
use super::rules;
use crate::playback::Step;

/// A fixed time, so that two runs of a test send the same bytes.
const CREATED: u64 = 1_700_000_000;
/// The same time in words.
const CREATED_AT: &str = "2023-11-14T22:13:20Z";

/// An API of model servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI responses.
    Responses,
    /// Anthropic messages.
    Messages,
    /// Gemini's generateContent.
    Gemini,
    /// Ollama's own chat.
    Ollama,
}

/// What a request asks of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Answer,
    Models,
    /// What one model can do.
    Model,
}

/// What differs between the APIs.
pub(super) trait Speech: Sync {
    /// The completion as a stream.
    fn stream(&self, completion: &Completion, frame: &Frame) -> Vec<Step>;
    /// The completion as one document.
    fn document(&self, completion: &Completion, frame: &Frame) -> Value;
    /// A refusal or a fault.
    fn error(&self, status: u16, message: &str) -> Value;
    /// The list of models.
    fn models(&self, names: &[String]) -> Value;
    /// What the real server would say against this request.
    fn check(&self, body: &Value, model: &str) -> Result<(), String>;
    /// The type of a streamed body.
    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Chat, Self::Responses, Self::Messages, Self::Gemini, Self::Ollama];

    /// What stands in an address between the server and the routes of this API.
    pub(super) fn base_path(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses | Self::Messages => "/v1",
            Self::Gemini => "/v1beta",
            Self::Ollama => "",
        }
    }

    /// The API that a request speaks, and what it asks of it.
    pub(super) fn of(request: &RecordedRequest) -> Option<(Self, Asked)> {
        let speaks_messages = request.header("anthropic-version").is_some();
        Some(match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/chat/completions") => (Self::Chat, Asked::Answer),
            ("POST", "/v1/responses") => (Self::Responses, Asked::Answer),
            ("POST", "/v1/messages") => (Self::Messages, Asked::Answer),
            ("POST", "/api/chat") => (Self::Ollama, Asked::Answer),
            ("POST", "/api/show") => (Self::Ollama, Asked::Model),
            ("POST", path) if gemini::method(path).is_some() => (Self::Gemini, Asked::Answer),
            ("GET", "/v1/models") if speaks_messages => (Self::Messages, Asked::Models),
            ("GET", "/v1/models") => (Self::Chat, Asked::Models),
            ("GET", "/v1beta/models") => (Self::Gemini, Asked::Models),
            ("GET", "/api/tags") => (Self::Ollama, Asked::Models),
            _ => return None,
        })
    }

    pub(super) fn speech(self) -> &'static dyn Speech {
        match self {
            Self::Chat => &chat::Chat,
            Self::Responses => &responses::Responses,
            Self::Messages => &messages::Messages,
            Self::Gemini => &gemini::Gemini,
            Self::Ollama => &ollama::Ollama,
        }
    }
}

/// What the answers to one request have in common.
pub(super) struct Frame {
    /// The number of the request, from 1.
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) include_usage: bool,
}

impl Frame {
    /// The frame of the answer to `request`, the `number`th of this server.
    pub(super) fn new(request: &RecordedRequest, number: usize) -> Self {
        let body = request.json();
        let named = body["model"].as_str().or_else(|| gemini::model(&request.path));
        Self {
            number,
            model: named.unwrap_or("mock-model").to_owned(),
            include_usage: body["stream_options"]["include_usage"] == true,
        }
    }
}

/// Whether a request asks for a stream.
pub(super) fn wants_stream(request: &RecordedRequest) -> bool {
    let said = &request.json()["stream"];
    match Api::of(request) {
        Some((Api::Gemini, _)) => gemini::method(&request.path) == Some("streamGenerateContent"),
        // Ollama streams unless told not to.
        Some((Api::Ollama, _)) => said != false,
        _ => said == true,
    }
}

/// Where a completion waits.
pub(super) fn pauses(completion: &Completion) -> Vec<Step> {
    completion.parts.iter().filter_map(blocks::pause).collect()
}
