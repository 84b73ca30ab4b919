//! A process under test and the lines to and from it, without any of the forbearance of the host:
//! what the process does is seen as it is.

use crate::grants::Grants;
use crate::launch::Launch;
use crate::memory;
use orlop_app::ProcessGroup;
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Log lines kept to explain a failure.
const LAST_WORDS: usize = 6;

/// A process under test.
pub(super) struct Probe {
    /// Dropped, the process is ended.
    _group: Arc<Held>,
    to_process: Option<Sender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    log: Arc<Mutex<Vec<String>>>,
    grants: Grants,
    next: u64,
    answers: HashMap<u64, std::result::Result<Value, Wrong>>,
    parts: HashMap<u64, Vec<Value>>,
    /// Stands for the host: method to answer.
    pub(super) host: Map,
    kept: Value,
    ended: bool,
}

/// A process, until it is ended.
type Held = Mutex<Option<ProcessGroup>>;

/// What a call gave.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    pub(super) outcome: Value,
    pub(super) parts: Vec<Value>,
}

/// Why a call gave nothing.
#[derive(Debug, Clone)]
pub(super) enum Wrong {
    /// It answered with an error.
    Refused { message: String },
    /// No answer in time.
    Late(Duration),
    /// There is no process: it could not be started.
    NotStarted(String),
    /// It ended.
    Ended(String),
    /// It wrote what is no message of the protocol.
    Noise(String),
    /// The answer is none that the hook may give.
    Unfit(String),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { message } => write!(out, "the error \"{message}\""),
            Self::Late(limit) => write!(out, "no answer within {} s", limit.as_secs_f32()),
            Self::NotStarted(why) => write!(out, "no process, because {why}"),
            Self::Ended(words) if words.is_empty() => write!(out, "the process ended"),
            Self::Ended(words) => write!(out, "the process ended; it said last:\n{words}"),
            Self::Noise(line) => {
                write!(out, "a line on standard output that is no message: {line}")
            }
            Self::Unfit(what) => write!(out, "{what}"),
        }
    }
}

impl Wrong {
    /// What an author does about it.
    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::Refused { .. } => {
                "find the line that fails in the log of the plugin (run with -v), and let the hook take this input"
            }
            Self::NotStarted(_) => "make it start; the message says what is missing",
            Self::Late(_) => "answer sooner: do what takes long in the background, or cache it",
            Self::Ended(_) => {
                "the plugin must not exit in the middle of a call: answer with an error instead"
            }
            Self::Noise(_) => {
                "print to standard error; standard output is for messages of the protocol"
            }
            Self::Unfit(_) => {
                "return what docs/reference/hooks.md says; its JSON Schema is in docs/schema"
            }
        }
    }
}

impl Probe {
    /// Starts a process. It was told nothing yet.
    pub(super) fn start(launch: &Launch) -> Result<Self> {
        let (group, mut input, output, errors) = launch.start()?;
        let (to_process, to_write) = channel::<Vec<u8>>();
        let (read, lines) = channel();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = log.clone();
        let (leader, group) = (group.leader(), Arc::new(Mutex::new(Some(group))));
        let (held, told) = (Arc::downgrade(&group), log.clone());
        let limit = launch.package.limits.memory_mb();
        let thread = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(body).map(drop).map_err(|error| {
                Error::unavailable(format!("no thread for a plugin can be started: {error}"))
            })
        };
        thread(
            "probe writer",
            Box::new(move || {
                while let Ok(line) = to_write.recv() {
                    if input.write_all(&line).is_err() {
                        return;
                    }
                }
            }),
        )?;
        thread(
            "probe reader",
            Box::new(move || {
                let mut output = BufReader::new(output);
                loop {
                    let mut line = Vec::new();
                    match output.read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => return,
                        Ok(_) if read.send(line).is_err() => return,
                        Ok(_) => {}
                    }
                }
            }),
        )?;
        thread(
            "probe log",
            Box::new(move || {
                for line in BufReader::new(errors).split(b'\n').map_while(|line| line.ok()) {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    tracing::info!(target: "orlop::plugin", "{text}");
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == LAST_WORDS {
                        kept.remove(0);
                    }
                    kept.push(text);
                }
            }),
        )?;
        if let Some(leader) = leader {
            thread("probe memory", Box::new(move || watch_memory(&held, leader, limit, &told)))?;
        }
        Ok(Self {
            _group: group,
            to_process: Some(to_process),
            lines,
            log,
            grants: launch.package.grants.clone(),
            next: 0,
            answers: HashMap::new(),
            parts: HashMap::new(),
            host: Map::new(),
            kept: Value::Null,
            ended: false,
        })
    }

    /// Whether it can still be talked to.
    pub(super) fn is_alive(&mut self) -> bool {
        if !self.ended {
            self.pump(Instant::now());
        }
        !self.ended
    }

    /// Writes a line as it is.
    pub(super) fn write(&self, line: &str) {
        if let Some(to_process) = &self.to_process {
            let _ = to_process.send(format!("{line}\n").into_bytes());
        }
    }

    /// Sends a request and gives its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let mut line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if method == "hook" {
            line["params"]["call"] = id.into();
        }
        self.write(&line.to_string());
        id
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and waits for what it gives.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> std::result::Result<Answered, Wrong> {
        let id = self.request(method, params);
        self.answer(id, limit)
    }

    /// Waits for the answer of a request.
    pub(super) fn answer(
        &mut self,
        id: u64,
        limit: Duration,
    ) -> std::result::Result<Answered, Wrong> {
        let until = Instant::now() + limit;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                let parts = self.parts.remove(&id).unwrap_or_default();
                return answer.map(|outcome| Answered { outcome, parts });
            }
            if self.ended {
                return Err(Wrong::Ended(self.last_words()));
            }
            if let Some(noise) = self.pump(until) {
                return Err(noise);
            }
            if Instant::now() >= until {
                return Err(Wrong::Late(limit));
            }
        }
    }

    /// Closes its input, as a host that is gone does.
    pub(super) fn hang_up(&mut self) {
        self.to_process = None;
    }

    /// Whether it ends within a time.
    pub(super) fn ends_within(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.ended && Instant::now() < until {
            self.pump(until);
        }
        self.ended
    }

    /// What it logged last.
    fn last_words(&self) -> String {
        // The log is another pipe: its last lines may still be on their way.
        std::thread::sleep(Duration::from_millis(50));
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Takes one line, if one comes in time.
    fn pump(&mut self, until: Instant) -> Option<Wrong> {
        let line = match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                return None;
            }
        };
        let Ok(Value::Object(mut message)) = serde_json::from_slice::<Value>(&line) else {
            return Some(Wrong::Noise(short_line(&line)));
        };
        let params = message.shift_remove("params").unwrap_or_default();
        let id = message.shift_remove("id");
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("part" | "tool.part"), None) => {
                if let Some(call) = params["call"].as_u64() {
                    self.parts.entry(call).or_default().push(params["value"].clone());
                }
            }
            (Some(_), None) => {}
            (Some(method), Some(id)) => {
                let method = method.to_owned();
                self.reply(&method, &params, id);
            }
            (None, Some(id)) => {
                let answer = match message.shift_remove("error") {
                    None | Some(Value::Null) => {
                        Ok(message.shift_remove("result").unwrap_or_default())
                    }
                    Some(error) => Err(Wrong::Refused {
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                };
                if let Some(id) = id.as_u64() {
                    self.answers.insert(id, answer);
                }
            }
            (None, None) => return Some(Wrong::Noise(short_line(&line))),
        }
        None
    }

    /// Answers a call to the host.
    fn reply(&mut self, method: &str, params: &Value, id: Value) {
        let refused = |class: &str, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message, "data": {"class": class}}});
        let line = match (self.grants.check(method), self.host.get(method)) {
            (Err(error), _) => refused(error.class().as_str(), error.message()),
            (Ok(()), Some(answer)) => json!({"jsonrpc": "2.0", "id": id, "result": answer}),
            (Ok(()), None) if method == "app.get_state" => {
                json!({"jsonrpc": "2.0", "id": id, "result": self.kept})
            }
            (Ok(()), None) if method == "app.set_state" => {
                self.kept = params["args"]["value"].clone();
                json!({"jsonrpc": "2.0", "id": id, "result": null})
            }
            (Ok(()), None) => refused(
                "unavailable",
                &format!(
                    "there is no host in a test; let an example answer: answers = {{ \"{method}\" = ... }}"
                ),
            ),
        };
        self.write(&line.to_string());
    }
}

/// Ends a process that takes more memory than it may, as the host does.
fn watch_memory(held: &Weak<Held>, leader: u32, limit: u64, log: &Mutex<Vec<String>>) {
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let Some(held) = held.upgrade() else { return };
        let Some(used) = memory::resident_mb(leader) else { return };
        if used > limit {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(format!(
                "it took {used} MB of memory and was ended; its limit is {limit} (limits.memory_mb)"
            ));
            drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
    }
}

fn short_line(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim().chars().take(200).collect()
}
