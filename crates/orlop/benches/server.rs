//! What the HTTP host costs: 200 streams at once beside a relay that only parses and writes what a model
//! server says, 10,000 idle subscribers, and a list of 100,000 sessions.
//!
//! The model server and the clients live in this process; relay and host are processes of their own, so that
//! their CPU time and memory can be read, and each run has a new one. A chunk carries the time at which it was
//! sent. Arguments: a part of the name of what to measure, and `small` to see whether all of it works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_app::Scope;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::{Application, NewSession, Plugins};
use orlop_store::SqliteStore;
use orlop_testkit::scripted::ScriptedProvider;
use serde_json::{Value, json};
use std::io::BufRead;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const INTERVAL: Duration = Duration::from_millis(5);

/// The longest that nothing is sent to a subscriber.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many sessions are on a page of the list.
const PAGE: usize = 50;

/// How much of everything there is.
struct Size {
    rounds: usize,
    clients: usize,
    chunks: usize,
    subscribers: usize,
    /// Idle subscribers are watched for so many times this long.
    windows: (usize, Duration),
    sessions: usize,
    /// A page far into the list.
    far_page: usize,
}

/// What is measured.
const FULL: Size = Size {
    rounds: 3,
    clients: 200,
    chunks: 200,
    subscribers: 10_000,
    windows: (3, HEARTBEAT),
    sessions: 100_000,
    far_page: 200,
};

/// As much as shows that all of it works.
const SMALL: Size = Size {
    rounds: 1,
    clients: 8,
    chunks: 10,
    subscribers: 50,
    windows: (2, Duration::from_secs(1)),
    sessions: 500,
    far_page: 5,
};

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if let [role, upstream] = &arguments[..]
        && role == "relay"
    {
        return runtime.block_on(relay(upstream.parse().unwrap()));
    }
    let (sizes, filters): (Vec<_>, Vec<_>) = arguments.iter().partition(|it| *it == "small");
    let size: &'static Size = if sizes.is_empty() { &FULL } else { &SMALL };
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|it| name.contains(*it));
    runtime.block_on(compare(size, &wanted));
}

async fn compare(size: &'static Size, wanted: &dyn Fn(&str) -> bool) {
    let folder = Folder::new(&std::env::temp_dir());
    let began = Instant::now();
    let model = listener();
    let upstream = model.local_addr().unwrap();
    tokio::spawn(model_server(model, began, size.chunks));
    if wanted("server_streams") {
        let Size { clients, chunks, .. } = size;
        let every = INTERVAL.as_millis();
        println!("{clients} streams at once, {chunks} chunks, one every {every} ms");
        for round in 0..size.rounds {
            let bench = Bench { size, began, upstream, home: folder.sub(&round.to_string()) };
            bench.round().await;
        }
    }
    if wanted("server_idle_subscribers") {
        idle(&folder.sub("idle"), upstream, size).await;
    }
    if wanted("server_session_list") {
        lists(&folder, upstream, size).await;
    }
}

/// One round of streams: by nobody, by a relay, by the host on both of its APIs.
struct Bench {
    size: &'static Size,
    began: Instant,
    upstream: SocketAddr,
    home: PathBuf,
}

const COMPLETIONS: &str = "/v1/chat/completions";

impl Bench {
    async fn round(&self) {
        let body = json!({
            "model": "default", "stream": true,
            "messages": [{ "role": "user", "content": "go" }],
        })
        .to_string();
        let completions = |_: usize| COMPLETIONS.to_owned();
        self.streams("the model server itself", None, &completions, &body).await;
        let relay = Process::relay(self.upstream);
        self.streams("a bare relay", Some(&relay), &completions, &body).await;
        drop(relay);
        let host = Process::host(&sub(&self.home, "completions"), self.upstream);
        self.streams("orlop serve, chat completions", Some(&host), &completions, &body).await;
        drop(host);
        let host = Process::host(&sub(&self.home, "sessions"), self.upstream);
        let ids = sessions(host.address, self.size.clients + 1).await;
        let path = move |client: usize| format!("/api/v1/sessions/{}/requests", ids[client]);
        let body = json!({ "content": "go", "stream": true }).to_string();
        self.streams("orlop serve, sessions kept", Some(&host), &path, &body).await;
    }

    /// Has all clients listen at once, and prints what they saw.
    async fn streams(
        &self,
        name: &str,
        process: Option<&Process>,
        path: &dyn Fn(usize) -> String,
        body: &str,
    ) {
        let address = process.map_or(self.upstream, |process| process.address);
        let Size { clients, chunks, .. } = *self.size;
        let began = self.began;
        // What a new process does once is not what a stream costs.
        listen(address, &path(clients), body, began, chunks).await;
        let before = process.map(|process| {
            process.forget_peak();
            (process.cpu(), process.memory())
        });
        let listening: Vec<_> = (0..clients)
            .map(|client| {
                let (path, body) = (path(client), body.to_owned());
                tokio::spawn(async move { listen(address, &path, &body, began, chunks).await })
            })
            .collect();
        let (mut first, mut delays) = (Vec::new(), Vec::new());
        for client in listening {
            let (began, seen) = client.await.unwrap();
            assert_eq!(seen.len(), chunks, "{name}: every chunk arrives");
            first.push(began);
            delays.extend(seen);
        }
        let cost = process.zip(before).map(|(process, (cpu, memory))| {
            let grown = process.peak().saturating_sub(memory) / clients as u64;
            format!("{:.2} s CPU, {grown} KiB a stream at the peak", process.cpu() - cpu)
        });
        println!(
            "  {name:32} first chunk {:>8} / {:>8}   delay of a chunk {:>8} / {:>8} (median / p99)   {}",
            shown(&mut first, 50),
            shown(&mut first, 99),
            shown(&mut delays, 50),
            shown(&mut delays, 99),
            cost.unwrap_or_default()
        );
    }
}

/// A server that says one chunk after the other, each with the time at which it is said.
async fn model_server(listener: TcpListener, began: Instant, chunks: usize) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            while read_request(&mut stream).await.is_some() {
                if say(&mut stream, began, chunks).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// With room for all clients at once: one that finds none is tried again after a second, and what is
/// measured is not that.
fn listener() -> TcpListener {
    orlop_http::listen(&["127.0.0.1:0".parse().unwrap()]).unwrap()
}

async fn say(
    stream: &mut BufReader<TcpStream>,
    began: Instant,
    chunks: usize,
) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let mut ticks = tokio::time::interval(INTERVAL);
    for _ in 0..chunks {
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
    let listener = listener();
    eprintln!("http://{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let body = read_request(&mut stream).await?;
            let mut from = ask(upstream, "/v1/chat/completions", &body).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await.ok()?;
            let mut line = String::new();
            // The last chunk of the body is empty; the connection stays open.
            while from.read_line(&mut line).await.is_ok_and(|read| read > 0) && line != "0\r\n" {
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

/// When the first chunk came, and how old each chunk was when it came.
async fn listen(
    address: SocketAddr,
    path: &str,
    body: &str,
    began: Instant,
    chunks: usize,
) -> (Duration, Vec<Duration>) {
    let asked = Instant::now();
    let mut stream = ask(address, path, body.as_bytes()).await;
    let (mut first, mut seen, mut line) = (Duration::ZERO, Vec::with_capacity(chunks), Vec::new());
    while seen.len() < chunks {
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

/// Many who only listen: what they cost while nothing happens, and when something does.
async fn idle(home: &Path, upstream: SocketAddr, size: &Size) {
    // One connection each, here and in the host, and some for everything else.
    need_files(size.subscribers + 200);
    let host = Process::host(home, upstream);
    let ids = sessions(host.address, 1).await;
    let memory = host.memory();
    let mut listening = Vec::with_capacity(size.subscribers);
    for _ in 0..size.subscribers {
        let mut stream = get(host.address, "/api/v1/events").await;
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        listening.push(stream);
    }
    let held = (host.memory() - memory) as f64 / size.subscribers as f64;
    let (count, window) = size.windows;
    let mut busy = Vec::with_capacity(count);
    for _ in 0..count {
        let cpu = host.cpu();
        tokio::time::sleep(window).await;
        let share = (host.cpu() - cpu) / window.as_secs_f64() * 100.0;
        busy.push(format!("{share:.1}"));
    }
    let path = format!("/api/v1/sessions/{}", ids[0]);
    let mut loads = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        answer(get(host.address, &path).await).await;
        loads.push(began.elapsed());
    }
    let began = Instant::now();
    let body = json!({ "session_id": "news" }).to_string();
    let made = answer(ask(host.address, "/api/v1/sessions", body.as_bytes()).await).await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    for stream in &mut listening {
        let mut line = String::new();
        while !line.contains("session_created") {
            line.clear();
            assert!(stream.read_line(&mut line).await.unwrap() > 0, "a subscriber was left out");
        }
    }
    println!(
        "{} idle subscribers: {held:.1} KiB each; {} % of a core in {count} windows of {} s; \
         a load beside them {} / {} (median / p99); an event reaches all of them in {:.1} ms",
        size.subscribers,
        busy.join(", "),
        window.as_secs(),
        shown(&mut loads, 50),
        shown(&mut loads, 99),
        began.elapsed().as_secs_f64() * 1e3
    );
}

/// Ends with a sentence where the system would allow too few open files.
fn need_files(count: usize) {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft = line.split_whitespace().nth(3).unwrap();
    let enough = soft.parse().map_or(soft == "unlimited", |soft: usize| soft >= count);
    assert!(
        enough,
        "this needs {count} open files and {soft} are allowed; run `ulimit -n {count}` first"
    );
}

/// Pages of a long list.
async fn lists(folder: &Folder, upstream: SocketAddr, size: &Size) {
    // A commit for each session waits for the disk, so they are made in memory where there is such a
    // place. What is measured, reading, has all of it in memory either way.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { &Folder::new(memory) } else { folder };
    let home = folder.sub("many");
    fill(&home, size.sessions).await;
    let host = Process::host(&home, upstream);
    println!("a list of {} sessions, {PAGE} a page", size.sessions);
    let mut cursor = None;
    for page in 1..=size.far_page {
        let (mut times, mut next) = (Vec::new(), None);
        let is_shown = page == 1 || page == size.far_page;
        for _ in 0..if is_shown { 20 } else { 1 } {
            let (time, after) = page_after(host.address, cursor.as_deref()).await;
            times.push(time);
            next = Some(after);
        }
        if is_shown {
            let name = format!("page {page}");
            let (median, slow) = (shown(&mut times, 50), shown(&mut times, 99));
            println!("  {name:20} {median} / {slow} (median / p99)");
        }
        cursor = next;
    }
}

/// How long a page takes, and the cursor of the next.
async fn page_after(address: SocketAddr, cursor: Option<&str>) -> (Duration, String) {
    let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let began = Instant::now();
    let text = answer(get(address, &format!("/api/v1/sessions?limit={PAGE}{after}")).await).await;
    let took = began.elapsed();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let body = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["sessions"].as_array().unwrap().len(), PAGE);
    (took, body["next"].as_str().expect("there are more").to_owned())
}

async fn fill(home: &Path, sessions: usize) {
    let text = "[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n";
    let config =
        AppConfig::from_text(Path::new("orlop.toml"), text, RuntimeEnv::from_vars(Vars::new()))
            .unwrap();
    let store = SqliteStore::open(&home.join("orlop.db")).unwrap();
    let app = Application::builder(config, Arc::new(store))
        .plugins(Plugins::new().provider(Arc::new(ScriptedProvider::new("scripted")), vec![]))
        .start()
        .await
        .unwrap();
    let app = app.for_scope(Scope::local());
    for number in 0..sessions {
        let new = NewSession { id: Some(format!("many-{number}")), ..NewSession::default() };
        app.create_session(new).await.unwrap();
    }
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(inside: &Path) -> Self {
        Self(sub(inside, &format!("orlop-bench-server-{}", std::process::id())))
    }

    fn sub(&self, name: &str) -> PathBuf {
        sub(&self.0, name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sub(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
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

    /// Has the peak of its memory counted from now.
    fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
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
