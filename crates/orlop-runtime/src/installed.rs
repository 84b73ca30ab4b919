//! The packages a user added, and what they were granted: `plugins.json` in the data folder.

use crate::grants::Grants;
use crate::package::Package;
use orlop_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is remembered of packages.
#[derive(Debug, Clone, Default)]
pub struct Installed {
    file: PathBuf,
    content: Content,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Content {
    /// Added packages by name.
    packages: BTreeMap<String, Entry>,
    /// What was granted to the package in a folder.
    accepted: BTreeMap<PathBuf, Grants>,
}

/// A package that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Where it came from, as the user wrote it.
    pub source: String,
    /// Whether its files are Orlop's own copy, which goes with it.
    #[serde(default)]
    pub is_copy: bool,
}

impl Installed {
    /// Reads what is remembered in a data folder; nothing if there is no file.
    pub fn read(home: &Path) -> Result<Self> {
        let file = home.join("plugins.json");
        let content = match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                Error::bad_state(format!(
                    "{} is damaged ({error}); remove it and add your plugins again",
                    file.display()
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Content::default(),
            Err(error) => {
                return Err(Error::unavailable(format!(
                    "{} cannot be read: {error}",
                    file.display()
                )));
            }
        };
        Ok(Self { file, content })
    }

    /// The packages that were added.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.content.packages.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// A package that was added.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.content.packages.get(name)
    }

    /// Whether the user granted what the package asks for now.
    pub fn accepts(&self, package: &Package) -> bool {
        package.grants.is_empty()
            || self.content.accepted.get(&package.folder) == Some(&package.grants)
    }

    /// Remembers a package.
    pub fn add(&mut self, name: &str, entry: Entry) {
        self.content.packages.insert(name.to_owned(), entry);
    }

    /// Forgets a package and what it was granted.
    pub fn remove(&mut self, name: &str) -> Option<Entry> {
        let entry = self.content.packages.remove(name)?;
        self.content.accepted.remove(&entry.path);
        Some(entry)
    }

    /// Grants a package what it asks for.
    pub fn accept(&mut self, package: &Package) {
        self.content.accepted.insert(package.folder.clone(), package.grants.clone());
    }

    /// Writes it down, all of it or nothing.
    pub fn save(&self) -> Result<()> {
        let failed = |error: std::io::Error| {
            Error::unavailable(format!("{} cannot be written: {error}", self.file.display()))
        };
        let text = serde_json::to_string_pretty(&self.content)
            .map_err(|error| Error::internal(format!("plugins cannot be remembered: {error}")))?;
        let beside = self.file.with_extension(format!("{}.tmp", std::process::id()));
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)
            .map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(&beside, &self.file).map_err(failed)
    }
}
