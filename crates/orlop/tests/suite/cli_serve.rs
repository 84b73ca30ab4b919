//! `orlop serve`: the program itself, from its first line to its end.

use crate::common::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStderr};

/// A server that runs.
struct Served {
    child: Child,
    address: String,
    log: Option<Lines<BufReader<ChildStderr>>>,
}

/// Reads its log on, so that it can go on writing it.
fn drained(mut served: Served) -> Served {
    let mut log = served.log.take().unwrap();
    tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
    served
}

async fn serve(place: &Place, arguments: &[&str]) -> Served {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
    let mut child = place.command(&arguments).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = log.next_line().await.unwrap() {
        if let Some((_, rest)) = line.split_once("listening on http://") {
            let address = rest.split(';').next().unwrap().to_owned();
            assert!(rest.contains("token"), "{line}");
            return Served { child, address, log: Some(log) };
        }
    }
    panic!("it never listened")
}

/// Sends a request to a route below `/api/v1`, or below `/v1`.
async fn open(served: &Served, method: &str, path: &str, body: &str) -> TcpStream {
    open_with(served, method, path, "", body).await
}

/// The same with further headers, each with its line end.
async fn open_with(
    served: &Served,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> TcpStream {
    let mut socket = TcpStream::connect(&served.address).await.unwrap();
    let prefix = if path.starts_with("/v1/") { "" } else { "/api/v1" };
    let head = format!(
        "{method} {prefix}{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
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

#[tokio::test]
async fn it_answers_and_ends_also_when_nobody_reads_its_log() {
    let place = Place::new("unread").await;
    let mut served = serve(&place, &[]).await;
    // What is logged of these is more than a pipe holds.
    for _ in 0..800 {
        let answered = tokio::time::timeout(BOUND, ask(&served, "GET", "/info", "")).await;
        assert!(answered.expect("it waits for its log").starts_with("HTTP/1.1 "));
    }
    signal(&served.child, "TERM");
    let ended = tokio::time::timeout(BOUND, served.child.wait()).await;
    assert_eq!(ended.expect("it does not end").unwrap().code(), Some(0));
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
    let (mut log, mut logged) = (served.log.take().unwrap(), Vec::new());
    while let Some(line) = log.next_line().await.unwrap() {
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

/// The number of the last event in what was read.
fn last_id(text: &str) -> u64 {
    let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok());
    ids.next_back().unwrap()
}

/// What the model of [`counting`] says.
const COUNTED: &str = "one two three four five six";

/// A place whose model counts, and takes its time.
async fn counting(name: &str) -> Place {
    let place = Place::new(name).await;
    let script = "at_end = \"repeat\"\n[[replies]]\npace_ms = 60\ntext = [\"one \", \"two \", \"three \", \"four \", \"five \", \"six\"]\n";
    place.write("script.toml", script);
    place.write(
        "orlop.toml",
        "[agents.default]\nprovider = \"scripted\"\nscript = \"script.toml\"\n",
    );
    place
}

/// Reads from every client until it has heard these words.
async fn heard(clients: &mut [TcpStream], words: &str) -> Vec<String> {
    let mut all = Vec::new();
    for client in clients {
        let (mut buffer, mut heard) = ([0; 4096], String::new());
        while !heard.contains(words) {
            let count = client.read(&mut buffer).await.unwrap();
            assert!(count > 0, "{heard}");
            heard.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        all.push(heard);
    }
    all
}

/// The text of an answer as a client puts it together from its fragments.
fn put_together(text: &str) -> String {
    let mut answer = String::new();
    for event in events(text) {
        match event["type"].as_str().unwrap() {
            "partial" => answer.push_str(event["message"]["content"].as_str().unwrap_or_default()),
            "answer_restarted" => answer.clear(),
            _ => {}
        }
    }
    answer
}

#[tokio::test]
async fn killed_in_the_middle_of_many_turns_it_goes_on_where_it_was() {
    const TURNS: usize = 50;
    let place = counting("serve-kill").await;
    let mut served = drained(serve(&place, &[]).await);
    let mut clients = Vec::new();
    for turn in 0..TURNS {
        ask(&served, "POST", "/sessions", &format!(r#"{{"session_id": "s{turn}"}}"#)).await;
    }
    for turn in 0..TURNS {
        let body = format!(r#"{{"content": "count", "request_id": "r{turn}"}}"#);
        clients.push(open(&served, "POST", &format!("/sessions/s{turn}/requests"), &body).await);
    }
    // Every turn has said something.
    let seen = heard(&mut clients, "event: partial").await;
    served.child.kill().await.unwrap();
    let served = drained(serve(&place, &[]).await);
    for (turn, seen) in seen.iter().enumerate() {
        // Of an event that came in part, its client knows nothing.
        let (seen, _) = seen.rsplit_once("\n\n").unwrap();
        let path = format!("/requests/r{turn}/events?after={}", last_id(seen));
        let rest = ask(&served, "GET", &path, "").await;
        // On a busy machine a turn may have been over before its server was killed.
        let rest = format!("{seen}\n\n{rest}");
        assert_eq!(rest.matches("event: final").count(), 1, "{turn}: {rest}");
        // Who listens before the turn is taken up again hears what is stored of it; nobody hears
        // anything twice.
        assert!(COUNTED.starts_with(&put_together(&rest)), "{turn}: {rest}");
        let stored = ask(&served, "GET", &format!("/sessions/s{turn}"), "").await;
        for text in [&rest, &stored] {
            assert!(text.contains(&format!("\"content\":\"{COUNTED}\"")), "{turn}: {text}");
        }
    }
}

/// A host plugin that leaves a file when it is stopped.
const GUARD: &str = "\
import os

class Guard:
    name = 'guard'

    def on_request_start(self, context):
        pass

    def stop(self):
        open(os.path.join(os.environ['PLUGIN_DATA'], 'stopped'), 'w').close()
";

#[tokio::test] // L-04
async fn told_to_end_in_the_middle_of_an_answer_it_loses_nothing() {
    let place = Place::new("serve-term").await;
    let script = |pace: u64| {
        let text = "text = [\"one \", \"two \", \"three\"]";
        place.write("script.toml", format!("[[replies]]\npace_ms = {pace}\n{text}\n"));
    };
    place.write("guard.py", GUARD);
    place.run(&["plugin", "add", "guard.py", "--yes"]).await.ok();
    place.write(
        "orlop.toml",
        "[agents.default]\nprovider = \"scripted\"\nscript = \"script.toml\"\n[server.limits]\nshutdown_timeout_s = 1\n",
    );
    // The rest of the answer would come after an hour.
    script(3_600_000);
    let mut served = drained(serve(&place, &[]).await);
    ask(&served, "POST", "/sessions", r#"{"session_id": "s"}"#).await;
    let body = r#"{"content": "count", "request_id": "r"}"#;
    let mut client = open(&served, "POST", "/sessions/s/requests", body).await;
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    while !seen.contains("event: partial") {
        let count = client.read(&mut buffer).await.unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    signal(&served.child, "TERM");
    // Its client is told where to go on, and the connection ends.
    client.read_to_string(&mut seen).await.unwrap();
    assert!(!seen.contains("two") && !seen.contains("event: final"), "{seen}");
    let (_, resume) = seen.split_once("event: resume\ndata: ").unwrap();
    let resume: Value = serde_json::from_str(resume.lines().next().unwrap()).unwrap();
    assert_eq!(resume["after"], last_id(&seen));
    let ended = tokio::time::timeout(BOUND, served.child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(TcpStream::connect(&served.address).await.is_err());
    let stopped = place.home().join("plugin-data/guard/stopped");
    assert!(stopped.exists(), "{}", stopped.display());

    script(0);
    let served = drained(serve(&place, &[]).await);
    let path = resume["url"].as_str().unwrap().strip_prefix("/api/v1").unwrap();
    let rest = ask(&served, "GET", path, "").await;
    assert_eq!(rest.matches("event: final").count(), 1, "{rest}");
    let stored = ask(&served, "GET", "/sessions/s", "").await;
    for text in [&rest, &stored] {
        assert!(text.contains("\"content\":\"one two three\""), "{text}");
    }
}

/// The events in what was read, whole ones only.
fn events(text: &str) -> Vec<Value> {
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The text of a response.
fn text_of(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn killed_in_the_middle_of_responses_their_streams_go_on_after_what_was_seen() {
    const TURNS: usize = 10;
    let place = counting("serve-kill-responses").await;
    let mut served = drained(serve(&place, &[]).await);
    let mut clients = Vec::new();
    for turn in 0..TURNS {
        // Some wait for their stream, and some left and come back.
        let body = json!({
            "model": "default", "input": "count", "stream": true, "background": turn % 2 == 0,
        });
        clients.push(open(&served, "POST", "/v1/responses", &body.to_string()).await);
    }
    let seen = heard(&mut clients, "event: response.output_text.delta").await;
    served.child.kill().await.unwrap();
    let served = drained(serve(&place, &[]).await);
    for seen in seen {
        let seen = events(&seen);
        let id = seen[0]["response"]["id"].as_str().unwrap();
        let last = seen.last().unwrap()["sequence_number"].as_u64().unwrap();
        let path = format!("/v1/responses/{id}?stream=true&starting_after={last}");
        let rest = events(&ask(&served, "GET", &path, "").await);
        let numbers: Vec<u64> =
            rest.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
        assert!(numbers[0] > last && numbers.is_sorted(), "{last} {numbers:?}");
        // Put together, it is one answer, whoever of the two servers said which part of it.
        let all = || seen.iter().chain(&rest);
        let of = |kind: &'static str| all().filter(move |event| event["type"] == kind);
        assert_eq!(of("response.output_item.added").count(), 1, "{seen:?} {rest:?}");
        let deltas = of("response.output_text.delta").map(|event| event["delta"].as_str().unwrap());
        assert_eq!(deltas.collect::<String>(), COUNTED);
        let ended = rest.last().unwrap();
        assert_eq!(ended["type"], "response.completed");
        assert_eq!(text_of(&ended["response"]), COUNTED);
        let stored = ask(&served, "GET", &format!("/v1/responses/{id}"), "").await;
        let (_, stored) = stored.split_once("\r\n\r\n").unwrap();
        let stored: Value = serde_json::from_str(stored).unwrap();
        assert_eq!((text_of(&stored), &stored["status"]), (COUNTED, &json!("completed")));
    }
}

/// A collector that takes everything; what was sent to it.
async fn collector() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let into = taken.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(collect(BufReader::new(socket), into.clone()));
        }
    });
    (url, taken)
}

async fn collect(mut socket: BufReader<TcpStream>, into: Arc<Mutex<Vec<u8>>>) {
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if socket.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        socket.read_exact(&mut body).await.unwrap();
        into.lock().unwrap().extend(body);
        let done = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        socket.get_mut().write_all(done).await.unwrap();
    }
}

#[tokio::test]
async fn what_turns_did_reaches_a_collector_in_the_trace_of_the_client() {
    let (url, taken) = collector().await;
    let place = Place::new("serve-telemetry").await;
    place.write("script.toml", "[[replies]]\ntext = [\"done\"]\n");
    place.write(
        "orlop.toml",
        format!(
            "[agents.default]\nprovider = \"scripted\"\nscript = \"script.toml\"\n[telemetry]\notlp_endpoint = \"{url}\"\n"
        ),
    );
    let mut served = drained(serve(&place, &[]).await);
    ask(&served, "POST", "/sessions", r#"{"session_id": "s"}"#).await;
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let parent = format!("traceparent: 00-{trace}-{span}-01\r\n");
    let body = r#"{"content": "go", "stream": false, "request_id": "told"}"#;
    let mut answer = String::new();
    let mut client = open_with(&served, "POST", "/sessions/s/requests", &parent, body).await;
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("done"), "{answer}");
    signal(&served.child, "TERM");
    let ended = tokio::time::timeout(BOUND, served.child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
    let taken = taken.lock().unwrap().clone();
    let has = |bytes: &[u8]| taken.windows(bytes.len()).any(|window| window == bytes);
    let hex = |text: &str| {
        let digits = text.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect::<Vec<u8>>()
    };
    // Ids go as their bytes, everything else as text.
    assert!(has(&hex(trace)) && has(&hex(span)), "{}", String::from_utf8_lossy(&taken));
    for words in ["invoke_agent", "gen_ai.conversation.id", "told"] {
        assert!(has(words.as_bytes()), "{words}: {}", String::from_utf8_lossy(&taken));
    }
}
