//! What a package says of itself: the answer to `initialize`, and whether it makes sense.

use crate::description::Described;
use crate::grants::can_be_granted;
use crate::kit::TestOptions;
use crate::kit::bench::Bench;
use crate::kit::probe::Wrong;
use crate::kit::report::{Finding, Report, Verdict, short};
use crate::names::Names;
use crate::package::Package;
use orlop_core::hooks::{HOOKS, HookSpec, Kind};
use orlop_core::types::action::has_type;
use orlop_core::types::nearest::{hint, nearest};
use orlop_core::types::protocol::{Description, PluginDescription};
use orlop_core::{Map, Value};

/// Starts the package and hears what it holds.
pub(in crate::kit) fn starts(bench: &mut Bench, report: &mut Report) -> Option<Description> {
    let name = "answers initialize with what it holds";
    match bench.open() {
        Ok(description) => {
            report.add("package", name, Verdict::Ok);
            Some(description)
        }
        Err(wrong) => {
            let expected = "protocol 1 and at least one plugin";
            let finding = match &wrong {
                // What is missing is what to do.
                Wrong::NotStarted(why) => Finding::new("it could not be started", expected, why),
                wrong => Finding::new(wrong.to_string(), expected, fix_of_start(wrong)),
            };
            report.add("package", name, finding.into());
            None
        }
    }
}

/// What an author does about a package that does not start, whatever its language.
fn fix_of_start(wrong: &Wrong) -> &'static str {
    let said = wrong.to_string();
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    match wrong {
        _ if says(&["No module named"]) => {
            "correct the import, or install what it names in the plugin's folder: `python3 -m venv .venv && .venv/bin/pip install NAME`"
        }
        _ if says(&["Cannot find package", "Cannot find module"]) => {
            "correct the import, or install what it names in the plugin's folder: `npm install NAME`"
        }
        _ if says(&["plugins need Python"]) => {
            "put a newer python3 first in PATH, or make a .venv with one in the plugin's folder: `python3.12 -m venv .venv`"
        }
        _ if says(&["speaks version", "speaks protocol"]) => {
            "update the older one: Orlop, or what the plugin speaks the protocol with"
        }
        _ if says(&["no plugin", "is no hook"]) => {
            "write a class with a name and hooks, or a tool; `orlop plugin new` makes one that works"
        }
        Wrong::Refused { .. } | Wrong::Unfit(_) => {
            "correct what the message says; -v shows all that the plugin logs, and where it failed"
        }
        Wrong::Ended(_) => {
            "let it run until its standard input is closed; what it said last tells why it ended"
        }
        wrong => wrong.fix(),
    }
}

/// Whether that makes sense.
pub(in crate::kit) fn is_sound(
    package: &Package,
    description: &Description,
    options: &TestOptions,
    report: &mut Report,
) {
    let names = &options.names;
    report.add("package", "asks for grants that there are", grants(package));
    for warning in &description.warnings {
        report.add("package", "has only methods that are called", Verdict::warning(warning));
    }
    for plugin in &description.plugins {
        let about = format!("{} {}", plugin.kind, plugin.name);
        report.add(&about, "has a name that files and people can use", name(plugin, names));
        report.add(&about, "has the version of its package", version(plugin, package));
        report.add(&about, "has hooks of its kind, and those it needs", hooks(plugin));
        report.add(&about, "says only what its kind can say", fields(plugin));
        report.add(&about, "describes its settings", settings(&plugin.config_schema));
    }
    for (about, unheard) in options.neighbours.unheard(package, &description.plugins) {
        report.add(
            &about,
            "runs before and after plugins that there are",
            Verdict::warning(unheard),
        );
    }
}

fn grants(package: &Package) -> Verdict {
    let unknown = package.grants.app.iter().find(|name| !can_be_granted(name));
    match unknown {
        None => Verdict::Ok,
        Some(name) => Finding::new(
            format!("app = [\"{name}\"]"),
            "an operation of the application",
            format!("correct [grants] of plugin.toml; {}", hint(name, crate::grants::operations())),
        )
        .into(),
    }
}

fn name(plugin: &PluginDescription, names: &Names) -> Verdict {
    if let Some(why) = names.refuse(&plugin.name) {
        return Finding::new(
            format!("\"{}\", and {why}", plugin.name),
            "a name that is free: the plugin is left out with this one",
            "give it another name",
        )
        .into();
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match plugin.name.len() <= 64 && plugin.name.chars().all(fits) {
        true => Verdict::Ok,
        false => Finding::new(
            format!("\"{}\"", plugin.name),
            "up to 64 letters, digits, _ and -",
            "give it another name",
        )
        .into(),
    }
}

fn version(plugin: &PluginDescription, package: &Package) -> Verdict {
    match plugin.version.as_deref() {
        Some(version)
            if version != "0.0.0" && package.version != "0.0.0" && version != package.version =>
        {
            Verdict::warning(format!(
                "it is {version} and the package {}; people see the one of the package",
                package.version
            ))
        }
        _ => Verdict::Ok,
    }
}

fn rows(kind: Kind) -> impl Iterator<Item = &'static HookSpec> {
    let any = !matches!(kind, Kind::Application | Kind::Host);
    HOOKS.iter().filter(move |row| row.kind == kind || (any && row.kind == Kind::Any))
}

fn hooks(plugin: &PluginDescription) -> Verdict {
    let Some(kind) = plugin.kind() else { return Verdict::Ok };
    let has = |name: &str| plugin.hooks.iter().any(|held| held == name);
    let unknown = plugin.hooks.iter().chain(plugin.history.keys());
    if let Some(unknown) = unknown.into_iter().find(|name| plugin.hook(name).is_none()) {
        let known = rows(kind).map(|row| row.name);
        return Finding::new(
            format!("it says it has the hook \"{unknown}\""),
            format!("hooks of {} plugins", plugin.kind),
            format!("correct its name or remove it; {}", hint(unknown, known.collect::<Vec<_>>())),
        )
        .into();
    }
    let mut needed: Vec<&str> =
        rows(kind).filter(|row| row.required && !has(row.name)).map(|row| row.name).collect();
    // A tool that streams reports at the end of its stream.
    needed.retain(|name| *name != "execute_tool" || !has("stream_tool"));
    if kind == Kind::Provider && !has("call_api") && !has("stream_api") {
        needed.push("call_api or stream_api");
    }
    if has("get_actions") != has("execute_action") {
        needed.push(if has("get_actions") { "execute_action" } else { "get_actions" });
    }
    match needed.is_empty() {
        true => Verdict::Ok,
        false => Finding::new(
            format!("it has {}", plugin.hooks.join(", ")),
            format!("also {}", needed.join(", ")),
            "write the method that is missing, or say another kind",
        )
        .into(),
    }
}

fn fields(plugin: &PluginDescription) -> Verdict {
    let kind = plugin.kind();
    let said = [
        ("provider", plugin.provider.is_some(), Kind::Extension),
        ("native_format", plugin.native_format.is_some(), Kind::Provider),
        ("schema_format", plugin.schema_format.is_some(), Kind::Provider),
        ("call_format", plugin.call_format.is_some(), Kind::Provider),
        ("discovery_keys", !plugin.discovery_keys.is_empty(), Kind::Provider),
        ("critical", plugin.critical, Kind::Host),
    ];
    let wrong = said.into_iter().find(|(_, is_said, owner)| *is_said && kind != Some(*owner));
    match wrong {
        None => Verdict::Ok,
        Some((field, _, owner)) => Verdict::warning(format!(
            "it says {field}, which only {} plugins have; nobody reads it",
            owner.as_str()
        )),
    }
}

const TYPES: &[&str] = &[
    "string", "integer", "number", "boolean", "array", "object", "select", "enum", "text", "list",
    "secret", "path", "duration", "map",
];

/// Whether each setting is a mapping whose default has the type it says.
fn settings(schema: &Map) -> Verdict {
    for (key, descriptor) in schema {
        let Some(fields) = descriptor.as_object() else {
            return Finding::new(
                format!("{key}: {}", short(descriptor)),
                "a mapping with type, default, description, ...",
                format!("write {{\"{key}\": {{\"type\": \"string\"}}}}"),
            )
            .into();
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        let default = fields.get("default").filter(|value| !value.is_null());
        if let Some(default) = default.filter(|default| !has_type(default, kind)) {
            return Finding::new(
                format!("{key} is of type {kind}, and its default is {}", short(default)),
                "a default of that type",
                "correct one of them",
            )
            .into();
        }
        if let (false, Some(meant)) = (TYPES.contains(&kind), nearest(kind, TYPES.iter().copied()))
        {
            return Verdict::warning(format!(
                "{key} is of type \"{kind}\"; did you mean \"{meant}\"?"
            ));
        }
    }
    Verdict::Ok
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plugin(kind: &str, hooks: &[&str]) -> PluginDescription {
        PluginDescription {
            name: "p".to_owned(),
            kind: kind.to_owned(),
            hooks: hooks.iter().map(|hook| (*hook).to_owned()).collect(),
            ..PluginDescription::default()
        }
    }

    fn told(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Failed(finding) => format!("{} | {}", finding.expected, finding.fix),
            Verdict::Warning(text) => text.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_hook_that_is_mistyped_or_missing_is_told() {
        let said = [
            hooks(&plugin("tool", &["get_tool_schemas", "execute_tool"])),
            hooks(&plugin("tool", &["get_tool_schemas", "execute_tols"])),
            hooks(&plugin("provider", &["to_native_messages", "from_native_messages"])),
            hooks(&plugin("feature", &["get_actions"])),
        ];
        let said: Vec<String> = said.iter().map(told).collect();
        expect_test::expect![[r#"
            Ok
            hooks of tool plugins | correct its name or remove it; did you mean "execute_tool"?
            also call_api or stream_api | write the method that is missing, or say another kind
            also execute_action | write the method that is missing, or say another kind"#]]
        .assert_eq(&said.join("\n"));
    }

    #[test]
    fn a_setting_with_a_default_of_another_type_is_told() {
        let schema = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert_eq!(settings(&schema(json!({"a": {"type": "integer", "default": 3}}))), Verdict::Ok);
        let wrong = settings(&schema(json!({"a": {"type": "integer", "default": "3"}})));
        assert!(told(&wrong).contains("default of that type"), "{wrong:?}");
        let wrong = settings(&schema(json!({"a": {"type": "strng"}})));
        assert!(told(&wrong).contains("did you mean \"string\"?"), "{wrong:?}");
    }
}
