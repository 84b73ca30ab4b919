//! An extension: shows the text of every provider in lower case while it streams.
use orlop_plugin::{Plugin, json, serve};

fn main() -> std::process::ExitCode {
    let plugin = Plugin::extension("my_plugin").on("process_chunk", |mut args, _| {
        let chunk = &mut args["chunk"];
        if let Some(text) = chunk["partial"]["content"].as_str() {
            chunk["partial"]["content"] = json!(text.to_lowercase());
        }
        Ok(chunk.take())
    });
    serve([plugin])
}
