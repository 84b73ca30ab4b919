//! Trust of a project's file: what it says that goes beyond what the user allowed holds only where
//! the user has trusted the folder with these very settings.
//!
//! [`settings`] knows which those are, [`words`] says what they would do, and [`TrustedFolders`]
//! remembers what the user answered.

mod remembered;
mod settings;
#[cfg(test)]
mod tests;
mod words;

pub use remembered::{Answer, TrustedFolders};
pub use settings::{first_powerful, first_powerful_change};

use super::origin::{Origin, SourceFile};
use super::problem::{Problem, ProblemKind};
use super::secrets;
use super::tree::Table;
use orlop_core::{Result, Value};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the user stands to what a project's file asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// It is in force.
    Trusted,
    /// The user was asked about these settings and said no.
    Refused,
    /// The folder was trusted or refused with other settings.
    Changed,
    /// The user was never asked.
    New,
}

/// The settings of a project's file that need trust; at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectTrust {
    /// How the user stands to them.
    pub state: TrustState,
    /// The real path of the folder the file is in.
    pub folder: PathBuf,
    /// The name of the file in messages.
    pub file: String,
    /// What tells these settings from others: a change of one of them is a change of it.
    pub digest: String,
    /// The settings, in the order of the file.
    pub settings: Vec<TrustedSetting>,
}

/// One setting that needs trust.
#[derive(Debug, Clone, PartialEq)]
pub struct TrustedSetting {
    /// The path of its key.
    pub key: String,
    /// Its value as it is written, secrets masked.
    pub value: Value,
    /// Where it is written.
    pub origin: Origin,
    /// What it would do, in words that complete "it would ...".
    pub effect: String,
}

impl ProjectTrust {
    /// Whether the settings are in force.
    pub fn is_trusted(&self) -> bool {
        self.state == TrustState::Trusted
    }

    /// The keys of the settings, few of them by name, for a message of one line.
    pub fn summary(&self) -> String {
        const NAMED: usize = 4;
        let keys: Vec<&str> = self.settings.iter().map(|setting| setting.key.as_str()).collect();
        match keys.len() {
            0..=NAMED => keys.join(", "),
            n => format!("{} and {} more", keys[..NAMED].join(", "), n - NAMED),
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let settings = self.settings.iter().map(|setting| {
            json!({
                "key": setting.key, "value": setting.value, "source": setting.origin.to_string(),
                "effect": setting.effect,
            })
        });
        json!({
            "folder": self.folder, "file": self.file, "trusted": self.is_trusted(),
            "settings": settings.collect::<Vec<_>>(),
        })
    }
}

/// A project's file divided into what holds in any case and what needs trust.
pub(super) struct Divided {
    /// What holds in any case.
    pub(super) harmless: Table,
    /// What needs trust.
    pub(super) trust: Option<ProjectTrust>,
}

/// Divides what stands in a project's file. `users` is what the user's own files say, and `home`
/// the data folder, where answers are remembered.
pub(super) fn divide(
    file: &Arc<SourceFile>,
    layer: &Table,
    users: &Table,
    home: &Path,
) -> Result<Divided, Problem> {
    let (harmless, parts) = settings::divide(layer, users);
    if parts.is_empty() {
        return Ok(Divided { harmless, trust: None });
    }
    let digest = digest(&parts);
    let folder = real_folder(file.folder());
    let remembered = TrustedFolders::in_folder(home).get(&folder).map_err(|error| {
        let origin = Origin::File(file.clone(), None);
        let message = format!("it cannot be told whether it is trusted: {}", error.message());
        Problem::new(ProblemKind::Unreadable, origin, "", message)
    })?;
    let state = match remembered {
        Some(answer) if answer.digest != digest => TrustState::Changed,
        Some(answer) if answer.trusted => TrustState::Trusted,
        Some(_) => TrustState::Refused,
        None => TrustState::New,
    };
    let settings = parts.into_iter().map(|part| {
        let mut whole = json!({ &part.key: part.node.to_json() });
        secrets::mask_written(&mut whole, part.is_secret());
        let value = whole[&part.key].take();
        let effect = words::effect(&part, &value);
        TrustedSetting { key: part.path, value, origin: part.node.origin, effect }
    });
    let settings = settings.collect();
    let trust = ProjectTrust { state, folder, file: file.to_string(), digest, settings };
    Ok(Divided { harmless, trust: Some(trust) })
}

/// The folder without links on the way; as it is where it cannot be followed.
fn real_folder(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Over keys and values as they are written, so that a secret in one is not told by it.
fn digest(parts: &[settings::Part]) -> String {
    let mut written: Vec<(&str, Value)> =
        parts.iter().map(|part| (part.path.as_str(), part.node.to_json())).collect();
    written.sort_by_key(|(path, _)| *path);
    let digest = Sha256::digest(json!(written).to_string());
    digest.iter().fold(String::from("sha256:"), |text, byte| format!("{text}{byte:02x}"))
}
