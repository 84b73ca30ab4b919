//! The plugins of `examples/plugins` with the real program: each is added as its users do, and works
//! in `orlop run` and over HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Place;
use common::served::{SERVE, Served};
use orlop_testkit::mock_model::Reply;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A place with the examples of one language, and a model that adds when it is told to.
async fn place(language: &str, run: &str, examples: &[(&str, &str)]) -> Place {
    let place = Place::new("examples").await;
    let config = format!("{}[agents.mirrored]\nprovider = \"mirror\"\n", place.config());
    place.write("orlop.toml", config);
    place.model.otherwise(|request| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        match last["role"].as_str() {
            Some("tool") => Reply::text(["It is ", last["content"].as_str().unwrap()]).any(),
            _ if last["content"].to_string().contains("add") => {
                Reply::tool_call("c1", "add", "{\"a\":1,\"b\":2}").any()
            }
            _ => Reply::text([format!("answer to {} messages", messages.len())]).any(),
        }
    });
    let app =
        "app = [\"load_session\", \"save_session\", \"acquire_session_lock\", \"publish_event\"]";
    for (name, file) in examples {
        let source = repository().join("examples/plugins").join(language).join(file);
        let code = std::fs::read_to_string(source).unwrap();
        // Plugins of these names ship.
        let code = code.replace("\"prompt_cache\"", "\"our_prompt_cache\"");
        let code = code.replace("\"slash_commands\"", "\"our_commands\"");
        place.write(&format!("{name}/{file}"), code);
        let manifest =
            format!("[plugin]\nname = \"{name}\"\n[run]\n{run} = \"{file}\"\n[grants]\n");
        let grants = match *name {
            "my_app_plugin" => app,
            "my_feature" => "app = [\"send_request\"]",
            _ => "",
        };
        place.write(&format!("{name}/plugin.toml"), format!("{manifest}{grants}\n"));
        if file.ends_with(".ts") {
            let compiler = repository().join("sdk/typescript/node_modules");
            let _ =
                std::os::unix::fs::symlink(compiler, place.path().join(name).join("node_modules"));
        }
        let added = place.run(&["plugin", "add", name, "--yes"]).await.ok();
        assert!(added.starts_with(&format!("added {name}: ")), "{added}");
    }
    place
}

async fn metadata(place: &Place, session: &str) -> Value {
    place.run(&["session", "export", session]).await.json()["metadata"].clone()
}

/// A tool, an extension, an application plugin, a provider and a feature, from the command line.
async fn on_the_command_line(place: &Place, reviewed: &Value) {
    let added = place.run(&["run", "--session", "s", "--yes", "add one and two"]).await.ok();
    assert_eq!(added.replace("3.0", "3"), "It is 3\n");
    let told = metadata(place, "s").await;
    let (key, value) = reviewed.as_object().unwrap().iter().next().unwrap();
    assert_eq!(told[key], *value, "the application plugin ran when the session began: {told}");
    assert!(told["overrides"]["prompt_cache_key"].is_string(), "a key of the extension: {told}");
    let mirrored = place.run(&["run", "--agent", "mirrored", "ab c"]).await.ok();
    assert_eq!(mirrored, "c ba\n");
    let action = ["action", "run", "my_feature", "summarize_range", "start=0", "end=2"];
    place.run(&[&action[..], &["--session", "s"]].concat()).await.ok();
    assert!(metadata(place, "s").await["last_summarization"].is_string());
    // Four messages were there: what was asked, the call, its result, and the answer.
    assert_eq!(place.messages("s").await.len(), 3);
}

/// The same over HTTP, with the buttons that front ends show.
async fn over_http(place: &Place, reviewed: &Value) {
    let served = Served::start(place.command(&SERVE)).await;
    served.post("/sessions", json!({ "session_id": "h" })).await;
    let made = served.ask("GET", "/sessions/h/export", "").await;
    let key = reviewed.as_object().unwrap().keys().next().unwrap();
    assert!(made.contains(key), "{made}");
    let body = json!({ "content": "add one and two", "stream": false, "approval": "allow" });
    let answer = served.post("/sessions/h/requests", body).await;
    let said = answer["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(said.as_str().unwrap().replace("3.0", "3"), "It is 3");
    let shown = served.ask("GET", "/agents/default/ui-schema?session_id=h", "").await;
    for label in ["Summarize range", "My Action"] {
        assert!(shown.contains(label), "no {label} in {shown}");
    }
    let body = json!({ "session_id": "h", "params": { "session_id": "h" } });
    let done = served.post("/actions/my_app_plugin/my_action", body).await;
    assert_eq!(done["result"]["message"], "Action completed successfully.", "{done}");
    let body = json!({ "session_id": "h", "params": { "start": 0, "end": 2 } });
    let done = served.post("/actions/my_feature/summarize_range", body).await;
    assert!(done["result"].get("error").is_none(), "{done}");
    let session = served.ask("GET", "/sessions/h/export", "").await;
    assert!(session.contains("last_summarization"), "{session}");
    served.post("/sessions", json!({ "session_id": "m", "agent_id": "mirrored" })).await;
    let events = served.ask("POST", "/sessions/m/requests", r#"{"content": "ab c"}"#).await;
    assert!(events.contains("event: partial") && events.contains("c ba"), "{events}");
    served.ends().await;
}

#[tokio::test]
async fn the_examples_in_python_work_on_both_surfaces() {
    let examples = [
        ("my_feature", "my_feature.py"),
        ("my_app_plugin", "my_app_plugin.py"),
        ("mirror", "mirror.py"),
        ("prompt_cache", "prompt_cache.py"),
        ("sums", "sums.py"),
        ("no_fridays", "no_fridays.py"),
    ];
    let place = place("python", "python", &examples).await;
    let reviewed = json!({ "reviewed": true });
    on_the_command_line(&place, &reviewed).await;
    over_http(&place, &reviewed).await;
}

/// Whether Node reads TypeScript by itself or with the compiler that the SDK is tested with.
fn reads_typescript() -> bool {
    let asked = "process.exit(process.features.typescript ? 0 : 1)";
    let node = std::process::Command::new("node").args(["-e", asked]).output();
    let itself = node.is_ok_and(|done| done.status.success());
    itself || repository().join("sdk/typescript/node_modules/typescript").is_dir()
}

#[tokio::test]
async fn the_examples_in_typescript_work_on_both_surfaces() {
    if !reads_typescript() {
        let what = "node does not read TypeScript; `npm ci` in sdk/typescript";
        return orlop_testkit::skip("examples in TypeScript", what);
    }
    let examples = [
        ("my_feature", "my_feature.ts"),
        ("my_app_plugin", "my_app_plugin.ts"),
        ("mirror", "mirror.mjs"),
        ("quiet", "quiet.mjs"),
        ("add", "add.mjs"),
        ("slash_commands_of_ours", "slash_commands.ts"),
    ];
    let place = place("typescript", "node", &examples).await;
    // A host plugin answers in place of the agent, on the command line and over HTTP.
    assert_eq!(place.run(&["run", "/ping"]).await.ok(), "pong\n");
    assert_eq!(place.times_asked(), 0);
    let reviewed = json!({ "my_action_runs": 1 });
    on_the_command_line(&place, &reviewed).await;
    over_http(&place, &reviewed).await;
}
