//! Compaction by hand: on sessions as values, and on stored ones.

use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::{Compaction, CompactionActions};
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

/// What messages say, with snapshots shortened to what the model wrote.
fn shown(session: &Session) -> String {
    let said = |message: &Message| match message.text().split_once("<state_snapshot>\n") {
        Some((_, rest)) => format!("<{}>", rest.trim_end_matches("\n</state_snapshot>")),
        None => message.text().to_owned(),
    };
    session.messages().iter().map(said).collect::<Vec<_>>().join("|")
}

fn ten() -> Vec<Message> {
    let message = |n: usize| match n % 2 {
        0 => Message::user(format!("q{n}")),
        _ => Message::assistant(format!("a{n}")),
    };
    (0..10).map(message).collect()
}

struct Alone {
    model: ScriptedProvider,
    core: Core,
}

impl Alone {
    fn says(texts: &[&str]) -> Self {
        let model = ScriptedProvider::default();
        for text in texts {
            model.reply(ScriptedReply::text(&[text]));
        }
        let mut core = core_with(&model).unwrap();
        core.register_feature(Arc::new(Compaction)).unwrap();
        Self { model, core }
    }

    async fn compact(&self, session: &Session, params: Value, config: Value) -> (Session, Map) {
        let call = ActionCall {
            params: params.as_object().cloned().unwrap(),
            ..ActionCall::new("compaction", "compact_range")
        };
        let config = orlop_testkit::scripted::config(config);
        let context = CallContext::new("test");
        self.core.execute_session_action(session, &config, call, &context).await.unwrap()
    }

    async fn session(&self, messages: &[Message]) -> Session {
        native_session(&self.core, messages, &Config::empty()).await.unwrap()
    }
}

async fn check(messages: &[Message], params: Value, expected: Expect) {
    let alone = Alone::says(&["short"]);
    for session in [alone.session(messages).await, plain_session(messages).await.unwrap()] {
        alone.model.reply(ScriptedReply::text(&["short"]));
        let (session, result) = alone.compact(&session, params.clone(), json!({})).await;
        let status = result["status"].as_str().unwrap();
        expected.assert_eq(&format!("{status}: {}", shown(&session)));
        session.verify().unwrap();
    }
}

#[tokio::test] // M-09
async fn a_range_becomes_a_snapshot_and_the_rest_stays() {
    check(&ten(), json!({ "start": 0, "end": 6 }), expect!["ok: <short>|q6|a7|q8|a9"]).await;
    check(&ten(), json!({}), expect!["ok: <short>"]).await;
    check(&ten(), json!({ "start": 2, "end": -2 }), expect!["ok: q0|a1|<short>|q8|a9"]).await;
    let inclusive = json!({ "start": 0, "end": 3, "end_inclusive": true });
    check(&ten(), inclusive, expect!["ok: <short>|q4|a5|q6|a7|q8|a9"]).await;
}

#[tokio::test] // M-13
async fn an_empty_range_is_nothing_to_do() {
    let all = expect!["noop: q0|a1|q2|a3|q4|a5|q6|a7|q8|a9"];
    check(&ten(), json!({ "start": 5, "end": 5 }), all).await;
    check(&[], json!({}), expect!["noop: "]).await;
    check(&[Message::system("be kind")], json!({}), expect!["noop: be kind"]).await;
}

#[tokio::test] // M-14
async fn a_call_stays_with_its_result() {
    let call =
        json!([{ "id": "1", "type": "function", "function": { "name": "t", "arguments": "{}" } }]);
    let messages = [
        Message::system("be kind"),
        Message::user("go"),
        Message::assistant("").with_metadata_entry("tool_calls", call),
        Message::tool("result").with_metadata_entry("tool_call_id", "1"),
        Message::assistant("done"),
    ];
    check(&messages, json!({ "end": 3 }), expect!["ok: be kind|<short>||result|done"]).await;
    check(&messages, json!({ "start": 3 }), expect!["ok: be kind|go||result|<short>"]).await;
    check(&messages, json!({ "end": 4 }), expect!["ok: be kind|<short>|done"]).await;
}

#[tokio::test] // M-09, M-11
async fn the_model_reads_a_transcript_and_no_tools() {
    let alone = Alone::says(&["<state_snapshot>\nfirst\n</state_snapshot>"]);
    let mut core = alone.core.clone();
    core.register_tool(Arc::new(echo("t"))).unwrap();
    let alone = Alone { core, ..alone };
    let session = alone.session(&ten()).await;
    let params = json!({ "end": 2, "instructions": "names matter" });
    let (session, result) = alone.compact(&session, params, json!({})).await;
    assert_eq!(shown(&session), "<first>|q2|a3|q4|a5|q6|a7|q8|a9");
    let (items, state) = alone.model.requests().pop().unwrap();
    let prompt = items[0].get("say").unwrap().as_str().unwrap();
    assert!(prompt.contains("names matter"), "{prompt}");
    assert!(prompt.ends_with("<transcript>\n[user]\nq0\n\n[assistant]\na1\n\n</transcript>"));
    assert_eq!((items.len(), state.request.get("tools")), (1, None));
    assert_eq!(result["compaction"]["replaced"], 2);
    let mark = &session.messages().get(0).unwrap().metadata()["compaction"];
    assert_eq!((mark["replaced"].clone(), mark["kept"].clone()), (json!(2), json!(8)));
}

#[tokio::test] // M-10
async fn the_settings_are_those_of_the_agent_else_of_the_request() {
    let alone = Alone::says(&[]);
    let session = alone.session(&ten()).await;
    let off = json!({ "compaction": { "enabled": false } });
    let (same, result) = alone.compact(&session, json!({}), off).await;
    assert_eq!((result["error"]["type"].clone(), same), (json!("disabled"), session));
    let stage = two_agents(&[]).settings("compaction.enabled = false");
    let app = stage.start().await;
    fill(&app, "s", 2).await;
    let result = compact(&app, "s", json!({})).await;
    assert_eq!(result["error_type"], "disabled");
    assert!(app.ui_schema("default", Some("s")).await.unwrap().is_empty());
}

#[tokio::test] // M-12
async fn it_says_when_and_how_often() {
    let alone = Alone::says(&["one", "two"]);
    let session = alone.session(&ten()).await;
    let (session, _) = alone.compact(&session, json!({ "end": 4 }), json!({})).await;
    let (session, _) = alone.compact(&session, json!({ "end": 4 }), json!({})).await;
    assert_eq!(shown(&session), "<two>|a7|q8|a9");
    assert_eq!(session.metadata()["compaction_count"], 2);
    let at = session.metadata()["last_compaction"].as_str().unwrap();
    assert!(at.ends_with('Z') && at.len() == 24, "{at}");
    assert!(
        alone.model.last_request().contains("[user]\nThe conversation up to here was compacted")
    );
    session.verify().unwrap();
}

#[tokio::test] // M-13
async fn a_failing_or_empty_answer_changes_nothing() {
    let alone = Alone::says(&[]);
    let session = alone.session(&ten()).await;
    let broken = ScriptedReply::text(&["half of"]).failing(Error::unavailable("gone"));
    for (reply, kind, said) in [
        (broken, "unavailable", "the conversation was not compacted: gone"),
        (
            ScriptedReply::text(&["  "]),
            "provider",
            "the conversation was not compacted: the model wrote an empty snapshot; try again",
        ),
    ] {
        alone.model.reply(reply);
        let (same, result) = alone.compact(&session, json!({}), json!({})).await;
        assert_eq!(same, session);
        assert_eq!(
            (result["error"]["type"].clone(), result["error"]["message"].clone()),
            (json!(kind), json!(said))
        );
    }
}

#[tokio::test]
async fn what_is_too_much_at_once_is_read_in_pieces() {
    let alone = Alone::says(&["first", "second", "third"]);
    let long = |n: u8| Message::user(format!("{n}{}", "x".repeat(1_500)));
    let session = alone.session(&[long(1), long(2), long(3)]).await;
    let window = json!({ "context_window": 2_200 });
    let (session, _) = alone.compact(&session, json!({}), window).await;
    assert_eq!(shown(&session), "<second>");
    let last = alone.model.last_request();
    assert!(
        last.contains("comes in 2 parts; this is part 2") && last.contains("\nfirst\n"),
        "{last}"
    );
    // Where the window is not known, the server says what is too much.
    let alone = Alone::says(&[]);
    let too_long = Error::provider("too long").with_context_overflow();
    alone
        .model
        .reply(ScriptedReply::default().failing(too_long))
        .reply(ScriptedReply::text(&["ok"]));
    let session = alone.session(&[long(1)]).await;
    let (session, _) = alone.compact(&session, json!({}), json!({})).await;
    assert_eq!(shown(&session), "<ok>");
}

/// Two agents; the model says these texts.
fn two_agents(texts: &[&str]) -> Stage {
    Stage::says(texts)
        .feature(Compaction)
        .application(CompactionActions)
        .more("[agents.writer]\nextends = \"default\"\nmodel = \"w\"")
}

/// A stored session with so many questions and answers.
async fn fill(app: &Application, session: &str, pairs: usize) {
    let id = Some(session.to_owned());
    app.create_session(NewSession { id, ..NewSession::default() }).await.unwrap();
    for message in ten().into_iter().cycle().take(pairs * 2) {
        app.add_message(session, message, None).await.unwrap();
    }
}

async fn compact(app: &Application, session: &str, params: Value) -> Map {
    let call = ActionCall {
        params: params.as_object().cloned().unwrap(),
        ..ActionCall::new("compaction", "compact_range")
    };
    app.execute_action(call, Some(session)).await.unwrap()
}

async fn stored(app: &Application, session: &str) -> String {
    shown(&app.session(session).await.unwrap().session)
}

#[tokio::test] // M-15
async fn a_stored_session_is_compacted_saved_and_told_of() {
    let stage = two_agents(&["short"]);
    let app = stage.start().await;
    fill(&app, "s", 3).await;
    let mut told = app.follow_events(Follow::default()).await.unwrap();
    let result = compact(&app, "s", json!({ "start": 0, "end": 3, "end_inclusive": true })).await;
    assert_eq!(stored(&app, "s").await, "<short>|q4|a5");
    let change = result["change_id"].as_str().unwrap().to_owned();
    let text = serde_json::to_string_pretty(&result).unwrap().replace(&change, "CHANGE");
    expect![[r#"
        {
          "status": "ok",
          "message": "4 messages (about 16 tokens) were replaced by a snapshot of about 40 tokens; undo brings them back",
          "mutations": {
            "updated_session_ids": [
              "s"
            ]
          },
          "ui_effects": {
            "reload_session_ids": [
              "s"
            ]
          },
          "compaction": {
            "start": 0,
            "end": 4,
            "replaced": 4,
            "tokens_before": 16,
            "tokens_after": 40
          },
          "change_id": "CHANGE"
        }"#]]
    .assert_eq(&text);
    let mut names = Vec::new();
    while names.last().is_none_or(|last| last != "session_compacted") {
        let event = futures::StreamExt::next(&mut told).await.unwrap();
        let json = serde_json::to_value(&*event).unwrap();
        names.push(json["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(names.join(" "), "action_result session_updated session_compacted");
    let missing = ActionCall::new("compaction", "compact_range").param("session_id", "nowhere");
    let refused = app.execute_action(missing, None).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::NotFound);
}

#[tokio::test] // M-09
async fn what_was_replaced_comes_back_by_undoing_also_under_newer_messages() {
    let stage = two_agents(&["short", "later"]);
    let app = stage.start().await;
    fill(&app, "s", 3).await;
    let before = stored(&app, "s").await;
    let result = compact(&app, "s", json!({ "end": 4 })).await;
    events_of(&app, ask("s", "more")).await;
    assert_eq!(stored(&app, "s").await, "<short>|q4|a5|more|later");
    let changes = app.changes("s").await.unwrap();
    let listed: Vec<_> =
        changes.iter().map(|it| (it.plugin.as_str(), it.action.as_str())).collect();
    assert_eq!(listed, [("compaction", "compact_range")]);
    app.undo("s", result["change_id"].as_str().unwrap()).await.unwrap();
    assert_eq!(stored(&app, "s").await, format!("{before}|more|later"));
    assert_eq!(kept(&app, "s", "compaction_count").await, Value::Null);
}

#[tokio::test] // M-11
async fn another_agent_may_write_and_leaves_no_trace_in_the_session() {
    let stage = two_agents(&["by the writer"]).settings("compaction.agent_id = \"writer\"");
    let app = stage.start().await;
    fill(&app, "s", 2).await;
    compact(&app, "s", json!({ "end": 2 })).await;
    assert_eq!(stored(&app, "s").await, "<by the writer>|q2|a3");
    assert_eq!(kept(&app, "s", "agent_id").await, "default");
    let (items, state) = stage.model.requests().pop().unwrap();
    assert_eq!((items.len(), state.config.text("model")), (1, Some("w")));
    let sessions = app.list_sessions(&Default::default()).await.unwrap().sessions;
    assert_eq!(sessions.len(), 1, "the side request is stored nowhere");
}

#[tokio::test] // M-12
async fn a_trigger_compacts_when_it_is_configured() {
    let stage = two_agents(&["hello", "short"])
        .settings("compaction.triggers = [\"session_save_prepare\"]");
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    assert_eq!(stored(&app, "s").await, "<short>");
    let change = app.changes("s").await.unwrap().remove(0);
    // The script is at its end: what comes back is not compacted again.
    app.undo("s", &change.id).await.unwrap();
    assert_eq!(stored(&app, "s").await, "hi|hello");
}

#[tokio::test]
async fn plugins_may_refuse_or_write_the_snapshot() {
    let at = |name: &str| ActionDefinition::new("act", "Act").on(&[name]);
    let prepare = lifecycle::COMPACTION_PREPARE;
    let keeper = move |answer: Value| {
        ScriptedFeature::new("keeper")
            .get_actions(move |_, _| Ok(vec![at(prepare)]))
            .execute_action(move |_, cx| {
                assert_eq!(cx.get("compaction").unwrap()["end"], 2);
                ActionResult::from_json(answer.clone())
            })
    };
    let stage =
        two_agents(&[]).feature(keeper(json!({ "decision": "deny", "reason": "it is evidence" })));
    let app = stage.start().await;
    fill(&app, "s", 2).await;
    let result = compact(&app, "s", json!({ "end": 2 })).await;
    assert_eq!(result["status"], "noop");
    assert_eq!(result["message"], "plugin \"keeper\" refused: it is evidence");

    let log = Log::new();
    let heard = log.clone();
    let listener = ScriptedApplication::new("listener")
        .get_actions(move |_, _| async move { Ok(vec![at(lifecycle::COMPACTION_COMPLETE)]) })
        .execute_action(move |_, cx| {
            let summary = &cx.get("compaction").unwrap()["summary"];
            heard.add(format!("{summary}: {}", shown(cx.session().unwrap())));
            async { Err(Error::internal("too late to object")) }
        });
    let stage = two_agents(&[])
        .feature(keeper(json!({ "summary": "from my notes" })))
        .application(listener);
    let app = stage.start().await;
    fill(&app, "s", 2).await;
    compact(&app, "s", json!({ "end": 2 })).await;
    assert_eq!(stored(&app, "s").await, "<from my notes>|q2|a3");
    assert_eq!(stage.model.requests().len(), 0);
    assert_eq!(log.lines(), ["\"from my notes\": <from my notes>|q2|a3"]);
}

#[tokio::test] // M-16
async fn people_find_it_at_the_session_and_at_each_message() {
    let app = two_agents(&[]).start().await;
    let elements = app.application_ui().await.unwrap();
    expect![[r#"
        [
          {
            "ui_type": "session_action",
            "id": "compact_range",
            "label": "Compact range",
            "icon": "archive",
            "order": 45,
            "action_id": "compact_range",
            "fixed_params": {},
            "param_map": {
              "session_id": "$session.session_id",
              "start": "$dialog.start",
              "end": "$dialog.end",
              "instructions": "$dialog.instructions"
            },
            "dialog": {
              "kind": "form",
              "title": "Compact range",
              "inputs": [
                {
                  "name": "start",
                  "type": "integer",
                  "label": "From message",
                  "required": false
                },
                {
                  "name": "end",
                  "type": "integer",
                  "label": "Up to message (not included)",
                  "required": false
                },
                {
                  "name": "instructions",
                  "type": "string",
                  "label": "What to keep in particular",
                  "required": false
                }
              ]
            },
            "plugin": "compaction",
            "action_owner": "application"
          },
          {
            "ui_type": "message_action",
            "id": "compact_up_to_here",
            "label": "Compact up to here",
            "icon": "archive",
            "order": 25,
            "action_id": "compact_range",
            "fixed_params": {
              "start": 0,
              "end_inclusive": true
            },
            "param_map": {
              "session_id": "$session.session_id",
              "end": "$message.index"
            },
            "plugin": "compaction",
            "action_owner": "application"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&elements).unwrap());
}

#[tokio::test]
async fn the_context_is_shown_part_by_part() {
    let stage = Stage::says(&["an answer"]).tool(echo("t")).settings("context_window = 1000");
    let stage = stage.feature(Compaction).application(CompactionActions);
    let app = stage.start().await;
    events_of(&app, ask("s", &"word ".repeat(80))).await;
    let shown = app.execute_action(ActionCall::new("compaction", "show_context"), Some("s"));
    let shown = shown.await.unwrap();
    expect![[r#"
        About 131 of 1000 tokens, 13 % of the context window.

        | part | count | tokens, roughly |
        | --- | --- | --- |
        | tools | 1 | 21 |
        | user | 1 | 104 |
        | assistant | 1 | 6 |

        Older messages are replaced by a summary at 80 %."#]]
    .assert_eq(shown["display"]["body"].as_str().unwrap());
    assert_eq!(shown["context"]["window"], 1000);
}
