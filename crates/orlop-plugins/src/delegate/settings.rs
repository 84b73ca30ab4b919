//! The settings of `delegate`: who may be asked, and what it may cost.

use orlop_core::{Config, Manifest, Value};
use serde_json::json;

/// What bounds a delegation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// The agents that may be asked; all, if it is not said.
    pub(super) agents: Option<Vec<String>>,
    /// How many model calls one may make.
    pub(super) max_steps: u64,
    /// How many tokens one may use.
    pub(super) max_tokens: Option<u64>,
    /// How many dollars one may cost.
    pub(super) max_cost: Option<f64>,
    /// How many run side by side for one request.
    pub(super) at_once: usize,
    /// How often work can be passed on.
    pub(super) depth: u64,
}

impl Settings {
    pub(super) fn of(config: &Config) -> Self {
        let number = |key: &str| config.get(&format!("delegate.{key}")).and_then(Value::as_u64);
        let agents = config.get("delegate.agents").and_then(Value::as_array);
        let names = |agents: &Vec<Value>| {
            agents.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            agents: agents.map(names),
            max_steps: number("max_steps").unwrap_or(30).max(1),
            max_tokens: number("max_tokens"),
            max_cost: config.get("delegate.max_cost").and_then(Value::as_f64),
            at_once: number("at_once").and_then(|n| usize::try_from(n).ok()).unwrap_or(4).max(1),
            depth: number("depth").unwrap_or(2),
        }
    }
}

pub(super) fn described(manifest: Manifest) -> Manifest {
    let count = |description: &str, default: Option<u64>| json!({ "type": "integer", "minimum": 1, "default": default, "description": description });
    manifest
        .config(
            "delegate.agents",
            json!({ "type": "array", "items": { "type": "string" }, "description": "The agents that work can be given to. Without it, all." }),
        )
        .config("delegate.max_steps", count("How many model calls one task may take.", Some(30)))
        .config("delegate.max_tokens", count("How many tokens one task may use.", None))
        .config(
            "delegate.max_cost",
            json!({ "type": "number", "minimum": 0, "description": "What one task may cost, in US dollars." }),
        )
        .config("delegate.at_once", count("How many tasks of a request run side by side.", Some(4)))
        .config(
            "delegate.depth",
            json!({ "type": "integer", "minimum": 0, "default": 2, "description": "How often work can be passed on; 0 lets nobody." }),
        )
}
