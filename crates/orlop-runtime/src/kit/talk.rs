//! A process that is talked to line by line, with a recording as its host.

use super::calls::{Asked, Outcome, RecordedCall, end_of, what_is_asked};
use crate::description;
use crate::launch::Launch;
use orlop_app::ProcessGroup;
use orlop_core::types::protocol::Description;
use orlop_core::{Error, Result, Value};
use serde_json::json;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The longest wait for an answer, where the package has no shorter limit.
const LONGEST: Duration = Duration::from_secs(30);

/// A process under way. Dropped, it is ended.
pub(super) struct Talk {
    _group: ProcessGroup,
    input: PipeWriter,
    lines: Receiver<String>,
    log: Receiver<String>,
    limit: Duration,
}

/// A call as it went now.
pub(super) struct Played {
    pub(super) call: RecordedCall,
    /// What it asked that the recording cannot answer.
    pub(super) unrecorded: Vec<Value>,
}

impl Talk {
    /// Starts the process and hears what it holds. Must be called within a Tokio runtime.
    pub(super) fn begin(launch: &Launch) -> Result<(Self, Description)> {
        let (group, input, output, errors) = launch.start()?;
        let limit = launch.package.limits.timeout().unwrap_or(LONGEST).min(LONGEST);
        let (lines, log) = (read(output), read(errors));
        let mut talk = Self { _group: group, input, lines, log, limit };
        talk.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": launch.introduction(),
        }))?;
        let answer = loop {
            let line = talk.next()?;
            if line.get("id") == Some(&json!(0)) && line.get("method").is_none() {
                break end_of(&line);
            }
        };
        match answer {
            (kind, value) if kind == "result" => {
                let description = description::read(&value.to_string(), &launch.package.name)?;
                Ok((talk, description))
            }
            (_, error) => Err(Error::plugin(
                error["message"].as_str().unwrap_or("it cannot be started").to_owned(),
            )),
        }
    }

    /// Makes a recorded call again.
    pub(super) fn play(&mut self, recorded: &RecordedCall) -> Result<Played> {
        let mut now =
            RecordedCall { asked: Vec::new(), outcome: Outcome::default(), ..recorded.clone() };
        let mut unused: Vec<&Asked> = recorded.asked.iter().collect();
        let mut unrecorded = Vec::new();
        self.send(&recorded.line)?;
        if recorded.cancelled {
            self.send(&json!({
                "jsonrpc": "2.0", "method": "cancel", "params": {"call": recorded.id},
            }))?;
        }
        loop {
            let line = self.next()?;
            let about = line["params"].get("call").and_then(Value::as_u64);
            match (line.get("method").and_then(Value::as_str), line.get("id")) {
                (Some("part" | "tool.part"), None) if about == Some(recorded.id) => {
                    now.outcome.parts.push(line["params"]["value"].clone());
                }
                (Some(_), None) => {}
                (Some(_), Some(id)) => {
                    let what = what_is_asked(&line);
                    let place = unused.iter().position(|asked| asked.what == what);
                    let known = place.map(|place| unused.remove(place));
                    let answer = known.and_then(|asked| asked.answer.clone());
                    let (kind, value) = answer.clone().unwrap_or_else(|| {
                        unrecorded.push(what.clone());
                        ("error".to_owned(), not_recorded(&what))
                    });
                    let parts = known.map(|asked| asked.parts.clone()).unwrap_or_default();
                    for part in &parts {
                        let params = json!({"request": id, "value": part});
                        self.send(&json!({"jsonrpc": "2.0", "method": "part", "params": params}))?;
                    }
                    self.send(&json!({"jsonrpc": "2.0", "id": id, kind: value}))?;
                    let id = known.map_or_else(|| id.clone(), |asked| asked.id.clone());
                    now.asked.push(Asked { id, what, parts, answer });
                }
                (None, Some(id)) if id.as_u64() == Some(recorded.id) => {
                    now.outcome.end = Some(end_of(&line));
                    return Ok(Played { call: now, unrecorded });
                }
                (None, _) => {}
            }
        }
    }

    fn send(&mut self, line: &Value) -> Result<()> {
        let text = format!("{line}\n");
        self.input.write_all(text.as_bytes()).map_err(|_| self.gone())
    }

    fn next(&self) -> Result<Value> {
        let until = Instant::now() + self.limit;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    return serde_json::from_str(&line).map_err(|error| {
                        Error::plugin(format!("it sent a line that is no JSON ({error}): {line}"))
                    });
                }
                Err(RecvTimeoutError::Timeout) => {
                    let limit = self.limit.as_millis();
                    return Err(Error::plugin(format!("no answer within {limit} ms")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
            }
        }
    }

    fn gone(&self) -> Error {
        // What it logged last is there, or comes with its end.
        let mut words = Vec::new();
        while let Ok(line) = self.log.recv_timeout(Duration::from_millis(200)) {
            words.push(line);
        }
        match words.is_empty() {
            true => Error::plugin("the process ended"),
            false => Error::plugin(format!("the process ended:\n{}", words.join("\n"))),
        }
    }

    /// What was logged since the last time.
    pub(super) fn logged(&self) -> Vec<String> {
        self.log.try_iter().collect()
    }
}

fn not_recorded(what: &Value) -> Value {
    let method = what["method"].as_str().unwrap_or("?");
    json!({
        "code": -32000, "data": {"class": "unavailable"},
        "message": format!("the recording has no answer to {method} with these arguments"),
    })
}

/// Reads lines in a thread of its own until the pipe ends.
fn read(pipe: PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}
