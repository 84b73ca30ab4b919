//! A provider without a server: it says backwards what was said.
use orlop_plugin::{Plugin, Value, each, json, serve};
fn main() -> std::process::ExitCode {
    let to = |_, it: &Value| json!({ "role": it["role"], "text": it["content"] });
    let from = |at, it: &Value| json!({ "role": it["role"], "content": it["text"], "metadata": { "native_indices": [at] } });
    let plugin = Plugin::provider("my_plugin")
        .on("to_native_messages", move |args, _| Ok(each(&args["messages"], to)))
        .on("from_native_messages", move |args, _| Ok(each(&args["native_messages"], from)))
        .on("call_api", |args, _| {
            let said = args["native_messages"].as_array().and_then(|items| items.last()?["text"].as_str());
            let said: String = said.unwrap_or_default().chars().rev().collect();
            Ok(json!({ "final_messages": [{ "role": "assistant", "text": said }] }))
        });
    serve([plugin])
}
