//! The replies a test can queue, and the builders that describe them.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::playback::Step;

/// One scripted answer of a [`MockModel`](super::MockModel).
///
/// What can be said about a reply depends on what it carries: a [`Completion`]
/// ([`Reply::text`], [`Reply::tool_call`], ...), a [`Script`] of single steps
/// ([`Reply::script`]), or a [`Fixed`] status and body ([`Reply::status`]).
#[derive(Clone, Debug)]
pub struct Reply<C = Content> {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) hold: Option<Gate>,
    pub(super) content: C,
}

/// Any of the things that a reply can carry.
#[derive(Clone, Debug)]
pub enum Content {
    /// An answer of the model.
    Completion(Box<Completion>),
    /// Single steps.
    Script(Script),
    /// A status and a body.
    Fixed(Fixed),
}

/// An answer of the model, sent as a stream or as one document, as the request asks.
#[derive(Clone, Debug)]
pub struct Completion {
    pub(super) parts: Vec<Part>,
    pub(super) reasoning_field: String,
    pub(super) fragments: usize,
    pub(super) interleaved: bool,
    pub(super) pace: Option<Duration>,
    pub(super) usage: Usage,
    /// Sent instead of `usage`.
    pub(super) usage_json: Option<Value>,
    pub(super) finish_reason: Option<String>,
    pub(super) ending: Ending,
}

/// One piece of a completion, in the order of sending.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Reasoning(String),
    Text(String),
    ToolCalls(Vec<ToolCall>),
    Wait(Gate),
    Delay(Duration),
}

/// What an answer took, in words that are the same for every API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Everything read, what came from a cache included.
    pub(super) input: u64,
    /// Everything written, reasoning included.
    pub(super) output: u64,
    pub(super) cached: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

impl Usage {
    fn new(input: u64, output: u64) -> Self {
        Self { input, output, cached: None, reasoning: None }
    }
}

/// How a completion ends.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Complete,
    WithoutDone,
    WithoutFinish,
    Error(Value),
    Cut,
}

impl Completion {
    /// Why the model stops: `stop`, `length`, `tool_calls`, `content_filter`, `refusal`, `pause`,
    /// or the word of one API.
    pub(super) fn finish(&self) -> &str {
        let calls_tools = self.parts.iter().any(|part| matches!(part, Part::ToolCalls(_)));
        match &self.finish_reason {
            Some(reason) => reason,
            None if calls_tools => "tool_calls",
            None => "stop",
        }
    }
}

impl Ending {
    /// The status and the message of an error.
    pub(super) fn failure(&self) -> (u16, String) {
        let Self::Error(error) = self else { return (500, String::new()) };
        let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        (status.unwrap_or(500), error["message"].as_str().unwrap_or_default().to_owned())
    }
}

/// A body sent step by step, exactly as the test says.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) steps: Vec<Step>,
}

/// A body sent as a whole.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// An error in the form of the API unless set.
    pub(super) body: Option<Bytes>,
    /// What that error says.
    pub(super) message: String,
}

/// A request of the model to call a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ToolCall {
    /// A call; `arguments` is sent as it is, valid JSON or not.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    /// The arguments for an API that wants them as an object; empty if they are none.
    pub(super) fn argument_object(&self) -> Value {
        let arguments = serde_json::from_str(&self.arguments).ok();
        arguments.filter(Value::is_object).unwrap_or_else(|| json!({}))
    }
}

impl<I: Into<String>, N: Into<String>, A: Into<String>> From<(I, N, A)> for ToolCall {
    fn from((id, name, arguments): (I, N, A)) -> Self {
        Self::new(id, name, arguments)
    }
}

impl<C> Reply<C> {
    fn ok(content: C) -> Self {
        Self { status: 200, headers: Vec::new(), hold: None, content }
    }

    /// Adds a response header; `content-type` replaces the usual one.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends nothing at all, not even the status, until the gate opens.
    pub fn hold(mut self, gate: impl Into<Gate>) -> Self {
        self.hold = Some(gate.into());
        self
    }

    /// Forgets what kind of content this is, so that different replies fit in one list.
    pub fn any(self) -> Reply
    where
        C: Into<Content>,
    {
        let Self { status, headers, hold, content } = self;
        Reply { status, headers, hold, content: content.into() }
    }

    fn map(mut self, change: impl FnOnce(&mut C)) -> Self {
        change(&mut self.content);
        self
    }
}

impl Reply<Completion> {
    /// A completion of nothing: the model says no word and stops.
    pub fn empty() -> Self {
        Self::ok(Completion {
            parts: Vec::new(),
            reasoning_field: "reasoning_content".to_owned(),
            fragments: 1,
            interleaved: false,
            pace: None,
            usage: Usage::new(10, 5),
            usage_json: None,
            finish_reason: None,
            ending: Ending::Complete,
        })
    }

    /// Text, in these chunks.
    pub fn text(chunks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::empty().then_text(chunks)
    }

    /// One tool call.
    pub fn tool_call(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self::tool_calls([ToolCall::new(id, name, arguments)])
    }

    /// Several tool calls in one message, as [`ToolCall`]s or `(id, name, arguments)`.
    pub fn tool_calls(calls: impl IntoIterator<Item = impl Into<ToolCall>>) -> Self {
        Self::empty().then_tool_calls(calls)
    }

    /// An error where a chunk should be, under HTTP 200.
    pub fn error(message: &str) -> Self {
        Self::empty().then_error(error_object(message))
    }

    /// Puts reasoning before everything else; several calls make several chunks.
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.map(|completion| {
            let before_the_answer = completion
                .parts
                .iter()
                .position(|part| !matches!(part, Part::Reasoning(_)))
                .unwrap_or(completion.parts.len());
            completion.parts.insert(before_the_answer, Part::Reasoning(text.into()));
        })
    }

    /// The name of the field that carries reasoning in chat completions: `reasoning_content`
    /// unless set here.
    pub fn reasoning_field(self, name: impl Into<String>) -> Self {
        self.map(|completion| completion.reasoning_field = name.into())
    }

    /// More text.
    pub fn then_text(self, chunks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.map(|completion| {
            completion.parts.extend(chunks.into_iter().map(|chunk| Part::Text(chunk.into())));
        })
    }

    /// Tool calls after what was said so far.
    pub fn then_tool_calls(self, calls: impl IntoIterator<Item = impl Into<ToolCall>>) -> Self {
        let calls = calls.into_iter().map(Into::into).collect();
        self.map(|completion| completion.parts.push(Part::ToolCalls(calls)))
    }

    /// Streams the arguments of each tool call in this many fragments.
    pub fn split_arguments(self, fragments: usize) -> Self {
        self.map(|completion| completion.fragments = fragments)
    }

    /// Streams the fragments of parallel tool calls in turn, not one call after the other.
    pub fn interleaved(self) -> Self {
        self.map(|completion| completion.interleaved = true)
    }

    /// Waits, after what was said so far, until the test opens the gate.
    pub fn wait(self, gate: impl Into<Gate>) -> Self {
        self.map(|completion| completion.parts.push(Part::Wait(gate.into())))
    }

    /// Waits this long after what was said so far. For demos and benchmarks; tests use
    /// [`Self::wait`].
    pub fn delay(self, time: Duration) -> Self {
        self.map(|completion| completion.parts.push(Part::Delay(time)))
    }

    /// Waits this long before every chunk of a stream, for demos and benchmarks.
    pub fn pace(self, time: Duration) -> Self {
        self.map(|completion| completion.pace = Some(time))
    }

    /// The token counts to report: 10 and 5 unless set.
    pub fn usage(self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.map(|completion| completion.usage = Usage::new(prompt_tokens, completion_tokens))
    }

    /// How many of the tokens read came from a cache.
    pub fn cached(self, tokens: u64) -> Self {
        self.map(|completion| completion.usage.cached = Some(tokens))
    }

    /// How many of the tokens written were reasoning.
    pub fn thought(self, tokens: u64) -> Self {
        self.map(|completion| completion.usage.reasoning = Some(tokens))
    }

    /// The usage object to report, in full.
    pub fn usage_json(self, usage: Value) -> Self {
        self.map(|completion| completion.usage_json = Some(usage))
    }

    /// The finish reason: `tool_calls` or `stop` unless set. `length`, `content_filter`,
    /// `refusal` and `pause` are said in the word of the API, others as they are.
    pub fn finish_reason(self, reason: impl Into<String>) -> Self {
        self.map(|completion| completion.finish_reason = Some(reason.into()))
    }

    /// Ends the stream properly, but without `data: [DONE]`.
    pub fn without_done(self) -> Self {
        self.ending(Ending::WithoutDone)
    }

    /// Ends the stream properly, but without a finish reason, usage or `data: [DONE]`.
    pub fn without_finish(self) -> Self {
        self.ending(Ending::WithoutFinish)
    }

    /// Ends with an error instead of a finish reason. Chat completions send this object; other APIs
    /// make their own of its `message` and `code`, which is a status.
    pub fn then_error(self, error: Value) -> Self {
        self.ending(Ending::Error(error))
    }

    /// Breaks the connection off after what was said so far.
    pub fn cut(self) -> Self {
        self.ending(Ending::Cut)
    }

    fn ending(self, ending: Ending) -> Self {
        self.map(|completion| completion.ending = ending)
    }
}

impl Reply<Script> {
    /// A stream of which the test says every step. Nothing is added to it.
    pub fn script() -> Self {
        Self::ok(Script::default())
    }

    /// One data line with this JSON.
    pub fn event(self, data: Value) -> Self {
        self.raw(format!("data: {data}\n\n"))
    }

    /// The line `data: [DONE]`.
    pub fn done(self) -> Self {
        self.raw("data: [DONE]\n\n")
    }

    /// These bytes as they are, in one write.
    ///
    /// The client may still read two writes at once; where it must not, put a [`Self::wait`]
    /// between them.
    pub fn raw(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Write(Bytes::copy_from_slice(bytes.as_ref())))
    }

    /// Waits until the test opens the gate.
    pub fn wait(self, gate: impl Into<Gate>) -> Self {
        self.step(Step::Wait(gate.into()))
    }

    /// Waits this long. For demos and benchmarks; tests use [`Self::wait`].
    pub fn delay(self, time: Duration) -> Self {
        self.step(Step::Delay(time))
    }

    /// Breaks the connection off without a proper end of the body. Nothing after it is sent.
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    fn step(self, step: Step) -> Self {
        self.map(|script| script.steps.push(step))
    }
}

impl Reply<Fixed> {
    /// This HTTP status with an error in the form of the API as the body, unless [`Self::body`]
    /// says otherwise.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::ok(Fixed { body: None, message: format!("mock status {status}") }) }
    }

    /// What the error says.
    pub fn saying(self, message: impl Into<String>) -> Self {
        self.map(|fixed| fixed.message = message.into())
    }

    /// The whole body.
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        self.map(|fixed| fixed.body = Some(body.into()))
    }

    /// The whole body, as JSON.
    pub fn json(self, body: Value) -> Self {
        self.body(body.to_string())
    }
}

impl From<Completion> for Content {
    fn from(completion: Completion) -> Self {
        Self::Completion(Box::new(completion))
    }
}

impl From<Script> for Content {
    fn from(script: Script) -> Self {
        Self::Script(script)
    }
}

impl From<Fixed> for Content {
    fn from(fixed: Fixed) -> Self {
        Self::Fixed(fixed)
    }
}

pub(super) fn error_object(message: &str) -> Value {
    json!({"message": message, "type": "mock_error", "param": null, "code": null})
}
