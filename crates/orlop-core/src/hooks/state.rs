//! The state of one request, threaded through all its hooks and gone when it ends.

use crate::config::Config;
use orlop_types::json::merge_patch_map;
use orlop_types::{Map, Value};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Per-request state: three reserved entries and whatever plugins put beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The resolved configuration; `config` in JSON.
    pub config: Config,
    /// The request that is being built, without its messages; `request` in JSON.
    pub request: Map,
    /// Laid over the session's metadata when the request ends; `session_metadata_patch` in JSON.
    pub session_metadata_patch: Option<Value>,
    /// Entries of plugins.
    pub values: Map,
}

impl State {
    /// The state as a mapping.
    pub fn to_json(&self) -> Map {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// Reads the state from a mapping.
    pub fn from_json(mut fields: Map) -> Self {
        let mut take = |key: &str| fields.shift_remove(key);
        let config = match take("config") {
            Some(Value::Object(values)) => Config::new(values),
            _ => Config::empty(),
        };
        let request = match take("request") {
            Some(Value::Object(request)) => request,
            _ => Map::new(),
        };
        let session_metadata_patch = take("session_metadata_patch");
        Self { config, request, session_metadata_patch, values: fields }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("config", &self.config)?;
        fields.serialize_entry("request", &self.request)?;
        if let Some(patch) = &self.session_metadata_patch {
            fields.serialize_entry("session_metadata_patch", patch)?;
        }
        for (key, value) in &self.values {
            fields.serialize_entry(key, value)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from_json)
    }
}

/// How a hook changes the state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StateChange {
    /// Not at all.
    #[default]
    Keep,
    /// As a JSON Merge Patch: objects merge at any depth, `null` removes. Entries of `request`
    /// are set as they are, for a `null` inside of one may be meant for the server.
    Patch(Box<Map>),
    /// By this mapping instead.
    Replace(Box<Map>),
}

impl StateChange {
    /// Lays these entries over the state.
    pub fn patch(entries: Map) -> Self {
        Self::Patch(Box::new(entries))
    }

    /// Puts these entries in place of the state.
    pub fn replace(entries: Map) -> Self {
        Self::Replace(Box::new(entries))
    }

    /// Sets one entry of the request being built.
    pub fn request(key: &str, value: impl Into<Value>) -> Self {
        let request = Map::from_iter([(key.to_owned(), value.into())]);
        Self::patch(Map::from_iter([("request".to_owned(), Value::Object(request))]))
    }

    /// Sets one entry of the state.
    pub fn set(key: &str, value: impl Into<Value>) -> Self {
        Self::patch(Map::from_iter([(key.to_owned(), value.into())]))
    }

    /// Makes the change.
    pub fn apply(self, state: &mut State) {
        match self {
            Self::Keep => {}
            Self::Replace(fields) => *state = State::from_json(*fields),
            Self::Patch(mut patch) => {
                match patch.shift_remove("request") {
                    Some(Value::Object(request)) => set_entries(&mut state.request, request),
                    Some(Value::Null) => state.request.clear(),
                    _ => {}
                }
                if let Some(own) = patch.shift_remove("session_metadata_patch") {
                    add_metadata_patch(&mut state.session_metadata_patch, own);
                }
                if patch.contains_key("config") {
                    let mut fields = state.to_json();
                    merge_patch_map(&mut fields, &patch);
                    *state = State::from_json(fields);
                } else {
                    merge_patch_map(&mut state.values, &patch);
                }
            }
        }
    }
}

/// Sets entries; `null` removes one.
fn set_entries(held: &mut Map, entries: Map) {
    for (key, value) in entries {
        if value.is_null() {
            held.shift_remove(&key);
        } else {
            held.insert(key, value);
        }
    }
}

/// Lays a further metadata patch over the one held. A `null` in it is meant for the session's
/// metadata, so it stays.
fn add_metadata_patch(held: &mut Option<Value>, patch: Value) {
    match (held, patch) {
        (held, Value::Null) => *held = None,
        (Some(Value::Object(held)), Value::Object(patch)) => {
            for (key, value) in patch {
                match (key.as_str(), held.get_mut(&key), value) {
                    ("overrides", Some(Value::Object(held)), Value::Object(more)) => {
                        held.extend(more);
                    }
                    (_, _, value) => {
                        held.insert(key, value);
                    }
                }
            }
        }
        (held, patch) => *held = Some(patch),
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for State {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "State".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "Per-request state. Other keys belong to plugins.",
            "properties": {
                "config": { "type": "object" },
                "request": { "type": "object" },
                "session_metadata_patch": { "type": "object" }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn patches_reach_every_entry() {
        let mut state =
            State::from_json(map(json!({"config": {"a": 1}, "request": {"m": 1, "n": 2}, "x": 1})));
        StateChange::request("k", json!({"const": null})).apply(&mut state);
        StateChange::patch(map(json!({"request": {"n": null}, "config": {"b": 2}, "x": null})))
            .apply(&mut state);
        StateChange::patch(map(json!({"session_metadata_patch": {"s": 1}, "y": {"z": 1}})))
            .apply(&mut state);
        assert_eq!(
            Value::Object(state.to_json()),
            json!({"config": {"a": 1, "b": 2}, "request": {"m": 1, "k": {"const": null}},
                   "session_metadata_patch": {"s": 1}, "y": {"z": 1}})
        );
    }
}
