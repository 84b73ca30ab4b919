//! What the HTTP host costs: 200 streams at once beside a relay that only parses and writes what a model
//! server says, 10,000 idle subscribers, and a list of 100,000 sessions.
//!
//! The model server and the clients live in this process; relay and host are processes of their own, so that
//! their CPU time and memory can be read. A chunk carries the time at which it was sent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_app::Scope;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::{Application, NewSession, Plugins};
use orlop_store::SqliteStore;
use serde_json::{Value, json};
use std::io::BufRead;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const CLIENTS: usize = 200;
const CHUNKS: usize = 200;
const INTERVAL: Duration = Duration::from_millis(5);
const SUBSCRIBERS: usize = 10_000;
const SESSIONS: usize = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match arguments.iter().position(|argument| argument == "relay") {
        Some(at) => runtime.block_on(relay(arguments[at + 1].parse().unwrap())),
        None => runtime.block_on(compare()),
    }
}

async fn compare() {
    let folder = std::env::temp_dir().join(format!("orlop-bench-server-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let began = Instant::now();
    let model = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = model.local_addr().unwrap();
    tokio::spawn(model_server(model, began));

    println!("{CLIENTS} streams at once, {CHUNKS} chunks, one every {} ms", INTERVAL.as_millis());
    streams("the model server itself", None, upstream, began, "/v1/chat/completions").await;
    let relay = Process::relay(upstream);
    streams("a bare relay", Some(&relay), relay.address, began, "/v1/chat/completions").await;
    drop(relay);
    let host = Process::host(&folder, upstream);
    let sessions = sessions(host.address, CLIENTS).await;
    let path = move |client: usize| format!("/api/v1/sessions/{}/requests", sessions[client]);
    streams_at("orlop serve, sessions kept", Some(&host), host.address, began, &path, &content())
        .await;
    streams(
        "orlop serve, chat completions",
        Some(&host),
        host.address,
        began,
        "/v1/chat/completions",
    )
    .await;
    drop(host);
    idle(&folder, upstream).await;
    lists(&folder, upstream).await;
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A server that says one chunk after the other, each with the time at which it is said.
async fn model_server(listener: TcpListener, began: Instant) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            while read_request(&mut stream).await.is_some() {
                if say(&mut stream, began).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn say(stream: &mut BufReader<TcpStream>, began: Instant) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let mut ticks = tokio::time::interval(INTERVAL);
    for _ in 0..CHUNKS {
        ticks.tick().await;
        let text = format!("~{:010}", began.elapsed().as_micros());
        write_chunk(stream, &chat_chunk(&text, Value::Null)).await?;
    }
    write_chunk(stream, &chat_chunk("", "stop".into())).await?;
    write_chunk(stream, "data: [DONE]\n\n").await?;
    stream.write_all(b"0\r\n\r\n").await
}

fn chat_chunk(text: &str, finish: Value) -> String {
    let chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text }, "finish_reason": finish }],
    });
    format!("data: {chunk}\n\n")
}

async fn write_chunk(stream: &mut BufReader<TcpStream>, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}

/// Reads a request with its body; nothing once the client is gone.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// The least a host could do: parse each chunk and write its text again.
async fn relay(upstream: SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    eprintln!("http://{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let body = read_request(&mut stream).await?;
            let mut from = ask(upstream, "/v1/chat/completions", &body).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await.ok()?;
            let mut line = String::new();
            while from.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                if let Some(data) = line.trim_end().strip_prefix("data: {") {
                    let chunk: Value = serde_json::from_str(&format!("{{{data}")).ok()?;
                    let text = chunk["choices"][0]["delta"]["content"].as_str()?;
                    write_chunk(&mut stream, &chat_chunk(text, Value::Null)).await.ok()?;
                }
                line.clear();
            }
            stream.write_all(b"0\r\n\r\n").await.ok()
        });
    }
}

async fn ask(address: SocketAddr, path: &str, body: &[u8]) -> BufReader<TcpStream> {
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    stream
}

async fn streams(
    name: &str,
    process: Option<&Process>,
    address: SocketAddr,
    began: Instant,
    path: &str,
) {
    let body = json!({ "model": "default", "stream": true, "messages": [{ "role": "user", "content": "go" }] });
    streams_at(name, process, address, began, &|_| path.to_owned(), &body.to_string()).await;
}

fn content() -> String {
    json!({ "content": "go", "stream": true }).to_string()
}

/// Has all clients listen at once, and prints what they saw.
async fn streams_at(
    name: &str,
    process: Option<&Process>,
    address: SocketAddr,
    began: Instant,
    path: &dyn Fn(usize) -> String,
    body: &str,
) {
    let before = process.map(Process::cpu);
    let memory = process.map(Process::memory);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (path, body) = (path(client), body.to_owned());
            tokio::spawn(async move { listen(address, &path, &body, began).await })
        })
        .collect();
    let (mut first, mut delays) = (Vec::new(), Vec::new());
    for client in clients {
        let (began, seen) = client.await.unwrap();
        assert_eq!(seen.len(), CHUNKS, "{name}: every chunk arrives");
        first.push(began);
        delays.extend(seen);
    }
    let cost = process.zip(before).zip(memory).map(|((process, cpu), memory)| {
        let grown = process.peak().saturating_sub(memory) / CLIENTS as u64;
        format!("{:.2} s CPU, {grown} KiB a stream at the peak", process.cpu() - cpu)
    });
    println!(
        "  {name:32} first chunk {:>6} / {:>6}   delay of a chunk {:>6} / {:>6} (median / p99)   {}",
        shown(&mut first, 50),
        shown(&mut first, 99),
        shown(&mut delays, 50),
        shown(&mut delays, 99),
        cost.unwrap_or_default()
    );
}

/// When the first chunk came, and how old each chunk was when it came.
async fn listen(
    address: SocketAddr,
    path: &str,
    body: &str,
    began: Instant,
) -> (Duration, Vec<Duration>) {
    let asked = Instant::now();
    let mut stream = ask(address, path, body.as_bytes()).await;
    let (mut first, mut seen, mut line) = (Duration::ZERO, Vec::with_capacity(CHUNKS), Vec::new());
    while seen.len() < CHUNKS {
        line.clear();
        if stream.read_until(b'\n', &mut line).await.unwrap() == 0 {
            panic!("a stream ended after {} chunks", seen.len());
        }
        let now = began.elapsed();
        for at in memchr_all(&line) {
            let sent: u64 = std::str::from_utf8(&line[at + 1..at + 11]).unwrap().parse().unwrap();
            if seen.is_empty() {
                first = asked.elapsed();
            }
            seen.push(now.saturating_sub(Duration::from_micros(sent)));
        }
    }
    // The last chunk of the body; the connection may stay open.
    while line != b"0\r\n" {
        line.clear();
        if stream.read_until(b'\n', &mut line).await.unwrap() == 0 {
            break;
        }
    }
    (first, seen)
}

fn memchr_all(line: &[u8]) -> impl Iterator<Item = usize> + '_ {
    line.iter().enumerate().filter(|(_, byte)| **byte == b'~').map(|(at, _)| at)
}

fn shown(times: &mut [Duration], percent: usize) -> String {
    times.sort();
    let time = times[(times.len() * percent / 100).min(times.len() - 1)];
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Creates sessions, as a client does.
async fn sessions(address: SocketAddr, count: usize) -> Vec<String> {
    let mut ids = Vec::with_capacity(count);
    for client in 0..count {
        let id = format!("bench-{client}");
        let body = json!({ "session_id": id }).to_string();
        let answer = answer(ask(address, "/api/v1/sessions", body.as_bytes()).await).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        ids.push(id);
    }
    ids
}

async fn answer(mut stream: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

async fn get(address: SocketAddr, path: &str) -> BufReader<TcpStream> {
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Many who only listen, and what one more event costs then.
async fn idle(folder: &Path, upstream: SocketAddr) {
    let home = folder.join("idle");
    std::fs::create_dir_all(&home).unwrap();
    let host = Process::host(&home, upstream);
    let ids = sessions(host.address, 1).await;
    let memory = host.memory();
    let mut listening = Vec::with_capacity(SUBSCRIBERS);
    for _ in 0..SUBSCRIBERS {
        let mut stream = get(host.address, "/api/v1/events").await;
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        listening.push(stream);
    }
    let held = (host.memory() - memory) as f64 / SUBSCRIBERS as f64;
    let cpu = host.cpu();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let idle = (host.cpu() - cpu) / 10.0;
    let began = Instant::now();
    let path = format!("/api/v1/sessions/{}", ids[0]);
    answer(get(host.address, &path).await).await;
    println!(
        "{SUBSCRIBERS} idle subscribers: {held:.1} KiB each, {:.1} % of a core, a load beside them {:.1} ms",
        idle * 100.0,
        began.elapsed().as_secs_f64() * 1e3
    );
}

/// Pages of a long list.
async fn lists(folder: &Path, upstream: SocketAddr) {
    let home = folder.join("many");
    std::fs::create_dir_all(&home).unwrap();
    fill(&home).await;
    let host = Process::host(&home, upstream);
    println!("a list of {SESSIONS} sessions");
    let mut cursor = None;
    for (name, pages) in [("first page of 50", 1), ("page 200 of 50", 200)] {
        let mut times = Vec::new();
        for _ in 0..pages {
            let next =
                cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let began = Instant::now();
            let text =
                answer(get(host.address, &format!("/api/v1/sessions?limit=50{next}")).await).await;
            times.push(began.elapsed());
            let body: Value =
                serde_json::from_str(&text[text.find('{').unwrap()..=text.rfind('}').unwrap()])
                    .unwrap();
            cursor = body["next"].as_str().map(str::to_owned);
        }
        println!("  {name:20} {:.1} ms", times[times.len() - 1].as_secs_f64() * 1e3);
    }
}

async fn fill(home: &Path) {
    let text = "[agents.default]\nprovider = \"none\"\nmodel = \"m\"\n";
    let config =
        AppConfig::from_text(Path::new("orlop.toml"), text, RuntimeEnv::from_vars(Vars::new()))
            .unwrap();
    let store = SqliteStore::open(&home.join("orlop.db")).unwrap();
    let app = Application::builder(config, Arc::new(store))
        .plugins(Plugins::new())
        .start()
        .await
        .unwrap();
    let app = app.for_scope(Scope::local());
    for number in 0..SESSIONS {
        let new = NewSession { id: Some(format!("many-{number}")), ..NewSession::default() };
        app.create_session(new).await.unwrap();
    }
}

/// A process that is measured, and ended with its owner.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn relay(upstream: SocketAddr) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self::start(command.arg("relay").arg(upstream.to_string()))
    }

    fn host(home: &Path, upstream: SocketAddr) -> Self {
        let file: PathBuf = home.join("bench.toml");
        let config = format!(
            "[agents.default]\nprovider = \"openai_compatible\"\nmodel = \"m\"\nbase_url = \"http://{upstream}/v1\"\napi_key = \"none\"\n[agents.default.session_title]\nenabled = false\n[server.limits]\nrequests_per_minute = 1000000\nturns_per_tenant = 1000\n"
        );
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_orlop"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        command
            .env_clear()
            .env("HOME", home)
            .env("ORLOP_HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(home);
        Self::start(&mut command)
    }

    /// The address is the first one it prints.
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let at = line.find("http://")? + "http://".len();
            line[at..].split(['/', ';', ' ']).next()?.parse().ok()
        });
        // What it says later is of no interest, and must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.unwrap() }
    }

    /// Seconds of CPU so far.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        ticks as f64 / 100.0
    }

    /// KiB of memory now.
    fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// KiB of memory at the worst.
    fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
