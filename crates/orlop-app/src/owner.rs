//! Who holds a lease: names that tell whether the process behind them is still there.
//!
//! A process that was killed leaves its leases behind. On the same machine that can be seen at
//! once, so nobody has to wait for them to run out.

use std::sync::OnceLock;

/// The name of this process: the run of the machine, the process id and when it began, and a part
/// that is nobody else's. Where the system does not say, only the last part is there.
pub(crate) fn of_this_process() -> String {
    let unique = uuid::Uuid::new_v4();
    match (machine_run(), began(std::process::id())) {
        (Some(run), Some(began)) => format!("{run}/{}/{began}/{unique}", std::process::id()),
        _ => unique.to_string(),
    }
}

/// Whether the process that made this name ran on this machine and is gone.
pub(crate) fn is_gone(owner: &str) -> bool {
    let mut parts = owner.split('/');
    let (Some(run), Some(id), Some(since)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(id), Some(this_run)) = (id.parse(), machine_run()) else { return false };
    // Another run of the machine, or another machine: only the first is certain to be over, and
    // the two look alike.
    run == this_run && began(id).as_deref() != Some(since)
}

/// Identifies this machine since it was started.
fn machine_run() -> Option<&'static str> {
    static RUN: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
        // Process ids mean the same only within one name space of them.
        let space: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Some(format!("{}-{space}", text.trim()))
    };
    RUN.get_or_init(read).as_deref()
}

/// When a process began, in the system's own measure; `None` if there is no such process.
fn began(id: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let began = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| began.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_gone_and_others_are_not() {
        assert!(!is_gone(&of_this_process()));
        for unknown in ["", "somebody", "a/b/c", "other-machine/1/2/x"] {
            assert!(!is_gone(unknown), "{unknown}");
        }
        let Some(run) = machine_run() else { return };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = child.id();
        let since = began(id).unwrap_or_else(|| "1".to_owned());
        child.wait().unwrap();
        assert!(is_gone(&format!("{run}/{id}/{since}/x")));
        let ours = format!("{run}/{}/0/x", std::process::id());
        assert!(is_gone(&ours), "the same id, but another process");
    }
}
