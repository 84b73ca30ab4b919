//! `orlop plugin info`: what is known of a package or a plugin, without starting it.

use crate::exit::Failure;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::ui::plain_line;
use orlop_core::{Manifest, Map, Result, Value};
use orlop_runtime::{Grants, Installed, Package, PluginDescription};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// What is known.
#[derive(Serialize)]
struct Info {
    name: String,
    version: String,
    /// `package`, `mcp_server`, or `built_in` for what ships with the program.
    source: &'static str,
    /// Where it was added from, as the user wrote it.
    added_from: Option<String>,
    folder: Option<PathBuf>,
    /// `on`, `off` or `left_out`.
    state: &'static str,
    /// Why it is left out.
    reason: Option<String>,
    grants: Grants,
    /// Whether its user agreed to them.
    granted: bool,
    /// The grants in words.
    may: Vec<String>,
    plugins: Vec<Held>,
}

/// One plugin.
#[derive(Serialize)]
struct Held {
    kind: String,
    name: String,
    priority: Option<i64>,
    hooks: Vec<String>,
    settings: Map,
    before: Vec<String>,
    after: Vec<String>,
    required_tags: Vec<String>,
    forbidden_tags: Vec<String>,
}

pub(super) fn run(workplace: &Workplace, name: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let installed = Installed::read(workplace.locations.home())?;
    let info = match of_package(workplace, &installed, name)? {
        Some(info) => info,
        None => built_in(workplace, name)
            .ok_or_else(|| super::unknown_among_all(workplace, &installed, name))?,
    };
    if as_json {
        return Ok(output::json(&info)?);
    }
    Ok(print(&info)?)
}

/// A package by its name, or by that of a plugin in it.
fn of_package(workplace: &Workplace, installed: &Installed, name: &str) -> Result<Option<Info>> {
    let mut used = workplace.runtime.packages();
    let used = used.find(|(package, description)| {
        package.name == name || description.plugins.iter().any(|held| held.name == name)
    });
    if let Some((package, description)) = used {
        let plugins = description.plugins.iter().map(Held::described).collect();
        return Ok(Some(Info { plugins, ..Info::of(package, installed, "on") }));
    }
    let configured = workplace.config.raw().get("plugins").and_then(|it| it.get(name)).cloned();
    let configured = configured.and_then(|section| section.get("path").cloned());
    let added = installed.get(name).map(|entry| entry.path.clone());
    let left_out = workplace.left_out.iter().find(|left| left.name == name);
    if configured.is_none() && added.is_none() && left_out.is_none() {
        return Ok(None);
    }
    let state = if left_out.is_some() { "left_out" } else { "off" };
    let configured = workplace.config.plugin(name).ok().and_then(|entry| entry.path);
    let path = configured.or(added);
    let reason = left_out.map(|left| left.reason.clone());
    let info = match path.map(|path| Package::read(&path)) {
        Some(Ok(mut package)) => {
            package.name = name.to_owned();
            Info::of(&package, installed, state)
        }
        // What is wrong with it is the reason it is left out.
        Some(Err(_)) | None => Info::unknown(name, state),
    };
    Ok(Some(Info { reason, ..info }))
}

fn built_in(workplace: &Workplace, name: &str) -> Option<Info> {
    let all = workplace.plugins.manifests().into_iter();
    let own: Vec<(&str, Manifest)> = all.filter(|(_, held)| held.name == name).collect();
    let (_, first) = own.first()?;
    let raw = workplace.config.raw();
    let is_off = raw.get(name).and_then(|it| it.get("enabled")) == Some(&Value::Bool(false));
    let state = if is_off { "off" } else { "on" };
    let version = first.version.clone();
    let plugins = own.iter().map(|(kind, held)| Held::shipped(kind, held)).collect();
    let is_server = workplace.mcp.list().iter().any(|server| server.name == name);
    let source = if is_server { "mcp_server" } else { "built_in" };
    Some(Info { version, source, plugins, ..Info::unknown(name, state) })
}

impl Info {
    fn of(package: &Package, installed: &Installed, state: &'static str) -> Self {
        let entry = installed.get(&package.name);
        Self {
            version: package.version.clone(),
            added_from: entry.map(|entry| entry.source.clone()),
            folder: Some(package.folder.clone()),
            granted: installed.accepts(package),
            may: package.grants.in_words(),
            grants: package.grants.clone(),
            ..Self::unknown(&package.name, state)
        }
    }

    fn unknown(name: &str, state: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            version: String::new(),
            source: "package",
            added_from: None,
            folder: None,
            state,
            reason: None,
            grants: Grants::default(),
            granted: true,
            may: Vec::new(),
            plugins: Vec::new(),
        }
    }
}

impl Held {
    fn described(held: &PluginDescription) -> Self {
        Self {
            kind: held.kind.clone(),
            name: held.name.clone(),
            priority: held.priority,
            hooks: held.hooks.clone(),
            settings: held.config_schema.clone(),
            before: held.before.clone(),
            after: held.after.clone(),
            required_tags: held.required_tags.clone(),
            forbidden_tags: held.forbidden_tags.clone(),
        }
    }

    fn shipped(kind: &str, held: &Manifest) -> Self {
        Self {
            kind: kind.to_owned(),
            name: held.name.clone(),
            priority: Some(held.priority),
            hooks: Vec::new(),
            settings: held.config_schema.clone(),
            before: held.before.clone(),
            after: held.after.clone(),
            required_tags: held.required_tags.clone(),
            forbidden_tags: held.forbidden_tags.clone(),
        }
    }
}

fn print(info: &Info) -> std::io::Result<ExitCode> {
    let version = if info.version.is_empty() { "" } else { " " };
    let state = info.state.replace('_', " ");
    let why = info.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    output::line(&plain_line(&format!("{}{version}{}, {state}{why}", info.name, info.version)))?;
    match (&info.folder, &info.added_from) {
        (Some(folder), Some(source)) => {
            output::line(&format!("  in {}, added from {source}", folder.display()))?;
        }
        (Some(folder), None) => output::line(&format!("  in {}", folder.display()))?,
        (None, _) if info.source == "built_in" => output::line("  ships with Orlop")?,
        (None, _) if info.source == "mcp_server" => {
            output::line(&format!("  the MCP server of [mcp_servers.{}]", info.name))?;
        }
        (None, _) => {}
    }
    let may = if info.granted { "may" } else { "asks to" };
    for words in &info.may {
        output::line(&format!("  {may} {}", plain_line(words)))?;
    }
    for held in &info.plugins {
        let Held { kind, name, priority, before, after, required_tags, forbidden_tags, .. } = held;
        let mut about = format!("{kind} {name}");
        if let Some(priority) = priority {
            about += &format!(", priority {priority}");
        }
        for (word, names) in [
            ("before", before),
            ("after", after),
            ("only with", required_tags),
            ("never with", forbidden_tags),
        ] {
            if !names.is_empty() {
                about += &format!(", {word} {}", names.join(", "));
            }
        }
        output::line(&plain_line(&about))?;
        if !held.hooks.is_empty() {
            output::line(&format!("  hooks {}", plain_line(&held.hooks.join(", "))))?;
        }
        for (key, schema) in &held.settings {
            output::line(&format!("  setting {}", plain_line(&setting(key, schema))))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One setting: its key, its type, its default and what it is for.
fn setting(key: &str, schema: &Value) -> String {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let mut said: Vec<String> = text("type").map(str::to_owned).into_iter().collect();
    match schema.get("default") {
        Some(default) if !default.is_null() => said.push(format!("default {default}")),
        _ if schema.get("required") == Some(&Value::Bool(true)) => said.push("required".to_owned()),
        _ => {}
    }
    let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
    let about = text("description").map(|about| format!(": {about}")).unwrap_or_default();
    format!("{key}{said}{about}")
}
