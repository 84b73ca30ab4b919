//! What settings of a project would do, in words for the person who is asked.

use super::settings::Part;
use orlop_core::Value;

/// More of a text than this does not help a person to decide.
const LONGEST: usize = 120;

/// What a part would do, in words that complete "it would ...". `value` is what it says, with
/// secrets masked.
pub(super) fn effect(part: &Part, value: &Value) -> String {
    let shown = shown(value);
    match (part.setting.as_str(), value) {
        ("permissions.mode", Value::String(mode)) if mode == "all" => {
            "run every tool call without asking, commands included".to_owned()
        }
        ("permissions.mode", Value::String(mode)) if mode == "accept_edits" => {
            "change files of the project without asking".to_owned()
        }
        ("permissions.enabled", Value::Bool(false)) => {
            "switch the permissions off: tool calls run without asking".to_owned()
        }
        ("permissions.allow", _) => format!("run without asking: {shown}"),
        ("permissions.ask", _) => format!("replace what you are always asked about by: {shown}"),
        ("permissions.mode" | "permissions", _) => format!("replace your permissions by {shown}"),
        ("sandbox.enabled", _) => "switch the sandbox of tools off".to_owned(),
        ("sandbox.network", _) => "give commands the network".to_owned(),
        ("sandbox.write", _) => format!("let tools write to {shown}"),
        ("sandbox.read", _) => format!("let tools read {shown}"),
        ("sandbox.hide", _) => format!("hide {shown} and not what you hide"),
        ("folders", _) => format!("let agents work in the folders {shown}"),
        ("mcp_servers", _) => server(&part.key, value),
        (_, Value::String(path)) if is_path_of_plugin(part) => {
            format!("load and run the plugin {}", cut(path))
        }
        ("base_url", _) => format!("send conversations to {shown}"),
        ("provider", _) => format!("send conversations by the provider {shown}"),
        ("fallback", _) => format!("send conversations also to {shown}"),
        ("api_key", _) => format!("use the key {shown}"),
        ("store", _) => format!("keep sessions in {shown}"),
        ("assets", _) => format!("keep attachments elsewhere: {} = {shown}", part.key),
        ("shell.env", Value::Object(env)) => {
            let names: Vec<&str> = env.keys().map(String::as_str).collect();
            format!("set variables for commands: {}", names.join(", "))
        }
        ("web_fetch.allow_private", _) => "fetch pages of private networks".to_owned(),
        (setting, _) if setting.starts_with("headers") => {
            format!("send a header of its own: {}", part.key)
        }
        _ => format!("set {} to {shown}", part.path),
    }
}

fn is_path_of_plugin(part: &Part) -> bool {
    part.key == "path" && part.path.starts_with("plugins.")
}

/// Either a program that is started or an address, with whatever else there is: a variable can
/// change what a program does.
fn server(name: &str, value: &Value) -> String {
    let (what, how) = match (value.get("command"), value.get("url")) {
        (Some(Value::Array(words)), _) => {
            let words: Vec<String> = words.iter().map(shown).collect();
            (format!("start a program as the MCP server {name}: {}", words.join(" ")), "command")
        }
        (_, Some(url)) => (format!("use the MCP server {name} at {}", shown(url)), "url"),
        _ => (format!("use an MCP server {name}"), ""),
    };
    let others = value.as_object().into_iter().flatten().filter(|(key, _)| *key != how);
    let others: Vec<String> =
        others.map(|(key, value)| format!("{key} {}", shown(value))).collect();
    match others.is_empty() {
        true => what,
        false => format!("{what}, with {}", others.join(", ")),
    }
}

/// Every item of a list is there, so that none can hide behind others; long ones are cut.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Array(items) if items.is_empty() => "nothing".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => cut(&other.to_string()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}... (cut)", &text[..end]),
        None => text.to_owned(),
    }
}
