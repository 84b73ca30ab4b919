//! Ctrl-C: the first cancels, the second leaves.

use crate::exit::INTERRUPTED;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for Ctrl-C and for being told to end.
pub(crate) struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl Interrupts {
    pub(crate) fn new() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
        }
    }

    /// Leaves without waiting for anything, not even for a store that another process keeps busy.
    /// What was stored stays, and the next `orlop run` settles what was not. Processes of plugins and
    /// tools, which may hang, are ended.
    pub(crate) fn leave() -> ! {
        orlop_app::ProcessGroup::kill_all();
        std::process::exit(INTERRUPTED.into())
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        let wait = async |signal: &mut Option<Signal>| match signal {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        };
        tokio::select! {
            () = wait(&mut self.interrupt) => {}
            () = wait(&mut self.terminate) => {}
        }
    }
}
