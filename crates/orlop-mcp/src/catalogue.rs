//! What a server offers, as far as Orlop takes it: bounded in number and length, whatever the server
//! says.

use crate::names::Names;
use crate::words;
use orlop_core::{Map, Value};
use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How many of each kind are taken.
pub(crate) const MAX_ITEMS: usize = 500;
/// The longest description of a tool that a model reads, in bytes.
const MAX_DESCRIPTION: usize = 2_000;
/// The longest description of something people read.
const MAX_LINE: usize = 300;
/// The largest schema of a tool's arguments, in bytes.
const MAX_SCHEMA: usize = 32 * 1024;

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    /// The revision of the protocol that was agreed on.
    pub(crate) protocol: String,
    /// Name and version of the server, in its own words.
    pub(crate) server: String,
    /// What it says of itself. Shown to people; no model reads it.
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Offered>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
}

/// A tool under the name that models call it by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offered {
    pub(crate) name: String,
    /// The server's own name for it.
    pub(crate) original: String,
    pub(crate) schema: Map,
}

impl Catalogue {
    pub(crate) fn tool(&self, name: &str) -> Option<&Offered> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn schemas(&self) -> Vec<Map> {
        self.tools.iter().map(|tool| tool.schema.clone()).collect()
    }
}

/// The tools of a server as models see them. Tools that cannot be taken are told of and left out.
pub(crate) fn offered(server: &str, tools: Vec<Tool>) -> Vec<Offered> {
    let mut names = Names::of_server(server);
    let mut offered: Vec<Offered> = Vec::new();
    for tool in tools {
        let original = tool.name.to_string();
        let why = if offered.iter().any(|held| held.original == original) {
            "another tool of the server has its name"
        } else if tool.input_schema.values().map(|value| value.to_string().len()).sum::<usize>()
            > MAX_SCHEMA
        {
            "the schema of its arguments is too large"
        } else {
            let name = names.of_tool(&original);
            offered.push(Offered { schema: schema(server, &name, &tool), name, original });
            continue;
        };
        let tool = words::line(&original, MAX_LINE);
        tracing::warn!(target: "orlop::mcp", server, tool, "a tool is left out: {why}");
    }
    offered
}

fn schema(server: &str, name: &str, tool: &Tool) -> Map {
    let mut parameters: Map = (*tool.input_schema).clone();
    parameters.shift_remove("$schema");
    parameters.entry("type").or_insert_with(|| "object".into());
    parameters.entry("properties").or_insert_with(|| json!({}));
    let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or(&tool.name);
    let annotations = annotations(tool.annotations.as_ref(), &parameters);
    Map::from_iter([
        ("name".to_owned(), name.into()),
        ("description".to_owned(), words::text(said, MAX_DESCRIPTION).into()),
        ("parameters".to_owned(), parameters.into()),
        ("annotations".to_owned(), annotations.into()),
        ("mcp".to_owned(), json!({ "server": server, "tool": tool.name })),
    ])
}

/// What policies may rely on. A server is believed when it says that a tool only reads; nothing it
/// says makes a policy ask less about tools that change something. Arguments that look like paths
/// are named, so that what lies outside of the workspace is asked about.
fn annotations(said: Option<&ToolAnnotations>, parameters: &Map) -> Map {
    let mut annotations = Map::new();
    let Some(said) = said else { return annotations };
    let hints = [
        ("readOnlyHint", said.read_only_hint),
        ("destructiveHint", said.destructive_hint),
        ("idempotentHint", said.idempotent_hint),
        ("openWorldHint", said.open_world_hint),
    ];
    for (hint, value) in hints {
        if let Some(value) = value {
            annotations.insert(hint.to_owned(), value.into());
        }
    }
    let reads = said.read_only_hint == Some(true);
    if reads {
        annotations.insert("access".to_owned(), "read".into());
        annotations.insert("concurrent".to_owned(), true.into());
        let paths = paths_among(parameters);
        if !paths.is_empty() {
            annotations.insert("path".to_owned(), paths.into());
        }
    }
    if reads || said.idempotent_hint == Some(true) {
        annotations.insert("idempotent".to_owned(), true.into());
    }
    annotations
}

/// Arguments that hold paths, judged by their names.
fn paths_among(parameters: &Map) -> Vec<Value> {
    const ENDS: [&str; 8] =
        ["path", "paths", "file", "files", "filename", "dir", "directory", "folder"];
    let properties = parameters.get("properties").and_then(Value::as_object);
    let is_path = |(name, schema): &(&String, &Value)| {
        let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_owned);
        let of_text = match kind(schema).as_deref() {
            Some("array") => schema.get("items").and_then(kind).as_deref() == Some("string"),
            other => other == Some("string"),
        };
        let lower = name.to_ascii_lowercase();
        of_text && ENDS.iter().any(|end| lower.ends_with(end))
    };
    properties.into_iter().flatten().filter(is_path).map(|(name, _)| name.as_str().into()).collect()
}

/// Prompts with harmless names and descriptions.
pub(crate) fn prompts(mut prompts: Vec<Prompt>) -> Vec<Prompt> {
    prompts.retain(|prompt| is_word(&prompt.name));
    for prompt in &mut prompts {
        prompt.icons = None;
        prompt.description = prompt.description.take().map(|text| words::line(&text, MAX_LINE));
        for argument in prompt.arguments.iter_mut().flatten() {
            argument.description =
                argument.description.take().map(|text| words::line(&text, MAX_LINE));
        }
    }
    prompts
}

/// Resources with harmless addresses and descriptions.
pub(crate) fn resources(mut resources: Vec<Resource>) -> Vec<Resource> {
    resources.retain(|resource| is_word(&resource.uri));
    for resource in &mut resources {
        resource.icons = None;
        resource.name = words::line(&resource.name, MAX_LINE);
        resource.description = resource.description.take().map(|text| words::line(&text, MAX_LINE));
    }
    resources
}

/// Something that can be typed.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
    !text.is_empty() && text.len() <= MAX_LINE && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn tool(value: Value) -> Tool {
        serde_json::from_value(value).unwrap()
    }

    fn shown(tools: Vec<Value>) -> String {
        let tools = offered("fs", tools.into_iter().map(tool).collect());
        let lines = tools.iter().map(|tool| {
            let mut schema = tool.schema.clone();
            schema.shift_remove("mcp");
            Value::Object(schema).to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_tool_that_reads_says_which_paths() {
        let read = json!({
            "name": "read_file", "description": "Reads.",
            "inputSchema": { "$schema": "x", "type": "object", "properties": {
                "path": { "type": "string" }, "otherFiles": { "type": "array", "items": { "type": "string" } },
                "depth": { "type": "number" } } },
            "annotations": { "readOnlyHint": true, "title": "Read" } });
        expect![[r#"{"name":"mcp__fs__read_file","description":"Reads.","parameters":{"type":"object","properties":{"path":{"type":"string"},"otherFiles":{"type":"array","items":{"type":"string"}},"depth":{"type":"number"}}},"annotations":{"readOnlyHint":true,"access":"read","concurrent":true,"path":["path","otherFiles"],"idempotent":true}}"#]]
        .assert_eq(&shown(vec![read]));
    }

    #[test]
    fn a_server_cannot_make_a_policy_ask_less() {
        let bold = json!({
            "name": "wipe", "inputSchema": {}, "annotations": {
                "access": "none", "approval": "allow", "destructiveHint": false, "command": "x" } });
        expect![[r#"{"name":"mcp__fs__wipe","description":"wipe","parameters":{"type":"object","properties":{}},"annotations":{"destructiveHint":false}}"#]]
        .assert_eq(&shown(vec![bold]));
    }

    #[test]
    fn descriptions_are_cut_and_tools_that_do_not_fit_left_out() {
        let wordy = json!({ "name": "a", "description": "\u{1b}[2J".to_owned() + &"x".repeat(5_000), "inputSchema": {} });
        let huge =
            json!({ "name": "b", "inputSchema": { "properties": { "x": "y".repeat(40_000) } } });
        let tools = offered("fs", vec![tool(wordy.clone()), tool(huge), tool(wordy)]);
        assert_eq!(tools.len(), 1);
        let description = tools[0].schema["description"].as_str().unwrap();
        assert_eq!(description.len(), 2_000 + " [3000 bytes left out]".len());
    }
}
