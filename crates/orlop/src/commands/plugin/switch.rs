//! `orlop plugin enable` and `orlop plugin disable`: what a configuration file says of a plugin.

use crate::commands::config_file::ConfigFile;
use crate::exit::{CONFIGURATION, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::config::AppConfig;
use orlop_core::Value;
use orlop_runtime::{Installed, LeftOut};
use std::process::ExitCode;
use toml_edit::{TableLike, value};

/// Where a plugin is switched.
enum Switch {
    /// A package: `[plugins.NAME]`.
    Package,
    /// A plugin of the program: the section of its name, which counts for all agents.
    Shipped,
}

pub(super) fn run(
    workplace: &Workplace,
    name: &str,
    project: bool,
    on: bool,
) -> Result<ExitCode, Failure> {
    let switch = switch_of(workplace, name)?;
    let word = if on { "on" } else { "off" };
    if is_off(&workplace.config, &switch, name) != on {
        output::line(&format!("{name} is {word} already"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = ConfigFile::open(workplace, project)?;
    let mut document = file.document.clone();
    let root: &mut dyn TableLike = document.as_table_mut();
    let around = match switch {
        Switch::Package => file.section(root, "plugins")?,
        Switch::Shipped => root,
    };
    let section = file.section(around, name)?;
    // What is not said is on.
    if !on {
        section.insert("enabled", value(false));
    } else if section.remove("enabled").is_none() {
        return Err(elsewhere(&file, name, project));
    }
    if section.is_empty() {
        around.remove(name);
    }
    file.replace(workplace, &document)?;
    let path = file.path.display();
    let is_so = match workplace.locations.files().contains(&file.path) {
        true => {
            let env = workplace.config.env().clone();
            let now = AppConfig::read(&workplace.locations, &[], env);
            is_off(&now, &switch, name) != on
        }
        // A new file of the user counts less than all others, one of the project more.
        false => project || said(&workplace.config, &switch, name).is_none(),
    };
    if !is_so {
        return Err(Failure {
            code: CONFIGURATION,
            message: format!(
                "{path} says now that {name} is {word}, and another file says otherwise and counts more; `orlop config show` tells which"
            ),
        });
    }
    output::line(&format!("{name} is {word} ({path})"))?;
    Ok(ExitCode::SUCCESS)
}

/// The packages that are switched off, and where.
pub(super) fn off(workplace: &Workplace) -> Vec<LeftOut> {
    let installed = Installed::read(workplace.locations.home()).unwrap_or_default();
    let raw = workplace.config.raw();
    let sections = raw.get("plugins").and_then(Value::as_object);
    let off = sections.into_iter().flatten().filter(|(name, section)| {
        let is_package = section.get("path").is_some() || installed.get(name).is_some();
        is_package && workplace.config.is_plugin_off(name)
    });
    let shown = workplace.config.show(&workplace.plugins.schema());
    let reason = |name: &str| {
        let key = format!("plugins.{name}.enabled");
        let said = shown.values.iter().find(|shown| shown.key == key);
        let place = said.map_or_else(String::new, |said| format!(" in {}", said.origin));
        format!("`[plugins.{name}] enabled = false`{place}")
    };
    off.map(|(name, _)| LeftOut { name: name.clone(), reason: reason(name) }).collect()
}

/// The file that switches it off is another one.
fn elsewhere(file: &ConfigFile, name: &str, project: bool) -> Failure {
    let hint = if project { "without --project" } else { "with --project" };
    Failure {
        code: CONFIGURATION,
        message: format!(
            "{} does not switch {name} off, another file does; try {hint}, or look at `orlop config show`",
            file.path.display()
        ),
    }
}

fn is_off(config: &AppConfig, switch: &Switch, name: &str) -> bool {
    said(config, switch, name) == Some(false)
}

/// What a configuration says of it; what it says nothing of is on.
fn said(config: &AppConfig, switch: &Switch, name: &str) -> Option<bool> {
    let raw = config.raw();
    let section = match switch {
        Switch::Package => raw.get("plugins")?.get(name)?,
        Switch::Shipped => raw.get(name)?,
    };
    section.get("enabled").and_then(Value::as_bool)
}

fn switch_of(workplace: &Workplace, name: &str) -> Result<Switch, Failure> {
    let installed = Installed::read(workplace.locations.home())?;
    let configured = workplace.config.raw().get("plugins").and_then(|it| it.get(name)).cloned();
    let has_path = configured.is_some_and(|section| section.get("path").is_some());
    if has_path || installed.get(name).is_some() {
        return Ok(Switch::Package);
    }
    if workplace.mcp.list().iter().any(|server| server.name == name) {
        return Err(Failure::usage(format!(
            "{name} is an MCP server; [mcp_servers.{name}] of the configuration has `enabled` for it"
        )));
    }
    let holder = workplace
        .runtime
        .packages()
        .find(|(_, description)| description.plugins.iter().any(|held| held.name == name));
    if let Some((package, _)) = holder {
        return Err(Failure::usage(format!(
            "{name} is a plugin of the package {}; name the package",
            package.name
        )));
    }
    let manifests = workplace.plugins.manifests();
    let kinds: Vec<&str> =
        manifests.iter().filter(|(_, held)| held.name == name).map(|(kind, _)| *kind).collect();
    if kinds.iter().any(|kind| matches!(*kind, "feature" | "tool" | "extension")) {
        return Ok(Switch::Shipped);
    }
    match kinds.first() {
        Some(&"host") => Err(Failure::usage(format!(
            "{name} is a host plugin that ships with Orlop; `hosts.plugins` of the configuration names those that are used"
        ))),
        Some(kind) => Err(Failure::usage(format!(
            "the {kind} {name} ships with Orlop and cannot be switched off; it does nothing where nobody asks for it"
        ))),
        None => Err(super::unknown_among_all(workplace, &installed, name).into()),
    }
}
