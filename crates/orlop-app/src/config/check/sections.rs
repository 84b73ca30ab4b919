//! The application's own sections: plugins, MCP servers, hosts, the server and the URLs.

use super::super::known;
use super::super::tree::item;
use super::*;
use crate::check_id;
use orlop_core::types::nearest::nearest;
use std::net::SocketAddr;

impl Check<'_> {
    pub(super) fn sections(&mut self) {
        self.plugins();
        self.mcp_servers();
        self.hosts();
        self.server();
        for (key, forms) in known::URL_FORMS {
            let Some((section, key_in_section)) = key.split_once('.') else { continue };
            if let Some(node) = self.section(section).and_then(|table| table.get(key_in_section)) {
                self.url(node, key, forms);
            }
        }
    }

    fn plugins(&mut self) {
        for (name, node) in self.section("plugins").into_iter().flatten() {
            let Some(table) = node.table().filter(|_| is_enabled(node)) else { continue };
            let path = below("plugins", name);
            match table.get("path") {
                Some(node) => {
                    let key = below(&path, "path");
                    let Some(text) = self.text(node, &key) else { continue };
                    if !self.config.path_of(node, &text).exists() {
                        let message =
                            format!("there is no file or folder {}", shown(&node.to_json(), ""));
                        let remedy =
                            "correct the path; it is relative to the file it is written in";
                        self.report(ProblemKind::BadValue, node, &key, message, remedy);
                    }
                }
                None if self.schema.registered().next().is_none()
                    || self.schema.is_registered(name) => {}
                None => {
                    let known: Vec<&str> = self.schema.registered().collect();
                    let problem = Problem::new(
                        ProblemKind::UnknownName,
                        node.key_origin.clone(),
                        path,
                        "no shipped plugin has this name",
                    );
                    let remedy = match nearest(name, known) {
                        Some(nearest) => format!("did you mean \"{nearest}\"?"),
                        None => "add its path".to_owned(),
                    };
                    self.problems.push(problem.remedy(remedy));
                }
            }
        }
    }

    fn mcp_servers(&mut self) {
        for (name, node) in self.section("mcp_servers").into_iter().flatten() {
            let Some(table) = node.table() else { continue };
            let path = below("mcp_servers", name);
            let problem = |message: &str, remedy: &str| {
                Problem::new(ProblemKind::BadValue, node.key_origin.clone(), &path, message)
                    .remedy(remedy)
            };
            // A server is a tool plugin itself.
            let of_name = self.schema.tool_names().unwrap_or_default().iter();
            if of_name.filter(|held| *held == name).count() > 1 {
                let message = "has the name of a tool plugin";
                self.problems.push(problem(message, "give the server another one"));
            }
            match (table.get("command"), table.get("url")) {
                (Some(_), Some(_)) => {
                    self.problems.push(problem("has both command and url", "keep one of them"));
                }
                (None, None) => {
                    self.problems.push(problem("has neither command nor url", "add one of them"));
                }
                (Some(command), None) => {
                    if table.contains_key("headers") {
                        self.problems.push(problem("has headers, which need a url", "remove them"));
                    }
                    let program = command.list().and_then(<[Node]>::first);
                    if command.list().is_some()
                        && program.and_then(Node::text).is_none_or(str::is_empty)
                    {
                        let key = below(&path, "command");
                        self.report(
                            ProblemKind::BadValue,
                            command,
                            &key,
                            "names no program",
                            "add it as the first item",
                        );
                    }
                }
                (None, Some(url)) => {
                    if table.contains_key("env") {
                        self.problems.push(problem("has env, which needs a command", "remove it"));
                    }
                    self.url(url, &below(&path, "url"), &["http://", "https://"]);
                }
            }
        }
    }

    fn hosts(&mut self) {
        let plugins = self.config.plugin_names();
        let listed =
            self.section("hosts").and_then(|table| table.get("plugins")).and_then(Node::list);
        let known = self.schema.host_names();
        for (index, node) in listed.unwrap_or_default().iter().enumerate() {
            self.name(node, &item("hosts.plugins", index), "host plugin", known, &plugins);
        }
    }

    fn server(&mut self) {
        let Some(server) = self.section("server") else { return };
        if let Some(node) = server.get("listen")
            && let Some(address) = self.text(node, "server.listen")
            && !is_address(&address)
        {
            let message = format!("{} is not a host and a port", shown(&node.to_json(), ""));
            let remedy = "write it as \"127.0.0.1:7420\"";
            self.report(ProblemKind::BadValue, node, "server.listen", message, remedy);
        }
        let tokens = server.get("tokens").and_then(Node::list).unwrap_or_default();
        let mut seen: Vec<String> = Vec::new();
        for (index, node) in tokens.iter().enumerate() {
            let path = item("server.tokens", index);
            let Some(table) = node.table() else { continue };
            for key in ["tenant", "user"] {
                let Some(node) = table.get(key) else { continue };
                let path = below(&path, key);
                let Some(Err(error)) = self.text(node, &path).map(|id| check_id(key, &id)) else {
                    continue;
                };
                let rule = error.message().split_once("; ").map_or("", |(_, rule)| rule);
                let message = format!("{} is no {key}", shown(&node.to_json(), ""));
                self.report(ProblemKind::BadValue, node, &path, message, rule);
            }
            let Some(node) = table.get("token") else { continue };
            let path = below(&path, "token");
            let Some(token) = self.text(node, &path) else { continue };
            if token.is_empty() {
                self.report(
                    ProblemKind::BadValue,
                    node,
                    &path,
                    "is empty",
                    "set a token that nobody can guess",
                );
            } else if let Some(first) = seen.iter().position(|held| *held == token) {
                let message =
                    format!("is the same as {}", below(&item("server.tokens", first), "token"));
                self.report(
                    ProblemKind::BadValue,
                    node,
                    &path,
                    message,
                    "give every user a token of their own",
                );
            }
            seen.push(token);
        }
    }

    fn url(&mut self, node: &Node, path: &str, forms: &[&str]) {
        let Some(url) = self.text(node, path) else { return };
        if !forms.iter().any(|form| url.starts_with(form)) {
            let message =
                format!("{} is not a URL that can be used here", shown(&node.to_json(), ""));
            let forms: Vec<String> = forms.iter().map(|form| format!("\"{form}\"")).collect();
            let remedy = format!("begin with {}", forms.join(" or "));
            self.report(ProblemKind::BadValue, node, path, message, remedy);
        }
    }
}

/// A socket address, or a host name and a port.
fn is_address(text: &str) -> bool {
    let named = || {
        let (host, port) = text.rsplit_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_name = !host.is_empty()
            && host.chars().all(plain)
            && host.contains(|c: char| c.is_ascii_alphabetic());
        (is_name && port.parse::<u16>().is_ok()).then_some(())
    };
    text.parse::<SocketAddr>().is_ok() || named().is_some()
}
