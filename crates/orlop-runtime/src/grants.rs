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
    /// Operations of the application it may call, and those of the core that reach beyond a call.
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
    ("list_assets", "list the files of your conversations"),
    ("read_asset", "read the files of your conversations"),
    ("put_asset", "add files to your conversations"),
];

/// Operations of the core that reach beyond the call, and what granting them means.
const CORE: &[(&str, &str)] =
    &[("execute_tool_calls", "run tools of your agents, as far as your permissions allow")];

/// The grant that an operation of the core needs: requests cost tokens and go to a server, tools and
/// actions of others do whatever they do. The rest computes with what the call has.
fn needed_for_core(operation: &str) -> Option<&'static str> {
    match operation {
        "send_request" => Some("send_request"),
        "execute_tool_calls" => Some("execute_tool_calls"),
        "execute_session_action" | "execute_lifecycle_actions" => Some("execute_action"),
        _ => None,
    }
}

/// Operations that need no grant: what a plugin keeps for itself.
const FREE: &[&str] = &["get_state", "set_state", "release_session_lock"];

/// The operations that can be granted.
pub(crate) fn operations() -> impl Iterator<Item = &'static str> + Clone {
    APP.iter().chain(CORE).map(|(name, _)| *name)
}

/// Whether there is such an operation of the application.
fn is_app_operation(name: &str) -> bool {
    APP.iter().any(|(known, _)| *known == name) || FREE.contains(&name)
}

/// Whether `[grants]` may name such an operation.
pub(crate) fn can_be_granted(name: &str) -> bool {
    operations().any(|known| known == name) || FREE.contains(&name)
}

impl Grants {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses a method of the host, such as `app.load_session`, that was not granted.
    pub(crate) fn check(&self, method: &str) -> Result<()> {
        match method.split_once('.') {
            Some(("app", operation)) => self.check_app(operation),
            Some(("core", operation)) => match needed_for_core(operation) {
                Some(needed) => self.granted(needed, method),
                None => Ok(()),
            },
            _ => Err(Error::not_found(format!(
                "the host has no method \"{method}\"; known: core.*, app.*"
            ))),
        }
    }

    /// Refuses an operation of the application that was not granted.
    pub(crate) fn check_app(&self, method: &str) -> Result<()> {
        if !is_app_operation(method) {
            return Err(Error::not_found(format!("the application has no operation \"{method}\"")));
        }
        if FREE.contains(&method) {
            return Ok(());
        }
        self.granted(method, &format!("app.{method}"))
    }

    /// Refuses an agent that is not the one of a session, where a method leads to it.
    pub(crate) fn check_other_agent(&self, agent: &str, method: &str) -> Result<()> {
        self.granted("update_agent", &format!("{method} with another agent (\"{agent}\")"))
    }

    fn granted(&self, grant: &str, method: &str) -> Result<()> {
        if self.app.iter().any(|granted| granted == grant) {
            return Ok(());
        }
        Err(Error::bad_state(format!(
            "{method} is not granted to this plugin; its plugin.toml has to ask for it: [grants] app = [\"{grant}\"]"
        )))
    }

    /// What is asked for, in words.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = self.commands.clone();
        if !self.network.is_empty() {
            let hosts = self.network.join(", ");
            words.push(format!(
                "use the network, for {hosts}; which hosts it talks to is not enforced"
            ));
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
            let known = APP.iter().chain(CORE).find(|(name, _)| name == method);
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
