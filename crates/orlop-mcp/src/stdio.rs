//! A server that runs here, as a process with everything it starts: talked to over its standard
//! input and output, and ended with its owner.

use crate::words;
use orlop_app::ProcessGroup;
use orlop_app::config::Vars;
use orlop_core::Result;
use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// What every server gets of Orlop's environment; everything else has to be named.
const INHERITED: [&str; 11] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];
/// How many bytes that are no messages a server may print between two messages.
const MAX_NOISE: usize = 1 << 20;
/// The longest message, in bytes. Reading one takes a multiple of it in memory.
const MAX_LINE: usize = 32 << 20;
/// How much of what it prints of errors is kept.
const MAX_LAST_WORDS: usize = 400;
/// How long is waited for how it ended, then for what it said last.
const LAST_MOMENT: Duration = Duration::from_secs(2);
/// How long a server has to end by itself, then to end when it is asked to.
const END: Duration = Duration::from_secs(2);

/// A running server.
pub(crate) struct Process {
    group: tokio::sync::Mutex<ProcessGroup>,
    last_words: Arc<LastWords>,
    listening: tokio::sync::Mutex<JoinHandle<()>>,
    flood: Arc<OnceLock<Flood>>,
}

/// How to start a server.
pub(crate) struct Start<'a> {
    pub(crate) command: &'a [String],
    pub(crate) env: &'a Vars,
    pub(crate) folder: &'a Path,
    /// The environment of Orlop.
    pub(crate) own_env: &'a Vars,
}

impl Process {
    pub(crate) fn start(start: &Start<'_>) -> Result<(Self, Output, ChildStdin)> {
        let (program, arguments) =
            start.command.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
        let is_relative = program.contains('/') && Path::new(program).is_relative();
        let program = match is_relative {
            true => start.folder.join(program).into_os_string(),
            false => program.into(),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(start.folder);
        let (group, pipes) = ProcessGroup::spawn_talking(command, &environment(start))?;
        let last_words = Arc::new(LastWords::default());
        let listening = tokio::spawn(last_words.clone().read(pipes.errors)).into();
        let flood = Arc::new(OnceLock::new());
        let output =
            Output { inner: pipes.output, printed: Printed::default(), flood: flood.clone() };
        let group = tokio::sync::Mutex::new(group);
        Ok((Self { group, last_words, listening, flood }, output, pipes.input))
    }

    /// What is known of its end, once the connection is lost.
    pub(crate) async fn ending(&self) -> String {
        match self.flood.get() {
            Some(Flood::Noise) => return "it prints what is no message of the protocol".to_owned(),
            Some(Flood::Message) => {
                return format!("it sends a message of more than {} MiB", MAX_LINE >> 20);
            }
            None => {}
        }
        let mut group = self.group.lock().await;
        let ended = tokio::time::timeout(LAST_MOMENT, group.wait()).await;
        // Its last words may not have been read yet; what it started may keep the pipe open.
        let mut listening = self.listening.lock().await;
        if !listening.is_finished() {
            let _ = tokio::time::timeout(LAST_MOMENT, &mut *listening).await;
        }
        let how = match ended {
            Ok(Ok(status)) => format!("it ended ({status})"),
            _ => "it closed the connection".to_owned(),
        };
        match self.last_words.get() {
            Some(words) => format!("{how}: {words}"),
            None => how,
        }
    }

    /// Waits for its end, its input being closed; what does not end is ended.
    pub(crate) async fn end(&self) {
        let mut group = self.group.lock().await;
        if tokio::time::timeout(END, group.wait()).await.is_err() {
            group.terminate();
            let _ = tokio::time::timeout(END, group.wait()).await;
        }
        group.kill();
    }
}

/// The little that programs need to run, and what the configuration names.
fn environment(start: &Start<'_>) -> Vars {
    let inherited = INHERITED.iter().filter_map(|name| start.own_env.get_key_value(*name));
    let mut env: Vars = inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    env.extend(start.env.clone());
    env
}

/// The end of what a server prints of errors.
#[derive(Default)]
struct LastWords(Mutex<VecDeque<String>>);

impl LastWords {
    async fn read(self: Arc<Self>, errors: ChildStderr) {
        let mut errors = BufReader::new(errors);
        let mut line = Vec::new();
        loop {
            // A line without an end must not fill the memory.
            let mut part = tokio::io::AsyncReadExt::take(&mut errors, 64 * 1024);
            line.clear();
            match part.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = words::line(&String::from_utf8_lossy(&line), MAX_LAST_WORDS);
            if text.is_empty() {
                continue;
            }
            tracing::debug!(target: "orlop::mcp", text, "a server prints");
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(text);
            if kept.len() > 3 {
                kept.pop_front();
            }
        }
    }

    fn get(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<&str> = kept.iter().map(String::as_str).collect();
        (!all.is_empty()).then(|| words::line(&all.join(" | "), MAX_LAST_WORDS))
    }
}

/// What a server prints. It ends if there is too much of it in one message or between two.
pub(crate) struct Output {
    inner: ChildStdout,
    printed: Printed,
    flood: Arc<OnceLock<Flood>>,
}

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flood {
    /// Bytes that are no message.
    Noise,
    /// Bytes of one message, which are all held until it ends.
    Message,
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if let (Poll::Ready(Ok(())), Some(new)) = (&read, buffer.filled().get(before..))
            && let Some(flood) = self.printed.add(new)
        {
            let _ = self.flood.set(flood);
            buffer.set_filled(before);
        }
        read
    }
}

/// Counts what is printed: on lines that do not begin as messages do, and in the message of the
/// moment.
#[derive(Default)]
struct Printed {
    noise: usize,
    message: usize,
    in_line: bool,
    in_message: bool,
}

impl Printed {
    /// Takes what is new; tells if it is too much by now.
    fn add(&mut self, printed: &[u8]) -> Option<Flood> {
        for byte in printed {
            match byte {
                b'\n' => self.in_line = false,
                b' ' | b'\t' | b'\r' if !self.in_line => {}
                _ if self.in_line => {}
                first => {
                    self.in_line = true;
                    self.in_message = matches!(first, b'{' | b'[');
                }
            }
            match self.in_line && self.in_message {
                true => (self.noise, self.message) = (0, self.message + 1),
                false => (self.noise, self.message) = (self.noise + 1, 0),
            }
            if self.message > MAX_LINE {
                return Some(Flood::Message);
            }
        }
        (self.noise > MAX_NOISE).then_some(Flood::Noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_between_messages_is_bounded() {
        let mut printed = Printed::default();
        assert_eq!(printed.add(b"starting\n{\"a\": \"b\"}\nlog\n"), None);
        assert_eq!(printed.noise, "\nlog\n".len());
        assert_eq!(printed.add(&vec![b'x'; MAX_NOISE / 2]), None);
        assert_eq!(printed.add(&vec![b'x'; MAX_NOISE]), Some(Flood::Noise));
    }

    #[test]
    fn a_message_is_bounded_and_many_are_not() {
        let mut printed = Printed::default();
        let mut line = vec![b'{'; MAX_LINE];
        line.push(b'\n');
        assert_eq!(printed.add(&line), None);
        assert_eq!(printed.add(&line), None);
        line[MAX_LINE] = b'{';
        assert_eq!(printed.add(&line), Some(Flood::Message));
    }
}
