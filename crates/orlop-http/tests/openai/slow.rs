//! Clients that stop reading: the turn goes on without them, and they are told.

use crate::scene::*;
use orlop_core::Value;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Much more than the buffers of two sockets hold.
const PIECES: usize = 6_000;
const PIECE: usize = 2_000;

/// A client whose reading can be stopped.
struct Socket {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Socket {
    async fn post(client: &Client, path: &str, body: Value) -> Self {
        let address = client.base().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1 << 20).unwrap();
        let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
        let body = body.to_string();
        let head = format!(
            "POST /v1{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self { stream, read: Vec::new() }
    }

    /// Reads on until the end of what was read has these words.
    async fn until(&mut self, words: &str) {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let end = &self.read[self.read.len().saturating_sub(1_000)..];
            if String::from_utf8_lossy(end).contains(words) {
                return;
            }
            let more = self.stream.read(&mut buffer);
            let more = tokio::time::timeout(Duration::from_secs(20), more).await;
            let count = more.expect("nothing more came").unwrap();
            assert!(count > 0, "the stream ended without {words}");
            self.read.extend_from_slice(&buffer[..count]);
        }
    }

    /// The data of the events so far.
    fn events(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.read);
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

/// A model that first has a tool run, and then says much and waits for the gate.
fn talkative(gate: &Gate, slow: &Slow) -> Scene {
    let piece = "x".repeat(PIECE);
    let pieces: Vec<&str> = (0..PIECES).map(|_| piece.as_str()).collect();
    let call = ScriptedReply::calls(&[("c", "look", json!({}))]);
    let says = ScriptedReply::text(&pieces).waiting_for(gate);
    Scene::of(vec![call, says]).tool(slow.clone())
}

/// The turn gets to the end of what it says while nobody reads.
async fn said_all(gate: &Gate, slow: &Slow) {
    slow.is_called().await;
    slow.let_go();
    gate.reached().await;
}

#[tokio::test]
async fn a_response_whose_reader_is_slow_goes_on_and_is_read_again() {
    let (gate, slow) = (Gate::new(), Slow::new());
    let client = talkative(&gate, &slow).start().await;
    let body = json!({ "model": "helper", "input": "go", "stream": true });
    let mut socket = Socket::post(&client, "/responses", body).await;
    socket.until("response.mcp_call.in_progress").await;
    said_all(&gate, &slow).await;
    socket.until("\"code\":\"stream_cut_off\"").await;
    let seen = socket.events();
    let (last, id) = (seen.last().unwrap(), seen[0]["response"]["id"].as_str().unwrap());
    assert_eq!(last["type"], "error");
    let after = last["sequence_number"].as_u64().unwrap();
    let told = last["message"].as_str().unwrap();
    assert!(told.ends_with(&format!("starting_after={after}")), "{told}");
    let path = format!("/responses/{id}?stream=true&starting_after={after}");
    let rest = client.stream(&path, Value::Null).await;
    gate.open();
    let rest = rest.rest().await;
    assert_eq!(rest.last().unwrap()["type"], "response.completed");
    let lengths = |events: &[Value]| -> usize {
        let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
        deltas.map(|event| event["delta"].as_str().unwrap().len()).sum()
    };
    assert!(lengths(&seen) < PIECES * PIECE);
    assert_eq!(lengths(&seen) + lengths(&rest), PIECES * PIECE);
}

#[tokio::test]
async fn a_completion_whose_reader_is_slow_is_cut_off_and_its_turn_cancelled() {
    let (gate, slow) = (Gate::new(), Slow::new());
    let client = talkative(&gate, &slow).start().await;
    let messages = json!([{ "role": "user", "content": "go" }]);
    let body = json!({ "model": "helper", "messages": messages, "stream": true });
    let mut socket = Socket::post(&client, "/chat/completions", body).await;
    socket.until("\"role\":\"assistant\"").await;
    said_all(&gate, &slow).await;
    socket.until("the answer was cut off").await;
    let error = socket.events().pop().unwrap()["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("server_error")));
    // Nobody could read the rest of it.
    while !client.provider.log().text().contains("cancel(") {
        tokio::task::yield_now().await;
    }
}
