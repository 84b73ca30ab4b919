//! Servers that others wrote, from npm and from PyPI, over both transports and in both generations
//! of the protocol. They are in the folder that `ORLOP_MCP_SERVERS` names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../orlop-plugins/tests/stage/mod.rs"]
mod stage;

use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_mcp::{Limits, McpServers};
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use stage::*;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The folder with the servers; says so where there is none.
fn folder(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ORLOP_MCP_SERVERS").filter(|path| !path.is_empty());
    if folder.is_none() {
        orlop_testkit::skip(what, "ORLOP_MCP_SERVERS is not set");
    }
    folder.map(PathBuf::from)
}

fn everything(folder: &std::path::Path) -> PathBuf {
    folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/notes_server.py");

struct Scene {
    stage: Stage,
    servers: McpServers,
    app: Application,
}

async fn scene(servers: &str) -> Scene {
    scene_on(Stage::default(), servers).await
}

async fn scene_on(stage: Stage, servers: &str) -> Scene {
    let mut stage = stage.more(servers);
    // Machines that build and test at the same time are slow.
    let limits = Limits { first_wait: Duration::from_secs(60), ..Limits::default() };
    let servers = McpServers::with_limits(&stage.config().unwrap(), limits);
    stage.plugins = servers.register(std::mem::take(&mut stage.plugins));
    let app = stage.start().await;
    Scene { stage, servers, app }
}

impl Scene {
    async fn call(&self, tool: &str, input: Value) -> String {
        run_call(&self.app, &self.stage.model, tool, input).await
    }

    /// The tool message of a call.
    async fn message(&self, tool: &str, input: Value) -> Message {
        self.stage.model.reply(ScriptedReply::calls(&[("c1", tool, input)]));
        self.stage.model.reply(ScriptedReply::text(&["done"]));
        let events = events_of(&self.app, ask("m", "go")).await;
        let results = events.iter().find_map(|event| match &event.kind {
            EventKind::ToolResult { message, .. } => Some(message.clone()),
            _ => None,
        });
        results.unwrap()
    }

    fn told(&self) -> String {
        let status = self.servers.list().remove(0);
        format!("{} {} {:?}", status.state, status.protocol.unwrap_or_default(), status.error)
    }
}

/// A server that listens on a port, ended when it is dropped.
struct Listening {
    _child: Child,
    url: String,
}

/// Starts a server and waits until it has printed `ready` among its errors.
async fn listening(mut command: Command, port: u16, ready: &str) -> Listening {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(ready) {
                return;
            }
        }
        panic!("the server ended");
    };
    tokio::time::timeout(Duration::from_secs(60), is_ready).await.unwrap();
    // Nobody reads on; a full pipe must not stop it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Listening { _child: child, url: format!("http://127.0.0.1:{port}/mcp") }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

async fn check_everything(scene: &Scene) {
    let echo = scene.call("mcp__e__echo", json!({ "message": "ahoy" })).await;
    assert_eq!(echo, "Echo: ahoy");
    assert_eq!(scene.told(), "ready 2025-11-25 None");
    let sum = scene.call("mcp__e__get-sum", json!({ "a": 2, "b": 40 })).await;
    assert_eq!(sum, "The sum of 2 and 40 is 42.");
    let wrong = scene.call("mcp__e__get-sum", json!({ "a": "x" })).await;
    // Orlop looks at arguments before a server sees them.
    assert!(wrong.contains("do not fit its schema"), "{wrong}");

    let picture = scene.message("mcp__e__get-tiny-image", json!({})).await;
    let part = &picture.multipart_content()[0];
    assert_eq!((&part["type"], &part["media_type"]), (&json!("image"), &json!("image/png")));
    let weather = json!({ "location": "Chicago" });
    let structured = scene.message("mcp__e__get-structured-content", weather).await;
    let kept = &structured.tool_result().unwrap()["structuredContent"];
    assert!(kept["temperature"].is_number(), "{kept}");

    let long = json!({ "duration": 1, "steps": 4 });
    scene.stage.model.reply(ScriptedReply::calls(&[(
        "c1",
        "mcp__e__trigger-long-running-operation",
        long,
    )]));
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    let events = events_of(&scene.app, ask("long", "go")).await;
    assert!(names(&events).contains("tool_partial"), "{}", names(&events));
    assert!(
        results(&events)[0].contains("Long running operation completed"),
        "{:?}",
        results(&events)
    );

    let status = scene.servers.list().remove(0);
    assert!(status.prompts.contains(&"/e:simple-prompt".to_owned()), "{:?}", status.prompts);
    assert!(
        status.resources.iter().any(|it| it.starts_with("@e:demo://")),
        "{:?}",
        status.resources
    );
}

#[tokio::test]
async fn the_reference_server_over_stdio() {
    let Some(folder) = folder("the reference server over stdio") else { return };
    let script = everything(&folder);
    let scene =
        scene(&format!("[mcp_servers.e]\ncommand = [\"node\", {script:?}, \"stdio\"]\n")).await;
    check_everything(&scene).await;
}

#[tokio::test]
async fn the_reference_server_over_http() {
    let Some(folder) = folder("the reference server over HTTP") else { return };
    let port = free_port();
    let mut command = Command::new("node");
    command.arg(everything(&folder)).arg("streamableHttp").env("PORT", port.to_string());
    let server = listening(command, port, "listening on port").await;
    let scene = scene(&format!("[mcp_servers.e]\nurl = \"{}\"\n", server.url)).await;
    check_everything(&scene).await;
}

#[tokio::test]
async fn the_reference_server_for_files() {
    let Some(folder) = folder("the reference server for files") else { return };
    let script = folder.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let stage = Stage::default().file("a.txt", "in the hold");
    let work = stage.work();
    let scene =
        scene_on(stage, &format!("[mcp_servers.fs]\ncommand = [\"node\", {script:?}, {work:?}]\n"))
            .await;
    let read = scene.call("mcp__fs__read_text_file", json!({ "path": work.join("a.txt") })).await;
    assert_eq!(read, "in the hold");
    let write = json!({ "path": work.join("b.txt"), "content": "new" });
    scene.call("mcp__fs__write_file", write).await;
    assert_eq!(scene.stage.read("b.txt"), "new");
    let outside = scene.call("mcp__fs__read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(outside.contains("Access denied"), "{outside}");
    let status = scene.servers.list().remove(0);
    let reads =
        |name: &str| status.tools.iter().find(|tool| tool.name == name).map(|it| it.reads_only);
    assert_eq!(reads("mcp__fs__read_text_file"), Some(true));
    assert_eq!(reads("mcp__fs__write_file"), Some(false));
}

async fn check_notes(scene: &Scene) {
    let sum = scene.message("mcp__n__add", json!({ "a": 2, "b": 3 })).await;
    assert_eq!(sum.tool_result().unwrap()["structuredContent"], json!({ "sum": 5 }));
    assert_eq!(scene.told(), "ready 2026-07-28 None");
    let status = scene.servers.list().remove(0);
    expect![[r#"["/n:summarise"] ["@n:notes://today"]"#]]
        .assert_eq(&format!("{:?} {:?}", status.prompts, status.resources));
    let failed = scene.call("mcp__n__add", json!({ "a": "many" })).await;
    assert!(failed.contains("add") || failed.contains("valid"), "{failed}");
}

#[tokio::test]
async fn a_server_of_the_newest_protocol_over_stdio() {
    let Some(folder) = folder("a server of the newest protocol over stdio") else { return };
    let python = folder.join("python/bin/python");
    let scene =
        scene(&format!("[mcp_servers.n]\ncommand = [{python:?}, {NOTES:?}, \"stdio\"]\n")).await;
    check_notes(&scene).await;
}

#[tokio::test]
async fn a_server_of_the_newest_protocol_over_http() {
    let Some(folder) = folder("a server of the newest protocol over HTTP") else { return };
    let port = free_port();
    let mut command = Command::new(folder.join("python/bin/python"));
    command.arg(NOTES).arg(port.to_string());
    let server = listening(command, port, "Uvicorn running").await;
    let scene = scene(&format!("[mcp_servers.n]\nurl = \"{}\"\n", server.url)).await;
    check_notes(&scene).await;
}
