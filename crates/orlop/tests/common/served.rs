//! `orlop serve` as a process, and a client that knows as much of HTTP as tests need.

use super::{BOUND, signal};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The arguments of a server on any free port.
pub const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// `orlop serve` at work.
pub struct Served {
    pub child: Child,
    address: String,
}

impl Served {
    /// Starts it; the command has the arguments [`SERVE`].
    pub async fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        while let Some(line) = log.next_line().await.unwrap() {
            if let Some((_, rest)) = line.split_once("listening on http://") {
                let address = rest.split(';').next().unwrap().to_owned();
                // It goes on writing, and must not wait for a reader.
                tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
                return Self { child, address };
            }
        }
        panic!("it never listened")
    }

    async fn send(&self, head: &str, kind: &str, body: &[u8]) -> TcpStream {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        let head = format!(
            "{head} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        socket.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        socket
    }

    /// Sends a request whose answer is read as it comes.
    pub async fn open(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let prefix = if path.starts_with("/v1") { "" } else { "/api/v1" };
        self.send(&format!("{method} {prefix}{path}"), "application/json", body.as_bytes()).await
    }

    /// The whole answer to a request that goes well.
    pub async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        read(self.open(method, path, body).await).await
    }

    /// The JSON of such an answer.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.ask("POST", path, &body.to_string()).await;
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        if body.is_empty() { Value::Null } else { serde_json::from_str(body).expect(body) }
    }

    /// Uploads a file and gives its id.
    pub async fn upload(&self) -> Value {
        let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"berths.txt\"\r\nContent-Type: text/plain\r\n\r\n2, 5\r\n--x--\r\n";
        let kind = "multipart/form-data; boundary=x";
        let answer = read(self.send("POST /api/v1/assets", kind, form.as_bytes()).await).await;
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["id"].clone()
    }

    /// Asks it to end, and waits until it has.
    pub async fn ends(mut self) {
        signal(&self.child, "TERM");
        let ended = tokio::time::timeout(BOUND, self.child.wait()).await;
        assert_eq!(ended.expect("it does not end").unwrap().code(), Some(0));
    }
}

async fn read(mut socket: TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 2"), "{text}");
    text
}
