//! What actions and tools are told by the application and by whoever calls it.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::assets::{AssetFiles, AssetLimits};
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::logged;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const COMPACTING: &str = r#"
default_agent = "default"
[agents.default]
provider = "scripted"
model = "m"
[agents.default.compaction]
enabled = true
[agents.other]
extends = "default"
model = "o"
"#;

/// What a hook sees of the layers.
fn seen(cx: &Context) -> String {
    let mut handles = cx.handles();
    handles.retain(|name| ["app", "application", "core", "session_asset_store"].contains(name));
    handles.sort_unstable();
    format!(
        "{:?} {} {} [{}] model={} base={} other={}",
        cx.trigger_source(),
        cx.lifecycle().unwrap_or("-"),
        cx.session().map_or("-", |session| session.id()),
        handles.join(" "),
        cx.config().text("model").unwrap_or("-"),
        cx.base_config().values()["compaction"]["enabled"],
        cx.base_config().values()["agents"]["other"]["model"],
    )
}

/// An action at `request_prepare` and one by hand.
fn actions() -> Vec<ActionDefinition> {
    vec![at("request_prepare"), ActionDefinition::new("by_hand", "By hand")]
}

#[tokio::test] // H-31, H-33, H-39, H-40, H-41, I-20, I-36
async fn every_hook_of_a_request_sees_the_application() {
    let log = Log::new();
    let (one, two, three, four) = (log.clone(), log.clone(), log.clone(), log.clone());
    let feature = ScriptedFeature::new("compaction").get_actions(|_, _| {
        let mut all = actions();
        all.push(at("response_finalize"));
        Ok(all)
    });
    let scene = Scene::default()
        .config(COMPACTING)
        .application(ScriptedApplication::new("a").actions(actions()).execute_action(
            move |_, cx| {
                one.add(format!("app {}", seen(&cx)));
                let app = cx.handle::<Application>("app").unwrap();
                assert!(Arc::ptr_eq(&app, &cx.handle::<Application>("application").unwrap()));
                assert_eq!(app.config().raw()["agents"]["default"]["model"], "m");
                async { Ok(ActionResult::unchanged()) }
            },
        ))
        .feature(feature.execute_action(move |_, cx| {
            two.add(format!("core {}", seen(cx)));
            Ok(ActionResult::unchanged())
        }));
    let tool = AsyncTool::new("t", json!({}), move |_, cx| {
        three.add(format!("tool {}", seen(&cx)));
        assert!(cx.cancellation().is_some());
        assert_eq!(cx.get("session_id").unwrap(), "s");
        async { Ok(ToolReport::ok("done")) }
    });
    let folder = Folder::default();
    scene.provider.reply(ScriptedReply::calls(&[("c", "t", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
    let app = Application::builder(config, scene.store.clone())
        .plugins(scene.plugins.clone().tool(Arc::new(tool)))
        .assets(AssetFiles::new(folder.0.clone(), AssetLimits::default()))
        .start()
        .await
        .unwrap();
    let request = Request { overrides: map(json!({"model": "r"})), ..ask("s", "hi") };
    assert!(names(&events_of(&app, request).await).ends_with("final"));
    let handles = "[app application core session_asset_store]";
    assert_eq!(
        four.take(),
        [
            format!("app Application request_prepare s {handles} model=r base=true other=\"o\""),
            format!("core Application request_prepare s {handles} model=r base=true other=\"o\""),
            format!("core Application response_finalize s {handles} model=r base=true other=\"o\""),
            format!("tool Application - - {handles} model=r base=true other=\"o\""),
            format!("core Application response_finalize s {handles} model=r base=true other=\"o\""),
        ]
    );
    app.execute_application_action(ActionCall::new("a", "by_hand"), Some("s")).await.unwrap();
    app.execute_session_action("s", ActionCall::new("compaction", "by_hand")).await.unwrap();
    let by_hand = log.take();
    assert_eq!(by_hand[0], format!("app Manual - s {handles} model=m base=true other=\"o\""));
    assert!(by_hand[1].starts_with("core Application - s"), "{}", by_hand[1]);
}

#[tokio::test] // H-40
async fn agent_settings_are_found_without_an_application_too() {
    let core_only = config(json!({"provider": "scripted", "compaction": {"keep": 7}}));
    let feature = ScriptedFeature::new("compaction")
        .get_actions(|_, _| Ok(actions()))
        .execute_action(|_, cx| Ok(patch(cx.base_config().values()["compaction"].clone())));
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    let call = ActionCall::new("compaction", "by_hand");
    let (session, _) = core
        .execute_session_action(&Session::new("s"), &core_only, call, &CallContext::default())
        .await
        .unwrap();
    assert_eq!(session.metadata()["keep"], 7);
}

/// What a surface tells, as a hook sees it.
fn told(cx: &Context) -> String {
    let terminal = cx.handle::<String>("terminal").map(|terminal| (*terminal).clone());
    let text = |key: &str| cx.get(key).map(Value::to_string).unwrap_or_default();
    format!("{} {} {}", text("theme"), text("request_id"), terminal.unwrap_or_default())
}

#[tokio::test] // H-32, H-35, H-36
async fn what_a_surface_tells_reaches_actions_and_tools() {
    logged();
    let log = Log::new();
    let (one, two, three) = (log.clone(), log.clone(), log.clone());
    let scene = Scene::default()
        .application(ScriptedApplication::new("a").actions(actions()).execute_action(
            move |_, cx| {
                one.add(told(&cx));
                async { Ok(ActionResult::unchanged()) }
            },
        ))
        .feature(ScriptedFeature::new("f").get_actions(|_, _| Ok(actions())).execute_action(
            move |_, cx| {
                two.add(told(cx));
                assert_eq!(cx.config().text("model"), Some("m"), "not the caller's");
                Ok(ActionResult::unchanged())
            },
        ))
        .tool(ScriptedTool::new("t").offering(&["t"]).execute_tool(move |_, cx| {
            three.add(told(cx));
            Ok(ToolReport::ok("done"))
        }));
    scene.provider.reply(ScriptedReply::calls(&[("c", "t", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["end"]));
    let app = scene.start().await;
    let caller = CallContext::new("acme-screen")
        .with("theme", "dark")
        .with("config", json!({"model": "forged"}))
        .lending("terminal", Arc::new("tty".to_owned()));
    let surface = app.called_with(caller.owning("request_id", "http-1"));
    let request = Request { request_id: Some("r1".to_owned()), ..ask("s", "hi") };
    events_of(&surface, request).await;
    let seen = log.take();
    assert_eq!(seen[0], r#""dark" "http-1" tty"#);
    assert!(
        seen.iter().all(|line| line.starts_with("\"dark\"") && line.ends_with("tty")),
        "{seen:?}"
    );
    assert_eq!(seen.len(), 3);
    surface.execute_session_action("s", ActionCall::new("f", "by_hand")).await.unwrap();
    surface.execute_application_action(ActionCall::new("a", "by_hand"), None).await.unwrap();
    assert_eq!(log.take(), [r#""dark" "http-1" tty"#, r#""dark" "http-1" tty"#]);
    let warned = logged();
    let warnings: Vec<_> = warned.lines().filter(|line| line.contains("acme-screen")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains("config"));
}
