//! What a test program logs, kept in memory.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Text = Arc<Mutex<Vec<u8>>>;

struct Lines(Text);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything this test program has logged since the first call, at level info and above. The
/// first call begins to listen, so make it before what is to be seen.
pub fn logged() -> String {
    static TEXT: OnceLock<Text> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let text = Text::default();
        let lines = text.clone();
        let log = tracing_subscriber::fmt().with_writer(move || Lines(lines.clone())).finish();
        // Fails if the program listens already; then nothing is seen here.
        let _ = tracing::subscriber::set_global_default(log);
        text
    });
    String::from_utf8_lossy(&text.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}
