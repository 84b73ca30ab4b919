//! Processes for tools: one and everything it starts, ended together.

use crate::config::Vars;
use orlop_core::{Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::{Output, Stdio};
use tokio::process::{Child, Command};

/// A process in a group of its own. Dropping it before it has ended kills the whole group, so a
/// tool that holds one stops with its request, however many processes it has started.
pub struct ProcessGroup {
    child: Option<Child>,
    group: Option<Pid>,
}

impl ProcessGroup {
    /// Starts a command with nothing on its input and its output kept, in the given environment.
    pub fn spawn(mut command: Command, env: &Vars) -> Result<Self> {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        command
            .env_clear()
            .envs(env)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let child = command.spawn().map_err(|error| {
            Error::unavailable(format!(
                "{program} cannot be started: {error}; check that it is installed"
            ))
        })?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child: Some(child), group })
    }

    /// Waits for the end of the process and gives what it printed. What it left running in its
    /// group is ended then, too.
    pub async fn output(mut self) -> Result<Output> {
        let child = self.child.take();
        let child = child.ok_or_else(|| Error::internal("the process was waited for before"))?;
        let output = child.wait_with_output().await;
        output.map_err(|error| Error::unavailable(format!("the process was lost: {error}")))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // There may be nothing left to end.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
