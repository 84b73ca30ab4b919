//! A plain HTTP/1.1 client on a TCP stream. Other than a real one it shows single chunks, and
//! tells a body that ended from one that broke off.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;

/// A request in the making.
pub(crate) struct Call {
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

pub(crate) fn get(url: impl Into<String>) -> Call {
    Call { method: "GET", url: url.into(), headers: Vec::new(), body: Vec::new() }
}

pub(crate) fn post(url: impl Into<String>, body: &Value) -> Call {
    post_bytes(url, body.to_string().as_bytes()).header("content-type", "application/json")
}

pub(crate) fn post_bytes(url: impl Into<String>, body: &[u8]) -> Call {
    Call { method: "POST", url: url.into(), headers: Vec::new(), body: body.to_vec() }
}

impl Call {
    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the request and does not wait for anything.
    pub(crate) async fn send(self) -> Outcome<Connection> {
        let rest = self.url.strip_prefix("http://").ok_or("not http")?;
        let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let mut head = format!("{} {path} HTTP/1.1\r\nhost: {address}\r\n", self.method);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\nconnection: close\r\n\r\n", self.body.len());
        let stream = TcpStream::connect(address).await?.into_std()?;
        let socket = stream.try_clone()?;
        let mut stream = TcpStream::from_std(stream)?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&self.body).await?;
        Ok(Connection { stream, socket, unread: Vec::new() })
    }

    /// Sends the request and waits for the status and the headers.
    pub(crate) async fn start(self) -> Outcome<Incoming> {
        self.send().await?.head().await
    }

    /// Sends the request and reads the answer to its end, be it a proper one or not.
    pub(crate) async fn answer(self) -> Outcome<Answer> {
        self.start().await?.finish().await
    }
}

/// A connection on which the request is sent.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The same socket, to look at it without the runtime.
    socket: std::net::TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    pub(crate) async fn head(mut self) -> Outcome<Incoming> {
        let mut lines = Vec::new();
        loop {
            let line = String::from_utf8(self.line().await?)?;
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).ok_or("no status")?.parse()?;
        let headers: Vec<(String, String)> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let left = length.map(|(_, value)| value.parse()).transpose()?;
        Ok(Incoming { connection: self, status, headers, left })
    }

    /// Whether there is nothing to read right now.
    pub(crate) fn is_silent(&self) -> bool {
        let blocked = |error: std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        self.unread.is_empty() && self.socket.peek(&mut [0]).is_err_and(blocked)
    }

    async fn line(&mut self) -> Outcome<Vec<u8>> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.unread.drain(..end + 2).take(end).collect();
                return Ok(line);
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, count: usize) -> Outcome<Vec<u8>> {
        while self.unread.len() < count {
            self.more().await?;
        }
        Ok(self.unread.drain(..count).collect())
    }

    async fn more(&mut self) -> Outcome {
        if self.stream.read_buf(&mut self.unread).await? == 0 {
            return Err("the connection ended early".into());
        }
        Ok(())
    }
}

/// An answer of which the head has come.
pub(crate) struct Incoming {
    pub(crate) connection: Connection,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// How much is still to come, if the head told.
    left: Option<usize>,
}

impl Incoming {
    /// The next chunk; nothing at a proper end; an error if the body broke off.
    pub(crate) async fn chunk(&mut self) -> Outcome<Option<Vec<u8>>> {
        match self.left {
            Some(0) => Ok(None),
            Some(left) => {
                if self.connection.unread.is_empty() {
                    self.connection.more().await?;
                }
                let count = left.min(self.connection.unread.len());
                self.left = Some(left - count);
                Ok(Some(self.connection.take(count).await?))
            }
            None => {
                let size = String::from_utf8(self.connection.line().await?)?;
                let size = usize::from_str_radix(&size, 16)?;
                let chunk = self.connection.take(size).await?;
                self.connection.take(2).await?;
                Ok((size > 0).then_some(chunk))
            }
        }
    }

    pub(crate) async fn finish(mut self) -> Outcome<Answer> {
        let mut chunks = Vec::new();
        let complete = loop {
            match self.chunk().await {
                Ok(Some(chunk)) => chunks.push(chunk),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        Ok(Answer { status: self.status, headers: self.headers, chunks, complete })
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// Whether the body came to a proper end.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body()).into_owned()
    }

    pub(crate) fn json(&self) -> Outcome<Value> {
        Ok(serde_json::from_slice(&self.body())?)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// What stands in the data lines.
    pub(crate) fn data(&self) -> Vec<String> {
        let text = self.text();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }

    /// The JSON of all data lines but `[DONE]`.
    pub(crate) fn events(&self) -> Outcome<Vec<Value>> {
        let data = self.data();
        let events = data.iter().filter(|data| *data != "[DONE]");
        Ok(events.map(|data| serde_json::from_str(data)).collect::<Result<_, _>>()?)
    }

    /// The deltas of the first choice.
    pub(crate) fn deltas(&self) -> Outcome<Vec<Value>> {
        let events = self.events()?;
        let deltas = events.iter().filter_map(|event| event["choices"][0].get("delta"));
        Ok(deltas.cloned().collect())
    }
}
