//! Compaction that nobody asked for: before the context window is full, and when it is.

use crate::stage::*;
use orlop_app::store::{Acquired, CallsWrite, Commit, TurnWrite};
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::{Compaction, CompactionActions, SystemMessage};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

/// An answer after which the model server has counted so many tokens.
fn counted(say: &str, tokens: u64) -> ScriptedReply {
    let usage = json!({ "input_tokens": tokens, "output_tokens": 0 });
    ScriptedReply::items(vec![json!({
        "who": "assistant", "say": say, "_metadata": { "usage": usage },
    })])
}

fn calling(input: Value, tokens: u64) -> ScriptedReply {
    let function = json!({ "name": "t", "arguments": input.to_string() });
    let call = json!([{ "id": "c1", "type": "function", "function": function }]);
    let usage = json!({ "input_tokens": tokens, "output_tokens": 0 });
    ScriptedReply::items(vec![json!({
        "who": "assistant", "say": "", "calls": call, "_metadata": { "usage": usage },
    })])
}

fn too_long() -> ScriptedReply {
    let error = Error::provider("prompt is too long").with_context_overflow();
    ScriptedReply::default().failing(error.with_provider_body(Some(400), "{}"))
}

fn text(say: &str) -> ScriptedReply {
    ScriptedReply::text(&[say])
}

/// A text of about so many tokens that begins with `name`.
fn long(name: &str, tokens: usize) -> String {
    format!("{name}{}", ".".repeat(tokens * 4))
}

/// Messages in short: snapshots in angle brackets, long texts without their length.
async fn shown(app: &Application, session: &str) -> String {
    let session = app.session(session).await.unwrap().session;
    session.verify().unwrap();
    short(&texts(&session))
}

fn short(texts: &str) -> String {
    let said = |text: &str| match text.split_once("<state_snapshot>\n") {
        Some((_, rest)) => format!("<{}>", rest.trim_end_matches("\n</state_snapshot>")),
        None => text.trim_end_matches('.').to_owned(),
    };
    texts.split('|').map(said).collect::<Vec<_>>().join("|")
}

const WINDOW: &str = "context_window = 10000";

fn stage(replies: Vec<ScriptedReply>) -> Stage {
    let stage = Stage::default().feature(Compaction).tool(echo("t")).settings(WINDOW);
    replies.into_iter().for_each(|reply| {
        stage.model.reply(reply);
    });
    stage
}

#[tokio::test]
async fn history_is_compacted_before_the_window_is_full() {
    let stage = stage(vec![
        counted("a", 7_000),
        counted("b", 8_000),
        text("short"),
        counted("c", 900),
        counted("d", 900),
    ]);
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 1_700))).await;
    events_of(&app, ask("s", "two")).await;
    assert_eq!(stage.model.requests().len(), 2, "7,000 of 10,000 is no reason yet");
    let events = events_of(&app, ask("s", &long("three", 1_995))).await;
    assert_eq!(names(&events), "request_started action_result final");
    assert_eq!(shown(&app, "s").await, "<short>|three|c");
    assert_eq!(short(&stage.model.last_request()), "<short>|three");
    // Counts of the time before do not lead to another one.
    events_of(&app, ask("s", "four")).await;
    assert_eq!(shown(&app, "s").await, "<short>|three|c|four|d");
    let EventKind::Final { messages, .. } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(messages.len(), 1);
    // What was replaced comes back.
    let change = app.changes("s").await.unwrap().remove(0);
    assert_eq!((change.plugin.as_str(), change.action.as_str()), ("compaction", "make_room"));
    app.undo("s", &change.id).await.unwrap();
    assert_eq!(shown(&app, "s").await, "one|a|two|b|three|c|four|d");
}

#[tokio::test] // M-14
async fn a_long_turn_makes_room_and_keeps_what_it_was_asked() {
    let stage = stage(vec![
        calling(json!({ "x": long("x", 2_500) }), 2_000),
        calling(json!({ "y": 1 }), 8_500),
        text("short"),
        counted("done", 900),
    ])
    .feature(SystemMessage::default())
    .settings("system_message = \"be kind\"");
    let app = stage.start().await;
    let events = events_of(&app, ask("s", &long("do it", 2_500))).await;
    assert!(names(&events).ends_with("action_result final"), "{}", names(&events));
    assert_eq!(short(&stage.model.last_request()), r#"be kind|<short>|do it||{"y":1}"#);
    assert_eq!(shown(&app, "s").await, r#"be kind|<short>|do it||{"y":1}|done"#);
    let EventKind::Final { messages, .. } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(messages.last().unwrap().text(), "done");
}

#[tokio::test]
async fn a_server_that_finds_it_too_long_is_asked_again_with_less() {
    let stage = stage(vec![counted("a", 10), too_long(), text("short"), text("b")]);
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 3_000))).await;
    let events = events_of(&app, ask("s", "two")).await;
    assert_eq!(names(&events), "request_started action_result partial final");
    assert_eq!(shown(&app, "s").await, "<short>|a|two|b");
    let change = app.changes("s").await.unwrap().remove(0);
    app.undo("s", &change.id).await.unwrap();
    assert_eq!(shown(&app, "s").await, "one|a|two|b");
}

#[tokio::test]
async fn what_stays_too_long_fails_and_the_session_goes_on() {
    let stage = stage(vec![
        counted("a", 10),
        too_long(),
        text("short"),
        too_long(),
        text("b"),
        too_long(),
        ScriptedReply::default().failing(Error::unavailable("gone")),
        text("c"),
    ]);
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 3_000))).await;
    let error = |events: &[std::sync::Arc<Event>]| match &events.last().unwrap().kind {
        EventKind::RequestFailed { error } => error.clone(),
        other => panic!("{other:?}"),
    };
    let events = events_of(&app, ask("s", "two")).await;
    assert_eq!(error(&events)["context_overflow"], true, "shorter, and still too long");
    assert_eq!(shown(&app, "s").await, "<short>|a|two");
    events_of(&app, ask("s", &long("three", 3_000))).await;
    // A summary that fails leaves everything as it was.
    let events = events_of(&app, ask("s", "four")).await;
    assert_eq!(
        error(&events)["message"],
        "prompt is too long (plugin \"scripted\", hook stream_api)"
    );
    assert_eq!(shown(&app, "s").await, "<short>|a|two|three|b|four");
    events_of(&app, ask("s", "five")).await;
    assert_eq!(shown(&app, "s").await, "<short>|a|two|three|b|four|five|c");
}

#[tokio::test]
async fn a_message_that_is_too_long_by_itself_is_the_users_to_shorten() {
    let stage = stage(vec![too_long()]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", &long("one", 20_000))).await;
    assert_eq!(names(&events), "session_created request_started request_failed");
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test] // M-13
async fn a_failing_summary_does_not_keep_the_model_from_being_asked() {
    let stage = stage(vec![
        counted("a", 9_000),
        ScriptedReply::default().failing(Error::unavailable("gone")),
        counted("b", 9_000),
        text(&long("longer", 9_000)),
        text("c"),
    ]);
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 3_000))).await;
    events_of(&app, ask("s", "two")).await;
    assert_eq!(shown(&app, "s").await, "one|a|two|b");
    // Nor does one that would make it longer.
    events_of(&app, ask("s", "three")).await;
    assert_eq!(shown(&app, "s").await, "one|a|two|b|three|c");
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let stage = stage(vec![counted("a", 9_000), text("b")]).settings("compaction.auto = false");
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 3_000))).await;
    events_of(&app, ask("s", "two")).await;
    assert_eq!(shown(&app, "s").await, "one|a|two|b");
}

#[tokio::test]
async fn who_cancels_the_request_cancels_the_snapshot() {
    let gate = Gate::new();
    for agent in ["", "compaction.agent_id = \"default\""] {
        let stage =
            stage(vec![counted("a", 9_000), text("short").waiting_for(&gate)]).settings(agent);
        let app = stage.start().await;
        events_of(&app, ask("s", &long("one", 3_000))).await;
        let handle = app
            .send_request(Request { request_id: Some("r".to_owned()), ..ask("s", "two") })
            .await
            .unwrap();
        while stage.model.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        handle.cancel("enough").await.unwrap();
        assert!(handle.finish().await.unwrap_err().is_cancelled());
        assert_eq!(shown(&app, "s").await, "one|a|two");
    }
}

/// Leaves a turn behind as a process does that was killed while the snapshot was being written.
async fn abandon(stage: &Stage) {
    let app = stage.start().await;
    events_of(&app, ask("s", &long("one", 3_000))).await;
    app.add_message("s", Message::user("two"), None).await.unwrap();
    let error = Error::provider("too long").with_context_overflow().to_json();
    let turn = json!({
        "agent": "default", "stream": true, "first_message": 2, "step": 0, "max_steps": 5,
        "again": { "shortened": true }, "phase": { "phase": "shortening", "error": error },
    });
    let (scope, time) = (Scope::local(), std::time::Duration::from_secs(60));
    let acquired = stage.store.acquire(&scope, "s", "dead", time).await.unwrap();
    let Acquired::Lease(lease) = acquired else { panic!("{acquired:?}") };
    let mut commit = Commit::new(lease.clone());
    let request = "r".to_owned();
    let calls = CallsWrite::default();
    commit.turn = Some(TurnWrite { request, new: true, state: turn, calls, settled: false });
    stage.store.commit(&scope, commit).await.unwrap();
    stage.store.release(&scope, &lease).await.unwrap();
}

#[tokio::test]
async fn a_process_that_dies_while_the_snapshot_is_written_leaves_a_session_that_goes_on() {
    let resumed = stage(vec![counted("a", 10), text("short"), text("b"), text("c")]);
    let settled = stage(vec![counted("a", 10), text("c")]);
    for (stage, recovery, end, said) in [
        (resumed, Recovery::Resume, "final", "<short>|a|two|b|three|c"),
        (settled, Recovery::Settle, "request_failed", "one|a|two|three|c"),
    ] {
        abandon(&stage).await;
        let app = stage.start().await;
        assert_eq!(app.recover(recovery).await.unwrap(), 1);
        let events = app.request_events("r", 0).await.unwrap();
        let events: Vec<_> = futures::StreamExt::collect(events).await;
        assert_eq!(events.last().unwrap().kind.name(), end);
        events_of(&app, ask("s", "three")).await;
        assert_eq!(shown(&app, "s").await, said);
    }
}

/// What people are shown of actions in a request.
fn displays(events: &[std::sync::Arc<Event>]) -> Vec<String> {
    let body = |event: &std::sync::Arc<Event>| match &event.kind {
        EventKind::ActionResult { result, .. } => {
            result["display"]["body"].as_str().map(str::to_owned)
        }
        _ => None,
    };
    events.iter().filter_map(body).collect()
}

#[tokio::test]
async fn people_are_warned_once_before_the_window_is_full() {
    let stage = stage(vec![
        counted("a", 6_000),
        counted("b", 7_100),
        counted("c", 7_200),
        counted("d", 7_300),
    ]);
    let app = stage.start().await;
    assert!(displays(&events_of(&app, ask("s", "one")).await).is_empty());
    assert!(displays(&events_of(&app, ask("s", "two")).await).is_empty(), "6,000 of 10,000");
    let warned = events_of(&app, ask("s", "three")).await;
    assert_eq!(
        displays(&warned),
        [
            "The conversation takes about 71 % of the context window (7105 of 10000 tokens); at 80 % older messages are replaced by a summary."
        ]
    );
    let EventKind::ActionResult { result, .. } = &warned[1].kind else { panic!("{warned:?}") };
    assert_eq!(result["display"]["variant"], "warning");
    assert!(displays(&events_of(&app, ask("s", "four")).await).is_empty(), "once is enough");
}

#[tokio::test]
async fn who_compacts_by_hand_is_warned_too() {
    let stage = stage(vec![counted("a", 9_000), counted("b", 9_100)])
        .settings("compaction = { auto = false, warn_at = 0.9 }");
    let app = stage.start().await;
    events_of(&app, ask("s", "one")).await;
    let warned = displays(&events_of(&app, ask("s", "two")).await);
    assert!(warned[0].ends_with("; compact the conversation, or begin a new one."), "{warned:?}");
}

#[tokio::test]
async fn what_the_server_counted_has_the_tools_in_it() {
    let stage = stage(vec![counted("a", 6_000)]).application(CompactionActions);
    let app = stage.start().await;
    events_of(&app, ask("s", "one")).await;
    let shown = app.execute_action(ActionCall::new("compaction", "show_context"), Some("s"));
    assert_eq!(shown.await.unwrap()["context"]["tokens"], 6_000);
}

#[tokio::test]
async fn the_last_event_says_how_full_the_window_is() {
    let stage = stage(vec![counted("a", 6_000), text("b")]);
    let app = stage.start().await;
    let last = async |text: &str| {
        let events = events_of(&app, ask("s", text)).await;
        match &events.last().unwrap().kind {
            EventKind::Final { session, .. } => session.context,
            other => panic!("{other:?}"),
        }
    };
    let expected = ContextUse { tokens: 6_000, window: Some(10_000) };
    assert_eq!(last("one").await, Some(expected));
    assert_eq!(last("two").await, None, "this server counts nothing");
}
