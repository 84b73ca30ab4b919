//! Packages in formats of others: `hooks.json` around requests and tools, and folders of the Agent
//! Plugins format.

use crate::common::stage::*;
use crate::common::*;
use expect_test::expect;
use orlop_app::config::McpTransport;
use orlop_core::Map;
use orlop_runtime::{Package, Run, Runtime};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A folder with these files.
fn folder(stage: &Stage, files: &[(&str, &str)]) -> PathBuf {
    let folder = stage.outside().join("packages/bundle");
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    folder
}

fn hooks(events: Value) -> String {
    json!({ "description": "for tests", "hooks": events }).to_string()
}

fn command(matcher: &str, command: &str) -> Value {
    json!([{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }])
}

/// The stage with the commands of a `hooks.json`.
fn with_hooks(stage: Stage, events: Value) -> Stage {
    let place = folder(&stage, &[("hooks.json", &hooks(events))]);
    with_packages(stage, vec![Package::read(&place).unwrap()]).0
}

/// All of a request at the front door: what tools said, and the answer.
async fn asked(stage: &Stage, text: &str) -> Vec<String> {
    let host = stage.open().await;
    let mut chat = host.chat(chat("s", text)).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = chat.next().await {
        events.push(event);
    }
    chat.ended().await;
    host.stop().await;
    let answer = events.iter().find_map(|event| match &event.kind {
        orlop_app::EventKind::Final { messages, .. } => Some(messages.last()?.text().to_owned()),
        _ => None,
    });
    results(&events).into_iter().chain(answer).collect()
}

#[tokio::test]
async fn a_command_before_a_tool_blocks_with_exit_code_two() {
    let calls = [("c1", "deploy", json!({ "path": "site" })), ("c2", "look", json!({}))];
    let stage = Stage::calls(&calls).tool(echo("deploy")).tool(echo("look"));
    // It reads what it is told, and blocks one of the tools.
    let script = r#"grep -q '"file_path":"site"' && echo "not on a Friday" >&2 && exit 2"#;
    let stage = with_hooks(stage, json!({ "PreToolUse": command("deploy|ship", script) }));
    let told = asked(&stage, "go").await;
    assert!(told[0].contains("not on a Friday"), "{told:?}");
    assert!(!told[1].contains("Friday") && told[2] == "done", "{told:?}");
}

#[tokio::test]
async fn a_command_may_answer_in_json_and_a_failing_one_stops_nothing() {
    let deny = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "by decree",
    }});
    let more = json!({ "hookSpecificOutput": {
        "hookEventName": "PostToolUse", "additionalContext": "checked twice",
    }});
    let calls = [("c1", "deploy", json!({})), ("c2", "look", json!({}))];
    let stage = Stage::calls(&calls).tool(echo("deploy")).tool(echo("look"));
    let stage = with_hooks(
        stage,
        json!({
            "PreToolUse": [
                { "matcher": "deploy", "hooks": [{ "type": "command", "command": format!("echo '{deny}'") }] },
                { "matcher": "*", "hooks": [{ "type": "command", "command": "exit 7" }] },
            ],
            "PostToolUse": command("look", &format!("echo '{more}'")),
        }),
    );
    let told = asked(&stage, "go").await;
    assert!(told[0].contains("by decree"), "{told:?}");
    assert!(told[1].ends_with("checked twice"), "{told:?}");
}

#[tokio::test]
async fn commands_see_what_is_written_where_a_session_begins_and_where_a_request_ends() {
    let stage = Stage::says(&["one", "two"]);
    let stage = with_hooks(
        stage,
        json!({
            "SessionStart": command("", "echo the tide is low"),
            "UserPromptSubmit": command("", "grep -q secret && { echo 'no secrets here' >&2; exit 2; }; true"),
            "Stop": command("", "cat > \"$CLAUDE_PROJECT_DIR/ended.json\""),
        }),
    );
    assert_eq!(asked(&stage, "a secret").await, ["This was not sent (bundle): no secrets here"]);
    assert_eq!(stage.model.requests().len(), 0);
    assert_eq!(asked(&stage, "hello").await, ["one"]);
    let sent = format!("{:?}", stage.model.requests());
    assert!(sent.contains("the tide is low"), "{sent}");
    let ended: Value = serde_json::from_str(&stage.read("ended.json")).unwrap();
    assert_eq!((&ended["hook_event_name"], &ended["session_id"]), (&json!("Stop"), &json!("s")));
}

const MANIFEST: &str = r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "harbour.tools", "version": "1.2.0"}"#;

#[tokio::test]
async fn a_folder_of_the_agent_plugins_format_brings_skills_and_servers() {
    let stage = Stage::default();
    let servers = json!({
        "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
        "mcpServers": {
            "tides": { "type": "stdio", "command": "./bin/tides", "args": ["--data", "${PLUGIN_DATA}/t", "${env:HOME}"], "env": { "C": "${PLUGIN_ROOT}/c.json" } },
            "far": { "type": "streamable-http", "url": "https://tides.example.com/mcp" },
            "old": { "type": "sse", "url": "https://tides.example.com/sse" },
            "out": { "type": "stdio", "command": "../tides" },
            "plain": { "type": "streamable-http", "url": "http://tides.example.com/mcp" },
        },
    });
    let place = folder(
        &stage,
        &[
            ("plugin.json", MANIFEST),
            ("skills/moor/SKILL.md", "---\nname: moor\ndescription: Moors a ship.\n---\nTie it.\n"),
            ("mcp.json", &servers.to_string()),
            ("bin/tides", ""),
            (
                "hooks/hooks.json",
                &hooks(json!({ "Stop": command("", "true"), "PreCompact": command("", "true") })),
            ),
        ],
    );
    let package = Package::read(&place).unwrap();
    assert_eq!((package.name.as_str(), package.version.as_str()), ("harbour_tools", "1.2.0"));
    let Run::Bundle(bundle) = &package.run else { panic!("it has a program") };
    assert_eq!(bundle.in_words(), "1 skill, 2 MCP servers, 1 command");
    expect![[r#"
        MCP server old: HTTP with SSE is not spoken
        MCP server out: command must be a name, or a path in the package from ./
        MCP server plain: url must begin with https://, and have no user and no fragment
        hooks at PreCompact do not run: there is no such moment here"#]]
    .assert_eq(&bundle.problems.join("\n"));
    let asks = package.grants.in_words().join("\n");
    let root = place.canonicalize().unwrap().display().to_string();
    expect![[r#"
        run the MCP server tides: ROOT/bin/tides --data ${PLUGIN_DATA}/t ${env:HOME}
        use the MCP server far at https://tides.example.com/mcp
        run after requests: true"#]]
    .assert_eq(&asks.replace(&root, "ROOT"));

    let mut runtime = Runtime::new(env(&stage), stage.home());
    runtime.add(package, Map::new()).unwrap();
    assert_eq!(runtime.skill_folders(), [PathBuf::from(&root).join("skills")]);
    let servers = runtime.mcp_servers();
    let McpTransport::Command { command, env, cwd } = &servers[0].transport else { panic!() };
    let data = stage.home().join("plugin-data/harbour_tools").display().to_string();
    // What it writes is never filled in from the environment of the user.
    assert_eq!(command[1..], ["--data".to_owned(), format!("{data}/t"), "${env:HOME}".to_owned()]);
    assert_eq!((&env["C"], &env["PLUGIN_DATA"]), (&format!("{root}/c.json"), &data));
    assert_eq!(cwd.as_deref(), Some(PathBuf::from(&root).as_path()));
}

#[test]
fn a_folder_that_is_none_says_why() {
    let stage = Stage::default();
    for (manifest, told) in [
        (r#"{"name": "x"}"#, "$schema has to be"),
        (&*MANIFEST.replace("1.0.0/plugin", "9.0.0/plugin"), "$schema has to be"),
        (&*MANIFEST.replace("harbour.tools", "Harbour"), "lower-case letters"),
        (&*MANIFEST.replace("harbour.tools", "a--b"), "lower-case letters"),
        (MANIFEST, "neither skills nor MCP servers nor hooks"),
        ("{", "no JSON"),
    ] {
        let place = folder(&stage, &[("plugin.json", manifest)]);
        let error = Package::read(&place).unwrap_err();
        assert!(error.message().contains(told), "{error}");
    }
}
