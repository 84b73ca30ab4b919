//! What the user answered about the files of projects, in one file of the data folder.

use crate::private_file;
use orlop_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The name of the file in the data folder.
const FILE: &str = "trusted.json";
/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// What the user answered about one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it is trusted.
    pub trusted: bool,
    /// The settings that were asked about; see [`ProjectTrust::digest`](super::ProjectTrust).
    pub digest: String,
}

/// The folders that the user trusted or refused to trust.
///
/// ```
/// use orlop_app::config::TrustedFolders;
/// let home = std::env::temp_dir().join(format!("orlop-trust-doc-{}", std::process::id()));
/// let folders = TrustedFolders::in_folder(&home);
/// folders.remember("/src/acme".as_ref(), "sha256:1", true)?;
/// assert!(folders.get("/src/acme".as_ref())?.is_some_and(|answer| answer.trusted));
/// assert!(folders.forget("/src/acme".as_ref())?);
/// # std::fs::remove_dir_all(home).ok();
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TrustedFolders {
    file: PathBuf,
}

type Answers = BTreeMap<String, Answer>;

impl TrustedFolders {
    /// Those remembered in this data folder.
    pub fn in_folder(home: &Path) -> Self {
        Self { file: home.join(FILE) }
    }

    /// All answers, by folder. A file that others may write is refused.
    pub fn load(&self) -> Result<BTreeMap<String, Answer>> {
        let file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Answers::new()),
            Err(error) => return Err(self.failed("cannot be read", &error)),
        };
        self.check_private(&file)?;
        let mut text = String::new();
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(|error| self.failed("cannot be read", &error))?;
        serde_json::from_str(&text).map_err(|_| {
            let file = self.file.display();
            Error::bad_state(format!("{file} is damaged; delete it and trust folders again"))
        })
    }

    /// The answer about a folder, named by its real path.
    pub fn get(&self, folder: &Path) -> Result<Option<Answer>> {
        Ok(folder
            .to_str()
            .map(|folder| self.load().map(|mut it| it.remove(folder)))
            .transpose()?
            .flatten())
    }

    /// Remembers the answer about a folder with these settings, in the place of an older one.
    pub fn remember(&self, folder: &Path, digest: &str, trusted: bool) -> Result<()> {
        let Some(name) = folder.to_str() else {
            let message = "its name is not UTF-8, so that it cannot be remembered; use --trust";
            return Err(Error::bad_argument(format!("{}: {message}", folder.display())));
        };
        let answer = Answer { trusted, digest: digest.to_owned() };
        self.change(|answers| answers.insert(name.to_owned(), answer)).map(drop)
    }

    /// Forgets the answer about a folder. Says whether there was one.
    pub fn forget(&self, folder: &Path) -> Result<bool> {
        let Some(name) = folder.to_str().filter(|_| self.file.exists()) else { return Ok(false) };
        Ok(self.change(|answers| answers.remove(name))?.is_some())
    }

    /// Reads, changes and writes while no other process does.
    fn change<T>(&self, change: impl FnOnce(&mut Answers) -> T) -> Result<T> {
        let failed = |error: std::io::Error| self.failed("cannot be written", &error);
        let folder = private_file::lock_folder_of(&self.file).map_err(failed)?;
        let mut answers = self.load()?;
        let changed = change(&mut answers);
        let text = serde_json::to_string_pretty(&answers)
            .map_err(|error| Error::internal(format!("answers do not serialise: {error}")))?;
        private_file::replace(&self.file, text.as_bytes(), &folder).map_err(failed)?;
        Ok(changed)
    }

    fn failed(&self, what: &str, error: &dyn fmt::Display) -> Error {
        let file = self.file.display();
        Error::bad_state(format!("{file} {what}: {error}; check the file and its folder"))
    }

    #[cfg(unix)]
    fn check_private(&self, file: &File) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let about = file.metadata().map_err(|error| self.failed("cannot be read", &error))?;
        match about.permissions().mode() & 0o022 {
            0 => Ok(()),
            _ => {
                let file = self.file.display();
                Err(Error::bad_state(format!(
                    "{file} is not used, because others on this machine can write it; delete it and trust folders again"
                )))
            }
        }
    }

    #[cfg(not(unix))]
    fn check_private(&self, _: &File) -> Result<()> {
        Ok(())
    }
}
