//! What bodies hold in both directions, as JSON and as the OpenAPI document says it.

pub(super) mod request;
pub(super) mod session;

use orlop_app::rfc3339;
use orlop_app::store::AssetRecord;
use orlop_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A list of anything.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List<T> {
    /// What there is.
    pub(crate) items: Vec<T>,
}

/// Which events to follow.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowEvents {
    /// Only those of this session.
    pub(crate) session_id: Option<String>,
    /// Those after this number, and then what happens; without it only what happens.
    pub(crate) after: Option<u64>,
    /// Whether fragments of messages and the progress of tools are among them; they are if it is
    /// not said.
    pub(crate) fragments: Option<bool>,
}

/// A session that something is about.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSession {
    /// The session.
    pub(crate) session_id: Option<String>,
}

/// An agent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AgentView {
    /// The agent.
    pub(crate) agent_id: String,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// Its provider.
    pub(crate) provider: Option<String>,
    /// Its model.
    pub(crate) model: Option<String>,
    /// Whether it is used where none is named.
    pub(crate) default: bool,
    /// Whether it can be used; one that cannot lacks something in the configuration.
    pub(crate) usable: bool,
}

/// The names of plugins, by kind.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PluginNames {
    /// The provider in use.
    pub(crate) providers: Vec<String>,
    /// Its enabled extensions.
    pub(crate) extensions: Vec<String>,
    /// The enabled features, in the order they run.
    pub(crate) features: Vec<String>,
    /// The enabled tool plugins.
    pub(crate) tools: Vec<String>,
}

/// A text to begin with.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TemplateView {
    /// The plugin.
    pub(crate) plugin: String,
    /// The text.
    pub(crate) text: String,
}

/// An action to run.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunAction {
    /// The session it is about.
    pub(crate) session_id: Option<String>,
    /// Its inputs.
    #[serde(default)]
    pub(crate) params: Map,
    /// Data for hooks. Keys that belong to others are ignored.
    #[serde(default)]
    pub(crate) context: Map,
}

/// What came of an action.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionOutcome {
    /// The plugin.
    pub(crate) plugin: String,
    /// The action.
    pub(crate) action_id: String,
    /// What it says: `status`, `message`, `display`, `mutations`, `ui_effects` and more.
    pub(crate) result: Map,
    /// By which the change of the session can be undone, if there was one.
    pub(crate) change_id: Option<String>,
}

/// What an action would do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionPreview {
    /// What it would say.
    pub(crate) result: Map,
    /// What would change: `start`, `removed`, `added`, `metadata`.
    pub(crate) change: Value,
}

/// What somebody has typed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    /// The agent it is for.
    pub(crate) agent_id: String,
    /// The session it is for.
    pub(crate) session_id: Option<String>,
    /// The text before the cursor.
    pub(crate) text: String,
}

/// A completion that somebody accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accepted {
    /// The agent it is for.
    pub(crate) agent_id: String,
    /// The session it is for.
    pub(crate) session_id: Option<String>,
    /// The text after it was applied.
    pub(crate) text: String,
    /// The completion.
    pub(crate) completion: Map,
}

/// What takes the place of a completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Applied {
    /// The text; empty if the completion stays as it is.
    pub(crate) text: String,
}

/// A file that is kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AssetView {
    /// The asset.
    pub(crate) id: String,
    /// The session it belongs to and is deleted with.
    pub(crate) session_id: Option<String>,
    /// The name its user gave it.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) media_type: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of its bytes, in hex.
    pub(crate) sha256: String,
    /// When it was stored, RFC 3339.
    pub(crate) created_at: String,
}

impl From<AssetRecord> for AssetView {
    fn from(record: AssetRecord) -> Self {
        Self {
            id: record.id,
            session_id: record.session,
            name: record.name,
            media_type: record.media_type,
            size: record.size,
            sha256: record.sha256,
            created_at: rfc3339(record.created),
        }
    }
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Status {
    /// `ok`, `ready`, or what is missing.
    pub(crate) status: String,
}
