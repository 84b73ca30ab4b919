//! One call of a hook: what it may ask and tell while it runs.

use crate::error::Error;
use crate::link::{Heard, Link};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One call of a hook.
pub struct Call {
    pub(crate) id: u64,
    pub(crate) context: Value,
    pub(crate) skipped: BTreeMap<String, usize>,
    /// What the host said when it began.
    pub(crate) setup: Arc<Value>,
    pub(crate) link: Arc<Link>,
    /// It is answered: by the hook, or because nobody waits any more.
    pub(crate) over: Arc<AtomicBool>,
}

impl Call {
    /// What the hook is told beside its input: `session_id`, `request_id`, `lifecycle` and so on.
    pub fn context(&self) -> &Value {
        &self.context
    }

    /// The section of this package in the configuration.
    pub fn config(&self) -> &Value {
        &self.setup["config"]
    }

    /// A folder for this package alone, which stays between runs.
    pub fn data_folder(&self) -> PathBuf {
        PathBuf::from(self.setup["folders"]["data"].as_str().unwrap_or("."))
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// How many items a list of the input has before those that came. Positions of edits count from
    /// the start of the whole list.
    pub fn skipped(&self, list: &str) -> usize {
        self.skipped.get(list).copied().unwrap_or(0)
    }

    /// Gives a part of a stream.
    pub fn part(&self, value: Value) {
        self.tell("part", json!({"call": self.id, "value": value}));
    }

    /// Shows people how far the call is.
    pub fn progress(&self, message: &str) {
        self.tell("progress", json!({"call": self.id, "message": message}));
    }

    /// Writes to the log of the host; `level` is `debug`, `info`, `warn` or `error`.
    pub fn log(&self, level: &str, message: &str) {
        self.tell("log", json!({"call": self.id, "level": level, "message": message}));
    }

    /// Asks the host, for instance `app.list_sessions`, and waits for the answer.
    pub fn ask(&self, method: &str, args: Value) -> Result<Value, Error> {
        self.wait(method, json!({"call": self.id, "args": args}), &mut |_| {})
    }

    /// Asks the host for `core.send_request` or `app.send_request`, and gives `each` event as it comes.
    pub fn ask_each(
        &self,
        method: &str,
        args: Value,
        mut each: impl FnMut(Value),
    ) -> Result<Value, Error> {
        self.wait(method, json!({"call": self.id, "args": args, "stream": true}), &mut each)
    }

    /// Asks the core of another agent.
    pub fn ask_agent(&self, agent: &str, method: &str, args: Value) -> Result<Value, Error> {
        self.wait(method, json!({"call": self.id, "args": args, "agent": agent}), &mut |_| {})
    }

    fn wait(
        &self,
        method: &str,
        params: Value,
        each: &mut dyn FnMut(Value),
    ) -> Result<Value, Error> {
        if self.is_cancelled() {
            return Err(Error::cancelled());
        }
        for heard in self.link.ask(self.id, method, params) {
            match heard {
                Heard::Part(value) => each(value),
                Heard::End(answer) => return answer,
            }
        }
        // Nobody waits for the call any more, and so nobody answers it.
        Err(Error::cancelled())
    }

    fn tell(&self, method: &str, params: Value) {
        if !self.is_cancelled() {
            self.link.tell(method, params);
        }
    }
}
