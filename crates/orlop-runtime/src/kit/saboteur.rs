//! Stands between a process and its host and spoils one answer, as a process that hangs, crashes,
//! floods or talks nonsense would.

use crate::process::Between;
use orlop_app::kill_process;
use orlop_core::Value;
use serde_json::json;
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It never comes.
    Hang,
    /// The process ends in its place.
    Crash,
    /// It has no end.
    Flood,
    /// It is no message of the protocol.
    Noise,
    /// It is none that the hook may give.
    Nonsense,
}

impl Fault {
    pub(super) const ALL: [Self; 5] =
        [Self::Hang, Self::Crash, Self::Flood, Self::Noise, Self::Nonsense];

    /// Whether the process is gone afterwards.
    pub(super) fn ends_it(self) -> bool {
        matches!(self, Self::Crash | Self::Flood | Self::Noise)
    }
}

/// Spoils the next answer when it is told to, and only that one.
#[derive(Clone, Default)]
pub(super) struct Saboteur(Arc<Mutex<Option<Fault>>>);

impl Saboteur {
    /// The next answer is spoilt.
    pub(super) fn spoil(&self, fault: Fault) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Whether it has done so.
    pub(super) fn is_done(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    pub(super) fn between(&self) -> Between {
        let told = self.clone();
        Arc::new(move |printed: PipeReader, process: Option<u32>| {
            let (told, printed) = (told.clone(), BufReader::new(printed));
            Box::new(Spoilt { told, printed, process, heard: Vec::new(), is_endless: false })
        })
    }

    fn take(&self) -> Option<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a process prints, as the host hears it.
struct Spoilt {
    told: Saboteur,
    printed: BufReader<PipeReader>,
    process: Option<u32>,
    /// What the host has not taken yet, its end first.
    heard: Vec<u8>,
    is_endless: bool,
}

impl Spoilt {
    /// The next line, spoilt if it is time to; `false` at the end.
    fn line(&mut self) -> std::io::Result<bool> {
        let mut line = Vec::new();
        if self.printed.read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        let id = answered(&line);
        let fault = id.as_ref().and_then(|_| self.told.take());
        match fault {
            None => self.heard = line,
            Some(Fault::Hang) => {}
            Some(Fault::Crash) => {
                if let Some(process) = self.process {
                    kill_process(process);
                }
            }
            Some(Fault::Flood) => self.is_endless = true,
            Some(Fault::Noise) => self.heard = b"this is no message\n".to_vec(),
            Some(Fault::Nonsense) => {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": 17});
                self.heard = format!("{answer}\n").into_bytes();
            }
        }
        self.heard.reverse();
        Ok(true)
    }
}

/// The request that a line answers, if it does.
fn answered(line: &[u8]) -> Option<Value> {
    let line: Value = serde_json::from_slice(line).ok()?;
    line.get("method").is_none().then(|| line.get("id").cloned()).flatten()
}

impl Read for Spoilt {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        while self.heard.is_empty() && !self.is_endless {
            if !self.line()? {
                return Ok(0);
            }
        }
        if self.is_endless {
            room.fill(b'x');
            return Ok(room.len());
        }
        let given = room.len().min(self.heard.len());
        let rest = self.heard.len() - given;
        for (place, byte) in room.iter_mut().zip(self.heard.drain(rest..).rev()) {
            *place = byte;
        }
        Ok(given)
    }
}
