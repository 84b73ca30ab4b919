//! Actions by hand, locks and events.

use crate::common::doubles::*;
use crate::common::*;
use futures::{FutureExt, StreamExt};
use orlop_app::store::EventQuery;
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

/// A feature with actions that change a session in one way each.
fn editor() -> ScriptedFeature {
    let action = |id: &str| ActionDefinition::new(id, id);
    ScriptedFeature::new("editor")
        .get_actions(move |_, _| {
            Ok(vec![
                action("mark").input("with", "string", true),
                action("drop_first"),
                action("look"),
                action("meddle"),
            ])
        })
        .execute_action(|input, cx| match &*input.action_id {
            "mark" => {
                let public = map(json!({"status": "ok", "marked": input.params["with"]}));
                Ok(ActionResult { public, ..patch(json!({"mark": input.params["with"]})) })
            }
            "drop_first" => {
                let rest = input.native_messages.iter().skip(2).cloned();
                let native_messages = Change::Replace(rest.collect());
                Ok(ActionResult { native_messages, ..ActionResult::default() })
            }
            "look" => {
                assert!(Application::of(cx).is_ok());
                Ok(ActionResult::unchanged())
            }
            _ => Err(Error::bad_state("no")),
        })
}

fn mark(with: &str) -> ActionCall {
    ActionCall::new("editor", "mark").param("with", with)
}

#[tokio::test] // I-26
async fn the_action_of_a_feature_changes_the_stored_session() {
    let scene = Scene::default().feature(editor());
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    let acted = app.execute_session_action("s", mark("red")).await.unwrap();
    assert_eq!(acted.result, map(json!({"status": "ok", "marked": "red"})));
    assert_eq!(kept(&scene.start().await, "s", "mark").await, "red");
    assert!(acted.change_id.is_some());
    let looked = app.execute_session_action("s", ActionCall::new("editor", "look")).await.unwrap();
    assert_eq!(looked.change_id, None, "nothing changed");
    let failed = app.execute_session_action("s", ActionCall::new("editor", "meddle")).await;
    assert_eq!(failed.unwrap_err().class(), ErrorClass::BadState);
    let without = app.execute_session_action("s", ActionCall::new("editor", "mark")).await;
    assert_eq!(without.unwrap_err().class(), ErrorClass::BadArgument);
    for call in [ActionCall::new("editor", "nothing"), ActionCall::new("nobody", "mark")] {
        let unknown = app.execute_session_action("s", call).await.unwrap_err();
        assert_eq!(unknown.class(), ErrorClass::NotFound, "{unknown}");
    }
}

#[tokio::test] // I-27
async fn actions_of_application_plugins_are_listed_and_run_by_name() {
    let action = ActionDefinition::new("greet", "Greet").input("name", "string", true).input(
        "session_id",
        "string",
        false,
    );
    let plugin = ScriptedApplication::new("greeter")
        .init(async |_, _| Ok(json!({"greeting": "hello"})))
        .actions(vec![action])
        .execute_action(async |input, _| {
            let text = format!("{} {}", input.state["greeting"], input.params["name"]);
            let session = input.params.get("session_id").cloned();
            let public = map(json!({"said": text.replace('"', ""), "session": session}));
            Ok(ActionResult { public, ..ActionResult::default() })
        });
    let app = Scene::default().application(plugin).feature(editor()).start().await;
    app.create_session(new("s")).await.unwrap();
    let listed = |actions: Vec<ActionDefinition>| {
        let name = |action: ActionDefinition| format!("{}.{}", action.plugin.unwrap(), action.id);
        actions.into_iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed(app.application_actions().await.unwrap()), "greeter.greet");
    assert_eq!(
        listed(app.list_actions(Some("s")).await.unwrap()),
        "greeter.greet editor.mark editor.drop_first editor.look editor.meddle"
    );
    let greet = || ActionCall::new("greeter", "greet").param("name", "Ana");
    let result = app.execute_action(greet(), None).await.unwrap();
    assert_eq!(result, map(json!({"said": "hello Ana", "session": null})));
    let result = app.execute_action(greet(), Some("s")).await.unwrap();
    assert_eq!(result["session"], "s");
    app.execute_action(mark("x"), Some("s")).await.unwrap();
    for (call, session, class) in [
        (ActionCall::new("greeter", "greet"), None, ErrorClass::BadArgument),
        (ActionCall::new("greeter", "greet").param("name", 1), None, ErrorClass::BadArgument),
        (ActionCall::new("greeter", "bye"), None, ErrorClass::NotFound),
        (ActionCall::new("nobody", "bye"), None, ErrorClass::NotFound),
        (ActionCall::new("nobody", "bye"), Some("s"), ErrorClass::NotFound),
        (greet(), Some("unknown"), ErrorClass::NotFound),
    ] {
        let error = app.execute_action(call.clone(), session).await.unwrap_err();
        assert_eq!(error.class(), class, "{call:?}: {error}");
    }
}

#[tokio::test] // G-21, G-22, G-23, G-24, G-25
async fn what_an_action_answers_reaches_the_caller_unchanged() {
    for answer in [
        json!({"mutations": {"updated_session_ids": ["a"]}, "ui_effects": {"navigate": {"screen": "x"}}}),
        json!({"message": "done", "status": "noop", "state": "pending", "debug": {"n": 1}}),
        json!({"status": "error", "error_type": "auth", "message": "log in first"}),
        json!({"display": {"body": "b", "format": "text"}, "state": 1}),
    ] {
        let public = map(answer);
        let result = ActionResult { public: public.clone(), ..ActionResult::default() };
        let plugin = ScriptedApplication::new("p")
            .actions(vec![ActionDefinition::new("act", "Act")])
            .execute_action(move |_, _| {
                let result = result.clone();
                async move { Ok(result) }
            });
        let app = Scene::default().application(plugin).start().await;
        let mut events = app.follow_events(Follow::default()).await.unwrap();
        let given = app.execute_action(ActionCall::new("p", "act"), None).await.unwrap();
        assert_eq!(given, public);
        let EventKind::ActionResult { result, .. } = &events.next().await.unwrap().kind else {
            panic!()
        };
        assert_eq!(*result, public);
    }
}

#[tokio::test] // I-28
async fn one_session_is_worked_on_by_one_two_are_by_two() {
    let app = Scene::default().start().await;
    let lock = app.acquire_session_lock("a").await.unwrap();
    let other = app.acquire_session_lock("b").await.unwrap();
    let mut waiting = Box::pin(app.acquire_session_lock("a"));
    for _ in 0..20 {
        tokio::task::yield_now().await;
        assert!((&mut waiting).now_or_never().is_none(), "it is taken");
    }
    lock.release().await;
    drop(waiting.await.unwrap());
    drop(other);
    // Dropped, not released: it is free as well, a little later.
    app.acquire_session_lock("a").await.unwrap();
    app.acquire_session_lock("b").await.unwrap();
}

#[tokio::test] // I-28
async fn a_lock_is_free_after_an_error() {
    let app = Scene::default().start().await;
    let fails = async {
        let _lock = app.acquire_session_lock("a").await?;
        Err::<(), _>(Error::internal("in the middle"))
    };
    fails.await.unwrap_err();
    app.acquire_session_lock("a").await.unwrap().release().await;
}

#[tokio::test] // I-28
async fn two_applications_on_one_store_exclude_each_other() {
    let scene = Scene::default();
    let (one, two) = (scene.start().await, scene.start().await);
    let lock = one.acquire_session_lock("s").await.unwrap();
    let request = Request { wait: Wait::No, ..ask("s", "hi") };
    let busy = two.send_request(request).await.err().unwrap();
    assert_eq!((busy.class(), busy.retryable()), (ErrorClass::Conflict, true));
    lock.release().await;
    two.acquire_session_lock("s").await.unwrap();
}

#[tokio::test] // I-29
async fn plugins_may_lock_again_what_their_flow_has_locked() {
    let log = Log::new();
    let points = &[
        "session_create",
        "session_save_prepare",
        "request_prepare",
        "tool_before",
        "request_complete",
        "session_fork",
        "agent_switch_prepare",
        "session_delete_prepare",
    ];
    let plugin = app_recorder(&log, points, async |_, cx| {
        let app = Application::of(&cx)?;
        let id = cx.session().unwrap().id().to_owned();
        let lock = app.acquire_session_lock(&id).await?;
        let again = app.acquire_session_lock(&id).await?;
        again.release().await;
        lock.release().await;
        Ok(ActionResult::unchanged())
    });
    let scene = Scene::default().application(plugin).tool(echo("t")).feature(editor());
    scene.provider.reply(ScriptedReply::calls(&[("c", "t", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    assert_eq!(talk(&app, "s", "go").await, "go||{}|end");
    app.execute_session_action("s", mark("x")).await.unwrap();
    app.fork_session("s", None, Some("f")).await.unwrap();
    app.switch_agent("s", "other").await.unwrap();
    app.delete_session("s", None).await.unwrap();
    for point in points {
        assert!(log.count(&format!("app:{point}")) > 0, "{point}");
    }
}

#[tokio::test] // I-29
async fn operations_of_one_handle_belong_together() {
    let app = Scene::default().start().await;
    app.create_session(new("s")).await.unwrap();
    let mine = app.begin();
    let lock = mine.acquire_session_lock("s").await.unwrap();
    mine.patch_session("s", map(json!({"a": 1}))).await.unwrap();
    let mut others = Box::pin(app.patch_session("s", map(json!({"a": 2}))));
    assert!((&mut others).now_or_never().is_none());
    mine.patch_session("s", map(json!({"b": 1}))).await.unwrap();
    lock.release().await;
    others.await.unwrap();
    assert_eq!(kept(&app, "s", "a").await, 2);
}

#[tokio::test] // I-30
async fn published_events_reach_all_subscribers() {
    let app = Scene::default().start().await;
    let all = app.follow_events(Follow::default()).await.unwrap();
    let session = Follow { session_id: Some("s".to_owned()), ..Follow::default() };
    let one = app.follow_events(session).await.unwrap();
    let never_read = app.follow_events(Follow::default()).await.unwrap();
    let gone = app.follow_events(Follow::default()).await.unwrap();
    drop(gone);
    let publish = async |event: Value| app.publish_event("p", map(event)).await;
    let first =
        publish(json!({"type": "p.done", "session_id": "s", "n": 1, "seq": 9})).await.unwrap();
    publish(json!({"type": "p.other"})).await.unwrap();
    // More than any queue holds: nobody waits for the one who does not read.
    for n in 0..1_500 {
        publish(json!({"type": "p.count", "n": n})).await.unwrap();
    }
    let seen: Vec<_> = all.take(1_502).collect().await;
    assert_eq!(names(&seen), "p.done p.other p.count");
    assert!(seen.windows(2).all(|pair| pair[0].seq < pair[1].seq), "each once, in order");
    assert_eq!(seen[0], first);
    assert_eq!(
        serde_json::to_value(&*seen[0]).unwrap(),
        json!({"seq": first.seq, "at": first.at, "session_id": "s", "type": "p.done", "n": 1, "plugin": "p"})
    );
    let of_session: Vec<_> = one.take(1).collect().await;
    assert_eq!(of_session[0], first);
    drop(never_read);
    for bad in [json!({}), json!({"type": ""}), json!({"type": 1}), json!({"type": "final"})] {
        assert_eq!(publish(bad).await.unwrap_err().class(), ErrorClass::BadArgument);
    }
}

#[tokio::test] // I-31
async fn the_application_tells_of_what_it_does() {
    let scene = Scene::says(&["yes"]).feature(editor());
    let app = scene.start().await;
    let events = app.follow_events(Follow::default()).await.unwrap();
    app.create_session(new("s")).await.unwrap();
    talk(&app, "s", "hi").await;
    events_of(&app, ask("s", "fails")).await;
    app.patch_session("s", map(json!({"a": 1}))).await.unwrap();
    app.execute_session_action("s", mark("x")).await.unwrap();
    app.fork_session("s", None, Some("f")).await.unwrap();
    app.switch_agent("s", "other").await.unwrap();
    app.delete_session("s", None).await.unwrap();
    let expected = "session_created request_started partial final request_started request_failed \
                    session_updated action_result session_updated session_created agent_switched \
                    session_deleted";
    let count = expected.split_whitespace().count();
    let seen: Vec<_> = events.take(count).collect().await;
    assert_eq!(names(&seen), expected);
    assert!(seen[..6].iter().all(|event| event.session_id.as_deref() == Some("s")));
    let fork = serde_json::to_value(&seen[9].kind).unwrap();
    assert_eq!(
        (fork["forked_from"].clone(), seen[9].session_id.as_deref()),
        (json!("s"), Some("f"))
    );
}

#[tokio::test] // I-31
async fn followers_of_the_past_get_each_event_once() {
    for session_id in [None, Some("s".to_owned())] {
        let scene = Scene::says(&["one"]);
        let app = scene.start().await;
        let publish = async |name: &str| {
            app.publish_event("p", map(json!({"type": name, "session_id": "s"}))).await.unwrap()
        };
        talk(&app, "s", "1").await;
        let stored = scene.store.events(&Scope::local(), &EventQuery::default()).await.unwrap();
        let follow = Follow { session_id, after: Some(stored[0].seq) };
        let mut events = app.follow_events(follow).await.unwrap();
        // Between subscribing and reading: it is in the store and in the queue.
        publish("p.between").await;
        let mut seen: Vec<_> = (&mut events).take(3).collect().await;
        publish("p.after").await;
        seen.extend(events.next().await);
        assert_eq!(names(&seen), "request_started final p.between p.after");
    }
}

#[tokio::test]
async fn what_a_plugin_publishes_does_not_hide_the_rest_of_an_answer() {
    let scene = Scene::default();
    let gate = Gate::new();
    scene.provider.reply(ScriptedReply::text(&["a"]).waiting_for(&gate));
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    let follow = Follow { session_id: Some("s".to_owned()), after: None };
    let events = app.follow_events(follow).await.unwrap();
    let handle = app.send_request(ask("s", "hi")).await.unwrap();
    gate.reached().await;
    app.publish_event("p", map(json!({"type": "p.x", "session_id": "s"}))).await.unwrap();
    gate.open();
    handle.finish().await.unwrap();
    let seen: Vec<_> = events.take(4).collect().await;
    assert_eq!(names(&seen), "request_started partial p.x final");
}

/// A session that says `1|a|2|b`, with an editor.
async fn edited() -> (Scene, Application) {
    let scene = Scene::says(&["a", "b", "c"]).feature(editor());
    let app = scene.start().await;
    talk(&app, "s", "1").await;
    assert_eq!(talk(&app, "s", "2").await, "1|a|2|b");
    (scene, app)
}

#[tokio::test]
async fn a_preview_shows_what_would_change_and_changes_nothing() {
    let (_, app) = edited().await;
    let before = app.session("s").await.unwrap().session;
    let drop_first = || ActionCall::new("editor", "drop_first");
    let shown = app.preview_session_action("s", drop_first()).await.unwrap().difference;
    let texts = |messages: &[Message]| {
        messages.iter().map(|message| message.text().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (shown.start, texts(&shown.removed), texts(&shown.added)),
        (0, vec!["1".to_owned(), "a".to_owned()], vec![])
    );
    let shown = app.preview_session_action("s", mark("red")).await.unwrap();
    assert_eq!(shown.result["marked"], "red");
    assert_eq!(shown.difference.metadata, map(json!({"mark": "red"})));
    let nothing = app.preview_session_action("s", ActionCall::new("editor", "look")).await.unwrap();
    assert!(nothing.difference.is_empty());
    assert_eq!(app.session("s").await.unwrap().session, before);
    assert!(app.changes("s").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_preview_lends_a_handle_that_changes_nothing() {
    let feature = ScriptedFeature::new("sly")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("act", "Act")]))
        .execute_action(|_, cx| {
            let app = Application::of(cx)?;
            tokio::spawn(async move {
                let patch = map(json!({"x": 1}));
                let tried = [
                    app.patch_session("s", patch).await.err(),
                    app.execute_session_action("s", mark("x")).await.err(),
                    app.undo("s", "c").await.err(),
                    app.send_request(ask("s", "hi")).await.err(),
                    app.set_plugin_state("s", "p", 0, Some(json!(1))).await.err(),
                    app.delete_session("s", None).await.err(),
                ];
                let classes = tried.map(|error| error.map(|error| error.class()));
                let _ = app.publish_event("sly", map(json!({"type": "tried", "with": classes.map(|class| class.map(ErrorClass::as_str))}))).await;
            });
            Ok(ActionResult::unchanged())
        });
    let app = Scene::says(&["never"]).feature(feature).feature(editor()).start().await;
    app.create_session(new("s")).await.unwrap();
    let mut events = app.follow_events(Follow::default()).await.unwrap();
    app.preview_session_action("s", ActionCall::new("sly", "act")).await.unwrap();
    let told = events.next().await.unwrap();
    let EventKind::Other(told) = &told.kind else { panic!("{told:?}") };
    assert_eq!(told["with"], json!(["bad_state"; 6].to_vec()));
    assert_eq!(said(&app, "s").await, "");
}

#[tokio::test]
async fn undoing_takes_back_one_change_and_keeps_what_came_after() {
    let (scene, app) = edited().await;
    let marked = app.execute_session_action("s", mark("red")).await.unwrap().change_id.unwrap();
    let call = ActionCall::new("editor", "drop_first");
    let dropped = app.execute_session_action("s", call).await.unwrap();
    assert_eq!(texts(&dropped.session), "2|b");
    assert_eq!(talk(&app, "s", "3").await, "2|b|3|c");
    let changes = app.changes("s").await.unwrap();
    let names: Vec<_> = changes.iter().map(|change| (&*change.action, change.undone)).collect();
    assert_eq!(names, [("drop_first", false), ("mark", false)]);

    let dropped = dropped.change_id.unwrap();
    let undone = app.undo("s", &dropped).await.unwrap();
    assert_eq!(texts(&undone), "1|a|2|b|3|c");
    let reader = scene.start().await;
    assert_eq!(said(&reader, "s").await, "1|a|2|b|3|c");
    assert_eq!(reader.session("s").await.unwrap().session.verify(), Ok(()));
    assert_eq!(kept(&reader, "s", "mark").await, "red");
    app.undo("s", &marked).await.unwrap();
    assert_eq!(kept(&app, "s", "mark").await, Value::Null);
    let twice = app.undo("s", &dropped).await.unwrap_err();
    assert_eq!(twice.class(), ErrorClass::Conflict);
    let unknown = app.undo("s", "nothing").await.unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
    scene.provider.reply(ScriptedReply::text(&["d"]));
    talk(&app, "s", "4").await;
    assert_eq!(scene.provider.last_request(), "1|a|2|b|3|c|4");
}

#[tokio::test]
async fn a_place_that_changed_again_is_not_undone() {
    let (_, app) = edited().await;
    let red = app.execute_session_action("s", mark("red")).await.unwrap().change_id.unwrap();
    let blue = app.execute_session_action("s", mark("blue")).await.unwrap().change_id.unwrap();
    let conflict = app.undo("s", &red).await.unwrap_err();
    assert_eq!(conflict.class(), ErrorClass::Conflict);
    assert!(conflict.message().contains("\"mark\""), "{conflict}");
    app.undo("s", &blue).await.unwrap();
    assert_eq!(kept(&app, "s", "mark").await, "red");
    app.undo("s", &red).await.unwrap();
    assert_eq!(kept(&app, "s", "mark").await, Value::Null);

    let call = ActionCall::new("editor", "drop_first");
    let dropped = app.execute_session_action("s", call).await.unwrap().change_id.unwrap();
    app.modify_message("s", 0, json!("other")).await.unwrap();
    let conflict = app.undo("s", &dropped).await.unwrap_err();
    assert_eq!(conflict.class(), ErrorClass::Conflict);
    assert_eq!(said(&app, "s").await, "other|b");
}
