//! Turns from the user's message to the settled outcome.

use crate::common::doubles::*;
use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;

#[tokio::test] // I-13, I-15, I-23
async fn a_request_streams_and_is_stored_before_it_ends() {
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["Hel", "lo"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    assert_eq!(names(&events), "session_created request_started partial final");
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert_eq!(said(&app, "s").await, "hi|Hello");
    let EventKind::Final { messages, session, .. } = &events.last().unwrap().kind else { panic!() };
    assert_eq!(messages[0].text(), "Hello");
    assert_eq!((session.message_count, session.title.as_deref()), (2, Some("hi")));
}

#[tokio::test] // I-16, I-17, I-18
async fn tools_run_between_model_calls() {
    let scene = Scene::default().tool(echo("read"));
    scene
        .provider
        .reply(ScriptedReply::calls(&[
            ("c1", "read", json!({"n": 1})),
            ("c2", "read", json!({"n": 2})),
        ]))
        .reply(ScriptedReply::text(&["done"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(
        names(&events),
        "session_created request_started tool_call tool_result partial final"
    );
    assert_eq!(said(&app, "s").await, r#"go||{"n":1}|{"n":2}|done"#);
    assert_eq!(scene.provider.requests().len(), 2);
}

#[tokio::test]
async fn the_trace_of_a_request_names_every_hook_with_its_time() {
    let log = Log::new();
    let scene = Scene::default()
        .tool(echo("t"))
        .application(app_recorder(&log, &["request_prepare"], async |_, _| {
            Ok(patch(json!({"x": 1})))
        }))
        .feature(core_recorder(&log, &["request_complete"], |_, _| Err(Error::internal("broken"))));
    scene.provider.reply(ScriptedReply::calls(&[("c", "t", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    events_of(&app, Request { request_id: Some("r".to_owned()), ..ask("s", "go") }).await;
    let trace = scene.start().await.trace("r").await.unwrap();
    let find = |plugin: &str, hook: &str| {
        let found = trace.iter().find(|entry| {
            entry.get("plugin").is_some_and(|held| held == plugin)
                && entry.get("hook").is_some_and(|held| held == hook)
        });
        found.unwrap_or_else(|| panic!("no {plugin}.{hook} in {trace:?}"))
    };
    for (plugin, hook) in
        [("recorder", "execute_action"), ("t", "execute_tool"), ("scripted", "initialize_request")]
    {
        let entry = find(plugin, hook);
        assert!(entry["duration_us"].is_u64() && entry["start_us"].is_u64(), "{entry:?}");
        assert_eq!(entry["outcome"], "ok");
    }
    assert_eq!(find("recorder", "execute_action")["change"]["session_metadata"], json!({"x": 1}));
    assert_eq!(find("core_recorder", "execute_action")["outcome"], "error");
    for plugin in ["recorder", "core_recorder"] {
        let entry = find(plugin, "execute_action");
        assert!(entry["action"].is_string() && entry["lifecycle"].is_string(), "{entry:?}");
    }
    // What a plugin is asked for again and again stands there once for what is stored together.
    let asked: Vec<&Map> = trace
        .iter()
        .filter(|entry| entry["kind"] == "hook" && entry["hook"] == "get_actions")
        .filter(|entry| entry["plugin"] == "recorder")
        .collect();
    assert!(asked.len() < 4 && asked.iter().all(|entry| entry["change"].is_null()), "{asked:?}");
    assert!(asked.iter().any(|entry| entry["calls"].as_u64() > Some(1)), "{asked:?}");
    let came = |entry: &Map| entry["kind"] == "lifecycle" && entry["detail"] == "request_complete";
    assert_eq!(trace.iter().filter(|entry| came(entry)).count(), 1);
    let models = trace.iter().filter(|entry| entry["kind"] == "model_call").count();
    assert_eq!(models, 2);
    assert_eq!(app.trace("nobody").await.unwrap_err().class(), ErrorClass::NotFound);
}

#[tokio::test] // I-21, I-24
async fn an_answer_whose_calls_cannot_be_dealt_with_is_not_kept() {
    for point in ["permission", "tool_before", "model_response"] {
        let guard = ScriptedFeature::new("guard")
            .get_actions(move |_, _| Ok(vec![at(point)]))
            .execute_action(|_, _| Err(Error::unavailable("no rules")));
        let scene = Scene::default().tool(echo("read")).feature(guard);
        scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
        let app = scene.start().await;
        let events = events_of(&app, ask("s", "go")).await;
        assert!(names(&events).ends_with("request_failed"), "{point}: {}", names(&events));
        assert_eq!(said(&app, "s").await, "go", "{point}");
    }
}

#[tokio::test] // H-09, I-21
async fn what_was_said_before_a_stop_comes_after_the_lifecycle_of_the_error() {
    let (log, gate) = (Log::new(), orlop_testkit::Gate::new());
    let seen = log.clone();
    let watch = ScriptedFeature::new("watch")
        .get_actions(|_, _| Ok(vec![at("request_error")]))
        .execute_action(move |input, _| {
            seen.add(texts(&input.session));
            Ok(ActionResult::default())
        });
    let scene = Scene::default().feature(watch);
    scene.provider.reply(ScriptedReply::text(&["Hel", "lo"]).waiting_for(&gate));
    let app = scene.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    while let Some(event) = handle.next().await {
        if let EventKind::Partial { .. } = event.kind {
            handle.cancel("enough").await.unwrap();
        }
    }
    assert_eq!(log.lines(), ["go"]);
    let session = app.session("s").await.unwrap().session;
    let last = session.messages().last().unwrap();
    assert!(session.messages().len() == 2 && last.metadata()["interrupted"] == true);
}

#[tokio::test] // C-64
async fn a_section_that_says_so_leaves_its_plugin_out() {
    let named = || ScriptedFeature::new("extra").get_template(|_, _| Ok("hi".into()));
    for (section, there) in [("", true), ("[agents.default.extra]\nenabled = false\n", false)] {
        let scene = Scene::default().feature(named()).config(&format!("{CONFIG}{section}"));
        let (core, config) = scene.start().await.agent("default").unwrap();
        let found = core.plugins_for(&config).await.unwrap().features;
        assert_eq!(found.contains(&"extra".to_owned()), there);
    }
}

#[tokio::test]
async fn thirty_thousand_calls_in_one_answer_run_none_and_the_session_goes_on() {
    let ids: Vec<String> = (0..30_000).map(|number| format!("c{number}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), "read", json!({}))).collect();
    let log = Log::new();
    let ran = log.clone();
    let tool = ScriptedTool::new("read").offering(&["read"]).execute_tool(move |_, _| {
        ran.add("ran");
        Ok(types::ToolReport::ok("ok"))
    });
    let scene = Scene::default().tool(tool);
    scene.provider.reply(ScriptedReply::calls(&calls)).reply(ScriptedReply::text(&["fewer"]));
    let app = scene.start().await;
    events_of(&app, ask("s", "go")).await;
    let session = app.session("s").await.unwrap().session;
    assert_eq!(session.messages().len(), 30_003);
    assert_eq!(
        session.messages().get(2).unwrap().text(),
        "Error: none of these calls was run: 30000 calls in one answer are more than 1024; make fewer at once"
    );
    assert_eq!(log.take().len(), 0);
    scene.provider.reply(ScriptedReply::calls(&calls[..2])).reply(ScriptedReply::text(&["done"]));
    events_of(&app, ask("s", "again")).await;
    assert!(said(&app, "s").await.ends_with("|fewer|again||ok|ok|done"));
}

#[tokio::test]
async fn calls_that_make_no_sense_are_told_to_the_model_and_the_turn_goes_on() {
    let calls = [
        ("c1", "nothing", json!({})),
        ("c1", "read", json!({"again": "the same id"})),
        ("", "read", json!({"no": "id"})),
        ("c4", "", json!({})),
    ];
    let scene = Scene::default().tool(echo("read"));
    let broken = json!({"id": "c5", "type": "function",
        "function": {"name": "read", "arguments": "{\"path\": "}});
    scene.provider.reply(ScriptedReply::calls(&calls));
    scene.provider.reply(ScriptedReply::items(vec![
        json!({"who": "assistant", "say": "", "calls": [broken]}),
    ]));
    scene.provider.reply(ScriptedReply::text(&["done"]));
    let app = scene.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    expect![[r#"
        go

        Error: no tool handled 'nothing'
        {"again":"the same id"}
        {"no":"id"}
        Error: no tool handled ''

        Error: tool "read" was not run: the arguments are not JSON: EOF while parsing a value at line 1 column 9; send them again as one JSON object
        done"#]]
    .assert_eq(&said(&app, "s").await.replace('|', "\n"));
}
