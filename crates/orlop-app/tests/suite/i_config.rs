//! What plugins find in the configuration, and what a broken one says.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::config::{AppConfig, Locations, RuntimeEnv, Vars};
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// An application whose configuration lies in `folder`.
async fn start_in(scene: &Scene, folder: &Path) -> Application {
    let vars = Vars::from([
        ("CONFIG_DIR".to_owned(), folder.display().to_string()),
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
    ]);
    let file = folder.join("orlop.toml");
    let config = AppConfig::from_text(&file, &scene.config, RuntimeEnv::from_vars(vars)).unwrap();
    let builder = Application::builder(config, scene.store.clone());
    builder.plugins(scene.plugins.clone()).start().await.unwrap()
}

#[tokio::test] // I-36
async fn a_hook_finds_its_agent_the_other_agents_and_the_file_as_written() {
    let log = Log::new();
    let seen = log.clone();
    let scene = Scene::default()
        .config(
            "max_steps = 9\ndefault_agent = \"default\"\n\
             [agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\napi_key = \"${env:CONFIG_DIR}\"\n\
             [agents.other]\nextends = \"default\"\nmodel = \"o\"\n",
        )
        .feature(core_recorder(&Log::new(), &["request_prepare"], move |_, cx| {
            let base = cx.base_config();
            let app = Application::of(cx)?;
            seen.add(format!("{} {}", base.text("model").unwrap(), base.values()["max_steps"]));
            seen.add(base.values()["agents"]["default"]["model"].to_string());
            seen.add(cx.config().text("model").unwrap());
            seen.add(app.config().raw()["agents"]["default"]["api_key"].to_string());
            Ok(ActionResult::unchanged())
        }));
    let folder = Folder::default();
    let app = start_in(&scene, &folder.0).await;
    app.create_session(NewSession { agent: Some("other".to_owned()), ..new("s") }).await.unwrap();
    events_of(&app, Request { overrides: map(json!({"model": "r"})), ..ask("s", "hi") }).await;
    assert_eq!(log.lines(), ["o 9", "\"m\"", "r", "\"${env:CONFIG_DIR}\""]);
}

#[tokio::test] // I-39, I-40
async fn a_plugin_keeps_its_files_and_starts_its_processes_in_the_folder_of_the_configuration() {
    let plugin = ScriptedApplication::new("notes")
        .actions(vec![ActionDefinition::new("count", "Count")])
        .execute_action(async |_, cx| {
            let app = Application::of(&cx)?;
            let env = app.config().env();
            let folder = env.get("CONFIG_DIR").ok_or_else(|| Error::bad_state("no folder"))?;
            let file = Path::new(folder).join("notes").join("count");
            let count = std::fs::read_to_string(&file).unwrap_or_default().len() + 1;
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "x".repeat(count)).unwrap();
            let mut child = std::process::Command::new("sh");
            child.args(["-c", "printf %s \"$CONFIG_DIR\""]).env_clear().envs(env.vars());
            let printed = String::from_utf8(child.output().unwrap().stdout).unwrap();
            let public = map(json!({"count": count, "child": printed}));
            Ok(ActionResult { public, ..ActionResult::default() })
        });
    let (scene, folder) = (Scene::default().application(plugin), Folder::default());
    let count = || ActionCall::new("notes", "count");
    let app = start_in(&scene, &folder.0).await;
    let first = app.execute_action(count(), None).await.unwrap();
    assert_eq!(first["child"], json!(folder.0));
    let again = start_in(&scene, &folder.0).await;
    assert_eq!(again.execute_action(count(), None).await.unwrap()["count"], 2);
    let entries: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(entries, ["notes"]);
    assert_eq!(std::env::var("CONFIG_DIR").ok(), None, "the process itself is left alone (Q74)");
    let elsewhere = Folder::default();
    let other = start_in(&scene, &elsewhere.0).await;
    let apart = other.execute_action(count(), None).await.unwrap();
    assert_eq!((apart["count"].clone(), apart["child"].clone()), (json!(1), json!(elsewhere.0)));
}

#[tokio::test] // I-39
async fn the_mapping_has_the_folders_of_the_application() {
    let folder = Folder::default();
    std::fs::write(folder.0.join("orlop.toml"), CONFIG).unwrap();
    let vars = Vars::from([("HOME".to_owned(), folder.0.display().to_string())]);
    let file = folder.0.join("orlop.toml");
    let locations = Locations::find(&vars, &folder.0, Some(&file)).unwrap();
    let env =
        RuntimeEnv::new(Vars::from([("A".into(), "1".into())]), &locations, Path::new("/plugins"));
    let config = AppConfig::load(&locations, &[], env).unwrap();
    let scene = Scene::default();
    let builder = Application::builder(config, scene.store.clone());
    let app = builder.plugins(scene.plugins.clone()).start().await.unwrap();
    let env = app.config().env();
    assert_eq!(env.get("CONFIG_DIR"), folder.0.to_str());
    assert_eq!((env.get("A"), env.get("BUILTIN_PLUGINS")), (Some("1"), Some("/plugins")));
}

#[tokio::test] // I-41
async fn agents_of_one_endpoint_share_one_discovery() {
    let manifest = Manifest::new("scripted", "1.0.0").discovery(&["base_url"]);
    let provider = ScriptedProvider::new("scripted").manifest(manifest).models(&["m", "o"]);
    let looks = ScriptedFeature::with_manifest(Manifest::new("looks", "1.0.0"));
    let mut scene = Scene { provider: provider.clone(), ..Scene::default() };
    scene.plugins = Plugins::new().provider(Arc::new(provider.clone()), vec![]);
    let app = scene.feature(looks).start().await;
    for (id, agent) in [("a", "default"), ("b", "other")] {
        provider.reply(ScriptedReply::text(&["yes"]));
        app.create_session(NewSession { agent: Some(agent.to_owned()), ..new(id) }).await.unwrap();
        assert_eq!(talk(&app, id, "hi").await, "hi|yes");
    }
    assert_eq!(provider.models_asked(), 1);
}

/// A configuration that does not start, and the key its error names.
async fn check_broken(config: &str, key: &str, hint: &str) {
    let scene = Scene::default().config(config).tool(echo("t"));
    let error = scene.try_start().await.err().unwrap_or_else(|| panic!("{config} started"));
    assert!(error.message().contains(key), "{config}\n{error}");
    assert!(error.message().contains(hint), "{config}\n{error}");
}

#[tokio::test] // I-42
async fn a_broken_configuration_does_not_start_and_says_where() {
    let agent = "[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n";
    check_broken(
        "[agents.default]\nprovider = \"scriptd\"\n",
        "agents.default.provider",
        "scripted",
    )
    .await;
    check_broken(&format!("{agent}tools = [\"x\"]\n"), "agents.default.tools", "\"t\"").await;
    check_broken(&format!("{agent}tools = 3\n"), "agents.default.tools", "list").await;
    check_broken(&format!("{agent}max_steps = \"many\"\n"), "agents.default.max_steps", "").await;
    check_broken(&format!("default_agent = \"x\"\n{agent}"), "default_agent", "default").await;
    check_broken(
        &format!("{agent}[agents.b]\nextends = \"nobody\"\n"),
        "agents.b.extends",
        "nobody",
    )
    .await;
    check_broken(&format!("{agent}[hosts]\nplugins = [\"nobody\"]\n"), "hosts.plugins", "nobody")
        .await;
    check_broken(&format!("{agent}modle = \"m\"\n"), "agents.default.modle", "model").await;
}

#[tokio::test] // I-42
async fn a_variable_that_is_missing_stops_its_agent_only_and_is_named() {
    let scene = Scene::says(&["yes"]).config(
        "default_agent = \"default\"\n[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n\
         [agents.other]\nextends = \"default\"\napi_key = \"${env:NO_SUCH}\"\n",
    );
    let app = scene.start().await;
    assert_eq!(talk(&app, "s", "hi").await, "hi|yes");
    let other = NewSession { agent: Some("other".to_owned()), ..new("o") };
    let error = app.create_session(other).await.err().unwrap();
    assert!(error.message().contains("agents.other.api_key"), "{error}");
    assert!(error.message().contains("NO_SUCH"), "{error}");
}

#[tokio::test] // I-42
async fn an_application_plugin_that_cannot_begin_stops_the_start() {
    let broken =
        ScriptedApplication::new("db").init(async |_, _| Err(Error::unavailable("no disk")));
    let error = Scene::default().application(broken).try_start().await.err().unwrap();
    assert!(error.message().contains("no disk") && error.to_string().contains("db"), "{error}");
    let twice = Scene::default()
        .application(ScriptedApplication::new("p"))
        .application(ScriptedApplication::new("p"));
    assert_eq!(twice.try_start().await.err().unwrap().class(), ErrorClass::Conflict);
}
