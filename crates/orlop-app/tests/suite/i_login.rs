//! The pattern for logging in: a flow in the background, started, watched and ended by actions.

use crate::common::doubles::*;
use crate::common::*;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::*;
use orlop_core::hooks::RequestChange;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// The login service: it grants a token when the person has entered the code.
type Grants = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Result<String, String>>>>;

/// A login plugin. `written` is passed when the new file is complete but not in place.
#[derive(Clone)]
struct Login {
    grants: Grants,
    written: Option<Stop>,
    state: Arc<Mutex<State>>,
}

struct State {
    status: &'static str,
    flow: u64,
    worker: Option<tokio::task::JoinHandle<()>>,
}

fn credentials(app: &Application) -> PathBuf {
    Path::new(app.config().env().get("CONFIG_DIR").unwrap()).join("acme.json")
}

/// Writes beside the file and renames, so that nobody sees half of it.
async fn write_credentials(file: &Path, token: &str, written: Option<&Stop>) {
    let new = file.with_extension("new");
    let _ = std::fs::remove_file(&new);
    let mut options = std::fs::OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(&new).unwrap();
    out.write_all(json!({ "token": token }).to_string().as_bytes()).unwrap();
    out.sync_all().unwrap();
    if let Some(written) = written {
        written.here().await;
    }
    std::fs::rename(&new, file).unwrap();
}

impl Login {
    fn new() -> (Self, mpsc::UnboundedSender<Result<String, String>>) {
        let (grant, grants) = mpsc::unbounded_channel();
        let state = State { status: "logged_out", flow: 0, worker: None };
        let grants = Arc::new(tokio::sync::Mutex::new(grants));
        (Self { grants, written: None, state: Arc::new(Mutex::new(state)) }, grant)
    }

    fn start(&self, file: PathBuf) -> Value {
        self.stop("cancelled");
        let me = self.clone();
        let mut state = self.state.lock().unwrap();
        (state.status, state.flow) = ("pending", state.flow + 1);
        let code = format!("CODE-{}", state.flow);
        state.worker = Some(tokio::spawn(async move {
            let granted = me.grants.lock().await.recv().await;
            let status = match granted {
                Some(Ok(token)) => {
                    write_credentials(&file, &token, me.written.as_ref()).await;
                    "success"
                }
                _ => "failed",
            };
            me.state.lock().unwrap().status = status;
        }));
        let url = "https://acme.test/device";
        let body = format!("Open {url} and enter {code}");
        json!({ "url": url, "code": code, "state": "pending",
                "display": { "body": body, "format": "text" } })
    }

    /// Stops the worker, if there is one.
    fn stop(&self, status: &'static str) {
        let mut state = self.state.lock().unwrap();
        if let Some(worker) = state.worker.take()
            && state.status == "pending"
        {
            worker.abort();
            state.status = status;
        }
    }

    fn act(&self, action: &str, app: &Application) -> Value {
        match action {
            "login_start" => return self.start(credentials(app)),
            "cancel_login" => self.stop("cancelled"),
            "logout" => {
                self.stop("cancelled");
                let _ = std::fs::remove_file(credentials(app));
                self.state.lock().unwrap().status = "logged_out";
            }
            _ => {}
        }
        json!({ "state": self.state.lock().unwrap().status })
    }

    fn plugin(&self) -> ScriptedApplication {
        let actions = ["login_start", "check_status", "cancel_login", "logout"];
        let me = self.clone();
        ScriptedApplication::new("acme_login")
            .actions(actions.iter().map(|id| ActionDefinition::new(*id, *id)).collect())
            .execute_action(move |input, cx| {
                let me = me.clone();
                async move {
                    let public = map(me.act(&input.action_id, &Application::of(&cx)?));
                    Ok(ActionResult { public, ..ActionResult::default() })
                }
            })
    }

    /// Waits until the worker is done.
    async fn settled(&self) {
        let worker = self.state.lock().unwrap().worker.take();
        worker.unwrap().await.unwrap();
    }
}

/// Puts the token into each request, as it is at that time.
fn authorised() -> ScriptedFeature {
    ScriptedFeature::new("acme_auth").initialize_request(|_, cx| {
        let text = std::fs::read_to_string(credentials(&Application::of(cx)?)).unwrap_or_default();
        let saved: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(match saved.get("token") {
            Some(token) => RequestChange::state(StateChange::request("token", token.clone())),
            None => RequestChange::default(),
        })
    })
}

async fn start(scene: &Scene, folder: &Folder) -> Application {
    let vars = Vars::from([("CONFIG_DIR".to_owned(), folder.0.display().to_string())]);
    let env = RuntimeEnv::from_vars(vars);
    let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
    let builder = Application::builder(config, scene.store.clone());
    builder.plugins(scene.plugins.clone()).start().await.unwrap()
}

async fn run(app: &Application, action: &str) -> Map {
    app.execute_action(ActionCall::new("acme_login", action), None).await.unwrap()
}

async fn status(app: &Application) -> Value {
    run(app, "check_status").await["state"].clone()
}

#[tokio::test] // I-43, I-44
async fn logging_in_returns_at_once_and_goes_on_in_the_background() {
    let (folder, (login, grant)) = (Folder::default(), Login::new());
    let app = start(&Scene::default().application(login.plugin()), &folder).await;
    let actions = app.application_actions().await.unwrap();
    let ids: Vec<_> = actions.iter().map(|action| &*action.id).collect();
    assert_eq!(ids, ["login_start", "check_status", "cancel_login", "logout"]);
    assert!(actions.iter().all(|action| action.trigger.is_none()));
    assert_eq!(status(&app).await, "logged_out");

    let started = run(&app, "login_start").await;
    assert_eq!((&started["code"], &started["state"]), (&json!("CODE-1"), &json!("pending")));
    assert!(started["display"]["body"].as_str().unwrap().contains("CODE-1"));
    assert_eq!(status(&app).await, "pending");
    assert!(!credentials(&app).exists());
    grant.send(Ok("t1".to_owned())).unwrap();
    login.settled().await;
    assert_eq!(status(&app).await, "success");
}

#[tokio::test] // I-45
async fn credentials_appear_whole_and_only_for_the_user() {
    let (folder, (mut login, grant)) = (Folder::default(), Login::new());
    let stop = Stop::default();
    login.written = Some(stop.clone());
    let app = start(&Scene::default().application(login.plugin()), &folder).await;
    let file = credentials(&app);
    for (token, before) in [("t1", None), ("t2", Some(r#"{"token":"t1"}"#))] {
        run(&app, "login_start").await;
        grant.send(Ok(token.to_owned())).unwrap();
        stop.reached_by(1).await;
        // Written, not yet in place.
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), before);
        stop.let_go(1);
        login.settled().await;
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, json!({ "token": token }).to_string());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["acme.json"]);
}

#[tokio::test] // I-46
async fn asking_how_it_stands_writes_nothing() {
    let (folder, (login, grant)) = (Folder::default(), Login::new());
    let app = start(&Scene::default().application(login.plugin()), &folder).await;
    run(&app, "login_start").await;
    grant.send(Ok("t".to_owned())).unwrap();
    login.settled().await;
    let file = credentials(&app);
    let changed = || std::fs::metadata(&file).unwrap().modified().unwrap();
    let before = changed();
    for _ in 0..3 {
        assert_eq!(status(&app).await, "success");
    }
    assert_eq!(changed(), before);
    std::fs::remove_file(&file).unwrap();
    status(&app).await;
    assert!(!file.exists());

    run(&app, "login_start").await;
    grant.send(Err("denied".to_owned())).unwrap();
    login.settled().await;
    assert_eq!(status(&app).await, "failed");
    assert!(!file.exists());
}

#[tokio::test] // I-47
async fn ending_is_harmless_and_beginning_again_replaces() {
    let (folder, (login, grant)) = (Folder::default(), Login::new());
    let app = start(&Scene::default().application(login.plugin()), &folder).await;
    for action in ["cancel_login", "cancel_login", "logout", "logout"] {
        assert_eq!(run(&app, action).await["state"], "logged_out", "{action}");
    }
    assert_eq!(run(&app, "login_start").await["code"], "CODE-1");
    assert_eq!(run(&app, "cancel_login").await["state"], "cancelled");
    assert_eq!(run(&app, "cancel_login").await["state"], "cancelled");
    run(&app, "login_start").await;
    assert_eq!(run(&app, "login_start").await["code"], "CODE-3");
    grant.send(Ok("t3".to_owned())).unwrap();
    login.settled().await;
    assert_eq!(std::fs::read_to_string(credentials(&app)).unwrap(), r#"{"token":"t3"}"#);
    for _ in 0..2 {
        assert_eq!(run(&app, "logout").await["state"], "logged_out");
        assert!(!credentials(&app).exists());
    }
}

#[tokio::test] // I-48
async fn requests_use_the_credentials_there_are_at_that_time() {
    let (folder, (login, grant)) = (Folder::default(), Login::new());
    let scene = Scene::says(&["1", "2", "3"]).application(login.plugin()).feature(authorised());
    let app = start(&scene, &folder).await;
    talk(&app, "s", "before").await;
    run(&app, "login_start").await;
    grant.send(Ok("secret".to_owned())).unwrap();
    login.settled().await;
    talk(&app, "s", "logged in").await;
    run(&app, "logout").await;
    talk(&app, "s", "after").await;
    let requests = scene.provider.requests();
    let tokens: Vec<_> = requests.iter().map(|(_, state)| state.request.get("token")).collect();
    assert_eq!(tokens, [None, Some(&json!("secret")), None]);
}
