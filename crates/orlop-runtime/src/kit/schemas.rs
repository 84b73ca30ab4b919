//! The JSON Schemas of the answers of hooks, as `docs/schema` has them.

use orlop_core::Value;
use orlop_core::hooks::{Hook, Kind};
use serde_json::json;
use std::collections::HashMap;

/// Validators, made when they are first needed.
#[derive(Default)]
pub(super) struct Schemas {
    made: HashMap<Hook, Option<jsonschema::Validator>>,
}

fn text_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => include_str!("../../../../docs/schema/any.json"),
        Kind::Provider => include_str!("../../../../docs/schema/provider.json"),
        Kind::Extension => include_str!("../../../../docs/schema/extension.json"),
        Kind::Feature => include_str!("../../../../docs/schema/feature.json"),
        Kind::Tool => include_str!("../../../../docs/schema/tool.json"),
        Kind::Application => include_str!("../../../../docs/schema/application.json"),
        Kind::Host => include_str!("../../../../docs/schema/host.json"),
    }
}

fn validator(hook: Hook) -> Option<jsonschema::Validator> {
    let spec = hook.spec();
    let file: Value = serde_json::from_str(text_of(spec.kind)).ok()?;
    let outcome = file["hooks"][spec.name]["outcome"].clone();
    let schema = json!({"$defs": file["$defs"], "allOf": [outcome]});
    jsonschema::validator_for(&schema).ok()
}

impl Schemas {
    /// What of a value the answers of a hook may not have.
    pub(super) fn problem(&mut self, hook: Hook, answer: &Value) -> Option<String> {
        // Nothing changes: every hook may answer so.
        if answer.is_null() {
            return None;
        }
        let validator = self.made.entry(hook).or_insert_with(|| validator(hook)).as_ref()?;
        let error = validator.iter_errors(answer).next()?;
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the answer".to_owned() } else { place };
        Some(format!("{place}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::hooks::HOOKS;

    #[test]
    fn every_hook_has_a_schema() {
        for row in HOOKS {
            assert!(validator(row.hook).is_some(), "{:?}", row.hook);
        }
        let mut schemas = Schemas::default();
        assert_eq!(schemas.problem(Hook::GetTags, &json!(["a"])), None);
        let problem = schemas.problem(Hook::GetTags, &json!(["a", 1])).unwrap_or_default();
        assert!(problem.starts_with("/1: "), "{problem}");
    }
}
