//! Host plugins around tool calls: rewriting inputs, refusing, asking a person, replacing results.

use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::hooks::ToolGate;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;

/// A plugin of this priority that logs the input of each call and answers like that.
fn gate(
    name: &'static str,
    priority: i64,
    log: &Log,
    decide: impl Fn(&Value) -> ToolGate + Send + Sync + 'static,
) -> ScriptedHost {
    let log = log.clone();
    ScriptedHost::with_manifest(Manifest::host(name, "1.0.0").priority(priority)).before_tool_call(
        move |call, _| {
            log.add(format!("{name}: {} {} {}", call.call_id, call.tool_name, call.input));
            let decision = decide(&call.input);
            async { Ok(decision) }
        },
    )
}

/// A tool `read` that logs what it is run with and answers with it.
fn read(log: &Log) -> ScriptedTool {
    let log = log.clone();
    ScriptedTool::new("read").offering(&["read"]).execute_tool(move |input, _| {
        log.add(format!("run {}", input.payload));
        Ok(ToolReport::ok(json!(input.payload.to_string())))
    })
}

/// A scene whose model calls `read` once and then says `done`.
fn calling(log: &Log) -> Scene {
    let scene = Scene::default().tool(read(log));
    call_once(&scene);
    scene
}

fn call_once(scene: &Scene) {
    scene
        .provider
        .reply(ScriptedReply::calls(&[("c1", "read", json!({"n": 1}))]))
        .reply(ScriptedReply::text(&["done"]));
}

#[tokio::test] // C-65
async fn rewrites_chain_from_high_to_low_priority() {
    for stream in [false, true] {
        let log = Log::new();
        let scene = calling(&log)
            .host(gate("times", 0, &log, |input| {
                ToolGate::Rewrite(json!({"n": input["n"].as_i64().unwrap() * 10}))
            }))
            .host(gate("plus", 5, &log, |input| {
                ToolGate::Rewrite(json!({"n": input["n"].as_i64().unwrap() + 1}))
            }))
            .host(gate("last", -5, &log, |_| ToolGate::Allow));
        let (host, failures) = open_door(&scene).await;
        chat_to_end(&host, chat_with("s", "go", stream)).await;
        let expected = expect![[r#"
            plus: c1 read {"n":1}
            times: c1 read {"n":2}
            last: c1 read {"n":20}
            run {"n":20}"#]];
        expected.assert_eq(&log.lines().join("\n"));
        assert_eq!(said(host.app(), "s").await, r#"go||{"n":20}|done"#);
        assert_eq!(failures.text(), "");
    }
}

#[tokio::test] // C-65
async fn the_first_refusal_wins_and_the_model_reads_why() {
    for stream in [false, true] {
        let log = Log::new();
        let scene = calling(&log)
            .host(gate("asking", 9, &log, |_| ToolGate::Ask("sure?".to_owned())))
            .host(gate("first", 5, &log, |_| ToolGate::Deny("not on Sundays".to_owned())))
            .host(gate("second", 0, &log, |_| ToolGate::Deny("never".to_owned())));
        let (host, _) = open_door(&scene).await;
        let events = chat_to_end(&host, chat_with("s", "go", stream)).await;
        // Neither the second one nor the tool nor a person was asked.
        assert_eq!(log.lines(), [r#"asking: c1 read {"n":1}"#, r#"first: c1 read {"n":1}"#]);
        assert!(!names(&events).contains("approval"), "{}", names(&events));
        let (items, _) = scene.provider.requests().pop().unwrap();
        let answer = items.iter().find(|item| item.get("answers").is_some()).unwrap();
        assert_eq!(answer.get("answers").unwrap(), "c1");
        let text = answer.get("say").unwrap().as_str().unwrap().to_owned();
        assert!(text.contains("not on Sundays"), "{text}");
        assert!(text.to_lowercase().contains("error"), "{text}");
        assert!(said(host.app(), "s").await.ends_with("|done"));
    }
}

#[tokio::test] // C-65
async fn asking_leads_to_an_approval() {
    for (allow, ran) in [(true, true), (false, false)] {
        let log = Log::new();
        let scene = calling(&log)
            .host(gate("careful", 5, &log, |_| ToolGate::Ask("it is Sunday".to_owned())))
            .host(gate("after", 0, &log, |_| ToolGate::Allow));
        let (host, _) = open_door(&scene).await;
        let mut chat = host.chat(chat_with("s", "go", true)).await.unwrap();
        let asked = loop {
            let event = chat.next().await.unwrap();
            if let EventKind::ApprovalRequested { call_id, name, reason, choices, .. } = &event.kind
            {
                break format!("{call_id} {name} {reason} {choices:?}");
            }
        };
        expect![[r#"c1 read it is Sunday ["allow", "deny"]"#]].assert_eq(&asked);
        assert!(!log.text().contains("run"), "it waits");
        let decision = Decision {
            allow,
            reason: Some("ask me tomorrow".to_owned()),
            by: "ana".to_owned(),
            ..Decision::default()
        };
        host.app().decide(&chat.request_id, "c1", decision).await.unwrap();
        let mut rest = Vec::new();
        while let Some(event) = chat.next().await {
            rest.push(event);
        }
        chat.ended().await;
        assert!(names(&rest).starts_with("approval_resolved"), "{}", names(&rest));
        assert_eq!(log.text().contains("run"), ran);
        let said = said(host.app(), "s").await;
        assert_eq!(said.contains("ask me tomorrow"), !ran, "{said}");
        assert!(said.ends_with("|done"), "{said}");
    }
}

#[tokio::test] // C-65
async fn where_nobody_can_be_asked_the_request_says_what_becomes_of_it() {
    for (approval, ran) in [(Approval::Allow, true), (Approval::Deny, false)] {
        let log = Log::new();
        let scene =
            calling(&log).host(gate("careful", 5, &log, |_| ToolGate::Ask("sure?".to_owned())));
        let (host, _) = open_door(&scene).await;
        let request = ChatRequest { approval, ..chat_with("s", "go", false) };
        chat_to_end(&host, request).await;
        assert_eq!(log.text().contains("run"), ran, "{approval:?}");
    }
}

/// A plugin that marks each result.
fn marking(name: &'static str, priority: i64, log: &Log) -> ScriptedHost {
    let log = log.clone();
    ScriptedHost::with_manifest(Manifest::host(name, "1.0.0").priority(priority)).after_tool_call(
        move |info, _| {
            let failed = if info.failed { "failed" } else { "ok" };
            log.add(format!("{name}: {} {} {failed} {}", info.call_id, info.input, info.result));
            let text = format!("{}+{name}", info.result);
            async move { Ok((name != "silent").then_some(text)) }
        },
    )
}

#[tokio::test] // C-65
async fn results_are_replaced_one_after_another() {
    for stream in [false, true] {
        let log = Log::new();
        let scene = calling(&log)
            .host(marking("late", 0, &log))
            .host(marking("silent", 3, &log))
            .host(marking("early", 5, &log));
        let (host, _) = open_door(&scene).await;
        chat_to_end(&host, chat_with("s", "go", stream)).await;
        expect![[r#"
            run {"n":1}
            early: c1 {"n":1} ok {"n":1}
            silent: c1 {"n":1} ok {"n":1}+early
            late: c1 {"n":1} ok {"n":1}+early"#]]
        .assert_eq(&log.lines().join("\n"));
        assert_eq!(said(host.app(), "s").await, r#"go||{"n":1}+early+late|done"#);
        assert_eq!(scene.provider.last_request(), r#"go||{"n":1}+early+late"#);
    }
}

#[tokio::test] // C-65
async fn a_failed_call_is_told_as_failed() {
    let log = Log::new();
    let tool = ScriptedTool::new("read")
        .offering(&["read"])
        .execute_tool(|_, _| Ok(ToolReport::failed("no such file")));
    let scene = Scene::default().tool(tool).host(marking("hide", 0, &log));
    call_once(&scene);
    let (host, _) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "go", true)).await;
    expect![[r#"hide: c1 {"n":1} failed no such file"#]].assert_eq(&log.text());
}

#[tokio::test] // C-62, C-65
async fn hooks_reach_tool_calls_of_requests_that_plugins_send() {
    let log = Log::new();
    let delegate = ScriptedApplication::new("team")
        .actions(vec![ActionDefinition::new("delegate", "Delegate"), at("request_prepare")])
        .execute_action(|_, cx| async move {
            let app = Application::of(&cx)?;
            // The delegated request prepares too, and must not delegate again.
            if cx.session().is_some_and(|session| session.id() == "sub") {
                return Ok(ActionResult::default());
            }
            app.send_request(ask("sub", "go")).await?.finish().await?;
            Ok(ActionResult::default())
        });
    let scene = calling(&log)
        .application(delegate)
        .host(gate("guard", 0, &log, |_| ToolGate::Deny("not you".to_owned())))
        .host(marking("mark", 0, &log));
    let (host, _) = open_door(&scene).await;
    // By hand.
    let call = ActionCall::new("team", "delegate");
    host.app().execute_action(call, None).await.unwrap();
    assert_eq!(log.take(), [r#"guard: c1 read {"n":1}"#]);
    assert!(said(host.app(), "sub").await.contains("not you"));
    // In the middle of another request.
    call_once(&scene);
    scene.provider.reply(ScriptedReply::text(&["outer"]));
    chat_to_end(&host, chat_with("s", "hi", true)).await;
    assert_eq!(log.take(), [r#"guard: c1 read {"n":1}"#]);
    assert_eq!(said(host.app(), "s").await, "hi|outer");
}

#[tokio::test] // C-65, L-25
async fn a_critical_plugin_that_cannot_check_a_call_refuses_it() {
    for (manifest, runs) in [
        (Manifest::host("guard", "1.0.0"), true),
        (Manifest::host("guard", "1.0.0").critical(), false),
    ] {
        let log = Log::new();
        let guard = ScriptedHost::with_manifest(manifest)
            .before_tool_call(|_, _| async { Err(Error::unavailable("no rules")) });
        let scene = calling(&log).host(guard);
        let (host, failures) = open_door(&scene).await;
        chat_to_end(&host, chat_with("s", "go", true)).await;
        assert_eq!(log.lines().len(), usize::from(runs));
        let refused = "this call was not allowed: plugin \"guard\" could not check it";
        assert_eq!(said(host.app(), "s").await.contains(refused), !runs);
        assert!(failures.text().contains("guard"));
    }
}

#[tokio::test] // C-65
async fn a_person_is_shown_what_would_run() {
    let log = Log::new();
    let scene = calling(&log)
        .host(gate("rewrite", 5, &log, |_| ToolGate::Rewrite(json!({"n": 7}))))
        .host(gate("ask", 0, &log, |_| ToolGate::Ask("look at it".into())));
    let (host, _) = open_door(&scene).await;
    let mut chat = host.chat(chat_with("s", "go", true)).await.unwrap();
    while let Some(event) = chat.next().await {
        if let EventKind::ApprovalRequested { call_id, input, .. } = &event.kind {
            assert_eq!(*input, json!({"n": 7}));
            let yes = Decision { allow: true, by: "test".into(), ..Decision::default() };
            host.app().decide(&chat.request_id, call_id, yes).await.unwrap();
        }
    }
    assert_eq!(said(host.app(), "s").await, r#"go||{"n":7}|done"#);
}
