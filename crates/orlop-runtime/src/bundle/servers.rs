//! `mcp.json` of the Agent Plugins format. One server that is wrong leaves the others alone.

use super::{Bundle, is_within};
use orlop_app::config::{McpServer, McpTransport, Vars};
use orlop_core::{Map, Value};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

/// Stands for the data folder until that is known.
const DATA: &str = "${PLUGIN_DATA}";
const ROOT: &str = "${PLUGIN_ROOT}";

/// Reads the servers of a package.
pub(super) fn read(text: &str, folder: &Path, bundle: &mut Bundle) {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let servers = file.get("mcpServers").and_then(Value::as_object);
    let Some(servers) = servers.filter(|_| file["$schema"] == SCHEMA) else {
        let what = "mcp.json is none of version 1.0.0: it needs $schema and mcpServers";
        return bundle.problems.push(what.to_owned());
    };
    for (name, settings) in servers {
        let read = settings.as_object().ok_or("it is no mapping".to_owned());
        match read.and_then(|settings| transport(settings, folder)) {
            Ok(transport) => bundle.servers.push(McpServer {
                name: name.clone(),
                transport,
                timeout_ms: None,
                first_wait_ms: None,
            }),
            Err(what) => bundle.problems.push(format!("MCP server {name}: {what}")),
        }
    }
}

fn transport(settings: &Map, folder: &Path) -> Result<McpTransport, String> {
    let known: &[&str] = match settings.get("type").and_then(Value::as_str) {
        Some("stdio") => &["type", "command", "args", "env", "cwd"],
        Some("streamable-http") => &["type", "url", "headers"],
        Some("sse") => return Err("HTTP with SSE is not spoken".to_owned()),
        other => return Err(format!("type {} is not known", other.unwrap_or("(none)"))),
    };
    if let Some(key) = settings.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("{key} is not known"));
    }
    match known.len() {
        3 => http(settings),
        _ => stdio(settings, folder),
    }
}

fn http(settings: &Map) -> Result<McpTransport, String> {
    let url = settings.get("url").and_then(Value::as_str).unwrap_or_default();
    let is_local = ["http://localhost", "http://127.", "http://[::1]"];
    let fits = url.starts_with("https://") || is_local.iter().any(|start| url.starts_with(start));
    match fits && !url.contains(['@', '#']) {
        true => {
            Ok(McpTransport::Http { url: url.to_owned(), headers: texts(settings, "headers")? })
        }
        false => Err("url must begin with https://, and have no user and no fragment".to_owned()),
    }
}

fn stdio(settings: &Map, folder: &Path) -> Result<McpTransport, String> {
    let filled = |text: &str| text.replace(ROOT, &folder.display().to_string());
    let program = settings.get("command").and_then(Value::as_str).unwrap_or_default();
    let program = match program.strip_prefix("./") {
        Some(path) if is_within(&folder.join(path), folder) => {
            folder.join(path).display().to_string()
        }
        None if !program.is_empty() && !program.contains('/') => program.to_owned(),
        _ => return Err("command must be a name, or a path in the package from ./".to_owned()),
    };
    let mut command = vec![program];
    for argument in settings.get("args").and_then(Value::as_array).into_iter().flatten() {
        command.push(filled(argument.as_str().ok_or("args must be texts")?));
    }
    let mut env: Vars = texts(settings, "env")?;
    env.values_mut().for_each(|value| *value = filled(value));
    env.insert("PLUGIN_ROOT".to_owned(), folder.display().to_string());
    env.insert("PLUGIN_DATA".to_owned(), DATA.to_owned());
    let cwd = settings.get("cwd").and_then(Value::as_str).unwrap_or("./");
    let cwd = match cwd.strip_prefix("./") {
        Some(path) => folder.join(path),
        None if cwd.starts_with(ROOT) || cwd.starts_with(DATA) => PathBuf::from(filled(cwd)),
        None => return Err("cwd must lie in the package or in its data folder".to_owned()),
    };
    let escapes = cwd.components().any(|part| part == std::path::Component::ParentDir);
    if escapes || (!cwd.starts_with(DATA) && !is_within(&cwd, folder)) {
        return Err("cwd must lie in the package or in its data folder".to_owned());
    }
    Ok(McpTransport::Command { command, env, cwd: Some(cwd) })
}

fn texts(settings: &Map, key: &str) -> Result<Vars, String> {
    let fields = settings.get(key).and_then(Value::as_object).into_iter().flatten();
    let text = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(|| format!("{key}.{name} must be a text"))?;
        Ok((name.clone(), value.to_owned()))
    };
    fields.map(text).collect()
}

/// The server as it runs: with the data folder of its package.
pub(crate) fn with_data(mut server: McpServer, data: &Path) -> McpServer {
    let folder = data.display().to_string();
    let fill = |text: &mut String| *text = text.replace(DATA, &folder);
    if let McpTransport::Command { command, env, cwd } = &mut server.transport {
        command.iter_mut().for_each(fill);
        env.values_mut().for_each(fill);
        if let Some(cwd) = cwd {
            let mut text = cwd.display().to_string();
            fill(&mut text);
            *cwd = PathBuf::from(text);
        }
    }
    server
}
