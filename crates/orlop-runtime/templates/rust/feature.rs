//! A feature: counts the words of a session, with a button and after each request.
use orlop_plugin::{Plugin, json, serve};

fn main() -> std::process::ExitCode {
    let count = json!({ "id": "count_words", "label": "Count words", "trigger": "request_complete" });
    let plugin = Plugin::feature("my_plugin")
        .on("get_actions", move |_, _| Ok(json!([count])))
        .on("execute_action", |args, _| {
            let messages = args["session"]["messages"].as_array().into_iter().flatten();
            let texts = messages.filter_map(|message| message["content"].as_str());
            let words: usize = texts.map(|text| text.split_whitespace().count()).sum();
            Ok(json!({ "message": format!("{words} words"), "session_metadata": { "words": words } }))
        });
    serve([plugin])
}
