//! The connection to a process: lines out, lines in, calls both ways. Threads of its own read and
//! write, so that a process that does neither holds nobody up.

use crate::backlog::{Backlog, MAX_STREAM};
use crate::call::Lent;
use crate::lines::{Line, error_of};
use crate::lists::Slots;
use crate::package::Limits;
use crate::rate::{Heard, Rate};
use crate::reverse;
use crate::tap::{ProcessTap, Way};
use futures::channel::{mpsc, oneshot};
use orlop_app::ProcessGroup;
use orlop_core::types::protocol::{Asked, Cancel, Failure, HostPart, Log, Part, Progress};
use orlop_core::{Error, Result, Value};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The longest line.
const MAX_LINE: usize = 32 << 20;
/// What may wait to be written, in bytes and in lines.
const MAX_UNWRITTEN: usize = 256 << 20;
const MAX_UNWRITTEN_LINES: usize = 50_000;
/// How much of a log line is kept.
const MAX_LOG_LINE: u64 = 8 << 10;
/// Log lines kept to explain the end of a process.
const LAST_WORDS: usize = 8;

/// A process that can be talked to.
pub(crate) struct Peer {
    shared: Arc<Shared>,
}

struct Shared {
    package: String,
    state: Mutex<State>,
    to_process: std::sync::mpsc::Sender<Vec<u8>>,
    runtime: tokio::runtime::Handle,
    last_words: Mutex<Vec<String>>,
    /// Dropped, the process and all it started are ended.
    group: Mutex<Option<ProcessGroup>>,
    tap: Option<ProcessTap>,
    /// The longest line and the longest stream, in bytes.
    max_line: usize,
    max_stream: usize,
}

#[derive(Default)]
struct State {
    calls: HashMap<u64, Waiting>,
    next: u64,
    slots: Slots,
    /// Bytes and lines on their way to the process.
    unwritten: usize,
    unwritten_lines: usize,
    /// What it said that nobody asked for.
    unasked: Rate,
    ended: Option<Error>,
}

/// Who waits for what a call gives.
struct Waiting {
    answer: Answering,
    lent: Arc<Lent>,
    /// Nobody waits any more; the process was told so.
    abandoned: bool,
}

enum Answering {
    Once(oneshot::Sender<Result<Box<RawValue>>>),
    Blocked(std::sync::mpsc::SyncSender<Result<Box<RawValue>>>),
    Stream { parts: mpsc::UnboundedSender<Step>, taken: Arc<Backlog> },
}

/// One thing a stream gives.
pub(crate) enum Step {
    Part(Box<RawValue>),
    Progress(Value),
    End(Result<Box<RawValue>>),
}

/// What a call gives, when it is there.
pub(crate) type Answered = oneshot::Receiver<Result<Box<RawValue>>>;

/// A call under way. Dropped before its end, the process is told that nobody waits.
pub(crate) struct Call {
    id: u64,
    shared: Arc<Shared>,
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let Some(waiting) = state.calls.get_mut(&self.id) else { return };
        waiting.abandoned = true;
        waiting.lent.end();
        let line =
            json!({"jsonrpc": "2.0", "method": "cancel", "params": Cancel { call: self.id }});
        self.shared.write(&mut state, line.to_string().into_bytes());
        drop(state);
        let (id, shared) = (self.id, Arc::downgrade(&self.shared));
        self.shared.runtime.spawn(async move {
            tokio::time::sleep(crate::process::GRACE).await;
            if let Some(shared) = shared.upgrade() {
                shared.end_if_abandoned(id);
            }
        });
    }
}

impl Peer {
    /// Talks to a process over its pipes. `on_end` hears when it is over.
    pub(crate) fn new(
        package: &str,
        limits: &Limits,
        process: (ProcessGroup, PipeWriter, Box<dyn Read + Send>, PipeReader),
        tap: Option<ProcessTap>,
        on_end: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let (group, input, output, errors) = process;
        let (to_process, lines) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared {
            package: package.to_owned(),
            state: Mutex::default(),
            to_process,
            runtime: tokio::runtime::Handle::current(),
            last_words: Mutex::default(),
            group: Mutex::new(Some(group)),
            tap,
            max_line: limits.output_within(MAX_LINE),
            max_stream: limits.output_within(MAX_STREAM),
        });
        let thread = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let builder = std::thread::Builder::new().name(format!("{package} {name}"));
            builder.stack_size(512 << 10).spawn(body).map_err(|error| {
                Error::unavailable(format!("no thread for plugin \"{package}\": {error}"))
            })
        };
        let written = Arc::downgrade(&shared);
        thread("writer", Box::new(move || write_lines(input, &lines, &written)))?;
        let (logged, last_line) = std::sync::mpsc::sync_channel::<()>(1);
        let log = shared.clone();
        let logging = move || {
            log.read_log(errors);
            drop(logged);
        };
        thread("log", Box::new(logging))?;
        let read = shared.clone();
        let reading = move || {
            let why = read.read_lines(output);
            let status = if why.is_none() { read.exit_status() } else { None };
            read.kill();
            // What it logged last may explain it. Whoever it left behind may hold the pipe open.
            let _ = last_line.recv_timeout(Duration::from_millis(200));
            read.end(why.unwrap_or_else(|| read.gone(status)));
            on_end();
        };
        thread("reader", Box::new(reading))?;
        Ok(Self { shared })
    }

    /// Whether it can be called.
    pub(crate) fn is_alive(&self) -> bool {
        self.shared.state().ended.is_none()
    }

    /// Hands the process itself over to who waits for its end: it hears no more, and is not ended when
    /// it falls silent.
    pub(crate) fn leave(&self) -> Option<ProcessGroup> {
        // The writer ends when it is sent an empty line, and with it the input of the process.
        let _ = self.shared.to_process.send(Vec::new());
        self.shared.group.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the connection: everybody who waits gets this error.
    pub(crate) fn end(&self, why: Error) {
        self.shared.end(why);
    }

    /// Asks once and waits for the answer without holding the thread up.
    pub(crate) fn ask(
        &self,
        lent: Arc<Lent>,
        line: impl FnOnce(&mut Slots, u64) -> Result<Vec<u8>>,
    ) -> Result<(Call, Answered)> {
        let (answer, receiver) = oneshot::channel();
        Ok((self.begin(Answering::Once(answer), lent, line)?, receiver))
    }

    /// Asks once; the answer is waited for in place.
    pub(crate) fn ask_blocking(
        &self,
        lent: Arc<Lent>,
        line: impl FnOnce(&mut Slots, u64) -> Result<Vec<u8>>,
    ) -> Result<(Call, std::sync::mpsc::Receiver<Result<Box<RawValue>>>)> {
        let (answer, receiver) = std::sync::mpsc::sync_channel(1);
        Ok((self.begin(Answering::Blocked(answer), lent, line)?, receiver))
    }

    /// Asks for a stream.
    pub(crate) fn stream(
        &self,
        lent: Arc<Lent>,
        line: impl FnOnce(&mut Slots, u64) -> Result<Vec<u8>>,
    ) -> Result<(Call, mpsc::UnboundedReceiver<Step>, Arc<Backlog>)> {
        let (parts, receiver) = mpsc::unbounded();
        let taken = Arc::new(Backlog::new(self.shared.max_stream));
        let answering = Answering::Stream { parts, taken: taken.clone() };
        Ok((self.begin(answering, lent, line)?, receiver, taken))
    }

    fn begin(
        &self,
        answer: Answering,
        lent: Arc<Lent>,
        line: impl FnOnce(&mut Slots, u64) -> Result<Vec<u8>>,
    ) -> Result<Call> {
        let mut state = self.shared.state();
        if let Some(error) = &state.ended {
            return Err(error.clone());
        }
        if state.is_full() {
            return Err(self.shared.error("does not read what it is sent"));
        }
        let id = state.next;
        state.next += 1;
        lent.begin(id);
        // Slots are filled in the order of the lines, so both happen under one lock.
        let line = line(&mut state.slots, id)?;
        state.calls.insert(id, Waiting { answer, lent, abandoned: false });
        self.shared.write(&mut state, line);
        Ok(Call { id, shared: self.shared.clone() })
    }
}

/// Nobody can call it any more.
impl Drop for Peer {
    fn drop(&mut self) {
        self.shared.end(self.shared.error("is not used any more, and was ended"));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, way: Way, line: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.hear(way, line);
        }
    }

    fn write(&self, state: &mut State, mut line: Vec<u8>) {
        self.hear(Way::Plugin, &line);
        line.push(b'\n');
        state.unwritten += line.len();
        state.unwritten_lines += 1;
        // A writer that is gone has ended the connection, or is about to.
        let _ = self.to_process.send(line);
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::plugin(format!("plugin \"{}\" {what}", self.package))
    }

    fn end(&self, why: Error) {
        let calls = {
            let mut state = self.state();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(why.clone());
            std::mem::take(&mut state.calls)
        };
        self.hear(Way::End, why.message().as_bytes());
        self.kill();
        for (_, waiting) in calls {
            waiting.finish(Err(why.clone()));
        }
        // The writer ends when it is sent an empty line.
        let _ = self.to_process.send(Vec::new());
    }

    fn kill(&self) {
        drop(self.group.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn end_if_abandoned(&self, id: u64) {
        if self.state().calls.contains_key(&id) {
            self.end(self.error("did not stop when it was told to, and was ended"));
        }
    }

    /// Reads until the end; gives what was wrong, if it did not just end.
    fn read_lines(self: &Arc<Self>, output: impl Read) -> Option<Error> {
        let mut output = BufReader::with_capacity(64 << 10, output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut output).take(self.max_line as u64).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Err(error) => return Some(self.error(format!("cannot be heard: {error}"))),
                Ok(_) => {}
            }
            if line.last() != Some(&b'\n') {
                let long = line.len() == self.max_line;
                let most = self.max_line >> 20;
                return long.then(|| self.error(format!("sent a line of more than {most} MiB")));
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            self.hear(Way::Host, &line);
            if let Err(error) = self.read_line(&line) {
                return Some(error);
            }
        }
    }

    /// How a process ended that says nothing more: its output is closed some moments before its end
    /// can be seen.
    fn exit_status(&self) -> Option<ExitStatus> {
        for _ in 0..20 {
            let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(status) = group.as_mut()?.ended() {
                return Some(status);
            }
            drop(group);
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// The process ended by itself.
    fn gone(&self, status: Option<ExitStatus>) -> Error {
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let status = status.map_or_else(String::new, |status| format!(" ({status})"));
        match words.is_empty() {
            true => self.error(format!("ended unexpectedly{status}")),
            false => self.error(format!(
                "ended unexpectedly{status}; its last words: {}",
                words.join(" | ")
            )),
        }
    }

    fn read_line(self: &Arc<Self>, line: &[u8]) -> Result<()> {
        let parsed: Line<'_> = serde_json::from_slice(line).map_err(|error| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
            self.error(format!(
                "sent a line that is no JSON-RPC message ({error}): {}",
                shown.trim_end()
            ))
        })?;
        match (parsed.method, parsed.id) {
            (Some(method), Some(id)) => self.asked(&method, id, parsed.params, line.len())?,
            (Some(method), None) => self.told(&method, parsed.params, line.len())?,
            (None, Some(id)) => match serde_json::from_str::<u64>(id.get()) {
                Ok(id) => self.answered(id, parsed.result, parsed.error),
                Err(_) => return Err(self.error("answered a call that was never made")),
            },
            (None, None) => return Err(self.error("sent a line that is no JSON-RPC message")),
        }
        Ok(())
    }

    fn answered(&self, id: u64, result: Option<&RawValue>, error: Option<Failure>) {
        let waiting = {
            let mut state = self.state();
            if id >= state.next {
                tracing::warn!(target: "orlop::plugin", plugin = self.package, id, "answered a call that was never made");
            }
            state.calls.remove(&id)
        };
        // An answer after its deadline is nobody's.
        let Some(waiting) = waiting else { return };
        let result = match error {
            Some(error) => Err(error_of(error, &self.package)),
            None => Ok(result.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
        };
        waiting.finish(result);
    }

    /// The process asks something of the host.
    fn asked(
        self: &Arc<Self>,
        method: &str,
        id: &RawValue,
        params: Option<&RawValue>,
        bytes: usize,
    ) -> Result<()> {
        let params: Asked = match params.map(|params| serde_json::from_str(params.get())) {
            Some(Ok(params)) => params,
            _ => {
                self.hears(bytes)?;
                let error = Error::bad_argument("params must have a call and args");
                self.reply(id, Err(error));
                return Ok(());
            }
        };
        let lent = {
            let state = self.state();
            let waiting = state.calls.get(&params.call).filter(|waiting| !waiting.abandoned);
            waiting.map(|waiting| waiting.lent.clone())
        };
        let Some(lent) = lent else {
            self.hears(bytes)?;
            let error = Error::bad_state("the call that this belongs to is over");
            self.reply(id, Err(error));
            return Ok(());
        };
        let (shared, id, method) = (self.clone(), id.to_owned(), method.to_owned());
        let reply_to = id.clone();
        let working = lent.clone();
        let started = lent.under_way(|| {
            let task = self.runtime.spawn(async move {
                let tell = |value: Value| shared.tell_part(&id, &value);
                let asked = reverse::Asking {
                    args: params.args,
                    agent: params.agent,
                    tell: params.stream.then_some(&tell),
                };
                let done = reverse::answer(&working, &method, asked).await;
                shared.reply(&id, done);
            });
            task.abort_handle()
        });
        if let Err(error) = started {
            self.hears(bytes)?;
            self.reply(&reply_to, Err(error));
        }
        Ok(())
    }

    /// Tells what came on the way to the answer of a request.
    fn tell_part(&self, id: &RawValue, value: &Value) {
        let Ok(request) = serde_json::to_value(id) else { return };
        let params = HostPart { request: &request, value };
        let line = json!({"jsonrpc": "2.0", "method": "part", "params": params});
        self.say(&line);
    }

    /// Writes what the process asked for. One that asks and does not read is ended.
    fn say(&self, line: &Value) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        self.write(&mut state, line.to_string().into_bytes());
        let is_full = state.is_full();
        drop(state);
        if is_full {
            self.end(self.error("does not read what it asked for, and was ended"));
        }
    }

    fn reply(&self, id: &RawValue, done: Result<Value>) {
        let reply = match done {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": {
                "code": -32000, "message": error.message(),
                "data": {"class": error.class().as_str(), "retryable": error.retryable()},
            }}),
        };
        self.say(&reply);
    }

    /// Whether to hear what nobody asked for.
    fn hears(&self, bytes: usize) -> Result<bool> {
        let heard = self.state().unasked.add(bytes, Instant::now());
        let plugin = &self.package;
        match heard {
            Heard::Yes => Ok(true),
            Heard::After(lines) => {
                tracing::warn!(target: "orlop::plugin", plugin, lines, "it said too much at once; lines are left out");
                Ok(true)
            }
            Heard::No => Ok(false),
            Heard::Flood => Err(self.error("said more than anybody asked for, and was ended")),
        }
    }

    /// The process tells the host something.
    fn told(&self, method: &str, params: Option<&RawValue>, bytes: usize) -> Result<()> {
        let params = params.map_or("{}", RawValue::get);
        match method {
            "part" | "tool.part" => {
                let part: Part<&RawValue> = serde_json::from_str(params)
                    .map_err(|error| self.error(format!("sent a part that is none: {error}")))?;
                self.step(part.call, bytes, || Step::Part(part.value.to_owned()))
            }
            "progress" => {
                let Ok(told) = serde_json::from_str::<Progress>(params) else { return Ok(()) };
                tracing::debug!(target: "orlop::plugin", plugin = self.package, progress = told.message, "progress");
                let mut shown = json!({"progress": told.message});
                for (key, value) in [("done", told.done), ("total", told.total)] {
                    if let Some(value) = value {
                        shown[key] = value.into();
                    }
                }
                self.step(told.call, bytes, || Step::Progress(shown))
            }
            "log" => {
                if !self.hears(bytes)? {
                    return Ok(());
                }
                let Ok(told) = serde_json::from_str::<Log>(params) else { return Ok(()) };
                let (plugin, text) = (&self.package, cut(&told.message));
                match told.level.as_deref() {
                    Some("error") => tracing::error!(target: "orlop::plugin", plugin, "{text}"),
                    Some("warning" | "warn") => {
                        tracing::warn!(target: "orlop::plugin", plugin, "{text}")
                    }
                    Some("debug") => tracing::debug!(target: "orlop::plugin", plugin, "{text}"),
                    _ => tracing::info!(target: "orlop::plugin", plugin, "{text}"),
                }
                Ok(())
            }
            _ => self.hears(bytes).map(drop),
        }
    }

    fn step(&self, call: u64, bytes: usize, step: impl FnOnce() -> Step) -> Result<()> {
        let state = self.state();
        let waiting = state.calls.get(&call).filter(|waiting| !waiting.abandoned);
        let Some(Answering::Stream { parts, taken }) = waiting.map(|waiting| &waiting.answer)
        else {
            drop(state);
            return self.hears(bytes).map(drop);
        };
        if !taken.add(bytes) {
            return Err(self.error("sent more than anybody could take, and was ended"));
        }
        let _ = parts.unbounded_send(step());
        Ok(())
    }

    fn read_log(&self, errors: PipeReader) {
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut errors).take(MAX_LOG_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            match self.hears(line.len()) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => return self.end(error),
            }
            self.hear(Way::Log, text.as_bytes());
            tracing::info!(target: "orlop::plugin", plugin = self.package, "{text}");
            let mut words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if words.len() == LAST_WORDS {
                words.remove(0);
            }
            words.push(cut(text).to_owned());
        }
    }
}

impl State {
    /// Whether more waits to be written than is reasonable.
    fn is_full(&self) -> bool {
        self.unwritten > MAX_UNWRITTEN || self.unwritten_lines > MAX_UNWRITTEN_LINES
    }
}

impl Waiting {
    fn finish(self, result: Result<Box<RawValue>>) {
        self.lent.end();
        // Who does not wait any more does not hear it.
        match self.answer {
            Answering::Once(answer) => drop(answer.send(result)),
            Answering::Blocked(answer) => drop(answer.try_send(result)),
            Answering::Stream { parts, .. } => drop(parts.unbounded_send(Step::End(result))),
        }
    }
}

/// Writes lines until one is empty, or the process hears no more.
fn write_lines(
    mut input: PipeWriter,
    lines: &std::sync::mpsc::Receiver<Vec<u8>>,
    shared: &Weak<Shared>,
) {
    while let Ok(line) = lines.recv() {
        if line.is_empty() || input.write_all(&line).is_err() {
            return;
        }
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state();
        state.unwritten = state.unwritten.saturating_sub(line.len());
        state.unwritten_lines = state.unwritten_lines.saturating_sub(1);
    }
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(500).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
