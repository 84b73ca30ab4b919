//! The settings of `web_fetch`.

use orlop_core::{Config, Manifest, Value};
use reqwest::Url;
use serde_json::json;
use std::time::Duration;

/// How much is read, how long, and from where.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) allow_private: bool,
    pub(super) allow_hosts: Vec<String>,
    pub(super) max_bytes: usize,
    pub(super) timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow_private: false,
            allow_hosts: Vec::new(),
            max_bytes: 5 * 1024 * 1024,
            timeout: Duration::from_secs(30),
        }
    }
}

impl Settings {
    pub(super) fn of(config: &Config) -> Self {
        let plain = Self::default();
        let Some(section) = config.get("web_fetch") else { return plain };
        let number = |key: &str| section.get(key).and_then(Value::as_u64);
        let hosts = section.get("allow_hosts").and_then(Value::as_array);
        let hosts = hosts.into_iter().flatten().filter_map(Value::as_str);
        Self {
            allow_private: section.get("allow_private") == Some(&Value::Bool(true)),
            allow_hosts: hosts.map(str::to_lowercase).collect(),
            max_bytes: number("max_bytes")
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(plain.max_bytes),
            timeout: number("timeout_seconds").map_or(plain.timeout, Duration::from_secs),
        }
    }

    /// Whether the user allows this host although it is private.
    pub(super) fn allows(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        let with_port = format!("{host}:{port}");
        self.allow_private || self.allow_hosts.iter().any(|held| held == host || *held == with_port)
    }
}

pub(super) fn described(manifest: Manifest) -> Manifest {
    manifest
        .config(
            "web_fetch.allow_private",
            json!({ "type": "boolean", "default": false, "description": "Whether servers of this machine and its network may be fetched." }),
        )
        .config(
            "web_fetch.allow_hosts",
            json!({ "type": "array", "items": { "type": "string" }, "description": "Private hosts that may be fetched, as \"host\" or \"host:port\"." }),
        )
        .config(
            "web_fetch.max_bytes",
            json!({ "type": "integer", "minimum": 1024, "default": 5_242_880, "description": "How much of a page is read." }),
        )
        .config(
            "web_fetch.timeout_seconds",
            json!({ "type": "integer", "minimum": 1, "default": 30, "description": "How long a page may take." }),
        )
}
