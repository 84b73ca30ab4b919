//! What a plugin offers to models and people: tools and actions.

use crate::kit::bench::{Bench, Subject};
use crate::kit::report::{Finding, Report, Verdict, short};
use crate::kit::samples;
use orlop_core::hooks::Kind;
use orlop_core::lifecycle;
use orlop_core::types::ActionDefinition;
use orlop_core::types::nearest::nearest;
use orlop_core::types::tool::schema_name;
use orlop_core::{Map, Value};
use std::collections::BTreeMap;

/// Asks for tools and actions, keeps them, and looks at them.
pub(in crate::kit) fn check(bench: &mut Bench, subjects: &mut [Subject], report: &mut Report) {
    for subject in subjects {
        if let Some(hook) = subject.has("get_tool_schemas") {
            let args = samples::args(hook, subject, &Map::new());
            let found = bench.effect(subject, hook, &args);
            match found {
                Ok(Value::Array(schemas)) => {
                    report.add(
                        &subject.label,
                        "offers tools that models can call",
                        tools(&schemas),
                    );
                    report.add(&subject.label, "explains its tools to models", explained(&schemas));
                    subject.schemas = schemas;
                }
                Ok(_) => report.add(
                    &subject.label,
                    "offers tools that models can call",
                    Verdict::warning("it offers no tools with an empty configuration"),
                ),
                Err(_) => report.add(
                    &subject.label,
                    "offers tools that models can call",
                    Verdict::skipped("get_tool_schemas does not answer"),
                ),
            }
        }
        if let Some(hook) = subject.has("get_actions") {
            let args = samples::args(hook, subject, &Map::new());
            let name = "offers actions with ids and labels";
            match bench.effect(subject, hook, &args) {
                Ok(found) => {
                    let found = serde_json::from_value(found).unwrap_or_default();
                    report.add(&subject.label, name, actions(&found));
                    report.add(
                        &subject.label,
                        "waits for lifecycles that there are",
                        triggers(&found),
                    );
                    let of_session =
                        matches!(subject.kind(), Some(Kind::Feature | Kind::Extension));
                    if let Some(verdict) = exposed(&found).filter(|_| of_session) {
                        report.add(&subject.label, "offers models what they can call", verdict);
                    }
                    subject.actions = found;
                }
                Err(_) => {
                    let verdict = Verdict::skipped("get_actions does not answer");
                    report.add(&subject.label, name, verdict);
                }
            }
        }
    }
}

/// Whoever adds the package reads of its dangers in `plugin.toml`, before anything of it runs.
pub(in crate::kit) fn dangers(
    declared: &BTreeMap<String, String>,
    subjects: &[Subject],
    report: &mut Report,
) {
    let offered = |name: &str| {
        let tool = |schema: &Value| schema.as_object().and_then(schema_name) == Some(name);
        let one = |subject: &Subject| {
            subject.actions.iter().any(|action| action.id == name)
                || subject.schemas.iter().any(tool)
        };
        subjects.iter().any(one)
    };
    let harmful = subjects.iter().flat_map(|subject| &subject.actions);
    let mut harmful = harmful.filter(|action| action.extra.contains_key("danger")).peekable();
    if declared.is_empty() && harmful.peek().is_none() {
        return;
    }
    let verdict = if let Some(name) = declared.keys().find(|name| !offered(name)) {
        Finding::new(
            format!("plugin.toml warns of \"{name}\""),
            "the id of an action or the name of a tool of this package",
            "correct [grants.danger] in plugin.toml",
        )
        .into()
    } else if let Some(action) = harmful.find(|action| !declared.contains_key(&action.id)) {
        Finding::new(
            format!("action \"{}\" says that it is dangerous", action.id),
            "that plugin.toml says so, too: it is read before the package is added",
            format!("write into plugin.toml: [grants.danger] {} = \"...\"", action.id),
        )
        .into()
    } else {
        Verdict::Ok
    };
    report.add("package", "warns of what can do harm", verdict);
}

/// A schema in any style, without its wrapping.
fn inner(schema: &Value) -> &Value {
    let nested = ["function", "custom"].iter().find_map(|key| schema.get(*key));
    nested.filter(|inner| inner.is_object()).unwrap_or(schema)
}

fn tools(schemas: &[Value]) -> Verdict {
    let mut names: Vec<&str> = Vec::new();
    for schema in schemas {
        let name = schema.as_object().and_then(schema_name).unwrap_or_default();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Finding::new(
                format!("a tool named \"{name}\""),
                "a name of 1 to 64 letters, digits, _ and -, which all models take",
                "rename the tool",
            )
            .into();
        }
        if names.contains(&name) {
            return Finding::new(
                format!("two tools named \"{name}\""),
                "names that are taken once",
                "rename one of them",
            )
            .into();
        }
        names.push(name);
        let description = inner(schema).get("description").and_then(Value::as_str);
        if description.is_none_or(|text| text.trim().is_empty()) {
            return Finding::new(
                format!("the tool \"{name}\" has no description"),
                "a sentence that tells the model what it does",
                "write one (in Python: the doc string of the function)",
            )
            .into();
        }
        if let Some(parameters) = inner(schema).get("parameters").filter(|it| !it.is_null()) {
            if parameters.get("type").and_then(Value::as_str) != Some("object") {
                return Finding::new(
                    format!("the parameters of \"{name}\" are {}", short(parameters)),
                    "a JSON Schema of type object",
                    "write {\"type\": \"object\", \"properties\": {...}}",
                )
                .into();
            }
            if let Err(error) = jsonschema::meta::validate(parameters) {
                return Finding::new(
                    format!("the parameters of \"{name}\": {error}"),
                    "a valid JSON Schema",
                    "correct the schema",
                )
                .into();
            }
        }
    }
    Verdict::Ok
}

/// Models do better with parameters that are explained.
fn explained(schemas: &[Value]) -> Verdict {
    let mut bare = Vec::new();
    for schema in schemas {
        let name = schema.as_object().and_then(schema_name).unwrap_or_default();
        let properties = inner(schema)["parameters"]["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            // A number named `a` says enough; what is a text or a list seldom does.
            let says = property.get("description").is_some() || property.get("enum").is_some();
            let is_plain = matches!(
                property.get("type").and_then(Value::as_str),
                Some("number" | "integer" | "boolean")
            );
            if !says && !is_plain {
                bare.push(format!("{name}.{key}"));
            }
        }
    }
    match bare.is_empty() {
        true => Verdict::Ok,
        false => Verdict::warning(format!(
            "no description: {}; models call tools better whose parameters are described",
            bare.join(", ")
        )),
    }
}

fn actions(found: &Vec<ActionDefinition>) -> Verdict {
    let mut ids: Vec<&str> = Vec::new();
    for action in found {
        let id = action.id.trim();
        let wrong = match () {
            () if id.is_empty() => Some("an action without an id".to_owned()),
            () if ids.contains(&id) => Some(format!("two actions with the id \"{id}\"")),
            () if action.label.trim().is_empty() => {
                Some(format!("action \"{id}\" without a label"))
            }
            () => action
                .inputs
                .iter()
                .find(|(_, descriptor)| !descriptor.is_object())
                .map(|(name, _)| format!("input \"{name}\" of action \"{id}\" is no mapping")),
        };
        if let Some(wrong) = wrong {
            return Finding::new(
                wrong,
                "ids that are taken once, labels, and inputs as mappings",
                "write {\"id\": \"count\", \"label\": \"Count words\", \"inputs\": {\"limit\": {\"type\": \"integer\"}}}",
            )
            .into();
        }
        ids.push(id);
    }
    Verdict::Ok
}

fn triggers(found: &[ActionDefinition]) -> Verdict {
    let known = || lifecycle::STANDARD.iter().map(|(name, _)| *name);
    for action in found {
        let odd = match &action.trigger {
            None | Some(Value::Null | Value::String(_)) => None,
            Some(Value::Array(names)) => names.iter().find(|name| !name.is_string()),
            Some(other) => Some(other),
        };
        if let Some(odd) = odd {
            return Finding::new(
                format!("the trigger of \"{}\" has {}", action.id, short(odd)),
                "the name of a lifecycle, or a list of names",
                "write \"trigger\": \"request_complete\"",
            )
            .into();
        }
        let unknown = action.lifecycles().into_iter().find(|name| !known().any(|it| it == *name));
        if let Some(unknown) = unknown {
            let meant = nearest(unknown, known());
            let meant = meant.map_or(String::new(), |meant| format!(" Did you mean \"{meant}\"?"));
            return Verdict::warning(format!(
                "\"{}\" waits for \"{unknown}\", which Orlop never runs; another plugin has to.{meant}",
                action.id
            ));
        }
    }
    Verdict::Ok
}

/// Actions of a session that want to be tools: they would change it in the middle of a turn.
fn exposed(found: &[ActionDefinition]) -> Option<Verdict> {
    let wants = |action: &&ActionDefinition| {
        action.extra.get("expose_to_model").and_then(Value::as_bool) == Some(true)
    };
    let action = found.iter().find(wants)?;
    Some(Verdict::warning(format!(
        "\"{}\" says expose_to_model, and stays an action for people: it works on a session, which no tool may change in the middle of a turn. Offer it from an application plugin, or as a tool",
        action.id
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(verdict: &Verdict) -> &str {
        match verdict {
            Verdict::Failed(finding) => &finding.seen,
            Verdict::Warning(text) => text,
            _ => "ok",
        }
    }

    #[test]
    fn tools_are_looked_at_in_every_style() {
        let schema = |name: &str, parameters: Value| json!({"name": name, "description": "Adds.", "parameters": parameters});
        let object = json!({"type": "object", "properties": {"a": {"type": "number"}}});
        let good = schema("add", object.clone());
        assert_eq!(seen(&tools(std::slice::from_ref(&good))), "ok");
        let function = json!({"type": "function", "function": good});
        assert_eq!(seen(&tools(std::slice::from_ref(&function))), "ok");
        assert_eq!(seen(&tools(&[good, function])), "two tools named \"add\"");
        assert_eq!(seen(&tools(&[schema("add two", object)])), "a tool named \"add two\"");
        let wrong =
            schema("add", json!({"type": "object", "properties": {"a": {"type": "nummer"}}}));
        assert!(seen(&tools(&[wrong])).starts_with("the parameters of \"add\": "));
        let bare = json!({"name": "add"});
        assert_eq!(seen(&tools(&[bare])), "the tool \"add\" has no description");
    }

    #[test]
    fn a_lifecycle_that_nobody_runs_is_told_with_the_nearest() {
        let action = |trigger: &str| ActionDefinition::new("a", "A").on(&[trigger]);
        assert_eq!(seen(&triggers(&[action("request_complete")])), "ok");
        assert_eq!(
            seen(&triggers(&[action("request_completed")])),
            "\"a\" waits for \"request_completed\", which Orlop never runs; another plugin has to. Did you mean \"request_complete\"?"
        );
    }
}
