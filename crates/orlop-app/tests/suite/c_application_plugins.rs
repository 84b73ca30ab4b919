//! Application plugins: what they are handed, what they can do, how they fail, what they show.

use crate::common::*;
use expect_test::expect;
use orlop_app::config::resolve_request_config;
use orlop_app::ui::Outcome;
use orlop_app::*;
use orlop_core::types::ActionStatus;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

fn result(value: Value) -> ActionResult {
    ActionResult::from_json(value).unwrap()
}

fn action(id: &str) -> ActionDefinition {
    ActionDefinition::new(id, id)
}

/// A plugin `p` with one action `act` that does this.
fn acting<F>(act: impl Fn(Map, Context) -> F + Send + Sync + 'static) -> ScriptedApplication
where
    F: Future<Output = Result<ActionResult>> + Send + 'static,
{
    ScriptedApplication::new("p")
        .actions(vec![action("act")])
        .execute_action(move |input, cx| act(input.params, cx))
}

fn act() -> ActionCall {
    ActionCall::new("p", "act")
}

#[tokio::test] // C-59, C-60
async fn init_runs_once_and_its_state_is_handed_on() {
    let log = Log::new();
    let manifest = Manifest::new("p", "2.1.0").config("p.depth", json!({"type": "integer"}));
    let (init, ui, actions, run) = (log.clone(), log.clone(), log.clone(), log.clone());
    let plugin = ScriptedApplication::with_manifest(manifest)
        .init(move |input, _| {
            init.add("init");
            let config = input.config;
            async move {
                // The whole configuration: agents and sections.
                assert_eq!(config.get("agents").unwrap()["other"]["model"], "o");
                assert_eq!(config.get("default_agent").unwrap(), "default");
                Ok(json!({"depth": config.get("p").unwrap()["depth"]}))
            }
        })
        .get_ui_elements(move |input, _| {
            ui.add(format!("ui {}", input.state));
            async { Ok(vec![]) }
        })
        .get_actions(move |input, _| {
            actions.add(format!("actions {}", input.state));
            async { Ok(vec![action("act")]) }
        })
        .execute_action(move |input, _| {
            run.add(format!("{} {}", input.action_id, input.state));
            async { Ok(ActionResult::default()) }
        });
    let scene = Scene::default().application(plugin).config(&format!("{CONFIG}\n[p]\ndepth = 3\n"));
    let app = scene.start().await;
    assert_eq!(log.take(), ["init"]);
    app.execute_action(act(), None).await.unwrap();
    app.application_ui().await.unwrap();
    app.for_scope(Scope::new("acme", "ana").unwrap()).execute_action(act(), None).await.unwrap();
    expect![[r#"
        actions {"depth":3}
        act {"depth":3}
        ui {"depth":3}
        actions {"depth":3}
        act {"depth":3}"#]]
    .assert_eq(&log.lines().join("\n"));
    let manifests = app.plugins().manifests();
    let (kind, manifest) = manifests.iter().find(|(_, held)| held.name == "p").unwrap();
    assert_eq!((*kind, &*manifest.version), ("application", "2.1.0"));
}

#[tokio::test] // C-60
async fn an_application_whose_plugin_cannot_init_does_not_start() {
    type Init = fn() -> futures::future::BoxFuture<'static, Result<Value>>;
    let ways: [(&str, Init); 3] = [
        ("no disk", || Box::pin(async { Err(Error::unavailable("no disk")) })),
        ("panicked: boom", || Box::pin(async { panic!("boom") })),
        ("no answer within 30 s", || Box::pin(hang())),
    ];
    for (said, init) in ways {
        let plugin = ScriptedApplication::new("p").init(move |_, _| init());
        let error = Scene::default().application(plugin).try_start().await.err().unwrap();
        assert_eq!(error.plugin_name(), Some("p"));
        assert!(error.message().contains(said), "{error}");
    }
}

#[tokio::test] // C-61, G-04, G-05
async fn params_that_do_not_fit_never_reach_the_plugin() {
    let log = Log::new();
    let heard = log.clone();
    let mut define = action("act").input("start", "integer", true).input("label", "string", false);
    define.inputs.insert("deep".to_owned(), json!({"type": "boolean", "default": true}));
    let plugin =
        ScriptedApplication::new("p").actions(vec![define]).execute_action(move |input, cx| {
            heard.add(Value::Object(input.params).to_string());
            assert!(Application::of(&cx).is_ok());
            async { Ok(ActionResult::default()) }
        });
    let app = Scene::default().application(plugin).start().await;
    let cases = [
        (act(), "start"),
        (act().param("start", "x"), "start"),
        (act().param("start", Value::Null), "start"),
        (act().param("start", 1).param("label", 2), "label"),
        (act().param("start", 1).param("deep", "yes"), "deep"),
    ];
    for (call, named) in cases {
        let error = app.execute_action(call, None).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadArgument, "{error}");
        assert!(error.message().contains(&format!("\"{named}\"")), "{error}");
    }
    assert_eq!(log.text(), "");
    app.execute_action(act().param("start", 1).param("extra", [1]), None).await.unwrap();
    expect![[r#"{"start":1,"extra":[1],"deep":true}"#]].assert_eq(&log.text());
}

#[tokio::test] // C-61, H-40
async fn an_action_knows_its_session_and_its_caller() {
    let log = Log::new();
    let heard = log.clone();
    let define =
        action("act").input("session_id", "string", false).input("agent_id", "string", false);
    let plugin =
        ScriptedApplication::new("p").actions(vec![define]).execute_action(move |input, cx| {
            heard.add(format!(
                "{} session={:?} model={:?} source={:?} theme={:?}",
                Value::Object(input.params),
                cx.session().map(|session| session.id().to_owned()),
                cx.config().text("model"),
                cx.trigger_source(),
                cx.get("theme"),
            ));
            async { Ok(ActionResult::default()) }
        });
    let app = Scene::default().application(plugin).start().await;
    let new =
        NewSession { id: Some("s".into()), agent: Some("other".into()), ..Default::default() };
    app.create_session(new).await.unwrap();
    app.execute_action(act(), None).await.unwrap();
    app.called_with(CallContext::new("test").with("theme", "dark"))
        .execute_action(act(), Some("s"))
        .await
        .unwrap();
    expect![[r#"
        {} session=None model=None source=Manual theme=None
        {"session_id":"s","agent_id":"other"} session=Some("s") model=Some("o") source=Manual theme=Some(String("dark"))"#]].assert_eq(&log.lines().join("\n"));
    let error = app.execute_action(act(), Some("nowhere")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(log.lines().len(), 2);
}

#[tokio::test] // C-62
async fn a_plugin_can_do_all_an_application_can() {
    let plugin = acting(|_, cx| async move {
        let app = Application::of(&cx)?;
        // Create, send with a tool loop, load.
        let new = NewSession { id: Some("one".into()), ..NewSession::default() };
        app.create_session(new).await?;
        let lock = app.acquire_session_lock("one").await?;
        let ended = app.send_request(ask("one", "go")).await?.finish().await?;
        assert_eq!(ended.kind.name(), "final");
        let loaded = app.session("one").await?;
        assert_eq!(texts(&loaded.session), "go||{}|done");
        // Save.
        let patched = loaded.session.with_metadata_patch(&map(json!({"mark": 1})));
        app.save_session(&patched).await?;
        lock.release().await;
        assert_eq!(app.session("one").await?.session.metadata().get("mark"), Some(&json!(1)));
        // Fork and delete.
        let fork = app.fork_session("one", Some(0), Some("two")).await?;
        assert_eq!(texts(&fork.session), "go");
        app.delete_session("two", Some("not needed")).await?;
        assert!(app.load_session("two").await?.is_none());
        // Switch the agent.
        let switched = app.update_agent("other", &loaded.session, true).await?;
        assert_eq!(switched.session.agent_id(), Some("other"));
        assert_eq!(switched.config.text("model"), Some("o"));
        // Resolve the configuration of a request.
        let overrides = map(json!({"model": "x"}));
        let config = resolve_request_config(&switched.config, &[&overrides]);
        assert_eq!(config.text("model"), Some("x"));
        // Publish.
        let event = map(json!({"type": "p_done", "session_id": "one"}));
        app.publish_event("p", event).await?;
        Ok(result(json!({"message": "all done"})))
    });
    let scene = Scene::default().tool(echo("read")).application(plugin);
    scene
        .provider
        .reply(ScriptedReply::calls(&[("c1", "read", json!({}))]))
        .reply(ScriptedReply::text(&["done"]));
    let app = scene.start().await;
    let done = app.execute_action(act(), None).await.unwrap();
    assert_eq!(done["message"], "all done");
    // All of it is there for others, and the session is free.
    assert_eq!(said(&app, "one").await, "go||{}|done");
    let request = Request { wait: Wait::No, ..ask("one", "more") };
    scene.provider.reply(ScriptedReply::text(&["yes"]));
    app.send_request(request).await.unwrap().finish().await.unwrap();
    let followed = app.follow_events(Follow { after: Some(0), ..Follow::default() }).await.unwrap();
    use futures::StreamExt;
    let kinds: Vec<String> = followed
        .map(|event| event.kind.name().to_owned())
        .take_while(|name| futures::future::ready(name != "action_result"))
        .collect()
        .await;
    expect!["session_created request_started tool_call tool_result final session_updated session_deleted p_done"].assert_eq(&kinds.join(" "));
}

#[tokio::test] // C-62
async fn a_locked_session_is_busy_for_others() {
    let (inside, mut reached) = tokio::sync::mpsc::unbounded_channel();
    let open = Arc::new(tokio::sync::Notify::new());
    let gate = open.clone();
    let plugin = acting(move |_, cx| {
        let (inside, gate) = (inside.clone(), gate.clone());
        async move {
            let app = Application::of(&cx)?;
            let lock = app.acquire_session_lock("s").await?;
            // The same flow takes it again.
            app.patch_session("s", map(json!({"by": "p"}))).await?;
            inside.send(()).unwrap();
            gate.notified().await;
            lock.release().await;
            Ok(ActionResult::default())
        }
    });
    let app = Scene::says(&["ok"]).application(plugin).start().await;
    app.create_session(NewSession { id: Some("s".into()), ..Default::default() }).await.unwrap();
    let other = app.clone();
    let acting = tokio::spawn(async move { other.execute_action(act(), Some("s")).await });
    reached.recv().await.unwrap();
    let request = Request { wait: Wait::No, ..ask("s", "hi") };
    let error = app.send_request(request.clone()).await.err().unwrap();
    assert_eq!((error.class(), error.retryable()), (ErrorClass::Conflict, true));
    open.notify_one();
    acting.await.unwrap().unwrap();
    app.send_request(request).await.unwrap().finish().await.unwrap();
    assert_eq!(said(&app, "s").await, "hi|ok");
}

#[tokio::test] // C-63, G-24
async fn both_styles_of_failure_come_to_the_same() {
    let plugin = ScriptedApplication::new("p")
        .actions(vec![action("fails"), action("says"), action("wraps")])
        .execute_action(|input, _| async move {
            match &*input.action_id {
                "fails" => Err(Error::not_found("there is no session \"x\"")),
                "says" => Ok(result(json!({
                    "status": "error", "error_type": "not_found",
                    "message": "there is no session \"x\"",
                }))),
                _ => Ok(ActionResult::error("not_found", "there is no session \"x\"")),
            }
        });
    let app = Scene::default().application(plugin).start().await;
    for id in ["fails", "says", "wraps"] {
        let outcome = Outcome::of(app.execute_action(ActionCall::new("p", id), None).await);
        assert!(outcome.failed(), "{id}");
        assert_eq!(outcome.error_type.as_deref(), Some("not_found"), "{id}");
        assert_eq!(outcome.notice(), Some("there is no session \"x\""), "{id}");
    }
    for call in [ActionCall::new("p", "nope"), ActionCall::new("nobody", "says")] {
        let error = app.execute_action(call, None).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
    }
}

#[tokio::test] // C-63
async fn an_action_that_panics_or_hangs_is_a_failure() {
    for (id, said) in [("panic", "panicked: boom"), ("hang", "no answer within 600 s")] {
        let plugin = ScriptedApplication::new("p").actions(vec![action(id)]).execute_action(
            |input, cx| async move {
                let app = Application::of(&cx)?;
                let _lock = app.acquire_session_lock("s").await?;
                match &*input.action_id {
                    "panic" => panic!("boom"),
                    _ => hang().await,
                }
            },
        );
        let app = Scene::says(&["ok"]).application(plugin).start().await;
        let new = NewSession { id: Some("s".into()), ..NewSession::default() };
        app.create_session(new).await.unwrap();
        let error = app.execute_action(ActionCall::new("p", id), Some("s")).await.unwrap_err();
        assert_eq!(error.plugin_name(), Some("p"));
        assert!(error.message().contains(said), "{error}");
        // What it held is free.
        assert_eq!(talk(&app, "s", "hi").await, "hi|ok");
    }
}

#[tokio::test] // G-21, G-22, G-23, G-25
async fn results_pass_unchanged() {
    let full = json!({
        "status": "noop",
        "message": "nothing to do",
        "mutations": {"created_session_ids": ["a"], "updated_session_ids": ["b"], "deleted_session_ids": ["c"]},
        "ui_effects": {"reload_session_ids": ["b"], "navigate": {"screen": "sessions"}, "blink": true},
        "state": "pending",
        "debug": {"took": 3},
        "display": {"format": "text", "body": "hello"},
    });
    let answer = full.clone();
    let plugin = acting(move |_, _| {
        let answer = answer.clone();
        async { Ok(result(answer)) }
    });
    let app = Scene::default().application(plugin).start().await;
    let mut events = app.follow_events(Follow::default()).await.unwrap();
    let given = app.execute_action(act(), None).await.unwrap();
    assert_eq!(Value::Object(given.clone()), full);
    let outcome = Outcome::from_result(given);
    assert_eq!(outcome.status, ActionStatus::Noop);
    assert_eq!(outcome.mutations.created_session_ids, ["a"]);
    assert_eq!(outcome.reload_session_ids(), ["b"]);
    assert_eq!(outcome.navigate(), Some(&map(json!({"screen": "sessions"}))));
    assert_eq!(outcome.extra["state"], "pending");
    // Front ends that follow events are told the same.
    use futures::StreamExt;
    let event = events.next().await.unwrap();
    let EventKind::ActionResult { plugin, action_id, result } = &event.kind else { panic!() };
    assert_eq!((&**plugin, &**action_id), ("p", "act"));
    assert_eq!(Value::Object(result.clone()), full);
}

/// A plugin with a button on sessions, unless its section says no.
fn with_button(log: &Log) -> ScriptedApplication {
    let log = log.clone();
    let manifest = Manifest::new("buttons", "1.0.0")
        .config("buttons.enabled", json!({"type": "boolean", "default": true}));
    ScriptedApplication::with_manifest(manifest)
        .actions(vec![action("press").input("session_id", "string", true)])
        .execute_action(|input, _| async move {
            Ok(result(json!({"message": format!("pressed on {}", input.params["session_id"])})))
        })
        .get_ui_elements(move |input, _| {
            log.add(format!(
                "config={} tags={:?} models={:?}",
                input.config.is_some(),
                input.tags,
                input.models.as_ref().map(|models| models.len())
            ));
            let section = input.config.as_ref().and_then(|config| config.get("buttons").cloned());
            let off = section.is_some_and(|section| section["enabled"] == json!(false));
            async move {
                let button = json!({
                    "ui_type": "session_action", "id": "press", "label": "Press",
                    "action_id": "press", "param_map": {"session_id": "$session.id"},
                });
                Ok(if off { vec![] } else { vec![button] })
            }
        })
}

#[tokio::test] // C-59, C-64, J-15
async fn a_button_of_a_plugin_runs_its_action() {
    let log = Log::new();
    let mut scene = Scene::default().application(with_button(&log));
    scene.provider = ScriptedProvider::new("scripted").models(&["m", "o"]).tags(&["fast"]);
    scene.plugins = Plugins::new()
        .provider(Arc::new(scene.provider.clone()), vec![])
        .application(Arc::new(with_button(&log)));
    let app = scene.start().await;
    // Where no agent is known, there is neither config nor tags nor models.
    let bare = app.application_ui().await.unwrap();
    assert_eq!(log.take(), ["config=false tags=None models=None"]);
    expect![[r#"[{"ui_type":"session_action","id":"press","label":"Press","action_id":"press","param_map":{"session_id":"$session.id"},"plugin":"buttons","action_owner":"application"}]"#]].assert_eq(&serde_json::to_string(&bare).unwrap());
    let elements = app.ui_schema("default", None).await.unwrap();
    assert_eq!(log.take(), [r#"config=true tags=Some(["fast"]) models=Some(2)"#]);
    assert_eq!(elements, bare);
    app.create_session(NewSession { id: Some("s".into()), ..Default::default() }).await.unwrap();
    let button = &elements[0];
    let named = |key: &str| button[key].as_str().unwrap();
    let call = ActionCall::new(named("plugin"), named("action_id")).param("session_id", "s");
    let done = app.execute_action(call, Some("s")).await.unwrap();
    assert_eq!(done["message"], "pressed on \"s\"");
    // The action is listed with its owner.
    let listed = app.list_actions(Some("s")).await.unwrap();
    let found = listed.iter().find(|action| action.id == "press").unwrap();
    assert_eq!(found.plugin.as_deref(), Some("buttons"));
    assert_eq!(json!(found.action_owner), "application");
}

#[tokio::test] // C-64
async fn a_section_that_says_no_hides_the_buttons() {
    let log = Log::new();
    let config = format!(
        "{CONFIG}\n[agents.quiet]\nextends = \"default\"\n[agents.quiet.buttons]\nenabled = false\n"
    );
    let app = Scene::default().application(with_button(&log)).config(&config).start().await;
    assert_eq!(app.ui_schema("default", None).await.unwrap().len(), 1);
    assert!(app.ui_schema("quiet", None).await.unwrap().is_empty());
    // A session may say so for itself.
    let metadata = map(json!({"overrides": {"buttons.enabled": false}}));
    let new = NewSession { id: Some("s".into()), metadata, ..NewSession::default() };
    app.create_session(new).await.unwrap();
    assert!(app.ui_schema("default", Some("s")).await.unwrap().is_empty());
    let everywhere = format!("{CONFIG}\n[buttons]\nenabled = false\n");
    let app = Scene::default().application(with_button(&log)).config(&everywhere).start().await;
    assert!(app.ui_schema("default", None).await.unwrap().is_empty());
}

#[tokio::test] // J-09, J-10, J-12, J-13, J-15
async fn elements_are_merged_by_the_rules_of_the_core() {
    let feature = ScriptedFeature::new("f").get_ui_elements(|_, _| {
        Ok(vec![
            json!({"ui_type": "config", "key": "depth", "label": "feature"}),
            json!({"ui_type": "config", "key": "width"}),
            json!({"ui_type": "banner"}),
        ])
    });
    let plugin = ScriptedApplication::new("p").get_ui_elements(|_, _| async {
        Ok(vec![
            json!("nonsense"),
            json!({"ui_type": 7, "key": "depth", "label": "application"}),
            json!({"ui_type": "", "plugin": "q"}),
            json!({"ui_type": "session_list_action", "action_id": "a"}),
            json!({"key": "height"}),
        ])
    });
    let broken = ScriptedApplication::new("broken")
        .get_ui_elements(|_, _| async { panic!("no elements today") });
    let hanging = ScriptedApplication::new("hanging").get_ui_elements(|_, _| hang());
    let scene = Scene::default()
        .feature(feature)
        .application(broken)
        .application(hanging)
        .application(plugin);
    let app = scene.start().await;
    let elements = app.ui_schema("default", None).await.unwrap();
    let lines: Vec<String> =
        elements.iter().map(|e| Value::Object(e.clone()).to_string()).collect();
    expect![[r#"
        {"ui_type":"banner","plugin":"f"}
        {"ui_type":"config","plugin":"q"}
        {"ui_type":"session_list_action","action_id":"a","plugin":"p","action_owner":"application"}
        {"ui_type":"config","key":"depth","label":"application","plugin":"p"}
        {"ui_type":"config","key":"width","plugin":"f"}
        {"key":"height","ui_type":"config","plugin":"p"}"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test] // J-05
async fn settings_of_all_plugins_have_the_same_form() {
    let feature = ScriptedFeature::with_manifest(
        Manifest::new("f", "1.0.0").config("f.depth", json!({"type": "integer", "default": 2})),
    );
    let plugin = ScriptedApplication::with_manifest(
        Manifest::new("p", "1.0.0")
            .config("p.width", json!({"type": "integer", "description": "How wide."}))
            .config("odd", json!(1)),
    );
    let app = Scene::default().feature(feature).application(plugin).start().await;
    let entries = app.config_schema("default").unwrap();
    expect![[r#"[{"type":"integer","default":2,"plugin":"f","key":"f.depth"},{"type":"integer","description":"How wide.","plugin":"p","key":"p.width"}]"#]].assert_eq(&serde_json::to_string(&entries).unwrap());
    assert_eq!(app.config_schema("nobody").unwrap_err().class(), ErrorClass::NotFound);
}

/// How an action fails in a lifecycle.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Error,
    Panic,
    Hang,
    /// Results that make no sense.
    Nonsense,
}

/// A plugin whose action at this lifecycle goes wrong.
fn wrong_at(lifecycle: &str, how: Wrong) -> ScriptedApplication {
    ScriptedApplication::new("wrong").actions(vec![at(lifecycle)]).execute_action(
        move |_, _| async move {
            match how {
                Wrong::Error => Err(Error::bad_state("out of order")),
                Wrong::Panic => panic!("out of order"),
                Wrong::Hang => hang().await,
                Wrong::Nonsense => Ok(ActionResult {
                    session_metadata: Some(json!("no mapping")),
                    public: map(json!({"status": 7, "display": [], "mutations": "x"})),
                    ..ActionResult::default()
                }),
            }
        },
    )
}

const WRONG: [Wrong; 4] = [Wrong::Error, Wrong::Panic, Wrong::Hang, Wrong::Nonsense];

async fn is_free(app: &Application, session: &str) {
    // A lock that is dropped is given back in a task of its own.
    let app = app.begin();
    app.acquire_session_lock(session).await.unwrap().release().await;
}

#[tokio::test] // C-63
async fn what_is_being_prepared_fails_with_its_plugin_and_leaves_no_trace() {
    for how in WRONG {
        // A request.
        let scene = Scene::says(&["ok"]).application(wrong_at("request_prepare", how));
        let app = scene.start().await;
        let sent = app.send_request(ask("s", "hi")).await;
        match how {
            Wrong::Nonsense => drop(sent.unwrap().finish().await.unwrap()),
            _ => {
                assert_eq!(sent.err().unwrap().plugin_name(), Some("wrong"), "{how:?}");
                assert!(app.load_session("s").await.unwrap().is_none(), "{how:?}");
                assert!(scene.provider.requests().is_empty());
            }
        }
        is_free(&app, "s").await;

        // A model call: the turn fails, and what was said before is kept.
        let scene = Scene::says(&["ok"]).application(wrong_at("model_request", how));
        let app = scene.start().await;
        let events = events_of(&app, ask("s", "hi")).await;
        let ended = if matches!(how, Wrong::Nonsense) { "final" } else { "request_failed" };
        assert_eq!(events.last().unwrap().kind.name(), ended, "{how:?}");
        assert!(said(&app, "s").await.starts_with("hi"), "{how:?}");
        is_free(&app, "s").await;

        // Saving, creating, deleting and switching.
        for lifecycle in [
            "session_save_prepare",
            "session_create",
            "session_delete_prepare",
            "agent_switch_prepare",
        ] {
            let scene = Scene::default();
            let before = scene.start().await;
            let new = |id: &str| NewSession { id: Some(id.into()), ..NewSession::default() };
            before.create_session(new("s")).await.unwrap();
            let app = scene.application(wrong_at(lifecycle, how)).start().await;
            let done = match lifecycle {
                "session_save_prepare" => {
                    app.patch_session("s", map(json!({"mark": 1}))).await.map(drop)
                }
                "session_create" => app.create_session(new("t")).await.map(drop),
                "session_delete_prepare" => app.delete_session("s", None).await,
                _ => app.switch_agent("s", "other").await.map(drop),
            };
            let case = format!("{lifecycle} {how:?}");
            assert_eq!(done.is_ok(), matches!(how, Wrong::Nonsense), "{case}");
            if let Err(error) = done {
                assert_eq!(error.plugin_name(), Some("wrong"), "{case}");
                let held = before.session("s").await.unwrap().session;
                assert_eq!(held.metadata().get("mark"), None, "{case}");
                assert_eq!(held.agent_id(), Some("default"), "{case}");
                assert!(before.load_session("t").await.unwrap().is_none(), "{case}");
            }
            is_free(&app, "s").await;
            is_free(&app, "t").await;
        }
    }
}

#[tokio::test] // C-63
async fn what_is_decided_is_kept() {
    for how in WRONG {
        let scene = Scene::says(&["ok"]).application(wrong_at("request_complete", how));
        let app = scene.start().await;
        let events = events_of(&app, ask("s", "hi")).await;
        assert_eq!(events.last().unwrap().kind.name(), "final", "{how:?}");
        assert_eq!(said(&app, "s").await, "hi|ok", "{how:?}");
        is_free(&app, "s").await;

        let scene = Scene::default().application(wrong_at("request_error", how));
        scene.provider.reply(ScriptedReply::default().failing(Error::provider("down")));
        let app = scene.start().await;
        let events = events_of(&app, ask("s", "hi")).await;
        let EventKind::RequestFailed { error } = &events.last().unwrap().kind else { panic!() };
        assert!(error_of(error).message().contains("down"), "{error}");
        assert_eq!(said(&app, "s").await, "hi", "{how:?}");
        is_free(&app, "s").await;
    }
}

#[tokio::test] // C-63
async fn a_plugin_that_cannot_list_its_actions_fails_what_needs_them() {
    let plugin =
        ScriptedApplication::new("p").get_actions(|_, _| async { panic!("no list today") });
    let scene = Scene::says(&["ok"]);
    let app = scene.application(plugin).start().await;
    let error = app.send_request(ask("s", "hi")).await.err().unwrap();
    assert_eq!(error.plugin_name(), Some("p"));
    assert!(app.load_session("s").await.unwrap().is_none());
    let again = app.send_request(ask("s", "hi")).await.err().unwrap();
    assert_eq!(again.plugin_name(), Some("p"), "not busy: {again}");
}

#[tokio::test] // C-60, I-37, I-39
async fn init_has_the_runtime_environment_and_resolved_settings() {
    use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
    let seen = Log::new();
    let noted = seen.clone();
    let manifest = Manifest::new("p", "1.0.0").config("p.folder", json!({"type": "string"}));
    let plugin = ScriptedApplication::with_manifest(manifest).init(move |input, cx| {
        let env = cx.handle::<RuntimeEnv>("env").unwrap();
        noted.add(env.get("CONFIG_DIR").unwrap());
        noted.add(input.config.text("p.folder").unwrap());
        async { Ok(Value::Null) }
    });
    let scene = Scene::default().application(plugin);
    let text = format!("{CONFIG}\n[p]\nfolder = \"${{env:PLACE}}/p\"\n");
    let vars = [("CONFIG_DIR", "/etc/orlop"), ("PLACE", "/there")];
    let vars: Vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let env = RuntimeEnv::from_vars(vars);
    let config = AppConfig::from_text(std::path::Path::new("orlop.toml"), &text, env).unwrap();
    let builder = Application::builder(config, scene.store.clone());
    builder.plugins(scene.plugins.clone()).start().await.unwrap();
    assert_eq!(seen.text(), "/etc/orlop /there/p");
}
