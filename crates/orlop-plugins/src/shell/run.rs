//! A command that the model waits for: pieces of its output on the way, a report at the end.
//! Dropping it ends the command with everything it has started.

use super::command::{self, Request, Started, after, ending, signal_of};
use super::output::{Live, Log, Output};
use super::settings::Settings;
use orlop_app::Application;
use orlop_app::assets::Upload;
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Context, Map, Result, Value};
use serde_json::json;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// How often people are shown something new.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// How long a command may take to end after it was asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long the last output is waited for where somebody holds the pipe who cannot be ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// How many outputs are kept in files for a session.
const KEPT_FILES: usize = 16;

pub(super) struct Run {
    request: Request,
    settings: Settings,
    cx: Context,
    started: Started,
    output: Output,
    live: Live,
    shown: Instant,
    is_open: bool,
    deadline: Instant,
    timed_out: bool,
    was_killed: bool,
    ended: Option<End>,
}

/// How it ended.
struct End {
    status: ExitStatus,
    at: Instant,
    /// How many processes it left running.
    left: usize,
}

impl Run {
    pub(super) async fn start(request: Request, settings: Settings, cx: Context) -> Result<Self> {
        let started = command::start(&request, &settings, &cx).await?;
        let file = started.file("outputs");
        let output = Output::new(settings.max_output, Log::new(file, settings.max_log_bytes));
        Ok(Self {
            output,
            live: Live::default(),
            shown: started.began,
            is_open: true,
            deadline: started.began + request.timeout,
            timed_out: false,
            was_killed: false,
            ended: None,
            request,
            settings,
            cx,
            started,
        })
    }

    /// The next part; after the report there is none.
    pub(super) async fn step(run: Option<Self>) -> Option<(Result<ToolPart>, Option<Self>)> {
        let mut run = run?;
        if let Some(text) = run.next_piece().await {
            return Some((Ok(ToolPart::Part(json!({ "text": text }))), Some(run)));
        }
        Some((Ok(ToolPart::Report(run.report().await)), None))
    }

    /// Waits until there is something to show; nothing more comes at the end.
    async fn next_piece(&mut self) -> Option<String> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let is_over = !self.is_open && self.ended.is_some();
            let is_due = self.shown.elapsed() >= SHOW_EVERY;
            if self.live.is_waiting() && (is_due || is_over) {
                self.shown = Instant::now();
                return Some(self.live.take());
            }
            if is_over {
                return None;
            }
            let given_up = self.ended.as_ref().map(|end| end.at + LAST_OUTPUT);
            let alarm = given_up.unwrap_or(self.deadline);
            tokio::select! {
                count = self.started.printed.read(&mut buffer), if self.is_open => {
                    self.is_open = count > 0;
                    let bytes = buffer.get(..count).unwrap_or_default();
                    self.output.push(bytes);
                    self.live.push(bytes);
                }
                status = self.started.group.wait(), if self.ended.is_none() => {
                    let left = self.started.group.kill();
                    // A process that was lost is as good as one that was killed.
                    let status = status.unwrap_or_else(|_| killed());
                    self.ended = Some(End { status, at: Instant::now(), left });
                }
                () = sleep_until((self.shown + SHOW_EVERY).into()), if self.live.is_waiting() => {}
                () = sleep_until(alarm.into()) => self.alarm(),
            }
        }
    }

    /// The time is over: of the command, of its grace, or of its last output.
    fn alarm(&mut self) {
        self.deadline = Instant::now() + GRACE;
        if self.ended.is_some() {
            self.is_open = false;
        } else if self.was_killed {
            // The kernel does not let go of it, for instance because a disk does not answer.
            self.ended = Some(End { status: killed(), at: Instant::now(), left: 0 });
        } else if self.timed_out {
            self.was_killed = true;
            self.started.group.kill();
        } else {
            self.timed_out = true;
            self.started.group.terminate();
        }
    }

    async fn report(self) -> ToolReport {
        let Some(end) = &self.ended else { return ToolReport::failed("the command was lost") };
        let took = end.at.duration_since(self.started.began);
        let asset = self.asset().await;
        let mut text = self.output.text(&self.where_it_is(asset.as_deref()));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let words = match self.timed_out {
            true => self.timeout_in_words(),
            false => format!("{}{}", ending(end.status), after(took)),
        };
        text.push_str(&format!("[{words}]"));
        for note in self.notes(end, &text) {
            text.push_str(&format!("\n[{note}]"));
        }
        let success = end.status.success() && !self.timed_out;
        let mut data = Map::new();
        let mut put = |key: &str, value: Value| data.insert(key.to_owned(), value);
        put(if success { "output" } else { "error" }, text.into());
        put("command", self.request.command.clone().into());
        put("exit_code", json!(end.status.code()));
        put("signal", json!(signal_of(end.status)));
        put("timed_out", self.timed_out.into());
        put("duration_ms", json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
        put("output_bytes", self.output.total().into());
        put("asset_id", json!(asset));
        ToolReport { success, data }
    }

    fn timeout_in_words(&self) -> String {
        let seconds = self.request.timeout.as_secs_f64();
        match self.request.timeout >= self.settings.max_timeout {
            true => format!(
                "ended because its {seconds} s were over, the most there is; run it with background: true"
            ),
            false => format!(
                "ended because its {seconds} s were over; give it more with timeout_s, or run it with background: true"
            ),
        }
    }

    /// What the model should know beside the output.
    fn notes(&self, end: &End, text: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if end.left > 0 && !self.timed_out {
            notes.push(format!(
                "{} that it left running ended with it; what should go on is to be started with background: true",
                match end.left { 1 => "a process".to_owned(), n => format!("{n} processes") }
            ));
        }
        if !end.status.success() {
            notes.extend(refusal(text, &self.started.sandbox));
        }
        notes
    }

    /// Keeps a long output with the session.
    async fn asset(&self) -> Option<String> {
        let log = self.output.log().filter(|log| log.is_there())?;
        keep_newest(log.path().parent()?);
        let app = Application::of(&self.cx).ok()?;
        let session = self.cx.get("session_id").and_then(Value::as_str);
        let upload = Upload::new("shell-output.txt", Some("text/plain"));
        let file = std::fs::File::open(log.path()).ok()?;
        match app.put_asset_from(session, upload, file).await {
            Ok(record) => Some(record.id),
            Err(error) => {
                tracing::debug!(target: "orlop::shell", %error, "a long output is kept in a file only");
                None
            }
        }
    }

    fn where_it_is(&self, asset: Option<&str>) -> String {
        let Some(log) = self.output.log().filter(|log| log.is_there()) else {
            return String::new();
        };
        let path = log.path().display();
        let what = match self.output.total() - log.written() {
            0 => "the whole output is".to_owned(),
            _ => format!("the first {} bytes are", log.written()),
        };
        let asset = asset.map_or_else(String::new, |id| format!(" (asset {id})"));
        format!("; {what} in {path}{asset}, to be read with grep, sed -n or tail")
    }
}

/// Says what the sandbox has to do with a command that was refused something.
fn refusal(text: &str, sandbox: &crate::sandbox::Sandbox) -> Option<String> {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if !sandbox.is_enforced() {
        return None;
    }
    if !sandbox.network() && says(&["resolv", "etwork", "onnect", "socket"]) {
        return Some("commands have no network here (sandbox.network)".to_owned());
    }
    if !says(&["ermission denied", "EACCES", "os error 13", "not permitted", "ross-device"]) {
        return None;
    }
    let folders: Vec<_> = sandbox.writable().iter().map(|it| it.display().to_string()).collect();
    let closed = sandbox.closed_to_new_files().map(|why| format!("; {why}"));
    Some(format!(
        "commands write in {} ($TMPDIR) only, and read no keys and passwords; the settings sandbox.write and sandbox.read add to it{}",
        folders.join(", "),
        closed.unwrap_or_default()
    ))
}

/// Removes all but the newest outputs.
fn keep_newest(folder: &Path) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let too_many = files.len().saturating_sub(KEPT_FILES);
    for (_, path) in files.into_iter().take(too_many) {
        // It is only a copy.
        let _ = std::fs::remove_file(path);
    }
}

/// The status of a process that was ended by force.
#[cfg(unix)]
fn killed() -> ExitStatus {
    std::os::unix::process::ExitStatusExt::from_raw(9)
}

#[cfg(windows)]
fn killed() -> ExitStatus {
    std::os::windows::process::ExitStatusExt::from_raw(1)
}
