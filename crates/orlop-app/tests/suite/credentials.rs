//! Stored logins: the file they are in, and requests that carry them.

use crate::common::doubles::*;
use crate::common::*;
use expect_test::expect;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const CONFIG: &str = r#"
[agents.default]
provider = "scripted"
model = "m"
api_key = "${credential:acme}"
[agents.free]
provider = "scripted"
model = "f"
[agents.either]
extends = "default"
api_key = "${credential:acme:-${env:KEY}}"
"#;

fn config(credentials: &Credentials) -> AppConfig {
    let vars = Vars::from([("KEY".to_owned(), "sk-env".to_owned())]);
    let env = RuntimeEnv::from_vars(vars).with_credentials(credentials.clone());
    AppConfig::from_text(Path::new("orlop.toml"), CONFIG, env).unwrap()
}

async fn start(scene: &Scene, credentials: &Credentials) -> Application {
    let builder = Application::builder(config(credentials), scene.store.clone());
    builder.plugins(scene.plugins.clone()).start().await.unwrap()
}

fn keys(provider: &ScriptedProvider) -> Vec<Option<String>> {
    let requests = provider.requests();
    let key = |state: &State| state.config.text("api_key").map(str::to_owned);
    requests.iter().map(|(_, state)| key(state)).collect()
}

#[tokio::test] // M-19
async fn a_request_after_login_carries_the_token() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0);
    let scene = Scene::says(&["1", "2", "3"]);
    let app = start(&scene, &credentials).await;
    let refused = app.send_request(ask("s", "hi")).await.err().unwrap();
    expect![[r#"bad_argument: orlop.toml:5:11: agents.default.api_key: there is no login "acme"; log in with the plugin that provides it"#]]
        .assert_eq(&format!("{refused:?}"));
    // The same application, as a login plugin would.
    let held = app.config().env().credentials().unwrap();
    held.store("acme", Credential::new("token-one")).unwrap();
    talk(&app, "s", "hi").await;
    held.store("acme", Credential::new("token-two")).unwrap();
    talk(&app, "s", "hi").await;
    assert_eq!(keys(&scene.provider), [Some("token-one".to_owned()), Some("token-two".to_owned())]);
    held.remove("acme").unwrap();
    assert!(app.send_request(ask("s", "hi")).await.is_err());
    // Others are not concerned, and a default stands in.
    assert!(app.agent("free").is_ok());
    assert_eq!(app.agent("either").unwrap().1.text("api_key"), Some("sk-env"));
}

#[tokio::test] // M-19
async fn plugins_are_not_set_up_again_for_the_same_token() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0);
    credentials.store("acme", Credential::new("token")).unwrap();
    let scene = Scene::says(&["1", "2"]);
    let app = start(&scene, &credentials).await;
    talk(&app, "s", "hi").await;
    talk(&app, "s", "hi").await;
    let inits = scene.provider.log().lines().iter().filter(|line| *line == "scripted.init").count();
    assert_eq!(inits, 1);
}

#[tokio::test] // M-19
async fn tokens_are_nowhere_to_be_seen() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0);
    let secret = "token-that-nobody-may-see";
    credentials.store("acme", Credential::new(secret)).unwrap();
    let scene = Scene::says(&["1"]);
    let app = start(&scene, &credentials).await;
    let events = events_of(&app, ask("s", "hi")).await;
    let shown = app.config().show(&app.plugins().schema());
    let request = events[0].request_id.clone().unwrap();
    let session = app.export_session("s", "json").await.unwrap();
    let turn = app.store().turn(app.scope(), &request).await.unwrap().unwrap();
    let all = [
        shown.to_string(),
        format!("{:?} {credentials:?} {:?}", app.config(), credentials.load().unwrap()),
        json!(app.trace(&request).await.unwrap()).to_string(),
        session,
        turn.state.to_string(),
        json!(app.config().raw()).to_string(),
    ];
    for text in &all {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(shown.to_string().contains("agents.default.api_key = \"***\""), "{shown}");
}

#[test] // M-19
fn the_file_is_private_and_whole() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0.join("home"));
    assert!(credentials.load().unwrap().is_empty());
    assert!(!credentials.remove("acme").unwrap());
    assert!(!credentials.file().exists());
    let other = Map::from_iter([("account".to_owned(), json!("ana"))]);
    let login = Credential {
        refresh_token: Some("r".to_owned()),
        expires_at: Some("2999-01-01T00:00:00Z".to_owned()),
        other,
        ..Credential::new("t")
    };
    credentials.store("acme", login.clone()).unwrap();
    credentials.store("other", Credential::new("o")).unwrap();
    assert_eq!(credentials.get("acme").unwrap(), Some(login));
    let mode = std::fs::metadata(credentials.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(credentials.remove("acme").unwrap());
    assert_eq!(credentials.load().unwrap().into_keys().collect::<Vec<_>>(), ["other"]);
    let files = std::fs::read_dir(folder.0.join("home")).unwrap().count();
    assert_eq!(files, 1);
    assert!(credentials.store("../x", Credential::new("t")).is_err());
}

#[test] // M-19
fn logins_at_the_same_time_are_all_kept() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let credentials = &credentials;
            scope.spawn(move || {
                for round in 0..10 {
                    credentials.store(&format!("{name}{round}"), Credential::new(name)).unwrap();
                    credentials.load().unwrap();
                }
            });
        }
    });
    assert_eq!(credentials.load().unwrap().len(), 40);
}

#[test] // M-19
fn what_cannot_be_trusted_is_not_used() {
    let folder = Folder::default();
    let credentials = Credentials::in_folder(&folder.0);
    let agent = || config(&credentials).build_agent_config("default").map(|_| ());
    let shown = |error: Error| error.to_string().replace(&folder.0.display().to_string(), "HOME");
    credentials.store("acme", Credential::new("t")).unwrap();
    std::fs::set_permissions(credentials.file(), std::fs::Permissions::from_mode(0o640)).unwrap();
    expect!["orlop.toml:5:11: agents.default.api_key: HOME/credentials.json is not used, because others on this machine can read your tokens in it; run: chmod 600 'HOME/credentials.json' (and log in again if somebody may have)"].assert_eq(&shown(agent().unwrap_err()));
    std::fs::set_permissions(credentials.file(), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(agent().is_ok());
    let expires_at = Some("2020-01-01T00:00:00Z".to_owned());
    credentials.store("acme", Credential { expires_at, ..Credential::new("t") }).unwrap();
    expect![[
        r#"orlop.toml:5:11: agents.default.api_key: the login "acme" has expired; log in again"#
    ]]
    .assert_eq(&shown(agent().unwrap_err()));
    std::fs::write(credentials.file(), "{\"acme\": \"sk-in-the-wrong-place\"}").unwrap();
    let damaged = shown(agent().unwrap_err());
    assert!(!damaged.contains("sk-"), "{damaged}");
    expect!["orlop.toml:5:11: agents.default.api_key: HOME/credentials.json is damaged; delete it and log in again"].assert_eq(&damaged);
    // The application starts all the same: who logs in needs it.
    let schema = Arc::new(Scene::default().plugins.schema());
    assert!(config(&credentials).verify(&schema).is_ok());
}
