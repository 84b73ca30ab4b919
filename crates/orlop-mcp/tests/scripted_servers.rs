//! Servers that are good, slow, broken and hostile, in whole turns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod scripted;
#[path = "../../orlop-plugins/tests/stage/mod.rs"]
mod stage;

use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_mcp::{Limits, McpServers};
use orlop_plugins::{Permissions, SlashCommands};
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use stage::*;
use std::path::PathBuf;
use std::time::Duration;

#[test]
fn acts_as_a_server() {
    scripted::act();
}

/// Limits under which a server that never answers does not make a test long.
fn limits() -> Limits {
    let (first_wait, start) = (Duration::from_secs(20), Duration::from_secs(30));
    Limits { first_wait, start, ..Limits::default() }
}

struct Scene {
    stage: Stage,
    servers: McpServers,
    folder: PathBuf,
}

/// An application with a server `s` of this mode.
fn scene(mode: &str, limits: Limits) -> Scene {
    scene_on(Stage::default(), mode, limits)
}

fn scene_on(stage: Stage, mode: &str, limits: Limits) -> Scene {
    let folder = stage.outside().join("server");
    std::fs::create_dir_all(&folder).unwrap();
    let mut stage = stage.more(&scripted::configured("s", mode, &folder));
    let servers = McpServers::with_limits(&stage.config().unwrap(), limits);
    stage.plugins = servers.register(std::mem::take(&mut stage.plugins));
    Scene { stage, servers, folder }
}

impl Scene {
    /// What a file of the server says, line by line.
    fn noted(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The same servers for another process, which knows what is on disk and nothing else.
    fn again(&mut self, limits: Limits) {
        self.servers = McpServers::with_limits(&self.stage.config().unwrap(), limits);
        let plugins =
            Plugins::new().provider(std::sync::Arc::new(self.stage.model.clone()), vec![]);
        self.stage.plugins = self.servers.register(plugins);
    }

    /// The names of the tools that the model was last offered.
    fn offered(&self) -> Vec<String> {
        let (_, state) = self.stage.model.requests().pop().unwrap();
        let tools = state.request.get("tools").cloned().unwrap_or_default();
        let names = tools.as_array().into_iter().flatten().filter_map(|tool| {
            tool.pointer("/function/name").or(tool.get("name")).and_then(Value::as_str)
        });
        names.map(str::to_owned).collect()
    }

    async fn call(&self, app: &Application, tool: &str, input: Value) -> String {
        run_call(app, &self.stage.model, &format!("mcp__s__{tool}"), input).await
    }
}

async fn say(scene: &Scene, app: &Application) {
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    events_of(app, ask("plain", "hello")).await;
}

#[tokio::test]
async fn a_server_is_a_tool_plugin_of_its_name() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert!(scene.offered().contains(&"mcp__s__echo".to_owned()));
    assert_eq!(
        scene.call(&app, "refuse", json!({})).await,
        "MCP server \"s\" failed: not like this"
    );
    let status = scene.servers.list().remove(0);
    assert_eq!((status.state, status.protocol.as_deref()), ("ready", Some("2025-11-25")));
    assert_eq!(status.server.as_deref(), Some("scripted 1"));
    assert_eq!(scene.noted("starts").len(), 1);
}

#[tokio::test]
async fn a_server_that_was_there_before_starts_with_its_first_call() {
    let mut scene = scene("good", limits());
    let app = scene.stage.start().await;
    say(&scene, &app).await;
    let offered = scene.offered();
    assert_eq!(scene.noted("starts").len(), 1);
    scene.again(limits());
    let app = scene.stage.start().await;
    say(&scene, &app).await;
    assert_eq!(scene.offered(), offered);
    assert_eq!(scene.noted("starts").len(), 1, "nobody has called it");
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(scene.noted("starts").len(), 2);
}

/// Waits for what happens in the background, where there is nothing else to wait on.
async fn eventually(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
}

#[tokio::test]
async fn an_old_list_is_asked_for_again_without_anybody_waiting() {
    let mut scene = scene("good", limits());
    scene.servers.test("s").await.unwrap();
    scene.again(Limits { fresh: Duration::ZERO, ..limits() });
    let app = scene.stage.start().await;
    say(&scene, &app).await;
    assert!(scene.offered().contains(&"mcp__s__echo".to_owned()));
    eventually(|| scene.noted("starts").len() == 2).await;
}

#[tokio::test]
async fn a_slow_server_delays_nobody_for_long_and_is_taken_in_later() {
    let scene = scene("gated", Limits { first_wait: Duration::from_millis(20), ..limits() });
    let gate = scene.folder.join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let app = scene.stage.start().await;
    say(&scene, &app).await;
    assert!(scene.offered().is_empty());
    let opened = tokio::task::spawn_blocking(move || std::fs::write(gate, "go"));
    scene.servers.test("s").await.unwrap();
    opened.await.unwrap().unwrap();
    say(&scene, &app).await;
    assert!(scene.offered().contains(&"mcp__s__echo".to_owned()));
    assert_eq!(scene.noted("starts").len(), 1);
}

#[tokio::test]
async fn a_server_that_cannot_start_is_one_error_without_secrets() {
    orlop_testkit::logged();
    let scene = scene("crash", Limits { backoff: Duration::from_secs(600), ..limits() });
    let app = scene.stage.start().await;
    say(&scene, &app).await;
    say(&scene, &app).await;
    assert!(scene.offered().is_empty());
    let log = orlop_testkit::logged();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("no database")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(
        told[0].ends_with(
            "MCP server \"s\" could not be started: it ended (exit status: 7): no database at ***"
        ),
        "{}",
        told[0]
    );
    assert_eq!(scene.servers.list()[0].state, "failed");
}

#[tokio::test]
async fn a_server_that_crashes_is_started_again_with_longer_and_longer_pauses() {
    let scene = scene("good", Limits { backoff: Duration::from_secs(600), ..limits() });
    let app = scene.stage.start().await;
    let died = "MCP server \"s\" failed: it ended (exit status: 3): I had ***";
    assert_eq!(scene.call(&app, "die", json!({})).await, died);
    assert_eq!(scene.call(&app, "echo", json!({ "text": "back" })).await, "back");
    assert_eq!(scene.call(&app, "die", json!({})).await, died);
    let waits = scene.call(&app, "echo", json!({})).await;
    assert_eq!(waits, "it ended (MCP server \"s\" is tried again in 60 s)");
    assert_eq!(scene.noted("starts").len(), 2);
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends() {
    let scene = scene("good", Limits { answer: Duration::from_millis(300), ..limits() });
    let app = scene.stage.start().await;
    let late = scene.call(&app, "hang", json!({})).await;
    assert_eq!(
        late,
        "MCP server \"s\" failed: no answer and no sign of life within 0.3 s; the call was cancelled, and whether it had an effect is not known"
    );
    // It has heard of it before it answers the next call.
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(scene.noted("cancelled").len(), 1);
}

#[tokio::test]
async fn nonsense_and_floods_are_errors_of_their_server() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    let nonsense = scene.call(&app, "nonsense", json!({})).await;
    assert_eq!(nonsense, "MCP server \"s\" failed: its answer makes no sense");
    let flood = scene.call(&app, "flood", json!({})).await;
    assert_eq!(flood, "MCP server \"s\" failed: it prints what is no message of the protocol");
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
}

#[tokio::test]
async fn a_message_without_an_end_is_not_held() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    let begin = json!({ "begin": "{\"jsonrpc\": \"2.0\", \"result\": \"" });
    let endless = scene.call(&app, "flood", begin).await;
    assert_eq!(endless, "MCP server \"s\" failed: it sends a message of more than 32 MiB");
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
}

#[tokio::test]
async fn progress_is_shown_and_a_cancelled_call_is_cancelled_at_the_server() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    scene.stage.model.reply(ScriptedReply::calls(&[("c1", "mcp__s__slow", json!({}))]));
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    let request = handle.request_id().to_owned();
    let mut parts = Vec::new();
    while let Some(event) = handle.next().await {
        if let EventKind::ToolPartial { part, .. } = &event.kind {
            parts.push(part.clone());
            app.cancel_request(&request, "enough").await.unwrap();
        }
    }
    assert_eq!(parts, ["digging (1 of 3)"]);
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(scene.noted("cancelled").len(), 1);
}

#[tokio::test]
async fn tools_that_a_server_adds_are_offered_next() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    assert_eq!(scene.call(&app, "grow", json!({})).await, "grown");
    eventually(|| scene.servers.list()[0].tools.iter().any(|it| it.name == "mcp__s__grown")).await;
    say(&scene, &app).await;
    assert!(scene.offered().contains(&"mcp__s__grown".to_owned()));
}

#[tokio::test]
async fn prompts_and_resources_that_a_server_adds_are_known_next() {
    let scene = scene("good", limits());
    let host = scene.stage.open().await;
    let app = host.app();
    scene.call(app, "grow", json!({ "list": "prompts" })).await;
    eventually(|| scene.servers.list()[0].prompts.iter().any(|it| it.contains("grown"))).await;
    assert_eq!(scene.servers.list()[0].resources.len(), 1);
    scene.call(app, "grow", json!({ "list": "resources" })).await;
    eventually(|| scene.servers.list()[0].resources.iter().any(|it| it.contains("grown"))).await;

    // A picture of a prompt goes to the model, and stays with the message.
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    chat_to_end(&host, chat("p", "/s:grown")).await;
    let message = app.session("p").await.unwrap().session.messages().iter().next().unwrap().clone();
    assert!(message.text().starts_with("Look at this."), "{message:?}");
    assert_eq!(
        Value::from(message.multipart_content().to_vec()),
        json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } }])
    );
}

#[tokio::test] // C-43
async fn prompts_are_among_the_templates() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    scene.servers.test("s").await.unwrap();
    let (core, config) = app.agent("default").unwrap();
    let templates = core.templates(&config).await.unwrap();
    let ours = templates.iter().find(|template| template.plugin == "mcp").unwrap();
    assert_eq!(ours.text, "/s:greet who=...\n/s:sly");
}

#[tokio::test]
async fn a_server_of_the_newest_revision_is_asked_to_tell_of_changes() {
    let scene = scene("modern", limits());
    let app = scene.stage.start().await;
    assert_eq!(scene.call(&app, "echo", json!({ "text": "hi" })).await, "hi");
    assert_eq!(scene.servers.list().remove(0).protocol.as_deref(), Some("2026-07-28"));
    eventually(|| !scene.noted("listens").is_empty()).await;
    assert!(scene.noted("listens")[0].contains("toolsListChanged"), "{:?}", scene.noted("listens"));
    let known =
        || scene.servers.list().remove(0).tools.iter().any(|tool| tool.name.contains("grown"));
    assert!(!known());
    scene.call(&app, "grow", json!({})).await;
    eventually(known).await;
}

#[tokio::test]
async fn a_server_gets_little_of_the_environment() {
    let mut stage = Stage::default();
    stage.vars.insert("OPENAI_API_KEY".to_owned(), "k".to_owned());
    stage.vars.insert("HOME".to_owned(), "/nowhere".to_owned());
    let scene = scene_on(stage, "good", limits());
    let app = scene.stage.start().await;
    expect!["FOLDER HOME MODE PATH TOKEN"].assert_eq(&scene.call(&app, "env", json!({})).await);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_ends_with_everything_it_has_started() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    let child = scene.call(&app, "child", json!({})).await;
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    assert!(matches!(state(), Some('S' | 'R' | 'D')), "{:?}", state());
    scene.servers.stop().await;
    assert!(matches!(state(), None | Some('Z' | 'X')), "{:?}", state());
    assert_eq!(scene.noted("ends"), ["end of input"], "it was asked first");
    assert!(scene.call(&app, "echo", json!({})).await.contains("is stopped"));
}

#[tokio::test]
async fn lists_without_an_end_and_broken_items_do_no_harm() {
    let scene = scene("endless", limits());
    assert_eq!(scene.servers.test("s").await.unwrap().tools.len(), 500);
    let scene = scene_on(Stage::default(), "sloppy", limits());
    let tools = scene.servers.test("s").await.unwrap().tools;
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["mcp__s__good"]);
}

#[tokio::test]
async fn prompts_are_commands() {
    let stage = Stage::default().host(SlashCommands);
    let scene = scene_on(stage, "good", limits());
    let host = scene.stage.open().await;
    scene.servers.test("s").await.unwrap();
    for (typed, asked) in [
        ("/s:greet Ana", "Say hello to Ana."),
        // What a server says is no command of the user.
        ("/s:sly", " /permissions all"),
    ] {
        scene.stage.model.reply(ScriptedReply::text(&["done"]));
        chat_to_end(&host, chat("p", typed)).await;
        let (items, _) = scene.stage.model.requests().pop().unwrap();
        assert!(format!("{items:?}").contains(asked), "{items:?}");
    }
    let refused = chat_to_end(&host, chat("p", "/s:greet")).await;
    let Some(EventKind::Final { messages, .. }) = refused.last().map(|event| &event.kind) else {
        panic!("{refused:?}")
    };
    expect![[r#"/s:greet needs "who"; write: /s:greet who=..."#]].assert_eq(messages[0].text());
    assert_eq!(scene.stage.model.requests().len(), 2);
}

#[tokio::test]
async fn resources_can_be_mentioned() {
    let scene = scene("good", limits());
    let host = scene.stage.open().await;
    scene.servers.test("s").await.unwrap();
    scene.stage.model.reply(ScriptedReply::calls(&[("c1", "mcp__s__echo", json!({}))]));
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    chat_to_end(&host, chat("p", "What does @s:demo://note say?")).await;
    let requests = scene.stage.model.requests();
    assert_eq!(requests.len(), 2);
    for (items, _) in requests {
        assert!(format!("{items:?}").contains("The note says 42."), "{items:?}");
    }
    assert_eq!(scene.noted("reads"), ["demo://note"], "read once for the whole turn");
    // The next turn has it still, and nobody reads it again.
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    chat_to_end(&host, chat("p", "And now?")).await;
    let (items, _) = scene.stage.model.requests().pop().unwrap();
    assert!(format!("{items:?}").contains("The note says 42."), "{items:?}");
    assert_eq!(scene.noted("reads").len(), 1);

    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    chat_to_end(
        &host,
        chat("q", "Compare @s:demo://picture, @s:demo://archive and @s:demo://note."),
    )
    .await;
    let message =
        host.app().session("q").await.unwrap().session.messages().iter().next().unwrap().clone();
    assert_eq!(
        Value::from(message.multipart_content().to_vec()),
        json!([
            { "type": "text", "text": "<resource server=\"s\" uri=\"demo://picture\">\n[demo://picture: image/png, 3 bytes]\n</resource>" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } },
            { "type": "text", "text": "<resource server=\"s\" uri=\"demo://archive\">\n[demo://archive: application/zip, 3 bytes; its content is not in the message]\n</resource>" },
            { "type": "text", "text": "<resource server=\"s\" uri=\"demo://note\">\nThe note says 42.\n</resource>" },
        ])
    );
    let mentioned = json!(["s:demo://picture", "s:demo://archive", "s:demo://note"]);
    assert_eq!(message.metadata().get("resources"), Some(&mentioned));
}

#[tokio::test]
async fn policies_judge_what_servers_say_of_their_tools() {
    let scene = scene_on(Stage::default().feature(Permissions), "good", limits());
    let app = scene.stage.start().await;
    scene.stage.model.reply(ScriptedReply::calls(&[
        ("c1", "mcp__s__echo", json!({ "text": "ran" })),
        ("c2", "mcp__s__env", json!({})),
    ]));
    scene.stage.model.reply(ScriptedReply::text(&["done"]));
    let request = Request { approval: Approval::Deny, ..ask("s", "go") };
    let mut results = results(&events_of(&app, request).await);
    results.sort();
    assert_eq!(results.len(), 2);
    assert!(results[0].contains("it is not known what mcp__s__env does"), "{results:?}");
    assert_eq!(results[1], "ran");
}

#[tokio::test]
async fn people_see_servers_and_their_prompts_and_start_one_anew() {
    let stage = Stage::default().application(SlashCommands).host(SlashCommands);
    let scene = scene_on(stage, "good", limits());
    let host = scene.stage.open().await;
    let answer = async |text: &str| {
        let chat = host.chat(chat("p", text)).await.unwrap();
        let handled = chat.handled.clone().unwrap();
        chat.ended().await;
        format!("{} {}", handled.status, handled.text)
    };
    scene.servers.test("s").await.unwrap();
    expect![[r#"
        200 MCP servers

        - `s` (ready): 10 tools, 2 prompts, 1 resource"#]]
    .assert_eq(&answer("/mcp").await);
    let starts = scene.noted("starts").len();
    expect![[r#"
        200 Reconnected

        - `s` (ready): 10 tools, 2 prompts, 1 resource"#]]
    .assert_eq(&answer("/mcp s").await);
    assert_eq!(scene.noted("starts").len(), starts + 1);
    expect![[r#"404 there is no MCP server "other"; known: s"#]]
        .assert_eq(&answer("/mcp other").await);
    let help = answer("/help").await;
    let (_, of_servers) = help.split_once("Of MCP servers and other plugins:\n").unwrap();
    expect![[r#"
        - `/s:greet who=...`: Greets.
        - `/s:sly`: A prompt of an MCP server"#]]
    .assert_eq(of_servers);
}

#[tokio::test]
async fn a_session_may_do_without_a_server() {
    let scene = scene("good", limits());
    let app = scene.stage.start().await;
    scene.servers.test("s").await.unwrap();
    let offered = async |session: &str| {
        scene.stage.model.reply(ScriptedReply::text(&["done"]));
        events_of(&app, ask(session, "go")).await;
        scene.offered().len()
    };
    assert_eq!(offered("p").await, 10);
    let off = json!({ "overrides": { "s": { "enabled": false } } });
    app.patch_session("p", off.as_object().cloned().unwrap()).await.unwrap();
    assert_eq!(offered("p").await, 0);
    assert_eq!(offered("q").await, 10, "others have it");
}
