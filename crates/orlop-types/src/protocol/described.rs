//! What a process says it holds: the answer to `initialize`.

use crate::json::Map;
use serde::{Deserialize, Serialize};

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Description {
    /// The version of the protocol.
    pub protocol: u64,
    /// The SDK, for people.
    #[serde(default)]
    pub sdk: Option<String>,
    /// The plugins in the package.
    pub plugins: Vec<PluginDescription>,
    /// What may be a mistake of the author, a sentence each: a method that is nearly a hook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One plugin of a package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("required" = ["name", "kind", "hooks"])))]
pub struct PluginDescription {
    /// Its name.
    pub name: String,
    /// Its version; that of the package if it does not say.
    pub version: Option<String>,
    /// `provider`, `extension`, `feature`, `tool`, `application` or `host`.
    pub kind: String,
    /// Where it stands among others of its kind.
    pub priority: Option<i64>,
    /// For a host plugin: a failing interceptor stops the request.
    pub critical: bool,
    /// Configuration key to descriptor.
    pub config_schema: Map,
    /// Tags that must all be there.
    pub required_tags: Vec<String>,
    /// Tags none of which may be there.
    pub forbidden_tags: Vec<String>,
    /// Whether it looks at model descriptors.
    pub uses_models: bool,
    /// For a provider: the configuration keys its model list depends on.
    pub discovery_keys: Vec<String>,
    /// The hooks it implements.
    pub hooks: Vec<String>,
    /// How much history a hook wants.
    pub history: std::collections::BTreeMap<String, Wanted>,
    /// For an extension: the provider it stands beside.
    pub provider: Option<String>,
    /// For a provider: the form of its native history.
    pub native_format: Option<String>,
    /// For a provider: the format of tool schemas.
    pub schema_format: Option<String>,
    /// For a provider: the format of tool calls.
    pub call_format: Option<String>,
    /// Plugins of the same kind that it runs before.
    pub before: Vec<String>,
    /// Plugins of the same kind that it runs after.
    pub after: Vec<String>,
}

/// How much of a list a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Wanted {
    /// Nothing of it.
    None,
    /// The last so many.
    Tail(usize),
    /// All of it; what it has already is not sent again.
    Full,
}
