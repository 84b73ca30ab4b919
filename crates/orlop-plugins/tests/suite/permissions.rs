//! The feature `permissions` in whole turns: what runs, what is asked, what is remembered.

use crate::stage::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_plugins::{PermissionActions, Permissions};
use orlop_testkit::scripted::*;
use serde_json::json;

/// A tool with these annotations that tells its input.
fn tool(name: &'static str, annotations: Value) -> ScriptedTool {
    let schema = json!({ "name": name, "description": "x", "parameters": { "type": "object" }, "annotations": annotations });
    ScriptedTool::new(name)
        .get_tool_schemas(move |_, _| match schema.clone() {
            Value::Object(schema) => Ok(vec![schema]),
            _ => panic!(),
        })
        .execute_tool(|input, _| Ok(ToolReport::ok(json!(format!("ran {}", input.payload)))))
}

/// A shell, a tool that edits, one that reads, and one that says nothing of itself.
fn with_tools(stage: Stage) -> Stage {
    stage
        .tool(tool("shell", json!({ "access": "run", "command": "command" })))
        .tool(tool("write_file", json!({ "access": "edit", "path": "path" })))
        .tool(tool("read_file", json!({ "access": "read", "path": "path" })))
        .tool(tool("mcp__x__y", json!({})))
        .feature(Permissions)
        .application(PermissionActions)
}

fn runs(command: &str) -> (&'static str, &'static str, Value) {
    ("c1", "shell", json!({ "command": command }))
}

/// Sends a request; every question is answered with `decision`. Gives reasons with what was
/// offered, and what the model read.
async fn turn(app: &Application, session: &str, decision: Decision) -> String {
    let mut handle = app.send_request(ask(session, "go")).await.unwrap();
    let request = handle.request_id().to_owned();
    let mut told = Vec::new();
    while let Some(event) = handle.next().await {
        match &event.kind {
            EventKind::ApprovalRequested { call_id, reason, remember, .. } => {
                let rules: Vec<&str> = remember
                    .iter()
                    .filter(|offer| offer.scope == Remember::Session)
                    .map(|offer| &*offer.rule)
                    .collect();
                told.push(format!("asked: {reason} {rules:?}"));
                app.decide(&request, call_id, decision.clone()).await.unwrap();
            }
            EventKind::ToolResult { message, .. } => told.push(message.text().to_owned()),
            EventKind::RequestFailed { error } => told.push(error.to_string()),
            _ => {}
        }
    }
    told.join("\n")
}

fn yes(remember: Option<Remember>) -> Decision {
    Decision { allow: true, remember, by: "ana".to_owned(), ..Decision::default() }
}

fn again(stage: &Stage, call: (&str, &str, Value)) {
    stage.model.reply(ScriptedReply::calls(&[call])).reply(ScriptedReply::text(&["done"]));
}

async fn act(app: &Application, action: &str, session: Option<&str>, params: Value) -> Map {
    let Value::Object(params) = params else { panic!() };
    let call = ActionCall { plugin: "permissions".into(), action: action.into(), params };
    app.execute_action(call, session).await.unwrap()
}

#[tokio::test]
async fn reading_runs_changing_asks_and_what_is_denied_says_why() {
    let calls = [
        ("c1", "read_file", json!({ "path": "a" })),
        ("c2", "write_file", json!({ "path": "src/a" })),
        ("c3", "shell", json!({ "command": "ls && rm -rf x" })),
        ("c4", "mcp__x__y", json!({ "q": 1 })),
        ("c5", "read_file", json!({ "path": "/etc/passwd" })),
        ("c6", "shell", json!({ "command": "git push" })),
    ];
    let stage =
        with_tools(Stage::calls(&calls)).settings("permissions.deny = [\"shell(git push *)\"]");
    let app = stage.start().await;
    let no = Decision { reason: Some("not now".to_owned()), ..Decision::default() };
    // Results come in the order in which calls end.
    let told = turn(&app, "s", no).await;
    let mut told: Vec<&str> = told.lines().collect();
    told.sort();
    expect![[r#"
        Error: this call was not allowed: not now
        Error: this call was not allowed: not now
        Error: this call was not allowed: not now
        Error: this call was not allowed: not now
        Error: this call was not allowed: the rule shell(git push *) denies a part of it; do it in another way, or tell the user what you would need
        asked: `rm -rf x`: it is not on the list of commands that only look ["shell(rm -rf x)"]
        asked: it is not known what mcp__x__y does ["mcp__x__y"]
        asked: read_file: /etc/passwd is outside of the workspace ["read_file(/etc/passwd)"]
        asked: write_file: it changes src/a ["write_file(src/a)"]
        ran {"path":"a"}"#]].assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn a_decision_for_the_session_holds_in_it_and_in_its_forks_and_nowhere_else() {
    let stage = with_tools(Stage::calls(&[runs("git commit -m one")]));
    let app = stage.start().await;
    let first = turn(&app, "s", yes(Some(Remember::Session))).await;
    assert!(first.starts_with("asked: ") && first.contains("ran"), "{first}");
    again(&stage, runs("git commit -m two"));
    assert_eq!(turn(&app, "s", yes(None)).await, r#"ran {"command":"git commit -m two"}"#);
    again(&stage, runs("git commit -m three; git push"));
    assert!(turn(&app, "s", yes(None)).await.contains("[\"shell(git push)\"]"));
    let fork = app.fork_session("s", None, None).await.unwrap().session;
    again(&stage, runs("git commit -m four"));
    assert!(turn(&app, fork.id(), yes(None)).await.starts_with("ran"));
    again(&stage, runs("git commit -m five"));
    assert!(turn(&app, "other", yes(None)).await.starts_with("asked"));
}

#[tokio::test]
async fn a_decision_for_good_holds_in_all_sessions_of_the_user_until_it_is_forgotten() {
    let stage = with_tools(Stage::calls(&[runs("cargo test")]));
    let app = stage.start().await;
    turn(&app, "s", yes(Some(Remember::Always))).await;
    again(&stage, runs("cargo test --all"));
    assert!(turn(&app, "t", yes(None)).await.starts_with("ran"));
    // Nobody else has it.
    let other = app.for_scope(Scope::new("local", "bea").unwrap());
    again(&stage, runs("cargo test"));
    assert!(turn(&other, "u", yes(None)).await.starts_with("asked"));

    let listed = act(&app, "list_permissions", Some("t"), json!({})).await;
    assert_eq!(listed["message"], "mode ask\nallow shell(cargo test *) (always)");
    let forgot =
        act(&app, "forget_permission", None, json!({ "rule": "shell(cargo test *)" })).await;
    assert_eq!(forgot["message"], "forgot shell(cargo test *)");
    let unknown = act(&app, "forget_permission", Some("t"), json!({ "rule": "shell(x)" })).await;
    assert_eq!(unknown["status"], "noop");
    again(&stage, runs("cargo test"));
    assert!(turn(&app, "t", yes(None)).await.starts_with("asked"));
}

#[tokio::test]
async fn a_refusal_can_be_remembered_too() {
    let stage = with_tools(Stage::calls(&[runs("git push")]));
    let app = stage.start().await;
    let never = Decision { remember: Some(Remember::Session), ..Decision::default() };
    turn(&app, "s", never).await;
    again(&stage, runs("ls; git push"));
    let told = turn(&app, "s", yes(None)).await;
    assert!(
        told.starts_with("Error: this call was not allowed: the rule shell(git push) denies"),
        "{told}"
    );
}

#[tokio::test]
async fn the_mode_of_a_session_is_changed_by_an_action_even_while_a_question_is_open() {
    let calls = [
        ("c1", "write_file", json!({ "path": "a" })),
        ("c2", "write_file", json!({ "path": "b" })),
    ];
    let stage = with_tools(Stage::calls(&calls[..1]));
    let app = stage.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    let request = handle.request_id().to_owned();
    loop {
        let event = handle.next().await.unwrap();
        if let EventKind::ApprovalRequested { call_id, .. } = &event.kind {
            let set =
                act(&app, "set_permission_mode", Some("s"), json!({ "mode": "accept_edits" }))
                    .await;
            assert_eq!(set["mode"], "accept_edits");
            app.decide(&request, call_id, yes(None)).await.unwrap();
            break;
        }
    }
    handle.finish().await.unwrap();
    again(&stage, calls[1].clone());
    assert_eq!(turn(&app, "s", yes(None)).await, r#"ran {"path":"b"}"#);
    let wrong = ActionCall {
        plugin: "permissions".into(),
        action: "set_permission_mode".into(),
        params: Map::from_iter([("mode".to_owned(), json!("yolo"))]),
    };
    assert!(
        app.execute_action(wrong, Some("s")).await.unwrap_err().message().contains("accept_edits")
    );
}

#[tokio::test]
async fn overrides_of_a_session_change_its_mode() {
    let stage =
        with_tools(Stage::calls(&[runs("rm x")])).settings("permissions.mode = \"read_only\"");
    let app = stage.start().await;
    let told = turn(&app, "s", yes(None)).await;
    assert!(told.contains("the mode is read_only"), "{told}");
    let Value::Object(patch) = json!({ "overrides": { "permissions": { "mode": "all" } } }) else {
        panic!()
    };
    app.patch_session("s", patch).await.unwrap();
    again(&stage, runs("rm x"));
    assert!(turn(&app, "s", yes(None)).await.starts_with("ran"));
}

#[tokio::test]
async fn settings_that_cannot_be_read_stop_calls_and_say_so() {
    let stage =
        with_tools(Stage::calls(&[runs("ls")])).settings("permissions.deny = [\"shell(rm\"]");
    let app = stage.start().await;
    let told = turn(&app, "s", yes(None)).await;
    assert!(told.contains("is no rule of permissions"), "{told}");
    let wrong = with_tools(Stage::says(&["x"])).settings("permissions.mode = \"yolo\"");
    assert!(wrong.try_start().await.is_err());
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_nothing_to_ask_about() {
    let stage = with_tools(Stage::calls(&[("c1", "nothing", json!({}))]));
    let app = stage.start().await;
    let told = turn(&app, "s", yes(None)).await;
    assert!(!told.contains("asked"), "{told}");
}

#[tokio::test]
async fn an_agent_without_the_feature_is_not_judged() {
    let stage = with_tools(Stage::calls(&[runs("rm x")])).settings("permissions.enabled = false");
    let app = stage.start().await;
    assert!(turn(&app, "s", yes(None)).await.starts_with("ran"));
}
