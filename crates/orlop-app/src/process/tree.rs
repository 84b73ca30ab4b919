//! Which processes belong to one that was started, on Windows: those that the system finds below it
//! while it runs. What it left behind when it ended is not found.

use std::process::Stdio;
use tokio::process::Command;

/// The name of the variable that marks the processes of a group. Nothing reads it here.
pub(super) fn mark(id: &str) -> String {
    format!("ORLOP_PROCESS_{id}")
}

/// Puts a command that is about to start into a group of its own, so that Ctrl-C does not reach it.
pub(super) fn apart(command: &mut Command) {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Ends one process, and not what it has started.
pub fn kill_process(id: u32) {
    end(&["/F", "/PID", &id.to_string()]);
}

/// A process and everything it has started.
#[derive(Clone)]
pub(super) struct Relatives {
    leader: u32,
}

impl Relatives {
    /// They are found through the process alone.
    pub(super) const OUTLIVE_THE_LEADER: bool = false;

    pub(super) fn new(leader: u32, _: &str) -> Option<Self> {
        Some(Self { leader })
    }

    /// A program without a window cannot be asked to end. It has its time all the same.
    pub(super) fn terminate(&self) {}

    /// Ends all of them. How many there were is not told.
    pub(super) fn kill(&self) -> usize {
        end(&["/T", "/F", "/PID", &self.leader.to_string()]);
        0
    }
}

fn end(arguments: &[&str]) {
    let mut tool = std::process::Command::new("taskkill");
    tool.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It may be gone already.
    let _ = tool.status();
}
