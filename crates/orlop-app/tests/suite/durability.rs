//! What a killed process leaves, who goes on with it, and what nobody may see of it.

use crate::common::doubles::*;
use crate::common::*;
use futures::{FutureExt, StreamExt};
use orlop_app::store::{Acquired, CallsWrite, Commit, EventQuery, TurnWrite};
use orlop_app::turn::machine::{Again, Call, CallState, Outcome, Phase, Turn};
use orlop_app::*;
use orlop_core::types::{InspectedCall, ToolReport};
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn request(session: &str, text: &str) -> Request {
    Request { request_id: Some("r".to_owned()), ..ask(session, text) }
}

/// A tool that logs `name(input)` and answers at once.
fn logging(name: &'static str, log: &Log) -> AsyncTool {
    let log = log.clone();
    AsyncTool::new(name, json!({}), move |input, _| {
        log.add(format!("{name}({})", input.payload));
        async move { Ok(ToolReport::ok(format!("did {}", input.payload))) }
    })
}

fn with_tool(mut scene: Scene, tool: AsyncTool) -> Scene {
    scene.plugins = scene.plugins.tool(Arc::new(tool));
    scene
}

/// The types of the stored events of request `r`.
async fn told(scene: &Scene) -> String {
    let query = EventQuery { request: Some("r".to_owned()), ..EventQuery::default() };
    let events = scene.store.events(&Scope::local(), &query).await.unwrap();
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    names(&events)
}

// ---- tools side by side

#[tokio::test]
async fn tools_that_may_run_side_by_side_do_and_others_do_not() {
    for (together, annotations) in [(true, json!({"concurrent": true})), (false, json!({}))] {
        let (stop, log) = (Stop::default(), Log::new());
        let scene = with_tool(Scene::default(), stopping("t", annotations, &stop, &log));
        scene
            .provider
            .reply(ScriptedReply::calls(&[
                ("1", "t", json!({"n": 1})),
                ("2", "t", json!({"n": 2})),
            ]))
            .reply(ScriptedReply::text(&["end"]));
        let app = scene.start().await;
        let handle = app.send_request(ask("s", "go")).await.unwrap();
        if together {
            stop.reached_by(2).await;
            stop.let_go(2);
        } else {
            stop.reached_by(1).await;
            assert!(!stop.is_reached(), "the second waits for the first");
            assert_eq!(log.text(), r#"t{"n":1}"#);
            stop.let_go(1);
            stop.reached_by(1).await;
            stop.let_go(1);
        }
        handle.finish().await.unwrap();
        assert_eq!(log.text(), r#"t{"n":1} t{"n":2}"#);
        assert_eq!(said(&app, "s").await, r#"go||{"n":1}|{"n":2}|end"#);
    }
}

#[tokio::test]
async fn results_stand_in_the_order_of_the_calls_whoever_is_first() {
    let (slow, fast) = (Stop::default(), Stop::default());
    let beside = json!({"concurrent": true});
    let scene = with_tool(Scene::default(), stopping("slow", beside.clone(), &slow, &Log::new()));
    let scene = with_tool(scene, stopping("fast", beside, &fast, &Log::new()));
    scene
        .provider
        .reply(ScriptedReply::calls(&[
            ("1", "slow", json!({"s": 1})),
            ("2", "fast", json!({"f": 2})),
        ]))
        .reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    slow.reached_by(1).await;
    fast.let_go(1);
    let first = until(&mut handle, "tool_result").await;
    let EventKind::ToolResult { call_id, .. } = &first.kind else { panic!() };
    assert_eq!(call_id, "2");
    slow.let_go(1);
    handle.finish().await.unwrap();
    assert_eq!(said(&app, "s").await, r#"go||{"s":1}|{"f":2}|end"#);
}

// ---- recovery

fn call(id: &str, name: &str, state: CallState) -> Call {
    let call = InspectedCall {
        call_id: Some(id.to_owned()),
        tool_name: Some(name.to_owned()),
        payload: json!(id),
        ..InspectedCall::default()
    };
    Call { id: id.to_owned(), call, idempotent: false, concurrent: false, state }
}

/// Leaves a turn behind as a killed process does: stored, not settled, and nobody has the session.
async fn abandon(scene: &Scene, phase: Phase) {
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    app.add_message("s", Message::user("go"), None).await.unwrap();
    let mut step = 0;
    if let Phase::Tools { calls } = &phase {
        step = 1;
        let calls: Vec<_> = calls
            .iter()
            .map(|call| {
                json!({"id": call.id, "type": "function", "function": {
                "name": call.call.tool_name, "arguments": call.call.payload.to_string()}})
            })
            .collect();
        let message = Message::assistant("").with_metadata_entry("tool_calls", calls);
        app.add_message("s", message, None).await.unwrap();
    }
    let turn = Turn {
        agent: "default".to_owned(),
        overrides: Map::new(),
        context: map(json!({"theme": "dark"})),
        asked: None,
        preface: Vec::new(),
        instructions: None,
        stream: true,
        approval: Approval::Wait,
        first_message: 0,
        step,
        max_steps: 5,
        usage: Map::new(),
        caller_tools: Vec::new(),
        tool_calls_left: None,
        caller_calls: Vec::new(),
        again: Again::default(),
        phase,
    };
    let (scope, time) = (Scope::local(), Duration::from_secs(60));
    let acquired = scene.store.acquire(&scope, "s", "dead", time).await.unwrap();
    let Acquired::Lease(lease) = acquired else { panic!("{acquired:?}") };
    let mut commit = Commit::new(lease.clone());
    let state = serde_json::to_value(turn).unwrap();
    let (request, calls) = ("r".to_owned(), CallsWrite::default());
    commit.turn = Some(TurnWrite { request, new: true, state, calls, settled: false });
    scene.store.commit(&scope, commit).await.unwrap();
    scene.store.release(&scope, &lease).await.unwrap();
}

/// A step with a call that is done, two that were running, and one that was not begun.
fn tools_phase() -> Phase {
    let done = CallState::Done {
        message: closed_tool_message(&call("a", "t", CallState::Ready).call, "did a"),
    };
    let again = Call { idempotent: true, concurrent: true, ..call("b", "t", CallState::Running) };
    let once = Call { concurrent: true, ..call("c", "t", CallState::Running) };
    Phase::Tools {
        calls: vec![call("a", "t", done), again, once, call("d", "t", CallState::Ready)],
    }
}

async fn ended(app: &Application) -> String {
    let events: Vec<_> = app.request_events("r", 0).await.unwrap().collect().await;
    let ends = events.iter().filter(|event| event.kind.ends_request()).count();
    assert_eq!(ends, 1, "{}", names(&events));
    events.last().unwrap().kind.name().to_owned()
}

#[tokio::test]
async fn an_abandoned_turn_is_settled_with_every_call_closed() {
    let log = Log::new();
    let lifecycles = Log::new();
    let scene = with_tool(Scene::says(&["fine"]), logging("t", &log)).feature(core_recorder(
        &lifecycles,
        &["request_complete", "request_error"],
        |_, cx| {
            assert_eq!(cx.get("theme").unwrap(), "dark", "what its caller told is still told");
            Ok(ActionResult::unchanged())
        },
    ));
    abandon(&scene, tools_phase()).await;
    let app = scene.start().await;
    assert_eq!(app.recover(Recovery::Settle).await.unwrap(), 1);
    assert_eq!(app.recover(Recovery::Settle).await.unwrap(), 0);
    assert_eq!(ended(&app).await, "request_failed");
    assert_eq!(told(&scene).await, "tool_result request_failed");
    assert_eq!(lifecycles.text(), "core:request_error");
    let said_now = said(&app, "s").await;
    let parts: Vec<_> = said_now.split('|').collect();
    assert_eq!((parts.len(), parts[2]), (6, "did a"));
    assert!(parts[3].contains("not known") && parts[4].contains("not known"), "{said_now}");
    assert!(parts[5].contains("was not run"), "{said_now}");
    assert_eq!(log.text(), "", "nothing is run");
    assert!(scene.provider.requests().is_empty());
    let plain = app.called_with(CallContext::new("test").with("theme", "dark"));
    assert!(talk(&plain, "s", "again").await.ends_with("again|fine"));
}

#[tokio::test]
async fn an_abandoned_turn_is_resumed_without_running_twice_what_must_not() {
    let log = Log::new();
    let scene = with_tool(Scene::says(&["end", "fine"]), logging("t", &log));
    abandon(&scene, tools_phase()).await;
    let app = scene.start().await;
    assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 1);
    assert_eq!(ended(&app).await, "final");
    assert_eq!(log.text(), r#"t("b") t("d")"#);
    let said_now = said(&app, "s").await;
    let parts: Vec<_> = said_now.split('|').collect();
    assert_eq!(
        (parts[2], parts[3], parts[5], parts[6]),
        ("did a", "did \"b\"", "did \"d\"", "end")
    );
    assert!(parts[4].contains("whether it had an effect is not known"), "{said_now}");
    assert!(talk(&app, "s", "again").await.ends_with("again|fine"));
}

#[tokio::test]
async fn a_turn_is_taken_up_in_every_phase() {
    for (phase, recovery, end, calls) in [
        (Phase::Model, Recovery::Resume, "final", 1),
        (Phase::Model, Recovery::Settle, "request_failed", 0),
        (Phase::Settling { outcome: Outcome::Complete }, Recovery::Resume, "final", 0),
        (Phase::Settling { outcome: Outcome::Complete }, Recovery::Settle, "final", 0),
        (
            Phase::Settling { outcome: Outcome::Cancelled { reason: "x".to_owned() } },
            Recovery::Resume,
            "request_cancelled",
            0,
        ),
    ] {
        let log = Log::new();
        let both = &["request_complete", "request_error"];
        let scene = Scene::says(&["end"]).application(app_recorder(&log, both, nothing));
        abandon(&scene, phase.clone()).await;
        let app = scene.start().await;
        assert_eq!(app.recover(recovery).await.unwrap(), 1);
        assert_eq!(ended(&app).await, end, "{phase:?}");
        assert_eq!(scene.provider.requests().len(), calls);
        // Those who saw the beginning of an answer hear that it comes anew.
        let restarts = told(&scene).await.matches("answer_restarted").count();
        assert_eq!(restarts, calls, "{phase:?}");
        assert_eq!(log.lines().len(), 1, "{phase:?}");
        scene.provider.reply(ScriptedReply::text(&["fine"]));
        talk(&app, "s", "again").await;
        assert_eq!(ended(&app).await, end, "it stays ended");
    }
}

#[tokio::test]
async fn a_new_request_settles_what_was_left_before_it_begins() {
    let scene = with_tool(Scene::says(&["fine"]), logging("t", &Log::new()));
    abandon(&scene, tools_phase()).await;
    let app = scene.start().await;
    let said = talk(&app, "s", "again").await;
    assert!(said.ends_with("again|fine"), "{said}");
    assert_eq!(said.split('|').count(), 8);
    assert_eq!(told(&scene).await, "tool_result request_failed");
    assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 0);
}

#[tokio::test]
async fn a_turn_that_runs_is_not_abandoned() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["yes"]).waiting_for(&gate));
    let (app, other) = (scene.start().await, scene.start().await);
    let handle = app.send_request(request("s", "hi")).await.unwrap();
    gate.reached().await;
    assert_eq!(app.recover(Recovery::Settle).await.unwrap(), 0);
    assert_eq!(other.recover(Recovery::Settle).await.unwrap(), 0);
    gate.open();
    handle.finish().await.unwrap();
}

// ---- a store that fails

#[tokio::test]
async fn a_store_that_fails_ends_the_request_at_the_last_durable_step() {
    // Commits of the request: it begins, the model calls a tool, the tool answers, it ends.
    for (nth, kept, then) in [
        (1, "", "again|fine"),
        (2, "go", "go|again|fine"),
        (3, "go|", "not known|again|fine"),
        (4, "go||did {}", "go||did {}|again|fine"),
    ] {
        let mut scene = with_tool(Scene::default(), logging("t", &Log::new()));
        let double = StoreDouble::new(scene.store.clone(), &Log::new());
        scene.store = double.clone();
        scene.provider.reply(ScriptedReply::calls(&[("c", "t", json!({}))]));
        scene.provider.reply(ScriptedReply::text(&["end"]));
        let app = scene.start().await;
        app.create_session(new("s")).await.unwrap();
        double.fail_from(Some(nth));
        let sent = app.send_request(request("s", "go")).await;
        let error = match sent {
            Ok(handle) => handle.finish().await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.class(), ErrorClass::Unavailable, "{nth}");
        assert!(error.message().contains("disk is full"), "{error}");
        assert_eq!(said(&app, "s").await, kept, "{nth}");
        assert_eq!(said(&scene.start().await, "s").await, kept, "{nth}");

        double.fail_from(None);
        let fresh = Scene::says(&["fine"]);
        let fresh =
            Scene { store: scene.store.clone(), ..with_tool(fresh, logging("t", &Log::new())) };
        let later = fresh.start().await;
        let said = talk(&later, "s", "again").await;
        assert!(said.ends_with(then), "{nth}: {said}");
        let ends = told(&scene).await;
        assert_eq!(ends.matches("request_failed").count(), usize::from(nth > 1), "{nth}: {ends}");
    }
}

// ---- the same request again

#[tokio::test]
async fn a_request_with_a_known_id_is_the_same_request() {
    let scene = Scene::says(&["yes", "never"]);
    let app = scene.start().await;
    let first = events_of(&app, request("s", "hi")).await;
    let handle = app.send_request(request("other", "something else")).await.unwrap();
    assert_eq!((handle.session_id(), handle.request_id()), ("s", "r"));
    let again = rest(handle).await.replace(" partial", "");
    assert_eq!(again, "session_created request_started final");
    assert_eq!((scene.provider.requests().len(), said(&app, "s").await.as_str()), (1, "hi|yes"));
    assert!(app.load_session("other").await.unwrap().is_none());
    assert_eq!(names(&first), "session_created request_started partial final");
}

#[tokio::test]
async fn a_request_that_is_sent_twice_at_once_runs_once() {
    let (stop, log) = (Stop::default(), Log::new());
    let at_prepare = stop.clone();
    let plugin = app_recorder(&log, &["request_prepare"], move |_, _| {
        let stop = at_prepare.clone();
        async move {
            stop.here().await;
            Ok(ActionResult::unchanged())
        }
    });
    let scene = Scene::says(&["yes", "never"]).application(plugin);
    let app = scene.start().await;
    // Each would make a session of its own.
    let fresh = || Request { session: Target::default(), ..request("", "hi") };
    let mut both =
        Box::pin(futures::future::join(app.send_request(fresh()), app.send_request(fresh())));
    tokio::select! {
        _ = &mut both => panic!("it cannot have begun"),
        () = stop.reached_by(1) => {}
    }
    stop.let_go(2);
    let (one, two) = both.await;
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.session_id(), two.session_id());
    one.finish().await.unwrap();
    two.finish().await.unwrap();
    assert_eq!((scene.provider.requests().len(), log.lines().len()), (1, 1));
}

#[tokio::test]
async fn a_request_can_be_joined_from_another_process() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["yes"]).waiting_for(&gate));
    let (app, other) = (scene.start().await, scene.start().await);
    let handle = app.send_request(request("s", "hi")).await.unwrap();
    gate.reached().await;
    let joined = other.send_request(request("s", "hi")).await.unwrap();
    gate.open();
    handle.finish().await.unwrap();
    assert_eq!(rest(joined).await, "session_created request_started final");
    assert_eq!(scene.provider.requests().len(), 1);
}

// ---- events of a request, again and from the middle

#[tokio::test]
async fn events_are_given_again_from_any_place() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["a", "b", "c"]).waiting_for(&gate));
    let app = scene.start().await;
    let mut handle = app.send_request(request("s", "hi")).await.unwrap();
    let mut seen = vec![handle.next().await.unwrap()];
    while seen.len() < 5 {
        seen.push(handle.next().await.unwrap());
    }
    assert_eq!(names(&seen), "session_created request_started partial");
    let after = async |seq: u64| app.request_events("r", seq).await.unwrap();
    // In the middle, fragments included, and on to the end.
    let from_b = after(seen[2].seq).await;
    let from_start = after(0).await;
    gate.open();
    let from_b: Vec<_> = from_b.collect().await;
    assert_eq!(from_b[..2], seen[3..5]);
    assert_eq!((from_b.len(), from_b[2].kind.name()), (3, "final"));
    let from_start: Vec<_> = from_start.collect().await;
    assert_eq!(from_start[..5], seen[..]);
    assert_eq!(from_start[5], from_b[2]);

    // After the end what is durable has the same numbers, also elsewhere.
    drop(handle);
    for app in [app.clone(), scene.start().await] {
        let mut again: Vec<_> = app.request_events("r", 0).await.unwrap().collect().await;
        again.retain(|event| event.kind.is_durable());
        assert_eq!(again, [seen[0].clone(), seen[1].clone(), from_b[2].clone()]);
        let none: Vec<_> = app.request_events("r", from_b[2].seq).await.unwrap().collect().await;
        assert!(none.is_empty(), "nothing comes after the end, and nobody waits for it");
    }
    let unknown = app.request_events("nobody", 0).await.err().unwrap();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn who_leaves_does_not_end_a_request() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["a"]).waiting_for(&gate));
    let app = scene.start().await;
    drop(app.send_request(request("s", "hi")).await.unwrap());
    gate.reached().await;
    gate.open();
    let events: Vec<_> = app.request_events("r", 0).await.unwrap().collect().await;
    assert_eq!(events.last().unwrap().kind.name(), "final");
    assert_eq!(said(&app, "s").await, "hi|a");
}

// ---- one at a time

#[tokio::test]
async fn a_busy_session_is_waited_for_or_refused() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["a"]).waiting_for(&gate));
    scene.provider.reply(ScriptedReply::text(&["b"]));
    let app = scene.start().await;
    let first = app.send_request(ask("s", "1")).await.unwrap();
    gate.reached().await;
    for wait in [Wait::No, Wait::For(Duration::ZERO)] {
        let busy = app.send_request(Request { wait, ..ask("s", "no") }).await.err().unwrap();
        assert_eq!((busy.class(), busy.retryable()), (ErrorClass::Conflict, true), "{busy}");
    }
    // Who does not wait for an answer is told at once, whatever they want to change.
    let title = || serde_json::from_value(serde_json::json!({ "title": "t" })).unwrap();
    let briefly = app.waiting(Wait::Briefly);
    let busy = briefly.patch_session("s", title()).await.unwrap_err();
    assert_eq!((busy.class(), busy.retryable()), (ErrorClass::Conflict, true), "{busy}");
    let mut second = Box::pin(app.send_request(ask("s", "2")));
    for _ in 0..20 {
        tokio::task::yield_now().await;
        assert!((&mut second).now_or_never().is_none());
    }
    gate.open();
    first.finish().await.unwrap();
    second.await.unwrap().finish().await.unwrap();
    assert_eq!(said(&app, "s").await, "1|a|2|b");
    briefly.patch_session("s", title()).await.unwrap();
}

#[tokio::test]
async fn a_session_that_is_deleted_ends_the_request_that_runs_on_it() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["a"]).waiting_for(&gate));
    let app = scene.start().await;
    let mut request = app.send_request(ask("s", "1")).await.unwrap();
    gate.reached().await;
    app.waiting(Wait::Briefly).delete_session("s", None).await.unwrap();
    let mut last = None;
    while let Some(event) = request.next().await {
        last = Some(event);
    }
    let EventKind::RequestCancelled { reason } = &last.unwrap().kind else { panic!("it goes on") };
    assert_eq!(reason, "the session is deleted");
    assert!(app.load_session("s").await.unwrap().is_none());
}

#[tokio::test]
async fn two_sessions_do_not_wait_for_each_other() {
    let scene = Scene::default();
    let (one, two) = (Gate::new(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["a"]).waiting_for(&one));
    scene.provider.reply(ScriptedReply::text(&["b"]).waiting_for(&two));
    let app = scene.start().await;
    let first = app.send_request(ask("x", "1")).await.unwrap();
    one.reached().await;
    let second = app.send_request(ask("y", "2")).await.unwrap();
    two.reached().await;
    two.open();
    second.finish().await.unwrap();
    one.open();
    first.finish().await.unwrap();
}

// ---- what others do meanwhile

#[tokio::test]
async fn a_process_that_lost_its_session_changes_nothing_any_more() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["late"]).waiting_for(&gate));
    let (app, heir) = (scene.start().await, scene.start().await);
    let handle = app.send_request(request("s", "hi")).await.unwrap();
    gate.reached().await;
    // Its lease ran out while it was asleep, and another took over.
    let (scope, time) = (Scope::local(), Duration::from_secs(60));
    let held = scene.store.acquire(&scope, "s", "heir", time).await.unwrap();
    let Acquired::Held { owner, .. } = held else { panic!("{held:?}") };
    assert!(scene.store.revoke(&scope, "s", &owner).await.unwrap());
    assert_eq!(heir.recover(Recovery::Settle).await.unwrap(), 1);
    scene.provider.reply(ScriptedReply::text(&["fine"]));
    assert_eq!(talk(&heir, "s", "again").await, "hi|again|fine");
    gate.open();
    let error = handle.finish().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    assert_eq!(said(&heir, "s").await, "hi|again|fine");
    assert_eq!(said(&app, "s").await, "hi|again|fine");
    assert_eq!(told(&scene).await, "session_created request_started request_failed");
}

#[tokio::test]
async fn a_session_that_others_replaced_is_read_anew() {
    let scene = Scene::says(&["a", "b"]);
    let (app, other) = (scene.start().await, scene.start().await);
    talk(&app, "s", "old").await;
    let head = async || scene.store.head(&Scope::local(), "s").await.unwrap().unwrap();
    let old = head().await;
    loop {
        other.delete_session("s", None).await.unwrap();
        other.create_session(new("s")).await.unwrap();
        if head().await.created != old.created {
            break;
        }
    }
    while head().await.revision < old.revision {
        other.add_message("s", Message::user("new"), None).await.unwrap();
    }
    assert_eq!(said(&app, "s").await, said(&other, "s").await);
    assert_eq!(talk(&app, "s", "more").await, "new|more|b");
    assert_eq!(said(&scene.start().await, "s").await, "new|more|b");
}

#[tokio::test]
async fn an_answer_is_found_where_preparation_shortened_the_history() {
    for point in ["request_prepare", "model_request", "response_finalize", "request_complete"] {
        let feature = ScriptedFeature::new("shorten")
            .get_actions(move |_, _| Ok(vec![at(point)]))
            .execute_action(|input, _| {
                let items = &input.native_messages;
                let rest = items.iter().skip(if items.len() > 2 { 2 } else { 0 }).cloned();
                let native_messages = Change::Replace(rest.collect());
                Ok(ActionResult { native_messages, ..ActionResult::default() })
            });
        let scene = Scene::says(&["a", "b", "c"]);
        let app = scene.start().await;
        talk(&app, "s", "1").await;
        talk(&app, "s", "2").await;
        let shortening = Scene { store: scene.store.clone(), ..Scene::says(&["c"]) };
        let app = shortening.feature(feature).start().await;
        let events = events_of(&app, ask("s", "3")).await;
        let EventKind::Final { messages, .. } = &events.last().unwrap().kind else { panic!() };
        let told: Vec<_> = messages.iter().map(Message::text).collect();
        assert_eq!(told, ["c"], "{point}: {}", said(&app, "s").await);
        assert_eq!(said(&app, "s").await, "2|b|3|c", "{point}");
    }
}

#[tokio::test]
async fn what_a_tool_keeps_in_its_session_stays_there() {
    let tool = AsyncTool::new("todo", json!({}), |input, cx| async move {
        let app = Application::of(&cx)?;
        let session = cx.get("session_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let now = app.session(&session).await?.session;
        let mut items =
            now.metadata().get("todo").and_then(Value::as_array).cloned().unwrap_or_default();
        items.push(input.payload["what"].clone());
        app.patch_session(&session, map(json!({"todo": items}))).await?;
        Ok(ToolReport::ok("noted"))
    });
    let scene = with_tool(Scene::default(), tool);
    let note = |id, what: &str| (id, "todo", json!({ "what": what }));
    scene.provider.reply(ScriptedReply::calls(&[note("1", "a"), note("2", "b")]));
    scene.provider.reply(ScriptedReply::calls(&[note("3", "c")]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    assert_eq!(talk(&app, "s", "go").await, "go||noted|noted||noted|end");
    assert_eq!(kept(&scene.start().await, "s", "todo").await, json!(["a", "b", "c"]));
}
