//! `orlop mcp add` and `orlop mcp remove`: a server in a configuration file.

use super::config_file::ConfigFile;
use crate::cli::McpAdd;
use crate::exit::{Failure, NOT_FOUND};
use crate::output;
use crate::workplace::Workplace;
use std::process::ExitCode;
use toml_edit::{Array, Item, Table, Value};

const SECTION: &str = "mcp_servers";

pub(super) fn add(workplace: &Workplace, add: &McpAdd) -> Result<ExitCode, Failure> {
    // Its name becomes a part of commands and of the names of tools.
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if add.name.is_empty() || add.name.len() > 64 || !add.name.chars().all(fits) {
        let name = &add.name;
        return Err(Failure::usage(format!(
            "a server cannot be called {name:?}; use up to 64 letters, digits, _ and -"
        )));
    }
    let is_server = workplace.mcp.list().iter().any(|server| server.name == add.name);
    let plugins = workplace.plugins.manifests();
    let is_tool = plugins.iter().any(|(kind, it)| *kind == "tool" && it.name == add.name);
    if is_tool && !is_server {
        return Err(Failure::usage(format!(
            "there is a tool plugin \"{}\"; choose another name for the server",
            add.name
        )));
    }
    let file = ConfigFile::open(workplace, add.project)?;
    let mut document = file.document.clone();
    let servers = file.section(document.as_table_mut(), SECTION)?;
    if servers.contains_key(&add.name) {
        let (name, path) = (&add.name, file.path.display());
        return Err(Failure::usage(format!(
            "there is an MCP server \"{name}\" in {path} already; remove it first, or choose another name"
        )));
    }
    servers.insert(&add.name, Item::Table(server(add)?));
    file.replace(workplace, &document)?;
    output::line(&format!("{} is added to {}", add.name, file.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn remove(
    workplace: &Workplace,
    name: &str,
    project: bool,
) -> Result<ExitCode, Failure> {
    let file = ConfigFile::open(workplace, project)?;
    let mut document = file.document.clone();
    let servers = document.get_mut(SECTION).and_then(Item::as_table_like_mut);
    if servers.and_then(|servers| servers.remove(name)).is_none() {
        let path = file.path.display();
        let hint = match project {
            true => "without --project it is looked for in the user's file",
            false => "with --project it is looked for in the file of the project",
        };
        return Err(Failure {
            code: NOT_FOUND,
            message: format!("there is no MCP server \"{name}\" in {path}; {hint}"),
        });
    }
    file.replace(workplace, &document)?;
    output::line(&format!("{name} is removed from {}", file.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn server(add: &McpAdd) -> Result<Table, Failure> {
    let mut server = Table::new();
    let mut set = |key: &str, value: Value| server.insert(key, Item::Value(value));
    match &add.url {
        Some(url) => set("url", url.into()),
        None => set("command", Value::Array(Array::from_iter(add.command.iter()))),
    };
    for (key, given) in [("env", &add.env), ("headers", &add.header)] {
        if given.is_empty() {
            continue;
        }
        let mut table = toml_edit::InlineTable::new();
        for pair in given {
            let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(
                || Failure::usage("a variable or header is written NAME=VALUE; write for instance TOKEN='${env:TOKEN}'"),
            )?;
            table.insert(name, value.into());
        }
        set(key, Value::InlineTable(table));
    }
    Ok(server)
}
