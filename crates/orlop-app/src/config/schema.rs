//! Every key there is: Orlop's own and those of the registered plugins, as one JSON Schema. The
//! checks and editors read the same one.

use super::known;
use orlop_core::{Map, Value};
use serde_json::json;

/// The keys of a configuration file, and the names that may stand in it.
///
/// ```
/// use orlop_app::config::Schema;
/// use orlop_core::Map;
/// use serde_json::json;
/// let compaction = Map::from_iter([("compaction.enabled".to_owned(), json!({"type": "boolean"}))]);
/// let schema = Schema::new(vec![("compaction".to_owned(), compaction)]).providers(["local"]);
/// let agent = &schema.to_json()["properties"]["agents"]["additionalProperties"];
/// assert_eq!(agent["properties"]["compaction"]["properties"]["enabled"]["type"], "boolean");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// Settings of an agent, by key.
    agent: Map,
    required: Vec<RequiredKey>,
    secret_keys: Vec<String>,
    plugins: Vec<String>,
    /// What each plugin says of its settings.
    described: Vec<(String, Map)>,
    /// Sections in which every key is accepted.
    open: Vec<String>,
    providers: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
}

/// A key that a plugin cannot do without.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequiredKey {
    pub(super) plugin: String,
    pub(super) key: String,
    pub(super) steps: Vec<String>,
}

impl Schema {
    /// The schema of Orlop's own keys and of these plugins: the name of each with its
    /// configuration schema, a descriptor for each key. Dots in a key lead into sections, and
    /// every plugin has `enabled` in the section of its name.
    pub fn new(plugins: Vec<(String, Map)>) -> Self {
        let mut schema = Self { agent: known::AGENT.clone(), ..Self::default() };
        for (plugin, descriptors) in plugins {
            for entry in orlop_core::config_entries(&descriptors, &plugin) {
                schema.add_entry(&plugin, &entry);
            }
            schema.add_section(&plugin);
            schema.plugins.push(plugin.clone());
            schema.described.push((plugin, descriptors));
        }
        schema
    }

    /// The packages that plugins came in: the name of each with those of its plugins. The section of a
    /// package, and that of each plugin in it, has the settings that they describe; if they describe
    /// none, any.
    pub fn packages(mut self, packages: impl IntoIterator<Item = (String, Vec<String>)>) -> Self {
        for (package, plugins) in packages {
            let held = self.described.iter().filter(|(plugin, _)| plugins.contains(plugin));
            let held: Vec<(String, Map)> = held.cloned().collect();
            let is_open = held.iter().all(|(_, descriptors)| descriptors.is_empty());
            let mut sections = plugins;
            if !self.plugins.contains(&package) {
                sections.push(package.clone());
            }
            sections.retain(|name| !known::is_key(name));
            for (plugin, descriptors) in &held {
                for entry in orlop_core::config_entries(descriptors, plugin) {
                    let own = [plugin, &package].into_iter().filter(|it| sections.contains(it));
                    self.add_to_sections(own, plugin, &entry);
                }
            }
            for name in sections {
                self.add_section(&name);
                if is_open {
                    self.agent[&name] = json!({ "type": "object" });
                    self.open.push(name.clone());
                }
                if !self.plugins.contains(&name) {
                    self.plugins.push(name);
                }
            }
        }
        self
    }

    /// The names that `provider` may have. Without this, any name will do.
    pub fn providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.providers = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The names that may stand in `tools`. Without this, any name will do.
    pub fn tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The names that may stand in `hosts.plugins`. Without this, any name will do.
    pub fn hosts<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.hosts = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The JSON Schema (draft 2020-12) of the file, for editors.
    pub fn to_json(&self) -> Value {
        self.with_sections(&[])
    }

    /// The JSON Schema, with sections of these plugins in which every key is accepted.
    pub(super) fn with_sections(&self, unregistered: &[&str]) -> Value {
        let mut agent = self.agent.clone();
        for name in unregistered.iter().filter(|name| !self.is_registered(name)) {
            agent.entry(*name).or_insert_with(|| json!({ "type": "object" }));
        }
        let settings = agent.iter().filter(|(key, _)| !known::is_of_no_fallback(key));
        let settings: Map = settings.map(|(key, schema)| (key.clone(), schema.clone())).collect();
        // Put in place, not written out: `json!` would copy all of it, and this level is in the next.
        let mut fallback = json!({
            "type": "object",
            "description": "A model with settings of its own, over those of the agent.",
            "properties": null,
            "additionalProperties": false,
        });
        fallback["properties"] = Value::Object(settings);
        agent["fallback"]["items"]["anyOf"][1] = fallback;
        let mut properties = known::SECTIONS.clone();
        for (key, schema) in agent.iter().filter(|(key, _)| !known::is_of_agents_only(key)) {
            properties.entry(key.clone()).or_insert_with(|| schema.clone());
        }
        let mut one_agent = json!({
            "type": "object",
            "description": "An agent: its own settings, over those of the agent it extends, over those that all share.",
            "properties": null,
            "additionalProperties": false,
        });
        one_agent["properties"] = Value::Object(agent);
        properties["agents"]["additionalProperties"] = one_agent;
        properties["plugins"]["properties"] = Value::Object(self.plugin_tables());
        let mut root = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Orlop configuration",
            "description": "Text may hold ${env:NAME} and ${env:NAME:-default}.",
            "type": "object",
            "properties": null,
            "additionalProperties": false,
        });
        root["properties"] = Value::Object(properties);
        root
    }

    /// `[plugins.NAME]` of each registered plugin: where it is, and the keys of its section.
    fn plugin_tables(&self) -> Map {
        let tables = self.plugins.iter().map(|name| {
            let mut table = known::SECTIONS["plugins"]["additionalProperties"].clone();
            let section = self.agent.get(name).and_then(section_in);
            for (key, schema) in section.into_iter().flatten() {
                if table["properties"].get(key).is_none() {
                    table["properties"][key] = schema.clone();
                }
            }
            table["additionalProperties"] = json!(self.open.contains(name));
            (name.clone(), table)
        });
        tables.collect()
    }

    fn add_entry(&mut self, plugin: &str, entry: &Map) {
        let Some(key) = entry.get("key").and_then(Value::as_str) else { return };
        let steps: Vec<&str> = key.split('.').collect();
        if steps.iter().any(|step| step.is_empty()) || known::SECTIONS.contains_key(steps[0]) {
            return;
        }
        let is_required = entry.get("required") == Some(&Value::Bool(true));
        if is_required && entry.get("default").is_none_or(Value::is_null) {
            let steps = steps.iter().map(|step| (*step).to_owned()).collect();
            let (plugin, key) = (plugin.to_owned(), key.to_owned());
            self.required.push(RequiredKey { plugin, key, steps });
        }
        if let (Some(Value::Bool(true)), Some(last)) = (entry.get("secret"), steps.last()) {
            self.secret_keys.push((*last).to_owned());
        }
        insert(&mut self.agent, &steps, property(entry));
    }

    /// Puts a setting of `plugin` into these sections, unless its key leads there.
    fn add_to_sections<'a>(
        &mut self,
        sections: impl Iterator<Item = &'a String>,
        plugin: &str,
        entry: &Map,
    ) {
        let Some(key) = entry.get("key").and_then(Value::as_str) else { return };
        let inside = key.strip_prefix(plugin).and_then(|rest| rest.strip_prefix('.'));
        let steps: Vec<&str> = inside.unwrap_or(key).split('.').collect();
        for section in sections.filter(|section| key.split('.').next() != Some(section)) {
            let path: Vec<&str> = [section.as_str()].into_iter().chain(steps.clone()).collect();
            let held = self.agent.get(section).and_then(section_in);
            if held.is_none_or(|held| !held.contains_key(steps[0])) {
                insert(&mut self.agent, &path, property(entry));
            }
            // What is set in a section need not be set beside it.
            let is_this = |held: &&mut RequiredKey| held.plugin == plugin && held.steps == [key];
            let is_provider = self.is_provider(plugin);
            if let Some(held) = self.required.iter_mut().find(is_this).filter(|_| !is_provider) {
                held.steps = path.into_iter().map(str::to_owned).collect();
            }
        }
    }

    fn add_section(&mut self, plugin: &str) {
        if plugin.is_empty() || known::SECTIONS.contains_key(plugin) {
            return;
        }
        let enabled = json!({
            "type": "boolean", "default": true, "description": "Whether the plugin is used.",
        });
        let section = section_of(self.agent.entry(plugin).or_insert_with(new_section));
        if let Some(section) = section {
            section.entry("enabled").or_insert(enabled);
        }
    }

    /// The names of keys that a plugin declares to be secrets.
    pub(super) fn secret_keys(&self) -> &[String] {
        &self.secret_keys
    }

    pub(super) fn required(&self) -> &[RequiredKey] {
        &self.required
    }

    pub(super) fn provider_names(&self) -> Option<&[String]> {
        self.providers.as_deref()
    }

    pub(super) fn tool_names(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    pub(super) fn host_names(&self) -> Option<&[String]> {
        self.hosts.as_deref()
    }

    pub(super) fn is_provider(&self, name: &str) -> bool {
        self.providers.as_ref().is_some_and(|names| names.iter().any(|held| held == name))
    }

    pub(super) fn is_registered(&self, name: &str) -> bool {
        self.registered().any(|held| held == name)
    }

    /// The names of all registered plugins.
    pub(super) fn registered(&self) -> impl Iterator<Item = &str> + Clone {
        let kinds = [&self.providers, &self.tools, &self.hosts];
        let of_kinds = kinds.into_iter().flatten().flatten();
        self.plugins.iter().chain(of_kinds).map(String::as_str)
    }
}

fn new_section() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Puts a key's schema in its place, making the sections on the way.
fn insert(properties: &mut Map, steps: &[&str], schema: Value) {
    match steps {
        [] => {}
        [key] => match properties.get_mut(*key) {
            Some(held) => combine(held, schema),
            None => {
                properties.insert((*key).to_owned(), schema);
            }
        },
        [section, rest @ ..] => {
            let held = properties.entry(*section).or_insert_with(new_section);
            if let Some(section) = section_of(held) {
                insert(section, rest, schema);
            }
        }
    }
}

/// Two plugins may declare one key: what either accepts is accepted.
fn combine(held: &mut Value, other: Value) {
    if limits(held) == limits(&other) && held["type"] != "object" {
        return add_annotations(held, other);
    }
    match held.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(branches) if branches.contains(&other) => {}
        Some(branches) => branches.push(other),
        None => *held = json!({ "anyOf": [held.take(), other] }),
    }
}

/// What restricts a value, choices aside.
fn limits(schema: &Value) -> Map {
    let fields = schema.as_object().into_iter().flatten();
    let is_limit = |field: &str| !ANNOTATIONS.contains(&field) && field != "enum";
    let limits = fields.filter(|(field, _)| is_limit(field));
    limits.map(|(field, value)| (field.clone(), value.clone())).collect()
}

/// Keeps what `held` says and adds what only `other` says; choices are put together.
fn add_annotations(held: &mut Value, other: Value) {
    let (Value::Object(held), Value::Object(mut other)) = (held, other) else { return };
    if let (Some(Value::Array(mut choices)), Some(Value::Array(more))) =
        (held.shift_remove("enum"), other.shift_remove("enum"))
    {
        let more: Vec<Value> =
            more.into_iter().filter(|choice| !choices.contains(choice)).collect();
        choices.extend(more);
        held.insert("enum".to_owned(), Value::Array(choices));
    }
    for (field, value) in other {
        held.entry(field).or_insert(value);
    }
}

/// The keys of a section; a key that was no section becomes one that may be either.
fn section_of(schema: &mut Value) -> Option<&mut Map> {
    let is_section = |schema: &Value| schema["type"] == "object";
    if !is_section(schema) {
        if schema.get("anyOf").is_none() {
            *schema = json!({ "anyOf": [schema.take()] });
        }
        let branches = schema["anyOf"].as_array_mut()?;
        if !branches.iter().any(is_section) {
            branches.push(new_section());
        }
        return branches.iter_mut().find(|branch| is_section(branch)).and_then(section_of);
    }
    let section = schema.as_object_mut()?;
    section.entry("properties").or_insert_with(|| json!({})).as_object_mut()
}

/// The keys of a section, if it is one.
fn section_in(schema: &Value) -> Option<&Map> {
    let branches = schema.get("anyOf").and_then(Value::as_array);
    branches
        .and_then(|branches| branches.iter().find_map(section_in))
        .or_else(|| schema.get("properties")?.as_object())
}

/// Fields of a descriptor that mean the same in JSON Schema.
const FIELDS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "properties",
    "additionalProperties",
    "deprecated",
];

/// Fields that say something of a value without restricting it.
const ANNOTATIONS: &[&str] =
    &["title", "description", "default", "examples", "deprecated", "writeOnly"];

/// The JSON Schema of a descriptor.
fn property(descriptor: &Map) -> Value {
    let mut schema = Map::new();
    if let Some(kind) = descriptor.get("type").and_then(type_of) {
        schema.insert("type".to_owned(), kind);
    }
    let fields = FIELDS.iter().filter_map(|field| Some((*field, descriptor.get(*field)?)));
    schema.extend(fields.map(|(field, value)| (field.to_owned(), value.clone())));
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    if schema.get("enum").is_some_and(|choices| !choices.is_array()) {
        schema.shift_remove("enum");
    }
    if descriptor.get("secret") == Some(&Value::Bool(true)) {
        schema.insert("writeOnly".to_owned(), Value::Bool(true));
    }
    Value::Object(schema)
}

/// The type's name in JSON Schema; Python's and TypeScript's names are understood, and what is
/// not understood restricts nothing.
fn type_of(kind: &Value) -> Option<Value> {
    match kind {
        Value::Array(kinds) => {
            kinds.iter().map(type_of).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Value::String(kind) => {
            let name = match kind.as_str() {
                "string" | "str" | "text" | "password" => "string",
                "integer" | "int" => "integer",
                "number" | "float" => "number",
                "boolean" | "bool" => "boolean",
                "array" | "list" => "array",
                "object" | "dict" | "mapping" => "object",
                _ => return None,
            };
            Some(name.into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// The schema of one key of an agent, after these plugins declared what they have.
    fn check(key: &str, plugins: &[(&str, Value)], expected: Expect) {
        let plugins = plugins
            .iter()
            .map(|(name, schema)| ((*name).to_owned(), schema.as_object().cloned().unwrap()));
        let schema = Schema::new(plugins.collect()).to_json();
        let agent = &schema["properties"]["agents"]["additionalProperties"];
        expected.assert_eq(&agent["properties"][key].to_string());
    }

    #[test]
    fn dotted_keys_are_sections_and_plain_ones_are_not() {
        let plugin = json!({
            "compaction.keep": { "type": "int", "default": 4, "minimum": 1, "label": "Keep", "required": true },
            "pin": { "type": "password", "secret": true, "default": null },
            "": { "type": "string" }, "a..b": { "type": "string" }, "odd": 1, "server.listen": { "type": "string" },
        });
        let plugins = [("compaction", plugin)];
        check(
            "compaction",
            &plugins,
            expect![[
                r#"{"type":"object","properties":{"keep":{"type":"integer","default":4,"minimum":1},"enabled":{"type":"boolean","default":true,"description":"Whether the plugin is used."}},"additionalProperties":false}"#
            ]],
        );
        check("pin", &plugins, expect![[r#"{"type":"string","writeOnly":true}"#]]);
        check("odd", &plugins, expect!["null"]);
        check("server", &plugins, expect!["null"]);
        check(
            "nothing",
            &[("nothing", json!({}))],
            expect![[
                r#"{"type":"object","properties":{"enabled":{"type":"boolean","default":true,"description":"Whether the plugin is used."}},"additionalProperties":false}"#
            ]],
        );
    }

    #[test]
    fn a_key_of_two_plugins_accepts_what_either_does() {
        let one = json!({ "mode": { "type": "string", "enum": ["a"] } });
        let same = json!({ "mode": { "type": "string", "enum": ["b", "a"], "description": "D" } });
        let free = json!({ "mode": { "type": "string" } });
        let other = json!({ "mode": { "type": ["integer", "boolean"] } });
        check(
            "mode",
            &[("p", one.clone()), ("q", same)],
            expect![[r#"{"type":"string","enum":["a","b"],"description":"D"}"#]],
        );
        check("mode", &[("p", one.clone()), ("q", free)], expect![[r#"{"type":"string"}"#]]);
        let least = |least: u32| json!({ "n": { "type": "integer", "minimum": least } });
        check(
            "n",
            &[("p", least(1)), ("q", least(0)), ("r", least(0))],
            expect![[
                r#"{"anyOf":[{"type":"integer","minimum":1},{"type":"integer","minimum":0}]}"#
            ]],
        );
        check(
            "mode",
            &[("p", one.clone()), ("q", other)],
            expect![[
                r#"{"anyOf":[{"type":"string","enum":["a"]},{"type":["integer","boolean"]}]}"#
            ]],
        );
        check(
            "mode",
            &[("p", one), ("q", json!({ "mode.x": { "type": "strange" } }))],
            expect![[
                r#"{"anyOf":[{"type":"string","enum":["a"]},{"type":"object","properties":{"x":{}},"additionalProperties":false}]}"#
            ]],
        );
    }

    #[test]
    fn a_package_has_the_settings_of_its_plugins_in_its_section() {
        let unit = json!({ "unit": { "type": "string" }, "sky.depth": { "type": "integer" } });
        let plugins = vec![
            ("sky".to_owned(), unit.as_object().cloned().unwrap()),
            ("quiet".to_owned(), Map::new()),
            ("todo".to_owned(), Map::new()),
        ];
        let packages = [
            ("weather", vec!["sky"]),
            ("other", vec!["quiet"]),
            ("lost", vec![]),
            ("todo", vec![]),
        ];
        let packages = packages.map(|(name, plugins)| {
            (name.to_owned(), plugins.into_iter().map(str::to_owned).collect())
        });
        let schema = Schema::new(plugins).packages(packages).to_json();
        let tables = &schema["properties"]["plugins"]["properties"];
        let keys = |name: &str| {
            let table = &tables[name];
            let keys = table["properties"].as_object().unwrap().keys().map(String::as_str);
            let own: Vec<&str> = keys.filter(|key| !known::is_plugin_key(key)).collect();
            format!("{} {}", own.join(" "), table["additionalProperties"])
        };
        assert_eq!(keys("weather"), "unit depth false");
        assert_eq!(keys("sky"), "depth unit false");
        for (name, any) in [("other", true), ("quiet", true), ("lost", true), ("todo", false)] {
            assert_eq!(keys(name), format!(" {any}"), "{name}");
        }
    }

    #[test]
    fn editors_get_one_schema_of_the_whole_file() {
        let schema = Schema::new(vec![("compaction".to_owned(), Map::new())]).to_json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["additionalProperties"], false);
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let keys = keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" ");
        expect!["default_agent agents plugins mcp_servers hosts server store telemetry events assets terminal provider model base_url api_key system_message context_window tools max_steps fallback output_schema output_repairs compaction"].assert_eq(&keys);
        let plugins = &schema["properties"]["plugins"];
        assert_eq!(plugins["properties"]["compaction"]["additionalProperties"], false);
        assert_eq!(plugins["additionalProperties"]["additionalProperties"], true);
    }
}
