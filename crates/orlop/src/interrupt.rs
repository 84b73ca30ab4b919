//! Ctrl-C: the first cancels, the second leaves.

use crate::exit::INTERRUPTED;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

/// Listens for Ctrl-C and for being told to end.
#[cfg(unix)]
pub(crate) struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

/// Listens for Ctrl-C and for being told to end, which is Ctrl-Break.
#[cfg(windows)]
pub(crate) struct Interrupts {
    interrupt: Option<CtrlC>,
    terminate: Option<CtrlBreak>,
}

impl Interrupts {
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
        }
    }

    #[cfg(windows)]
    pub(crate) fn new() -> Self {
        Self { interrupt: ctrl_c().ok(), terminate: ctrl_break().ok() }
    }

    /// Leaves without waiting for anything, not even for a store that another process keeps busy.
    /// What was stored stays, and the next `orlop run` settles what was not. Processes of plugins and
    /// tools, which may hang, are ended.
    pub(crate) fn leave() -> ! {
        orlop_app::ProcessGroup::kill_all();
        std::process::exit(INTERRUPTED.into())
    }

    /// Waits for the next one. What cannot be listened for never comes.
    pub(crate) async fn next(&mut self) {
        let interrupted = async {
            match &mut self.interrupt {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        let terminated = async {
            match &mut self.terminate {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupted => {}
            _ = terminated => {}
        }
    }
}
