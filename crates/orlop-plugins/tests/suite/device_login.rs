//! Logging in with a code, against a server on this machine that may lie.

use crate::stage::*;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use expect_test::{Expect, expect};
use futures::StreamExt;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::DeviceLogin;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A login server that answers as it is told, the last answer again and again.
#[derive(Clone)]
struct Mock(Arc<Inner>);

struct Inner {
    url: String,
    replies: Mutex<HashMap<&'static str, VecDeque<Reply>>>,
    heard: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Reply {
    status: u16,
    body: String,
    location: Option<&'static str>,
    hangs: bool,
}

fn reply(status: u16, body: Value) -> Reply {
    Reply { status, body: body.to_string(), location: None, hangs: false }
}

fn offer() -> Value {
    json!({
        "device_code": "dev-1", "user_code": "ABCD-EFGH", "verification_uri": "https://acme.test/go",
        "expires_in": 900, "interval": 5,
    })
}

fn pending() -> Reply {
    reply(400, json!({ "error": "authorization_pending" }))
}

fn granted(token: &str) -> Reply {
    let token = json!({
        "access_token": token, "refresh_token": format!("refresh-{token}"), "token_type": "bearer",
        "expires_in": 3600,
    });
    reply(200, token)
}

impl Mock {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mock =
            Self(Arc::new(Inner { url, replies: Mutex::default(), heard: Mutex::default() }));
        let router = Router::new().fallback(answer).with_state(mock.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        mock
    }

    /// What the server says at a path from now on.
    fn says(&self, path: &'static str, replies: impl IntoIterator<Item = Reply>) {
        self.0.replies.lock().unwrap().insert(path, replies.into_iter().collect());
    }

    /// What it was asked, without the names everything has.
    fn heard(&self) -> Vec<String> {
        self.0.heard.lock().unwrap().clone()
    }

    fn count(&self, what: &str) -> usize {
        self.heard().iter().filter(|line| line.contains(what)).count()
    }
}

async fn answer(
    State(mock): State<Mock>,
    uri: Uri,
    body: String,
) -> (StatusCode, HeaderMap, String) {
    mock.0.heard.lock().unwrap().push(format!("{} {body}", uri.path()));
    let reply = {
        let mut replies = mock.0.replies.lock().unwrap();
        let queue = replies.get_mut(uri.path()).unwrap_or_else(|| panic!("{uri} was not expected"));
        if queue.len() > 1 { queue.pop_front().unwrap() } else { queue[0].clone() }
    };
    if reply.hangs {
        std::future::pending::<()>().await;
    }
    let mut headers = HeaderMap::new();
    if let Some(location) = reply.location {
        headers.insert("location", location.parse().unwrap());
    }
    (StatusCode::from_u16(reply.status).unwrap(), headers, reply.body)
}

/// A plugin for which a second of the server is a hundredth of one.
fn quick() -> DeviceLogin {
    DeviceLogin::at_pace(Duration::from_millis(10), Duration::from_secs(60))
}

fn stage(mock: &Mock) -> Stage {
    on(Stage::says(&["one", "two", "three"]), mock)
}

/// A stage whose model server wants a login to the mock.
fn on(stage: Stage, mock: &Mock) -> Stage {
    let url = &mock.0.url;
    stage.settings("api_key = \"${credential:acme}\"").more(&format!(
        "[device_login.acme]\ndevice_url = \"{url}/device\"\ntoken_url = \"{url}/token\"\nclient_id = \"orlop\"\nscopes = [\"chat\", \"models\"]\n"
    ))
}

async fn run(app: &Application, action: &str) -> Map {
    app.execute_action(ActionCall::new("device_login", action), None).await.unwrap()
}

async fn state(app: &Application) -> String {
    run(app, "check_status").await["state"].as_str().unwrap().to_owned()
}

/// Starts a login and waits until its worker has ended; gives what it told.
async fn log_in(app: &Application) -> String {
    let mut events = app.follow_events(Follow::default()).await.unwrap();
    run(app, "login_start").await;
    while let Some(event) = events.next().await {
        if event.kind.name() == "login_finished" {
            let event = serde_json::to_value(&*event).unwrap();
            let said = event["message"].as_str().map(|said| format!(": {said}"));
            return format!("{}{}", event["state"].as_str().unwrap(), said.unwrap_or_default());
        }
    }
    panic!("the events ended");
}

fn keys(model: &ScriptedProvider) -> Vec<String> {
    let requests = model.requests();
    requests.iter().map(|(_, state)| state.config.text("api_key").unwrap().to_owned()).collect()
}

#[tokio::test] // M-18, M-19, I-43, I-44, I-45, I-48
async fn a_login_from_beginning_to_end() {
    let mock = Mock::start().await;
    mock.says("/device", [reply(200, offer())]);
    mock.says(
        "/token",
        [pending(), reply(400, json!({ "error": "slow_down" })), pending(), granted("t1")],
    );
    let stage = stage(&mock).application(quick());
    let app = stage.start().await;
    let actions = app.list_actions(None).await.unwrap();
    let by_hand = actions.iter().filter(|action| action.trigger.is_none());
    let by_hand: Vec<&str> = by_hand.map(|action| action.id.as_str()).collect();
    assert_eq!(by_hand, ["login_start", "check_status", "cancel_login", "logout"]);
    assert_eq!(state(&app).await, "logged_out");
    assert!(app.send_request(ask("s", "hi")).await.is_err());

    assert_eq!(log_in(&app).await, "success");
    assert_eq!(state(&app).await, "success");
    expect![[r#"
        /device client_id=orlop&scope=chat+models
        /token client_id=orlop&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1
        /token client_id=orlop&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1
        /token client_id=orlop&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1
        /token client_id=orlop&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dev-1"#]]
    .assert_eq(&mock.heard().join("\n"));
    let credentials = Credentials::in_folder(&stage.home());
    let login = credentials.get("acme").unwrap().unwrap();
    assert_eq!((&*login.access_token, login.refresh_token.as_deref()), ("t1", Some("refresh-t1")));
    assert!(login.can_be_renewed() && !login.ends_soon());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(credentials.file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    events_of(&app, ask("s", "hi")).await;
    assert_eq!(keys(&stage.model), ["t1"]);
    assert_eq!(run(&app, "logout").await["state"], "logged_out");
    assert_eq!(credentials.get("acme").unwrap(), None);
    assert!(app.send_request(ask("s", "hi")).await.is_err());
}

#[tokio::test] // M-18, I-44
async fn the_person_is_shown_a_page_and_a_code() {
    let mock = Mock::start().await;
    let mut complete = offer();
    complete["verification_uri_complete"] = json!("https://acme.test/go?code=ABCD-EFGH");
    mock.says("/device", [reply(200, complete)]);
    mock.says("/token", [pending()]);
    let app = stage(&mock).application(DeviceLogin::default()).start().await;
    let mut shown = run(&app, "login_start").await;
    assert!(shown.shift_remove("expires_at").unwrap().is_string());
    expect![[r#"
        {
          "state": "pending",
          "name": "acme",
          "url": "https://acme.test/go",
          "code": "ABCD-EFGH",
          "display": {
            "format": "markdown",
            "title": "Log in to acme",
            "body": "Open [https://acme.test/go](https://acme.test/go) and enter the code `ABCD-EFGH`.",
            "variant": "info",
            "presentation": "inline",
            "dismissible": true,
            "display_id": "device_login-acme",
            "actions": [
              {
                "kind": "open_url",
                "id": "open-login-page",
                "label": "Open page",
                "url": "https://acme.test/go?code=ABCD-EFGH"
              },
              {
                "kind": "copy_text",
                "id": "copy-login-code",
                "label": "Copy code",
                "text": "ABCD-EFGH"
              },
              {
                "kind": "run_action",
                "id": "check-login-status",
                "label": "Check status",
                "plugin": "device_login",
                "action_id": "check_status",
                "params": {
                  "name": "acme"
                },
                "preserve_display": true
              }
            ]
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&shown).unwrap());
    // Surfaces understand all of it.
    let display = ui::Display::from_result(&shown).unwrap();
    assert_eq!(display.actions.len(), 3);
    let status = run(&app, "check_status").await;
    assert_eq!(status["message"], "Waiting for the code ABCD-EFGH at https://acme.test/go.");
}

#[tokio::test] // I-46, I-47
async fn starting_cancelling_and_leaving_twice_does_no_harm() {
    let mock = Mock::start().await;
    mock.says("/device", [reply(200, offer())]);
    mock.says("/token", [pending()]);
    let stage = stage(&mock).application(quick());
    let app = stage.start().await;
    for action in ["cancel_login", "logout", "logout"] {
        assert_eq!(run(&app, action).await["status"], "noop", "{action}");
    }
    let first = run(&app, "login_start").await;
    assert_eq!(run(&app, "login_start").await, first, "the code that is good is shown again");
    assert_eq!(mock.count("/device"), 1);
    assert_eq!(run(&app, "cancel_login").await["state"], "cancelled");
    assert_eq!(run(&app, "cancel_login").await["status"], "noop");
    assert_eq!(state(&app).await, "cancelled");
    let file = stage.home().join(CREDENTIALS_FILE);
    assert!(!file.exists());

    // Nobody asks for the old code any more.
    let mut next = offer();
    next["device_code"] = json!("dev-2");
    mock.says("/device", [reply(200, next)]);
    let asked = mock.count("device_code=dev-1");
    mock.says("/token", [pending(), pending(), granted("t2")]);
    assert_eq!(log_in(&app).await, "success");
    assert_eq!(mock.count("device_code=dev-2"), 3);
    assert!(mock.count("device_code=dev-1") <= asked + 1, "what was on its way may arrive");
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    for _ in 0..5 {
        assert_eq!(state(&app).await, "success");
    }
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), modified);
    // Another process sees the login, too.
    assert_eq!(state(&stage.start().await).await, "success");
}

/// What comes of asking a server for a code that answers like this.
async fn check_start(answer: Reply, expected: Expect) {
    let mock = Mock::start().await;
    let hangs = answer.hangs;
    mock.says("/device", [answer]);
    let within = Duration::from_secs(if hangs { 1 } else { 60 });
    let plugin = DeviceLogin::at_pace(Duration::from_millis(10), within);
    let app = stage(&mock).application(plugin).start().await;
    let call = ActionCall::new("device_login", "login_start");
    let refused = app.execute_action(call, None).await.unwrap_err();
    expected.assert_eq(refused.message());
    assert_eq!(state(&app).await, "logged_out");
}

#[tokio::test] // M-18
async fn a_server_that_lies_about_the_code_is_not_believed() {
    let with = |key: &str, value: Value| {
        let mut answer = offer();
        answer[key] = value;
        reply(200, answer)
    };
    check_start(with("verification_uri", json!("file:///etc/passwd")), expect!["login to acme could not begin: the login server sent no verification_uri that is an address of the web"]).await;
    check_start(
        with("user_code", json!(["A"])),
        expect!["login to acme could not begin: the login server sent no usable user_code"],
    )
    .await;
    check_start(with("expires_in", json!(-900)), expect!["login to acme could not begin: the login server sent an expires_in that is no time to come"]).await;
    check_start(reply(200, json!([1])), expect!["login to acme could not begin: the login server answered with status 200, and not with a JSON object"]).await;
    check_start(
        reply(500, json!(null)),
        expect!["login to acme could not begin: the login server answered with status 500"],
    )
    .await;
    let redirect = Reply { location: Some("file:///etc/passwd"), ..reply(302, json!({})) };
    check_start(redirect, expect!["login to acme could not begin: the login server answered with a redirect (302), and tokens are not sent elsewhere; correct the address in the configuration"]).await;
    let huge = Reply { body: "x".repeat(5_000_000), ..reply(200, json!({})) };
    check_start(
        huge,
        expect!["login to acme could not begin: the login server sent more than 64 KiB"],
    )
    .await;
    check_start(reply(401, json!({ "error": "invalid_client", "error_description": "\u{1b}[31mno such client" })), expect!["login to acme could not begin: the login server answered: invalid_client: no such client"]).await;
    check_start(
        Reply { hangs: true, ..reply(200, json!({})) },
        expect!["login to acme could not begin: the login server did not answer: it took too long"],
    )
    .await;
}

/// What comes of a login whose server answers the question for a token like this.
async fn check_end(answers: Vec<Reply>, expected: Expect) {
    let mock = Mock::start().await;
    let mut short = offer();
    short["expires_in"] = json!(100);
    short["interval"] = json!(-1);
    mock.says("/device", [reply(200, short)]);
    mock.says("/token", answers);
    let stage = stage(&mock).application(quick());
    let app = stage.start().await;
    expected.assert_eq(&log_in(&app).await);
    assert_eq!(state(&app).await, "failed");
    assert!(!stage.home().join(CREDENTIALS_FILE).exists());
    // The session is usable, and so is the login.
    assert_eq!(run(&app, "cancel_login").await["status"], "noop");
}

#[tokio::test] // M-18
async fn a_server_that_lies_about_the_token_is_not_believed() {
    check_end(vec![pending()], expect!["failed: the code was not entered in time; log in again"])
        .await;
    check_end(vec![reply(503, json!(null))], expect!["failed: the code was not entered in time; log in again (the login server answered with status 503)"]).await;
    check_end(
        vec![reply(400, json!({ "error": "access_denied" }))],
        expect!["failed: the login was refused"],
    )
    .await;
    check_end(
        vec![pending(), reply(400, json!({ "error": "expired_token" }))],
        expect!["failed: the code has expired"],
    )
    .await;
    check_end(
        vec![reply(200, json!({ "access_token": "a\nb" }))],
        expect!["failed: the login server sent an access_token that no header can carry"],
    )
    .await;
    check_end(
        vec![reply(200, json!({ "access_token": 5 }))],
        expect!["failed: the login server sent an access_token that no header can carry"],
    )
    .await;
    check_end(
        vec![reply(200, json!({}))],
        expect!["failed: the login server sent no access_token"],
    )
    .await;
    check_end(
        vec![reply(200, json!({ "access_token": "a", "token_type": "mac" }))],
        expect!["failed: the login server sent a token of another type than Bearer"],
    )
    .await;
    check_end(vec![Reply { location: Some("https://elsewhere.test"), ..reply(307, json!({})) }], expect!["failed: the login server answered with a redirect (307), and tokens are not sent elsewhere; correct the address in the configuration"]).await;
    // What was sent is not told, even if the server says it.
    check_end(
        vec![reply(
            400,
            json!({ "error": "invalid_grant", "error_description": "dev-1 is unknown" }),
        )],
        expect!["failed: the login server answered: invalid_grant: *** is unknown"],
    )
    .await;
}

/// A login that ends in so many seconds.
fn ending(stage: &Stage, seconds: i64) -> Credentials {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let end = i64::try_from(now.as_millis()).unwrap() + seconds * 1000;
    let credentials = Credentials::in_folder(&stage.home());
    let login = Credential {
        refresh_token: Some("refresh-old".to_owned()),
        expires_at: Some(rfc3339(end)),
        renewed_by: Some("device_login".to_owned()),
        ..Credential::new("old")
    };
    credentials.store("acme", login).unwrap();
    credentials
}

#[tokio::test] // M-19, I-48
async fn requests_after_the_end_use_a_token_that_was_renewed_once() {
    let mock = Mock::start().await;
    let stage = stage(&mock).application(quick());
    stage.model.reply(ScriptedReply::text(&["four"]));
    let credentials = ending(&stage, -10);
    mock.says("/token", [reply(200, json!({ "access_token": "new", "expires_in": 3600 }))]);
    let (app, other) = (stage.start().await, stage.start().await);
    // Two requests of one process and one of another, at the same time.
    let asked = [(&app, "s1"), (&app, "s2"), (&other, "s3")];
    let asked = asked.map(|(app, session)| events_of(app, ask(session, "hi")));
    for events in futures::future::join_all(asked).await {
        assert_eq!(events.last().unwrap().kind.name(), "final");
    }
    assert_eq!(keys(&stage.model), ["new", "new", "new"]);
    assert_eq!(
        mock.heard(),
        ["/token client_id=orlop&grant_type=refresh_token&refresh_token=refresh-old"]
    );
    // A server that gives no new one lets the old one be used again.
    let login = credentials.get("acme").unwrap().unwrap();
    assert_eq!(login.refresh_token.as_deref(), Some("refresh-old"));
    assert!(login.can_be_renewed());
    events_of(&app, ask("s1", "hi")).await;
    assert_eq!(mock.heard().len(), 1);
}

#[tokio::test] // M-19
async fn a_login_that_cannot_be_renewed_says_what_to_do() {
    let mock = Mock::start().await;
    mock.says(
        "/token",
        [reply(
            400,
            json!({ "error": "invalid_grant", "error_description": "refresh-old was revoked" }),
        )],
    );
    let stage = stage(&mock).application(quick());
    let app = stage.start().await;
    // While the token is good, it is used.
    ending(&stage, 60);
    events_of(&app, ask("s", "hi")).await;
    assert_eq!(keys(&stage.model), ["old"]);
    ending(&stage, -1);
    let refused = app.send_request(ask("s", "hi")).await.err().unwrap();
    expect![[r#"unavailable: the login "acme" has expired and could not be renewed: the login server answered: invalid_grant: *** was revoked; log in again"#]]
        .assert_eq(&format!("{refused:?}"));
    assert_eq!(said(&app, "s").await, "hi|one", "the session is as it was");
    // A login whose plugin is gone.
    let credentials = Credentials::in_folder(&stage.home());
    let mut login = credentials.get("acme").unwrap().unwrap();
    login.renewed_by = Some("gone".to_owned());
    credentials.store("acme", login).unwrap();
    let refused = app.send_request(ask("s", "hi")).await.err().unwrap();
    expect![[r#"the login "acme" has expired and could not be renewed: no plugin "gone" renews it; log in again"#]]
        .assert_eq(refused.message());
}

#[tokio::test] // M-18, I-42
async fn the_configuration_is_checked() {
    let mock = Mock::start().await;
    let stage = stage(&mock)
        .more("[device_login.open]\ndevice_url = \"http://login.test/device\"\ntoken_url = \"https://login.test\"\nclient_id = \"x\"\n[device_login.half]\ndevice_url = \"https://login.test\"\n")
        .application(quick());
    let app = stage.start().await;
    let refused = async |name: Option<&str>| {
        let call = ActionCall::new("device_login", "login_start");
        let call = match name {
            Some(name) => call.param("name", name),
            None => call,
        };
        app.execute_action(call, None).await.unwrap_err().message().to_owned()
    };
    expect![[r#"
        say which service: acme, open, half
        there is no service "acne" in device_login; did you mean "acme"?
        device_login.open.device_url has to begin with https://, because tokens go there
        device_login.half.token_url is missing; set it in the configuration"#]]
    .assert_eq(
        &[
            refused(None).await,
            refused(Some("acne")).await,
            refused(Some("open")).await,
            refused(Some("half")).await,
        ]
        .join("\n"),
    );
    let wrong =
        Stage::default().more("[device_login.acme]\ndevise_url = \"x\"\n").application(quick());
    let refused = wrong.try_start().await.err().unwrap();
    assert!(refused.message().contains("device_login.acme.devise_url"), "{}", refused.message());
    let app = Stage::default().application(quick()).start().await;
    let call = ActionCall::new("device_login", "check_status");
    let refused = app.execute_action(call, None).await.unwrap_err();
    assert!(refused.message().contains("add a section [device_login.NAME]"));
}

#[tokio::test] // M-19
async fn a_token_that_ends_in_the_middle_of_a_turn_is_renewed_before_the_next_call() {
    let mock = Mock::start().await;
    let stage = Stage::calls(&[("c1", "slow", json!({}))]);
    let stage = on(stage, &mock).application(quick());
    ending(&stage, 3600);
    let home = stage.home();
    let stage =
        stage.tool(ScriptedTool::new("slow").offering(&["slow"]).execute_tool(move |_, _| {
            // By the time the tool is done the token has ended.
            let login = Credential {
                refresh_token: Some("refresh-old".to_owned()),
                expires_at: Some(rfc3339(0)),
                renewed_by: Some("device_login".to_owned()),
                ..Credential::new("old")
            };
            Credentials::in_folder(&home).store("acme", login).unwrap();
            Ok(types::ToolReport::ok(json!("done")))
        }));
    mock.says("/token", [reply(200, json!({ "access_token": "new", "expires_in": 3600 }))]);
    let events = events_of(&stage.start().await, ask("s", "hi")).await;
    assert_eq!(events.last().unwrap().kind.name(), "final");
    assert_eq!(keys(&stage.model), ["old", "new"]);
}
