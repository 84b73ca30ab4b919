//! An application plugin that gives every session some metadata to begin with.

use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, ApplicationInitInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest, Map, Value,
    lifecycle,
};
use serde_json::json;

/// Lays `session_defaults.metadata` of the configuration under the metadata of each session: when
/// it is made, and for sessions older than the plugin with their next request.
pub struct SessionDefaults;

impl ApplicationPlugin for SessionDefaults {
    fn manifest(&self) -> Manifest {
        let metadata = json!({
            "type": "object",
            "description": "What sessions have in their metadata unless they say otherwise.",
        });
        Manifest::new("session_defaults", "1.0.0").config("session_defaults.metadata", metadata)
    }

    /// The state is what the other hooks need of the configuration.
    fn init<'a>(&'a self, input: &'a ApplicationInitInput, _: &'a Context) -> Answer<'a, Value> {
        let section = input.config.get("session_defaults");
        let defaults = section.and_then(|section| section.get("metadata")).cloned();
        Answer::ok(defaults.unwrap_or_else(|| json!({})))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let ensure = ActionDefinition::new("ensure_session_defaults", "Ensure session defaults")
            .on(&[lifecycle::SESSION_CREATE, lifecycle::REQUEST_PREPARE])
            .input("session_id", "string", true);
        Answer::ok(vec![ensure])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        let held = cx.session().map(|session| session.metadata());
        let is_missing = |key: &str| !held.is_some_and(|held| held.contains_key(key));
        let defaults = input.state.as_object().into_iter().flatten();
        let missing: Map = defaults
            .filter(|(key, _)| is_missing(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        // Nothing is missing the second time, so running again changes nothing.
        let status = if missing.is_empty() { "noop" } else { "ok" };
        Answer::Ready(ActionResult::from_json(
            json!({ "status": status, "session_metadata": missing }),
        ))
    }
}
