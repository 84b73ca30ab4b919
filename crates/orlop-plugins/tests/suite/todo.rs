//! The plan that a user sees.

use crate::stage::*;
use expect_test::expect;
use orlop_core::Slice;
use orlop_plugins::{Todo, TodoReminder};
use orlop_testkit::scripted::*;
use serde_json::json;

fn plan(states: &[&str]) -> orlop_core::Value {
    let items: Vec<_> = states
        .iter()
        .enumerate()
        .map(|(index, state)| json!({"text": format!("step {}", index + 1), "status": state}))
        .collect();
    json!({ "items": items })
}

#[tokio::test]
async fn the_list_is_kept_with_the_session_and_shown() {
    let stage = Stage::calls(&[("c1", "todo", plan(&["completed", "in_progress", "pending"]))]);
    let app = stage.tool(Todo).start().await;
    let events = events_of(&app, ask("s", "go")).await;
    expect![[r#"
        1 of 3 completed:
        [x] step 1
        [>] step 2
        [ ] step 3"#]]
    .assert_eq(&results(&events)[0]);
    let display = events.iter().find_map(|event| match &event.kind {
        orlop_app::EventKind::ToolResult { message, .. } => message.metadata().get("display"),
        _ => None,
    });
    assert_eq!(display.unwrap()["items"][1], json!({"text": "step 2", "status": "in_progress"}));
    let preview = events.iter().find_map(|event| match &event.kind {
        orlop_app::EventKind::ToolCall { preview, .. } => Some(preview.clone()),
        _ => None,
    });
    assert_eq!(preview.unwrap(), "plan 1/3: step 2");
    assert_eq!(kept(&app, "s", "todo").await[2]["status"], "pending");
    assert_eq!(kept(&app, "s", "agent_id").await, "default");
}

#[tokio::test]
async fn a_list_that_makes_no_sense_is_refused_with_what_to_do() {
    let stage = Stage::default().tool(Todo);
    let app = stage.start().await;
    let long = json!({"items": [{"text": "x".repeat(301), "status": "pending"}]});
    let many = json!({"items": vec![json!({"text": "x", "status": "pending"}); 51]});
    for (arguments, expected) in [
        (
            plan(&["in_progress", "in_progress"]),
            expect![
                "2 items are in_progress; one at most may be, the others are pending or completed"
            ],
        ),
        (
            plan(&["done"]),
            expect![[r#"
                Error: tool "todo" was not run, because its arguments do not fit its schema; correct them and call it again:
                - /items/0/status: "done" is not one of "pending", "in_progress" or "completed""#]],
        ),
        (
            json!({"items": [{"status": "pending"}]}),
            expect![[r#"
                Error: tool "todo" was not run, because its arguments do not fit its schema; correct them and call it again:
                - /items/0: "text" is a required property"#]],
        ),
        (
            json!({}),
            expect![[r#"
            Error: tool "todo" was not run, because its arguments do not fit its schema; correct them and call it again:
            - "items" is a required property"#]],
        ),
        (
            json!("all"),
            expect![[r#"
            Error: tool "todo" was not run, because its arguments do not fit its schema; correct them and call it again:
            - "all" is not of type "object""#]],
        ),
        (long, expect!["item 1 is longer than 300 characters; say it in a few words"]),
        (
            many,
            expect![[r#"
            Error: tool "todo" was not run, because its arguments do not fit its schema; correct them and call it again:
            - /items: value has more than 50 items"#]],
        ),
    ] {
        expected.assert_eq(&run_call(&app, &stage.model, "todo", arguments).await);
    }
    assert_eq!(run_call(&app, &stage.model, "todo", plan(&[])).await, "The plan is empty now.");
}

#[tokio::test]
async fn a_plan_that_left_the_history_is_told_again_until_it_is_done() {
    let stage = Stage::calls(&[("c1", "todo", plan(&["completed", "pending"]))]);
    for _ in 0..3 {
        stage.model.reply(ScriptedReply::text(&["ok"]));
    }
    let stage = stage.tool(Todo).host(TodoReminder);
    let host = stage.open().await;
    chat_to_end(&host, chat("s", "go")).await;
    chat_to_end(&host, chat("s", "on")).await;
    assert!(!stage.model.last_request().contains("Your plan"), "the model sees its call");
    // As after a compaction: nothing of the call is left.
    host.app().slice_session("s", Slice::range(4, 6)).await.unwrap();
    chat_to_end(&host, chat("s", "and on")).await;
    expect![[r#"
        on|ok|Your plan so far (set it again with `todo` when it changes):
        [x] step 1
        [ ] step 2|and on"#]]
    .assert_eq(&stage.model.last_request());
    let done = plan(&["completed", "completed"])["items"].clone();
    let patch = orlop_core::Map::from_iter([("todo".to_owned(), done)]);
    host.app().patch_session("s", patch).await.unwrap();
    chat_to_end(&host, chat("s", "thanks")).await;
    assert!(!stage.model.last_request().contains("Your plan"));
}

#[tokio::test]
async fn a_request_that_is_not_stored_has_a_plan_too() {
    let stage = Stage::calls(&[("c1", "todo", plan(&["pending"]))]).tool(Todo);
    let app = stage.start().await;
    let request = orlop_app::Request { persist: Some(false), ..ask("s", "go") };
    assert_eq!(results(&events_of(&app, request).await), ["0 of 1 completed:\n[ ] step 1"]);
}
