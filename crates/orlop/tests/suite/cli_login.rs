//! `orlop login` and `orlop logout` against a login server on this machine.

use crate::common;

use crate::common::Place;
use std::collections::VecDeque;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const OFFER: &str = r#"{"device_code": "dev", "user_code": "ABCD-EFGH", "interval": 1, "expires_in": 600,
    "verification_uri": "https://acme.test/go"}"#;
const PENDING: &str = r#"{"error": "authorization_pending"}"#;
const GRANTED: &str = r#"{"access_token": "sk-test-of-the-login", "token_type": "Bearer"}"#;
const DENIED: &str = r#"{"error": "access_denied"}"#;

/// A server that gives these answers, one a request. Gives its address.
async fn serve(answers: &[&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut answers: VecDeque<&str> = answers.iter().copied().collect();
    tokio::spawn(async move {
        while let Some(answer) = answers.pop_front() {
            let (connection, _) = listener.accept().await.unwrap();
            respond(connection, answer).await;
        }
    });
    url
}

/// Reads a request to its end and answers it.
async fn respond(mut connection: TcpStream, answer: &str) {
    let mut request = String::new();
    let mut bytes = [0; 4096];
    loop {
        let read = connection.read(&mut bytes).await.unwrap();
        request.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        let length = request.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
        let body = request.split_once("\r\n\r\n").map(|(_, body)| body.len());
        if read == 0 || body.is_some_and(|body| body >= length) {
            break;
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let answer = format!("{head}content-length: {}\r\n\r\n{answer}", answer.len());
    connection.write_all(answer.as_bytes()).await.unwrap();
}

async fn place(name: &str, answers: &[&'static str]) -> Place {
    let place = Place::new(name).await;
    let url = serve(answers).await;
    let config = place.config().replace(common::SECRET, "${credential:acme}");
    let login = format!(
        "[device_login.acme]\ndevice_url = \"{url}/device\"\ntoken_url = \"{url}/token\"\nclient_id = \"orlop\"\n"
    );
    place.write("orlop.toml", config + &login);
    place
}

#[tokio::test] // M-18, M-19, I-48
async fn a_person_logs_in_asks_and_logs_out() {
    let place = place("login", &[OFFER, PENDING, GRANTED]).await;
    place.run(&["run", "hi"]).await.fails(3, &["there is no login \"acme\""]);
    let out = place.run(&["login"]).await.ok();
    assert_eq!(
        out,
        "Open https://acme.test/go and enter the code ABCD-EFGH\nYou are logged in to acme.\n"
    );
    assert_eq!(place.run(&["run", "hi"]).await.ok(), "You said: hi\n");
    let requests = place.model.requests();
    let sent = requests.iter().rfind(|request| request.method == "POST").unwrap();
    assert_eq!(sent.headers["authorization"], "Bearer sk-test-of-the-login");
    let doctor = place.run(&["doctor", "--json"]).await.json();
    let logins = doctor.as_array().unwrap().iter().find(|it| it["what"] == "logins").unwrap();
    assert_eq!(logins["detail"], "acme");
    assert_eq!(place.run(&["logout", "acme"]).await.ok(), "You are logged out of acme.\n");
    assert_eq!(place.run(&["logout"]).await.ok(), "You were not logged in to acme.\n");
}

#[tokio::test] // M-18
async fn a_login_that_is_refused_says_so() {
    let place = place("refused", &[OFFER, DENIED]).await;
    let done = place.run(&["login", "acme"]).await;
    done.fails(1, &["The login failed: the login was refused."]);
    place.run(&["login", "other"]).await.fails(4, &["there is no service \"other\""]);
}

#[tokio::test] // M-20, L-10
async fn a_command_is_no_question_to_the_model() {
    let place = Place::new("slash").await;
    assert!(place.run(&["run", "/help"]).await.ok().contains("- `/fork [INDEX]`: "));
    let done = place.run(&["run", "/hepl"]).await;
    assert_eq!((done.code, place.times_asked()), (Some(1), 0), "{done:?}");
    assert!(done.out.contains("did you mean /help?"), "{done:?}");
}
