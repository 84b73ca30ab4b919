//! The log of a server. A thread of its own writes it, so that no request waits for whoever reads it.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How many lines wait for whoever reads them; further ones are lost.
const LINES: usize = 10_000;

/// How long the end of the program waits for the last of them.
const LAST: Duration = Duration::from_secs(1);

/// Takes lines, as many as there is room for.
#[derive(Clone)]
pub(crate) struct Lines(SyncSender<Vec<u8>>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.try_send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log; what waits is written when it is dropped.
pub(crate) struct ServerLog {
    lines: SyncSender<Vec<u8>>,
    written: Receiver<()>,
}

impl ServerLog {
    /// Begins to write lines to `out`.
    pub(crate) fn to(mut out: impl Write + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel::<Vec<u8>>(LINES);
        let (done, written) = sync_channel(1);
        std::thread::spawn(move || {
            // An empty one is the last.
            for line in waiting.into_iter().take_while(|line| !line.is_empty()) {
                let _ = out.write_all(&line);
            }
            let _ = done.send(());
        });
        Self { lines, written }
    }

    pub(crate) fn lines(&self) -> Lines {
        Lines(self.lines.clone())
    }
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        if self.lines.try_send(Vec::new()).is_ok() {
            let _ = self.written.recv_timeout(LAST);
        }
    }
}
