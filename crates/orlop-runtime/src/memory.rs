//! How much memory a process takes, with all it started.

use std::fmt;

/// How far the memory of plugins can be kept within `limits.memory_mb` on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryWatch {
    /// Of a process and all it started.
    Everything,
    /// Of a process, and not of what it started.
    ProcessOnly,
    /// Not at all.
    Nothing,
}

impl MemoryWatch {
    /// What this system tells.
    pub fn here() -> Self {
        let tells_children = std::path::Path::new("/proc/thread-self/children").exists();
        match resident_mb(std::process::id()) {
            None => Self::Nothing,
            Some(_) if tells_children => Self::Everything,
            Some(_) => Self::ProcessOnly,
        }
    }
}

impl fmt::Display for MemoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Everything => "limits.memory_mb is enforced, for a plugin and all it starts",
            Self::ProcessOnly => {
                "limits.memory_mb is enforced for a plugin and not for what it starts: the kernel does not tell which processes those are"
            }
            Self::Nothing => {
                "limits.memory_mb is not enforced: this system does not tell what a process takes; plugins that run on Node have a limit of their own"
            }
        })
    }
}

/// The resident memory of a process and its descendants, in megabytes; nothing where that is not told
/// (Linux only) or the process is gone. Pages they share count for each of them.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mb(leader: u32) -> Option<u64> {
    let mut pages = resident_pages(leader)?;
    let mut known = std::collections::BTreeSet::from([leader]);
    let mut next = children(leader);
    while let Some(child) = next.pop() {
        if known.insert(child) {
            pages += resident_pages(child).unwrap_or_default();
            next.extend(children(child));
        }
    }
    Some(pages * rustix::param::page_size() as u64 / (1 << 20))
}

#[cfg(target_os = "linux")]
fn resident_pages(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

/// Those that a process started, by any of its threads.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let texts = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let texts: Vec<String> = texts.collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn resident_mb(_: u32) -> Option<u64> {
    None
}
