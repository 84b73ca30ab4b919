//! Actions: what a plugin offers to do, by hand or when a lifecycle runs, and what came of it.

use crate::change::Change;
use crate::error::{Error, Result};
use crate::json::{Map, Value};
use crate::message::Message;
use crate::native::NativeItem;
use serde::{Deserialize, Serialize};

/// One action of a plugin. Keys this type does not name are kept in `extra`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionDefinition {
    /// The id, unique within the plugin.
    pub id: String,
    /// What a button would say.
    #[serde(default)]
    pub label: String,
    /// What it does, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Input name to descriptor (`type`, `required`, `default`, `description`, ...).
    #[serde(default)]
    pub inputs: Map,
    /// A lifecycle name or a list of them; absent for actions run by hand only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Value>,
    /// The plugin that owns the action; filled in by the core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The kind of the owner; filled in by the core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_owner: Option<ActionOwner>,
    /// Everything else the plugin wrote.
    #[serde(flatten)]
    pub extra: Map,
}

/// Which kind of plugin owns an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionOwner {
    /// An extension of the provider.
    ProviderExtension,
    /// A feature.
    Feature,
    /// An application plugin.
    Application,
}

impl ActionDefinition {
    /// An action run by hand.
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into(), ..Self::default() }
    }

    /// With a sentence that says what it does.
    pub fn describing(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// With these lifecycles as triggers.
    pub fn on(mut self, lifecycles: &[&str]) -> Self {
        self.trigger = Some(match lifecycles {
            [one] => Value::from(*one),
            many => Value::from(many.to_vec()),
        });
        self
    }

    /// With one more input.
    pub fn input(mut self, name: &str, kind: &str, required: bool) -> Self {
        let descriptor = serde_json::json!({ "type": kind, "required": required });
        self.inputs.insert(name.to_owned(), descriptor);
        self
    }

    /// Whether the action runs at `lifecycle`: exact equality with the trigger or one of its
    /// entries. Triggers of any other form never match.
    pub fn runs_at(&self, lifecycle: &str) -> bool {
        match &self.trigger {
            Some(Value::String(name)) => name == lifecycle,
            Some(Value::Array(names)) => names.iter().any(|name| name.as_str() == Some(lifecycle)),
            _ => false,
        }
    }

    /// The lifecycles that trigger the action.
    pub fn lifecycles(&self) -> Vec<&str> {
        match &self.trigger {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Checks `params` against the declared inputs and fills in defaults. A missing required
    /// input or a wrong type is a bad argument that names the input; what is not declared passes.
    pub fn validate(&self, params: &Map) -> Result<Map> {
        let mut checked = params.clone();
        let plugin = self.plugin.as_deref().unwrap_or("?");
        for (name, descriptor) in &self.inputs {
            if checked.get(name).is_none_or(Value::is_null) {
                checked.shift_remove(name);
                if let Some(default) = descriptor.get("default").filter(|value| !value.is_null()) {
                    checked.insert(name.clone(), default.clone());
                } else if descriptor.get("required").and_then(Value::as_bool) == Some(true) {
                    return Err(Error::bad_argument(format!(
                        "action \"{}\" of plugin \"{plugin}\" needs the input \"{name}\"",
                        self.id
                    )));
                }
                continue;
            }
            let kind = descriptor.get("type").and_then(Value::as_str).unwrap_or_default();
            let value = &checked[name];
            if !has_type(value, kind) {
                return Err(Error::bad_argument(format!(
                    "input \"{name}\" of action \"{}\" of plugin \"{plugin}\" must be of type {kind}",
                    self.id
                )));
            }
        }
        Ok(checked)
    }
}

/// Whether a value has the type an input or a setting declares; types this version does not know
/// accept all.
pub fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// How an action ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionStatus {
    /// It did what it was asked to.
    #[default]
    Ok,
    /// There was nothing to do.
    Noop,
    /// It failed; `error` or `message` says why.
    Error,
}

/// What a session-scoped action answers. Everything but the first four is the public result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionResult {
    /// The change of native history; absent keeps it.
    #[serde(default, skip_serializing_if = "Change::is_keep")]
    pub native_messages: Change<NativeItem>,
    /// The revision of the session that `native_messages` edits and `session_metadata` refer to;
    /// absent means the one the action was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_revision: Option<u64>,
    /// Keys laid over the session's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_metadata: Option<Value>,
    /// Replacement finals; honoured at `response_finalize` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_messages: Option<Vec<Message>>,
    /// The public result: `status`, `error`, `message`, `display`, `debug_info`, ...
    #[serde(flatten)]
    pub public: Map,
}

impl ActionResult {
    /// Nothing changed, nothing to say.
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// A failure as data: it is reported, and the run goes on.
    pub fn error(kind: &str, message: impl Into<String>) -> Self {
        let error = serde_json::json!({ "type": kind, "message": message.into() });
        Self { public: Map::from_iter([("error".to_owned(), error)]), ..Self::default() }
    }

    /// Reads what a plugin in another language answered; a result that breaks the contract is a
    /// bad state that says which part.
    pub fn from_json(value: Value) -> Result<Self> {
        let Value::Object(mut fields) = value else {
            return Err(Error::bad_state("session action must return a mapping"));
        };
        for key in ["native_messages", "final_messages"] {
            let broken = || {
                Error::bad_state(format!("{key} of an action result must be a list of mappings"))
            };
            match fields.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::Array(items)) if items.iter().all(Value::is_object) => {}
                Some(Value::Object(edits))
                    if key == "native_messages" && edits.contains_key("edits") => {}
                Some(_) => return Err(broken()),
            }
        }
        let read = |error: serde_json::Error| Error::bad_state(format!("action result: {error}"));
        Ok(Self {
            native_messages: match fields.shift_remove("native_messages") {
                Some(value) => serde_json::from_value(value).map_err(read)?,
                None => Change::Keep,
            },
            base_revision: match fields.shift_remove("base_revision") {
                Some(value) => serde_json::from_value(value).map_err(read)?,
                None => None,
            },
            session_metadata: fields.shift_remove("session_metadata"),
            final_messages: match fields.shift_remove("final_messages") {
                Some(value) => serde_json::from_value(value).map_err(read)?,
                None => None,
            },
            public: fields,
        })
    }

    /// How the action ended; an `error` entry counts as failure.
    pub fn status(&self) -> ActionStatus {
        match self.public.get("status").and_then(Value::as_str) {
            Some("error") => ActionStatus::Error,
            Some("noop") => ActionStatus::Noop,
            _ if self.public.get("error").is_some_and(|error| !error.is_null()) => {
                ActionStatus::Error
            }
            _ => ActionStatus::Ok,
        }
    }
}

/// One action that ran in a lifecycle, with its public result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionRecord {
    /// The plugin.
    pub plugin: String,
    /// The action.
    pub action_id: String,
    /// The kind of the plugin.
    pub action_owner: ActionOwner,
    /// The public result.
    pub result: Map,
    /// Whether it changed the history of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}
