//! The packages a user added, and what they were granted: `plugins.json` in the data folder.

use crate::grants::Grants;
use crate::package::{Package, is_manifest};
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

    /// Whether the user granted what the package asks for now, or more.
    pub fn accepts(&self, package: &Package) -> bool {
        let granted = self.0.accepted.get(&package.folder);
        package.grants.is_empty() || granted.is_some_and(|granted| covers(granted, &package.grants))
    }

    /// Remembers a package.
    pub fn add(&mut self, name: &str, entry: Entry) {
        self.0.packages.insert(name.to_owned(), entry);
    }

    /// Forgets a package and what it was granted.
    pub fn remove(&mut self, name: &str) -> Option<Entry> {
        let entry = self.0.packages.remove(name)?;
        let folder = folder_of(&entry.path);
        if !self.0.packages.values().any(|other| folder_of(&other.path) == folder) {
            self.0.accepted.remove(folder);
        }
        Some(entry)
    }

    /// Grants a package what it asks for.
    pub fn accept(&mut self, package: &Package) {
        // A file alone asks for nothing; the package in the folder around it may have its grants.
        if package.grants.is_empty() {
            return;
        }
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

/// Whether all that is asked for was granted.
fn covers(granted: &Grants, asked: &Grants) -> bool {
    let Grants { network, files, env, app, danger, commands } = asked;
    let lists = [
        (network, &granted.network),
        (files, &granted.files),
        (env, &granted.env),
        (app, &granted.app),
        (commands, &granted.commands),
    ];
    let has_all = |(asked, granted): (&Vec<String>, &Vec<String>)| {
        asked.iter().all(|power| granted.contains(power))
    };
    lists.into_iter().all(has_all)
        && danger.iter().all(|(name, harm)| granted.danger.get(name) == Some(harm))
}

/// The folder of the package at a path that a user named: a manifest speaks for the folder around it.
fn folder_of(path: &Path) -> &Path {
    let is_manifest = path.file_name().and_then(|name| name.to_str()).is_some_and(is_manifest);
    path.parent().filter(|_| is_manifest).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(grants: &str) -> Package {
        let text = format!("[plugin]\nname = \"p\"\n[run]\ncommand = [\"p\"]\n[grants]\n{grants}");
        Package::parse(&text, Path::new("/p")).unwrap()
    }

    #[test]
    fn who_asks_for_less_than_was_granted_is_not_asked_again() {
        let mut installed = Installed::default();
        let all = "env = [\"A\", \"B\"]\nnetwork = [\"x.example\"]\ndanger = { go = \"burns\" }";
        installed.accept(&package(all));
        for less in ["", "env = [\"B\"]", "network = [\"x.example\"]\nenv = [\"B\", \"A\"]", all] {
            assert!(installed.accepts(&package(less)), "{less}");
        }
        for more in [
            "env = [\"A\", \"C\"]",
            "network = [\"y.example\"]",
            "app = [\"load_session\"]",
            "files = [\"read:/\"]",
            "danger = { go = \"drowns\" }",
            "danger = { stop = \"burns\" }",
        ] {
            assert!(!installed.accepts(&package(more)), "{more}");
        }
    }

    #[test]
    fn what_was_granted_goes_with_the_last_name_of_a_package() {
        let mut installed = Installed::default();
        let asks = package("env = [\"A\"]");
        let entry = |path: &str| Entry { path: path.into(), source: "p".into(), is_copy: false };
        installed.accept(&asks);
        installed.add("p", entry("/p/plugin.toml"));
        installed.add("q", entry("/p"));
        // A file in the same folder asks for nothing, and takes nothing away.
        installed.accept(&package(""));
        installed.remove("p");
        assert!(installed.accepts(&asks), "q is still there");
        installed.add("p", entry("/p/plugin.toml"));
        installed.remove("q");
        assert!(installed.accepts(&asks), "p is still there");
        installed.remove("p");
        assert!(!installed.accepts(&asks));
    }
}
