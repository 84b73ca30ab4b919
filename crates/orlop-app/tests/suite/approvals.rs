//! Tool calls that a person decides on: the turn waits, wherever and however long.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::store::{Acquired, Store};
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A tool that asks before it runs, and logs its input when it does.
fn careful(log: &Log) -> AsyncTool {
    let log = log.clone();
    AsyncTool::new("rm", json!({"approval": "ask"}), move |input, _| {
        log.add(input.payload.to_string());
        async move { Ok(ToolReport::ok(format!("removed {}", input.payload))) }
    })
}

/// The model calls the tool once for each id, then says `end`.
fn scene(log: &Log, ids: &[&str]) -> Scene {
    let mut scene = Scene::default();
    scene.plugins = scene.plugins.tool(Arc::new(careful(log)));
    let calls: Vec<_> = ids.iter().map(|id| (*id, "rm", json!({"of": id}))).collect();
    scene.provider.reply(ScriptedReply::calls(&calls)).reply(ScriptedReply::text(&["end"]));
    scene
}

fn request() -> Request {
    Request { request_id: Some("r".to_owned()), ..ask("s", "go") }
}

fn allow() -> Decision {
    Decision { allow: true, by: "ana".to_owned(), ..Decision::default() }
}

fn deny(reason: &str) -> Decision {
    let reason = Some(reason.to_owned());
    Decision { allow: false, reason, by: "ana".to_owned(), ..Decision::default() }
}

#[tokio::test]
async fn a_call_runs_when_it_is_allowed() {
    let log = Log::new();
    let app = scene(&log, &["a"]).start().await;
    let mut handle = app.send_request(request()).await.unwrap();
    let asked = until(&mut handle, "approval_requested").await;
    let EventKind::ApprovalRequested { call_id, name, choices, .. } = &asked.kind else { panic!() };
    assert_eq!((&**call_id, &**name, choices.join(" ").as_str()), ("a", "rm", "allow deny"));
    assert_eq!(log.text(), "", "it has not run");

    let unknown = app.decide("r", "z", allow()).await.unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
    let nowhere = app.decide("other", "a", allow()).await.unwrap_err();
    assert_eq!(nowhere.class(), ErrorClass::NotFound);
    app.decide("r", "a", allow()).await.unwrap();
    assert_eq!(rest(handle).await, "approval_resolved tool_result partial final");
    assert_eq!(log.text(), r#"{"of":"a"}"#);
    assert_eq!(said(&app, "s").await, r#"go||removed {"of":"a"}|end"#);
    app.acquire_session_lock("s").await.unwrap().release().await;
    let late = app.decide("r", "a", allow()).await.unwrap_err();
    assert_eq!(late.class(), ErrorClass::NotFound, "{late}");
}

#[tokio::test]
async fn a_call_that_is_refused_does_not_run_and_the_model_reads_why() {
    let log = Log::new();
    let app = scene(&log, &["a"]).start().await;
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    app.decide("r", "a", deny("not this one")).await.unwrap();
    assert_eq!(rest(handle).await, "approval_resolved tool_result partial final");
    assert_eq!(log.text(), "");
    let expected = "go||Error: this call was not allowed: not this one|end";
    assert_eq!(said(&app, "s").await, expected);
}

#[tokio::test]
async fn a_call_may_be_allowed_with_another_input() {
    let log = Log::new();
    let app = scene(&log, &["a"]).start().await;
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    let decision = Decision { input: Some(json!({"of": "less"})), ..allow() };
    app.decide("r", "a", decision).await.unwrap();
    let resolved = until(&mut handle, "approval_resolved").await;
    let EventKind::ApprovalResolved { decision, by, .. } = &resolved.kind else { panic!() };
    assert_eq!((&**decision, &**by), ("allow", "ana"));
    rest(handle).await;
    assert_eq!(log.text(), r#"{"of":"less"}"#);
}

#[tokio::test]
async fn a_second_decision_is_a_conflict() {
    let log = Log::new();
    let app = scene(&log, &["a", "b"]).start().await;
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    until(&mut handle, "approval_requested").await;
    app.decide("r", "b", allow()).await.unwrap();
    let again = app.decide("r", "b", deny("too late")).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::Conflict);
    app.decide("r", "a", allow()).await.unwrap();
    assert!(rest(handle).await.ends_with("final"));
    assert_eq!(log.lines(), [r#"{"of":"a"}"#, r#"{"of":"b"}"#], "in the order of the calls");
}

#[tokio::test] // I-21
async fn cancelling_while_a_person_is_asked_leaves_a_session_that_works() {
    let log = Log::new();
    let scene = scene(&log, &["a"]);
    let app = scene.start().await;
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    handle.cancel("never mind").await.unwrap();
    assert_eq!(rest(handle).await, "tool_result request_cancelled");
    assert!(said(&app, "s").await.ends_with("this call was not run; the request ended before"));
    assert!(talk(&app, "s", "go on").await.ends_with("go on|end"));
    assert_eq!(log.text(), "");
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_request_says_what_holds() {
    for (approval, runs) in [(Approval::Allow, 1), (Approval::Deny, 0)] {
        let log = Log::new();
        let app = scene(&log, &["a"]).start().await;
        let events = events_of(&app, Request { approval, ..request() }).await;
        assert!(
            names(&events).ends_with("tool_call tool_result partial final"),
            "{}",
            names(&events)
        );
        assert_eq!(log.lines().len(), runs);
    }
}

#[tokio::test]
async fn plugins_decide_before_a_person_is_asked() {
    for (answer, ran, asked) in [
        (json!({"decision": "allow"}), r#"{"of":"a"}"#, false),
        (json!({"decision": "allow", "input": {"of": "b"}}), r#"{"of":"b"}"#, false),
        (json!({"decision": "deny", "reason": "no"}), "", false),
        (json!({"decision": "ask", "reason": "hm"}), r#"{"of":"a"}"#, true),
    ] {
        let log = Log::new();
        let public = map(answer.clone());
        let gate = core_recorder(&Log::new(), &["permission"], move |_, cx| {
            assert_eq!(cx.get("tool_call").unwrap()["name"], "rm");
            Ok(ActionResult { public: public.clone(), ..ActionResult::default() })
        });
        let app = scene(&log, &["a"]).feature(gate).start().await;
        let mut handle = app.send_request(request()).await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = handle.next().await {
            if event.kind.name() == "approval_requested" {
                app.decide("r", "a", allow()).await.unwrap();
            }
            events.push(event);
        }
        assert_eq!(log.text(), ran, "{answer}");
        assert_eq!(names(&events).contains("approval_requested"), asked, "{answer}");
    }
}

#[tokio::test]
async fn another_process_decides_through_the_store_as_often_as_it_likes() {
    let log = Log::new();
    let scene = scene(&log, &["a", "b"]);
    let (app, other) = (scene.start().await, scene.start().await);
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    until(&mut handle, "approval_requested").await;
    // Both are there when the turn looks.
    other.decide("r", "a", allow()).await.unwrap();
    other.decide("r", "b", deny("enough")).await.unwrap();
    assert!(rest(handle).await.ends_with("final"));
    let said = said(&other, "s").await;
    assert!(said.contains("removed") && said.contains("not allowed: enough"), "{said}");
}

/// Frees a session whose process is gone, as its lease running out would.
async fn bury(store: &Arc<dyn Store>, session: &str) {
    let scope = Scope::local();
    let asked = store.acquire(&scope, session, "heir", Duration::from_secs(60)).await.unwrap();
    match asked {
        Acquired::Held { owner, .. } => {
            assert!(store.revoke(&scope, session, &owner).await.unwrap())
        }
        Acquired::Lease(lease) => store.release(&scope, &lease).await.unwrap(),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn an_approval_survives_the_process_that_asked_for_it() {
    let log = Log::new();
    let scene = scene(&log, &["a"]);
    let first = runtime();
    first.block_on(async {
        let app = scene.start().await;
        let mut handle = app.send_request(request()).await.unwrap();
        until(&mut handle, "approval_requested").await;
    });
    // The process dies: nothing of it goes on, and nothing is tidied up.
    drop(first);
    runtime().block_on(async {
        let app = scene.start().await;
        bury(&scene.store, "s").await;
        assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 1);
        assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 0, "it is taken");
        app.decide("r", "a", allow()).await.unwrap();
        let mut events = app.request_events("r", 0).await.unwrap();
        let mut seen = Vec::new();
        while let Some(event) = futures::StreamExt::next(&mut events).await {
            seen.push(event);
        }
        assert_eq!(
            names(&seen).replace(" partial", ""),
            "session_created request_started tool_call approval_requested approval_resolved tool_result final"
        );
        assert_eq!(log.lines().len(), 1);
        assert_eq!(said(&app, "s").await, r#"go||removed {"of":"a"}|end"#);
        assert_eq!(scene.provider.requests().len(), 2, "the model is not asked again for the call");
    });
}

#[test]
fn who_may_be_asked_is_remembered_with_the_turn() {
    let (log, stop) = (Log::new(), Stop::default());
    let mut scene = Scene::default();
    let again = json!({"idempotent": true});
    scene.plugins = scene.plugins.tool(Arc::new(careful(&log)));
    scene.plugins = scene.plugins.tool(Arc::new(stopping("wait", again, &stop, &Log::new())));
    let call = |name: &str| ScriptedReply::calls(&[("c", name, json!({}))]);
    scene.provider.reply(call("wait")).reply(call("rm")).reply(ScriptedReply::text(&["end"]));
    let first = runtime();
    first.block_on(async {
        let app = scene.start().await;
        app.send_request(Request { approval: Approval::Deny, ..request() }).await.unwrap();
        stop.reached_by(1).await;
    });
    drop(first);
    runtime().block_on(async {
        let app = scene.start().await;
        bury(&scene.store, "s").await;
        stop.let_go(1);
        assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 1);
        let handle = app.send_request(request()).await.unwrap();
        handle.finish().await.unwrap();
        assert_eq!(log.text(), "", "nobody could be asked");
        assert!(said(&app, "s").await.ends_with("|end"));
    });
}

/// A feature that asks about every call, offers a rule for each scope, and logs what it is told.
fn remembering(log: &Log) -> ScriptedFeature {
    let log = log.clone();
    core_recorder(&Log::new(), &["permission", "permission_decided"], move |_, cx| {
        if let Some(decided) = cx.get("decision") {
            log.add(format!("{} {decided}", cx.get("tool_call").unwrap()["name"]));
            return Ok(ActionResult::unchanged());
        }
        let offers =
            json!([{"scope": "session", "rule": "rm(a)"}, {"scope": "always", "rule": "rm(*)"}]);
        let asks = json!({"decision": "ask", "reason": "hm", "remember": offers});
        Ok(ActionResult { public: map(asks), ..ActionResult::default() })
    })
}

#[tokio::test]
async fn a_decision_that_is_to_be_remembered_is_told_to_plugins_with_the_rules_that_were_offered() {
    let yes = |remember| Decision { remember, ..allow() };
    let other = Decision { input: Some(json!({"of": "less"})), ..yes(Some(Remember::Always)) };
    for (decision, expected) in [
        (yes(None), ""),
        (
            yes(Some(Remember::Session)),
            r#""rm" {"allow":true,"remember":"session","rules":["rm(a)"],"by":"ana"}"#,
        ),
        (
            Decision { remember: Some(Remember::Always), ..deny("no") },
            r#""rm" {"allow":false,"remember":"always","rules":["rm(*)"],"by":"ana"}"#,
        ),
        (other, ""),
    ] {
        let told = Log::new();
        let app = scene(&Log::new(), &["a"]).feature(remembering(&told)).start().await;
        let mut handle = app.send_request(request()).await.unwrap();
        let asked = until(&mut handle, "approval_requested").await;
        let EventKind::ApprovalRequested { remember, .. } = &asked.kind else { panic!() };
        assert_eq!(remember.len(), 2);
        app.decide("r", "a", decision.clone()).await.unwrap();
        let resolved = until(&mut handle, "approval_resolved").await;
        let EventKind::ApprovalResolved { remember, .. } = &resolved.kind else { panic!() };
        assert_eq!(remember, &decision.remember);
        rest(handle).await;
        assert_eq!(told.text(), expected);
    }
}

#[tokio::test]
async fn what_another_process_wants_remembered_arrives_with_its_decision() {
    let told = Log::new();
    let scene = scene(&Log::new(), &["a"]).feature(remembering(&told));
    let (app, other) = (scene.start().await, scene.start().await);
    let mut handle = app.send_request(request()).await.unwrap();
    until(&mut handle, "approval_requested").await;
    let always = Decision { remember: Some(Remember::Always), ..allow() };
    other.decide("r", "a", always).await.unwrap();
    assert!(rest(handle).await.ends_with("final"));
    assert!(told.text().contains(r#""remember":"always""#), "{}", told.text());
}
