//! Work that is given to another agent.

use crate::stage::*;
use expect_test::expect;
use orlop_app::store::ListQuery;
use orlop_app::{Application, Approval, Decision, Event, EventKind, NewSession, Recovery, Request};
use orlop_core::Value;
use orlop_core::types::ToolReport;
use orlop_plugins::{Delegate, Permissions, SubSessions, Usage};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

/// Agent `default` delegates and says `done`; `helper` is another agent with the same model.
fn stage(calls: &[(&str, Value)]) -> Stage {
    let stage = Stage::default();
    let calls: Vec<_> = calls.iter().map(|(id, input)| (*id, "delegate", input.clone())).collect();
    stage.model.reply(ScriptedReply::calls(&calls));
    stage
        .tool(Delegate::default())
        .application(SubSessions)
        .more("[agents.helper]\nprovider = \"scripted\"\nmodel = \"m\"")
}

fn named(id: &str, session: &str) -> Request {
    Request { request_id: Some(id.to_owned()), ..ask(session, "go") }
}

async fn sessions(app: &Application, sub_sessions: bool) -> Vec<String> {
    let query = ListQuery { sub_sessions, ..ListQuery::default() };
    let page = app.list_sessions(&query).await.unwrap();
    let mut ids: Vec<String> = page.sessions.into_iter().map(|it| it.session_id).collect();
    ids.sort();
    ids
}

/// What the parts of a call tell: the events inside, as far inside as they are.
fn inside(events: &[Arc<Event>]) -> String {
    let inner = events.iter().filter_map(|event| event.passed_on());
    let mut names: Vec<String> = inner.map(|event| event.kind.name().to_owned()).collect();
    names.dedup();
    names.join(" ")
}

#[tokio::test]
async fn another_agent_works_in_a_session_of_its_own() {
    let stage = stage(&[("c1", json!({"agent": "helper", "task": "count", "context": "to 2"}))]);
    stage.model.reply(ScriptedReply::calls(&[("x", "one", json!({}))]));
    stage.model.reply(ScriptedReply::text(&["it is ", "two"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let stage = stage.tool(echo("one"));
    let app = stage.start().await;
    let events = events_of(&app, named("r", "s")).await;
    assert_eq!(results(&events), ["it is two"]);
    assert_eq!(said(&app, "s").await, "go||it is two|done");
    expect!["request_started tool_call tool_result partial"].assert_eq(&inside(&events));
    let child = "r.1.c1";
    expect!["count\n\nWhat you should know:\nto 2||{}|it is two"]
        .assert_eq(&said(&app, child).await);
    assert_eq!(kept(&app, child, "agent_id").await, "helper");
    assert_eq!(kept(&app, child, "parent_session_id").await, "s");
    assert_eq!(sessions(&app, false).await, ["s"]);
    assert_eq!(sessions(&app, true).await, [child, "s"]);
    let fork = app.fork_session(child, None, Some("fork")).await.unwrap();
    assert_eq!(sessions(&app, false).await, ["fork", "s"]);
    drop(fork);
    app.delete_session("s", None).await.unwrap();
    assert_eq!(sessions(&app, true).await, ["fork"]);
}

#[tokio::test]
async fn orders_that_cannot_be_carried_out_are_told() {
    let stage = stage(&[("c1", json!({"agent": "nobody", "task": "t"}))]);
    stage.model.reply(ScriptedReply::text(&["done"]));
    let app = stage.start().await;
    expect![[r#"there is no agent "nobody" to give work to; there are: default, helper"#]]
        .assert_eq(&results(&events_of(&app, ask("s", "go")).await)[0]);
    expect![[r#"
        Error: tool "delegate" was not run, because its arguments do not fit its schema; correct them and call it again:
        - "task" is a required property"#]]
        .assert_eq(&run_call(&app, &stage.model, "delegate", json!({"agent": "helper"})).await);
    stage.model.reply(ScriptedReply::calls(&[("c", "delegate", json!({"task": "t"}))]));
    stage.model.reply(ScriptedReply::text(&[]).failing(orlop_core::Error::unavailable("no model")));
    stage.model.reply(ScriptedReply::text(&["done"]));
    expect![[r#"agent "default" failed: no model (plugin "scripted", hook stream_api)"#]]
        .assert_eq(&results(&events_of(&app, ask("s2", "go")).await)[0]);
}

#[tokio::test]
async fn work_is_passed_on_only_so_often_and_may_cost_only_so_much() {
    let again = || ScriptedReply::calls(&[("c", "delegate", json!({"task": "t"}))]);
    let stage = stage(&[("c", json!({"task": "t"}))]).settings("delegate = { depth = 1 }");
    stage.model.reply(again());
    for _ in 0..2 {
        stage.model.reply(ScriptedReply::text(&["done"]));
    }
    let app = stage.start().await;
    let events = events_of(&app, named("r", "s")).await;
    assert_eq!(results(&events), ["done"]);
    expect!["t||this work cannot be passed on any further; do it yourself|done"]
        .assert_eq(&said(&app, "r.1.c").await);

    let stage = Stage::default().tool(Delegate::default()).tool(echo("one"));
    stage.model.reply(again());
    for _ in 0..2 {
        stage.model.reply(ScriptedReply::calls(&[("x", "one", json!({}))]));
    }
    stage.model.reply(ScriptedReply::text(&["done"]));
    let app = stage.settings("delegate = { max_steps = 2 }").start().await;
    expect![[r#"agent "default" failed: the agent wanted more than 2 steps; raise max_steps, or ask for less at once"#]]
        .assert_eq(&results(&events_of(&app, ask("s", "go")).await)[0]);

    let stage = Stage::default().tool(Delegate::default()).application(SubSessions);
    let stage = stage.tool(echo("one"));
    stage.model.reply(again());
    let call =
        json!({"id": "x", "type": "function", "function": {"name": "one", "arguments": "{}"}});
    let spending = json!({"who": "assistant", "say": "", "calls": [call],
        "_metadata": {"usage": {"total_tokens": 1_500}}});
    stage.model.reply(ScriptedReply::items(vec![spending]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let app = stage.settings("delegate = { max_tokens = 1000 }").start().await;
    expect![[r#"agent "default" failed: this task used 1500 of 1000 tokens (delegate.max_tokens) and was not done (plugin "delegate", hook execute_action)"#]]
        .assert_eq(&results(&events_of(&app, ask("s", "go")).await)[0]);
}

#[tokio::test]
async fn a_task_may_cost_only_so_many_dollars() {
    let price = "usage.price = { input = 1000, output = 1000 }";
    let unpriced = "delegate.max_cost cannot be kept, because no price is known for model \"m\"; set usage.price";
    for (settings, told) in [
        (
            format!("delegate.max_cost = 1.0\n{price}"),
            "this task cost $1.5000 of $1.0000 (delegate.max_cost)",
        ),
        (format!("delegate.max_cost = 2.0\n{price}"), "done"),
        ("delegate.max_cost = 1.0".to_owned(), unpriced),
    ] {
        let stage = Stage::default().tool(Delegate::default()).application(SubSessions);
        let stage = stage.tool(echo("one")).feature(Usage::default());
        stage.model.reply(ScriptedReply::calls(&[("c", "delegate", json!({"task": "t"}))]));
        let call =
            json!({"id": "x", "type": "function", "function": {"name": "one", "arguments": "{}"}});
        let spending = json!({"who": "assistant", "say": "", "calls": [call],
            "_metadata": {"usage": {"input_tokens": 1_000, "output_tokens": 500}}});
        stage.model.reply(ScriptedReply::items(vec![spending]));
        stage.model.reply(ScriptedReply::text(&["done"]));
        stage.model.reply(ScriptedReply::text(&["done"]));
        let app = stage.settings(&settings).start().await;
        let result = results(&events_of(&app, ask("s", "go")).await).remove(0);
        assert!(result.contains(told), "{settings}: {result}");
    }
}

#[tokio::test]
async fn what_was_decided_for_the_session_holds_inside() {
    for (kept, approval, runs) in [
        (json!({}), Approval::Deny, false),
        (json!({"allow": ["one"]}), Approval::Deny, true),
        (json!({"deny": ["one"]}), Approval::Allow, false),
        (json!({"mode": "all"}), Approval::Deny, false),
    ] {
        let log = Log::new();
        let ran = log.clone();
        let tool = echo("one").execute_tool(move |_, _| {
            ran.add("ran");
            Ok(ToolReport::ok("ran"))
        });
        // Two levels of tasks below the session in which a person decided.
        let stage = Stage::default().tool(Delegate::default()).tool(tool).feature(Permissions);
        for _ in 0..2 {
            stage.model.reply(ScriptedReply::calls(&[("c", "delegate", json!({"task": "t"}))]));
        }
        stage.model.reply(ScriptedReply::calls(&[("x", "one", json!({}))]));
        for _ in 0..3 {
            stage.model.reply(ScriptedReply::text(&["done"]));
        }
        let app = stage.start().await;
        let new = NewSession { id: Some("s".to_owned()), ..NewSession::default() };
        app.create_session(new).await.unwrap();
        app.set_plugin_state("s", "permissions", 0, Some(kept.clone())).await.unwrap();
        events_of(&app, Request { approval, ..ask("s", "go") }).await;
        assert_eq!(log.count("ran") == 1, runs, "{kept}");
    }
}

/// A tool that asks before it runs.
fn careful(log: &Log) -> ScriptedTool {
    let (log, schema) = (
        log.clone(),
        json!({"name": "rm", "description": "removes",
        "parameters": {"type": "object"}, "annotations": {"approval": "ask"}}),
    );
    let schema = schema.as_object().cloned().unwrap();
    ScriptedTool::new("rm").get_tool_schemas(move |_, _| Ok(vec![schema.clone()])).execute_tool(
        move |_, _| {
            log.add("removed");
            Ok(ToolReport::ok("removed"))
        },
    )
}

#[tokio::test]
async fn what_asks_inside_reaches_the_person_outside() {
    let log = Log::new();
    let stage = stage(&[("c1", json!({"task": "clean"}))]);
    stage.model.reply(ScriptedReply::calls(&[("x", "rm", json!({}))]));
    stage.model.reply(ScriptedReply::text(&["clean"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let stage = stage.tool(careful(&log));
    let app = stage.start().await;
    let mut handle = app.send_request(named("r", "s")).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        let inner = event.passed_on();
        if let Some(EventKind::ApprovalRequested { call_id, .. }) =
            inner.as_ref().map(|it| &it.kind)
        {
            let request = inner.as_ref().unwrap().request_id.clone().unwrap();
            assert_eq!((request.as_str(), log.text().as_str()), ("r.1.c1", ""));
            let decision = Decision { allow: true, by: "ana".to_owned(), ..Decision::default() };
            app.decide(&request, call_id, decision).await.unwrap();
        }
        events.push(event);
    }
    assert_eq!((results(&events), log.text().as_str()), (vec!["clean".to_owned()], "removed"));

    stage.model.reply(ScriptedReply::calls(&[("c1", "delegate", json!({"task": "clean"}))]));
    stage.model.reply(ScriptedReply::calls(&[("x", "rm", json!({}))]));
    stage.model.reply(ScriptedReply::text(&["could not"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let request = Request { approval: Approval::Deny, ..named("r2", "s2") };
    assert_eq!(results(&events_of(&app, request).await), ["could not"]);
    assert_eq!(log.count("removed"), 1, "who asks nobody asks nobody inside");
}

#[tokio::test]
async fn cancelling_reaches_inside() {
    let gate = Gate::new();
    let stage = stage(&[("c1", json!({"task": "wait"}))]);
    stage.model.reply(ScriptedReply::text(&["hm"]).waiting_for(&gate));
    let app = stage.start().await;
    let mut handle = app.send_request(named("r", "s")).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        if matches!(event.passed_on().map(|it| it.kind), Some(EventKind::Partial { .. })) {
            handle.cancel("enough").await.unwrap();
        }
        events.push(event);
    }
    assert!(names(&events).ends_with("request_cancelled"), "{}", names(&events));
    let mut inner = app.request_events("r.1.c1", 0).await.unwrap();
    let mut last = String::new();
    while let Some(event) = futures::StreamExt::next(&mut inner).await {
        last = serde_json::to_value(&event.kind).unwrap().to_string();
    }
    expect![[r#"{"type":"request_cancelled","reason":"the request it worked for was cancelled"}"#]]
        .assert_eq(&last);
}

#[tokio::test]
async fn tasks_run_side_by_side_but_not_all_at_once() {
    let (gate, task) = (Gate::new(), json!({"task": "t"}));
    let calls = [("a", task.clone()), ("b", task.clone()), ("c", task)];
    let stage = stage(&calls).settings("delegate = { at_once = 2 }");
    stage.model.reply(ScriptedReply::text(&["1"]).waiting_for(&gate));
    stage.model.reply(ScriptedReply::text(&["2"]).waiting_for(&gate));
    stage.model.reply(ScriptedReply::text(&["3"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let app = stage.start().await;
    let mut handle = app.send_request(named("r", "s")).await.unwrap();
    let (mut begun, mut at_gate) = (0, 0);
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        match event.passed_on().map(|inner| inner.kind) {
            Some(EventKind::RequestStarted { .. }) => begun += 1,
            Some(EventKind::Partial { .. }) => {
                at_gate += 1;
                if at_gate == 2 {
                    assert_eq!(begun, 2, "the third waits for a place");
                    gate.open();
                }
            }
            _ => {}
        }
        events.push(event);
    }
    assert_eq!(results(&events).len(), 3);
    assert_eq!(begun, 3);
}

#[test]
fn a_task_that_was_cut_off_goes_on_where_it_was() {
    let gate = Gate::new();
    let stage = stage(&[("c1", json!({"task": "think"}))]);
    stage.model.reply(ScriptedReply::text(&["half"]).waiting_for(&gate));
    let first = process();
    first.block_on(async {
        let app = stage.start().await;
        let mut handle = app.send_request(named("r", "s")).await.unwrap();
        while let Some(event) = handle.next().await {
            if matches!(event.passed_on().map(|it| it.kind), Some(EventKind::Partial { .. })) {
                break;
            }
        }
    });
    drop(first);
    stage.model.reply(ScriptedReply::text(&["whole"]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    process().block_on(async {
        let app = stage.start().await;
        bury(&stage.store, "s").await;
        bury(&stage.store, "r.1.c1").await;
        assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 2);
        let mut events = app.request_events("r", 0).await.unwrap();
        while futures::StreamExt::next(&mut events).await.is_some() {}
        assert_eq!(said(&app, "r.1.c1").await, "think|whole");
        assert_eq!(said(&app, "s").await, "go||whole|done");
    });
}
