//! Prints everything that is generated from the hook table and from the messages of the plugin
//! protocol, as one JSON object of file name to text. `cargo xtask schemas` writes the files and checks that they are up to date.

use orlop_core::hooks::{HOOKS, HookSpec, Kind, schemas};
use orlop_core::lifecycle;
use orlop_types::{Map, Value};
use schemars::generate::SchemaSettings;
use serde_json::json;
use std::fmt::Write;

const KINDS: [Kind; 7] = [
    Kind::Any,
    Kind::Provider,
    Kind::Extension,
    Kind::Feature,
    Kind::Tool,
    Kind::Application,
    Kind::Host,
];

fn main() {
    let mut files = Map::new();
    for kind in KINDS {
        let name = format!("docs/schema/{}.json", kind.as_str());
        files.insert(name, format!("{:#}\n", schema_of(kind)).into());
    }
    let protocol = format!("{:#}\n", orlop_types::protocol::document());
    files.insert("docs/schema/protocol.json".into(), protocol.into());
    files.insert("docs/reference/hooks.md".into(), reference().into());
    println!("{}", Value::Object(files));
}

fn rows(kind: Kind) -> impl Iterator<Item = &'static HookSpec> {
    HOOKS.iter().filter(move |row| row.kind == kind)
}

/// One document a kind: each hook with its rules, its input and its outcome.
fn schema_of(kind: Kind) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut hooks = Map::new();
    for (hook, input, outcome) in schemas(&mut generator) {
        let row = hook.spec();
        if row.kind != kind {
            continue;
        }
        let entry = json!({
            "description": row.doc.trim(),
            "required": row.required,
            "shape": words(row.shape),
            "fold": words(row.fold),
            "timeout_seconds": row.timeout.map(|limit| limit.as_secs()),
            "on_failure": words(row.on_failure),
            "history": words(row.history),
            "when": words(row.when),
            "input": input,
            "outcome": outcome,
        });
        hooks.insert(row.name.to_owned(), entry);
    }
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Hooks of {} plugins", kind.as_str()),
        "hooks": hooks,
    });
    document["$defs"] = used(&document, generator.definitions());
    document
}

/// The definitions that the hooks of the document lead to.
fn used(document: &Value, all: &Map) -> Value {
    let mut found = Map::new();
    let mut waiting = references(document);
    while let Some(name) = waiting.pop() {
        if let (Some(definition), false) = (all.get(&name), found.contains_key(&name)) {
            waiting.extend(references(definition));
            found.insert(name, definition.clone());
        }
    }
    found.sort_keys();
    Value::Object(found)
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("$ref", Some(target)) => {
                    target.strip_prefix("#/$defs/").map(str::to_owned).into_iter().collect()
                }
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// `InPlace` as `in place`.
fn words(name: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for (index, c) in format!("{name:?}").char_indices() {
        if c.is_uppercase() && index > 0 {
            text.push(' ');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn reference() -> String {
    let mut page = String::from(
        "# Hooks\n\n\
         Generated from the hook table of `orlop-core` by `cargo xtask schemas`; do not edit.\n\n\
         A hook is asked with its input and a context and answers with an outcome whose default changes\n\
         nothing. *Combine* says what happens where several plugins answer: `one` asks a single plugin,\n\
         `chain` shows each plugin what the one before made, `concat` joins all answers, `first` takes the\n\
         first that is not empty, `veto` lets `false` switch the plugin itself off. *Limit* holds where the host gives the core a timer. *Failure* is\n\
         `fail` (the operation fails) or `skip` (logged, and the plugin's answer left out). *History* is how\n\
         much of the session the hook needs. *When* says which moments call it; what that means for each\n\
         surface is tested, and written in `hook-coverage.md`. The payloads are described in `docs/schema/`.\n",
    );
    for kind in KINDS {
        let title = match kind {
            Kind::Any => "Hooks of every plugin".to_owned(),
            kind => format!("Hooks of {} plugins", kind.as_str()),
        };
        let _ = write!(
            page,
            "\n## {title}\n\n| hook | what for | answers | combine | limit | failure | history | when |\n|---|---|---|---|---|---|---|---|\n"
        );
        for row in rows(kind) {
            let limit =
                row.timeout.map_or("none".to_owned(), |limit| format!("{} s", limit.as_secs()));
            let required = if row.required { " (required)" } else { "" };
            let _ = writeln!(
                page,
                "| `{}`{required} | {} | `{}` | {} | {limit} | {} | {} | {} |",
                row.name,
                row.doc.trim(),
                row.outcome.replace('|', "\\|"),
                words(row.fold),
                words(row.on_failure),
                words(row.history),
                words(row.when),
            );
        }
    }
    page.push_str("\n## Lifecycles\n\nA lifecycle name is any string. These are run by Orlop itself:\n\n| name | when |\n|---|---|\n");
    for (name, meaning) in lifecycle::STANDARD {
        let _ = writeln!(page, "| `{name}` | {} |", meaning.trim());
    }
    page
}
