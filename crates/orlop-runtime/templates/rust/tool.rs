//! A tool: the model calls it, and reads what it returns.
use orlop_plugin::{Plugin, json, serve};

fn main() -> std::process::ExitCode {
    let name = json!({ "type": "string", "description": "whom to greet" });
    let takes = json!({ "type": "object", "properties": { "name": name }, "required": ["name"] });
    let greet = json!({ "name": "greet", "description": "Greets somebody.", "parameters": takes, "annotations": { "access": "none" } });
    let plugin = Plugin::tool("my_plugin")
        .on("get_tool_schemas", move |_, _| Ok(json!([greet])))
        .on("execute_tool", |args, _| {
            let name = args["payload"]["name"].as_str().unwrap_or("you");
            Ok(json!({ "success": true, "output": format!("Hello, {name}!") }))
        });
    serve([plugin])
}
