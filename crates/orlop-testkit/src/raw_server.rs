//! A server whose answers a test writes byte for byte, and which keeps the requests as they came.

use crate::sync::lock;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Answers each request with the next of the given texts. An answer without its end stays open
/// until the client goes.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RawRequest>>>,
    left: Arc<Notify>,
    task: JoinHandle<()>,
}

impl RawServer {
    /// Listens on a free port, until the answers are used up.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    #[expect(clippy::panic, reason = "without its server a test must fail")]
    pub async fn start(answers: impl IntoIterator<Item = String>) -> Self {
        let bound = async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            Ok::<_, std::io::Error>((listener.local_addr()?, listener))
        };
        let (address, listener) = match bound.await {
            Ok(bound) => bound,
            Err(error) => panic!("cannot listen on a local port: {error}"),
        };
        let (requests, left) = (Arc::default(), Arc::default());
        let answers: Vec<String> = answers.into_iter().collect();
        let served = serve(listener, answers, Arc::clone(&requests), Arc::clone(&left));
        let task = tokio::spawn(async move {
            // A client that breaks off has its own error to tell of.
            let _ = served.await;
        });
        Self { address, requests, left, task }
    }

    /// The address of this path: `http://127.0.0.1:PORT` and the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<RawRequest> {
        lock(&self.requests).clone()
    }

    /// Waits until a client has gone from an answer without its end.
    pub async fn left(&self) {
        self.left.notified().await;
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct RawRequest {
    /// The first line and the headers.
    pub head: String,
    /// What follows the empty line.
    pub body: String,
}

impl RawRequest {
    /// The first line: method, path with the query, version.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[expect(clippy::panic, reason = "a test that compares the body must not compare nothing")]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.body) {
            Ok(body) => body,
            Err(error) => panic!("the body is no JSON: {error}: {:?}", self.body),
        }
    }
}

/// A whole answer; the connection closes behind it.
pub fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// The beginning of an answer in chunks. Its end would be `0\r\n\r\n`.
pub fn unfinished(kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n"
    )
}

async fn serve(
    listener: TcpListener,
    answers: Vec<String>,
    requests: Arc<Mutex<Vec<RawRequest>>>,
    left: Arc<Notify>,
) -> std::io::Result<()> {
    for answer in answers {
        let (mut socket, _) = listener.accept().await?;
        let request = read_request(&mut socket).await?;
        lock(&requests).push(request);
        socket.write_all(answer.as_bytes()).await?;
        let ends = answer.contains("Content-Length") || answer.ends_with("0\r\n\r\n");
        if !ends {
            let _ = socket.read_to_end(&mut Vec::new()).await;
            left.notify_one();
        }
    }
    Ok(())
}

async fn read_request(socket: &mut TcpStream) -> std::io::Result<RawRequest> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok(RawRequest { head: head.to_owned(), body: body.to_owned() });
            }
        }
        if socket.read_buf(&mut read).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}
