//! Commands that run in the background of a session: started, asked for news, stopped.
//!
//! A job ends with its session, and with the application. Its output is read in turns; what nobody
//! reads is forgotten from the beginning, and kept in a file up to a limit.

use super::command::{Request, Started, after, ending};
use super::output::{Log, Tail, readable};
use super::run::GRACE;
use super::settings::Settings;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use std::collections::HashMap;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep_until, timeout_at};

/// How long a start is watched, to tell at once of a command that fails at once.
const WATCHED: Duration = Duration::from_millis(300);
/// How many ended jobs of a session are remembered.
const REMEMBERED: usize = 16;

/// The jobs of all sessions. Dropping them ends them.
#[derive(Default)]
pub(super) struct Jobs(Mutex<HashMap<String, JobsOfSession>>);

#[derive(Default)]
struct JobsOfSession {
    begun: u64,
    jobs: Vec<Held>,
}

struct Held {
    job: Arc<Job>,
    task: AbortHandle,
}

struct Job {
    id: String,
    command: String,
    began: Instant,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    stop: Notify,
}

struct State {
    /// What nobody has read, as far as there is room.
    unread: Tail,
    /// What was told when it was started; once somebody has asked, nothing.
    greeting: Option<Vec<u8>>,
    log: Log,
    ended: Option<(Option<ExitStatus>, Duration)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// Whether another job may be started.
    pub(super) fn check_room(&self, owner: &str, most: usize) -> Result<()> {
        let sessions = locked(&self.0);
        let jobs = sessions.get(owner).map(|of| of.jobs.as_slice()).unwrap_or_default();
        let running: Vec<&str> = jobs
            .iter()
            .filter(|held| held.job.is_running())
            .map(|held| held.job.id.as_str())
            .collect();
        match running.len() < most {
            true => Ok(()),
            false => Err(Error::conflict(format!(
                "{} jobs run already ({}), and no more may; stop one with shell_stop",
                running.len(),
                running.join(", ")
            ))),
        }
    }

    /// Takes a command that was started into the background.
    pub(super) async fn adopt(
        &self,
        owner: &str,
        request: &Request,
        settings: &Settings,
        started: Started,
    ) -> ToolReport {
        let log = Log::new(started.file("jobs"), settings.max_log_bytes);
        let path = log.path().display().to_string();
        let unread = Tail::new(settings.max_output);
        let state = State { unread, greeting: None, log, ended: None };
        let job = {
            let mut sessions = locked(&self.0);
            let of = sessions.entry(owner.to_owned()).or_default();
            of.begun += 1;
            let job = Arc::new(Job {
                id: format!("job-{}", of.begun),
                command: request.command.clone(),
                began: started.began,
                state: Mutex::new(state),
                changed: watch::Sender::new(()),
                stop: Notify::new(),
            });
            let task = tokio::spawn(attend(job.clone(), started)).abort_handle();
            let ended = of.jobs.iter().filter(|held| !held.job.is_running()).count();
            if ended > REMEMBERED
                && let Some(oldest) = of.jobs.iter().position(|held| !held.job.is_running())
            {
                of.jobs.remove(oldest);
            }
            of.jobs.push(Held { job: job.clone(), task });
            job
        };
        job.wait(Instant::now() + WATCHED, None).await;
        let news = job.news();
        let id = &job.id;
        job.report(format!(
            "{id} was started.\n{news}\n[ask for news with shell_output, end it with shell_stop; all it prints is in {path}]"
        ))
    }

    /// What a job has printed since it was last asked; waits until it ends, says `until` or the
    /// time is over. Without an id all jobs are listed.
    pub(super) async fn output(&self, owner: &str, payload: &Value) -> Result<ToolReport> {
        let Some(id) = payload.get("id").and_then(Value::as_str) else {
            return Ok(ToolReport::ok(self.list(owner)));
        };
        let job = self.find(owner, id)?;
        let wait = payload.get("wait_s").and_then(Value::as_f64).unwrap_or(0.0);
        let wait = if wait.is_finite() { wait.clamp(0.0, 600.0) } else { 0.0 };
        let until = payload.get("until").and_then(Value::as_str).filter(|it| !it.is_empty());
        job.wait(Instant::now() + Duration::from_secs_f64(wait), until).await;
        Ok(job.report(job.news()))
    }

    /// Ends a job.
    pub(super) async fn stop(&self, owner: &str, payload: &Value) -> Result<ToolReport> {
        let id = payload.get("id").and_then(Value::as_str).unwrap_or_default();
        let job = self.find(owner, id)?;
        job.stop.notify_one();
        job.wait(Instant::now() + GRACE * 3, None).await;
        Ok(job.report(job.news()))
    }

    /// Ends all jobs of a session and forgets them.
    pub(super) fn forget(&self, owner: &str) {
        let jobs = locked(&self.0).remove(owner).map(|of| of.jobs).unwrap_or_default();
        end(jobs);
    }

    fn find(&self, owner: &str, id: &str) -> Result<Arc<Job>> {
        let sessions = locked(&self.0);
        let jobs = sessions.get(owner).map(|of| of.jobs.as_slice()).unwrap_or_default();
        let found = jobs.iter().find(|held| held.job.id == id).map(|held| held.job.clone());
        found.ok_or_else(|| {
            let known: Vec<&str> = jobs.iter().map(|held| held.job.id.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            match id {
                "" => Error::bad_argument(format!("give the id of a job; known: {known}")),
                id => Error::not_found(format!(
                    "there is no job \"{id}\" in this session; known: {known}"
                )),
            }
        })
    }

    fn list(&self, owner: &str) -> String {
        let sessions = locked(&self.0);
        let jobs = sessions.get(owner).map(|of| of.jobs.as_slice()).unwrap_or_default();
        if jobs.is_empty() {
            return "there are no jobs in this session".to_owned();
        }
        let line = |held: &Held| {
            let command = orlop_app::ui::plain_line(&held.job.command);
            format!("{}: {command} [{}]", held.job.id, held.job.how())
        };
        jobs.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let sessions = std::mem::take(&mut *locked(&self.0));
        end(sessions.into_values().flat_map(|of| of.jobs).collect());
    }
}

/// The task of a job owns its processes; they end with it.
fn end(jobs: Vec<Held>) {
    for held in jobs {
        held.task.abort();
    }
}

/// Reads what a job prints, and ends it when it is asked to.
async fn attend(job: Arc<Job>, mut started: Started) {
    let mut buffer = vec![0; 64 << 10];
    let mut is_open = true;
    let mut status = None;
    let mut deadline: Option<Instant> = None;
    while is_open || status.is_none() {
        let alarm = deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        tokio::select! {
            count = started.printed.read(&mut buffer), if is_open => {
                is_open = count > 0;
                job.printed(buffer.get(..count).unwrap_or_default());
            }
            ended = started.group.wait(), if status.is_none() => {
                started.group.kill();
                status = Some(ended.ok());
                deadline = Some(Instant::now() + GRACE);
            }
            () = job.stop.notified(), if status.is_none() && deadline.is_none() => {
                started.group.terminate();
                deadline = Some(Instant::now() + GRACE);
            }
            () = sleep_until(alarm.into()), if deadline.is_some() => {
                is_open &= status.is_none();
                started.group.kill();
                deadline = Some(Instant::now() + GRACE);
            }
        }
    }
    locked(&job.state).ended = Some((status.flatten(), job.began.elapsed()));
    job.changed.send_replace(());
}

impl Job {
    fn is_running(&self) -> bool {
        locked(&self.state).ended.is_none()
    }

    fn printed(&self, bytes: &[u8]) {
        let mut state = locked(&self.state);
        state.log.write(bytes);
        state.unread.push(bytes);
        drop(state);
        self.changed.send_replace(());
    }

    /// Waits for the end of the job, for a text it prints, or for a point in time.
    async fn wait(&self, time: Instant, until: Option<&str>) {
        let mut changed = self.changed.subscribe();
        loop {
            let has_said = until.is_some_and(|until| self.has_said(until));
            if has_said || !self.is_running() {
                return;
            }
            match timeout_at(time.into(), changed.changed()).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
    }

    /// Who waits for a text after the start does not know whether the start told it already.
    fn has_said(&self, text: &str) -> bool {
        let state = locked(&self.state);
        let greeting = state.greeting.as_deref().unwrap_or_default();
        String::from_utf8_lossy(&[greeting, state.unread.bytes()].concat()).contains(text)
    }

    /// What is unread, and how the job is. It is read then.
    fn news(&self) -> String {
        let mut state = locked(&self.state);
        let (bytes, dropped) = state.unread.take_complete();
        let is_start = state.greeting.is_none();
        state.greeting = Some(if is_start { bytes.clone() } else { Vec::new() });
        let path = state.log.path().display().to_string();
        drop(state);
        let mut text = readable(&bytes);
        if dropped > 0 {
            text = format!("[... {dropped} bytes left out here; see {path} ...]\n{text}");
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        format!("{text}[{}]", self.how())
    }

    fn how(&self) -> String {
        match locked(&self.state).ended {
            None => format!("running{}", after(self.began.elapsed()).replace(" after", " for")),
            Some((status, took)) => {
                format!("{}{}", status.map_or_else(|| "lost".to_owned(), ending), after(took))
            }
        }
    }

    fn report(&self, text: String) -> ToolReport {
        let ended = locked(&self.state).ended;
        let mut data = Map::new();
        data.insert("output".to_owned(), text.into());
        data.insert("job".to_owned(), self.id.as_str().into());
        data.insert("command".to_owned(), self.command.as_str().into());
        data.insert("running".to_owned(), ended.is_none().into());
        let code = ended.and_then(|(status, _)| status).and_then(|status| status.code());
        data.insert("exit_code".to_owned(), json!(code));
        ToolReport { success: true, data }
    }
}
