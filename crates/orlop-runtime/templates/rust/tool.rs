//! A tool: the model calls it, and reads what it returns.

use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::{Answer, Context, Manifest, Map, Plugin, Tool, ToolReport};
use serde_json::json;

pub struct MyPlugin;

impl Plugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::new("my_plugin", "0.1.0").without_models()
    }
}

impl Tool for MyPlugin {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let name = json!({ "type": "string", "description": "whom to greet" });
        let parameters =
            json!({ "type": "object", "properties": { "name": name }, "required": ["name"] });
        let schema =
            json!({ "name": "greet", "description": "Greets somebody.", "parameters": parameters });
        Answer::ok(schema.as_object().cloned().into_iter().collect())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(ToolReport::ok(greet(input.payload["name"].as_str().unwrap_or("you"))))
    }
}

fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

#[test]
fn greets_by_name() {
    assert_eq!(greet("Ada"), "Hello, Ada!");
}
