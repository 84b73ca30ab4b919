//! Processes for tools: one and everything it starts, ended together.

mod printed;
#[cfg(unix)]
mod relatives;
#[cfg(not(unix))]
#[path = "tree.rs"]
mod relatives;

pub use printed::Printed;
pub use relatives::kill_process;

use crate::config::Vars;
use orlop_core::{Error, Result};
use relatives::Relatives;
use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter};
use std::process::{ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A process in a group of its own. Dropping it before it has ended kills the whole group, so a
/// tool that holds one stops with its request, however many processes it has started. On Linux
/// those that left the group are found, too: they carry a variable that names it.
pub struct ProcessGroup {
    child: Option<Child>,
    id: String,
    /// Nothing once all of it has been ended: its numbers may be given to others then.
    relatives: Option<Relatives>,
}

/// The groups that run, for a program that leaves without dropping anything.
static RUNNING: Mutex<BTreeMap<String, Relatives>> = Mutex::new(BTreeMap::new());

fn running() -> MutexGuard<'static, BTreeMap<String, Relatives>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a process reads and prints.
pub struct Pipes {
    /// What it reads.
    pub input: ChildStdin,
    /// What it prints.
    pub output: ChildStdout,
    /// What it prints of errors.
    pub errors: ChildStderr,
}

impl ProcessGroup {
    /// Starts a command with nothing on its input and its output kept, in the given environment.
    pub fn spawn(mut command: Command, env: &Vars) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start(command, env)
    }

    /// Starts a command that is talked to, in the given environment.
    pub fn spawn_talking(mut command: Command, env: &Vars) -> Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Self::start(command, env)?;
        let child = group.child.as_mut();
        let pipes = child.and_then(|child| {
            let (input, output) = (child.stdin.take()?, child.stdout.take()?);
            Some(Pipes { input, output, errors: child.stderr.take()? })
        });
        let pipes = pipes.ok_or_else(|| Error::internal("the process has no pipes"))?;
        Ok((group, pipes))
    }

    /// Starts a command with nothing on its input, in the given environment. What it prints, errors
    /// included, is read from one pipe in the order in which it was written. The pipe ends when
    /// nobody holds it any more, which may be later than the process.
    pub fn spawn_printing(mut command: Command, env: &Vars) -> Result<(Self, Printed)> {
        let (reader, writer) = std::io::pipe().map_err(no_pipe)?;
        command.stdin(Stdio::null());
        command.stdout(writer.try_clone().map_err(no_pipe)?).stderr(writer);
        let printed = Printed::new(reader).map_err(no_pipe)?;
        Ok((Self::start(command, env)?, printed))
    }

    /// Starts a command to talk to: its input, its output and its errors are pipes of their own, for
    /// threads that wait on them.
    pub fn spawn_with_pipes(
        mut command: Command,
        env: &Vars,
    ) -> Result<(Self, PipeWriter, PipeReader, PipeReader)> {
        let (input, to) = std::io::pipe().map_err(no_pipe)?;
        let (from, output) = std::io::pipe().map_err(no_pipe)?;
        let (told, errors) = std::io::pipe().map_err(no_pipe)?;
        command.stdin(input).stdout(output).stderr(errors);
        Ok((Self::start(command, env)?, to, from, told))
    }

    fn start(mut command: Command, env: &Vars) -> Result<Self> {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let id = uuid::Uuid::new_v4().simple().to_string();
        command.env_clear().envs(env).env(relatives::mark(&id), "1").kill_on_drop(true);
        relatives::apart(&mut command);
        let child = command.spawn().map_err(|error| {
            Error::unavailable(format!(
                "{program} cannot be started: {error}; check that it is installed"
            ))
        })?;
        let relatives = child.id().and_then(|leader| Relatives::new(leader, &id));
        if let Some(relatives) = &relatives {
            running().insert(id.clone(), relatives.clone());
        }
        Ok(Self { child: Some(child), id, relatives })
    }

    /// A name that no other process group has.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the end of the process and gives what it printed. What it left running is ended
    /// then, too.
    pub async fn output(mut self) -> Result<Output> {
        let child = self.child.take();
        let child = child.ok_or_else(|| Error::internal("the process was waited for before"))?;
        let output = child.wait_with_output().await;
        self.leader_ended();
        output.map_err(lost)
    }

    /// Waits for the end of the process itself; others may still run. It may be waited for again.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let Some(child) = &mut self.child else {
            return Err(Error::internal("the process was waited for before"));
        };
        let status = child.wait().await;
        self.leader_ended();
        status.map_err(lost)
    }

    /// How the process itself ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        self.leader_ended();
        Some(status)
    }

    /// Where others are reached through the process alone, its number says nothing once it has ended:
    /// another may have it.
    fn leader_ended(&mut self) {
        if !Relatives::OUTLIVE_THE_LEADER {
            running().remove(&self.id);
            self.relatives = None;
        }
    }

    /// The number of the process itself, while it was not waited for.
    pub fn leader(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    /// Asks the process and everything it has started to end.
    pub fn terminate(&self) {
        if let Some(relatives) = &self.relatives {
            relatives.terminate();
        }
    }

    /// Ends the process and everything it has started, now. Gives the number of processes that
    /// were still there.
    pub fn kill(&mut self) -> usize {
        running().remove(&self.id);
        self.relatives.take().map_or(0, |relatives| relatives.kill())
    }

    /// Ends all groups of this program, now. For its end alone: leaving with
    /// [`exit`](std::process::exit) drops nothing, and what it started would stay.
    pub fn kill_all() {
        let all = std::mem::take(&mut *running());
        for relatives in all.values() {
            relatives.kill();
        }
    }
}

fn no_pipe(error: std::io::Error) -> Error {
    Error::unavailable(format!("no pipe can be made: {error}; close other programs"))
}

fn lost(error: std::io::Error) -> Error {
    Error::unavailable(format!("the process was lost: {error}"))
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
