//! When lifecycles run, in which order, and what becomes of what their actions change.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::store::ListQuery;
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::logged;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

const ALL: &[&str] = &[
    "session_create",
    "session_save_prepare",
    "request_prepare",
    "request_complete",
    "request_error",
    "session_fork",
    "agent_switch_prepare",
    "agent_switch_complete",
    "session_delete_prepare",
    "session_list",
];

fn unchanged(_: &str, _: &Context) -> Result<ActionResult> {
    Ok(ActionResult::unchanged())
}

/// The lines since the last time, each lifecycle as `app core`.
fn pairs(log: &Log) -> String {
    let lines = log.take();
    let names = lines.chunks(2).map(|pair| match pair {
        [app, core] => {
            let name = app.strip_prefix("app:").unwrap();
            assert_eq!(core.strip_prefix("core:"), Some(name), "{lines:?}");
            name
        }
        other => panic!("{other:?} of {lines:?}"),
    });
    names.collect::<Vec<_>>().join(" ")
}

#[tokio::test] // H-01, H-04, H-16
async fn each_flow_runs_its_lifecycles_application_first() {
    let log = Log::new();
    let scene = Scene::says(&["yes"])
        .application(app_recorder(&log, ALL, nothing))
        .feature(core_recorder(&log, ALL, unchanged));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    assert_eq!(pairs(&log), "session_create session_save_prepare");
    app.create_ephemeral_session(NewSession::default()).await.unwrap();
    assert_eq!(pairs(&log), "session_create");
    talk(&app, "s", "hi").await;
    assert_eq!(pairs(&log), "request_prepare request_complete session_save_prepare");
    events_of(&app, ask("s", "again")).await;
    assert_eq!(pairs(&log), "request_prepare request_error session_save_prepare");
    app.fork_session("s", None, Some("f")).await.unwrap();
    assert_eq!(pairs(&log), "session_fork session_save_prepare");
    app.switch_agent("s", "other").await.unwrap();
    assert_eq!(pairs(&log), "agent_switch_prepare agent_switch_complete session_save_prepare");
    app.save_session(&app.session("s").await.unwrap().session).await.unwrap();
    assert_eq!(pairs(&log), "session_save_prepare");

    app.load_session("s").await.unwrap().unwrap();
    app.session("s").await.unwrap();
    app.export_session("s", "json").await.unwrap();
    app.search_sessions(&orlop_app::store::SearchQuery::new("hi", 5)).await.unwrap();
    app.changes("s").await.unwrap();
    assert_eq!(log.take(), Vec::<String>::new(), "reading runs nothing");

    app.delete_session("s", None).await.unwrap();
    assert_eq!(pairs(&log), "session_delete_prepare");
}

#[tokio::test] // H-03, H-39, I-09
async fn listing_asks_application_plugins_and_changes_nothing() {
    logged();
    let log = Log::new();
    let seen = log.clone();
    let list = ActionDefinition::new("list", "List").on(&["session_list"]).input(
        "session_ids",
        "array",
        true,
    );
    let plugin =
        ScriptedApplication::new("stars").actions(vec![list]).execute_action(move |input, cx| {
            let seen = seen.clone();
            async move {
                assert_eq!(cx.trigger_source(), TriggerSource::Server);
                assert_eq!(cx.lifecycle(), Some("session_list"));
                let count = cx.get("summaries").unwrap().as_array().unwrap().len();
                seen.add(format!("{count} of {}", input.params["session_ids"]));
                let app = Application::of(&cx)?;
                let other = app.session("b").await?.session;
                let changed = other.with_metadata_patch(&map(json!({"sneaked": 1})));
                app.save_session(&changed).await?;
                assert!(app.delete_session("b", None).await.is_err());
                assert!(app.patch_session("b", map(json!({"x": 1}))).await.is_err());
                let public = map(json!({"session_summaries": {"a": {"stars": 3}}}));
                Ok(ActionResult { public, ..patch(json!({"sneaked": 2})) })
            }
        });
    let scene = Scene::default().application(plugin).feature(core_recorder(
        &log,
        &["session_list"],
        unchanged,
    ));
    let app = scene.start().await;
    app.create_session(new("a")).await.unwrap();
    app.create_session(new("b")).await.unwrap();
    app.load_session("a").await.unwrap();
    assert_eq!(log.text(), "", "loading does not list");
    let listed = app.list_sessions(&ListQuery::default()).await.unwrap().sessions;
    assert_eq!(log.text(), r#"2 of ["b","a"]"#);
    let a = listed.iter().find(|summary| summary.session_id == "a").unwrap();
    assert_eq!(a.plugins["stars"], json!({"stars": 3}));
    for id in ["a", "b"] {
        assert_eq!(kept(&app, id, "sneaked").await, Value::Null);
    }
    assert!(logged().contains("changes of sessions are ignored when sessions are listed"));
    assert!(logged().contains("saving a session is ignored here"));
}

#[tokio::test] // H-05, H-28
async fn a_new_session_is_stored_after_its_actions() {
    let log = Log::new();
    let mut scene = Scene::default()
        .application(app_recorder(&log, &["session_create"], async |_, _| {
            Ok(patch(json!({"by": "create"})))
        }))
        .feature(core_recorder(&log, &["session_create"], unchanged));
    scene.store = StoreDouble::new(scene.store.clone(), &log);
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    assert_eq!(log.text(), "app:session_create core:session_create write");
    let again = scene.start().await;
    assert_eq!(kept(&again, "s", "by").await, "create");
    log.take();
    let made = app.create_ephemeral_session(NewSession::default()).await.unwrap().session;
    assert_eq!(log.text(), "app:session_create core:session_create");
    assert_eq!(made.metadata()["by"], "create");
}

#[tokio::test] // H-06, H-29
async fn what_prepares_a_save_is_in_what_is_saved_and_runs_once() {
    let log = Log::new();
    // Saves again from inside, which must not run it again.
    let scene = Scene::default().application(app_recorder(
        &log,
        &["session_save_prepare"],
        async |_, cx| {
            let app = Application::of(&cx)?;
            let session = cx.session().unwrap();
            let saves = session.metadata().get("saves").and_then(Value::as_u64).unwrap_or(0);
            let counted = session.with_metadata_patch(&map(json!({"saves": saves + 1})));
            app.save_session(&counted).await?;
            Ok(ActionResult::unchanged())
        },
    ));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    assert_eq!(log.take().len(), 1);
    app.patch_session("s", map(json!({"x": 1}))).await.unwrap();
    assert_eq!(log.take().len(), 1);
    let again = scene.start().await;
    assert_eq!(kept(&again, "s", "saves").await, 2);
}

#[tokio::test] // H-07, H-08, I-14, I-15
async fn a_request_prepares_once_for_all_its_steps() {
    let log = Log::new();
    let prepared = log.clone();
    let scene = Scene::default()
        .application(app_recorder(
            &log,
            &["request_prepare", "request_complete"],
            move |input, cx| {
                if input.action_id == "request_prepare" {
                    prepared.add(format!("model={}", cx.config().text("model").unwrap()));
                }
                async move { Ok(patch(json!({ input.action_id: true }))) }
            },
        ))
        .tool(echo("t"));
    let call = |id| ScriptedReply::calls(&[(id, "t", json!({}))]);
    scene.provider.reply(call("1")).reply(call("2")).reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    app.patch_session("s", map(json!({"overrides": {"model": "session"}}))).await.unwrap();
    let request = Request { overrides: map(json!({"model": "request"})), ..ask("s", "go") };
    assert_eq!(names(&events_of(&app, request).await).matches("final").count(), 1);
    assert_eq!(log.text(), "app:request_prepare model=request app:request_complete");
    assert_eq!(scene.provider.requests().len(), 3);
    let models: Vec<_> =
        scene.provider.requests().iter().map(|(_, state)| state.request["model"].clone()).collect();
    assert_eq!(models, ["request", "request", "request"]);
    let again = scene.start().await;
    assert_eq!(kept(&again, "s", "request_prepare").await, true);
    assert_eq!(kept(&again, "s", "request_complete").await, true);
}

#[tokio::test] // H-09, H-10, H-26
async fn a_failure_is_told_with_its_error_and_reaches_the_caller() {
    for fail_itself in [false, true] {
        let log = Log::new();
        let seen = log.clone();
        let scene = Scene::default().application(app_recorder(
            &log,
            &["request_complete", "request_error"],
            move |_, cx| {
                let error = cx.get("error").unwrap();
                seen.add(format!("{}: {}", error["type"], error["message"]));
                seen.add(texts(cx.session().unwrap()));
                async move {
                    match fail_itself {
                        true => Err(Error::internal("bookkeeping is broken")),
                        false => Ok(patch(json!({"noted": true}))),
                    }
                }
            },
        ));
        scene.provider.reply(ScriptedReply::text(&["half"]).failing(Error::provider("overloaded")));
        let app = scene.start().await;
        let handle = app.send_request(ask("s", "hi")).await.unwrap();
        let error = handle.finish().await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Provider);
        assert!(error.message().starts_with("overloaded"), "{error}");
        let lines = log.lines();
        assert_eq!((lines.len(), &*lines[0], &*lines[2]), (3, "app:request_error", "hi"));
        assert!(lines[1].starts_with(r#""provider": "overloaded"#), "{lines:?}");
        assert_eq!(said(&app, "s").await, "hi");
        let noted = if fail_itself { Value::Null } else { json!(true) };
        assert_eq!(kept(&scene.start().await, "s", "noted").await, noted);
    }
}

#[tokio::test] // H-10, H-26
async fn a_request_that_is_done_stays_done_though_its_bookkeeping_fails() {
    let log = Log::new();
    let both = &["request_complete", "request_error"];
    let scene = Scene::says(&["fine"]).application(app_recorder(&log, both, async |_, _| {
        Err(Error::internal("bookkeeping is broken"))
    }));
    let app = scene.start().await;
    let handle = app.send_request(ask("s", "hi")).await.unwrap();
    handle.finish().await.unwrap();
    assert_eq!(log.text(), "app:request_complete");
    assert_eq!(said(&scene.start().await, "s").await, "hi|fine");
}

#[tokio::test] // H-10
async fn a_cancelled_request_is_told_as_an_error_of_that_type() {
    let log = Log::new();
    let seen = log.clone();
    let both = &["request_complete", "request_error"];
    let scene = Scene::default().application(app_recorder(&log, both, move |_, cx| {
        let error = cx.get("error").unwrap();
        seen.add(format!("{}: {}", error["type"], error["message"]));
        async { Ok(ActionResult::unchanged()) }
    }));
    let gate = orlop_testkit::Gate::new();
    scene.provider.reply(ScriptedReply::text(&["half"]).waiting_for(&gate));
    let app = scene.start().await;
    let handle = app.send_request(ask("s", "hi")).await.unwrap();
    gate.reached().await;
    handle.cancel("enough").await.unwrap();
    assert!(handle.finish().await.unwrap_err().is_cancelled());
    assert_eq!(log.text(), r#"app:request_error "cancelled": "enough""#);
}

#[tokio::test] // H-11, H-12, H-13
async fn lifecycles_tell_what_they_are_about() {
    let log = Log::new();
    let seen = log.clone();
    let points = &[
        "session_fork",
        "agent_switch_prepare",
        "agent_switch_complete",
        "session_delete_prepare",
    ];
    let scene = Scene::default().application(app_recorder(&log, points, move |_, cx| {
        let seen = seen.clone();
        async move {
            let session = cx.session().unwrap();
            let text = |key: &str| cx.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
            let source = cx.get("original_session").map(|source| source["session_id"].clone());
            let loaded = Application::of(&cx)?.load_session(session.id()).await?;
            seen.add(format!(
                "{} by {}: from {} {}>{} {} loadable={}",
                session.id(),
                session.agent_id().unwrap(),
                source.unwrap_or_default(),
                text("previous_agent_id"),
                text("next_agent_id"),
                text("delete_reason"),
                loaded.is_some()
            ));
            Ok(ActionResult::unchanged())
        }
    }));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    app.fork_session("s", None, Some("f")).await.unwrap();
    app.switch_agent("s", "other").await.unwrap();
    app.delete_session("s", Some("tidying")).await.unwrap();
    assert_eq!(
        log.lines(),
        [
            "app:session_fork",
            r#"f by default: from "s" ->- - loadable=true"#,
            "app:agent_switch_prepare",
            "s by default: from null default>other - loadable=true",
            "app:agent_switch_complete",
            "s by other: from null default>other - loadable=true",
            "app:session_delete_prepare",
            "s by other: from null ->- tidying loadable=true",
        ]
    );
    assert!(app.load_session("s").await.unwrap().is_none());
}

#[tokio::test] // H-15, H-35, H-36
async fn any_name_runs_actions_of_both_kinds_with_what_the_caller_adds() {
    logged();
    let log = Log::new();
    let (first, second) = (log.clone(), log.clone());
    let see = |log: &Log, cx: &Context| {
        log.add(format!("{} {}", cx.get("foo").unwrap(), cx.config().text("model").unwrap()));
        assert!(cx.get("config").is_none(), "the caller's value is dropped");
    };
    let scene = Scene::default()
        .application(app_recorder(&log, &["acme.audit"], move |_, cx| {
            see(&first, &cx);
            nothing_async()
        }))
        .feature(core_recorder(&log, &["acme.audit"], move |_, cx| {
            see(&second, cx);
            Ok(patch(json!({"audited": true})))
        }));
    let app = scene.start().await;
    let loaded = app.create_session(new("s")).await.unwrap();
    let caller = app.called_with(CallContext::new("acme-terminal"));
    let extra = map(json!({"foo": 1, "config": "mine"}));
    let run = caller
        .run_session_lifecycle("acme.audit", &loaded.session, &loaded.config, extra)
        .await
        .unwrap();
    assert_eq!(log.text(), "app:acme.audit 1 m core:acme.audit 1 m");
    assert_eq!(run.session.metadata()["audited"], true);
    let ran: Vec<_> = run.results.iter().map(|record| record.plugin.as_str()).collect();
    assert_eq!(ran, ["recorder", "core_recorder"]);
    assert_eq!(kept(&app, "s", "audited").await, Value::Null, "nothing is stored");
    let warned = logged();
    let warnings: Vec<_> = warned.lines().filter(|line| line.contains("acme-terminal")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains("config"), "{warnings:?}");

    let empty = app.run_session_lifecycle("", &loaded.session, &loaded.config, Map::new()).await;
    assert_eq!(empty.unwrap_err().class(), ErrorClass::BadArgument);
}

#[tokio::test]
async fn who_says_its_lifecycles_is_asked_for_actions_at_no_other() {
    let log = Log::new();
    let asked = |log: &Log, cx: &Context| {
        log.add(format!("asked:{}", cx.lifecycle().unwrap_or("application")));
    };
    let (in_app, in_core) = (log.clone(), log.clone());
    let manifest = |name: &str| Manifest::new(name, "1.0.0").acting_at(&["request_complete"]);
    let application =
        ScriptedApplication::with_manifest(manifest("app")).get_actions(move |_, cx| {
            asked(&in_app, &cx);
            async { Ok(vec![at("request_complete")]) }
        });
    let (ran_app, ran_core) = (log.clone(), log.clone());
    let application = application.execute_action(move |_, _| {
        ran_app.add("app");
        nothing_async()
    });
    let feature = ScriptedFeature::with_manifest(manifest("feature").without_models())
        .get_actions(move |_, cx| {
            asked(&in_core, cx);
            Ok(vec![at("request_complete")])
        })
        .execute_action(move |_, _| {
            ran_core.add("core");
            Ok(ActionResult::unchanged())
        });
    let app = Scene::says(&["yes"]).application(application).feature(feature).start().await;
    app.create_session(new("s")).await.unwrap();
    assert_eq!(log.take(), Vec::<String>::new());
    talk(&app, "s", "hi").await;
    assert_eq!(log.text(), "asked:application app asked:request_complete core");
    // Whoever wants to see all actions sees these.
    log.take();
    assert_eq!(app.application_actions().await.unwrap().len(), 1);
}

async fn nothing_async() -> Result<ActionResult> {
    Ok(ActionResult::unchanged())
}

#[tokio::test] // H-18, I-33
async fn later_actions_see_what_earlier_ones_changed() {
    let log = Log::new();
    let seen = |log: &Log, who: &str, cx: &Context| {
        let metadata = cx.session().unwrap().metadata();
        log.add(format!(
            "{who}:{}{}",
            metadata.contains_key("patched"),
            metadata.contains_key("saved")
        ));
    };
    let (one, two, three) = (log.clone(), log.clone(), log.clone());
    let first = ScriptedApplication::new("first").actions(vec![at("request_prepare")]);
    let first = first.execute_action(move |_, cx| {
        seen(&one, "first", &cx);
        async move {
            let app = Application::of(&cx)?;
            let mine = cx.session().unwrap().with_metadata_patch(&map(json!({"saved": 1})));
            app.save_session(&mine).await?;
            assert!(app.session("s").await?.session.metadata().contains_key("saved"));
            Ok(patch(json!({"patched": 1})))
        }
    });
    let second = ScriptedApplication::new("second").actions(vec![at("request_prepare")]);
    let second = second.execute_action(move |_, cx| {
        seen(&two, "second", &cx);
        nothing_async()
    });
    let third = core_recorder(&Log::new(), &["request_prepare"], move |_, cx| {
        seen(&three, "core", cx);
        Ok(ActionResult::unchanged())
    });
    // Once on a session that is stored, once on one that is not yet.
    for stored in [true, false] {
        let scene = Scene::says(&["yes"])
            .application(first.clone())
            .application(second.clone())
            .feature(third.clone());
        let app = scene.start().await;
        if stored {
            app.create_session(new("s")).await.unwrap();
        }
        assert_eq!(talk(&app, "s", "hi").await, "hi|yes");
        assert_eq!(log.take().join(" "), "first:falsefalse second:truetrue core:truetrue");
        assert_eq!(kept(&app, "s", "saved").await, 1);
        assert_eq!(kept(&app, "s", "patched").await, 1);
    }
}

#[tokio::test] // Q44
async fn what_saving_adds_inside_a_run_is_seen_by_the_run() {
    let save = ScriptedApplication::new("save").actions(vec![at("request_prepare")]);
    let save = save.execute_action(async |_, cx| {
        Application::of(&cx)?.save_session(cx.session().unwrap()).await?;
        Ok(ActionResult::unchanged())
    });
    let log = Log::new();
    let seen = log.clone();
    let scene = Scene::says(&["yes"]).application(save).feature(core_recorder(
        &Log::new(),
        &["session_save_prepare"],
        |_, _| Ok(patch(json!({"stamped": true}))),
    ));
    let scene = scene.feature(
        ScriptedFeature::new("late")
            .get_actions(|_, _| Ok(vec![at("request_prepare")]))
            .execute_action(move |input, _| {
                seen.add(input.session.metadata().contains_key("stamped").to_string());
                Ok(ActionResult::unchanged())
            }),
    );
    let app = scene.start().await;
    app.import_session(r#"{"session_id":"s","messages":[],"metadata":{}}"#, "json", None)
        .await
        .unwrap();
    let plain = app.session("s").await.unwrap().session;
    let mut wire = plain.to_wire();
    wire.metadata.shift_remove("stamped");
    let request =
        Request { session: Target::Value(Box::new(Session::from_wire(wire))), ..ask("s", "hi") };
    events_of(&app, request).await;
    assert_eq!(log.text(), "true");
}

#[tokio::test] // I-33
async fn every_way_to_change_the_session_counts_inside_a_run() {
    let first = ScriptedApplication::new("first").actions(vec![at("request_prepare")]);
    let first = first.execute_action(async |_, cx| {
        let app = Application::of(&cx)?;
        app.patch_session("s", map(json!({"patched": 1}))).await?;
        app.modify_message("s", -1, json!("HI")).await?;
        app.switch_agent("s", "other").await?;
        Ok(ActionResult::unchanged())
    });
    let log = Log::new();
    let seen = log.clone();
    let second = core_recorder(&Log::new(), &["request_prepare"], move |_, cx| {
        let session = cx.session().unwrap();
        seen.add(format!("{} {}", texts(session), session.metadata().contains_key("patched")));
        Ok(ActionResult::unchanged())
    });
    for stored in [true, false] {
        let scene = Scene::says(&["yes"]).application(first.clone()).feature(second.clone());
        let app = scene.start().await;
        if stored {
            app.create_session(new("s")).await.unwrap();
        }
        assert_eq!(talk(&app, "s", "hi").await, "HI|yes");
        assert_eq!(log.take(), ["HI true"], "stored: {stored}");
        assert_eq!(kept(&scene.start().await, "s", "patched").await, 1);
        assert_eq!(kept(&scene.start().await, "s", "agent_id").await, "other");
    }
}

#[tokio::test] // H-23
async fn triggered_actions_get_the_ids_they_declare() {
    let action =
        at("session_create").input("session_id", "string", true).input("agent_id", "string", true);
    let log = Log::new();
    let seen = log.clone();
    let plugin =
        ScriptedApplication::new("ids").actions(vec![action]).execute_action(move |input, _| {
            seen.add(json!(input.params).to_string());
            nothing_async()
        });
    let app = Scene::default().application(plugin).start().await;
    app.create_session(NewSession { agent: Some("other".to_owned()), ..new("s") }).await.unwrap();
    assert_eq!(log.text(), r#"{"session_id":"s","agent_id":"other"}"#);
}

#[tokio::test] // H-26, G-25
async fn a_failing_preparation_stops_what_it_prepares() {
    for (point, core_side) in ALL.iter().flat_map(|point| [(*point, false), (*point, true)]) {
        if !(point.ends_with("prepare") || ["session_create", "session_fork"].contains(&point)) {
            continue;
        }
        let armed = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (one, two) = (armed.clone(), armed.clone());
        let fail = |armed: &Arc<std::sync::atomic::AtomicBool>| match armed
            .load(std::sync::atomic::Ordering::SeqCst)
        {
            true => Err(Error::bad_state("not today")),
            false => Ok(ActionResult::unchanged()),
        };
        let scene = Scene::says(&["yes"]);
        let scene = match core_side {
            true => scene.feature(core_recorder(&Log::new(), &[point], move |_, _| fail(&one))),
            false => scene.application(app_recorder(&Log::new(), &[point], move |_, _| {
                let failed = fail(&two);
                async move { failed }
            })),
        };
        let app = scene.start().await;
        app.create_session(new("s")).await.unwrap();
        let before = app.session("s").await.unwrap().session;
        armed.store(true, std::sync::atomic::Ordering::SeqCst);
        let done = match point {
            "session_create" => app.create_session(new("n")).await.map(drop),
            "session_save_prepare" => app.patch_session("s", map(json!({"a": 1}))).await.map(drop),
            "request_prepare" => app.send_request(ask("s", "hi")).await.map(drop),
            "session_fork" => app.fork_session("s", None, Some("n")).await.map(drop),
            "agent_switch_prepare" => app.switch_agent("s", "other").await.map(drop),
            _ => app.delete_session("s", None).await,
        };
        let error = done.unwrap_err();
        assert!(error.message().contains("not today"), "{point}: {error}");
        assert_eq!(app.session("s").await.unwrap().session, before, "{point}");
        assert!(app.load_session("n").await.unwrap().is_none(), "{point}");
        assert!(scene.provider.requests().is_empty());
        let unbegun = app.unbegun().await.unwrap();
        assert_eq!(unbegun.is_some(), point == "request_prepare", "{point}");
        if let Some(unbegun) = unbegun {
            let failed = unbegun.trace.iter().find(|entry| entry["outcome"] == "error").unwrap();
            assert_eq!(failed["lifecycle"], "request_prepare");
            assert!(unbegun.error.contains("not today") && unbegun.session_id == "s");
        }
        armed.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(talk(&app, "s", "hi").await, "hi|yes", "{point}: the lock is free again");
        assert_eq!(app.unbegun().await.unwrap(), None, "{point}: another one has begun");
    }
}

#[tokio::test] // H-27
async fn actions_run_for_each_request_and_are_expected_to_be_idempotent() {
    let log = Log::new();
    let scene =
        Scene::says(&["a", "b"]).feature(core_recorder(&log, &["request_prepare"], |_, cx| {
            let has = cx.session().unwrap().metadata().contains_key("prompt_cache_key");
            Ok(if has {
                ActionResult::unchanged()
            } else {
                patch(json!({"prompt_cache_key": "k1"}))
            })
        }));
    let app = scene.start().await;
    talk(&app, "s", "1").await;
    let key = kept(&app, "s", "prompt_cache_key").await;
    talk(&app, "s", "2").await;
    assert_eq!(log.lines().len(), 2);
    assert_eq!((key.clone(), kept(&app, "s", "prompt_cache_key").await), (json!("k1"), key));
}

/// How often the session is written for one plain request with an action at `point`.
async fn check_writes(point: &str, result: ActionResult, expected: usize) {
    let log = Log::new();
    let name = point.to_owned();
    let mut scene = Scene::says(&["yes"]).application(app_recorder(&log, &[&name], move |_, _| {
        let result = result.clone();
        async move { Ok(result) }
    }));
    let store = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = store.clone();
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    store.session_writes();
    talk(&app, "s", "hi").await;
    assert_eq!(store.session_writes(), expected, "{point}");
    let session = app.session("s").await.unwrap().session;
    app.save_session(&session).await.unwrap();
    assert_eq!(store.session_writes(), 0, "{point}: nothing changed");
}

#[tokio::test] // H-28
async fn changes_of_lifecycles_go_with_the_writes_there_are() {
    let changed = || patch(json!({"x": 1}));
    check_writes("request_prepare", ActionResult::unchanged(), 2).await;
    check_writes("request_prepare", changed(), 2).await;
    check_writes("request_complete", changed(), 2).await;
    check_writes("session_save_prepare", changed(), 2).await;
}
