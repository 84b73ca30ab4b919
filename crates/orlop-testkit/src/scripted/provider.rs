//! A provider that answers from a script. Its native form is easy to read in a test:
//! `{"who": "user", "say": "hi"}`.
//!
//! Two forms make the mapping many-to-many: an item `{"think": ...}` belongs to the item after
//! it (two items, one message), and an item `{"pair": ["a", "b"]}` is two assistant messages.
//! `"stopped": "pause"` in an item becomes the message's `finish_reason`, `"reasoning"` its reasoning.

use super::Log;
use crate::Gate;
use futures::stream::{self, BoxStream, StreamExt};
use orlop_core::hooks::{
    CancelInput, Chunk, ConfigInput, FinalizeChange, FinalizeInput, FromNativeInput, InitInput,
    ModelAnswer, ModelRequest, RequestChange, RequestInput, TagsInput, ToNativeInput, UiInput,
};
use orlop_core::interop::Interop;
use orlop_core::types::{Map, Partial, Value};
use orlop_core::{
    Answer, Change, Context, Error, Manifest, Message, NativeIndices, NativeItem, Plugin, Provider,
    Result, Role, State, StateChange,
};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One answer of the script.
#[derive(Clone, Default)]
pub struct ScriptedReply {
    partials: Vec<Partial>,
    finals: Vec<NativeItem>,
    wait: Option<Gate>,
    error: Option<Error>,
    silent_chunks: usize,
}

impl ScriptedReply {
    /// Streams these fragments and finishes with all of them as one item.
    pub fn text(fragments: &[&str]) -> Self {
        Self {
            partials: fragments.iter().map(|text| Partial::text(*text)).collect(),
            finals: vec![json!({ "who": "assistant", "say": fragments.concat() }).into()],
            ..Self::default()
        }
    }

    /// Asks for tools: each call as `(id, name, arguments)`, in function style.
    pub fn calls(calls: &[(&str, &str, Value)]) -> Self {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(id, name, arguments)| {
                json!({ "id": id, "type": "function",
                        "function": { "name": name, "arguments": arguments.to_string() } })
            })
            .collect();
        Self::items(vec![json!({ "who": "assistant", "say": "", "calls": calls })])
    }

    /// Finishes with these items and shows nothing on the way.
    pub fn items(items: Vec<Value>) -> Self {
        Self { finals: items.into_iter().map(NativeItem::from).collect(), ..Self::default() }
    }

    /// Fails after the fragments.
    pub fn failing(mut self, error: Error) -> Self {
        self.error = Some(error);
        self.finals.clear();
        self
    }

    /// Shows one more fragment.
    pub fn with_partial(mut self, partial: Partial) -> Self {
        self.partials.push(partial);
        self
    }

    /// Waits for `gate` after the fragments.
    pub fn waiting_for(mut self, gate: &Gate) -> Self {
        self.wait = Some(gate.clone());
        self
    }

    /// Sends so many chunks that carry nothing before the others.
    pub fn with_silent_chunks(mut self, count: usize) -> Self {
        self.silent_chunks = count;
        self
    }

    fn chunks(self) -> BoxStream<'static, Result<Chunk>> {
        let silent = stream::iter(vec![Ok(Chunk::default()); self.silent_chunks]);
        let partials =
            stream::iter(self.partials.into_iter().map(|partial| Ok(Chunk::partial(partial))));
        let wait = self.wait;
        let waiting = stream::once(async move {
            if let Some(gate) = wait {
                gate.pass().await;
            }
            Ok(Chunk::default())
        });
        let end = match self.error {
            Some(error) => Err(error),
            None => Ok(Chunk::finals(self.finals)),
        };
        silent.chain(partials).chain(waiting).chain(stream::iter([end])).boxed()
    }
}

/// Which forms of model I/O the provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// `stream_api` only.
    Stream,
    /// `call_api` only.
    Call,
    /// Both.
    Both,
    /// Neither, which is a defect.
    None,
}

/// Whether the provider says which items a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// It does.
    Reported,
    /// It does not.
    Missing,
}

/// The provider. Configure it, clone it to keep a hand on it, and register it.
#[derive(Clone)]
pub struct ScriptedProvider(Arc<Inner>);

struct Inner {
    manifest: Manifest,
    io: Io,
    mapping: Mapping,
    models: Vec<Map>,
    tags: Vec<String>,
    format: Option<String>,
    interop: Interop,
    extra_finals: Vec<NativeItem>,
    ui: Vec<Value>,
    state: StateChange,
    replies: Mutex<VecDeque<ScriptedReply>>,
    requests: Mutex<Vec<(Vec<NativeItem>, State)>>,
    log: Log,
    fail_to_native: AtomicBool,
    fail_from_native: AtomicBool,
    fail_models: AtomicBool,
    models_asked: AtomicUsize,
}

impl Default for ScriptedProvider {
    fn default() -> Self {
        Self::new("scripted")
    }
}

impl ScriptedProvider {
    /// A provider named `name` with an empty script.
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Inner {
            manifest: Manifest::new(name, "1.0.0"),
            io: Io::Both,
            mapping: Mapping::Reported,
            models: Vec::new(),
            tags: Vec::new(),
            format: None,
            interop: Interop::default(),
            extra_finals: Vec::new(),
            ui: Vec::new(),
            state: StateChange::Keep,
            replies: Mutex::default(),
            requests: Mutex::default(),
            log: Log::new(),
            fail_to_native: AtomicBool::new(false),
            fail_from_native: AtomicBool::new(false),
            fail_models: AtomicBool::new(false),
            models_asked: AtomicUsize::new(0),
        }))
    }

    /// Changes the provider while nobody else holds it.
    fn configured(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
        self
    }

    /// With this manifest instead.
    pub fn manifest(self, manifest: Manifest) -> Self {
        self.configured(|inner| inner.manifest = manifest)
    }

    /// With these forms of I/O.
    pub fn io(self, io: Io) -> Self {
        self.configured(|inner| inner.io = io)
    }

    /// With or without a mapping of its messages.
    pub fn mapping(self, mapping: Mapping) -> Self {
        self.configured(|inner| inner.mapping = mapping)
    }

    /// Offering these models.
    pub fn models(self, ids: &[&str]) -> Self {
        let models = ids.iter().map(|id| Map::from_iter([("id".to_owned(), json!(id))])).collect();
        self.configured(|inner| inner.models = models)
    }

    /// Contributing these tags.
    pub fn tags(self, tags: &[&str]) -> Self {
        self.configured(|inner| inner.tags = tags.iter().map(|tag| (*tag).to_owned()).collect())
    }

    /// With native history in this format.
    pub fn format(self, format: &str) -> Self {
        self.configured(|inner| inner.format = Some(format.to_owned()))
    }

    /// With these interop formats.
    pub fn interop(self, interop: Interop) -> Self {
        self.configured(|inner| inner.interop = interop)
    }

    /// Adding these finals in `finalize`.
    pub fn extra_finals(self, items: Vec<Value>) -> Self {
        self.configured(|inner| {
            inner.extra_finals = items.into_iter().map(NativeItem::from).collect()
        })
    }

    /// Contributing these UI elements.
    pub fn ui(self, elements: Vec<Value>) -> Self {
        self.configured(|inner| inner.ui = elements)
    }

    /// Changing the state like this in `init`.
    pub fn init_state(self, state: StateChange) -> Self {
        self.configured(|inner| inner.state = state)
    }

    /// Writing what happens into `log`.
    pub fn log_to(self, log: &Log) -> Self {
        self.configured(|inner| inner.log = log.clone())
    }

    /// Adds an answer to the script.
    pub fn reply(&self, reply: ScriptedReply) -> &Self {
        self.0.replies.lock().unwrap_or_else(PoisonError::into_inner).push_back(reply);
        self
    }

    /// Makes conversion to native form fail from now on, or no longer.
    pub fn fail_to_native(&self, fail: bool) {
        self.0.fail_to_native.store(fail, Ordering::SeqCst);
    }

    /// Makes conversion from native form fail from now on, or no longer.
    pub fn fail_from_native(&self, fail: bool) {
        self.0.fail_from_native.store(fail, Ordering::SeqCst);
    }

    /// Makes model discovery fail from now on, or no longer.
    pub fn fail_models(&self, fail: bool) {
        self.0.fail_models.store(fail, Ordering::SeqCst);
    }

    /// How often models were asked for.
    pub fn models_asked(&self) -> usize {
        self.0.models_asked.load(Ordering::SeqCst)
    }

    /// What was sent: native items and state of each request.
    pub fn requests(&self) -> Vec<(Vec<NativeItem>, State)> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the last request said, one text an item, with `|` between.
    pub fn last_request(&self) -> String {
        let requests = self.requests();
        let items = requests.last().map(|(items, _)| items.as_slice()).unwrap_or_default();
        items.iter().map(spoken).collect::<Vec<_>>().join("|")
    }

    /// What happened.
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    fn next_reply(&self, request: &ModelRequest) -> ScriptedReply {
        let sent = (request.native_messages.iter().cloned().collect(), request.state.clone());
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
        let next = self.0.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.unwrap_or_else(|| {
            ScriptedReply::default().failing(Error::provider("the script is exhausted"))
        })
    }
}

fn spoken(item: &NativeItem) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    item.get("say")
        .or_else(|| item.get("think"))
        .or_else(|| item.get("pair"))
        .map(text)
        .unwrap_or_default()
}

impl Plugin for ScriptedProvider {
    fn manifest(&self) -> Manifest {
        self.0.manifest.clone()
    }

    fn init<'a>(&'a self, _: &'a InitInput, _: &'a Context) -> Answer<'a, StateChange> {
        self.0.log.add(format!("{}.init", self.0.manifest.name));
        Answer::ok(self.0.state.clone())
    }

    fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        Answer::ok(self.0.tags.clone())
    }

    fn get_ui_elements<'a>(&'a self, _: &'a UiInput, _: &'a Context) -> Answer<'a, Vec<Value>> {
        Answer::ok(self.0.ui.clone())
    }
}

impl Provider for ScriptedProvider {
    fn native_format(&self, _: &orlop_core::Config) -> Option<String> {
        self.0.format.clone()
    }

    fn interop(&self) -> Interop {
        self.0.interop.clone()
    }

    fn get_models<'a>(&'a self, _: &'a ConfigInput, _: &'a Context) -> Answer<'a, Vec<Map>> {
        self.0.models_asked.fetch_add(1, Ordering::SeqCst);
        if self.0.fail_models.load(Ordering::SeqCst) {
            return Err(Error::unavailable("no model list")).into();
        }
        Answer::ok(self.0.models.clone())
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        self.0.log.add(format!("to_native({})", input.messages.len()));
        if self.0.fail_to_native.load(Ordering::SeqCst) {
            return Err(Error::provider("to_native was told to fail")).into();
        }
        Answer::ok(input.messages.iter().map(to_item).collect())
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        self.0.log.add(format!("from_native({})", input.native_messages.len()));
        if self.0.fail_from_native.load(Ordering::SeqCst) {
            return Err(Error::provider("from_native was told to fail")).into();
        }
        let mut messages = Vec::new();
        let mut thoughts = Vec::new();
        for (index, item) in input.native_messages.iter().enumerate() {
            if item.get("think").is_some() {
                thoughts.push(index);
                continue;
            }
            let from: Vec<usize> = thoughts.drain(..).chain([index]).collect();
            messages.extend(to_messages(item).into_iter().map(|message| match self.0.mapping {
                Mapping::Reported => message.with_native_indices(NativeIndices::new(from.clone())),
                Mapping::Missing => message,
            }));
        }
        Answer::ok(messages)
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        self.0.log.add(format!("{}.initialize", self.0.manifest.name));
        let mut request = json!({ "model": input.state.config.text("model") });
        if let Some(tools) =
            cx.wire_tools().and_then(|text| serde_json::from_str::<Value>(text).ok())
        {
            request["tools"] = tools;
        }
        Answer::ok(RequestChange::state(StateChange::set("request", request)))
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        _: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        if !matches!(self.0.io, Io::Call | Io::Both) {
            return Answer::ok(None);
        }
        self.0.log.add("call_api");
        let reply = self.next_reply(input);
        Answer::later(async move {
            if let Some(gate) = &reply.wait {
                gate.pass().await;
            }
            if let Some(error) = reply.error {
                return Err(error);
            }
            Ok(Some(ModelAnswer {
                partials: reply.partials,
                final_messages: reply.finals,
                ..ModelAnswer::default()
            }))
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        _: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        if !matches!(self.0.io, Io::Stream | Io::Both) {
            return None;
        }
        self.0.log.add("stream_api");
        Some(self.next_reply(input).chunks())
    }

    fn finalize<'a>(&'a self, _: &'a FinalizeInput, _: &'a Context) -> Answer<'a, FinalizeChange> {
        self.0.log.add(format!("{}.finalize", self.0.manifest.name));
        if self.0.extra_finals.is_empty() {
            return Answer::default();
        }
        let final_messages = Change::append(self.0.extra_finals.clone());
        Answer::ok(FinalizeChange { final_messages, ..FinalizeChange::default() })
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, _: &'a Context) -> Answer<'a, ()> {
        self.0.log.add(format!("cancel({})", input.request_id));
        Answer::default()
    }
}

fn to_item(message: &Message) -> NativeItem {
    let mut item = json!({ "who": message.role(), "say": message.content() });
    if let Some(calls) = message.metadata().get("tool_calls") {
        item["calls"] = calls.clone();
    }
    if let Some(id) = message.metadata().get("tool_call_id") {
        item["answers"] = id.clone();
    }
    if let Some(result) = message.tool_result() {
        item["result"] = Value::Object(result.clone());
    }
    if !message.multipart_content().is_empty() {
        item["parts"] = json!(message.multipart_content());
    }
    item.into()
}

fn to_messages(item: &NativeItem) -> Vec<Message> {
    if let Some(Value::Array(pair)) = item.get("pair") {
        return pair.iter().map(|text| Message::assistant(text.clone())).collect();
    }
    let role = item.get("who").and_then(Value::as_str).and_then(|role| role.parse().ok());
    let mut message =
        Message::new(role.unwrap_or(Role::User), item.get("say").cloned().unwrap_or_default());
    if let Some(calls) = item.get("calls") {
        message = message.with_metadata_entry("tool_calls", calls.clone());
    }
    if let Some(reasoning) = item.get("reasoning") {
        message = message.with_metadata_entry("reasoning", reasoning.clone());
    }
    if let Some(reason) = item.get("stopped") {
        message = message.with_metadata_entry("finish_reason", reason.clone());
    }
    if let Some(id) = item.get("answers") {
        message = message.with_metadata_entry("tool_call_id", id.clone());
    }
    if let Some(Value::Object(result)) = item.get("result") {
        message = message.with_tool_result(result.clone());
    }
    if let Some(Value::Array(parts)) = item.get("parts") {
        let parts = parts.iter().filter_map(Value::as_object).cloned().collect();
        message = message.with_multipart_content(parts);
    }
    vec![message]
}
