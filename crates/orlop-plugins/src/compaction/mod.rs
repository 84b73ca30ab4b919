//! Compaction: a range of a conversation is replaced by a snapshot of its state that a model writes.
//!
//! The feature does the work on one session, by hand or when the context window fills up; the
//! application plugin offers it on stored sessions. What was replaced can be had back by undoing.

mod application;
mod ask;
mod context;
mod feature;
mod fill;
mod range;
mod transcript;

pub use application::CompactionActions;
pub use feature::Compaction;

use orlop_core::{Context, Manifest, Value};
use serde_json::json;

/// The name of both plugins, of their section and of the mark on snapshots.
const NAME: &str = "compaction";

/// The share of the context window at which history is compacted.
const AT: f64 = 0.8;

/// The share of the context window at which people are warned.
const WARN_AT: f64 = 0.7;

/// The share of the context window that the newest messages may keep.
const KEEP: f64 = 0.2;

/// The settings of compaction.
#[derive(Debug, Clone, PartialEq)]
struct Settings {
    enabled: bool,
    agent: Option<String>,
    auto: bool,
    at: f64,
    warn_at: f64,
    keep: f64,
    triggers: Vec<String>,
}

impl Settings {
    /// Those of the agent where an application tells them, else those of the request.
    fn of(cx: &Context) -> Self {
        let base = cx.get("base_config").and_then(|base| base.get(NAME));
        Self::read(base.or_else(|| cx.config().get(NAME)))
    }

    fn read(section: Option<&Value>) -> Self {
        let get = |key: &str| section.and_then(|section| section.get(key));
        let truth = |key: &str| get(key).and_then(Value::as_bool).unwrap_or(true);
        let share = |key: &str, usual: f64| {
            let share = get(key).and_then(Value::as_f64).unwrap_or(usual);
            share.clamp(0.05, 1.0)
        };
        let triggers = get("triggers").and_then(Value::as_array);
        let agent = get("agent_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        Self {
            enabled: truth("enabled"),
            agent: agent.map(str::to_owned),
            auto: truth("auto"),
            at: share("at", AT),
            warn_at: share("warn_at", WARN_AT),
            keep: share("keep", KEEP),
            triggers: triggers
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
        }
    }
}

/// Describes the settings.
fn described(manifest: Manifest) -> Manifest {
    let share = |description: &str, usual: f64| json!({ "type": "number", "minimum": 0.05, "maximum": 1, "default": usual, "description": description });
    manifest
        .config("compaction.enabled", json!({ "type": "boolean", "default": true, "description": "Whether conversations can be compacted." }))
        .config("compaction.auto", json!({ "type": "boolean", "default": true, "description": "Whether they are compacted before they get too long for the model." }))
        .config("compaction.at", share("At which share of the context window.", AT))
        .config("compaction.warn_at", share("At which share of the context window people are warned; 1 never does.", WARN_AT))
        .config("compaction.keep", share("The share of the context window that the newest messages may keep.", KEEP))
        .config("compaction.agent_id", json!({ "type": "string", "description": "The agent that writes the snapshots; else the agent of the session does." }))
        .config("compaction.triggers", json!({ "type": "array", "items": { "type": "string" }, "description": "Lifecycles at which everything is compacted, such as session_save_prepare." }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_brought_into_their_bounds() {
        let read = |section: Value| Settings::read(Some(&section));
        assert_eq!(Settings::read(None), read(json!({})));
        let odd = read(json!({ "at": 7, "keep": -1, "agent_id": "", "triggers": "x" }));
        assert_eq!((odd.at, odd.keep, odd.agent, odd.triggers), (1.0, 0.05, None, vec![]));
        assert!(!read(json!({ "enabled": false })).enabled);
    }
}
