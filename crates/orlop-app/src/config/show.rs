//! The configuration in force, value by value, with secrets masked and where each came from.

use super::app_config::AppConfig;
use super::known;
use super::origin::Origin;
use super::placeholder;
use super::resolve::{Resolver, value_of};
use super::schema::Schema;
use super::secrets;
use super::tree::{Content, Node, Table, below, item};
use super::trust::ProjectTrust;
use orlop_core::Value;
use serde_json::json;
use std::fmt;

/// What [`AppConfig::show`] gives. Displays one value a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The files, a later one laid over an earlier one.
    pub files: Vec<String>,
    /// The values.
    pub values: Vec<ShownValue>,
    /// What the project's file says that is not in force, because it is not trusted.
    pub untrusted: Option<ProjectTrust>,
}

/// One value in force.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownValue {
    /// The path of the key.
    pub key: String,
    /// The value, secrets masked.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
    /// The environment variables in it.
    pub variables: Vec<String>,
    /// Whether it needs an environment variable that is not set.
    pub undefined: bool,
}

impl AppConfig {
    /// Every value in force. Agents are shown with what they inherit and share, and keys that
    /// nobody set with their default.
    pub fn show(&self, schema: &Schema) -> Shown {
        let mut show = Show { config: self, schema, values: Vec::new(), secrets: Vec::new() };
        for (key, node) in &self.tree {
            match (&node.content, key.as_str()) {
                (Content::Table(agents), "agents") => show.agents(agents),
                _ => show.node(node, &below("", key), key, false),
            }
        }
        show.defaults();
        let mut values = show.values;
        mask_everywhere(&mut values, &show.secrets);
        Shown {
            files: self.files.iter().map(|file| file.path().display().to_string()).collect(),
            values,
            untrusted: self.untrusted().cloned(),
        }
    }
}

struct Show<'a> {
    config: &'a AppConfig,
    schema: &'a Schema,
    values: Vec<ShownValue>,
    /// Texts that are secrets by their key, to be masked wherever they are repeated.
    secrets: Vec<String>,
}

impl Show<'_> {
    fn agents(&mut self, agents: &Table) {
        for (name, node) in agents {
            let path = below("agents", name);
            let own = node.table();
            if let Some(extends) = own.and_then(|own| own.get("extends")) {
                self.node(extends, &below(&path, "extends"), "extends", false);
            }
            match self.config.flattened(name) {
                Ok(flat) => self.table(&flat, &path, false),
                Err(_) => own.into_iter().for_each(|own| self.table(own, &path, false)),
            }
            for (key, default) in known::agent_defaults() {
                self.default(below(&path, key), default);
            }
        }
    }

    fn table(&mut self, table: &Table, path: &str, secret: bool) {
        for (key, node) in table {
            self.node(node, &below(path, key), key, secret);
        }
    }

    /// Lists are shown as one value, unless they hold tables.
    fn node(&mut self, node: &Node, path: &str, key: &str, secret: bool) {
        match &node.content {
            Content::Table(table) => {
                self.table(table, path, secret || secrets::is_secret_section(key));
            }
            Content::List(items) if items.iter().any(|item| item.table().is_some()) => {
                for (index, node) in items.iter().enumerate() {
                    self.node(node, &item(path, index), key, secret);
                }
            }
            _ => self.leaf(node, path, key, secret),
        }
    }

    fn leaf(&mut self, node: &Node, path: &str, key: &str, secret: bool) {
        let mut resolver = Resolver::new(&self.config.env);
        let whole = json!({ key: resolver.value(node, path) });
        let undefined = !resolver.problems.is_empty();
        let secret = secret
            || self.schema.secret_keys().iter().any(|held| held == key)
            || holds_credential(node);
        let mut value = whole.clone();
        if undefined {
            secrets::mask_written(&mut value, secret);
        } else {
            secrets::mask_all(&mut value, secret);
            differing(&whole, &value, &mut self.secrets);
        }
        let mut variables = Vec::new();
        variables_in(node, &self.config.env, &mut variables);
        self.values.push(ShownValue {
            key: path.to_owned(),
            value: value[key].take(),
            origin: node.origin.clone(),
            variables,
            undefined,
        });
    }

    fn defaults(&mut self) {
        for (section, schema) in known::SECTIONS.iter() {
            let keys = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (key, schema) in keys {
                if let Some(default) = schema.get("default") {
                    self.default(below(section, key), default);
                }
            }
        }
        let is_said = self.config.tree.contains_key("default_agent");
        if let (false, Ok(agent)) = (is_said, self.config.default_agent()) {
            self.default("default_agent".to_owned(), &agent.into());
        }
    }

    fn default(&mut self, key: String, value: &Value) {
        if !self.values.iter().any(|held| held.key == key) {
            let (value, origin) = (value.clone(), Origin::Default);
            let value = ShownValue { key, value, origin, variables: Vec::new(), undefined: false };
            self.values.push(value);
        }
    }
}

/// Whether the token of a login is in the value, whatever its key is called.
fn holds_credential(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(Value::String(text)) => placeholder::holds_credential(text),
        Content::List(items) => items.iter().any(holds_credential),
        _ => false,
    }
}

fn variables_in(node: &Node, env: &super::RuntimeEnv, found: &mut Vec<String>) {
    match &node.content {
        Content::Scalar(Value::String(text)) => {
            found.extend(placeholder::variables(text, &|name| value_of(env, &node.origin, name)));
        }
        Content::List(items) => items.iter().for_each(|node| variables_in(node, env, found)),
        _ => {}
    }
}

/// What stands in `whole` where `masked` has something else.
fn differing(whole: &Value, masked: &Value, texts: &mut Vec<String>) {
    match (whole, masked) {
        (Value::Object(whole), Value::Object(masked)) => {
            whole.values().zip(masked.values()).for_each(|(a, b)| differing(a, b, texts));
        }
        (Value::Array(whole), Value::Array(masked)) => {
            whole.iter().zip(masked).for_each(|(a, b)| differing(a, b, texts));
        }
        // What is shorter is a switch or a number; masking it would tear other words apart.
        (Value::String(text), Value::String(masked))
            if masked == secrets::MASK && text.len() > 5 =>
        {
            texts.push(text.clone());
        }
        _ => {}
    }
}

fn mask_everywhere(values: &mut [ShownValue], secrets: &[String]) {
    fn mask(value: &mut Value, secrets: &[String]) {
        match value {
            Value::String(text) => {
                for secret in secrets
                    .iter()
                    .filter(|secret| text.contains(secret.as_str()))
                    .collect::<Vec<_>>()
                {
                    *text = text.replace(secret.as_str(), secrets::MASK);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| mask(item, secrets)),
            _ => {}
        }
    }
    values.iter_mut().for_each(|shown| mask(&mut shown.value, secrets));
}

impl Shown {
    /// The same for programs: `files`, and `values` with `key`, `value`, `source` and, where they
    /// apply, `file`, `line`, `column`, `variables` and `undefined`; and `untrusted`, if a project's
    /// file says what is not in force.
    pub fn to_json(&self) -> Value {
        let values: Vec<Value> = self.values.iter().map(ShownValue::to_json).collect();
        let mut shown = json!({ "files": self.files, "values": values });
        if let Some(untrusted) = &self.untrusted {
            shown["untrusted"] = untrusted.to_json();
        }
        shown
    }
}

impl ShownValue {
    fn to_json(&self) -> Value {
        let mut entry = json!({ "key": self.key, "value": self.value, "source": self.source() });
        if let Some(file) = self.origin.file() {
            entry["file"] = file.path().display().to_string().into();
        }
        if let Some(position) = self.origin.position() {
            entry["line"] = position.line.into();
            entry["column"] = position.column.into();
        }
        if !self.variables.is_empty() {
            entry["variables"] = json!(self.variables);
        }
        if self.undefined {
            entry["undefined"] = true.into();
        }
        entry
    }

    fn source(&self) -> String {
        let mut source = self.origin.to_string();
        if !self.variables.is_empty() {
            source += &format!(", environment {}", self.variables.join(", "));
        }
        if self.undefined {
            source += ", a variable is not set";
        }
        source
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> =
            self.values.iter().map(|shown| format!("{} = {}", shown.key, shown.value)).collect();
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).min(60);
        for (line, shown) in lines.iter().zip(&self.values) {
            writeln!(f, "{line:width$}  # {}", shown.source())?;
        }
        if let Some(untrusted) = &self.untrusted {
            writeln!(f, "# ignored until the folder is trusted (orlop trust):")?;
            for setting in &untrusted.settings {
                writeln!(f, "# {} = {}  # {}", setting.key, setting.value, setting.origin)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RuntimeEnv, Vars};
    use super::*;
    use expect_test::expect;
    use std::path::Path;

    fn sample() -> Shown {
        let text = r#"
temperature = 0.5
[agents.default]
provider = "openai_compatible"
base_url = "${env:BASE:-https://u:sk-url@h/v1}"
api_key = "${env:KEY}"
max_tokens = 100
pin = "sk-pin"
[agents.default.headers]
X-Org = "sk-header"
[agents.research]
extends = "default"
api_key = "${env:NONE}"
[mcp_servers.x]
command = ["x", "--token", "sk-flag", "sk-from-env"]
[[server.tokens]]
token = "sk-token"
tenant = "acme"
user = "ana"
[store]
url = "postgres://u:sk-pass@h/db?password=sk-query"
"#;
        let vars = [("KEY".to_owned(), "sk-from-env".to_owned())];
        let env = RuntimeEnv::from_vars(Vars::from(vars));
        let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
        let plugin = json!({ "pin": { "type": "string", "secret": true } });
        let plugin = ("p".to_owned(), plugin.as_object().cloned().unwrap());
        config.show(&Schema::new(vec![plugin]))
    }

    #[test]
    fn every_value_is_shown_with_its_source_and_no_secret() {
        let shown = sample().to_string();
        assert!(!shown.contains("sk-"), "{shown}");
        expect![[r#"
            temperature = 0.5                                    # orlop.toml:2:15
            agents.default.temperature = 0.5                     # orlop.toml:2:15
            agents.default.provider = "openai_compatible"        # orlop.toml:4:12
            agents.default.base_url = "https://u:***@h/v1"       # orlop.toml:5:12
            agents.default.api_key = "***"                       # orlop.toml:6:11, environment KEY
            agents.default.max_tokens = 100                      # orlop.toml:7:14
            agents.default.pin = "***"                           # orlop.toml:8:7
            agents.default.headers.X-Org = "***"                 # orlop.toml:10:9
            agents.default.max_steps = 50                        # default
            agents.default.output_repairs = 1                    # default
            agents.research.extends = "default"                  # orlop.toml:12:11
            agents.research.temperature = 0.5                    # orlop.toml:2:15
            agents.research.provider = "openai_compatible"       # orlop.toml:4:12
            agents.research.base_url = "https://u:***@h/v1"      # orlop.toml:5:12
            agents.research.api_key = "${env:NONE}"              # orlop.toml:13:11, a variable is not set
            agents.research.max_tokens = 100                     # orlop.toml:7:14
            agents.research.pin = "***"                          # orlop.toml:8:7
            agents.research.headers.X-Org = "***"                # orlop.toml:10:9
            agents.research.max_steps = 50                       # default
            agents.research.output_repairs = 1                   # default
            mcp_servers.x.command = ["x","--token","***","***"]  # orlop.toml:15:11
            server.tokens[0].token = "***"                       # orlop.toml:17:9
            server.tokens[0].tenant = "acme"                     # orlop.toml:18:10
            server.tokens[0].user = "ana"                        # orlop.toml:19:8
            store.url = "postgres://u:***@h/db?password=***"     # orlop.toml:21:7
            server.listen = "127.0.0.1:7420"                     # default
            server.share_links = false                           # default
            telemetry.service_name = "orlop"                     # default
            telemetry.hooks = false                              # default
            events.url = "memory:"                               # default
            assets.url = "file:"                                 # default
            assets.max_bytes = 67108864                          # default
            terminal.keys = "emacs"                              # default
            terminal.history = true                              # default
            default_agent = "default"                            # default
        "#]].assert_eq(&shown);
    }

    #[test]
    fn programs_get_the_same() {
        let json = sample().to_json();
        assert!(!json.to_string().contains("sk-"), "{json}");
        let values = json["values"].as_array().unwrap();
        let find = |key: &str| values.iter().find(|value| value["key"] == key).unwrap();
        let key = find("agents.default.api_key");
        assert_eq!(
            *key,
            json!({
                "key": "agents.default.api_key", "value": "***", "source": "orlop.toml:6:11, environment KEY",
                "file": "orlop.toml", "line": 6, "column": 11, "variables": ["KEY"],
            })
        );
        assert_eq!(find("agents.research.api_key")["undefined"], true);
        assert_eq!(find("server.listen")["source"], "default");
    }
}
