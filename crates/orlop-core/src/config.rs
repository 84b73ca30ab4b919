//! A resolved configuration: a JSON object that knows its own fingerprint.

use crate::digest;
use orlop_types::{Error, Map, Result, Value};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

/// The effective configuration of a request. Cloning is one pointer.
///
/// ```
/// use orlop_core::Config;
/// use serde_json::json;
/// let config = Config::from_json(json!({"provider": "scripted", "model": "m"}))?;
/// assert_eq!(config.text("model"), Some("m"));
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Config(Arc<Inner>);

struct Inner {
    /// An object.
    value: Arc<Value>,
    fingerprint: OnceLock<Fingerprint>,
}

impl Default for Inner {
    fn default() -> Self {
        Self { value: Arc::new(Value::Object(Map::new())), fingerprint: OnceLock::new() }
    }
}

/// Identifies a configuration by content. Secrets in it cannot be read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    pub(crate) fn of(value: &Value) -> Self {
        let mut short = [0; 16];
        short.copy_from_slice(&digest::of_value(value)[..16]);
        Self(short)
    }
}

impl Config {
    /// The empty configuration.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A configuration with these values.
    pub fn new(values: Map) -> Self {
        Self(Arc::new(Inner { value: Arc::new(Value::Object(values)), ..Inner::default() }))
    }

    /// Reads a configuration; anything but an object is the wrong type.
    pub fn from_json(value: Value) -> Result<Self> {
        match value {
            Value::Object(values) => Ok(Self::new(values)),
            _ => Err(Error::wrong_type("config must be a mapping")),
        }
    }

    /// All values.
    pub fn values(&self) -> &Map {
        static NONE: LazyLock<Map> = LazyLock::new(Map::new);
        self.0.value.as_object().unwrap_or(&NONE)
    }

    /// All values as one, without copying them.
    pub fn as_value(&self) -> &Arc<Value> {
        &self.0.value
    }

    /// The value at `key`; dots lead into sections (`compaction.enabled`).
    pub fn get(&self, key: &str) -> Option<&Value> {
        let mut steps = key.split('.');
        let first = self.values().get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step))
    }

    /// The string at `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// This without some keys of the first level; `None` if it has none of them.
    pub(crate) fn without(&self, keys: &[&str]) -> Option<Self> {
        if !keys.iter().any(|key| self.values().contains_key(*key)) {
            return None;
        }
        let rest = self.values().iter().filter(|(key, _)| !keys.contains(&key.as_str()));
        Some(Self::new(rest.map(|(key, value)| (key.clone(), value.clone())).collect()))
    }

    /// Identifies the content: equal configurations have equal fingerprints.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.0.fingerprint.get_or_init(|| Fingerprint::of(&self.0.value))
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

/// Shows the keys only: values may be secrets.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values().keys()).finish()
    }
}

impl Serialize for Config {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Config {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Config".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "description": "The resolved configuration." })
    }
}
