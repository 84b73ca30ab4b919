//! A host plugin: answers /hello itself, and tells the agent who asks.
use orlop_plugin::{Plugin, Value, json, serve};

fn main() -> std::process::ExitCode {
    let plugin = Plugin::host("my_plugin")
        .on("intercept_chat_request", |args, _| match args["text"].as_str() {
            Some("/hello") => Ok(json!({ "text": "Hello from my_plugin!" })),
            _ => Ok(Value::Null),
        })
        .on("context_providers", |args, _| {
            let user = args["request"]["user_id"].as_str().unwrap_or_default();
            Ok(json!([format!("The user is {user}.")]))
        });
    serve([plugin])
}
