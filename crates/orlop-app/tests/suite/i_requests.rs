//! Requests and the tool loop.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::store::{EventQuery, ListQuery};
use orlop_app::*;
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn calls(id: &str, name: &str) -> ScriptedReply {
    ScriptedReply::calls(&[(id, name, json!({}))])
}

/// The text of an error that ended a request.
async fn failure(app: &Application, request: Request) -> Error {
    app.send_request(request).await.unwrap().finish().await.unwrap_err()
}

#[tokio::test] // I-13
async fn without_streaming_there_are_no_fragments() {
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["Hel", "lo"])).reply(ScriptedReply::text(&["a"]));
    let app = scene.start().await;
    let events = events_of(&app, Request { stream: false, ..ask("s", "hi") }).await;
    assert_eq!(names(&events), "session_created request_started final");
    assert_eq!(said(&app, "s").await, "hi|Hello");
    let events = events_of(&app, ask("s", "again")).await;
    assert_eq!(names(&events), "request_started partial final");
}

#[tokio::test] // I-14
async fn the_request_beats_the_session_and_the_session_the_agent() {
    let scene = Scene::says(&["a", "b", "c"]);
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    talk(&app, "s", "1").await;
    app.patch_session("s", map(json!({"overrides": {"model": "session"}}))).await.unwrap();
    talk(&app, "s", "2").await;
    let request = Request { overrides: map(json!({"model": "request"})), ..ask("s", "3") };
    events_of(&app, request).await;
    let models: Vec<_> =
        scene.provider.requests().iter().map(|(_, state)| state.request["model"].clone()).collect();
    assert_eq!(models, ["m", "session", "request"]);
    let overrides = app.session("s").await.unwrap().session.overrides().cloned();
    assert_eq!(overrides, Some(map(json!({"model": "session"}))), "a request leaves none behind");
}

#[tokio::test] // I-15, I-16, I-17
async fn a_request_goes_its_way_step_by_step() {
    let log = Log::new();
    let points = &[
        "request_prepare",
        "model_request",
        "model_response",
        "tool_before",
        "tool_after",
        "request_complete",
    ];
    let tool = ScriptedTool::new("t").offering(&["t"]).stream_tool(|_, _| {
        vec![
            Ok(ToolPart::Part(json!({"part": "half"}))),
            Ok(ToolPart::Report(ToolReport::ok("whole"))),
        ]
    });
    let mut scene = Scene::default().application(app_recorder(&log, points, nothing)).tool(tool);
    scene.store = StoreDouble::new(scene.store.clone(), &log);
    scene.provider.reply(calls("c", "t")).reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(
        names(&events),
        "session_created request_started tool_call tool_partial tool_result partial final"
    );
    assert_eq!(
        log.text().replace("app:", ""),
        "request_prepare write model_request model_response tool_before write tool_after write \
         model_request model_response request_complete write"
    );
    let part = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolPartial { part, .. } => Some(part.clone()),
        _ => None,
    });
    assert_eq!(part, Some(json!("half")));
    assert_eq!(said(&app, "s").await, "go||whole|end");
    assert_eq!(scene.provider.last_request(), "go||whole");
}

#[tokio::test] // I-18
async fn all_calls_are_answered_in_order_before_the_model_is_asked_again() {
    let failing =
        ScriptedTool::new("bad").offering(&["bad"]).execute_tool(|_, _| Err(Error::internal("no")));
    let scene = Scene::default().tool(echo("t")).tool(failing);
    scene
        .provider
        .reply(ScriptedReply::calls(&[
            ("1", "t", json!({"n": 1})),
            ("2", "bad", json!({})),
            ("3", "nobody", json!({})),
            // Models repeat ids, and leave them out.
            ("1", "t", json!({"n": 4})),
            ("", "t", json!({"n": 5})),
        ]))
        .reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    let said = said(&app, "s").await;
    let parts: Vec<_> = said.split('|').collect();
    assert_eq!(parts.len(), 8, "{said}");
    assert_eq!((parts[2], parts[5], parts[6]), (r#"{"n":1}"#, r#"{"n":4}"#, r#"{"n":5}"#));
    assert!(parts[3].starts_with("Tool error: no"), "{said}");
    assert_eq!(parts[4], "Error: no tool handled 'nobody'");
    assert_eq!(scene.provider.requests().len(), 2);
    let mut ids: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 5);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each call has an id of its own");
}

#[tokio::test] // I-19
async fn a_loop_that_does_not_end_is_ended_with_an_error() {
    let scene = Scene::default().tool(echo("t"));
    for id in ["1", "2", "3", "4"] {
        scene.provider.reply(calls(id, "t"));
    }
    let app = scene.start().await;
    let request = Request { overrides: map(json!({"max_steps": 3})), ..ask("s", "go") };
    let error = failure(&app, request).await;
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(error.message().contains("more than 3 steps"), "{error}");
    assert_eq!(scene.provider.requests().len(), 3);
    assert_eq!(said(&app, "s").await, "go||{}||{}||{}", "every call is answered");
    scene.provider.reply(ScriptedReply::text(&["unused"]));
    talk(&app, "s", "go on").await;
    assert!(scene.provider.last_request().starts_with("go||{}||{}||{}|go on"));
}

#[tokio::test] // I-21
async fn cancelling_a_tool_closes_it_and_the_next_request_succeeds() {
    let (stop, log) = (Stop::default(), Log::new());
    let mut scene = Scene::default().tool(echo("fast"));
    scene.plugins = scene.plugins.tool(Arc::new(stopping("slow", json!({}), &stop, &log)));
    scene
        .provider
        .reply(ScriptedReply::calls(&[
            ("1", "fast", json!({})),
            ("2", "slow", json!({})),
            ("3", "fast", json!({})),
        ]))
        .reply(ScriptedReply::text(&["fine"]));
    let app = scene.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    stop.reached_by(1).await;
    handle.cancel("not needed").await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    let EventKind::RequestCancelled { reason } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(reason, "not needed");
    let results = events.iter().filter(|event| event.kind.name() == "tool_result").count();
    assert_eq!(results, 3, "every call is told to have ended: {}", names(&events));
    let said_now = said(&app, "s").await;
    let parts: Vec<_> = said_now.split('|').collect();
    assert_eq!((parts.len(), parts[2]), (5, "{}"));
    assert!(parts[3].contains("cancelled this call"), "{said_now}");
    assert!(parts[4].contains("was not run"), "{said_now}");
    assert!(talk(&app, "s", "go on").await.ends_with("go on|fine"));
    assert_eq!(log.lines().len(), 1, "the tool is not run again");
}

#[tokio::test] // I-21
async fn cancelling_the_model_keeps_what_it_said_and_the_next_request_succeeds() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene
        .provider
        .reply(ScriptedReply::text(&["half ", "an"]).waiting_for(&gate))
        .reply(ScriptedReply::text(&["fine"]));
    let app = scene.start().await;
    let handle = app.send_request(ask("s", "hi")).await.unwrap();
    gate.reached().await;
    handle.cancel("enough").await.unwrap();
    assert!(rest(handle).await.ends_with("partial request_cancelled"));
    let session = scene.start().await.session("s").await.unwrap().session;
    assert_eq!(texts(&session), "hi|half an");
    let cut = session.messages().iter().last().unwrap();
    assert_eq!((cut.role(), &cut.metadata()["interrupted"]), (Role::Assistant, &json!(true)));
    assert_eq!(talk(&app, "s", "go on").await, "hi|half an|go on|fine");
}

#[tokio::test] // I-21
async fn cancelling_before_the_first_word_leaves_no_empty_message() {
    for stream in [true, false] {
        let scene = Scene::default();
        let gate = Gate::new();
        scene.provider.reply(ScriptedReply::text(&[]).waiting_for(&gate));
        scene.provider.reply(ScriptedReply::text(&["fine"]));
        let app = scene.start().await;
        let handle = app.send_request(Request { stream, ..ask("s", "hi") }).await.unwrap();
        gate.reached().await;
        handle.cancel("enough").await.unwrap();
        assert!(rest(handle).await.ends_with("request_started request_cancelled"));
        assert_eq!(said(&app, "s").await, "hi");
        assert_eq!(talk(&app, "s", "again").await, "hi|again|fine");
    }
}

#[tokio::test] // I-21
async fn cancelling_late_or_twice_does_no_harm() {
    let scene = Scene::says(&["done"]);
    let app = scene.start().await;
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "hi") };
    events_of(&app, request).await;
    app.cancel_request("r", "late").await.unwrap();
    app.cancel_request("r", "later").await.unwrap();
    assert_eq!(said(&app, "s").await, "hi|done");
    let unknown = app.cancel_request("nobody", "x").await.unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn a_request_is_joined_by_those_who_ask_for_the_same() {
    for persist in [None, Some(false)] {
        let (scene, gate) = (Scene::default(), Gate::new());
        scene.provider.reply(ScriptedReply::text(&["yes"]).waiting_for(&gate));
        let app = scene.start().await;
        let request = |asked: Option<&str>| Request {
            request_id: Some("r".to_owned()),
            asked: asked.map(str::to_owned),
            persist,
            ..ask("s", "hi")
        };
        let first = app.send_request(request(Some("this"))).await.unwrap();
        gate.reached().await;
        let known = app.known_request("r").await.unwrap().unwrap();
        assert_eq!((known.session_id.as_str(), known.asked.as_deref()), ("s", Some("this")));
        let other = app.send_request(request(Some("that"))).await.err().unwrap();
        assert_eq!(other.class(), ErrorClass::Conflict, "{other}");
        // Whoever does not say what is asked joins by the id alone.
        for asked in [Some("this"), None] {
            let mut joined = app.send_request(request(asked)).await.unwrap();
            assert_eq!(joined.take_said(), Some(Vec::new()));
        }
        gate.open();
        first.finish().await.unwrap();
        assert_eq!(scene.provider.requests().len(), 1);
        if persist.is_none() {
            let other = app.send_request(request(Some("that"))).await.err().unwrap();
            assert_eq!(other.class(), ErrorClass::Conflict);
            // Another process knows it, too.
            let again = scene.start().await.send_request(request(Some("this"))).await.unwrap();
            again.finish().await.unwrap();
        }
    }
}

#[tokio::test]
async fn whoever_joins_a_request_that_is_not_stored_learns_what_was_said() {
    let (scene, gate) = (Scene::default().tool(echo("t")), Gate::new());
    scene.provider.reply(calls("c", "t"));
    scene.provider.reply(ScriptedReply::text(&["end"]).waiting_for(&gate));
    let app = scene.start().await;
    let request =
        || Request { request_id: Some("r".to_owned()), persist: Some(false), ..ask("s", "go") };
    let first = app.send_request(request()).await.unwrap();
    gate.reached().await;
    let said = app.send_request(request()).await.unwrap().take_said().unwrap();
    assert_eq!(said.iter().map(Message::text).collect::<Vec<_>>(), ["", "{}"]);
    gate.open();
    first.finish().await.unwrap();
}

#[tokio::test] // I-21
async fn a_request_is_cancelled_while_its_beginning_is_stored() {
    let (mut scene, stop) = (Scene::says(&["never", "fine"]), Stop::default());
    let store = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = store.clone();
    let app = scene.start().await;
    store.hold_at(&stop);
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "hi") };
    let cancels = async {
        stop.reached_by(1).await;
        app.cancel_request("r", "enough").await.unwrap();
        stop.let_go(1);
    };
    let (handle, ()) = tokio::join!(app.send_request(request), cancels);
    let ended = until(&mut handle.unwrap(), "request_cancelled").await;
    let EventKind::RequestCancelled { reason } = &ended.kind else { panic!() };
    assert_eq!((reason.as_str(), scene.provider.requests().len()), ("enough", 0));
    assert_eq!(talk(&app, "s", "again").await, "hi|again|never");
}

#[tokio::test] // I-21
async fn a_request_is_cancelled_while_another_process_has_its_session() {
    let (scene, gate) = (Scene::default(), Gate::new());
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(&gate));
    scene.provider.reply(ScriptedReply::text(&["two"]));
    let (app, other) = (scene.start().await, scene.start().await);
    let busy = app.send_request(ask("s", "hi")).await.unwrap();
    gate.reached().await;
    let wait = Wait::For(std::time::Duration::from_secs(600));
    let request = Request { request_id: Some("r".to_owned()), wait, ..ask("s", "again") };
    let cancels = async {
        while other.request_state("r").await.is_err() {
            tokio::task::yield_now().await;
        }
        other.cancel_request("r", "enough").await.unwrap();
    };
    let (refused, ()) = tokio::join!(other.send_request(request), cancels);
    let refused = refused.err().unwrap();
    assert!(refused.is_cancelled() && refused.message() == "enough", "{refused}");
    gate.open();
    busy.finish().await.unwrap();
    assert_eq!(talk(&other, "s", "more").await, "hi|one|more|two");
}

#[tokio::test] // I-21
async fn another_process_cancels_through_the_store() {
    for stream in [true, false] {
        let scene = Scene::default();
        let gate = Gate::new();
        scene.provider.reply(ScriptedReply::text(&["half"]).waiting_for(&gate));
        let (app, other) = (scene.start().await, scene.start().await);
        let request = Request { request_id: Some("r".to_owned()), stream, ..ask("s", "hi") };
        let mut handle = app.send_request(request).await.unwrap();
        gate.reached().await;
        other.cancel_request("r", "from afar").await.unwrap();
        let ended = until(&mut handle, "request_cancelled").await;
        let EventKind::RequestCancelled { reason } = &ended.kind else { panic!() };
        assert_eq!(reason, "from afar", "stream: {stream}");
    }
}

#[tokio::test] // I-22
async fn each_step_is_in_the_store_before_the_next_begins() {
    let log = Log::new();
    let scene = Scene::default().tool(echo("t")).feature(core_recorder(
        &log,
        &["session_save_prepare"],
        |_, _| Ok(patch(json!({"x": 1}))),
    ));
    let gate = Gate::new();
    scene.provider.reply(calls("c", "t"));
    scene.provider.reply(ScriptedReply::text(&["end"]).waiting_for(&gate));
    let app = scene.start().await;
    let handle = app.send_request(ask("s", "go")).await.unwrap();
    gate.reached().await;
    let reader = scene.start().await;
    assert_eq!(said(&reader, "s").await, "go||{}", "what a crash would leave");
    assert_eq!(log.text(), "", "checkpoints run no lifecycle");
    gate.open();
    handle.finish().await.unwrap();
    assert_eq!(log.lines().len(), 1);
}

#[tokio::test] // I-23
async fn the_session_is_stored_before_its_final_event() {
    let scene = Scene::says(&["yes"]);
    let app = scene.start().await;
    let mut handle = app.send_request(ask("s", "hi")).await.unwrap();
    let event = until(&mut handle, "final").await;
    let reader = scene.start().await;
    let stored = reader.session("s").await.unwrap().session;
    let EventKind::Final { messages, session, .. } = &event.kind else { panic!() };
    let told: Vec<_> = messages.iter().map(Message::text).collect();
    assert_eq!((texts(&stored).as_str(), told), ("hi|yes", vec!["yes"]));
    let head = scene.store.head(&Scope::local(), "s").await.unwrap().unwrap();
    assert_eq!((session.revision, session.message_count), (head.revision, 2));
}

#[tokio::test] // I-24
async fn a_failure_leaves_the_steps_before_it() {
    let scene = Scene::default().tool(echo("t"));
    scene.provider.reply(calls("c", "t"));
    scene.provider.reply(ScriptedReply::text(&["half"]).failing(Error::provider("overloaded")));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    let EventKind::RequestFailed { error } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(error["type"], "provider");
    assert_eq!(said(&scene.start().await, "s").await, "go||{}");
    scene.provider.reply(ScriptedReply::text(&["fine"]));
    assert_eq!(talk(&app, "s", "again").await, "go||{}|again|fine");
}

#[tokio::test] // I-25
async fn what_is_not_to_be_stored_is_not() {
    let scene = Scene::says(&["1", "2", "3", "4"]);
    let app = scene.start().await;
    let made = app.create_ephemeral_session(new("e")).await.unwrap().session;
    let on = |session: &Session| Request {
        session: Target::Value(Box::new(session.clone())),
        ..ask("", "hi")
    };
    let events = events_of(&app, on(&made)).await;
    assert_eq!(names(&events), "request_started partial final");
    events_of(&app, on(&Session::new("unknown"))).await;
    let none = app.list_sessions(&ListQuery::default()).await.unwrap().sessions;
    let events = scene.store.events(&Scope::local(), &EventQuery::default()).await.unwrap();
    let turns = scene.store.turns(&Scope::local(), None, 10).await.unwrap();
    assert_eq!((none.len(), events.len(), turns.len()), (0, 0, 0));

    let stored = app.create_session(new("s")).await.unwrap().session;
    let side = stored.with_metadata_patch(&map(json!({"side": true})));
    events_of(&app, on(&side)).await;
    assert_eq!(app.session("s").await.unwrap().session, stored);
    events_of(&app, Request { persist: Some(true), ..on(&made) }).await;
    assert_eq!(said(&scene.start().await, "e").await, "hi|4", "asked for");
}

#[tokio::test]
async fn an_unstored_request_can_be_joined_cancelled_and_decided_on() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["half"]).waiting_for(&gate));
    let app = scene.start().await;
    let made = app.create_ephemeral_session(new("e")).await.unwrap().session;
    let request = Request {
        session: Target::Value(Box::new(made)),
        request_id: Some("r".to_owned()),
        ..ask("", "hi")
    };
    let handle = app.send_request(request.clone()).await.unwrap();
    gate.reached().await;
    let joined = app.send_request(request).await.unwrap();
    assert_eq!((joined.session_id(), joined.request_id()), ("e", "r"));
    app.cancel_request("r", "enough").await.unwrap();
    assert!(handle.finish().await.unwrap_err().is_cancelled());
    assert_eq!(rest(joined).await, "request_started partial request_cancelled");
    assert_eq!(scene.provider.requests().len(), 1);
}

#[tokio::test]
async fn token_counts_are_added_up_over_the_steps() {
    let scene = Scene::default().tool(echo("t"));
    let usage = |n: u64| json!({"usage": {"input": n, "details": {"cached": 1}}});
    let mut call = json!({"who": "assistant", "say": "", "calls": [
        {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]});
    call["_metadata"] = usage(3);
    let mut end = json!({"who": "assistant", "say": "end"});
    end["_metadata"] = usage(4);
    scene.provider.reply(ScriptedReply::items(vec![call])).reply(ScriptedReply::items(vec![end]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    let EventKind::Final { usage, .. } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(
        usage.clone().map(Value::Object),
        Some(json!({"input": 7, "details": {"cached": 2}}))
    );
}

#[tokio::test] // I-25
async fn what_actions_save_in_a_side_request_is_not_stored_either() {
    let plugin = ScriptedApplication::new("saver").actions(vec![at("request_prepare")]);
    let plugin = plugin.execute_action(async |_, cx| {
        let app = Application::of(&cx)?;
        let marked = cx.session().unwrap().with_metadata_patch(&map(json!({"saved": 1})));
        app.save_session(&marked).await?;
        app.patch_session(marked.id(), map(json!({"patched": 1}))).await?;
        Ok(ActionResult::unchanged())
    });
    let log = Log::new();
    let seen = log.clone();
    let scene = Scene::says(&["aside"]).application(plugin).feature(core_recorder(
        &Log::new(),
        &["request_complete"],
        move |_, cx| {
            let metadata = cx.session().unwrap().metadata();
            seen.add(format!("{} {}", metadata["saved"], metadata["patched"]));
            Ok(ActionResult::unchanged())
        },
    ));
    let app = scene.start().await;
    let stored = app.create_session(new("s")).await.unwrap().session;
    let request = Request {
        session: Target::Value(Box::new(stored.clone())),
        persist: Some(false),
        ..ask("s", "psst")
    };
    assert!(names(&events_of(&app, request).await).ends_with("final"));
    assert_eq!(log.text(), "1 1", "the request itself has it");
    assert_eq!(scene.start().await.session("s").await.unwrap().session, stored);
}

#[tokio::test]
async fn nothing_is_stored_of_a_session_that_was_made_for_a_request_without_storage() {
    let seen = Log::new();
    let log = seen.clone();
    let plugin = app_recorder(&Log::new(), &["request_prepare"], |_, cx| async move {
        let (app, session) = (Application::of(&cx)?, cx.session().unwrap().clone());
        app.save_session(&session.with_metadata_patch(&map(json!({"saved": 1})))).await?;
        Ok(ActionResult::unchanged())
    });
    let complete = &["request_complete"];
    let scene = Scene::says(&["hello"]).application(plugin).feature(core_recorder(
        &Log::new(),
        complete,
        move |_, cx| {
            log.add(cx.session().unwrap().metadata()["saved"].to_string());
            Ok(ActionResult::unchanged())
        },
    ));
    let app = scene.start().await;
    let session = Target::New(NewSession { id: Some("made".to_owned()), ..NewSession::default() });
    let request = Request { session, persist: Some(false), ..ask("made", "hi") };
    assert!(names(&events_of(&app, request).await).ends_with("final"));
    assert_eq!(seen.text(), "1", "the request itself has it");
    assert!(app.load_session("made").await.unwrap().is_none());
}
