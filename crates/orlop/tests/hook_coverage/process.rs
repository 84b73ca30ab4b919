//! The plugins of the scene in Rust, as a program of its own.

use crate::scene::{self, Notes, Trouble};
use orlop_plugin::{Call, Error, Plugin, Value, each, json};
use std::process::ExitCode;

/// Serves the host with the plugins of `scene.json` in this folder.
pub fn serve(data: &str) -> ExitCode {
    let scene: Value =
        serde_json::from_slice(&std::fs::read("scene.json").unwrap()).expect("a scene");
    let notes = Notes::new(data);
    let plugins: Vec<Plugin> =
        scene["plugins"].as_array().unwrap().iter().map(|about| plugin(about, &notes)).collect();
    orlop_plugin::serve(plugins)
}

fn plugin(about: &Value, notes: &Notes) -> Plugin {
    let (kind, name) = (text(&about["kind"]), text(&about["name"]));
    let mut plugin = match kind.as_str() {
        "provider" => Plugin::provider(&name),
        "extension" => Plugin::extension(&name),
        "feature" => Plugin::feature(&name),
        "tool" => Plugin::tool(&name),
        "application" => Plugin::application(&name),
        _ => Plugin::host(&name),
    };
    plugin = plugin.with("uses_models", json!(true)).with("priority", json!(0));
    for hook in about["hooks"].as_array().unwrap() {
        let (hook, kind, notes) = (text(hook), kind.clone(), notes.clone());
        let said = about["says"][&hook].clone();
        plugin = plugin.on(&hook.clone(), move |args, call| {
            note(&notes, &kind, &hook, &args, call);
            match kind.as_str() {
                "provider" | "tool" => own(&hook, &args, call, &notes).unwrap_or(Ok(said.clone())),
                _ => Ok(said.clone()),
            }
        });
    }
    plugin
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn note(notes: &Notes, kind: &str, hook: &str, args: &Value, call: &Call) {
    let context = call.context();
    let agent = match kind {
        "host" => [&args["agent_id"], &args["request"]["agent_id"]].to_vec(),
        _ => vec![
            &args["state"]["config"]["model"],
            &args["input"]["config"]["model"],
            &args["config"]["model"],
            &context["config"]["model"],
        ],
    };
    let agent = agent.into_iter().find_map(Value::as_str);
    let told = [Some(kind), Some(hook), context["lifecycle"].as_str(), agent];
    notes.add(&[&told[..], &[context["request_id"].as_str()]].concat());
}

/// What providers and tools do; nothing for hooks that only say something.
fn own(hook: &str, args: &Value, call: &Call, notes: &Notes) -> Option<Result<Value, Error>> {
    let native = &args["native_messages"];
    let last = native.as_array().and_then(|items| items.last()).cloned().unwrap_or_default();
    let reply = || {
        scene::reply(&last, notes.folder()).map_err(|trouble| match trouble {
            Trouble::TooLong => {
                let too_long = Error::new("provider", "too long");
                Error { context_overflow: true, ..too_long }
            }
            Trouble::Broken => Error::new("provider", "the model is at sea"),
            Trouble::Crash => std::process::exit(7),
        })
    };
    let answer = match hook {
        "to_native_messages" => Ok(each(&args["messages"], |_, it| {
            let metadata = &it["metadata"];
            json!({ "role": it["role"], "content": it["content"],
                "calls": metadata["tool_calls"], "answers": metadata["tool_call_id"] })
        })),
        "from_native_messages" => Ok(each(native, |at, it| {
            let mut metadata = json!({ "native_indices": [at] });
            for (from, to) in [("calls", "tool_calls"), ("answers", "tool_call_id")] {
                if !it[from].is_null() {
                    metadata[to] = it[from].clone();
                }
            }
            json!({ "role": it["role"], "content": it["content"], "metadata": metadata })
        })),
        "call_api" => reply().map(|said| json!({ "final_messages": [said] })),
        "stream_api" => {
            call.part(json!({ "partial": { "role": "assistant", "content": "done" } }));
            while scene::waits(&last, notes.folder()) && !call.is_cancelled() {
                std::thread::sleep(scene::PAUSE);
            }
            reply().map(|said| {
                call.part(json!({ "final_messages": [said] }));
                Value::Null
            })
        }
        "stream_tool" => {
            call.part(json!({ "part": "half" }));
            call.part(json!({ "success": true, "output": "flowed" }));
            Ok(Value::Null)
        }
        "execute_tool" if args["payload"]["fail"] == true => {
            Ok(json!({ "success": false, "error": "it failed" }))
        }
        "execute_tool" => Ok(json!({ "success": true, "output": "noted" })),
        _ => return None,
    };
    Some(answer)
}
