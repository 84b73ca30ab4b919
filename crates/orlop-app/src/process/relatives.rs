//! Which processes belong to one that was started: its group, and on Linux also those that went
//! into groups and sessions of their own.
//!
//! They are known by a variable in their environment, which children inherit, by their session and
//! by their parents. One that wipes its environment, leaves its session and outlives its parents
//! is not found.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::process::Command;

/// How often it is looked for processes that are still there.
const ROUNDS: usize = 50;

/// The name of the variable that marks the processes of a group. Each group has its own, so that
/// one inside of another keeps the mark of both.
pub(super) fn mark(id: &str) -> String {
    format!("ORLOP_PROCESS_{id}")
}

/// Puts a command that is about to start into a group of its own.
pub(super) fn apart(command: &mut Command) {
    command.process_group(0);
}

/// Ends one process, and not what it has started.
pub fn kill_process(id: u32) {
    if let Some(pid) = pid_of(id) {
        // It may be gone already.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

fn pid_of(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// A process and everything it has started.
#[derive(Clone)]
pub(super) struct Relatives {
    leader: Pid,
    mark: String,
    /// When the leader began, by the clock of `/proc`; nothing older belongs to it.
    since: u64,
}

impl Relatives {
    /// They are found also when the process itself has ended.
    pub(super) const OUTLIVE_THE_LEADER: bool = true;

    pub(super) fn new(leader: u32, id: &str) -> Option<Self> {
        let leader = pid_of(leader)?;
        let since = seen::process(leader.as_raw_pid()).map_or(0, |process| process.started);
        Some(Self { leader, mark: format!("{}=", mark(id)), since })
    }

    /// Asks all of them to end, once.
    pub(super) fn terminate(&self) {
        // Any of them may be gone already.
        let _ = kill_process_group(self.leader, Signal::TERM);
        for pid in self.find() {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    }

    /// Ends all of them and those they start meanwhile; gives how many were found.
    pub(super) fn kill(&self) -> usize {
        let mut ended = BTreeSet::new();
        for round in 0..ROUNDS {
            let found = self.find();
            let _ = kill_process_group(self.leader, Signal::KILL);
            if found.is_empty() {
                break;
            }
            for pid in found {
                ended.insert(pid.as_raw_pid());
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            // The kernel takes a moment for each; there is no event to wait for.
            std::thread::sleep(Duration::from_millis(if round == 0 { 0 } else { 2 }));
        }
        ended.len()
    }

    /// Those that run now.
    fn find(&self) -> Vec<Pid> {
        let leader = self.leader.as_raw_pid();
        let mut others: Vec<seen::Process> = seen::processes(self.since);
        let mut found: BTreeSet<i32> = BTreeSet::new();
        loop {
            let before = found.len();
            others.retain(|process| {
                let belongs = process.id == leader
                    || process.group == leader
                    || process.session == leader
                    || found.contains(&process.parent)
                    || found.contains(&process.session)
                    || (before == 0 && seen::has_variable(process.id, &self.mark));
                if belongs {
                    found.insert(process.id);
                }
                !belongs
            });
            if found.len() == before {
                break;
            }
        }
        let own = rustix::process::getpid().as_raw_pid();
        found.into_iter().filter(|id| *id != own).filter_map(Pid::from_raw).collect()
    }
}

/// What `/proc` tells.
#[cfg(target_os = "linux")]
mod seen {
    use std::fs;

    #[derive(Debug, Clone, Copy)]
    pub(super) struct Process {
        pub(super) id: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) session: i32,
        pub(super) started: u64,
    }

    /// Those that have begun since then and have not ended.
    pub(super) fn processes(since: u64) -> Vec<Process> {
        let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(process).filter(|process| process.started >= since).collect()
    }

    /// One, unless it has ended and only waits to be asked how.
    pub(super) fn process(id: i32) -> Option<Process> {
        let text = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The name in front may hold anything, parentheses included.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(Process {
            id,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether its environment has a variable; `start` is its name and `=`.
    pub(super) fn has_variable(id: i32, start: &str) -> bool {
        let env = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        env.split(|byte| *byte == 0).any(|variable| variable.starts_with(start.as_bytes()))
    }
}

/// Elsewhere the group is all that is known.
#[cfg(not(target_os = "linux"))]
mod seen {
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Process {
        pub(super) id: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) session: i32,
        pub(super) started: u64,
    }

    pub(super) fn processes(_: u64) -> Vec<Process> {
        Vec::new()
    }

    pub(super) fn process(_: i32) -> Option<Process> {
        None
    }

    pub(super) fn has_variable(_: i32, _: &str) -> bool {
        false
    }
}
