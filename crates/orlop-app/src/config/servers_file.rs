//! `.mcp.json`, in which other agents name the MCP servers of a project, as a part of its configuration.
//! It is not written for Orlop: what cannot be understood is left out.

use serde_json::{Map, Value, json};

/// The same in the form of `orlop.toml`.
pub(super) fn as_toml(text: &str) -> String {
    let file: Value = serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(target: "orlop::config", %error, ".mcp.json is no JSON and is not used");
        Value::Null
    });
    let servers = file["mcpServers"].as_object().into_iter().flatten();
    let servers: Map<String, Value> = servers
        .filter_map(|(name, settings)| {
            let server = server(settings);
            if server.is_none() {
                tracing::warn!(target: "orlop::config", name, "a server of .mcp.json is not used");
            }
            Some((name.clone(), server?))
        })
        .collect();
    match servers.is_empty() {
        true => String::new(),
        false => toml::to_string(&json!({ "mcp_servers": servers })).unwrap_or_default(),
    }
}

fn server(settings: &Value) -> Option<Value> {
    let mut server = Map::new();
    let texts = |key: &str| settings[key].as_object().map(|fields| filled(&json!(fields)));
    match (settings["type"].as_str(), settings["command"].as_str(), settings["url"].as_str()) {
        (None | Some("stdio"), Some(command), None) => {
            let arguments = settings["args"].as_array().into_iter().flatten();
            let arguments = arguments.filter(|argument| argument.is_string()).cloned();
            let command: Vec<Value> = std::iter::once(json!(command)).chain(arguments).collect();
            server.insert("command".to_owned(), filled(&json!(command)));
            server.extend(texts("env").map(|env| ("env".to_owned(), env)));
            let folder = settings["cwd"].as_str();
            server.extend(folder.map(|folder| ("cwd".to_owned(), filled(&json!(folder)))));
        }
        (None | Some("http" | "streamable-http"), None, Some(url)) => {
            server.insert("url".to_owned(), filled(&json!(url)));
            server.extend(texts("headers").map(|headers| ("headers".to_owned(), headers)));
        }
        _ => return None,
    }
    Some(Value::Object(server))
}

/// `${NAME}` as it is written here. Values that are no texts are left out.
fn filled(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(text.replace("${", "${env:")),
        Value::Array(items) => items.iter().map(filled).collect(),
        Value::Object(fields) => {
            let texts = fields.iter().filter(|(_, value)| value.is_string());
            let texts = texts.map(|(name, value)| (name.clone(), filled(value)));
            Value::Object(texts.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&as_toml(text));
    }

    #[test]
    fn servers_are_those_of_a_configuration() {
        check(
            r#"{"mcpServers": {
                "notes": {"command": "npx", "args": ["-y", "notes", "${NOTES:-/tmp}"], "env": {"KEY": "${KEY}"}},
                "far away": {"type": "http", "url": "https://x.example/mcp", "headers": {"A": "Bearer ${TOKEN}"}},
                "old": {"type": "sse", "url": "https://x.example/sse"},
                "odd": 17
            }}"#,
            expect![[r#"
                [mcp_servers.notes]
                command = ["npx", "-y", "notes", "${env:NOTES:-/tmp}"]

                [mcp_servers.notes.env]
                KEY = "${env:KEY}"

                [mcp_servers."far away"]
                url = "https://x.example/mcp"

                [mcp_servers."far away".headers]
                A = "Bearer ${env:TOKEN}"
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for text in ["", "{", "[]", r#"{"mcpServers": []}"#, r#"{"other": 1}"#] {
            check(text, expect![""]);
        }
    }
}
