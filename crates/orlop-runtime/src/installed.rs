//! The packages a user added, and what they were granted: `plugins.json` in the data folder.

use crate::grants::Grants;
use crate::package::Package;
use orlop_app::private_file;
use orlop_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is remembered of packages.
#[derive(Debug, Clone, Default)]
pub struct Installed(Content);

const FILE: &str = "plugins.json";

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
        let file = home.join(FILE);
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
        Ok(Self(content))
    }

    /// The packages that were added.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.packages.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// A package that was added.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.0.packages.get(name)
    }

    /// Whether the user granted what the package asks for now.
    pub fn accepts(&self, package: &Package) -> bool {
        package.grants.is_empty() || self.0.accepted.get(&package.folder) == Some(&package.grants)
    }

    /// Remembers a package.
    pub fn add(&mut self, name: &str, entry: Entry) {
        self.0.packages.insert(name.to_owned(), entry);
    }

    /// Forgets a package and what it was granted.
    pub fn remove(&mut self, name: &str) -> Option<Entry> {
        let entry = self.0.packages.remove(name)?;
        self.0.accepted.remove(&entry.path);
        Some(entry)
    }

    /// Grants a package what it asks for.
    pub fn accept(&mut self, package: &Package) {
        self.0.accepted.insert(package.folder.clone(), package.grants.clone());
    }

    /// Changes what is remembered, while no other process does. Nothing is written if the change fails.
    pub fn change<T>(home: &Path, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let file = home.join(FILE);
        let failed = |error: std::io::Error| {
            Error::unavailable(format!("{} cannot be written: {error}", file.display()))
        };
        let folder = private_file::lock_folder_of(&file).map_err(failed)?;
        let mut installed = Self::read(home)?;
        let changed = change(&mut installed)?;
        let text = serde_json::to_string_pretty(&installed.0)
            .map_err(|error| Error::internal(format!("plugins cannot be remembered: {error}")))?;
        private_file::replace(&file, text.as_bytes(), &folder).map_err(failed)?;
        Ok(changed)
    }
}
