//! An application plugin: works on all sessions. What it asks of the host is granted in plugin.toml.
use orlop_plugin::{Plugin, json, serve};

fn main() -> std::process::ExitCode {
    let count = json!({ "id": "count_sessions", "label": "Count sessions" });
    let plugin = Plugin::application("my_plugin")
        .on("get_actions", move |_, _| Ok(json!([count])))
        .on("execute_action", |_, call| {
            let found = call.ask("app.list_sessions", json!({ "limit": 100 }))?;
            let count = found["sessions"].as_array().map_or(0, Vec::len);
            Ok(json!({ "message": format!("{count} sessions") }))
        });
    serve([plugin])
}
