//! Recorded exchanges with real servers, read from the folder that `ORLOP_FIXTURES` names.
//!
//! They are not part of the sources. A test that needs them and has none says so with [`skip`].

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::cassette::{Exchange, read_json};
use crate::error::TestkitError;

/// A folder of recorded exchanges: `normalized/<api>/*.json`, one exchange a file.
#[derive(Clone, Debug)]
pub struct Fixtures {
    folder: PathBuf,
}

/// One recorded exchange.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The path inside the folder, for messages.
    pub file: String,
    /// What the file holds.
    pub exchange: Exchange,
    /// Whether the response is a stream.
    pub stream: bool,
}

impl Fixtures {
    /// The folder named by `ORLOP_FIXTURES`, or nothing if the variable is unset or empty.
    pub fn open() -> Option<Self> {
        std::env::var_os("ORLOP_FIXTURES").filter(|it| !it.is_empty()).map(Self::at)
    }

    /// This folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The exchanges of an API such as `openai-chat`, by file name.
    ///
    /// # Panics
    ///
    /// If the folder has no such API or a file in it cannot be read: a test must not pass because
    /// it has seen nothing.
    #[expect(clippy::panic, reason = "a broken fixture must fail the test that reads it")]
    pub fn exchanges(&self, api: &str) -> impl Iterator<Item = Fixture> + use<> {
        let files = match self.files(api) {
            Ok(files) => files,
            Err(error) => panic!("{error}"),
        };
        let folder = self.folder.clone();
        files.into_iter().map(move |path| match read_json::<Exchange>(&path) {
            Ok(exchange) => {
                let file = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
                Fixture { file, stream: exchange.stream, exchange }
            }
            Err(error) => panic!("{error}"),
        })
    }

    fn files(&self, api: &str) -> Result<Vec<PathBuf>, TestkitError> {
        let folder = self.folder.join("normalized").join(api);
        let cannot_read = |source| TestkitError::Read { path: folder.clone(), source };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(cannot_read)? {
            let path = entry.map_err(cannot_read)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// A body in pieces of 1 to `largest` bytes, the same for the same seed.
pub fn pieces(body: &[u8], mut seed: u64, largest: usize) -> Vec<Bytes> {
    let (mut rest, mut pieces) = (body, Vec::new());
    while !rest.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = 1 + (seed >> 33) as usize % largest.max(1);
        let (piece, more) = rest.split_at(size.min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = more;
    }
    pieces
}

/// Says that a test did not test `what`, and why: prints `SKIPPED: what: why`, and appends it to
/// the file named by `ORLOP_SKIPPED`, so that a green run does not hide it.
pub fn skip(what: &str, why: &str) {
    let file = std::env::var_os("ORLOP_SKIPPED").filter(|it| !it.is_empty());
    if let Err(error) = skip_to(file.as_deref().map(Path::new), what, why) {
        // Better a second line on the screen than a test that fails for its logging.
        println!("{error}");
    }
}

fn skip_to(file: Option<&Path>, what: &str, why: &str) -> Result<(), TestkitError> {
    let line = format!("SKIPPED: {what}: {why}").replace(['\r', '\n'], " ");
    println!("{line}");
    let Some(path) = file else { return Ok(()) };
    // Tests run at the same time: a line written at once to the end does not mix with others.
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .map_err(|source| TestkitError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::{Fixtures, skip_to};

    #[test]
    fn skipped_tests_leave_one_line_each() -> Result<(), Box<dyn std::error::Error>> {
        let file = std::env::temp_dir().join(format!("orlop-skipped-{}", std::process::id()));
        skip_to(Some(&file), "chat", "no\nfixtures")?;
        skip_to(Some(&file), "models", "no key")?;
        skip_to(None, "nothing", "only printed")?;
        let written = std::fs::read_to_string(&file)?;
        std::fs::remove_file(&file)?;
        assert_eq!(written, "SKIPPED: chat: no fixtures\nSKIPPED: models: no key\n");
        Ok(())
    }

    #[test]
    #[should_panic(expected = "no-such-folder")]
    fn a_missing_folder_does_not_pass_for_an_empty_one() {
        let _ = Fixtures::at("no-such-folder").exchanges("openai-chat");
    }
}
