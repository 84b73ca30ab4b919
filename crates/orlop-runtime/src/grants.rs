//! What a package may do beyond computing: the user accepts it once, and again if it changes.

use orlop_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The powers a package asks for in `[grants]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    /// Hosts it talks to.
    pub network: Vec<String>,
    /// `read:` or `write:` and a folder.
    pub files: Vec<String>,
    /// Environment variables it gets.
    pub env: Vec<String>,
    /// Operations of the application it may call.
    pub app: Vec<String>,
    /// Actions and tools of the package that can do harm, and what harm, in words.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub danger: BTreeMap<String, String>,
    /// For a package in a format of others: what of it runs, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Operations of the application, and what granting them means.
const APP: &[(&str, &str)] = &[
    ("load_session", "read your conversations"),
    ("save_session", "change your conversations"),
    ("create_session", "start conversations"),
    ("fork_session", "copy your conversations"),
    ("delete_session", "delete your conversations"),
    ("list_sessions", "list your conversations"),
    ("send_request", "send requests to models, which costs tokens"),
    ("publish_event", "show events in your programs"),
    ("update_agent", "use your other agents"),
    ("acquire_session_lock", "hold a conversation while it changes it"),
    ("list_actions", "see the actions of other plugins"),
    ("execute_action", "run actions of other plugins"),
];

/// Operations that need no grant: what a plugin keeps for itself.
const FREE: &[&str] = &["get_state", "set_state", "release_session_lock"];

/// The operations of the application that can be granted.
pub(crate) fn app_operations() -> impl Iterator<Item = &'static str> + Clone {
    APP.iter().map(|(name, _)| *name)
}

/// Whether there is such an operation.
pub(crate) fn is_app_operation(name: &str) -> bool {
    app_operations().any(|known| known == name) || FREE.contains(&name)
}

impl Grants {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses an operation of the application that was not granted.
    pub(crate) fn check_app(&self, method: &str) -> Result<()> {
        if !is_app_operation(method) {
            return Err(Error::not_found(format!("the application has no operation \"{method}\"")));
        }
        if FREE.contains(&method) || self.app.iter().any(|granted| granted == method) {
            return Ok(());
        }
        Err(Error::bad_state(format!(
            "app.{method} is not granted to this plugin; its plugin.toml has to ask for it: [grants] app = [\"{method}\"]"
        )))
    }

    /// What is asked for, in words.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = self.commands.clone();
        for host in &self.network {
            words.push(format!("talk to {host} over the network"));
        }
        for files in &self.files {
            words.push(match files.split_once(':') {
                Some(("read", folder)) => format!("read files in {folder}"),
                Some(("write", folder)) => format!("change files in {folder}"),
                _ => format!("use files: {files}"),
            });
        }
        for name in &self.env {
            words.push(format!("see the environment variable {name}"));
        }
        for method in &self.app {
            let known = APP.iter().find(|(name, _)| name == method);
            words.push(
                known.map_or_else(|| format!("call app.{method}"), |(_, says)| (*says).to_owned()),
            );
        }
        for (name, harm) in &self.danger {
            words.push(format!("offer {name}, which {harm}"));
        }
        words
    }
}
