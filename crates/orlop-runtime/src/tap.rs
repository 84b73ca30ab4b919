//! An ear at the border: sees every line between the host and its packages, for those who write
//! plugins. Without one nothing is spent on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One line that crossed, or one that a process logged.
#[derive(Debug, Clone, Copy)]
pub struct Crossed<'a> {
    /// The package.
    pub package: &'a str,
    /// Which process: another number whenever one is started.
    pub process: u64,
    /// Where it went.
    pub way: Way,
    /// The line, without its end.
    pub line: &'a [u8],
}

/// Where a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the host to the plugin.
    Plugin,
    /// From the plugin to the host.
    Host,
    /// To the log of the plugin.
    Log,
    /// Nowhere: the process ended, and the line says why.
    End,
}

/// Hears every line, in order. It is called in place: it must be quick, and must not call plugins.
pub type Tap = Arc<dyn Fn(Crossed<'_>) + Send + Sync>;

/// A tap on one process.
pub(crate) struct ProcessTap {
    tap: Tap,
    package: String,
    process: u64,
}

impl ProcessTap {
    pub(crate) fn new(tap: &Tap, package: &str) -> Self {
        static PROCESSES: AtomicU64 = AtomicU64::new(1);
        let process = PROCESSES.fetch_add(1, Ordering::Relaxed);
        Self { tap: tap.clone(), package: package.to_owned(), process }
    }

    pub(crate) fn hear(&self, way: Way, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        (self.tap)(Crossed { package: &self.package, process: self.process, way, line });
    }
}
