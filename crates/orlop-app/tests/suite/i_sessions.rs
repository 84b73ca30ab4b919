//! Sessions of the application: made, loaded, saved, forked, listed, switched, deleted.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::assets::{AssetFiles, AssetLimits, Upload};
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::store::{Archived, ListQuery};
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Id, agent, title, message count.
type Line = (String, String, Option<String>, usize);

async fn listed(app: &Application) -> Vec<Line> {
    let page = app.list_sessions(&ListQuery::default()).await.unwrap();
    let line = |summary: Summary| {
        assert!(summary.created_at.ends_with('Z') && summary.updated_at >= summary.created_at);
        (summary.session_id, summary.agent_id.unwrap(), summary.title, summary.message_count)
    };
    page.sessions.into_iter().map(line).collect()
}

/// What the store has of a session, read by another application.
async fn stored(scene: &Scene, id: &str) -> Session {
    scene.start().await.session(id).await.unwrap().session
}

#[tokio::test] // I-01
async fn loading_gives_nothing_or_everything_needed_to_go_on() {
    let scene = Scene::says(&["one", "two"]);
    let app = scene.start().await;
    assert!(app.load_session("s").await.unwrap().is_none());
    let error = app.session("s").await.err().unwrap();
    assert_eq!(error.class(), ErrorClass::NotFound);
    app.create_session(NewSession { agent: Some("other".to_owned()), ..new("s") }).await.unwrap();
    talk(&app, "s", "hi").await;
    let loaded = scene.start().await.load_session("s").await.unwrap().unwrap();
    assert_eq!(
        (loaded.session.agent_id(), loaded.config.text("model")),
        (Some("other"), Some("o"))
    );
    let session = loaded
        .core
        .add_message(&loaded.session, Message::user("more"), &loaded.config)
        .await
        .unwrap();
    let options = RequestOptions::default();
    let answer = loaded.core.send_request(&session, &loaded.config, options).await.unwrap();
    assert_eq!(texts(&answer.session), "hi|one|more|two");
}

#[tokio::test] // I-02
async fn what_is_stored_is_the_session_after_its_lifecycle() {
    let scene =
        Scene::default().feature(core_recorder(&Log::new(), &["session_save_prepare"], |_, _| {
            Ok(patch(json!({"stamp": 1})))
        }));
    let app = scene.start().await;
    let session = app.create_ephemeral_session(new("s")).await.unwrap().session;
    let saved = app.save_session(&session).await.unwrap();
    assert_eq!(saved.metadata()["stamp"], 1);
    assert_eq!(stored(&scene, "s").await, saved);
    assert_eq!(app.session("s").await.unwrap().session, saved);
}

#[tokio::test] // I-03
async fn ids_that_are_no_keys_are_refused_everywhere() {
    let app = Scene::says(&["a"]).start().await;
    app.create_session(new("s")).await.unwrap();
    let loaded = app.session("s").await.unwrap().session;
    for bad in ["../x", "a/b", "", ".", "a b"] {
        let call = || ActionCall::new("p", "a");
        let errors = [
            app.create_session(new(bad)).await.err(),
            app.create_ephemeral_session(new(bad)).await.err(),
            app.load_session(bad).await.err(),
            app.save_session(&loaded.with_id(bad)).await.err(),
            app.fork_session("s", None, Some(bad)).await.err(),
            app.fork_session(bad, None, None).await.err(),
            app.delete_session(bad, None).await.err(),
            app.switch_agent(bad, "other").await.err(),
            app.send_request(ask(bad, "hi")).await.err(),
            app.send_request(Request { request_id: Some(bad.to_owned()), ..ask("s", "hi") })
                .await
                .err(),
            app.execute_session_action(bad, call()).await.err(),
            app.preview_session_action(bad, call()).await.err(),
            app.undo(bad, "c").await.err(),
            app.plugin_state(bad, "p").await.err(),
            app.list_assets(bad).await.err(),
            app.read_asset(bad).await.err(),
            app.cancel_request(bad, "").await.err(),
            app.trace(bad).await.err(),
            app.acquire_session_lock(bad).await.err(),
            app.import_session(&loaded.export("json").unwrap(), "json", Some(bad)).await.err(),
        ];
        for (index, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("{bad:?} {index}"));
            assert_eq!(error.class(), ErrorClass::BadArgument, "{bad:?} {index}: {error}");
        }
    }
}

#[tokio::test] // I-03
async fn a_write_that_fails_leaves_the_old_version() {
    let mut scene = Scene::default();
    let double = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = double.clone();
    let app = scene.start().await;
    app.create_session(new("s")).await.unwrap();
    let before = app.session("s").await.unwrap().session;
    double.fail_from(Some(1));
    let error = app.patch_session("s", map(json!({"a": 1}))).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    double.fail_from(None);
    assert_eq!(app.session("s").await.unwrap().session, before);
    assert_eq!(stored(&scene, "s").await, before);
    app.patch_session("s", map(json!({"a": 2}))).await.unwrap();
    assert_eq!(stored(&scene, "s").await.metadata()["a"], 2);
}

#[tokio::test] // I-04, I-05
async fn a_session_is_stored_only_if_it_is_to_be() {
    let scene = Scene::default().application(app_recorder(
        &Log::new(),
        &["session_create"],
        async |_, _| Ok(patch(json!({"made": true}))),
    ));
    let app = scene.start().await;
    let made = app
        .create_ephemeral_session(NewSession { agent: Some("other".to_owned()), ..new("e") })
        .await
        .unwrap();
    assert_eq!(made.session.agent_id(), Some("other"));
    assert_eq!(
        (made.session.metadata()["made"].clone(), made.config.text("model")),
        (json!(true), Some("o"))
    );
    assert_eq!(listed(&app).await, []);
    assert!(app.load_session("e").await.unwrap().is_none());

    let made = app.create_session(new("s")).await.unwrap();
    assert_eq!(stored(&scene, "s").await, made.session);
    assert_eq!(made.session.metadata()["made"], true);
    let fresh = app.create_session(NewSession::default()).await.unwrap().session;
    assert!(app.load_session(fresh.id()).await.unwrap().is_some());
    let taken = app.create_session(new("s")).await.err().unwrap();
    assert_eq!(taken.class(), ErrorClass::Conflict);
    let nobody = NewSession { agent: Some("nobody".to_owned()), ..NewSession::default() };
    assert_eq!(app.create_session(nobody).await.err().unwrap().class(), ErrorClass::NotFound);
}

#[tokio::test] // I-06, I-07
async fn a_fork_is_a_new_session_and_leaves_its_source_alone() {
    let scene = Scene::says(&["a", "b", "c"]);
    let app = scene.start().await;
    talk(&app, "s", "1").await;
    talk(&app, "s", "2").await;
    let source = app.export_session("s", "json").await.unwrap();
    let revision = scene.store.head(&Scope::local(), "s").await.unwrap().unwrap().revision;

    let fork = app.fork_session("s", Some(1), Some("f")).await.unwrap().session;
    assert_eq!((fork.id(), texts(&fork).as_str()), ("f", "1|a"));
    assert_eq!(stored(&scene, "f").await, fork);
    let whole = app.fork_session("s", None, None).await.unwrap().session;
    assert_ne!(whole.id(), "s");
    assert_eq!(texts(&whole), "1|a|2|b");
    assert_eq!(talk(&app, "f", "other").await, "1|a|other|c");
    assert_eq!(scene.provider.last_request(), "1|a|other");

    assert_eq!(app.export_session("s", "json").await.unwrap(), source);
    let now = scene.store.head(&Scope::local(), "s").await.unwrap().unwrap().revision;
    assert_eq!(now, revision);
    let taken = app.fork_session("s", None, Some("f")).await.err().unwrap();
    assert_eq!(taken.class(), ErrorClass::Conflict);
    let unknown = app.fork_session("nobody", None, None).await.err().unwrap();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
}

async fn with_assets(scene: &Scene, folder: &Folder) -> Application {
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
    Application::builder(config, scene.store.clone())
        .plugins(scene.plugins.clone())
        .assets(AssetFiles::new(folder.0.clone(), AssetLimits::default()))
        .start()
        .await
        .unwrap()
}

fn files_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_in(&entry.path()) } else { 1 }).sum()
}

#[tokio::test] // I-08, I-32
async fn deleting_takes_everything_along() {
    let (scene, folder) = (Scene::says(&["a"]), Folder::default());
    let app = with_assets(&scene, &folder).await;
    app.create_session(new("keeps")).await.unwrap();
    talk(&app, "s", "hi").await;
    let upload = || Upload::new("a.txt", Some("text/plain"));
    let kept = app.put_asset(Some("keeps"), upload(), b"k".to_vec()).await.unwrap();
    let gone = app.put_asset(Some("s"), upload(), b"hello".to_vec()).await.unwrap();
    app.set_plugin_state("s", "p", 0, Some(json!(1))).await.unwrap();
    assert_eq!(app.list_assets("s").await.unwrap()[0], gone);
    let (record, bytes) = app.read_asset(&gone.id).await.unwrap();
    assert_eq!((record.name.as_str(), bytes.as_slice()), ("a.txt", b"hello".as_slice()));
    assert_eq!(files_in(&folder.0), 2);

    app.delete_session("s", None).await.unwrap();
    assert!(app.load_session("s").await.unwrap().is_none());
    assert_eq!(app.read_asset(&gone.id).await.unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(app.list_assets("s").await.unwrap(), []);
    assert!(app.plugin_state("s", "p").await.unwrap().is_none());
    assert_eq!(files_in(&folder.0), 1);
    app.read_asset(&kept.id).await.unwrap();
    app.delete_asset(&kept.id).await.unwrap();
    assert_eq!((files_in(&folder.0), app.list_assets("keeps").await.unwrap().len()), (0, 0));
    assert_eq!(app.delete_asset(&kept.id).await.unwrap_err().class(), ErrorClass::NotFound);

    let again = app.delete_session("s", None).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::NotFound);
    app.create_session(new("s")).await.unwrap();
    assert!(app.plugin_state("s", "p").await.unwrap().is_none(), "nothing comes back");
}

#[tokio::test] // I-32
async fn without_files_there_are_no_assets() {
    let app = Scene::default().start().await;
    let error = app.put_asset(None, Upload::new("a", None), vec![1]).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
}

#[tokio::test] // I-09
async fn sessions_are_listed_with_summaries() {
    let app = Scene::says(&["sure"]).start().await;
    app.create_session(new("a")).await.unwrap();
    let titled = NewSession {
        agent: Some("other".to_owned()),
        metadata: map(json!({"title": "T"})),
        ..new("b")
    };
    app.create_session(titled).await.unwrap();
    talk(&app, "c", "what is\n a  lease?").await;
    let mut lines = listed(&app).await;
    lines.sort();
    let line = |id: &str, agent: &str, title: Option<&str>, count| {
        (id.to_owned(), agent.to_owned(), title.map(str::to_owned), count)
    };
    assert_eq!(
        lines,
        [
            line("a", "default", None, 0),
            line("b", "other", Some("T"), 0),
            line("c", "default", Some("what is a lease?"), 2)
        ]
    );
    let one = ListQuery { agent: Some("other".to_owned()), ..ListQuery::default() };
    assert_eq!(app.list_sessions(&one).await.unwrap().sessions.len(), 1);
    let page = ListQuery { limit: 2, ..ListQuery::default() };
    let first = app.list_sessions(&page).await.unwrap();
    let rest = ListQuery { cursor: first.next.clone(), ..page };
    assert_eq!(
        (first.sessions.len(), app.list_sessions(&rest).await.unwrap().sessions.len()),
        (2, 1)
    );
}

#[tokio::test] // I-10, I-11
async fn switching_a_value_stores_nothing_switching_a_session_does() {
    let log = Log::new();
    let both = &["agent_switch_prepare", "agent_switch_complete"];
    let scene = Scene::says(&["from other"]).application(app_recorder(&log, both, nothing));
    let app = scene.start().await;
    let session = app.create_session(new("s")).await.unwrap().session;

    let switched = app.update_agent("other", &session, true).await.unwrap();
    assert_eq!(log.take(), ["app:agent_switch_prepare", "app:agent_switch_complete"]);
    assert_eq!(
        (switched.session.agent_id(), switched.config.text("model")),
        (Some("other"), Some("o"))
    );
    let side = app.update_agent("other", &session, false).await.unwrap();
    assert_eq!((log.take(), side.session.agent_id()), (vec![], Some("other")));
    assert_eq!(stored(&scene, "s").await, session);

    let request = Request {
        session: Target::Value(Box::new(side.session)),
        persist: Some(false),
        ..ask("s", "aside")
    };
    assert!(names(&events_of(&app, request).await).ends_with("final"));
    assert_eq!(scene.provider.requests()[0].1.request["model"], "o");
    assert_eq!(stored(&scene, "s").await, session, "a side request leaves no trace");

    app.switch_agent("s", "other").await.unwrap();
    assert_eq!(log.take().len(), 2);
    assert_eq!(stored(&scene, "s").await.agent_id(), Some("other"));
    let errors = [
        app.update_agent("nobody", &session, true).await.err().unwrap(),
        app.switch_agent("s", "nobody").await.err().unwrap(),
        app.switch_agent("unknown", "other").await.err().unwrap(),
    ];
    assert!(errors.iter().all(|error| error.class() == ErrorClass::NotFound), "{errors:?}");
    let patched = app.patch_session("s", map(json!({"agent_id": "default"}))).await.unwrap_err();
    assert_eq!(patched.class(), ErrorClass::BadArgument);
}

#[tokio::test] // I-11, I-29
async fn an_action_may_ask_another_agent_aside_in_the_middle_of_a_request() {
    let plugin = ScriptedApplication::new("second_opinion").actions(vec![at("request_complete")]);
    let plugin = plugin.execute_action(async |_, cx| {
        let session = cx.session().unwrap();
        if session.metadata().contains_key("side") {
            return Ok(ActionResult::unchanged());
        }
        let app = Application::of(&cx)?;
        let side = app.update_agent("other", session, false).await?.session;
        let side = side.with_metadata_patch(&map(json!({"side": true})));
        let request = Request { session: Target::Value(Box::new(side)), ..ask("s", "is that so?") };
        let answer = app.send_request(request).await?.finish().await?;
        let EventKind::Final { messages, .. } = &answer.kind else { panic!() };
        Ok(patch(json!({"opinion": messages[0].text()})))
    });
    let scene = Scene::says(&["yes", "no"]).application(plugin);
    let app = scene.start().await;
    assert_eq!(talk(&app, "s", "hi").await, "hi|yes");
    let stored = stored(&scene, "s").await;
    assert_eq!((stored.agent_id(), texts(&stored).as_str()), (Some("default"), "hi|yes"));
    assert_eq!(stored.metadata()["opinion"], "no");
    assert!(!stored.metadata().contains_key("side"));
}

#[tokio::test] // I-12
async fn another_provider_gets_history_in_its_own_form() {
    let mut scene = Scene::says(&["first"]).config(
        "default_agent = \"default\"\n[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n\
         [agents.other]\nprovider = \"second\"\nmodel = \"o\"\n",
    );
    let second = ScriptedProvider::new("second");
    second.reply(ScriptedReply::text(&["from second"]));
    scene.plugins = scene.plugins.provider(Arc::new(second.clone()), vec![]);
    let app = scene.start().await;
    talk(&app, "s", "hi").await;
    let native = |session: &Session| session.native().unwrap().format().map(str::to_owned);
    assert_eq!(native(&stored(&scene, "s").await).as_deref(), Some("scripted"));
    app.switch_agent("s", "other").await.unwrap();
    assert_eq!(talk(&app, "s", "and you?").await, "hi|first|and you?|from second");
    assert_eq!(second.last_request(), "hi|first|and you?");
    assert!(second.log().lines().contains(&"to_native(3)".to_owned()), "{}", second.log().text());
    assert_eq!(native(&stored(&scene, "s").await).as_deref(), Some("second"));
}

#[tokio::test]
async fn sessions_are_exported_and_imported() {
    let scene = Scene::says(&["a"]);
    let app = scene.start().await;
    talk(&app, "s", "hi").await;
    let text = app.export_session("s", "json").await.unwrap();
    let conflict = app.import_session(&text, "json", None).await.unwrap_err();
    assert_eq!(conflict.class(), ErrorClass::Conflict);
    let copy = app.import_session(&text, "json", Some("copy")).await.unwrap();
    assert_eq!((copy.id(), texts(&copy).as_str()), ("copy", "hi|a"));
    let stranger = r#"{"session_id":"x","messages":[],"metadata":{"agent_id":"nobody"}}"#;
    let taken_in = app.import_session(stranger, "json", None).await.unwrap();
    assert_eq!(taken_in.agent_id(), Some("default"));
}

#[tokio::test]
async fn messages_are_edited_in_place() {
    let scene = Scene::says(&["a", "b"]);
    let app = scene.start().await;
    talk(&app, "s", "1").await;
    app.modify_message("s", 1, json!("A")).await.unwrap();
    app.add_message("s", Message::user("0"), Some(-1)).await.unwrap();
    assert_eq!(texts(&stored(&scene, "s").await), "0|1|A");
    app.fork_session("s", Some(0), Some("f")).await.unwrap();
    app.join_session("s", "f").await.unwrap();
    assert_eq!(texts(&stored(&scene, "s").await), "0|1|A|0");
    app.slice_session("s", Slice { start: Some(1), end: Some(3), ..Slice::default() })
        .await
        .unwrap();
    assert_eq!(texts(&stored(&scene, "s").await), "1|A");
    assert_eq!(talk(&app, "s", "2").await, "1|A|2|b");
    assert_eq!(scene.provider.last_request(), "1|A|2");
}

#[tokio::test]
async fn plugin_state_forks_with_the_session_and_has_versions() {
    let app = Scene::default().application(ScriptedApplication::new("p")).start().await;
    app.create_session(new("s")).await.unwrap();
    let one = app.set_plugin_state("s", "p", 0, Some(json!({"n": 1}))).await.unwrap();
    let stale = app.set_plugin_state("s", "p", 0, Some(json!(2))).await.unwrap_err();
    assert_eq!(stale.class(), ErrorClass::Conflict);
    app.fork_session("s", None, Some("f")).await.unwrap();
    app.set_plugin_state("s", "p", one, Some(json!({"n": 2}))).await.unwrap();
    let value = async |id| app.plugin_state(id, "p").await.unwrap().map(|state| state.value);
    assert_eq!(value("f").await, Some(json!({"n": 1})));
    assert_eq!(value("s").await, Some(json!({"n": 2})));
    app.delete_session("s", None).await.unwrap();
    assert_eq!((value("s").await, value("f").await), (None, Some(json!({"n": 1}))));
    let nowhere = app.set_plugin_state("s", "p", 0, Some(json!(1))).await.unwrap_err();
    assert_eq!(nowhere.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn nothing_of_another_tenant_can_be_reached() {
    let (folder, log) = (Folder::default(), Log::new());
    let feature = core_recorder(&log, &["act"], |_, _| Ok(patch(json!({"x": 1}))));
    let scene = Scene::says(&["secret", "mine"]).feature(feature);
    let app = with_assets(&scene, &folder).await;
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "hi") };
    events_of(&app, request).await;
    let act = || ActionCall::new("core_recorder", "act");
    let change = app.execute_session_action("s", act()).await.unwrap().change_id.unwrap();
    let asset = app.put_asset(Some("s"), Upload::new("a", None), vec![1]).await.unwrap();
    app.set_plugin_state("s", "p", 0, Some(json!(1))).await.unwrap();
    let before = app.session("s").await.unwrap().session;

    for scope in [Scope::new("acme", "ana").unwrap(), Scope::new("acme", "local").unwrap()] {
        let spy = app.for_scope(scope);
        let errors = [
            spy.session("s").await.err(),
            spy.fork_session("s", None, None).await.err(),
            spy.delete_session("s", None).await.err(),
            spy.switch_agent("s", "other").await.err(),
            spy.slice_session("s", Slice::default()).await.err(),
            spy.add_message("s", Message::user("x"), None).await.err(),
            spy.modify_message("s", 0, json!("x")).await.err(),
            spy.patch_session("s", Map::new()).await.err(),
            spy.join_session("s", "s").await.err(),
            spy.export_session("s", "json").await.err(),
            spy.list_actions(Some("s")).await.err(),
            spy.execute_session_action("s", act()).await.err(),
            spy.preview_session_action("s", act()).await.err(),
            spy.changes("s").await.err(),
            spy.undo("s", &change).await.err(),
            spy.ui_schema("default", Some("s")).await.err(),
            spy.send_request(Request { session: Target::Stored("s".to_owned()), ..ask("s", "x") })
                .await
                .err(),
            spy.request_events("r", 0).await.err(),
            spy.cancel_request("r", "x").await.err(),
            spy.decide("r", "c", Decision::default()).await.err(),
            spy.trace("r").await.err(),
            spy.put_asset(Some("s"), Upload::new("a", None), vec![1]).await.err(),
            spy.read_asset(&asset.id).await.err(),
            spy.delete_asset(&asset.id).await.err(),
            spy.set_plugin_state("s", "p", 0, Some(json!(1))).await.err(),
        ];
        for (index, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("operation {index} went through"));
            assert_eq!(error.class(), ErrorClass::NotFound, "{index}: {error}");
        }
        assert!(spy.load_session("s").await.unwrap().is_none());
        assert!(spy.plugin_state("s", "p").await.unwrap().is_none());
        assert_eq!(spy.list_assets("s").await.unwrap(), []);
        assert_eq!(listed(&spy).await, []);
        assert!(
            spy.search_sessions(&orlop_app::store::SearchQuery::new("secret", 5))
                .await
                .unwrap()
                .is_empty()
        );
    }
    assert_eq!(app.session("s").await.unwrap().session, before);

    // The same ids are free for others, and nobody hears of it.
    let other = app.for_scope(Scope::new("acme", "ana").unwrap());
    let mut heard = app.follow_events(Follow::default()).await.unwrap();
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "mine?") };
    events_of(&other, request).await;
    assert_eq!(said(&other, "s").await, "mine?|mine");
    assert_eq!(app.session("s").await.unwrap().session, before);
    use futures::{FutureExt, StreamExt};
    assert!(heard.next().now_or_never().is_none());
    assert_eq!(app.scope().tenant(), "local");
}

#[tokio::test] // I-08, I-10, I-11
async fn a_session_whose_agent_is_gone_can_be_exported_switched_and_deleted() {
    let scene = Scene::default();
    let app = scene.start().await;
    for id in ["a", "b"] {
        let new = NewSession {
            agent: Some("other".into()),
            id: Some(id.into()),
            ..NewSession::default()
        };
        app.create_session(new).await.unwrap();
    }
    let smaller = "[agents.default]\nprovider = \"scripted\"\n";
    let scene = Scene { store: scene.store.clone(), ..Scene::default() }.config(smaller);
    let app = scene.start().await;
    assert!(app.session("a").await.is_err());
    assert!(app.export_session("a", "json").await.unwrap().contains("\"other\""));
    app.switch_agent("a", "default").await.unwrap();
    assert_eq!(app.session("a").await.unwrap().session.agent_id(), Some("default"));
    app.delete_session("b", None).await.unwrap();
    assert!(app.load_session("b").await.unwrap().is_none());
}

#[tokio::test]
async fn pinned_sessions_come_first_and_archived_ones_not_at_all() {
    let app = Scene::default().start().await;
    for id in ["a", "b", "c", "d"] {
        app.create_session(new(id)).await.unwrap();
    }
    app.pin_session("a", true).await.unwrap();
    app.archive_session("b", true).await.unwrap();
    for id in ["c", "d"] {
        app.patch_session(id, map(json!({"seen": true}))).await.unwrap();
    }
    let ids = async |query: ListQuery| {
        let page = app.list_sessions(&query).await.unwrap();
        let ids = page.sessions.iter().map(|it| it.session_id.as_str()).collect::<Vec<_>>();
        (ids.join(" "), page.next)
    };
    assert_eq!(ids(ListQuery::default()).await.0, "a d c");
    let archived = ListQuery { archived: Archived::Only, ..ListQuery::default() };
    assert_eq!(ids(archived).await.0, "b");
    // They come beside the limit, and on the first page only.
    let page = ListQuery { limit: 1, ..ListQuery::default() };
    let (first, next) = ids(page.clone()).await;
    assert_eq!(first, "a d");
    assert_eq!(ids(ListQuery { cursor: next, ..page }).await.0, "c");
    let fork = app.fork_session("a", None, Some("fork")).await.unwrap().session;
    assert_eq!(fork.metadata().get("pinned"), Some(&json!(false)));
    app.pin_session("a", false).await.unwrap();
    app.archive_session("b", false).await.unwrap();
    assert_eq!(ids(ListQuery::default()).await.0, "b a fork d c");
}

#[tokio::test]
async fn a_session_is_exported_for_reading() {
    let app = Scene::says(&["sure"]).start().await;
    talk(&app, "s", "hello").await;
    let text = app.export_session("s", "markdown").await.unwrap();
    assert_eq!(text, "## user\n\nhello\n\n## assistant\n\nsure\n");
    assert!(app.export_session("s", "pdf").await.is_err());
}
