//! Catalogues of servers on disk, so that a conversation need not wait for a server to say again what
//! it said before. The key is the configuration of the server: another command has another catalogue.

use crate::catalogue::Catalogue;
use orlop_app::config::{McpServer, McpTransport};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The form of the files; those of another are not read.
const FORMAT: u32 = 1;
/// The largest file that is read.
const MAX_BYTES: u64 = 32 << 20;

/// The file of one server.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    catalogue: Catalogue,
}

impl Cache {
    /// The file in this data folder.
    pub(crate) fn of(server: &McpServer, home: &Path) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = server.name.chars().map(plain).take(40).collect();
        let file = home.join("cache").join("mcp").join(format!("{name}-{}.json", key(server)));
        Self { file }
    }

    /// What was kept. A file that cannot be read counts as none.
    pub(crate) fn read(&self) -> Option<Catalogue> {
        std::fs::metadata(&self.file).ok().filter(|file| file.len() <= MAX_BYTES)?;
        let stored: Stored = serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()?;
        (stored.format == FORMAT).then_some(stored.catalogue)
    }

    /// How long ago it was kept.
    pub(crate) fn age(&self) -> Option<Duration> {
        let at = std::fs::metadata(&self.file).ok()?.modified().ok()?;
        Some(SystemTime::now().duration_since(at).unwrap_or_default())
    }

    /// Keeps a catalogue. Who reads meanwhile sees the old one or the new one.
    pub(crate) fn write(&self, catalogue: &Catalogue) {
        let stored = Stored { format: FORMAT, catalogue: catalogue.clone() };
        if let Err(error) = self.replace(&stored) {
            let file = self.file.display();
            tracing::warn!(target: "orlop::mcp", %file, %error, "the tools of a server could not be kept");
        }
    }

    fn replace(&self, stored: &Stored) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let new = self.file.with_extension(format!("{}.new", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&new)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(stored)?))
            .and_then(|()| std::fs::rename(&new, &self.file));
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }
}

/// A digest of everything that may change what a server offers.
fn key(server: &McpServer) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(text.len().to_le_bytes());
        digest.update(text.as_bytes());
    };
    add(&server.name);
    let vars = match &server.transport {
        McpTransport::Command { command, env, cwd } => {
            command.iter().for_each(|word| add(word));
            add(&cwd.as_ref().map(|cwd| cwd.display().to_string()).unwrap_or_default());
            env
        }
        McpTransport::Http { url, headers } => {
            add(url);
            headers
        }
    };
    for (name, value) in vars {
        add(name);
        add(value);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_app::config::Vars;

    fn server(command: &str, token: &str) -> McpServer {
        McpServer {
            name: "a/b".to_owned(),
            transport: McpTransport::Command {
                command: vec![command.to_owned()],
                env: Vars::from([("TOKEN".to_owned(), token.to_owned())]),
                cwd: None,
            },
            timeout_ms: None,
            first_wait_ms: None,
        }
    }

    #[test]
    fn another_configuration_has_another_file() {
        let home = Path::new("/h");
        let file = |server| Cache::of(&server, home).file;
        assert_eq!(file(server("x", "1")), file(server("x", "1")));
        assert_ne!(file(server("x", "1")), file(server("y", "1")));
        assert_ne!(file(server("x", "1")), file(server("x", "2")));
        assert!(file(server("x", "1")).starts_with("/h/cache/mcp"));
    }
}
