//! What was sent before, kept for later chats: a file that only its owner can read, with one JSON
//! text a line.

use crate::editor::MOST_REMEMBERED;
use orlop_app::private_file;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A longer text is not kept: nobody looks for it by going through lines.
const LONGEST: usize = 8 * 1024;

/// The file.
pub(super) struct Remembered {
    path: Option<PathBuf>,
}

impl Remembered {
    /// The file at `path`, and what it has, the oldest first; without a path nothing is kept.
    /// A file that cannot be read is one with nothing in it.
    pub(super) fn open(path: Option<PathBuf>) -> (Self, Vec<String>) {
        let text = path.as_deref().and_then(|path| std::fs::read_to_string(path).ok());
        let text = text.unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
        let mut entries: Vec<String> = lines.collect();
        let surplus = entries.len().saturating_sub(MOST_REMEMBERED);
        entries.drain(..surplus);
        // Not with every chat: what another one adds meanwhile could get lost.
        if let Some(path) = path.as_deref().filter(|_| surplus >= MOST_REMEMBERED) {
            let _ = shorten(path, &entries);
        }
        (Self { path }, entries)
    }

    /// Adds what was sent. That it cannot be kept is no reason to interrupt anybody.
    pub(super) fn add(&self, text: &str) {
        // A space in front keeps it out, as in shells.
        let is_kept = !text.starts_with(' ') && text.len() <= LONGEST;
        if let Some(path) = self.path.as_deref().filter(|_| is_kept) {
            let _ = append(path, text);
        }
    }
}

/// Another chat may do the same: one write is one line.
fn append(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(line(text).as_bytes())
}

fn shorten(path: &Path, entries: &[String]) -> io::Result<()> {
    let folder = private_file::lock_folder_of(path)?;
    let text: String = entries.iter().map(|entry| line(entry)).collect();
    private_file::replace(path, text.as_bytes(), &folder)
}

fn line(text: &str) -> String {
    format!("{}\n", serde_json::Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("orlop-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn what_was_sent_is_there_in_the_next_chat() {
        let path = path("remembered");
        let (file, entries) = Remembered::open(Some(path.clone()));
        assert!(entries.is_empty());
        for text in ["one", "two\nlines \"quoted\"", " a secret", &"x".repeat(LONGEST + 1)] {
            file.add(text);
        }
        // Somebody else wrote something into it.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{broken\n").unwrap();
        file.add("three");
        let (_, entries) = Remembered::open(Some(path.clone()));
        assert_eq!(entries, ["one", "two\nlines \"quoted\"", "three"]);
        #[cfg(unix)]
        {
            let mode = std::fs::metadata(&path).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_long_file_is_shortened_to_what_can_be_looked_for() {
        let path = path("remembered-long");
        let text: String = (0..2 * MOST_REMEMBERED).map(|it| line(&it.to_string())).collect();
        std::fs::write(&path, text).unwrap();
        let (_, entries) = Remembered::open(Some(path.clone()));
        assert_eq!(entries.len(), MOST_REMEMBERED);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), MOST_REMEMBERED);
        std::fs::remove_file(path).unwrap();
    }
}
