//! The way to the host: lines that are written, and requests that wait for an answer.

use crate::error::Error;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Answer = Result<Value, Error>;

/// What is heard of a request.
pub(crate) enum Heard {
    /// Something on the way.
    Part(Value),
    /// The answer.
    End(Answer),
}

pub(crate) struct Link {
    output: Mutex<Box<dyn Write + Send>>,
    /// Requests of the plugin: the call they belong to, and who waits.
    waiting: Mutex<HashMap<String, (u64, Sender<Heard>)>>,
    numbers: AtomicU64,
}

impl Link {
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        let (waiting, numbers) = Default::default();
        Self { output: Mutex::new(Box::new(output)), waiting, numbers }
    }

    /// Writes a line. A host that is gone reads none, and its end is seen where lines are read.
    pub(crate) fn send(&self, message: &Value) {
        let line = format!("{message}\n");
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
    }

    pub(crate) fn tell(&self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn answer(&self, id: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub(crate) fn refuse(&self, id: &Value, code: i64, error: &Error) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error.to_json(code)}));
    }

    /// Asks the host.
    pub(crate) fn ask(&self, call: u64, method: &str, params: Value) -> Receiver<Heard> {
        let id = format!("p{}", self.numbers.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = channel();
        self.waiting().insert(id.clone(), (call, sender));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answer
    }

    /// The host answered.
    pub(crate) fn settle(&self, id: &Value, answer: Answer) {
        let waiting = id.as_str().and_then(|id| self.waiting().remove(id));
        if let Some((_, sender)) = waiting {
            // Who does not wait any more does not hear it.
            let _ = sender.send(Heard::End(answer));
        }
    }

    /// The host tells what came on the way.
    pub(crate) fn part(&self, mut params: Value) {
        let value = params["value"].take();
        let waiting = self.waiting();
        let waiting = params["request"].as_str().and_then(|id| waiting.get(id));
        if let Some((_, sender)) = waiting {
            let _ = sender.send(Heard::Part(value));
        }
    }

    /// Nobody waits for a call any more, so that it need not wait either.
    pub(crate) fn give_up(&self, call: u64) {
        self.waiting().retain(|_, (of, _)| *of != call);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, (u64, Sender<Heard>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
