//! `orlop serve`: the program itself, from its first line to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::*;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr};

/// A server that runs.
struct Served {
    child: Child,
    address: String,
    log: Lines<BufReader<ChildStderr>>,
}

async fn serve(place: &Place, arguments: &[&str]) -> Served {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
    let mut child = place.command(&arguments).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = log.next_line().await.unwrap() {
        if let Some((_, rest)) = line.split_once("listening on http://") {
            let address = rest.split(';').next().unwrap().to_owned();
            assert!(rest.contains("token"), "{line}");
            return Served { child, address, log };
        }
    }
    panic!("it never listened")
}

async fn open(served: &Served, method: &str, path: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&served.address).await.unwrap();
    let head = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.address,
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

async fn ask(served: &Served, method: &str, path: &str, body: &str) -> String {
    let mut text = String::new();
    open(served, method, path, body).await.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test] // K-09, K-24
async fn it_says_where_it_listens_answers_and_ends_when_told() {
    let place = Place::new("serve").await;
    let mut served = serve(&place, &["--log-format", "json"]).await;
    assert!(served.address.starts_with("127.0.0.1:"));
    let made = ask(&served, "POST", "/sessions", r#"{"session_id": "s"}"#).await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let body = r#"{"content": "hello", "stream": false}"#;
    let answer = ask(&served, "POST", "/sessions/s/requests", body).await;
    assert!(answer.contains("You said: hello"), "{answer}");
    signal(&served.child, "TERM");
    let ended = tokio::time::timeout(BOUND, served.child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
    let mut logged = Vec::new();
    while let Some(line) = served.log.next_line().await.unwrap() {
        assert!(!line.contains(SECRET), "{line}");
        logged.push(serde_json::from_str::<Value>(&line).expect("every line of the log is JSON"));
    }
    assert!(logged.iter().any(|line| line["message"] == "answered" && line["status"] == 201));
    assert_eq!(place.messages("s").await, ["user: hello", "assistant: You said: hello"]);
}

#[tokio::test] // K-24
async fn an_address_that_others_reach_needs_tokens() {
    let place = Place::new("serve-open").await;
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]).await;
    refused.fails(3, &["can be reached by others", "server.tokens"]);
    place.run(&["serve", "--listen", "nowhere"]).await.fails(1, &["nowhere", "--listen"]);
}
